--- Programs: compiled or loaded code, with its kernels and variables.

local ffi = require "ffi"
local lib = require "xchg.lib"
local check = require "xchg.check"
local dtype = require "xchg.dtype"
local error_ = require "xchg.error"
local kernel = require "xchg.cuda.kernel"
local library = require "xchg.cuda.library"
local mangled = require "xchg.cuda.mangled"
local signature = require "xchg.cuda.signature"
local slots = require "xchg.slots"
local view = require "xchg.view"

local M = {}

local C, arena, scratch = lib.C, lib.arena, error_.scratch
local next_key = lib.core.next
local cuda = library.known

local LOG_BYTES = 8192

---@class xchg.cuda.Program
---@field name string
---@field arch string?    what it was compiled for
---@field ptx string?     nil for cubins and fatbins that were loaded
---@field cubin string?   machine code, where the compiler made any
---@field log string      warnings of the compiler
---@field cached boolean  whether it came from the cache on disk
---@field note string?    why the cache was not used
---@field source string?
local Program = {}

-- The only field that a program really has, so that all other names are kernels. (A weak table of facts would keep
-- every program: its kernels know it.)
local FACTS = {}
local function facts_of(program) return rawget(program, FACTS) end

-- The same for what a method was called with.
local function checked_facts(where, self)
  local facts = type(self) == "table" and facts_of(self)
  if not facts then
    error_.raise("wrong_type", "%s: a program is expected, got %s; call it as program:%s(...)", where,
      check.describe(self), where)
  end
  return facts
end

local FIELDS = { name = 1, arch = 1, ptx = 1, cubin = 1, log = 1, cached = 1, note = 1, source = 1 }

-- ---- loading --------------------------------------------------------------------------------------------

-- The code in the driver, loaded when it is first used. Raises "no_cuda" where there is no device. Cubins are the
-- device's own code; the simulated one has none.
local function loaded(where, facts)
  if facts.library then return facts.library end
  library.open(where)
  local image = facts.image or cuda.simulated == 0 and facts.cubin or facts.ptx
  local out, log = ffi.new("xchg_cuda_library *[1]"), ffi.new("char[?]", LOG_BYTES)
  error_.check(where, C.xchg_cuda_library_load(out, image, #image, log, LOG_BYTES, scratch))
  facts.library = ffi.gc(out[0], C.xchg_cuda_library_release)
  facts.driver_log = ffi.string(log)
  return facts.library
end

-- ---- names ----------------------------------------------------------------------------------------------

-- "scale<float>" of "scale<(float)1>": not tried; blanks only.
local function tidy(expression)
  return (expression:gsub("^%s+", ""):gsub("%s+$", ""):gsub("%s*([<>,&*:()])%s*", "%1"):gsub("%s+", " "))
end

-- Names of the loaded kernels as the driver tells them, for code without PTX.
local function driver_entries(where, facts)
  local library_, room = loaded(where, facts), 4096
  while true do
    local out = ffi.new("char[?]", room)
    local needed = error_.check(where, C.xchg_cuda_library_kernels(library_, out, room, scratch))
    if needed < room then
      local names = {}
      for name in ffi.string(out):gmatch("[^\n]+") do names[#names + 1] = name end
      return names
    end
    room = needed + 1
  end
end

-- The kernels of a program: { name = entry, shown = as C++ has it, base = without the template's arguments }.
local function entries_of(where, facts)
  if facts.entries then return facts.entries end
  local expressions, out = {}, {}
  for expression, entry in next_key, facts.lowered do
    if not expressions[entry] or expression < expressions[entry] then expressions[entry] = expression end
  end
  for i, entry in ipairs(facts.ptx and signature.entries(facts.ptx) or driver_entries(where, facts)) do
    local told = mangled.read(entry)
    local shown = expressions[entry] or told and told.name or entry
    local base = (told and told.name or shown):gsub("<.*$", "")
    out[i] = { name = entry, shown = shown, tidy = tidy(shown), base = tidy(base) }
  end
  facts.entries = out
  return out
end

-- The entry that a name means: as it is in the code, as an expression that it was compiled with, or as C++ has it where
-- only one is called so. nil; or nil and all that it could mean.
local function find_entry(where, facts, name)
  local lowered, wanted, found = facts.lowered[name], tidy(name), {}
  local entries = entries_of(where, facts)
  for _, entry in ipairs(entries) do
    if entry.name == name or entry.name == lowered then return entry end
  end
  for _, entry in ipairs(entries) do
    if entry.tidy == wanted then found[#found + 1] = entry end
  end
  if #found == 0 and not wanted:find("<", 1, true) then
    for _, entry in ipairs(entries) do
      if entry.base == wanted then found[#found + 1] = entry end
    end
  end
  if #found == 1 then return found[1] end
  return nil, found
end

local function shown_names(entries)
  local names = {}
  for i, entry in ipairs(entries) do names[i] = entry.shown end
  return names
end

-- Whether code has memory of its own that lasts: another load of it would have another one.
local function has_variables(ptx)
  local text = ptx:gsub("/%*.-%*/", " "):gsub("//[^\n]*", "")
  local depth = 0
  for line in text:gmatch("[^\n]+") do
    if depth == 0 and (line:find("^%s*%.?%l*%s*%.global%f[%s]") or line:find("^%s*%.?%l*%s*%.const%f[%s]"))
      and not line:find("%$str") then
      return true
    end
    for bracket in line:gmatch("[{}]") do depth = depth + (bracket == "{" and 1 or -1) end
  end
  return false
end

local function unknown_kernel(where, facts, name, found)
  if found and #found > 1 then
    error_.raise("bad_argument", "%s: '%s' of %s could be any of %s", where, name, facts.name,
      table.concat(shown_names(found), ", "))
  end
  local names = shown_names(entries_of(where, facts))
  if #names == 0 then
    error_.raise("bad_argument", "%s: %s has no kernel '%.99s', nor any other; kernels are __global__ functions", where,
      facts.name, name)
  end
  table.sort(names)
  local near = check.nearest(name, names)
  error_.raise("bad_argument", "%s: %s has no kernel '%.99s'%s; it has %s", where, facts.name, name,
    near and (" (did you mean '%s'?)"):format(near) or "", table.concat(names, ", "))
end

-- An instance of a template that the program was not compiled with: compiled with it now, as a program of its own.
local function instantiate(where, facts, name)
  if has_variables(facts.ptx) then
    error_.raise("bad_argument", "%s: %s was compiled without '%s', and because of its variables it cannot be added "
      .. "later: they would be others; compile it with names = {\"%s\"}", where, facts.name, name, name)
  end
  return M.new(M.again(where, facts, { name }))
end

-- ---- the public functions -----------------------------------------------------------------------------

local function kernel_of(where, self, name)
  local facts = checked_facts(where, self)
  if type(name) ~= "string" then
    error_.raise("wrong_type", "%s: the name of a kernel is expected, got %s", where, check.describe(name))
  end
  local known = facts.kernels[name]
  if known then return known end
  local entry, found = find_entry(where, facts, name)
  local made
  if entry then
    made = facts.made[entry.name]
    if not made then
      made = kernel.new {
        library = loaded(where, facts), name = entry.name,
        expression = facts.lowered[name] and name or nil, ptx = facts.ptx, source = facts.source,
        defines = facts.spec and facts.spec.defines, program = self,
        declared = facts.signatures and (facts.signatures[name] or facts.signatures[entry.shown]
          or facts.signatures[entry.name]),
      }
      facts.made[entry.name] = made
    end
  elseif #found == 0 and facts.source and name:find("<", 1, true) then
    made = instantiate(where, facts, name):kernel(name)
  else
    unknown_kernel(where, facts, name, found)
  end
  facts.kernels[name] = made
  return made
end

--- A kernel by its name: as it is in the source, a name expression ("scale<float>"), or the mangled name.
---@param name string
---@return xchg.cuda.Kernel
function Program:kernel(name)
  local made = kernel_of("kernel", self, name)
  return made
end

--- The names of all kernels, sorted.
---@return string[]
function Program:kernels()
  local names = shown_names(entries_of("kernels", facts_of(self)))
  table.sort(names)
  return names
end

-- What variables may be called in the code: as it is, as an expression, or in namespaces ("ns::table").
local function variable_names(facts, name)
  local out = { facts.lowered["&" .. name] or facts.lowered[name], name }
  if name:find("::", 1, true) then
    local parts = {}
    for part in name:gmatch("[^:]+") do parts[#parts + 1] = #part .. part end
    out[#out + 1] = "_ZN" .. table.concat(parts) .. "E"
  end
  return out
end

-- Address and bytes of a variable, and its name in the code.
local function find_variable(where, facts, name, device)
  local library_ = loaded(where, facts)
  local pointer, size = ffi.new("void *[1]"), ffi.new("size_t[1]")
  local names = variable_names(facts, name)
  for i = 1, 3 do
    if names[i] then
      if C.xchg_cuda_library_global(library_, names[i], pointer, size, scratch) == 0 then
        return names[i], tonumber(size[0])
      elseif scratch.cuda_code ~= 500 then
        error_.check(where, scratch.code)
      end
      scratch.code = 0
    end
  end
  error_.raise("bad_argument", "%s: %s has no variable '%s' on cuda:%d; variables that no kernel uses are left out, "
    .. "those of templates are found by names = {\"&%s\"}", where, facts.name, name, device, name)
end

local global_options = { dtype = "string", shape = "table|number" }

---@class xchg.cuda.GlobalOptions
---@field dtype xchg.dtype?             default "uint8": its bytes
---@field shape integer|integer[]?  default: one dimension, all of it

--- A __device__, __constant__ or __managed__ variable on the current device, as a tensor over its memory.
---@param name string
---@param options xchg.cuda.GlobalOptions?
---@return xchg.Tensor
function Program:global(name, options)
  local facts = checked_facts("global", self)
  if type(name) ~= "string" then
    error_.raise("wrong_type", "global: the name of a variable is expected, got %s", check.describe(name))
  end
  options = check.options("global", options, global_options)
  local row = dtype.get("global", options.dtype or "uint8")
  library.open("global")
  local current = ffi.new("int32_t[1]")
  error_.check("global", C.xchg_cuda_device_current(current, scratch))
  local found, bytes = find_variable("global", facts, name, current[0])
  local t, head = slots.blank(row.id)
  local count = math.floor(bytes / row.itemsize)
  if options.shape == nil and count * row.itemsize ~= bytes then
    error_.raise("shape_mismatch", "global: '%s' has %d bytes, which is no whole number of %s elements; give a shape",
      name, bytes, row.name)
  end
  local shape = options.shape
  if shape == nil then shape = count end
  local ndim, extents = view.shape("global", shape)
  local code = C.xchg_cuda_library_tensor(arena, head, facts.library, found, current[0], row.id, ndim, extents, scratch)
  error_.check("global", code)
  view.done(extents)
  return slots.adopt(t)
end

local metatable = { __name = "xchg.cuda.Program" }

function metatable.__index(self, name)
  if Program[name] then return Program[name] end
  if FIELDS[name] then return facts_of(self)[name] end
  return kernel_of("program", self, name)
end

function metatable.__newindex()
  error_.raise("readonly", "program: what was compiled cannot be assigned to")
end

function metatable.__tostring(self)
  local facts = facts_of(self)
  return ("program %s%s"):format(facts.name, facts.arch and " for " .. facts.arch or "")
end

--- A program of what a compilation has given (compile.lua), or of code that was loaded (load.lua).
---@param facts table { name, arch?, ptx?, cubin?, image?, log, lowered, source?, spec?, signatures? }
---@return xchg.cuda.Program
function M.new(facts)
  return setmetatable({
    [FACTS] = {
      name = facts.name, arch = facts.arch, ptx = facts.ptx, cubin = facts.cubin, image = facts.image, log = facts.log,
      cached = facts.cached, note = facts.note, source = facts.source, spec = facts.spec, lowered = facts.lowered,
      signatures = facts.signatures, kernels = {}, made = {},
    },
  }, metatable)
end

--- Checks code before anything is made of it: true for PTX. Raises for what is no code, or not whole.
---@param image string
---@return boolean
function M.check_image(image)
  return error_.check("load", C.xchg_cuda_image_check(image, #image, scratch)) == C.XCHG_CUDA_IMAGE_PTX
end

--- Loads a program's code into the driver now, so that what is wrong with it shows.
---@param program xchg.cuda.Program
function M.begin(program)
  local facts = facts_of(program)
  loaded("load", facts)
  facts.log = facts.driver_log
  return program
end

--- Compiles again with more names; set by compile.lua, which needs this file.
---@type fun(where: string, facts: table, names: string[]): table
M.again = nil

return M
