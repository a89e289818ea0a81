--- Memory of the host by other ways than DLPack.

local ffi = require "ffi"
local measure = require "measure"
local setup = require "setup"

local function import(object)
  return setup.loop("from_buffer(x):release()", object)
end

return function()
  local _, py = setup.python()
  local np = setup.module("numpy")
  local array, bytes = np.arange(1000, py.kwargs { dtype = "float64" }), py.eval "bytearray(1000)"
  local reference = setup.reference_case(array)
  local frombuffer = setup.calling("np.frombuffer(bytearray) from C", np.frombuffer, bytes)
  local readonly = py.bytes(("x"):rep(1000))
  local text, cdata = ("x"):rep(1000), ffi.new("double[1000]")
  frombuffer.against = reference
  measure.title("buffers", "memory of the host comes in by other ways than DLPack, and goes again")
  measure.table { rounds = 151, cases = {
    reference,
    { name = "from_buffer(NumPy) + release, locked", run = import(array), locked = true, against = reference,
      limit = 0.65, compiles = true },
    { name = "from_buffer(NumPy) + release", run = import(array), against = reference, compiles = true },
    frombuffer,
    { name = "from_buffer(bytearray) + release, locked", run = import(bytes), locked = true, against = frombuffer,
      limit = 0.4, compiles = true },
    { name = "from_buffer(bytearray) + release", run = import(bytes), against = frombuffer, compiles = true },
    { name = "from_buffer(bytes) + release, locked", run = import(readonly), locked = true, against = frombuffer,
      compiles = true },
    { name = "from_buffer(Lua string) + release", run = import(text), against = frombuffer },
    { name = "from_buffer(cdata array) + release", run = import(cdata), against = frombuffer },
  } }
end
