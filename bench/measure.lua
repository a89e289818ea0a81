--- Measures cases against each other: interleaved, in one process, medians of per-round ratios.

local ffi = require "ffi"

local M = {}

ffi.cdef [[
typedef struct { int64_t sec; int64_t nsec; } bench_timespec;
int clock_gettime(int clock, bench_timespec *out);
]]

local CLOCK_MONOTONIC, CLOCK_THREAD_CPUTIME = 1, 3
local moment = ffi.new("bench_timespec")

local function clock(which)
  ffi.C.clock_gettime(which, moment)
  return tonumber(moment.sec) * 1e9 + tonumber(moment.nsec)
end

--- Nanoseconds since some moment.
function M.now()
  return clock(CLOCK_MONOTONIC)
end

--- Nanoseconds that this thread has run: what other processes take from it does not count.
function M.spent()
  return clock(CLOCK_THREAD_CPUTIME)
end

-- ---- numbers ----------------------------------------------------------------------------------------

--- The value below which `share` of the values lie.
function M.quantile(values, share)
  local sorted = {}
  for i, value in ipairs(values) do sorted[i] = value end
  table.sort(sorted)
  local place = 1 + share * (#sorted - 1)
  local low = math.floor(place)
  local high = math.min(low + 1, #sorted)
  return sorted[low] + (place - low) * (sorted[high] - sorted[low])
end

function M.median(values)
  return M.quantile(values, 0.5)
end

-- ---- what the compiler does --------------------------------------------------------------------------

local has_vmdef, vmdef = pcall(require, "jit.vmdef")

-- The compiler's ordinary second thoughts about nested loops: it starts again, further in or further out.
local SECOND_THOUGHTS = { ["leaving loop in root trace"] = true, ["inner loop in root trace"] = true }
local watched -- the case that runs

-- Only notes: what it means is asked later, outside the compiler.
local function trace_event(what, _, func, pc, code, info)
  local case = watched
  if not case then return end
  if what == "start" then
    if code and info == -1 then case.stitches = case.stitches + 1 end
  elseif what == "stop" then
    case.traces = case.traces + 1
  elseif what == "abort" then
    if has_vmdef and SECOND_THOUGHTS[vmdef.traceerr[code]] then
      case.retries = case.retries + 1
      return
    end
    case.aborts = case.aborts + 1
    case.events[#case.events + 1] = { func = func, pc = pc, code = code, info = info }
  end
end
jit.attach(trace_event, "trace")

local function reason(event)
  local code, info = event.code, event.info
  local where = require("jit.util").funcinfo(event.func, event.pc)
  where = where.loc or where.addr and ("C:%x"):format(where.addr) or "?"
  if type(code) ~= "number" or not has_vmdef then return ("%s (%s)"):format(tostring(code), where) end
  if type(info) == "function" then
    local source = debug.getinfo(info, "S")
    info = source.what == "C" and "a C function" or source.short_src .. ":" .. source.linedefined
  end
  local text = tostring(vmdef.traceerr[code] or code):gsub("%%[ds]", tostring(info))
  return ("%s (%s)"):format(text, where)
end

--- The reasons of a case's aborts, and how often.
local function reasons(case)
  local counts = {}
  for _, event in ipairs(case.events) do
    local text = reason(event)
    counts[text] = (counts[text] or 0) + 1
  end
  return counts
end

-- ---- running ----------------------------------------------------------------------------------------

---@class bench.Case
---@field name string
---@field run fun(n: integer): number?  does the thing n times; may return the nanoseconds, if it knows better
---@field locked? boolean  with the GIL kept
---@field n? integer       fixed count; else as many as take `chunk` nanoseconds
---@field per? number      things done in one of the n
---@field before? fun()    runs before the case is warmed up

local CHUNK = 1.5e6

-- gsub, a C function, calls the case: so its traces end with it, and never go on into this function.
local function once(case, n)
  watched = case
  local start = M.spent()
  local own
  local function run() own = case.run(n) end
  if case.locked then
    M.locked(run)
  else
    string.gsub("x", "x", run)
  end
  local spent = own or M.spent() - start
  watched = nil
  return spent / (n * (case.per or 1))
end
jit.off(once)

local function prepare(case)
  case.aborts, case.retries, case.stitches, case.traces, case.events, case.samples = 0, 0, 0, 0, {}, {}
  -- Calls are counted towards compiling a function by itself, after which loops no longer compile through it. No
  -- case shall do that to the next: this sets the counters back (and the option to what it is).
  jit.opt.start("hotloop=56")
  if case.before then case.before() end
  if case.n then
    once(case, case.n)
    return
  end
  local n = 1
  -- Hot enough to compile and to pass the first penalties, long enough to time: twice, since first uses take long.
  for _ = 1, 2 do
    repeat
      local spent = once(case, n) * n * (case.per or 1)
      if spent < CHUNK then n = math.ceil(n * math.min(8, math.max(1.2, CHUNK / math.max(spent, 1)))) end
    until spent >= CHUNK * 0.8
    for _ = 1, 5 do once(case, n) end
  end
  case.n = n
end

--- Measures the cases, round by round, each round beginning with another.
---@param cases bench.Case[]
---@param rounds integer
function M.interleave(cases, rounds)
  collectgarbage()
  for _, case in ipairs(cases) do prepare(case) end
  for round = 1, rounds do
    for k = 1, #cases do
      local case = cases[(k + round) % #cases + 1]
      case.samples[round] = once(case, case.n)
    end
  end
end

--- Per-round ratios of one case to another.
function M.ratios(case, reference)
  local out = {}
  for round, value in ipairs(case.samples) do out[round] = value / reference.samples[round] end
  return out
end

-- ---- printing ---------------------------------------------------------------------------------------

local function significant(value)
  if value ~= value then return "-" end
  local size = math.abs(value)
  if size >= 1e6 then return ("%.3g"):format(value) end
  if size >= 100 then return ("%.0f"):format(value) end
  if size >= 10 then return ("%.1f"):format(value) end
  if size >= 0.1 then return ("%.2f"):format(value) end
  return ("%.4f"):format(value)
end
M.significant = significant

local WIDTH = 60
local ROW = "  %-" .. WIDTH .. "s %9s %8s  %-17s %-14s %s\n"

function M.title(name, question)
  io.write("\n", name, ": ", question, "\n")
end

function M.say(text, ...)
  io.write("  ", text:format(...), "\n")
end

function M.head(unit, against)
  io.write(ROW:format("", unit or "ns", "ratio", "p10 .. p90", "limit", against or ""))
end

--- "<= 0.9 ok" or "<= 0.9 MISSED"
local function verdict(value, limit)
  if not limit then return "" end
  return ("<= %g %s"):format(limit, value <= limit and "ok" or "MISSED")
end

--- Prints any row by hand.
function M.row(name, value, ratio, low, high, limit, rest)
  local range = low and ("%s .. %s"):format(significant(low), significant(high)) or ""
  io.write(ROW:format(name, value and significant(value) or "", ratio and significant(ratio) or "", range,
    value and verdict(ratio or value, limit) or "", rest or ""))
end

function M.skipped(name, why)
  io.write(("  %-" .. WIDTH .. "s skipped: %s\n"):format(name, why))
end

local function compiler_notes(case)
  local out = {}
  if case.compiles then
    out[1] = ("%d abort%s"):format(case.aborts, case.aborts == 1 and "" or "s") .. (case.aborts > 0 and " MISSED" or "")
    if case.traces == 0 then out[#out + 1] = "NOT COMPILED" end
    if case.retries > 2 then out[#out + 1] = case.retries .. " restarts" end
    if case.stitches > 0 then out[#out + 1] = case.stitches .. " stitched" end
  end
  return table.concat(out, ", ")
end

--- Prints a row of a measured case. `case.against` (a case) makes its ratio; `case.limit` is of it, else of the value.
local function print_case(case)
  local against = case.against
  local value = M.median(case.samples)
  if not against then
    M.row(case.name, value, nil, M.quantile(case.samples, 0.1), M.quantile(case.samples, 0.9), case.limit,
      compiler_notes(case))
    return
  end
  local ratios = M.ratios(case, against)
  M.row(case.name, value, M.median(ratios), M.quantile(ratios, 0.1), M.quantile(ratios, 0.9), case.limit,
    compiler_notes(case))
end

--- Measures and prints a whole table. Rows are printed in the cases' order; without `against`, p10 and p90 are
--- of the nanoseconds. A case that is `hidden` is only measured.
---@param spec { cases: bench.Case[], rounds: integer?, unit: string? }
function M.table(spec)
  M.interleave(spec.cases, spec.rounds or 101)
  M.head(spec.unit)
  for _, case in ipairs(spec.cases) do
    if not case.hidden then print_case(case) end
  end
  for _, case in ipairs(spec.cases) do
    local aborted = case.compiles and reasons(case) or {}
    for text, count in pairs(aborted) do M.say("aborted in %s: %s, %d times", case.name, text, count) end
  end
  io.flush()
end

--- How much the samples of a case spread: p90 / p10.
function M.spread(case)
  return M.quantile(case.samples, 0.9) / M.quantile(case.samples, 0.1)
end

return M
