--- What the specs of copies share: places, layouts, memory to copy, and how results are compared.

local ffi = require "ffi"
local cuda_ = require "spec.support.cuda"
local xchg = require "xchg"

local cuda = cuda_.cuda

local M = {}

M.PLACES = { "cpu", "cuda_host", "cuda_managed", "cuda:0", "cuda:1" }

--- Why one of the places cannot be used here; nil where all can.
---@return string?
function M.missing(...)
  for _, place in ipairs { ... } do
    if place:find(":1", 1, true) and cuda.device_count() < 2 then return "only one device here" end
  end
end

--- The bytes of a compact tensor that the host reads.
---@return string
function M.bytes(t)
  assert(t:is_contiguous())
  return ffi.string(ffi.cast("const char *", t.ptr), t.nbytes)
end

--- Every byte another than its neighbours'.
---@return xchg.Tensor
function M.counted(shape, dtype)
  local t = xchg.empty(shape, { dtype = dtype })
  local at = ffi.cast("uint8_t *", t.ptr)
  for i = 0, t.nbytes - 1 do at[i] = (i * 7 + math.floor(i / 251)) % 256 end
  return t
end

--- What differs between two compact tensors, or nil.
---@return string?
function M.difference(expected, given)
  local a, b = M.bytes(expected), M.bytes(given)
  if a == b then return nil end
  for i = 1, #a do
    if a:byte(i) ~= b:byte(i) then
      return ("byte %d of %d is %s, not %d"):format(i, #a, tostring(b:byte(i)), a:byte(i))
    end
  end
  return "it is longer"
end

--- Name, shape of the memory, the part of it that is meant.
M.LAYOUTS = {
  { "compact", { 7, 33 }, function(t) return t end },
  { "without dimensions", {}, function(t) return t end },
  { "one element of many", { 9 }, function(t) return t[{ { 5, 5 } }] end },
  { "a few rows", { 40, 33 }, function(t) return t[{ { 11, 20 } }] end },
  { "wide rows of a rectangle", { 12, 300 }, function(t) return t[{ {}, { 20, 219 } }] end },
  { "short rows of a rectangle", { 50, 9 }, function(t) return t[{ {}, { 2, 4 } }] end },
  { "a box", { 6, 7, 300 }, function(t) return t[{ { 2, 5 }, { 3, 6 }, { 50, 249 } }] end },
  { "boxes", { 3, 4, 5, 200 }, function(t) return t[{ {}, { 2, 3 }, { 2, 4 }, { 10, 109 } }] end },
  { "too many boxes", { 17, 9, 3, 2, 20 },
    function(t) return t[{ { 1, 17, 2 }, { 1, 9, 1 }, { 2, 3 }, {}, { 3, 19 } }] end },
  { "transposed", { 17, 31 }, function(t) return t:transpose(1, 2) end },
  { "transposed in three", { 5, 6, 7 }, function(t) return t:transpose(1, 3) end },
  { "every third", { 100 }, function(t) return t[{ { 2, 99, 3 } }] end },
  { "backwards", { 70 }, function(t) return t[{ { 70, 1, -1 } }] end },
  { "backwards in both", { 9, 80 }, function(t) return t[{ { 9, 1, -2 }, { 80, 1, -1 } }] end },
  { "rows backwards", { 9, 80 }, function(t) return t[{ { 9, 1, -1 } }] end },
  { "a column", { 30, 12 }, function(t) return t:select(2, 5) end },
  { "nothing to merge", { 3, 4, 5, 4, 3 },
    function(t) return t[{ { 1, 3, 2 }, { 4, 1, -1 }, { 1, 5, 2 }, { 1, 4, 3 }, { 3, 1, -2 } }]:transpose(2, 4) end },
  { "no elements", { 4, 0, 3 }, function(t) return t end },
  { "no elements of some", { 4, 6 }, function(t) return t[{ {}, { 2, 1 } }] end },
}

local COUNTED = { "cudaMemcpyAsync", "cudaMemcpy2DAsync", "cudaMemcpy3DAsync", "cudaMemcpyPeerAsync",
  "cudaMemcpy3DPeerAsync", "cudaMemsetAsync", "cudaMemset2DAsync", "cuMemsetD16Async", "cuMemsetD32Async",
  "cudaLaunchKernelExC" }

--- "cudaMemcpyAsync:1 cudaLaunchKernelExC:1": what fn() calls.
---@return string
function M.calls(fn)
  local before = cuda.sim.stats()
  fn()
  local after, out = cuda.sim.stats(), {}
  for _, name in ipairs(COUNTED) do
    local count = after[name] - before[name]
    if count > 0 then out[#out + 1] = name .. ":" .. count end
  end
  return table.concat(out, " ")
end

return M
