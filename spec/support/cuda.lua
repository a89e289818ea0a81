--- CUDA for specs: the simulated device, or hardware with XCHG_CUDA=real.

local ffi = require "ffi"
local xchg = require "xchg"

local M = {}

ffi.cdef [[ int setenv(const char *, const char *, int); ]]
if os.getenv("XCHG_CUDA") ~= "real" then
  ffi.C.setenv("XCHG_CUDA", "sim", 1)
  ffi.C.setenv("XCHG_SIM_DEVICES", os.getenv("XCHG_SIM_DEVICES") or "2", 0)
  ffi.C.setenv("XCHG_SIM_LOG", "none", 0)
end

M.cuda = xchg.cuda

return M
