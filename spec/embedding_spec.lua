-- Python that a host has brought, and Python after a fork. Each case is a process of its own.
local child = require "spec.support.child"
local pythons = require "spec.support.pythons"
local start = require "spec.support.start"

local needs, usable, host, run = start.needs, start.usable, start.host, start.run
local folder

describe("Python in the process", function()
  setup(function() folder = child.folder() end)

  teardown(function() child.remove(folder) end)

  describe("brought by the host", function()
    local LAUNCHER = [[
import ctypes, sys
%s
lua = ctypes.%s("libluajit-5.1.so.2", ctypes.RTLD_GLOBAL)
lua.luaL_newstate.restype = ctypes.c_void_p
lua.lua_tolstring.restype = ctypes.c_char_p
for name in "luaL_openlibs", "lua_close":
    getattr(lua, name).argtypes = [ctypes.c_void_p]
L = ctypes.c_void_p(lua.luaL_newstate())
lua.luaL_openlibs(L)
bad = lua.luaL_loadfile(L, sys.argv[1].encode()) or lua.lua_pcall(L, 0, 0, 0)
if bad:
    print("failed:", (lua.lua_tolstring(L, -1, None) or b"?").decode())
lua.lua_close(L)
print("Python lives:", sum(range(5)))
sys.exit(bad)
]]

    local function in_python(executable, script, options)
      options = options or {}
      if child.sanitizer() then pending("a stock Python cannot load a core that is built with a sanitizer") end
      local launcher = folder .. "/launcher.py"
      child.write(launcher, LAUNCHER:format(options.first or "", options.loader or "CDLL"))
      return run(script, { command = { executable, launcher }, env = options.env, unset = { "PYTHONUNBUFFERED" } })
    end

    local SAY = [[
      local py = require("xchg").python
      local info = py.info()
      assert(info.reason == "already in the process", info.reason)
      py.exec "import _json, sys; print('from', 'Lua')"
      py.locked(function() py.exec "x = 1" end)
      info = py.info()
      assert(info.started and not info.ours)
      py.exec("print(sys.executable)")
      %s
    ]]

    it("is used, never configured and never ended, be the GIL held or not", function()
      usable()
      local executables = { "/usr/bin/python3" }
      for _, each in ipairs(pythons.supported()) do executables[#executables + 1] = each.executable end
      for _, executable in ipairs(executables) do
        local file = io.open(executable)
        if file then
          file:close()
          for _, loader in ipairs({ "CDLL", "PyDLL" }) do
            local result = in_python(executable, SAY:format(""), { loader = loader })
            assert.equal(0, result.status, executable .. result.stdout .. result.stderr)
            assert.truthy(result.stdout:find("^from Lua\n/.*\nPython lives: 10\n$"), result.stdout)
            result = in_python(executable, SAY:format("os.exit(4)"), { loader = loader })
            assert.equal(4, result.status, result.stderr)
            assert.truthy(result.stdout:find("^from Lua\n/[^\n]*\n$"), "flushed: " .. result.stdout)
          end
        end
      end
    end)

    it("refuses a second one, with both names", function()
      local supported = pythons.supported()
      if #supported < 2 then pending("fewer than two CPythons") end
      local mine, other = supported[1], supported[2]
      local result = in_python(mine.executable, [[
        local ok, e = pcall(require("xchg").python.eval, "1")
        print(e.code, e.message)]], { env = { XCHG_PYTHON = other.executable } })
      assert.truthy(result.stdout:find("no_python\tpython: XCHG_PYTHON: " .. other.executable, 1, true), result.stdout)
      assert.truthy(result.stdout:find("is not the Python that is in this process already (" ..
        mine.executable:gsub("/bin/[^/]+$", "") .. "/lib/libpython3." .. mine.minor, 1, true), result.stdout)
      -- the same one is no second one
      result = in_python(mine.executable, [[print(require("xchg").python.eval "2 + 3")]], {
        env = { XCHG_PYTHON = mine.executable },
      })
      assert.truthy(result.stdout:find("5\n", 1, true), result.stdout .. result.stderr)
    end)

    it("is found where the host keeps its library to itself, started or not", function()
      for _, each in ipairs(pythons.supported()) do
        for _, how in ipairs({ "start", "open" }) do
          local result = run([[
            local py = require("xchg").python
            py.exec "import _json, _ctypes, sys; print(sys.version.split()[0])"
            local info = py.info()
            py.exec("print(" .. (info.ours and "'ours'" or "'the host\\'s'") .. ")")
          ]], { command = { host("local_host"), each.library, how } })
          assert.equal(0, result.status, result.stderr)
          assert.equal(each.version .. (how == "start" and "\nthe host's\n" or "\nours\n"), result.stdout)
        end
      end
    end)

    it("is refused by name where it is too old", function()
      local old = pythons.old()
      old = needs(old[#old], "no CPython before 3.10")
      local result = run(start.REPORT, { command = { host("local_host"), needs(old.library, "no shared library"), "open" } })
      assert.truthy(result.stdout:find("unsupported_version", 1, true), result.stdout .. result.stderr)
      assert.truthy(result.stdout:find("is in this process already and is Python " .. old.version, 1, true),
        result.stdout)
    end)

    it("is refused in a sub-interpreter", function()
      if child.sanitizer() then pending("a stock Python cannot load a core that is built with a sanitizer") end
      for _, each in ipairs(pythons.supported()) do
        local script = folder .. "/sub.lua"
        child.write(script, [[
          local ok, e = pcall(require("xchg").python.eval, "1")
          io.stdout:write(tostring(e.code), " ", tostring(e.message), "\n")]])
        local launcher = folder .. "/sub.py"
        child.write(folder .. "/sub_launcher.py", LAUNCHER:format("", "PyDLL"))
        child.write(launcher, [[
import os, sys
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
source = open(os.path.dirname(__file__) + "/sub_launcher.py").read()
try:
    one = interpreters.create("legacy")
except TypeError:
    try:
        one = interpreters.create(isolated=False)
    except TypeError:
        one = interpreters.create()
interpreters.run_string(one, "import sys; sys.argv = ['', '" + sys.argv[2] + "']\n" + source)
]])
        local result = child.run("", { command = { each.executable, launcher }, args = { script }, unset = start.UNSET })
        assert.truthy(result.stdout:find("no_python python: sub-interpreters are not supported", 1, true),
          each.version .. ": " .. result.stdout .. result.stderr)
      end
    end)
  end)

  describe("after a fork", function()
    it("is an error that names both processes, not a hang, also with a busy thread and inside locked", function()
      for _, each in ipairs(pythons.supported()) do
        local result = run([[
          local ffi = require "ffi"
          ffi.cdef "int fork(void); int getpid(void); int waitpid(int, int *, int); void _exit(int);"
          local xchg = require "xchg"
          local py = xchg.python
          py.exec "import threading\nthreading.Thread(target=lambda: [0 for _ in iter(int, 1)], daemon=True).start()"
          local object, bytes = py.eval "[1]", py.bytes "abc"
          xchg.from_buffer(bytes):release()
          local parent = ffi.C.getpid()
          local function try(what, fn)
            local pid = ffi.C.fork()
            if pid == 0 then
              local ok, e = pcall(fn)
              local message = not ok and e.message:gsub(tostring(parent), "PARENT") or "none"
              print(what, not ok and e.code, (message:gsub(tostring(ffi.C.getpid()), "CHILD")))
              object = nil
              collectgarbage() collectgarbage()
              io.stdout:flush()
              if what == "exit" then os.exit(0, true) end
              ffi.C._exit(0)
            end
            local status = ffi.new("int[1]")
            assert(ffi.C.waitpid(pid, status, 0) == pid and status[0] == 0, what .. status[0])
          end
          try("eval", function() py.eval "1" end)
          try("index", function() return object[0] end)
          try("bytes", function() return xchg.from_buffer(bytes) end)
          try("exit", function() py.eval "1" end)
          py.locked(function() try("locked", function() py.eval "1" end) end)
          py.locked(function() try("locked bytes", function() return xchg.from_buffer(bytes) end) end)
          print("parent", py.eval "1 + 1")
          io.stdout:flush()
          ffi.C._exit(0) -- the busy thread is in the way of leak checkers
        ]], { env = { XCHG_PYTHON = each.executable }, timeout = 30 })
        assert.equal(0, result.status, each.version .. result.stderr)
        local message = "forked\tpython: started in process PARENT and lost by the fork to CHILD; " ..
          "start Python after the fork"
        for _, what in ipairs({ "eval", "index", "bytes", "exit", "locked", "locked bytes" }) do
          assert.truthy(result.stdout:find(what .. "\t" .. message, 1, true), each.version .. ": " .. result.stdout)
        end
        assert.truthy(result.stdout:find("parent\t2", 1, true))
      end
    end)

    it("of Python's own goes on", function()
      for _, each in ipairs(pythons.supported()) do
        local result = run([[
          local py = require("xchg").python
          py.exec "import os, sys\npid = os.fork()"
          if py.eval "pid" == 0 then
            py.exec "print('child', end='')"
            os.exit(7, true)
          end
          print("parent", py.eval "os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])")
        ]], { env = { XCHG_PYTHON = each.executable }, timeout = 30 })
        assert.equal(0, result.status, result.stderr)
        assert.equal("childparent\t7\n", result.stdout)
      end
    end)

    it("before the first use is none", function()
      local result = run([[
        local ffi = require "ffi"
        ffi.cdef "int fork(void); int waitpid(int, int *, int);"
        local py = require("xchg").python
        local pid = ffi.C.fork()
        if pid ~= 0 then ffi.C.waitpid(pid, nil, 0) end
        print(pid == 0 and "child" or "parent", py.eval "1 + 1")
      ]], { env = { XCHG_PYTHON = usable() }, timeout = 30 })
      assert.equal("child\t2\nparent\t2\n", result.stdout)
    end)
  end)
end)
