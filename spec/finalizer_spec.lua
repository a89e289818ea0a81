-- Finalizers, hooks and callbacks run library code in the middle of library code. Each case is a process of its own,
-- since what went wrong there was a crash.

local child = require "spec.support.child"

-- `arm` plants a finalizer that runs `fn` when the collector comes by.
local PRELUDE = [[
local xchg = require "xchg"
local py = xchg.python
local function arm(fn)
  local proxy = newproxy(true)
  getmetatable(proxy).__gc = fn
end
]]

-- A producer that needs no NumPy: a capsule of `count` elements of one type code.
local PRODUCER = [[
local ns = py.exec [=[
import ctypes
api = ctypes.pythonapi
api.PyCapsule_New.restype = ctypes.py_object
api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p), ("offset", ctypes.c_uint64),
        ("ctx", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]
class Producer:
    def __init__(self, kind, code, bits, values, before=None):
        self.values = (kind * len(values))(*values)
        self.shape = (ctypes.c_int64 * 1)(len(values))
        self.tensor = Tensor(ctypes.addressof(self.values), 1, 0, 1, code, bits, 1, ctypes.addressof(self.shape))
        self.before = before
    def __dlpack_device__(self): return (1, 0)
    def __dlpack__(self, **kw):
        if self.before: self.before()
        return api.PyCapsule_New(ctypes.addressof(self.tensor), b"dltensor", None)
doubles = Producer(ctypes.c_double, 2, 64, [1.0, 2.0, 3.0, 4.0])
bytes_ = Producer(ctypes.c_int8, 0, 8, [1, 2, 3, 4])
]=]
local doubles, bytes = py.get(ns, "doubles"), py.get(ns, "bytes_")
]]

local cases = {
  ["imports while an import takes a cdata from an empty stock"] = PRODUCER .. [[
    local function fin() for _ = 1, 3 do xchg.from_dlpack(bytes) xchg.from_dlpack(doubles) end end
    for n = 1, 20000 do
      arm(fin)
      local t = xchg.from_dlpack(doubles)
      assert(t.dtype == "float64" and t[4] == 4)
    end
  ]],
  ["makes a tensor while another's shape is read"] = [[
    for n = 1, 20000 do
      arm(function() xchg.zeros { 7, 7, 7 } end)
      local s = xchg.zeros({ 2, 3, 5 }).shape
      assert(s[1] == 2 and s[2] == 3 and s[3] == 5)
    end
  ]],
  ["fills while a fill has its element ready"] = [[
    local other, t = xchg.zeros(2), xchg.full(2, 5)
    for n = 1, 10000 do
      arm(function() other:fill_(777) end)
      for _ = 1, 20 do t:fill_(5) assert(t[1] == 5) end
    end
  ]],
  ["fails while another failure is raised"] = [[
    local t = xchg.zeros { 2, 3 }
    for n = 1, 20000 do
      arm(function() pcall(t.copy_, t, xchg.zeros { 5, 7 }) end)
      local ok, e = pcall(t.select, t, 9, 1)
      assert(not ok and e.code == "out_of_range" and e.message:find("select: dimension 9", 1, true), tostring(e))
    end
  ]],
  ["releases a tensor that is being read"] = [[
    for n = 1, 400 do
      local t = xchg.full({ 100 }, 1, { dtype = "complex128" })
      arm(function() t:release() end)
      for k = 1, 5 do
        local ok, e = pcall(t.totable, t)
        assert(ok and e[100].re == 1 or not ok and e.code == "released", tostring(e))
        for i = 1, 100 do
          local there, v = pcall(function() return t[i] end)
          assert(there and v.re == 1 or not there and v.code == "released", tostring(v))
        end
      end
      if n % 50 == 0 then collectgarbage() end
    end
    collectgarbage() collectgarbage()
    py.collect()
    local stats = xchg.stats()
    assert(stats.storages == stats.tensors, stats.storages .. " storages, " .. stats.tensors .. " tensors")
  ]],
  ["releases a tensor whose owner is asked for"] = PRODUCER .. [[
    for n = 1, 3000 do
      local t = xchg.from_dlpack(doubles)
      arm(function() t:release() end)
      pcall(function() local keep = {} for k = 1, 60 do keep[k] = t.owner end end)
    end
  ]],
}

describe("a finalizer of Lua that", function()
  for name, script in pairs(cases) do
    for _, mode in ipairs { "on", "off" } do
      it(name .. ", compiler " .. mode, function()
        local result = child.run("jit." .. mode .. "()\n" .. PRELUDE .. script .. "\nprint 'done'", { timeout = 120 })
        assert.equal("done\n", result.stdout, result.stderr)
        assert.equal(0, result.status)
      end)
    end
  end
end)

describe("memory", function()
  it("is still given back after errors in the making of tensors", function()
    local result = child.run(PRELUDE .. [[
      jit.off()
      for n = 1, 1500 do
        debug.sethook(function() error("timeout", 0) end, "", 1000 + n)
        pcall(function() while true do xchg.zeros(4) end end)
        debug.sethook()
      end
      for i = 1, 20000 do xchg.zeros(4) end
      collectgarbage() collectgarbage()
      xchg.zeros(4)
      py.collect()
      print(xchg.stats().tensors < 1000)
    ]], { timeout = 120 })
    assert.equal("true\n", result.stdout, result.stderr)
  end)

  it("is given back by release where the program has stopped the collector", function()
    local result = child.run(PRELUDE .. [[
      collectgarbage "stop"
      xchg.budget(16 * 2 ^ 20)
      local peak = 0
      for i = 1, 200 do
        local t = xchg.empty(2 ^ 17) -- 1 MiB
        t:release()
        peak = math.max(peak, xchg.stats().external_bytes)
      end
      print(peak <= 18 * 2 ^ 20, collectgarbage "isrunning")
    ]])
    assert.equal("true\tfalse\n", result.stdout, result.stderr)
  end)
end)

describe("an import inside an import", function()
  it("does not change the dtype of the one around it", function()
    local result = child.run(PRELUDE .. PRODUCER .. [[
      local ffi = require "ffi"
      jit.off()
      -- Python calls back into Lua through a bare C function, as other bridges do.
      local callback = ffi.cast("void (*)(void)", function() xchg.from_dlpack(bytes) end)
      py.exec(("outer = Producer(ctypes.c_int8, 0, 8, [5, 6, 7, 8], ctypes.PYFUNCTYPE(None)(%d))"):format(
        tonumber(ffi.cast("uintptr_t", ffi.cast("void *", callback)))), ns)
      local outer = py.get(ns, "outer")
      for _ = 1, 100 do
        local d = xchg.from_dlpack(doubles)
        local t = xchg.from_dlpack(outer)
        assert(t.dtype == "int8" and t[4] == 8 and d[4] == 4)
      end
      print "done"
    ]])
    assert.equal("done\n", result.stdout, result.stderr)
  end)
end)

describe("a copy of a tensor of Lua's own", function()
  it("needs no Python", function()
    local result = child.run(PRELUDE .. [[
      local t = xchg.from_dlpack(xchg.full(3, 2), { copy = true })
      print(t[3], t.protocol)
    ]], { env = { XCHG_PYTHON = "/nonexistent/python" } })
    assert.equal("2\tlua\n", result.stdout, result.stderr)
  end)
end)
