--- What a kernel takes, from everything that tells: its PTX, its mangled name, the source's prototype, a declaration,
--- the runtime. They are checked against each other; the PTX is what is launched, so nothing is believed against it.
--
-- A signature is a list of parameters in their order; tostring gives "saxpy(float *y, const float *x, float a, int n)",
-- or "saxpy(u64, u64, f32, u32)" where only the PTX tells.

local ffi = require "ffi"
local lib = require "xchg.lib"
local error_ = require "xchg.error"
local mangled = require "xchg.cuda.mangled"
local prototype = require "xchg.cuda.prototype"

local M = {}

local C, err = lib.C, error_.scratch
local WHERE = "kernel"

---@class xchg.cuda.SignatureParameter
---@field position integer
---@field name string?
---@field text string      the type as shown: "const float *", "u64", "24 bytes"
---@field class "pointer"|"word"|"integer"|"bool"|"float"|"half"|"bfloat16"|"struct"|"bits"
---@field size integer     bytes
---@field align integer?   nil where only the size is known
---@field offset integer   in the kernel's block of arguments
---@field signed boolean?  of an integer; nil: not known
---@field dtype xchg.dtype?  of a pointer: what its tensors must be; nil takes any
---@field also xchg.dtype? a second dtype that fits
---@field const boolean?   of a pointer: whether what it points to is const; nil: not known
---@field alignment integer?  of a pointer: what an address must be a multiple of
---@field unknown_source boolean?  only the PTX or the runtime tells: a declaration would tell more

---@class xchg.cuda.Signature
---@field name string      as C++ has it: "scale<float, 4>"
---@field bytes integer    of all arguments
---@field source "declared"|"mangled"|"source"|"ptx"|"runtime"  what tells the types
---@field entry table?     directives of the PTX: max_threads, required_threads, required_cluster ({x, y, z}),
---                        max_cluster, explicit_cluster, min_blocks, max_registers; each nil where it is not given
---@field [integer] xchg.cuda.SignatureParameter
local metatable = { __name = "xchg.cuda.Signature" }
metatable.__index = metatable

function metatable.__tostring(signature)
  local out = {}
  for i, p in ipairs(signature) do
    out[i] = p.name and p.text .. (p.text:find("%*$") and "" or " ") .. p.name or p.text
  end
  return ("%s(%s)"):format(signature.name, table.concat(out, ", "))
end

local INTEGER, FLOAT, WORD = C.XCHG_CUDA_PARAMETER_INTEGER, C.XCHG_CUDA_PARAMETER_FLOAT, C.XCHG_CUDA_PARAMETER_WORD
local POINTER, BYTES = C.XCHG_CUDA_PARAMETER_POINTER, C.XCHG_CUDA_PARAMETER_BYTES
local BITS = C.XCHG_CUDA_PARAMETER_BITS

local TOO_OLD
for code = -64, -1 do
  local name = C.xchg_error_name(code)
  if name ~= nil and ffi.string(name) == "unsupported_version" then TOO_OLD = code end
end

-- ---- what is launched ---------------------------------------------------------------------------------

local FEW = 64

-- The layouts that a C function writes: its list, however long.
local function read_all(fill)
  local rows = ffi.new("xchg_cuda_parameter[?]", FEW)
  local count = fill(rows, FEW)
  if count > FEW then
    rows = ffi.new("xchg_cuda_parameter[?]", count)
    count = fill(rows, count)
  end
  return rows, count
end

local function extents(numbers)
  return numbers[0] ~= 0 and { numbers[0], numbers[1], numbers[2] } or nil
end

local function positive(number) return number ~= 0 and number or nil end

local function read_entry(entry)
  return {
    max_threads = extents(entry.max_threads), required_threads = extents(entry.required_threads),
    required_cluster = extents(entry.required_cluster), max_cluster = positive(entry.max_cluster),
    explicit_cluster = entry.explicit_cluster ~= 0, min_blocks = positive(entry.min_blocks),
    max_registers = positive(entry.max_registers),
  }
end

-- { count=, [i] = {kind=, size=, align=, offset=, ...} } of the PTX, with its entry.
local function of_ptx(ptx, name)
  local entry = ffi.new("xchg_cuda_entry")
  local rows, count = read_all(function(out, room)
    return error_.check(WHERE, C.xchg_cuda_signature_parse(entry, out, room, ptx, #ptx, name, err))
  end)
  local out = { entry = read_entry(entry), bytes = entry.bytes, source = "ptx" }
  for i = 1, count do
    local row = rows[i - 1]
    local written = row.name_length > 0 and ptx:sub(row.name_at + 1, row.name_at + row.name_length) or nil
    -- Compilers number the parameters behind the kernel's name.
    if written and written:find("_param_%d+$") then written = nil end
    out[i] = {
      kind = row.kind, size = row.size, align = row.align, offset = row.offset, signed = row.is_signed ~= 0 or nil,
      alignment = row.pointee_align > 0 and row.pointee_align or nil, name = written,
    }
  end
  return out
end

-- The same of a loaded kernel; nil where the driver cannot tell.
local function of_kernel(library, kernel)
  local count = C.xchg_cuda_signature_of_kernel(nil, 0, library, kernel, err)
  if count == TOO_OLD then
    err.code = 0
    return nil
  end
  error_.check(WHERE, count)
  local rows
  rows, count = read_all(function(out, room)
    return error_.check(WHERE, C.xchg_cuda_signature_of_kernel(out, room, library, kernel, err))
  end)
  local out = { bytes = 0, source = "runtime" }
  for i = 1, count do
    local row = rows[i - 1]
    out[i] = { kind = row.kind, size = row.size, offset = row.offset }
    out.bytes = math.max(out.bytes, row.offset + row.size)
  end
  return out
end

-- The layout that types make by themselves: each at the next offset that is a multiple of its alignment.
local function of_types(proto)
  local out = { bytes = 0, source = "types" }
  for i, one in ipairs(proto) do
    local t = one.type
    if not t.size then return nil, i end
    local offset = math.ceil(out.bytes / t.align) * t.align
    out[i] = { kind = BITS, size = t.size, align = t.align, offset = offset }
    out.bytes = offset + t.size
  end
  return out
end

-- ---- one against the other ----------------------------------------------------------------------------

local letters = { [INTEGER] = "u", [FLOAT] = "f", [WORD] = "u" }

local function written(row)
  if row.kind == POINTER then return "pointer" end
  local letter = letters[row.kind]
  if letter then return (row.signed and "s" or letter) .. row.size * 8 end
  return row.size == 1 and "1 byte" or row.size .. " bytes"
end

local fits = {
  [INTEGER] = { integer = true, bool = true },
  [FLOAT] = { float = true, half = true, bfloat16 = true },
  [WORD] = { integer = true, pointer = true },
  [POINTER] = { pointer = true },
  [BYTES] = { struct = true, half = true, bfloat16 = true },
}

-- Why a type cannot be what the layout says, or nil.
local function contradiction(type_, row)
  if not type_.class then return nil end
  if type_.size and type_.size ~= row.size then
    return ("has %d bytes, not %d"):format(row.size, type_.size)
  elseif row.kind ~= BITS and not fits[row.kind][type_.class] then
    return ("is %s there"):format(written(row))
  elseif row.align and row.kind ~= BITS and type_.align and type_.align ~= row.align then
    return ("is aligned to %d bytes, not %d"):format(row.align, type_.align)
  elseif type_.align and row.offset % type_.align ~= 0 then
    return ("lies at %d, which is not aligned to %d bytes"):format(row.offset, type_.align)
  end
end

-- The first parameter of a prototype that contradicts the layout, and why; nil where all fit.
local function compare(proto, layout)
  if #proto ~= #layout then return 0, ("takes %d parameters, not %d"):format(#layout, #proto) end
  for i, one in ipairs(proto) do
    local why = contradiction(one.type, layout[i])
    if why then return i, why end
  end
end

-- Two prototypes that fit one layout may still disagree about what a pointer points to.
local function disagreement(declared, other)
  for i, one in ipairs(declared) do
    local a, b = one.type, other[i].type
    if a.class == "pointer" and b.class == "pointer" and a.dtype and b.dtype and a.dtype ~= b.dtype
      and a.dtype ~= b.also and a.also ~= b.dtype then
      return i, a, b
    end
  end
end

local function alike(one, other)
  for i, p in ipairs(one) do
    local a, b = p.type, other[i].type
    if a.text ~= b.text or a.class ~= b.class or a.dtype ~= b.dtype or a.const ~= b.const then return false end
  end
  return true
end

-- The one prototype of a source that fits the layout: all that do must be the same, and none may depend on a condition.
local function choose(candidates, layout)
  local chosen
  for _, candidate in ipairs(candidates or {}) do
    if not compare(candidate, layout) then
      if candidate.conditional or chosen and not alike(chosen, candidate) then return nil end
      chosen = candidate
    end
  end
  return chosen
end

-- Names of parameters, where all prototypes of that length agree.
local function names_of(candidates, count)
  local out
  for _, candidate in ipairs(candidates or {}) do
    if #candidate == count then
      for i, one in ipairs(candidate) do
        if out and out[i] ~= one.name then return {} end
      end
      if not out then
        out = {}
        for i, one in ipairs(candidate) do out[i] = one.name end
      end
    end
  end
  return out or {}
end

-- ---- together -----------------------------------------------------------------------------------------

local classes = { [INTEGER] = "integer", [FLOAT] = "float", [WORD] = "word", [POINTER] = "pointer", [BYTES] = "struct" }

local function parameter(i, row, type_, name)
  local known = type_ and type_.class
  local class = known or classes[row.kind] or "bits"
  if class == "float" and row.size == 2 then class = "half" end
  local alignment
  if class == "pointer" then alignment = math.max(type_ and type_.alignment or 1, row.alignment or 1) end
  local signed = row.signed
  if known then signed = type_.signed end
  return {
    position = i, name = name or row.name, text = type_ and type_.text or written(row), class = class,
    size = row.size, align = row.align or type_ and type_.align, offset = row.offset, signed = signed,
    dtype = known and (class == "pointer" or class == "struct") and type_.dtype or nil,
    also = known and class == "pointer" and type_.also or nil, alignment = alignment,
    const = known and type_.const, unknown_source = not known or nil,
  }
end

local function shown(proto, i)
  local one = proto[i]
  return one.name and ("'%s' (%s)"):format(one.name, one.type.text) or ("(%s)"):format(one.type.text)
end

-- Raises where a declaration contradicts the layout.
local function check_declared(name, text, declared, layout)
  local at, why = compare(declared, layout)
  if not at then return end
  local rows = {}
  for i, row in ipairs(layout) do rows[i] = written(row) end
  local truth = ("%s takes (%s)"):format(layout.source == "ptx" and "the PTX" or "the loaded kernel",
    table.concat(rows, ", "))
  if at == 0 then
    error_.raise("bad_argument", "%s: '%s' %s as the signature %q says; %s", WHERE, name, why, text, truth)
  end
  error_.raise("bad_argument", "%s: parameter %d %s of '%s' %s, as the signature %q says; %s", WHERE, at,
    shown(declared, at), name, why, text, truth)
end

-- Raises where it contradicts the mangled name.
local function check_told(name, text, declared, told)
  if not told or #told ~= #declared then return end
  local at, a, b = disagreement(declared, told)
  if at then
    error_.raise("bad_argument", "%s: parameter %d %s of '%s' is %s to the compiler, as its mangled name says, and %s "
      .. "in the signature %q", WHERE, at, shown(declared, at), name, b.text, a.text, text)
  end
end

-- The plain name that a kernel has in its source.
local function plain(name) return (name:gsub("<.*$", ""):match("([%w_$]+)$")) end

---@class xchg.cuda.SignatureFacts
---@field name string       of the entry: mangled where C++ mangles
---@field expression string?  the name that the user gave: "scale<float>"
---@field ptx string?
---@field source string?    CUDA C++ that the PTX was compiled from
---@field defines table?    of that compilation
---@field declared string?  "(float *y, const float *x, float a, int n)"
---@field kernel ffi.cdata*?  handle of the loaded kernel, where there is no PTX,
---@field library ffi.cdata*? and the xchg_cuda_library that it is of

--- Makes the signature of a kernel. Raises where a declaration contradicts the rest, and where nothing tells.
---@param facts xchg.cuda.SignatureFacts
---@return xchg.cuda.Signature
function M.of(facts)
  local told = mangled.read(facts.name)
  local name = facts.expression or told and told.name or facts.name
  local declared = facts.declared and prototype.declared(WHERE, facts.declared)
  local layout = facts.ptx and of_ptx(facts.ptx, facts.name) or facts.kernel and of_kernel(facts.library, facts.kernel)
  local wrong
  if not layout then layout, wrong = of_types(declared or told or { { type = {} } }) end
  if not layout then
    if declared then
      error_.raise("bad_argument", "%s: parameter %d %s of '%s': the size of that type is not known, and nothing "
        .. "else tells it; load PTX, or use CUDA 12.4 or later", WHERE, wrong, shown(declared, wrong), name)
    end
    error_.raise("bad_argument", "%s: nothing tells what '%s' takes: there is no PTX, and CUDA before 12.4 does not "
      .. "know it of a loaded kernel; declare its signature, such as \"(float *y, const float *x, float a, int n)\"",
      WHERE, name)
  end

  local in_source = plain(told and told.name or facts.name)
  local candidates = facts.source and prototype.of_source(facts.source, facts.defines)[in_source]
  local proto, source, names = nil, layout.source, {}
  if declared then
    check_declared(name, facts.declared, declared, layout)
    check_told(name, facts.declared, declared, told)
    proto, source = declared, "declared"
  elseif told and not compare(told, layout) then
    proto, source = told, "mangled"
    names = names_of(candidates, #told)
  elseif not told then
    proto = choose(candidates, layout)
    if proto then source = "source" else names = names_of(candidates, #layout) end
  end

  local out = { name = name, bytes = layout.bytes, source = source, entry = layout.entry }
  for i, row in ipairs(layout) do
    local one = proto and proto[i]
    out[i] = parameter(i, row, one and one.type, one and one.name or names[i])
  end
  return setmetatable(out, metatable)
end

--- The names of the kernels of a PTX text, in its order.
---@param ptx string
---@return string[]
function M.entries(ptx)
  local spans, room = ffi.new("xchg_cuda_span[?]", FEW), FEW
  local count = error_.check(WHERE, C.xchg_cuda_signature_entries(spans, room, ptx, #ptx, err))
  if count > room then
    spans = ffi.new("xchg_cuda_span[?]", count)
    error_.check(WHERE, C.xchg_cuda_signature_entries(spans, count, ptx, #ptx, err))
  end
  local out = {}
  for i = 1, count do out[i] = ptx:sub(spans[i - 1].at + 1, spans[i - 1].at + spans[i - 1].length) end
  return out
end

return M
