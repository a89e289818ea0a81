-- What editors are told: types/xchg.lua and the annotations under lua/ name what there is, and nothing else.
local child = require "spec.support.child"
local error_ = require "xchg.error"
local cuda = require("spec.support.cuda").cuda
local members = require "spec.support.members"
local xchg = require "xchg"

local types = child.read "types/xchg.lua"

local function sorted(set)
  local names = {}
  for name in pairs(set) do names[#names + 1] = name end
  table.sort(names)
  return table.concat(names, " ")
end

local function list(names)
  local set = {}
  for _, name in ipairs(names) do set[name] = true end
  return set
end

-- The lines of a class, up to the next one.
local function class(text, name)
  local start = assert(text:find("%-%-%-@class " .. name:gsub("%.", "%%.") .. "[ \n]"), "no class " .. name)
  local stop = text:find("%-%-%-@class ", start + 10) or #text
  return text:sub(start, stop)
end

local function matches(text, pattern)
  local set = {}
  for name in text:gmatch(pattern) do set[name] = true end
  return set
end

describe("the annotations", function()
  local tensor = class(types, "xchg.Tensor")

  it("name every field and method of a tensor", function()
    local t = xchg.zeros(1)
    local ok, e = pcall(function() return t.q_x_q_x_q_x_q_x_q_x_q_x end)
    assert.is_false(ok)
    local there = matches(assert(e.message:match("known are (.*)$")), "[%w_]+")
    local told = matches(tensor, "%-%-%-@field ([%w_]+)")
    for name in pairs(matches(tensor, "\nfunction Tensor:([%w_]+)%(")) do
      assert.is_nil(told[name], name .. " is told twice")
      told[name] = true
    end
    assert.equal(sorted(there), sorted(told))
    for name in pairs(matches(tensor, "\nfunction Tensor:([%w_]+)%(")) do assert.is_function(t[name]) end
    for name in pairs(matches(tensor, "%-%-%-@field ([%w_]+)")) do assert.is_not_equal("function", type(t[name])) end
  end)

  it("say what each method of a tensor does and gives", function()
    local count = 0
    for paragraph in (tensor .. "\n\n"):gmatch("(.-)\n\n") do
      local name = paragraph:match("\nfunction Tensor:([%w_]+)%(")
      if name then
        count = count + 1
        assert.is_truthy(paragraph:find("^%-%-%-[^@]"), name)
        if name ~= "set" and name ~= "release" then assert.is_truthy(paragraph:find("@return", 1, true), name) end
      end
    end
    assert.is_true(count > 20)
  end)

  it("name the operators of a tensor", function()
    assert.equal("len", sorted(matches(tensor, "%-%-%-@operator (%w+)")))
    assert.equal(1, #xchg.zeros(1))
  end)

  it("name the operators of a Python object", function()
    -- What LuaCATS has no words for, or what is no operator.
    local silent = list { "__eq", "__lt", "__le", "__gc", "__index", "__newindex", "__tostring", "__metatable", "__name" }
    local there = {}
    for event in pairs(debug.getmetatable(xchg.python.list())) do
      if not silent[event] then there[event:sub(3)] = true end
    end
    assert.equal(sorted(there), sorted(matches(class(types, "xchg.python.Object"), "%-%-%-@operator (%w+)")))
  end)

  it("name the fields of an error object", function()
    local told = matches(class(child.read "lua/xchg/error.lua", "xchg.Error"), "%-%-%-@field ([%w_]+)")
    local there = {}
    local ok, e = pcall(xchg.python.eval, "1 / 0")
    assert.is_false(ok)
    assert.is_true(error_.is(e))
    for name in pairs(e) do there[name] = true end
    ok, e = pcall(function() return cuda.device(0).attributes[99999] end)
    assert.is_false(ok)
    for name in pairs(e) do there[name] = true end
    if cuda.nvrtc() then
      ok, e = pcall(cuda.compile, "no C++")
      assert.is_false(ok)
      for name in pairs(e) do there[name] = true end
    else
      there.log = true
    end
    assert.equal(sorted(there), sorted(told))
  end)

  it("name the fields and methods of what xchg.cuda makes", function()
    local all = members.all()
    for kind, row in pairs {
      stream = { "stream", "xchg.Stream", "methods" }, event = { "event", "xchg.Event", "methods" },
      graph = { "graph", "xchg.Graph", "methods" }, kernel = { "kernel", "xchg.cuda.Kernel", "methods" },
      program = { "program", "xchg.cuda.Program", "Program" }, device = { "device", "xchg.Device", "Device" },
    } do
      local text = child.read("lua/xchg/cuda/" .. row[1] .. ".lua")
      local told = matches(class(text, row[2]):match("^.-\nlocal"), "%-%-%-@field ([%w_]+)")
      if types:find("@class " .. row[2] .. "\n", 1, true) then
        for name in pairs(matches(class(types, row[2]), "%-%-%-@field ([%w_]+)")) do told[name] = true end
      end
      -- Methods stand in the table that the class is of, each with its comment.
      local define = "\nfunction " .. row[3]
      for name in text:gmatch(define .. "[:.]([%w_]+)%(") do
        assert.is_nil(told[name], name .. " is told twice")
        told[name] = true
        local before = text:match("\n([^\n]*)" .. define .. "[:.]" .. name .. "%(")
        assert.is_truthy(before:find "^%-%-[%-@ ]", kind .. "." .. name .. ": " .. before)
      end
      local there = list(all[kind].methods)
      for _, name in ipairs(all[kind].fields) do there[name] = true end
      assert.equal(sorted(there), sorted(told), kind)
    end
  end)

  it("stand before every function of xchg.cuda", function()
    assert.is_table(cuda.sim)
    local defined = {}
    for name in child.read("lua/xchg/cuda/init.lua"):gmatch "([%w_]+) = [%w_]+%.[%w_]+[,\n]" do defined[name] = true end
    for name in pairs(matches(child.read("lua/xchg/cuda/init.lua"), "\nfunction M%.([%w_]+)%(")) do defined[name] = true end
    local there = list { "sim" }
    for name in pairs(cuda) do there[name] = true end
    defined.sim = true
    assert.equal(sorted(there), sorted(defined))
    for name, file in ("use library device device devices device device_count device compile compile compile_async compile "
      .. "load load nvrtc nvrtc memory memory current_device device with_device device synchronize device stream stream "
      .. "current_stream stream with_stream stream external_stream stream event event time time poll host graph graph "
      .. "elementwise elementwise reduce reduce available init backend init"):gmatch "(%S+) (%S+)" do
      local text = child.read("lua/xchg/cuda/" .. file .. ".lua")
      local before = assert(text:match("\n([^\n]*)\nfunction M%." .. name .. "%("), name)
      assert.is_truthy(before:find "^%-%-", name .. ": " .. before)
      there[name] = nil
    end
    there.sim = nil
    assert.equal("", sorted(there))
    for name in pairs(cuda.sim) do
      local before = child.read("lua/xchg/cuda/sim.lua"):match("\n([^\n]*)\nfunction M%." .. name .. "%(")
      assert.is_truthy(before and before:find "^%-%-", name)
    end
  end)

  it("name the counts of xchg.stats", function()
    assert.equal(sorted(xchg.stats()), sorted(matches(class(child.read "lua/xchg/slots.lua", "xchg.Statistics"), "%-%-%-@field ([%w_]+)")))
  end)

  it("stand before every function of the library that a user calls", function()
    local rows = {
      { "lua/xchg/create.lua", { "empty", "zeros", "ones", "full", "tensor" } },
      { "lua/xchg/copy.lua", { "equal" } }, { "lua/xchg/slots.lua", { "is_tensor", "stats", "budget" } },
      { "lua/xchg/buffer.lua", { "from_buffer" } }, { "lua/xchg/asarray.lua", { "asarray" } },
      { "lua/xchg/into.lua", { "into" } },  { "lua/xchg/probe.lua", { "probe" } },
      { "lua/xchg/exchange.lua", { "from_dlpack", "from_cai" } },
    }
    local told = { _VERSION = true, python = true, cuda = true }
    for _, row in ipairs(rows) do
      local text = child.read(row[1])
      for _, name in ipairs(row[2]) do
        told[name] = true
        local before = assert(text:match("\n([^\n]*)\nfunction M%." .. name .. "%("), name)
        assert.is_truthy(before:find("^%-%-%-@return"), name .. ": " .. before)
      end
    end
    assert.equal(sorted(xchg), sorted(told))
  end)

  it("name each dtype that Lua reads", function()
    local told = matches(child.read("lua/xchg/dtype.lua"):match("@alias xchg%.dtype\n(.-)\nlocal"):gsub("%-%-%-| string.*", ""), '"([%w_]+)"')
    local there = {}
    for _, row in ipairs(require("xchg.dtype").by_id) do
      if row.readable then there[row.name] = true end
    end
    assert.equal(sorted(there), sorted(told))
  end)

  it("are Lua that runs nothing", function()
    assert(loadfile "types/xchg.lua")()
    assert.equal("---@meta _\n", types:sub(1, 11))
  end)
end)
