-- docs/api.md names everything public, and nothing that is not there.
local child = require "spec.support.child"
local cuda = require("spec.support.cuda").cuda
local members = require "spec.support.members"
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

  it("names what xchg.cuda has, and no more", function()
    assert.is_table(cuda.sim)
    assert.is_string(cuda.version)
    local names = public(cuda)
    names[#names + 1] = "version"
    assert.are.same({}, missing(names, "cuda."))
    assert.are.same({}, unknown("cuda%.", names))
  end)

  it("names what steers the simulated device, and no more", function()
    local known = cuda.sim
    for name in pairs(known) do assert(text:find("`cuda.sim." .. name .. "(", 1, true), name) end
    for name in text:gmatch "`cuda%.sim%.([%a_]+)" do assert.is_function(known[name]) end
  end)

  it("names the methods and fields of what xchg.cuda makes, and no more", function()
    local all = members.all()
    for kind, prefix in pairs {
      stream = "s", event = "event", graph = "graph", kernel = "k", program = "program", device = "d",
    } do
      assert.are.same({}, missing(all[kind].methods, prefix .. ":"), kind)
      assert.are.same({}, missing(all[kind].fields, prefix .. "."), kind)
      assert.are.same({}, unknown(prefix .. ":", all[kind].methods), kind)
      local fields = unknown(prefix .. "%.", all[kind].fields)
      assert.are.same(kind == "program" and { "NAME" } or {}, fields, kind)
    end
  end)

  it("names what kernels and the memory of a device tell", function()
    local kernel = cuda.load(".version 8.0\n.target sm_50\n.address_size 64\n.visible .entry a() { ret; }").a
    for _, told in ipairs { kernel.attributes, kernel:occupancy(32), cuda.memory() } do
      assert.are.same({}, missing(public(told), ""))
    end
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
      function() xchg.from_buffer(np.zeros(1), options) end,
      function() xchg.asarray(np.zeros(1), options) end,
      function() xchg.into(t, np.zeros(1), options) end,
      function() t:to("float32", options) end,
      function() t:tostring(options) end,
      function() py.configure(options) end,
      function() cuda.compile("", options) end,
      function() cuda.load(".version 8.0\n", options) end,
      function() cuda.stream(options) end,
      function() cuda.external_stream(1, options) end,
      function() cuda.event(options) end,
      function() cuda.graph(function() end, options) end,
      function() cuda.elementwise("float x", "float y", "y = x", options) end,
      function() cuda.reduce("float x -> x", "a + b", 0, options) end,
      function() cuda.elementwise("float x", "float y", "y = x")(t, options) end,
      function() cuda.reduce("float x -> x", "a + b", 0)(t, options) end,
      function() t:copy_(t, options) end,
      function() require("xchg.cuda.configuration").configure("launch", nil, {}, options, 0) end,
    } do
      assert.are.same({}, missing(listed(fn), ""))
    end
    t:release()
  end)
end)
