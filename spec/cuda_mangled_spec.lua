-- What the mangled name of a kernel tells of its parameters.
local mangled = require "xchg.cuda.mangled"
local ptx_of = require "spec.support.entry"
local signature = require "xchg.cuda.signature"

describe("a mangled name", function()
  local rows = {
    { "_Z5saxpyPfPKffi", { ".u64 @", ".u64 @", ".f32 @", ".u32 @" }, "saxpy(float *, const float *, float, int)" },
    { "_Z1kv", {}, "k()" },
    { "_ZN2ns1kEPNS_1SEPKS0_S1_", { ".u64 @", ".u64 @", ".u64 @" }, "ns::k(ns::S *, const ns::S *, ns::S *)" },
    { "_ZL1kPPfPKPKdPVi", { ".u64 @", ".u64 @", ".u64 @" }, "k(float **, const double *const *, int *)" },
    { "_Z1kPA3_A4_KfPFviE", { ".u64 @", ".u64 @" }, "k(const float *, function *)" },
    { "_Z1kIfLi4EEvPT_PKS0_S0_", { ".u64 @", ".u64 @", ".f32 @" }, "k<float, 4>(float *, const float *, float)" },
    { "_Z1kIKfEvPT_", { ".u64 @" }, "k<const float>(const float *)" },
    { "_Z1kIJiPfEEvDpT_", { ".u32 @", ".u64 @" }, "k<int, float *>(int, float *)" },
    { "_Z1kIJfdEEvDpPKT_", { ".u64 @", ".u64 @" }, "k<float, double>(const float *, const double *)" },
    { "_Z1kILb1ELm7ELin3EEvx", { ".u64 @" }, "k<true, 7, -3>(long long)" },
    { "_Z1kPN4cuda3std3__47complexIfEE6float2", { ".u64 @", ".align 8 .b8 @[8]" },
      "k(cuda::std::complex<float> *, float2)" },
    -- Not understood, or not so in the PTX: the PTX alone.
    { "_Z1kDF16_", { ".align 2 .b8 @[2]" }, "_Z1kDF16_(2 bytes)" },
    { "_Z1kIXadL_Z1fvEEEvi", { ".u32 @" }, "_Z1kIXadL_Z1fvEEEvi(u32)" },
    { "_Z1kIJEEvDpT_", {}, "_Z1kIJEEvDpT_()" },
    { "_Z1kIJifEEvDpPT_S1_", { ".u64 @", ".u64 @", ".u64 @" }, "_Z1kIJifEEvDpPT_S1_(u64, u64, u64)" },
    { "_Z1kPf", { ".u64 @", ".u32 @" }, "k(u64, u32)" },
    { "_Z1kfi", { ".u32 @", ".u32 @" }, "k(u32, u32)" },
  }
  for _, row in ipairs(rows) do
    it(row[1] .. " tells " .. row[3], function()
      local sig = signature.of { name = row[1], ptx = ptx_of(row[2], "", row[1]) }
      assert.are.equal(row[3], tostring(sig))
    end)
  end

  it("tells dtypes and const", function()
    local name = "_Z1kPfPKdPvPKcPP6float4PS5_P6__half"
    local words = { ".u64 @", ".u64 @", ".u64 @", ".u64 @", ".u64 @", ".u64 @", ".u64 @" }
    local sig = signature.of { name = name, ptx = ptx_of(words, "", name) }
    local out = {}
    for i, p in ipairs(sig) do out[i] = ("%s %s %d"):format(tostring(p.dtype), tostring(p.const), p.alignment) end
    assert.are.same({ "float32 false 4", "float64 true 8", "nil false 1", "nil true 1", "uint64 false 8", "float32 false 16",
      "float16 false 2" }, out)
    assert.are.equal("int64", sig[5].also)
  end)

  it("of any kind is told, or left alone", function()
    local words = { "P", "K", "S_", "S0_", "T_", "N", "E", "I", "J", "L", "Dp", "f", "i", "1A", "3foo", "St", "A3_", "F", "v",
      "_", "9", "99999", "V", "i4E", "Z", "C1", "0" }
    local state, read = 12345, 0
    local function below(n)
      state = (state * 1103515245 + 12345) % 2 ^ 31
      return math.floor(state / 2 ^ 16) % n + 1
    end
    for _ = 1, 20000 do
      local parts = { "_Z", "1k" }
      for i = 1, below(12) do parts[i + 2] = words[below(#words)] end
      if below(4) == 1 then parts[2] = "1kI" end
      if mangled.read(table.concat(parts)) then read = read + 1 end
    end
    assert.is_true(read > 100)
    assert.is_nil(mangled.read("_Z1k" .. ("P"):rep(4000) .. "i"))
    assert.is_nil(mangled.read("_Z1k" .. ("N"):rep(4000)))
    local doubling = { "_Z1k1AIiE" }
    for i = 0, 30 do
      local last = i == 0 and "S0_" or ("S%s_"):format(("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"):sub(2 * i + 1, 2 * i + 1))
      doubling[#doubling + 1] = ("1BI%s%sE"):format(last, last)
    end
    assert.is_true(mangled.read(table.concat(doubling)) == nil)
    assert.is_true(mangled.read("_Z1kIJ" .. ("i"):rep(1500) .. "EEvDpPFv" .. ("T_"):rep(1000) .. "E") == nil)
  end)
end)
