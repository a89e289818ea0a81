-- Faults on command, and what the settings do to reports.
local ffi = require "ffi"

local ONE = { grid = 1, block = 64 }

-- What each of some calls answers, as text. They are made even where an earlier one failed.
local function answers(...)
  local out = {}
  for i = 1, select("#", ...) do
    local ok, failure = pcall((select(i, ...)))
    out[i] = ok and 0 or failure.code
  end
  return table.concat(out, " ")
end

local function raced(p)
  p:run("raced", ONE, p:device(64))
  return "went on"
end

return {
  {
    name = "a finding that is only counted",
    check = "race", bug = raced, only = false, value = "went on",
    says = { "race: raced, block 0: thread ", "(#fills)", "(#reads)" },
  },
  {
    name = "a finding that is fatal",
    check = "race", env = { XCHG_SIM_FATAL = "1" }, bug = raced, only = false, code = 719, call = "cudaDeviceSynchronize",
    says = { "race: raced, block 0: thread ", "(#fills)", "(#reads)" },
  },
  {
    name = "a race between streams that is fatal",
    check = "stream", env = { XCHG_SIM_FATAL = "1" }, code = 719,
    bug = function(p)
      local one, other, out = p:stream(), p:stream(), p:device(64)
      p:launch("filled", { grid = 1, block = 64, stream = one }, out, 1)
      p:launch("filled", { grid = 1, block = 64, stream = other }, out, 2)
      p.cuda:synchronize()
    end,
    says = { "stream: kernel filled on stream ", "and nothing orders them" },
  },
  {
    name = "an unwritten read that is fatal",
    check = "init", env = { XCHG_SIM_FATAL = "1" }, code = 719, call = "cudaDeviceSynchronize",
    bug = function(p) p:run("copied", ONE, p:device(64), p:device(64)) end,
    says = { "init: copied, block (0,0,0): thread (0,0,0) (@copied)" },
  },
  {
    name = "a wait of the host that is missing, and fatal", kernels = false,
    check = "stream", env = { XCHG_SIM_FATAL = "1" }, code = 719, call = "cudaFreeHost",
    bug = function(p)
      local source = p:pinned(64, 1)
      p:call("MemcpyAsync", p:device(64), source, 256, 1, p:stream())
      p:call("FreeHost", source)
    end,
    says = { "stream: cudaFreeHost ", "and the host has not waited for it" },
  },
  {
    name = "the third of a call's times", kernels = false,
    env = { XCHG_SIM_FAIL = "cudaMalloc:3:2" }, value = "0 0 2 0", sticky = false,
    bug = function(p)
      local function malloc() p.cuda:malloc(16) end
      return answers(malloc, malloc, malloc, malloc)
    end,
  },
  {
    name = "every call and one of another function", kernels = false,
    env = { XCHG_SIM_FAIL = "cudaMallocAsync:*:801,cudaEventRecord:2:400" }, value = "801 801 0 400 0", sticky = false,
    bug = function(p)
      local event = p:event()
      local function malloc() p:get("MallocAsync", 16, nil) end
      local function record() p:call("EventRecord", event, nil) end
      return answers(malloc, malloc, record, record, record)
    end,
  },
  {
    name = "an allocation above a size", kernels = false,
    env = { XCHG_SIM_FAIL = "cudaMalloc:>1M:2" }, value = "0 2 0", sticky = false,
    bug = function(p)
      return answers(function() p.cuda:malloc(1048576) end, function() p.cuda:malloc(1048577) end, function() p.cuda:malloc(1) end)
    end,
  },
  {
    name = "a failing launch that is not sticky",
    env = { XCHG_SIM_FAIL = "cudaLaunchKernelExC:1:701" }, value = "701 0 7", sticky = false,
    bug = function(p)
      local out = p:device(64)
      local function fill() p:run("filled", ONE, out, 7) end
      return answers(fill, fill) .. " " .. p:show(out, 1, "int")
    end,
  },
  {
    name = "a failure that the context does not survive", kernels = false,
    env = { XCHG_SIM_FAIL = "cudaStreamSynchronize:1:700" }, code = 700, call = "cudaStreamSynchronize",
    bug = function(p)
      p.cuda:malloc(16)
      p:call("StreamSynchronize", nil)
    end,
  },
  {
    name = "the second launch that loses the device",
    env = { XCHG_SIM_FAIL = "lost:2" }, code = 719,
    bug = function(p)
      local out = p:device(64)
      p:run("filled", ONE, out, 1)
      p:run("filled", ONE, out, 2)
    end,
    says = { "launch failure: filled", "the device is lost, as XCHG_SIM_FAIL asked" },
  },
  {
    name = "a device that is lost on command, beside another", kernels = false, devices = 2, code = 719,
    bug = function(p)
      p:call("SetDevice", 1)
      p.cuda:malloc(16)
      assert(p.C.xsim_lose(0, 719) == 0)
      p.cuda:malloc(16)
      p:call("SetDevice", 0)
      p.cuda:malloc(16)
    end,
    says = { "device 0 was lost on command (719)" },
  },
  {
    name = "rules that the program sets and clears", kernels = false, value = "2 0 1", sticky = false,
    bug = function(p)
      local function malloc() p.cuda:malloc(16) end
      assert(p.C.xsim_fail "cudaMalloc:1:2" == 0)
      local answer = answers(malloc)
      assert(p.C.xsim_fail "cudaMalloc:1:2" == 0 and p.C.xsim_fail(nil) == 0)
      return answer .. " " .. answers(malloc) .. " " .. p.C.xsim_fail "cudaMalloc"
    end,
  },
  {
    name = "slow copies", kernels = false, env = { XCHG_SIM_SLOW = "64K" }, value = "slow", sticky = false,
    bug = function(p)
      ffi.cdef "struct moment { long s, ns; }; int clock_gettime(int, struct moment *);"
      local begin, now = ffi.new "struct moment", ffi.new "struct moment"
      local memory, array = p.cuda:malloc(4 * 65536), p:host(65536)
      p.cuda:synchronize()
      ffi.C.clock_gettime(1, begin)
      p.cuda:upload(memory, array, 4 * 65536)
      p.cuda:synchronize()
      ffi.C.clock_gettime(1, now)
      local took = tonumber(now.s - begin.s) * 1e3 + tonumber(now.ns - begin.ns) / 1e6
      return took >= 4 and "slow" or ("%g ms"):format(took)
    end,
  },
  {
    name = "memory that is full", kernels = false, env = { XCHG_SIM_MEMORY = "16M" }, value = "0 2 0", sticky = false,
    bug = function(p)
      local first
      return answers(function() first = p.cuda:malloc(12582912) end, function() p.cuda:malloc(8388608) end,
        function() p.cuda:free(first) p.cuda:malloc(8388608) end)
    end,
  },
  {
    name = "a machine without devices", kernels = false, env = { XCHG_SIM_DEVICES = "0" }, code = 100, call = "cudaGetDeviceCount",
    bug = function(p) p:call("GetDeviceCount", ffi.new "int[1]") end,
  },
  {
    name = "counters and reports that the program asks for",
    check = "race", only = false, value = "1 true true 0 0",
    bug = function(p)
      p:run("raced", ONE, p:device(64))
      p:run("raced", ONE, p:device(64))
      local C = p.C
      local launches, races = tonumber(C.xsim_stat "launches"), tonumber(C.xsim_reports "race")
      local every = p:reports()
      local again = every[1].times == 2
      local text = table.concat({ tostring(launches == 2 and 1), tostring(races >= 2), tostring(again), tonumber(C.xsim_reports "init") }, " ")
      C.xsim_clear_reports()
      text = text .. " " .. tonumber(C.xsim_reports(nil))
      p:run("raced", ONE, p:device(64))
      return text
    end,
    says = { "race: raced" },
  },
  {
    name = "checks that begin in the middle of a program",
    only = false, value = "0 true 401",
    bug = function(p)
      p:run("raced", ONE, p:device(64))
      local before = tonumber(p.C.xsim_reports(nil))
      assert(p.C.xsim_configure("CHECK", "race") == 0)
      p:run("raced", ONE, p:device(64))
      return ("%d %s %d"):format(before, tostring(p.C.xsim_reports "race" > 0), p.C.xsim_configure("DEVICES", "2"))
    end,
    says = { "race: raced" },
  },
}
