rockspec_format = "3.0"
package = "xchg"
version = "scm-1"

source = {
  -- A placeholder of a reserved domain until the repository has a public home: install from a checkout.
  url = "git+https://example.org/xchg.git",
}

description = {
  summary = "Tensors of Python libraries as typed LuaJIT cdata, without a copy",
  detailed = [[
Takes arrays that NumPy, PyTorch, JAX and other Python libraries own and gives them to LuaJIT as typed, checked cdata
over the same memory, and hands tensors made in Lua back to them. Python is found and opened at run time.]],
  license = "MIT",
  labels = { "ffi", "luajit", "python", "tensor" },
}

-- LuaRocks cannot ask for LuaJIT (Debian's provides none, beta versions sort below 2.1): the library asks at run time.
dependencies = { "lua == 5.1" }

build = {
  type = "make",
  build_target = "all",
  install_pass = false,
  build_variables = {
    CC = "$(CC)",
    CFLAGS = "$(CFLAGS)",
    LIBFLAG = "$(LIBFLAG)",
    LUA_INCDIR = "$(LUA_INCDIR)",
  },
  install = {
    lua = {
      ["xchg.allocate"] = "lua/xchg/allocate.lua",
      ["xchg.asarray"] = "lua/xchg/asarray.lua",
      ["xchg.buffer"] = "lua/xchg/buffer.lua",
      ["xchg.check"] = "lua/xchg/check.lua",
      ["xchg.command"] = "lua/xchg/command.lua",
      ["xchg.copy"] = "lua/xchg/copy.lua",
      ["xchg.create"] = "lua/xchg/create.lua",
      ["xchg.cuda.init"] = "lua/xchg/cuda/init.lua",
      ["xchg.cuda.adopt"] = "lua/xchg/cuda/adopt.lua",
      ["xchg.cuda.argument"] = "lua/xchg/cuda/argument.lua",
      ["xchg.cuda.configuration"] = "lua/xchg/cuda/configuration.lua",
      ["xchg.cuda.kernel"] = "lua/xchg/cuda/kernel.lua",
      ["xchg.cuda.launcher"] = "lua/xchg/cuda/launcher.lua",
      ["xchg.cuda.over"] = "lua/xchg/cuda/over.lua",
      ["xchg.cuda.plan"] = "lua/xchg/cuda/plan.lua",
      ["xchg.cuda.backend"] = "lua/xchg/cuda/backend.lua",
      ["xchg.cuda.compile"] = "lua/xchg/cuda/compile.lua",
      ["xchg.cuda.copy"] = "lua/xchg/cuda/copy.lua",
      ["xchg.cuda.cpp"] = "lua/xchg/cuda/cpp.lua",
      ["xchg.cuda.device"] = "lua/xchg/cuda/device.lua",
      ["xchg.cuda.diagnostics"] = "lua/xchg/cuda/diagnostics.lua",
      ["xchg.cuda.event"] = "lua/xchg/cuda/event.lua",
      ["xchg.cuda.graph"] = "lua/xchg/cuda/graph.lua",
      ["xchg.cuda.host"] = "lua/xchg/cuda/host.lua",
      ["xchg.cuda.info"] = "lua/xchg/cuda/info.lua",
      ["xchg.cuda.library"] = "lua/xchg/cuda/library.lua",
      ["xchg.cuda.load"] = "lua/xchg/cuda/load.lua",
      ["xchg.cuda.mangled"] = "lua/xchg/cuda/mangled.lua",
      ["xchg.cuda.members"] = "lua/xchg/cuda/members.lua",
      ["xchg.cuda.memory"] = "lua/xchg/cuda/memory.lua",
      ["xchg.cuda.nvrtc"] = "lua/xchg/cuda/nvrtc.lua",
      ["xchg.cuda.options"] = "lua/xchg/cuda/options.lua",
      ["xchg.cuda.program"] = "lua/xchg/cuda/program.lua",
      ["xchg.cuda.prototype"] = "lua/xchg/cuda/prototype.lua",
      ["xchg.cuda.signature"] = "lua/xchg/cuda/signature.lua",
      ["xchg.cuda.sim"] = "lua/xchg/cuda/sim.lua",
      ["xchg.cuda.stream"] = "lua/xchg/cuda/stream.lua",
      ["xchg.cuda.time"] = "lua/xchg/cuda/time.lua",
      ["xchg.cuda.typename"] = "lua/xchg/cuda/typename.lua",
      ["xchg.cuda.ctype"] = "lua/xchg/cuda/ctype.lua",
      ["xchg.cuda.elementwise"] = "lua/xchg/cuda/elementwise.lua",
      ["xchg.cuda.generated"] = "lua/xchg/cuda/generated.lua",
      ["xchg.cuda.loops"] = "lua/xchg/cuda/loops.lua",
      ["xchg.cuda.parameters"] = "lua/xchg/cuda/parameters.lua",
      ["xchg.cuda.reduce"] = "lua/xchg/cuda/reduce.lua",
      ["xchg.device"] = "lua/xchg/device.lua",
      ["xchg.direct"] = "lua/xchg/direct.lua",
      ["xchg.dtype"] = "lua/xchg/dtype.lua",
      ["xchg.element"] = "lua/xchg/element.lua",
      ["xchg.error"] = "lua/xchg/error.lua",
      ["xchg.exchange"] = "lua/xchg/exchange.lua",
      ["xchg.into"] = "lua/xchg/into.lua",
      ["xchg.probe"] = "lua/xchg/probe.lua",
      ["xchg.promotion"] = "lua/xchg/promotion.lua",
      ["xchg.protocols"] = "lua/xchg/protocols.lua",
      ["xchg.resolve"] = "lua/xchg/resolve.lua",
      ["xchg.stack"] = "lua/xchg/stack.lua",
      ["xchg.format"] = "lua/xchg/format.lua",
      ["xchg.gather"] = "lua/xchg/gather.lua",
      ["xchg.index"] = "lua/xchg/index.lua",
      ["xchg.info"] = "lua/xchg/info.lua",
      ["xchg.init"] = "lua/xchg/init.lua",
      ["xchg.lib"] = "lua/xchg/lib.lua",
      ["xchg.python"] = "lua/xchg/python.lua",
      ["xchg.simulator"] = "lua/xchg/simulator.lua",
      ["xchg.slots"] = "lua/xchg/slots.lua",
      ["xchg.tensor"] = "lua/xchg/tensor.lua",
      ["xchg.view"] = "lua/xchg/view.lua",
    },
    lib = {
      ["xchg.core"] = "build/xchg/core.so",
      ["xchg.sim"] = "build/xchg/sim.so",
      ["xchg.sim_cuda"] = "build/xchg/sim_cuda.so",
      ["xchg.sim_cudart12"] = "build/xchg/sim_cudart12.so",
      ["xchg.sim_cudart13"] = "build/xchg/sim_cudart13.so",
      ["xchg.sim_nvjitlink12"] = "build/xchg/sim_nvjitlink12.so",
      ["xchg.sim_nvjitlink13"] = "build/xchg/sim_nvjitlink13.so",
    },
    bin = { "bin/xchg" },
  },
}

-- A wrapper would run the command under PUC Lua, which has no FFI.
deploy = { wrap_bin_scripts = false }

test = { type = "busted" }
