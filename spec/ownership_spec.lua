-- Who frees what, and when: references, releases, views, both collectors.

local ffi = require "ffi"
local xchg = require "xchg"
local capsules = require "spec.support.capsules"
local child = require "spec.support.child"

local py = xchg.python
local c, double, kw, ns

local function value(name) return py.get(ns, name) end

setup(function()
  kw = py.kwargs
  c = capsules.module()
  double = c.double(capsules.built("exchange_double.so"))
  ns = py.exec([[
import gc, sys, weakref, xchg_capsules

class Owner(xchg_capsules.Producer):
    pass

dead = []
def watched(**fields):
    """A producer, and a note in `dead` when it dies."""
    x = Owner(**fields)
    weakref.finalize(x, dead.append, len(dead)).atexit = False
    return x

def references(x): return sys.getrefcount(x)
]], {})
end)

teardown(function() c, double, ns = nil, nil, nil end)

local function deaths() return py.len(value "dead") end

before_each(function()
  py.exec("dead.clear()", ns)
end)

after_each(function()
  capsules.collect()
  assert.same({ 0, 0 }, { py.unpack(c.account()) })
  assert.equal(double.exchange_made(), double.exchange_deleted())
  assert.equal(0, double.exchange_twice())
end)

-- Each way in: what makes a watched object that comes that way.
local WAYS = {
  dlpack = function() return value("watched")() end,
  legacy = function() return value("watched")(kw { answer = py.eval "lambda p: p.capsule(kind='legacy')" }) end,
  exchange_api = function()
    local x = value("watched")()
    local class = py.eval("type('Api', (Owner,), {'__dlpack_c_exchange_api__': t})",
      py.dict { Owner = value "Owner", t = double.exchange_table(py.bytes "working") })
    py.eval("setattr(x, '__class__', c)", py.dict { x = x, c = class })
    return x
  end,
}

for name, new in pairs(WAYS) do
  describe("an object taken through " .. name, function()
    it("is referenced once, and let go by release", function()
      local x = new()
      capsules.settle()
      local before = value("references")(x)
      local t = xchg.from_dlpack(x)
      assert.equal(name == "exchange_api" and "exchange_api" or "dlpack", t.protocol)
      assert.equal(before + 1, value("references")(x))
      t:release()
      py.collect()
      assert.equal(before, value("references")(x))
    end)

    it("lives as long as the tensor, and dies with it when Lua collects", function()
      local t
      do
        local x = new()
        t = xchg.from_dlpack(x)
      end
      capsules.collect()
      assert.equal(0, deaths())
      t[1] = t[1]
      t = nil -- luacheck: ignore
      capsules.settle()
      assert.equal(1, deaths())
    end)

    it("dies at the release when Lua holds it no more", function()
      local t = xchg.from_dlpack(new())
      capsules.collect()
      assert.equal(0, deaths())
      t:release()
      py.collect()
      assert.equal(1, deaths())
    end)

    it("lives as long as a view, however the tensor went", function()
      local t = xchg.from_dlpack(new())
      local v = t:narrow(1, 2, 2)
      local w = v:reshape { 2, 1 }
      t:release()
      capsules.collect()
      assert.equal(0, deaths())
      v[1] = 7
      assert.equal(7, w:at(1, 1))
      v = nil -- luacheck: ignore
      capsules.collect()
      assert.equal(0, deaths())
      assert.equal(7, w:at(1, 1))
      w = nil -- luacheck: ignore
      capsules.settle()
      assert.equal(1, deaths())
    end)

    it("is the tensor's owner, and keeping that keeps no tensor", function()
      local x = new()
      local t = xchg.from_dlpack(x)
      local owner = t.owner
      assert.is_true(py.is(owner, x))
      assert.is_true(py.is(t:narrow(1, 1, 1).owner, x))
      t:release()
      x = nil -- luacheck: ignore
      capsules.collect()
      assert.equal(0, deaths())
      owner = nil -- luacheck: ignore
      capsules.collect()
      assert.equal(1, deaths())
    end)

    it("is let go a thousand times in a thousand rounds", function()
      local before = xchg.stats()
      local x = new()
      capsules.settle()
      local references = value("references")(x)
      for i = 1, 1000 do
        local t = xchg.from_dlpack(x)
        if i % 2 == 0 then t:release() end
      end
      capsules.collect()
      assert.equal(references, value("references")(x))
      local after = xchg.stats()
      assert.same({ before.tensors, before.storages, before.external_bytes, before.pending },
        { after.tensors, after.storages, after.external_bytes, after.pending })
    end)
  end)
end

describe("release", function()
  it("may be repeated; any other use raises", function()
    local t = xchg.from_dlpack(c.Producer())
    local v = t:narrow(1, 1, 2)
    t:release()
    t:release()
    t:release()
    assert.equal("[released tensor]", tostring(t))
    for _, use in ipairs {
      function() return t[1] end, function() t[1] = 1 end, function() return #t end, function() return t.shape end,
      function() return t.data end, function() return t.owner end, function() return t:narrow(1, 1, 1) end,
      function() return t:totable() end, function() return t:clone() end, function() return xchg.from_dlpack(t) end,
      function() return xchg.from_dlpack(t, { copy = true }) end, function() return t:at(1) end,
    } do
      capsules.fails_with("released", "released", use)
    end
    assert.equal(2, #v)
    v:release()
  end)

  it("is queued, counted, and done at the next entry into Python", function()
    local x = c.Producer()
    local t = xchg.from_dlpack(x)
    py.collect()
    assert.equal(0, xchg.stats().pending)
    t:release()
    local stats = xchg.stats()
    assert.equal(1, stats.pending)
    assert.is_true(stats.storages >= 1)
    py.eval "1"
    assert.equal(0, xchg.stats().pending)
    assert.equal(1, x.made[0].deleted)
  end)

  it("is not put off when much memory waits", function()
    local x = c.Producer(kw { shape = { 2 ^ 18 }, size = 2 ^ 21 })
    local t = xchg.from_dlpack(x)
    t:release()
    assert.equal(0, xchg.stats().pending) -- 2 MiB
    local many = c.Producer()
    for _ = 1, 200 do
      local small = xchg.from_dlpack(many)
      small:release()
      assert.is_true(xchg.stats().pending <= 65)
    end
  end)
end)

describe("stats", function()
  it("counts tensors, memory and objects", function()
    capsules.collect()
    local before = xchg.stats()
    local x = c.Producer(kw { shape = { 8 } })
    capsules.settle()
    assert.equal(before.objects + 1, xchg.stats().objects)
    local t = xchg.from_dlpack(x)
    local v = t:narrow(1, 1, 3)
    local stats = xchg.stats()
    assert.equal(before.tensors + 2, stats.tensors)
    assert.equal(before.storages + 1, stats.storages)
    assert.equal(before.external_bytes + 64, stats.external_bytes)
    t:release()
    assert.equal(before.tensors + 1, xchg.stats().tensors)
    assert.equal(before.storages + 1, xchg.stats().storages)
    v:release()
    py.collect()
    stats = xchg.stats()
    assert.equal(before.storages, stats.storages)
    assert.equal(before.external_bytes, stats.external_bytes)
  end)
end)

describe("the budget of external memory", function()
  it("has dropped tensors collected before they pile up", function()
    capsules.collect()
    local MB = 2 ^ 20
    local budget = 32 * MB
    local old = xchg.budget(budget)
    finally(function() xchg.budget(old) end)
    -- Nothing is behind the address: only the bytes are told.
    py.exec([[
class Large(xchg_capsules.Producer):
    def __init__(self): super().__init__(shape=(2**20,), data=0x10000, size=8)
large = Large()
]], ns)
    local large, peak, start = value "large", 0, tonumber(xchg.stats().external_bytes)
    collectgarbage()
    for _ = 1, 300 do -- 8 MiB each, 2400 MiB together
      xchg.from_dlpack(large)
      peak = math.max(peak, tonumber(xchg.stats().external_bytes) - start)
    end
    assert.is_true(peak >= 16 * MB)
    -- Where collections take much of the time (here the imports cost nothing) it grows, up to eight times.
    assert.is_true(peak <= 8 * budget + 16 * MB, ("%d MiB at the peak"):format(peak / MB))
  end)

  it("bounds arrays that nobody keeps in a small program too", function()
    local result = child.run [[
      local xchg = require "xchg"
      local py = xchg.python
      local ok, np = pcall(py.import, "numpy")
      if not ok then print "none" os.exit(0) end
      local C = require "xchg.lib".C
      C.xchg_budget(16 * 2 ^ 20)
      local make = py.eval("lambda i: np.full(2**20, i) * 1.5 + np.sqrt(i)", py.dict { np = np })
      local peak = 0
      for i = 1, 60 do
        local t = xchg.from_dlpack(make(i))
        peak = math.max(peak, xchg.stats().external_bytes)
      end
      print(peak / 2 ^ 20)
    ]]
    assert.equal(0, result.status, result.stderr)
    if result.stdout == "none\n" then return pending("NumPy is not installed") end
    local peak = tonumber(result.stdout)
    assert.is_true(peak >= 16 and peak <= 8 * 16 + 8, result.stdout .. " MiB at the peak")
  end)
end)

describe("a finalizer of Lua", function()
  it("may make, read and release tensors while Lua collects", function()
    local made, total = 0, 0
    local x = c.Producer(kw { values = { 1, 2, 3, 4 } })
    local function plant()
      local proxy = newproxy(true)
      getmetatable(proxy).__gc = function()
        local t = xchg.from_dlpack(x)
        total = total + t[4]
        if made % 2 == 0 then t:release() end
        made = made + 1
      end
    end
    for i = 1, 400 do
      plant()
      local t = xchg.from_dlpack(x)
      assert.equal(3, t[3])
      if i % 40 == 0 then collectgarbage "step" end
      if i % 100 == 0 then collectgarbage() end
    end
    collectgarbage()
    collectgarbage()
    assert.equal(400, made)
    assert.equal(1600, total)
  end)
end)

describe("a finalizer that comes while the elements of a tensor are told", function()
  -- A small program, whose collector comes by often. The memory is there until the elements have been told: its exporter
  -- stays locked.
  local PROGRAM = [[
    local xchg = require "xchg"
    local py = xchg.python
    local inside, ran, cleared = false, 0, 0
    local other = xchg.zeros({ 2, 2 }, { dtype = "uint8" })
    collectgarbage("setpause", 10)
    for _ = 1, 5 do
      local bytes = py.eval "bytearray(b'\\7' * 120000)"
      local base = xchg.from_buffer(bytes)
      local t = base:reshape { 3000, 40 }
      base:release()
      collectgarbage()
      for _ = 1, 3 do
        getmetatable(newproxy(true)).__gc = function()
          if not inside then return end
          ran = ran + 1
          DEED
          py.collect()
          if pcall(function() bytes:clear() end) then cleared = cleared + 1 end
        end
      end
      inside = true
      local done, all = pcall(t.totable, t)
      inside = false
      if done and #all == 3000 then
        for i = 1, 3000 do
          for k = 1, 40 do assert(all[i][k] == 7) end
        end
        assert(cleared == 0)
      else -- it came before the first element
        assert(done or all.code == "released", all)
      end
      cleared = 0
      t:release()
    end
    print(ran > 0)
  ]]
  for what, deed in pairs { ["release it"] = "t:release()", ["make it one over other memory"] = "xchg.into(t, other)" } do
    it("may " .. what, function()
      local result = child.run((PROGRAM:gsub("DEED", deed)))
      assert.same({ 0, "true\n" }, { result.status, result.stdout }, result.stderr)
    end)
  end
end)

describe("a destructor in Python", function()
  it("may let go of other objects that Lua holds or has held", function()
    py.exec([[
class Chain(xchg_capsules.Producer):
    count = 0
    def __init__(self, n):
        super().__init__()
        self.next = Chain(n - 1) if n else None
    def __del__(self):
        Chain.count += 1
        self.next = None
        gc.collect(0)
def chain(): return Chain(30)
]], ns)
    local tensors = {}
    for i = 1, 10 do
      local x = value("chain")()
      while x ~= nil do
        tensors[#tensors + 1] = xchg.from_dlpack(x)
        x = x.next
      end
      if i % 3 == 0 then capsules.settle() end
    end
    assert.equal(310, #tensors)
    tensors = nil -- luacheck: ignore
    capsules.collect()
    assert.equal(310, value("Chain").count)
  end)

  it("runs at the release when the last reference was the tensor's, and may raise", function()
    py.exec([[
import io, contextlib
class Last(xchg_capsules.Producer):
    ran = 0
    def __del__(self):
        Last.ran += 1
        raise RuntimeError("in __del__")
sys.unraisablehook, hook = (lambda *a: None), sys.unraisablehook
]], ns)
    local t = xchg.from_dlpack(value("Last")())
    capsules.settle()
    t:release()
    py.collect()
    assert.equal(1, value("Last").ran)
    assert.equal("2", tostring(py.eval "2"))
    py.exec("sys.unraisablehook = hook", ns)
  end)

  it("may run inside the deleter", function()
    py.exec([[
released = []
def nested(): released.append(len(released)); gc.collect()
]], ns)
    local made = c.make(kw { when_deleted = value "nested" })
    local t = xchg.from_dlpack(made.capsule)
    t:release()
    py.collect()
    assert.equal(1, py.len(value "released"))
  end)
end)

describe("a copy of a tensor's bytes", function()
  it("is no tensor: it is refused, and frees nothing", function()
    local t = xchg.from_dlpack(c.Producer())
    local copy = ffi.new(ffi.typeof(t))
    ffi.copy(copy, t, 64)
    capsules.fails_with("bad_argument", "copy of a tensor's bytes", function() copy:release() end)
    assert.equal(4, #t)
    t:release()
  end)
end)
