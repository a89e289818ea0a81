--- The element types: names, numbers, sizes, and how LuaJIT sees one element.

local ffi = require "ffi"
local lib = require "xchg.lib"
local check = require "xchg.check"
local error_ = require "xchg.error"

---@alias xchg.dtype
---| "bool" | "int8" | "int16" | "int32" | "int64" | "uint8" | "uint16" | "uint32" | "uint64"
---| "float16" | "bfloat16" | "float32" | "float64" | "complex64" | "complex128"
---| string # those that import and move, but are not read: "complex32", "float8_e4m3fn", ...

local M = {}

-- How one stored element is declared. Half precision and bool are read as their bytes; what is missing
-- here is not read at all.
local elements = {
  bool = "uint8_t", int8 = "int8_t", int16 = "int16_t", int32 = "int32_t", int64 = "int64_t",
  uint8 = "uint8_t", uint16 = "uint16_t", uint32 = "uint32_t", uint64 = "uint64_t",
  float16 = "uint16_t", bfloat16 = "uint16_t", float32 = "float", float64 = "double",
  complex64 = "complex float", complex128 = "complex",
}

--- Descriptions by number and by name: {id, name, bits, itemsize (bytes, a fraction where packed), align,
--- element (C type), readable}.
local by_id, by_name, names = {}, {}, {}

for id = 1, lib.C.XCHG_DTYPE_COUNT - 1 do
  local info = lib.C.xchg_dtype_info(id)
  local name = ffi.string(info.name)
  local row = {
    id = id, name = name, bits = info.bits, itemsize = info.bits / 8, align = info.align,
    readable = elements[name] ~= nil, element = elements[name] or "uint8_t",
  }
  by_id[id], by_name[name], names[id] = row, row, name
end

M.by_id = by_id
M.names = names

--- The description of a named dtype; raises for anything else.
---@param where string
---@param name xchg.dtype
function M.get(where, name)
  local row = by_name[name]
  if not row then
    if type(name) ~= "string" then
      error_.raise("wrong_type", "%s: a dtype is a string such as 'float32', got %s", where, check.describe(name))
    end
    error_.raise("unsupported_dtype", "%s: unknown dtype '%s'%s", where, name, check.suggest(name, { unpack(names) }))
  end
  return row
end

return M
