-- docs/api.md names everything public, and nothing that is not there.
local child = require "spec.support.child"
local xchg = require "xchg"

local py = xchg.python
local text = child.read "docs/api.md"

-- Names resolved at each use, so that they stand in no table.
local LAZY = { "None", "builtins" }

local function sorted(names)
  table.sort(names)
  return names
end

local function public(module)
  local names = {}
  for name in pairs(module) do names[#names + 1] = name end
  return sorted(names)
end

-- The error for an unknown word lists the known ones, where none is near.
local function listed(fn)
  local done, e = pcall(fn)
  assert(not done and e.code == "bad_argument", tostring(e))
  local list = assert(e.message:match "known are (.*)$", e.message)
  local names = {}
  for name in list:gmatch "[%w_]+" do names[#names + 1] = name end
  return sorted(names)
end

local UNLIKELY = "q_x_q_x_q_x_q_x_q_x_q_x"

local function of_tensors()
  local t = xchg.zeros(1)
  local names = listed(function() return t[UNLIKELY] end)
  t:release()
  return names
end

-- The words in code spans of the document: `t:reshape(n, ...)` gives "t:reshape", "n".
local words = {}
for span in text:gsub("```.-```", ""):gmatch "`([^`\n]+)`" do
  for word in span:gmatch "[%a_][%w_]*[.:]?[%a_]?[%w_]*" do words[word] = true end
end

local function missing(names, ...)
  local lost = {}
  for _, name in ipairs(names) do
    local found = false
    for _, prefix in ipairs { ... } do found = found or words[prefix .. name] end
    if not found then lost[#lost + 1] = name end
  end
  return lost
end

local function unknown(prefix, names)
  local known, lost = {}, {}
  for _, name in ipairs(names) do known[name] = true end
  for word in pairs(words) do
    local name = word:match("^" .. prefix .. "([%a_][%w_]*)$")
    if name and not known[name] then lost[#lost + 1] = name end
  end
  return sorted(lost)
end

describe("docs/api.md", function()
  it("names what xchg has, and no more", function()
    local names = public(xchg)
    assert.are.same({}, missing(names, "xchg."))
    assert.are.same({}, unknown("xchg%.", names))
  end)

  it("names what xchg.python has, and no more", function()
    local names = public(py)
    for _, name in ipairs(LAZY) do
      assert.is_not_nil(py[name])
      names[#names + 1] = name
    end
    assert.are.same({}, missing(names, "py."))
    assert.are.same({}, unknown("py%.", names))
  end)

  it("names the fields and methods of tensors, and no more", function()
    local names = of_tensors()
    assert(#names > 25, #names)
    assert.are.same({}, missing(names, "t.", "t:"))
    assert.are.same({}, unknown("t[.:]", names))
  end)

  it("names every error code", function()
    local codes = {}
    for code in child.read "src/core/error.h":gmatch 'X%([%u_]+, %-%d+, "([%l_]+)"%)' do codes[#codes + 1] = code end
    assert(#codes > 15, #codes)
    local errors = text:match "\n## Errors\n(.*)$"
    for _, code in ipairs(codes) do
      assert(errors:find("\n| `" .. code .. "` |", 1, true), "no " .. code)
    end
  end)

  it("names every dtype", function()
    assert.are.same({}, missing(require("xchg.dtype").names, ""))
  end)

  it("names what stats and info tell", function()
    assert.are.same({}, missing(public(xchg.stats()), ""))
    assert.are.same({}, missing(public(assert(py.info())), ""))
  end)

  it("names every option", function()
    local t = xchg.zeros(1)
    local np = py.import "numpy"
    local options = { [UNLIKELY] = 1 }
    for _, fn in ipairs {
      function() xchg.zeros(1, options) end,
      function() xchg.from_dlpack(np.zeros(1), options) end,
      function() xchg.from_cai(np.zeros(1), options) end,
      function() t:to("float32", options) end,
      function() t:tostring(options) end,
      function() py.configure(options) end,
    } do
      assert.are.same({}, missing(listed(fn), ""))
    end
    t:release()
  end)
end)
