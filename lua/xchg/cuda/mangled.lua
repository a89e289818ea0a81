--- The parameter types that a kernel's mangled name carries (the Itanium C++ ABI): what the compiler itself took them
-- for, behind every macro, typedef and template. A name with anything unusual in it is not read at all.

local typename = require "xchg.cuda.typename"

local M = {}

local MOST_STEPS, MOST_DEPTH, MOST_TEXT = 4000, 60, 400

local builtin = {
  v = "void", b = "bool", c = "char", a = "signed char", h = "unsigned char", s = "short", t = "unsigned short",
  i = "int", j = "unsigned int", l = "long", m = "unsigned long", x = "long long", y = "unsigned long long",
  n = "__int128", o = "unsigned __int128", f = "float", d = "double",
}
local unnamed = { w = "wchar_t", e = "long double", g = "__float128" }

-- What cannot be read ends the reading; `error` with this value, so that nothing else is taken for it.
local GIVEN_UP = {}
local function give_up() error(GIVEN_UP, 0) end

---@class xchg.cuda.Demangler
---@field text string
---@field at integer
---@field seen table[]       what S_ can stand for: a type, or { text=, template=true }; false: must not be used
---@field arguments table[]? of the template that the function is an instance of: types, { text= } or { pack = {...} }
---@field element integer?   of the pack that is being expanded
---@field steps integer
local Demangler = {}
Demangler.__index = Demangler

function Demangler:peek(length) return self.text:sub(self.at, self.at + (length or 1) - 1) end

function Demangler:take(mark)
  if self.text:sub(self.at, self.at + #mark - 1) ~= mark then return false end
  self.at = self.at + #mark
  return true
end

function Demangler:step(depth)
  self.steps = self.steps + 1
  if self.steps > MOST_STEPS or depth > MOST_DEPTH then give_up() end
end

function Demangler:note(thing)
  if #(thing.text or "") > MOST_TEXT then give_up() end
  self.seen[#self.seen + 1] = thing
  return thing
end

-- A sequence number as S and T have them: "_" is 0, "0_" is 1, in base 36 or 10.
function Demangler:sequence(base)
  if self:take "_" then return 0 end
  local digits = self.text:match(base == 36 and "^([0-9A-Z]+)_" or "^([0-9]+)_", self.at)
  if not digits or #digits > 4 then give_up() end
  self.at = self.at + #digits + 1
  return tonumber(digits, base) + 1
end

function Demangler:source_name()
  local digits = self.text:match("^[1-9]%d*", self.at)
  local length = digits and #digits <= 4 and tonumber(digits)
  if not length or self.at + #digits + length - 1 > #self.text then give_up() end
  local from = self.at + #digits
  self.at = from + length
  local name = self.text:sub(from, from + length - 1)
  if name:find("^_GLOBAL__N_") then return "(anonymous namespace)" end
  return name
end

-- Inline namespaces of a library's version are not part of a type's usual name.
local function join(prefix, name)
  if name:find("^__%d+$") or name:find("^_V_") then return prefix end
  return prefix == "" and name or prefix .. "::" .. name
end

local function of_name(text)
  return typename.find(text) or typename.unknown(text)
end

function Demangler:template_argument(depth)
  self:step(depth)
  if self:take "L" then
    local kind = self.text:match("^[a-z]", self.at)
    local type_ = kind and builtin[kind]
    if not type_ then give_up() end
    local sign, digits = self.text:match("^.(n?)(%d+)E", self.at)
    if not digits then give_up() end
    self.at = self.at + 1 + #sign + #digits + 1
    local value = (sign == "n" and "-" or "") .. digits
    if kind == "b" then value = digits == "0" and "false" or "true" end
    return { text = value, value = true }
  elseif self:take "J" then
    local pack, texts = {}, {}
    while not self:take "E" do
      pack[#pack + 1] = self:template_argument(depth + 1)
      texts[#pack] = pack[#pack].text
    end
    return { text = table.concat(texts, ", "), pack = pack, value = true }
  end
  local type_, const = self:type(depth + 1)
  return const and { qualified = type_, const = true, text = "const " .. type_.text } or type_
end

-- Behind the I: the arguments, and their text.
function Demangler:template_arguments(depth)
  local out, texts = {}, {}
  while not self:take "E" do
    out[#out + 1] = self:template_argument(depth + 1)
    if out[#out].text ~= "" then texts[#texts + 1] = out[#out].text end
  end
  return out, "<" .. table.concat(texts, ", ") .. ">"
end

-- Behind the N. The text of the name, and the arguments at its end; `is_type` names stand for themselves in S.
function Demangler:nested_name(depth, is_type)
  self:step(depth)
  local text, arguments, parts = "", nil, 0
  while not self:take "E" do
    self:step(depth)
    local noted = true
    if self:take "St" then
      text, noted = "std", false
    elseif self:peek() == "S" then
      if parts > 0 then give_up() end
      text, noted = self:substitution(depth).text, false
    elseif self:take "I" then
      if parts == 0 or arguments then give_up() end
      local written
      arguments, written = self:template_arguments(depth + 1)
      text = text .. written
    else
      self:take "L"
      text, arguments = join(text, self:source_name()), nil
    end
    parts = parts + 1
    -- The whole name of a function stands for nothing.
    if noted and (is_type or self:peek() ~= "E") then self:note(of_name(text)) end
  end
  if parts == 0 then give_up() end
  return text, arguments
end

-- At an S that is not St.
function Demangler:substitution(depth)
  self:step(depth)
  if not self:take "S" or self:peek():find("[a-z]") then give_up() end
  local thing = self.seen[self:sequence(36) + 1]
  if not thing then give_up() end
  return thing
end

-- A template parameter, behind the T.
function Demangler:parameter()
  local argument = self.arguments and self.arguments[self:sequence(10) + 1]
  if argument and argument.pack then argument = self.element and argument.pack[self.element] end
  if not argument or argument.value then give_up() end
  return argument
end

-- A class name that may have arguments, with what has been read of it.
function Demangler:maybe_template(thing, depth)
  if not self:take "I" then return thing end
  local _, written = self:template_arguments(depth + 1)
  return self:note(of_name(thing.text .. written))
end

-- The type at hand and whether it is const.
function Demangler:type(depth)
  self:step(depth)
  local c = self:peek()
  if builtin[c] then
    self.at = self.at + 1
    return typename.find(builtin[c]), false
  elseif unnamed[c] then
    self.at = self.at + 1
    return typename.unknown(unnamed[c]), false
  elseif c == "r" or c == "V" or c == "K" then
    local const = false
    while self:peek():find("[rVK]") do
      const = const or self:peek() == "K"
      self.at = self.at + 1
    end
    local inner, was = self:type(depth + 1)
    self:note({ qualified = inner, const = const or was, text = inner.text })
    return inner, const or was
  elseif self:take "P" then
    return self:note(typename.pointer(self:type(depth + 1))), false
  elseif self:take "A" then
    if not self.text:find("^%d*_", self.at) then give_up() end
    self.at = self.text:find("_", self.at, true) + 1
    local inner, const = self:type(depth + 1)
    self:note({ qualified = inner, const = const, text = inner.text })
    return inner, const
  elseif self:take "F" then
    self:take "Y"
    while not self:take "E" do self:type(depth + 1) end
    return self:note(typename.unknown "function"), nil
  elseif self:take "T" then
    local thing = self:parameter()
    if self:peek() == "I" then give_up() end
    local inner, const = thing.qualified or thing, (thing.qualified and thing.const) or false
    self:note({ qualified = inner, const = const, text = thing.text })
    return inner, const
  elseif self:take "St" then
    local name = "std::" .. self:source_name()
    return self:maybe_template(self:note(of_name(name)), depth), false
  elseif c == "S" then
    local thing = self:substitution(depth)
    if thing.qualified then return thing.qualified, thing.const end
    return self:maybe_template(thing, depth), false
  elseif self:take "N" then
    return of_name((self:nested_name(depth + 1, true))), false
  elseif c:find("%d") then
    return self:maybe_template(self:note(of_name(self:source_name())), depth), false
  end
  return give_up()
end

-- The types that one pattern of parameters stands for, appended to `out`.
function Demangler:parameters(out)
  if not self:take "Dp" then
    out[#out + 1] = { type = (self:type(0)) }
    return
  end
  -- Each element of the pack is one reading of the same pattern.
  local from, known, pack = self.at, #self.seen, nil
  for _, argument in ipairs(self.arguments or {}) do
    if argument.pack then
      if pack then give_up() end
      pack = argument.pack
    end
  end
  if not pack or #pack == 0 then give_up() end
  for i = 1, #pack do
    self.at, self.element = from, i
    for k = #self.seen, known + 1, -1 do self.seen[k] = nil end
    out[#out + 1] = { type = (self:type(0)) }
  end
  self.element = nil
  for k = known + 1, #self.seen do self.seen[k] = false end
end

local function read(name)
  local self = setmetatable({ text = name, at = 3, seen = {}, steps = 0 }, Demangler)
  local text, arguments
  if self:take "N" then
    text, arguments = self:nested_name(0, false)
  else
    self:take "L"
    text = self:source_name()
    if self:peek() == "I" then
      self:note(of_name(text))
      self.at = self.at + 1
      local written
      arguments, written = self:template_arguments(0)
      text = text .. written
    end
  end
  self.arguments = arguments
  if arguments then self:type(0) end -- of the result
  local out = { name = text }
  if self.at > #name then give_up() end
  if name:sub(self.at) == "v" then return out end
  while self.at <= #name do self:parameters(out) end
  for _, parameter in ipairs(out) do
    if parameter.type.text == "void" then give_up() end
  end
  return out
end

--- The prototype that a mangled name tells, its `name` as in C++; nil for one that is not mangled, or not understood.
---@param name string
---@return xchg.cuda.Prototype?
function M.read(name)
  if #name > 4096 or name:sub(1, 2) ~= "_Z" then return nil end
  local ok, out = pcall(read, name)
  if ok then return out end
  if out ~= GIVEN_UP then error(out, 0) end
  return nil
end

return M
