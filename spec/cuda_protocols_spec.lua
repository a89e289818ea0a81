-- docs/protocols.md says which dictionaries of the CUDA Array Interface are taken: each value of its table is run.
local cuda_ = require "spec.support.cuda"
local xchg = require "xchg"
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
