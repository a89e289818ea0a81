-- Memory of CUDA where a Lua state ends, or a process is forked.
local child = require "spec.support.child"
local cuda_ = require "spec.support.cuda"

after_each(cuda_.reports_none)

describe("the end of a Lua state", function()
  local second = [[
    local xchg = require "xchg"
    local cuda = xchg.cuda
    local ffi = require "ffi"
    jit.off()
    ffi.cdef "typedef struct lua_State lua_State; lua_State *luaL_newstate(void); void luaL_openlibs(lua_State *);"
    ffi.cdef "int luaL_loadstring(lua_State *, const char *); int lua_pcall(lua_State *, int, int, int);"
    ffi.cdef "void lua_close(lua_State *); const char *lua_tolstring(lua_State *, int, size_t *);"
    local L = ffi.C.luaL_newstate()
    ffi.C.luaL_openlibs(L)
    local function run(text)
      if ffi.C.luaL_loadstring(L, text) ~= 0 or ffi.C.lua_pcall(L, 0, 0, 0) ~= 0 then
        error(ffi.string(ffi.C.lua_tolstring(L, -1, nil)))
      end
    end
  ]]

  it("waits for what its memory is used by", function()
    cuda_.only_simulated()
    local result = child.run(second .. [[
      run [=[
        local xchg = require "xchg"
        local cuda = xchg.cuda
        s = cuda.stream { nonblocking = true }
        pinned = xchg.zeros(1000, { device = "cuda_host" })
        kept = xchg.zeros(1000, { device = "cuda:0" })
        cuda.with_stream(s, function() kept:copy_(pinned, { non_blocking = true }) end)
        dropped = xchg.zeros(1000, { device = "cuda_host" })
        dropped:record_stream(s)
        dropped:release()
        assert(xchg.stats().in_flight == 1)
      ]=]
      print(xchg.stats().in_flight, xchg.stats().storages)
      ffi.C.lua_close(L)
      local stats, sim = xchg.stats(), cuda.sim.stats()
      -- One stream is the default one.
      print(stats.in_flight, stats.storages, stats.external_bytes, sim.pinned, sim.streams)
      cuda.synchronize()
      print(cuda.sim.stats().allocations, #cuda.sim.reports())
    ]], { env = cuda_.env { XCHG_SIM_SCHEDULE = "lazy" } })
    assert.equal("", result.stderr)
    assert.equal("1\t3\n0\t0\t0\t0\t1\n0\t0\n", result.stdout)
  end)

  it("leaves the memory and the current streams of others alone", function()
    local result = child.run(second .. [[
      local s = cuda.stream { nonblocking = true }
      cuda.with_stream(s, function()
        run "local x = require 'xchg'; a = x.full(3, 2, { device = 'cuda' }); print(x.cuda.current_stream().handle ~= nil)"
        local t = xchg.full(3, 5, { device = "cuda" })
        ffi.C.lua_close(L)
        print(cuda.current_stream() == s, t:to("cpu")[3])
      end)
      print(xchg.stats().tensors >= 0)
    ]], { env = cuda_.env() })
    assert.equal("", result.stderr)
    assert.equal("true\ntrue\t5\ntrue\n", result.stdout)
  end)

  for _, ending in ipairs { "", "os.exit(3)", "os.exit(3, true)", "error 'x'", "collectgarbage 'stop'" } do
    it("with work in flight is quiet: " .. (ending == "" and "the end of the script" or ending), function()
      local reason = ending == "os.exit(3)" and cuda_.no_open_end()
      if reason then return pending(reason) end
      local result = child.run([[
        local xchg = require "xchg"
        local cuda = xchg.cuda
        s = cuda.stream { nonblocking = true }
        p = xchg.zeros(1000, { device = "cuda_host" })
        t = xchg.zeros(1000, { device = "cuda" })
        m = xchg.zeros(1000, { device = "cuda_managed" })
        cuda.with_stream(s, function() t:copy_(p, { non_blocking = true }) m:copy_(t, { non_blocking = true }) end)
        local q = xchg.zeros(10, { device = "cuda_host" })
        t:copy_(t)
        q:record_stream(s)
        q:release()
      ]] .. ending, { env = cuda_.env() })
      assert.equal(ending:find("exit", 1, true) and 3 or ending:find("error", 1, true) and 1 or 0, result.status)
      if not ending:find("error", 1, true) then assert.equal("", result.stderr) end
    end)
  end

  it("after a lost device is quiet too", function()
    cuda_.only_simulated()
    local result = child.run([[
      local xchg = require "xchg"
      local cuda = xchg.cuda
      s = cuda.stream { nonblocking = true }
      p = xchg.zeros(1000, { device = "cuda_host" })
      t = xchg.zeros(1000, { device = "cuda" })
      cuda.with_stream(s, function() t:copy_(p, { non_blocking = true }) end)
      cuda.sim.lose(0)
      p:release()
      t:release()
      print(xchg.stats().in_flight, xchg.stats().storages, pcall(xchg.zeros, 3, { device = "cuda" }))
      print(xchg.zeros(3, { device = "cuda:1" }):to("cpu")[1])
    ]], { env = cuda_.env() })
    assert.equal("", result.stderr)
    assert.truthy(result.stdout:find("^0\t0\tfalse"), result.stdout)
    assert.equal(0, result.status)
  end)
end)

describe("a forked child", function()
  it("drops its tensors without touching CUDA", function()
    local result = child.run([[
      local xchg = require "xchg"
      local ffi = require "ffi"
      ffi.cdef "int fork(void); int waitpid(int, int *, int); void _exit(int);"
      local t = xchg.zeros(1000, { device = "cuda" })
      local p = xchg.zeros(1000, { device = "cuda_host" })
      p:record_stream(1)
      local pid = ffi.C.fork()
      if pid == 0 then
        t:release()
        p:release()
        local ok, e = pcall(xchg.zeros, 3, { device = "cuda" })
        local ok2, e2 = pcall(xchg.cuda.memory)
        ffi.C._exit(not ok and e.code == "forked" and not ok2 and e2.code == "forked" and 7 or 8)
      end
      local status = ffi.new("int[1]")
      ffi.C.waitpid(pid, status, 0)
      print(status[0] / 256, t:to("cpu")[1000], p[1000])
    ]], { env = cuda_.env() })
    assert.equal("", result.stderr)
    assert.equal("7\t0\t0\n", result.stdout)
  end)
end)
