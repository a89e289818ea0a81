--- The protocols by name, and the order in which they are asked.

local ffi = require "ffi"
local lib = require "xchg.lib"
local check = require "xchg.check"
local error_ = require "xchg.error"

local M = {}

local C, doors = lib.C, lib.core.exchange

--- All of them in the order in which they are asked, as C takes them: a string of their numbers.
M.all = doors.order()

--- Their names in that order.
---@type string[]
M.names = {}
local by_name = {}
for i = 1, #M.all do
  local name = ffi.string(C.xchg_protocol_name(M.all:byte(i)))
  M.names[i] = name
  by_name[name] = M.all:sub(i, i)
end

--- Without the last, which may copy.
M.shared = (M.all:gsub(by_name.array, ""))

--- The option `protocols` as C takes it. `share`: without those that may copy.
---@param where string
---@param names string[]?
---@param share boolean?
function M.numbers(where, names, share)
  if names == nil then return share and M.shared or M.all end
  local n, key = check.list(names)
  if not n or n == 0 then
    error_.raise("bad_argument", "%s: option 'protocols' must be a list of names%s", where,
      n and ", it is empty" or ", it has the key " .. check.describe(key))
  end
  local numbers = {}
  for i = 1, n do
    local number = by_name[names[i]]
    if not number then
      error_.raise("bad_argument", "%s: unknown protocol %s%s", where, check.describe(names[i]),
        check.suggest(names[i], M.names))
    end
    if share and number == by_name.array then
      error_.raise("bad_argument", "%s: the protocol 'array' may copy, which is not allowed here; leave it out", where)
    end
    for j = 1, i - 1 do
      if numbers[j] == number then
        error_.raise("bad_argument", "%s: option 'protocols' names '%s' twice", where, names[i])
      end
    end
    numbers[i] = number
  end
  return table.concat(numbers)
end

return M
