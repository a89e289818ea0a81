--- Checks of arguments, with messages that name the nearest valid word.

local ffi = require "ffi"
local error_ = require "xchg.error"

local next_key = require("xchg.lib").core.next

local M = {}

local floor = math.floor

-- Edits (insert, delete, replace) that turn one word into another.
local function distance(a, b)
  local row = {}
  for j = 0, #b do row[j] = j end
  for i = 1, #a do
    local diagonal = row[0]
    row[0] = i
    for j = 1, #b do
      local cost = a:byte(i) == b:byte(j) and diagonal or diagonal + 1
      diagonal = row[j]
      row[j] = math.min(cost, row[j] + 1, row[j - 1] + 1)
    end
  end
  return row[#b]
end

--- The word of a list that is nearest to `word`, or nil if none is near.
---@param word string
---@param words string[]
function M.nearest(word, words)
  local best, least = nil, math.max(2, floor(#word / 2)) + 1
  for _, candidate in ipairs(words) do
    if math.abs(#candidate - #word) < least then -- else it takes as many edits for the length alone
      local d = distance(word:lower(), candidate:lower())
      if d < least then best, least = candidate, d end
    end
  end
  return best
end

--- "; did you mean 'x'?", or "; known are a, b, c".
---@param word any
---@param words string[]
function M.suggest(word, words)
  local sorted = { unpack(words) }
  table.sort(sorted)
  local near = type(word) == "string" and M.nearest(word, sorted)
  if near then return ("; did you mean '%s'?"):format(near) end
  return "; known are " .. table.concat(sorted, ", ")
end

--- What a value is, for messages: its type, and the value where that is short.
---@return string
function M.describe(value)
  local kind = type(value)
  if kind == "number" or kind == "boolean" or kind == "nil" then return tostring(value) end
  if kind == "string" then return #value <= 40 and ("%q"):format(value) or "a string of " .. #value .. " bytes" end
  if kind ~= "cdata" then return "a " .. kind end
  if ffi.istype("int64_t", value) or ffi.istype("uint64_t", value) then return tostring(value) end
  local name = tostring(ffi.typeof(value)):match("^ctype<(.*)>$")
  local dtype = name:match("^struct xchg_tensor_([%w_]+)$")
  return dtype and "a " .. dtype .. " tensor" or "cdata of type " .. name
end

--- Whether a value can be a whole number: a number, or a 64-bit integer.
function M.is_number(value)
  return type(value) == "number"
    or type(value) == "cdata" and (ffi.istype("int64_t", value) or ffi.istype("uint64_t", value))
end

--- The length of a table that is a list; else nil, and a key that does not belong into one.
---@param list table
---@return integer?, any
function M.list(list)
  local n = #list
  -- The usual order: 0 comes first, what is no element behind the last one.
  if rawget(list, 0) == nil and next_key(list, n > 0 and n or nil) == nil then return n end
  for key in next_key, list do
    if type(key) ~= "number" or key < 1 or key > n or key ~= floor(key) then return nil, key end
  end
  return n
end

--- Checks an options table against {name = "type" or "type|type"}. nil stands for no options.
---@param where string function the options belong to
---@param options table?
---@param known table<string, string>
---@return table
function M.options(where, options, known)
  if options == nil then return {} end
  if type(options) ~= "table" then
    error_.raise("wrong_type", "%s: options must be a table, got %s", where, M.describe(options))
  end
  for name, value in next_key, options do
    local kinds = known[name]
    if not kinds then
      local names = {}
      for k in next_key, known do names[#names + 1] = k end
      error_.raise("bad_argument", "%s: unknown option '%s'%s", where, tostring(name), M.suggest(name, names))
    end
    if not ("|" .. kinds .. "|"):find("|" .. type(value) .. "|", 1, true) then
      error_.raise("wrong_type", "%s: option '%s' must be a %s, got %s", where, name, (kinds:gsub("|", " or ")),
        M.describe(value))
    end
  end
  return options
end

--- Checks a whole number in a range.
---@return number
function M.integer(where, what, value, low, high)
  local number = M.is_number(value) and tonumber(value)
  if not number or number ~= floor(number) then -- NaN too
    error_.raise("wrong_type", "%s: %s must be a whole number from %.0f to %.0f, got %s", where, what, low, high,
      M.describe(value))
  elseif number < low or number > high then
    error_.raise("out_of_range", "%s: %s must be a whole number from %.0f to %.0f, got %s", where, what, low, high,
      M.describe(value))
  end
  return number
end

return M
