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

add("bool", "bool", 1, 1, "bool")
add("char", "integer", 1, 1) -- its sign is the platform's
add("unsigned char|uint8_t", "integer", 1, 1, nil, false)
add("signed char|int8_t", "integer", 1, 1, "int8", true)
add("short|int16_t", "integer", 2, 2, "int16", true)
add("unsigned short|uint16_t", "integer", 2, 2, "uint16", false)
add("int|int32_t", "integer", 4, 4, "int32", true)
add("unsigned int|uint32_t", "integer", 4, 4, "uint32", false)
add("long|long long|int64_t|ptrdiff_t|intptr_t", "integer", 8, 8, "int64", true)
add("unsigned long|unsigned long long|uint64_t|size_t|uintptr_t", "integer", 8, 8, "uint64", false)
add("cudaTextureObject_t|cudaSurfaceObject_t", "integer", 8, 8, "uint64", false)
add("float", "float", 4, 4, "float32")
add("double", "float", 8, 8, "float64")
add("__half|half", "half", 2, 2, "float16")
add("__nv_bfloat16|nv_bfloat16", "bfloat16", 2, 2, "bfloat16")
add("__half2|half2", "struct", 4, 4, "float16")
add("__nv_bfloat162|nv_bfloat162", "struct", 4, 4, "bfloat16")
add("__int128|unsigned __int128", "struct", 16, 16)
add("void|byte", nil)
types.byte.size, types.byte.align = 1, 1
add("dim3", "struct", 12, 4, "uint32")
for _, form in ipairs { "e4m3|float8_e4m3fn", "e5m2|float8_e5m2", "e8m0|float8_e8m0fnu" } do
  local name, dtype = form:match("^(.*)|(.*)$")
  add("__nv_fp8_" .. name, "struct", 1, 1, dtype)
  add("__nv_fp8x2_" .. name, "struct", 2, 2, dtype)
  add("__nv_fp8x4_" .. name, "struct", 4, 4, dtype)
end
add("__nv_fp4x2_e2m1", "struct", 1, 1, "float4_e2m1fn_x2")

-- Vectors: name, bytes of a component, its dtype, and the most that four of them are aligned to.
for _, row in ipairs {
  { "char", 1, "int8" }, { "uchar", 1 }, { "short", 2, "int16" }, { "ushort", 2, "uint16" }, { "int", 4, "int32" },
  { "uint", 4, "uint32" }, { "long", 8, "int64" }, { "ulong", 8, "uint64" }, { "longlong", 8, "int64" },
  { "ulonglong", 8, "uint64" }, { "float", 4, "float32" }, { "double", 8, "float64" },
} do
  local name, size, dtype = row[1], row[2], row[3]
  for lanes = 1, 4 do
    local align = lanes == 3 and size or math.min(size * lanes, 16)
    add(name .. lanes, "struct", size * lanes, align, dtype)
  end
  if size == 8 then
    add(name .. "4_16a", "struct", 32, 16, dtype)
    add(name .. "4_32a", "struct", 32, 32, dtype)
  end
end
types.float2.also, types.double2.also = "complex64", "complex128"
types.cuFloatComplex, types.cuComplex, types.cuDoubleComplex = types.float2, types.float2, types.double2

for _, scalar in ipairs { "float", "double" } do
  local size = types[scalar].size * 2
  add(("complex<%s>"):format(scalar), "struct", size, size, scalar == "float" and "complex64" or "complex128")
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
