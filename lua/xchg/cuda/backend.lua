--- What tensors in CUDA memory are made, copied and filled by.

local lib = require "xchg.lib"
local error_ = require "xchg.error"
local library = require "xchg.cuda.library"

local M = {}

local C, arena = lib.C, lib.arena
local err, checked = error_.scratch, error_.check

--- The number of the device that is meant; the current one for nil.
---@param where string
---@param kind integer
---@param id integer?
---@return integer
function M.resolve(where, kind, id)
  library.open(where)
  return id or 0
end

function M.empty(where, kind, id, head, dtype, ndim, extents, zero)
  library.open(where)
  checked(where, C.xchg_cuda_empty(arena, head, kind, id, dtype, ndim, extents, zero and 1 or 0, err))
end

function M.copy(where, to, from, options) end

function M.fill(where, head, element) end

function M.simulated() return C.xchg_cuda_known().simulated ~= 0 end

return M
