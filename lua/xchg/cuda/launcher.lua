--- Functions that launch one kernel: generated for its parameters, so that a trace through one checks and stores each
--- argument where CUDA reads it, allocates nothing, and makes one C call.
--
-- All arguments of a function go through one frame, which a finalizer or a debug hook could come to use in between:
-- `turn` tells C, which is the first that nobody comes between, and the function begins again.

local bit = require "bit"
local ffi = require "ffi"
local lib = require "xchg.lib"
local error_ = require "xchg.error"
local slots = require "xchg.slots"
local argument = require "xchg.cuda.argument"
local plan_ = require "xchg.cuda.plan"

local M = {}

local C = lib.C
local DISTURBED = C.XCHG_CUDA_LAUNCH_DISTURBED

-- Functions have at most 200 locals; longer lists of parameters go one by one.
local LONGEST = 100

-- ---- text of a function -------------------------------------------------------------------------------

-- By dtype name: its number.
local numbers = {}
for id, row in ipairs(require("xchg.dtype").by_id) do numbers[row.name] = id end

-- Statements that store argument `k`, or leave it to `store`.
local fragments = {}

local function tensor(parameter, input, k)
  local types = {}
  for _, name in ipairs { parameter.dtype, parameter.also ~= parameter.dtype and parameter.also or nil } do
    types[#types + 1] = ("istype(T%d, a%d)"):format(numbers[name], k)
  end
  local test = #types > 0 and "(" .. table.concat(types, " or ") .. ")" or ("is_tensor(a%d)"):format(k)
  return ("if %s and rawequal(tensors[a%d._slot], a%d) then heads[%d] = a%d"):format(test, k, k, input.tensor, k)
end

local OTHERWISE = " else store(plan, frame, %d, a%d) end"

local function otherwise(k) return OTHERWISE:format(k, k) end

function fragments.pointer(parameter, input, k)
  return tensor(parameter, input, k) .. otherwise(k)
end

local function whole(parameter, k)
  local low, high = plan_.range(parameter)
  local test = low == -2 ^ 31 and high == 2 ^ 31 - 1 and "type(A) == 'number' and tobit(A) == A"
    or ("type(A) == 'number' and A >= %.0f and A <= %.0f and A == floor(A)"):format(low, high)
  return (test:gsub("A", "a" .. k))
end

function fragments.word(parameter, input, k)
  return tensor(parameter, input, k) .. (" elseif %s then heads[%d] = nil i64[%d] = a%d"):format(whole(parameter, k),
    input.tensor, input.cell / 8, k) .. otherwise(k)
end

-- Narrow ones are stored as signed: tobit knows every number that fits into 32 bits of either kind.
function fragments.integer(parameter, input, k)
  local size = parameter.size
  local value = size == 8 and "a" .. k or ("tobit(a%d)"):format(k)
  return ("if %s then i%d[%d] = %s"):format(whole(parameter, k), size * 8, input.cell / size, value) .. otherwise(k)
end

function fragments.bool(_, input, k)
  return ("if a%d == true then i8[%d] = 1 elseif a%d == false then i8[%d] = 0"):format(k, input.cell, k, input.cell)
    .. otherwise(k)
end

function fragments.float(parameter, input, k)
  local size = parameter.size
  return ("if type(a%d) == 'number' then f%d[%d] = a%d"):format(k, size * 8, input.cell / size, k) .. otherwise(k)
end

local function short(from)
  return function(_, input, k)
    return ("if type(a%d) == 'number' then u16[%d] = C.xchg_%s_from_double(a%d)"):format(k, input.cell / 2, from, k)
      .. otherwise(k)
  end
end

fragments.half, fragments.bfloat16 = short "float16", short "bfloat16"

function fragments.struct(_, _, k) return ("store(plan, frame, %d, a%d)"):format(k, k) end

fragments.bits = fragments.struct

-- What comes before the arguments, by the form of the function: its own parameters, and statements.
local FORMS = {
  config = { "", "" },
  call = { "self, grid, block", [[
  if type(grid) == 'number' and tobit(grid) == grid and grid > 0 and block == frame.plain then
    size[0] = grid
  else
    prepare(frame, grid, block)
  end]] },
  launch = { "self, options", "  prepare(frame, options)" },
  over = { "self, extent", "  prepare(frame, extent, FIRST)" },
}

local HEAD = [[
local plan, frame, prepare, store, failed, surplus, C, err, type, rawequal, istype, is_tensor, tobit, floor, tensors,
  size, heads, i8, i16, i32, i64, u16, f32, f64TYPES = ...
local run
function run(PARAMETERS)
  if more ~= nil then surplus(plan) end
  local turn = tobit(frame.turn + 1)
  frame.turn = turn
PREPARE
STORE
  local code = C.xchg_cuda_launch(frame, turn, err)
  if code ~= 0 then
    if code == DISTURBED then return run(EVERYTHING) end
    failed(plan, frame, prepare, code, ARGUMENTS)
  end
end
return run
]]

local function join(...)
  local parts = {}
  for i = 1, select("#", ...) do
    local part = select(i, ...)
    if part ~= "" then parts[#parts + 1] = part end
  end
  return table.concat(parts, ", ")
end

local function text_of(plan, form)
  local names, statements, types, seen, first = {}, {}, {}, {}, "nil"
  for k, parameter in ipairs(plan.signature) do
    names[k] = "a" .. k
    statements[k] = "  " .. fragments[parameter.class](parameter, plan.inputs[k - 1], k)
    if first == "nil" and plan_.takes_tensors(parameter) then first = names[k] end
    for _, name in ipairs { parameter.dtype or false, parameter.also or false } do
      if name and plan_.takes_tensors(parameter) and not seen[name] then
        seen[name] = true
        types[#types + 1] = numbers[name]
      end
    end
  end
  local own, prepare = FORMS[form][1], FORMS[form][2]
  local arguments = table.concat(names, ", ")
  local parts = {
    DISTURBED = DISTURBED, PARAMETERS = join(own, arguments, "more"), EVERYTHING = join(own, arguments),
    ARGUMENTS = arguments == "" and "more" or arguments .. ", more",
    PREPARE = prepare:gsub("FIRST", first), STORE = table.concat(statements, "\n"),
    TYPES = #types > 0 and ", T" .. table.concat(types, ", T") or "",
  }
  return (HEAD:gsub("%u%u%u%u+", parts)), types
end

-- ---- making a function --------------------------------------------------------------------------------

-- `_` only has to live as long as the function.
local function failed(plan, frame, _, code, ...)
  if code > 0 then argument.explain(plan, frame, code, ...) end
  error_.check(plan.where, code)
end

-- A list that is longer than a function can have: the arguments by number.
local function long(plan, frame, form, prepare)
  local own = form == "call" and 3 or form == "config" and 0 or 2
  local run
  function run(...)
    local count = select("#", ...) - own
    if count > plan.count then argument.surplus(plan) end
    local turn = bit.tobit(frame.turn + 1)
    frame.turn = turn
    if own > 0 then prepare(frame, select(2, ...)) end
    for k = 1, plan.count do argument.store(plan, frame, k, (select(own + k, ...))) end
    local code = C.xchg_cuda_launch(frame, turn, error_.scratch)
    if code ~= 0 then
      if code == DISTURBED then return run(...) end
      failed(plan, frame, prepare, code, select(own + 1, ...))
    end
  end
  return run
end

local out = ffi.new("xchg_cuda_frame *[1]")

--- An empty frame of a plan. The kernel must outlive it.
---@param plan xchg.cuda.Plan
---@return ffi.cdata* xchg_cuda_frame *
function M.frame(plan)
  local code = C.xchg_cuda_frame_new(out, lib.arena, plan.kernel, plan.inputs, plan.count, error_.scratch)
  local frame = out[0]
  error_.check(plan.where, code)
  return ffi.gc(frame, C.xchg_cuda_frame_release)
end

local function view(frame, ctype) return ffi.cast(ctype, frame.cells) end

--- The function of a form: "config": (arguments...), "call": (kernel, grid, block, arguments...), "launch": (kernel,
--- options, arguments...), "over": (kernel, extent, arguments...). `prepare(frame, ...)` takes what comes before them.
---@param plan xchg.cuda.Plan
---@param frame ffi.cdata*
---@param form "config"|"call"|"launch"|"over"
---@param prepare any  "config": what the function keeps
---@return function
function M.new(plan, frame, form, prepare)
  if plan.count > LONGEST then return long(plan, frame, form, prepare) end
  local text, types = text_of(plan, form)
  for i, number in ipairs(types) do types[i] = slots.ctypes[number] end
  local run = assert(loadstring(text, "=(xchg " .. plan.where .. ")"))(plan, frame, prepare, argument.store, failed,
    argument.surplus, C, error_.scratch, type, rawequal, ffi.istype, slots.is_tensor, bit.tobit, math.floor,
    lib.core.tensors, ffi.cast("uint32_t *", frame), frame.heads, view(frame, "int8_t *"), view(frame, "int16_t *"),
    view(frame, "int32_t *"), view(frame, "int64_t *"), view(frame, "uint16_t *"), view(frame, "float *"),
    view(frame, "double *"), unpack(types))
  -- The interpreter takes a microsecond for what a trace does in five nanoseconds; C needs neither.
  if not jit.status() and (form == "config" or form == "call") then
    return lib.core.cuda_launcher(frame, lib.core.tensors, run, form == "call", plan.where)
  end
  return run
end

return M
