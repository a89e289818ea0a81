-- Programs: kernels by name, instances of templates, variables as tensors, code that was compiled elsewhere.
local child = require "spec.support.child"
local cuda_ = require "spec.support.cuda"
local raises = require "spec.support.raises"
local xchg = require "xchg"

local cuda = cuda_.cuda

local compiler, reason = cuda.nvrtc()

local PTX = [[
.version 7.0
.target sm_70
.address_size 64
.visible .global .align 4 .b8 table[16];
.visible .entry fill(.param .u64 p, .param .u32 v) {
  .reg .b64 %rd<3>; .reg .b32 %r<2>;
  ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [v]; cvta.to.global.u64 %rd2, %rd1; st.global.u32 [%rd2], %r1; ret;
}
]]

describe("a program", function()
  if not compiler then return pending(reason) end
  after_each(cuda_.reports_none)

  local SOURCE = [[
    extern "C" __global__ void plain(float *y, int n) { int i = threadIdx.x; if (i < n) y[i] = 1; }
    __global__ void cpp(float *y) { y[threadIdx.x] = 2; }
    namespace deep { namespace er {
      __global__ void inner(float *y) { y[threadIdx.x] = 3; }
      template <class T, int N> __global__ void both(T *y) { y[threadIdx.x] = N; }
    } }
    template <class T> __global__ void scale(T *y) { y[threadIdx.x] = T(4); }
    __global__ void twice(float *y) { *y = 5; }
    __global__ void twice(int *y) { *y = 6; }
  ]]

  local function run(kernel, dtype)
    local t = xchg.zeros(3, { dtype = dtype or "float32", device = "cuda" })
    kernel(1, 3, t)
    return t:to("cpu"):totable()
  end

  it("gives kernels by the names of the source", function()
    local prog = cuda.compile(SOURCE, { names = { "scale<float>", "deep::er::both<int, 7>" } })
    local y = xchg.zeros(3, { dtype = "float32", device = "cuda" })
    prog.plain(1, 3, y, 2)
    assert.same({ 1, 1, 0 }, y:to("cpu"):totable())
    assert.same({ 2, 2, 2 }, run(prog.cpp))
    assert.same({ 3, 3, 3 }, run(prog:kernel "deep::er::inner"))
    assert.same({ 4, 4, 4 }, run(prog:kernel "scale<float>"))
    assert.same({ 4, 4, 4 }, run(prog["scale< float >"]))
    assert.same({ 4, 4, 4 }, run(prog.scale)) -- there is only one
    assert.same({ 7, 7, 7 }, run(prog:kernel "deep::er::both<int,7>", "int32"))
    assert.same({ 2, 2, 2 }, run(prog:kernel "_Z3cppPf"))
    assert.is_true(rawequal(prog.cpp, prog:kernel "cpp") and rawequal(prog.cpp, prog:kernel "_Z3cppPf"))
    assert.same({ "cpp", "deep::er::both<int, 7>", "deep::er::inner", "plain", "scale<float>", "twice", "twice" },
      prog:kernels())
  end)

  it("compiles instances of templates when they are first asked for", function()
    local prog = cuda.compile(SOURCE)
    assert.same({ 4, 4, 4 }, run(prog:kernel "scale<double>", "float64"))
    assert.same({ 9, 9, 9 }, run(prog:kernel "deep::er::both<short, 9>", "int16"))
    assert.is_true(rawequal(prog:kernel "scale<double>", prog:kernel "scale<double>"))
    local e = raises("compile", 'names: \'scale<nothing>\': error: identifier "nothing" is undefined', prog.kernel, prog,
      "scale<nothing>")
    assert.truthy(e.message:find("^kernel: "), e.message)
  end)

  it("does not do that where variables would be doubled", function()
    local prog = cuda.compile("__device__ int count;\ntemplate <class T> __global__ void k(T *y) { *y = count++; }\n"
      .. "__global__ void other(int *y) { *y = count; }")
    raises("bad_argument", 'compile it with names = {"k<int>"}', prog.kernel, prog, "k<int>")
    -- strings are no variables
    local loud = cuda.compile('template <class T> __global__ void k(T *y) { if (*y > 5) printf("large"); }\n'
      .. '__global__ void other(int *y) { printf("%d", *y); }')
    assert.truthy(loud:kernel "k<int>")
  end)

  for _, row in ipairs {
    { "bad_argument", "program.cu has no kernel 'plan' (did you mean 'plain'?); it has cpp, deep::er::inner, plain, twice, twice", "plan" },
    { "bad_argument", "program.cu has no kernel 'x'; it has ", "x" },
    { "bad_argument", "'twice' of program.cu could be any of ", "twice" },
    { "bad_argument", "has no kernel ''", "" },
    { "wrong_type", "the name of a kernel is expected, got 1", 1 },
    { "wrong_type", "the name of a kernel is expected, got nil", nil },
  } do
    it("refuses: " .. row[2], function()
      local prog = cuda.compile(SOURCE)
      raises(row[1], "kernel: " .. (row[1] == "wrong_type" and row[2] or ""), prog.kernel, prog, row[3])
      raises(row[1], row[2], prog.kernel, prog, row[3])
      if row[3] then raises(row[1], row[2], function() return prog[row[3]] end) end
    end)
  end

  it("says that there are no kernels", function()
    local prog = cuda.compile("__device__ int f() { return 1; }")
    raises("bad_argument", "has no kernel 'k', nor any other; kernels are __global__ functions", prog.kernel, prog, "k")
  end)

  it("tells apart overloads by expression", function()
    local prog = cuda.compile(SOURCE, { names = { "(void (*)(int *))twice", "(void (*)(float *))twice" } })
    assert.equal(6, run(prog:kernel "(void (*)(int *))twice", "int32")[1])
    assert.equal(5, run(prog:kernel "(void (*)(float *))twice")[1])
  end)

  it("has fields that cannot be assigned", function()
    local prog = cuda.compile(SOURCE, { name = "fields.cu", arch = "compute_90" })
    assert.equal("fields.cu", prog.name)
    assert.equal("compute_90", prog.arch)
    assert.equal(SOURCE, prog.source)
    assert.equal("", prog.log)
    assert.equal("program fields.cu for compute_90", tostring(prog))
    raises("readonly", "cannot be assigned to", function() prog.plain = 1 end)
    raises("readonly", "cannot be assigned to", function() prog.name = "x" end)
  end)

  it("gives kernels that are called as methods are by kernel()", function()
    local prog = cuda.compile [[extern "C" __global__ void kernels() {} extern "C" __global__ void name() {}]]
    assert.equal("kernel name()", tostring(prog:kernel "name"))
    assert.truthy(prog:kernel "kernels")
    assert.equal("program.cu", prog.name)
  end)

  it("goes with its last kernel, and its code with it", function()
    run(cuda.compile(SOURCE).cpp) -- makes what lives as long as the process
    local balance = cuda_.balance()
    do
      local prog = cuda.compile("__global__ void gone(float *y) { *y = 1; }")
      local k, t = prog.gone, xchg.zeros(1, { dtype = "float32", device = "cuda" })
      k(1, 1, t)
      k(1, 1, t)
    end
    balance()
  end)

  it("stays while what it has is in use", function()
    local kernel, table_
    do
      local prog = cuda.compile("__device__ int table[4] = {1, 2, 3, 4}; __global__ void k(int *y) { *y = table[2]; }")
      kernel, table_ = prog.k, prog:global("table", { dtype = "int32" })
    end
    collectgarbage()
    collectgarbage()
    assert.equal(3, run(kernel, "int32")[1])
    kernel = nil
    collectgarbage()
    collectgarbage()
    assert.is_nil(kernel)
    assert.same({ 1, 2, 3, 4 }, table_:to("cpu"):totable())
  end)

  it("loads where a graph is captured", function()
    local prog = cuda.compile("__global__ void k(float *y) { *y += 1; }", { name = "captured.cu" })
    local t = xchg.zeros(1, { dtype = "float32", device = "cuda" })
    local graph = cuda.graph(function() prog.k(1, 1, t) end)
    prog = nil -- the graph keeps the code
    collectgarbage()
    collectgarbage()
    assert.is_nil(prog)
    graph:launch()
    graph:launch()
    cuda.synchronize()
    assert.equal(2, t:to("cpu"):item())
  end)
end)

describe("a program's variables", function()
  if not compiler then return pending(reason) end
  after_each(cuda_.reports_none)

  local SOURCE = [[
    __device__ float table[4] = {1, 2, 3, 4};
    __constant__ int weights[2][3];
    __device__ unsigned char bytes[3] = {7, 8, 9};
    __device__ double single = 0.5;
    __managed__ int shared_[2] = {5, 6};
    namespace deep { namespace er { __device__ short inner[2] = {-1, -2}; } }
    extern "C" __global__ void use(float *y) {
      *y = table[3] + weights[1][2] + bytes[0] + single + shared_[0] + deep::er::inner[0];
    }]]

  it("are tensors over their memory", function()
    local prog = cuda.compile(SOURCE)
    local t = prog:global("table", { dtype = "float32" })
    assert.same({ 4 }, t.shape)
    assert.equal("cuda:0", t.device)
    assert.same({ 1, 2, 3, 4 }, t:to("cpu"):totable())
    t:fill_(10)
    local w = prog:global("weights", { dtype = "int32", shape = { 2, 3 } })
    w:copy_(xchg.tensor({ { 1, 2, 3 }, { 4, 5, 6 } }, { dtype = "int32" }))
    local y = xchg.zeros(1, { dtype = "float32", device = "cuda" })
    prog.use(1, 1, y)
    assert.equal(10 + 6 + 7 + 0.5 + 5 - 1, y:to("cpu"):item())
    assert.same({ 7, 8, 9 }, prog:global("bytes"):to("cpu"):totable())
    assert.same({ 16 }, prog:global("table").shape)
    assert.equal(0.5, prog:global("single", { dtype = "float64", shape = {} }):to("cpu"):item())
    assert.same({ 5, 6 }, prog:global("shared_", { dtype = "int32" }):to("cpu"):totable())
    assert.same({ -1, -2 }, prog:global("deep::er::inner", { dtype = "int16" }):to("cpu"):totable())
    assert.same({ 2 }, prog:global("table", { dtype = "float32", shape = 2 }).shape)
  end)

  it("are of each device apart", function()
    cuda_.only_with_two()
    local prog = cuda.compile("__device__ int v = 3; __global__ void k(int *y) { *y = v; }")
    local zero = prog:global("v", { dtype = "int32" })
    local one = cuda.with_device(1, function() return prog:global("v", { dtype = "int32" }) end)
    assert.equal("cuda:1", one.device)
    one:fill_(4)
    assert.equal(3, zero:to("cpu"):item())
    assert.equal(4, one:to("cpu"):item())
    assert.equal("cuda:0", tostring(cuda.current_device()))
  end)

  it("are found by a name expression", function()
    local prog = cuda.compile("namespace { __device__ int hidden[2]; }\n"
      .. "__global__ void k(int *y) { hidden[0] = *y; *y = hidden[1]; }", { names = { "&hidden" } })
    assert.same({ 2 }, prog:global("hidden", { dtype = "int32" }).shape)
  end)

  for _, row in ipairs {
    { "bad_argument", "global: program.cu has no variable 'tabel' on cuda:0; variables that no kernel uses", "tabel" },
    { "wrong_type", "global: the name of a variable is expected, got 1", 1 },
    { "wrong_type", "global: the name of a variable is expected, got nil", nil },
    { "bad_argument", "global: unknown option 'dtyp'; did you mean 'dtype'?", "table", { dtyp = "int32" } },
    { "unsupported_dtype", "unknown dtype", "table", { dtype = "float31" } },
    { "shape_mismatch", "'table' has 16 bytes, and a float32 tensor of that shape would take 20", "table",
      { dtype = "float32", shape = 5 } },
    { "shape_mismatch", "'bytes' has 3 bytes, which is no whole number of int16 elements", "bytes", { dtype = "int16" } },
    { "out_of_range", "global: extent 1 must be a whole number", "table", { shape = { -1 } } },
    { "shape_mismatch", "table", "table", { shape = { 2 ^ 40, 2 ^ 40 } } },
  } do
    it("refuse: " .. row[2], function()
      local prog = cuda.compile(SOURCE)
      raises(row[1], row[2], prog.global, prog, row[3], row[4])
    end)
  end
end)

describe("loaded code", function()
  after_each(cuda_.reports_none)

  local function value_of(prog)
    local t = xchg.zeros(1, { dtype = "int32", device = "cuda" })
    prog.fill(1, 1, t, 42)
    return t:to("cpu"):item()
  end

  it("is PTX as a string, with or without NUL, or a file", function()
    local folder = child.folder()
    child.write(folder .. "/code.ptx", PTX)
    for _, code in ipairs { PTX, PTX .. "\0", PTX .. "\0\0\0", "// comment\n/* another\n */ " .. PTX, folder .. "/code.ptx" } do
      local prog = cuda.load(code, { signatures = { fill = "(int *p, int v)" } })
      assert.equal(42, value_of(prog))
      assert.equal("kernel fill(int *p, int v)", tostring(prog.fill))
      assert.same({ "fill" }, prog:kernels())
      assert.same({ 4 }, prog:global("table", { dtype = "float32" }).shape)
    end
    assert.equal("code.ptx", cuda.load(folder .. "/code.ptx").name)
    assert.equal("loaded code", cuda.load(PTX).name)
    assert.equal("mine", cuda.load(PTX, { name = "mine" }).name)
    child.remove(folder)
  end)

  it("is a cubin", function()
    if not compiler then return pending(reason) end
    local made = cuda.compile("__global__ void k(int *y) { *y = 3; }", { arch = "sm_" .. 90, cache = false })
    if cuda_.simulated then
      raises("cuda", "209", cuda.load, made.cubin) -- it has no machine code
      return
    end
    local prog = cuda.load(made.cubin)
    assert.same({ "k" }, prog:kernels())
  end)

  it("is loaded by the driver where the runtime is older than 12.8", function()
    if cuda_.real then return pending "only on the simulated device" end
    local run = child.run(([[
      local xchg = require "xchg"
      local cuda = xchg.cuda
      assert(cuda.version == "12.4", cuda.version)
      local prog = cuda.load(%q)
      local p = prog:global("table", { dtype = "int32" })
      p:fill_(7)
      assert(p:to("cpu"):totable()[4] == 7)
      assert(prog:kernels()[1] == "fill")
      local t = xchg.zeros(1, { dtype = "int32", device = "cuda" })
      prog.fill(1, 1, t, 42)
      assert(t:to("cpu"):item() == 42)
      local ok, e = pcall(cuda.load, ((%q):gsub("ret;", "rett;")))
      assert(not ok and e.call == "cuLibraryLoadData", tostring(e))
    ]]):format(PTX, PTX), { env = cuda_.env { XCHG_SIM_DRIVER = "12.4" } })
    assert.equal("", run.stderr)
    assert.equal(0, run.status)
  end)

  it("says which driver would do for newer PTX", function()
    if cuda_.real then return pending "only on the simulated device" end
    local run = child.run(([[
      local cuda = require("xchg").cuda
      local ok, e = pcall(cuda.load, ((%q):gsub("version 7.0", "version 8.7")))
      assert(not ok and e.code == "cuda" and e.cuda_code == 222, tostring(e))
      io.stdout:write(e.message)
    ]]):format(PTX), { env = cuda_.env { XCHG_SIM_DRIVER = "12.0" } })
    assert.equal("", run.stderr)
    assert.truthy(run.stdout:find("driver", 1, true), run.stdout)
  end)

  -- ELF and fatbin headers whose sizes lead past the end.
  local function u16(n) return string.char(n % 256, math.floor(n / 256) % 256) end
  local function u64(n) return u16(n) .. u16(n / 65536) .. u16(n / 2 ^ 32) .. u16(n / 2 ^ 48) end
  local function elf(over)
    local f = { class = "\2", machine = 190, phoff = 0, shoff = 64, phnum = 0, shnum = 1, shstrndx = 0, shentsize = 64,
      section = ("\0"):rep(64) }
    for name, value in pairs(over) do f[name] = value end
    return "\127ELF" .. f.class .. "\1\1" .. ("\0"):rep(9) .. u16(2) .. u16(f.machine) .. "\1\0\0\0" .. u64(0) .. u64(f.phoff)
      .. u64(f.shoff) .. "\0\0\0\0" .. u16(64) .. u16(56) .. u16(f.phnum) .. u16(f.shentsize) .. u16(f.shnum)
      .. u16(f.shstrndx) .. f.section
  end
  local function section(kind, offset, size)
    return "\0\0\0\0" .. u16(kind) .. "\0\0" .. u64(0) .. u64(0) .. u64(offset) .. u64(size) .. ("\0"):rep(24)
  end
  local function fatbin(body, size, head)
    return "\80\237\85\186" .. u16(1) .. u16(head or 16) .. u64(size or #body) .. body
  end
  local function fat_entry(head, size, rest)
    return u16(1) .. u16(1) .. u16(head) .. "\0\0" .. u64(size) .. ("\0"):rep(48) .. rest
  end

  for _, row in ipairs {
    { "an empty string", "", "the string is empty" },
    { "a lone line break", "\n", "this is not PTX text" },
    { "text that is no PTX", "hello\nworld", "this is not PTX text (which begins with .version), no ELF file and no fatbin" },
    { "text with a NUL in it", PTX:sub(1, 30) .. "\0" .. PTX:sub(31), "contains a NUL byte" },
    { "a comment that does not end", "/* \n.version 7.0", "this is not PTX text" },
    { "a path that is none", "/nowhere/code.ptx", "/nowhere/code.ptx: No such file" },
    { "a folder", "/tmp", "/tmp is no file of code" },
    { "a device", "/dev/zero", "/dev/zero is no file of code" },
    { "the first bytes of a cubin", "\127ELF\2\1\1", "this cubin ends inside of its header" },
    { "a cubin without sections", elf { shnum = 0 }, "the header of this cubin makes no sense" },
    { "another word size", elf { class = "\1" }, "no 64-bit little-endian one" },
    { "a program of this machine", elf { machine = 62 }, "for another machine than a CUDA device" },
    { "sections behind the end", elf { shoff = 2 ^ 40 }, "ends before its tables" },
    { "sections that wrap around", elf { shoff = 2 ^ 52 - 1 }, "ends before its tables" },
    { "too many sections", elf { shnum = 65535 }, "ends before its tables" },
    { "sections of another size", elf { shentsize = 1 }, "the header of this cubin makes no sense" },
    { "names in no section", elf { shstrndx = 7 }, "the header of this cubin makes no sense" },
    { "segments behind the end", elf { phnum = 3, phoff = 100 }, "ends before its tables" },
    { "a section that is too long", elf { section = section(1, 64, 2 ^ 33) }, "ends before one of its sections" },
    { "a section that begins late", elf { section = section(1, 2 ^ 50, 1) }, "ends before one of its sections" },
    { "the first bytes of a fatbin", "\80\237\85\186\1\0", "this fatbin ends inside of its header" },
    { "an empty fatbin", fatbin "", "this fatbin is empty" },
    { "a fatbin that is too short", fatbin("xx", 2 ^ 40), "shorter than its header says" },
    { "a fatbin with a small header", fatbin("xx", 2, 3), "shorter than its header says" },
    { "a fatbin with half an entry", fatbin "xx", "ends inside of an entry's header" },
    { "an entry that is too long", fatbin(fat_entry(64, 2 ^ 50, "")), "longer than the rest of it" },
    { "an entry with a small header", fatbin(fat_entry(8, 0, "")), "longer than the rest of it" },
    { "the wrapper of a fatbin", "\177\67\98\70" .. ("\0"):rep(20) .. "\n", "the wrapper of a fatbin" },
  } do
    it("is refused: " .. row[1], function() raises("bad_argument", row[3], cuda.load, row[2]) end)
  end

  for _, row in ipairs {
    { "wrong_type", "load: a string of PTX, a cubin or a fatbin, or a path, is expected, got nil", nil },
    { "bad_argument", "load: unknown option 'signature'; did you mean 'signatures'?", PTX, { signature = {} } },
    { "wrong_type", "load: option 'signatures' must be a table of strings by kernel, got 1", PTX, { signatures = { k = 1 } } },
    { "cuda", "cudaLibraryLoadData", (PTX:gsub("ret;", "rett;")) },
    { "cuda", "cudaLibraryLoadData", PTX:sub(1, -40) },
  } do
    it("is refused: " .. row[2], function() raises(row[1], row[2], cuda.load, row[3], row[4]) end)
  end

  it("gives all back where the driver refuses, and loses nothing", function()
    cuda_.only_simulated()
    assert.equal(42, value_of(cuda.load(PTX))) -- makes what lives as long as the process
    local balance = cuda_.balance()
    cuda.sim.fail("cudaLibraryLoadData", 1, 2)
    raises("out_of_memory", "load", cuda.load, PTX)
    cuda.sim.fail()
    local prog = cuda.load(PTX)
    cuda.sim.fail("cudaLibraryGetKernel", 1, 400)
    raises("cuda", "cudaLibraryGetKernel", prog.kernel, prog, "fill")
    cuda.sim.fail("cudaLibraryGetGlobal", 1, 999)
    raises("cuda", "cudaLibraryGetGlobal", prog.global, prog, "table")
    cuda.sim.fail()
    assert.equal(42, value_of(prog))
    prog = nil
    balance()
    assert.is_nil(prog)
  end)
end)

describe("a program", function()
  it("names the call without self, and long names in part", function()
    local prog = cuda.load(PTX)
    raises("wrong_type", "kernel: a program is expected, got 5; call it as program:kernel(...)", prog.kernel, 5, "fill")
    raises("wrong_type", "global: a program is expected, got a table; call it as program:global(...)", prog.global, {})
    local done, e = pcall(prog.kernel, prog, ("x"):rep(10000))
    assert.is_false(done)
    assert.is_true(#e.message < 400)
  end)
end)

describe("a failing call of CUDA", function()
  after_each(cuda_.reports_none)

  local function work()
    local prog = cuda.load(PTX, { signatures = { fill = "(int *p, int v)" } })
    local t = xchg.zeros(1, { dtype = "int32", device = "cuda" })
    prog.fill(1, 1, t, 42)
    local v = prog:global("table", { dtype = "int32" })
    pcall(prog.global, prog, "nothing")
    local value = t:to("cpu"):item()
    v:release()
    return value
  end

  for _, call in ipairs {
    "cudaGetDevice", "cudaSetDevice", "cudaThreadExchangeStreamCaptureMode", "cudaLibraryLoadData", "cudaLibraryUnload",
    "cudaLibraryGetKernel", "cudaLibraryGetGlobal", "cudaLibraryGetManaged", "cuCtxGetCurrent", "cudaDeviceGetAttribute",
  } do
    it(call .. " loses no code and leaves nothing loaded", function()
      cuda_.only_simulated()
      assert.equal(42, work())
      local balance = cuda_.balance()
      for nth = 1, 8 do
        cuda.sim.fail(call, nth, 46)
        local done, e = pcall(work)
        collectgarbage()
        cuda.sim.fail()
        if not done then
          assert.is_true(require("xchg.error").is(e), tostring(e))
          assert.equal("cuda", e.code, tostring(e))
        end
        assert.equal(0, cuda.current_device().index)
        assert.equal(42, work())
      end
      balance()
    end)
  end
end)
