--- cuda.sim: steers and questions the simulated device, for tests.

local ffi = require "ffi"
local check = require "xchg.check"
local error_ = require "xchg.error"
local library = require "xchg.cuda.library"

local M = {}

ffi.cdef [[
int xsim_configure(const char *name, const char *value);
const char *xsim_setting(const char *name);
const char *xsim_error(void);
int xsim_fail(const char *rule);
int xsim_lose(int device, int code);
uint64_t xsim_reports(const char *kind);
size_t xsim_report(size_t index, char *text, size_t room, uint64_t *times);
void xsim_clear_reports(void);
uint64_t xsim_stat(const char *name);
size_t xsim_stats(char *text, size_t room);
size_t xsim_step(size_t count);
]]

local UNKNOWN = 0xffffffffffffffffULL

local simulator

-- The simulator's functions. Raises where CUDA is not the simulated device.
local function control(where)
  if simulator then return simulator end
  if library.known.simulated == 0 then
    error_.raise("no_cuda", "%s: CUDA is not simulated here; start with XCHG_CUDA=sim, or call cuda.use(\"sim\") first",
      where)
  end
  simulator = ffi.load(library.simulator_file())
  return simulator
end

local function refused(where, sim)
  error_.raise("bad_argument", "%s: %s", where, ffi.string(sim.xsim_error()))
end

local function text_of(where, what, value)
  if type(value) == "number" then return ("%.14g"):format(value) end
  if type(value) == "boolean" then return value and "1" or "0" end
  if type(value) ~= "string" then
    error_.raise("wrong_type", "%s: %s must be a string or a number, got %s", where, what, check.describe(value))
  end
  return value
end

--- Sets what the variable XCHG_SIM_<name> would: configure("CHECK", "all"). DEVICES, CC, MEMORY, SMS, DRIVER and ISA
--- only before CUDA is first used.
---@param name string
---@param value string|number|boolean
function M.configure(name, value)
  local sim = control("cuda.sim.configure")
  local key, text = text_of("cuda.sim.configure", "a name", name), text_of("cuda.sim.configure", "a value", value)
  if sim.xsim_configure(key, text) ~= 0 then refused("cuda.sim.configure", sim) end
end

--- The value of a setting that is in force, as text; nil for an unknown name.
---@param name string
---@return string?
function M.setting(name)
  local sim = control("cuda.sim.setting")
  local value = sim.xsim_setting(text_of("cuda.sim.setting", "a name", name))
  return value ~= nil and ffi.string(value) or nil
end

--- Lets the nth call of a CUDA function from now on answer `code`, once; "*" as nth: every call; ">1M" for allocations
--- above a size. A rule is added to those that were set. Without arguments all rules are forgotten.
---@param name? string  "cudaMalloc"; "lost": kernel launches
---@param nth? integer|string  1 without it
---@param code? integer  the error's number; 2 ("out of memory") without it
function M.fail(name, nth, code)
  local where = "cuda.sim.fail"
  local sim = control(where)
  if name == nil then
    sim.xsim_fail(nil)
    return
  end
  local rule = text_of(where, "a function", name)
  if not rule:find(":", 1, true) then -- a whole rule, as XCHG_SIM_FAIL takes it, may be given too
    nth = text_of(where, "which call", nth == nil and 1 or nth)
    rule = rule .. ":" .. nth
    if name ~= "lost" then rule = rule .. ":" .. text_of(where, "a code", code == nil and 2 or code) end
  end
  if sim.xsim_fail(rule) ~= 0 then refused(where, sim) end
end

--- Loses a device: every later call on it answers `code` (719 without it), for the rest of the process.
---@param device? integer
---@param code? integer
function M.lose(device, code)
  local where = "cuda.sim.lose"
  local sim = control(where)
  local index = check.integer(where, "a device", device == nil and 0 or device, 0, 31)
  if sim.xsim_lose(index, check.integer(where, "a code", code == nil and 719 or code, 1, 10000)) ~= 0 then
    refused(where, sim)
  end
end

--- Which legal order operations run in: "lazy", "eager", "random" or "random:7".
---@param schedule string
function M.schedule(schedule)
  local sim = control("cuda.sim.schedule")
  if sim.xsim_configure("SCHEDULE", text_of("cuda.sim.schedule", "a schedule", schedule)) ~= 0 then
    refused("cuda.sim.schedule", sim)
  end
end

--- Runs up to n operations that may run now (1 without it); returns how many ran.
---@param n? integer
---@return integer
function M.step(n)
  local sim = control("cuda.sim.step")
  return tonumber(sim.xsim_step(check.integer("cuda.sim.step", "a count", n == nil and 1 or n, 0, 2 ^ 53)))
end

--- Counters that are not zero: calls of each function, "launches", and what is alive ("allocations", "bytes",
--- "streams", "events", "graphs", "libraries", "pinned", ...). Others read as 0.
---@param name? string  only this one: a number then, in a hundredth of the time
---@return table<string, integer>|integer
function M.stats(name)
  local where = "cuda.sim.stats"
  local sim = control(where)
  if name ~= nil then
    if type(name) ~= "string" then
      error_.raise("wrong_type", "%s: a counter is named by a string, got %s", where, check.describe(name))
    end
    local count = sim.xsim_stat(name)
    return count == UNKNOWN and 0 or tonumber(count)
  end
  local room = tonumber(sim.xsim_stats(nil, 0)) + 4096
  local text = ffi.new("char[?]", room)
  sim.xsim_stats(text, room)
  local out = {}
  for each, value in ffi.string(text):gmatch("(%S+) (%d+)\n?") do out[each] = tonumber(value) end
  return setmetatable(out, { __index = function() return 0 end })
end

local FAULTS = { "illegal address: ", "misaligned address: ", "launch timed out: ", "launch failure: ",
  "stack overflow: ", "assertion: ", "illegal instruction: ", "invalid program counter: ", "invalid address space: " }

-- The texts say their kind by their beginning.
local function kind_of(text)
  local word = text:match("^(%l+): ")
  if word == "race" or word == "init" or word == "stream" or word == "load" then return word end
  if text:find("^XCHG_SIM_") then return "config" end
  if text:find(" is not simulated: ", 1, true) then return "stub" end
  for _, begin in ipairs(FAULTS) do
    if text:sub(1, #begin) == begin then return "fault" end
  end
  return text:find(", block (", 1, true) and "fault" or "note"
end

local KINDS = { fault = true, race = true, init = true, stream = true, load = true, stub = true, config = true,
  note = true }

--- What was reported, oldest first: { kind = "fault", text = "illegal address: ...", times = 1 }.
---@param kind? string  only "fault", "race", "init", "stream", "load", "stub", "config" or "note"
---@return { kind: string, text: string, times: integer }[]
function M.reports(kind)
  local where = "cuda.sim.reports"
  local sim = control(where)
  if kind ~= nil and not KINDS[kind] then
    error_.raise("bad_argument", "%s: unknown kind %s%s", where, check.describe(kind),
      check.suggest(kind, { "fault", "race", "init", "stream", "load", "stub", "config", "note" }))
  end
  local out, index = {}, 0
  local room = 4096
  local text, times = ffi.new("char[?]", room), ffi.new("uint64_t[1]")
  while sim.xsim_report(index, text, room, times) > 0 do
    local each = { text = ffi.string(text), times = tonumber(times[0]) }
    each.kind = kind_of(each.text)
    if kind == nil or kind == each.kind then out[#out + 1] = each end
    index = index + 1
  end
  return out
end

--- Forgets what was reported.
function M.clear_reports() control("cuda.sim.clear_reports").xsim_clear_reports() end

return M
