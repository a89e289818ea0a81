-- Capsules of managed tensors whose fields are anything, through every import: an oracle says which are arrays, and
-- what they are. What is refused stays as it was; what is taken is deleted once. XCHG_TEST_SEEDS=10: ten times as many.

local ffi = require "ffi"
local xchg = require "xchg"
local capsules = require "spec.support.capsules"
local forge = require "spec.support.forge"

local py = xchg.python
local C = ffi.C
local SEEDS = tonumber(os.getenv "XCHG_TEST_SEEDS") or 1
local CASES = 400 -- of one seed and door, before the account is made

local records = ffi.new("forge_record[?]", CASES)
local fates = {}
local list, address, producer

setup(function()
  forge.library()
  list = py.list()
  list = py.eval("[None] * n", { n = CASES })
  address = ffi.cast("void *", py.id(list))
  producer = py.exec([[
class Producer:
    def __dlpack_device__(self): return self.device
    def __dlpack__(self, **keywords): return self.capsule
]], {}):get "Producer"
end)

teardown(function() list, producer, fates = nil, nil, {} end)

local text = forge.text

-- ---- doors --------------------------------------------------------------------------------------------
-- Each takes the capsule and what the oracle says, and gives what pcall gives; the oracle is told what else it must be.

local function refuse(oracle, code)
  oracle.codes[code], oracle.refused = true, true
end

local function host_device(device)
  return device == "cpu" or device == "cuda_host" or device == "rocm_host"
end

-- What a tensor is, as text.
local function state_of(t)
  local out = { tostring(t._ptr), t._slot, t._dtype, t._device_type, t._device_id, t._flags, t._protocol, t._ndim,
    t._rank, tostring(t._numel), tostring(t._size) }
  for d = 0, t._ndim - 1 do
    out[#out + 1] = tostring(t._shape[d])
    out[#out + 1] = tostring(t._strides[d])
  end
  return table.concat(out, " ")
end

local targets = {} -- by dtype

local function into(capsule, oracle, wrong)
  local name = forge.random(4) > 0 and oracle.dtype or forge.pick { "float64", "uint8", "float4_e2m1fn" }
  local t = targets[name]
  if not t then
    t = xchg.empty(name:find "^float[48]" and { 1, 2 } or 2, { dtype = name })
    targets[name] = t
  end
  if name ~= oracle.dtype then
    refuse(oracle, "unsupported_dtype")
    oracle.given_back = oracle.owner ~= nil -- what a producer has made for us is taken, looked at and deleted
  end
  local was_released = t._slot ~= 0 and forge.random(4) == 0
  if was_released then t:release() end
  local before = state_of(t)
  local done, problem = pcall(xchg.into, t, capsule)
  if done then
    if not rawequal(problem, t) then wrong "into returns another tensor" end
    return true, t
  end
  if state_of(t) ~= before then wrong "the tensor has changed" end
  return false, problem
end

local function from_producer(capsule, oracle, _)
  local x = producer()
  x.capsule = capsule
  local said = forge.random(3) == 0 and { forge.pick { 1, 2, 4, 8, 11, 0, -1 }, forge.pick { 0, 0, 3 } }
    or { oracle.kind, oracle.id }
  local kind = said[1]
  x.device = py.tuple(said)
  if kind < 1 then refuse(oracle, "bad_descriptor") end
  if kind > 255 or kind == 5 or kind == 6 then refuse(oracle, "unsupported_device") end
  if forge.CUDA[kind] then forge.ask_cuda(oracle) end
  local host = forge.HOST[kind] and forge.HOST[oracle.kind] and kind ~= 13 and oracle.kind ~= 13
  local cuda = (kind == 2 or kind == 13) and (oracle.kind == 2 or oracle.kind == 13)
  if not host and not ((cuda or kind == oracle.kind) and said[2] == oracle.id) then refuse(oracle, "bad_descriptor") end
  oracle.owner = x
  return x
end

-- Reads all of it, so not what points anywhere.
local function copied(function_of, readable)
  return function(capsule, oracle)
    oracle.skipped = oracle.wild or readable and not oracle.readable
      or oracle.device ~= "cpu" and oracle.device ~= "rocm_host"
    if oracle.skipped then return end
    oracle.copy = true
    return pcall(function_of, capsule)
  end
end

local DOORS = {
  { "from_dlpack", function(capsule) return pcall(xchg.from_dlpack, capsule) end },
  { "from_dlpack, readonly = false", function(capsule, oracle)
    if oracle.readonly then refuse(oracle, "readonly") end
    return pcall(xchg.from_dlpack, capsule, { readonly = false })
  end },
  { "from_dlpack, copy = false", function(capsule) return pcall(xchg.from_dlpack, capsule, { copy = false }) end },
  { "from_dlpack, copy = true", copied(function(capsule) return xchg.from_dlpack(capsule, { copy = true }) end) },
  { "from_dlpack, device = 'cpu'", function(capsule, oracle)
    if not host_device(oracle.device) then refuse(oracle, "unsupported_device") end
    return pcall(xchg.from_dlpack, capsule, { device = "cpu" })
  end },
  { "from_dlpack of a producer", function(capsule, oracle)
    return pcall(xchg.from_dlpack, from_producer(capsule, oracle))
  end },
  { "asarray", function(capsule) return pcall(xchg.asarray, capsule) end },
  { "asarray, copy = false", function(capsule) return pcall(xchg.asarray, capsule, { copy = false }) end },
  { "asarray, copy = true", copied(function(capsule) return xchg.asarray(capsule, { copy = true }) end) },
  { "asarray, dtype = 'complex128'", copied(function(capsule)
    return xchg.asarray(capsule, { dtype = "complex128" })
  end, true) },
  { "asarray of a producer", function(capsule, oracle)
    return pcall(xchg.asarray, from_producer(capsule, oracle))
  end },
  { "into", into },
  { "into of a producer", function(capsule, oracle, wrong)
    return into(from_producer(capsule, oracle), oracle, wrong)
  end },
  { "probe", function(capsule, oracle, wrong)
    local found, reason = xchg.probe(capsule)
    oracle.probed = true
    if not found then
      if type(reason) ~= "string" then wrong "no reason" end
      return false, reason
    end
    if found.protocol ~= "dlpack" or found.dtype ~= oracle.dtype or found.device ~= oracle.device
      or found.readonly ~= oracle.readonly or #found.shape ~= oracle.ndim then wrong "probe says something else" end
    return true, found
  end },
  { "probe of a producer", function(capsule, oracle, wrong)
    local found, reason = xchg.probe(from_producer(capsule, oracle))
    oracle.probed, oracle.given_back = true, true
    if not found then return false, reason end
    if found.dtype ~= oracle.dtype or found.device ~= oracle.device then wrong "probe says something else" end
    return true, found
  end },
}

local function check_taken(wrong, i, t, capsule, name, record, kind, oracle)
  if oracle.refused then wrong "it is taken" end
  if text(C.PyCapsule_GetName(capsule)) ~= "used_" .. text(name) then wrong "the capsule is not named used" end
  if C.PyCapsule_GetDestructor(capsule) ~= nil then wrong "the capsule has its destructor" end
  if not oracle.copy then forge.check(wrong, t, record, kind, oracle) end
  local again, e = pcall(xchg.from_dlpack, py.get(list, i))
  if again or e.code ~= "bad_capsule" then wrong "it is taken twice" end
  if oracle.owner and not py.is(t.owner, oracle.owner) then wrong "its owner is another" end
  -- Given back by itself, or by what comes in its place.
  if t.dtype == "float64" and forge.random(2) == 0 then xchg.into(t, xchg.empty(1)) end
  t:release()
  py.collect()
end

local function check_refused(wrong, e, capsule, name, destructor, record, oracle)
  if not oracle.probed then
    if type(e) ~= "table" or not e.code then wrong("no error object: " .. tostring(e)) end
    if not oracle.codes[e.code] then wrong("it is refused: " .. e.code .. ": " .. e.message) end
  elseif e and next(oracle.codes) == nil then
    wrong("it is refused: " .. e)
  end
  if oracle.given_back and text(C.PyCapsule_GetName(capsule)) == "used_" .. text(name) then return true end
  if C.PyCapsule_GetName(capsule) ~= name then wrong "the capsule has another name" end
  if (C.PyCapsule_GetDestructor(capsule) ~= nil) ~= (destructor and true or false) then
    wrong "its destructor is another"
  end
  if C.PyCapsule_GetPointer(capsule, name) ~= ffi.cast("void *", record) then wrong "its pointer is another" end
end

-- How often a record is deleted by its capsule's destructor, which is the producer's.
local function fate_of_fresh(kind, name, destructor, deletes)
  if destructor == "forge_destroy_sloppily" then return 1 end
  return destructor and text(name) == (kind == "versioned" and "dltensor_versioned" or "dltensor") and deletes or 0
end

local function check_case(door, seed, i)
  local record = records[i]
  local kind = forge.random(2) == 0 and "legacy" or "versioned"
  local tensor = forge.fill(record, kind)
  local capsule, name, destructor = forge.capsule(record, kind, address, i)
  local oracle = forge.judge(record, kind, name or false)
  oracle.kind, oracle.id, oracle.ndim = tensor.device_type, tensor.device_id, tensor.ndim
  if forge.CUDA[oracle.kind] then forge.ask_cuda(oracle) end
  local shown
  local function wrong(what) error(what .. ": " .. shown() .. ", named " .. text(name), 0) end
  local as_made = ffi.new("forge_record", record)
  function shown() return ("%s, seed %d, case %d: %s"):format(door[1], seed, i, forge.describe(as_made, kind)) end
  local managed = kind == "versioned" and record.versioned or record.legacy
  local deletes = managed.deleter ~= nil and 1 or 0
  local done, t = door[2](py.get(list, i), oracle, wrong)
  fates[i] = fate_of_fresh(kind, name, destructor, deletes)
  if C.PyErr_Occurred() ~= nil then wrong "an exception is left pending" end
  if oracle.skipped then return false end
  if record.deleted > (oracle.copy and done and deletes or 0) and not oracle.given_back then wrong "it was deleted" end
  if done and not oracle.probed then
    check_taken(wrong, i, t, capsule, name, record, kind, oracle)
    if record.deleted ~= deletes then wrong(("it is deleted %d times"):format(record.deleted)) end
    fates[i] = deletes
  else
    if done and oracle.refused then wrong "probe says that it gives a tensor" end
    local consumed = check_refused(wrong, not done and t or nil, capsule, name, destructor, record, oracle)
    if consumed then
      py.collect()
      if record.deleted ~= deletes then wrong(("it is deleted %d times"):format(record.deleted)) end
      fates[i] = deletes
    elseif record.deleted ~= 0 then
      wrong "it is deleted"
    end
  end
  return done
end

-- Every capsule of the list dies, also after a failure: their records go with this file.
local function drop_all()
  for name, t in pairs(targets) do
    t:release()
    targets[name] = nil
  end
  local none = ffi.cast("void *", py.id(py.None))
  for i = 0, CASES - 1 do
    C.Py_IncRef(none)
    C.PyList_SetItem(address, i, none)
  end
  capsules.settle()
end

local function run(door, seed)
  forge.seed(seed)
  local taken = 0
  local done, problem = pcall(function()
    for i = 0, CASES - 1 do
      if check_case(door, seed, i) then taken = taken + 1 end
    end
  end)
  drop_all()
  if not done then error(problem, 0) end
  for i = 0, CASES - 1 do
    if records[i].deleted ~= fates[i] then
      error(("%s, seed %d, case %d: deleted %d times, not %d"):format(door[1], seed, i, records[i].deleted,
        fates[i]), 0)
    end
  end
  return taken
end

describe("a capsule of anything", function()
  for _, door in ipairs(DOORS) do
    it("is taken or refused as the oracle says: " .. door[1], function()
      local taken = 0
      for seed = 1, SEEDS do taken = taken + py.locked(run, door, seed) end
      -- The dice give both.
      local part = taken / (CASES * SEEDS)
      assert.is_true(part > 0.1 and part < 0.9, part .. " of them were taken")
      assert.equal(0, xchg.stats().storages)
    end)
  end
end)
