-- Tables of DLPack's C exchange API of any version, with any of their functions, which fail in every way and give
-- managed tensors of anything: an oracle says by which way an object is imported, and what the tensor is.
-- XCHG_TEST_SEEDS=10: ten times as many.

local ffi = require "ffi"
local xchg = require "xchg"
local capsules = require "spec.support.capsules"
local forge = require "spec.support.forge"

local py = xchg.python
local C = ffi.C
local SEEDS = tonumber(os.getenv "XCHG_TEST_SEEDS") or 1
local CASES = 600

ffi.cdef "extern void *PyExc_BufferError, *PyExc_KeyboardInterrupt, *PyExc_MemoryError;"

-- What the table gives, and what `__dlpack__` does.
local records = ffi.new("forge_record[2]")
local list, address, class

setup(function()
  forge.library()
  list = py.eval "[None, None]"
  address = ffi.cast("void *", py.id(list))
  local ns = py.exec([[
def make(list, attribute, value, method):
    members = {attribute: value}
    if method:
        members["__dlpack_device__"] = lambda self: (1, 0)
        members["__dlpack__"] = lambda self, **keywords: list[1]
    return type("Exchanging", (), members)()
]], {})
  class = ns:get "make"
end)

teardown(function() list, class = nil, nil end)

local ERRORS = { false, false, "PyExc_BufferError", "PyExc_MemoryError", "PyExc_KeyboardInterrupt" }

local function dice(behaviour, given)
  local error_name = forge.pick(ERRORS)
  behaviour.result = forge.random(3) == 0 and forge.pick { -1, 1, -2 ^ 31 } or 0
  behaviour.error = error_name and C[error_name] or nil
  behaviour.given = given
  behaviour.calls = 0
  return behaviour
end

-- A chain of tables; its first, and the functions of the one that can be read (nil: none can).
local function tables()
  local library = forge.library()
  local chain, older = {}, nil
  for i = 1, forge.random(4) do
    local major, functions = forge.pick { 1, 1, 1, 0, 2, 3, 2 ^ 32 - 1 }, forge.pick { 0, 1, 1, 3, 5, 7, 7, 6 }
    older = library.forge_table(major, forge.random(9), functions, older)
    chain[i] = { major = major, functions = functions }
  end
  for i = #chain, 1, -1 do
    if chain[i].major == 1 then return older, chain[i].functions end
  end
  return older, nil
end

local function bits(number, bit_) return bit.band(number, bit_) ~= 0 end

-- What becomes of an object: "table", "method", or an error's code.
local function fate(functions, owning, has_method)
  local works = functions and bits(functions, 1)
  if works and owning.result == 0 and owning.given ~= nil then return "table" end
  if has_method then return "method" end
  return works and "refused" or "no_protocol"
end

local function check_case(seed, i)
  local library = forge.library()
  local record, other = records[0], records[1]
  local wild = forge.random(3) == 0
  forge.fill(record, "versioned")
  forge.fill(other, "versioned")
  if not wild then -- one that is right
    local tensor = record.versioned.tensor
    record.versioned.major, record.versioned.flags, tensor.device_type, tensor.device_id = 1, 0, 1, 0
    tensor.ndim, tensor.shape, tensor.strides, tensor.byte_offset = 1, record.shape, record.strides, 0
    tensor.data, tensor.code, tensor.bits, tensor.lanes = forge.memory, 1, 8, 1
    record.shape[0], record.strides[0] = 4, 1
  end
  C.PyList_SetItem(address, 1, C.PyCapsule_New(other, "dltensor_versioned", nil))
  local owning = dice(library.forge_owning, forge.random(5) > 0 and record or nil)
  dice(library.forge_borrowing, record)
  dice(library.forge_stream, nil)
  local first, functions = tables()
  local has_method = forge.random(3) > 0
  local value
  if first == nil then
    functions, value = nil, forge.pick { py.None, 0, 8, -1, "text" }
  elseif forge.random(2) == 0 then
    value = ffi.cast("uint64_t", ffi.cast("uintptr_t", first))
  else
    local named = forge.random(6) > 0
    if not named then functions = nil end
    C.PyList_SetItem(address, 0, C.PyCapsule_New(first, named and "dlpack_exchange_api" or "dlpack_exchange", nil))
    value = py.get(list, 0)
  end
  local spelling = forge.pick { "__dlpack_c_exchange_api__", "__c_dlpack_exchange_api__" }
  local x = class(list, spelling, value, has_method)

  local goes = fate(functions, owning, has_method)
  local by_table = goes == "table"
  local judged = by_table and record or other
  local oracle = forge.judge(judged, "versioned")
  local where = judged.versioned.tensor.device_type
  if goes ~= "table" and goes ~= "method" then
    oracle.codes, oracle.refused = { [goes] = true }, true
  end
  if forge.CUDA[where] or goes == "method" then forge.ask_cuda(oracle) end
  if goes == "method" and not (forge.HOST[where] and where ~= 13) then oracle.refused = true end
  local shown = ("seed %d, case %d, by %s: %s"):format(seed, i, goes, forge.describe(judged, "versioned"))
  local function wrong(what) error(what .. ": " .. shown, 0) end

  local deletes = judged.versioned.deleter ~= nil and 1 or 0
  local into = forge.random(4) == 0 and not oracle.refused and oracle.dtype
    and xchg.empty({ 1, 2 }, { dtype = oracle.dtype })
  local done, t
  if into then
    done, t = pcall(xchg.into, into, x)
  else
    done, t = pcall(forge.pick { xchg.from_dlpack, xchg.asarray }, x)
  end
  if C.PyErr_Occurred() ~= nil then wrong "an exception is left pending" end
  if done then
    if oracle.refused then wrong "it is taken" end
    if judged.deleted ~= 0 then wrong "it was deleted" end
    if t.protocol ~= (by_table and "exchange_api" or "dlpack") then wrong("it came by " .. t.protocol) end
    forge.check(wrong, t, judged, "versioned", oracle)
    t:release()
    py.collect()
    if judged.deleted ~= deletes then wrong(("it is deleted %d times"):format(judged.deleted)) end
  else
    if type(t) ~= "table" or not t.code then wrong("no error object: " .. tostring(t)) end
    if not oracle.codes[t.code] then wrong("it is refused: " .. t.code .. ": " .. t.message) end
    -- What the table has handed over, again where CUDA had to be opened first, is ours to delete.
    if judged.deleted ~= (by_table and deletes * owning.calls or 0) then wrong(("it is deleted %d times"):format(judged.deleted)) end
    if into then into:release() end
  end
  if not by_table and record.deleted ~= 0 then wrong "what the table did not give was deleted" end
  return done
end

describe("a table of anything", function()
  it("is used, passed over or refused as the oracle says", function()
    local taken = 0
    for seed = 1, SEEDS do
      forge.seed(seed)
      py.locked(function()
        for i = 1, CASES do
          if check_case(seed, i) then taken = taken + 1 end
        end
      end)
      capsules.settle()
    end
    local part = taken / (CASES * SEEDS)
    assert.is_true(part > 0.1 and part < 0.9, part .. " of them were taken")
    assert.equal(0, xchg.stats().storages)
  end)
end)
