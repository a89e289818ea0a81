-- Reads of memory that nobody wrote.
local program = require "spec.faults.program"

local ONE = { grid = 1, block = 64 }

-- Pairs with unwritten padding, copied from device to device, and then read by `reader`.
local function padding(reader)
  return function(p)
    local pairs_, copy, out = p.cuda:malloc(512), p.cuda:malloc(512), p:device(64)
    p:run("pairs_filled", ONE, pairs_)
    p:call("Memcpy", copy, pairs_, 512, program.ON_DEVICE)
    p:run(reader, ONE, out, copy)
    return (p:show(out, 64, "int"):match "^%S+ %S+")
  end
end

local function picked(n)
  return function(p)
    p:run("picked", { grid = 1, block = 32 }, p:device(32), p:device(16, function(i) return i end, "int"), n)
  end
end

return {
  {
    name = "an array of which the last element was never written",
    check = "init",
    bug = function(p)
      local memory = p:device(64)
      p.cuda:upload(memory, p:host(63, 1), 252)
      p:run("copied", ONE, p:device(64), memory, 64)
    end,
    twin = function(p) p:run("copied", ONE, p:device(64), p:device(64, 1), 64) end,
    says = {
      "init: copied, block (0,0,0): thread (63,0,0) (@copied): reads 4 bytes at 0x",
      "that nobody wrote, in the 256 bytes at 0x", "made by cudaMalloc (allocation 1)",
    },
  },
  {
    name = "unwritten memory that was copied",
    check = "init",
    bug = function(p)
      local copy = p:device(64)
      p:call("Memcpy", copy, p:device(64), 256, program.ON_DEVICE)
      p:run("copied", ONE, p:device(64), copy, 64)
    end,
    twin = function(p)
      local copy = p:device(64)
      p:call("Memcpy", copy, p:device(64, 1), 256, program.ON_DEVICE)
      p:run("copied", ONE, p:device(64), copy, 64)
    end,
    says = { "init: copied, block (0,0,0): thread (0,0,0) (@copied): reads 4 bytes", "that nobody wrote, in the 256 bytes at 0x" },
  },
  {
    name = "an upload to another device that nobody waited for",
    check = "init", devices = 2,
    bug = function(p)
      p:call("SetDevice", 1)
      local theirs = p:device(64, 1)
      p:call("SetDevice", 0)
      p:call("DeviceEnablePeerAccess", 1, 0)
      p:run("copied", ONE, p:device(64), theirs, 64)
    end,
    twin = function(p)
      p:call("SetDevice", 0)
      local out = p:device(64)
      p:call("SetDevice", 1)
      local theirs = p:device(64, 1)
      p.cuda:synchronize()
      p:call("SetDevice", 0)
      p.C.cudaDeviceEnablePeerAccess(1, 0)
      p:run("copied", ONE, out, theirs, 64)
      return (p:show(out, 64):match "^%S+")
    end,
    right = "1",
    says = { "(@copied): reads 4 bytes", "that nobody wrote" },
  },
  {
    name = "shared memory that only some threads filled",
    check = "init",
    bug = function(p) p:run("swapped", ONE, p:device(64), p:device(64, 1), 63) end,
    twin = function(p) p:run("swapped", ONE, p:device(64), p:device(64, 1), 64) end,
    says = { "init: swapped, block (0,0,0): thread (0,0,0) (@swapped): reads 4 bytes at offset 252 of shared memory that nobody wrote" },
  },
  {
    name = "a local array that is not full",
    check = "init", bug = picked(15), twin = picked(16),
    says = { "init: picked, block (0,0,0): thread (0,0,0) (@picked): reads 4 bytes at offset 60 of local memory that nobody wrote" },
  },
  {
    name = "padding that is read as words",
    check = "init", bug = padding "words_read", twin = padding "pairs_read", right = "97 98",
    says = { "init: words_read, block (0,0,0): thread (0,0,0) (@words_read): reads 4 bytes", "in the 512 bytes at 0x" },
  },
}
