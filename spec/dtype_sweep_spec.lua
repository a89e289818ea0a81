-- Every type code, kind and letter that a producer can name its elements by, on every way in: the dtype of the standard's
-- tables, or an error that says so; nothing else, and nothing is left behind.

local ffi = require "ffi"
local xchg = require "xchg"
local capsules = require "spec.support.capsules"
local producers = require "spec.support.producers"

local py, kw = xchg.python, xchg.python.kwargs
local c, d, exporter

setup(function()
  c = capsules.module()
  exporter, d = producers.module "exporter", producers.module "doors"
end)

teardown(function()
  exporter.fields_of:clear()
  c, d, exporter = nil, nil, nil
end)

local before
before_each(function()
  capsules.settle()
  before = xchg.stats()
end)

after_each(function()
  capsules.settle()
  local after = xchg.stats()
  assert.same({ before.tensors, before.storages, before.external_bytes }, { after.tensors, after.storages, after.external_bytes })
  assert.same({ 0, 0 }, { py.unpack(c.account()) })
  assert.equal(2, py.eval "1 + 1") -- no exception is pending
end)

-- What must be given for one description: a dtype, or an error of one of these codes.
local function check(expected, what, fn, ...)
  local ok, t = pcall(fn, ...)
  if ok then
    local dtype = t.dtype
    t:release()
    if dtype ~= expected then error(("%s is %s, not %s"):format(what, dtype, tostring(expected)), 2) end
  elseif expected then
    error(("%s is not %s: %s"):format(what, expected, tostring(t.message)), 2)
  elseif t.code ~= "unsupported_dtype" and t.code ~= "bad_descriptor" or #t.message < 20 then
    error(("%s: %s: %s"):format(what, tostring(t.code), tostring(t.message or t)), 2)
  end
  return ok and 1 or 0
end

-- ---- DLPack -------------------------------------------------------------------------------------------

-- From the comments of DLPack's header, version 1.3.
local function integers(prefix) return { [8] = prefix .. "8", [16] = prefix .. "16", [32] = prefix .. "32", [64] = prefix .. "64" } end
local CODES = {
  [0] = integers "int", integers "uint", { [16] = "float16", [32] = "float32", [64] = "float64" }, nil, { [16] = "bfloat16" },
  { [32] = "complex32", [64] = "complex64", [128] = "complex128" }, { [8] = "bool" }, { [8] = "float8_e3m4" },
  { [8] = "float8_e4m3" }, { [8] = "float8_e4m3b11fnuz" }, { [8] = "float8_e4m3fn" }, { [8] = "float8_e4m3fnuz" },
  { [8] = "float8_e5m2" }, { [8] = "float8_e5m2fnuz" }, { [8] = "float8_e8m0fnu" }, { [6] = "float6_e2m3fn" },
  { [6] = "float6_e3m2fn" }, { [4] = "float4_e2m1fn" },
}

local function dlpack_dtype(code, bits, lanes)
  local name = CODES[code] and CODES[code][bits]
  if code == 17 and lanes == 2 then return name and name .. "_x2" end
  return lanes == 1 and name or nil
end

describe("DLPack's element type", function()
  -- Refills the type of one managed tensor, whose producer gives a new capsule (or tensor) over it each time.
  local SOURCE = [[
import ctypes, sys
c, d = sys.modules["xchg_capsules"], sys.modules["xchg_doors"]
versioned, legacy = c.Made(shape=(0,), data=None), c.Made(shape=(0,), data=None, kind="legacy")
kept = [versioned.take(), legacy.take()]
for made in (versioned, legacy):
    c._made.pop(ctypes.addressof(made.managed))
    made.managed.deleter = None
    c.rename(kept.pop(0), None)

def type_of(made): return ctypes.addressof(made.managed.tensor) + 20

def raw(made, name): return c._new(ctypes.addressof(made.managed), c._static(name), None)

class Method:
    def __init__(self, made, name): self.made, self.name = made, name
    def __dlpack__(self, **keywords): return raw(self.made, self.name)
    def __dlpack_device__(self): return (1, 0)

@ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(ctypes.c_void_p))
def from_py(x, out):
    out[0] = ctypes.addressof(versioned.managed)
    return 0

class Api:
    __dlpack_c_exchange_api__ = c.table(from_py=d.function(from_py))
]]
  local ns

  setup(function() ns = py.exec(SOURCE, {}) end)
  teardown(function() ns = nil end)

  -- Way: the managed tensor that it is over, a new object for each question.
  local WAYS = {
    ["a versioned capsule"] = { "versioned", "raw(versioned, 'dltensor_versioned')" },
    ["a legacy capsule"] = { "legacy", "raw(legacy, 'dltensor')" },
    ["__dlpack__"] = { "versioned", "Method(versioned, 'dltensor_versioned')" },
    ["a legacy __dlpack__"] = { "legacy", "Method(legacy, 'dltensor')" },
    ["the C exchange API"] = { "versioned", "Api()" },
  }
  -- All bits for one lane of the codes that there are, some for the others.
  local SOME = { 0, 1, 2, 4, 6, 7, 8, 16, 32, 64, 128, 255 }

  for way, row in pairs(WAYS) do
    for how, fn in pairs { from_dlpack = xchg.from_dlpack, asarray = xchg.asarray } do
      it(("of any code, bits and lanes is known or refused through %s by %s"):format(way, how), function()
        local type = ffi.cast("uint8_t *", ffi.cast("uintptr_t", py.eval(("type_of(%s)"):format(row[1]), ns)))
        local lanes_at = ffi.cast("uint16_t *", type + 2)
        local make = py.eval("lambda: " .. row[2], ns)
        local found = 0
        local x
        local function ask(code, bits, lanes)
          type[0], type[1], lanes_at[0] = code, bits, lanes
          local expected = dlpack_dtype(code, bits, lanes)
          x = x or make()
          found = found + check(expected, ("code %d, %d bits, %d lanes"):format(code, bits, lanes), fn, x)
          if expected and row[2]:find "^raw" then x = nil end -- used up
        end
        for code = 0, 255 do
          for _, bits in ipairs(SOME) do
            for _, lanes in ipairs { 1, 2 } do ask(code, bits, lanes) end
          end
        end
        for code = 0, 18 do
          for bits = 0, 255 do ask(code, bits, 1) end
          for _, lanes in ipairs { 0, 3, 4, 255, 256, 257, 32768, 65535 } do ask(code, 8, lanes) ask(code, 4, lanes) end
        end
        assert.equal(28 + 27, found) -- each in both loops, but the pair in one
      end)
    end
  end
end)

-- ---- type strings -------------------------------------------------------------------------------------

-- From NumPy's documentation of the array interface.
local KINDS = {
  b = { "bool" }, i = { "int8", "int16", [4] = "int32", [8] = "int64" }, u = { "uint8", "uint16", [4] = "uint32", [8] = "uint64" },
  f = { [2] = "float16", [4] = "float32", [8] = "float64" }, c = { [4] = "complex32", [8] = "complex64", [16] = "complex128" },
}

local function typestr_dtype(order, kind, size)
  local name = KINDS[kind] and KINDS[kind][size]
  return not (order == ">" and size > 1) and name or nil
end

local SIZES = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 24, 32, 64, 255 }

describe("a type string", function()
  local SOURCE = [[
class Given:
    def __init__(self): self.__array_interface__ = {"version": 3, "shape": (0,), "data": (0, False)}
given = Given()
def of(typestr):
    given.__array_interface__["typestr"] = typestr
    return given
]]

  it("of any order, kind and size is known or refused", function()
    local of = py.get(py.exec(SOURCE, {}), "of")
    local found = 0
    for _, order in ipairs { "<", ">", "|", "=", "", "@", "!", " ", "<<" } do
      for kind = 1, 127 do
        kind = string.char(kind)
        for _, size in ipairs(SIZES) do
          local text = order .. kind .. size
          local good = #order == 1 and ("<>|="):find(order, 1, true)
          found = found + check(good and typestr_dtype(order, kind, size) or nil, ("%q"):format(text), xchg.asarray, of(text))
        end
      end
    end
    assert.equal(15 * 3 + 3, found)
  end)

  it("with anything in front, in between or behind is refused", function()
    local of = py.get(py.exec(SOURCE, {}), "of")
    for byte = 1, 127 do
      local char = string.char(byte)
      if not ("<>|="):find(char, 1, true) then check(nil, ("%q"):format(char .. "f4"), xchg.asarray, of(char .. "f4")) end
      if not char:find "%d" then
        for _, text in ipairs { "<f" .. char .. "4", "<f4" .. char, "<f4" .. char .. "s]", "<" .. char .. "f4" } do
          check(nil, ("%q"):format(text), xchg.asarray, of(text))
        end
      end
    end
  end)
end)

describe("the kind and item size of a PyArrayInterface", function()
  it("are known or refused, whatever they are", function()
    local x = d.make("__array_struct__", kw { shape = py.tuple { 0 }, strides = py.tuple { 8 }, offset = 0 })
    local fields = ffi.cast("int *", ffi.cast("uintptr_t", py.eval("__import__('ctypes').addressof(x.struct)", { x = x })))
    local found = 0
    for _, flags in ipairs { 0x700, 0x500 } do -- of the machine's byte order, or the other
      for kind = 0, 255 do
        ffi.cast("uint8_t *", fields)[8] = kind
        fields[4] = flags
        for i = 0, #SIZES + 3 do
          local size = SIZES[i] or ({ -1, -8, 2147483647, -2147483648 })[i == 0 and 1 or i - #SIZES + 1]
          fields[3] = size
          found = found + check(typestr_dtype(flags == 0x700 and "<" or ">", string.char(kind), size),
            ("kind %d of %d bytes"):format(kind, size), xchg.asarray, x)
        end
      end
    end
    assert.equal(15 + 3, found)
  end)
end)

-- ---- formats ------------------------------------------------------------------------------------------

-- From the documentation of Python's struct module and PEP 3118: letter, bytes, dtype; and with the sizes of a prefix.
local LETTERS = {
  ["?"] = { 1, "bool" }, b = { 1, "int8" }, B = { 1, "uint8" }, c = { 1, "uint8" }, h = { 2, "int16" }, H = { 2, "uint16" },
  i = { 4, "int32" }, I = { 4, "uint32" }, q = { 8, "int64" }, Q = { 8, "uint64" }, e = { 2, "float16" },
  f = { 4, "float32" }, d = { 8, "float64" }, F = { 8, "complex64" }, D = { 16, "complex128" },
}

local function format_dtype(prefix, letter, size)
  local standard = prefix:find "[=<>!]" ~= nil
  if prefix:find "[>!]" and size > 1 then return nil end
  if letter:lower() == "l" then
    -- ctypes calls the machine's own long "<l"
    return (size == 8 or standard and size == 4) and (letter == "l" and "int" or "uint") .. 8 * size or nil
  elseif letter:lower() == "n" then
    return not standard and size == 8 and (letter == "n" and "int64" or "uint64") or nil
  end
  local row = LETTERS[letter]
  return row and row[1] == size and row[2] or nil
end

describe("a buffer's format", function()
  it("of one letter is known or refused, whatever the letter, the prefix and the item size are", function()
    local letters = {}
    for byte = 1, 255 do letters[byte] = string.char(byte) end
    local make = py.eval([[lambda f, size: export(format=bytes(f).decode("latin-1"), itemsize=size, shape=(0,))]],
      { export = exporter.export })
    local found = 0
    for _, prefix in ipairs { "", "@", "=", "<", ">", "!", "^" } do
      for byte, letter in ipairs(letters) do
        for _, size in ipairs { 1, 2, 4, 8, 16 } do
          found = found + check(format_dtype(prefix, letter, size), ("'%s' and byte %d of %d bytes"):format(prefix, byte, size),
            xchg.from_buffer, make(py.bytes(prefix .. letter), size))
        end
      end
      exporter.fields_of:clear()
    end
    assert.is_true(found > 100, found)
  end)
end)
