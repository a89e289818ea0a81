-- The command `xchg sim`: leads a program to the simulated CUDA device, and says why where it cannot.
local child = require "spec.support.child"

local BIN = child.root .. "/bin/xchg"

-- Runs the command line `words` (shell text behind `xchg`) with a cache folder of its own.
local function xchg(words, environment)
  local folder = child.folder()
  local set = { "XDG_CACHE_HOME=" .. folder .. "/cache" }
  for name, value in pairs(environment or {}) do
    set[#set + 1] = name .. "=" .. child.quote((value:gsub("FOLDER", folder)))
  end
  local out, err = folder .. "/out", folder .. "/err"
  local command = ("env -u LD_PRELOAD -u XCHG_SIM_DIR %s luajit %s %s >%s 2>%s; echo $?"):format(table.concat(set, " "),
    child.quote(BIN), words, out, err)
  local pipe = assert(io.popen(command))
  local status = tonumber(pipe:read("*a"))
  pipe:close()
  local result = { status = status, stdout = child.read(out), stderr = child.read(err), folder = folder }
  return result, function() child.remove(folder) end
end

describe("xchg sim", function()
  it("env prints shell lines that lead to a folder of links with the names that programs look for", function()
    local result, done = xchg "sim env"
    assert.equal(0, result.status, result.stderr)
    local folder = result.stdout:match "export XCHG_SIM_DIR='([^']+)'"
    assert.equal(result.folder .. "/cache/xchg/", folder:match "^(.*/)sim%-%x+$")
    assert.truthy(result.stdout:find("export XCHG_CUDA='sim'\n", 1, true))
    assert.truthy(result.stdout:find("export LD_LIBRARY_PATH='" .. folder, 1, true))
    local preload = result.stdout:match "export LD_PRELOAD='([^']+)'"
    for path in preload:gmatch "[^:]+" do assert.truthy(io.open(path, "rb"), path) end
    for _, name in ipairs { "libcuda.so.1", "libcudart.so.12", "libcudart.so.13", "libnvJitLink.so.13" } do
      local file = assert(io.open(folder .. "/" .. name, "rb"), name)
      file:close()
    end
    done()
  end)

  it("env keeps what the user had, once", function()
    local result, done = xchg("sim env", { LD_LIBRARY_PATH = "/usr/lib/mine" })
    assert.truthy(result.stdout:find("LD_LIBRARY_PATH='[^':]+:/usr/lib/mine'"), result.stdout)
    done()
  end)

  it("env quotes for the shell", function()
    local result, done = xchg("sim env", { XCHG_SIM_DIR = "FOLDER/it's" })
    assert.equal(0, result.status, result.stderr)
    assert.truthy(result.stdout:find([[/it'\''s']], 1, true), result.stdout)
    done()
  end)

  it("run gives a program the simulated device, its arguments and its own status", function()
    if child.foreign_refused() then pending(child.foreign_refused()) end
    local script = ([[local ffi = require 'ffi'; ffi.cdef 'int cudaGetDeviceCount(int *);'
      local n = ffi.new 'int[1]'; ffi.load('libcudart.so.13').cudaGetDeviceCount(n)
      print(n[0], ...); os.exit(7)]]):gsub("\n%s*", " ")
    local result, done = xchg("sim run luajit -e " .. child.quote(script), { XCHG_SIM_DEVICES = "3" })
    assert.equal(7, result.status, result.stderr)
    assert.truthy(result.stdout:find "^3")
    done()
  end)

  it("is refused in a process that has another driver, whose path it names", function()
    local folder = child.folder()
    local other = folder .. "/libother.so"
    assert.equal(0, os.execute(("%s -shared -Wl,-soname,libcuda.so.1 -x c /dev/null -o %s"):format(os.getenv "CC" or "cc",
      other)))
    local script = ([[local ffi = require 'ffi'; ffi.cdef 'int cudaGetDeviceCount(int *);'
      local other, n = ffi.load '%s', ffi.new 'int[1]'
      print(ffi.load('%s/xchg/sim.so').cudaGetDeviceCount(n), n[0])]]):gsub("\n%s*", " "):format(other,
      child.absolute((os.getenv "XCHG_BUILD" or "build") .. "/x"):match "^(.*)/x$")
    local result, done = xchg("info >/dev/null; luajit -e " .. child.quote(script))
    assert.truthy(result.stdout:find "^3\t0", result.stdout .. result.stderr)
    assert.truthy(result.stderr:find(other .. " is loaded in this process", 1, true), result.stderr)
    done()
    child.remove(folder)
  end)

  for _, row in ipairs {
    { "a program that is not there", "sim run /no/such/program", 127, "sim run: /no/such/program: No such file" },
    { "no program", "sim run", 2, "usage:" },
    { "an unknown word", "sim stop", 2, "usage:" },
    { "no word", "sim", 2, "usage:" },
    { "a folder that is not absolute", "sim env", 1, "XCHG_SIM_DIR=here must begin with /", { XCHG_SIM_DIR = "here" } },
    { "a folder that the loader would cut", "sim env", 1, "XCHG_SIM_DIR to another", { XCHG_SIM_DIR = "/tmp/a b" } },
    { "a folder that cannot be made", "sim env", 1, "cannot be made", { XCHG_SIM_DIR = "/proc/nowhere" } },
    { "no place for the folder", "sim env", 1, "set XCHG_SIM_DIR", { XDG_CACHE_HOME = "", HOME = "" } },
  } do
    it("refuses " .. row[1], function()
      if row[2]:find "sim run /" and child.foreign_refused() then pending(child.foreign_refused()) end
      local result, done = xchg(row[2], row[5])
      assert.equal(row[3], result.status, result.stderr)
      assert.truthy(result.stderr:find(row[4], 1, true), result.stderr)
      assert.equal("", result.stdout)
      done()
    end)
  end
end)
