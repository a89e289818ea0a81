--- Options of compilations: checked, and put into the words of NVRTC.

local lib = require "xchg.lib"
local check = require "xchg.check"
local ctype = require "xchg.cuda.ctype"
local dtype = require "xchg.dtype"
local error_ = require "xchg.error"
local slots = require "xchg.slots"

local M = {}

local next_key = lib.core.next
local raise, floor = error_.raise, math.floor

---@class xchg.cuda.CompileOptions
---@field name string?       of the program, as messages call it; default "program.cu"
---@field arch string|integer?  "sm_90", "compute_90", 90; default: that of the current device
---@field std string?        "c++17" (the default of NVRTC), "c++20", ...
---@field include string|string[]?  folders of headers
---@field defines table<string, any>?  macros: strings, numbers, true; a type, a dtype's name or a tensor: a C++ type
---@field names string[]?    name expressions of templates that are to be instantiated: "scale<float>"
---@field headers table<string, string>?  headers as text, by the name that they are included by
---@field options string[]?  passed on to NVRTC as they are
---@field cache boolean|string?  false compiles anew and keeps nothing; a folder is used in place of the usual one
---@field fast_math boolean?
---@field ftz boolean?
---@field fmad boolean?
---@field prec_div boolean?
---@field prec_sqrt boolean?
---@field lineinfo boolean?  lines of the source in the code; default: on the simulated device
---@field debug boolean?     no optimisation, and what debuggers want
---@field maxrregcount integer?  registers that a thread may take
---@field default_device boolean?  functions without a space are __device__
---@field minimal boolean?   leaves language features out, to compile faster
---@field suppress integer|integer[]?  numbers of warnings that are not wanted

local known = {
  name = "string", arch = "string|number", std = "string", include = "string|table", defines = "table", names = "table",
  headers = "table", options = "table", cache = "boolean|string", fast_math = "boolean", ftz = "boolean",
  fmad = "boolean", prec_div = "boolean", prec_sqrt = "boolean", lineinfo = "boolean", debug = "boolean",
  maxrregcount = "number", default_device = "boolean", minimal = "boolean",
  suppress = "number|table",
}

local is_dtype = {}
for _, name in ipairs(dtype.names) do is_dtype[name] = true end

-- NVRTC's words for what is true or false, and for what is only on.
local switches = { ftz = "-ftz=", fmad = "-fmad=", prec_div = "-prec-div=", prec_sqrt = "-prec-sqrt=" }
local flags = {
  fast_math = "--use_fast_math", debug = "-G", default_device = "-default-device",
  minimal = "--minimal",
}
local switch_order, flag_order = {}, {}
for name in next_key, switches do switch_order[#switch_order + 1] = name end
for name in next_key, flags do flag_order[#flag_order + 1] = name end
table.sort(switch_order)
table.sort(flag_order)

-- C's strings end at a NUL.
local function text(where, what, value)
  if type(value) ~= "string" then
    raise("wrong_type", "%s: %s must be a string, got %s", where, what, check.describe(value))
  end
  local nul = value:find("%z")
  if nul then raise("bad_argument", "%s: %s contains a NUL byte, at byte %d", where, what, nul) end
  return value
end
M.text = text

local function list(where, what, value)
  if type(value) == "string" then value = { value } end
  local n, key = check.list(value)
  if not n then
    raise("wrong_type", "%s: option '%s' must be a list of strings, got the key %s in it", where, what,
      check.describe(key))
  end
  local out = {}
  for i = 1, n do out[i] = text(where, ("%s[%d]"):format(what, i), value[i]) end
  return out
end

local function sorted(where, what, value)
  local keys = {}
  for key in next_key, value do keys[#keys + 1] = text(where, "a name in " .. what, key) end
  table.sort(keys)
  return keys
end

-- ---- macros ---------------------------------------------------------------------------------------------

-- The name of the text that has the user's definitions. They are not given as -D: NVRTC's own headers, which it reads
-- before all else, have template parameters called T as well.
local DEFINITIONS = "xchg_definitions.h"

-- What a name stands for: its text, whether that is a type, and the header that declares it; nil where it is not
-- defined.
local function definition(where, name, value)
  if value == true then return "1", false end
  if value == false then return nil end
  if slots.is_tensor(value) then value = slots.check(where, value).dtype end
  if type(value) == "string" then
    text(where, ("defines.%s"):format(name), value)
    if value:find("[\r\n]") then
      raise("bad_argument", "%s: defines.%s has more than one line; put it into the source", where, name)
    end
    local is_name = is_dtype[value]
    local element = is_name and value or ctype.dtype(value)
    if not element then return value, false end
    local spelling, header = ctype.of(element)
    if not spelling then
      raise("unsupported_dtype", "%s: defines.%s: CUDA C++ has no type for %s", where, name, value)
    end
    return is_name and spelling or value, true, header
  end
  if type(value) == "number" then
    if value ~= value or value == math.huge or value == -math.huge then
      raise("bad_argument", "%s: defines.%s is %s, which C++ has no literal for", where, name, tostring(value))
    end
    -- What looks like an integer is one.
    if value == floor(value) and math.abs(value) < 2 ^ 53 then return ("%d"):format(value), false end
    return ("%.17g"):format(value), false
  end
  if check.is_number(value) then return tostring(value), false end
  raise("wrong_type", "%s: defines.%s must be a string, a number, true or a tensor, got %s", where, name,
    check.describe(value))
end

-- Types become names of types, not macros: a header may then use the same name for something of its own.
local function add_defines(where, spec, defines)
  local includes, lines = {}, {}
  for _, name in ipairs(sorted(where, "defines", defines)) do
    local plain = name:find("^[%a_][%w_]*$")
    if not plain and not name:find("^[%a_][%w_]*%([%w_, .]*%)$") then
      raise("bad_argument", "%s: defines: '%s' is not the name of a macro", where, name)
    end
    local value, is_type, header = definition(where, name, defines[name])
    if value then
      spec.defines[name] = value
      lines[#lines + 1] = (is_type and plain and "using %s = %s;" or "#define %s %s"):format(name, value)
    end
    if header and not includes[header] then
      includes[header] = true
      includes[#includes + 1] = ("#include <%s>"):format(header)
    end
  end
  if #lines == 0 then return end
  spec.options[#spec.options + 1] = "--pre-include=" .. DEFINITIONS
  spec.header_names[1] = DEFINITIONS
  spec.header_texts[1] = table.concat(includes, "\n") .. "\n" .. table.concat(lines, "\n") .. "\n"
end

-- ---- options of NVRTC as they are ---------------------------------------------------------------------

-- Options that make or take files that the cache cannot know of.
local uncached = { "^%-%-?pch", "^%-%-?create%-pch", "^%-%-?use%-pch", "^%-%-?pre%-include", "^%-include", "^%-%-?time",
  "^%-%-?fdevice%-time%-trace", "^%-%-?options%-file", "^%-optf" }

local function add_raw(where, spec, raw)
  local folder_follows = false
  for _, option in ipairs(list(where, "options", raw)) do
    spec.options[#spec.options + 1] = option
    local folder = option:match("^%-I%s*(.+)") or option:match("^%-%-include%-path=(.+)")
    if folder_follows or folder then spec.folders[#spec.folders + 1] = folder or option end
    folder_follows = not folder_follows and (option == "-I" or option == "--include-path")
    for _, pattern in ipairs(uncached) do
      if option:find(pattern) then spec.cached = false end
    end
    if option:find("^%-arch") or option:find("^%-%-gpu%-architecture") then
      raise("bad_argument", "%s: options: '%s' is the option arch = here", where, option)
    elseif option:find("^%-%-?restrict") then
      -- Seen in 12.9 and 13.5: all programs of the process are compiled so from then on.
      raise("bad_argument", "%s: options: NVRTC does not forget '%s' for later programs, which it may make wrong; "
        .. "declare the pointers of the kernel __restrict__", where, option)
    end
  end
end

-- ---- all of them ----------------------------------------------------------------------------------------

---@class xchg.cuda.CompileSpec
---@field name string
---@field arch string|integer|nil  as it was given
---@field options string[]     NVRTC's, all but the architecture and its own headers
---@field defines table<string, string>
---@field folders string[]
---@field names string[]
---@field header_names string[]
---@field header_texts string[]
---@field cached boolean
---@field cache string?        the folder that was asked for
---@field lineinfo boolean?    nil: as the device likes it

--- Reads options; raises on what NVRTC could not take.
---@param where string
---@param options xchg.cuda.CompileOptions?
---@return xchg.cuda.CompileSpec
function M.read(where, options)
  options = check.options(where, options, known)
  local spec = { options = {}, defines = {}, folders = {}, names = {}, header_names = {}, header_texts = {},
    cached = options.cache ~= false, arch = options.arch, lineinfo = options.lineinfo }
  spec.name = text(where, "option 'name'", options.name or "program.cu")
  if spec.name == "" then raise("bad_argument", "%s: option 'name' is empty", where) end
  if type(options.cache) == "string" then spec.cache = text(where, "option 'cache'", options.cache) end
  local out = spec.options
  if options.std then
    local standard = options.std:lower()
    if not standard:find("^c%+%+%d%d$") then
      raise("bad_argument", "%s: option 'std' must be such as \"c++17\", got %s", where, check.describe(options.std))
    end
    out[#out + 1] = "-std=" .. standard
  end
  for _, name in ipairs(switch_order) do
    if options[name] ~= nil then out[#out + 1] = switches[name] .. tostring(options[name]) end
  end
  for _, name in ipairs(flag_order) do
    if options[name] then out[#out + 1] = flags[name] end
  end
  if options.maxrregcount then
    out[#out + 1] = ("-maxrregcount=%d"):format(check.integer(where, "option 'maxrregcount'", options.maxrregcount, 1,
      255))
  end
  local numbers = options.suppress
  if type(numbers) == "number" then numbers = { numbers } end
  for i, number in ipairs(numbers or {}) do
    out[#out + 1] = ("-diag-suppress=%d"):format(check.integer(where, ("suppress[%d]"):format(i), number, 1, 99999))
  end
  if options.debug and spec.lineinfo == nil then spec.lineinfo = false end -- there is more than lines
  if options.defines then add_defines(where, spec, options.defines) end
  for _, folder in ipairs(options.include and list(where, "include", options.include) or {}) do
    spec.folders[#spec.folders + 1] = folder
    out[#out + 1] = "-I" .. folder
  end
  if options.options then add_raw(where, spec, options.options) end
  for i, name in ipairs(options.names and list(where, "names", options.names) or {}) do
    if name:find("[\r\n]") or not name:find("%S") then
      raise("bad_argument", "%s: names[%d] is %s, which names nothing", where, i, check.describe(name))
    end
    spec.names[i] = name
  end
  for _, name in ipairs(options.headers and sorted(where, "headers", options.headers) or {}) do
    local at = #spec.header_names + 1
    spec.header_names[at] = name
    spec.header_texts[at] = text(where, ("headers[%q]"):format(name), options.headers[name])
  end
  return spec
end

-- ---- telling options apart quickly ----------------------------------------------------------------------

-- Adds a value to the parts of a text. Lengths go before strings, so that none can end early or begin another part.
local function add(parts, n, value)
  local kind = type(value)
  if kind == "string" then
    parts[n + 1], parts[n + 2], parts[n + 3] = #value, ":", value
    return n + 3
  elseif kind == "number" then
    -- The usual way of writing numbers has 14 digits.
    local short = value == floor(value) and value < 1e14 and value > -1e14
    parts[n + 1], parts[n + 2] = "#", short and value or ("%.17g"):format(value)
  elseif kind == "boolean" then
    parts[n + 1], parts[n + 2] = "?", tostring(value)
  elseif kind == "cdata" and slots.is_tensor(value) and value._slot ~= 0 then
    parts[n + 1], parts[n + 2] = "?", value.dtype
  else
    return nil
  end
  parts[n + 3] = ";"
  return n + 3
end

local function add_table(parts, n, value)
  local length, keys, more = #value, nil, 0
  for i = 1, length do
    n = add(parts, n, value[i])
    if not n then return nil end
  end
  for key in next_key, value do
    if type(key) == "string" then
      keys = keys or {}
      more = more + 1
      keys[more] = key
    elseif type(key) ~= "number" or key < 1 or key > length then
      return nil
    end
  end
  if more > 1 then table.sort(keys) end
  for i = 1, more do
    n = add(parts, n, keys[i])
    parts[n + 1] = "="
    n = add(parts, n + 1, value[keys[i]])
    if not n then return nil end
  end
  parts[n + 1] = "}"
  return n + 1
end

--- A text that is the same only for options that mean the same; nil for what must be looked at closely.
---@param options table
---@return string?
function M.signature(options)
  local parts, n, names, count = {}, 0, {}, 0
  for name in next_key, options do
    if not known[name] then return nil end
    count = count + 1
    names[count] = name
  end
  if count > 1 then table.sort(names) end
  for i = 1, count do
    local name = names[i]
    local value = options[name]
    parts[n + 1] = name
    if type(value) == "table" then
      n = add_table(parts, n + 1, value)
    else
      n = add(parts, n + 1, value)
    end
    if not n then return nil end
  end
  return table.concat(parts, "", 1, n)
end

return M
