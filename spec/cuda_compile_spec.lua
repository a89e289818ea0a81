-- Compiling CUDA C++: options, macros, headers, errors, in the background, with and without a device.
local ffi = require "ffi"
local child = require "spec.support.child"
local cuda_ = require "spec.support.cuda"
local raises = require "spec.support.raises"
local xchg = require "xchg"

local cuda = cuda_.cuda

local compiler, reason = cuda.nvrtc()

local KERNEL = [[extern "C" __global__ void k(float *y, float a, float b) { y[threadIdx.x] = a / b + expf(a) * b + a; }]]

-- Compiles anew, for an architecture whose PTX is known here.
local function ptx_of(source, options)
  options = options or {}
  options.arch, options.cache = options.arch or "compute_90", false
  return cuda.compile(source, options).ptx
end

local function has(text, part) assert.truthy(text:find(part, 1, true), ("%q is not in %s"):format(part, text)) end
local function lacks(text, part) assert.falsy(text:find(part, 1, true), ("%q is in %s"):format(part, text)) end

describe("the compiler", function()
  if not compiler then return pending(reason) end

  it("says what it is", function()
    assert.truthy(compiler.version:find("^1[23]%.%d$"))
    assert.equal("/", compiler.path:sub(1, 1))
    assert.truthy(#compiler.archs > 3)
    for i = 2, #compiler.archs do assert.is_true(compiler.archs[i - 1] < compiler.archs[i]) end
  end)

  it("has headers of its own version", function()
    local found = false
    for _, folder in ipairs(compiler.include) do
      local file = io.open(folder .. "/cuda_fp16.h")
      if file then
        found = true
        file:close()
        local major, minor = compiler.version:match("(%d+)%.(%d+)")
        local version = child.read(folder .. "/cuda.h"):match("#define CUDA_VERSION (%d+)")
        assert.equal(major .. "0" .. minor .. "0", version)
      end
    end
    assert.is_true(found)
  end)

  it("is none where the file that is named does not exist", function()
    local run = child.run([[
      local cuda = require("xchg").cuda
      local found, why, report = cuda.nvrtc()
      assert(found == nil and why:find("/nowhere/libnvrtc.so", 1, true) and report:find("XCHG_NVRTC", 1, true), why)
      local ok, e = pcall(cuda.compile, "")
      assert(not ok and e.code == "no_cuda" and e.message:find("^compile: ") and e.message:find("pip install"), e.message)
    ]], { env = cuda_.env { XCHG_NVRTC = "/nowhere/libnvrtc.so.13" } })
    assert.equal("", run.stderr)
    assert.equal(0, run.status)
  end)

  it("is none where the file is another library", function()
    local run = child.run([[
      local found, why = require("xchg").cuda.nvrtc()
      assert(found == nil and why:find("nvrtc"), why)
    ]], { env = cuda_.env { XCHG_NVRTC = assert(package.searchpath("xchg.core", package.cpath)) } })
    assert.equal("", run.stderr)
    assert.equal(0, run.status)
  end)

  it("finds its other half and its headers where it really lies", function()
    local folder = child.folder()
    os.execute(("ln -s %s %s"):format(child.quote(compiler.path), child.quote(folder .. "/libnvrtc.so.13")))
    local run = child.run([[
      local cuda = require("xchg").cuda
      print(cuda.nvrtc().path, #cuda.nvrtc().include)
      cuda.compile("#include <cuda_fp16.h>\n__global__ void k(__half *y) { *y = sqrtf(*y); }", { arch = 90, cache = false })
    ]], { env = { XCHG_CUDA = "none", XCHG_NVRTC = folder .. "/libnvrtc.so.13", LD_LIBRARY_PATH = "" } })
    child.remove(folder)
    assert.equal("", run.stderr)
    assert.truthy(run.stdout:find(folder, 1, true) or run.stdout:find(compiler.path, 1, true), run.stdout)
  end)

  it("needs no device", function()
    local run = child.run([[
      local cuda = require("xchg").cuda
      assert(not cuda.available())
      local prog = cuda.compile("__global__ void scale(float *y, float a) { y[threadIdx.x] *= a; }", { arch = 90 })
      assert(prog.ptx:find(".entry _Z5scalePff", 1, true) and prog.arch == "compute_90" and prog.cubin == nil)
      assert(prog:kernels()[1] == "scale")
      local lowest = cuda.compile("__global__ void k() {}")
      assert(lowest.arch == "compute_" .. cuda.nvrtc().archs[1])
      local machine = cuda.compile("__global__ void k() {}", { arch = "sm_90" })
      assert(machine.cubin:sub(1, 4) == "\127ELF" and machine.ptx:find(".target sm_90", 1, true))
      for _, call in ipairs { function() return prog:kernel "scale" end, function() return prog.scale end,
        function() return prog:global "x" end, function() return cuda.load(prog.ptx) end } do
        local ok, e = pcall(call)
        assert(not ok and e.code == "no_cuda", tostring(e))
      end
      assert(cuda.compile_async("__global__ void k() {}"):wait().ptx)
    ]], { env = { XCHG_CUDA = "none" } })
    assert.equal("", run.stderr)
    assert.equal(0, run.status)
  end)
end)

describe("options of compile", function()
  if not compiler then return pending(reason) end
  after_each(cuda_.reports_none)

  -- What an option does to the code: a part that is there with it and not without it, or (last) the other way.
  for _, row in ipairs {
    { { fast_math = true }, "div.approx.ftz.f32" },
    { { ftz = true }, "add.ftz.f32" },
    { { fmad = false }, "fma.rn.f32 	%f", gone = true, source = "__global__ void k(float *y) { *y = y[1] * y[2] + y[3]; }" },
    { { prec_div = false }, "div.full.f32" },
    { { prec_sqrt = false }, "sqrt.approx", source = "__global__ void k(float *y) { *y = sqrtf(*y); }" },
    { { lineinfo = true }, ".loc", base = { lineinfo = false } },
    { { debug = true }, ".section	.debug", base = { lineinfo = false } },
    { { std = "c++20" }, "202002", source = "__global__ void k(long *y) { *y = __cplusplus; }" },
    { { std = "C++14" }, "201402", source = "__global__ void k(long *y) { *y = __cplusplus; }" },
    { { default_device = true }, "mul", source = "int f(int a) { return a * a; } __global__ void k(int *y) { *y = f(*y); }",
      base = false },
    { { options = { "-DX=77" } }, "77", source = "#ifndef X\n#define X 1\n#endif\n__global__ void k(int *y) { *y = X; }" },
    { { arch = "compute_80" }, ".target sm_80" },
    { { arch = 80 }, ".target sm_80" },
    { { arch = "80" }, ".target sm_80" },
    { { arch = "8.0" }, ".target sm_80" },
    { { arch = "sm_80" }, ".target sm_80" },
    { { arch = "compute_90a" }, ".target sm_90a" },
  } do
    local name, value = next(row[1])
    it(("take %s = %s"):format(name, tostring(type(value) == "table" and value[1] or value)), function()
      local source = row.source or KERNEL
      local with = ptx_of(source, row[1])
      local without = row.base ~= false and ptx_of(source, row.base or {}) or nil;
      (row.gone and lacks or has)(with, row[2])
      if without then (row.gone and has or lacks)(without, row[2]) end
    end)
  end

  it("make machine code where the architecture is a real one", function()
    local real = cuda.compile(KERNEL, { arch = "sm_90", cache = false })
    assert.equal("\127ELF", real.cubin:sub(1, 4))
    assert.equal("sm_90", real.arch)
    assert.is_nil(cuda.compile(KERNEL, { arch = "compute_90", cache = false }).cubin)
  end)

  it("limit the registers", function()
    local source = "__global__ void k(float *y) { float a[64]; for (int i = 0; i < 64; i++) a[i] = y[i * 3]; "
      .. "for (int i = 0; i < 64; i++) y[i * 5] = a[63 - i]; }"
    local free = cuda.compile(source, { arch = "sm_90", cache = false })
    local few = cuda.compile(source, { arch = "sm_90", maxrregcount = 24, cache = false })
    assert.is_true(#free.cubin > 0 and free.cubin ~= few.cubin)
  end)

  it("suit the current device where no architecture is asked for", function()
    local device = cuda.device()
    local number = device.major * 10 + device.minor
    local prog = cuda.compile(KERNEL, { cache = false })
    if cuda_.simulated then
      assert.equal("compute_" .. number, prog.arch)
      has(prog.ptx, ".loc") -- the device's reports name lines
    else
      assert.truthy(prog.arch == "sm_" .. number or prog.arch:find("^compute_"))
    end
    assert.equal("program.cu", prog.name)
  end)

  it("name the program and silence warnings", function()
    local source = "__global__ void k() { int unused; }"
    local loud = cuda.compile(source, { name = "my.cu", cache = false })
    assert.truthy(loud.log:find("my.cu(1): warning #177-D", 1, true), loud.log)
    assert.equal("my.cu", loud.name)
    for _, quiet in ipairs { 177, { 177, 550 } } do
      assert.equal("", cuda.compile(source, { suppress = quiet, cache = false }).log)
    end
    assert.equal("", cuda.compile("__global__ void k() {}", { cache = false }).log)
  end)

  it("give headers as text and folders of headers", function()
    local folder = child.folder()
    child.write(folder .. "/outer.h", '#include "inner.h"\n')
    child.write(folder .. "/inner.h", "#define VALUE 4711\n")
    local source = '#include <outer.h>\n__global__ void k(int *y) { *y = VALUE; }'
    for _, options in ipairs {
      { include = folder }, { include = { "/nowhere", folder } }, { options = { "-I" .. folder } },
      { options = { "-I", folder } }, { options = { "--include-path=" .. folder } },
      { headers = { ["outer.h"] = "#define VALUE 4711\n" } },
      { headers = { ["outer.h"] = '#include "inner.h"\n', ["inner.h"] = "#define VALUE 4711\n" } },
    } do
      has(ptx_of(source, options), "4711")
    end
    child.remove(folder)
  end)

  for _, row in ipairs {
    { "bad_argument", "unknown option 'fastmath'; did you mean 'fast_math'?", { fastmath = true } },
    { "wrong_type", "option 'fast_math' must be a boolean, got 1", { fast_math = 1 } },
    { "wrong_type", "options must be a table, got \"-G\"", "-G" },
    { "bad_argument", "option 'std' must be such as \"c++17\", got \"99\"", { std = "99" } },
    { "bad_argument", "refuses an option: invalid value for --std", { std = "c++99" } },
    { "bad_argument", "option 'arch' must be such as \"sm_90\", \"compute_90\" or 90, got \"sm_10\"", { arch = "sm_10" } },
    { "bad_argument", "got \"hopper\"", { arch = "hopper" } },
    { "bad_argument", "got \"lto_90\"", { arch = "lto_90" } },
    { "bad_argument", "got 90.5", { arch = 90.5 } },
    { "bad_argument", "compiles for " .. table.concat(compiler.archs, ", "), { arch = 0 / 0 } },
    { "out_of_range", "option 'maxrregcount' must be a whole number from 1 to 255, got 256", { maxrregcount = 256 } },
    { "wrong_type", "option 'maxrregcount' must be a whole number", { maxrregcount = 1.5 } },
    { "wrong_type", "suppress[2] must be a whole number from 1 to 99999, got \"a\"", { suppress = { 1, "a" } } },
    { "bad_argument", "option 'name' is empty", { name = "" } },
    { "bad_argument", "option 'name' contains a NUL byte, at byte 2", { name = "a\0" } },
    { "wrong_type", "include[2] must be a string, got 1", { include = { "a", 1 } } },
    { "wrong_type", "option 'include' must be a list of strings, got the key \"a\" in it", { include = { a = "b" } } },
    { "bad_argument", "include[1] contains a NUL byte", { include = "a\0b" } },
    { "wrong_type", "names[1] must be a string, got a table", { names = { {} } } },
    { "bad_argument", "names[1] is \"  \", which names nothing", { names = { "  " } } },
    { "bad_argument", "names[1] is \"a\\\nb\", which names nothing", { names = { "a\nb" } } },
    { "wrong_type", "a name in headers must be a string, got 1", { headers = { "text" } } },
    { "wrong_type", "headers[\"a.h\"] must be a string, got 1", { headers = { ["a.h"] = 1 } } },
    { "bad_argument", "headers[\"a.h\"] contains a NUL byte, at byte 1", { headers = { ["a.h"] = "\0" } } },
    { "wrong_type", "a name in defines must be a string, got 1", { defines = { "X" } } },
    { "bad_argument", "'a b' is not the name of a macro", { defines = { ["a b"] = 1 } } },
    { "bad_argument", "'9' is not the name of a macro", { defines = { ["9"] = 1 } } },
    { "bad_argument", "defines.X has more than one line", { defines = { X = "a\nb" } } },
    { "bad_argument", "defines.X is nan, which C++ has no literal for", { defines = { X = 0 / 0 } } },
    { "wrong_type", "defines.X must be a string, a number, true or a tensor, got a table", { defines = { X = {} } } },
    { "unsupported_dtype", "defines.X: CUDA C++ has no type for float4_e2m1fn", { defines = { X = "float4_e2m1fn" } } },
    { "bad_argument", "refuses an option: unrecognized option --nonsense found", { options = { "--nonsense" } } },
    { "bad_argument", "options: '-arch=sm_90' is the option arch = here", { options = { "-arch=sm_90" } } },
    { "bad_argument", "NVRTC does not forget '--restrict' for later programs", { options = { "--restrict" } } },
    { "bad_argument", "declare the pointers of the kernel __restrict__", { options = { "-restrict" } } },
    { "wrong_type", "options[1] must be a string, got true", { options = { true } } },
  } do
    it(("are refused: %s"):format(row[2]), function()
      raises(row[1], row[2], cuda.compile, KERNEL, row[3])
      raises(row[1], row[2], function() cuda.compile_async(KERNEL, row[3]):wait() end)
    end)
  end
end)

describe("macros of compile", function()
  if not compiler then return pending(reason) end
  after_each(cuda_.reports_none)

  -- Spelled here once more: what a kernel written by hand would say.
  for name, spelling in pairs {
    bool = "bool", int8 = "signed char", int16 = "short", int32 = "int", int64 = "long long", uint8 = "unsigned char",
    uint16 = "unsigned short", uint32 = "unsigned int", uint64 = "unsigned long long", float16 = "__half",
    bfloat16 = "__nv_bfloat16", float32 = "float", float64 = "double", complex64 = "cuda::std::complex<float>",
    complex128 = "cuda::std::complex<double>", float8_e4m3fn = "__nv_fp8_e4m3", float8_e5m2 = "__nv_fp8_e5m2",
  } do
    it("give the type of " .. name, function()
      local source = [[
        template <class A, class B> struct same { static const int value = 0; };
        template <class A> struct same<A, A> { static const int value = 1; };
        static_assert(same<T, ]] .. spelling .. [[>::value, "another type");
        __global__ void k(T *y) { y[0] = y[1]; }]]
      assert.truthy(cuda.compile(source, { defines = { T = name }, cache = false }))
    end)
  end

  it("take a tensor for its type", function()
    local t = xchg.zeros(4, { dtype = "float16", device = "cuda" })
    local source = "__global__ void k(T *y) { y[threadIdx.x] = T(N); }"
    local prog = cuda.compile(source, { defines = { T = t, N = 3 } })
    prog.k(1, 4, t)
    assert.same({ 3, 3, 3, 3 }, t:to("cpu"):totable())
    local other = xchg.zeros(4, { dtype = "float32", device = "cuda" })
    local second = cuda.compile(source, { defines = { T = other, N = 3 } })
    assert.is_false(rawequal(prog, second))
    second.k(1, 4, other)
    assert.same({ 3, 3, 3, 3 }, other:to("cpu"):totable())
    t:release()
    raises("released", "compile: the tensor was released", cuda.compile, source, { defines = { T = t } })
  end)

  it("are numbers, text, and on or off", function()
    local source = [[
      #ifdef OFF
      #error is defined
      #endif
      static_assert(ON == 1 && WHOLE == 128 && NEGATIVE == -3 && REAL == 0.5 && BIG == 9007199254740993LL && TWICE(4) == 8, "");
      __global__ void k() {}]]
    assert.truthy(cuda.compile(source, { cache = false, defines = {
      OFF = false, ON = true, WHOLE = 128, NEGATIVE = -3, REAL = 0.5, BIG = 9007199254740993LL, ["TWICE(x)"] = "((x) * 2)",
    } }))
  end)
end)

describe("headers of CUDA", function()
  if not compiler then return pending(reason) end
  if #compiler.include == 0 then return pending "no CUDA headers lie beside NVRTC" end

  for _, row in ipairs {
    { "cuda_fp16.h", "__half" }, { "cuda_bf16.h", "__nv_bfloat16" }, { "cuda_fp8.h", "__nv_fp8_e4m3" },
    { "cuda/std/cstdint", "cuda::std::uint32_t" }, { "cuda/std/complex", "cuda::std::complex<float>" },
    { "cuda/std/array", "cuda::std::array<int, 3>" }, { "cooperative_groups.h", "cooperative_groups::grid_group *" },
    { "vector_types.h", "float4" }, { "nv/target", "int" },
  } do
    it("are found without flags: " .. row[1], function()
      assert.truthy(cuda.compile(("#include <%s>\n__global__ void k(%s *p) {}"):format(row[1], row[2]), {}))
    end)
  end

  for _, row in ipairs {
    { "cuda_fp17.h", "the headers of this NVRTC are looked for in " },
    { "cstdint", "#include <cuda/std/cstdint>" }, { "stdint.h", "#include <cuda/std/cstdint>" },
    { "vector", "#include <cuda/std/vector>" },
    { "mine.h", "name its folder with include =, or give its text with headers =" },
  } do
    it(("that are missing are named with the cure: %s"):format(row[1]), function()
      local e = raises("compile", row[2], cuda.compile, ("#include <%s>\n"):format(row[1]))
      has(e.message, ('cannot open source file "%s"'):format(row[1]))
    end)
  end
end)

describe("a compilation that fails", function()
  if not compiler then return pending(reason) end

  it("shows each error with the lines around it", function()
    local source = table.concat({
      "__device__ int ok() { return 1; }", "", "__global__ void k(int *a)", "{", "  *a = FOO;", "  int unused;", "}",
      "__global__ void kk(int *a) { a = 1.5; }",
    }, "\n")
    local e = raises("compile", "compile: mine.cu: 2 errors (NVRTC " .. compiler.version, cuda.compile, source,
      { name = "mine.cu" })
    has(e.message, table.concat({
      'mine.cu:5: error: identifier "FOO" is undefined',
      "   3 | __global__ void k(int *a)",
      "   4 | {",
      "   5 |   *a = FOO;",
      "     |        ^",
      "   6 |   int unused;",
    }, "\n"))
    has(e.message, "mine.cu:8: error: a value of type \"double\" cannot be assigned to an entity of type \"int *\"")
    lacks(e.message, "warning")
    has(e.log, "warning #177-D") -- the whole of it
    has(e.log, 'mine.cu(5): error: identifier "FOO" is undefined')
    assert.truthy(e.where:find("cuda_compile_spec", 1, true) or e.where == "?" or e.where:find("raises", 1, true), e.where)
  end)

  it("shows lines of headers that were given as text", function()
    local e = raises("compile", "a.h:2: error: ", cuda.compile, '#include "a.h"\n__global__ void k() {}',
      { headers = { ["a.h"] = "// one\nint f() { return nothing; }\n// three" } })
    has(e.message, "   2 | int f() { return nothing; }\n")
  end)

  it("shows some of very many errors, and counts the rest", function()
    local lines = {}
    for i = 1, 60 do lines[i] = ("__global__ void k%d() { x%d = 1; }"):format(i, i) end
    local e = raises("compile", "60 errors", cuda.compile, table.concat(lines, "\n"))
    has(e.message, "... and 40 more; the error's field log has them")
    assert.truthy(#e.message < 20000)
  end)

  it("names the name expression", function()
    for _, row in ipairs { { "nope<int>", 'identifier "nope" is undefined' }, { "k +", "names: 'k +'" } } do
      local e = raises("compile", row[2], cuda.compile, "__global__ void k() {}", { names = { row[1] } })
      has(e.message, ("names: '%s': error: "):format(row[1]))
    end
  end)

  it("says #error, failed assertions, and what only the back end finds", function()
    raises("compile", "mine is wrong", cuda.compile, "#error mine is wrong\n")
    raises("compile", "too small", cuda.compile, 'static_assert(1 > 2, "too small");')
    raises("compile", "shared", cuda.compile, "__global__ void k(int *p) { __shared__ int a[1 << 20]; a[*p] = 1; *p = a[1]; }",
      { arch = "sm_90" })
  end)

  for _, row in ipairs {
    { "wrong_type", "compile: a source text is expected, got nil", nil },
    { "wrong_type", "compile: a source text is expected, got 1", 1 },
    { "wrong_type", "compile: a source text is expected, got a table", {} },
    { "bad_argument", "compile: the source contains a NUL byte, at byte 4", "int\0" },
  } do
    it("is refused: " .. row[2], function()
      raises(row[1], row[2], cuda.compile, row[3])
      raises(row[1], row[2]:gsub("compile", "compile_async", 1), cuda.compile_async, row[3])
    end)
  end

  it("compiles nothing to a program without kernels", function()
    assert.same({}, cuda.compile("", { cache = false }):kernels())
  end)

  it("takes sources of megabytes", function()
    local lines = {}
    for i = 1, 20000 do lines[i] = ("// a comment of some length that says nothing, number %d, and goes on and on"):format(i) end
    lines[#lines + 1] = "__global__ void last(int *p) { *p = 1; }"
    assert.same({ "last" }, cuda.compile(table.concat(lines, "\n"), { cache = false }):kernels())
  end)
end)

describe("a compilation in the background", function()
  if not compiler then return pending(reason) end
  after_each(cuda_.reports_none)

  -- A third of a second of work, also for child processes.
  local SLOW_SOURCE = [[
    local function slow(number)
      local lines = {}
      for i = 1, 1500 do lines[i] = ("__device__ int f%d(int x) { return x * %d + %d; }"):format(i, i, number) end
      lines[#lines + 1] = "__global__ void k(int *p) { *p = f1(*p); }"
      return table.concat(lines, "\n")
    end
  ]]
  local slow = assert(loadstring(SLOW_SOURCE .. " return slow"))()

  it("lets Lua go on, and gives the program", function()
    local job = cuda.compile_async(slow(1), { cache = false })
    assert.is_false(job:done())
    assert.equal("compilation of program.cu (running)", tostring(job))
    local prog = job:wait()
    assert.same({ "k" }, prog:kernels())
    assert.is_true(job:done())
    assert.equal("compilation of program.cu (done)", tostring(job))
    assert.is_true(rawequal(prog, job:wait()))
  end)

  it("runs beside others", function()
    local jobs = {}
    for i = 1, 20 do
      jobs[i] = cuda.compile_async(("__global__ void k%d(int *p) { *p = %d; }"):format(i, i), { cache = false })
    end
    for i = 20, 1, -1 do assert.same({ "k" .. i }, jobs[i]:wait():kernels()) end
  end)

  it("raises where it is waited for, each time", function()
    local job = cuda.compile_async("__global__ void k() { nothing; }")
    for _ = 1, 2 do
      local e = raises("compile", 'program.cu:1: error: identifier "nothing" is undefined', job.wait, job)
      has(e.message, "compile_async: ")
    end
    assert.is_true(job:done())
  end)

  it("may be given up", function()
    for i = 1, 10 do cuda.compile_async(slow(100 + i), { cache = false }) end
    collectgarbage()
    collectgarbage()
    assert.same({ "k" }, cuda.compile_async(slow(99), { cache = false }):wait():kernels())
  end)

  for _, how in ipairs { "os.exit(0, true)", "os.exit(0)", "" } do
    it(("does not hold the process's end up: %s"):format(how == "" and "end of the script" or how), function()
      if how == "os.exit(0)" and child.sanitizer() == "asan" then
        return pending "the Lua state stays open, and all of it is a leak to the checker"
      end
      local run = child.run(SLOW_SOURCE .. [[
        local cuda = require("xchg").cuda
        jobs = {}
        for i = 1, 8 do jobs[i] = cuda.compile_async(slow(i), { cache = false }) end
        local began = os.clock()
        repeat until os.clock() - began > 0.1 -- some run then, others wait
        io.stdout:write("started")
      ]] .. how, { env = cuda_.env(), timeout = 40 })
      assert.equal("started", run.stdout)
      assert.equal("", run.stderr)
      assert.equal(0, run.status)
    end)
  end

  it("stays in the process that began it", function()
    ffi.cdef [[ int fork(void); int waitpid(int, int *, int); void _exit(int); ]]
    local run = child.run(SLOW_SOURCE .. [[
      local ffi = require "ffi"
      ffi.cdef "int fork(void); int waitpid(int, int *, int); void _exit(int);"
      local cuda = require("xchg").cuda
      local job = cuda.compile_async(slow(1), { cache = false })
      local pid = ffi.C.fork()
      if pid == 0 then
        local ok, e = pcall(job.wait, job)
        local asked, e2 = pcall(job.done, job)
        ffi.C._exit(not ok and e.code == "forked" and not asked and e2.code == "forked" and 7 or 1)
      end
      local status = ffi.new "int[1]"
      ffi.C.waitpid(pid, status, 0)
      assert(status[0] == 7 * 256, status[0])
      assert(job:wait():kernels()[1] == "k")
    ]], { env = cuda_.env() })
    assert.equal("", run.stderr)
    assert.equal(0, run.status)
  end)
end)
