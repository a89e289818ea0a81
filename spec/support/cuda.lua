--- CUDA for specs: the simulated device with two devices and all its checkers, or hardware with XCHG_CUDA=real.
--- Require it at the head of a spec file, and end each test with `after_each(cuda_.reports_none)`.

local ffi = require "ffi"
local child = require "spec.support.child"
local xchg = require "xchg"

local M = {}

local cuda = xchg.cuda
M.cuda = cuda

M.real = os.getenv("XCHG_CUDA") == "real"
M.simulated = not M.real

if M.simulated then
  cuda.use "sim"
  -- Fixed once a device exists, and then they were set by whoever came first.
  pcall(cuda.sim.configure, "DEVICES", os.getenv("XCHG_SIM_DEVICES") or 2)
  cuda.sim.configure("CHECK", os.getenv("XCHG_SIM_CHECK") or "all")
  cuda.sim.configure("LOG", os.getenv("XCHG_SIM_LOG") or "none")
end

-- What specs compile is no business of the user's cache. Children inherit it.
ffi.cdef "int setenv(const char *, const char *, int);"
local build = os.getenv("XCHG_BUILD") or "build"
ffi.C.setenv("XCHG_CACHE", (build:sub(1, 1) == "/" and build or child.root .. "/" .. build) .. "/cache", 0)

--- Variables for child.run: a process of its own with the same CUDA.
---@param more? table<string, string>
---@return table<string, string>
function M.env(more)
  local env = M.real and { XCHG_CUDA = "real" }
    or { XCHG_CUDA = "sim", XCHG_SIM_DEVICES = "2", XCHG_SIM_CHECK = "all", XCHG_SIM_LOG = "none" }
  for name, value in pairs(more or {}) do env[name] = value end
  return env
end

--- Why no process may end here without closing its Lua state, or nil.
function M.no_open_end()
  return os.getenv "XCHG_SANITIZER" == "asan" and "what a state holds that is left open is a leak to ASan" or nil
end

-- busted gives `pending` to spec files only: it is taken from the test that has called.
local function skip(reason) getfenv(3).pending(reason) end

--- Why what only the simulated device can (failures on command, reports) is not to be had here, or nil. For the head of a
--- `describe`: `local reason = cuda_.no_simulation() if reason then return pending(reason) end`; busted cannot skip a test
--- in before_each.
function M.no_simulation() return M.real and "only on the simulated device" or nil end

--- Why there is no second device, or nil.
function M.no_second() return cuda.device_count() < 2 and "only one device here" or nil end

--- Why nothing can be compiled here, or nil.
function M.no_compiler()
  local found, reason = cuda.nvrtc()
  return not found and reason or nil
end

--- Why there is no Python here, or nil.
function M.no_python()
  local found, info = pcall(xchg.python.info)
  return not (found and info) and "no Python that can be used" or nil
end

--- Skips a test that needs Python. To be called in `it`.
function M.only_with_python()
  local reason = M.no_python()
  if reason then skip(reason) end
end

--- Skips a test that needs what only the simulated device can. To be called in `it`.
function M.only_simulated()
  local reason = M.no_simulation()
  if reason then skip(reason) end
end

--- Skips a test that needs a second device. To be called in `it`.
function M.only_with_two()
  local reason = M.no_second()
  if reason then skip(reason) end
end

--- Runs fn while the simulated device leaves what is queued until somebody waits.
function M.lazily(fn, ...)
  if M.real then return fn(...) end
  local schedule = cuda.sim.setting "SCHEDULE"
  cuda.sim.schedule "lazy"
  local done, e = pcall(fn, ...)
  cuda.sim.schedule(schedule)
  if not done then error(e, 0) end
end

-- How many reports of a kind were looked at already. Faults are of kernels, the rest of the checkers; "load", "stub",
-- "config", "note" are no findings by themselves.
local FINDINGS = { "fault", "race", "init", "stream" }

local function found(kinds)
  local lines = {}
  for _, kind in ipairs(kinds) do
    for _, report in ipairs(cuda.sim.reports(kind)) do lines[#lines + 1] = report.text end
  end
  return lines
end

--- Fails with the texts if the simulator has found anything since the last time; for after_each. Looks through what is
--- queued first: nothing runs before somebody waits.
function M.reports_none()
  if M.real then return end
  for index = 0, cuda.device_count() - 1 do cuda.synchronize(index) end
  local lines = found(FINDINGS)
  cuda.sim.clear_reports()
  if #lines > 0 then error("the simulated device reports:\n  " .. table.concat(lines, "\n  "), 2) end
end

--- The texts of a kind that were reported, which must be there; they are no failure of the test then. "" on hardware.
---@param kind string
---@return string
function M.expect_reports(kind)
  if M.real then return "" end
  local lines = found { kind }
  cuda.sim.clear_reports()
  if #lines == 0 then error("the simulated device has no report of the kind " .. kind, 2) end
  return table.concat(lines, "\n")
end

local LIVE = { "streams", "events", "graphs", "graph_execs", "libraries", "allocations", "pinned", "registered",
  "managed" }

local function settle()
  jit.flush() -- a trace keeps the objects that it was compiled for
  for _ = 1, 3 do
    collectgarbage()
    collectgarbage()
    xchg.python.collect() -- frees in stream order what is dead
    for index = 0, cuda.device_count() - 1 do cuda.synchronize(index) end
  end
end

--- What is alive on the devices; call the result at the end of a test: it fails where more is alive than now. Objects of
--- the library that live as long as the process (cached code, pools) are to be made before.
---@return fun()
function M.balance()
  if M.real then return function() end end
  settle()
  local before = {}
  for _, name in ipairs(LIVE) do before[name] = cuda.sim.stats(name) end
  return function()
    settle()
    local lost, now = {}, cuda.sim.stats()
    for _, name in ipairs(LIVE) do
      if now[name] > before[name] then lost[#lost + 1] = ("%s: %d"):format(name, now[name] - before[name]) end
    end
    if #lost > 0 then error("left behind on the devices: " .. table.concat(lost, ", "), 2) end
  end
end

return M
