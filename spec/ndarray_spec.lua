-- NumPy's own arrays, and bytes, come in without Python's protocols: what they give is what the protocols give, and a loop
-- of such imports stays in compiled code.
local ffi = require "ffi"
local jutil = require "jit.util"
local dtypes = require "xchg.dtype"
local lib = require "xchg.lib"
local xchg = require "xchg"
local capsules = require "spec.support.capsules"
local child = require "spec.support.child"
local raises = require "spec.support.raises"

local py = xchg.python
local C = lib.C
local DLPACK, BUFFER = C.XCHG_PROTOCOL_DLPACK, C.XCHG_PROTOCOL_BUFFER
local ns

local function eval(source) return py.eval(source, ns) end

-- The array, known by its protocols only.
local function through(a) return eval "Through"(a) end

setup(function()
  capsules.module()
  ns = py.exec([[
import random, warnings
import numpy as np

class Through:
    """An array that is known by its protocols only."""
    def __init__(self, array): self.array = array
    def __dlpack_device__(self): return self.array.__dlpack_device__()
    def __dlpack__(self, **keywords): return self.array.__dlpack__(**keywords)

def says(a):
    """What the array says of itself: address, shape, strides in elements, whether it can be written."""
    usual = [0 if n <= 1 or a.size == 0 else s // a.itemsize for n, s in zip(a.shape, a.strides)]
    return [str(a.__array_interface__["data"][0]), list(a.shape), usual, a.flags.writeable]

def some(seed, count):
    """Arrays of every dtype that is shared, and views of them of every kind."""
    r = random.Random(seed)
    out = []
    for i in range(count):
        c = "?bBhHiIlLqQefdFD"[i % 16]
        shape = [r.choice([0, 1, 1, 2, 3, 5]) if r.random() < 0.9 else 7 for _ in range(r.randint(0, 4))]
        a = np.zeros(shape, c)
        for _ in range(r.randint(0, 3)):
            what = r.randint(0, 5)
            if what == 0 and a.ndim: a = a[tuple(slice(None, None, r.choice([1, 2, -1, -2, 3])) for _ in a.shape)]
            elif what == 1: a = a.transpose(r.sample(range(a.ndim), a.ndim))
            elif what == 2: a = a[None]
            elif what == 3: a = np.broadcast_to(a, (2,) + a.shape)
            elif what == 4 and a.ndim: a = a[r.randint(0, a.shape[0]):]
            elif what == 5 and a.ndim and a.shape[0]: a = a[..., 0] if a.shape[-1] else a
        if not isinstance(a, np.ndarray): a = np.asarray(a)
        if a.flags.writeable and r.random() < 0.2: a.flags.writeable = False
        out.append(a)
    return out
]], {})
end)

-- The first array is learned from.
setup(function() xchg.from_dlpack(eval "np.zeros(1)"):release() end)

teardown(function() ns = nil end)

after_each(function() capsules.collect() end)

-- What a tensor says, as says() of Python.
local function fields(t)
  local shape, strides, empty = t.shape, t.strides, t:numel() == 0
  for d = 1, #shape do
    if shape[d] <= 1 or empty then strides[d] = 0 end
  end
  return { (tostring(t.ptr):gsub("^.*0x0*", "0x")), shape, strides, not t.readonly }
end

local function says(a)
  local said = eval "says"(a)
  local function list(values)
    local out = {}
    for v in py.iter(values) do out[#out + 1] = v end
    return out
  end
  return { ("0x%x"):format(tonumber(said[0])), list(said[1]), list(said[2]), said[3] }
end

describe("an array of NumPy's", function()
  it("is what it says of itself, and what its protocols say, through every function", function()
    local seed = math.random(2 ^ 31)
    local spare = {}
    for a in py.iter(eval "some"(seed, 320)) do
      local message = "seed " .. seed .. ": " .. tostring(a.dtype) .. " " .. tostring(a.shape) .. " " .. tostring(a.strides)
      local protocols = xchg.from_dlpack(through(a))
      assert.not_equal(0, C.xchg_import_dtype(ffi.cast("const void *", a), DLPACK), message)
      local ways = {
        xchg.from_dlpack(a), xchg.from_buffer(a), xchg.asarray(a), xchg.from_dlpack(a, { copy = false }),
        xchg.asarray(a, { protocols = { "buffer" } }),
      }
      local was = spare[protocols.dtype] or xchg.zeros(3, { dtype = protocols.dtype })
      ways[#ways + 1] = xchg.into(was, a)
      for i, t in ipairs(ways) do
        assert.same({ protocols.dtype, fields(protocols) }, { t.dtype, fields(t) }, message .. ", way " .. i)
        assert.same(says(a), fields(t), message .. ", way " .. i)
        assert.is_true(py.is(a, t.owner), message)
      end
      -- The next one of the dtype goes into it, sometimes after its release.
      spare[was.dtype] = was
      if seed % 3 == 0 then was:release() end
      for i = 1, 5 do ways[i]:release() end
      protocols:release()
    end
    for _, t in pairs(spare) do t:release() end
  end)

  it("names the protocol that stands for it", function()
    local a = eval "np.arange(3.)"
    local names = {}
    for i, t in ipairs { xchg.from_dlpack(a), xchg.from_buffer(a), xchg.asarray(a),
      xchg.asarray(a, { protocols = { "buffer", "dlpack" } }), xchg.asarray(a, { protocols = { "array_struct" } }),
      xchg.asarray(a, { protocols = { "exchange_api", "cai", "buffer" } }) } do
      names[i] = t.protocol
      t:release()
    end
    assert.same({ "dlpack", "buffer", "dlpack", "buffer", "array_struct", "buffer" }, names)
  end)

  it("keeps its shape as a tensor when it gets another", function()
    local a = eval "np.arange(6.)"
    local t = xchg.from_dlpack(a)
    a:resize(2, 3, py.kwargs { refcheck = false }) -- in place; of the same size
    assert.same({ { 6 }, 5 }, { t.shape, t[6] })
    local u = xchg.from_dlpack(a)
    assert.same({ { 2, 3 }, { 3, 1 } }, { u.shape, u.strides })
    t:release()
    u:release()
  end)

  it("lives as long as its tensors, and its finalizer runs once", function()
    py.exec([[
gone = []
class Base(bytearray):
    def __del__(self): gone.append(None)
arrays = [np.frombuffer(Base(80)) for _ in range(1000)]
]], ns)
    local from_dlpack, tensors, arrays = xchg.from_dlpack, {}, eval "arrays"
    for i = 1, 1000 do tensors[i] = from_dlpack(arrays[i - 1]) end
    arrays:clear()
    capsules.collect()
    assert.equal(0, py.len(eval "gone"))
    for i = 1, 1000 do tensors[i]:release() end
    capsules.collect()
    assert.equal(1000, py.len(eval "gone"))
  end)
end)

-- Where Python has to be asked: expression, and the error of from_dlpack, or false where it takes the array all the same.
local OTHERS = {
  { "np.matrix([[1., 2.]])", false },
  { "np.ma.array([1., 2.])", false },
  { "np.memmap(__import__('tempfile').TemporaryFile(), 'd', 'w+', shape=3)", false },
  { "__import__('pickle').loads(__import__('pickle').dumps(np.arange(3.)))", false },
  { "np.broadcast_arrays(np.arange(3.), np.zeros((2, 3)))[0]", false }, -- writable, with a warning
  { "np.from_dlpack(np.arange(3.))", false }, -- whose memory may be of another device
  { "np.from_dlpack(np.arange(3.))[::2]", false },
  { "np.arange(3.).astype('>f8')", "refused" },
  { "np.array(['a'])", "refused" },
  { "np.array([None])", "refused" },
  { "np.zeros(2, 'i4,f4')", "refused" },
  { "np.zeros(2, 'M8[s]')", "refused" },
  { "np.zeros(2, 'g')", "refused" },
  { "np.zeros(2, 'V8')", "refused" },
  { "np.zeros(25, 'u1')[1:].view('f8')", "unsupported_layout" },
  { "np.zeros(3, 'u1,f8')['f1']", "refused" },
}

describe("an array out of the ordinary", function()
  for _, row in ipairs(OTHERS) do
    it("is left to its protocols: " .. row[1], function()
      local a = eval(row[1])
      local ok, result = pcall(xchg.from_dlpack, a)
      local taken, expected = pcall(xchg.from_dlpack, through(a))
      assert.equal(taken, ok)
      if row[2] then
        assert.is_false(ok)
        assert.same({ row[2], expected.code }, { result.code, result.code })
      else
        assert(ok, result)
        assert.same({ expected.dtype, fields(expected) }, { result.dtype, fields(result) })
        result:release()
        expected:release()
      end
      local t = xchg.zeros(1)
      assert.equal(0, C.xchg_import_into(lib.arena, ffi.cast("xchg_tensor *", t), ffi.cast("const void *", a), DLPACK))
      t:release()
    end)
  end
end)

describe("the way past Python", function()
  it("knows Python objects from other values", function()
    local forged = newproxy(true)
    getmetatable(forged).__metatable = "Python object"
    for _, value in ipairs { forged, newproxy(), io.stdout, eval "object()", eval "[1.]", eval "3 + 0j", py.None } do
      for _, protocol in ipairs { DLPACK, BUFFER } do
        if getmetatable(value) == "Python object" then
          assert.equal(0, C.xchg_import_dtype(ffi.cast("const void *", value), protocol))
        end
      end
      assert.is_false((pcall(xchg.from_dlpack, value)))
      assert.is_false((pcall(xchg.from_buffer, value)))
    end
  end)

  it("is not taken for what NumPy would be asked for", function()
    local a = eval "np.arange(3.)"
    raises("no_protocol", "has no C exchange API", xchg.from_dlpack, a, { protocols = { "exchange_api" } })
    raises("unsupported_dtype", "casts nothing to int64", xchg.from_buffer, a, { dtype = "int64" })
  end)

  it("is not taken where somebody may have given up the lock that is kept", function()
    local a, head, taken = eval "np.arange(3.)", ffi.new "xchg_tensor", nil
    local back = ffi.cast("void (*)(void)", function()
      taken = C.xchg_import(lib.arena, head, ffi.cast("const void *", a), dtypes.get("spec", "float64").id, DLPACK)
    end)
    local call = eval "lambda address: __import__('ctypes').CFUNCTYPE(None)(address)()"
    py.locked(call, ffi.cast("uint64_t", ffi.cast("uintptr_t", back)))
    back:free()
    assert.equal(0, taken)
  end)

  it("fills tensors of one dtype, though the array may have another since it was looked at", function()
    local a, b, head = eval "np.arange(3.)", eval "bytearray(8)", ffi.new "xchg_tensor"
    local function import(x, name, protocol)
      return C.xchg_import(lib.arena, head, ffi.cast("const void *", x), dtypes.get("spec", name).id, protocol)
    end
    local before = xchg.stats()
    for _, name in ipairs(dtypes.names) do
      if name ~= "float64" then assert.equal(0, import(a, name, DLPACK), name) end
      if name ~= "uint8" then assert.equal(0, import(b, name, BUFFER), name) end
      assert.equal(0, import(b, name, DLPACK))
    end
    assert.same(before, xchg.stats())
  end)

  it("takes bytes as a buffer only, and locks the size of a bytearray as long as it is used", function()
    local x = eval "bytearray(b'abc')"
    assert.equal(0, C.xchg_import_dtype(ffi.cast("const void *", x), DLPACK))
    local t, u = xchg.from_buffer(x), xchg.from_buffer(py.bytes "xyz")
    assert.same({ "uint8", { 97, 98, 99 }, false, "buffer" }, { t.dtype, t:totable(), t.readonly, t.protocol })
    assert.same({ { 120, 121, 122 }, true }, { u:totable(), u.readonly })
    assert.is_false((pcall(function() x:append(1) end)))
    t[1] = 65
    t:release()
    u:release()
    x:append(1)
    assert.equal("bytearray(b'Abc\\x01')", py.repr(x))
    local empty = xchg.from_buffer(eval "bytearray()")
    assert.same({ 0 }, empty.shape)
    empty:release()
  end)

  -- Traces that begin in the loop, and calls of C functions that cut them.
  local function stitches(fn, ...)
    local links = {}
    local function listen(what, trace)
      if what == "stop" then links[jutil.traceinfo(trace).linktype] = true end
    end
    jit.flush()
    jit.attach(listen, "trace")
    local ok, problem = pcall(fn, ...)
    jit.attach(listen)
    assert(ok, problem)
    return links
  end

  it("is what compiled loops take, without an end of the trace in them", function()
    local a, b, bytes = eval "np.arange(100.)", eval "bytearray(100)", py.bytes(("x"):rep(100))
    local from_dlpack, from_buffer, into, t = xchg.from_dlpack, xchg.from_buffer, xchg.into, xchg.zeros(1)
    local asarray = xchg.asarray
    local loops = {
      function(n) for _ = 1, n do asarray(a):release() end end,
      function(n) for _ = 1, n do from_dlpack(a):release() end end,
      function(n) for _ = 1, n do from_buffer(a):release() end end,
      function(n) for _ = 1, n do from_buffer(b):release() end end,
      function(n) for _ = 1, n do from_buffer(bytes):release() end end,
      function(n) for _ = 1, n do into(t, a) end end,
      function(n) for _ = 1, n do into(t, a) t:release() end end,
    }
    for i, loop in ipairs(loops) do
      -- So few that nothing of it has to be drained.
      local pause = collectgarbage("setpause", 1000) -- the end of a cycle asks for a sweep
      capsules.collect()
      local links = stitches(py.locked, loop, 60)
      collectgarbage("setpause", pause)
      jit.flush()
      capsules.collect()
      assert.is_nil(links.stitch and "loop " .. i .. " leaves its trace")
    end
    t:release()
  end)

  it("gives back what is released in time, though nothing else of Python is called", function()
    local a = eval "np.arange(100.)"
    local from_dlpack, most = xchg.from_dlpack, 0
    for _ = 1, 20 do
      for _ = 1, 500 do from_dlpack(a):release() end
      most = math.max(most, xchg.stats().pending)
    end
    assert.is_true(most < 200, most .. " releases wait")
    local big = eval "np.zeros(1 << 20)"
    from_dlpack(big):release()
    assert.equal(0, xchg.stats().pending)
  end)

  it("is not taken where the environment says so, and all is the same", function()
    local result = child.run([[
local xchg, lib, ffi = require "xchg", require "xchg.lib", require "ffi"
local np = xchg.python.import "numpy"
local a = np.arange(6):astype("f8"):reshape(2, 3).T
local t = xchg.from_dlpack(a)
print(lib.C.xchg_import_dtype(ffi.cast("const void *", a), 2), t.protocol, t.dtype, table.concat(t.shape, "x"),
  table.concat(t.strides, ","), t:at(3, 2))
]], { env = { XCHG_NDARRAY = "0" } })
    assert.same({ "", "0\tdlpack\tfloat64\t3x2\t1,3\t5\n" }, { result.stderr, result.stdout })
  end)
end)
