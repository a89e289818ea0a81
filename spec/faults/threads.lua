-- Threads that race, and threads that wait for ever.
local function ones() return 1 end

local function sums(name)
  return function(p)
    local out = p:device(2)
    p:run(name, { grid = 2, block = 256 }, out, p:device(512, ones))
    return p:show(out, 2)
  end
end

local function turns(name)
  return function(p)
    local out = p:device(64)
    p:run(name, { grid = 1, block = 64 }, out, p:device(192, function(i) return i end), 3)
    return (p:show(out, 64):match "^%S+")
  end
end

local function totals(name)
  return function(p)
    local total = p:device(1, 0, "int")
    p:run(name, { grid = 8, block = 1 }, total, p:device(8, ones, "int"))
    return p:show(total, 1, "int")
  end
end

local function simple(name, how, ...)
  local arguments = { n = select("#", ...), ... }
  return function(p)
    p:run(name, how, p:device(64, 0, "int"), unpack(arguments, 1, arguments.n))
  end
end

return {
  {
    name = "a missing barrier in a reduction",
    check = "race", bug = sums "sums_hasty", twin = sums "sums", right = "256 256", only = false, sticky = false,
    says = { "race: sums_hasty, block 0: thread ", " wrote shared word ", " thread ", "(#fills)", "(#adds)", " in the same barrier interval" },
  },
  {
    name = "a missing barrier at the end of a turn",
    check = "race", bug = turns "turns_hasty", twin = turns "turns", right = "381", only = false,
    says = { "race: turns_hasty, block 0: thread ", "(#overwrites) wrote shared word ", "(#still reads) read in the same barrier interval" },
  },
  {
    name = "a race between blocks for a sum",
    check = "race", bug = totals "totals_hasty", twin = totals "totals", right = "8", only = false,
    says = {
      "race: totals_hasty, block 1: thread 0 (#takes) read the word at 0x", "(byte 0), in the 4 bytes at 0x",
      "made by cudaMalloc (allocation 1), that warp 0 of block 0 (#gives) wrote, and nothing orders the two",
    },
  },
  {
    name = "a race between blocks for their neighbours' elements",
    check = "race", only = false,
    bug = function(p) p:run("neighbours_hasty", { grid = 2, block = 32 }, p:device(64, 1)) end,
    twin = function(p) p:run("neighbours", { grid = 2, block = 32 }, p:device(64), p:device(64, 1)) end,
    says = {
      "race: neighbours_hasty, block 1: thread 0 (#steps) wrote the word at 0x", "(byte 128), in the 256 bytes at 0x",
      "that warp 0 of block 0 (#peeks) read, and nothing orders the two",
    },
  },
  {
    name = "a missing barrier around global memory",
    check = "race", only = false,
    bug = function(p) p:run("reversed_hasty", { grid = 1, block = 64 }, p:device(64), p:device(64, 0)) end,
    twin = function(p)
      local out = p:device(64)
      p:run("reversed", { grid = 1, block = 64 }, out, p:device(64, 0))
      return (p:show(out, 64):match "^%S+")
    end,
    right = "63",
    says = { "race: reversed_hasty, block 0: thread ", "(#writes scratch)", "(#reads scratch)", "nothing orders the two" },
  },
  {
    name = "a missing barrier of the grid",
    check = "race", only = false,
    bug = function(p) p:run("rotated_hasty", { grid = 4, block = 32, cooperative = true }, p:device(128), p:device(128, 0)) end,
    twin = function(p)
      local out = p:device(128)
      p:run("rotated", { grid = 4, block = 32, cooperative = true }, out, p:device(128, 0))
      return (p:show(out, 128):match "^%S+")
    end,
    right = "32",
    says = { "race: rotated_hasty, block ", "(#reads all)", "(#writes all)", "nothing orders the two" },
  },
  {
    name = "a barrier in each arm of a branch within a warp",
    bug = simple("halves_apart", { grid = 1, block = 32 }), twin = simple("halves", { grid = 1, block = 32 }),
    code = 719,
    says = {
      "launch failure: halves_apart, block (0,0,0), thread (16,0,0) (@high half): barrier 0: lanes 0xffff0000 of this warp are here",
      "lanes 0x0000ffff at the one of [@low half]; all lanes of a warp must come to the same one",
    },
  },
  {
    name = "a barrier that some threads end before",
    bug = simple("some_leave", { grid = 1, block = 64 }, 32, 64),
    twin = function(p)
      simple("some_leave", { grid = 1, block = 64 }, 32, 32)(p)
      simple("guarded", { grid = 1, block = 64 }, 40)(p)
    end,
    code = 702,
    says = {
      "launch timed out: some_leave, block (0,0,0), thread (0,0,0) (@named barrier): barrier 1: 32 threads of 64 have come",
      "threads 32 to 63 of block 0 have exited",
    },
  },
  {
    name = "a barrier that some threads skip",
    bug = simple("some_skip", { grid = 1, block = 64 }, 32), twin = simple("some_skip", { grid = 1, block = 64 }, 0),
    code = 702,
    says = {
      "launch timed out: some_skip, block (0,0,0), thread (0,0,0) (@named barrier): barrier 1: 32 threads of 64 have come",
      "threads 32 to 63 of block 0 wait at another barrier (@the barrier of all)",
    },
  },
  {
    name = "a shuffle whose mask names a lane that never comes",
    bug = simple("lane_missing", { grid = 1, block = 32 }, -1), twin = simple("lane_missing", { grid = 1, block = 32 }, 0x7fffffff),
    code = 702,
    says = {
      "lane_missing, block (0,0,0), thread (0,0,0) (@shuffles): lanes 0 to 30 of warp 0 wait at a warp-level sync for lanes 31 that never come",
    },
  },
}
