-- What a kernel takes: read from its PTX, its mangled name, a declaration and the runtime, checked against each other.
local ffi = require "ffi"
local lib = require "xchg.lib"
local error_ = require "xchg.error"
local child = require "spec.support.child"
local ptx_of = require "spec.support.entry"
local raises = require "spec.support.raises"
local signature = require "xchg.cuda.signature"
local cuda = require "spec.support.cuda"

local C = lib.C

local function of(ptx, more)
  local facts = { name = "k", ptx = ptx }
  for key, value in pairs(more or {}) do facts[key] = value end
  return signature.of(facts)
end

-- "class size align offset" of each parameter.
local function layout(sig)
  local out = {}
  for i, p in ipairs(sig) do out[i] = ("%s %d/%s@%d"):format(p.class, p.size, tostring(p.align), p.offset) end
  return table.concat(out, ", ")
end

local SAXPY = ptx_of { ".u64 @", ".u64 @", ".f32 @", ".u32 @" }

describe("a signature from PTX alone", function()
  it("names what PTX says", function()
    local sig = of(SAXPY)
    assert.are.equal("k(u64, u64, f32, u32)", tostring(sig))
    assert.are.equal("ptx", sig.source)
    assert.are.equal("word 8/8@0, word 8/8@8, float 4/4@16, integer 4/4@20", layout(sig))
    assert.are.equal(24, sig.bytes)
    for i, p in ipairs(sig) do
      assert.are.equal(i, p.position)
      assert.is_true(p.unknown_source)
      assert.is_nil(p.signed)
      assert.is_nil(p.dtype)
    end
  end)

  local rows = {
    { ".u8 @", "integer 1/1@0" }, { ".s8 @", "integer 1/1@0", true }, { ".u16 @", "integer 2/2@0" },
    { ".s16 @", "integer 2/2@0", true }, { ".u32 @", "integer 4/4@0" }, { ".s32 @", "integer 4/4@0", true },
    { ".u64 @", "word 8/8@0" }, { ".s64 @", "integer 8/8@0", true }, { ".f16 @", "half 2/2@0" },
    { ".f32 @", "float 4/4@0" }, { ".f64 @", "float 8/8@0" }, { ".b8 @", "bits 1/1@0" }, { ".b16 @", "bits 2/2@0" },
    { ".b32 @", "bits 4/4@0" }, { ".b64 @", "bits 8/8@0" }, { ".b128 @", "bits 16/16@0" },
    { ".align 8 .b8 @[24]", "struct 24/8@0" }, { ".align 16 .b8 @[2][3]", "struct 6/16@0" },
    { ".b8 @[0x10]", "struct 16/1@0" }, { ".f32 @[4]", "struct 16/4@0" }, { ".v4 .f32 @", "struct 16/16@0" },
    { ".v2 .f64 @", "struct 16/16@0" }, { ".align 4 .u64 @", "word 8/4@0" }, { ".b8 @[1]", "struct 1/1@0" },
    { ".u64 .ptr @", "pointer 8/8@0" }, { ".u64 .ptr .global @", "pointer 8/8@0" },
    { ".u64 .ptr .global .align 16 @", "pointer 8/8@0", nil, 16 }, { ".b64 .ptr .align 1 @", "pointer 8/8@0", nil, 1 },
    { ".u64 .ptr .const .align 4 @", "pointer 8/8@0", nil, 4 }, { ".s64 .ptr .shared @", "pointer 8/8@0" },
  }
  for _, row in ipairs(rows) do
    it("reads .param " .. row[1], function()
      local sig = of(ptx_of { row[1] })
      assert.are.equal(row[2], layout(sig))
      assert.are.equal(row[3], sig[1].signed)
      if sig[1].class == "pointer" then assert.are.equal(row[4] or 1, sig[1].alignment) end
    end)
  end

  it("packs parameters as a C struct would", function()
    local sig = of(ptx_of { ".u8 @", ".f64 @", ".u16 @", ".align 16 .b8 @[16]", ".u8 @", ".align 4 .b8 @[12]", ".u64 @" })
    ffi.cdef [[typedef struct xchg_spec_packed {
      uint8_t a; double b; uint16_t c; struct { float x[4]; } __attribute__((aligned(16))) d; uint8_t e; float f[3];
      uint64_t g; } xchg_spec_packed;]]
    local expected = {}
    for i, field in ipairs { "a", "b", "c", "d", "e", "f", "g" } do expected[i] = ffi.offsetof("xchg_spec_packed", field) end
    local offsets = {}
    for i, p in ipairs(sig) do offsets[i] = p.offset end
    assert.are.same(expected, offsets)
  end)

  it("reads what follows the parameters", function()
    local sig = of(ptx_of({ ".u32 @" }, ".maxntid 256, 2\n.minnctapersm 3\n.maxnreg 40\n.reqnctapercluster 2, 1, 1\n"
      .. ".explicitcluster\n.maxclusterrank 8 .pragma \"nounroll\";"))
    assert.are.same({ max_threads = { 256, 2, 1 }, min_blocks = 3, max_registers = 40, required_cluster = { 2, 1, 1 },
      explicit_cluster = true, max_cluster = 8 }, sig.entry)
    assert.are.same({ required_threads = { 64, 1, 1 }, explicit_cluster = false },
      of(ptx_of({}, ".reqntid 64\n")).entry)
  end)

  it("takes comments, line breaks and odd names as PTX has them", function()
    local text = "// .entry k(.param .u8 no)\n.file 1 \".entry k(\"\n/* .entry k(\n*/.func f(.param .u8 z) { .entry k(.param .u8 no) }"
      .. "\n.weak\n.entry\nk$%_1 /**/ (.param\n.u64/*,*/.ptr\n.align\n8 $x,.param .s32 %y)\n{ }"
    local sig = of(text, { name = "k$%_1" })
    assert.are.equal("k$%_1(pointer $x, s32 %y)", tostring(sig))
    assert.are.same({ "k$%_1" }, signature.entries(text))
  end)

  it("takes kernels without parameters, and those that are only declared", function()
    assert.are.equal("k()", tostring(of(ptx_of {})))
    assert.are.equal("k()", tostring(of ".entry k { ret; }"))
    assert.are.equal("k(u32 n)", tostring(of ".entry k(.param .u32 n);"))
  end)

  it("takes what a NUL ends, and any number of parameters", function()
    assert.are.same({ "k" }, signature.entries(SAXPY .. "\0" .. ptx_of({}, "", "other")))
    local list, names = {}, {}
    for i = 1, 1000 do
      list[i] = ".u32 @"
      names[i] = ptx_of({}, "", "k" .. i)
    end
    local sig = of(ptx_of(list))
    assert.are.equal(1000, #sig)
    assert.are.equal(999 * 4, sig[1000].offset)
    local entries = signature.entries(table.concat(names))
    assert.are.equal(1000, #entries)
    assert.are.equal("k1000", entries[1000])
  end)

  local refused = {
    { "another kernel", ptx_of({}, "", "other"), "has no kernel 'k'" },
    { "an empty text", "", "has no kernel 'k'" },
    { "a texture", ptx_of { ".texref @" }, "a type that cannot be passed" },
    { "a predicate", ptx_of { ".pred @" }, "a type that cannot be passed" },
    { "no type", ptx_of { ".align 4 @" }, "without a type" },
    { "no name", ptx_of { ".u32 " }, "without a name" },
    { "a register", ".entry k(.reg .u32 a) {}", "not in .param" },
    { "an alignment of 3", ptx_of { ".align 3 .b8 @[3]" }, "an alignment that is none" },
    { "an alignment of 0", ptx_of { ".align 0 .b8 @[3]" }, "an alignment that is none" },
    { "two alignments", ptx_of { ".align 4 .align 8 .b8 @[8]" }, "an alignment that is none" },
    { "a huge alignment", ptx_of { ".align 1073741824 .b8 @[8]" }, "an alignment that is none" },
    { "an array of none", ptx_of { ".b8 @[0]" }, "an array without a size" },
    { "an array without a size", ptx_of { ".b8 @[]" }, "an array without a size" },
    { "an expression", ptx_of { ".b8 @[4+4]" }, "an array without a size" },
    { "a negative array", ptx_of { ".b8 @[-1]" }, "an array without a size" },
    { "an array of 2^32", ptx_of { ".b8 @[4294967296]" }, "an array without a size" },
    { "an array of 2^31-1", ptx_of { ".b8 @[2147483647]" }, "an array above" },
    { "dimensions that overflow", ptx_of { ".b64 @[2000][2000][2000]" }, "an array above" },
    { "two arrays of 20000", ptx_of { ".b8 @[20000]", ".b8 @[20000]" }, "more than 32764 bytes" },
    { "a pointer of 32 bits", ptx_of { ".u32 .ptr .global @" }, "not 64 bits" },
    { "an array of pointers", ptx_of { ".u64 .ptr @[2]" }, "not 64 bits" },
    { "a head without a body", ".entry k(.param .u32 a)", "neither a body nor an end" },
    { "a name and nothing else", ".entry k", "neither a body nor an end" },
    { "a list that does not end", ".entry k(.param .u32 a", "does not end" },
    { "a list without commas", ".entry k(.param .u32 a .param .u32 b) {}", "does not end" },
    { "a comma too many", ".entry k(.param .u32 a,) {}", "not in .param" },
    { "threads without numbers", ptx_of({}, ".maxntid x\n"), "without its numbers" },
    { "four extents", ptx_of({}, ".reqntid 1,1,1,1\n"), "without its numbers" },
    { "registers without a number", ptx_of({}, ".maxnreg {"), "without its number" },
  }
  for _, row in ipairs(refused) do
    it("refuses " .. row[1], function()
      local e = raises("bad_argument", row[3], of, row[2])
      assert.truthy(e.message:find("^kernel: "))
    end)
  end

  it("never reads past a text that ends anywhere", function()
    local text = ptx_of({ ".u64 .ptr .global .align 16 @", ".align 8 .b8 @[24]", ".s32 @" }, ".maxntid 32, 1\n")
    local entry, list = ffi.new("xchg_cuda_entry"), ffi.new("xchg_cuda_parameter[4]")
    local whole = text:find("{", 1, true)
    for size = 0, #text do
      local count = C.xchg_cuda_signature_parse(entry, list, 4, text, size, "k", error_.scratch)
      assert.is_true(count == 3 or count < 0)
      if size >= whole then assert.are.equal(3, count) end
      error_.scratch.code = 0
    end
  end)
end)

describe("a declared signature", function()
  it("tells what PTX does not", function()
    local sig = of(SAXPY, { declared = "(float *y, const float *x, float a, unsigned n)" })
    assert.are.equal("k(float *y, const float *x, float a, unsigned int n)", tostring(sig))
    assert.are.equal("declared", sig.source)
    assert.are.equal("pointer 8/8@0, pointer 8/8@8, float 4/4@16, integer 4/4@20", layout(sig))
    assert.are.equal("float32", sig[1].dtype)
    assert.is_false(sig[1].const)
    assert.is_true(sig[2].const)
    assert.is_false(sig[4].signed)
    assert.is_nil(sig[1].unknown_source)
  end)

  it("may be written as a whole declaration, and name structs", function()
    local ptx = ptx_of { ".align 4 .b8 @[12]", ".u64 @", ".u32 @" }
    local sig = of(ptx, { declared = "void k(Point p, const Point *list, Mode mode);" })
    assert.are.equal("k(Point p, const Point *list, Mode mode)", tostring(sig))
    assert.are.equal("struct 12/4@0, pointer 8/8@16, integer 4/4@24", layout(sig))
  end)

  local contradictions = {
    { "too few", "(float *y)", "'k' takes 4 parameters, not 1 as the signature" },
    { "too many", "(float *y, float *x, float a, int n, int m)", "'k' takes 4 parameters, not 5 as the signature" },
    { "none", "()", "takes 4 parameters, not 0" },
    { "a double", "(float *y, float *x, double a, int n)", "parameter 3 'a' (double) of 'k' has 4 bytes, not 8" },
    { "a float for an integer", "(float *y, float *x, float a, float n)", "parameter 4 'n' (float) of 'k' is u32 there" },
    { "an integer for a float", "(float *y, float *x, int a, int n)", "parameter 3 'a' (int) of 'k' is f32 there" },
    { "a value for a pointer", "(double, float *x, float a, int n)", "parameter 1 (double) of 'k' is u64 there" },
    { "a pointer for an int", "(float *y, float *x, float a, int *n)", "parameter 4 'n' (int *) of 'k' has 4 bytes, not 8" },
    { "a struct for an integer", "(float *y, float2 x, float a, int n)", "parameter 2 'x' (float2) of 'k' is u64 there" },
    { "a short", "(float *y, float *x, float a, short n)", "has 4 bytes, not 2" },
  }
  for _, row in ipairs(contradictions) do
    it("is refused where it contradicts the PTX: " .. row[1], function()
      local e = raises("bad_argument", row[3], of, SAXPY, { declared = row[2] })
      assert.truthy(e.message:find("; the PTX takes (u64, u64, f32, u32)", 1, true))
    end)
  end

  it("is refused where it contradicts a marked pointer, an alignment, or the mangled name", function()
    raises("bad_argument", "is pointer there", of, ptx_of { ".u64 .ptr .align 1 @" }, { declared = "(size_t n)" })
    raises("bad_argument", "is aligned to 4 bytes, not 8", of, ptx_of { ".align 4 .b8 @[8]" }, { declared = "(float2 v)" })
    local facts = { name = "_Z1kPf", declared = "(double *x)" }
    raises("bad_argument", "parameter 1 'x' (double *) of 'k' is float * to the compiler", of,
      ptx_of({ ".u64 @" }, "", "_Z1kPf"), facts)
    facts.ptx = ptx_of({ ".u64 @" }, "", "_Z1kPN4cuda3std7complexIfEE")
    assert.are.equal("cuda::std::complex<float> *", signature.of({ name = "_Z1kPN4cuda3std7complexIfEE", ptx = facts.ptx })[1].text)
    assert.are.equal("k(float2 *z)", tostring(signature.of {
      name = "_Z1kPN4cuda3std7complexIfEE", ptx = facts.ptx, declared = "(float2 *z)" }))
    facts.ptx = nil
    facts.declared = "(const float4 *x)" -- narrower is a promise of the user's
    assert.are.equal("k(const float4 *x)", tostring(of(ptx_of({ ".u64 @" }, "", "_Z1kPf"), facts)))
  end)

  local malformed = {
    { "float *y", "is no list of parameters" }, { "(float *y", "is no list of parameters" },
    { "(float *y) extra", "is no list of parameters" }, { "", "is no list of parameters" },
    { "(float &y)", "parameter 1 of the signature \"(float &y)\" is a reference" },
    { "(int a, , int b)", "parameter 2 of the signature" }, { "(int a,)", "parameter 2 of the signature" },
    { "(void v)", "is void, which is no value" }, { "(int a, void)", "parameter 2" },
    { "(...)", "parameter 1" }, { "(int a, ...)", "parameter 2" }, { "(42)", "parameter 1" },
    { "(int a; int b)", "parameter 1" }, { "(int f())", "parameter 1" }, { "((int) a)", "parameter 1" },
    { "(float x[)", "is no list of parameters" }, { "(A<int x)", "is no list of parameters" },
  }
  for _, row in ipairs(malformed) do
    it(("is refused when it is none: %s"):format(row[1]), function()
      raises("bad_argument", row[2], of, SAXPY, { declared = row[1] })
    end)
  end
end)

describe("a loaded kernel without PTX", function()
  after_each(cuda.reports_none)

  local TEXT = ptx_of { ".u64 @", ".u8 @", ".align 16 .b8 @[16]", ".f32 @" }

  local function with_kernel(text, name, fn)
    require("xchg.cuda.library").open("spec")
    local out = ffi.new("xchg_cuda_library *[1]")
    error_.check("spec", C.xchg_cuda_library_load(out, text, #text, nil, 0, error_.scratch))
    local ok, problem = pcall(function()
      local kernel = C.xchg_cuda_library_kernel(out[0], name, error_.scratch)
      if kernel == nil then error_.check("spec", error_.scratch.code) end
      fn(kernel, out[0])
    end)
    C.xchg_cuda_library_release(out[0])
    if not ok then error(problem, 0) end
  end

  it("is known by sizes and offsets", function()
    with_kernel(TEXT, "k", function(kernel, library)
      local sig = signature.of { name = "k", library = library, kernel = kernel }
      assert.are.equal("k(8 bytes, 1 byte, 16 bytes, 4 bytes)", tostring(sig))
      assert.are.equal("runtime", sig.source)
      assert.are.equal("bits 8/nil@0, bits 1/nil@8, bits 16/nil@16, bits 4/nil@32", layout(sig))
      assert.are.equal(36, sig.bytes)
    end)
  end)

  it("is told by a declaration that fits", function()
    with_kernel(TEXT, "k", function(kernel, library)
      local sig = signature.of { name = "k", library = library, kernel = kernel, declared = "(float *x, bool on, float4 v, float a)" }
      assert.are.equal("k(float *x, bool on, float4 v, float a)", tostring(sig))
      assert.are.equal("pointer 8/8@0, bool 1/1@8, struct 16/16@16, float 4/4@32", layout(sig))
      raises("bad_argument", "parameter 4 'a' (double) of 'k' has 4 bytes, not 8, as the signature", signature.of,
        { name = "k", library = library, kernel = kernel, declared = "(float *x, bool on, float4 v, double a)" })
      raises("bad_argument", "takes 4 parameters, not 3", signature.of,
        { name = "k", library = library, kernel = kernel, declared = "(float *x, bool on, float4 v)" })
    end)
  end)

  it("is not what is aligned in another way", function()
    with_kernel(ptx_of { ".u64 @", ".u32 @", ".align 4 .b8 @[16]" }, "k", function(kernel, library)
      raises("bad_argument", "parameter 3 'v' (double2) of 'k' lies at 12, which is not aligned to 16 bytes", signature.of,
        { name = "k", library = library, kernel = kernel, declared = "(float *x, int n, double2 v)" })
    end)
  end)

  it("is told by its mangled name", function()
    with_kernel(ptx_of({ ".u64 @", ".u32 @" }, "", "_Z1kPKfi"), "_Z1kPKfi", function(kernel, library)
      assert.are.equal("k(const float *, int)", tostring(signature.of { name = "_Z1kPKfi", library = library, kernel = kernel }))
    end)
  end)

  it("is an error, and nothing else, where a call fails", function()
    cuda.only_simulated()
    with_kernel(TEXT, "k", function(kernel, library)
      local current = ffi.new("int32_t[1]")
      for _, row in ipairs { { "cudaFuncGetParamInfo", 10 }, { "cudaGetDevice", 2 } } do
        for nth = 1, row[2] do
          cuda.cuda.sim.fail(row[1], nth, 999)
          local ok, e = pcall(signature.of, { name = "k", library = library, kernel = kernel })
          cuda.cuda.sim.fail()
          assert.is_false(ok, row[1] .. " " .. nth)
          assert.are.same({ "cuda", row[1], 999 }, { e.code, e.call, e.cuda_code })
          assert.are.equal(0, C.xchg_cuda_device_current(current, error_.scratch))
          assert.are.equal(0, current[0])
        end
      end
      assert.are.equal(4, #signature.of { name = "k", library = library, kernel = kernel })
    end)
  end)

  it("needs a declaration where nothing tells", function()
    raises("bad_argument", "nothing tells what 'k' takes", signature.of, { name = "k" })
    raises("bad_argument", "the size of that type is not known", signature.of, { name = "k", declared = "(Point p)" })
    local sig = signature.of { name = "k", declared = "(char a, double b, float *c, short d, float3 e)" }
    assert.are.equal("integer 1/1@0, float 8/8@8, pointer 8/8@16, integer 2/2@24, struct 12/4@28", layout(sig))
    assert.are.equal(40, sig.bytes)
  end)

  for _, row in ipairs {
    { "12.2", "nothing tells what 'k' takes" }, { "12.4", "k(8 bytes, 1 byte, 16 bytes, 4 bytes)" },
    { "12.8", "k(8 bytes, 1 byte, 16 bytes, 4 bytes)" },
  } do
    it(("is known as far as a driver of CUDA %s knows it"):format(row[1]), function()
      cuda.only_simulated()
      local result = child.run(([[
        local ffi, lib, error_ = require "ffi", require "xchg.lib", require "xchg.error"
        local signature = require "xchg.cuda.signature"
        require("xchg.cuda.library").open("spec")
        local text, out = %q, ffi.new("xchg_cuda_library *[1]")
        error_.check("spec", lib.C.xchg_cuda_library_load(out, text, #text, nil, 0, error_.scratch))
        local kernel = lib.C.xchg_cuda_library_kernel(out[0], "k", error_.scratch)
        print(pcall(signature.of, { name = "k", library = out[0], kernel = kernel }))
        print(signature.of { name = "k", library = out[0], kernel = kernel,
          declared = "(float *x, bool on, float4 v, float a)" })
        lib.C.xchg_cuda_library_release(out[0])
      ]]):format(TEXT), { env = cuda.env { XCHG_SIM_DRIVER = row[1] } })
      assert.are.equal(0, result.status, result.stderr)
      assert.truthy(result.stdout:find(row[2], 1, true), result.stdout)
      assert.truthy(result.stdout:find("k(float *x, bool on, float4 v, float a)", 1, true), result.stdout)
    end)
  end
end)
