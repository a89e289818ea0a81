-- Every example runs, checks itself, and prints what its .out file says.
local child = require "spec.support.child"
local lfs = require "lfs"
local masked = require "spec.support.masked"
local cuda_ = require "spec.support.cuda"
local py = require "xchg".python

-- A reader of pictures that has nothing of ours but the file: its parts, their checksums, what zlib makes of the data.
local READ_PNG = [[
import struct, zlib
def read(path):
    with open(path, "rb") as file:
        data = file.read()
    assert data[:8] == b"\x89PNG\r\n\x1a\n", data[:8]
    at, parts = 8, {}
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + size]
        assert struct.unpack(">I", data[at + 8 + size:at + 12 + size])[0] == zlib.crc32(kind + body), kind
        parts[kind] = parts.get(kind, b"") + body
        at += 12 + size
    assert list(parts) == [b"IHDR", b"IDAT", b"IEND"], list(parts)
    width, height, depth, colour, packing, filtering, lacing = struct.unpack(">IIBBBBB", parts[b"IHDR"])
    assert (depth, colour, packing, filtering, lacing) == (8, 0, 0, 0, 0)
    pixels = zlib.decompress(parts[b"IDAT"])
    assert len(pixels) == height * (width + 1) and not any(pixels[::width + 1])
    return width, height, (pixels.count(0) - height) / (width * height)
]]

local LINES = 80
-- What compiles CUDA C++.
local COMPILERS = { "cuda%.compile", "cuda%.elementwise", "cuda%.reduce" }

local function names(suffix)
  local found = {}
  for file in lfs.dir "examples" do
    local name = file:match("^(.+)%" .. suffix .. "$")
    if name then found[#found + 1] = name end
  end
  table.sort(found)
  return found
end

-- On the device of the specs; with a GPU that is not asked for, the simulated one is used all the same.
local function run(name, ...)
  local path = ("%s/examples/%s.lua"):format(child.root, name)
  return child.run(("arg[0] = %q; dofile(arg[0])"):format(path), {
    timeout = 120, args = { ... }, env = cuda_.env { XCHG_SIM_LOG = "/dev/stderr" },
  })
end

local function needs_nvrtc(name)
  local text = child.read("examples/" .. name .. ".lua")
  for _, pattern in ipairs(COMPILERS) do
    if text:find(pattern) then return true end
  end
  return false
end

-- Whether an example can run here; else the test is pending.
local function can_run(name)
  local there, why = cuda_.cuda.nvrtc()
  if not there and needs_nvrtc(name) then
    pending(why)
    return false
  end
  return true
end

-- Which device an example used depends on the machine.
local function normal(text)
  return (("\n" .. masked.text(text)):gsub("\non [^\n]*", "\non DEVICE"):sub(2))
end

describe("the example", function()
  for _, name in ipairs(names ".lua") do
    it(name .. " runs and prints what its .out file says", function()
      if not can_run(name) then return end
      local folder = child.folder()
      local result = run(name, folder .. "/written")
      child.remove(folder)
      assert(result.status == 0, ("status %d\n%s%s"):format(result.status, result.stdout, result.stderr))
      assert.is_nil(result.stderr:match "xchg sim: [^\n]*") -- nothing is wrong with its kernels
      local expected = masked.sections(normal(child.read("examples/" .. name .. ".out")))
      local printed = masked.sections(normal(result.stdout))
      for i, section in ipairs(printed) do
        if section.text:find "^[^\n]* here: skipped\n$" and expected[i] then section.text = expected[i].text end
      end
      assert.are.same(expected, printed)
    end)

    it(name .. " says at its top what it does and how to run it, and is short", function()
      local text = child.read("examples/" .. name .. ".lua")
      assert(text:find("^%-%- %u"), "no head comment")
      assert(text:find('eval "$(make -s env)"; luajit examples/' .. name .. ".lua", 1, true))
      local _, lines = text:gsub("\n", "")
      assert(lines < LINES, lines .. " lines")
    end)
  end

  it("files are all in use", function()
    assert.are.same(names ".lua", names ".out")
  end)

  it("mandelbrot writes a picture that others can read", function()
    if not can_run "mandelbrot" then return end
    local folder = child.folder()
    local file = folder .. "/written.png"
    assert.equal(0, run("mandelbrot", file).status)
    local width, height, dark = py.unpack(py.call(py.get(py.exec(READ_PNG, {}), "read"), file))
    child.remove(folder)
    assert.same({ 240, 160 }, { width, height })
    assert.is_true(dark > 0.2 and dark < 0.24, dark) -- the set has an area of 1.5066 of 3.2 x 2.2
  end)
end)

describe("the simulator's example", function()
  local FOLDER = "examples/simulator/"
  local python = os.getenv "XCHG_PYTHON"

  -- The commands in the comment at its head, but for the one that sets the shell up: what they print, then what the
  -- simulated device reports.
  local function commands(name)
    local found, begun = {}, false
    for line in child.read(FOLDER .. name):gmatch "([^\n]*)\n" do
      local command = line:match "^[-%s]*    (%S.*)$"
      if command and not command:find "^eval " then found[#found + 1] = command end
      begun = begun or command ~= nil
      if begun and not command then break end
    end
    return found
  end

  local function run_commands(name)
    local folder = child.folder()
    local script = { "set -e" }
    for _, command in ipairs(commands(name)) do script[#script + 1] = command end
    child.write(folder .. "/script", table.concat(script, "\n"))
    local command = "XCHG_SIM_LOG=F/log sh F/script >F/out 2>F/err"
    local status = os.execute((command:gsub("F/", folder .. "/")))
    local result = { status = status, stderr = child.read(folder .. "/err"), text = child.read(folder .. "/out") }
    local log = io.open(folder .. "/log")
    if log then
      result.text = result.text .. log:read "*a"
      log:close()
    end
    child.remove(folder)
    return result
  end

  -- LuaJIT answers a number, or true where it was built like Lua 5.2.
  local function succeeds(command)
    local status = os.execute(command .. " >/dev/null 2>&1")
    return status == 0 or status == true
  end

  for name, why in pairs {
    ["sums.lua"] = function() end,
    ["sums.c"] = function() return not succeeds "cc --version" and "no cc here" end,
    ["sums.py"] = function()
      local has = python and succeeds(child.quote(python) .. " -c 'import numba.cuda'")
      return not has and "numba-cuda is not installed"
    end,
  } do
    it(name .. " does what its .out file says, run as its head says", function()
      local reason = why() or child.foreign_refused()
      if reason then
        pending(reason)
        return
      end
      local result = run_commands(name)
      assert(result.status == 0 or result.status == true,
        ("status %s\n%s%s"):format(tostring(result.status), result.text, result.stderr))
      -- numba's names of kernels depend on its version
      assert.are.equal(child.read(FOLDER .. name .. ".out"), (masked.text(result.text):gsub("_ZN[%w_]+", "NAME")))
    end)
  end

  it("has the PTX that its source says", function()
    local text = child.read(FOLDER .. "sums.ptx")
    for _, kernel in ipairs { "sums", "hasty" } do
      assert.truthy(child.read(FOLDER .. "sums.cu"):find("void " .. kernel .. "(", 1, true))
      assert.truthy(text:find(".visible .entry " .. kernel .. "(", 1, true))
    end
  end)
end)

describe("masked output", function()
  it("keeps what does not depend on the machine", function()
    assert.equal("NumPy VERSION at ADDRESS, 1.5 of 2.25\n",
      masked.text("NumPy 2.4.6 at 0x7f0012345678, 1.5 of 2.25  \n\n"))
    assert.equal("examples/a.lua:3: no\n", masked.text(child.root .. "/examples/a.lua:3: no\n"))
    assert.equal("torch VERSION, next\n", masked.text "torch 2.13.0+cpu, next\n")
    assert.equal("Python VERSION\n", masked.text "Python 3.12.1 of /usr, which python3 on PATH names\n")
  end)
end)
