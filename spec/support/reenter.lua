--- Imports inside of imports: finalizers and hooks of Lua, which run in the middle of the library's own code, import,
--- repoint and release the tensors that are just being made. A program of its own, run by import_reentry_spec.
--- Arguments: a seed, how many steps, and "hooks" for hooks too. What must not be is printed.

local xchg = require "xchg"
local capsules = require "spec.support.capsules"
local is_error = require("xchg.error").is

local seed, steps, hooks = tonumber(arg[1]), tonumber(arg[2]), arg[3] == "hooks"
jit.off() -- compiled code may know the slot from before a finalizer has given the tensor another one, and refuse it
math.randomseed(seed)
local random, py = math.random, xchg.python

local function wrong(what, problem)
  print(("seed %d: %s: %s"):format(seed, what, tostring(problem):sub(1, 300)))
  os.exit(1)
end

capsules.module()
local ns = py.exec([==[
import array
import xchg_capsules as c
class Producer:
    def __init__(self, value): self.value = value
    def __dlpack_device__(self): return (1, 0)
    def __dlpack__(self, **keywords):
        return c.make(values=[self.value] * 4, kind="versioned" if keywords.get("max_version") else "legacy").take()
objects = [Producer(1.0), Producer(2.0), array.array("d", [3.0] * 4), memoryview(array.array("d", [4.0] * 3)),
    [5.0] * 3, [Producer(6.0), [6.0] * 4], bytearray(b"\x07" * 9), b"\x08" * 5, object(), [[9.0], 9.0]]
try:
    import numpy as np
    objects += [np.full(5, 10.0), np.full((5, 5), 11.0)[::2, 1], np.full(4, 12, "u1"), [np.full(2, 13.0)] * 2]
except ImportError:
    pass
]==], {})
local objects = {}
for x in py.iter(ns:get "objects") do objects[#objects + 1] = x end

xchg.asarray(1):release() -- modules that are loaded at the first call cannot be asked for in the middle of that
xchg.probe(objects[1])
capsules.collect()

local targets = {}
for i = 1, 3 do targets[i] = xchg.full(4, 99) end
local kept = {}

-- What is being read must not be made another tensor meanwhile: docs/ownership.md.
local looking = 0

-- The elements of a tensor are all one number, from 1 to 13, or 99.
local function look(what, t)
  looking = looking + 1
  local done, value = pcall(function()
    if t.ndim == 1 and not hooks then
      local n = #t
      local first = n > 0 and t[1] or 1
      if n > 9 then return -n end
      for i = 2, n do
        if t[i] ~= first then return 1 end -- it was made another meanwhile
      end
      return first
    end
    if hooks then return t:numel() >= 0 and 1 end -- of which finalizers may make another meanwhile
    return t:numel() > 0 and t:totable()[1][1] or 1
  end)
  looking = looking - 1
  if not done then
    -- What runs in the middle of this may have released it, or made it smaller; a hook may see it half made.
    local code = is_error(value) and value.code
    if code ~= "released" and code ~= "out_of_range" and not (hooks and code == "bad_argument") then wrong(what, value) end
  elseif not (value >= 1 and value <= 13 or value == 99) then
    wrong(what, value)
  end
end

local functions = { "from_dlpack", "from_buffer", "asarray", "into", "into", "into", "release", "look", "drop", "probe",
  "collect", "revive" }

local function step(depth)
  local what = functions[random(#functions)]
  -- Between any two instructions nobody can be told that a tensor is another, or none.
  local repoints = what == "into" or what == "revive"
  if depth > 0 and (repoints and looking > 0 or hooks and (repoints or what == "release")) then what = "look" end
  local x, t = objects[random(#objects)], targets[random(#targets)]
  local done, result = true, nil
  if what == "into" then
    done, result = pcall(xchg.into, t, x)
  elseif what == "release" then
    t:release()
  elseif what == "revive" then
    done, result = pcall(xchg.into, t, objects[3])
  elseif what == "look" then
    look(what, t)
    local other = kept[random(20)]
    if other then look(what, other) end
  elseif what == "drop" then
    kept[random(20)] = nil
  elseif what == "collect" then
    -- Not in a finalizer: LuaJIT may never come to an end of that.
    if depth == 0 then collectgarbage(random(20) == 1 and "collect" or "step") end
  elseif what == "probe" then
    xchg.probe(x)
  else
    done, result = pcall(xchg[what], x)
    if done then
      look(what, result)
      if random(3) == 1 then result:release() else kept[random(20)] = result end
    end
  end
  if not done and not is_error(result) then wrong(what, result) end
end

local inside = 0
local function meanwhile()
  if inside > 2 then return end
  inside = inside + 1
  local done, problem = pcall(step, inside)
  inside = inside - 1
  if not done then wrong("in the middle", problem) end
end

local function arm()
  local proxy = newproxy(true)
  getmetatable(proxy).__gc = meanwhile
end

collectgarbage("setpause", 50)
collectgarbage("setstepmul", 1000)
if hooks then debug.sethook(meanwhile, "", 97) end
for _ = 1, steps do
  arm()
  step(0)
end
debug.sethook()
inside = 10
for i = 1, #targets do targets[i]:release() end
for i = 1, 20 do kept[i] = nil end
jit.flush()
for _ = 1, 3 do capsules.collect() end
local left, twice = py.unpack(capsules.module().account())
local stats = xchg.stats()
if left ~= 0 or twice ~= 0 then wrong("producers", left .. " left, " .. twice .. " twice") end
if stats.tensors ~= 0 or stats.storages ~= 0 or stats.pending ~= 0 then
  wrong("the end", stats.tensors .. " tensors, " .. stats.storages .. " storages, " .. stats.pending .. " pending")
end
print "the end"
