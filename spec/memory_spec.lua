-- Lua's memory runs out in the middle of what Python is asked: at each allocation of each action once. Everything
-- raises, and no reference is lost.

local child = require "spec.support.child"

local script = [=[
jit.off() -- what a trace allocates is no part of the action
local xchg = require "xchg"
local py = xchg.python
local space = py.exec([[
    import sys
    marker = object()
    class C:
        def __init__(self):
            self.marker, self.items = marker, [marker, marker]
            self.d = {"a": marker, "b": (marker, "text" * 20)}
        def m(self, *a, **k): return a
        def fail(self, *a): raise ValueError("x" * 50, marker)
    c = C()
    def references(): return (sys.getrefcount(marker), sys.getrefcount(C.m), sys.getrefcount(c))
    def gen():
        for i in range(3): yield (marker, i)
]], {})
local c, marker = py.get(space, "c"), py.get(space, "marker")
local references, gen = py.get(space, "references"), py.get(space, "gen")
local names = 0

local actions = {
  attribute = function() return c.marker end,
  ["attribute of a new name"] = function() names = names + 1 return py.getattr(c, "name" .. names, 1) end,
  method = function() return c:m(marker, "text", { marker, { marker } }) end,
  keywords = function() return c:m(py.kwargs { a = marker, b = { x = marker, y = { marker } } }) end,
  list = function()
    local t = { marker }
    t[2] = { t, { marker } }
    local l = py.list(t)
    l:clear()
    return l
  end,
  dict = function() return py.dict { [marker] = { marker }, x = { y = { marker } } } end,
  constructors = function() return py.tuple { marker }, py.set { marker }, py.bytes "x", py.float(2) end,
  totable = function() return py.totable(c.d), py.totable(c.items) end,
  unpack = function() return py.unpack(c.items) end,
  iter = function() for v in py.iter(gen()) do local _ = v[0] end end,
  items = function() for k, v in py.items(c.d) do local _ = k, v end end,
  exception = function() c:fail(marker) end,
  refusal = function() c:m(marker, { marker, { print } }) end,
  eval = function() return py.eval("[m, m]", { m = marker }) end,
  ["failing exec"] = function() return py.exec("x = m\n1/0", { m = marker }) end,
  text = function() return tostring(c.items) .. c end,
  ["large integers"] = function() return py.eval "2**60", py.eval "2**63", py.eval "2**70" end,
  locked = function() return py.locked(function() return c:m(marker) end) end,
}

local function settle()
  for _ = 1, 3 do
    collectgarbage()
    collectgarbage()
    py.collect()
  end
  py.import("gc").collect()
  collectgarbage()
  collectgarbage()
  py.collect()
  return py.repr(references()), tonumber(xchg.stats().objects)
end

for _ = 1, 2 do -- what is made only once
  for _, action in pairs(actions) do pcall(action) end
end
for name, action in pairs(actions) do
  local before, objects = settle()
  local n, failures = 0, 0
  repeat
    n = n + 1
    local seen = fail_at(n)
    local ok, e = pcall(action)
    local failed = fail_at(0) > seen
    if failed then
      failures = failures + 1
      local kind = type(e) == "table" and e.code or e
      if not ok and kind ~= "not enough memory" and kind ~= "out_of_memory" and kind ~= "python"
        and kind ~= "wrong_type" then
        print(name, n, "raised", tostring(e))
      end
    end
  until not failed or n > 2000
  local after, left = settle()
  if failures == 0 then print(name, "allocates nothing") end
  if after ~= before then print(name, "references", before, after) end
  if left ~= objects then print(name, "objects", objects, left) end
end
print "done"
]=]

describe("Lua's memory", function()
  it("may end anywhere", function()
    local host = (os.getenv("XCHG_BUILD") or "build") .. "/spec/memory_host"
    local result = child.run(script, { command = child.absolute(host) })
    if result.status == 77 then return pending(result.stderr) end
    assert.equal("", result.stderr)
    assert.equal("done\n", result.stdout)
    assert.equal(0, result.status)
  end)
end)
