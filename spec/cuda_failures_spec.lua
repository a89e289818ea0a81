-- Whole pieces of work, in which each call of CUDA fails once: what is told, what is left, what goes on.
local cuda_ = require "spec.support.cuda"
local xchg = require "xchg"
local capsules = require "spec.support.capsules"
local works = require "spec.support.works"

local cuda = cuda_.cuda
local is_error, is_sticky = require("xchg.error").is, function(e) return type(e) == "table" and e.cuda_code == 700 end

-- What CUDA might answer; 999 ("unknown") where nothing is more likely. An allocation that fails with 2 once is made when
-- memory was given back: no failure at all.
local CODES = {
  cudaMalloc = 2, cudaMallocManaged = 2, cudaHostAlloc = 2, cudaMallocHost = 2,
  cudaLibraryLoadData = 2, cudaStreamCreateWithPriority = 2, cudaEventCreateWithFlags = 2, cudaGraphInstantiateWithFlags = 2,
  cudaLibraryUnload = 400, cudaStreamDestroy = 400, cudaEventDestroy = 400, cudaStreamWaitEvent = 400,
  cudaDeviceEnablePeerAccess = 217, cudaStreamBeginCapture = 400, cudaStreamEndCapture = 901, cudaLaunchKernelExC = 701,
  cudaSetDevice = 46, cuDevicePrimaryCtxRetain = 46, cuCtxGetCurrent = 201, cuCtxPushCurrent = 201,
}

local lasting -- a stream that outlives the work

local COUNTS = { "tensors", "storages", "external_bytes", "pending", "objects", "in_flight" }

local function counts()
  local out, stats = {}, xchg.stats()
  for i, name in ipairs(COUNTS) do out[i] = name .. ": " .. tostring(tonumber(stats[name])) end
  for device, bytes in pairs(stats.device_bytes) do out[#out + 1] = ("%s: %d bytes"):format(device, tonumber(bytes)) end
  table.sort(out)
  return table.concat(out, ", ")
end

-- The error of a call that failed says which one it was.
local function check_error(name, code, e)
  if not is_error(e) then return "no error of the library: " .. tostring(e) end
  if e.cuda_code ~= code then return ("code %s: %s"):format(tostring(e.cuda_code), e.message) end
  local known = e.code == "cuda" or e.code == "out_of_memory" and code == 2 or e.code == "capturing" and code >= 900
  if not known then return ("an error '%s': %s"):format(e.code, e.message) end
  if not e.cuda_name or not e.cuda_name:find "^cuda?Error" and not e.cuda_name:find "^CUDA_ERROR" then
    return "cuda_name " .. tostring(e.cuda_name)
  end
  if (e.call or ""):gsub("_v%d$", "") ~= name then return ("call %s: %s"):format(tostring(e.call), e.message) end
  if not e.message:find(e.call, 1, true) then return "the message does not name the call: " .. e.message end
end

-- Runs fn while the nth call of a function answers `code`. Returns whether it came to that, and what pcall says.
local function failing(name, nth, code, fn)
  local before = cuda.sim.stats(name)
  cuda.sim.fail(name, nth, code)
  local done, e = pcall(fn)
  cuda.sim.fail()
  return cuda.sim.stats(name) - before >= nth, done, e
end

local function check_state(streams)
  local problems = {}
  if cuda.current_device().index ~= 0 then problems[#problems + 1] = "the current device is another one" end
  for index = 0, 1 do
    if cuda.current_stream(index) ~= streams[index] then
      problems[#problems + 1] = "the current stream of cuda:" .. index .. " is another one"
    end
  end
  if lasting.capturing then problems[#problems + 1] = "a stream is part of a capture" end
  local done, e = pcall(lasting.synchronize, lasting)
  if not done then problems[#problems + 1] = "a stream is stuck: " .. tostring(e) end
  return table.concat(problems, ", ")
end

local missing = cuda_.no_simulation() or cuda_.no_second() or cuda_.no_python()

describe("each call of CUDA that fails once, in", function()
  if missing then return pending(missing) end

  setup(function()
    lasting = works.begin()
  end)

  teardown(function()
    lasting = nil
    works.finish()
    capsules.collect()
  end)

  after_each(function()
    if cuda_.simulated then cuda.sim.fail() end
    cuda_.reports_none()
  end)

  for _, work in ipairs(works.all) do
    it(work.name, function()
      local streams = { [0] = cuda.current_stream(0), cuda.current_stream(1) }
      work.run()
      work.run()
      capsules.collect()
      local balanced = cuda_.balance()
      local names = works.calls(work.run)
      balanced()
      capsules.collect()
      local before = counts()
      local problems, failed = {}, 0
      for _, each in ipairs(names) do
        local code, raised = CODES[each.name] or 999, 0
        local function wrong(nth, what)
          problems[#problems + 1] = ("%s:%s:%d: %s"):format(each.name, nth, code, what)
        end
        for nth = 1, each.count do
          local reached, done, e = failing(each.name, nth, code, work.run)
          if not reached then -- what the run before has left is there to be used again
            jit.flush()
            collectgarbage()
            collectgarbage()
            reached, done, e = failing(each.name, nth, code, work.run)
          end
          if not reached then
            if nth == 1 then wrong(nth, "the call was not reached") end
            break
          end
          if not done then
            raised = raised + 1
            if is_sticky(e) then error(("%s:%d:%d: %s"):format(each.name, nth, code, e.message), 0) end
            local what = check_error(each.name, code, e)
            if what then wrong(nth, what) end
          end
          local what = check_state(streams)
          if what ~= "" then
            wrong(nth, what)
          end
        end
        failed = failed + raised
        local okay, lost = pcall(balanced)
        if not okay then wrong("1.." .. each.count, tostring(lost)) end
        capsules.collect()
        if counts() ~= before then wrong("1.." .. each.count, counts() .. " instead of " .. before) end
        local after, e = pcall(work.run)
        if not after then wrong("*", "afterwards: " .. tostring(e)) end
      end
      assert.equal("", table.concat(problems, "\n"))
      assert.is_true(failed > 0)
    end)
  end
end)
