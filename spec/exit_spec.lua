-- Every way that a process can end gives the right status, Python's output and Python's atexit functions, once. Each
-- case is a process of its own. XCHG_EXIT_ROUNDS=10 repeats them, because crashes at exit are a matter of luck, and
-- runs every case with every library; once, only JAX, the most sensitive one, gets them all.
local child = require "spec.support.child"
local pythons = require "spec.support.pythons"

local rounds = tonumber(os.getenv("XCHG_EXIT_ROUNDS") or "") or 1
local build = os.getenv("XCHG_BUILD") or "build"
local threads_host = (build:sub(1, 1) == "/" and "" or child.root .. "/") .. build .. "/spec/threads_host"

-- Output into a pipe or file waits in Python's buffer until somebody flushes it.
local UNSET = { "PYTHONUNBUFFERED" }

local PRELUDE = [[
  local xchg = require "xchg"
  local py = xchg.python
  py.exec [=[
import sys, atexit, threading, time
if not hasattr(sys, "xchg_seen"):
    sys.xchg_seen = True
    atexit.register(lambda: print("atexit"))
print("output é")
]=]
]]

-- What the library in the title does before the process ends, so that its thread_locals and statics are alive.
local LIBRARIES = {
  numpy = [[py.exec "import numpy; kept = numpy.arange(5.0) + 1"
            local tensor = xchg.from_dlpack(py.eval "kept")]],
  torch = [[py.exec "import torch; kept = torch.arange(5.0) + 1"
            local tensor = xchg.from_dlpack(py.eval "kept")]],
  jax = [[py.exec "import jax, jax.numpy; kept = jax.numpy.arange(5.0) + 1; kept.sum().block_until_ready()"
          local tensor = xchg.from_dlpack(py.eval "kept")]],
}

local ENDS = {
  { "its end", "", status = 0, short = true },
  { "an error", "error('on purpose')", status = 1 },
  { "os.exit", "os.exit(5)", status = 5, short = true },
  { "os.exit that closes the state", "os.exit(6, true)", status = 6 },
  { "an uncaught Python error", "py.exec 'raise ValueError(1)'", status = 1 },
  { "SystemExit, an error like others", "py.exec 'raise SystemExit(9)'", status = 1 },
  { "os.exit inside locked", "py.locked(function() os.exit(7) end)", status = 7, short = true },
  { "an error inside locked", "py.locked(function() error('on purpose') end)", status = 1 },
  { "exit called by Python with the GIL", "py.exec 'import ctypes; ctypes.PyDLL(None).exit(8)'", status = 8 },
  { "exit called by Python without the GIL", "py.exec 'import ctypes; ctypes.CDLL(None).exit(8)'", status = 8 },
  { "its end, a thread still at work", status = 0, more = "thread\n", short = true,
    [[py.exec "threading.Thread(target=lambda: (time.sleep(0.2), print('thread'))).start()"]] },
  { "os.exit, a thread still at work", status = 4, more = "thread\n",
    [[py.exec "threading.Thread(target=lambda: (time.sleep(0.2), print('thread'))).start()"; os.exit(4)]] },
  { "its end, a daemon thread spinning", status = 0,
    [[py.exec "threading.Thread(target=lambda: [0 for _ in iter(int, 1)], daemon=True).start()"]] },
  { "os.exit, a daemon thread asleep", status = 3,
    [[py.exec "threading.Thread(target=lambda: time.sleep(100), daemon=True).start()"; os.exit(3)]] },
  { "its end after python.shutdown", status = 0, after = "after\n",
    [[py.shutdown(); py.shutdown(); py.exec "print('after')"]] },
  { "os.exit after python.shutdown inside locked", status = 2, after = "after\n",
    [[py.locked(function() py.shutdown(); py.exec "print('after')" end) os.exit(2)]] },
  { "a failing atexit function", status = 0, error = "ZeroDivisionError", "py.exec 'atexit.register(lambda: 1 / 0)'" },
}

local function check(case, script, options, label)
  for _ = 1, rounds do
    local result = child.run(script, options)
    local what = label .. ": " .. result.stdout .. result.stderr
    assert.equal(case.status, result.status, what)
    assert.equal("output é\n" .. (case.more or "") .. "atexit\n" .. (case.after or ""), result.stdout, what)
    if case.error then assert.truthy(result.stderr:find(case.error, 1, true), what) end
  end
end

local function libraries(case)
  local chosen = {}
  for name, use in pairs(LIBRARIES) do
    if rounds > 1 or name == "jax" or case.short then chosen[name] = use end
  end
  return chosen
end

local function has(executable, module)
  local question = ("import importlib.util, sys; sys.exit(not importlib.util.find_spec('%s'))"):format(module)
  return os.execute(("%s -I -c %s 2>/dev/null"):format(child.quote(executable), child.quote(question))) == 0
end

local function require_library(name)
  local python = os.getenv("XCHG_PYTHON")
  if not python or not has(python, name) then pending(name .. " is not in XCHG_PYTHON") end
end

describe("A process that ends", function()
  for _, case in ipairs(ENDS) do
    it("by " .. case[1] .. " has the right status and all output, on each CPython", function()
      local supported = pythons.supported()
      if not supported[1] then pending("no CPython of 3.10 or newer with a shared library") end
      for _, each in ipairs(supported) do
        check(case, PRELUDE .. case[2], { env = { XCHG_PYTHON = each.executable }, unset = UNSET }, each.version)
      end
    end)

    for name, use in pairs(libraries(case)) do
      it("by " .. case[1] .. ", with " .. name .. " imported", function()
        require_library(name)
        check(case, PRELUDE .. use .. "\n" .. case[2], { unset = UNSET }, name)
      end)
    end
  end

  describe("with states", function()
    -- The script of each state, and what is left to say in the end.
    local PLANS = {
      { "one after the other", "mm", lines = 2 },
      { "three on the main thread, the last one fails", "mmm", lines = 3, status = 1,
        last = "if n == 3 then error('on purpose') end" },
      { "one on a side thread", "s", lines = 1 },
      { "one on a side thread that stays open", "S", lines = 1 },
      { "one on a side thread, then one on the main thread", "sm", lines = 2 },
      { "one on the main thread, then one on a side thread", "ms", lines = 2 },
      { "one on a side thread after another", "sss", lines = 3 },
      { "two at once", "p", lines = 2, short = true },
      { "one on a side thread that calls os.exit", "s", short = true, lines = 1, last = "os.exit(9)", status = 9 },
      { "one on a side thread that calls os.exit inside locked", "s", lines = 1,
        last = "py.locked(function() os.exit(9) end)", status = 9 },
      { "one on the main thread, then one on a side thread that calls os.exit", "ms", lines = 2,
        last = "if n == 2 then os.exit(9) end", status = 9 },
      { "one on a side thread, then one on the main thread that calls os.exit", "sm", lines = 2,
        last = "if n == 2 then os.exit(9) end", status = 9 },
      { "two at once that both call os.exit", "p", lines = 2, last = [[
          py.exec "sys.barrier = getattr(sys, 'barrier', None) or threading.Barrier(2)\nsys.barrier.wait(20)"
          os.exit(9)]], status = 9 },
    }

    local STATE = [[
      local xchg = require "xchg"
      local py = xchg.python
      py.exec [=[
import sys, atexit, threading
if not hasattr(sys, "xchg_seen"):
    sys.xchg_seen = 0
    sys.xchg_lock = threading.Lock()
    atexit.register(lambda: sys.stdout.write("atexit\n"))
class Local:
    def __del__(self):
        "runs when the thread ends"
held = threading.local()
held.value = Local()
with sys.xchg_lock:
    sys.xchg_seen += 1
sys.stdout.write("state\n")
]=]
      local n = py.eval "sys.xchg_seen"
      %s
      for i = 1, 300 do assert(py.eval("1 + 1") == 2) end
      %s]]

    local function host()
      local file = io.open(threads_host)
      if not file then pending("not built: " .. threads_host) end
      file:close()
    end

    local function check_plan(plan, use, options, label)
      for _ = 1, rounds do
        local result = child.run(STATE:format(use, plan.last or ""), options)
        local what = label .. ": " .. result.stdout .. result.stderr
        assert.equal(plan.status or 0, result.status, what)
        assert.equal(("state\n"):rep(plan.lines) .. "atexit\n", result.stdout, what)
      end
    end

    for _, plan in ipairs(PLANS) do
      it(plan[1] .. ", on each CPython", function()
        host()
        for _, each in ipairs(pythons.supported()) do
          check_plan(plan, "", {
            env = { XCHG_PYTHON = each.executable }, unset = UNSET, command = { threads_host, plan[2] },
          }, each.version)
        end
      end)

      for name, use in pairs(libraries(plan)) do
        it(plan[1] .. ", with " .. name .. " imported", function()
          host()
          require_library(name)
          check_plan(plan, use, { unset = UNSET, command = { threads_host, plan[2] } }, name)
        end)
      end
    end
  end)

  describe("under mpiexec", function()
    local SCRIPT = [[
      local py = require("xchg").python
      py.exec "from mpi4py import MPI; comm = MPI.COMM_WORLD; total = comm.allreduce(comm.rank + 1)"
      py.exec "print('rank', comm.rank, 'of', comm.size, 'total', total)"
      %s]]

    local function mpi()
      require_library("mpi4py")
      local mpiexec = os.getenv("XCHG_PYTHON"):match("^(.*/)") .. "mpiexec"
      local file = io.open(mpiexec)
      if not file then pending("no mpiexec beside XCHG_PYTHON") end
      file:close()
      return { mpiexec, "-n", "2", "luajit" }
    end

    it("finalizes MPI, so that the launcher sees success", function()
      for _, last in ipairs({ "", "os.exit(0)", "py.shutdown()" }) do
        local result = child.run(SCRIPT:format(last), { command = mpi(), unset = UNSET })
        assert.equal(0, result.status, result.stdout .. result.stderr)
        assert.truthy(result.stdout:find("rank 0 of 2 total 3", 1, true), result.stdout)
        assert.truthy(result.stdout:find("rank 1 of 2 total 3", 1, true), result.stdout)
      end
    end)

    it("passes a failure on", function()
      local result = child.run(SCRIPT:format("error('on purpose')"), { command = mpi(), unset = UNSET })
      assert.are_not.equal(0, result.status)
    end)
  end)

  it("keeps quiet where the output is closed, and in a child of a fork", function()
    local result = child.run(PRELUDE .. [[
      local ffi = require "ffi"
      ffi.cdef "int fork(void); int waitpid(int, int *, int);"
      local pid = ffi.C.fork()
      if pid == 0 then os.exit(3) end
      local status = ffi.new("int[1]")
      ffi.C.waitpid(pid, status, 0)
      assert(status[0] == 3 * 256, status[0])]], { unset = UNSET })
    assert.equal(0, result.status, result.stderr)
    assert.equal("output é\natexit\n", result.stdout)

    result = child.run([[
      local py = require("xchg").python
      py.exec "import sys, os; print('lost'); os.close(1)"]], { unset = UNSET })
    assert.equal(0, result.status)
    assert.equal("", result.stderr)
  end)

  it("gives the output of a state that is closed before the process ends", function()
    local file = io.open(threads_host)
    if not file then pending("not built: " .. threads_host) end
    file:close()
    local result = child.run([[
      local py = require("xchg").python
      py.exec "import os; print('first') if not os.environ.get('SECOND') else os._exit(7)"
      py.exec "os.environ['SECOND'] = '1'"]], { unset = UNSET, command = { threads_host, "mm" } })
    assert.equal(7, result.status, result.stderr)
    assert.equal("first\n", result.stdout)
  end)
end)
