-- Programs that do not wait as they must, between streams and on the host.
local ffi = require "ffi"
local program = require "spec.faults.program"
local TO_DEVICE, TO_HOST = program.TO_DEVICE, program.TO_HOST
local RELAXED = 2

local function one(stream) return { grid = 1, block = 64, stream = stream } end

local function first(text) return (text:match "^%S+") end

-- One stream makes what another reads.
local function handed_over(waits)
  return function(p)
    local maker, user, made, out = p:stream(), p:stream(), p:device(64, 1), p:device(64)
    p.cuda:synchronize()
    p:launch("filled", one(maker), made, 7)
    if waits then p:follow(user, maker) end
    p:launch("added", one(user), out, made, 1)
    p:call("StreamSynchronize", user)
    local shown = first(p:show(out, 64))
    p.cuda:synchronize()
    return shown
  end
end

-- Two streams write the same memory.
local function written_twice(waits)
  return function(p)
    local one_stream, other, out = p:stream(), p:stream(), p:device(64, 1)
    p.cuda:synchronize()
    p:launch("filled", one(one_stream), out, 7)
    if waits then p:follow(other, one_stream) end
    p:call("MemsetAsync", out, 0, 256, other)
    p.cuda:synchronize()
    return first(p:show(out, 64))
  end
end

local function overwritten(waits)
  return function(p)
    local stream, source, out = p:stream(), p:pinned(64, 1), p:device(64)
    p:call("MemcpyAsync", out, source, 256, TO_DEVICE, stream)
    if waits then p:call("StreamSynchronize", stream) end
    for i = 0, 63 do source[i] = 2 end
    p.cuda:synchronize()
    return first(p:show(out, 64))
  end
end

local function read_back(waits)
  return function(p)
    local stream, result, made = p:stream(), p:pinned(64, 0), p:device(64)
    p:launch("filled", one(stream), made, 7)
    p:call("MemcpyAsync", result, made, 256, TO_HOST, stream)
    if waits then p:call("StreamSynchronize", stream) end
    local shown = ("%g"):format(result[63])
    p.cuda:synchronize()
    return shown
  end
end

local function freed_source(waits)
  return function(p)
    local stream, source, out = p:stream(), p:pinned(64, 1), p:device(64)
    p:call("MemcpyAsync", out, source, 256, TO_DEVICE, stream)
    if waits then p:call("StreamSynchronize", stream) end
    p:call("FreeHost", source)
    p.cuda:synchronize()
  end
end

local function freed_in_another(waits)
  return function(p)
    local mine, other, out = p:stream(), p:stream(), p:device(64)
    local memory = p:get("MallocAsync", 256, mine)
    p:launch("filled", one(mine), memory, 3)
    p:launch("added", one(mine), out, memory, 1)
    p:call("StreamSynchronize", mine)
    p:launch("added", one(mine), out, memory, 2)
    if waits then p:follow(other, mine) end
    p:call("FreeAsync", memory, other)
    p:call("StreamSynchronize", mine)
    p:call("StreamSynchronize", other)
  end
end

-- The event is recorded before the work that it is to stand for.
local function recorded(late)
  return function(p)
    local maker, user, made, out, event = p:stream(), p:stream(), p:device(64, 1), p:device(64), p:event()
    p.cuda:synchronize()
    if not late then p:call("EventRecord", event, maker) end
    p:launch("filled", one(maker), made, 7)
    if late then p:call("EventRecord", event, maker) end
    p:call("StreamWaitEvent", user, event, 0)
    p:launch("added", one(user), out, made, 1)
    p:call("StreamSynchronize", user)
    local shown = first(p:show(out, 64))
    p.cuda:synchronize()
    return shown
  end
end

-- A non-blocking stream does not wait for the legacy stream.
local function around_legacy(flags)
  return function(p)
    local stream, made, out = p:stream(flags), p:device(64, 1), p:device(64)
    p.cuda:synchronize()
    p:launch("filled", one(nil), made, 7)
    p:launch("added", one(stream), out, made, 1)
    p:call("StreamSynchronize", stream)
    local result = p:pinned(64)
    p:call("MemcpyAsync", result, out, 256, TO_HOST, stream)
    p:call("StreamSynchronize", stream)
    local shown = ("%g"):format(result[0])
    p.cuda:synchronize()
    return shown
  end
end

-- A plain copy waits for the legacy stream and for blocking streams only.
local function plain_copy(flags)
  return function(p)
    local stream, made = p:stream(flags), p:device(64, 1)
    p.cuda:synchronize()
    p:launch("filled", one(stream), made, 7)
    local shown = first(p:show(made, 64))
    p.cuda:synchronize()
    return shown
  end
end

-- Through pinned memory: down in one stream, up in another.
local function staged(waits)
  return function(p)
    local down, up, from, to, buffer = p:stream(), p:stream(), p:device(64, 5), p:device(64, 0), p:pinned(64, 1)
    p.cuda:synchronize()
    p:call("MemcpyAsync", buffer, from, 256, TO_HOST, down)
    if waits then p:follow(up, down) end
    p:call("MemcpyAsync", to, buffer, 256, TO_DEVICE, up)
    p:call("StreamSynchronize", up)
    local shown = first(p:show(to, 64))
    p.cuda:synchronize()
    return shown
  end
end

-- Two branches of a graph that use the same memory.
local function branches(apart)
  return function(p)
    local a, b, x, y, graph = p:stream(), p:stream(), p:device(64, 0), p:device(64, 0), ffi.new "void *[1]"
    p.cuda:synchronize()
    p:call("StreamBeginCapture", a, RELAXED)
    p:follow(b, a)
    p:launch("filled", one(a), x, 1)
    p:launch("filled", one(b), apart and y or x, 2)
    p:follow(a, b)
    p:call("StreamEndCapture", a, graph)
    local exec = p:get("GraphInstantiate", graph[0], 0)
    p:call("GraphLaunch", exec, a)
    p:call("StreamSynchronize", a)
    p:call("GraphExecDestroy", exec)
    p:call("GraphDestroy", graph[0])
  end
end

return {
  {
    name = "an event that is recorded too early",
    check = "stream", bug = recorded(false), twin = recorded(true), value = "2", right = "8",
    says = {
      "filled on stream 1 writes 256 bytes of the allocation at 0x", "added on stream 2 read",
      "nothing orders them: record an event on stream 1 and make stream 2 wait for it",
    },
  },
  {
    name = "a stream that does not wait for the legacy stream",
    check = "stream", bug = around_legacy(program.NON_BLOCKING), twin = around_legacy(0), value = "2", right = "8",
    says = {
      "filled on the legacy stream writes 256 bytes", "added on stream 1 read",
      "nothing orders them: record an event on the legacy stream and make stream 1 wait for it",
    },
  },
  {
    name = "a plain copy of what a non-blocking stream makes",
    check = "stream", bug = plain_copy(program.NON_BLOCKING), twin = plain_copy(0), value = "1", right = "7", only = false,
    says = { "filled on stream 1 writes 256 bytes of the allocation at 0x", "that cudaMemcpy on the legacy stream read", "nothing orders them" },
  },
  {
    name = "pinned memory between two streams",
    check = "stream", bug = staged(false), twin = staged(true), value = "1", right = "5",
    says = {
      "cudaMemcpyAsync on stream 1 writes 256 bytes of the allocation at 0x", "(cudaMallocHost, allocation ",
      "cudaMemcpyAsync on stream 2 read", "nothing orders them: record an event on stream 1 and make stream 2 wait for it",
    },
  },
  {
    name = "two branches of a graph that write the same memory",
    check = "stream", bug = branches(false), twin = branches(true),
    says = { "filled on ", "256 bytes of the allocation at 0x", "nothing orders them: add a dependency to the graph" },
  },
  {
    name = "a missing event between streams",
    check = "stream", bug = handed_over(false), twin = handed_over(true), value = "2", right = "8",
    says = {
      "filled on stream 1 writes 256 bytes of the allocation at 0x", "(cudaMalloc, allocation 1) that kernel added on stream 2 read",
      "and nothing orders them: record an event on stream 1 and make stream 2 wait for it",
    },
  },
  {
    name = "memory that two streams write",
    check = "stream", bug = written_twice(false), twin = written_twice(true), right = "0",
    says = {
      "cudaMemsetAsync on stream 2", "filled on stream 1", "256 bytes of the allocation at 0x",
      "nothing orders them: record an event on stream 1 and make stream 2 wait for it",
    },
  },
  {
    name = "pinned memory that the host overwrites before the copy has run",
    bug = overwritten(false), twin = overwritten(true), value = "2", right = "1",
  },
  {
    name = "a result that the host reads before it is there",
    bug = read_back(false), twin = read_back(true), value = "0", right = "7",
  },
  {
    name = "pinned memory that is freed before the copy has run",
    check = "stream", bug = freed_source(false), twin = freed_source(true),
    says = {
      "stream: cudaFreeHost ", "the allocation at 0x", "(cudaMallocHost, allocation 1) that cudaMemcpyAsync on stream 1 will read",
      "and the host has not waited for it: synchronize ",
    },
  },
  {
    name = "memory that is freed in a stream that does not wait for its last use",
    check = "stream", bug = freed_in_another(false), twin = freed_in_another(true),
    says = {
      "cudaFreeAsync on stream 2 ", "added on stream 1 read", "nothing orders them: record an event on stream 1 and make stream 2 wait for it",
    },
  },
}
