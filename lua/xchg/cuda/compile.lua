--- Compiling CUDA C++: sources and options in, programs out, at once or in the background.
--
-- What was compiled before is found in three places: programs that are alive, results of this process, and the cache on
-- disk. The first two are asked by source and options alone, so they hold only programs that no file is part of.

local ffi = require "ffi"
local lib = require "xchg.lib"
local check = require "xchg.check"
local diagnostics = require "xchg.cuda.diagnostics"
local error_ = require "xchg.error"
local library = require "xchg.cuda.library"
local nvrtc = require "xchg.cuda.nvrtc"
local options_ = require "xchg.cuda.options"
local program = require "xchg.cuda.program"

local M = {}

local C, scratch = lib.C, error_.scratch
local cuda = library.known
local signature = options_.signature

local MOST_SOURCE = 256 * 2 ^ 20
local MOST_RESULTS, MOST_BYTES = 256, 64 * 2 ^ 20

-- ---- for which device -----------------------------------------------------------------------------------

local MAJOR, MINOR = 75, 76 -- cudaDeviceAttr
local int32_box = ffi.typeof("int32_t[1]")
local capabilities = {} -- by device number

local function attribute(where, number, index)
  local box = int32_box()
  error_.check(where, C.xchg_cuda_device_attribute(box, number, index, scratch))
  return box[0]
end

--- The capability of the current device (90), or nil where none can be used: NVRTC needs none.
local function capability(where)
  if cuda.state ~= 1 and (cuda.state < 0 or library.reason()) then return nil end
  local box = int32_box()
  if C.xchg_cuda_device_current(box, scratch) < 0 then -- in a forked child
    scratch.code = 0
    return nil
  end
  local index = box[0]
  local found = capabilities[index]
  if not found then
    found = attribute(where, MAJOR, index) * 10 + attribute(where, MINOR, index)
    capabilities[index] = found
  end
  return found
end

local function choose_arch(where, asked, current)
  if asked then return nvrtc.arch(where, asked) end
  if current then return nvrtc.arch_for(where, current, cuda.simulated ~= 0) end
  return ("compute_%d"):format(nvrtc.archs()[1] or 75)
end

-- ---- what this process has compiled -------------------------------------------------------------------

-- By source, then by options and device: { facts =, program = (weak) }.
local results, result_count, result_bytes = {}, 0, 0
local weak = { __mode = "v" }

local function recall(source, key)
  local of_source = results[source]
  local entry = of_source and of_source[key]
  if not entry then return nil end
  local live = entry.live.program
  if not live then
    live = program.new(entry.facts)
    entry.live.program = live
  end
  return live
end

local function remember(source, key, facts, made)
  local bytes = #source + #facts.ptx + #(facts.cubin or "") + #facts.log
  if result_count >= MOST_RESULTS or result_bytes + bytes > MOST_BYTES then
    results, result_count, result_bytes = {}, 0, 0
  end
  local of_source = results[source]
  if not of_source then
    of_source = {}
    results[source] = of_source
  end
  if not of_source[key] then result_count, result_bytes = result_count + 1, result_bytes + bytes end
  of_source[key] = { facts = facts, live = setmetatable({ program = made }, weak) }
end

-- What decides the outcome beside the source; nil where it must be looked at closely.
local function key_of(where, options)
  local current = capability(where)
  if options == nil then return current or 0 end
  if type(options) ~= "table" or options.cache == false then return nil end
  local text = signature(options)
  return text and text .. "@" .. (current or 0)
end

-- ---- requests -------------------------------------------------------------------------------------------

local function check_source(where, source)
  if type(source) ~= "string" then
    error_.raise("wrong_type", "%s: a source text is expected, got %s", where, check.describe(source))
  end
  options_.text(where, "the source", source)
  if #source > MOST_SOURCE then
    error_.raise("out_of_range", "%s: a source of %d bytes; %d are the most", where, #source, MOST_SOURCE)
  end
end

-- Pointers to the strings of a list. `kept` holds what C will only have addresses of.
local function strings(kept, list)
  local pointers = ffi.new("const char *[?]", #list + 1, list)
  kept[#kept + 1], kept[#kept + 2] = pointers, list
  return pointers
end

-- All that NVRTC is told, in its order.
local function all_options(spec)
  local out = { "-arch=" .. spec.arch }
  if spec.lineinfo then out[#out + 1] = "-lineinfo" end
  for _, option in ipairs(spec.options) do out[#out + 1] = option end
  for _, folder in ipairs(nvrtc.include()) do out[#out + 1] = "-I" .. folder end
  return out
end

local function start(where, source, spec, background)
  local request, kept = ffi.new("xchg_compile_request"), {}
  local all, folder, bytes = all_options(spec), nil, 0
  if spec.cached then
    bytes = nvrtc.cache_bytes(where)
    folder = bytes > 0 and (spec.cache or nvrtc.cache_folder()) or nil
  end
  request.source, request.name = source, spec.name
  request.options, request.option_count = strings(kept, all), #all
  request.names, request.name_count = strings(kept, spec.names), #spec.names
  request.header_names, request.header_count = strings(kept, spec.header_names), #spec.header_names
  request.header_texts = strings(kept, spec.header_texts)
  request.folders, request.folder_count = strings(kept, spec.folders), #spec.folders
  request.cache, request.cache_bytes = folder, bytes
  local out = ffi.new("xchg_compile_job *[1]")
  spec.kept = kept -- until C has copied it all
  local code = C.xchg_compile_start(out, request, background and 1 or 0, scratch)
  spec.kept = nil
  error_.check(where, code)
  return ffi.gc(out[0], C.xchg_compile_release)
end

-- Everything about a compilation, read and checked.
local function prepare(where, source, options)
  check_source(where, source)
  local spec = options_.read(where, options)
  nvrtc.open(where)
  local current = capability(where)
  spec.arch = choose_arch(where, spec.arch, current)
  if spec.lineinfo == nil then spec.lineinfo = current ~= nil and cuda.simulated ~= 0 end
  return spec
end

-- The facts of a program out of C's memory.
local function facts_of(where, source, spec, job)
  local result = C.xchg_compile_wait(job, scratch)
  if result == nil then error_.check(where, scratch.code) end
  local log = result.log ~= nil and ffi.string(result.log, result.log_size) or ""
  if result.code ~= 0 then
    diagnostics.raise(where, source, spec, {
      code = ffi.string(C.xchg_error_name(result.code)), nvrtc = result.nvrtc, log = log,
      message = ffi.string(result.message),
    })
  end
  local lowered = {}
  for i, name in ipairs(spec.names) do lowered[name] = ffi.string(result.lowered[i - 1]) end
  return {
    source = source, spec = spec, name = spec.name, arch = spec.arch, log = log, lowered = lowered,
    ptx = ffi.string(result.ptx, result.ptx_size),
    cubin = result.cubin ~= nil and ffi.string(result.cubin, result.cubin_size) or nil,
    cached = result.cached ~= 0, files = result.files,
    note = result.note[0] ~= 0 and ffi.string(result.note) or nil,
  }
end

local function finish(where, source, spec, job, key)
  local facts = facts_of(where, source, spec, job)
  local made = program.new(facts)
  if key and spec.cached and facts.files == 0 then remember(source, key, facts, made) end
  return made
end

-- ---- the public functions -------------------------------------------------------------------------------

--- Compiles CUDA C++ for the current device. Raises "compile" with the compiler's words and the lines they are about.
---@param source string
---@param options xchg.cuda.CompileOptions?
---@return xchg.cuda.Program
function M.compile(source, options)
  local key = results[source] and key_of("compile", options)
  if key then
    local known = recall(source, key)
    if known then return known end
  end
  local spec = prepare("compile", source, options)
  local job = start("compile", source, spec, false)
  local made = finish("compile", source, spec, job, key or key_of("compile", options))
  return made
end

---@class xchg.cuda.Compilation
local Compilation = {}
Compilation.__index = Compilation
Compilation.__name = "xchg.cuda.Compilation"

--- Whether it has ended.
---@return boolean
function Compilation:done()
  if self.program or self.problem then return true end
  return error_.check("done", C.xchg_compile_done(self.job, scratch)) == 1
end

--- Waits for the end and gives the program; raises what compile() would have raised.
---@return xchg.cuda.Program
function Compilation:wait()
  if not self.program and not self.problem then
    local ok, made = pcall(finish, "compile_async", self.source, self.spec, self.job, self.key)
    if not ok and error_.is(made) and made.code == "forked" then error(made, 0) end
    if ok then self.program = made else self.problem = made end
    self.job = nil
  end
  if self.problem then error(self.problem, 0) end
  return self.program
end

function Compilation:__tostring()
  return ("compilation of %s (%s)"):format(self.spec and self.spec.name or self.program.name,
    self:done() and "done" or "running")
end

--- Compiles in the background: the Lua state goes on.
---@param source string
---@param options xchg.cuda.CompileOptions?
---@return xchg.cuda.Compilation
function M.compile_async(source, options)
  local key = key_of("compile_async", options)
  local known = key and results[source] and recall(source, key)
  if known then return setmetatable({ program = known }, Compilation) end
  local spec = prepare("compile_async", source, options)
  local job = start("compile_async", source, spec, true)
  return setmetatable({ job = job, source = source, spec = spec, key = key }, Compilation)
end

--- Compiles what a program was compiled from with more name expressions.
---@param facts table
---@param names string[]
---@return table facts
function M.again(where, facts, names)
  local spec = setmetatable({ names = names }, { __index = facts.spec })
  return facts_of(where, facts.source, spec, start(where, facts.source, spec, false))
end

program.again = M.again

return M
