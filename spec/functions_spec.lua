-- docs/simulator-functions.md lists what the simulated device exports: no function more, none less, twins and stubs as
-- they are.
local child = require "spec.support.child"

local DOCUMENT = "docs/simulator-functions.md"
local build = os.getenv("XCHG_BUILD") or "build"
local LIBRARY = (build:sub(1, 1) == "/" and build or child.root .. "/" .. build) .. "/xchg/sim.so"
local SUFFIX = { z = "_ptsz", d = "_ptds" }

---@class functions.Row
---@field stub boolean
---@field twins string
---@field api string "cuda" or "cu"

--- The document's functions by name, and what is wrong with its rows.
local function read_document()
  local rows, problems, api, stub = {}, {}, nil, false
  for line in child.read(DOCUMENT):gmatch "[^\n]*" do
    if line:find "^## " then api, stub = line:find "runtime" and "cuda" or "cu", false end
    if line:find "^### Stubs" then stub = true end
    local names, rest = line:match "^| (`[^|]*`) |(.*)$"
    local headed = line:match "^| [^|`]+ | (`.*`) |$"
    local twins = ""
    if names then
      local source
      twins, source = rest:match "^ *([zd ]-) *|[^|]*| ([DHOC, ]+) |$"
      if not source then problems[#problems + 1] = "columns: " .. line end
    end
    for name in (names or headed or ""):gmatch "`([%w_]+)`" do
      if rows[name] then problems[#problems + 1] = "twice: " .. name end
      rows[name] = { stub = stub, twins = twins or "", api = api }
    end
  end
  return rows, problems
end

--- The library's functions by name: "T", or "W" for those that a stub defines.
local function read_exports()
  local pipe = io.popen("nm -D --defined-only " .. child.quote(LIBRARY) .. " 2>/dev/null")
  local found, any = {}, false
  for kind, name in pipe:read("*a"):gmatch "%x+ (%a) ([%w_]+)\n" do
    found[name], any = kind, true
  end
  pipe:close()
  return any and found
end

local function sources(folder, pattern)
  local names = {}
  local pipe = io.popen("cat " .. child.root .. "/src/sim/" .. folder)
  for name in pipe:read("*a"):gmatch(pattern) do names[name] = true end
  pipe:close()
  return names
end

-- The name without the suffix of a twin, where the function without it is there too.
local function plain(name, all)
  local base = name:match "^(.*)_ptsz$" or name:match "^(.*)_ptds$"
  return base and all[base] and base
end

local function sorted(set)
  local list = {}
  for name in pairs(set) do list[#list + 1] = name end
  table.sort(list)
  return list
end

local function select(rows, test)
  local names = {}
  for name, row in pairs(rows) do
    if test(row) then names[name] = true end
  end
  return sorted(names)
end

describe("the list of the simulated device's functions", function()
  local rows, problems = read_document()
  local exports = read_exports()
  local hidden = sources("driver/*.c", "CU_HIDDEN, ([%w_]+)")

  it("names each function once, with a source for what it does", function()
    assert.are.same({}, problems)
  end)

  it("has every function that is exported, and no other", function()
    if not exports then
      pending "no nm here that reads the library"
      return
    end
    local there, told = {}, {}
    for name in pairs(exports) do
      if not name:find "^xsim_" and not plain(name, exports) then there[name] = true end
    end
    for name in pairs(rows) do
      if not hidden[name] then told[name] = true end
    end
    assert.are.same(sorted(there), sorted(told))
  end)

  it("tells which of the real ones have twins", function()
    if not exports then
      pending "no nm here that reads the library"
      return
    end
    for name, row in pairs(rows) do
      for letter, suffix in pairs(SUFFIX) do
        if not row.stub then
          assert.are.equal(exports[name .. suffix] ~= nil, row.twins:find(letter) ~= nil, name .. suffix)
        end
      end
    end
  end)

  it("calls stubs what is a stub in the runtime API", function()
    local stubs = sources("runtime/stubs.c", "\nSTUB[%u_]*%(([%w_]+)[,)]")
    assert.are.same(sorted(stubs), select(rows, function(row) return row.stub and row.api == "cuda" end))
  end)

  it("calls stubs what nothing but the stubs defines in the driver API", function()
    if not exports then
      pending "no nm here that reads the library"
      return
    end
    local stubs = {}
    for name, kind in pairs(exports) do
      if kind == "W" and not plain(name, exports) then stubs[name] = true end
    end
    assert.are.same(sorted(stubs), select(rows, function(row) return row.stub and row.api == "cu" end))
  end)

  it("has every function of the table by which the driver API looks names up", function()
    local names = sources("driver/table.h", "X%([%w_]+,%s+%d+,%s+([%w_]+),%s+%u+%)")
    local all = {}
    for name in pairs(names) do
      if not plain(name, names) then all[name] = true end
    end
    assert.are.same(sorted(all), select(rows, function(row) return row.api == "cu" end))
  end)
end)

describe("the control API", function()
  it("exports what xsim.h declares", function()
    local exports = read_exports()
    if not exports then
      pending "no nm here that reads the library"
      return
    end
    local there = {}
    for name in pairs(exports) do
      if name:find "^xsim_" then there[name] = true end
    end
    assert.are.same(sorted(sources("xsim.h", "XSIM_API [^;(]-(xsim_[%w_]+)%(")), sorted(there))
  end)
end)
