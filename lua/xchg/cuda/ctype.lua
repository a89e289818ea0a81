--- Element types as CUDA C++ spells them.

local dtype = require "xchg.dtype"

local next_key = require("xchg.lib").core.next

local M = {}

local FP16, BF16, FP8, COMPLEX = "cuda_fp16.h", "cuda_bf16.h", "cuda_fp8.h", "cuda/std/complex"

-- dtype -> C++ type, and the header that declares it.
local types = {
  bool = { "bool" },
  int8 = { "signed char" }, int16 = { "short" }, int32 = { "int" }, int64 = { "long long" },
  uint8 = { "unsigned char" }, uint16 = { "unsigned short" }, uint32 = { "unsigned int" },
  uint64 = { "unsigned long long" },
  float16 = { "__half", FP16 }, bfloat16 = { "__nv_bfloat16", BF16 }, float32 = { "float" }, float64 = { "double" },
  complex64 = { "cuda::std::complex<float>", COMPLEX }, complex128 = { "cuda::std::complex<double>", COMPLEX },
  float8_e4m3fn = { "__nv_fp8_e4m3", FP8 }, float8_e5m2 = { "__nv_fp8_e5m2", FP8 },
}

-- Other spellings of the same.
local spellings = {
  ["char"] = "int8", ["int8_t"] = "int8", ["unsigned"] = "uint32", ["uint8_t"] = "uint8",
  ["int16_t"] = "int16", ["short int"] = "int16", ["uint16_t"] = "uint16", ["unsigned short int"] = "uint16",
  ["int32_t"] = "int32", ["signed"] = "int32", ["signed int"] = "int32", ["uint32_t"] = "uint32",
  ["int64_t"] = "int64", ["long"] = "int64", ["long int"] = "int64", ["long long int"] = "int64",
  ["uint64_t"] = "uint64", ["unsigned long"] = "uint64", ["unsigned long int"] = "uint64",
  ["unsigned long long int"] = "uint64", ["size_t"] = "uint64", ["ptrdiff_t"] = "int64",
  ["half"] = "float16", ["nv_bfloat16"] = "bfloat16",
}

local by_spelling = {}
for name, row in next_key, types do by_spelling[row[1]] = name end
for spelling, name in next_key, spellings do by_spelling[spelling] = name end
for _, name in ipairs(dtype.names) do
  if types[name] then by_spelling[name] = name end
end

--- How C++ spells a dtype, and the header that declares it (nil where none is needed); nil for a dtype that C++ has no
--- type for.
---@param name xchg.dtype
---@return string? spelling
---@return string? header
function M.of(name)
  local row = types[name]
  if row then return row[1], row[2] end
end

--- The dtype of a C++ type, or of a dtype's own name; nil for others.
---@param spelling string
---@return xchg.dtype?
function M.dtype(spelling)
  return by_spelling[(spelling:gsub("%s+", " "):match("^%s*(.-)%s*$"))]
end

return M
