--- Error objects: what every failure of this library raises.
-- Fields: `code` (from one list in src/core/error.h), `message`, `where` ("file:line" of the caller); from
-- Python also `type`, `module`, `traceback`, `value`.

local ffi = require "ffi"
local lib = require "xchg.lib"

---@class xchg.Error
---@field code string
---@field message string
---@field where string
---@field type string?
---@field module string?
---@field traceback string?
---@field value any

local M = {}

local core, C = lib.core, lib.C

local metatable = core.error_metatable
metatable.__name = "xchg.Error"

function metatable.__tostring(e)
  local text = tostring(e.where) .. ": " .. tostring(e.message)
  if e.traceback then text = text .. "\n" .. e.traceback end
  return text
end

--- Raises an error object; `format` and what follows are as for string.format.
---@param code string
---@param format string
function M.raise(code, format, ...)
  core.raise(code, select("#", ...) > 0 and format:format(...) or format)
end

--- The struct that C functions write their failure into. One is enough: none of them re-enters Lua.
local scratch = ffi.new("xchg_error")
M.scratch = scratch

--- Raises what C wrote into the scratch error.
local function raise_scratch()
  local code, message = ffi.string(C.xchg_error_name(scratch.code)), ffi.string(scratch.message)
  scratch.code = 0
  core.raise(code, message)
end

--- For the result of a C function that was given `scratch`: raises if it failed, else returns it.
---@param result integer
function M.check(result)
  if result < 0 then raise_scratch() end
  return result
end

--- Whether a value is an error object of this library.
function M.is(value)
  return type(value) == "table" and getmetatable(value) == metatable
end

return M
