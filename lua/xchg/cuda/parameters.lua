--- Parameter lists of generated kernels: "float a, T x". A single capital letter is a type that the arguments tell.

local check = require "xchg.check"
local error_ = require "xchg.error"
local ctype = require "xchg.cuda.ctype"

local M = {}

---@class xchg.cuda.Parameter
---@field name string
---@field dtype xchg.dtype?   the declared one
---@field letter string?      or the letter that stands for it

-- Splits at commas that are not inside <>.
local function split(text)
  local out, depth, from = {}, 0, 1
  for at, mark in text:gmatch("()([<>,])") do
    if mark == "<" then
      depth = depth + 1
    elseif mark == ">" then
      depth = depth - 1
    elseif depth == 0 then
      out[#out + 1] = text:sub(from, at - 1)
      from = at + 1
    end
  end
  out[#out + 1] = text:sub(from)
  return out
end

--- A type by its spelling: a dtype, or a letter.
---@param where string
---@param text string
---@return xchg.dtype? dtype
---@return string? letter
function M.type(where, text)
  text = text:match("^%s*(.-)%s*$")
  if text:find("^%u$") then return nil, text end
  local name = ctype.dtype(text)
  if not name then
    error_.raise("bad_argument", "%s: '%s' is no element type that is known here; use C++ names such as 'float', "
      .. "dtypes such as 'float32', or a single capital letter for the type of the tensor that is passed", where, text)
  end
  return name
end

--- Reads a list of parameters; `taken` has the names that are no longer free, and gets these.
---@param where string
---@param text string
---@param taken table<string, boolean>
---@return xchg.cuda.Parameter[]
function M.read(where, text, taken)
  if type(text) ~= "string" then
    error_.raise("wrong_type", "%s: parameters are a string such as 'float a, T x', got %s", where,
      check.describe(text))
  end
  local out = {}
  if not text:find("%S") then return out end
  for _, each in ipairs(split(text)) do
    local kind, name = each:match("^%s*(.-)%s*([%a_][%w_]*)%s*$")
    if not kind or kind == "" or kind:find("[%*&%[]") then
      error_.raise("bad_argument", "%s: '%s' is no parameter; write a type and a name, such as 'float x' (the elements "
        .. "of a tensor are meant, without * or [])", where, each:match("^%s*(.-)%s*$"))
    elseif name:find("^_") or name:find("__$") then
      error_.raise("bad_argument", "%s: '%s' is a name of the kernel's own; choose one without underscores at its ends",
        where, name)
    elseif taken[name] then
      error_.raise("bad_argument", "%s: the name '%s' is taken; choose another", where, name)
    end
    taken[name] = true
    local dtype, letter = M.type(where, kind)
    out[#out + 1] = { name = name, dtype = dtype, letter = letter }
  end
  return out
end

return M
