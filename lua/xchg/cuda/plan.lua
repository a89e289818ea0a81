--- How each Lua value becomes each parameter of a kernel: from its signature, made once.

local ffi = require "ffi"
local dtype = require "xchg.dtype"
local error_ = require "xchg.error"
local lib = require "xchg.lib"

local M = {}

local C = lib.C

---@class xchg.cuda.Plan
---@field where string                how errors begin: "launch of saxpy"
---@field signature xchg.cuda.Signature
---@field count integer               of parameters
---@field inputs ffi.cdata*           xchg_cuda_input[count], as C wants them
---@field kernel ffi.cdata*           xchg_cuda_kernel *; what holds the plan keeps it

local KINDS = {
  pointer = C.XCHG_CUDA_INPUT_POINTER, word = C.XCHG_CUDA_INPUT_WORD, integer = C.XCHG_CUDA_INPUT_INTEGER,
  bool = C.XCHG_CUDA_INPUT_BOOL, float = C.XCHG_CUDA_INPUT_FLOAT, half = C.XCHG_CUDA_INPUT_HALF,
  bfloat16 = C.XCHG_CUDA_INPUT_BFLOAT16, struct = C.XCHG_CUDA_INPUT_BYTES, bits = C.XCHG_CUDA_INPUT_BYTES,
}

local ANY = 0xffffffff

local function bit_of(name)
  for id, row in ipairs(dtype.by_id) do
    if row.name == name then return 2 ^ id end
  end
  error("xchg: a signature names the dtype " .. tostring(name), 0)
end

--- Least and greatest number that an integer parameter takes. Of 64 bits those that a Lua number holds exactly: beyond
--- them only cdata say what is meant.
---@return number low
---@return number high
function M.range(parameter)
  local bits = parameter.size * 8
  if bits == 64 then return parameter.signed == false and 0 or -2 ^ 53, 2 ^ 53 end
  local low = parameter.signed == false and 0 or -2 ^ (bits - 1)
  return low, parameter.signed == true and 2 ^ (bits - 1) - 1 or 2 ^ bits - 1
end

--- Whether tensors can stand for a parameter.
function M.takes_tensors(parameter) return parameter.class == "pointer" or parameter.class == "word" end

---@param where string
---@param signature xchg.cuda.Signature
---@param kernel ffi.cdata*
---@return xchg.cuda.Plan
function M.new(where, signature, kernel)
  local count = #signature
  local inputs = ffi.new("xchg_cuda_input[?]", count + 1)
  for i, parameter in ipairs(signature) do
    local input = inputs[i - 1]
    local kind = KINDS[parameter.class]
    if not kind then error_.raise("bad_argument", "%s: parameter %d is of no known class", where, i) end
    input.kind, input.size, input.alignment, input.tensor = kind, parameter.size, 1, -1
    if M.takes_tensors(parameter) then
      local also = parameter.also ~= parameter.dtype and parameter.also
      input.dtypes = parameter.dtype and bit_of(parameter.dtype) + (also and bit_of(also) or 0) or ANY
      input.alignment = parameter.alignment or 1
      input.written = parameter.const == true and 0 or 1
    end
    if parameter.class == "integer" or parameter.class == "word" then input.low, input.high = M.range(parameter) end
  end
  return { where = where, signature = signature, count = count, inputs = inputs, kernel = kernel }
end

return M
