--- What the library is and finds on this machine, as text for a report: the command `xchg info`.
-- Loads the rest only when asked, and goes on without whatever does not work.

local ffi = require "ffi"

local M = {}

local ENVIRONMENT = {
  "XCHG_PYTHON", "XCHG_LIBPYTHON", "XCHG_PROBE_TIMEOUT", "VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONHOME", "PYTHONPATH",
  "XCHG_CUDA", "XCHG_CUDART", "XCHG_NVRTC", "XCHG_CUDA_PATH", "XCHG_CACHE", "CUDA_HOME", "CUDA_PATH",
  "CUDA_VISIBLE_DEVICES", "LD_LIBRARY_PATH",
}

-- Distributions that make or take arrays, and what their users compile or launch with.
local DISTRIBUTIONS = {
  "numpy", "torch", "jax", "jaxlib", "tensorflow", "cupy", "cupy-cuda11x", "cupy-cuda12x", "cupy-cuda13x", "numba",
  "numba-cuda", "cuda-core", "cuda-bindings", "apache-tvm-ffi", "paddlepaddle", "mlx", "pyarrow", "pandas",
  "ml-dtypes", "mpi4py", "nanobind",
}

-- How each library makes a 2x3 array, and whether its import takes seconds.
local ARRAYS = {
  { name = "numpy", make = "__import__('numpy').zeros((2, 3))" },
  { name = "torch", make = "__import__('torch').zeros((2, 3))", deep = true },
  { name = "jax", make = "__import__('jax').numpy.zeros((2, 3))", import = "jax.numpy", deep = true },
}

-- Asked once: versions of what is installed, without importing it.
local VERSIONS = [[
import importlib.metadata
def version(name):
    try:
        return importlib.metadata.version(name)
    except Exception:
        return None
]]

-- Names of the capsules that an array gives.
local CAPSULES = [[
def capsule(array, *versions):
    try:
        if versions:
            made = array.__dlpack__(max_version=(1, 3))
        else:
            made = array.__dlpack__()
    except Exception as error:
        return "none (" + type(error).__name__ + ")"
    text = repr(made).split('"')
    return text[1] if len(text) == 3 else "a capsule without name"
def exchange_api(array):
    names = "__dlpack_c_exchange_api__", "__c_dlpack_exchange_api__"
    found = [name for name in names if getattr(type(array), name, None) is not None]
    return found[0] if found else "none"
]]

local function first_line(text)
  return (tostring(text):match("^[^\n]*"))
end

local function message(e)
  return type(e) == "table" and e.message or e
end

-- ---- gathering

local function luajit()
  return {
    version = jit.version,
    arch = jit.arch,
    gc64 = ffi.abi("gc64") and true or false,
    jit = (jit.status()) and true or false,
  }
end

local function system()
  local out = { os = jit.os }
  local release = io.open("/etc/os-release")
  if release then
    out.distribution = release:read("*a"):match('PRETTY_NAME="?([^"\n]*)')
    release:close()
  end
  pcall(function()
    ffi.cdef "const char *gnu_get_libc_version(void);"
    out.libc = "glibc " .. ffi.string(ffi.C.gnu_get_libc_version())
  end)
  return out
end

-- What one array offers and what becomes of it.
local function array(xchg, env, source)
  local py = xchg.python
  if source.import then py.import(source.import) end
  env.array = py.eval(source.make)
  local function ask(expression) return py.eval(expression, env) end
  local out = {
    legacy = ask "capsule(array)",
    versioned = ask "capsule(array, 1)",
    exchange_api = ask "exchange_api(array)",
  }
  local ok, t = pcall(xchg.from_dlpack, env.array)
  if ok then
    out.from_dlpack = t.protocol .. (t.readonly and ", read-only" or ", writable")
    t:release()
  else
    out.from_dlpack = "fails: " .. first_line(message(t))
  end
  return out
end

local function libraries(xchg, deep)
  local py = xchg.python
  local names = py.exec(VERSIONS .. CAPSULES, {})
  local env = { version = py.get(names, "version"), capsule = py.get(names, "capsule"),
    exchange_api = py.get(names, "exchange_api") }
  local out, at = {}, {}
  for _, name in ipairs(DISTRIBUTIONS) do
    local version = py.call(env.version, name)
    if version then
      out[#out + 1] = { name = name, version = tostring(version) }
      at[name] = out[#out]
    end
  end
  for _, source in ipairs(ARRAYS) do
    local entry = at[source.name]
    if entry and (deep or not source.deep) then
      local ok, result = pcall(array, xchg, env, source)
      entry.array = ok and result or { fails = first_line(message(result)) }
    end
  end
  return out
end

local function python(xchg, deep)
  local found, why = xchg.python.info()
  if not found then return { error = why } end
  local started, e = pcall(xchg.python.eval, "None")
  local info = started and xchg.python.info() or found
  local out = {
    version = info.version, executable = info.executable, prefix = info.prefix, base_prefix = info.base_prefix,
    library = info.library, reason = info.reason, report = info.report,
  }
  if not started then
    out.error = message(e)
    return out
  end
  local ok, result = pcall(libraries, xchg, deep)
  if ok then out.libraries = result else out.error = first_line(message(result)) end
  return out
end

---@param options { deep?: boolean }
---@return table
function M.collect(options)
  local out = { luajit = luajit(), system = system(), environment = {} }
  for _, name in ipairs(ENVIRONMENT) do out.environment[name] = os.getenv(name) end
  local loaded, xchg = pcall(require, "xchg")
  if not loaded then
    out.error = tostring(message(xchg))
    return out
  end
  local lib = require "xchg.lib"
  out.version, out.abi = xchg._VERSION, lib.core.abi.number
  out.core = lib.path or "in the host program"
  local asked, result = pcall(python, xchg, options.deep)
  out.python = asked and result or { error = first_line(message(result)) }
  asked, result = pcall(function() return require("xchg.cuda.info").collect() end)
  out.cuda = asked and result or { error = first_line(message(result)) }
  return out
end

-- ---- telling

-- Home folders tell names. Applies to every string of the report.
local function mask(value, home)
  if type(value) == "table" then
    local out = {}
    for key, each in pairs(value) do out[key] = mask(each, home) end
    return out
  end
  if type(value) ~= "string" then return value end
  local out, from = {}, 1
  while true do
    local first, last = value:find(home, from, true)
    if not first then break end
    -- "/home/ann" stands for itself, not for the beginning of "/home/anna".
    local whole = not value:sub(last + 1, last + 1):find("[%w_.%-]")
    out[#out + 1] = value:sub(from, first - 1) .. (whole and "~" or home)
    from = last + 1
  end
  return table.concat(out) .. value:sub(from)
end

local ESCAPES = { ['"'] = '\\"', ["\\"] = "\\\\", ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t" }

-- Bytes of UTF-8 as they are, others as U+FFFD: paths may hold any.
local function json_string(text)
  local out, i = {}, 1
  while i <= #text do
    local whole = text:match("^[%z\1-\127]", i) or text:match("^[\194-\223][\128-\191]", i)
      or text:match("^\224[\160-\191][\128-\191]", i) or text:match("^[\225-\236\238\239][\128-\191][\128-\191]", i)
      or text:match("^\237[\128-\159][\128-\191]", i) or text:match("^\240[\144-\191][\128-\191][\128-\191]", i)
      or text:match("^[\241-\243][\128-\191][\128-\191][\128-\191]", i)
      or text:match("^\244[\128-\143][\128-\191][\128-\191]", i)
    if not whole then
      out[#out + 1] = "\\ufffd"
    elseif ESCAPES[whole] then
      out[#out + 1] = ESCAPES[whole]
    elseif whole:find("^[%z\1-\31\127]") then
      out[#out + 1] = ("\\u%04x"):format(whole:byte())
    else
      out[#out + 1] = whole
    end
    i = i + (whole and #whole or 1)
  end
  return '"' .. table.concat(out) .. '"'
end

--- JSON of strings, numbers, booleans, lists and tables with string keys (sorted; an empty table is an object).
local function json(value, indent)
  indent = indent or ""
  if type(value) == "string" then return json_string(value) end
  if type(value) ~= "table" then return tostring(value) end
  local inner, parts = indent .. "  ", {}
  if #value > 0 then
    for i, each in ipairs(value) do parts[i] = inner .. json(each, inner) end
    return "[\n" .. table.concat(parts, ",\n") .. "\n" .. indent .. "]"
  end
  local keys = {}
  for key in pairs(value) do keys[#keys + 1] = key end
  table.sort(keys)
  for i, key in ipairs(keys) do parts[i] = inner .. json_string(key) .. ": " .. json(value[key], inner) end
  return #parts == 0 and "{}" or "{\n" .. table.concat(parts, ",\n") .. "\n" .. indent .. "}"
end

local function array_line(found)
  if not found then return "" end
  if found.fails then return "  fails: " .. found.fails end
  return ("  capsules %s, %s; exchange API %s; from_dlpack: %s"):format(found.legacy, found.versioned,
    found.exchange_api, found.from_dlpack)
end

local function text_of(report)
  local out = {}
  local function line(name, value)
    -- A report is lines: control characters in paths must not make more of them.
    if value ~= nil and value ~= "" then
      out[#out + 1] = ("  %-11s %s"):format(name, (tostring(value):gsub("\n", "\n              ")
        :gsub("[%z\1-\9\11-\31\127]", "?")))
    end
  end
  local lj, sys, found = report.luajit, report.system, report.python
  out[1] = "xchg " .. (report.version or "(cannot be loaded)")
  line("error", report.error)
  line("core", report.core and ("%s (ABI %d)"):format(report.core, report.abi))
  line("luajit", ("%s, %s, %s, compiler %s"):format(lj.version, lj.arch, lj.gc64 and "GC64" or "not GC64",
    lj.jit and "on" or "off"))
  line("system", ("%s, %s, %s"):format(sys.os, sys.distribution or "unknown", sys.libc or "unknown C library"))
  for _, name in ipairs(ENVIRONMENT) do line(name, report.environment[name]) end
  if not found then return table.concat(out, "\n") .. "\n" end
  local cuda = report.cuda
  out[#out + 1] = "CUDA: " .. (cuda.backend or "none")
  line("error", cuda.error)
  line("runtime", cuda.path and ("%s (%s)"):format(cuda.path, cuda.runtime))
  line("driver", cuda.driver_path and ("%s (%s)"):format(cuda.driver_path, cuda.driver))
  line("nvrtc", cuda.nvrtc and (cuda.nvrtc.error or ("%s (%s)"):format(cuda.nvrtc.path, cuda.nvrtc.version)))
  line("kernels in", cuda.cache)
  for _, each in ipairs(cuda.devices or {}) do
    line(each.device, ("%s, compute capability %s, %d multiprocessors, %.1f GiB, %s"):format(each.name,
      each.capability, each.multiprocessors, each.memory / 2 ^ 30, each.pci))
  end
  line("looked at", cuda.report and (cuda.report:gsub("\n$", "")))
  out[#out + 1] = found.version and ("Python %s, %s"):format(found.version, found.reason) or "Python: none"
  line("error", found.error)
  for _, name in ipairs({ "executable", "prefix", "base_prefix", "library" }) do line(name, found[name]) end
  line("looked at", found.report and (found.report:gsub("\n$", "")))
  for _, each in ipairs(found.libraries or {}) do
    line(each.name, each.version .. array_line(each.array))
  end
  return table.concat(out, "\n") .. "\n"
end

---@param report table
---@param options { json?: boolean, verbose?: boolean }
---@return string
function M.render(report, options)
  local home = os.getenv("HOME")
  if not options.verbose and home and #home > 1 then report = mask(report, (home:gsub("/+$", ""))) end
  return options.json and json(report) .. "\n" or text_of(report)
end

-- ---- the command

--- Runs `xchg info ...`; gives the exit status, or nothing where the options are not understood.
---@param arguments string[] what follows `info`
---@return integer?
function M.main(arguments)
  local options = {}
  for _, argument in ipairs(arguments) do
    local name = argument:match("^%-%-(%l+)$")
    if name ~= "json" and name ~= "deep" and name ~= "verbose" then return nil end
    options[name] = true
  end
  io.stdout:write(M.render(M.collect(options), options))
  io.stdout:flush()
  return 0
end

return M
