-- Kernels that end badly, or never.
local ffi = require "ffi"

local STACK_SIZE, PRINTF_SIZE = 0, 1

local function checked(name, value)
  return function(p)
    p:run(name, { grid = 2, block = 16 }, p:device(16, function(i) return i == 9 and value or 1 end, "int"))
  end
end

local function calls(index)
  return function(p)
    local out = p:device(32)
    p:run("calls", { grid = 1, block = 32 }, out, p:device(2, 12345, "int"), index)
    return (p:show(out, 32, "int"):match "^%S+ %S+ %S+ %S+")
  end
end

local function recurses(depth)
  return function(p)
    local out = p:device(32)
    p:run("recurses", { grid = 1, block = 32 }, out, depth)
    return (p:show(out, 32, "int"):match "^%S+")
  end
end

local function takes_room(stack)
  return function(p)
    p:call("DeviceSetLimit", STACK_SIZE, stack)
    p:run("takes_room", { grid = 1, block = 32 }, p:device(32), 2000)
    p:call("DeviceSetLimit", STACK_SIZE, 1024)
  end
end

local function prints(lines)
  return function(p)
    p:call("DeviceSetLimit", PRINTF_SIZE, 65536)
    p:run("prints", { grid = 1, block = 1 }, lines)
    p:call("DeviceSetLimit", PRINTF_SIZE, 1048576)
  end
end

return {
  {
    name = "more text of printf than hardware keeps",
    bug = prints(3000), twin = prints(100),
    says = { "printf: prints has printed more than the 65536 bytes of cudaLimitPrintfFifoSize in one launch" },
  },
  {
    name = "an endless loop",
    env = { XCHG_SIM_BUDGET = "1M" },
    bug = function(p) p:run("waits", { grid = 1, block = 32 }, p:device(1, 0, "int")) end,
    twin = function(p) p:run("waits", { grid = 1, block = 32 }, p:device(1, 1, "int")) end,
    code = 702,
    says = {
      "launch timed out: waits, block (0,0,0), thread (0,0,0) (@waits): ",
      "warp instructions have run and there is no end (XCHG_SIM_BUDGET): it loops here",
    },
  },
  {
    name = "a recursion that is too deep",
    bug = recurses(1000), twin = recurses(4), right = "30",
    code = 714,
    says = {
      "stack overflow: recurses, block (0,0,0), thread (0,0,0) (@goes down): the call of ", "down", "calls deep",
      "needs more than the stack of 1024 bytes (cudaLimitStackSize)",
    },
  },
  {
    name = "an array of a variable size that the stack has no room for",
    bug = takes_room(1024), twin = takes_room(16384),
    code = 714,
    says = {
      "takes_room, block (0,0,0), thread (0,0,0) (@takes room): takes 8000 bytes of a stack that has 1024 left: raise cudaLimitStackSize",
    },
  },
  {
    name = "an assertion that does not hold",
    bug = checked("asserts", -1), twin = checked("asserts", 1),
    code = 710,
    says = {
      "assertion: asserts, block (0,0,0), thread (9,0,0)", "block: [0,0,0], thread: [9,0,0] Assertion `a[threadIdx.x] > 0` failed.",
    },
  },
  {
    name = "a trap",
    bug = checked("traps", -1), twin = checked("traps", 1),
    code = 719,
    says = { "launch failure: traps, block (0,0,0), thread (9,0,0) (@traps): trap" },
  },
  {
    name = "a function pointer that points nowhere",
    bug = calls(3), twin = calls(-1), right = "0 3 4 9",
    code = 718,
    says = { "invalid program counter: calls, block (0,0,0), thread (3,0,0) (@calls): calls 0x303900003039, where no function begins" },
  },
  {
    name = "a text for printf that is nowhere",
    bug = function(p) p:run("prints_a_wild_text", { grid = 1, block = 1 }, ffi.cast("void *", 0x1234)) end,
    twin = function(p) p:run("prints_a_wild_text", { grid = 1, block = 1 }, nil) end,
    code = 700,
    says = { "illegal address: prints_a_wild_text, block (0,0,0), thread (0,0,0) (@prints): printf ", "0x1234" },
  },
}
