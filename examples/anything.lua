-- A function that takes whatever its caller has: arrays of any library, buffers, lists, numbers, and lists of those.
-- What has memory is shared, the rest is copied, and what is no array says why.
--
--     eval "$(make -s env)"; luajit examples/anything.lua

local xchg = require "xchg"
local py = xchg.python

-- The root of the mean square of all elements.
local function rms(x)
  local flat = xchg.asarray(x, { dtype = "float64" }):reshape(-1)
  local sum, n = 0, flat:numel()
  for i = 1, n do
    local v = flat[i]
    sum = sum + v * v
  end
  return math.sqrt(sum / n)
end

local ns = py.exec([=[
import array
import numpy as np
samples = np.array([3, -4, 3, -4], dtype=np.int16)
table = np.arange(12.0).reshape(3, 4)
views = {"every second column": table[:, ::2], "read-only": np.broadcast_to(np.float32(2), (2, 5))}
mixed = [samples, [1, 2, 3, 4]]
numbers = (k * 0.5 for k in range(4))
packed = array.array("d", [1.0, 1.0])
gaps = np.ma.array([1.0, 2.0], mask=[False, True])
]=], {})

for _, source in ipairs { "samples", "table", "views['every second column']", "views['read-only']", "mixed", "numbers",
  "packed", "3" } do
  print(("%-30s %.4f"):format(source, rms(py.eval(source, ns))))
end
print(("%-30s %.4f"):format("a Lua table", rms { { 1, 7 }, { 5, 5 } }))

-- What an object offers, without taking it.
local offer = xchg.probe(py.eval("table", ns))
print(offer.dtype, table.concat(offer.shape, "x"), offer.device, table.concat(offer.protocols, " "))

-- What is written into shared memory, Python sees.
local t = xchg.asarray(py.eval("samples", ns))
t[1] = 30
print(py.eval("int(samples[0])", ns))
t:release()

-- Refusals name the cause, and the cure where there is one.
for _, source in ipairs { "gaps", "{'a': 1}", "[[1, 2], [3]]" } do
  local _, e = pcall(xchg.asarray, py.eval(source, ns))
  print(e.code, (e.message:match "[^\n]*"))
end
