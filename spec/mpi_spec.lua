-- Memory of mpi4py: what MPI allocates, its windows and other memory that mpi4py's buffers name. All of it comes in as
-- bytes, which the option dtype names. In a process of its own: MPI starts with its import, and wants to be ended.

local child = require "spec.support.child"
local libraries = require "spec.support.libraries"

-- source of x, options, then what comes: dtype, values, read-only; or the code
local ROWS = {
  { "zeroed(MPI.Alloc_mem(4))", "nil", "uint8 {0,0,0,0} false" },
  { "zeroed(MPI.buffer.allocate(16))", "{ dtype = 'float64' }", "float64 {0,0} false" },
  { "MPI.buffer.allocate(0)", "nil", "uint8 {} false" },
  { "MPI.buffer.frombuffer(b'abcd', readonly=True)", "nil", "uint8 {97,98,99,100} true" },
  { "MPI.buffer.frombuffer(bytearray(b'abcd'), readonly=True)", "nil", "uint8 {97,98,99,100} true" },
  { "MPI.buffer.frombuffer(bytearray(b'abcd'))[1:3]", "{ dtype = 'uint16' }", "bad address" },
  { "MPI.buffer.fromaddress(ctypes.addressof(numbers), 24)", "{ dtype = 'float64' }", "float64 {1,2,3} false" },
  { "MPI.buffer.fromaddress(ctypes.addressof(numbers), 24, readonly=True)", "{ dtype = 'float64' }",
    "float64 {1,2,3} true" },
  { "zeroed(MPI.buffer.allocate(16)).cast('d')", "nil", "float64 {0,0} false" },
  { "zeroed(window.tomemory())", "{ dtype = 'int64' }", "int64 {0,0} false" },
  { "MPI.COMM_WORLD", "nil", "no_protocol" }, { "MPI.DOUBLE", "nil", "no_protocol" },
  { "MPI.Status()", "nil", "no_protocol" },
}

local SCRIPT = [[
local xchg = require "xchg"
local py = xchg.python
local found, MPI = pcall(py.import, "mpi4py.MPI")
if not found then return print "there is no MPI for mpi4py" end
local ns = py.exec([=[
from mpi4py import MPI
import ctypes
numbers = (ctypes.c_double * 3)(1, 2, 3)
window = MPI.Win.Allocate(16, 8, MPI.INFO_NULL, MPI.COMM_SELF)
def zeroed(memory):
    memoryview(memory)[:] = bytes(memory.nbytes)
    return memory
]=], {})
local function text(values) return "{" .. table.concat(values, ",") .. "}" end
local function try(source, options)
  local x = py.eval(source, ns)
  local ok, t = pcall(xchg.from_buffer, x, options)
  if not ok then return t.message:find("not a multiple", 1, true) and "bad address" or t.code end
  local values = {}
  for i = 1, #t do values[i] = tostring(t[i]):gsub("LL$", "") end
  local said = ("%%s %%s %%s"):format(t.dtype, text(values), t.readonly)
  t:release()
  return said
end
%s
-- The memory is one: what Lua writes a window's owner gets, and what it puts Lua reads.
local t = xchg.from_buffer(py.eval("window.tomemory()", ns), { dtype = "int64" })
t[1] = 41
py.exec("got = memoryview(window.tomemory()).cast('q')\ngot[1] = got[0] + 1", ns)
print("window", tonumber(t[2]))
t:release()
print("asarray", xchg.asarray(py.eval("zeroed(MPI.Alloc_mem(2))", ns)).protocol)
print("dlpack", select(2, pcall(xchg.from_dlpack, MPI.Alloc_mem(2))).message)
py.exec("got.release()\nwindow.Free()", ns)
MPI.Finalize()
]]

describe("memory of mpi4py", function()
  local result, absent

  setup(function()
    absent = libraries.absent "mpi4py"
    if absent then return end
    local lines = {}
    for i, row in ipairs(ROWS) do lines[i] = ("print(%d, try(%q, %s))"):format(i, row[1], row[2]) end
    result = child.run(SCRIPT:format(table.concat(lines, "\n")))
    absent = result.stdout:match "^there is no MPI for mpi4py"
  end)

  local function each(name, fn)
    it(name, function()
      if absent then return pending(absent) end
      assert.equal(0, result.status, result.stderr)
      fn(result.stdout)
    end)
  end

  for i, row in ipairs(ROWS) do
    each(("%s with %s is: %s"):format(row[1], row[2], row[3]), function(out)
      assert.equal(row[3], ("\n" .. out):match("\n" .. i .. "\t([^\n]*)"), out)
    end)
  end

  each("is shared with Lua", function(out) assert.truthy(out:find("\nwindow\t42\nasarray\tbuffer\n", 1, true), out) end)

  each("does not speak DLPack", function(out)
    assert.truthy(out:find("\ndlpack\tfrom_dlpack: mpi4py.MPI.buffer has no __dlpack__", 1, true), out)
  end)
end)
