--- Checks of arguments, with messages that name the nearest valid word.

local error_ = require "xchg.error"

local M = {}

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
  local best, least = nil, math.max(2, math.floor(#word / 2)) + 1
  for _, candidate in ipairs(words) do
    local d = distance(word:lower(), candidate:lower())
    if d < least then best, least = candidate, d end
  end
  return best
end

--- "; did you mean 'x'?", or "; known are a, b, c".
function M.suggest(word, words)
  table.sort(words)
  local near = type(word) == "string" and M.nearest(word, words)
  if near then return ("; did you mean '%s'?"):format(near) end
  return "; known are " .. table.concat(words, ", ")
end

--- What a value is, for messages: its type, and the value where that is short.
function M.describe(value)
  local kind = type(value)
  if kind == "number" or kind == "boolean" or kind == "nil" then return tostring(value) end
  if kind == "string" then return #value <= 40 and ("%q"):format(value) or "a string of " .. #value .. " bytes" end
  if kind == "cdata" then return "cdata " .. tostring(require("ffi").typeof(value)) end
  return "a " .. kind
end

--- Checks an options table against {name = "type" | "type|type" | function}. nil stands for no options.
---@param where string function the options belong to
---@param options table?
---@param known table<string, string>
---@return table
function M.options(where, options, known)
  if options == nil then return {} end
  if type(options) ~= "table" then
    error_.raise("wrong_type", "%s: options must be a table, got %s", where, M.describe(options))
  end
  for name, value in pairs(options) do
    local kinds = known[name]
    if not kinds then
      local names = {}
      for k in pairs(known) do names[#names + 1] = k end
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
  if type(value) == "cdata" then value = tonumber(value) end
  if type(value) ~= "number" or value ~= math.floor(value) or value < low or value > high then
    error_.raise(type(value) == "number" and "out_of_range" or "wrong_type", "%s: %s must be a whole number from %s to %s, got %s",
      where, what, ("%.0f"):format(low), ("%.0f"):format(high), M.describe(value))
  end
  return value
end

return M
