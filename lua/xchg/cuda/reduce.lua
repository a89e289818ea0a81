--- Kernels that combine the elements of tensors: sums, products, extremes.

local check = require "xchg.check"
local error_ = require "xchg.error"
local slots = require "xchg.slots"
local view = require "xchg.view"
local ctype = require "xchg.cuda.ctype"
local generated = require "xchg.cuda.generated"
local loops = require "xchg.cuda.loops"
local parameters = require "xchg.cuda.parameters"

local M = {}

local is_tensor = slots.is_tensor

local PER_THREAD = 16 -- elements that a thread combines before more blocks share the work
local MOST_CHUNKS = 1024
-- Half precision is summed in single.
local WIDER = { float16 = "float32", bfloat16 = "float32" }

---@class xchg.cuda.Reduction
---@operator call: xchg.Tensor
local class = { __name = "xchg.cuda.Reduction" }
class.__index = class

function class:__tostring() return ("reduction %s: %s, %s"):format(self.name, self.map, self.combine) end

-- Where there is little for each result, a thread makes one alone.
local ALONE = 32

local ALONE_BODY = [[
  for (INDEX _outer = (INDEX)blockIdx.x * blockDim.x + threadIdx.x; _outer < _count;
       _outer += (INDEX)gridDim.x * blockDim.x) {
    _accumulated _sum = (_accumulated)(IDENTITY);
    OUTER
    for (INDEX i = 0; i < _inner; i++) {
    INNER
    READS
    _sum = _combined(_sum, (_accumulated)(EXPRESSION));
    }
    _out[_Oo1] = (RESULT)_sum;
    if (_count - _outer <= (INDEX)gridDim.x * blockDim.x) break; // the next could be too large for its type
  }
]]

-- A block combines `_per` elements. Where several have one result, a second launch combines what they have written.
local BLOCK_BODY = [[
  __shared__ _accumulated _shared[BLOCK];
  _accumulated _sum = (_accumulated)(IDENTITY);
  const INDEX _outer = blockIdx.x;
  OUTER
  const INDEX _from = (INDEX)blockIdx.y * _per;
  const INDEX _left = _inner - _from < _per ? _inner - _from : _per;
  for (INDEX _j = threadIdx.x; _j < _left; _j += blockDim.x) {
    const INDEX i = _from + _j;
    INNER
    READS
    _sum = _combined(_sum, (_accumulated)(EXPRESSION));
  }
  _shared[threadIdx.x] = _sum;
  for (unsigned _half = blockDim.x / 2; _half > 0; _half /= 2) {
    __syncthreads();
    if (threadIdx.x < _half) _shared[threadIdx.x] = _combined(_shared[threadIdx.x], _shared[threadIdx.x + _half]);
  }
  if (threadIdx.x == 0) _out[_Oo1 + (INDEX)blockIdx.y] = (RESULT)_shared[0];
]]

local function is_alone(outer, inner) return inner.numel <= ALONE or outer.numel > 2 ^ 31 - 1 end

local function source_of(self, names, accumulate, result, outer, inner)
  local index = (outer.wide or inner.wide) and "long long" or "int"
  local declared, reads = { ("%s *_out"):format(result) }, {}
  for k, parameter in ipairs(self.inputs) do
    local spelling = ctype.of(names[k])
    declared[#declared + 1] = ("const %s *%s__"):format(spelling, parameter.name)
    reads[#reads + 1] = ("const %s %s = %s__[_Oo%d + _o%d];"):format(spelling, parameter.name, parameter.name, k + 1, k)
  end
  for _, name in ipairs { "_count", "_inner", "_per" } do declared[#declared + 1] = index .. " " .. name end
  for _, each in ipairs(loops.parameters(outer, "_O")) do declared[#declared + 1] = each end
  for _, each in ipairs(loops.parameters(inner, "_")) do declared[#declared + 1] = each end
  local written = {
    INDEX = index, IDENTITY = self.identity, RESULT = result, BLOCK = tostring(generated.BLOCK),
    OUTER = loops.offsets(outer, "_O", "_outer"), INNER = loops.offsets(inner, "_", "i"),
    READS = table.concat(reads, "\n    "), EXPRESSION = self.expression,
  }
  return generated.letters({ self.inputs }, names)
    .. ("typedef %s _accumulated;\n"):format(accumulate)
    .. ("static __device__ _accumulated _combined(const _accumulated a, const _accumulated b) { return %s; }\n"):format(
      self.combine)
    .. ('extern "C" __global__ void %s(%s) {\n'):format(self.name, table.concat(declared, ", "))
    .. (is_alone(outer, inner) and ALONE_BODY or BLOCK_BODY):gsub("%u%u%u+", written) .. "}\n"
end

-- Launches a kernel whose blocks write one element of `out` for each outer index and chunk.
local function launch(self, names, out, inputs, outer, inner, chunks, types, on)
  local alone = is_alone(outer, inner)
  local key = table.concat({ on, types.result, types.accumulate, loops.key(outer), loops.key(inner),
    alone and "alone" or "block", unpack(names) }, " ")
  local kernel = self.kernels[key]
  if not kernel then
    local source = generated.headers({ types.result, types.accumulate, unpack(names) }) .. self.preamble
      .. source_of(self, names, ctype.of(types.accumulate), ctype.of(types.result), outer, inner)
    kernel = generated.compile(source, self.name, on)
    self.kernels[key] = kernel
  end
  local values = { out, unpack(inputs) }
  values[#values + 1] = outer.numel
  values[#values + 1] = inner.numel
  values[#values + 1] = math.max(1, math.ceil(inner.numel / chunks))
  for prefix, loop in ipairs { outer, inner } do
    local _, more = loops.parameters(loop, prefix == 1 and "_O" or "_")
    for _, value in ipairs(more) do values[#values + 1] = value end
  end
  local grid = alone and generated.grid(outer.numel, on) or { outer.numel, chunks }
  kernel:launch({ grid = grid, block = generated.BLOCK }, unpack(values))
end

-- Which dimensions go: a set.
local function reduced(where, axis, ndim)
  local out = {}
  if axis == nil then
    for d = 1, ndim do out[d] = true end
    return out
  end
  for _, each in ipairs(type(axis) == "table" and axis or { axis }) do
    local d = check.integer(where, "the axis", each, -ndim, ndim)
    if d < 0 then d = d + ndim + 1 end
    if d == 0 then error_.raise("out_of_range", "%s: axis 0; dimensions count from 1", where) end
    if out[d] then error_.raise("bad_argument", "%s: axis %d is given twice", where, d) end
    out[d] = true
  end
  return out
end

-- How many blocks share one result.
local function chunks_of(outer, inner, on)
  if inner.numel <= generated.BLOCK * PER_THREAD then return 1 end
  local wanted = math.ceil(generated.grid(inner.numel, on) / math.max(1, outer.numel))
  return math.max(1, math.min(MOST_CHUNKS, wanted, math.ceil(inner.numel / (generated.BLOCK * PER_THREAD))))
end

-- The loops over what stays and over what goes. `result` has the shape of what stays, and maybe one more dimension.
local function split(shape, goes, result, strides)
  local outer_shape, inner_shape, outer, inner = {}, {}, { {} }, {}
  local result_strides = generated.strides(result)
  for k = 1, #strides do outer[k + 1], inner[k] = {}, {} end
  for d = 1, #shape do
    local to_shape, to, shift = outer_shape, outer, 1
    if goes[d] then to_shape, to, shift = inner_shape, inner, 0 end
    to_shape[#to_shape + 1] = shape[d]
    for k = 1, #strides do to[k + shift][#to_shape] = strides[k][d] end
    if not goes[d] then outer[1][#to_shape] = result_strides[#to_shape] end
  end
  return loops.plan(outer_shape, outer), loops.plan(inner_shape, inner), outer_shape
end

-- Reduces into `out`, which has the shape of what stays.
local function run(self, where, inputs, names, shape, goes, strides, out, types, on)
  local outer, inner, outer_shape = split(shape, goes, out, strides)
  if outer.numel == 0 then return end
  local chunks = chunks_of(outer, inner, on)
  if chunks == 1 then return launch(self, names, out, inputs, outer, inner, 1, types, on) end
  outer_shape[#outer_shape + 1] = chunks
  local partial = generated.new(where, types.accumulate, outer_shape, on)
  outer = split(shape, goes, partial, strides)
  launch(self, names, partial, inputs, outer, inner, chunks,
    { result = types.accumulate, accumulate = types.accumulate }, on)
  run(self.again, where, { partial }, { types.accumulate }, outer_shape, { [#outer_shape] = true },
    { generated.strides(partial) }, out, types, on)
  slots.release(partial)
end

local known_options = {
  axis = "number|table", keepdims = "boolean", out = "cdata", stream = "table|number|cdata|userdata",
}

-- Checks the tensor for a result of a shape.
local function check_out(where, out, result, wanted)
  generated.read(where, { { name = "out", dtype = result } }, { out }, {})
  generated.check_output(where, "out", out)
  if generated.describe(generated.shape(out)) ~= generated.describe(wanted) then
    error_.raise("shape_mismatch", "%s: 'out' has the shape %s, and the result %s", where,
      generated.describe(generated.shape(out)), generated.describe(wanted))
  end
end

-- The call, once it is known what is meant by it.
local function reduce_on(self, where, values, names, shapes, shape, result, options, on)
  local types = { result = result, accumulate = WIDER[result] or result }
  local goes, strides = reduced(where, options.axis, #shape), {}
  local kept, squeezed = {}, {}
  for d = 1, #shape do
    kept[d] = goes[d] and 1 or shape[d]
    if not goes[d] then squeezed[#squeezed + 1] = shape[d] end
  end
  local wanted, out = options.keepdims and kept or squeezed, options.out
  if out ~= nil then
    check_out(where, out, result, wanted)
  else
    out = generated.new(where, result, wanted, on)
  end

  local inputs, temporary = {}, {}
  for i, value in ipairs(values) do
    local copied
    inputs[i], copied = generated.apart(value, out)
    if copied then temporary[#temporary + 1] = inputs[i] end
    strides[i] = loops.broadcast(shape, shapes[i], generated.strides(inputs[i]))
  end
  local flat = out
  for d = options.keepdims and #shape or 0, 1, -1 do
    if goes[d] then
      flat = view.select(flat, d, 1)
      temporary[#temporary + 1] = flat
    end
  end
  run(self, where, inputs, names, shape, goes, strides, flat, types, on)
  for _, t in ipairs(temporary) do slots.release(t) end
  return out
end

function class:__call(...)
  local where, values = self.name, { ... }
  local count, options = select("#", ...), {}
  if generated.is_options(values[count]) then
    options = check.options(where, values[count], known_options)
    values[count], count = nil, count - 1
  end
  if count ~= #self.inputs then
    error_.raise("bad_argument", "%s: %d arguments; it takes %d tensors", where, count, #self.inputs)
  end
  local letters, names, shapes = {}, {}, {}
  local on = generated.read(where, self.inputs, values, letters)
  for i, parameter in ipairs(self.inputs) do
    if not is_tensor(values[i]) then
      error_.raise("wrong_type", "%s: '%s' must be a tensor, got %s", where, parameter.name, check.describe(values[i]))
    end
    names[i], shapes[i] = generated.dtype(where, parameter, letters), generated.shape(values[i])
  end
  if not on then
    error_.raise("bad_argument", "%s: no argument is in the memory of a device; pass a tensor made with device='cuda'",
      where)
  end
  local shape, one, other = loops.common(shapes)
  if not shape then
    error_.raise("shape_mismatch", "%s: the shapes %s and %s cannot be broadcast together", where,
      generated.describe(one), generated.describe(other))
  end
  local result = self.result or self.result_letter and letters[self.result_letter] or names[1]
  return generated.on_stream(where, options.stream, on, reduce_on, self, where, values, names, shapes, shape, result,
    options, on)
end

-- A number as C++ reads it.
local function literal(identity)
  if type(identity) == "string" and identity:find("%S") then return identity end
  if identity == math.huge then return "__longlong_as_double(0x7ff0000000000000LL)" end
  if identity == -math.huge then return "-__longlong_as_double(0x7ff0000000000000LL)" end
  if type(identity) == "number" and identity == identity then return ("%.17g"):format(identity) end
  error_.raise("wrong_type", "reduce: the identity is a number, or C++ that gives it such as 'INT_MIN', got %s",
    check.describe(identity))
end

--- A function that combines what an expression gives for the elements of tensors. With
--- `cuda.reduce("float x -> x * x", "a + b", 0)`, `squares(t)` is the sum of squares as a tensor of no dimensions, and
--- `squares(t, { axis = 1 })` the sums along the first. `map` is a parameter list, `->`, maybe a type and a colon (else
--- the result has the first parameter's), and the expression. `combine` is of `a` and `b` and must not depend on their
--- order; `identity` changes nothing when it is combined with. Half precision is combined in single.
---@param map string
---@param combine string
---@param identity number|string
---@param options { name: string?, preamble: string? }?
---@return xchg.cuda.Reduction
function M.reduce(map, combine, identity, options)
  local where = "reduce"
  options = check.options(where, options, { name = "string", preamble = "string" })
  if type(map) ~= "string" or not map:find("->", 1, true) then
    error_.raise("wrong_type", "reduce: the map is a string such as 'float x -> x * x', got %s", check.describe(map))
  elseif type(combine) ~= "string" or not combine:find("%S") then
    error_.raise("wrong_type", "reduce: the combination is C++ of a and b such as 'a + b', got %s",
      check.describe(combine))
  end
  local declared, expression = map:match("^(.-)%->(.*)$")
  local spelling, rest = expression:match("^%s*([%a_][%w_ ]-)%s*:([^:].*)$")
  local self = {
    map = map, combine = combine, identity = literal(identity), kernels = {},
    name = generated.name(where, options.name, "reduce"),
    preamble = options.preamble and options.preamble .. "\n" or "",
    inputs = parameters.read(where, declared, { i = true }), expression = rest or expression,
  }
  if #self.inputs == 0 then
    error_.raise("bad_argument", "reduce: there is nothing to reduce; declare a parameter before '->'")
  end
  if spelling then self.result, self.result_letter = parameters.type(where, spelling) end
  local again = {
    combine = combine, identity = self.identity, kernels = {}, name = self.name, preamble = self.preamble,
    inputs = { { name = "x" } }, expression = "x",
  }
  again.again = again
  self.again = again
  return setmetatable(self, class)
end

return M
