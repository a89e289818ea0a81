--- Where memory lies, and how it is given and taken: what a consumer of foreign pointers rests on.

local ffi = require "ffi"
local rt = require "spec.behaviours.runtime"

local C, D = rt.C, rt.D
local SIZE = 4096

local attributes_t = ffi.typeof "struct { int type, device; void *device_pointer, *host_pointer; long reserved[16]; }"

local RANGE_START, RANGE_SIZE, BUFFER_ID, IS_MANAGED, ORDINAL = 11, 12, 7, 8, 9

-- "0, type 2, device 0, device pointer same, host pointer null"
local function told(pointer, offset)
  local a = attributes_t()
  a.type, a.device = -7, -7
  pointer = ffi.cast("char *", pointer) + (offset or 0)
  local code = C.cudaPointerGetAttributes(a, pointer)
  if code ~= 0 then return rt.taken(code) end
  local function where(p)
    return p == nil and "null" or p == ffi.cast("void *", pointer) and "same" or "another"
  end
  return ("0, type %d, device %d, device pointer %s, host pointer %s"):format(a.type, a.device,
    where(a.device_pointer), where(a.host_pointer))
end

local function device() return rt.out(function(box) return C.cudaMalloc(box, SIZE) end) end
local function pooled()
  return rt.out(function(box) return C.cudaMallocAsync(box, SIZE, ffi.cast("void *", 1)) end)
end

-- Memory, a question to it, and the memory given back.
local function with(make, give_back, ask)
  return function()
    local pointer = rt.out(make)
    local answer = ask(pointer)
    rt.must(give_back(pointer), "giving back")
    return answer
  end
end

local function malloc(box) return C.cudaMalloc(box, SIZE) end
local function host(box) return C.cudaMallocHost(box, SIZE) end
local function managed(box) return C.cudaMallocManaged(box, SIZE, 1) end
local function async(box) return C.cudaMallocAsync(box, SIZE, ffi.cast("void *", 1)) end
local function free(pointer) return C.cudaFree(pointer) end
local function free_host(pointer) return C.cudaFreeHost(pointer) end
local function free_async(pointer) return C.cudaFreeAsync(pointer, ffi.cast("void *", 1)) end

local function range(pointer, offset)
  local start, size = ffi.new "uint64_t[1]", ffi.new "size_t[1]"
  local at = ffi.cast("uint64_t", ffi.cast("char *", pointer) + (offset or 0))
  local one, two = D.cuPointerGetAttribute(start, RANGE_START, at), D.cuPointerGetAttribute(size, RANGE_SIZE, at)
  if one ~= 0 or two ~= 0 then return ("%d and %d"):format(one, two) end
  return ("starts %s, %s"):format(start[0] == ffi.cast("uint64_t", pointer) and "at the pointer" or "elsewhere",
    tonumber(size[0]) == SIZE and "the size that was asked for" or "another size")
end

local function registered(ask)
  local block = ffi.new("char[?]", 3 * SIZE)
  local page = ffi.cast("char *", math.floor(tonumber(ffi.cast("uintptr_t", block) + SIZE - 1) / SIZE) * SIZE)
  rt.must(C.cudaHostRegister(page, SIZE, 0), "cudaHostRegister")
  local answer = ask(page)
  rt.must(C.cudaHostUnregister(page), "cudaHostUnregister")
  return answer, block
end

return {
  { "host memory before anything was initialised", alone = true,
    ask = function() return told(ffi.new("char[16]")) end },
  { "whether that question initialised the device", alone = true,
    ask = function()
      told(ffi.new("char[16]"))
      local flags, active = ffi.new "unsigned[1]", ffi.new "int[1]"
      local code = D.cuDevicePrimaryCtxGetState(0, flags, active)
      return code ~= 0 and tostring(code) or active[0] ~= 0 and "active" or "not active"
    end },
  { "host memory",
    ask = function() device() return told(ffi.new("char[16]")) end },
  { "cudaMalloc", ask = with(malloc, free, told) },
  { "cudaMalloc, inside", ask = with(malloc, free, function(p) return told(p, 100) end) },
  { "cudaMalloc, one past the end of the whole of 2 MiB",
    ask = function()
      local p = rt.out(function(box) return C.cudaMalloc(box, 2 ^ 21) end)
      local answer = told(p, 2 ^ 21)
      rt.must(C.cudaFree(p), "cudaFree")
      return answer
    end },
  { "cudaMalloc, after cudaFree",
    ask = function()
      local p = rt.out(function(box) return C.cudaMalloc(box, 2 ^ 25) end)
      rt.must(C.cudaFree(p), "cudaFree")
      return told(p)
    end },
  { "cudaMallocAsync", ask = with(async, free_async, told) },
  { "cudaMallocHost", ask = with(host, free_host, told) },
  { "cudaMallocHost, inside", ask = with(host, free_host, function(p) return told(p, 100) end) },
  { "cudaMallocManaged", ask = with(managed, free, told) },
  { "cudaHostRegister", ask = function() return (registered(told)) end },
  { "cudaHostRegister, inside", ask = function() return (registered(function(p) return told(p, 100) end)) end },
  { "NULL", ask = function() return told(nil) end },
  { "cudaMalloc of device 1 while device 0 is current", needs_two = true,
    ask = function()
      rt.must(C.cudaSetDevice(1), "cudaSetDevice")
      local p = device()
      rt.must(C.cudaSetDevice(0), "cudaSetDevice")
      local answer = told(p)
      rt.must(C.cudaFree(p), "cudaFree")
      return answer
    end },
  { "cudaMallocHost made while device 1 was current", needs_two = true,
    ask = function()
      rt.must(C.cudaSetDevice(1), "cudaSetDevice")
      local p = rt.out(host)
      rt.must(C.cudaSetDevice(0), "cudaSetDevice")
      local answer = told(p)
      rt.must(C.cudaFreeHost(p), "cudaFreeHost")
      return answer
    end },
  { "the range of cudaMalloc, asked inside", ask = with(malloc, free, function(p) return range(p, 100) end) },
  { "the range of cudaMallocAsync, asked inside", ask = with(async, free_async, function(p) return range(p, 100) end) },
  { "the range of cudaMallocManaged", ask = with(managed, free, range) },
  { "the range of cudaMallocHost", ask = with(host, free_host, range) },
  { "one attribute of host memory",
    ask = function()
      device()
      return tostring(D.cuPointerGetAttribute(ffi.new "int[1]", ORDINAL, ffi.cast("uint64_t", ffi.new "char[16]")))
    end },
  { "several attributes of host memory",
    ask = function()
      device()
      local ordinal, is_managed, size = ffi.new("int[1]", -7), ffi.new("unsigned[1]", 7), ffi.new("size_t[1]", 7)
      local code = D.cuPointerGetAttributes(3, ffi.new("int[3]", ORDINAL, IS_MANAGED, RANGE_SIZE),
        ffi.new("void *[3]", ordinal, is_managed, size), ffi.cast("uint64_t", ffi.new "char[16]"))
      return ("%d, device %d, managed %d, size %d"):format(code, ordinal[0], is_managed[0], tonumber(size[0]))
    end },
  { "the number of an allocation that took a freed one's place",
    ask = function()
      local ids = {}
      for i = 1, 2 do
        local p, id = device(), ffi.new "uint64_t[1]"
        rt.must(D.cuPointerGetAttribute(id, BUFFER_ID, ffi.cast("uint64_t", p)), "cuPointerGetAttribute")
        ids[i] = tostring(id[0])
        rt.must(C.cudaFree(p), "cudaFree")
      end
      return ids[1] == ids[2] and "the same" or "another"
    end },
  { "cudaMalloc of 0 bytes",
    ask = function()
      local box = ffi.new("void *[1]", ffi.cast("void *", 7))
      local code = C.cudaMalloc(box, 0)
      return rt.taken(code) .. (box[0] == nil and ", NULL" or box[0] == ffi.cast("void *", 7) and ", untouched" or ", a pointer")
    end },
  { "cudaMallocAsync of 0 bytes",
    ask = function()
      local box = ffi.new("void *[1]", ffi.cast("void *", 7))
      local code = C.cudaMallocAsync(box, 0, nil)
      return rt.taken(code) .. (box[0] == nil and ", NULL" or box[0] == ffi.cast("void *", 7) and ", untouched" or ", a pointer")
    end },
  { "cudaMalloc of more than there is",
    ask = function() return rt.taken(C.cudaMalloc(ffi.new "void *[1]", 2 ^ 46)) end },
  { "cudaFree of NULL", ask = function() return rt.taken(C.cudaFree(nil)) end },
  { "cudaFree a second time",
    ask = function()
      local p = device()
      rt.must(C.cudaFree(p), "cudaFree")
      return rt.taken(C.cudaFree(p))
    end },
  { "cudaFreeAsync a second time", alone = true,
    ask = function()
      local p = pooled()
      rt.must(free_async(p), "cudaFreeAsync")
      local second = rt.taken(free_async(p))
      return second .. ", then " .. rt.taken(C.cudaDeviceSynchronize())
    end },
  { "cudaFree of host memory", ask = function() return rt.taken(C.cudaFree(ffi.new "char[16]")) end },
  { "cudaFree inside an allocation",
    ask = with(malloc, free, function(p) return rt.taken(C.cudaFree(ffi.cast("char *", p) + 256)) end) },
  { "cudaFree of memory of cudaMallocAsync", ask = function() return rt.taken(C.cudaFree(pooled())) end },
  { "cudaHostRegister of a range that is registered",
    ask = function()
      return (registered(function(p) return rt.taken(C.cudaHostRegister(p, SIZE, 0)) end))
    end },
  { "cudaMemcpy that leaves the allocation", alone = true,
    ask = function()
      local p = rt.out(function(box) return C.cudaMalloc(box, 2 ^ 21) end)
      local room = ffi.new("char[?]", 2 ^ 23)
      return rt.taken(C.cudaMemcpy(p, room, 2 ^ 23, 1)) .. ", then " .. rt.taken(C.cudaDeviceSynchronize())
    end },
}
