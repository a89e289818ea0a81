--- What elementwise and reduce kernels share: their arguments read, the types of letters found, sources compiled once.

local lib = require "xchg.lib"
local allocate = require "xchg.allocate"
local check = require "xchg.check"
local copying = require "xchg.copy"
local device = require "xchg.device"
local dtype = require "xchg.dtype"
local error_ = require "xchg.error"
local slots = require "xchg.slots"
local view = require "xchg.view"
local compile = require "xchg.cuda.compile"
local ctype = require "xchg.cuda.ctype"
local devices = require "xchg.cuda.device"
local streams = require "xchg.cuda.stream"

local M = {}

local C = lib.C

local is_tensor = slots.is_tensor

M.BLOCK = 256
local WAVES = 32 -- blocks of a grid for each multiprocessor, at most: threads loop over what is left

--- Whether a value is a plain table of options rather than an argument.
function M.is_options(value) return type(value) == "table" and getmetatable(value) == nil end

local function dims(pointer, count)
  local out = {}
  for d = 1, count do out[d] = tonumber(pointer[d - 1]) end
  return out
end

function M.shape(t) return dims(t._shape, t._ndim) end
function M.strides(t) return dims(t._strides, t._ndim) end
function M.describe(shape) return "{" .. table.concat(shape, ", ") .. "}" end

--- Checks arguments against their parameters, and finds the type of each letter in `letters`.
---@param where string
---@param parameters xchg.cuda.Parameter[]
---@param values table
---@param letters table<string, xchg.dtype>
---@return integer? device of the tensors; nil where there is none
---@return boolean? sure whether that is memory of the device: managed memory is anybody's
function M.read(where, parameters, values, letters)
  local on, managed
  for i, parameter in ipairs(parameters) do
    local value = values[i]
    if is_tensor(value) then
      slots.check(where, value)
      local name = dtype.by_id[value._dtype].name
      local wanted = parameter.dtype or letters[parameter.letter]
      if wanted and wanted ~= name then
        error_.raise("unsupported_dtype", "%s: '%s' must be %s%s, got a %s tensor; t:to '%s' converts", where,
          parameter.name, wanted, parameter.letter and " (" .. parameter.letter .. ")" or "", name, wanted)
      elseif not ctype.of(name) then
        error_.raise("unsupported_dtype", "%s: '%s' is a %s tensor, which CUDA C++ has no type for; view() it as an "
          .. "unsigned integer", where, parameter.name, name)
      end
      if parameter.letter then letters[parameter.letter] = name end
      if value._device_type == device.CUDA then
        on = on or value._device_id
      elseif value._device_type == device.CUDA_MANAGED then
        managed = managed or value._device_id
      elseif value._device_type ~= device.CUDA_HOST then
        error_.raise("unsupported_device", "%s: '%s' is in %s memory, which kernels cannot reach; t:to 'cuda' copies "
          .. "it", where, parameter.name, value.device)
      end
    elseif not (check.is_number(value) or type(value) == "boolean") then
      error_.raise("wrong_type", "%s: '%s' must be a tensor or a number, got %s", where, parameter.name,
        check.describe(value))
    end
  end
  return on or managed, on ~= nil
end

--- The dtype of a parameter once the letters are known.
function M.dtype(where, parameter, letters)
  local name = parameter.dtype or letters[parameter.letter]
  if not name then
    error_.raise("bad_argument", "%s: no tensor tells what %s is; pass one for it, or declare '%s' with a type", where,
      parameter.letter, parameter.name)
  end
  return name
end

--- A new tensor on a device.
function M.new(where, name, shape, on)
  local ndim, extents = view.shape(where, shape)
  return allocate.new(where, dtype.get(where, name), false, ndim, extents, device.CUDA, on)
end

--- Checks a tensor that results are written to.
function M.check_output(where, name, value)
  slots.check(where, value)
  for d = 0, value._ndim - 1 do
    if value._shape[d] > 1 and value._strides[d] == 0 then
      error_.raise("bad_argument", "%s: '%s' repeats elements along dimension %d and cannot be written; clone() it "
        .. "first", where, name, d + 1)
    end
  end
end

local function same_places(a, b)
  if a._ptr ~= b._ptr or a._dtype ~= b._dtype or a._ndim ~= b._ndim then return false end
  for d = 0, a._ndim - 1 do
    if a._shape[d] ~= b._shape[d] or a._strides[d] ~= b._strides[d] then return false end
  end
  return true
end

--- `input`, or a copy of it where writing `output` would change elements that are read later: to be released then.
---@return xchg.Tensor
---@return boolean copied
function M.apart(input, output)
  if same_places(input, output) or C.xchg_cuda_overlap(slots.head(input), slots.head(output)) == 0 then
    return input, false
  end
  return copying.clone(input), true
end

--- C++ source of the headers that the dtypes need.
---@param names xchg.dtype[]
function M.headers(names)
  local out, seen = {}, {}
  for _, name in ipairs(names) do
    local _, header = ctype.of(name)
    if header and not seen[header] then
      seen[header] = true
      out[#out + 1] = "#include <" .. header .. ">\n"
    end
  end
  return table.concat(out)
end

--- C++ source that gives the letters of parameters their types. `lists` are parameter lists, `names` the dtypes of all.
---@param lists xchg.cuda.Parameter[][]
---@param names xchg.dtype[]
function M.letters(lists, names)
  local out, seen, at = {}, {}, 0
  for _, list in ipairs(lists) do
    for _, parameter in ipairs(list) do
      at = at + 1
      if parameter.letter and not seen[parameter.letter] then
        seen[parameter.letter] = true
        out[#out + 1] = ("typedef %s %s;\n"):format(ctype.of(names[at]), parameter.letter)
      end
    end
  end
  return table.concat(out)
end

--- Compiles a source for a device and gives its kernel.
---@param source string
---@param name string  of the kernel and the program
---@param on integer
function M.compile(source, name, on)
  return devices.with_device(on, function() return compile.compile(source, { name = name .. ".cu" }):kernel(name) end)
end

--- fn(...) with everything on a stream of the device: copies and new memory too. nil: on the current one.
---@param where string
---@param stream any
---@param on integer
---@param fn function
function M.on_stream(where, stream, on, fn, ...)
  if stream == nil then return fn(...) end
  return streams.with_stream(streams.of(where, stream, on), fn, ...)
end

--- Blocks for `count` threads.
function M.grid(count, on)
  local blocks = math.ceil(count / M.BLOCK)
  return math.min(blocks, devices.device(on).multiprocessors * WAVES)
end

--- A name that C++ and reports can use.
function M.name(where, value, default)
  if value == nil then return default end
  if not value:find("^[%a_][%w_]*$") then
    error_.raise("bad_argument", "%s: the name %s is no C identifier", where, check.describe(value))
  end
  return value
end

return M
