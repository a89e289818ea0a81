--- Prototypes of kernels: lists of parameters in C++, as a user declares them or as the source has them.
-- What is not surely understood is an unknown type; what it is, is then left to the PTX.

local error_ = require "xchg.error"
local cpp = require "xchg.cuda.cpp"
local typename = require "xchg.cuda.typename"

local next_key = require("xchg.lib").core.next

local M = {}

---@class xchg.cuda.Prototype
---@field name string?        of the function
---@field conditional boolean?  inside of #if, or of a macro that is not known
---@field [integer] { type: xchg.cuda.Type, name: string? }

local MOST_PARAMETERS, MOST_STARS, MOST_WORDS, MOST_ATTRIBUTES = 4096, 16, 20000, 8

local qualifiers = {
  const = true, volatile = true, __restrict__ = true, __restrict = true, restrict = true, __grid_constant__ = true,
  register = true, typename = true, struct = true, class = true, union = true, enum = true,
}
-- Words that make up the fundamental types.
local fundamental = {
  signed = true, unsigned = true, char = true, short = true, int = true, long = true, float = true, double = true,
  bool = true, void = true, __int128 = true,
}

-- "long unsigned int" is "unsigned long"; nil for a mixture that is none.
local function fundamental_name(words)
  local count = {}
  for _, word in ipairs(words) do count[word] = (count[word] or 0) + 1 end
  local sign = count.unsigned and "unsigned " or count.signed and "signed " or ""
  for word in ("float double bool void __int128 char short"):gmatch("%S+") do
    if count[word] then
      local name = (sign == "signed " and word ~= "char" and "" or sign) .. word
      local others = #words - 1 - (count.unsigned or 0) - (count.signed or 0) - (word == "short" and count.int or 0)
      return others == 0 and typename.find(name) and name or nil
    end
  end
  local long = count.long or 0
  if long > 2 then return nil end
  return (count.unsigned and "unsigned " or "") .. (long == 0 and "int" or long == 1 and "long" or "long long")
end

local closing = { ["("] = ")", ["["] = "]", ["<"] = ">", ["{"] = "}" }

-- The index behind the bracket that closes the one at `at`; nil if none does.
local function behind(words, at, last)
  local stack = {}
  for i = at, math.min(last, at + MOST_WORDS) do
    local text = words[i].text
    if closing[text] then
      stack[#stack + 1] = closing[text]
    elseif text == stack[#stack] then
      stack[#stack] = nil
      if #stack == 0 then return i + 1 end
    elseif text == ")" or text == "]" or text == "}" then
      return nil
    end
  end
  return nil
end

-- A qualified name with its template arguments, as text; and the index behind it.
local function take_name(words, at, last)
  local parts = {}
  while at <= last do
    local word = words[at]
    if word.text == "<" and #parts > 0 then
      local stop = behind(words, at, last)
      if not stop then return nil end
      for i = at, stop - 1 do
        local text = words[i].text
        parts[#parts + 1] = text == "," and ", " or text
      end
      at = stop
      if not (words[at] and words[at].text == "::") then break end
    elseif word.text == "::" then
      parts[#parts + 1] = word.text
      at = at + 1
    elseif word.name and (#parts == 0 or parts[#parts] == "::") then
      parts[#parts + 1] = word.text
      at = at + 1
    else
      break
    end
  end
  return table.concat(parts), at
end

---@class xchg.cuda.Reader
---@field aliases table<string, xchg.cuda.Word[]|false>  typedefs; false: several, or conditional
---@field declared table<string, boolean>                structs and enums of the source

local read_parameter

-- The type that one or more words name, without pointers: type, whether it is const (nil: not known), next index.
local function take_base(reader, words, at, last, depth)
  local const, kinds, found, doubtful = false, {}, nil, false
  while at <= last do
    local word = words[at]
    local text = word.text
    if word.doubtful then doubtful = true end
    if text == "const" then
      const = true
      at = at + 1
    elseif qualifiers[text] then
      at = at + 1
    elseif fundamental[text] and not found then
      kinds[#kinds + 1] = text
      at = at + 1
    elseif (word.name or text == "::") and not found and #kinds == 0 then
      local name, next_at = take_name(words, at, last)
      if not name or next_at == at then return nil end
      found, at = name, next_at
    else
      break
    end
  end
  if #kinds > 0 then
    local name = fundamental_name(kinds)
    if doubtful or not name then return typename.unknown(name or table.concat(kinds, " ")), nil, at end
    return typename.find(name), const, at
  elseif not found then
    return nil
  end
  local plain = found:match("^:*([^<]*)")
  local alias = reader.aliases[plain]
  if doubtful or alias == false or reader.declared[plain] then
    if alias == false or doubtful then const = nil end
    return typename.unknown(found), const, at
  elseif alias then
    local inner = depth > 0 and read_parameter(reader, alias, 1, #alias, depth - 1)
    local type_ = inner and not inner.name and inner.type or typename.unknown(found)
    -- `const alias` of a pointer makes the pointer const, not what it points to.
    return type_, const or inner and inner.const or false, at
  end
  local known = typename.find(found)
  if not known and not const then const = nil end -- a typedef of a header may hold one
  return known or typename.unknown(found), const, at
end

-- One parameter: {type, name, const (of the type itself)}; nil where it is none, with the reason.
function read_parameter(reader, words, first, last, depth)
  local type_, const, at = take_base(reader, words, first, last, depth)
  if not type_ then return nil, "no type that can be read" end
  local name, odd
  local stars = 0
  while at <= last do
    local text = words[at].text
    if text == "*" then
      stars = stars + 1
      if stars > MOST_STARS then return nil, "a pointer to pointers that does not end" end
      type_, const = typename.pointer(odd and typename.unknown(type_.text) or type_, const), false
      at = at + 1
    elseif text == "&" then
      return nil, "a reference; kernels take pointers and values"
    elseif text == "=" then
      break
    elseif text == "[" then
      local stop = behind(words, at, last)
      if not stop then return nil, "an array that does not end" end
      while words[stop] and stop <= last and words[stop].text == "[" do stop = behind(words, stop, last) or last + 1 end
      type_, const = typename.pointer(type_, const), false
      at = stop
    elseif text == "(" then -- a pointer to a function or to an array
      local stop = behind(words, at, last)
      if not (stop and words[at + 1] and words[at + 1].text == "*") then return nil, "a declarator that is not one" end
      local star_name = words[stop - 2]
      if star_name and star_name.name and not qualifiers[star_name.text] then name = star_name.text end
      local array = words[stop] and stop <= last and words[stop].text == "["
      type_, const = typename.pointer(array and type_ or typename.unknown("function"), array and const or nil), false
      break
    elseif text == "const" then
      const = true
      at = at + 1
    elseif qualifiers[text] then
      at = at + 1
    elseif words[at].name then
      if name or words[at].doubtful then
        -- A word that may be a macro of a header: nothing is sure.
        odd = true
        type_ = type_.class == "pointer" and typename.pointer(typename.unknown(type_.text:match("^(.-) *%*+$")))
          or typename.unknown(type_.text)
      end
      name = words[at].text
      at = at + 1
    else
      return nil, "'" .. text .. "'"
    end
  end
  return { type = type_, name = name, const = const }
end

-- The parameters between two parentheses, whose indexes are given: a prototype, or nil with the reason and position.
local function read_list(reader, words, open, close)
  local out, first = {}, open + 1
  if close == first or (close == first + 1 and words[first].text == "void") then return out end
  local at = first
  while at <= close do
    local text = words[at].text
    if at == close or text == "," then
      local one, problem = read_parameter(reader, words, first, at - 1, 8)
      if not one or #out >= MOST_PARAMETERS then return nil, problem or "too many parameters", #out + 1 end
      if one.type.text == "void" then return nil, "void, which is no value", #out + 1 end
      out[#out + 1] = { type = one.type, name = one.name }
      at, first = at + 1, at + 1
    elseif closing[text] then
      at = behind(words, at, close - 1)
      if not at then return nil, "a bracket that does not close", #out + 1 end
    else
      at = at + 1
    end
  end
  return out
end

local plain = { aliases = {}, declared = {} }

--- A prototype that a user has declared: "(float *y, const float *x, float a, int n)". Raises for what it is not.
---@param where string
---@param text string
---@return xchg.cuda.Prototype
function M.declared(where, text)
  local words = cpp.words(text)
  local open
  for i, word in ipairs(words) do
    if word.text == "(" then
      open = i
      break
    end
  end
  local stop = open and behind(words, open, #words)
  if not stop or (words[stop] and (words[stop].text ~= ";" or words[stop + 1])) then
    error_.raise("bad_argument", "%s: the signature %q is no list of parameters; write it as in C: "
      .. "\"(float *y, const float *x, float a, int n)\"", where, text)
  end
  local out, problem, position = read_list(plain, words, open, stop - 1)
  if not out then
    error_.raise("bad_argument", "%s: parameter %d of the signature %q is %s; write it as in C: "
      .. "\"(float *y, const float *x, float a, int n)\"", where, position, text, problem)
  end
  return out
end

-- ---- a source -----------------------------------------------------------------------------------------

local function note_alias(reader, name, words, conditional)
  local known = reader.aliases[name]
  local text = {}
  for i, word in ipairs(words) do text[i] = word.text end
  text = table.concat(text, " ")
  if known ~= nil and (not known or known.spelled ~= text) or conditional then
    reader.aliases[name] = false
  else
    words.spelled = text
    reader.aliases[name] = words
  end
end

local function slice(words, first, last)
  local out = {}
  for i = first, last do out[#out + 1] = words[i] end
  return out
end

local function find_text(words, at, text)
  for i = at, math.min(#words, at + 200) do
    if words[i].text == text then return i end
  end
end

-- Notes the typedefs and the names of structs and enums.
local function read_names(reader, words)
  for at, word in ipairs(words) do
    if word.text == "typedef" then
      local stop = find_text(words, at, ";")
      if stop and words[stop - 1].name then
        note_alias(reader, words[stop - 1].text, slice(words, at + 1, stop - 2), word.conditional)
      elseif stop then
        for i = at + 1, stop - 1 do -- of a function or an array: its name is one of these
          if words[i].name and not fundamental[words[i].text] then reader.aliases[words[i].text] = false end
        end
      end
    elseif word.text == "using" and words[at + 2] and words[at + 2].text == "=" then
      local stop = find_text(words, at, ";")
      if stop then note_alias(reader, words[at + 1].text, slice(words, at + 3, stop - 1), word.conditional) end
    elseif word.text == "struct" or word.text == "class" or word.text == "union" or word.text == "enum" then
      local i = at + 1
      while words[i] and words[i].name and words[i + 1] and (words[i + 1].name or words[i].text == "__align__") do
        i = words[i].text == "__align__" and behind(words, i + 1, #words) or i + 1
      end
      local after = words[i + 1] and words[i + 1].text
      if words[i] and words[i].name and (after == "{" or after == ":" or after == ";") then
        reader.declared[words[i].text] = true
      end
    elseif word.text == "template" and words[at + 1] and words[at + 1].text == "<" then
      for i = at + 2, (behind(words, at + 1, #words) or at + 2) - 2 do -- its parameters are no names of types
        local after = words[i + 1].text
        if words[i].name and (after == "," or after == ">" or after == "=") and not fundamental[words[i].text] then
          reader.aliases[words[i].text] = false
        end
      end
    end
  end
end

-- The function that the words behind __global__ declare: its prototype, or nil.
local function read_function(reader, words, at, attributes)
  local name
  for i = at + 1, math.min(#words, at + 100) do
    local text = words[i].text
    if text == "(" then
      local stop = behind(words, i, #words)
      if not stop then return nil end
      local before = words[i - 1]
      if before.text == "__launch_bounds__" or before.text == "__attribute__" or before.text == "__maxnreg__"
        or before.text == "__cluster_dims__" or before.text == "__block_size__" or before.text == "alignas" then
        return attributes < MOST_ATTRIBUTES and read_function(reader, words, stop - 1, attributes + 1) or nil
      end
      name = before.name and before.text
      local out = name and read_list(reader, words, i, stop - 1)
      if not out then return nil end
      out.name, out.conditional = name, before.conditional
      for k = i - 1, stop - 1 do
        if words[k].doubtful then out.conditional = true end
      end
      return out
    elseif text == ";" or text == "{" or text == "}" then
      return nil
    end
  end
end

-- The source that was read last: programs have several kernels. Replaced as a whole, because a finalizer may come here.
local last = {}

--- The prototypes of the __global__ functions of a source, by name.
---@param source string
---@param defines table<string, any>?
---@return table<string, xchg.cuda.Prototype[]>
function M.of_source(source, defines)
  local key = {}
  for name, value in next_key, defines or {} do key[#key + 1] = ("%s=%s"):format(tostring(name), tostring(value)) end
  key = table.concat(key, "\0")
  local known = last
  if known.source == source and known.key == key then return known.found end
  local reader, found = { aliases = {}, declared = {} }, {}
  local words = cpp.read(source, defines)
  read_names(reader, words)
  for at, word in ipairs(words) do
    if word.text == "__global__" then
      local one = read_function(reader, words, at, 0)
      if one then
        found[one.name] = found[one.name] or {}
        table.insert(found[one.name], one)
      end
    end
  end
  last = { source = source, key = key, found = found }
  return found
end

return M
