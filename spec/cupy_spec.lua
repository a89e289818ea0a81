-- CuPy where there is no device: what of it works is the host's, and nothing of it ends the process.
-- Its arrays need CUDA: cuda_producers_spec shows the interface that they speak.

local child = require "spec.support.child"
local support = require "spec.support.libraries"

describe("CuPy without a device", function()
  local result

  setup(function()
    if support.absent "cupy" then return end
    result = child.run [==[
      local xchg = require "xchg"
      local py = xchg.python
      local ns = py.exec([=[
import warnings; warnings.simplefilter("ignore")
import cupy, numpy as np
def refused(make):
    try: make()
    except Exception as e: return type(e).__name__
    return "nothing"
]=], {})
      print("available", py.eval("cupy.cuda.is_available()", ns))
      print("array", py.eval("refused(lambda: cupy.zeros(3))", ns))
      print("host array", py.eval("refused(lambda: cupy.from_dlpack(np.arange(3.0)))", ns))
      print("kernel", py.eval("type(cupy.RawKernel('extern \"C\" __global__ void f() {}', 'f')).__name__", ns))
      for _, source in ipairs { "cupy", "cupy.dtype", "cupy.RawKernel('', 'f')" } do
        for _, name in ipairs { "from_dlpack", "from_cai", "from_buffer", "asarray" } do
          local ok, e = pcall(xchg[name], py.eval(source, ns))
          print(source, name, not ok and e.code)
        end
        print(source, "probe", (xchg.probe(py.eval(source, ns))))
      end
      local t = xchg.asarray(py.eval("np.arange(3.0)", ns))
      print("beside it", t[3])
    ]==]
  end)

  local function each(name, fn)
    it(name, function()
      local reason = support.absent "cupy"
      if reason then return pending(reason) end
      assert.equal(0, result.status, result.stderr)
      if result.stdout:find("available\ttrue", 1, true) then return pending "there is a device here" end
      fn(result.stdout)
    end)
  end

  each("is imported, and makes no array", function(out)
    assert.truthy(out:find("\narray\tCUDARuntimeError\n", 1, true), out)
    assert.truthy(out:find("\nhost array\t%w+Error\n"), out)
    assert.truthy(out:find("\nkernel\tRawKernel\n", 1, true), out)
    assert.truthy(out:find("\nbeside it\t2\n", 1, true), out)
  end)

  each("has objects and types that offer nothing", function(out)
    for _, source in ipairs { "cupy", "cupy.dtype", "cupy.RawKernel('', 'f')" } do
      for _, name in ipairs { "from_dlpack", "from_cai", "from_buffer", "asarray" } do
        assert.truthy(out:find(("\n%s\t%s\tno_protocol\n"):format(source, name), 1, true), out)
      end
      assert.truthy(out:find(("\n%s\tprobe\tnil\n"):format(source), 1, true), out)
    end
  end)

  it("on the simulated device says why it cannot run", function()
    local reason = support.absent "cupy" or child.foreign_refused()
    if reason then return pending(reason) end
    local other = child.run([==[
      local py = require("xchg").python
      print(pcall(py.eval, "__import__('cupy').zeros(3)"))
    ]==], { env = { XCHG_CUDA = "sim" } })
    assert.equal(0, other.status, other.stderr)
    assert.truthy(other.stdout:find("^false\t.*CUDARuntimeError"), other.stdout)
    assert.truthy(other.stderr:find("a statically linked CUDA runtime", 1, true), other.stderr)
  end)
end)
