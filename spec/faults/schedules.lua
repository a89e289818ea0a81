-- Programs of several streams. Each is right in `twin` and forgets one wait in `bug`: then what it shows depends on the
-- schedule, and the lazy one shows what was there before, `stale`.
local ffi = require "ffi"
local program = require "spec.faults.program"
local TO_DEVICE, TO_HOST, ON_DEVICE = program.TO_DEVICE, program.TO_HOST, program.ON_DEVICE

ffi.cdef "int rand_r(unsigned *);"

local function one(stream) return { grid = 1, block = 64, stream = stream } end

local function numbers(array, ...)
  local out = {}
  for i = 1, select("#", ...) do out[i] = ("%g"):format(array[(select(i, ...))]) end
  return table.concat(out, " ")
end

-- A chain over three streams: (1 + 2) * 3 + 4 = 13.
local function chain(waits)
  return function(p)
    local a, b, c = p:stream(), p:stream(), p:stream()
    local x, y, z = p:device(64, 1), p:device(64, 50), p:device(64, 60)
    local result = p:pinned(64, 70)
    p.cuda:synchronize()
    p:launch("added", one(a), x, x, 2)
    p:follow(b, a)
    p:launch("multiplied", one(b), y, x, 3)
    if waits then p:follow(c, b) end
    p:launch("added", one(c), z, y, 4)
    p:call("MemcpyAsync", result, z, 256, TO_HOST, c)
    p:call("StreamSynchronize", c)
    local text = numbers(result, 0, 63)
    p.cuda:synchronize()
    return text
  end
end

-- The legacy stream waits for blocking streams, and they for it; not so the non-blocking.
local function legacy(waits)
  return function(p)
    local a, b = p:stream(waits and 0 or program.NON_BLOCKING), p:stream(0)
    local x = p:device(64, 1)
    p.cuda:synchronize()
    p:launch("added", one(a), x, x, 1)
    p:launch("multiplied", one(nil), x, x, 10)
    p:launch("added", one(b), x, x, 5)
    p:call("StreamSynchronize", b)
    local result = p:host(64)
    p:call("Memcpy", result, x, 256, TO_HOST)
    p.cuda:synchronize()
    return numbers(result, 0)
  end
end

-- A host function changes what is uploaded behind it.
local function callback(waits)
  return function(p)
    local a, b = p:stream(), p:stream()
    local seed, x = ffi.cast("unsigned *", p:get("MallocHost", 4)), p:device(1, 0, "int")
    p.cuda:synchronize()
    seed[0] = 42
    p:call("LaunchHostFunc", a, ffi.cast("void (*)(void *)", ffi.C.rand_r), seed)
    if waits then p:follow(b, a) end
    p:call("MemcpyAsync", x, seed, 4, TO_DEVICE, b)
    p:call("StreamSynchronize", b)
    local result, want = ffi.new "unsigned[1]", ffi.new("unsigned[1]", 42)
    p:call("MemcpyAsync", result, x, 4, TO_HOST, b)
    p:call("StreamSynchronize", b)
    p.cuda:synchronize()
    ffi.C.rand_r(want)
    return result[0] == want[0] and "drawn" or result[0] == 42 and "not drawn" or tostring(result[0])
  end
end

-- Captured: two branches of one stream's work that come together, launched three times: x = (x + 1) * 2 + (x + 1) + 3,
-- which is 3 x + 6. Another stream takes the result.
local function graph(waits)
  return function(p)
    local a, b = p:stream(), p:stream()
    local x, left, right = p:device(64, 0), p:device(64, 0), p:device(64, 0)
    p.cuda:synchronize()
    local RELAXED = 2
    p:call("StreamBeginCapture", a, RELAXED)
    p:launch("added", one(a), x, x, 1)
    p:follow(b, a)
    p:launch("multiplied", one(a), left, x, 2)
    p:launch("added", one(b), right, x, 3)
    p:follow(a, b)
    p:launch("summed", one(a), x, left, right)
    local captured = ffi.new "void *[1]"
    p:call("StreamEndCapture", a, captured)
    local made = captured[0]
    local exec = p:get("GraphInstantiate", made, 0)
    for _ = 1, 3 do p:call("GraphLaunch", exec, a) end
    if waits then p:follow(b, a) end
    local result = p:pinned(64, -1)
    p:call("MemcpyAsync", result, x, 256, TO_HOST, b)
    p:call("StreamSynchronize", b)
    local text = numbers(result, 0, 63)
    p.cuda:synchronize()
    p:call("GraphExecDestroy", exec)
    p:call("GraphDestroy", made)
    return text
  end
end

-- Memory of a pool that one stream gives back and another may be given.
local function pool(waits)
  return function(p)
    local a, b, sum = p:stream(), p:stream(), p:device(64, 0)
    local result = p:pinned(64, 0)
    p.cuda:synchronize()
    for turn = 1, 4 do
      local stream = turn % 2 == 1 and a or b
      if waits and turn > 1 then p:follow(stream, turn % 2 == 1 and b or a) end
      local memory = p:get("MallocAsync", 256, stream)
      p:launch("filled", one(stream), memory, turn)
      p:launch("multiplied", one(stream), memory, memory, 10)
      p:launch("summed", one(stream), sum, sum, memory)
      p:call("FreeAsync", memory, stream)
    end
    -- Without the waits only the even turns are sure to be in the sum.
    p:call("MemcpyAsync", result, sum, 256, TO_HOST, b)
    p:call("StreamSynchronize", b)
    local text = numbers(result, 0, 63)
    p.cuda:synchronize()
    return text
  end
end

-- Two pinned buffers that the host fills in turn, each only when its last copy is done.
local function double_buffer(waits)
  return function(p)
    local stream, sum, part = p:stream(), p:device(64, 0), p:device(64, 0)
    local buffers = { p:pinned(64), p:pinned(64) }
    local done = { p:event(), p:event() }
    local result = p:pinned(64, 0)
    p.cuda:synchronize()
    for turn = 1, 6 do
      local which = turn % 2 + 1
      if waits and turn > 2 then p:call("EventSynchronize", done[which]) end
      for i = 0, 63 do buffers[which][i] = turn end
      p:call("MemcpyAsync", part, buffers[which], 256, TO_DEVICE, stream)
      p:call("EventRecord", done[which], stream)
      p:launch("summed", one(stream), sum, sum, part)
    end
    p:call("MemcpyAsync", result, sum, 256, TO_HOST, stream)
    p:call("StreamSynchronize", stream)
    return numbers(result, 0, 63)
  end
end

-- What the device returned is used without a wait.
local function poll(waits)
  return function(p)
    local stream, x, result = p:stream(), p:device(64, 1), p:pinned(64, -1)
    p.cuda:synchronize()
    p:launch("added", one(stream), x, x, 1)
    p:call("MemcpyAsync", result, x, 256, TO_HOST, stream)
    while waits and p.C.cudaStreamQuery(stream) ~= 0 do end
    local text = numbers(result, 0)
    p.cuda:synchronize()
    return text
  end
end

-- A copy on the device that overtakes the kernel whose result it takes.
local function snapshot(waits)
  return function(p)
    local a, b, x, kept = p:stream(), p:stream(), p:device(64, 1), p:device(64, 0)
    p.cuda:synchronize()
    p:launch("filled", one(a), x, 9)
    if waits then p:follow(b, a) end
    p:call("MemcpyAsync", kept, x, 256, ON_DEVICE, b)
    p:call("StreamSynchronize", b)
    p.cuda:synchronize()
    return p:show(kept, 1)
  end
end

local function case(name, make, right, stale)
  return { name = name, source = "streams", bug = make(false), twin = make(true), right = right, stale = stale }
end

return {
  case("a chain of events over three streams", chain, "13 13", "54 54"),
  case("blocking streams around the legacy stream", legacy, "25", "15"),
  case("a host function between copies", callback, "drawn", "not drawn"),
  case("a graph with two branches", graph, "78 78", "0 0"),
  case("memory of a pool in turns", pool, "100 100", "60 60"),
  case("two pinned buffers in turns", double_buffer, "21 21", "33 33"),
  case("a loop that asks for the end", poll, "2", "-1"),
  case("a copy behind a kernel of another stream", snapshot, "9", "1"),
}
