-- Deleters that take everything with them: the managed tensor, its shape and strides, and the memory are unmapped when they
-- have run. Whoever looks at any of it afterwards ends the process, so this is a process of its own.

local capsules = require "spec.support.capsules"
local child = require "spec.support.child"
local cuda_ = require "spec.support.cuda"

local SOURCE = [==[
local xchg = require "xchg"
local capsules = require "spec.support.capsules"
local producers = require "spec.support.producers"
local py = xchg.python
local kw = py.kwargs
producers.module "exporter"
local d = producers.module "doors"
local ns = py.exec([=[
import ctypes, mmap, sys
c = sys.modules["xchg_capsules"]
d = sys.modules["xchg_doors"]
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
made = gone = 0

def unmap(address):
    global gone
    gone += 1
    assert libc.munmap(address & -mmap.PAGESIZE, mmap.PAGESIZE) == 0

DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(unmap)

@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def destroy(capsule):
    name = c._name_at(capsule)
    if ctypes.string_at(name) in (c.LEGACY, c.VERSIONED):
        unmap(c._pointer(capsule, name))

class Record(ctypes.Structure):
    _fields_ = [("legacy", c.Legacy), ("versioned", c.Versioned), ("shape", ctypes.c_int64 * 2),
                ("strides", ctypes.c_int64 * 2), ("data", ctypes.c_double * 6)]

def managed(kind, **fields):
    """The address of a managed tensor of (2, 3) that is alone on its page."""
    global made
    made += 1
    page = libc.mmap(None, mmap.PAGESIZE, 3, 0x22, -1, 0)
    record = Record.from_address(page)
    record.shape[:], record.strides[:], record.data[:] = (2, 3), (1, 2), range(6)
    struct = getattr(record, kind)
    if kind == "versioned": struct.major, struct.minor = 1, 3
    struct.manager_ctx, struct.deleter = page, ctypes.cast(DELETER, ctypes.c_void_p)
    t = struct.tensor
    t.data, t.device_type, t.ndim, t.code, t.bits, t.lanes = page + Record.data.offset, 1, 2, 2, 64, 1
    t.shape = ctypes.cast(page + Record.shape.offset, ctypes.POINTER(ctypes.c_int64))
    t.strides = ctypes.cast(page + Record.strides.offset, ctypes.POINTER(ctypes.c_int64))
    for name, value in fields.items():
        setattr(struct if hasattr(struct, name) else t, name, value)
    return page + getattr(Record, kind).offset

def capsule(kind, **fields):
    name = c.VERSIONED if kind == "versioned" else c.LEGACY
    return c._new(managed(kind, **fields), c._static(name), ctypes.cast(destroy, ctypes.c_void_p))

class Producer:
    def __init__(self, kind, **fields): self.kind, self.fields = kind, fields
    def __dlpack_device__(self): return (1, 0)
    def __dlpack__(self, *, max_version=None, stream=None, copy=None): return capsule(self.kind, **self.fields)

@ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(ctypes.c_void_p))
def from_py(x, out):
    out[0] = managed("versioned", **x.fields)
    return 0

class Api:
    __dlpack_c_exchange_api__ = c.table(from_py=d.function(from_py))
    def __init__(self, kind, **fields): self.fields = fields
]=], {})
local function counts() return py.get(ns, "made"), py.get(ns, "gone") end
local sum = 0
local function look(t)
  sum = sum + t:at(2, 3)
  assert(t:at(2, 3) == 5 and t:at(1, 2) == 2 and t.shape[2] == 3)
end

-- How a tensor over it ends; each is to leave nothing.
local ENDS = {
  release = function(x) local t = xchg.from_dlpack(x) look(t) t:release() py.collect() assert(t._slot == 0) end,
  views = function(x)
    local t = xchg.from_dlpack(x)
    local v, w = t:transpose(1, 2), t[1]
    t:release() py.collect()
    assert(v:at(3, 2) == 5) v:release() py.collect()
    assert(w[3] == 4) w:release() py.collect()
  end,
  collect = function(x) look(xchg.from_dlpack(x)) end,
  copy = function(x) local t = xchg.from_dlpack(x, { copy = true }) py.collect() look(t) t:release() end,
  asarray = function(x) local t = xchg.asarray(x) look(t) t:release() py.collect() end,
  cast = function(x) local t = xchg.asarray(x, { dtype = "int32" }) py.collect() look(t) t:release() end,
  into = function(x)
    local t = xchg.into(xchg.zeros { 1 }, x)
    look(t)
    xchg.into(t, xchg.ones { 2, 3 })
    py.collect()
    assert(t:at(2, 3) == 1)
    t:release()
  end,
  stacked = function(x) local t = xchg.asarray { x } py.collect() assert(t:at(1, 2, 3) == 5) t:release() end,
  text = function(x)
    local t = xchg.from_dlpack(x)
    assert(tostring(t):find "5")
    local shape, strides = t.shape, t.strides
    t:release() py.collect()
    assert(shape[2] == 3 and strides[2] == 2 and tostring(t) == "[released tensor]")
  end,
  readonly = function(x) assert(not pcall(xchg.from_dlpack, x, { readonly = false })) end,
  ["no copy"] = function(x) assert(not pcall(xchg.from_dlpack, x, { copy = false })) end,
  ["another device"] = function(x) assert(not pcall(xchg.from_dlpack, x, { device = "rocm" })) end,
  ["another dtype"] = function(x) assert(not pcall(xchg.into, xchg.zeros({ 1 }, { dtype = "int8" }), x)) end,
  refused = function(x) for _, fn in ipairs { xchg.from_dlpack, xchg.asarray } do assert(not pcall(fn, x)) end end,
  probe = function(x) assert(xchg.probe(x).shape[2] == 3) end,
  unused = function() end,
}
-- Fields of what is refused.
local FIELDS = { readonly = { flags = 1 }, ["no copy"] = { flags = 2 }, refused = { ndim = 65 } }
local LEGACY_LACKS = { readonly = true, ["no copy"] = true }

for _, kind in ipairs { "legacy", "versioned" } do
  for _, source in ipairs { "capsule", "Producer", "Api" } do
    for name, finish in pairs(ENDS) do
      local skip = kind == "legacy" and (LEGACY_LACKS[name] or source == "Api") or source == "capsule" and name == "no copy"
      if not skip then
        local make = py.get(ns, source)
        finish(make(kind, kw(FIELDS[name] or {})))
        capsules.settle()
        local made, gone = counts()
        if made ~= gone then error(("%s %s %s: made %d, gone %d"):format(kind, source, name, made, gone)) end
      end
    end
  end
end
for i = 1, 500 do look(xchg.from_dlpack(py.get(ns, "capsule")(i % 2 == 0 and "legacy" or "versioned"))) end
capsules.collect()
local made, gone = counts()
assert(made == gone, made - gone)
KEPT = { xchg.from_dlpack(py.get(ns, "capsule") "legacy"), xchg.from_dlpack(py.get(ns, "Api")(0)) }
print("made", made)
]==]

describe("a deleter that unmaps what it deletes", function()
  for _, ending in ipairs { "os.exit(0)", "os.exit(0, true)", "" } do
    it("is nobody's harm, and runs once for each tensor; the process ends by " .. (ending == "" and "itself" or ending), function()
      local reason = ending == "os.exit(0)" and cuda_.no_open_end()
      if reason then return pending(reason) end
      capsules.module()
      local result = child.run(SOURCE .. ending)
      assert.equal(0, result.status, result.stderr)
      assert.truthy(result.stdout:find "^made\t%d%d%d", result.stdout)
      assert.equal("", result.stderr)
    end)
  end
end)
