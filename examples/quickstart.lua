-- Arrays of NumPy, PyTorch and JAX in LuaJIT, without a copy: what comes in, who sees what is written, who frees it.
--
--     ./bootstrap demo                                          installs what is missing and runs this
--     eval "$(make -s env)"; luajit examples/quickstart.lua     the same where everything is there

local xchg = require "xchg"
local py = xchg.python

local info = assert(py.info())
print(("Python %s of %s (%s)"):format(info.version, info.prefix, info.reason))

-- The module, or nil where this Python does not have it.
local function import(name)
  local found, module = pcall(py.import, name)
  if found then return module end
  assert(module.type == "ModuleNotFoundError", tostring(module))
end

print "== NumPy"
local np = import "numpy"
if not np then
  print "not installed here: skipped"
  return
end
local array = np.arange(12, py.kwargs { dtype = "float64" }):reshape(3, 4)
local t = xchg.from_dlpack(array) -- cdata over NumPy's memory
t[{ 2, 3 }] = 42 -- Python sees it
print(t)
assert(py.get(array, py.tuple { 1, 2 }) == 42) -- Python counts from 0

local sum = 0
for i = 1, t:size(1) do
  for j = 1, t:size(2) do sum = sum + t:at(i, j) end -- checked, and compiled to machine code
end
print("sum in Lua, in Python:", sum, array:sum())
assert(sum == array:sum())

local column = t[{ {}, 3 }] -- a view: the same memory again
column:fill_(-1)
print("a column, filled from Lua, in Python:")
print(py.repr(array))

array = nil -- luacheck: ignore (Python's side lets go; the tensors keep the memory)
collectgarbage()
assert(t[{ 3, 4 }] == 11 and column[1] == -1)
t:release()
print("after the release of the tensor, its view still reads", column[2])

print "== PyTorch"
local torch = import "torch"
if torch then
  local x = torch.arange(6, py.kwargs { dtype = torch.float32 }):reshape(2, 3)
  local tx = xchg.from_dlpack(x:t()) -- transposed: strides, no copy
  print(tx)
  tx:set(0.5, 3, 2)
  assert(x[1][2]:item() == 0.5 and tx.strides[1] == 1 and tx.strides[2] == 3)
else
  print "not installed here: skipped"
end

print "== JAX"
local jnp = import "jax.numpy"
if jnp then
  local tj = xchg.from_dlpack(jnp.linspace(0, 1, 5))
  print(tj)
  local written, problem = pcall(function() tj[1] = 1 end)
  assert(not written and problem.code == "readonly")
  print(problem.message)
  local own = tj:clone() -- a copy of our own can be written
  own[1] = 1
  assert(own[1] == 1 and tj[1] == 0)
else
  print "not installed here: skipped"
end
