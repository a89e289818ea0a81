-- PyTorch's tensors on a GPU in kernels from Lua, without a copy: PyTorch makes them, Lua changes them.
--
--     eval "$(make -s env)"; luajit examples/torch_to_lua.lua     needs PyTorch with CUDA in that Python, and a GPU

local xchg = require "xchg"
local cuda, py = xchg.cuda, xchg.python

print "== torch"
local found, torch = pcall(py.import, "torch")
if not (found and torch.cuda.is_available()) then
  print "no PyTorch with a CUDA device here: skipped"
  return
end

local x = torch.arange(8, py.kwargs { dtype = torch.float32, device = "cuda" }):reshape(2, 4)
local t = xchg.from_dlpack(x) -- the same memory; what PyTorch has queued is waited for on the device, not here
print(t:to "cpu")

local scale = cuda.elementwise("float x", "float y", "y = 10 * x")
-- On PyTorch's own stream: what either side queues next comes behind it.
local stream = cuda.external_stream(torch.cuda.current_stream())
cuda.with_stream(stream, function()
  scale(t, t)
  scale(t[{ 2, {} }], t[{ 2, {} }]) -- a row once more: a view
end)
print(x:sum():item())
assert(x:sum():item() == 60 + 2200)

x = nil -- luacheck: ignore (PyTorch's side lets go; the tensor keeps the memory)
collectgarbage()
assert(t:to("cpu")[{ 2, 4 }] == 700)
