-- docs/protocols.md says which dictionaries of the CUDA Array Interface are taken: each value of its table is run; and
-- the dictionaries of the libraries of today.
local cuda_ = require "spec.support.cuda"
local xchg = require "xchg"
local da = require "spec.support.device_arrays"
local dictionaries = require "spec.support.dictionaries"

local no_python = cuda_.no_python()
if no_python then return pending(no_python) end

after_each(cuda_.reports_none)

describe("of __cuda_array_interface__ docs/protocols.md says what is taken", function()
  local memory, make
  setup(function()
    memory = xchg.tensor({ 1, 2, 3, 4 }, { device = "cuda:0" })
    cuda_.cuda.synchronize(0)
    make = dictionaries.maker("__cuda_array_interface__", memory.ptr)
  end)
  teardown(function()
    memory:release()
    memory, make = nil, nil
  end)

  for _, row in ipairs(dictionaries.rows "The CUDA Array Interface") do
    it(row.name, function()
      local x = make(row.fields)
      for _, take in ipairs { xchg.from_cai, xchg.asarray } do
        local done, t = pcall(take, x)
        assert.equal(row.expected, done and t.dtype or t.code, not done and t.message)
        if done then
          assert.same({ "cai", row.fields:find("True", 1, true) ~= nil }, { t.protocol, t.readonly })
          t:release()
        end
      end
    end)
  end

  it("and probe says it too, and orders nothing, while a graph is captured as well", function()
    local stream = cuda_.cuda.stream { device = "cuda:0", nonblocking = true }
    local x = make(("{'stream': %d}"):format(tonumber(require("ffi").cast("uintptr_t", stream.handle))))
    local function probed()
      local names = { "cudaEventRecord", "cudaStreamWaitEvent", "cudaStreamSynchronize", "cudaDeviceSynchronize" }
      local found, calls = da.calls(names, xchg.probe, x)
      for _, count in pairs(calls) do assert.equal(0, count) end
      assert.same({ "cai", { cai = "3" }, "float64", "cuda:0", { 4 }, false },
        { found.protocol, found.versions, found.dtype, found.device, found.shape, found.readonly })
    end
    probed()
    cuda_.cuda.graph(probed):release()
    stream:close()
  end)

  it("and that memory of the host is none, whatever else the object has", function()
    local host = xchg.tensor { 1, 2, 3, 4 }
    local x = dictionaries.maker("__cuda_array_interface__", host.ptr) "{}"
    local done, e = pcall(xchg.asarray, x)
    assert.same({ false, "unsupported_device" }, { done, e.code })
    x.__array_interface__ = xchg.python.getattr(x, "__cuda_array_interface__")
    done, e = pcall(xchg.asarray, x)
    assert.same({ false, "unsupported_device" }, { done, e.code })
    local t = xchg.asarray(x, { protocols = { "array_interface" } })
    assert.same({ "cpu", { 1, 2, 3, 4 } }, { t.device, t:totable() })
    t:release()
    host:release()
  end)
end)

describe("an array whose dictionary is as", function()
  local memory, make
  setup(function()
    memory = xchg.tensor({ 1, 2, 3, 4 }, { device = "cuda:0" })
    cuda_.cuda.synchronize(0)
    make = dictionaries.maker("__cuda_array_interface__", memory.ptr)
  end)
  teardown(function()
    memory:release()
    memory, make = nil, nil
  end)

  local MASK = "type('Mask', (), {'__cuda_array_interface__': {'shape': (4,), 'typestr': '<t1', 'data': (x, True), 'version': 1}})()"
  -- whose, fields, dtype or code, shape, strides, more: read-only, the option dtype
  local ROWS = {
    { "CuPy's", "{'shape': (2, 2), 'descr': [('', '<f8')], 'strides': None, 'stream': 1}", "float64", { 2, 2 }, { 2, 1 } },
    { "CuPy's, transposed", "{'shape': (2, 2), 'descr': [('', '<f8')], 'strides': (8, 16), 'stream': 1}", "float64", { 2, 2 },
      { 1, 2 } },
    { "CuPy's of no elements", "{'shape': (0, 2), 'descr': [('', '<f8')], 'data': (0, False), 'stream': 1}", "float64",
      { 0, 2 }, { 2, 1 } },
    { "CuPy's of ml_dtypes", "{'typestr': '<V2', 'descr': [('', '<V2')], 'stream': 1}", "bfloat16", { 4 }, { 1 },
      dtype = "bfloat16" },
    { "Numba's", "{'strides': None, 'stream': None}", "float64", { 4 }, { 1 } },
    { "Numba's, reversed", "{'strides': (-8,), 'data': (x + 24, False), 'stream': None}", "float64", { 4 }, { -1 } },
    { "PyTorch's", "{'version': 2, 'shape': (2, 2), 'strides': None}", "float64", { 2, 2 }, { 2, 1 } },
    { "PyTorch's, every other", "{'version': 2, 'shape': (2,), 'strides': (16,)}", "float64", { 2 }, { 2 } },
    { "PyTorch's of no elements", "{'version': 2, 'shape': (0,), 'strides': None, 'data': (0, False)}", "float64", { 0 },
      { 1 } },
    { "PyTorch's of bfloat16", "{'version': 2, 'typestr': '<V2'}", "unsupported_dtype" },
    { "PyTorch's of bfloat16, said so", "{'version': 2, 'typestr': '<V2'}", "bfloat16", { 4 }, { 1 }, dtype = "bfloat16" },
    { "JAX's", "{'version': 2, 'data': (x, True)}", "float64", { 4 }, { 1 }, readonly = true },
    { "PyCUDA's", "{'shape': (2, 2), 'strides': (16, 8), 'stream': None}", "float64", { 2, 2 }, { 2, 1 } },
    { "Warp's", "{'version': 2, 'shape': (2, 2), 'strides': (16, 8)}", "float64", { 2, 2 }, { 2, 1 } },
    { "Warp's of bfloat16", "{'version': 2, 'typestr': '<u2', 'strides': (2,)}", "uint16", { 4 }, { 1 } },
    { "Warp's of structs", "{'version': 2, 'typestr': '|V16', 'shape': (2,), 'strides': (16,)}", "unsupported_dtype" },
    { "cuDF's", "{'version': 1, 'strides': (8,), 'data': (x, True)}", "float64", { 4 }, { 1 }, readonly = true },
    { "cuDF's with missing values", "{'version': 1, 'strides': (8,), 'mask': " .. MASK .. "}", "refused" },
    { "the mask of cuDF's", "{'version': 1, 'typestr': '<t1'}", "unsupported_dtype" },
    { "that of a library before version 1", "{'version': 0, 'strides': [8], 'descr': [('', '<f8')]}", "float64", { 4 }, { 1 } },
    { "CuPy 6's of no elements", "{'version': 1, 'shape': (0,), 'data': (None, False), 'strides': [8]}", "float64", { 0 },
      { 1 } },
  }
  for _, row in ipairs(ROWS) do
    it(row[1] .. " is " .. row[3], function()
      local done, t = pcall(xchg.from_cai, make(row[2]), { dtype = row.dtype })
      assert.equal(row[3], done and t.dtype or t.code, not done and t.message)
      if not done then return end
      assert.same({ row[4], row[5], row.readonly or false, "cuda:0" }, { t.shape, t.strides, t.readonly, t.device })
      t:release()
    end)
  end
end)
