--- What the types of CUDA C++ are, by name: size, alignment, and the dtype of the tensors that a pointer to them takes.
--
-- Pointers and dtypes:
--   float *                          float32; so for every type that has a dtype
--   void *, char *, unsigned char *, std::byte *    any dtype: this is how bytes are passed
--   float2 *, float3 *, float4 *     float32 (the components), at an address that the vector type allows;
--                                    float2 * and double2 * take complex64 and complex128 as well: cuComplex is float2
--   cuda::std::complex<float> *      complex64
--   T **                             uint64 or int64: a list of addresses on the device
--   Struct *, and names that are not known    any dtype

local ctype = require "xchg.cuda.ctype"

local next_key = require("xchg.lib").core.next

local M = {}

---@class xchg.cuda.Type
---@field text string
---@field class "pointer"|"integer"|"bool"|"float"|"half"|"bfloat16"|"struct"|nil  nil: a name that is not known
---@field size integer?
---@field align integer?
---@field signed boolean?
---@field dtype string?      of tensors that a pointer to this type takes; of a pointer: of its tensors
---@field also string?       a second one
---@field const boolean?     of a pointer: whether what it points to is const
---@field alignment integer? of a pointer: what the address must be a multiple of

local types = {}

local function add(names, class, size, align, dtype, signed)
  for name in names:gmatch("[^|]+") do
    types[name] = { text = name, class = class, size = size, align = align, dtype = dtype, signed = signed }
  end
end

-- Numbers: all names of one type, its class, size and sign. A char's sign is the platform's.
for _, row in ipairs {
  { "bool", "bool", 1 }, { "float", "float", 4 }, { "double", "float", 8 }, { "__half|half", "half", 2 },
  { "__nv_bfloat16|nv_bfloat16", "bfloat16", 2 }, { "char", "integer", 1 },
  { "unsigned char|uint8_t|byte", "integer", 1, false }, { "signed char|int8_t", "integer", 1, true },
  { "short|int16_t", "integer", 2, true }, { "unsigned short|uint16_t", "integer", 2, false },
  { "int|int32_t", "integer", 4, true }, { "unsigned int|uint32_t", "integer", 4, false },
  { "long|long long|int64_t|ptrdiff_t|intptr_t", "integer", 8, true },
  { "unsigned long|unsigned long long|uint64_t|size_t|uintptr_t|cudaTextureObject_t|cudaSurfaceObject_t", "integer", 8,
    false },
} do
  local names, class, size, signed = row[1], row[2], row[3], row[4]
  local bytes = size == 1 and class == "integer" and signed ~= true
  add(names, class, size, size, not bytes and ctype.dtype(names:match("^[^|]+")) or nil, signed)
end
add("void")
add("__int128|unsigned __int128", "struct", 16, 16)
add("dim3", "struct", 12, 4, "uint32")
add("__half2|half2", "struct", 4, 4, "float16")
add("__nv_bfloat162|nv_bfloat162", "struct", 4, 4, "bfloat16")
for _, row in ipairs { { "e4m3", "float8_e4m3fn" }, { "e5m2", "float8_e5m2" }, { "e8m0", "float8_e8m0fnu" } } do
  for lanes, form in next_key, { [1] = "__nv_fp8_", [2] = "__nv_fp8x2_", [4] = "__nv_fp8x4_" } do
    add(form .. row[1], "struct", lanes, lanes, row[2])
  end
end
add("__nv_fp4x2_e2m1", "struct", 1, 1, "float4_e2m1fn_x2")

-- Vectors: the name without its lanes, and the component.
for name, component in next_key, {
  char = "signed char", uchar = "unsigned char", short = "short", ushort = "unsigned short", int = "int",
  uint = "unsigned int", long = "long", ulong = "unsigned long", longlong = "long long",
  ulonglong = "unsigned long long", float = "float", double = "double",
} do
  local size, dtype = types[component].size, types[component].dtype
  for lanes = 1, 4 do
    local align = lanes == 3 and size or math.min(size * lanes, 16)
    add(name .. lanes, "struct", size * lanes, align, dtype)
  end
  if size == 8 then -- CUDA 13 says which alignment is meant
    add(name .. "4_16a", "struct", 32, 16, dtype)
    add(name .. "4_32a", "struct", 32, 32, dtype)
  end
end
types.float2.also, types.double2.also = "complex64", "complex128"
types.cuFloatComplex, types.cuComplex, types.cuDoubleComplex = types.float2, types.float2, types.double2

for _, scalar in ipairs { "float", "double" } do
  local name, size = ("complex<%s>"):format(scalar), types[scalar].size * 2
  add(name, "struct", size, size, ctype.dtype("cuda::std::" .. name))
end

-- Names that are in namespaces as well; `complex` and `byte` only there.
local spaced = { byte = true, ["complex<float>"] = true, ["complex<double>"] = true }
local library = { size_t = true, ptrdiff_t = true, intptr_t = true, uintptr_t = true }
for bits = 8, 64 do
  library[("int%d_t"):format(bits)], library[("uint%d_t"):format(bits)] = true, true
end

-- Under the names that they have there.
local qualified = {}
for _, space in ipairs { "std", "cuda::std", "thrust" } do
  for name in next_key, types do
    if (space ~= "thrust" and library[name]) or (spaced[name] and (space ~= "thrust" or name ~= "byte")) then
      local copy = {}
      for key, value in next_key, types[name] do copy[key] = value end
      copy.text = space .. "::" .. name
      qualified[copy.text] = copy
    end
  end
end

--- The type of a name, which may be qualified: "std::size_t". nil for one that is not known.
---@param name string
---@return xchg.cuda.Type?
function M.find(name)
  name = name:gsub("^::", "")
  return qualified[name] or not spaced[name] and types[name] or nil
end

--- A name of which nothing is known.
---@return xchg.cuda.Type
function M.unknown(text) return { text = text } end

--- A pointer to a type. `const` is whether that is const, nil where this is not known.
---@param pointee xchg.cuda.Type
---@param const boolean?
---@return xchg.cuda.Type
function M.pointer(pointee, const)
  local dtype, also = pointee.dtype, pointee.also
  if pointee.class == "pointer" then dtype, also = "uint64", "int64" end
  local text = pointee.text
  if const and pointee.class == "pointer" then
    text = text .. "const "
  elseif const then
    text = "const " .. text
  end
  return {
    text = text .. (text:find("[%* ]$") and "*" or " *"), class = "pointer", size = 8, align = 8, dtype = dtype,
    also = also, const = const, alignment = pointee.align or 1,
  }
end

return M
