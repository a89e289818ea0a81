-- Raw DLPack capsules: what producers hand out below their arrays. Either kind is taken, once.
--
--     eval "$(make -s env)"; luajit examples/capsule.lua

local xchg = require "xchg"
local py = xchg.python
local np = py.import "numpy"

local array = np.arange(6, py.kwargs { dtype = "int32" }):reshape(2, 3)

-- Without arguments NumPy gives a legacy capsule, named "dltensor". A capsule says nothing of who made it.
local legacy = array:__dlpack__()
local t = xchg.from_dlpack(legacy)
print(t)
print(py.repr(legacy):match '"(.-)"') -- consumed: renamed, so that nobody takes it again
assert(t.owner == nil and t.protocol == "dlpack")

-- Asked for version 1 it gives a versioned one, which carries flags: read-only memory says so.
array:setflags(py.kwargs { write = false })
local versioned = array:__dlpack__(py.kwargs { max_version = py.tuple { 1, 0 } })
local r = xchg.from_dlpack(versioned)
print(r)
assert(r.readonly and not t.readonly)

-- The same memory under all three.
t[{ 2, 3 }] = 42
assert(r[{ 2, 3 }] == 42 and py.tonumber(py.get(array, py.tuple { 1, 2 })) == 42) -- numpy.int32 stays an object

-- A capsule can be consumed once, and by its right name only.
local again, problem = pcall(xchg.from_dlpack, versioned)
assert(not again and problem.code == "bad_capsule")
print(problem.message)

-- NumPy's memory lives as long as a tensor over it.
array, legacy, versioned = nil, nil, nil -- luacheck: ignore
collectgarbage()
py.collect()
print("still readable:", t[{ 2, 3 }])
t:release()
r:release()
py.collect()
assert(xchg.stats().storages == 0)
print "both deleters have run"
