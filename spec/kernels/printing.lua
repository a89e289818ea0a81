-- Formatted output against the C library's own, and faults against the codes of the runtime's documentation.
local ffi = require "ffi"
local k = require "spec.support.kernels"

ffi.cdef "int snprintf(char *, size_t, const char *, ...);"

local function text(format, ...)
  local buffer = ffi.new("char[256]")
  ffi.C.snprintf(buffer, 256, format, ...)
  return ffi.string(buffer)
end

local function int(x) return ffi.cast("int", x) end

local cases = {}

local lines = {}
for i = 0, 11 do
  lines[#lines + 1] = text("thread %d of %d: %5.2f|%-6s|%c|%lld|%u|%x|%%", int(i), int(12), 1.25 * i, i % 2 == 1 and "odd" or "even",
    int(97 + i), i * 8589934592LL, ffi.cast("unsigned", int(7 - i)), int(255 + i))
end

cases[#cases + 1] = {
  kernel = "prints", grid = 3, block = 4, printed = lines,
  args = function() return { k.value("int", 12), k.value("float", 1.25) } end,
}

cases[#cases + 1] = {
  kernel = "prints_formats", grid = 1, block = 32,
  args = function() return {} end,
  printed = {
    "plain", "1.234568e+04 0.0001 1E+20 0x1p+0", "[      42] [42      ] [00000042] [+42] [ 42] [    42]",
    "[10] [0xff] [010] [BEEF] [4464] [4465]", "[1099511627776] [abcdef00000] [-7] [abc] [    3.1416]", "two strings",
  },
}

cases[#cases + 1] = {
  name = "asserts that hold", kernel = "asserts", grid = 1, block = 32,
  args = function() return { k.input("int32_t", 32, function() return 1 end) } end,
}

cases[#cases + 1] = {
  kernel = "asserts", grid = 1, block = 32, code = 710, -- cudaErrorAssert
  args = function() return { k.input("int32_t", 32, function(i) return i == 9 and -1 or 1 end) } end,
}

cases[#cases + 1] = {
  kernel = "traps", grid = 1, block = 32, code = 719, -- cudaErrorLaunchFailure
  args = function() return { k.input("int32_t", 32, function(i) return i == 9 and -1 or 1 end) } end,
}

cases[#cases + 1] = {
  kernel = "leaves_memory", grid = 1, block = 32, code = 700, -- cudaErrorIllegalAddress
  args = function() return { k.output("int32_t", 32), k.value("long long", 1e12) } end,
}

cases[#cases + 1] = {
  kernel = "misaligned", grid = 1, block = 16, code = 716, -- cudaErrorMisalignedAddress
  args = function() return { k.output("int32_t", 32) } end,
}

return cases
