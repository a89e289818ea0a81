--- What a checked launch costs, with a CUDA runtime that returns at once.

local ffi = require "ffi"
local measure = require "measure"
local setup = require "setup"

ffi.cdef [[
double bench_launch_4(void *y, const void *x, int64_t n);
double bench_launch_12(void *y, const void *x, int64_t n);
]]

-- Nobody reads past the parameters.
local CODE = [[
.version 8.0
.target sm_90
.address_size 64
.visible .entry four(.param .u64 a, .param .u64 b, .param .f32 c, .param .u32 d) { ret; }
.visible .entry twelve(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d, .param .f32 e, .param .f32 f,
  .param .f32 g, .param .f32 h, .param .u32 i, .param .u32 j, .param .u32 k, .param .u32 l) { ret; }
]]
local SIGNATURES = {
  four = "(float *y, const float *x, float a, int n)",
  twelve = "(float *y, const float *x, float *u, const float *v, float a, float b, float c, float d, "
    .. "int i, int j, int k, int l)",
}
local ARGUMENTS = { four = "y, x, 1.5, i", twelve = "y, x, u, v, 1.5, 2.5, 3.5, 4.5, i, i, i, i" }

-- A loop of its own for each case; `text` launches once, with the arguments in place of ARGS.
local function loop(name, text, values)
  return loadstring(([[
    local k, run, y, x, u, v, options = ...
    return function(n)
      for i = 1, n do %s end
    end
  ]]):format(text:gsub("ARGS", ARGUMENTS[name])), "=" .. text)(values.k, values.run, values.y, values.x, values.u,
    values.v, values.options)
end

-- Lua memory that a launch takes.
local function bytes_of(run)
  local n = 20000
  run(n)
  collectgarbage()
  collectgarbage "stop"
  local before = collectgarbage "count"
  run(n)
  local taken = collectgarbage "count" - before
  collectgarbage "restart"
  return taken * 1024 / n
end

local function measure_launches(stub)
  local xchg = require "xchg"
  local cuda = xchg.cuda
  local C = ffi.load(stub)
  assert(cuda.available())
  local program = cuda.load(CODE, { name = "stub.ptx", signatures = SIGNATURES })
  local compiled = jit.status()
  local function tensor() return xchg.zeros(64, { device = "cuda:0", dtype = "float32" }) end
  local y, x, u, v = tensor(), tensor(), tensor(), tensor()

  measure.title("launches", compiled and "a checked launch, against C that stores the arguments and calls the same stub"
    or "the same with the JIT off")
  local rows = {}
  for _, name in ipairs { "four", "twelve" } do
    local count = name == "four" and 4 or 12
    local in_c = C["bench_launch_" .. count]
    local data, other = ffi.cast("void *", y.ptr), ffi.cast("void *", x.ptr)
    local reference = {
      name = ("REF: C, %d arguments stored and cudaLaunchKernelExC"):format(count),
      run = function(n) return in_c(data, other, n) end,
    }
    rows[#rows + 1] = reference
    local k = program:kernel(name)
    local function case(title, text, limit, interpreted)
      local values = { k = k, run = k:config { grid = 16, block = 256 }, y = y, x = x, u = u, v = v,
        options = { grid = 16, block = 256 } }
      local run = loop(name, text, values)
      if interpreted then jit.off(run) end
      local row = { name = ("%s, %d arguments"):format(title, count), run = run, against = reference, limit = limit,
        compiles = compiled and not interpreted }
      rows[#rows + 1] = row
      row.bytes = bytes_of(run)
    end
    if compiled then
      case("k:config", "run(ARGS)", count == 4 and 3.5 or 4.5)
      case("k(grid, block, ...)", "k(16, 256, ARGS)")
      case("k:launch, one table of options", "k:launch(options, ARGS)")
      case("k:launch{...}", "k:launch({ grid = 16, block = 256 }, ARGS)")
      case("k:over(n, ...)", "k:over(4096, ARGS)")
      case("k:config, caller interpreted", "run(ARGS)", nil, true)
      case("k(grid, block, ...), caller interpreted", "k(16, 256, ARGS)", nil, true)
    else
      case("k:config", "run(ARGS)", count == 4 and 40 or 80)
      case("k(grid, block, ...)", "k(16, 256, ARGS)")
      case("k:launch, one table of options", "k:launch(options, ARGS)")
    end
  end
  measure.table { rounds = 61, cases = rows }
  for _, row in ipairs(rows) do
    if row.bytes then measure.say("%-56s %6.2f bytes of Lua memory a launch", row.name, row.bytes) end
  end
end

return function()
  local _, stub = setup.library("stub_cudart", "-Wl,-soname,libcuda.so.1", "src/cuda/symbols.h")
  if os.getenv "BENCH_STUB" then return measure_launches((stub:sub(1, 1) == "/" and "" or "./") .. stub) end
  io.flush()
  -- Processes in which no other CUDA is.
  for _, option in ipairs { "", "-joff" } do
    local status = os.execute(("env -u XCHG_CUDA BENCH_STUB=1 XCHG_CUDART=\"$(realpath %s)\" %s %s %s --bare launches")
      :format(setup.quote(stub), arg[-1] or "luajit", option, setup.quote(arg[0])))
    if status ~= 0 then measure.skipped("launches", "the child process failed") end
  end
end
