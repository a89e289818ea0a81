--- Imports while memory runs out: a program of its own, run by import_memory_spec. Argument: "python", every allocation
--- of Python's fails once, or "core", every one of the library's own. What must not be is printed.

local ffi = require "ffi"
local xchg = require "xchg"
local capsules = require "spec.support.capsules"
local lib = require "xchg.lib"
local is_error = require("xchg.error").is

local py = xchg.python
local mode = arg[1]
local trace = os.getenv "XCHG_SPEC_NAMES"

local function wrong(what, problem) print(("%s: %s"):format(what, tostring(problem):sub(1, 400))) end

ffi.cdef [[
void *PyErr_Occurred(void);
int allocation_watch(void *inside, size_t size);
long allocation_fail(long at);
]]

local c = capsules.module()
local double = c.double(capsules.built "exchange_double.so")
local ns = py.exec([==[
import array, ctypes, gc, sys
import xchg_capsules as c
try:
    import numpy as np
except ImportError:
    np = None
try:
    import _testcapi
except ImportError:
    _testcapi = None

class Interface:
    def __init__(self, owner, **more):
        self.owner = owner
        data = (ctypes.addressof(owner), False)
        self.__array_interface__ = dict(version=3, shape=(2, 2), typestr="<f8", data=data, **more)

class Method:
    def __array__(self, *a, **k): return np.ones((2, 2))

class Producer:
    def __init__(self, kind=1): self.kind = kind
    def __dlpack_device__(self): return (1, 0)
    def __dlpack__(self, *, max_version=None, stream=None, copy=None): return double.exchange_capsule(self.kind)

class Table(Producer): pass

class Whole:
    def __index__(self): return 7

class Rows:
    def __init__(self, rows): self.rows = rows
    def __len__(self): return len(self.rows)
    def __getitem__(self, i): return self.rows[i]

class Gives:
    def __iter__(self): return iter([1.0, 2.0, 3.0])

class Legacy:
    def __dlpack__(self, stream=None): return double.exchange_capsule(0)

class Refuses:
    def __dlpack_device__(self): return (1, 0)
    def __dlpack__(self, **keywords): raise BufferError("no")

class Lies(Producer):
    def __dlpack_device__(self): return (8, 0)

memory = (ctypes.c_double * 4)(1, 2, 3, 4)
objects = {
    "a capsule": None, "a legacy capsule": None, "a capsule to be refused": c.table_capsule(8, "dltensor2"),
    "a producer": Producer(), "a producer of legacy capsules": Producer(0), "a legacy producer": Legacy(),
    "a producer that raises": Refuses(), "a producer that lies": Lies(),
    "a table": Table(),
    "an array interface": Interface(memory),
    "an array interface with strides": Interface(memory, strides=(8, 16)),
    "an array interface with an offset": Interface(memory, offset=8),
    "an array interface to be refused": Interface(memory, descr=[("a", "<f4"), ("b", "<f4")]),
    "bytes": b"bytes", "a bytearray": bytearray(b"bytes"), "an array.array": array.array("d", [1, 2, 3]),
    "a memoryview": memoryview(memory), "a view of bytes to be refused": memoryview(b"abcdabcd").cast("P"),
    "a list": [1.0, 2, True], "lists": [[1.0, 2.0], [3.0, 4.0]], "a list to be refused": [[1.0], [2.0, 3.0]],
    "complex numbers": (1j, 2.0), "a range": range(5), "rows": Rows([[1.0, 2.0], (3, 4)]), "an iterable": Gives(),
    "a number": 5.5, "a number to be asked": Whole(), "no number": {}, "a list of none": [[1.0], [None]],
    "producers": [Producer(), Producer(0)],
    "buffers": [array.array("d", [1, 2]), [3.0, 4.0], bytearray(b"ab")],
}
if np is not None:
    objects.update({
        "an array": np.arange(6.0).reshape(2, 3), "an array of dimensions": np.zeros((1,) * 20),
        "a view": np.arange(9.0)[::-2],
        "an array to be refused": np.arange(3.0).astype(">f8"), "records": np.zeros(2, "f8,f8"),
        "a scalar": np.float64(3),
        "what has an array": Method(), "arrays": [np.arange(3.0), np.arange(3)],
        "a matrix": np.arange(3.0).view(np.matrix),
    })
def again(name):
    "A capsule is used once."
    return double.exchange_capsule(0 if "legacy" in name else 1)
]==], {})
py.set(ns, "double", double)
py.set(ns, "table", double.exchange_table(py.bytes "working"))
py.exec("Table.__dlpack_c_exchange_api__ = table", ns)
local testcapi = ns:get "_testcapi"

-- How to let the nth allocation fail, and how to end that: whether one has failed, nil where that is not known.
local starve, feed
if mode == "python" then
  if testcapi == nil or py.is(testcapi, py.None) then return print "this Python has no _testcapi" end
  local set, unset = testcapi.set_nomemory, testcapi.remove_mem_hooks
  function starve(n) set(n, n + 1) end
  function feed()
    for _ = 1, 3 do
      if pcall(unset) then return nil end
    end
  end
else
  local low, high
  for line in io.lines "/proc/self/maps" do
    local first, last, path = line:match "^(%x+)%-(%x+) .-(/%S+)$"
    if path == lib.path then
      low, high = low or tonumber(first, 16), tonumber(last, 16)
    end
  end
  assert(ffi.C.allocation_watch(ffi.cast("void *", low), high - low) == 0)
  function starve(n) ffi.C.allocation_fail(n) end
  function feed() return ffi.C.allocation_fail(-1) > 0 end
end

local target = xchg.tensor { 5, 6 }
local function state_of(t)
  return table.concat({ tostring(t._ptr), t._slot, t._ndim, t._flags, tostring(t._numel) }, " ")
end
local into_reset = xchg.tensor { 5, 6 }

local ENTRIES = {
  { "from_dlpack", xchg.from_dlpack },
  { "from_dlpack, copy", function(x) return xchg.from_dlpack(x, { copy = true }) end },
  { "from_buffer", xchg.from_buffer },
  { "from_cai", xchg.from_cai },
  { "asarray", xchg.asarray },
  { "asarray, dtype", function(x) return xchg.asarray(x, { dtype = "complex128" }) end },
  { "asarray, interfaces", function(x)
    return xchg.asarray(x, { protocols = { "array_struct", "array_interface", "array" } })
  end },
  { "into", function(x) xchg.into(target, x) end },
  { "probe", function(x) xchg.probe(x) end },
}

local function is_pending() return ffi.C.PyErr_Occurred() ~= nil end
local names = {}
for name in py.iter(ns:get "objects") do names[#names + 1] = name end
table.sort(names)
local objects, again = ns:get "objects", ns:get "again"

-- One import with the nth allocation failing: whether it was reached, as far as that is known, and whether it failed.
local function try(what, import, x, n)
  local before = state_of(target)
  starve(n)
  local done, result = pcall(import, x)
  local reached = feed()
  if py.locked(is_pending) then
    wrong(what, "an exception is left pending")
    os.exit(1)
  end
  local is_other = state_of(target) ~= before
  if is_other then xchg.into(target, into_reset) end
  if not done then
    if not is_error(result) and result ~= "not enough memory" then
      wrong(what, "no error of the library: " .. tostring(result))
    end
    if is_other then wrong(what, "into has changed the tensor, and raised: " .. tostring(result)) end
  elseif result ~= nil then
    result:release()
  end
  return reached, not done
end

local function settle(what, before)
  capsules.settle()
  local after = xchg.stats()
  for _, name in ipairs { "tensors", "storages", "pending" } do
    if after[name] ~= before[name] then wrong(what, ("%s: %d, not %d"):format(name, after[name], before[name])) end
  end
end

local count = 0
for _, entry in ipairs(ENTRIES) do
  for _, name in ipairs(names) do
    local import, what = entry[2], entry[1] .. " of " .. name
    if trace then print(what) end
    local is_capsule = name:find "capsule$" ~= nil
    local x = is_capsule and again(name) or py.get(objects, name)
    -- What is learned of a type once is learned before.
    local done, result = pcall(import, x)
    if done and result ~= nil then result:release() end
    if entry[1] == "into" and done then xchg.into(target, into_reset) end
    capsules.settle()
    local before = xchg.stats()
    local fine = 0
    for n = 0, 400 do
      if is_capsule then x = again(name) end
      local reached, failed = try(what .. ", allocation " .. n, import, x, n)
      count = count + 1
      fine = failed == not done and fine + 1 or 0
      -- Where what has failed is not told, that it goes as it does with all memory several times shows the end.
      if reached == false or reached == nil and fine == 12 then break end
    end
    x = nil -- luacheck: ignore
    settle(what, before)
  end
end
target:release()
into_reset:release()
objects:clear()
capsules.collect()
if double.exchange_made() ~= double.exchange_deleted() or double.exchange_twice() ~= 0 then
  wrong("producers", ("%d made, %d deleted, %d twice"):format(double.exchange_made(), double.exchange_deleted(),
    double.exchange_twice()))
end
print(("the end of %d"):format(count))
