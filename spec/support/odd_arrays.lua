--- Imports NumPy's arrays of every kind through every function, and prints what came of it: a program of its own, run
--- by ndarray_odd_spec with and without the way past Python. Arguments: a seed, and how many arrays.

local xchg = require "xchg"
local capsules = require "spec.support.capsules"

local py = xchg.python
local seed, count = tonumber(arg[1]), tonumber(arg[2])

local ns = py.exec([==[
import copy, pickle, random, warnings
import numpy as np
from numpy.lib.stride_tricks import as_strided
try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None
warnings.simplefilter("ignore")

class Sub(np.ndarray): pass
class Other(np.ndarray): pass
class Refuses(np.ndarray):
    def __dlpack__(self, **keywords): raise BufferError("not this one")
class Device(np.ndarray):
    def __dlpack_device__(self): return (8, 0)

DTYPES = list("?bBhHiIlLqQefdFD") * 3 + [">f8", "<f8", "=i4", ">u2", "M8[s]", "m8[ns]", "S4", "U3", "V8", "O", "g", "G",
    "f8,i4", [("a", "f4"), ("b", "f4", (2,))], "(2,)f4", np.dtype("f8", metadata={"a": 1}),
    np.dtype("i4").newbyteorder(), np.dtype({"names": ["x"], "formats": ["f8"], "offsets": [8], "itemsize": 24})]
if hasattr(np, "dtypes") and hasattr(np.dtypes, "StringDType"):
    DTYPES.append(np.dtypes.StringDType())
if ml_dtypes is not None:
    DTYPES += [ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.int4]

memory = bytearray(1 << 16)
def first(r):
    "An array, and how it was made."
    dtype = np.dtype(r.choice(DTYPES)) if r.random() < 0.95 else np.dtype("d")
    shape = tuple(r.choice([0, 1, 1, 2, 3, 5, 8]) for _ in range(r.choice([0, 1, 1, 2, 2, 3, 4, 7])))
    if r.random() < 0.03: shape = (1,) * r.choice([20, 32, 33, 63, 64])
    if r.random() < 0.03: shape = (0, 2**40, 3)
    how = r.randint(0, 5)
    try:
        if how == 0: return np.frombuffer(memory, dtype, 7, r.choice([0, 8, 1, 4])), "frombuffer"
        if how == 1: return np.frombuffer(bytes(400), dtype, 4), "frombuffer of bytes"
        if how == 2:
            strides = tuple(r.choice([0, 1, 4, 8, 16, 24, -8, -4]) for _ in shape)
            return np.ndarray(shape, dtype, memory, 1 << 15, strides), "ndarray of a buffer"
        return np.zeros(shape, dtype), "zeros"
    except (ValueError, TypeError):
        return np.zeros(shape, "d"), "zeros of d"

def change(r, a):
    what = r.randint(0, 24)
    if what == 0 and a.ndim: return a[tuple(slice(None, None, r.choice([1, 2, -1, -2, 3])) for _ in a.shape)]
    if what == 1: return a.transpose(r.sample(range(a.ndim), a.ndim))
    if what == 2 and a.ndim < 60: return a[None, ..., None]
    if what == 3: return np.broadcast_to(a, (2,) + a.shape)
    if what == 4: return np.broadcast_arrays(a, np.zeros((2,) + (1,) * a.ndim))[0]
    if what == 5: a.flags.writeable = False
    if what == 6: return a.view(r.choice([Sub, Other, Refuses, Device, np.matrix, np.recarray, np.ma.MaskedArray]))
    if what == 7: a.dtype = r.choice(["u1", "i8", ">f8", "V8", "f4", "c16"])
    if what == 8: a.shape = (a.size,)
    if what == 9: a.strides = tuple(r.choice([0, 8, 1]) for _ in a.shape)
    if what == 10: a.resize(r.choice([(2, 3), (0,), (100,), ()]), refcheck=False)
    if what == 11: return a.view(a.dtype.newbyteorder())
    if what == 14: return pickle.loads(pickle.dumps(a))
    if what == 15: return copy.copy(a)
    if what == 16 and a.ndim: return a[r.randint(0, a.shape[0]):]
    if what == 17: return a.astype(r.choice("fdiqDe"))
    if what == 18: return np.asfortranarray(a)
    if what == 19: return a[()]
    if what == 20: return a.real if r.random() < 0.5 else a.imag
    if what == 21 and a.dtype.names: return a[a.dtype.names[0]]
    if what == 22: a.__class__ = r.choice([Sub, Other, np.ndarray])
    if what == 23: a.setflags(write=True, align=False)
    if what == 24: a.__setstate__((1, (3,), np.dtype("d"), False, bytes(24)))
    return a

def astray(r, a):
    "A view whose elements are anywhere, which nobody may read."
    n = r.randint(0, 3)
    strides = tuple(r.choice([0, 1, 8, 16, -8, 2**40, -(2**40)]) for _ in range(n))
    return as_strided(a, tuple(r.choice([0, 1, 2, 7, 2**33]) for _ in range(n)), strides)

def arrays(seed, count):
    r = random.Random(seed)
    for _ in range(count):
        a, how = first(r)
        for _ in range(r.choice([0, 0, 1, 1, 2, 3])):
            try:
                with np.errstate(all="ignore"):
                    b = change(r, a)
            except Exception:
                continue
            if isinstance(b, np.ndarray): a = b
        if r.random() < 0.15 and not a.dtype.hasobject:
            try: a = astray(r, a)
            except Exception: pass
        yield a

def about(a):
    return "%s %s %s %s %s" % (type(a).__name__, a.dtype, a.shape, a.strides, a.flags.writeable)

def address(a):
    return str(a.__array_interface__["data"][0])
]==], {})
local arrays, about, address = ns:get "arrays", ns:get "about", ns:get "address"

local spare, names = {}, { "float64", "float32", "int64", "uint8", "complex64" }
for k, name in ipairs(names) do spare[k] = xchg.zeros(2, { dtype = name }) end

local ENTRIES = {
  { "from_dlpack", function(a) return xchg.from_dlpack(a) end },
  { "from_dlpack, readonly", function(a) return xchg.from_dlpack(a, { readonly = false }) end },
  { "from_dlpack, copy = false", function(a) return xchg.from_dlpack(a, { copy = false }) end },
  { "from_buffer", function(a) return xchg.from_buffer(a) end },
  { "asarray", function(a) return xchg.asarray(a) end },
  { "asarray, buffer", function(a) return xchg.asarray(a, { protocols = { "buffer", "dlpack" } }) end },
  { "asarray, interfaces", function(a)
    return xchg.asarray(a, { protocols = { "array_interface", "array_struct" } })
  end },
  { "into", function(a, i) return xchg.into(spare[i % #spare + 1], a) end },
  { "into a released one", function(a, i)
    local t = spare[i % #spare + 1]
    t:release()
    return xchg.into(t, a)
  end },
  { "probe", function(a)
    local found, reason = xchg.probe(a)
    if not found then error({ code = "none", message = reason }) end
    error({ code = found.protocol, message = table.concat(found.protocols, ",") .. " " .. tostring(found.dtype) .. " "
      .. tostring(found.readonly) .. table.concat(found.shape, "x") })
  end },
}

local function shown(t, base)
  local shape, strides = {}, {}
  for d = 0, t._ndim - 1 do
    shape[d + 1] = ("%d"):format(tonumber(t._shape[d]))
    strides[d + 1] = t._shape[d] > 1 and ("%d"):format(tonumber(t._strides[d])) or "-"
  end
  return ("%s %s %s %s at %s, %s, by %s, %s"):format(t.dtype, table.concat(shape, "x"),
    t._numel == 0 and "" or table.concat(strides, ","), tostring(t._numel),
    tostring(require("ffi").cast("int64_t", t._ptr) - base), tostring(t.readonly), t.protocol, tostring(t._size))
end

local i = 0
for a in py.iter(arrays(seed, count)) do
  i = i + 1
  local base = require("ffi").cast("int64_t", 0) + loadstring("return " .. address(a) .. "LL")()
  print(i, about(a))
  for _, entry in ipairs(ENTRIES) do
    local done, result = pcall(entry[2], a, i)
    if done then
      print("  " .. entry[1] .. ": " .. shown(result, base))
      if not py.is(result.owner, a) then print "  another owner" end
      if not entry[1]:find "^into" then result:release() end
    else
      print("  " .. entry[1] .. ": " .. tostring(result.code) .. ": " .. (tostring(result.message):gsub("0x%x+", "0x")))
    end
  end
  for k, t in ipairs(spare) do
    if t._slot == 0 then spare[k] = xchg.zeros(2, { dtype = names[k] }) end
  end
end
for _, t in ipairs(spare) do t:release() end
capsules.collect()
print("the end", xchg.stats().tensors, xchg.stats().storages)
