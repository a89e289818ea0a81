--- Errors: what each code is called, which calls go on after one, and how a lost context answers.

local ffi = require "ffi"
local rt = require "spec.behaviours.runtime"

local C = rt.C

local out = {}
local function add(question) out[#out + 1] = question end

-- Codes that the library's messages name.
local CODES = {
  1, 2, 3, 4, 9, 35, 46, 98, 100, 101, 201, 209, 216, 218, 219, 220, 221, 222, 223, 300, 400, 500, 600, 700, 701, 702, 709, 710,
  714, 715, 716, 717, 718, 719, 720, 800, 801, 802, 900, 901, 902, 903, 904, 905, 906, 907, 908, 910, 999, 12345,
}
for _, code in ipairs(CODES) do
  add { "error " .. code, ask = function()
    return ffi.string(C.cudaGetErrorName(code)) .. ": " .. ffi.string(C.cudaGetErrorString(code))
  end }
end

add { "a wrong argument, and the last error after it",
  ask = function()
    C.cudaGetLastError()
    local code = C.cudaMemcpy(nil, nil, 16, 77)
    local good = C.cudaGetDeviceCount(ffi.new "int[1]")
    return ("%s; a good call: %s; peeked: %s; taken: %s; again: %s"):format(rt.code(code), rt.code(good),
      rt.code(C.cudaPeekAtLastError()), rt.code(C.cudaGetLastError()), rt.code(C.cudaGetLastError()))
  end }
add { "a device that is not there", ask = function() return rt.taken(C.cudaSetDevice(4096)) end }
add { "device -1", ask = function() return rt.taken(C.cudaSetDevice(-1)) end }
add { "an attribute that nobody knows",
  ask = function() return rt.taken(C.cudaDeviceGetAttribute(ffi.new "int[1]", 99999, 0)) end }
add { "an event that was never recorded: query, wait, elapsed",
  ask = function()
    local a = rt.out(C.cudaEventCreate)
    local b = rt.out(C.cudaEventCreate)
    return ("%s; %s; %s"):format(rt.taken(C.cudaEventQuery(a)), rt.taken(C.cudaEventSynchronize(a)),
      rt.taken(C.cudaEventElapsedTime(ffi.new "float[1]", a, b)))
  end }
add { "elapsed time of events without timing",
  ask = function()
    local a = rt.out(function(box) return C.cudaEventCreateWithFlags(box, 2) end)
    rt.must(C.cudaEventRecord(a, nil), "cudaEventRecord")
    rt.must(C.cudaDeviceSynchronize(), "cudaDeviceSynchronize")
    return rt.taken(C.cudaEventElapsedTime(ffi.new "float[1]", a, a))
  end }

-- What a context answers once a kernel has broken it.
local AFTER = {
  { "cudaDeviceSynchronize", function() return C.cudaDeviceSynchronize() end },
  { "cudaPeekAtLastError", function() return C.cudaPeekAtLastError() end },
  { "cudaGetLastError", function() return C.cudaGetLastError() end },
  { "cudaGetLastError again", function() return C.cudaGetLastError() end },
  { "cudaGetDevice", function() return C.cudaGetDevice(ffi.new "int[1]") end },
  { "cudaSetDevice", function() return C.cudaSetDevice(0) end },
  { "cudaGetDeviceCount", function() return C.cudaGetDeviceCount(ffi.new "int[1]") end },
  { "cudaDeviceGetAttribute", function() return C.cudaDeviceGetAttribute(ffi.new "int[1]", 75, 0) end },
  { "cudaMalloc", function() return C.cudaMalloc(rt.pointer_t(), 256) end },
  { "cudaMemGetInfo", function() return C.cudaMemGetInfo(ffi.new "size_t[1]", ffi.new "size_t[1]") end },
  { "cudaPointerGetAttributes", function(had) return C.cudaPointerGetAttributes(ffi.new "char[256]", had.memory) end },
  { "cudaStreamQuery", function(had) return C.cudaStreamQuery(had.stream) end },
  { "cudaStreamCreate", function() return C.cudaStreamCreate(rt.pointer_t()) end },
  { "cudaEventQuery", function(had) return C.cudaEventQuery(had.event) end },
  { "cudaEventCreate", function() return C.cudaEventCreate(rt.pointer_t()) end },
  { "cudaFree", function(had) return C.cudaFree(had.memory) end },
  { "cudaFreeHost", function(had) return C.cudaFreeHost(had.pinned) end },
  { "cudaEventDestroy", function(had) return C.cudaEventDestroy(had.event) end },
  { "cudaStreamDestroy", function(had) return C.cudaStreamDestroy(had.stream) end },
  { "cudaLibraryUnload", function() return C.cudaLibraryUnload(rt.library()) end },
  { "a launch", function(had) return rt.launch(had.kernel, {}) end },
}

local function broken(how)
  local had = {
    memory = rt.cuda:malloc(4096), stream = rt.stream(), kernel = rt.kernel "nothing",
    event = rt.out(C.cudaEventCreate), pinned = rt.out(function(box) return C.cudaMallocHost(box, 64) end),
  }
  rt.must(C.cudaEventRecord(had.event, had.stream), "cudaEventRecord")
  rt.must(C.cudaDeviceSynchronize(), "cudaDeviceSynchronize")
  return rt.code(how(had)), had
end

local function far() return rt.launch(rt.kernel "write", {}, rt.pointer_t(ffi.cast("void *", 2 ^ 40)), rt.int_t(1)) end

add { "a write to nobody's memory: the launch, the wait", alone = true,
  ask = function()
    local launched = broken(far)
    return launched .. ", then " .. rt.code(C.cudaDeviceSynchronize())
  end }
add { "a write to address 16", alone = true,
  ask = function()
    broken(function() return rt.launch(rt.kernel "write", {}, rt.pointer_t(ffi.cast("void *", 16)), rt.int_t(1)) end)
    return rt.code(C.cudaDeviceSynchronize())
  end }
add { "a write that is not aligned", alone = true,
  ask = function()
    broken(function(had)
      return rt.launch(rt.kernel "write", {}, rt.pointer_t(ffi.cast("char *", had.memory) + 1), rt.int_t(1))
    end)
    return rt.code(C.cudaDeviceSynchronize())
  end }
add { "trap", alone = true,
  ask = function()
    broken(function() return rt.launch(rt.kernel "stop", {}) end)
    return rt.code(C.cudaDeviceSynchronize())
  end }
for _, row in ipairs(AFTER) do
  add { row[1] .. " in a context that a write to nobody's memory has broken", alone = true,
    ask = function()
      local _, had = broken(far)
      local first = C.cudaDeviceSynchronize()
      if first == 0 then return "the wait found nothing" end
      return rt.code(row[2](had))
    end }
end
add { "another device after that", alone = true, needs_two = true,
  ask = function()
    broken(far)
    C.cudaDeviceSynchronize()
    local set = rt.code(C.cudaSetDevice(1))
    local box = rt.pointer_t()
    return set .. ", cudaMalloc " .. rt.code(C.cudaMalloc(box, 256)) .. ", cudaDeviceSynchronize " ..
      rt.code(C.cudaDeviceSynchronize())
  end }
add { "cudaDeviceReset after that", alone = true,
  ask = function()
    broken(far)
    C.cudaDeviceSynchronize()
    local reset = rt.code(C.cudaDeviceReset())
    return reset .. ", cudaMalloc " .. rt.code(C.cudaMalloc(rt.pointer_t(), 256))
  end }

return out
