-- Memory of a Python library on a device, in kernels from Lua, without a copy: numba-cuda makes it, Lua changes it.
--
--     eval "$(make -s env)"; luajit examples/numba_to_lua.lua     needs numba-cuda in that Python

local xchg = require "xchg"
local cuda, py = xchg.cuda, xchg.python
if not cuda.available() then cuda.use "sim" end -- before numba looks for a device

print "== numba"
local found, numba = pcall(py.import, "numba.cuda")
if not found then
  print "not installed here: skipped"
  return
end
local np = py.import "numpy"

local array = numba.to_device(np.arange(8, py.kwargs { dtype = "float32" }):reshape(2, 4))
local t = xchg.from_cai(array) -- its __cuda_array_interface__: the same memory, numba's stream waited for
print(t.device, t.dtype, t.protocol)

local scale = cuda.elementwise("float x", "float y", "y = 10 * x")
scale(t, t) -- in place
scale(t[{ 2, {} }], t[{ 2, {} }]) -- a row once more: a view

numba.synchronize() -- numba reads on a stream of its own
print(py.repr(array:copy_to_host()))
assert(array:copy_to_host():sum():item() == 60 + 2200)

array = nil -- luacheck: ignore (numba's side lets go; the tensor keeps the memory)
collectgarbage()
assert(t:to("cpu")[{ 2, 4 }] == 700)
