-- Random nested lists of numbers and arrays of all sorts, against numpy.asarray.
local ffi = require "ffi"
local xchg = require "xchg"
local arrays = require "spec.support.arrays"
local capsules = require "spec.support.capsules"

local py, asarray = xchg.python, xchg.asarray
local CASES = 250 * (tonumber(os.getenv "XCHG_TEST_SEEDS") or 1)

if not arrays.import "numpy" then return pending "NumPy is not installed" end

-- A case is what xchg gets, and its twin of lists and arrays, which NumPy gets. Their dtype follows NumPy but for numbers
-- beside arrays: to NumPy's asarray they are int64, float64 and complex128, here they are what they are to its operators.
local SOURCE = [==[
import array, collections, random
import numpy as np

DTYPES = ["bool", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]
NUMBERS = [lambda r: r.random() < 0.5, lambda r: r.randrange(100), lambda r: float(r.randrange(100)),
           lambda r: complex(r.randrange(100), r.randrange(100))]

class Indexed:
    """A sequence by __getitem__ and __len__."""
    def __init__(self, items): self.items = items
    def __len__(self): return len(self.items)
    def __getitem__(self, i): return self.items[i]

class Foreign:
    """An array that has nothing but an interface."""
    def __init__(self, a): self.a = a
    @property
    def __array_interface__(self): return self.a.__array_interface__

WRAPS = [list, list, tuple, iter, collections.deque, Indexed, lambda items: (v for v in items)]

def make(random_, shape, kinds, dtypes, met, root=False):
    r = random_
    if not shape and r.random() < 0.6:
        number = NUMBERS[r.choice(kinds)](r)
        met["numbers"].append(number)
        return number, number
    if not root and (not shape or r.random() < 0.4):
        a = np.array([NUMBERS[r.randrange(3)](r) for _ in range(int(np.prod(shape)))]).astype(r.choice(dtypes))
        a = a.reshape(shape)
        met["arrays"].append(a.dtype)
        if shape and r.random() < 0.3: a = np.asarray(a, order="F")
        if shape and r.random() < 0.3: a = np.flip(np.flip(a, 0).copy(), 0)
        if not shape and r.random() < 0.5: return a[()], a
        how = r.random()
        if how < 0.1 and len(shape) == 1 and a.dtype == "i2": return array.array("h", a.tolist()), a
        if how < 0.3: return Foreign(a), a
        if how < 0.4 and a.dtype != "bool" and a.dtype.kind != "c": return memoryview(a.copy(order="C")), a
        return a, a
    extent, inner = shape[0], shape[1:]
    pairs = []
    for _ in range(extent):
        changed = inner
        if r.random() < met["ragged"]:
            changed = list(inner)
            if changed and r.random() < 0.7: changed[r.randrange(len(changed))] += 1
            elif r.random() < 0.5: changed.append(2)
            elif changed: changed.pop()
        pairs.append(make(r, tuple(changed), kinds, dtypes, met))
    return r.choice(WRAPS)([p[0] for p in pairs]), [p[1] for p in pairs]

def shape_of(twin):
    """None where rows differ. NumPy goes further, and takes arrays of one element for numbers."""
    if not isinstance(twin, list): return np.shape(twin)
    shapes = {shape_of(v) for v in twin}
    if not shapes: return (0,)
    return None if len(shapes) > 1 or None in shapes else (len(twin),) + shapes.pop()

def case(seed):
    """(what xchg gets, dtype and shape and bytes that it must give; or None, as the shapes differ)"""
    r = random.Random(seed)
    shape = tuple(r.choice([0, 1, 2, 2, 3]) for _ in range(r.randrange(1, 5)))
    met = {"numbers": [], "arrays": [], "ragged": r.choice([0, 0, 0, 0.05])}
    kinds = r.choice([[0], [1], [2], [0, 1], [1, 2], [0, 1, 2], [1, 3], [0, 1, 2, 3]])
    x, twin = make(r, shape, kinds, r.sample(DTYPES, r.choice([1, 2, 3])), met, True)
    if shape_of(twin) is None: return x, None
    expected, asked = np.asarray(twin), None
    if r.random() < 0.3 and not np.iscomplexobj(expected): asked = r.choice(["f4", "f8", "i4", "c8"])
    if asked:
        dtype = np.dtype(asked)
    elif met["arrays"]:
        strong = np.result_type(*met["arrays"])
        weak = [k(1) for k in (bool, int, float, complex) if any(type(n) is k for n in met["numbers"])]
        dtype = np.result_type(strong, *weak) if weak else strong
    else:
        dtype = expected.dtype
    expected = expected.astype(dtype)
    return x, asked and dtype.name, dtype.name, expected.shape, expected.tobytes().hex()
]==]

describe("asarray of random nested lists of numbers and arrays", function()
  local ns
  setup(function() ns = py.exec(SOURCE, {}) end)
  teardown(function()
    ns = nil
    capsules.collect()
  end)

  local function bytes_of(t)
    if t:numel() == 0 then return "" end
    return (ffi.string(t.ptr, t.nbytes):gsub(".", function(c) return ("%02x"):format(c:byte()) end))
  end

  it("is what numpy.asarray makes", function()
    local make, first = py.get(ns, "case"), math.random(2 ^ 30)
    local ragged, promoted = 0, 0
    for seed = first, first + CASES - 1 do
      local x, asked, dtype, shape, bytes = py.unpack(make(seed))
      local label = "case(" .. seed .. ")"
      local done, t = pcall(asarray, x, asked and { dtype = asked } or nil)
      if dtype then
        if not done then error(label .. ": " .. t.message) end
        assert.same({ dtype, py.totable(py.list(shape)), bytes }, { t.dtype, t.shape, bytes_of(t) }, label)
        t:release()
        promoted = promoted + 1
      else
        assert.is_false(done, label)
        assert.equal("shape_mismatch", t.code, label)
        assert.truthy(t.message:find("x%[%d"), label .. ": " .. t.message)
        ragged = ragged + 1
      end
    end
    assert.is_true(ragged > CASES / 50 and promoted > CASES / 2, ragged .. " " .. promoted)
  end)
end)
