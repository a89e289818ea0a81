-- What the documents say is so: every Lua block in README.md and docs/*.md runs and prints what it claims, every link
-- leads to a file, every command exists.
--
--     ```lua                  a program of its own; its lines are numbered as in the document
--     ```lua continued        goes on where the block before it ended, with its locals
--     ```lua torch            needs these Python modules, else it is skipped
--     ```lua cuda             runs on the simulated device, which has two devices then
--     ```lua nvrtc            and needs the compiler of CUDA C++, else it is skipped
--     ```lua alone            has a process of its own: it loses the device, or forks
--
-- What a block prints stands in a ```text block right after it, or line by line behind `-->` in it.
local child = require "spec.support.child"
local lfs = require "lfs"
local masked = require "spec.support.masked"

-- Words that are no modules.
local WORDS = { continued = true, cuda = true, nvrtc = true, alone = true }

local function documents()
  local found = { "README.md" }
  for file in lfs.dir "docs" do
    if file:find "%.md$" then found[#found + 1] = "docs/" .. file end
  end
  table.sort(found)
  return found
end

---@class docs.Block
---@field language string
---@field words table<string, boolean> what else stands on its first line
---@field line integer of that line
---@field lines string[]
---@field claim string? what it says that it prints

--- The fenced blocks of a document, in order.
---@return docs.Block[]
local function blocks_of(text)
  local blocks, block, line = {}, nil, 0
  local last -- the block that ended, while only blank lines follow
  for content in (text .. "\n"):gmatch "([^\n]*)\n" do
    line = line + 1
    local fence = content:match "^```(.*)$"
    if block and fence then
      if block.language == "text" and last then last.claim = table.concat(block.lines, "\n") .. "\n" end
      last = block.language == "lua" and block or nil
      block = nil
    elseif block then
      block.lines[#block.lines + 1] = content
    elseif fence then
      local language, rest = fence:match "^(%S*)%s*(.*)$"
      block = { language = language, words = {}, line = line, lines = {} }
      for word in rest:gmatch "%S+" do block.words[word] = true end
      blocks[#blocks + 1] = block
    elseif content:find "%S" then
      last = nil
    end
  end
  assert(not block, "a block is not closed")
  for _, each in ipairs(blocks) do
    local claims = {}
    for _, content in ipairs(each.lines) do claims[#claims + 1] = content:match "%-%-> (.*)$" end
    if #claims > 0 then each.claim = table.concat(claims, "\n") .. "\n" end
  end
  return blocks
end

---@class docs.Program
---@field line integer
---@field blocks docs.Block[]
---@field modules string[]
---@field words table<string, boolean>
---@field code string

--- The programs that the Lua blocks make: a block and those that continue it. `mark(n)` stands where block n begins.
---@return docs.Program[]
local function programs_of(text)
  local programs = {}
  for _, block in ipairs(blocks_of(text)) do
    if block.language == "lua" then
      local program = programs[#programs]
      if not block.words.continued then
        program = { line = block.line, blocks = {}, modules = {}, words = {} }
        programs[#programs + 1] = program
      end
      assert(program, "nothing to continue in line " .. block.line)
      program.blocks[#program.blocks + 1] = block
      for word in pairs(block.words) do
        program.words[word] = true
        if not WORDS[word] then program.modules[#program.modules + 1] = word end
      end
    end
  end
  for _, program in ipairs(programs) do
    local lines, at = {}, 0
    for n, block in ipairs(program.blocks) do
      for _ = at + 1, block.line - 1 do lines[#lines + 1] = "" end
      lines[#lines + 1] = ("mark(%d)"):format(n)
      for _, content in ipairs(block.lines) do lines[#lines + 1] = content end
      at = block.line + #block.lines
    end
    program.code = table.concat(lines, "\n")
  end
  return programs
end

-- Runs all programs of a document in one process. "\1" begins a line of our own in its output.
local RUNNER = [[
io.stdout:setvbuf "no"
local py = require "xchg".python
local function say(...) io.stdout:write("\n\1", table.concat({ ... }, " "), "\n") end
local function missing(program)
  for _, name in ipairs(program.modules) do
    if not pcall(py.import, name) then return name end
  end
  if program.nvrtc and not require "xchg".cuda.nvrtc() then return "NVRTC" end
end
for p, program in ipairs(programs) do
  local absent = missing(program)
  if program.skipped then
  elseif absent then
    say("skip", p, absent)
  else
    local environment = setmetatable({ mark = function(n) say("block", p, n) end }, { __index = _G })
    local chunk, problem = loadstring(program.code, "@" .. document)
    if chunk then
      local done, e = xpcall(setfenv(chunk, environment), function(e)
        return type(e) == "string" and debug.traceback(e) or tostring(e)
      end)
      problem = not done and e
    end
    say(problem and "failed" or "ran", p, problem or "")
  end
end
]]

-- What the programs of a process find set.
local function environment_of(programs)
  for _, program in ipairs(programs) do
    if not program.skipped and (program.words.cuda or program.words.nvrtc) then
      return {
        PYTHONUNBUFFERED = "1", XCHG_CUDA = "sim", XCHG_SIM_DEVICES = "2", XCHG_SIM_LOG = "none",
        XCHG_CACHE = child.absolute((os.getenv "XCHG_BUILD" or "build") .. "/cache"),
      }
    end
  end
  return { PYTHONUNBUFFERED = "1" }
end

local function run_process(document, programs, outcomes)
  local script = { "local document, programs = ", ("%q"):format(document), ", {\n" }
  for _, program in ipairs(programs) do
    local modules = {}
    for i, name in ipairs(program.modules) do modules[i] = ("%q"):format(name) end
    script[#script + 1] = ("{ modules = { %s }, nvrtc = %s, skipped = %s, code = %q },\n"):format(
      table.concat(modules, ", "), tostring(program.words.nvrtc or false), tostring(program.skipped or false),
      program.code)
  end
  script[#script + 1] = "}\n" .. RUNNER
  local result = child.run(table.concat(script), { timeout = 300, env = environment_of(programs) })
  local printed = {}
  for word, p, rest in result.stdout:gmatch "\1(%l+) (%d+) ?([^\1]*)" do
    p = tonumber(p)
    printed[p] = printed[p] or {}
    if word == "block" then
      local n, text = rest:match "^(%d+)\n(.*)$"
      printed[p][tonumber(n)] = text
    else
      outcomes[p] = { status = word, problem = rest, printed = printed[p] }
    end
  end
  for p, program in ipairs(programs) do
    outcomes[p] = outcomes[p] or not program.skipped and {
      status = "failed", printed = printed[p] or {},
      problem = ("the process ended with status %d\n%s"):format(result.status, result.stderr),
    } or nil
  end
end

--- Runs a document's programs, in one process but for those that want one alone: for each {status, problem, printed =
--- {text by block}}.
local function run(document, programs)
  local outcomes = {}
  local function process(wanted)
    local any = false
    for _, program in ipairs(programs) do
      program.skipped = not wanted(program)
      any = any or not program.skipped
    end
    if any then run_process(document, programs, outcomes) end
  end
  process(function(program) return not program.words.alone end)
  for _, each in ipairs(programs) do
    if each.words.alone then process(function(program) return program == each end) end
  end
  return outcomes
end

local function normal(text)
  text = masked.text(text)
  return text == "\n" and "" or text
end

for _, document in ipairs(documents()) do
  describe(document, function()
    local programs = programs_of(child.read(document))
    local outcomes
    for p, program in ipairs(programs) do
      it(("does what it says in line %d"):format(program.line), function()
        outcomes = outcomes or run(document, programs)
        local outcome = outcomes[p]
        if outcome.status == "skip" then
          pending("no " .. outcome.problem:match "%S+" .. " here")
          return
        end
        assert(outcome.status == "ran", outcome.problem)
        for n, block in ipairs(program.blocks) do
          assert.are.equal(normal(block.claim or ""), normal(outcome.printed[n] or ""),
            ("the block in line %d prints something else"):format(block.line))
        end
      end)
    end

    it("names only files that are there", function()
      local folder = document:match "^(.*/)" or ""
      for name in child.read(document):gmatch "%]%(([^)#]+)[^)]*%)" do
        if not name:find "^%l+:" then
          assert(lfs.attributes(folder .. name, "mode"), "no " .. folder .. name)
        end
      end
    end)

    it("names only commands that are there", function()
      local makefile, bootstrap = child.read "Makefile", child.read "bootstrap"
      for _, block in ipairs(blocks_of(child.read(document))) do
        for _, content in ipairs(block.language == "sh" and block.lines or {}) do
          local command = content:gsub("#.*$", "")
          local target = command:match "^%s*make%s+(%l[%l%-]*)" or command:match "make %-s (%l+)"
          assert(not target or ("\n" .. makefile):find("\n" .. target:gsub("%-", "%%-") .. "[ %l%-]*:")
            or makefile:find("##" .. target, 1, true), "no make " .. tostring(target))
          local name = command:match "%./bootstrap%s+(%l+)"
          assert(not name or bootstrap:find(name, 1, true), "no ./bootstrap " .. tostring(name))
          local file = command:match "luajit%s+([%w_/]+%.lua)"
          assert(not file or file == "my.lua" or lfs.attributes(file, "mode"), "no " .. tostring(file))
        end
      end
    end)
  end)
end

describe("the reader of documents", function()
  it("finds programs, what continues them, what they need and what they claim", function()
    local programs = programs_of(table.concat({
      "text", "```lua torch", "local a = 1", "print(a)", "```", "", "```text", "1", "```", "more",
      "```lua continued", "print(a + 1) --> 2", "```", "```sh", "ls", "```", "```lua", "f()", "```",
      "but", "```text", "no claim", "```",
    }, "\n"))
    assert.equal(2, #programs)
    assert.are.same({ "torch" }, programs[1].modules)
    assert.equal("1\n", programs[1].blocks[1].claim)
    assert.equal("2\n", programs[1].blocks[2].claim)
    assert.equal("\nmark(1)\nlocal a = 1\nprint(a)\n\n\n\n\n\n\nmark(2)\nprint(a + 1) --> 2", programs[1].code)
    assert.is_nil(programs[2].blocks[1].claim)
  end)

  it("tells what runs, fails and prints apart", function()
    local programs = programs_of(table.concat({
      "```lua", "print 'a'; shared = 1", "```", "```lua", "print 'b'", "error 'no'", "```",
      "```lua xchg_no_such_module", "```", "```lua alone cuda", "print(#arg, shared, os.getenv 'XCHG_CUDA')", "```",
    }, "\n"))
    local outcomes = run("made up", programs)
    assert(outcomes[1].status == "ran", outcomes[1].problem)
    assert.equal("a\n", normal(outcomes[1].printed[1]))
    assert.equal("failed", outcomes[2].status)
    assert.matches("made up:6: no", outcomes[2].problem)
    assert.equal("b\n", normal(outcomes[2].printed[1]))
    assert.equal("skip", outcomes[3].status)
    assert.equal("0 nil sim\n", (normal(outcomes[4].printed[1]):gsub("\t", " ")))
  end)
end)
