--- Kernels: what the driver tells of them, and which launches it refuses how.

local ffi = require "ffi"
local cudart = require "spec.support.cudart"
local rt = require "spec.behaviours.runtime"

local C, D, launch = rt.C, rt.D, rt.launch

-- "(0,24)(24,56): 1 cudaErrorInvalidValue": offsets and sizes, and the answer past the last parameter.
local function parameters(kernel)
  local offset, size, text = ffi.new "size_t[1]", ffi.new "size_t[1]", {}
  for i = 0, 99 do
    local code = C.cudaFuncGetParamInfo(kernel, i, offset, size)
    if code ~= 0 then return table.concat(text) .. ": " .. rt.taken(code) end
    text[#text + 1] = ("(%d,%d)"):format(tonumber(offset[0]), tonumber(size[0]))
  end
end

-- Machine code of the kernels, by the driver's own compiler.
local function cubin()
  rt.library()
  local state = ffi.new "void *[1]"
  rt.must(D.cuLinkCreate_v2(0, nil, nil, state), "cuLinkCreate")
  local text = ffi.new("char[?]", #rt.PTX + 1, rt.PTX)
  rt.must(D.cuLinkAddData_v2(state[0], 1, text, #rt.PTX + 1, "kernels", 0, nil, nil), "cuLinkAddData")
  local image, size = ffi.new "void *[1]", ffi.new "size_t[1]"
  rt.must(D.cuLinkComplete(state[0], image, size), "cuLinkComplete")
  local code = ffi.string(image[0], size[0])
  rt.must(D.cuLinkDestroy(state[0]), "cuLinkDestroy")
  return code
end

local function attribute(id)
  return rt.number(function(box) return C.cudaDeviceGetAttribute(box, id, 0) end)
end
local OPTIN = 97

local function nothing(how) return rt.taken(launch(rt.kernel "nothing", how)) end

-- A launch of `shared`, 1 KiB of its own and so much more.
local function shared(bytes, allowed)
  local kernel = rt.kernel "shared"
  local p = rt.cuda:malloc(4096)
  if allowed then
    local code = C.cudaFuncSetAttribute(kernel, 8, allowed)
    if code ~= 0 then return "opting in: " .. rt.taken(code) end
  end
  local answer = rt.taken(launch(kernel, { block = 32, shared = bytes }, rt.pointer_t(p)))
  rt.must(C.cudaDeviceSynchronize(), "cudaDeviceSynchronize")
  rt.cuda:free(p)
  return answer
end

local function load(text) return rt.taken(C.cudaLibraryLoadData(rt.pointer_t(), text, nil, nil, 0, nil, nil, 0)) end

local function attributes_code(id, value)
  local config = cudart.config_t()
  for i = 0, 2 do config.grid[i], config.block[i] = 1, 1 end
  local list = ffi.new(ffi.typeof("$[1]", cudart.attribute_t))
  list[0].id, list[0].value.cooperative = id, value
  config.attributes, config.count = list, 1
  return rt.taken(C.cudaLaunchKernelExC(config, rt.kernel "nothing", ffi.new "void *[1]"))
end

return {
  { "parameters of a kernel from PTX, and past the last", ask = function() return parameters(rt.kernel "several") end },
  { "parameters of a kernel without any", ask = function() return parameters(rt.kernel "nothing") end },
  { "parameters with a half by value", ask = function() return parameters(rt.kernel "half") end },
  { "parameters of a kernel from machine code",
    ask = function()
      local library = rt.pointer_t()
      local code = C.cudaLibraryLoadData(library, cubin(), nil, nil, 0, nil, nil, 0)
      if code ~= 0 then return "loading: " .. rt.taken(code) end
      return parameters(rt.cuda:kernel(library[0], "several"))
    end },
  { "what the driver's linker makes of PTX", ask = function()
    local code = cubin()
    return code:sub(1, 4) == "\127ELF" and "an ELF file" or "something else"
  end },
  { "a grid of 0", ask = function() return nothing { grid = { 0, 1, 1 } } end },
  { "a block of 0", ask = function() return nothing { block = { 0, 1, 1 } } end },
  { "a block of 2000", ask = function() return nothing { block = 2000 } end },
  { "a block of 1 x 1 x 65", ask = function() return nothing { block = { 1, 1, 65 } } end },
  { "a grid of 1 x 65536", ask = function() return nothing { grid = { 1, 65536, 1 } } end },
  { "a grid of 2^31", ask = function() return nothing { grid = { 2 ^ 31, 1, 1 } } end },
  { "more threads than .maxntid", ask = function() return rt.taken(launch(rt.kernel "bounded", { block = 65 })) end },
  { "47 KiB beside 1 KiB of its own, not opted in", ask = function() return shared(47 * 1024) end },
  { "48 KiB beside 1 KiB of its own, not opted in", alone = true, ask = function() return shared(48 * 1024) end },
  { "48 KiB beside 1 KiB of its own, opted in", ask = function() return shared(48 * 1024, 48 * 1024) end },
  { "opting in to all that a block may have beside 1 KiB of its own",
    ask = function() return shared(0, attribute(OPTIN)) end },
  { "opting in to all but 1 KiB, and using it",
    ask = function() return shared(attribute(OPTIN) - 1024, attribute(OPTIN) - 1024) end },
  { "opting in to more than there is", ask = function() return shared(0, attribute(OPTIN) + 1024) end },
  { "a NULL list of arguments for a kernel with two", alone = true,
    ask = function()
      local config = cudart.config_t()
      for i = 0, 2 do config.grid[i], config.block[i] = 1, 1 end
      return rt.taken(C.cudaLaunchKernelExC(config, rt.kernel "write", nil))
    end },
  { "a launch attribute that nobody knows", ask = function() return attributes_code(9999, 1) end },
  { "a cooperative launch", ask = function() return attributes_code(2, 1) end },
  { "a cooperative launch that does not fit",
    ask = function()
      local answer
      local fine, failure = pcall(rt.cuda.launch, rt.cuda, rt.kernel "nothing",
        { grid = 2 ^ 20, block = 1024, cooperative = true }, {})
      if fine then answer = "0" else answer = type(failure) == "table" and rt.taken(failure.code) or tostring(failure) end
      return answer
    end },
  { "a kernel that the library does not have",
    ask = function() return rt.taken(C.cudaLibraryGetKernel(rt.pointer_t(), rt.library(), "nobody")) end },
  { "text that is no PTX", ask = function() return load "nonsense" end },
  { "an empty text", ask = function() return load "" end },
  { "PTX of a version to come", ask = function() return load((rt.PTX:gsub("7%.0", "99.9"))) end },
  { "PTX for a device to come", ask = function() return load((rt.PTX:gsub("sm_75", "sm_999"))) end },
  { "PTX for a better device", ask = function()
    if rt.cuda:capability() >= 121 then return "this is the best one" end
    return load((rt.PTX:gsub("sm_75", "sm_121"):gsub("7%.0", "8.8")))
  end },
  { "PTX with a word that is no instruction", ask = function() return load((rt.PTX:gsub("trap;", "tarp;"))) end },
  { "an ELF file for nobody", ask = function() return load("\127ELF\2\1\1" .. ("\0"):rep(4096)) end },
  { "the launch after one that was refused",
    ask = function()
      local first = launch(rt.kernel "nothing", { block = 2000 })
      return rt.code(first) .. ", then " .. rt.code(launch(rt.kernel "nothing", {})) .. ", last " ..
        rt.code(C.cudaPeekAtLastError()) .. ", then " .. rt.taken(C.cudaDeviceSynchronize())
    end },
}
