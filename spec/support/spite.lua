--- Values that no function expects, for specs: any of M.constants, or what any of M.made gives.

local ffi = require "ffi"
local py = require("xchg").python

local M = {}

local function pick(list) return list[math.random(#list)] end
local random = math.random

local function raising() error("of the user", 0) end
local function raising_table() error({ "of the user" }, 0) end
M.raising, M.raising_table = raising, raising_table

local spiteful = setmetatable({}, { __index = raising, __newindex = raising, __tostring = raising, __call = raising,
  __len = raising, __eq = raising, __lt = raising, __concat = raising, __unm = raising, __metatable = false })
-- Says that it is a stream.
M.impostor = setmetatable({}, { __name = "xchg.Stream", __index = { _record = 1, handle = 5 } })

local python = py.exec([[
class Fields:
    def __init__(self, **fields): self.__dict__.update(fields)

class Raises:
    def __getattr__(self, name): raise RuntimeError(name)

class Interrupts:
    @property
    def __cuda_stream__(self): raise KeyboardInterrupt

def stream(value):
    class Stream:
        def __cuda_stream__(self): return value
    return Stream()

def array(**fields):
    class Array: pass
    Array.__cuda_array_interface__ = fields
    return Array()
]], {})
local function of_python(name) return py.get(python, name) end
M.of_python = of_python

M.constants = { true, false, 0, 1, 2, 3, -1, 0.5, 0 / 0, 1 / 0, -1 / 0, 2 ^ 53, 2 ^ 63, 2 ^ 64, -0.0, 1e300, 4096,
  4097, "", "cuda", "cuda:0", "cuda:1", "cuda:99999999999", "cpu", "cuda_host", "cuda_managed:1", "float32", "int32",
  "\0\255%s%n", ("x"):rep(70000), spiteful, M.impostor, raising, raising_table, os.clock, 5LL, -1LL, 0ULL, 1i, ffi.C, io.stdout,
  ffi.typeof "int", ffi.new "void *", ffi.cast("void *", 0x1234567), ffi.new "int[4]", ffi.new "double" }

-- Tables are made anew: whoever gets one may keep it, or write into it.
M.made = {
  function() return nil end,
  function() return {} end,
  function() return pick { { 1, 2 }, { 0 }, { -1, 2 }, { {}, { 1, 2 } }, { [1] = 1, [3] = 3, x = 2 } } end,
  function() return function() end end,
  function() return pick { coroutine.create(raising), newproxy(true), newproxy() } end,
  function() return ffi.new "xchg_cuda_guard" end,
  function() return py.eval(pick { "None", "[]", "10**40", "'x'", "id" }) end,
  function()
    return of_python "Fields"(py.kwargs { ptr = 4096 * random(3), cuda_stream = pick { 0, 1, -1, 12345 } })
  end,
  function() return of_python(pick { "Raises", "Interrupts" })() end,
  function() return of_python "stream"(py.tuple(pick { { 0, 1 }, { 0, -5 }, { 0 }, { 1, 2 }, { 0, 0 } })) end,
  function() return { stream = pick { 0, 1, 2, 3, -1, "x" } } end,
  function() return { device = pick { 0, 1, 2, -1, "cuda:1", "cpu" } } end,
  function() return { grid = pick { 0, 1, 0 / 0, -1, {}, { 1, 2, 3, 4 }, 2 ^ 32 }, block = pick { 0, 1, 33, 1025, {} } } end,
  function() return { grid = 1, block = 2, shared = pick { 0, -1, 2 ^ 31, 60000, 1e9, 0 / 0 }, cooperative = true } end,
  function() return { grid = 1, block = 2, cluster = pick { 0, 1, 9, { 1, 1, 1, 1 } }, pdl = true, noalias = true } end,
  function() return { non_blocking = pick { true, false, 1 }, copy = pick { true, 2 } } end,
  function() return { dtype = pick { "float32", "int32", "x", 1 }, device = pick { "cuda:0", "cuda:1" } } end,
  function() return { axis = pick { 1, 2, -1, 0, 9, { 1, 1 }, {} }, keepdims = true } end,
  function() return { timing = true, device = pick { 0, 1 }, nonblocking = pick { true, 1 }, priority = -1 } end,
}

return M
