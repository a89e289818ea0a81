-- Accesses out of what a program may touch, and their correct twins.
-- A case: its bug and twin, the code that must come and from which call, the words of the one report. `sticky = false`: the
-- context goes on; `only = false`: there may be more reports; `value`, `right`: what bug and twin must return.
local ffi = require "ffi"
local program = require "spec.faults.program"
local at = program.at

local ONE = { grid = 1, block = 64 }

-- By value: { first, pitch }. Sixteen doubles hold 4 elements of a column with a pitch of up to 5.
local function column(p, pitch)
  return ffi.new("struct { void *first; int pitch; }", p:device(32, 1), pitch)
end

return {
  {
    name = "a read one element past the end",
    bug = function(p) p:run("doubled", { grid = 2, block = 32 }, p:device(64), p:device(63, 1), 64) end,
    twin = function(p) p:run("doubled", { grid = 2, block = 32 }, p:device(64), p:device(63, 1), 63) end,
    code = 700,
    says = {
      "illegal address: doubled, block (1,0,0), thread (31,0,0) (@doubled reads): reads 4 bytes at 0x",
      ", just past the end of the 252 bytes at 0x", "made by cudaMalloc (allocation 2)",
    },
  },
  {
    name = "a write one element past the end",
    bug = function(p) p:run("doubled", { grid = 2, block = 32 }, p:device(63), p:device(64, 1), 64) end,
    twin = function(p) p:run("doubled", { grid = 2, block = 32 }, p:device(63), p:device(64, 1), 63) end,
    code = 700,
    says = {
      "doubled, block (1,0,0), thread (31,0,0) (@doubled writes): writes 4 bytes", "just past the end of the 252 bytes",
      "made by cudaMalloc (allocation 1)",
    },
  },
  {
    name = "a read that one byte of the end is missing for",
    bug = function(p)
      local memory = p.cuda:malloc(255)
      p:call("Memset", memory, 0, 255)
      p:run("doubled", ONE, p:device(64), memory, 64)
    end,
    twin = function(p)
      local memory = p.cuda:malloc(256)
      p:call("Memset", memory, 0, 256)
      p:run("doubled", ONE, p:device(64), memory, 64)
    end,
    code = 700,
    says = { "thread (63,0,0) (@doubled reads): reads 4 bytes", "1 byte reach", " past the end of the 255 bytes" },
  },
  {
    name = "a byte behind an odd number of them",
    bug = function(p) p:run("bytes_doubled", { grid = 1, block = 32 }, p:device(2, 1), 9) end,
    twin = function(p) p:run("bytes_doubled", { grid = 1, block = 32 }, p:device(2, 1), 8) end,
    code = 700,
    says = { "thread (8,0,0) (@bytes_doubled): reads 1 byte at", "just past the end of the 8 bytes" },
  },
  {
    name = "an atomic operation behind the end",
    bug = function(p) p:run("counted", ONE, at(p:device(3, 0, "int"), 12)) end,
    twin = function(p) p:run("counted", ONE, at(p:device(3, 0, "int"), 8)) end,
    code = 700,
    says = { "counted, block (0,0,0), thread (0,0,0) (@counted): updates 4 bytes", "just past the end of the 12 bytes" },
  },
  {
    name = "a negative index",
    bug = function(p) p:run("differences", ONE, p:device(64), p:device(64, 1), 64, 0) end,
    twin = function(p) p:run("differences", ONE, p:device(64), p:device(64, 1), 64, 1) end,
    code = 700,
    says = { "thread (0,0,0) (@differences): reads 4 bytes", "4 bytes before the 256 bytes", "made by cudaMalloc" },
  },
  {
    name = "a read behind an array in shared memory",
    bug = function(p) p:run("shifted", ONE, p:device(64), p:device(64, 1), 63) end,
    twin = function(p) p:run("shifted", ONE, p:device(64), p:device(64, 1), 62) end,
    code = 700,
    says = {
      "shifted, block (0,0,0), thread (63,0,0) (@shifted): reads 4 bytes at offset 256 of shared memory",
      "the end of its 256 bytes",
    },
  },
  {
    name = "a write behind dynamic shared memory",
    bug = function(p) p:run("shared_writes", { grid = 1, block = 64, shared = 256 }, p:device(64), 1) end,
    twin = function(p) p:run("shared_writes", { grid = 1, block = 64, shared = 256 }, p:device(64), 0) end,
    code = 700,
    says = {
      "shared_writes, block (0,0,0), thread (63,0,0) (@shared_writes): writes 4 bytes at offset 256 of shared memory",
      "the end of its 256 bytes",
    },
  },
  {
    name = "an index behind a local array",
    bug = function(p)
      p:run("ring", { grid = 1, block = 32 }, p:device(32), p:device(8, function(i) return i == 7 and 8 or i end, "int"), 8)
    end,
    twin = function(p)
      p:run("ring", { grid = 1, block = 32 }, p:device(32), p:device(8, function(i) return i end, "int"), 8)
    end,
    code = 700,
    says = { "ring, block (0,0,0), thread (0,0,0) (@ring): reads 4 bytes at offset 32 of local memory", "the end of its 32 bytes" },
  },
  {
    name = "an index behind an array of constants",
    bug = function(p) p:run("weighted", { grid = 1, block = 16 }, p:device(16), 1) end,
    twin = function(p) p:run("weighted", { grid = 1, block = 16 }, p:device(16), 0) end,
    code = 700,
    says = { "thread (15,0,0) (@weighted): reads 4 bytes", "past the end of coefficients (64 bytes at 0x" },
  },
  {
    name = "a vector load of an address that is no multiple of it",
    bug = function(p) p:run("fours", { grid = 1, block = 8 }, p:device(32), at(p:device(36, 1), 4)) end,
    twin = function(p) p:run("fours", { grid = 1, block = 8 }, p:device(32), at(p:device(36, 1), 16)) end,
    code = 716,
    says = {
      "misaligned address: fours, block (0,0,0), thread (0,0,0) (@fours): reads 16 bytes at 0x",
      "04, which is not a multiple of 16",
    },
  },
  {
    name = "memory that was freed",
    bug = function(p)
      local memory = p:device(64, 1)
      p.cuda:free(memory)
      p:run("doubled", ONE, p:device(64), memory, 64)
    end,
    twin = function(p)
      local memory = p:device(64, 1)
      p:run("doubled", ONE, p:device(64), memory, 64)
      p.cuda:free(memory)
    end,
    code = 700,
    says = { "thread (0,0,0) (@doubled reads): reads 4 bytes", "in freed memory: the 256 bytes at 0x", "made by cudaMalloc (allocation 1)" },
  },
  {
    name = "memory that another stream freed while the kernel was in a queue",
    bug = function(p)
      local mine, other = p:stream(), p:stream()
      local out, memory = p:device(64), p:get("MallocAsync", 256, mine)
      p:call("MemsetAsync", memory, 0, 256, mine)
      p:call("StreamSynchronize", mine)
      p:launch("doubled", { grid = 1, block = 64, stream = mine }, out, memory, 64)
      p:call("FreeAsync", memory, other)
      p:call("StreamSynchronize", other)
      p:call("StreamSynchronize", mine)
    end,
    twin = function(p)
      local mine, other = p:stream(), p:stream()
      local out, memory = p:device(64), p:get("MallocAsync", 256, mine)
      p:call("MemsetAsync", memory, 0, 256, mine)
      p:launch("doubled", { grid = 1, block = 64, stream = mine }, out, memory, 64)
      p:follow(other, mine)
      p:call("FreeAsync", memory, other)
      p:call("StreamSynchronize", other)
    end,
    code = 700,
    says = { "(@doubled reads): reads 4 bytes", "in freed memory: the 256 bytes at 0x", "made by cudaMallocAsync" },
  },
  {
    name = "memory of a stream whose allocation nobody waited for",
    bug = function(p)
      local mine, other = p:stream(), p:stream()
      local out, memory = p:device(64), p:get("MallocAsync", 256, mine)
      p:launch("doubled", { grid = 1, block = 64, stream = other }, out, memory, 64)
      p:call("StreamSynchronize", other)
    end,
    twin = function(p)
      local mine, other = p:stream(), p:stream()
      local out, memory = p:device(64), p:get("MallocAsync", 256, mine)
      p:call("MemsetAsync", memory, 0, 256, mine)
      p:follow(other, mine)
      p:launch("doubled", { grid = 1, block = 64, stream = other }, out, memory, 64)
      p:call("StreamSynchronize", other)
    end,
    code = 700,
    says = { "(@doubled reads): reads 4 bytes", "in memory whose allocation has not run yet in its stream" },
  },
  {
    name = "memory of another device",
    devices = 2,
    bug = function(p)
      p:call("SetDevice", 1)
      local theirs = p:device(64, 1)
      p:call("SetDevice", 0)
      p:run("doubled", ONE, p:device(64), theirs, 64)
    end,
    twin = function(p)
      p:call("SetDevice", 1)
      local theirs = p:device(64, 1)
      p.cuda:synchronize()
      p:call("SetDevice", 0)
      p:call("DeviceEnablePeerAccess", 1, 0)
      p:run("doubled", ONE, p:device(64), theirs, 64)
    end,
    code = 700,
    says = {
      "(@doubled reads): reads 4 bytes", "in memory of device 1, which device 0 may not use (no peer access): the 256 bytes",
      "made by cudaMalloc",
    },
  },
  {
    name = "host memory that nobody registered",
    bug = function(p) p:run("doubled", ONE, p:device(64), p:host(64, 1), 64) end,
    twin = function(p)
      local array = p:host(64, 1)
      p:call("HostRegister", array, 256, 0)
      p:run("doubled", ONE, p:device(64), p:get("HostGetDevicePointer", array, 0), 64)
      p:call("HostUnregister", array)
    end,
    code = 700,
    says = { "(@doubled reads): reads 4 bytes", "in host memory that no CUDA function made or registered" },
  },
  {
    name = "a null pointer",
    bug = function(p) p:run("doubled", ONE, p:device(64), nil, 64) end,
    twin = function(p) p:run("doubled", ONE, p:device(64), nil, 0) end,
    code = 700,
    says = { "(@doubled reads): reads 4 bytes at 0x0, which is a null pointer" },
  },
  {
    name = "the last element of a box that is one plane too small",
    bug = function(p) p:run("boxes", { grid = { 1, 2, 3 }, block = { 4, 2, 2 } }, p:device(4 * 4 * 5), 4, 4, 6) end,
    twin = function(p) p:run("boxes", { grid = { 1, 2, 3 }, block = { 4, 2, 2 } }, p:device(4 * 4 * 5), 4, 4, 5) end,
    code = 700,
    -- The first block that reaches k = 5 has z = 2, and there the threads of z = 1.
    says = { "boxes, block (0,0,2), thread (0,0,1) (@boxes): writes 4 bytes", "just past the end of the 320 bytes" },
  },
  {
    name = "a table of pointers that was never filled",
    bug = function(p) p:run("rows_cleared", { grid = 1, block = 32 }, p.cuda:malloc(8)) end,
    twin = function(p)
      local rows = p.cuda:malloc(8)
      p.cuda:upload(rows, ffi.new("void *[1]", p:device(32)), 8)
      p:run("rows_cleared", { grid = 1, block = 32 }, rows)
    end,
    code = 716, -- the address of all the bytes that new memory has is odd
    says = { "(@rows_cleared): writes 4 bytes at 0xcdcdcdcdcdcdcdcd" },
  },
  {
    name = "a column of a matrix, in an inline function",
    bug = function(p) p:run("columns", { grid = 1, block = 4 }, p:device(8), column(p, 6)) end,
    twin = function(p) p:run("columns", { grid = 1, block = 4 }, p:device(8), column(p, 5)) end,
    code = 700,
    says = { "columns, block (0,0,0), thread (3,0,0) (@column): reads 8 bytes", "16 bytes past the end of the 128 bytes" },
  },
  {
    name = "a launch that fails long before somebody waits",
    bug = function(p)
      local out, stream, mine = p:device(64), p:stream(), p:device(64, 1)
      p:launch("doubled", { grid = 1, block = 64, stream = stream }, out, nil, 64)
      p:launch("doubled", { grid = 1, block = 64, stream = stream }, out, mine, 64)
      p:call("StreamSynchronize", stream)
    end,
    code = 700, call = "cudaStreamSynchronize",
    says = { "(@doubled reads): reads 4 bytes at 0x0, which is a null pointer" },
  },
  {
    name = "a kernel of a graph whose memory is gone",
    bug = function(p)
      local out, memory, stream = p:device(64), p:device(64, 1), p:stream()
      local graph = ffi.new "void *[1]"
      p:call("StreamBeginCapture", stream, 2)
      p:launch("doubled", { grid = 1, block = 64, stream = stream }, out, memory, 64)
      p:call("StreamEndCapture", stream, graph)
      local exec = p:get("GraphInstantiate", graph[0], 0)
      p.cuda:free(memory)
      p:call("GraphLaunch", exec, stream)
      p:call("StreamSynchronize", stream)
    end,
    code = 700, call = "cudaStreamSynchronize",
    says = { "(@doubled reads): reads 4 bytes", "in freed memory: the 256 bytes" },
  },
  {
    name = "pinned memory that was freed before the kernel ran",
    bug = function(p)
      local array = p:pinned(64, 1)
      p:call("FreeHost", array)
      p:run("doubled", ONE, p:device(64), array, 64)
    end,
    twin = function(p)
      local array = p:pinned(64, 1)
      p:run("doubled", ONE, p:device(64), array, 64)
      p:call("FreeHost", array)
    end,
    code = 700,
    says = { "(@doubled reads): reads 4 bytes", "made by cudaMallocHost" },
  },
  {
    name = "a negative index of a local array",
    bug = function(p) p:run("local_below", { grid = 1, block = 1 }, p:device(8, 0, "int"), -1) end,
    twin = function(p) p:run("local_below", { grid = 1, block = 1 }, p:device(8, 0, "int"), 7) end,
    code = 700,
    says = { "(@local_below): writes 4 bytes" },
  },
  {
    name = "a vector load from shared memory that is not aligned",
    bug = function(p) p:run("shared_vector", { grid = 1, block = 32 }, p:device(32), 2) end,
    twin = function(p) p:run("shared_vector", { grid = 1, block = 32 }, p:device(32), 4) end,
    code = 716,
    says = { "shared_vector, block (0,0,0), thread (0,0,0) (@shared_vector): reads 16 bytes at ", "which is not a multiple of 16" },
  },
  {
    name = "a constant that a kernel writes",
    bug = function(p) p:run("doubled", ONE, (p.cuda:global(p.library, "coefficients")), p:device(64, 1), 16) end,
    twin = function(p) p:run("doubled", ONE, p:device(64), (p.cuda:global(p.library, "coefficients")), 16) end,
    code = 700,
    says = {
      "(@doubled writes): writes 4 bytes", "in memory that kernels may only read: coefficients (64 bytes at 0x",
    },
  },
  {
    name = "a pointer into global memory of which one thread leaves the array, others are in shared memory",
    bug = function(p) p:run("either", { grid = 1, block = 32 }, p:device(32), p:device(16, 1), 15) end,
    twin = function(p) p:run("either", { grid = 1, block = 32 }, p:device(32), p:device(16, 1), 32) end,
    code = 700,
    says = { "either, block (0,0,0), thread (15,0,0) (@either): reads 4 bytes at 0x", "just past the end of the 64 bytes" },
  },
  {
    name = "a pointer into shared memory of which one thread leaves the array",
    bug = function(p) p:run("either", { grid = 1, block = 32 }, p:device(32), p:device(16, 1), 31) end,
    code = 700,
    says = { "either, block (0,0,0), thread (31,0,0) (@either): reads 4 bytes at offset 128 of shared memory" },
  },
  {
    name = "an atomic operation on an address that is not aligned",
    bug = function(p) p:run("wide_counted", ONE, at(p:device(4, 0, "int"), 4)) end,
    twin = function(p) p:run("wide_counted", ONE, at(p:device(4, 0, "int"), 8)) end,
    code = 716,
    says = { "misaligned address: wide_counted, block (0,0,0), thread (0,0,0) (@wide_counted): updates 8 bytes" },
  },
  {
    name = "an address that is nowhere",
    bug = function(p) p:run("doubled", ONE, ffi.cast("void *", 0x123456780000ULL), p:device(64, 1), 64) end,
    twin = function(p) p:run("doubled", ONE, p:device(64), p:device(64, 1), 64) end,
    code = 700,
    says = { "(@doubled writes): writes 4 bytes at 0x123456780000, in no allocation" },
  },
}
