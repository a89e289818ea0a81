-- Prototypes in CUDA C++: what a source says of its kernels, what the compiler makes of them, and what must not be guessed.
local nvrtc = require "spec.support.nvrtc"
local ptx_of = require "spec.support.entry"
local raises = require "spec.support.raises"
local prototype = require "xchg.cuda.prototype"
local signature = require "xchg.cuda.signature"
local typename = require "xchg.cuda.typename"

-- "float *y, int" of the only prototype of k; "none", or "conditional: ...".
local function shown(source, defines)
  local found = prototype.of_source(source, defines).k
  if not found then return "none" end
  local out = {}
  for i, proto in ipairs(found) do
    local list = {}
    for j, one in ipairs(proto) do
      list[j] = (one.type.class and "" or "?") .. one.type.text .. (one.name and " " .. one.name or "")
    end
    out[i] = (proto.conditional and "conditional: " or "") .. table.concat(list, ", ")
  end
  return table.concat(out, " | ")
end

describe("a prototype in a source", function()
  -- Parameters of k, and how they are understood; "?" is a type that is not known.
  local lists = {
    { "", "" }, { "void", "" }, { "int", "int" }, { "float *y, const float *x, float a, int n",
      "float * y, const float * x, float a, int n" },
    { "float const *x, float *const y, const float *const z", "const float * x, float * y, const float * z" },
    { "float *__restrict__ y, const float *__restrict x", "float * y, const float * x" },
    { "unsigned n, unsigned long m, long unsigned int l, long long int k, unsigned short s",
      "unsigned int n, unsigned long m, unsigned long l, long long k, unsigned short s" },
    { "signed char c, char d, unsigned char e, signed s, short int h, int long g",
      "signed char c, char d, unsigned char e, int s, short h, long g" },
    { "size_t n, uint8_t *p, std::int64_t k, ::uint32_t u, cuda::std::size_t z",
      "size_t n, uint8_t * p, std::int64_t k, uint32_t u, cuda::std::size_t z" },
    { "float **pp, const float *const *qq", "float ** pp, const float *const * qq" },
    { "float x[], const int shape[4], float m[3][4]", "float * x, const int * shape, float * m" },
    { "float (*rows)[4], int (*f)(int, float)", "float * rows, function * f" },
    { "float4 v, const double2 *w, dim3 d, int3 *t", "float4 v, const double2 * w, dim3 d, int3 * t" },
    { "half h, __half2 *g, __nv_bfloat16 b, nv_bfloat162 c", "half h, __half2 * g, __nv_bfloat16 b, nv_bfloat162 c" },
    { "cuda::std::complex<float> z, thrust::complex<double> *w", "cuda::std::complex<float> z, thrust::complex<double> * w" },
    { "Point p, const Point *list, struct Point q, enum Mode m", "?Point p, const Point * list, ?Point q, ?Mode m" },
    { "ns::Vec<float, 3> v, a::b<c<int>, 4>::type *t", "?ns::Vec<float, 3> v, a::b<c<int>, 4>::type * t" },
    { "const __grid_constant__ Point p, volatile int *flag", "?Point p, int * flag" },
    { "int n = 4, float a = f(1, 2)", "int n, float a" },
    { "float * y /* , int no */, // int no\n int n", "float * y, int n" },
    { "float\n*\ny,\n\tint n", "float * y, int n" },
    { "cudaTextureObject_t t, __int128 w, bool on", "cudaTextureObject_t t, __int128 w, bool on" },
    -- Words that may be macros of a header.
    { "float * RESTRICT y, int n", "float * y, int n" }, { "IN float *x", "IN * x" }, { "float *x OUT", "float * OUT" },
    { "REAL a, REAL *y", "?REAL a, REAL * y" },
    -- None that can be read.
    { "float &r", "none" }, { "T &&...r", "none" }, { "int n, ...", "none" }, { "decltype(x) y", "none" },
    { "unsigned float x", "?unsigned float x" }, { "long long long x", "?long long long x" }, { "MACRO(x, y)", "none" },
    { "int a b c", "?int c" }, { "int +", "none" }, { "int x[", "none" }, { "A<int x", "none" },
    { "int" .. ("*"):rep(17), "none" },
  }
  for _, row in ipairs(lists) do
    it(("(%s)"):format(row[1]:gsub("%s+", " ")), function()
      assert.are.equal(row[2], shown("extern \"C\" __global__ void k(" .. row[1] .. ") { }"))
    end)
  end

  it("of a word that may be a macro keeps nothing of what it would change", function()
    local found = prototype.of_source("__global__ void k(float *RESTRICT x, REAL *y) {}").k[1]
    assert.are.equal("pointer", found[1].type.class)
    assert.is_nil(found[1].type.dtype)
    assert.is_nil(found[1].type.const)
    assert.is_nil(found[2].type.dtype)
    assert.is_nil(found[2].type.const)
  end)

  -- Whole sources.
  local sources = {
    { "attributes", "__global__ __launch_bounds__(256, 2) void k(int n);", "int n" },
    { "attributes behind the result", "__global__ void __launch_bounds__(MAX(1, 2)) __attribute__((noinline)) k(int n) {}",
      "int n" },
    { "an order of words", "static void __global__ k(int n) {}", "int n" },
    { "a declaration and its definition", "__global__ void k(int n); __global__ void k(int n) {}", "int n | int n" },
    { "a namespace", "namespace a { namespace b { __global__ void k(int n) {} } }", "int n" },
    { "a template", "template <typename T, int N> __global__ void k(T *y, int n) {}", "T * y, int n" },
    { "a comment", "// __global__ void k(int no)\n/* __global__ void k(int no) */ __global__ void k(int n) {}", "int n" },
    { "a string", "const char *s = \"__global__ void k(int no)\"; __global__ void k(int n) {}", "int n" },
    { "an escaped quote", [[const char *s = "\"__global__ void k(int no)"; char c = '"'; __global__ void k(int n) {}]], "int n" },
    { "a raw string", "auto s = R\"x()\" __global__ void k(int no) )x\"; __global__ void k(int n) {}", "int n" },
    { "a line that goes on", "#define A 1 \\\n __global__ void k(int no)\n__global__ void k(in\\\nt n) {}", "int n" },
    { "a typedef", "typedef float real; __global__ void k(real *y, const real a) {}", "float * y, float a" },
    { "using", "using real = double; __global__ void k(real *y) {}", "double * y" },
    { "a typedef of a pointer", "typedef const float *in; __global__ void k(in x, const in y) {}",
      "const float * x, const float * y" },
    { "a typedef of a typedef", "typedef float real; using v = real; __global__ void k(v *y) {}", "float * y" },
    { "a typedef of itself", "typedef real real; __global__ void k(real *y) {}", "real * y" },
    { "two typedefs", "namespace a { typedef float real; } namespace b { typedef double real; }\n"
      .. "__global__ void k(real *y, real a) {}", "real * y, ?real a" },
    { "a struct of a known name", "struct half { int x; }; __global__ void k(half *y, half a) {}", "half * y, ?half a" },
    { "an aligned struct", "struct __align__(8) float9 { int x; }; __global__ void k(float9 a) {}", "?float9 a" },
    { "a macro", "#define real float\n__global__ void k(real *y, real a) {}", "float * y, float a" },
    { "a macro of several words", "#define IN const float *__restrict__\n__global__ void k(IN x) {}", "const float * x" },
    { "a macro of the kernel's head", "#define KERNEL extern \"C\" __global__ void\nKERNEL k(int n) {}", "int n" },
    { "a macro of a macro", "#define R real\n#define real float\n__global__ void k(R *y) {}", "float * y" },
    { "a macro of itself", "#define real real\n__global__ void k(real *y) {}", "real * y" },
    { "a macro that comes later", "typedef float real;\n__global__ void k(real *y) {}\n#define real double\n", "float * y" },
    { "a macro that is taken back", "#define real float\n#undef real\n__global__ void k(real *y) {}", "conditional: real * y" },
    { "a macro that is defined twice", "#define real float\n#undef real\n#define real double\n__global__ void k(real *y) {}",
      "conditional: real * y" },
    { "a macro that is defined twice without a word", "#define real float\n#define real double\n"
      .. "__global__ void k(real *y) {}", "conditional: real * y" },
    { "a define that the source has too", "#define T double\n__global__ void k(T *y) {}", "conditional: T * y", { T = "float" } },
    { "a macro under a condition", "#ifdef D\n#define real double\n#else\n#define real float\n#endif\n"
      .. "__global__ void k(real *y) {}", "conditional: real * y" },
    { "a macro like a function", "#define P(t) t *\n__global__ void k(P(float) y) {}", "none" },
    { "a macro that names the kernel", "#define K(n) __global__ void n\nK(k)(int n) {}", "none" },
    { "a typedef under a condition", "#if D\ntypedef double real;\n#endif\n__global__ void k(real *y) {}", "real * y" },
    { "a kernel under a condition", "#if D\n__global__ void k(double *y) {}\n#else\n__global__ void k(float *y) {}\n#endif",
      "conditional: double * y | conditional: float * y" },
    { "an include guard", "#ifndef GUARD\n#define GUARD\n__global__ void k(int n) {}\n#endif", "int n" },
    { "a nested condition that ends", "#if A\n#if B\n#endif\n#endif\n__global__ void k(int n) {}", "int n" },
    { "a define", "__global__ void k(T *y, T a) {}", "float * y, float a", { T = "float" } },
    { "a define that is a pointer", "__global__ void k(T y) {}", "const int * y", { T = "const int *" } },
    { "a define that is a number", "__global__ void k(float x[N]) {}", "float * x", { N = 4 } },
    { "a define of something else", "__global__ void k(T *y) {}", "conditional: T * y", { T = {} } },
    { "a define that has a default", "#ifndef T\n#define T double\n#endif\n__global__ void k(T *y) {}", "float * y",
      { T = "float" } },
    { "a default without a define", "#ifndef T\n#define T double\n#endif\n__global__ void k(T *y) {}", "double * y" },
    { "a define that the source changes", "#undef T\n#define T double\n__global__ void k(T *y) {}", "conditional: T * y",
      { T = "float" } },
    { "another kernel", "__global__ void other(int n) {}", "none" },
    { "no end", "__global__ void k(int n", "none" }, { "nothing behind it", "__global__", "none" },
    { "nothing", "", "none" }, { "a comment without an end", "/* __global__ void k(int n) {}", "none" },
  }
  for _, row in ipairs(sources) do
    it("with " .. row[1] .. " is " .. row[3], function() assert.are.equal(row[3], shown(row[2], row[4])) end)
  end

  it("of any text is read, or is none", function()
    local words = { "__global__ ", "void ", "k", "(", ")", "float ", "*", "const ", ",", "{", "}", "<", ">", "[", "]", "::",
      "typedef ", ";", "using ", "=", "struct ", "template ", "\n#define ", "\n#if ", "\n#endif\n", "real ", "\"", "'", "/*",
      "*/", "//", "\\", "\n", "R\"(", "&", "...", "\0", "é", "1.5e", "#" }
    local state = 4711
    local function below(n)
      state = (state * 1103515245 + 12345) % 2 ^ 31
      return math.floor(state / 2 ^ 16) % n + 1
    end
    local found = 0
    for _ = 1, 4000 do
      local parts = { below(3) == 1 and "__global__ void k(" or "" }
      for i = 2, below(40) do parts[i] = words[below(#words)] end
      if prototype.of_source(table.concat(parts, "", 1, #parts)).k then found = found + 1 end
      pcall(prototype.declared, "spec", table.concat(parts))
    end
    assert.is_true(found > 20)
  end)

  it("of a large source takes no time", function()
    local clock = os.clock()
    local filler = ("struct S { float a, b; }; __device__ float f(float x) { return x * 2.0f; }\n"):rep(3000)
    assert.are.equal("int n", shown(filler .. "__global__ void k(int n) {}"))
    prototype.of_source(("("):rep(100000))
    prototype.of_source("__global__ void k(int " .. ("*"):rep(50000) .. ")")
    prototype.of_source(("__global__ void __launch_bounds__(1) "):rep(3000))
    prototype.of_source(("__global__ ("):rep(2000))
    prototype.of_source(("typedef struct "):rep(2000))
    prototype.of_source(("#define A A A\n"):rep(2000) .. ("A "):rep(2000))
    local doubling = {}
    for i = 1, 40 do doubling[i] = ("#define M%d M%d M%d\n"):format(i, i - 1, i - 1) end
    prototype.of_source(table.concat(doubling) .. "M40 M39 M38")
    assert.is_true(os.clock() - clock < 5)
  end)
end)

describe("a source and its PTX", function()
  local function of(source, types, more)
    local facts = { name = "k", source = source, ptx = ptx_of(types) }
    for key, value in pairs(more or {}) do facts[key] = value end
    local sig = signature.of(facts)
    return tostring(sig), sig
  end

  it("together tell types and names", function()
    local text, sig = of("extern \"C\" __global__ void k(float *y, const float4 *x, unsigned n) {}", { ".u64 @", ".u64 @",
      ".u32 @" })
    assert.are.equal("k(float *y, const float4 *x, unsigned int n)", text)
    assert.are.equal("source", sig.source)
    assert.are.equal("float32 false 4", ("%s %s %d"):format(sig[1].dtype, tostring(sig[1].const), sig[1].alignment))
    assert.are.equal("float32 true 16", ("%s %s %d"):format(sig[2].dtype, tostring(sig[2].const), sig[2].alignment))
    assert.is_false(sig[3].signed)
  end)

  -- The PTX wins, and nothing of the prototype is kept but names that are sure.
  local rows = {
    { "another type", "__global__ void k(float *y, double a) {}", { ".u64 @", ".f32 @" }, "k(u64 y, f32 a)" },
    { "another count", "__global__ void k(float *y) {}", { ".u64 @", ".f32 @" }, "k(u64, f32)" },
    { "a value where a pointer is marked", "__global__ void k(long n) {}", { ".u64 .ptr .align 1 @" }, "k(pointer n)" },
    { "another alignment", "__global__ void k(float2 v) {}", { ".align 4 .b8 @[8]" }, "k(8 bytes v)" },
    { "two that fit and differ", "__global__ void k(float *y) {} __global__ void k(double *y) {}", { ".u64 @" }, "k(u64 y)" },
    { "one of two that fits", "__global__ void k(float *y) {} __global__ void k(double y) {}", { ".u64 @" }, "k(float *y)" },
    { "a condition", "#if A\n__global__ void k(float *y) {}\n#endif", { ".u64 @" }, "k(u64 y)" },
    { "an unknown macro", "#if A\n#define T float\n#endif\n__global__ void k(T *y, int n) {}", { ".u64 @", ".u32 @" },
      "k(u64 y, u32 n)" },
    { "names that differ", "__global__ void k(float a); __global__ void k(double b) {}", { ".u32 @" }, "k(u32)" },
    { "structs and enums by name", "__global__ void k(Point p, Mode m, Handle h) {}",
      { ".align 4 .b8 @[12]", ".u32 @", ".u64 @" }, "k(Point p, Mode m, Handle h)" },
  }
  for _, row in ipairs(rows) do
    it("with " .. row[1] .. " are " .. row[4], function()
      assert.are.equal(row[4], (of(row[2], row[3])))
    end)
  end

  it("leave what a name alone cannot tell to the PTX", function()
    local _, sig = of("__global__ void k(Point p, Mode m, Handle h) {}", { ".align 4 .b8 @[12]", ".u32 @", ".u64 @" })
    assert.are.same({ "struct", "integer", "word" }, { sig[1].class, sig[2].class, sig[3].class })
    assert.is_true(sig[2].unknown_source)
  end)

  it("do not keep an old definition of a program's define", function()
    local source, defines = "__global__ void k(T *y) {}", { T = "float" }
    assert.are.equal("k(float *y)", (of(source, { ".u64 @" }, { defines = defines })))
    defines.T = "double"
    assert.are.equal("k(double *y)", (of(source, { ".u64 @" }, { defines = defines })))
  end)

  it("are checked against a declaration as the PTX is", function()
    raises("bad_argument", "has 4 bytes, not 8", of, "__global__ void k(float a) {}", { ".f32 @" }, { declared = "(double a)" })
  end)
end)

-- What the compiler says of each type: with a wrong size, alignment or class in our list, the prototype would not fit.
describe("the compiler", function()
  local available, reason = nvrtc.available()
  local HEADERS = "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n#include <cuda_fp8.h>\n#include <cuComplex.h>\n"
    .. "#include <cuda/std/complex>\n#include <cuda/std/cstdint>\n#include <cuda/std/cstddef>\n"
  local TYPES = { "bool", "char", "signed char", "unsigned char", "short", "unsigned short", "int", "unsigned int", "long",
    "unsigned long", "long long", "unsigned long long", "float", "double", "size_t", "ptrdiff_t", "uint8_t", "int8_t",
    "uint16_t", "int16_t", "uint32_t", "int32_t", "uint64_t", "int64_t", "cuda::std::uint16_t", "cuda::std::byte",
    "__half", "half", "__half2", "half2", "__nv_bfloat16", "nv_bfloat16", "__nv_bfloat162", "nv_bfloat162",
    "__nv_fp8_e4m3", "__nv_fp8_e5m2", "__nv_fp8x2_e4m3", "__nv_fp8x4_e5m2", "dim3", "cuFloatComplex", "cuComplex",
    "cuDoubleComplex", "cuda::std::complex<float>", "cuda::std::complex<double>", "cudaTextureObject_t",
    "cudaSurfaceObject_t", "__int128", "unsigned __int128" }
  for _, name in ipairs { "char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "longlong", "ulonglong", "float",
    "double" } do
    for lanes = 1, 4 do TYPES[#TYPES + 1] = name .. lanes end
  end
  if available and tonumber(nvrtc.version()) >= 13 then
    for name in ("long4 ulong4 longlong4 ulonglong4 double4"):gmatch "%S+" do
      TYPES[#TYPES + 1], TYPES[#TYPES + 2] = name .. "_16a", name .. "_32a"
    end
  end

  for _, arch in ipairs { 75, 90, 100, 120 } do
    it(("agrees about every type, for compute_%d"):format(arch), function()
      if not available then return pending(reason) end
      local parts = { HEADERS }
      for i, name in ipairs(TYPES) do
        parts[#parts + 1] = ("extern \"C\" __global__ void c%d(char pad, %s v, const %s *p, %s *q) {}\n"):format(i, name, name, name)
        parts[#parts + 1] = ("__global__ void m%d(char pad, %s v, const %s *p, %s *q) {}\n"):format(i, name, name, name)
      end
      local source = table.concat(parts)
      local ptx = nvrtc.compile(source, {
        arch = "compute_" .. arch, options = { "--device-int128", "--diag-suppress=1444,1215" },
      })
      local seen = 0
      for _, entry in ipairs(signature.entries(ptx)) do
        local sig = signature.of { name = entry, ptx = ptx, source = source }
        local kind, number = sig.name:match("^([cm])(%d+)$")
        local name = TYPES[tonumber(number)]
        local type_ = typename.find(name)
        assert.are.equal(kind == "c" and "source" or "mangled", sig.source, tostring(sig) .. " for " .. name)
        assert.are.same({ type_.class, type_.size, type_.align, type_.signed }, { sig[2].class, sig[2].size, sig[2].align,
          sig[2].signed }, name)
        assert.are.same({ type_.dtype, type_.also, true, type_.align }, { sig[3].dtype, sig[3].also, sig[3].const,
          sig[3].alignment }, name)
        assert.are.same({ type_.dtype, type_.also, false, type_.align }, { sig[4].dtype, sig[4].also, sig[4].const,
          sig[4].alignment }, name)
        assert.are.same({ "pad", "v", "p", "q" }, { sig[1].name, sig[2].name, sig[3].name, sig[4].name })
        seen = seen + 1
      end
      assert.are.equal(2 * #TYPES, seen)
    end)

    it(("and the source tell what kernels take, for compute_%d"):format(arch), function()
      if not available then return pending(reason) end
      local source = [[
        #include <cuda_fp16.h>
        struct P { double a; int b[3]; }; struct Q { double x[7]; };
        namespace geo { struct V { float x, y, z; }; enum class E : short { a }; enum F { b };
          __global__ void move(V v, E e, F f, const V *list, geo::V *out, P p) { out[0] = v; } }
        template <typename T, int N> __global__ void scale(T *y, const T *__restrict__ x, T a) { y[N] = x[0]; y[0] = a; }
        template <typename... A> __global__ void many(A... a) {}
        extern "C" __global__ void __launch_bounds__(128, 2) layout(P p, Q q, Q r, bool b, unsigned char c, short s,
          long long l, float3 f, float4 g) {}
        extern "C" __global__ void grid(const __grid_constant__ P p, void (*call)(int), float (*rows)[4], TYPE *y) {}
      ]]
      local ptx, lowered = nvrtc.compile(source, { arch = "compute_" .. arch, options = { "-DTYPE=unsigned short" },
        names = { "scale<float, 4>", "scale<__half, 2>", "scale<const float *, 1>", "many<int, float *, geo::V>" } })
      local out = {}
      for _, entry in ipairs(signature.entries(ptx)) do
        local sig = signature.of { name = entry, ptx = ptx, source = source, defines = { TYPE = "unsigned short" } }
        out[sig.name] = tostring(sig)
      end
      assert.are.equal("geo::move(geo::V v, geo::E e, geo::F f, const geo::V *list, geo::V *out, P p)", out["geo::move"])
      assert.are.equal("scale<float, 4>(float *y, const float *x, float a)", out["scale<float, 4>"])
      assert.are.equal("scale<__half, 2>(__half *y, const __half *x, __half a)", out["scale<__half, 2>"])
      assert.are.equal("scale<const float *, 1>(const float **y, const float *const *x, const float *a)",
        out["scale<const float *, 1>"])
      assert.are.equal("many<int, float *, geo::V>(int, float *, geo::V)", out["many<int, float *, geo::V>"])
      assert.are.equal("grid(P p, function *call, float *rows, unsigned short *y)", out.grid)

      local named = signature.of { name = lowered["scale<float, 4>"], expression = "scale<float,4>", ptx = ptx }
      assert.are.equal("scale<float,4>(float *, const float *, float)", tostring(named))
      local sig = signature.of { name = "layout", ptx = ptx, source = source }
      local offsets = {}
      for i, p in ipairs(sig) do offsets[i] = { p.offset, p.size } end
      assert.are.same({ { 0, 24 }, { 24, 56 }, { 80, 56 }, { 136, 1 }, { 137, 1 }, { 138, 2 }, { 144, 8 }, { 152, 12 },
        { 176, 16 } }, offsets)
      assert.are.equal(192, sig.bytes)
      assert.are.same({ 128, 1, 1 }, sig.entry.max_threads)
      assert.are.equal(2, sig.entry.min_blocks)
    end)
  end
end)
