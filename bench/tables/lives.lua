--- Birth and death of many tensors, and what the collector lets live.

local ffi = require "ffi"
local measure = require "measure"
local setup = require "setup"

local COUNT = 1000000
local BLOCK = 1048576 -- elements of a float64 array of 8 MiB
local ARRAYS = 400

--- Bytes of memory that this process has.
local function resident()
  local file = io.open("/proc/self/statm")
  local pages = file:read("*l"):match("^%d+ (%d+)")
  file:close()
  return tonumber(pages) * 4096
end

local function live_and_die()
  local xchg = require "xchg"
  local lib = require "xchg.lib"
  local empty, collect = xchg.empty, xchg.python.collect
  local arena, C = lib.arena, lib.C
  local generic = ffi.typeof("xchg_tensor *")
  local shape = ffi.new("int64_t[1]", 4)
  local keep = {} -- luacheck: ignore
  for i = 1, COUNT do keep[i] = false end

  local function bury()
    for i = 1, COUNT do keep[i] = false end
    collectgarbage()
    collectgarbage()
  end
  local function pool(n)
    for _ = 1, n do
      for i = 1, COUNT do keep[i] = empty(4) end
      bury()
      collect()
    end
  end

  -- The usual way: a finalizer in each cdata's metatype. Such tensors are not in the weak table, so no sweep may come
  -- while they live: nothing in this loop asks for one.
  ffi.cdef [[typedef struct { xchg_tensor head; } bench_finalized;]]
  local finalized = ffi.metatype("bench_finalized", {
    __gc = function(t) C.xchg_tensor_release(arena, ffi.cast(generic, t)) end,
  })
  local function metatype(n)
    for _ = 1, n do
      for i = 1, COUNT do
        local t = finalized()
        C.xchg_tensor_empty(arena, ffi.cast(generic, t), C.XCHG_DTYPE_FLOAT64, 1, shape, 0, nil)
        arena.busy = 0
        keep[i] = t
      end
      bury()
      collect()
    end
  end

  local peer = { name = "the same, each cdata with a __gc", run = metatype, n = 1, per = COUNT }
  local case = { name = "1e6 tensors of 32 bytes: made, all alive, then collected", run = pool, n = 1, per = COUNT,
    against = peer, limit = 0.5 }
  measure.table { rounds = 5, unit = "ns each", cases = { peer, case } }
end

--- Fresh arrays that nobody releases: how much of them is alive at most?
local function peak(name, ballast, limit)
  local xchg, py = setup.python()
  local lib = require "xchg.lib"
  local np = setup.module("numpy")
  local budget = tonumber(lib.C.xchg_budget(0))
  local statistics = ffi.new("xchg_statistics")
  local weight = {} -- luacheck: ignore
  for i = 1, ballast * 16384 do weight[i] = { i } end -- 64 bytes each
  collectgarbage()
  collectgarbage()
  py.collect()
  local before = resident()
  local external, memory = 0, 0
  local start = measure.now()
  for _ = 1, ARRAYS do
    local t = xchg.from_dlpack(np.ones(BLOCK))
    lib.C.xchg_stats(lib.arena, statistics)
    external = math.max(external, tonumber(statistics.external_bytes))
    memory = math.max(memory, resident() - before)
    if t:size(1) ~= BLOCK then error("another array came") end
  end
  local spent = (measure.now() - start) / ARRAYS
  collectgarbage()
  collectgarbage()
  py.collect()
  measure.row(("peak external MB, Lua heap %s"):format(name), external / 1e6, external / budget, nil, nil, limit,
    ("%.0f us per array"):format(spent / 1e3))
  measure.row(("peak resident MB, Lua heap %s"):format(name), memory / 1e6, memory / budget)
end

return function()
  setup.python()
  local lib = require "xchg.lib"
  local budget = lib.C.xchg_budget(0)
  measure.title("lives", "tensors that are born and die without release")
  measure.say("%d fresh arrays of 8 MiB, each dropped; over the budget of external memory", ARRAYS)
  measure.head("MB")
  peak("small", 0, 1.1)
  -- No limit: where collections take much of the time, the core lets more live.
  peak("+20 MB", 20)
  live_and_die()
  measure.say("the arrays of 8 MiB again, after a time when a million tensors were alive")
  measure.head("MB")
  peak("small", 0)
  lib.C.xchg_budget(budget)
end
