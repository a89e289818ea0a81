-- Who frees what at the ends of Lua states, threads, processes and Pythons. Each case is a process of its own.

local xchg = require "xchg"
local capsules = require "spec.support.capsules"
local child = require "spec.support.child"

local py = xchg.python

-- Imports arrays whose deleters are in C, and reports at the end of the process.
local PRELUDE = [[
  local double, path = arg[1], arg[2]
  local ffi = require "ffi"
  local xchg = require "xchg"
  local py = xchg.python
  ns = py.exec([=[
import importlib.util, sys
def load(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
]=], {})
  local c = py.get(ns, "load")("xchg_capsules", path)
  double = c.double(double)
  local function array(kind) return xchg.from_dlpack(double.exchange_capsule(kind or 1)) end
]]

local function whole(script, options)
  options = options or {}
  options.env = { EXCHANGE_REPORT = "1" }
  options.args = { capsules.built("exchange_double.so"), capsules.source }
  return child.run(PRELUDE .. script, options)
end

-- Three numbers that a script printed: before or after the report, which goes past stdio's buffers.
local function counts(result) return ("\n" .. result.stdout):match("\n(%d+\t%d+\t%d+)\n") end

local function report(result) return result.stdout:match("made %d+ deleted %d+ twice %d+ stray %d+") end

describe("the end of a Lua state", function()
  it("deletes what lives, once", function()
    local result = whole [[
      kept = {}
      for i = 1, 50 do kept[i] = array(i % 2) end
      for i = 1, 10 do kept[i]:release() end
      views = { kept[20]:narrow(1, 1, 2), kept[21]:narrow(1, 1, 2) }
      kept[20]:release()
      os.exit(3, true) -- closes the state
    ]]
    assert.equal(3, result.status, result.stderr)
    assert.equal("made 50 deleted 50 twice 0 stray 0", report(result))
  end)

  it("makes released tensors of those that finalizers still hold", function()
    local result = whole [[
      local t = array()
      local v = t:narrow(1, 1, 2)
      for i = 1, 3 do
        local p = newproxy(true)
        getmetatable(p).__gc = function()
          local ok, e = pcall(function() return t[1] end)
          print(ok and e or e.code, pcall(t.release, t), v._slot >= 0)
          local made, e2 = pcall(array)
          print(made or e2.code)
          if made then e2:release() end
        end
        _G["keep" .. i] = p
      end
      os.exit(0, true)
    ]]
    assert.equal(0, result.status, result.stderr)
    local made, deleted, twice = result.stdout:match("made (%d+) deleted (%d+) twice (%d+)")
    assert.equal(made, deleted, result.stdout)
    assert.equal("0", twice)
    local lines = 0
    for line in result.stdout:gmatch("[^\n]+") do
      if line:find("^0%.5\t") or line:find("^released\t") or line:find("^true") or line:find("^%l+$") then
        lines = lines + 1
      end
    end
    assert.equal(6, lines, result.stdout)
  end)

  it("is survived by what another state holds", function()
    local result = whole([[
      local t = array()
      assert(t[1] == 0.5)
      for i = 1, 100 do local x = array(i % 2); if i % 3 == 0 then x:release() end end
      collectgarbage()
    ]], { command = { capsules.built("threads_host"), "mmm" } })
    assert.equal(0, result.status, result.stderr)
    assert.equal("made 303 deleted 303 twice 0 stray 0", report(result))
  end)

  it("on other threads, also two at once, deletes everything once", function()
    local result = whole([[
      local kept = {}
      for i = 1, 300 do
        local t = array(i % 2)
        assert(t[4] == 3.5)
        kept[i % 10] = t
        if i % 3 == 0 then t:release() end
        if i % 50 == 0 then collectgarbage() end
      end
    ]], { command = { capsules.built("threads_host"), "msspp" } })
    assert.equal(0, result.status, result.stderr)
    local made, deleted, twice = result.stdout:match("made (%d+) deleted (%d+) twice (%d+)")
    assert.equal(tostring(300 * 7), made)
    assert.equal(made, deleted)
    assert.equal("0", twice)
  end)
end)

describe("arrays of real libraries", function()
  for _, library in ipairs { "numpy", "jax" } do
    it("may be let go on threads that Python has never seen: " .. library, function()
      local result = whole([[
        local library = "]] .. library .. [["
        local found = pcall(py.import, library)
        if not found then print "none" end
        if found and library == "jax" then py.import "jax.numpy" end
        local make = py.eval("lambda m, i: getattr(m, 'numpy', m).arange(5.) + i")
        local module, total = found and py.import(library), 0
        for i = 1, found and 100 or 0 do
          local t = xchg.from_dlpack(make(module, i))
          total = total + t[5] - i
          if i % 2 == 0 then t:release() end
          if i % 30 == 0 then collectgarbage() end
        end
        assert(total == (found and 400 or 0))
        if found then print "done" end
      ]], { command = { capsules.built("threads_host"), "smp" } })
      assert.equal(0, result.status, result.stderr)
      if result.stdout:find("none", 1, true) then return pending(library .. " is not installed") end
      assert.equal(4, select(2, result.stdout:gsub("done", "")))
    end)
  end
end)

describe("a deleter", function()
  local library = ({ pcall(function() return py.info().library end) })[2]

  local function hosted(plan, script)
    return whole(script, { command = { capsules.built("finalize_host"), library, plan } })
  end

  for plan, why in pairs {
    PLCF = "the state ends, then Python",
    PLFC = "Python ends, then the state",
    PLTF = "the state ends on another thread, then Python",
    PLFT = "Python ends, then the state on another thread",
  } do
    it("runs once when " .. why, function()
      if type(library) ~= "string" or library:sub(1, 1) ~= "/" then return pending("no libpython to open") end
      local result = hosted(plan, [[
        kept = { array(0), array(1) }
        view = kept[2]:narrow(1, 1, 2)
        kept[2]:release()
        local queued = array(1)
        queued:release()
      ]])
      assert.equal(0, result.status, result.stderr)
      assert.equal("made 3 deleted 3 twice 0", report(result):match("^(.-) stray"))
      assert.truthy(result.stdout:find("finalize 0", 1, true))
    end)
  end

  it("of a Python object after Python's end is forgotten without a crash", function()
    if type(library) ~= "string" or library:sub(1, 1) ~= "/" then return pending("no libpython to open") end
    local result = hosted("PLFC", [[
      -- The deleters of these are ctypes functions of an interpreter that is gone: only C's may run.
      objects = { py.eval "object()", py.eval "[]" }
      local class = c.exchange_class(double.exchange_table(py.bytes "working"))
      kept = { xchg.from_dlpack(class()) }
    ]])
    assert.equal(0, result.status, result.stderr)
    assert.equal("made 1 deleted 1 twice 0", report(result):match("^(.-) stray"))
  end)
end)

describe("Python as the host", function()
  it("may end with Lua's state open or closed", function()
    local launcher = [[
import ctypes, sys
path, close, script = sys.argv[1], sys.argv[2], sys.argv[3]
lua = ctypes.CDLL("libluajit-5.1.so.2", ctypes.RTLD_GLOBAL)
lua.luaL_newstate.restype = ctypes.c_void_p
lua.lua_tolstring.restype = ctypes.c_char_p
L = ctypes.c_void_p(lua.luaL_newstate())
lua.luaL_openlibs(L)
lua.lua_createtable(L, 2, 0)
for i, text in enumerate(sys.argv[4:], 1):
    lua.lua_pushstring(L, text.encode())
    lua.lua_rawseti(L, -2, i)
lua.lua_setfield(L, -10002, b"arg")
if lua.luaL_loadfile(L, script.encode()) or lua.lua_pcall(L, 0, 0, 0):
    lua.luaL_callmeta(L, -1, b"__tostring")
    sys.exit(lua.lua_tolstring(L, -1, None).decode())
if close == "close":
    lua.lua_close(L)
print("ends", flush=True)
]]
    local python = os.getenv("XCHG_PYTHON") or "python3"
    local folder = child.folder()
    finally(function() child.remove(folder) end)
    child.write(folder .. "/launcher.py", launcher)
    for _, close in ipairs { "close", "open" } do
      local result = whole("kept = { array(0), array(1) }; array(1):release()",
        { command = { python, folder .. "/launcher.py", "-", close } })
      if result.stderr:find("ASan runtime does not come first", 1, true) or result.stderr:find("static TLS", 1, true) then
        return pending("the core was built with a checker that this Python does not load")
      end
      assert.equal(0, result.status, result.stderr)
      assert.truthy(result.stdout:find("ends", 1, true))
      local made, deleted, twice = result.stdout:match("made (%d+) deleted (%d+) twice (%d+)")
      assert.equal("3", made)
      assert.equal("0", twice)
      if close == "close" then assert.equal("3", deleted) end
    end
  end)
end)

describe("imports in a compiled loop", function()
  it("let destructors run when the queue is drained, and lose none", function()
    local result = whole [[
      ns = py.exec([=[
import xchg_capsules
ran = 0
class Bomb(xchg_capsules.Producer):
    def __del__(self):
        global ran
        ran += 1
def bomb(): return Bomb(values=[1, 2, 3, 4])
plain = xchg_capsules.Producer(values=[1, 2, 3, 4])
]=], py.dict {})
      local bomb, plain = py.get(ns, "bomb"), py.get(ns, "plain")
      local total = 0
      for i = 1, 8000 do
        local x = plain
        if i > 4000 and i % 20 == 0 then x = bomb() end
        local t = xchg.from_dlpack(x)
        total = total + t[4]
        t:release()
      end
      assert(total == 32000)
      collectgarbage() collectgarbage()
      py.collect()
      print(py.get(ns, "ran"), py.unpack(c.account()))
    ]]
    assert.equal(0, result.status, result.stderr)
    assert.equal("200\t0\t0", counts(result))
  end)

  it("let Python's collector run finalizers of tensors that Lua has dropped", function()
    local result = whole [[
      ns = py.exec([=[
import gc, xchg_capsules
gc.set_threshold(5)
class Cycle(xchg_capsules.Producer):
    ran = 0
    def __init__(self):
        super().__init__(values=[1, 2, 3, 4])
        self.me = self
    def __del__(self): Cycle.ran += 1
]=], py.dict {})
      local Cycle = py.get(ns, "Cycle")
      for i = 1, 2000 do
        local t = xchg.from_dlpack(Cycle())
        assert(t[2] == 2)
      end
      collectgarbage() collectgarbage()
      py.collect()
      py.exec("gc.collect()", ns)
      py.collect()
      print(Cycle.ran, py.unpack(c.account()))
    ]]
    assert.equal(0, result.status, result.stderr)
    assert.equal("2000\t0\t0", counts(result))
  end)
end)

describe("a forked child", function()
  it("leaves foreign memory alone, and its parent deletes it", function()
    local result = whole [[
      ffi.cdef "int fork(void); int waitpid(int, int *, int); void _exit(int);"
      local t, none = array(), py.None
      local pid = ffi.C.fork()
      if pid == 0 then
        t:release()
        pcall(py.collect)
        local ok2, e2 = pcall(xchg.from_dlpack, none)
        ffi.C._exit((not ok2 and e2.code == "forked") and 0 or 9)
      end
      local status = ffi.new("int[1]")
      ffi.C.waitpid(pid, status, 0)
      print("child", status[0])
      assert(t[1] == 0.5)
      t:release()
      py.collect()
    ]]
    assert.equal(0, result.status, result.stderr)
    assert.truthy(result.stdout:find("child\t0", 1, true), result.stdout .. result.stderr)
    assert.equal("made 1 deleted 1 twice 0 stray 0", report(result))
  end)
end)
