--- Imports through the first protocol that an object has; the order is in src/exchange/resolve.c.

local lib = require "xchg.lib"
local exchange = require "xchg.exchange"

local M = {}

--- Through a door(x, stream, protocols, ...) of C: its results, with CUDA opened and the stream told where that is
--- needed.
---@param where string
function M.through(where, door, x, stream, ...)
  local argument = stream
  if stream ~= nil and stream ~= -1 then argument = true end -- told when the device is known
  local t, kind, more = door(x, argument, ...)
  if t ~= nil or type(kind) == "string" then return t, kind, more end
  return exchange.import(where, door, x, stream, ...)
end

local through, asarray = M.through, lib.core.exchange.asarray

--- A tensor; or nil, and "scalar" or "sequence" for an object that is this and has no protocol. With a place from 1
--- on, of that element of a Python list. `never`: what its producer copies is refused.
function M.import(where, x, stream, protocols, place, never)
  return through(where, asarray, x, stream, protocols, place, never)
end

return M
