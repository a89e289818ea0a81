-- Where CUDA is looked for, in which order, and why what is there will not do. Each case is a process of its own; the
-- runtime and driver are doubles that only say their version (spec/c/cudart_double.c), or the simulated device.
local child = require "spec.support.child"

local build = os.getenv("XCHG_BUILD") or "build"
if build:sub(1, 1) ~= "/" then build = child.root .. "/" .. build end
local DOUBLE = build .. "/spec/cudart_double.so"

-- What must not come from the machine that runs the specs.
local UNSET = { "XCHG_CUDA", "XCHG_CUDART", "XCHG_CUDA_PATH", "CUDA_HOME", "CUDA_PATH", "CONDA_PREFIX",
  "CUDA_VISIBLE_DEVICES", "VIRTUAL_ENV", "XCHG_SIM_DEVICES", "XCHG_SIM_CHECK", "XCHG_SIM_LOG" }

local TELL = [[
local xchg = require "xchg"
local cuda = xchg.cuda
local library = require "xchg.cuda.library"
local ok, reason = cuda.available()
local ffi = require "ffi"
print(ok, ok and cuda.backend() or reason)
print(ffi.string(library.known.path))
io.write(ffi.string(library.known.report))
]]

-- Runs a script; what it printed, as lines and whole.
local function tell(env, script, options)
  options = options or {}
  local unset = {}
  for _, name in ipairs(UNSET) do
    if env[name] == nil then unset[#unset + 1] = name end
  end
  env.LD_LIBRARY_PATH = env.LD_LIBRARY_PATH or "/no"
  env.XCHG_PYTHON = env.XCHG_PYTHON or "/no/python"
  local result = child.run(script or TELL, { env = env, unset = unset, before = options.before })
  assert.equal("", result.stderr)
  assert.equal(0, result.status)
  local lines = {}
  for line in result.stdout:gmatch "[^\n]*" do
    if line ~= "" then lines[#lines + 1] = line end
  end
  return lines, result.stdout
end

-- Copies the double to a path of a folder, under another SONAME of the same length.
local function install(folder, path, soname)
  local target = folder .. "/" .. path
  assert(os.execute("mkdir -p " .. child.quote(target:match "^(.*)/")) == 0)
  local bytes = child.read(DOUBLE)
  if soname then bytes = bytes:gsub("libcudart%.so%.12", (soname:gsub("%.", "%%."):gsub("%%", ""))) end
  child.write(target, bytes)
  return target
end

local TARGET = jit.arch == "x64" and "x86_64-linux" or "sbsa-linux"
local THIRTEEN, TWELVE = "libcudart.so.13", "libcudart.so.12"

describe("CUDA is looked for", function()
  local folder, driver
  local reason = child.foreign_refused()
  if reason then return pending(reason) end

  setup(function()
    folder = child.folder()
    install(folder, "driver/libcuda.so.1")
    driver = folder .. "/driver"
  end)
  teardown(function() child.remove(folder) end)
  -- Files that are there, variables, the file that must be used ("none" for none) and how it says it was found.
  local CASES = {
    { "in the file that XCHG_CUDART names", { ["a/any.so"] = TWELVE, ["cuda/lib64/" .. THIRTEEN] = THIRTEEN },
      { XCHG_CUDART = "@a/any.so", CUDA_HOME = "@cuda" }, "a/any.so", "XCHG_CUDART" },
    { "below the root that XCHG_CUDA_PATH names", { ["r/lib64/" .. TWELVE] = TWELVE, ["ld/" .. THIRTEEN] = THIRTEEN },
      { XCHG_CUDA_PATH = "@r", LD = "@ld" }, "r/lib64/" .. TWELVE, "XCHG_CUDA_PATH" },
    { "by the loader", { ["ld/" .. TWELVE] = TWELVE, ["r/lib64/" .. THIRTEEN] = THIRTEEN },
      { LD = "@ld", CUDA_HOME = "@r" }, "ld/" .. TWELVE, "the loader" },
    { "by the loader, the newer one first", { ["ld/" .. TWELVE] = TWELVE, ["ld/" .. THIRTEEN] = THIRTEEN },
      { LD = "@ld" }, "ld/" .. THIRTEEN, "the loader" },
    { "by the loader under the name for development", { ["ld/libcudart.so"] = TWELVE }, { LD = "@ld" },
      "ld/libcudart.so", "the loader" },
    { "in CUDA_HOME", { ["r/lib64/" .. TWELVE] = TWELVE, ["s/lib64/" .. TWELVE] = TWELVE },
      { CUDA_HOME = "@r", CUDA_PATH = "@s" }, "r/lib64/" .. TWELVE, "CUDA_HOME" },
    { "in CUDA_PATH", { ["r/targets/" .. TARGET .. "/lib/" .. TWELVE] = TWELVE }, { CUDA_PATH = "@r" },
      "r/targets/" .. TARGET .. "/lib/" .. TWELVE, "CUDA_PATH" },
    { "in a conda environment", { ["r/lib/" .. TWELVE] = TWELVE }, { CONDA_PREFIX = "@r" }, "r/lib/" .. TWELVE,
      "CONDA_PREFIX" },
  }

  local function expand(value, where) return (value:gsub("^@", where .. "/")) end

  for i, case in ipairs(CASES) do
    it(case[1], function()
      local where = folder .. "/case" .. i
      for path, soname in pairs(case[2]) do install(where, path, soname) end
      local env = {}
      for name, value in pairs(case[3]) do env[name] = expand(value, where) end
      env.LD_LIBRARY_PATH = driver .. (env.LD and ":" .. env.LD or "")
      local lines, text = tell(env)
      assert.equal("true\tcuda " .. (case[4]:find(THIRTEEN, 1, true) and "13.0" or "12.4"), lines[1], text)
      assert.equal(where .. "/" .. case[4], lines[2], text)
      assert.truthy(text:find(case[5] .. ": " .. where .. "/" .. case[4] .. " is used\n", 1, true), text)
    end)
  end

  it("in the process before anywhere else", function()
    local where = folder .. "/mapped"
    install(where, "torch/" .. TWELVE)
    install(where, "ld/" .. THIRTEEN, THIRTEEN)
    local lines, text = tell({ LD_LIBRARY_PATH = driver .. ":" .. where .. "/ld" },
      ("mapped = require('ffi').load(%q)\n"):format(where .. "/torch/" .. TWELVE) .. TELL)
    assert.equal(where .. "/torch/" .. TWELVE, lines[2], text)
    assert.truthy(text:find("in the process: " .. where .. "/torch/", 1, true), text)
  end)

  it("in the process, the one first that was first there", function()
    for _, order in ipairs { { TWELVE, THIRTEEN }, { THIRTEEN, TWELVE } } do
      local where = folder .. "/both"
      install(where, TWELVE)
      install(where, THIRTEEN, THIRTEEN)
      local script = ""
      for i, name in ipairs(order) do
        script = script .. ("mapped%d = require('ffi').load(%q)\n"):format(i, where .. "/" .. name)
      end
      local lines, text = tell({ LD_LIBRARY_PATH = driver }, script .. TELL)
      assert.equal(where .. "/" .. order[1], lines[2], text)
    end
  end)

  describe("in wheels", function()
    local python = os.getenv "XCHG_PYTHON"
    if not python then return pending "no Python" end
    local venv, site

    setup(function()
      venv = folder .. "/venv"
      assert(os.execute(child.quote(python) .. " -m venv --without-pip " .. venv) == 0)
      local pipe = io.popen("ls -d " .. venv .. "/lib/python3.*/site-packages")
      site = pipe:read("*l")
      pipe:close()
    end)
    before_each(function()
      if site then os.execute("rm -rf " .. child.quote(site .. "/nvidia")) end
    end)

    for _, layout in ipairs { { "cu13/lib/" .. THIRTEEN, THIRTEEN }, { "cuda_runtime/lib/" .. TWELVE, TWELVE } } do
      it("laid out as " .. layout[1], function()
        local file = install(site, "nvidia/" .. layout[1], layout[2])
        install(folder, "ld/" .. THIRTEEN, THIRTEEN) -- of the loader, whose turn is later
        local env = { LD_LIBRARY_PATH = driver .. ":" .. folder .. "/ld", XCHG_PYTHON = venv .. "/bin/python" }
        local lines, text = tell(env)
        assert.equal(file, lines[2], text)
        assert.truthy(text:find("wheel: " .. file .. " is used\n", 1, true), text)
      end)
    end

    it("does not start Python for it", function()
      install(site, "nvidia/cuda_runtime/lib/" .. TWELVE)
      local _, text = tell({ LD_LIBRARY_PATH = driver, XCHG_PYTHON = venv .. "/bin/python" },
        TELL .. "print(xchg.python.info().started)")
      assert.truthy(text:find("\nfalse\n$"), text)
    end)

    it("does not ask for a Python where a place before has CUDA", function()
      local where = install(folder, "asked/" .. TWELVE)
      local asking = folder .. "/asking"
      child.write(asking, "#!/bin/sh\necho asked >" .. folder .. "/was-asked\n")
      assert(os.execute("chmod +x " .. asking) == 0)
      local lines = tell({ LD_LIBRARY_PATH = driver, XCHG_CUDART = where, XCHG_PYTHON = asking })
      assert.equal(where, lines[2])
      assert.falsy(io.open(folder .. "/was-asked"))
      tell({ LD_LIBRARY_PATH = driver, XCHG_PYTHON = asking }) -- and does where none has
      assert.truthy(io.open(folder .. "/was-asked"))
    end)

    it("goes by sys.path of a Python that runs", function()
      local file = install(folder, "path/nvidia/cuda_runtime/lib/" .. TWELVE)
      local lines, text = tell({ LD_LIBRARY_PATH = driver, XCHG_PYTHON = venv .. "/bin/python" },
        ("require('xchg').python.exec([[import sys; sys.path[:0] = [None, b'x', 'new\\nline', %q] ]])\n")
          :format(folder .. "/path") .. TELL)
      assert.equal(file, lines[2], text)
    end)
  end)

  -- Variables (or a change of the file), what the reason must hold.
  local REFUSALS = {
    { "too old", { DOUBLE_RUNTIME = "11080" }, "is CUDA 11.8; 12.0 or newer is needed" },
    { "no driver", { DOUBLE_COUNT = "35", DOUBLE_DRIVER = "0" }, "finds no NVIDIA driver (libcuda.so.1); install one" },
    { "an old driver", { DOUBLE_RUNTIME = "13000", DOUBLE_DRIVER = "12020" },
      "is CUDA 13.0, and the driver goes up to 12.2; update the driver, or install a CUDA runtime of version 12" },
    { "a stub", { DOUBLE_COUNT = "34" }, "found the stub of libcuda.so.1" },
    { "no device", { DOUBLE_COUNT = "100" }, "finds a driver and no device (cudaErrorNoDevice, 100)" },
    { "devices that are hidden", { DOUBLE_COUNT = "100", CUDA_VISIBLE_DEVICES = "" },
      "CUDA_VISIBLE_DEVICES is ''" },
    { "a driver of two versions", { DOUBLE_COUNT = "803" }, "another version than the kernel's module" },
    { "anything else", { DOUBLE_COUNT = "999" }, "cannot be used: an error of the double's (an error of the double's, 999)" },
    { "a missing function", { rename = "cudaGraphLaunch" }, "says that it is CUDA 12.4 and has no cudaGraphLaunch" },
    { "another library", { rename = "cudaRuntimeGetVersion" }, "is no CUDA runtime: it has no cudaRuntimeGetVersion" },
  }
  for i, row in ipairs(REFUSALS) do
    it("and refused with its reason: " .. row[1], function()
      local file = install(folder, ("refused%d/%s"):format(i, TWELVE))
      local env = { XCHG_CUDART = file, LD_LIBRARY_PATH = driver }
      for name, value in pairs(row[2]) do
        if name == "rename" then
          child.write(file, (child.read(file):gsub(value .. "%z", value:sub(1, -2) .. "#\0")))
        else
          env[name] = value
        end
      end
      local lines, text = tell(env)
      assert.truthy(lines[1]:find("^false\t" .. file:gsub("%p", "%%%0") .. " "), text)
      assert.truthy(lines[1]:find(row[3], 1, true), text)
    end)
  end

  it("and an older one is taken where the driver is too old for the newest", function()
    local where = folder .. "/older"
    install(where, THIRTEEN, THIRTEEN)
    install(where, TWELVE)
    local lines, text = tell { LD_LIBRARY_PATH = driver .. ":" .. where, DOUBLE_DRIVER = "12020" }
    assert.equal("true\tcuda 12.4", lines[1], text)
    assert.equal(where .. "/" .. TWELVE, lines[2], text)
    assert.truthy(text:find("the loader: " .. where .. "/libcudart.so.13 is CUDA 13.0, and the driver goes up to 12.2;", 1,
      true), text)
    assert.truthy(text:find("the loader: " .. where .. "/libcudart.so.12 is used", 1, true), text)
  end)

  it("and is not there: the places are told", function()
    local lines, text = tell({ CUDA_HOME = "/no/home", PATH = os.getenv "PATH" })
    if lines[2]:find "libcudart" or not lines[1]:find "no CUDA runtime" then pending "there is a CUDA on this machine" end
    assert.truthy(lines[1]:find("install one", 1, true), text)
    for _, place in ipairs { "in the process: ", "the loader: ", "CUDA_HOME: no libcudart.so in /no/home",
      "the usual folder: " } do
      assert.truthy(text:find(place, 1, true), place .. " in " .. text)
    end
  end)

  describe("with hostile values:", function()
    local long = "/" .. ("x"):rep(9000)
    local VALUES = {
      { "a folder", "@", "is a folder; name the file in it" },
      { "no file", "/no/such/libcudart.so.12", "cannot be opened: " },
      { "a text", "@text.so", "cannot be opened: " },
      { "an empty file", "@empty.so", "cannot be opened: " },
      { "half of a library", "@half.so", "cannot be opened: it is cut off" },
      { "no text of UTF-8", "/no/\255\254.so", "cannot be opened: " },
      { "a line break", "/no/\n\27[31m.so", "cannot be opened: " },
      { "a long one", long, "cannot be opened: " },
      { "a device", "/dev/null", "cannot be opened: " },
    }
    setup(function()
      child.write(folder .. "/text.so", "#!/bin/sh\nexit 1\n")
      child.write(folder .. "/empty.so", "")
      child.write(folder .. "/half.so", child.read(DOUBLE):sub(1, 3000))
    end)
    for _, row in ipairs(VALUES) do
      it("XCHG_CUDART is " .. row[1], function()
        local lines, text = tell { XCHG_CUDART = expand(row[2], folder) }
        assert.truthy(text:find("^false\t"), text)
        assert.truthy(text:find(row[3], 1, true), text)
        assert.truthy(#text < 2500, "the message is " .. #text .. " bytes long")
        assert.truthy(lines[#lines]:find("XCHG_CUDART: ", 1, true), text)
      end)
      it("XCHG_CUDA_PATH and CUDA_HOME are " .. row[1], function()
        local value = expand(row[2], folder)
        local _, text = tell { XCHG_CUDA_PATH = value }
        assert.truthy(text:find("^false\t"), text)
        assert.truthy(text:find("XCHG_CUDA_PATH: no libcudart.so in ", 1, true), text)
        _, text = tell { CUDA_HOME = value, CUDA_PATH = value, CONDA_PREFIX = value }
        assert.truthy(text:find("CUDA_HOME: no libcudart.so in ", 1, true), text)
      end)
    end

    it("an empty one is none", function()
      local file = install(folder, "plain/" .. TWELVE)
      local lines = tell { XCHG_CUDART = "", XCHG_CUDA_PATH = "", XCHG_CUDA = "", CUDA_HOME = "",
        LD_LIBRARY_PATH = driver .. ":" .. folder .. "/plain" }
      assert.equal(file, lines[2])
    end)

    it("XCHG_CUDA has a value that it does not know", function()
      for value, near in pairs { sm = "; did you mean 'sim'?", ["1"] = "must be real, sim or none",
        ["no\nne"] = "XCHG_CUDA is 'no?ne'", [("y"):rep(5000)] = "yyyy" } do
        local lines = tell { XCHG_CUDA = value }
        assert.truthy(lines[1]:find("^false\tXCHG_CUDA is '"), lines[1])
        assert.truthy(lines[1]:find(near, 1, true), lines[1])
      end
    end)
  end)

  it("once: a failure is remembered, and given again to everything", function()
    local script = [[
      local xchg = require "xchg"
      local cuda = xchg.cuda
      local function told(fn, ...)
        local ok, e = pcall(fn, ...)
        print(ok, e.code, e.message)
      end
      print(cuda.available())
      told(cuda.device_count) told(cuda.device, 0) told(cuda.devices) told(cuda.current_device)
      told(cuda.with_device, 0, print) told(cuda.synchronize) told(cuda.backend)
      told(xchg.empty, { 2 }, { device = "cuda" })
      print(cuda.version, cuda.available())
    ]]
    local _, text = tell({ XCHG_CUDART = "/no/such.so" }, script)
    local _, count = text:gsub("false\tno_cuda\t[%w_.]+: /no/such%.so cannot be opened", "")
    assert.equal(8, count, text)
  end)

  it("at the first use, not at require", function()
    local _, text = tell({ XCHG_CUDART = install(folder, "lazy/" .. TWELVE), LD_LIBRARY_PATH = driver }, [[
      local xchg = require "xchg"
      local function mapped() return (io.open "/proc/self/maps":read "*a":find("libcud", 1, true)) ~= nil end
      print(mapped())
      local cuda = xchg.cuda
      print(mapped())
      print(cuda.available())
      print(mapped())
    ]])
    assert.equal("false\nfalse\ntrue\ntrue\n", text)
  end)

  it("never by XCHG_CUDA=none", function()
    local file = install(folder, "none/" .. TWELVE)
    local lines = tell { XCHG_CUDA = "none", XCHG_CUDART = file, LD_LIBRARY_PATH = driver }
    assert.truthy(lines[1]:find('false\tCUDA is switched off (XCHG_CUDA=none or cuda.use("none"))', 1, true), lines[1])
  end)
end)
