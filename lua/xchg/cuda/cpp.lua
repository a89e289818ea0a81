--- C++ as far as prototypes need it: words without comments and strings, and macros where they are sure.
--
-- A macro is sure when the text defines it once, outside of any condition, or only the program's defines do. Where a
-- condition or a second definition could change what a word means, the word is marked doubtful.

local next_key = require("xchg.lib").core.next

local M = {}

---@class xchg.cuda.Word
---@field text string
---@field name boolean?       an identifier or keyword
---@field conditional boolean? inside of #if
---@field doubtful boolean?   a macro may stand here that is not known

---@class xchg.cuda.Macro
---@field words xchg.cuda.Word[]?  nil: not known
---@field from integer?            the word behind which it is defined
---@field given boolean?           by the program's defines

local MOST_WORDS = 100000

local strings = { L = true, u = true, U = true, u8 = true, R = true, LR = true, uR = true, UR = true, u8R = true }

-- The end of a string or character literal that starts at `at` with its quote.
local function literal_end(text, at, quote)
  local from = at + 1
  while true do
    local found = text:find("[\\\n" .. quote .. "]", from)
    if not found then return #text end
    if text:sub(found, found) ~= "\\" then return found end
    from = found + 2
  end
end

local function raw_end(text, at)
  local delimiter = text:match("^\"([^%s()\\]*)%(", at)
  if not delimiter or #delimiter > 16 then return literal_end(text, at, '"') end
  local _, last = text:find(")" .. delimiter .. '"', at, true)
  return last or #text
end

-- Words of a text without directives, appended to `out`.
local function scan(text, at, out, directive)
  local fresh = true -- at the start of a line
  while at <= #text and #out < MOST_WORDS do
    local space = text:match("^[ \t\r\v\f]+", at)
    local head = text:sub(at, at + 1)
    local c = head:sub(1, 1)
    if space then
      at = at + #space
    elseif c == "\n" then
      at, fresh = at + 1, true
    elseif head == "//" then
      at = text:find("\n", at, true) or #text + 1
    elseif head == "/*" then
      local _, last = text:find("*/", at + 2, true)
      at = (last or #text) + 1
    elseif c == "#" and fresh and directive then
      local line = text:find("\n", at, true) or #text + 1
      directive(text:sub(at + 1, line - 1))
      at = line
    else
      fresh = false
      local name = text:match("^[%a_$][%w_$]*", at)
      if name then
        local after = at + #name
        local quote = text:match("^[\"']", after)
        if quote and strings[name] then
          at = (quote == '"' and name:find("R$") and raw_end(text, after) or literal_end(text, after, quote)) + 1
          out[#out + 1] = { text = '""' }
        else
          out[#out + 1] = { text = name, name = true }
          at = after
        end
      elseif c == '"' or c == "'" then
        at = literal_end(text, at, c) + 1
        out[#out + 1] = { text = '""' }
      else
        local piece = text:match("^%.?%d[%w_.']*", at) or (head == "::" and head) or text:match("^%.%.%.", at) or c
        out[#out + 1] = { text = piece }
        at = at + #piece
      end
    end
  end
  return out
end

--- The words of a text that has no directives.
---@param text string
---@return xchg.cuda.Word[]
function M.words(text) return scan(text, 1, {}) end

-- Follows the directives of a text whose words are being collected.
local function follow(macros, words)
  local stack, state = {}, {}
  local doubtful = { doubtful = true }

  local function define(name, body)
    local innermost = stack[#stack]
    local guard = innermost and innermost.absent == name
    if guard and body == "" then innermost.guard = true end -- of a whole file: no condition
    local guarded = guard and not innermost.otherwise
    if macros[name] and not (macros[name].given and guarded) then
      macros[name] = doubtful
    elseif not macros[name] then
      local sure = guarded or not state.conditional()
      macros[name] = sure and not body:find("^%(") and { words = M.words(body), from = #words } or doubtful
    end
  end

  function state.conditional()
    for _, frame in ipairs(stack) do
      if not frame.guard then return true end
    end
    return false
  end

  function state.directive(line)
    line = line:gsub("/%*.-%*/", " "):gsub("//.*$", "")
    local word, rest = line:match("^%s*(%a+)%s*(.*)$")
    if word == "define" then
      local name, body = rest:match("^([%w_$]+)(.*)$")
      if name then define(name, body:find("^%(") and body or body:match("^%s*(.-)%s*$")) end
    elseif word == "undef" then
      local name = rest:match("^[%w_$]+")
      if name then macros[name] = doubtful end
    elseif word == "ifndef" then
      stack[#stack + 1] = { absent = rest:match("^[%w_$]+") }
    elseif word == "if" or word == "ifdef" then
      stack[#stack + 1] = {}
    elseif (word == "else" or word == "elif" or word == "elifdef" or word == "elifndef") and #stack > 0 then
      stack[#stack].otherwise, stack[#stack].guard = true, nil
    elseif word == "endif" then
      stack[#stack] = nil
    end
  end
  return state
end

-- A macro's words in place of its name, macros in them too.
local function expand(word, macros, out, depth, busy, at)
  local macro = word.name and macros[word.text]
  if not macro or busy[word.text] or at <= (macro.from or 0) or #out >= MOST_WORDS then
    out[#out + 1] = word
  elseif not macro.words or depth == 0 then
    out[#out + 1] = { text = word.text, name = true, conditional = word.conditional, doubtful = true }
  else
    busy[word.text] = true
    for _, inner in ipairs(macro.words) do
      expand({ text = inner.text, name = inner.name, conditional = word.conditional }, macros, out, depth - 1, busy,
        at)
    end
    busy[word.text] = nil
  end
end

--- The words of a source, with its macros and the program's defines put in.
---@param source string
---@param defines table<string, any>?  as a program has them: {T = "float", N = 4}
---@return xchg.cuda.Word[]
function M.read(source, defines)
  local macros = {}
  for name, value in next_key, defines or {} do
    local kind = type(value)
    if type(name) == "string" and value ~= false then
      local text = kind == "string" and value or kind == "number" and tostring(value) or kind == "boolean" and "1"
      macros[name] = text and { words = M.words(text), given = true } or { doubtful = true }
    end
  end
  -- What a backslash continues is one line for everything but raw strings, which prototypes have none of.
  source = source:gsub("\\\r?\n", "")
  local words = {}
  local state = follow(macros, words)
  scan(source, 1, words, function(line)
    state.directive(line)
    words[#words + 1] = { text = "", turn = true, conditional = state.conditional() }
  end)
  local out, conditional = {}, nil
  for at, word in ipairs(words) do
    if word.turn then
      conditional = word.conditional or nil
    else
      word.conditional = conditional
      expand(word, macros, out, 8, {}, at)
    end
  end
  return out
end

return M
