--- Arguments of kernels off the fast path: values that are seldom given, and what is wrong with all others.

local bit = require "bit"
local ffi = require "ffi"
local lib = require "xchg.lib"
local check = require "xchg.check"
local device = require "xchg.device"
local dtype = require "xchg.dtype"
local error_ = require "xchg.error"
local slots = require "xchg.slots"
local plan_ = require "xchg.cuda.plan"

local M = {}

local C = lib.C
local raise = error_.raise
local floor = math.floor

-- ---- words --------------------------------------------------------------------------------------------

-- "argument 2 (const float *x)"
local function label(plan, k)
  local parameter = plan.signature[k]
  local text = parameter.text or parameter.class
  if parameter.name then text = text .. (text:sub(-1) == "*" and "" or " ") .. parameter.name end
  return ("argument %d (%s)"):format(k, text)
end

local function declare(plan, k)
  return plan.signature[k].unknown_source
    and "; or declare the signature of the kernel, such as \"(const float *x, int n)\", where the type is known better"
    or ""
end

local function with_article(name) return (name:find("^i") and "an " or "a ") .. name end

local function elements(parameter)
  if not parameter.dtype then return "a tensor on a CUDA device" end
  local also = parameter.also and parameter.also ~= parameter.dtype and " or " .. parameter.also or ""
  return ("%s%s tensor on a CUDA device"):format(with_article(parameter.dtype), also)
end

local EXPECTED = {
  pointer = elements,
  word = function() return "a tensor on a CUDA device or an integer of 64 bits" end,
  integer = function(parameter)
    if parameter.size == 8 then return parameter.signed == false and "a whole number from 0 on" or "a whole number" end
    return ("a whole number from %.0f to %.0f"):format(plan_.range(parameter))
  end,
  bool = function() return "a boolean" end,
  float = function() return "a number" end,
  half = function() return "a number" end,
  bfloat16 = function() return "a number" end,
  struct = function(parameter)
    return ("cdata of %d bytes, such as a struct, aligned to %d"):format(parameter.size, parameter.align)
  end,
  bits = function(parameter)
    return ("cdata of exactly %d bytes, because the type of the parameter is not known"):format(parameter.size)
  end,
}

local CURES = {
  pointer = "; t.ptr or other pointers go unchecked, ffi.cast('void *', 0) is NULL",
  struct = "; make one with ffi.new", bits = "; ffi.new('float', x) or ffi.new('int', n) make one",
}

-- The argument is of another class than the parameter.
local function mismatch(plan, k, value)
  local parameter = plan.signature[k]
  local given = check.describe(value)
  if value == nil then
    given = ("nothing; the kernel is %s"):format(tostring(plan.signature))
  elseif type(value) == "string" and tonumber(value) then
    given = given .. "; tonumber() makes it a number"
  elseif check.is_number(value) and type(value) == "cdata" then
    given = given .. "; tonumber() makes it a Lua number"
  else
    given = given .. (CURES[parameter.class] or "")
  end
  raise("wrong_type", "%s: %s must be %s, got %s%s", plan.where, label(plan, k),
    EXPECTED[parameter.class](parameter), given, declare(plan, k))
end

-- ---- tensors ------------------------------------------------------------------------------------------

local READONLY = C.XCHG_TENSOR_READONLY

local function is_host(t)
  return t._device_type ~= device.CUDA and t._device_type ~= device.CUDA_HOST and t._device_type ~= device.CUDA_MANAGED
end

-- What one tensor alone shows. Returns where nothing is wrong.
local function check_tensor(plan, k, t)
  local parameter = plan.signature[k]
  local where, name = plan.where, label(plan, k)
  if t._slot == 0 then
    raise("released", "%s: %s was released; keep it until its last use, or clone() it before", where, name)
  elseif not rawequal(lib.core.tensors[t._slot], t) then
    raise("bad_argument", "%s: %s is a copy of a tensor's bytes; clone() copies tensors", where, name)
  elseif is_host(t) then
    local cure = bit.band(t._flags, C.XCHG_TENSOR_HOST) ~= 0 and "t:to 'cuda' copies it"
      or "copy it with the library that it is of"
    raise("unsupported_device", "%s: %s is a tensor in %s memory, which kernels do not reach; %s", where, name,
      t.device, cure)
  elseif parameter.dtype and t.dtype ~= parameter.dtype and t.dtype ~= parameter.also then
    local same = dtype.get(where, parameter.dtype).itemsize == t.itemsize
    raise("unsupported_dtype", "%s: %s must be %s, got %s tensor; t:to '%s' converts it%s", where, name,
      elements(parameter), with_article(t.dtype), parameter.dtype,
      same and (", t:view '%s' takes the same bytes for it"):format(parameter.dtype) or "")
  elseif parameter.const ~= true and bit.band(t._flags, READONLY) ~= 0 then
    raise("readonly", "%s: %s is a read-only tensor, and the kernel %s; clone() it, or declare the parameter const",
      where, name, parameter.const == false and "may write there" or "is not known to leave it as it is")
  end
  local alignment = parameter.alignment or 1
  local address = tonumber(ffi.cast("uintptr_t", t._ptr) % alignment)
  if address ~= 0 then
    raise("bad_argument", "%s: %s needs an address that is a multiple of %d, and the tensor's is %d bytes past one; "
      .. "begin the view elsewhere, or clone() it", where, name, alignment, address)
  end
end

-- The tensor at `k` does not go with the others, or with the stream.
local function check_company(plan, frame, k, arguments)
  local t = arguments[k]
  local expected, by = nil, nil
  if frame.stream ~= nil then
    expected, by = frame.stream.device, "the stream"
  else
    for i = 1, k - 1 do
      local other = arguments[i]
      if slots.is_tensor(other) and plan_.takes_tensors(plan.signature[i]) and other._device_type == device.CUDA then
        expected, by = other._device_id, label(plan, i)
        break
      end
    end
  end
  if expected and t._device_type == device.CUDA and t._device_id ~= expected then
    raise("unsupported_device", "%s: %s is on %s, and %s is of cuda:%d; a launch works on one device: t:to 'cuda:%d' "
      .. "copies it", plan.where, label(plan, k), t.device, by, expected, expected)
  end
  for i = 1, plan.count do
    local other = arguments[i]
    if i ~= k and plan_.takes_tensors(plan.signature[i]) and slots.is_tensor(other)
      and C.xchg_cuda_overlap(slots.head(t), slots.head(other)) ~= 0 then
      raise("bad_argument", "%s: %s, which the kernel may write, and %s lie in the same memory, which noalias=true "
        .. "refuses; clone() one of them", plan.where, label(plan, k), label(plan, i))
    end
  end
end

--- After C has refused the tensor at `k`: raises why.
function M.explain(plan, frame, k, ...)
  local arguments = { ... }
  check_tensor(plan, k, arguments[k])
  check_company(plan, frame, k, arguments)
  raise("bad_argument", "%s: %s does not fit", plan.where, label(plan, k))
end

--- There are more arguments than parameters.
function M.surplus(plan)
  raise("bad_argument", "%s: more arguments than the %d that the kernel takes: %s", plan.where, plan.count,
    tostring(plan.signature))
end

-- ---- storing ------------------------------------------------------------------------------------------

-- By ctype number: what kind of cdata it is, its size and alignment.
local known = {}

-- nil for a ctype.
local function inspect(value)
  local T = ffi.typeof(value)
  local id = tonumber(T)
  if tonumber(value) == id and tostring(value):find("^ctype<") then return nil end
  local row = known[id]
  if not row then
    local name = tostring(T):match("^ctype<(.*)>$")
    local pointer = name:find("%*[%s%a]*$") ~= nil and not name:find("&", 1, true)
    row = {
      pointer = pointer, to_tensor = name:find("^struct xchg_tensor") ~= nil,
      -- Functions and references have no bytes of their own.
      bytes = not pointer and not name:find("[&()*]") and ffi.sizeof(T) or nil,
      align = ffi.alignof(T),
      scalar = not name:find("^struct") and not name:find("^union") and not name:find("%]$") and name .. "[1]" or nil,
    }
    known[id] = row
  end
  return row
end

local function cell(frame, plan, k, ctype) return ffi.cast(ctype, frame.cells + plan.inputs[k - 1].cell) end

local function store_address(plan, frame, k, value)
  local tensor = plan.inputs[k - 1].tensor
  if slots.is_tensor(value) then
    check_tensor(plan, k, value)
    frame.heads[tensor] = value
    return true
  end
  if type(value) ~= "cdata" then return false end
  local row = inspect(value)
  if not row or not row.pointer then return false end
  if row.to_tensor then
    raise("wrong_type", "%s: %s is a pointer to a tensor's head; pass the tensor", plan.where, label(plan, k))
  end
  frame.heads[tensor] = nil
  cell(frame, plan, k, "const void **")[0] = value
  return true
end

local function out_of_range(plan, k, value)
  local parameter = plan.signature[k]
  local low, high = plan_.range(parameter)
  raise("out_of_range", "%s: %s must be a whole number from %.0f to %.0f, got %s%s", plan.where, label(plan, k), low,
    high, check.describe(value), parameter.size == 8 and "; 64-bit cdata go beyond" or "")
end

-- 64-bit cdata into an integer of any width.
local function store_wide(plan, frame, k, value)
  local parameter = plan.signature[k]
  local unsigned = ffi.istype("uint64_t", value)
  local fits
  if parameter.size == 8 then
    fits = parameter.signed == nil or unsigned == (parameter.signed == false)
      or (unsigned and value <= 0x7fffffffffffffffULL) or (not unsigned and value >= 0LL)
  else
    local low, high = plan_.range(parameter)
    if unsigned then
      fits = value <= ffi.cast("uint64_t", high)
    else
      fits = value >= ffi.cast("int64_t", low) and value <= ffi.cast("int64_t", high)
    end
  end
  if not fits then out_of_range(plan, k, value) end
  ffi.copy(cell(frame, plan, k, "uint8_t *"), ffi.new("uint64_t[1]", value), parameter.size)
end

local function store_integer(plan, frame, k, value)
  if not check.is_number(value) then return false end
  if plan.inputs[k - 1].tensor >= 0 then frame.heads[plan.inputs[k - 1].tensor] = nil end
  if type(value) == "cdata" then
    store_wide(plan, frame, k, value)
    return true
  end
  local parameter = plan.signature[k]
  local low, high = plan_.range(parameter)
  if value ~= floor(value) then
    raise("wrong_type", "%s: %s must be %s, got %s; math.floor makes it whole", plan.where, label(plan, k),
      EXPECTED[parameter.class](parameter), check.describe(value))
  end
  if value < low or value > high then out_of_range(plan, k, value) end
  store_wide(plan, frame, k, value < 0 and ffi.cast("int64_t", value) or ffi.cast("uint64_t", value))
  return true
end

local function store_bytes(plan, frame, k, value)
  if type(value) ~= "cdata" then return false end
  local parameter, row = plan.signature[k], inspect(value)
  if not row or not row.bytes or row.to_tensor then return false end
  if row.bytes ~= parameter.size then
    raise("wrong_type", "%s: %s has %d bytes, got %s with %d%s", plan.where, label(plan, k), parameter.size,
      check.describe(value), row.bytes, declare(plan, k))
  elseif parameter.class == "struct" and parameter.align % row.align ~= 0 then
    raise("wrong_type", "%s: %s is aligned to %d bytes, got %s, which wants %d; declare it as the kernel does",
      plan.where, label(plan, k), parameter.align, check.describe(value), row.align)
  end
  -- Numbers, complex ones too, are no memory to copy from.
  local from = row.scalar and ffi.new(row.scalar, value) or value
  ffi.copy(cell(frame, plan, k, "uint8_t *"), from, row.bytes)
  return true
end

local STORE = {
  pointer = store_address,
  word = function(plan, frame, k, value)
    return store_integer(plan, frame, k, value) or store_address(plan, frame, k, value)
  end,
  integer = store_integer,
  bool = function(plan, frame, k, value)
    if value ~= 0 and value ~= 1 and type(value) ~= "boolean" then return false end
    cell(frame, plan, k, "uint8_t *")[0] = (value == 1 or value == true) and 1 or 0
    return true
  end,
  float = function(plan, frame, k, value)
    if type(value) ~= "number" then return false end
    cell(frame, plan, k, plan.signature[k].size == 4 and "float *" or "double *")[0] = value
    return true
  end,
  half = function(plan, frame, k, value)
    if type(value) ~= "number" then return false end
    cell(frame, plan, k, "uint16_t *")[0] = C.xchg_float16_from_double(value)
    return true
  end,
  bfloat16 = function(plan, frame, k, value)
    if type(value) ~= "number" then return false end
    cell(frame, plan, k, "uint16_t *")[0] = C.xchg_bfloat16_from_double(value)
    return true
  end,
  struct = store_bytes,
  bits = store_bytes,
}

--- Puts any value that fits into parameter `k` of a frame; raises for all others.
---@param plan xchg.cuda.Plan
---@param frame ffi.cdata*
---@param k integer
---@param value any
function M.store(plan, frame, k, value)
  if not STORE[plan.signature[k].class](plan, frame, k, value) then mismatch(plan, k, value) end
end

return M
