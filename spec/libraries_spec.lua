-- Several libraries side by side in one process: whatever order they are imported in, their arrays come in, are handed on
-- between them, and the process ends well. Each order is a process of its own.

local child = require "spec.support.child"
local support = require "spec.support.libraries"

-- name: what imports it and makes an array of 0, 1, 2, 3; the protocol that it comes in by; what takes it from NumPy
local LIBRARIES = {
  numpy = { "import numpy as np", "np.arange(4.0)", "dlpack" },
  torch = { "import torch; torch.set_num_threads(1)", "torch.arange(4.0)", "exchange_api", "torch.from_dlpack" },
  jax = { "import jax; jax.config.update('jax_platforms', 'cpu'); import jax.numpy as jnp", "jnp.arange(4.0)", "dlpack",
    "jax.dlpack.from_dlpack" },
  pyarrow = { "import pyarrow as pa", "pa.array([0.0, 1.0, 2.0, 3.0])", "dlpack", "pa.Tensor.from_numpy" },
  tvm_ffi = { "import tvm_ffi", "tvm_ffi.from_dlpack(np.arange(4.0))", "dlpack", "tvm_ffi.from_dlpack" },
  pandas = { "import pandas as pd", "pd.Series([0.0, 1.0, 2.0, 3.0])", "array", "pd.Series" },
  polars = { "import polars as pl", "pl.Series([0.0, 1.0, 2.0, 3.0])", "array", "pl.Series" },
  tensorflow = { "import tensorflow as tf", "tf.range(4.0)", "dlpack",
    "(lambda n: tf.experimental.dlpack.from_dlpack(n.__dlpack__()))" },
  paddle = { "import paddle", "paddle.arange(4, dtype='float32')", "exchange_api", "paddle.from_dlpack" },
}

local SCRIPT = [[
local xchg = require "xchg"
local py = xchg.python
local ns = py.exec("import warnings; warnings.simplefilter('ignore')", {})
local order, tensors = {}, {}
for name in ([=[%s]=]):gmatch "[^\n]+" do order[#order + 1] = name end
local function check(what, x, protocol)
  local t = xchg.asarray(x)
  assert(not protocol or t.protocol == protocol, what .. " came by " .. t.protocol)
  assert(t:numel() == 4 and t[1] == 0 and t[4] == 3, what)
  tensors[#tensors + 1] = t
end
for _, line in ipairs(order) do
  local import, make, protocol, take = line:match "^(.-)|(.-)|(.-)|(.-)$"
  py.exec(import, ns)
  if not make:find("np.", 1, true) or py.eval("'np' in globals()", ns) then check(import, py.eval(make, ns), protocol) end
end
py.exec("import numpy as np, gc", ns)
for _, line in ipairs(order) do
  local import, make, protocol, take = line:match "^(.-)|(.-)|(.-)|(.-)$"
  check(import, py.eval(make, ns), protocol)
  if take ~= "" then check(take, py.eval(take .. "(np.arange(4.0))", ns)) end
end
if %s then
  for _, t in ipairs(tensors) do t:release() end
  py.exec("gc.collect()", ns)
end
print(#tensors .. " came in")
%s
]]

-- What is imported, and what the script ends with. Paddle comes before TensorFlow: the other way round its import ends every
-- Python with a segmentation fault.
local ORDERS = {
  { "numpy torch jax pyarrow tvm_ffi", "" }, { "tvm_ffi pyarrow jax torch", "os.exit(0)" },
  { "polars jax torch pandas", "error 'on purpose'" }, { "pyarrow polars tvm_ffi numpy pandas", "" },
  { "tensorflow torch jax pyarrow numpy", "" }, { "torch paddle tensorflow jax tvm_ffi pandas polars", "os.exit(0)" },
  { "jax paddle pyarrow polars tensorflow numpy", "os.exit(0, true)" },
}

describe("libraries side by side, imported in this order", function()
  for i, row in ipairs(ORDERS) do
    it(("%s: come in, and end with status 0 after '%s'"):format(row[1], row[2]), function()
      local lines = {}
      for name in row[1]:gmatch "%S+" do
        local reason = support.absent(name)
        if reason then return pending(reason) end
        local import, make, protocol, take = unpack(LIBRARIES[name])
        lines[#lines + 1] = table.concat({ import, make, protocol, take or "" }, "|")
      end
      local result = child.run(SCRIPT:format(table.concat(lines, "\n"), i % 2 == 0 and "true" or "false", row[2]), {
        env = { TF_CPP_MIN_LOG_LEVEL = "3", TF_ENABLE_ONEDNN_OPTS = "0" }, timeout = 120 })
      assert.equal(row[2]:find "error" and 1 or 0, result.status, result.stdout .. result.stderr)
      local came = tonumber(result.stdout:match "^(%d+) came in\n$")
      assert.truthy(came and came >= 2 * #lines, result.stdout .. result.stderr)
      assert.is_nil(result.stderr:find("Traceback", 1, true), result.stderr)
    end)
  end
end)
