--- Arrays of other libraries.

local measure = require "measure"
local setup = require "setup"

local function import(object)
  return setup.loop("from_dlpack(x):release()", object)
end

return function()
  local _, _, C = setup.python()
  local np = setup.module("numpy")
  measure.title("torch", "tensors of PyTorch, through its C exchange API")
  local torch, why = setup.module("torch")
  if not torch then return measure.skipped("PyTorch", why) end

  local tensor, array = torch.arange(1000), np.arange(1000)
  local reference = setup.calling("torch.from_dlpack(torch) from C", torch.utils.dlpack.from_dlpack, tensor)
  local numpy = setup.calling("np.from_dlpack(torch) from C", np.from_dlpack, tensor)
  local of_numpy = setup.calling("torch.from_dlpack(NumPy) from C", torch.utils.dlpack.from_dlpack, array)
  local x = setup.address(tensor)
  numpy.against, of_numpy.against = reference, reference
  measure.table { rounds = 101, cases = {
    reference,
    { name = "from_dlpack(torch) + release, locked", run = import(tensor), locked = true,
      against = reference, limit = 0.06, compiles = true },
    { name = "from_dlpack(torch) + release", run = import(tensor), against = reference, limit = 0.08,
      compiles = true },
    numpy,
    { name = "from_dlpack(torch) + release, to np.from_dlpack(torch)", run = import(tensor), against = numpy,
      compiles = true, limit = 0.15 },
    of_numpy,
    { name = "from_dlpack(NumPy) + release, to torch.from_dlpack(NumPy)", run = import(array),
      against = of_numpy, compiles = true, limit = 0.15 },
    { name = "C: requires_grad", run = function(n) return C.bench_attribute(x, "requires_grad", n) end,
      against = reference },
    { name = "C: is_neg()", run = function(n) return C.bench_method(x, "is_neg", n) end, against = reference },
    { name = "C: is_complex()", run = function(n) return C.bench_method(x, "is_complex", n) end, against = reference },
    { name = "C: untyped_storage()", run = function(n) return C.bench_method(x, "untyped_storage", n) end,
      against = reference },
    { name = "C: exchange API, borrowed descriptor", run = function(n) return C.bench_exchange(x, 0, n) end,
      against = reference },
    { name = "C: exchange API, managed tensor + deleter", run = function(n) return C.bench_exchange(x, 1, n) end,
      against = reference },
  } }
end
