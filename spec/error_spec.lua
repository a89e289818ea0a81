-- Error objects: their fields, their text, and whose line they name.
local error_ = require "xchg.error"
local raises = require "spec.support.raises"
local xchg = require "xchg"

local function here() return "spec/error_spec.lua:" .. debug.getinfo(2, "l").currentline end

local function caught(fn, ...)
  local ok, e = pcall(fn, ...)
  assert.is_false(ok)
  assert.is_true(error_.is(e), tostring(e))
  return e
end

describe("an error object", function()
  it("has a code, a message and a place", function()
    local e = caught(error_.raise, "bad_argument", "f: %d is not %s", 5, "six")
    assert.equal("bad_argument", e.code)
    assert.equal("f: 5 is not six", e.message)
    assert.is_string(e.where)
    assert.is_nil(e.traceback)
  end)

  it("takes a message without values as it is", function()
    assert.equal("100%s", caught(error_.raise, "bad_argument", "100%s").message)
  end)

  it("opens its text with the place and ends it with a traceback, if it has one", function()
    local e = caught(error_.raise, "bad_argument", "f: no")
    assert.equal(e.where .. ": f: no", tostring(e))
    e.traceback = "Traceback: x"
    assert.equal(e.where .. ": f: no\nTraceback: x", tostring(e))
  end)

  it("has a text whatever was done to its fields", function()
    local e = caught(error_.raise, "bad_argument", "f: no")
    e.where, e.message, e.traceback = nil, {}, false
    assert.equal("nil: table: ", tostring(e):match("^nil: table: "))
    e.traceback = 5
    assert.equal("\n5", tostring(e):sub(-2))
  end)

  it("is told from everything else", function()
    assert.is_true(error_.is(caught(error_.raise, "bad_argument", "f: no")))
    for _, value in ipairs { 5, "bad_argument: f", {}, setmetatable({}, {}), xchg, xchg.zeros(1) } do
      assert.is_false(error_.is(value))
    end
    assert.is_false(error_.is(nil))
  end)

  it("has one of the codes that the core lists", function()
    local listed, used = {}, 0
    for name in io.open("src/core/error.h"):read("*a"):gmatch('X%([%w_]+, %-%d+, "([%w_]+)"%)') do listed[name] = true end
    local pipe = assert(io.popen("cat lua/xchg/*.lua"))
    for call in pipe:read("*a"):gmatch("raise(%b())") do
      for code in call:match("^[^,]*"):gmatch('"([%w_]+)"') do
        used = used + 1
        assert.is_true(listed[code], code)
      end
    end
    pipe:close()
    assert.is_true(used > 20)
  end)
end)

describe("the failure of a C function", function()
  local lib = require "xchg.lib"
  local C, scratch = lib.C, error_.scratch

  it("is raised in the name of the function that was called", function()
    local shape = require("ffi").new("int64_t[1]", -1)
    local function fail()
      error_.check("sky", C.xchg_tensor_empty(lib.arena, select(2, require("xchg.slots").blank(13)), 13, 1, shape, 0, scratch))
    end
    raises("bad_argument", "sky: extent -1 of dimension 1", fail)
    raises("bad_argument", "sky: extent -1 of dimension 1", fail) -- the scratch error was cleared
    assert.equal(0, scratch.code)
  end)

  it("is no failure where the result is not negative", function()
    assert.equal(0, error_.check("f", 0))
    assert.equal(1, error_.check("f", 1))
  end)
end)

describe("the place of an error", function()
  local t = xchg.zeros { 2, 3 }
  local v = xchg.zeros(3)

  it("is the user's line, for every way into the library", function()
    local rows = {
      { function() return { t[{ 9, 1 }] } end },
      { function() return { t:at(9, 1) } end },
      { function() return { v[9] } end },
      { function() v[9] = 1 end },
      { function() v.x = 1 end },
      { function() t[{ {}, 9 }] = 1 end },
      { function() return { t.shapes } end },
      { function() return { #xchg.zeros {} } end },
      { function() return { t + 1 } end },
      { function() return { xchg.zeros(-1) } end },
      { function() return { xchg.tensor { { 1 }, { 1, 2 } } } end },
      { function() return { xchg.zeros(1, { dtyp = "int8" }) } end },
      { function() return { t:reshape(5) } end },
      { function() return { xchg.python.import("no_such_module") } end },
      { function() return { xchg.from_dlpack({}) } end },
    }
    for _, row in ipairs(rows) do
      local e = caught(row[1])
      assert.equal("spec/error_spec.lua:" .. debug.getinfo(row[1], "S").linedefined, e.where, e.message)
    end
  end)

  it("is the nearest line outside the library, from any depth", function()
    local line
    local function deep(n)
      if n == 0 then
        line = here(); local x = v[9] -- luacheck: ignore
      else
        deep(n - 1)
      end
      return n
    end
    for _, n in ipairs { 0, 1, 50 } do
      local e = caught(deep, n)
      assert.equal(line, e.where)
    end
  end)

  it("is the user's line inside a coroutine, a sort and a pcall", function()
    local line
    local function fail()
      line = here(); v[9] = 1
      return 1
    end
    local ok, e = coroutine.resume(coroutine.create(fail))
    assert.is_false(ok)
    assert.equal(line, e.where)
    assert.equal(line, caught(table.sort, { 1, 2 }, fail).where)
    assert.equal(line, caught(function() assert(pcall(fail) == false) fail() return 1 end).where)
  end)

  it("is that of the caller where a function of the library is called directly", function()
    local ok, e = pcall(v.at, v, 9); local line = here()
    assert.is_false(ok)
    assert.equal(line, e.where)
  end)

  it("is what still stands on the stack after a tail call", function()
    local function tail() return v:at(9) end
    local function call()
      local x = tail(); local line = here() -- luacheck: ignore
      return x, line
    end
    assert.equal("spec/error_spec.lua:" .. debug.getinfo(call, "S").linedefined + 1, caught(call).where)
  end)

  it("is ? where no Lua line stands on the stack", function()
    local ok, e = coroutine.resume(coroutine.create(v.at), v, 9)
    assert.is_false(ok)
    assert.equal("?", e.where)
    assert.equal("?: at: index 9", tostring(e):sub(1, 14))
  end)

  it("is the line of a generated chunk of the user's", function()
    local chunk = loadstring("local v = ... \n return 1 + v[9]", "=mine")
    assert.equal("mine:2", caught(chunk, v).where)
    chunk = loadstring("local v = ... \n return 1 + v[9]")
    assert.equal('[string "local v = ... ..."]:2', caught(chunk, v).where)
  end)

  it("is the same compiled and interpreted", function()
    local line
    local function hot(n)
      local s = 0
      line = here(); for i = 1, n do s = s + v[i] end
      return s
    end
    for _ = 1, 200 do hot(3) end
    assert.equal(line, caught(hot, 4).where)
    jit.off(hot, true)
    assert.equal(line, caught(hot, 4).where)
  end)
end)
