-- What is refused before anything runs. A refusal loses nothing: the next call works.
local ffi = require "ffi"
local cudart = require "spec.support.cudart"

-- A kernel in PTX, with `body` before its end.
local function ptx(version, target, body)
  return (".version %s\n.target %s\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n.reg .b32 %%r<9>;\n%s\nret;\n}\n")
    :format(version, target, body or "")
end

local function loads(...)
  local text = ptx(...)
  return function(p) p.cuda:unload(p.cuda:load(text)) end
end

local function runs(name, how, count, ...)
  local more = { n = select("#", ...), ... }
  return function(p) p:run(name, how, p:device(count), unpack(more, 1, more.n)) end
end

local function launches(name, change)
  return function(p)
    local kernel = p.cuda:kernel(p.library, name)
    local config, out = cudart.config_t(), ffi.new("void *[1]", p:device(64))
    config.grid, config.block = { 1, 1, 1 }, { 64, 1, 1 }
    local value = ffi.new("int[1]", 1)
    local arguments = ffi.new("void *[3]", { out, value })
    p:call("LaunchKernelExC", change(config, kernel, p) or config, kernel, config.count ~= 77 and arguments or nil)
    p.cuda:synchronize()
  end
end

local CLUSTER_DIMENSION = 4

return {
  {
    name = "more blocks than can meet at once",
    bug = runs("together", { grid = 10000, block = 32, cooperative = true }, 320000),
    twin = runs("together", { grid = 4, block = 32, cooperative = true }, 128),
    code = 720, call = "cudaLaunchKernelExC", sticky = false,
  },
  {
    name = "more threads than the kernel was compiled for",
    bug = runs("bounded", { grid = 1, block = 65 }, 65), twin = runs("bounded", { grid = 1, block = 64 }, 65),
    code = 701, call = "cudaLaunchKernelExC", sticky = false,
  },
  {
    name = "more threads than a block may have",
    bug = runs("fills", { grid = 1, block = { 32, 33 } }, 2048, 1), twin = runs("fills", { grid = 1, block = { 32, 32 } }, 2048, 1),
    code = 9, call = "cudaLaunchKernelExC", sticky = false,
  },
  {
    name = "a grid of no blocks",
    bug = runs("fills", { grid = 0, block = 32 }, 32, 1),
    code = 9, call = "cudaLaunchKernelExC", sticky = false,
  },
  {
    name = "dynamic shared memory above 48 KiB that nobody asked for",
    bug = launches("dynamic", function(config) config.shared = 49153 end),
    twin = runs("dynamic", { grid = 1, block = 64, shared = 49156 }, 64),
    code = 1, call = "cudaLaunchKernelExC", sticky = false,
  },
  {
    name = "no arguments for a kernel that has some",
    bug = function(p)
      local config = cudart.config_t()
      config.grid, config.block = { 1, 1, 1 }, { 1, 1, 1 }
      p:call("LaunchKernelExC", config, p.cuda:kernel(p.library, "fills"), nil)
    end,
    twin = runs("fills", { grid = 1, block = 1 }, 1, 1),
    code = 1, call = "cudaLaunchKernelExC", sticky = false,
  },
  {
    name = "a cluster of blocks",
    bug = launches("fills", function(config)
      local attributes = ffi.new(ffi.typeof("$[1]", cudart.attribute_t))
      attributes[0].id = CLUSTER_DIMENSION
      ffi.cast("unsigned *", attributes[0].value.room)[0] = 2
      ffi.cast("unsigned *", attributes[0].value.room)[1] = 1
      ffi.cast("unsigned *", attributes[0].value.room)[2] = 1
      config.grid = { 2, 1, 1 }
      config.attributes, config.count = attributes, 1
    end),
    code = 801, call = "cudaLaunchKernelExC", sticky = false,
  },
  {
    name = "memory that was freed already", kernels = false,
    bug = function(p)
      local memory = p.cuda:malloc(16)
      p.cuda:free(memory)
      p.cuda:free(memory)
    end,
    code = 1, call = "cudaFree", sticky = false,
  },
  {
    name = "a pointer into the middle of an allocation", kernels = false,
    bug = function(p) p.cuda:free(ffi.cast("char *", p.cuda:malloc(16)) + 4) end,
    code = 1, call = "cudaFree", sticky = false,
  },
  {
    name = "a copy of more than there is", kernels = false,
    bug = function(p) p.cuda:upload(p.cuda:malloc(16), p:host(5), 20) end,
    twin = function(p) p.cuda:upload(p.cuda:malloc(20), p:host(5), 20) end,
    code = 1, call = "cudaMemcpy", sticky = false,
  },
  {
    name = "PTX of a newer version than the driver's", kernels = false,
    env = { XCHG_SIM_DRIVER = "12.4" },
    bug = loads("8.5", "sm_75"), twin = loads("8.4", "sm_75"),
    code = 222, call = "cudaLibraryLoadData", sticky = false,
    says = { "load: ptx: line 1: ", "8.5" },
  },
  {
    name = "PTX for a higher target than the device", kernels = false,
    bug = loads("8.7", "sm_100"), twin = loads("8.7", "sm_90"),
    code = 218, call = "cudaLibraryLoadData", sticky = false,
    says = { "load: ptx: line 2: ", "sm_100" },
  },
  {
    name = "an instruction that is none", kernels = false,
    bug = loads("8.0", "sm_75", "mov.u32 %r1, 1;\nfrobnicate.u32 %r1, %r1;"), twin = loads("8.0", "sm_75", "mov.u32 %r1, 1;"),
    code = 218, call = "cudaLibraryLoadData", sticky = false,
    says = { "load: ptx: line 8: ", "frobnicate" },
  },
  {
    name = "an unknown form of an instruction", kernels = false,
    bug = loads("8.0", "sm_75", "add.b32 %r1, %r1, %r1;"), twin = loads("8.0", "sm_75", "mov.b32 %r1, 1;\nadd.u32 %r1, %r1, %r1;"),
    code = 218, call = "cudaLibraryLoadData", sticky = false,
    says = { "load: ptx: line 7: ", "add.b32" },
  },
  {
    name = "a text that is no PTX", kernels = false,
    bug = function(p) p.cuda:load "this is no PTX" end,
    code = 200, call = "cudaLibraryLoadData", sticky = false,
    says = { "load: image: neither PTX text nor machine code of a GPU" },
  },
  {
    name = "a texture fetch", kernels = false,
    bug = loads("8.0", "sm_75", ".reg .f32 %f<5>;\n.reg .b64 %rd<2>;\nld.param.u64 %rd1, [p];\n"
      .. "tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd1, {%r1}];"),
    code = 218, call = "cudaLibraryLoadData", sticky = false,
    says = { "load: ptx: line 10: tex.1d.v4.f32.s32: textures are out of the simulated device's scope" },
  },
  {
    name = "a tensor core's matrix", kernels = false,
    bug = loads("8.0", "sm_75", ".reg .b64 %rd<2>;\nld.param.u64 %rd1, [p];\n"
      .. "wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r1,%r2,%r3,%r4,%r5,%r6,%r7,%r8}, [%rd1];"),
    code = 218, call = "cudaLibraryLoadData", sticky = false,
    says = { "load: ptx: line 9: wmma.load.a.sync.aligned.row.m16n16k16.global.f16: tensor cores are out of the simulated device's scope" },
  },
  {
    name = "a kernel of a library that is gone",
    bug = function(p)
      local kernel = p.cuda:kernel(p.library, "bounded")
      p.cuda:unload(p.library)
      p.cuda:launch(kernel, { grid = 1, block = 1 }, { ffi.new "void *[1]" })
    end,
    code = 98, call = "cudaLaunchKernelExC", sticky = false,
  },
  {
    name = "a kernel that is not there",
    bug = function(p) p.cuda:kernel(p.library, "fill") end,
    twin = function(p) p.cuda:kernel(p.library, "fills") end,
    code = 500, call = "cudaLibraryGetKernel", sticky = false,
  },
  {
    name = "a tensor core's product", kernels = false,
    bug = loads("8.0", "sm_75", ".reg .f32 %f<9>;\nmma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 "
      .. "{%f1,%f2,%f3,%f4}, {%r1,%r2}, {%r3}, {%f5,%f6,%f7,%f8};"),
    code = 218, call = "cudaLibraryLoadData", sticky = false,
    says = { "load: ptx: line 8: mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32: tensor cores are out of the simulated device's scope" },
  },
}
