-- What the options of asarray do to everything that it takes, by rule: the same for all.
local ffi = require "ffi"
local xchg = require "xchg"
local arrays = require "spec.support.arrays"
local capsules = require "spec.support.capsules"
local raises = require "spec.support.raises"

local py, asarray = xchg.python, xchg.asarray

if not arrays.import "numpy" then return pending "NumPy is not installed" end

local ns
local function eval(source) return py.eval(source, ns) end

-- What to make, the dtype of its elements; `shared`: it has memory of its own, which may be read-only. All hold 1 and 2.
local INPUTS = {
  { "an array of NumPy", function() return eval "np.array([1., 2.])" end, "float64", shared = true },
  { "a read-only array", function() return eval "frozen(np.array([1., 2.]))" end, "float64", shared = true, readonly = true },
  { "a capsule", function() return eval "np.array([1., 2.]).__dlpack__()" end, "float64", shared = true },
  { "a read-only capsule", function() return eval "frozen(np.array([1., 2.])).__dlpack__(max_version=(1, 0))" end, "float64",
    shared = true, readonly = true },
  { "bytes", function() return eval "np.frombuffer(b'\\1\\2', 'u1')" end, "uint8", shared = true, readonly = true },
  { "a bytearray", function() return eval "bytearray(b'\\1\\2')" end, "uint8", shared = true },
  { "a memoryview", function() return eval "memoryview(b'\\1\\2')" end, "uint8", shared = true, readonly = true },
  { "an array.array", function() return eval "array.array('h', [1, 2])" end, "int16", shared = true },
  { "an object with an array interface", function() return eval "Interface()" end, "int32", shared = true },
  { "a scalar of NumPy", function() return eval "np.float32(1)" end, "float32", shared = true, readonly = true, scalar = true },
  { "a tensor", function() return xchg.tensor({ 1, 2 }, { dtype = "int16" }) end, "int16", shared = true, tensor = true },
  { "a read-only tensor", function() return xchg.from_buffer "\1\2" end, "uint8", shared = true, readonly = true, tensor = true },
  { "a string", function() return "\1\2" end, "uint8", shared = true, readonly = true },
  { "an array of cdata", function() return ffi.new("float[2]", 1, 2) end, "float32", shared = true },
  { "a number", function() return 1 end, "float64", scalar = true },
  { "a 64-bit number", function() return 1LL end, "int64", scalar = true },
  { "a boolean", function() return true end, "bool", scalar = true },
  { "a table", function() return { 1, 2 } end, "float64" },
  { "a number of Python", function() return eval "fractions.Fraction(1)" end, "float64", scalar = true },
  { "a list", function() return eval "[1, 2]" end, "int64" },
  { "a generator", function() return eval "(i for i in (1, 2))" end, "int64" },
  { "a list of arrays", function() return eval "[np.float32(1), np.array(2, 'f4')]" end, "float32" },
  { "a list of capsules", function() return eval "[np.array(1, 'f4').__dlpack__(), np.array(2, 'f4').__dlpack__()]" end,
    "float32" },
  { "a list of arrays and numbers", function() return eval "[np.int8(1), 2]" end, "int8" },
  { "a generator of arrays", function() return eval "(np.int8(i) for i in (1, 2))" end, "int8" },
  { "a table of tensors", function()
    return { xchg.tensor(1, { dtype = "int8" }), xchg.tensor(2, { dtype = "int8" }) }
  end, "int8" },
}

setup(function() ns = py.exec([[
import array, fractions
import numpy as np
def frozen(a):
    a.flags.writeable = False
    return a
class Interface:
    def __init__(self):
        self.a = np.array([1, 2], "i4")
        self.__array_interface__ = self.a.__array_interface__
class Copying:
    """A producer that makes a copy of its own accord, and says so; it may know copy=False."""
    def __init__(self, refuses=False): self.refuses, self.asked = refuses, []
    def __dlpack_device__(self): return (1, 0)
    def __dlpack__(self, *, copy=None, **k):
        self.asked.append(copy)
        if copy is False and self.refuses: raise BufferError("it takes a copy")
        return np.arange(3).__dlpack__(max_version=(1, 0), copy=True)
]], {}) end)

teardown(function()
  ns = nil
  capsules.collect()
end)

-- The elements, whatever their dtype, as numbers.
local function numbers(t)
  local function number(v) return v == true and 1 or type(v) == "number" and v or v.re end
  local values = t:totable()
  if t.ndim == 0 then return { number(values) } end
  return { number(values[1]), number(values[2]) }
end

-- What must come of it: the code of the error, or the dtype, whether it is read-only, and whether memory is shared.
local function expected(input, options)
  local changes = options.dtype ~= nil and options.dtype ~= input[3]
  if options.copy == false and (changes or not input.shared) then return "bad_argument" end
  local shares = input.shared and not changes and not options.copy
  local readonly = shares and input.readonly or false
  if options.readonly == false and readonly then return "readonly" end
  return nil, options.dtype or input[3], readonly or options.readonly == true, shares
end

describe("the options of asarray: those for", function()
  -- One input with one set of options.
  local function check(input, options, label)
    local code, dtype, readonly, shares = expected(input, options)
    local x = input[2]()
    local done, t = pcall(asarray, x, options)
    if code then
      assert.is_false(done, label)
      assert.equal(code, t.code, label .. ": " .. t.message)
      t = asarray(x) -- nothing was used up
    else
      if not done then error(label .. ": " .. t.message) end
      assert.same({ dtype, readonly }, { t.dtype, t.readonly }, label)
      if input.tensor then
        assert.equal(shares, t.ptr == x.ptr, label)
      else
        assert.equal(shares or false, t.protocol ~= "lua", label)
      end
    end
    assert.same(input.scalar and { 1 } or { 1, 2 }, numbers(t), label)
    t:release()
  end

  for _, input in ipairs(INPUTS) do
    it(input[1] .. " do what they do for all", function()
      for _, dtype in ipairs { "none", input[3], "complex64", "float16", "int32" } do
        for _, device in ipairs { "none", "cpu" } do
          for _, copy in ipairs { "none", true, false } do
            for _, readonly in ipairs { "none", true, false } do
              local options = { dtype = dtype, device = device, copy = copy, readonly = readonly }
              for name, value in pairs(options) do
                if value == "none" then options[name] = nil end
              end
              check(input, options, ("dtype %s, device %s, copy %s, readonly %s"):format(dtype, device, copy, readonly))
            end
          end
        end
      end
    end)
  end

  it("an object that has only __array__ refuse copy = false before it is asked", function()
    local x = eval "type('Only', (), {'__array__': lambda self, *a, **k: 1 / 0})()"
    raises("no_protocol", "Only has none of the protocols", asarray, x, { copy = false })
  end)

  it("a producer that copies refuse copy = false, which it is told", function()
    local x = eval "Copying()"
    raises("refused", "the producer made a copy, although copy = false", asarray, x, { copy = false })
    assert.same({ false }, py.totable(x.asked))
    x = eval "Copying(True)"
    raises("refused", "BufferError: it takes a copy", asarray, x, { copy = false })
    local t = asarray(x)
    assert.same({ 0, 1, 2 }, t:totable())
    t:release()
  end)

  it("a capsule do not use it up where nothing can be done", function()
    local module = capsules.module()
    local function make(fields) return module.make(py.kwargs(fields)).take() end
    for _, row in ipairs {
      { make { device_type = 4 }, { copy = true }, "unsupported_device", "asarray: memory of 'opencl'" },
      { make { device_type = 4 }, { device = "cpu" }, "unsupported_device", "asarray: memory of 'opencl'" },
      { make { device_type = 4 }, { dtype = "int8" }, "unsupported_device", "asarray: memory of 'opencl'" },
      { make { code = 12, bits = 8 }, { dtype = "float32" }, "unsupported_dtype", "float8_e5m2 cannot be cast to float32" },
      { make { code = 5, bits = 64 }, { dtype = "float32" }, "unsupported_dtype", "would drop the imaginary part" },
    } do
      raises(row[3], row[4], asarray, row[1], row[2])
      asarray(row[1]):release()
    end
  end)

  it("a list of capsules do not use them up where they do not fit", function()
    local function fresh() return eval "np.arange(2).__dlpack__()" end
    local two = xchg.ones(2)
    for _, row in ipairs {
      { function(c) return py.list { c, eval "np.arange(3)" } end, "shape_mismatch", "x[0] has the shape {2} and x[1] has {3}" },
      { function(c) return py.list { c, eval "np.arange(3).__dlpack__()" } end, "shape_mismatch", "x[1] has {3}" },
      { function(c) return py.list { c, eval "[1, 2, 3]" } end, "shape_mismatch", "x[0] has the shape {2} where {3}" },
      { function(c) return py.list { c, eval "[1, None]" } end, "wrong_type", "x[1][1] is of type NoneType" },
      { function(c) return { c, { 1, 2, 3 } } end, "shape_mismatch", "element[1] has the shape {2} where {3}" },
      { function(c) return { { c }, two } end, "shape_mismatch", "element[2] has the shape {2} where {1, 2}" },
      { function(c) return { c, xchg.empty(2, { dtype = "float8_e5m2" }) } end, "unsupported_dtype", "int64 and float8_e5m2" },
    } do
      local c = fresh()
      raises(row[2], row[3], asarray, row[1](c))
      local t = asarray { c, two }
      assert.same({ "float64", { { 0, 1 }, { 1, 1 } } }, { t.dtype, t:totable() })
      t:release()
      raises("bad_capsule", "asarray: x[0]: ", asarray, py.list { c, fresh() })
    end
    two:release()
    local c = fresh()
    raises("bad_capsule", "asarray: x[1]: it is the capsule of x[0] again", asarray, py.list { c, c })
    raises("bad_capsule", "asarray: element[2][1]: it is the capsule of element[1][1] again", asarray, { { c }, { c } })
    asarray(c):release()
  end)

  it("a table do not reach what is in it", function()
    local part = xchg.tensor { 1, 2 }
    local t = asarray({ part, part }, { readonly = true })
    assert.same({ true, false }, { t.readonly, part.readonly })
    t:release() part:release()
  end)
end)
