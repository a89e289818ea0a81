--- Tensors of one shape, copied behind each other into one.

local ffi = require "ffi"
local lib = require "xchg.lib"
local allocate = require "xchg.allocate"
local copying = require "xchg.copy"
local device = require "xchg.device"
local dtypes = require "xchg.dtype"
local error_ = require "xchg.error"
local promotion = require "xchg.promotion"
local slots = require "xchg.slots"
local view = require "xchg.view"

local M = {}

local C = lib.C
local ROCM_HOST = device.parse("stack", "rocm_host")

--- Whether memory of that kind is the host's own, however it was made.
function M.on_host(kind) return kind == device.CPU or kind == device.CUDA_HOST or kind == ROCM_HOST end

local release = slots.release

local function new(where, row, ndim, extents, kind, id, stream, source)
  if stream == nil or kind == device.CPU then return allocate.new(where, row, false, ndim, extents, kind, id) end
  return device.backend(where, kind).with(where, stream, kind, id, source, function()
    return allocate.new(where, row, false, ndim, extents, kind, id)
  end)
end

local function options(stream)
  return stream ~= nil and { stream = stream } or nil
end

--- A copy of a tensor with another dtype, or on another device.
function M.like(where, t, row, kind, id, stream)
  local extents = view.room()
  ffi.copy(extents, t._shape, t._ndim * 8)
  local made = new(where, row, t._ndim, extents, kind, id, stream, t)
  local done, problem = pcall(copying.copy, where, made, t, options(stream))
  if not done then
    release(made)
    error(problem, 0)
  end
  return made
end

-- ---- parts --------------------------------------------------------------------------------------------

local Parts = {}
Parts.__index = Parts

--- An empty list of tensors that will be stacked.
function M.parts() return setmetatable({ n = 0, ours = {}, is_number = {} }, Parts) end

--- `ours`: to be released when it has been copied; `is_number`: a number of Lua's or Python's.
function Parts:add(t, ours, is_number)
  local n = self.n + 1
  self.n, self[n], self.ours[n], self.is_number[n] = n, t, ours, is_number or false
  self.numbers = self.numbers or is_number
end

function Parts:release()
  for i = 1, self.n do
    if self.ours[i] then release(self[i]) end
  end
end

-- The indices of part i (from 1) in the outer shape, from 1.
local function indices(shape, i)
  local at = {}
  i = i - 1
  for d = #shape, 1, -1 do
    at[d] = i % shape[d] + 1
    i = (i - i % shape[d]) / shape[d]
  end
  return at
end

--- "x[0][1]", as Python would write it.
function M.python_place(shape, i)
  local text = "x"
  for _, index in ipairs(indices(shape, i)) do text = text .. "[" .. index - 1 .. "]" end
  return text
end

--- "element[1][2]".
function M.lua_place(shape, i)
  local text = "element"
  for _, index in ipairs(indices(shape, i)) do text = text .. "[" .. index .. "]" end
  return text
end

local function shape_text(t)
  local extents = {}
  for d = 1, t._ndim do extents[d] = tostring(tonumber(t._shape[d - 1])) end
  return "{" .. table.concat(extents, ", ") .. "}"
end

local function same_shape(a, b)
  if a._ndim ~= b._ndim then return false end
  for d = 0, a._ndim - 1 do
    if a._shape[d] ~= b._shape[d] then return false end
  end
  return true
end

-- The one device of all: the host for every kind of the host's memory.
local function one_device(where, parts, shape, place_of)
  local kind, id
  for i = 1, parts.n do
    local t = parts[i]
    local k, d = t._device_type, t._device_id
    if M.on_host(k) then k, d = device.CPU, 0 end
    if not kind then
      kind, id = k, d
    elseif k ~= kind or d ~= id then
      error_.raise("unsupported_device", "%s: %s is on '%s' and %s on '%s'; a stack has one device, pass device = '%s'",
        where, place_of(shape, 1), device.name(kind, id), place_of(shape, i), device.name(k, d), device.name(kind, id))
    end
  end
  return kind, id
end

-- The dtype of all; `number` is that of the numbers among them, whose size counts for nothing.
local function one_dtype(where, parts, number)
  local name
  for i = 1, parts.n do
    if not parts.is_number[i] then
      local own = dtypes.by_id[parts[i]._dtype].name
      local both = name and promotion.of(name, own)
      if name and not both then promotion.refuse(where, name, own) end
      name = both or own
    end
  end
  if not name then return number end
  if parts.numbers then
    local both = promotion.with_number(name, number)
    if not both then promotion.refuse(where, name, number) end
    name = both
  end
  return name
end

local function copy_all(where, parts, t, stream)
  local n = tonumber(parts[1]._numel)
  if n == 0 then return end
  local bytes = n * dtypes.by_id[t._dtype].itemsize
  if bytes ~= math.floor(bytes) then
    error_.raise("unsupported_dtype", "%s: %d packed %s elements end inside a byte and cannot be stacked", where, n,
      dtypes.by_id[t._dtype].name)
  end
  local ndim, count = t._ndim - parts[1]._ndim, parts.n
  local flat = ndim == 1 and t or nil
  if not flat then
    local extents = { count }
    for d = 1, parts[1]._ndim do extents[d + 1] = tonumber(parts[1]._shape[d - 1]) end
    flat = view.reshape(t, extents)
  end
  -- One view that goes from part to part: inside the same memory.
  local part = view.select(flat, 1, 1)
  local base, on_host, data = ffi.cast("char *", part._ptr), part._data ~= nil, slots.pointers[t._dtype]
  local how = options(stream)
  for i = 1, count do
    local address = base + (i - 1) * bytes
    part._ptr = address
    if on_host then part._data = ffi.cast(data, address) end
    copying.copy(where, part, parts[i], how)
  end
  release(part)
  if flat ~= t then release(flat) end
end

local function stack(where, parts, shape, wanted, number, place_of)
  local first = parts[1]
  for i = 2, parts.n do
    if not same_shape(first, parts[i]) then
      error_.raise("shape_mismatch", "%s: %s has the shape %s and %s has %s; arrays that are stacked have one shape",
        where, place_of(shape, 1), shape_text(first), place_of(shape, i), shape_text(parts[i]))
    end
  end
  local row = wanted.row or dtypes.get(where, one_dtype(where, parts, number))
  local kind, id = wanted.kind, wanted.id
  if not kind then kind, id = one_device(where, parts, shape, place_of) end
  local ndim = #shape + first._ndim
  if ndim > C.XCHG_MAX_NDIM then
    error_.raise("out_of_range", "%s: the stack has %d dimensions; tensors have at most %d", where, ndim,
      C.XCHG_MAX_NDIM)
  end
  local extents = view.room()
  for d = 1, #shape do extents[d - 1] = shape[d] end
  for d = 0, first._ndim - 1 do extents[#shape + d] = first._shape[d] end
  local t = new(where, row, ndim, extents, kind, id, wanted.stream, first)
  local done, problem = pcall(copy_all, where, parts, t, wanted.stream)
  if not done then
    release(t)
    error(problem, 0)
  end
  return t
end

--- One tensor of all parts, which are released: `shape` comes before their own. `wanted` may name the dtype (row), the
--- device (kind, id) and the stream; `number` is the dtype of the numbers among them.
function Parts:stacked(where, shape, wanted, number, place_of)
  local done, result = pcall(stack, where, self, shape, wanted, number, place_of)
  self:release()
  if not done then error(result, 0) end
  return result
end

return M
