--- Tensors as text: nested brackets, aligned columns, only the edges of large ones, a last line that says what it is.
--
-- It knows no tensor: it asks a view for the elements that it shows, each once.

local next_key = require("xchg.lib").core.next
local check = require "xchg.check"

local M = {}

---@class xchg.format.view
---@field ndim integer
---@field shape integer[]
---@field numel number
---@field kind "float"|"int"|"bool"|"complex"|nil nil: the elements cannot be read
---@field get fun(...: integer): any the element at these indices, counted from 1
---@field unreadable string? the device ("cuda:0") or the dtype that is in the way
---@field footer string the last line

local DEFAULTS = { precision = 4, threshold = 1000, width = 80, edgeitems = 3 }
local LIMITS = { precision = { 0, 17 }, threshold = { 0, 2 ^ 53 }, width = { 1, 2 ^ 31 }, edgeitems = { 1, 2 ^ 31 } }
local KINDS = { full = "boolean", precision = "number", threshold = "number", width = "number", edgeitems = "number" }

-- Beyond these bounds, or this ratio of largest to smallest, fixed notation wastes columns or digits.
local FIXED_MOST, FIXED_LEAST, FIXED_RATIO = 1e8, 1e-4, 1000

-- ---- words of elements ------------------------------------------------------------------------------

local function pad_left(text, width)
  return (" "):rep(width - #text) .. text
end

-- Right-aligned, all as long as the longest.
local function align(words)
  local width = 0
  for _, word in ipairs(words) do width = math.max(width, #word) end
  for i, word in ipairs(words) do words[i] = pad_left(word, width) end
  return words
end

local function integer_words(values)
  local words = {}
  for i, value in ipairs(values) do
    -- 64-bit integers are cdata, whose text has the suffix of their literals.
    words[i] = type(value) == "number" and ("%.0f"):format(value) or (tostring(value):gsub("U?LL$", ""))
  end
  return align(words)
end

local function bool_words(values)
  local words = {}
  for i, value in ipairs(values) do words[i] = tostring(value) end
  return align(words)
end

local function is_finite(value)
  return value - value == 0
end

-- Notation that suits all the values: true for exponents.
local function needs_exponent(values)
  local most, least, whole = 0, math.huge, true
  for _, value in ipairs(values) do
    local size = math.abs(value)
    if is_finite(value) and size > 0 then
      most, least = math.max(most, size), math.min(least, size)
      whole = whole and size == math.floor(size)
    end
  end
  if most == 0 then return false end
  return most >= FIXED_MOST or not whole and (least < FIXED_LEAST or most / least > FIXED_RATIO)
end

-- Text of a number that is not finite.
local function special(value, plus)
  return value ~= value and plus .. "nan" or value < 0 and "-inf" or plus .. "inf"
end

-- Fixed notation: aligned at the point, with as many digits after it as the value needs, blanks beyond.
local function fixed_words(values, precision, plus)
  local whole, fraction, words = {}, {}, {}
  local right = 0
  for i, value in ipairs(values) do
    if is_finite(value) then
      whole[i], fraction[i] = ("%" .. plus .. "." .. precision .. "f"):format(value):match("^([+-]?%d+)%.?(%d*)$")
      fraction[i] = fraction[i]:gsub("0+$", "")
      right = math.max(right, #fraction[i])
    end
  end
  for i, value in ipairs(values) do
    words[i] = whole[i] and whole[i] .. "." .. fraction[i] .. (" "):rep(right - #fraction[i]) or special(value, plus)
  end
  return align(words)
end

-- Scientific notation: mantissas and exponents of one length.
local function exponent_words(values, precision, plus)
  local mantissa, fraction, sign, exponent, words = {}, {}, {}, {}, {}
  local digits, places = 0, 2
  for i, value in ipairs(values) do
    if is_finite(value) then
      mantissa[i], fraction[i], sign[i], exponent[i] =
        ("%" .. plus .. "." .. precision .. "e"):format(value):match("^([+-]?%d)%.?(%d*)e([+-])(%d+)$")
      fraction[i] = fraction[i]:gsub("0+$", "")
      digits, places = math.max(digits, #fraction[i]), math.max(places, #exponent[i])
    end
  end
  for i, value in ipairs(values) do
    words[i] = mantissa[i] and mantissa[i] .. "." .. fraction[i] .. ("0"):rep(digits - #fraction[i]) ..
      "e" .. sign[i] .. ("0"):rep(places - #exponent[i]) .. exponent[i] or special(value, plus)
  end
  return align(words)
end

-- `plus` is "+" where every word has a sign, else "".
local function float_words(values, precision, plus)
  return (needs_exponent(values) and exponent_words or fixed_words)(values, precision, plus or "")
end

-- Real and imaginary parts are columns of their own: "1.+2.5i", the way LuaJIT writes complex numbers.
local function complex_words(values, precision)
  local real, imaginary = {}, {}
  for i, value in ipairs(values) do real[i], imaginary[i] = value.re, value.im end
  real, imaginary = float_words(real, precision), float_words(imaginary, precision, "+")
  for i, word in ipairs(real) do
    local digits, blanks = imaginary[i]:match("^(.-)( *)$")
    real[i] = word .. digits .. "i" .. blanks
  end
  return real
end

local WORDS = { int = integer_words, bool = bool_words, float = float_words, complex = complex_words }

-- ---- which elements ---------------------------------------------------------------------------------

local GAP = false

-- For each dimension, the indices that are shown: `head` first ones and `tail` last ones around a gap.
local function positions(view, head, tail)
  local all = {}
  for d = 1, view.ndim do
    local list, extent = {}, view.shape[d]
    if head + tail < extent then
      for i = 1, head do list[#list + 1] = i end
      list[#list + 1] = GAP
      for i = extent - tail + 1, extent do list[#list + 1] = i end
    else
      for i = 1, extent do list[i] = i end
    end
    all[d] = list
  end
  return all
end

local function count_shown(view, head, tail)
  local count = 1
  for d = 1, view.ndim do count = count * math.min(head + tail, view.shape[d]) end
  return count
end

-- Many dimensions have many edges: fewer are shown then, at last only the first element of each dimension.
local function choose(view, options)
  if options.full or tonumber(view.numel) <= options.threshold then return positions(view, math.huge, 0) end
  local edge, most = options.edgeitems, math.max(options.threshold, (2 * options.edgeitems) ^ 4)
  while edge > 1 and count_shown(view, edge, edge) > most do edge = edge - 1 end
  return positions(view, edge, count_shown(view, edge, edge) > most and 0 or edge)
end

local function read(view, shown)
  local values, index = {}, {}
  local function descend(d)
    if d > view.ndim then
      values[#values + 1] = view.get(unpack(index, 1, view.ndim))
      return
    end
    for _, i in ipairs(shown[d]) do
      if i ~= GAP then
        index[d] = i
        descend(d + 1)
      end
    end
  end
  descend(1)
  return values
end

-- ---- brackets and lines -----------------------------------------------------------------------------

-- One row `depth` brackets deep: broken where a line is full, and what follows lines up behind the brackets.
local function row(words, depth, width)
  local lines, line = {}, nil
  for _, word in ipairs(words) do
    if line and depth + #line + 1 + #word + depth > width then
      lines[#lines + 1] = line:gsub(" +$", "")
      line = word
    else
      line = line and line .. " " .. word or word
    end
  end
  lines[#lines + 1] = line
  return "[" .. table.concat(lines, "\n" .. (" "):rep(depth)) .. "]"
end

-- Between two blocks: a new line for rows, and a blank one more for each dimension above them.
local function brackets(view, shown, words, width)
  local next_word = 0
  local function block(d)
    local parts = {}
    if d == view.ndim then
      for k, i in ipairs(shown[d]) do
        if i ~= GAP then next_word = next_word + 1 end
        parts[k] = i == GAP and "..." or words[next_word]
      end
      return row(parts, d, width)
    end
    for k, i in ipairs(shown[d]) do parts[k] = i == GAP and "..." or block(d + 1) end
    return "[" .. table.concat(parts, ("\n"):rep(view.ndim - d) .. (" "):rep(d)) .. "]"
  end
  return block(1)
end

local function excuse(unreadable)
  if unreadable:find("^b?float") or unreadable:find("^complex") then
    return ("elements are %s, which Lua does not read; convert them in the library that made them"):format(unreadable)
  end
  return ("elements are in %s memory; t:to('cpu') shows them"):format(unreadable)
end

--- The elements of a view as text, and its footer as the last line.
---@param view xchg.format.view
---@param options { full: boolean?, precision: integer?, threshold: integer?, width: integer?, edgeitems: integer? }?
---@return string
function M.tostring(view, options)
  options = check.options("tostring", options, KINDS)
  local all = { full = options.full }
  for name, default in next_key, DEFAULTS do
    local low, high = LIMITS[name][1], LIMITS[name][2]
    all[name] = options[name] == nil and default or check.integer("tostring", name, options[name], low, high)
  end
  if view.numel == 0 then return "[]\n" .. view.footer end
  if not view.kind then return excuse(view.unreadable or "unreadable") .. "\n" .. view.footer end

  local shown = choose(view, all)
  local words = WORDS[view.kind](read(view, shown), all.precision)
  local text = view.ndim == 0 and words[1] or brackets(view, shown, words, all.width)
  return text .. "\n" .. view.footer
end

return M
