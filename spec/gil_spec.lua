-- Who holds the GIL, and for how long.
local xchg = require "xchg"
local child = require "spec.support.child"

local py = xchg.python

local build = os.getenv("XCHG_BUILD") or "build"

local function host(name)
  local path = (build:sub(1, 1) == "/" and "" or child.root .. "/") .. build .. "/spec/" .. name
  local file = io.open(path)
  if not file then pending("not built: " .. path) end
  file:close()
  return path
end

-- A child of its own, with `busy(step)`: a Python thread that counts steps, and what a clock says.
local BACKGROUND = [[
  local xchg = require "xchg"
  local py = xchg.python
  py.exec [=[
import threading, time
steps = 0
def count(step):
    global steps
    while True:
        step()
        steps += 1
]=]
  local function busy(step)
    py.exec("threading.Thread(target=count, args=(" .. step .. ",), daemon=True).start()")
  end
  local ffi = require "ffi"
  ffi.cdef "struct timespec { long s, ns; }; int clock_gettime(int, struct timespec *);"
  local spec = ffi.new("struct timespec")
  local function clock()
    ffi.C.clock_gettime(1, spec)
    return tonumber(spec.s) + tonumber(spec.ns) * 1e-9
  end
  local function lua_for(seconds)
    local stop = clock() + seconds
    while clock() < stop do end
  end
]]

local function numbers(script, options)
  local result = child.run(BACKGROUND .. script, options)
  assert.equal(0, result.status, result.stdout .. result.stderr)
  local out = {}
  for word in result.stdout:gmatch("%S+") do out[#out + 1] = tonumber(word) end
  return unpack(out)
end

describe("The GIL", function()
  it("is free between calls: Python's threads go on while Lua works", function()
    local before, after = numbers [[
      busy "lambda: time.sleep(0.001)"
      local before = py.eval "steps"
      lua_for(0.3)
      print(before, py.eval "steps")]]
    assert.is_true(after - before > 50, after - before)
  end)

  it("is asked for again by each call, also while a Python thread computes", function()
    local seconds = numbers [[
      busy "lambda: None"
      local start = clock()
      for i = 1, 50 do assert(py.eval "1 + 1" == 2) end
      print(clock() - start)]]
    assert.is_true(seconds < 10, seconds)
  end)

  it("goes to and fro between two threads, a state each", function()
    local result = child.run([[
      local py = require("xchg").python
      py.exec "import sys"
      for i = 1, 3000 do assert(py.eval "1 + 1" == 2) end
      for i = 1, 100 do py.locked(function() for j = 1, 30 do assert(py.eval "1 + 1" == 2) end end) end
    ]], { command = { host "threads_host", "p" } })
    assert.equal(0, result.status, result.stderr)
  end)

  describe("inside locked", function()
    it("stays with this thread while only Lua works", function()
      local before, after = numbers [[
        busy "lambda: time.sleep(0.001)"
        py.locked(function()
          local before = py.eval "steps"
          lua_for(0.2)
          local list = py.eval "globals()"
          print(before, py.get(list, "steps"))
        end)]]
      assert.is_true(after - before <= 2, after - before)
    end)

    it("is lent to threads that had to wait, in a loop of short calls", function()
      local before, after, calls = numbers [[
        busy "lambda: time.sleep(0.001)"
        local list = py.list { 1, 2, 3 }
        py.locked(function()
          local before = py.eval "steps"
          local stop, calls = clock() + 0.5, 0
          while clock() < stop do
            for i = 1, 100 do assert(py.len(list) == 3) end
            calls = calls + 100
          end
          print(before, py.eval "steps", calls)
        end)]]
      assert.is_true(after - before > 10, after - before)
      assert.is_true(calls > 1000, calls)
    end)

    it("passes arguments, results and errors", function()
      assert.same({ n = 3, 1, nil, 3 }, (function(...) return { n = select("#", ...), ... } end)(
        py.locked(function(...) return ... end, 1, nil, 3)))
      local thrown = {}
      local ok, e = pcall(py.locked, function() error(thrown) end)
      assert.is_false(ok)
      assert.equal(thrown, e)
      ok, e = pcall(py.locked, function() py.eval "1 / 0" end)
      assert.is_false(ok)
      assert.equal("ZeroDivisionError", e.type)
      assert.equal(2, py.eval "1 + 1")
    end)

    it("counts: the inner one does not give it up", function()
      local before, after = numbers [[
        busy "lambda: time.sleep(0.001)"
        py.locked(function()
          py.locked(function() py.eval "1" end)
          pcall(py.locked, error)
          local names = py.eval "globals()"
          local before = py.get(names, "steps")
          lua_for(0.1)
          print(before, py.get(names, "steps"))
        end)]]
      assert.is_true(after - before <= 2, after - before)
    end)

    it("cannot be left by a yield, but may run coroutines", function()
      local co = coroutine.create(function() py.locked(coroutine.yield, 1) end)
      local ok, e = coroutine.resume(co)
      assert.is_false(ok)
      assert.truthy(tostring(e):find("attempt to yield across C%-call boundary"))
      assert.equal(4, py.locked(function()
        local inner = coroutine.wrap(function()
          coroutine.yield(py.eval "1 + 1")
          coroutine.yield(py.eval "2 + 2")
        end)
        inner()
        return inner()
      end))
    end)

    it("is counted for the thread where fibers interleave", function()
      local result = child.run([[
        local number = ...
        local py = require("xchg").python
        for round = 1, 50 do
          py.locked(function()
            assert(py.eval "1 + 1" == 2)
            if number == 1 or round % 3 == 0 then switch() end
            assert(py.eval "2 + 2" == 4)
            py.locked(switch)
            py.locked(function() switch() assert(py.eval "3 + 3" == 6) end)
          end)
          switch()
          assert(py.eval "4 + 4" == 8)
        end
        io.stdout:write("fiber ", number, " done\n")
      ]], { command = host "fibers_host" })
      assert.equal(0, result.status, result.stderr)
      assert.truthy(result.stdout:find("fiber 1 done", 1, true))
      assert.truthy(result.stdout:find("fiber 2 done", 1, true))
    end)
  end)

  describe("is needed to release objects, which", function()
    local function drop(count)
      for _ = 1, count do py.eval "[1]" end
      collectgarbage()
      collectgarbage()
    end

    it("waits for the next call", function()
      drop(1)
      py.collect()
      local objects = tonumber(xchg.stats().objects)
      drop(100)
      assert.is_true(xchg.stats().pending > 0)
      py.eval "1"
      assert.equal(0, tonumber(xchg.stats().pending))
      assert.equal(objects, tonumber(xchg.stats().objects))
    end)

    it("or for the end of locked", function()
      py.collect()
      py.locked(drop, 100)
      assert.equal(0, tonumber(xchg.stats().pending))
    end)

    it("happens once, whoever comes first", function()
      local result = child.run([[
        local xchg = require "xchg"
        local py = xchg.python
        py.exec [=[
import itertools, sys
if not hasattr(sys, "made"):
    sys.made, sys.gone = itertools.count(), itertools.count()
class Counted:
    def __init__(self):
        next(sys.made)
    def __del__(self):
        next(sys.gone)
]=]
        if where == "main" then
          print(py.eval "next(sys.made)", py.eval "next(sys.gone)")
        else
          for i = 1, 2000 do
            py.eval "Counted()"
            if i % 50 == 0 then collectgarbage() end
          end
          collectgarbage() collectgarbage()
          py.eval "1"
        end]], { command = { host "threads_host", "mpm" } })
      assert.equal("0\t0\n4001\t4001\n", result.stdout, result.stderr)
    end)
  end)

  it("comes with a state of the thread that stays from call to call, and goes with the thread", function()
    local result = child.run([[
      local py = require("xchg").python
      py.exec "import sys, threading\nsys.ended = getattr(sys, 'ended', 0)"
      if where == "main" then
        print(py.eval "sys.ended")
      else
        local before = py.eval "sys.ended"
        py.exec "class Local:\n    def __del__(self): sys.ended += 1"
        py.exec "local = threading.local()\nlocal.value = Local()\nsys.kept = getattr(sys, 'kept', []) + [local]"
        for i = 1, 100 do assert(py.eval "sys.ended" == before and py.eval "hasattr(local, 'value')") end
      end]], { command = { host "threads_host", "msssm" } })
    assert.equal("0\n3\n", result.stdout, result.stderr)
  end)
end)
