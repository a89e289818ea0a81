--- Tensors and numbers, copied behind each other into one tensor.

local ffi = require "ffi"
local lib = require "xchg.lib"
local allocate = require "xchg.allocate"
local copying = require "xchg.copy"
local device = require "xchg.device"
local dtypes = require "xchg.dtype"
local element = require "xchg.element"
local error_ = require "xchg.error"
local promotion = require "xchg.promotion"
local slots = require "xchg.slots"
local view = require "xchg.view"

local M = {}

local C, doors, next_key = lib.C, lib.core.exchange, lib.core.next
local ROCM_HOST = device.parse("stack", "rocm_host")

--- Whether memory of that kind is the host's own, however it was made.
function M.on_host(kind) return kind == device.CPU or kind == device.CUDA_HOST or kind == ROCM_HOST end

local is_tensor, release = slots.is_tensor, slots.release

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

-- What a nested list holds, in row-major order: tensors, runs of numbers, and gaps where lists are empty. `shape` has
-- the extents of the lists, `rank` the dimensions that numbers in them ask for, `number` the dtype of these alone.
local Parts = {}
Parts.__index = Parts

--- No parts yet, of what messages call `name`.
function M.parts(name)
  return setmetatable({ name = name, n = 0, shape = {}, ours = {}, depth = {}, ones = {} }, Parts)
end

local function add(parts, part, depth, ones)
  local n = parts.n + 1
  parts.n, parts[n], parts.depth[n], parts.ones[n] = n, part, depth, ones
  return n
end

--- A tensor inside of `depth` lists, of which the first `ones` are counted from 1. `ours`: to be released when it has
--- been copied.
function Parts:add(t, ours, depth, ones)
  self.ours[add(self, t, depth, ones)] = ours
end

--- What becomes a tensor only when all is known to fit: `import` makes it, and it is ours.
function Parts:add_later(import, dtype, kind, id, shape, depth, ones)
  local extents = {} -- as of a tensor
  for d, extent in ipairs(shape) do extents[d - 1] = extent end
  add(self, { import = import, count = 1, _dtype = dtype, _device_type = kind, _device_id = id, _ndim = #shape,
    _shape = extents }, depth, ones)
end

local function is_array(part) return is_tensor(part) or part.import ~= nil end

local function import_all(parts)
  for i = 1, parts.n do
    if not is_tensor(parts[i]) and parts[i].import then parts[i], parts.ours[i] = parts[i].import(), true end
  end
end

--- An empty list, or `count` of them.
function Parts:add_gap(depth, ones, count)
  add(self, { gap = true, count = count or 1 }, depth, ones)
end

--- Numbers of a Python list, from `first` (0) on.
function Parts:add_items(list, first, count, depth, ones)
  add(self, { list = list, first = first, count = count }, depth, ones)
end

--- A number of Lua.
function Parts:add_value(value, dtype, depth)
  local run = self[self.n]
  if not run or type(run) ~= "table" or not run.values then
    run = { values = {}, count = 0 }
    add(self, run, depth, depth)
  end
  run.count = run.count + 1
  run.values[run.count] = value
  self:add_number(dtype)
end

--- The dtype of numbers that were added.
function Parts:add_number(dtype)
  self.number = self.number and promotion.of_numbers(self.number, dtype) or dtype
end

function Parts:release()
  for i = 1, self.n do
    if self.ours[i] then release(self[i]) end
  end
end

-- "x[0][1]" for the way to something inside of `depth` lists, with indices from 1 for the first `ones` of them.
local function way(name, shape, cell, depth, ones)
  local at = {}
  for d = #shape, 1, -1 do
    local extent = math.max(shape[d], 1)
    at[d] = cell % extent
    cell = (cell - at[d]) / extent
  end
  local text = name
  for d = 1, depth do text = text .. "[" .. at[d] + (d <= ones and 1 or 0) .. "]" end
  return text
end

-- The place of part i, as messages name it.
function Parts:place(i)
  local shape, cell = self.lists or self.shape, 0
  for k = 1, i - 1 do
    local cells = is_tensor(self[k]) and 1 or self[k].count
    for d = self.depth[k] + 1, #shape do cells = cells * math.max(shape[d], 1) end
    cell = cell + cells
  end
  return way(self.name, shape, cell, self.depth[i], self.ones[i])
end

-- ---- shape, device and dtype ----------------------------------------------------------------------------

local function own_shape(part)
  local extents = {}
  if is_array(part) then
    for d = 1, part._ndim do extents[d] = tonumber(part._shape[d - 1]) end
  elseif part.gap then
    extents[1] = 0
  end
  return extents
end

local function shape_text(extents, from)
  return "{" .. table.concat(extents, ", ", from or 1) .. "}"
end

-- Part i does not fit; `shape` is what the others ask for.
local function refuse_shape(where, parts, i, shape)
  local own = shape_text(own_shape(parts[i]))
  for k = 1, parts.n do
    local other = shape_text(own_shape(parts[k]))
    if parts.depth[k] == parts.depth[i] and other ~= own then
      local first, last = math.min(i, k), math.max(i, k)
      error_.raise("shape_mismatch", "%s: %s has the shape %s and %s has %s; what is stacked has one shape", where,
        parts:place(first), first == i and own or other, parts:place(last), first == i and other or own)
    end
  end
  error_.raise("shape_mismatch", "%s: %s has the shape %s where %s was expected, as in the lists beside it", where,
    parts:place(i), own, shape_text(shape, parts.depth[i] + 1))
end

-- The shape of all.
local function one_shape(where, parts)
  local shape, rank = parts.shape, parts.rank
  parts.lists = { unpack(shape) }
  for i = 1, parts.n do
    local t, depth = parts[i], parts.depth[i]
    if is_array(t) then
      local ndim = depth + t._ndim
      if ndim ~= (rank or ndim) or ndim < #shape then refuse_shape(where, parts, i, shape) end
      rank = ndim
      for d = depth + 1, rank do
        local extent = tonumber(t._shape[d - depth - 1])
        if (shape[d] or extent) ~= extent then refuse_shape(where, parts, i, shape) end
        shape[d] = extent
      end
    end
  end
  if #shape > C.XCHG_MAX_NDIM then
    error_.raise("out_of_range", "%s: the stack has %d dimensions; tensors have at most %d", where, #shape,
      C.XCHG_MAX_NDIM)
  end
  return shape
end

-- The one device of all: the host for every kind of the host's memory. Numbers are nowhere.
local function one_device(where, parts)
  local kind, id, first = device.CPU, 0, nil
  for i = 1, parts.n do
    if is_array(parts[i]) then
      local k, d = parts[i]._device_type, parts[i]._device_id
      if M.on_host(k) then k, d = device.CPU, 0 end
      if not first then
        kind, id, first = k, d, i
      elseif k ~= kind or d ~= id then
        error_.raise("unsupported_device", "%s: %s is on '%s' and %s on '%s'; a stack has one device, pass device = "
          .. "'%s'", where, parts:place(first), device.name(kind, id), parts:place(i), device.name(k, d),
          device.name(kind, id))
      end
    end
  end
  return kind, id
end

-- The dtype of all; the size of numbers counts for nothing.
local function one_dtype(where, parts)
  local names, seen = {}, {}
  for i = 1, parts.n do
    local name = is_array(parts[i]) and dtypes.by_id[parts[i]._dtype].name
    if name and not seen[name] then
      seen[name] = true
      names[#names + 1] = name
    end
  end
  local number = parts.number
  if #names == 0 then return number or "float64" end
  local name, a, b = promotion.of_all(names)
  if not name then promotion.refuse(where, a, b) end
  if not number then return name end
  local both = promotion.with_number(name, number)
  if not both then promotion.refuse(where, name, number) end
  return both
end

-- ---- copies -------------------------------------------------------------------------------------------

local path = {}

function path.__tostring(at)
  return at.where .. ": " .. way(at.parts.name, at.parts.lists, at.cell, #at.parts.lists, at.ones)
end

-- Writes a run into elements of t, from `to` on; `at` is its place among all.
local function write(where, parts, i, t, to, at)
  local run = parts[i]
  if run.list then
    return doors.write(run.list, t, parts.lists, run.first, run.count, at, parts.name, parts.ones[i])
  end
  local put = element.by_id[t._dtype].write
  local place = setmetatable({ where = where, parts = parts, ones = parts.ones[i] }, path)
  for k = 1, run.count do
    place.cell = at + k - 1
    put(t, to + k - 1, run.values[k], place)
  end
end

-- Numbers on their way to another device: a copy for each run.
local function send(where, parts, i, flat, at, how)
  local count = parts[i].count
  local extents = view.room()
  extents[0] = count
  local t = allocate.new(where, dtypes.by_id[flat._dtype], false, 1, extents)
  local part
  local done, problem = pcall(function()
    write(where, parts, i, t, 0, at)
    part = view.narrow(flat, 1, at + 1, count)
    copying.copy(where, part, t, how)
  end)
  release(t)
  if part then release(part) end
  if not done then error(problem, 0) end
end

-- A view of the first elements of t, of the shape that parts inside of `depth` lists have.
local function first_part(t, depth)
  if depth == 0 then return view.index(t, {}) end
  local extents, outer = {}, 1
  for d = 1, t._ndim do
    local extent = tonumber(t._shape[d - 1])
    if d <= depth then outer = outer * extent else extents[d - depth + 1] = extent end
  end
  extents[1] = outer
  local flat = view.reshape(t, extents)
  local part = view.select(flat, 1, 1)
  release(flat)
  return part
end

local function copy_all(where, parts, t, stream, views)
  local row, how = dtypes.by_id[t._dtype], options(stream)
  local base, on_host, data = ffi.cast("char *", t._ptr), t._data ~= nil, slots.pointers[t._dtype]
  local at = 0
  for i = 1, parts.n do
    local source, depth = parts[i], parts.depth[i]
    if is_tensor(source) then
      local offset = at * row.itemsize
      if offset % 1 ~= 0 then
        error_.raise("unsupported_dtype", "%s: %d packed %s elements end inside a byte and cannot be stacked", where,
          tonumber(parts[i - 1]._numel), row.name)
      end
      local part = views[depth]
      if not part then
        part = first_part(t, depth)
        views[depth] = part
      end
      part._ptr = base + offset -- inside the same memory
      if on_host then part._data = ffi.cast(data, part._ptr) end
      copying.copy(where, part, source, how)
      at = at + tonumber(source._numel)
    else
      if M.on_host(t._device_type) then
        write(where, parts, i, t, at, at)
      else
        views.flat = views.flat or view.reshape(t, { tonumber(t._numel) })
        send(where, parts, i, views.flat, at, how)
      end
      at = at + source.count
    end
  end
end

local function stack(where, parts, wanted)
  local shape = one_shape(where, parts)
  local row = wanted.row or dtypes.get(where, one_dtype(where, parts))
  if parts.number and not row.readable then
    error_.raise("unsupported_dtype", "%s: %s elements are not written from numbers; make a tensor and view it", where,
      row.name)
  end
  local kind, id = wanted.kind, wanted.id
  if not kind then kind, id = one_device(where, parts) end
  import_all(parts)
  local extents = view.room()
  for d = 1, #shape do extents[d - 1] = shape[d] end
  local source
  for i = 1, parts.n do source = source or is_tensor(parts[i]) and parts[i] or nil end
  local t = new(where, row, #shape, extents, kind, id, wanted.stream, source)
  if t._numel == 0 then return t end
  local views = {}
  local done, problem = pcall(copy_all, where, parts, t, wanted.stream, views)
  for _, part in next_key, views do release(part) end
  if not done then
    release(t)
    error(problem, 0)
  end
  return t
end

--- One tensor of all parts, which are released. `wanted` may name the dtype (row), the device (kind, id), the stream.
function Parts:stacked(where, wanted)
  local done, result = pcall(stack, where, self, wanted)
  self:release()
  if not done then error(result, 0) end
  return result
end

return M
