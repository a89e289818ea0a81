--- What a stream that records a graph allows, and what ends the recording.

local ffi = require "ffi"
local rt = require "spec.behaviours.runtime"

local C = rt.C
local GLOBAL, RELAXED = 0, 2

-- "what the call says; what the end of the capture says; nodes": fn(stream) is called while `stream` captures.
local function captured(fn, mode, prepare)
  return function()
    rt.library()
    local stream = rt.stream()
    local given = prepare and prepare(stream)
    rt.must(C.cudaStreamBeginCapture(stream, mode or GLOBAL), "cudaStreamBeginCapture")
    local fine, said = pcall(fn, stream, given)
    if not fine then said = tostring(said) end
    local graph, count = ffi.new "void *[1]", ffi.new "size_t[1]"
    local ended = C.cudaStreamEndCapture(stream, graph)
    local answer = said .. "; the end: " .. rt.code(ended)
    C.cudaGetLastError()
    if ended == 0 and graph[0] ~= nil then
      rt.must(C.cudaGraphGetNodes(graph[0], nil, count), "cudaGraphGetNodes")
      answer = ("%s; nodes: %d"):format(answer, tonumber(count[0]))
      rt.must(C.cudaGraphDestroy(graph[0]), "cudaGraphDestroy")
    end
    rt.must(C.cudaStreamDestroy(stream), "cudaStreamDestroy")
    return answer
  end
end

local function launch(stream) return rt.launch(rt.kernel "nothing", { stream = stream }) end
local function memory() return rt.cuda:malloc(256) end

local out = {}
local function add(name, ask, more)
  local row = { name, ask = ask }
  for key, value in pairs(more or {}) do row[key] = value end
  out[#out + 1] = row
end

add("nothing", captured(function() return "-" end))
add("a launch", captured(function(s) return rt.taken(launch(s)) end))
add("the first launch of a kernel that was never asked for", captured(function(s)
  return rt.taken(rt.launch(rt.kernel "half", { stream = s }, ffi.new "uint16_t[1]", rt.int_t(1)))
end), { alone = true })
add("loading a library", captured(function()
  return rt.taken(C.cudaLibraryLoadData(rt.pointer_t(), rt.PTX, nil, nil, 0, nil, nil, 0))
end))
add("loading a library and launching from it", captured(function(s)
  local library = rt.pointer_t()
  local code = C.cudaLibraryLoadData(library, rt.PTX, nil, nil, 0, nil, nil, 0)
  if code ~= 0 then return rt.taken(code) end
  return rt.taken(rt.launch(rt.cuda:kernel(library[0], "nothing"), { stream = s }))
end))
add("cudaMalloc", captured(function() return rt.taken(C.cudaMalloc(rt.pointer_t(), 256)) end))
add("cudaMalloc, relaxed", captured(function() return rt.taken(C.cudaMalloc(rt.pointer_t(), 256)) end, RELAXED))
add("cudaFree", captured(function(_, p) return rt.taken(C.cudaFree(p)) end, GLOBAL, memory))
add("cudaMallocHost", captured(function() return rt.taken(C.cudaMallocHost(rt.pointer_t(), 256)) end))
add("cudaMallocAsync on the stream", captured(function(s) return rt.taken(C.cudaMallocAsync(rt.pointer_t(), 256, s)) end))
add("cudaMallocAsync on another stream", captured(function(_, other)
  return rt.taken(C.cudaMallocAsync(rt.pointer_t(), 256, other))
end, GLOBAL, rt.stream))
add("cudaFreeAsync on the stream, of memory from before", captured(function(s, p) return rt.taken(C.cudaFreeAsync(p, s)) end,
  GLOBAL, function(s) return rt.out(function(box) return C.cudaMallocAsync(box, 256, s) end) end))
add("cudaMemcpy", captured(function(_, p) return rt.taken(C.cudaMemcpy(p, ffi.new "char[16]", 16, 1)) end, GLOBAL, memory))
add("cudaMemsetAsync on the legacy stream", captured(function(_, p)
  return rt.taken(C.cudaMemsetAsync(p, 0, 16, ffi.cast("void *", 1)))
end, GLOBAL, memory))
add("the legacy stream while a blocking stream captures", function()
  local stream = rt.out(C.cudaStreamCreate)
  rt.library()
  rt.must(C.cudaStreamBeginCapture(stream, GLOBAL), "cudaStreamBeginCapture")
  local said = rt.taken(launch(ffi.cast("void *", 1)))
  local ended = rt.taken(C.cudaStreamEndCapture(stream, rt.pointer_t()))
  return said .. "; the end: " .. ended
end)
add("cudaDeviceSynchronize", captured(function() return rt.taken(C.cudaDeviceSynchronize()) end))
add("cudaStreamSynchronize of the stream", captured(function(s) return rt.taken(C.cudaStreamSynchronize(s)) end))
add("cudaStreamSynchronize of another", captured(function(_, o) return rt.taken(C.cudaStreamSynchronize(o)) end, GLOBAL, rt.stream))
add("cudaStreamQuery of the stream", captured(function(s) return rt.taken(C.cudaStreamQuery(s)) end))
add("cudaStreamQuery of another", captured(function(_, o) return rt.taken(C.cudaStreamQuery(o)) end, GLOBAL, rt.stream))
add("what comes after a call that ended the capture", captured(function(s)
  C.cudaStreamQuery(s)
  C.cudaGetLastError()
  local status = ffi.new "int[1]"
  local asked = rt.taken(C.cudaStreamIsCapturing(s, status))
  return ("a launch: %s; status %d (%s)"):format(rt.taken(launch(s)), status[0], asked)
end))
add("an event that was recorded in it: query, wait of the host", captured(function(s)
  local event = rt.out(function(box) return C.cudaEventCreateWithFlags(box, 2) end)
  local recorded = rt.taken(C.cudaEventRecord(event, s))
  return ("%s; %s; %s"):format(recorded, rt.taken(C.cudaEventQuery(event)), rt.taken(C.cudaEventSynchronize(event)))
end))
add("a stream that forks and does not join", captured(function(s, other)
  local event = rt.out(function(box) return C.cudaEventCreateWithFlags(box, 2) end)
  rt.must(C.cudaEventRecord(event, s), "cudaEventRecord")
  rt.must(C.cudaStreamWaitEvent(other, event, 0), "cudaStreamWaitEvent")
  return rt.taken(launch(other))
end, GLOBAL, rt.stream))
add("an event from before it", captured(function(s, event) return rt.taken(C.cudaStreamWaitEvent(s, event, 0)) end, GLOBAL,
  function(s)
    local event = rt.out(function(box) return C.cudaEventCreateWithFlags(box, 2) end)
    rt.must(C.cudaEventRecord(event, s), "cudaEventRecord")
    return event
  end))
add("a second beginning", captured(function(s) return rt.taken(C.cudaStreamBeginCapture(s, GLOBAL)) end))
add("a grid of 0", captured(function(s) return rt.taken(rt.launch(rt.kernel "nothing", { stream = s, grid = { 0, 1, 1 } })) end))
add("cudaStreamDestroy", function()
  local stream = rt.stream()
  rt.must(C.cudaStreamBeginCapture(stream, GLOBAL), "cudaStreamBeginCapture")
  return rt.taken(C.cudaStreamDestroy(stream)) .. "; the end: " .. rt.taken(C.cudaStreamEndCapture(stream, rt.pointer_t()))
end, { alone = true })
add("capture of the legacy stream", function()
  return rt.taken(C.cudaStreamBeginCapture(ffi.cast("void *", 1), GLOBAL))
end)
add("an end without a beginning", function() return rt.taken(C.cudaStreamEndCapture(rt.stream(), rt.pointer_t())) end)
add("a graph that runs twice", function()
  local stream = rt.stream()
  rt.library()
  rt.must(C.cudaStreamBeginCapture(stream, GLOBAL), "cudaStreamBeginCapture")
  rt.must(launch(stream), "a launch")
  local graph = rt.out(function(box) return C.cudaStreamEndCapture(stream, box) end)
  local exec = rt.out(function(box) return C.cudaGraphInstantiate(box, graph, 0) end)
  return ("%s, %s, %s, destroyed while it may run: %s"):format(rt.taken(C.cudaGraphLaunch(exec, stream)),
    rt.taken(C.cudaGraphLaunch(exec, stream)), rt.taken(C.cudaStreamSynchronize(stream)), rt.taken(C.cudaGraphExecDestroy(exec)))
end)

return out
