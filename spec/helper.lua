-- Runs before the specs: gives them the real FFI and one xchg, and counts what each file leaves behind.
local busted = require "busted"
local ffi = require "ffi"

-- busted remembers what ffi.typeof, metatype, cdef and load returned by their first argument alone, so that
-- ffi.typeof("$ *", T) gives the first T's pointer for every other T. Put the real functions back.
for name, fn in pairs(ffi) do
  if type(fn) == "function" then
    for i = 1, 16 do
      local upvalue, value = debug.getupvalue(fn, i)
      if not upvalue then break end
      if upvalue == "original" and type(value) == "function" then ffi[name] = value end
    end
  end
end

-- Every file's modules are unloaded at its end, except those loaded here: Python starts once in a process, and C
-- structures are declared once.
local xchg = require "xchg"
-- xchg loads these when they are first asked for, and keeps them: a later file must get the same ones, not modules of its
-- own that know no object of theirs.
for _, name in ipairs { "", ".backend", ".copy", ".sim" } do require("xchg.cuda" .. name) end

local COUNTS = { "tensors", "storages", "external_bytes", "pending", "objects" }

-- Drops what busted keeps of a file that has run: its closures, and with them the file's locals.
local function forget(element)
  for _, child in ipairs(busted.children(element)) do
    forget(child)
    child.run = nil
    child.env = nil
  end
  element.env = nil
end

local function settle()
  jit.flush() -- a trace keeps the objects that it was compiled for
  for _ = 1, 3 do
    collectgarbage()
    collectgarbage()
    xchg.python.collect()
  end
  return xchg.stats()
end

local finished -- the file that has run; its modules are unloaded only after its "file end"
local known = {} -- what is already lost, not to be held against the next file

local function account()
  if not finished then return end
  local file = finished
  finished = nil
  forget(file)
  local stats, lost = settle(), {}
  for _, name in ipairs(COUNTS) do
    local value = stats[name]
    if value == nil then
      lost[#lost + 1] = "xchg.stats() has no " .. name
    elseif tonumber(value) > (known[name] or 0) then
      lost[#lost + 1] = ("%s: %d"):format(name, tonumber(value) - (known[name] or 0))
    end
    known[name] = tonumber(value)
  end
  if #lost > 0 then
    busted.publish({ "error", "file" }, file, busted.parent(file), "left behind by " .. file.name .. ": " ..
      table.concat(lost, ", "), { short_src = file.name, currentline = 0, traceback = "" })
  end
end

busted.subscribe({ "file", "start" }, function()
  account()
  return nil, true
end, { priority = 1 })

busted.subscribe({ "file", "end" }, function(file)
  finished = file
  return nil, true
end)

busted.subscribe({ "suite", "end" }, function()
  account()
  return nil, true
end, { priority = 1 })
