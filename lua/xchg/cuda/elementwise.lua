--- Kernels from expressions: one result for each element, with broadcasting.

local check = require "xchg.check"
local error_ = require "xchg.error"
local slots = require "xchg.slots"
local ctype = require "xchg.cuda.ctype"
local generated = require "xchg.cuda.generated"
local loops = require "xchg.cuda.loops"
local parameters = require "xchg.cuda.parameters"

local M = {}

local is_tensor = slots.is_tensor

---@class xchg.cuda.Elementwise
---@operator call: xchg.Tensor
local class = { __name = "xchg.cuda.Elementwise" }
class.__index = class

function class:__tostring()
  return ("elementwise %s: %s -> %s: %s"):format(self.name, self.ins, self.outs, self.body)
end

-- The source for one choice of types, scalars and loop. Tensors are numbered outputs first.
local function source_of(self, types, scalar, loop)
  local declared, body, index = {}, {}, loops.index(loop)
  local at = 0
  for _, parameter in ipairs(self.outputs) do
    at = at + 1
    local spelling = ctype.of(types[parameter.name])
    declared[#declared + 1] = ("%s *%s__"):format(spelling, parameter.name)
    body[#body + 1] = ("%s &%s = %s__[_o%d];"):format(spelling, parameter.name, parameter.name, at)
  end
  for _, parameter in ipairs(self.inputs) do
    local spelling = ctype.of(types[parameter.name])
    if scalar[parameter.name] then
      declared[#declared + 1] = ("%s %s"):format(spelling, parameter.name)
    else
      at = at + 1
      declared[#declared + 1] = ("const %s *%s__"):format(spelling, parameter.name)
      body[#body + 1] = ("const %s %s = %s__[_o%d];"):format(spelling, parameter.name, parameter.name, at)
    end
  end
  declared[#declared + 1] = index .. " n"
  for _, each in ipairs(loops.parameters(loop, "_")) do declared[#declared + 1] = each end
  local names = {}
  for _, list in ipairs { self.outputs, self.inputs } do
    for _, parameter in ipairs(list) do names[#names + 1] = types[parameter.name] end
  end
  return generated.headers(names) .. self.preamble .. generated.letters({ self.outputs, self.inputs }, names)
    .. ('extern "C" __global__ void %s(%s) {\n'):format(self.name, table.concat(declared, ", "))
    .. ("  const %s _step = (%s)gridDim.x * blockDim.x;\n"):format(index, index)
    .. ("  for (%s i = (%s)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += _step) {\n    "):format(index, index)
    .. loops.offsets(loop, "_", "i") .. "\n    " .. table.concat(body, "\n    ") .. "\n    "
    .. self.body .. ";\n    if (n - i <= _step) break; // i + _step could be too large for its type\n  }\n}\n"
end

-- Results of the call: given ones checked, or new ones of the inputs' common shape.
local function results(self, where, given, shapes, types, on)
  if #given == 0 then
    local shape, one, other = loops.common(shapes)
    if not shape then
      error_.raise("shape_mismatch", "%s: the shapes %s and %s cannot be broadcast together", where,
        generated.describe(one), generated.describe(other))
    end
    local out = {}
    for i, parameter in ipairs(self.outputs) do
      out[i] = generated.new(where, types[parameter.name], shape, on)
    end
    return out, shape
  end
  local shape = generated.shape(given[1])
  for i, t in ipairs(given) do
    generated.check_output(where, self.outputs[i].name, t)
    local other = generated.shape(t)
    if generated.describe(other) ~= generated.describe(shape) then
      error_.raise("shape_mismatch", "%s: the results '%s' and '%s' have the shapes %s and %s; they must be of one",
        where, self.outputs[1].name, self.outputs[i].name, generated.describe(shape), generated.describe(other))
    end
  end
  return given, shape
end

-- The tensors in the order of the kernel's parameters, with their strides over `shape`.
local function operands(self, where, outputs, values, shape)
  local arguments, strides, copies, scalar = {}, {}, {}, {}
  for i, t in ipairs(outputs) do
    arguments[i], strides[i] = t, generated.strides(t)
  end
  for i, parameter in ipairs(self.inputs) do
    local value = values[i]
    if is_tensor(value) then
      for _, output in ipairs(outputs) do
        local copied
        value, copied = generated.apart(value, output)
        if copied then copies[#copies + 1] = value end
      end
      local walked = loops.broadcast(shape, generated.shape(value), generated.strides(value))
      if not walked then
        error_.raise("shape_mismatch", "%s: '%s' has the shape %s, which cannot be broadcast to that of the result, %s",
          where, parameter.name, generated.describe(generated.shape(value)), generated.describe(shape))
      end
      strides[#strides + 1] = walked
    else
      scalar[parameter.name] = true
    end
    arguments[#arguments + 1] = value
  end
  return arguments, strides, copies, scalar
end

-- The call, once it is known what is meant by it.
local function run(self, where, values, inputs, given, letters, on)
  local types, key, shapes = {}, { on }, {}
  for _, list in ipairs { self.outputs, self.inputs } do
    for _, parameter in ipairs(list) do
      types[parameter.name] = generated.dtype(where, parameter, letters)
      key[#key + 1] = types[parameter.name]
    end
  end
  for i = 1, inputs do
    if is_tensor(values[i]) then shapes[#shapes + 1] = generated.shape(values[i]) end
  end
  local outputs, shape = results(self, where, given, shapes, types, on)
  local arguments, strides, copies, scalar = operands(self, where, outputs, values, shape)
  local loop = loops.plan(shape, strides, 1)
  if loop.numel > 0 then
    for _, parameter in ipairs(self.inputs) do key[#key + 1] = scalar[parameter.name] and "s" or "t" end
    key[#key + 1] = loops.key(loop)
    local name = table.concat(key, " ")
    local kernel = self.kernels[name]
    if not kernel then
      kernel = generated.compile(source_of(self, types, scalar, loop), self.name, on)
      self.kernels[name] = kernel
    end
    arguments[#arguments + 1] = loop.numel
    local _, more = loops.parameters(loop, "_")
    for _, value in ipairs(more) do arguments[#arguments + 1] = value end
    kernel:launch({ grid = generated.grid(loop.numel, on), block = generated.BLOCK }, unpack(arguments))
  end
  for _, t in ipairs(copies) do slots.release(t) end
  return unpack(outputs)
end

local known_options = { stream = "table|number|cdata|userdata" }

function class:__call(...)
  local where, values = self.name, { ... }
  local count, options = select("#", ...), nil
  if generated.is_options(values[count]) then
    options = check.options(where, values[count], known_options)
    count = count - 1
  end
  local inputs, outputs = #self.inputs, #self.outputs
  if count ~= inputs and count ~= inputs + outputs then
    error_.raise("bad_argument", "%s: %d arguments; pass %d inputs, or these and %d tensor%s for the result", where,
      count, inputs, outputs, outputs == 1 and "" or "s")
  end
  local letters, given = {}, {}
  local on, sure = generated.read(where, self.inputs, values, letters)
  for i = 1, count - inputs do
    given[i] = values[inputs + i]
    if not is_tensor(given[i]) then
      error_.raise("wrong_type", "%s: '%s' must be a tensor for the result, got %s", where, self.outputs[i].name,
        check.describe(given[i]))
    end
  end
  if #given > 0 then
    local of_results = generated.read(where, self.outputs, given, letters)
    if not sure then on = of_results or on end
  end
  if not on then
    error_.raise("bad_argument", "%s: no argument is in the memory of a device; pass a tensor made with device='cuda'",
      where)
  end
  return generated.on_stream(where, options and options.stream, on, run, self, where, values, inputs, given, letters,
    on)
end

--- A function that computes an expression for each element. After
--- `axpy = cuda.elementwise("float a, float x, float y", "float z", "z = a * x + y")`, `axpy(2, x, y)` is a new tensor,
--- and `axpy(2, x, y, y)` writes to y. Inputs are tensors, broadcast together, or numbers; results are given behind
--- them, or made. A single capital letter as a type stands for the dtype of the tensors that are passed. The expression
--- may be several statements; `i` is the number of the element and `n` how many there are.
---@param inputs string
---@param outputs string
---@param expression string
---@param options { name: string?, preamble: string? }?  preamble: C++ that comes before the kernel
---@return xchg.cuda.Elementwise
function M.elementwise(inputs, outputs, expression, options)
  local where = "elementwise"
  options = check.options(where, options, { name = "string", preamble = "string" })
  local taken = { i = true, n = true }
  local self = {
    ins = inputs, outs = outputs, body = expression, kernels = {},
    name = generated.name(where, options.name, "elementwise"),
    preamble = options.preamble and options.preamble .. "\n" or "",
    inputs = parameters.read(where, inputs, taken), outputs = parameters.read(where, outputs, taken),
  }
  if #self.outputs == 0 then
    error_.raise("bad_argument", "elementwise: there is no result; declare one, such as 'float y'")
  elseif type(expression) ~= "string" or not expression:find("%S") then
    error_.raise("wrong_type", "elementwise: the expression is C++ such as 'y = x * x', got %s",
      check.describe(expression))
  end
  return setmetatable(self, class)
end

return M
