--- Arrays of JAX, in memory of the host.

local measure = require "measure"
local setup = require "setup"

return function()
  setup.python()
  local np = setup.module("numpy")
  measure.title("jax", "arrays of JAX on the host, by their capsules and by their buffers")
  local jax, why = setup.module("jax.numpy")
  if not jax then return measure.skipped("JAX", why) end

  local array = jax.arange(1000)
  local dlpack = setup.calling("np.from_dlpack(jnp) from C", np.from_dlpack, array)
  local buffer = setup.calling("memoryview(jnp) from C", require("xchg").python.builtins.memoryview, array)
  measure.table { rounds = 51, cases = {
    dlpack,
    { name = "from_dlpack(jnp) + release, locked", run = setup.loop("from_dlpack(x):release()", array), locked = true,
      against = dlpack, compiles = true },
    buffer,
    { name = "from_buffer(jnp) + release, locked", run = setup.loop("from_buffer(x):release()", array), locked = true,
      against = buffer, compiles = true },
  } }
end
