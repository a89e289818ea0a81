-- The command `xchg info`: never fails, whatever is broken, and gives no home folder away.
local child = require "spec.support.child"
local pythons = require "spec.support.pythons"

local BIN = child.root .. "/bin/xchg"

-- Runs the command; the library is found by the command itself, not by LUA_PATH.
local function xchg(arguments, options)
  options = options or {}
  local words = {}
  for i, word in ipairs(arguments) do words[i] = ("%q"):format(word) end
  options.unset = options.unset or {}
  for _, name in ipairs({ "LUA_PATH", "LUA_CPATH" }) do table.insert(options.unset, name) end
  local script = ("arg = { [0] = %q, %s } dofile(arg[0])"):format(options.bin or BIN, table.concat(words, ", "))
  return child.run(script, options)
end

-- Python's parser is the judge of our JSON; gives its text back with sorted keys on one line.
local function parsed(text)
  local folder = child.folder()
  child.write(folder .. "/report.json", text)
  local python = pythons.all()[1]
  if not python then pending("no Python to parse JSON with") end
  local pipe = io.popen(child.quote(python.executable) ..
    [[ -c 'import json, sys; print(json.dumps(json.load(open(sys.argv[1], encoding="utf-8")), sort_keys=True))' ]] ..
    folder .. "/report.json 2>&1")
  local out = pipe:read("*a")
  pipe:close()
  child.remove(folder)
  return out
end

describe("xchg info", function()
  it("says what was found and why", function()
    local result = xchg { "info" }
    assert.equal(0, result.status, result.stderr)
    assert.equal("", result.stderr)
    for _, part in ipairs({ "xchg %d+%.%d+%.%d+\n", "core        [^\n]*core%.so %(ABI %d+%)\n",
      "luajit      LuaJIT 2%.1", "GC64, compiler on\n", "system      Linux", "Python 3%.%d+%.%d+, ",
      "executable  /?", "library     ",
      "looked at   [^\n]* is used\n" }) do
      assert.truthy(result.stdout:find(part), part .. " in " .. result.stdout)
    end
  end)

  it("measures what NumPy gives", function()
    local result = xchg { "info" }
    if not result.stdout:find("\n  numpy ") then pending("no numpy in this Python") end
    assert.truthy(result.stdout:find("numpy       %d[^\n]*capsules dltensor, %S+; exchange API %S+; " ..
      "from_dlpack: dlpack, writable\n"), result.stdout)
  end)

  it("imports torch and jax only when asked", function()
    local quick, deep = xchg({ "info" }).stdout, xchg({ "info", "--deep" }).stdout
    local found
    for _, name in ipairs({ "torch", "jax" }) do
      if quick:find("\n  " .. name .. " ") then
        found = true
        assert.falsy(quick:find("\n  " .. name .. " [^\n]*capsules"), quick)
        assert.truthy(deep:find("\n  " .. name .. " [^\n]*capsules [^\n]*from_dlpack: "), deep)
      end
    end
    if not found then pending("neither torch nor jax in this Python") end
    if deep:find("\n  jax ") then assert.truthy(deep:find("\n  jax [^\n]*read%-only\n"), deep) end
  end)

  it("says which CUDA there is", function()
    local result = xchg({ "info" }, { env = { XCHG_CUDA = "sim", XCHG_SIM_DEVICES = "2",
      XCHG_SIM_CC = "8.6", XCHG_CACHE = child.root } })
    assert.equal(0, result.status, result.stderr)
    assert.equal("", result.stderr)
    for _, part in ipairs({ "\nCUDA: sim %(the simulated device%)\n", "\n  runtime     [^\n]*/xchg/sim%.so %(%d+%.%d%)\n",
      "\n  driver      [^\n]*/xchg/sim%.so %(%d+%.%d%)\n",
      "\n  cuda:0      Simulated CUDA device %(sm_86%), compute capability 8%.6, 4 multiprocessors, 8%.0 GiB, 0000:01:00%.0\n",
      "\n  cuda:1      Simulated CUDA device", "\n  nvrtc       [^\n]+\n", "\n  XCHG_CUDA   sim\n", "\n  kernels in  [/~]" }) do
      assert.truthy(result.stdout:find(part), part .. " in " .. result.stdout)
    end
    local text = parsed(xchg({ "info", "--json" }, { env = { XCHG_CUDA = "sim" } }).stdout)
    assert.truthy(text:find('"backend": "sim (the simulated device)"', 1, true), text)
    assert.truthy(text:find('"device": "cuda:0"', 1, true), text)
    assert.truthy(text:find('"simulated": true', 1, true), text)
  end)

  it("says why there is no CUDA, and where it looked", function()
    for value, reason in pairs { ["/no/such\n\255"] = "/no/such?\255 cannot be opened: ", ["/"] = "/ is a folder; name" } do
      local options = { env = { XCHG_CUDART = value }, unset = { "XCHG_CUDA" } }
      local result = xchg({ "info" }, options)
      assert.equal(0, result.status, result.stderr)
      assert.truthy(result.stdout:find("\nCUDA: none\n  error       " .. reason, 1, true), result.stdout)
      assert.truthy(result.stdout:find("\n  looked at   XCHG_CUDART: " .. reason, 1, true), result.stdout)
      assert.falsy(result.stdout:find("[%z\1-\9\11-\31]"), result.stdout)
      local text = parsed(xchg({ "info", "--json" }, options).stdout)
      assert.truthy(text:find('"cuda": {[^{}]*"error": "/'), text)
    end
    local result = xchg({ "info" }, { env = { XCHG_CUDA = "none" } })
    assert.truthy(result.stdout:find("\nCUDA: none\n  error       CUDA is switched off", 1, true), result.stdout)
    result = xchg({ "info" }, { env = { XCHG_CUDA = "sim", XCHG_SIM_DEVICES = "x", XCHG_SIM_LOG = "none" } })
    assert.equal(0, result.status, result.stderr)
    assert.truthy(result.stdout:find("\nCUDA: none\n  error       the simulated device cannot be initialised: ", 1, true),
      result.stdout)
  end)

  it("gives JSON to programs", function()
    local result = xchg { "info", "--json" }
    assert.equal(0, result.status, result.stderr)
    local text = parsed(result.stdout)
    assert.truthy(text:find('"luajit": {', 1, true), text)
    assert.truthy(text:find('"python": {', 1, true), text)
    assert.truthy(text:find('"gc64": true', 1, true), text)
  end)

  it("gives JSON that parses, whatever bytes a path has", function()
    for _, path in ipairs({ "/no/\255\254", "/no/\"quote\\", "/no/\n\t\27[31m", "/no/é€😀", "/no/\237\160\128" }) do
      local result = xchg({ "info", "--json" }, { env = { XCHG_PYTHON = path } })
      assert.equal(0, result.status, result.stderr)
      assert.truthy(parsed(result.stdout):find('"XCHG_PYTHON": "/no/', 1, true), result.stdout)
      result = xchg({ "info" }, { env = { XCHG_PYTHON = path } })
      assert.equal(0, result.status, result.stderr)
      assert.falsy(result.stdout:find("[%z\1-\9\11-\31]"), result.stdout)
    end
  end)

  it("ends well without Python, and says what was tried", function()
    local result = xchg({ "info" }, { env = { XCHG_PYTHON = "/no/such/python" } })
    assert.equal(0, result.status, result.stderr)
    assert.truthy(result.stdout:find("\nPython: none\n" ..
      "  error       python: XCHG_PYTHON: /no/such/python cannot be run", 1, true), result.stdout)
    result = xchg({ "info" }, { env = { PATH = "/no" }, unset = { "XCHG_PYTHON", "VIRTUAL_ENV", "CONDA_PREFIX" } })
    assert.equal(0, result.status, result.stderr)
    assert.truthy(result.stdout:find("python3 on PATH: is not on PATH", 1, true), result.stdout)
  end)

  it("ends well without its core", function()
    local result = xchg({ "info" }, { env = { XCHG_BUILD = "/no/such/build", PATH = "/no" } })
    assert.equal(0, result.status, result.stderr)
    assert.truthy(result.stdout:find("xchg (cannot be loaded)\n  error ", 1, true), result.stdout)
    assert.truthy(parsed(xchg({ "info", "--json" }, { env = { XCHG_BUILD = "/no/such/build" } }).stdout)
      :find('"error": ', 1, true))
  end)

  it("writes ~ for the home folder, unless told otherwise", function()
    local function said(home, ...)
      return xchg({ "info", ... }, { env = { HOME = home, XCHG_PYTHON = "/home/ann/bin/python" } }).stdout
    end
    assert.falsy(said("/home/ann"):find("/home/ann", 1, true))
    assert.truthy(said("/home/ann/"):find("XCHG_PYTHON ~/bin/python", 1, true))
    assert.falsy(said("/home/ann", "--json"):find("/home/ann", 1, true))
    assert.truthy(said("/home/ann", "--verbose"):find("XCHG_PYTHON /home/ann/bin/python", 1, true))
    assert.truthy(said("/home/an"):find("XCHG_PYTHON /home/ann/bin/python", 1, true))
    assert.truthy(said("/"):find("XCHG_PYTHON /home/ann/bin/python", 1, true))
    assert.truthy(said(""):find("XCHG_PYTHON /home/ann/bin/python", 1, true))
  end)

  it("finds its own tree through links, in a checkout and where it was installed", function()
    local folder = child.folder()
    finally(function() child.remove(folder) end)
    local build = os.getenv("XCHG_BUILD") or "build"
    local core = (build:sub(1, 1) == "/" and build or child.root .. "/" .. build) .. "/xchg/core.so"
    assert(os.execute(([[
      cd %s && mkdir -p tree/bin tree/share/lua/5.1 tree/lib/lua/5.1/xchg links &&
      cp %s tree/bin/xchg && cp -r %s/lua/xchg tree/share/lua/5.1/ && cp %s tree/lib/lua/5.1/xchg/core.so &&
      ln -s ../tree/bin/xchg links/installed && ln -s %s links/checkout
    ]]):format(folder, BIN, child.root, core, BIN)) == 0)
    local result = xchg({ "info", "--verbose" }, { bin = folder .. "/links/installed" })
    assert.truthy(result.stdout:find("core        " .. folder .. "/tree/lib/lua/5.1/xchg/core.so", 1, true),
      result.stdout .. result.stderr)
    result = xchg({ "info", "--verbose" }, { bin = folder .. "/links/checkout" })
    assert.truthy(result.stdout:find("core        " .. core, 1, true), result.stdout .. result.stderr)
  end)

  it("runs as a program", function()
    local pipe = io.popen("cd / && " .. child.quote(BIN) .. " info; echo status $?")
    local text = pipe:read("*a")
    pipe:close()
    assert.truthy(text:find("^xchg %d"), text)
    assert.truthy(text:find("\nstatus 0\n$"), text)
  end)

  it("answers what it does not understand with its usage and status 2", function()
    for _, arguments in ipairs({ {}, { "inform" }, { "info", "--jsno" }, { "info", "json" }, { "--json" } }) do
      local result = xchg(arguments)
      assert.equal(2, result.status)
      assert.equal("", result.stdout)
      assert.truthy(result.stderr:find("^xchg: n[^\n]*\nusage: xchg info"), result.stderr)
    end
    local result = xchg { "--help" }
    assert.equal(0, result.status)
    assert.truthy(result.stdout:find("^usage: xchg info"))
  end)
end)
