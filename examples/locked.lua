-- A hot loop over many small arrays: python.locked keeps Python's lock for the whole loop instead of taking and
-- giving it with every call. Other threads of Python still get their turn when they wait.
--
--     eval "$(make -s env)"; luajit examples/locked.lua

local xchg = require "xchg"
local py = xchg.python
local np = py.import "numpy"

local COUNT = 20000

-- The mean of each of a list's arrays: an import, a sum in Lua, a release.
local function means(arrays, out)
  for k = 1, COUNT do
    local t = xchg.from_dlpack(arrays[(k - 1) % 16])
    local sum = 0
    for i = 1, #t do sum = sum + t[i] end
    out[k] = sum / #t
    t:release()
  end
end

local arrays = py.list {}
for k = 0, 15 do arrays:append(np.arange(k, k + 8, py.kwargs { dtype = "float64" })) end

local out = xchg.zeros(COUNT)
means(arrays, out) -- compiles it: the two measured runs are alike

local function seconds(fn, ...)
  local started = os.clock()
  fn(...)
  return os.clock() - started
end

local entered = seconds(means, arrays, out)
local locked = seconds(py.locked, means, arrays, out)
io.stderr:write(("%d arrays: %.0f ns each, %.0f ns inside locked\n"):format(COUNT, entered / COUNT * 1e9,
  locked / COUNT * 1e9))

for k = 1, COUNT do assert(out[k] == (k - 1) % 16 + 3.5) end

-- What the function returns or raises comes through, and the lock is given back either way.
assert(select("#", py.locked(function(...) return ... end, 1, nil, 3)) == 3)
local done, problem = pcall(py.locked, error, "mine")
assert(not done and problem == "mine")

-- A coroutine cannot leave the function by yielding: nobody would keep the lock.
local yielded = coroutine.wrap(function() return pcall(py.locked, coroutine.yield) end)
print(select(2, yielded()))

-- Another thread of Python counts while the locked loop runs.
local counter = py.exec [[
import threading
count, stop = 0, False
def run():
    global count
    while not stop: count += 1
thread = threading.Thread(target=run, daemon=True)
thread.start()
]]
py.locked(function()
  for _ = 1, 20 do means(arrays, out) end
end)
assert(py.get(counter, "count") > 0)
py.set(counter, "stop", true)
py.get(counter, "thread"):join()
print "the other thread had its turn"
