--- Vectors on devices, and what is queued for them: for specs of streams, events and graphs.

local ffi = require "ffi"
local assert = require "luassert"
local xchg = require "xchg"
local cuda_ = require "spec.support.cuda"

local cuda = cuda_.cuda

local M = {}

--- A thousand times the value.
function M.vector(value, device)
  return xchg.full({ 1000 }, value, { dtype = "float32", device = device or "cuda:0" })
end

--- The first element, once what is queued before is done.
function M.first(t)
  local copy = t:to "cpu"
  local value = copy:at(1)
  copy:release()
  return value
end

local vector, first = M.vector, M.first

function M.device_tensor(n, where)
  return xchg.empty(n or 1000, { dtype = "float32", device = where or "cuda:0" })
end

--- A stream beside the default ones.
function M.side(options)
  options = options or {}
  options.nonblocking = true
  return cuda.stream(options)
end

--- How many memory blocks wait for streams.
function M.in_flight() return xchg.stats().in_flight end

function M.wait_for_all()
  for index = 0, cuda.device_count() - 1 do cuda.synchronize(index) end
  xchg.python.collect()
end

--- After whatever went wrong: nothing captures, the current streams and the device are what they were.
function M.all_is_well()
  assert.are.equal(0, cuda.current_device().index)
  for device = 0, cuda.device_count() - 1 do
    assert.are.equal(1, tonumber(ffi.cast("intptr_t", cuda.current_stream(device).handle)))
  end
  local x = vector(1)
  local g = cuda.graph(function() x:fill_(2) end)
  assert.are.equal(1, first(x))
  g:launch()
  assert.are.equal(2, first(x))
  g:release()
  x:release()
end

--- For setup: the default streams come to life with their first use.
function M.use_streams()
  for device = 0, cuda.device_count() - 1 do
    vector(0, "cuda:" .. device):release()
    cuda.with_device(device, function()
      for number = 1, 2 do cuda.external_stream(number):record():release() end
    end)
  end
end

--- For setup: the library's own stream and the legacy one live as long as the process.
function M.use_graphs()
  for device = 0, cuda.device_count() - 1 do
    local x = vector(0, "cuda:" .. device)
    cuda.graph(function() x:fill_(1) end, { device = device }):launch():release()
    cuda.synchronize(device)
    x:release()
  end
end

return M
