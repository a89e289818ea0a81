--- Imports objects that do harm while they are asked, through every function that imports: a program of its own, run by
--- import_mischief_spec. What must not be is printed. Arguments: of so many cases one is tried, and which of them; and,
--- to look at some, a part of an entry's name, and of what is done.

local ffi = require "ffi"
local xchg = require "xchg"
local capsules = require "spec.support.capsules"
local producers = require "spec.support.producers"

local py = xchg.python
local is_error = require("xchg.error").is
ffi.cdef "void *PyErr_Occurred(void);"

local step, first, only_entry, only_deed = tonumber(arg[1] or 1), tonumber(arg[2] or 1), arg[3] or "", arg[4] or ""
local trace = os.getenv "XCHG_SPEC_NAMES"

local wrongs = 0
local function wrong(what, problem)
  wrongs = wrongs + 1
  if wrongs <= 40 then print(("%s: %s"):format(what, tostring(problem):sub(1, 400))) end
end

local c, m = capsules.module(), producers.module "mischief"
py.import("sys").unraisablehook = py.eval "lambda info: None"
local make, make_good, box = m.make, m.make_good, m.box

local target

local function state_of(t)
  return table.concat({ tostring(t._ptr), t._slot, t._ndim, t._flags, t._device_type, tostring(t._numel), t[1], t[2] },
    " ")
end

local function none_or(fn)
  return function(x)
    local found, reason = fn(x)
    if not found and type(reason) ~= "string" then wrong("probe gives no reason", reason) end
    return nil
  end
end

-- name, function; what comes out must be a tensor or nil
local ENTRIES = {
  { "from_dlpack", xchg.from_dlpack },
  { "from_dlpack, copy", function(x) return xchg.from_dlpack(x, { copy = true }) end },
  { "from_dlpack, device", function(x) return xchg.from_dlpack(x, { device = "cpu", readonly = false }) end },
  { "from_cai", xchg.from_cai },
  { "from_buffer", xchg.from_buffer },
  { "asarray", xchg.asarray },
  { "asarray, copy = false", function(x) return xchg.asarray(x, { copy = false }) end },
  { "asarray, dtype", function(x) return xchg.asarray(x, { dtype = "float32" }) end },
  { "asarray, protocols", function(x)
    return xchg.asarray(x, { protocols = { "array", "array_interface", "array_struct", "buffer", "dlpack" } })
  end },
  { "asarray of a list", function() return xchg.asarray(box) end },
  { "asarray of a table", function(x) return xchg.asarray { x, { 1, 2, 3, 4 }, x } end },
  { "into", function(x)
    local before = state_of(target)
    local done, problem = pcall(xchg.into, target, x)
    if done then
      xchg.into(target, xchg.tensor { 5, 6 })
      return nil
    end
    if state_of(target) ~= before then wrong("into has changed the tensor that it refused", before) end
    error(problem, 0)
  end },
  { "probe", none_or(xchg.probe) },
  { "probe of a list", none_or(function() return xchg.probe(box) end) },
}

local RIGHT = { [4] = { 1, 2, 3, 4 } }

local function is_pending() return ffi.C.PyErr_Occurred() ~= nil end

local function check(what, done, result, harmless)
  if py.locked(is_pending) then
    wrong(what, "an exception is left pending")
    os.exit(1)
  end
  if not done then
    if not is_error(result) then wrong(what, "no error of the library: " .. tostring(result)) end
    return
  end
  if result == nil then return end
  if not xchg.is_tensor(result) then return wrong(what, "no tensor: " .. tostring(result)) end
  if harmless and result.ndim == 1 and #result == 4 then
    for i, value in ipairs(RIGHT[4]) do
      if result[i] ~= value then wrong(what, ("element %d is %s"):format(i, tostring(result[i]))) end
    end
  end
  result:release()
end

local function try(what, import, x, harmless)
  if trace then print(what) end
  local done, result = pcall(import, x)
  make_good()
  check(what, done, result, harmless)
end

local function settle(what)
  make_good()
  capsules.collect()
  local left, twice = py.unpack(c.account())
  if left ~= 0 or twice ~= 0 then wrong(what, ("%d were not deleted, %d twice"):format(left, twice)) end
  local alive = py.len(m.alive)
  if alive ~= 0 then
    wrong(what, ("%d objects are alive"):format(alive))
    m.alive:clear()
  end
end

local deeds = {}
for _, row in ipairs(py.totable(m.deeds(), 2)) do deeds[#deeds + 1] = row end
local cases = py.totable(m.cases(), 2)

xchg.from_dlpack(c.make().take()):release()
capsules.collect()
c.account()
local before = xchg.stats()
target = xchg.tensor { 5, 6 }
local count, tried = 0, 0
for _, entry in ipairs(ENTRIES) do
  if entry[1]:find(only_entry, 1, true) then
    for _, case in ipairs(cases) do
      local kind, place = case[1], case[2]
      for _, deed in ipairs(deeds) do
        local what = ("%s of '%s' that %s at '%s'"):format(entry[1], kind, deed[1], place)
        count = count + 1
        if count % step == first % step and what:find(only_deed, 1, true) then
          try(what, entry[2], make(kind, place, deed[2]), deed[3])
          tried = tried + 1
          if tried % 500 == 0 then settle(what .. ", or one of the 500 before") end
        end
      end
    end
    settle(entry[1])
  end
end
target:release()
capsules.collect()
local after = xchg.stats()
for _, name in ipairs { "storages", "external_bytes", "pending" } do
  if after[name] ~= before[name] then wrong(name, ("%d, not %d"):format(after[name], before[name])) end
end
print(("the end of %d"):format(tried))
