-- What Python has lent and given during imports goes back, whether they succeed or fail, and at whatever point they fail:
-- its blocks of memory and the references to what every program shares are as many after many rounds as before.

local xchg = require "xchg"
local capsules = require "spec.support.capsules"
local doors = require "spec.support.doors"

local py = xchg.python
local c, ns

local SOURCE = [=[
import array, collections, gc, sys
c, d = sys.modules["xchg_capsules"], sys.modules["xchg_doors"]

SHARED = [None, True, False, NotImplemented, (), "", b"", 0, 1, (1, 3), int, tuple, BufferError, TypeError, AttributeError,
          "shape", "data", "mask", "descr", "__dlpack__", "__array_interface__"]

def counts():
    gc.collect()  # empties the lists of free objects too
    c.account()
    return sys.getallocatedblocks(), [sys.getrefcount(x) for x in SHARED]

def fresh(value):
    """The same, which nothing else has."""
    if type(value) is str: return (value + " ")[:-1]
    return type(value)(list(value)) if type(value) in (list, tuple, bytearray) else value

class Dictionary:
    def __init__(self, **fields):
        made = {"version": 3, "typestr": "<f8", "shape": (4,), "data": (d.address, False), **fields}
        self.__array_interface__ = {key: fresh(value) for key, value in made.items() if value is not d}

class Raises:
    """Everywhere."""
    def __init__(self, error): self.error = error
    def raising(self, *a, **k): raise self.error
    __dlpack__ = __dlpack_device__ = __array__ = __float__ = __iter__ = raising
    __array_interface__ = __array_struct__ = __cuda_array_interface__ = property(raising)

class Late:
    """Raises only when it is asked for the memory."""
    def __init__(self, error): self.error = error
    def __dlpack_device__(self): return (1, 0)
    def __dlpack__(self, **k): raise self.error

class Old:
    def __dlpack_device__(self): return (1, None)
    def __dlpack__(self): return c.make(kind="legacy").take()

class Answers:
    def __init__(self, device, capsule): self.device, self.answer = device, capsule
    def __dlpack_device__(self): return self.device
    def __dlpack__(self, **k): return self.answer
    def __array__(self): return self.answer
    def __float__(self): return self.answer
    def __index__(self): return self.answer
    def __len__(self): return self.answer
    def __getitem__(self, i): return self.answer
    def __iter__(self): return self.answer

class Anything:
    def __getattr__(self, name): return 5

class Nothing:
    def __getattr__(self, name): raise AttributeError(name)

Pair = collections.namedtuple("Pair", "a b")

MAKE = [
    # what has the protocols, and what says something wrong through them
    *[lambda name=name: d.make(name, shape=(2, 2), strides=(1, 2), offset=1) for name in d.DOORS if "cuda" not in name],
    *[lambda name=name: d.make(name, shape=(2,), strides=(1,), offset=0, data=None) for name in d.DOORS],
    *[lambda fields=fields: Dictionary(**fields) for fields in (
        {}, {"descr": [("", "<f8")]}, {"mask": None, "strides": None, "offset": None}, {"strides": [8]}, {"shape": [2, 2]},
        {"data": [d.address, True]}, {"data": bytearray(32)}, {"data": bytearray(8)}, {"data": 3}, {"data": d},
        {"data": ("a", False)}, {"data": (None, False)}, {"mask": [True]}, {"shape": d}, {"shape": (4.5,)}, {"shape": "4"},
        {"shape": range(3)}, {"shape": (2**70,)}, {"typestr": d}, {"typestr": ">f8"}, {"typestr": 3}, {"typestr": "<V8"},
        {"typestr": "|V8", "descr": [("a", "<f4"), ("b", "<f4")]}, {"typestr": "|V8", "descr": 3}, {"version": "3"},
        {"version": 4}, {"strides": (8, 8)}, {"strides": ("a",)}, {"strides": (4,)}, {"offset": -1})],
    *[type("Own", (), {"__array_interface__": value, "__array_struct__": value}) for value in (None, {}, 3, "text", d)],
    *[lambda error=error, kind=kind: kind(error("a reason" * 40)) for kind in (Raises, Late) for error in (
        BufferError, TypeError, AttributeError, KeyError, StopIteration, RecursionError, MemoryError)],
    lambda: Late(TypeError("unexpected keyword argument 'max_version'")), Old, Anything, Nothing, object,
    *[lambda pair=pair: Answers(*pair) for pair in (
        ((1, 0), None), ((1, 0), 5), ((1, 0), "text"), ((1, 0), []), ([1, 0], 5), ((99, 0), 5), ((1, "a"), 5), (None, 5))],
    *[lambda fields=fields: c.make(**fields).take() for fields in (
        {}, {"kind": "legacy"}, {"ndim": 65}, {"code": 200}, {"major": 2}, {"device_type": 5}, {"flags": 3})],
    # what has none
    *[lambda value=value: value for value in (
        3, 2.5, 1j, True, 2**64, 2**63, "text", b"bytes", None, {}, {1: 2}, {3}, int, [], [[]], [1, 2], [[1, 2], [3, 4]], [1, [2]],
        [1, "a"], [1, None], [2**64], (1, 2.5), Pair(1, 2), range(4), collections.deque([1]), collections.UserList([1, 2]))],
    lambda: (i for i in (1, 2)), lambda: (1 // 0 for i in (1,)), lambda: array.array("d", [1, 2]), lambda: memoryview(b"abcd")[::2],
    lambda: memoryview(bytearray(8)).cast("d"), lambda: [array.array("d", [1]), array.array("f", [2])],
    lambda: [array.array("d", [1]), array.array("d", [1, 2])], lambda: [bytearray(1), 1],
]
]=]

setup(function()
  c = capsules.module()
  doors.module()
  ns = py.exec(SOURCE, {})
end)

teardown(function() c, ns = nil, nil end)

after_each(function()
  capsules.collect()
  c.account()
end)

local function kept(options)
  return function(x) return xchg.asarray(x, options) end
end

local FUNCTIONS = {
  asarray = kept(nil), ["asarray's copy"] = kept { copy = true }, ["asarray's share"] = kept { copy = false },
  ["asarray's cast"] = kept { dtype = "float32" }, ["asarray's writable"] = kept { readonly = false },
  ["asarray's last resorts first"] = kept { protocols = { "array", "array_interface", "array_struct", "buffer", "dlpack" } },
  ["asarray of a list"] = function(x) return xchg.asarray { x, x } end,
  from_dlpack = xchg.from_dlpack, ["from_dlpack's copy"] = function(x) return xchg.from_dlpack(x, { copy = true }) end,
  ["from_dlpack's move"] = function(x) return xchg.from_dlpack(x, { device = "metal:1" }) end,
  from_buffer = xchg.from_buffer, probe = xchg.probe,
  into = function(x)
    local t = xchg.zeros(1)
    local done = pcall(xchg.into, t, x)
    t:release()
    assert(done)
  end,
}

it("every function takes nothing from Python and leaves nothing there", function()
  local make, counts, shared = py.get(ns, "MAKE"), py.get(ns, "counts"), py.get(ns, "SHARED")
  local ROUNDS = 20

  local function rounds(new)
    for _ = 1, ROUNDS do
      for _, fn in pairs(FUNCTIONS) do
        local done, t = pcall(fn, (new()))
        if done and type(t) == "cdata" then t:release() end
      end
    end
    capsules.settle()
    local blocks, references = py.unpack(counts())
    return blocks, py.totable(references)
  end

  -- What is lost is lost in every round; what else Python makes and forgets in between comes and goes.
  local function lost(new)
    local blocks, references = rounds(new)
    local reason
    for _ = 1, 15 do
      local more, now = rounds(new)
      reason = more - blocks >= ROUNDS and ("%d blocks"):format(more - blocks) or nil
      for i, count in ipairs(now) do
        if math.abs(count - references[i]) >= ROUNDS then
          reason = ("%d references to %s"):format(count - references[i], py.repr(py.get(shared, i - 1)))
        end
      end
      if not reason then return end
      blocks, references = more, now
    end
    return reason
  end

  for i = 0, py.len(make) - 1 do
    local reason = lost(py.get(make, i))
    assert(not reason, ("source %d: %s more after each %d rounds"):format(i, tostring(reason), ROUNDS))
  end
end)
