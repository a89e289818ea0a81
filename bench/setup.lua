--- What the tables share: compiled helpers, Python objects, peers, the machine.

local ffi = require "ffi"
local measure = require "measure"

local M = {}

M.root = arg[0]:match("^(.*)/[^/]*$") or "."
M.build = (os.getenv("XCHG_BUILD") or "build") .. "/bench"

ffi.cdef [[
int bench_open(void);
double bench_call(void *callable, void *argument, int64_t n);
double bench_attribute(void *object, const char *name, int64_t n);
double bench_method(void *object, const char *name, int64_t n);
double bench_dlpack(void *object, int consume, int64_t n);
double bench_exchange(void *object, int owning, int64_t n);
double bench_gil(int64_t n);
double bench_gil_held(int64_t n);
double bench_sum_f64(const double *p, int64_t n);
double bench_sum_f32(const float *p, int64_t n);
double bench_sum_i32(const int32_t *p, int64_t n);
double bench_sum_2d(const double *p, int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride);
void bench_saxpy(double *y, const double *x, double a, int64_t n);
void bench_fill(double *p, double value, int64_t n);
]]

local function quote(text)
  return "'" .. text:gsub("'", [['\'']]) .. "'"
end
M.quote = quote

--- Runs a shell command; its output, without the last newline.
function M.output(command)
  local pipe = assert(io.popen(command, "r"))
  local text = pipe:read("*a")
  pipe:close()
  return (text:gsub("\n$", ""))
end

local loaded = {}

--- Compiles c/<name>.c at -O2 where it, or a file below the root that it includes, is newer than its library; the
--- library and its path.
---@param flags string?   for the linker, too
---@param includes string?
function M.library(name, flags, includes)
  if not loaded[name] then
    local source, path = M.root .. "/c/" .. name .. ".c", M.build .. "/" .. name .. ".so"
    local compile = (os.getenv("CC") or "cc") .. " -std=c11 -O2 -fPIC -shared -fvisibility=hidden " .. (flags or "")
    local newer = ("[ %s -nt %s ]"):format(quote(path), quote(source))
    if includes then newer = newer .. (" && [ %s -nt %s ]"):format(quote(path), quote(M.root .. "/../" .. includes)) end
    local command = ("mkdir -p %s && { { %s; } || %s -o %s %s -ldl; }"):format(quote(M.build), newer, compile,
      quote(path), quote(source))
    if os.execute(command) ~= 0 then error("bench: could not compile " .. source, 0) end
    loaded[name] = ffi.load((path:sub(1, 1) == "/" and "" or "./") .. path)
  end
  return loaded[name], M.build .. "/" .. name .. ".so"
end

-- ---- Python -------------------------------------------------------------------------------------------

--- The address of a Python object, for the C loops. The caller keeps the object.
function M.address(object)
  return ffi.cast("void *", require("xchg").python.id(object))
end

--- xchg, its Python, and the C loops for that Python; the wheels of bench/python.
function M.python()
  if not M.reference then
    local py = require("xchg").python
    measure.locked = py.locked
    py.import("sys").path:insert(0, M.root .. "/python")
    M.peers = py.import("peers")
    M.reference = M.library("reference")
    if M.reference.bench_open() ~= 0 then error("bench: Python's functions were not found", 0) end
  end
  return require("xchg"), require("xchg").python, M.reference
end

--- An installed module, or nil and why not.
function M.module(name)
  M.python()
  local found = M.peers.module(name)
  if type(found) == "string" then return nil, found end
  return found
end

--- A compiled peer ("nanobind", "pybind11"), or nil and why not.
function M.peer(name)
  M.python()
  local found = M.peers[name](M.root .. "/c", M.build)
  if type(found) == "string" then return nil, found end
  return found
end

--- A case that times callable(argument) in C.
function M.calling(name, callable, argument)
  local reference = M.reference
  local f, x = M.address(callable), M.address(argument)
  return {
    name = name,
    keep = { callable, argument },
    run = function(n)
      local spent = reference.bench_call(f, x, n)
      if spent < 0 then error("bench: " .. name .. " failed", 0) end
      return spent
    end,
  }
end

--- The measure of all imports.
function M.reference_case(array)
  return M.calling("REF: np.from_dlpack(NumPy) from C", M.module("numpy").from_dlpack, array)
end

--- A loop of its own for each case: a trace is compiled for what its loop met first. `code` may use `x`,
--- `from_dlpack` and `from_buffer`, and is repeated n times.
function M.loop(code, x, after)
  return loadstring(([[
    local x, from_dlpack, from_buffer, after = ...
    return function(n)
      for _ = 1, n do %s end
      if after then after() end
    end
  ]]):format(code), "=" .. code)(x, require("xchg").from_dlpack, require("xchg").from_buffer, after)
end

-- ---- the machine --------------------------------------------------------------------------------------

local function first_line(path)
  local file = io.open(path)
  local line = file and file:read("*l") or ""
  if file then file:close() end
  return line
end

local function processor()
  local file = io.open("/proc/cpuinfo")
  local name = "unknown processor"
  if file then
    for line in file:lines() do
      local value = line:match("^model name%s*:%s*(.+)") or line:match("^CPU part%s*:%s*(.+)")
      if value then
        name = value
        break
      end
    end
    file:close()
  end
  return name
end

--- Prints what the numbers belong to, and how quiet it is now.
function M.header()
  local xchg, py = M.python()
  local np = M.module("numpy")
  local ref = M.reference_case(np.arange(1000, py.kwargs { dtype = "float64" }))
  measure.interleave({ ref }, 101)
  local spread = measure.spread(ref)
  local state = spread < 1.1 and "quiet" or spread < 1.35 and "unsteady" or "NOISY"
  M.state = state
  io.write(("xchg %s  %s\n"):format(xchg._VERSION, os.date("!%Y-%m-%d %H:%M UTC")))
  io.write(("machine  %s, %s cores, load %s\n"):format(processor(), M.output("nproc"),
    first_line("/proc/loadavg"):match("^%S+ %S+ %S+")))
  io.write(("with     %s, CPython %s, NumPy %s, PyTorch %s\n"):format(jit.version, py.info().version,
    M.peers.version("numpy"), (M.peers.version("torch"):gsub("^$", "none"))))
  io.write(("state    %s: np.from_dlpack(NumPy) from C takes %.0f ns, p10 %.0f, p90 %.0f\n"):format(state,
    measure.median(ref.samples), measure.quantile(ref.samples, 0.1), measure.quantile(ref.samples, 0.9)))
  io.flush()
end

return M
