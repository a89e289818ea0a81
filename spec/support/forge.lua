--- Managed tensors of DLPack whose fields are what a seed makes of them, mostly near what is allowed; capsules of them;
--- and an oracle, after DLPack's specification and docs/protocols.md, of which are arrays and what they are.

local bit = require "bit"
local ffi = require "ffi"
local capsules = require "spec.support.capsules"

local M = {}


ffi.cdef [[
typedef struct {
  void *data;
  int32_t device_type, device_id, ndim;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t *shape, *strides;
  uint64_t byte_offset;
} forge_tensor;
typedef struct { forge_tensor tensor; void *manager_ctx, *deleter; } forge_legacy;
typedef struct {
  uint32_t major, minor;
  void *manager_ctx, *deleter;
  uint64_t flags;
  forge_tensor tensor;
} forge_versioned;
typedef struct {
  union { forge_legacy legacy; forge_versioned versioned; };
  int32_t deleted, destroyed;
  int64_t shape[66], strides[66];
} forge_record;
typedef struct { int32_t result; void *error; void *given; int32_t calls; } forge_behaviour;

void forge_delete(void *self);
void forge_destroy(void *capsule);
void forge_destroy_sloppily(void *capsule);
forge_behaviour forge_owning, forge_borrowing, forge_stream;
void *forge_table(uint32_t major, uint32_t minor, int functions, void *older);

void *PyCapsule_New(void *pointer, const char *name, void *destructor);
const char *PyCapsule_GetName(void *capsule);
void *PyCapsule_GetPointer(void *capsule, const char *name);
void *PyCapsule_GetDestructor(void *capsule);
int PyList_SetItem(void *list, intptr_t index, void *item);
void Py_IncRef(void *object);
void *PyErr_Occurred(void);
]]

M.MEMORY = 65536
local holder = ffi.new("uint8_t[?]", M.MEMORY + 64)
local address = bit.band(ffi.cast("uintptr_t", holder) + 63, bit.bnot(63ULL))
--- The elements' memory, aligned to 64 bytes.
M.memory = ffi.cast("uint8_t *", address)
for i = 0, M.MEMORY - 1 do M.memory[i] = (i * 7 + bit.rshift(i, 8)) % 251 end

-- ---- dice ---------------------------------------------------------------------------------------------

-- A generator of our own: math.random's is everybody's.
local state = 1
function M.seed(n)
  state = n % 2147483646 + 1
end
local function random(n) -- 0 to n - 1
  state = state * 16807 % 2147483647
  return state % n
end
M.random = random
local function pick(list) return list[random(#list) + 1] end
M.pick = pick
local function chance(percent) return random(100) < percent end

local EXTREMES = { 2^31 - 1, 2^31, 2^32, 2^33 + 1, 2^53, -1, -2, -3, -8, -2^31, -2^53 }
local WIDE = { 0x7fffffffffffffffLL, 0x7ffffffffffffffeLL, 0x4000000000000000LL, 0x3fffffffffffffffLL,
  -0x7fffffffffffffffLL - 1, -0x7fffffffffffffffLL, 0x1000000000000000LL, 0x0fffffffffffffffLL, 0x2000000000000000LL }

local function number(usual)
  local kind = random(100)
  if kind < 93 then return usual() end
  if kind < 96 then return pick(EXTREMES) end
  return pick(WIDE)
end
local function small() return random(100) < 8 and 0 or random(100) < 30 and 1 or random(5) + 1 end
local function step() return pick { 0, 1, 1, 1, 2, 3, -1, -2, 4, 8, 24 } end

-- ---- dtypes and devices, after the header of DLPack -----------------------------------------------------

-- code, bits, lanes: name, bits of an element, alignment of one
local DTYPES = {}
local function dtype(code, bits, lanes, name, align)
  DTYPES[code * 2^24 + bits * 2^16 + lanes] = { name = name, bits = bits * lanes, align = align or bits * lanes / 8 }
end
for _, bits in ipairs { 8, 16, 32, 64 } do
  dtype(0, bits, 1, "int" .. bits)
  dtype(1, bits, 1, "uint" .. bits)
end
dtype(6, 8, 1, "bool")
for _, bits in ipairs { 16, 32, 64 } do dtype(2, bits, 1, "float" .. bits) end
dtype(4, 16, 1, "bfloat16")
for _, bits in ipairs { 32, 64, 128 } do dtype(5, bits, 1, "complex" .. bits, bits / 16) end
for i, name in ipairs { "e3m4", "e4m3", "e4m3b11fnuz", "e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz", "e8m0fnu" } do
  dtype(6 + i, 8, 1, "float8_" .. name)
end
dtype(15, 6, 1, "float6_e2m3fn", 1)
dtype(16, 6, 1, "float6_e3m2fn", 1)
dtype(17, 4, 1, "float4_e2m1fn", 1)
dtype(17, 4, 2, "float4_e2m1fn_x2", 1)

local CODES = {}
for key in pairs(DTYPES) do CODES[#CODES + 1] = key end
table.sort(CODES)

local DEVICES = { "cpu", "cuda", "cuda_host", "opencl", nil, nil, "vulkan", "metal", "vpi", "rocm", "rocm_host",
  "ext_dev", "cuda_managed", "oneapi", "webgpu", "hexagon", "maia", "trn" }
local HOST = { [1] = true, [3] = true, [11] = true, [13] = true }
--- Those whose memory CUDA is asked about.
M.CUDA = { [2] = true, [3] = true, [13] = true }
-- `data` is a handle there, of an object of that interface.
local HANDLE = { [4] = true, [7] = true, [8] = true, [15] = true }
M.HOST = HOST

-- ---- making -------------------------------------------------------------------------------------------

local NAMES = {}
local function name(text)
  local static = ffi.new("char[?]", #text + 1, text)
  NAMES[#NAMES + 1] = static
  return static
end
local LEGACY, VERSIONED = name "dltensor", name "dltensor_versioned"
local OTHERS = { name "used_dltensor", name "used_dltensor_versioned", name "", name "dltensor_", name "Dltensor",
  name "dltensor_versione", name "dltensor_versioned2", name "dlpack_exchange_api", name "\255\254%s%n",
  name(("x"):rep(300)), false }

local double
local function library()
  if not double then double = ffi.load(capsules.built "forge_double.so") end
  return double
end
M.library = library

--- Fills a record anew. `kind`: "legacy" or "versioned". Most are right; some have one thing wrong, a few several.
---@return ffi.cdata* tensor inside it
function M.fill(record, kind)
  ffi.fill(record, ffi.sizeof "forge_record")
  local versioned = kind == "versioned"
  local managed = versioned and record.versioned or record.legacy
  local wild = pick { 0, 0, 2, 6, 20, 40 } -- percent of fields that are anything
  if versioned then
    managed.major = chance(wild) and pick { 0, 2, 3, 0xffffffff } or 1
    managed.minor = chance(wild) and pick { 4, 99, 0xffffffff } or random(4)
    managed.flags = chance(wild) and pick { 4, 5, 8, 2ULL^63, 0xffffffffffffffffULL } or random(4)
  end
  managed.deleter = not chance(5) and ffi.cast("void *", library().forge_delete) or nil
  managed.manager_ctx = not chance(5) and ffi.cast("void *", 1 + random(99)) or nil
  local tensor = managed.tensor
  local code = pick(CODES)
  tensor.code, tensor.bits, tensor.lanes = bit.rshift(code, 24), bit.band(bit.rshift(code, 16), 255), code % 65536
  if chance(60) then tensor.code, tensor.bits, tensor.lanes = 2, 64, 1 end
  if chance(wild) then tensor.code = random(256) end
  if chance(wild) then tensor.bits = random(256) end
  if chance(wild) then tensor.lanes = pick { 0, 2, 3, 4, 256, 65535 } end
  local align = DTYPES[tensor.code * 2^24 + tensor.bits * 2^16 + tensor.lanes]
  align = align and align.align or 1
  tensor.device_type = chance(85) and 1 or random(19)
  tensor.device_id = chance(90) and 0 or pick { 1, 7, -1, 2^31 - 1, -2^31 }
  if chance(wild) then tensor.device_type = pick { 0, -1, 5, 6, 19, 200, 255, 256, 2^31 - 1, -2^31 } end
  local ndim = chance(90) and random(5) or random(65)
  for d = 0, 65 do record.shape[d], record.strides[d] = 1, 1 end
  local compact = chance(50)
  local extent = ndim > 5 and function() return chance(80) and 1 or random(3) end or small
  for d = 0, ndim - 1 do
    record.shape[d] = chance(wild) and number(extent) or extent()
    record.strides[d] = chance(wild) and number(step) or step()
  end
  if compact then
    local stride = 1LL
    for d = ndim - 1, 0, -1 do
      record.strides[d] = stride
      stride = stride * record.shape[d]
    end
  end
  tensor.ndim = ndim
  tensor.shape = ndim > 0 and record.shape or chance(50) and record.shape or nil
  tensor.strides = not chance(15) and record.strides or nil
  if chance(wild) then tensor.ndim = pick { -1, 65, 66, 1000, 2^31 - 1, -2^31 } end
  if chance(wild) then tensor.shape = nil end
  tensor.data = M.memory + M.MEMORY / 2 + align * random(16)
  tensor.byte_offset = chance(70) and 0 or align * random(64)
  if chance(wild) then
    tensor.data = ffi.cast("void *", pick { 0ULL, 1ULL, 7ULL, 0x7fffffffffffULL, 0xfffffffffffffff8ULL,
      0xffffffffffffffffULL, address + 3, address + M.MEMORY })
  end
  if chance(wild) then
    tensor.byte_offset = pick { 1, 3, M.MEMORY, 0x7fffffffffffffffULL, 0xffffffffffffffffULL, 0xfffffffffffffff0ULL }
  end
  return tensor
end

local DESTRUCTORS = { "forge_destroy", "forge_destroy", "forge_destroy_sloppily", false }

--- A capsule of a record, in `list` (a Python list, by its address) at `place`: a borrowed pointer, its name, and its
--- destructor's name.
function M.capsule(record, kind, list, place)
  local right = kind == "versioned" and VERSIONED or LEGACY
  local given = not chance(6) and right or pick(OTHERS)
  local destructor = pick(DESTRUCTORS)
  if given ~= right then destructor = pick { "forge_destroy", false } end -- a sloppy one would delete it
  local capsule = ffi.C.PyCapsule_New(record, given or nil,
    destructor and ffi.cast("void *", library()[destructor]) or nil)
  assert(capsule ~= nil)
  ffi.C.PyList_SetItem(list, place, capsule)
  return capsule, given or nil, destructor
end

-- ---- the oracle -----------------------------------------------------------------------------------------

-- Products and sums of 64-bit numbers as doubles tell what surely fits and what surely does not.
local FITS, BEYOND = 2^62, 2^66

--- What a tensor is in a capsule of that name, or without one: `codes`, of the errors that it may be refused with;
--- `refused`, whether it must be (where arithmetic at the limits decides it may be either); `wild` where its elements are
--- not in M.memory; and its dtype, device, number of elements and dimensions.
function M.judge(record, kind, capsule_name)
  local versioned = kind == "versioned"
  local managed = versioned and record.versioned or record.legacy
  local tensor = managed.tensor
  local out = { codes = {}, refused = false, wild = true }
  local function refuse(code) out.codes[code], out.refused = true, true end
  if capsule_name ~= nil and capsule_name ~= (versioned and VERSIONED or LEGACY) then
    refuse "bad_capsule" -- and nothing can be known of what is in it
    return out
  elseif versioned and managed.major ~= 1 then
    refuse "unsupported_version"
    return out
  end
  local flags = versioned and managed.flags or 0ULL
  out.readonly, out.copied = bit.band(flags, 1ULL) ~= 0, bit.band(flags, 2ULL) ~= 0
  local where = tensor.device_type
  local handle = HANDLE[where]
  if where < 1 or where > 255 or where == 5 or where == 6 then
    refuse "unsupported_device"
  else -- the host is one device
    out.device = HOST[where] and where ~= 13 and DEVICES[where]
      or ("%s:%d"):format(DEVICES[where] or "device" .. where, tensor.device_id)
  end
  local row = DTYPES[tensor.code * 2^24 + tensor.bits * 2^16 + tensor.lanes]
  local packed = row and row.bits % 8 ~= 0
  out.dtype = row and row.name
  out.readable = row and not (row.name:find "^float[468]" and row.bits <= 8) and row.name ~= "complex32"
  if not row then refuse "unsupported_dtype" end
  if tensor.bits % 8 ~= 0 and bit.band(flags, 4ULL) ~= 0 then refuse "unsupported_layout" end
  local base, offset = ffi.cast("uintptr_t", tensor.data), tensor.byte_offset
  if handle and offset ~= 0 or not handle and base + offset < base then refuse "bad_descriptor" end
  local ndim = tensor.ndim
  if ndim < 0 or ndim > 64 or ndim > 0 and tensor.shape == nil then
    refuse "bad_descriptor"
    return out
  end
  local count, empty, largest = 1, false, 1
  for d = 0, ndim - 1 do
    local extent = record.shape[d]
    if extent < 0 then
      refuse "bad_descriptor"
      return out
    end
    empty = empty or extent == 0
    count = count * tonumber(extent)
    largest = largest * math.max(1, tonumber(extent))
  end
  local bits = row and row.bits or 128
  if largest * bits > FITS then
    out.codes.bad_descriptor = true
    if not empty and count * bits > BEYOND then out.refused = true end
  end
  out.numel = count
  if empty then return out end
  if base == 0 then refuse "refused" end
  local contiguous, compact, low, high = true, 1LL, 0, 0
  for d = ndim - 1, 0, -1 do
    local extent = record.shape[d]
    local stride = tensor.strides ~= nil and record.strides[d] or compact
    if extent > 1 and stride ~= compact then contiguous = false end
    compact = compact * extent
    local reach = tonumber(extent - 1) * tonumber(stride)
    if reach < 0 then low = low + reach else high = high + reach end
  end
  if packed and not contiguous then refuse "unsupported_layout" end
  local first = tonumber(base + offset)
  low, high = low * bits / 8, (high + 1) * bits / 8
  if high - low > BEYOND / 8 or first + low < -4096 or first + high > 2^64 + 4096 then
    refuse "bad_descriptor"
  elseif high - low > FITS / 8 or first + low < 4096 or first + high > 2^64 - 4096 then
    out.codes.bad_descriptor = true
  end
  if row and not handle and (base + offset) % row.align ~= 0 then refuse "unsupported_layout" end
  out.wild = first + low < tonumber(address) or first + high > tonumber(address + M.MEMORY)
  return out
end

-- ---- comparing -----------------------------------------------------------------------------------------

--- A capsule's name, for messages.
function M.text(static) return static ~= nil and ffi.string(static):sub(1, 40) or "(NULL)" end

--- What a record holds.
function M.describe(record, kind)
  local managed = kind == "versioned" and record.versioned or record.legacy
  local t = managed.tensor
  local shape, strides = {}, {}
  for d = 0, math.max(0, math.min(64, t.ndim)) - 1 do
    shape[#shape + 1], strides[#strides + 1] = tostring(record.shape[d]), tostring(record.strides[d])
  end
  return ("%s %s flags %s device (%d, %d) dtype (%d, %d, %d) ndim %d shape %s strides %s data %s + %s"):format(kind,
    kind == "versioned" and managed.major .. "." .. managed.minor or "",
    kind == "versioned" and tostring(managed.flags) or "0", t.device_type, t.device_id, t.code, t.bits, t.lanes, t.ndim,
    t.shape == nil and "NULL" or table.concat(shape, ","), t.strides == nil and "NULL" or table.concat(strides, ","),
    tostring(t.data), tostring(t.byte_offset))
end

--- Compares a tensor with the record that it is of, whose arrays are spoiled first: wrong(what) is called where they
--- differ.
function M.check(wrong, t, record, kind, oracle)
  local managed = kind == "versioned" and record.versioned or record.legacy
  local tensor = managed.tensor
  local ndim, first = tensor.ndim, ffi.cast("uint8_t *", tensor.data) + tensor.byte_offset
  local shape, strides, compact = {}, {}, 1LL
  for d = ndim - 1, 0, -1 do
    shape[d] = record.shape[d]
    strides[d] = tensor.strides ~= nil and record.strides[d] or compact
    compact = compact * record.shape[d]
  end
  for d = 0, 65 do record.shape[d], record.strides[d] = -5, 2LL^62 end
  if t.dtype ~= oracle.dtype then wrong("the dtype is " .. t.dtype) end
  if t.device ~= oracle.device then wrong("the device is " .. t.device) end
  if t._numel ~= compact then wrong("it has " .. tostring(t._numel) .. " elements") end -- exactly
  if t.readonly ~= oracle.readonly then wrong("readonly is " .. tostring(t.readonly)) end
  if t._ndim ~= ndim then wrong("it has " .. t._ndim .. " dimensions") end
  if t._ptr ~= first then wrong("its address is " .. tostring(t._ptr)) end
  for d = 0, ndim - 1 do
    if ffi.cast("int64_t", t._shape[d]) ~= shape[d] then wrong("an extent is " .. tostring(t._shape[d])) end
    if oracle.numel ~= 0 and shape[d] > 1 and t._strides[d] ~= strides[d] then
      wrong("a stride is " .. tostring(t._strides[d]))
    end
  end
  if oracle.wild or t._rank < 0 or oracle.numel == 0 then return end
  if oracle.dtype ~= "uint8" and oracle.dtype ~= "int32" then return end
  local first_place, last_place, offset = {}, {}, 0
  for d = 0, ndim - 1 do
    first_place[d + 1], last_place[d + 1] = 1, tonumber(shape[d])
    offset = offset + tonumber((shape[d] - 1) * strides[d])
  end
  local elements = ffi.cast(oracle.dtype == "uint8" and "uint8_t *" or "int32_t *", first)
  if t:at(unpack(first_place)) ~= elements[0] then wrong "its first element is another" end
  if t:at(unpack(last_place)) ~= elements[offset] then wrong "its last element is another" end
end

--- CUDA decides of memory that says it is its own, where there is CUDA.
function M.ask_cuda(oracle)
  for _, code in ipairs { "no_cuda", "cuda", "unsupported_device", "bad_descriptor" } do oracle.codes[code] = true end
end

return M
