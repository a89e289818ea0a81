--- CUDA C++ to PTX with NVRTC, found in the wheels of the specs' Python or in a toolkit. Needs no GPU and no driver.

local ffi = require "ffi"
local child = require "spec.support.child"

local M = {}

ffi.cdef [[
const char *nvrtcGetErrorString(int);
int nvrtcVersion(int *major, int *minor);
int nvrtcCreateProgram(void **, const char *source, const char *name, int, const char *const *, const char *const *);
int nvrtcAddNameExpression(void *, const char *expression);
int nvrtcCompileProgram(void *, int, const char *const *options);
int nvrtcGetPTXSize(void *, size_t *);
int nvrtcGetPTX(void *, char *);
int nvrtcGetProgramLogSize(void *, size_t *);
int nvrtcGetProgramLog(void *, char *);
int nvrtcGetLoweredName(void *, const char *expression, const char **);
int nvrtcDestroyProgram(void **);
void *dlopen(const char *, int);
int getpid(void);
]]

local RTLD_NOW, RTLD_NODELETE = 2, 0x1000

local function exists(path)
  local file = io.open(path, "rb")
  if file then file:close() end
  return file ~= nil
end

-- The first file that a shell pattern names, or nil; the highest version of several.
local function glob(pattern)
  local pipe = assert(io.popen("ls -d " .. pattern .. " 2>/dev/null | sort -V | tail -n 1", "r"))
  local path = pipe:read("*l")
  pipe:close()
  return path
end

-- Folders of libraries, each with those of its headers, in the order of search.
local function layouts()
  local out = {}
  local python = os.getenv("XCHG_PYTHON")
  local prefix = python and python:match("^(.*)/bin/[^/]+$")
  local site = prefix and glob(child.quote(prefix) .. "/lib/python3.*/site-packages/nvidia")
  if site then
    out[#out + 1] = { lib = site .. "/cu13/lib", include = { site .. "/cu13/include", site .. "/cu13/include/cccl" } }
    out[#out + 1] = {
      lib = site .. "/cuda_nvrtc/lib", include = { site .. "/cuda_runtime/include", site .. "/cuda_cccl/include" },
    }
  end
  for _, root in ipairs { os.getenv("CUDA_HOME") or "", os.getenv("CUDA_PATH") or "", "/usr/local/cuda" } do
    if root ~= "" then
      for _, folder in ipairs { "/lib64", "/lib" } do
        out[#out + 1] = { lib = root .. folder, include = { root .. "/include", root .. "/include/cccl" } }
      end
    end
  end
  return out
end

local state -- { C =, version =, include = } or { reason = }

local function find()
  for _, layout in ipairs(layouts()) do
    local quoted = child.quote(layout.lib)
    local path = glob(quoted .. "/libnvrtc.so.[0-9]*")
    if path and not path:find("builtins", 1, true) then
      -- NVRTC asks the loader for its builtins by name: that finds them only when they are open already.
      local builtins = glob(quoted .. "/libnvrtc-builtins.so.*")
      if builtins then ffi.C.dlopen(builtins, RTLD_NOW + RTLD_NODELETE) end
      if ffi.C.dlopen(path, RTLD_NOW + RTLD_NODELETE) ~= nil then
        local C = ffi.load(path)
        local major, minor = ffi.new("int[1]"), ffi.new("int[1]")
        C.nvrtcVersion(major, minor)
        return { C = C, path = path, version = ("%d.%d"):format(major[0], minor[0]), include = layout.include }
      end
    end
  end
  return { reason = "no NVRTC in the wheels of XCHG_PYTHON, nor in a toolkit" }
end

local function get()
  state = state or find()
  return state
end

-- A folder of what was compiled for machines without a compiler: filled where there is one, read where there is none.
local AHEAD = os.getenv "XCHG_KERNELS_AHEAD"

--- true, or false and the reason.
function M.available()
  if get().C then return true end
  return false, get().reason
end

--- The same, also true where texts of a compiler elsewhere are at hand.
function M.prepared()
  if AHEAD then return true end
  return M.available()
end

--- The folders of headers that belong to the NVRTC in use.
function M.include()
  return get().include
end

--- Its version, "13.5".
function M.version()
  return get().version
end

-- 64-bit FNV-1a: tells texts apart, guards nothing.
local function hash(text)
  local h = 0xcbf29ce484222325ULL
  for i = 1, #text do
    h = bit.bxor(h, text:byte(i) + 0ULL) * 0x100000001b3ULL
  end
  return bit.tohex(h)
end

local function cache_folder()
  local build = os.getenv("XCHG_BUILD") or "build"
  return (build:sub(1, 1) == "/" and "" or child.root .. "/") .. build .. "/kernels"
end

-- A cached file: a line "// lowered: expression => name" for each name, then the PTX.
local function load_cached(path)
  if not exists(path) then return nil end
  local text = child.read(path)
  if text:sub(-8) ~= "\n// end\n" then return nil end
  local lowered = {}
  for expression, name in text:gmatch("// lowered: ([^\n]-) => ([^\n]+)") do lowered[expression] = name end
  return text, lowered
end

local written = 0

-- Another process may write the same file: each writes its own and renames it.
local function store(folder, path, text)
  if not exists(folder) then os.execute("mkdir -p " .. child.quote(folder)) end
  written = written + 1
  local own = ("%s.%d.%d"):format(path, ffi.C.getpid(), written)
  child.write(own, text)
  assert(os.rename(own, path))
end

local function take_text(size_of, text_of, program)
  local size = ffi.new("size_t[1]")
  size_of(program, size)
  local text = ffi.new("char[?]", tonumber(size[0]) + 1)
  text_of(program, text)
  return ffi.string(text)
end

local function compile(source, options, names)
  local C = get().C
  local program = ffi.new("void *[1]")
  local function call(rc, what)
    if rc ~= 0 then error(("nvrtc: %s: %s"):format(what, ffi.string(C.nvrtcGetErrorString(rc))), 0) end
  end
  call(C.nvrtcCreateProgram(program, source, "kernels.cu", 0, nil, nil), "create")
  local ok, ptx, lowered = pcall(function()
    for _, name in ipairs(names) do call(C.nvrtcAddNameExpression(program[0], name), name) end
    local list = ffi.new("const char *[?]", #options + 1)
    for i, option in ipairs(options) do list[i - 1] = option end
    local rc = C.nvrtcCompileProgram(program[0], #options, list)
    if rc ~= 0 then
      local log = take_text(C.nvrtcGetProgramLogSize, C.nvrtcGetProgramLog, program[0])
      error(("nvrtc: %s\n%s"):format(ffi.string(C.nvrtcGetErrorString(rc)), log), 0)
    end
    local out = {}
    for _, name in ipairs(names) do
      local text = ffi.new("const char *[1]")
      call(C.nvrtcGetLoweredName(program[0], name, text), name)
      out[name] = ffi.string(text[0])
    end
    return take_text(C.nvrtcGetPTXSize, C.nvrtcGetPTX, program[0]), out
  end)
  C.nvrtcDestroyProgram(program)
  if not ok then error(ptx, 0) end
  return ptx, lowered
end

---@class nvrtc.Options
---@field arch? string      "compute_75" by default
---@field options? string[] further options
---@field names? string[]   name expressions, such as "add<float>"

--- Compiles, or takes what an earlier run compiled. Raises a text with NVRTC's log.
---@param source string
---@param how? nvrtc.Options
---@return string ptx
---@return table<string, string> lowered the mangled name of each name expression
function M.compile(source, how)
  how = how or {}
  local options = { "--gpu-architecture=" .. (how.arch or "compute_75") }
  for _, option in ipairs(how.options or {}) do options[#options + 1] = option end
  local names = how.names or {}
  local plain = { source, table.concat(options, "\n"), table.concat(names, "\n") }
  local ahead = AHEAD and ("%s/%s.ptx"):format(AHEAD, hash(table.concat(plain, "\0")))
  local ok, reason = M.available()
  if not ok then
    local text, lowered = load_cached(ahead or "")
    if text then return text, lowered end
    error(AHEAD and reason .. ", and this was not compiled ahead" or reason, 2)
  end
  for _, path in ipairs(get().include) do options[#options + 1] = "-I" .. path end
  local key = table.concat({ get().path, get().version, source, table.concat(options, "\n"), plain[3] }, "\0")
  local path = ("%s/%s.ptx"):format(cache_folder(), hash(key))
  local text, lowered = load_cached(path)
  if not text then
    text, lowered = compile(source, options, names)
    local parts = {}
    for _, name in ipairs(names) do parts[#parts + 1] = ("// lowered: %s => %s\n"):format(name, lowered[name]) end
    text = table.concat(parts) .. text .. "\n// end\n"
    store(cache_folder(), path, text)
  end
  if ahead and not exists(ahead) then store(AHEAD, ahead, text) end
  return text, lowered
end

return M
