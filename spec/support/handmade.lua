--- Tensors over memory of the spec's own, through capsules made by hand: for dtypes, devices, flags and bytes
--- that no array library hands out.

local ffi = require "ffi"
local xchg = require "xchg"
local py = xchg.python

local M = {}

ffi.cdef "void *calloc(size_t, size_t); void free(void *);"

local managed_t = ffi.typeof [[struct {
  uint32_t major, minor;
  void *manager_ctx;
  void *deleter;
  uint64_t flags;
  void *data;
  int32_t device_type, device_id, ndim;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t *shape, *strides;
  uint64_t byte_offset;
  int64_t dims[];
} *]]

local new_capsule
local function capsule(managed)
  if not new_capsule then
    new_capsule = py.exec([[
      import ctypes
      new = ctypes.pythonapi.PyCapsule_New
      new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
      name = b"dltensor_versioned"
      def capsule(address): return new(address, name, None)
    ]], {}):get("capsule")
  end
  return new_capsule(ffi.cast("uint64_t", ffi.cast("uintptr_t", ffi.cast("void *", managed))))
end

local kept = {} -- the elements' memory, as long as this module is loaded

---@class handmade.Fields
---@field data ffi.cdata* memory of any kind
---@field shape integer[]
---@field strides? integer[] in elements; default compact in row-major order
---@field dtype? string default "float64"
---@field device_type? integer default 1, the host
---@field device_id? integer
---@field flags? integer 1: read-only

--- An xchg tensor.
---@param fields handmade.Fields
function M.tensor(fields)
  local row
  for _, candidate in ipairs(require("xchg.dtype").by_id) do
    if candidate.name == (fields.dtype or "float64") then row = candidate end
  end
  local info = require("xchg.lib").C.xchg_dtype_info(row.id)
  local n = #fields.shape
  -- One block, whose deleter is `free`: a release may come after everything of Lua's has gone.
  local managed = ffi.cast(managed_t, ffi.C.calloc(1, ffi.sizeof("int64_t") * (2 * n + 16)))
  local dims = managed.dims
  local compact = 1
  for d = n, 1, -1 do
    dims[d - 1] = fields.shape[d]
    dims[n + d - 1] = fields.strides and fields.strides[d] or compact
    compact = compact * fields.shape[d]
  end
  managed.major, managed.minor = 1, 0
  managed.deleter = ffi.cast("void *", ffi.C.free)
  managed.data, managed.flags = ffi.cast("void *", fields.data), fields.flags or 0
  managed.device_type, managed.device_id = fields.device_type or 1, fields.device_id or 0
  managed.ndim, managed.shape, managed.strides = n, dims, dims + n
  managed.code, managed.bits, managed.lanes = info.code, info.bits / info.lanes, info.lanes
  kept[#kept + 1] = fields.data
  return xchg.from_dlpack(capsule(managed))
end

return M
