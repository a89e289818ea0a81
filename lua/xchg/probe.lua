--- probe: what an object offers. Whatever is asked for the answer is given back at once; nothing is used up.

local lib = require "xchg.lib"
local buffer = require "xchg.buffer"
local check = require "xchg.check"
local device = require "xchg.device"
local dtypes = require "xchg.dtype"
local error_ = require "xchg.error"
local protocols = require "xchg.protocols"
local python = require "xchg.python"
local resolve = require "xchg.resolve"
local slots = require "xchg.slots"

local M = {}

local doors, drain, next_key = lib.core.exchange, lib.core.drain, lib.core.next

---@class xchg.Probe
---@field protocol string                 the one that is used
---@field protocols string[]               those that would give a tensor, in the order in which they are asked
---@field versions table<string, string>   where a protocol has them: "1.3" or "legacy" of DLPack, "3" of dictionaries
---@field refusals table<string, string>   why others that the object has would not, by protocol
---@field device string
---@field dtype xchg.dtype
---@field shape integer[]
---@field readonly boolean

local function describe(found, t, name)
  found.dtype, found.device, found.shape, found.readonly = t.dtype, t.device, t.shape, t.readonly
  found.protocol = name
end

local function empty() return { protocols = {}, versions = {}, refusals = {} } end

local function of_tensor(t, name)
  local found = empty()
  found.protocols[1] = name
  describe(found, t, name)
  return found
end

local DICTIONARIES = { cai = "__cuda_array_interface__", array_interface = "__array_interface__" }

-- The version in an interface's dictionary.
local function dictionary_version(x, attribute)
  local done, version = pcall(function() return python.get(python.getattr(x, attribute), "version") end)
  if done and type(version) == "number" then return ("%d"):format(version) end
end

local function dlpack_version(major, minor)
  return major == 0 and "legacy" or ("%d.%d"):format(major, minor)
end

local function of_capsule(x)
  local dtype, kind, id, readonly, shape, major, minor = doors.peek(x)
  if not dtype then return nil end
  return {
    protocols = { "dlpack" }, versions = { dlpack = dlpack_version(major, minor) }, refusals = {}, protocol = "dlpack",
    dtype = dtypes.by_id[dtype].name, device = device.name(kind, id), readonly = readonly, shape = shape,
  }
end

-- A Ctrl-C is no opinion about arrays.
local function interrupts(e)
  return e.value ~= nil and not python.isinstance(e.value, python.builtins.Exception)
end

-- Asks some protocols, by their numbers: a tensor, and the version of the DLPack that it came by; nil, and what the
-- object is where it is no array; false, and the error.
local function ask(x, numbers)
  local done, t, major, minor = pcall(resolve.through, "probe", doors.probe, x, -1, numbers)
  if done then return t, major, minor end
  if not error_.is(t) or interrupts(t) then error(t, 0) end
  return false, t
end

local function add(found, x, name, major, minor)
  found.protocols[#found.protocols + 1] = name
  if name == "dlpack" or name == "exchange_api" then
    found.versions[name] = dlpack_version(major, minor)
  elseif DICTIONARIES[name] then
    found.versions[name] = dictionary_version(x, DICTIONARIES[name])
  end
end

local function no_array(x, kind)
  return nil, ("probe: %s has no protocol%s"):format(python.repr(python.type(x)),
    kind and ("; it is a %s, whose elements asarray copies"):format(kind)
      or ", and is neither a number nor a sequence")
end

local function of_object(x)
  local found = of_capsule(x)
  if found then return found end
  -- All at once as asarray does, which knows what is final; then each of the others for itself.
  local chosen, first, second = ask(x, protocols.all)
  if chosen == nil then return no_array(x, first) end
  if not chosen and first.code == "no_protocol" then return no_array(x) end
  found = empty()
  local used = chosen and chosen.protocol
  for i, name in ipairs(protocols.names) do
    if name == used then
      add(found, x, name, first, second)
      describe(found, chosen, name)
      slots.release(chosen)
    elseif name ~= "array" or next_key(found.refusals) == nil and #found.protocols == 0 then
      local t, major, minor = ask(x, protocols.all:sub(i, i))
      if t then
        add(found, x, name, major, minor)
        slots.release(t)
      elseif t == false and major.code ~= "no_protocol" then
        found.refusals[name] = major.message
      end
    end
  end
  drain()
  if chosen then return found end
  return nil, first.message, found.refusals
end

--- What an object offers: a table, or nil and the reason why it gives no tensor (and the refusals by protocol). Nothing
--- is kept and nothing is used up: a capsule stays fresh, an iterator where it is.
---@param x any
---@return xchg.Probe?, string?, table<string, string>?
function M.probe(x)
  if type(x) == "userdata" then
    local done, found, reason, refusals = pcall(of_object, x)
    if done then return found, reason, refusals end
    if not error_.is(found) or interrupts(found) then error(found, 0) end
    return nil, found.message
  elseif slots.is_tensor(x) then
    if x._slot == 0 then return nil, "probe: the tensor was released" end
    return of_tensor(x, x.protocol)
  elseif type(x) == "string" or type(x) == "cdata" and not check.is_number(x) then
    local done, t = pcall(buffer.from_buffer, x)
    if not done then
      if not error_.is(t) then error(t, 0) end
      return nil, t.message
    end
    local found = of_tensor(t, "buffer")
    slots.release(t)
    return found
  end
  return nil, "probe: " .. check.describe(x) .. " has no memory to share"
end

return M
