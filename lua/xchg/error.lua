--- Error objects: what every failure of this library raises.
-- `code` is one of the list in src/core/error.h, `message` names the function, the value and the cure, `where`
-- is the nearest line on the stack that is not of this library ("?" where there is none).

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
---@field cuda_code integer?  what CUDA answered
---@field cuda_name string?   "cudaErrorIllegalAddress"
---@field call string?        the function of CUDA that answered it
---@field log string?         of "compile": all that the compiler has said

local M = {}

local core = lib.core

local metatable = core.error_metatable
metatable.__name = "xchg.Error"

function metatable.__tostring(e)
  local text = tostring(e.where) .. ": " .. tostring(e.message)
  -- Without frames a traceback is the message again.
  if e.traceback and e.traceback ~= e.message then text = text .. "\n" .. tostring(e.traceback) end
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

--- Raises what C wrote into the scratch error, as said by `where`.
local function raise_scratch(where)
  core.raise_scratch(scratch, where)
end

--- For the result of a C function that was given `scratch`: raises if it failed, else returns it. `where` is
--- the function that the user called, in place of the one that C names.
---@param where string
---@param result integer
function M.check(where, result)
  if result < 0 then raise_scratch(where) end
  return result
end

--- Whether a value is an error object of this library.
function M.is(value)
  return type(value) == "table" and getmetatable(value) == metatable
end

return M
