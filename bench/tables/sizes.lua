--- Does the size of an array matter?

local measure = require "measure"
local setup = require "setup"

return function()
  setup.python()
  local np = setup.module("numpy")
  measure.title("sizes", "does the size of an array matter? from_dlpack(NumPy) + release")
  local cases = {}
  for _, locked in ipairs { true, false } do
    local suffix = locked and ", locked" or ""
    local small
    for _, size in ipairs { { "1 KB", 128 }, { "100 KB", 12800 }, { "10 MB", 1310720 }, { "1 GB", 134217728 } } do
      local run = setup.loop("from_dlpack(x):release()", np.empty(size[2]))
      local case = { name = size[1] .. suffix, run = run, locked = locked, against = small,
        limit = small and size[1] == "1 GB" and 1.1 or nil, compiles = true }
      small = small or case
      cases[#cases + 1] = case
    end
  end
  measure.table { rounds = 101, cases = cases }
end
