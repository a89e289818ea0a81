--- Loops over several tensors of one shape: dimensions that can be one are made one, and written as C++ that finds the
--- offset of each tensor's element.

local M = {}

local abs = math.abs
local INT32 = 2 ^ 31 - 1

---@class xchg.cuda.Loop
---@field numel number
---@field shape number[]      what is left of the dimensions, outermost first
---@field strides number[][]  of each tensor, in elements
---@field wide boolean        offsets or counts need 64 bits

local function merge(shape, strides)
  local out_shape, out = {}, {}
  for k = 1, #strides do out[k] = {} end
  for d = 1, #shape do
    local last = #out_shape
    local joined = last > 0
    for k = 1, joined and #strides or 0 do joined = joined and out[k][last] == strides[k][d] * shape[d] end
    if joined then
      out_shape[last] = out_shape[last] * shape[d]
      for k = 1, #strides do out[k][last] = strides[k][d] end
    else
      out_shape[last + 1] = shape[d]
      for k = 1, #strides do out[k][last + 1] = strides[k][d] end
    end
  end
  return out_shape, out
end

--- Prepares a loop over `shape` with the strides of each tensor (0 where it is broadcast). `order` sorts the dimensions
--- by the strides of that tensor, where any order will do.
---@param shape number[]
---@param strides number[][]
---@param order integer?
---@return xchg.cuda.Loop
function M.plan(shape, strides, order)
  local numel, dims = 1, {}
  for d = 1, #shape do
    numel = numel * shape[d]
    if shape[d] ~= 1 then dims[#dims + 1] = d end
  end
  if order then
    local key = strides[order]
    table.sort(dims, function(p, q)
      if abs(key[p]) ~= abs(key[q]) then return abs(key[p]) > abs(key[q]) end
      return p < q
    end)
  end
  local kept, kept_strides = {}, {}
  for k = 1, #strides do kept_strides[k] = {} end
  for at, d in ipairs(dims) do
    kept[at] = shape[d]
    for k = 1, #strides do kept_strides[k][at] = strides[k][d] end
  end
  local out_shape, out = merge(kept, kept_strides)
  local wide = numel > INT32
  for k = 1, #out do
    local reach = 0
    for d = 1, #out_shape do reach = reach + abs(out[k][d]) * (out_shape[d] - 1) end
    wide = wide or reach > INT32
  end
  return { numel = numel, shape = out_shape, strides = out, wide = wide }
end

--- The strides that let a tensor of `shape` be walked as one of `target`; nil where it cannot be broadcast to it.
---@param target number[]
---@param shape number[]
---@param strides number[]
---@return number[]?
function M.broadcast(target, shape, strides)
  local out, shift = {}, #target - #shape
  if shift < 0 then return nil end
  for d = 1, #target do
    local extent = shape[d - shift]
    if d <= shift or extent == 1 and target[d] ~= 1 then
      out[d] = 0
    elseif extent == target[d] then
      out[d] = strides[d - shift]
    else
      return nil
    end
  end
  return out
end

--- The shape that a list of shapes is broadcast to; nil and the two that do not fit.
---@param shapes number[][]
---@return number[]?
---@return number[]? one
---@return number[]? other
function M.common(shapes)
  local out, owner = {}, {}
  for _, shape in ipairs(shapes) do
    local longer = #shape - #out
    for _ = 1, longer do
      table.insert(out, 1, 1)
      table.insert(owner, 1, shape)
    end
    for d = 1, #out do
      local extent = shape[d - (#out - #shape)] or 1
      if extent ~= 1 and out[d] ~= 1 and extent ~= out[d] then return nil, owner[d], shape end
      if extent ~= 1 then out[d], owner[d] = extent, shape end
    end
  end
  return out
end

--- What tells two loops' code apart.
---@param loop xchg.cuda.Loop
---@return string
function M.key(loop)
  if #loop.shape > 1 then return #loop.shape .. (loop.wide and "w" or "") end
  local parts = {}
  for k = 1, #loop.strides do
    local stride = loop.strides[k][1] or 0
    parts[k] = (stride == 0 or stride == 1) and tostring(stride) or "s"
  end
  return "1:" .. table.concat(parts) .. (loop.wide and "w" or "")
end

--- C++ type of counts and offsets.
function M.index(loop) return loop.wide and "long long" or "int" end

--- C++ parameters for what the code needs to know of the loop, to be declared behind the others, and their values.
---@param loop xchg.cuda.Loop
---@param prefix string
---@return string[] declarations
---@return number[] values
function M.parameters(loop, prefix)
  local declared, values, index = {}, {}, M.index(loop)
  local function add(name, value)
    declared[#declared + 1] = index .. " " .. prefix .. name
    values[#values + 1] = value
  end
  if #loop.shape <= 1 then
    for k = 1, #loop.strides do
      local stride = loop.strides[k][1] or 0
      if stride ~= 0 and stride ~= 1 then add("s" .. k, stride) end
    end
    return declared, values
  end
  for d = 2, #loop.shape do add("d" .. d, loop.shape[d]) end
  for k = 1, #loop.strides do
    for d = 1, #loop.shape do add("s" .. k .. "_" .. d, loop.strides[k][d]) end
  end
  return declared, values
end

--- C++ statements that declare `<prefix>o1`, `<prefix>o2`, ...: the offset of each tensor's element number `element`.
---@param loop xchg.cuda.Loop
---@param prefix string
---@param element string  a C++ expression
---@return string
function M.offsets(loop, prefix, element)
  local out, index, count = {}, M.index(loop), #loop.strides
  local function line(...) out[#out + 1] = (...):format(select(2, ...)) end
  if #loop.shape <= 1 then
    for k = 1, count do
      local stride = loop.strides[k][1] or 0
      if stride == 0 then
        line("const %s %so%d = 0;", index, prefix, k)
      elseif stride == 1 then
        line("const %s %so%d = %s;", index, prefix, k, element)
      else
        line("const %s %so%d = (%s) * %ss%d;", index, prefix, k, element, prefix, k)
      end
    end
    return table.concat(out, "\n    ")
  end
  line("%s %srest = %s;", index, prefix, element)
  for k = 1, count do line("%s %so%d = 0;", index, prefix, k) end
  for d = #loop.shape, 1, -1 do
    if d > 1 then
      line("{ const %s up = %srest / %sd%d, at = %srest - up * %sd%d; %srest = up;", index, prefix, prefix, d, prefix,
        prefix, d, prefix)
    else
      line("{ const %s at = %srest;", index, prefix)
    end
    for k = 1, count do line("  %so%d += at * %ss%d_%d;", prefix, k, prefix, k, d) end
    line("}")
  end
  return table.concat(out, "\n    ")
end

return M
