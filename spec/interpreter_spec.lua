-- Which Python is found, how it is started, and what it must leave alone. Each case is a process of its own.
local child = require "spec.support.child"
local pythons = require "spec.support.pythons"
local start = require "spec.support.start"

local quote, REPORT, run = child.quote, start.REPORT, start.run
local needs, usable, host = start.needs, start.usable, start.host
local real -- an executable that works, outside of any environment
local folder

local function write_program(name, text)
  local path = folder .. "/" .. name
  child.write(path, text)
  assert(os.execute("chmod +x " .. quote(path)) == 0)
  return path
end

local function empty_folder(name)
  os.execute("mkdir -p " .. quote(folder .. "/" .. name))
  return folder .. "/" .. name
end

local function lines(text)
  local out = {}
  for line in text:gmatch("[^\n]+") do out[#out + 1] = line end
  return out
end

local function fails(options, code, pattern)
  local result = run(REPORT, options)
  assert.equal(3, result.status, result.stderr)
  local said = lines(result.stdout)
  assert.equal(code, said[1], result.stdout)
  assert.truthy(result.stdout:find(pattern, 1, true), result.stdout)
  assert.equal("the same again", said[#said])
  return result.stdout
end

local function works(options, reason)
  local result = run(REPORT, options)
  assert.equal(0, result.status, result.stdout .. result.stderr)
  local said = lines(result.stdout)
  assert.equal(reason, said[1]:match("^(.-)\t"))
  return { version = said[1]:match("\t(.*)"), executable = said[2], prefix = said[3] }
end

describe("Python in the process", function()
  setup(function()
    folder = child.folder()
    local supported = pythons.supported()
    real = supported[#supported] and supported[#supported].executable
  end)

  teardown(function()
    child.remove(folder)
  end)

  describe("that was asked for by name and cannot be used", function()
    -- A program that acts as Python would, with an interpreter whose build says something else.
    local function disguised(shared, library)
      return ([[#!/bin/sh
shift 2
exec %s -I -c '
import builtins, os.path, sys, sysconfig
told = {"Py_ENABLE_SHARED": %d, "LDLIBRARY": "%s"}
sysconfig.get_config_var = told.get
os.path.isfile = lambda path: False
def refuse(*arguments):
    raise OSError()
builtins.open = refuse
exec(sys.argv[1])' "$1"
]]):format(quote(usable()), shared, library)
    end

    local function answering(fields)
      return "#!/bin/sh\nprintf '\\nxchg probe 1\\n" .. fields .. "\\nxchg probe end\\n'\n"
    end

    local cases = {
      { "does not exist", path = "/no/such/python", says = "/no/such/python cannot be run: No such file or directory" },
      { "is a command that PATH has not", path = "no-such-python", says = "no-such-python is not on PATH" },
      { "is a folder", path = "/usr", says = "/usr is a folder; name the executable in it (bin/python)" },
      { "is not executable", text = "#!/bin/sh\n", mode = "-x", says = "cannot be run: Permission denied" },
      { "is no program", text = "\1\2\3", says = "is no program that this system can run" },
      { "lacks its interpreter", text = "#!/no/such/shell\n", says = "cannot be run: No such file or directory" },
      { "prints something else", text = "#!/bin/sh\necho hello\necho world\n", says = "is no Python, it says: hello" },
      { "prints nothing", text = "#!/bin/sh\n", says = "is no Python" },
      { "prints control characters", text = "#!/bin/sh\nprintf '\\033[31mred\\000'\n",
        says = "is no Python, it says: ?[31mred" },
      { "fails", text = "#!/bin/sh\nexit 3\n", says = "failed with status 3" },
      { "fails and says why", text = "#!/bin/sh\necho 'pyenv: no version' >&2\nexit 127\n",
        says = "failed with status 127: pyenv: no version" },
      { "is ended by a signal", text = "#!/bin/sh\nkill -9 $$\n", says = "was ended by signal 9" },
      { "hangs", text = "#!/bin/sh\nsleep 1000\n", timeout = "0.5", says = "gave no answer in 0.5 s" },
      { "hangs after closing its output", text = "#!/bin/sh\nexec >&- 2>&-\nsleep 1000\n", says = "is no Python" },
      { "prints for ever", text = "#!/bin/sh\nexec yes\n", timeout = "0.5", says = "gave no answer in 0.5 s" },
      { "begins an answer and stops", text = "#!/bin/sh\nprintf '\\nxchg probe 1\\nexecutable\\t/x\\n'\n",
        says = "is no Python" },
      { "gives an empty answer", text = answering(""), says = "gave an answer that makes no sense" },
      { "is another Python", text = answering("executable\\t/x\\nxy\\t3.11\\nname\\tpypy\\n"),
        says = "is pypy; CPython is needed" },
      { "has another word size", says = "is a Python of 32 bits, this process has 64",
        text = answering("executable\\t/x\\nxy\\t3.11\\nname\\tcpython\\nbits\\t32\\n") },
      { "names a library that is not there", says = "cannot open shared object file",
        text = answering("executable\\t/x\\nxy\\t3.11\\nversion\\t3.11.0\\nname\\tcpython\\nbits\\t64\\n" ..
          "library\\t/no/libpython3.11.so\\n") },
      { "names a library that is none", says = "/no",
        text = answering("executable\\t/x\\nxy\\t3.11\\nversion\\t3.11.0\\nname\\tcpython\\nbits\\t64\\n" ..
          "library\\t/no/%%s%%n\\n") },
      { "is a static build", text = function() return disguised(0, "libpython3.11.a") end,
        says = "built without a shared library (libpython3.11.a); rebuild it with --enable-shared" },
      { "lacks the package of its library", text = function() return disguised(1, "libpython3.11.so") end,
        says = "without its shared library; install it (Debian, Ubuntu: apt install libpython3." },
    }

    for i, case in ipairs(cases) do
      it(case[1] .. ": an error that says so, and no other Python instead", function()
        local path = case.path
        if not path then
          local text = case.text
          path = write_program("fake" .. i, type(text) == "function" and text() or text)
        end
        if case.mode then
          os.execute("chmod " .. case.mode .. " " .. quote(path))
        end
        local said = fails({ env = { XCHG_PYTHON = path, XCHG_PROBE_TIMEOUT = case.timeout } }, "no_python", case.says)
        assert.truthy(said:find("python: XCHG_PYTHON: " .. path, 1, true) or
          said:find("libpython cannot be opened", 1, true), said)
      end)
    end

    it("is too old: an error that names its version", function()
      local old = pythons.old()
      needs(old[1], "no CPython before 3.10")
      for _, each in ipairs(old) do
        fails({ env = { XCHG_PYTHON = each.executable } }, "unsupported_version",
          "is Python " .. each.version .. "; CPython 3.10 or newer is needed")
      end
    end)

    it("is a library that is none, too old or missing", function()
      fails({ env = { XCHG_LIBPYTHON = "/no/libpython3.11.so" } }, "no_python",
        "python: XCHG_LIBPYTHON: /no/libpython3.11.so cannot be read: No such file or directory")
      fails({ env = { XCHG_LIBPYTHON = "/etc/passwd" } }, "no_python", "/etc/passwd is no libpython")
      local old = pythons.old()
      old = old[#old]
      if old and old.library then
        fails({ env = { XCHG_LIBPYTHON = old.library } }, "unsupported_version", "is Python 3." .. old.minor)
      end
    end)

    it("leaves nothing of a hanging program behind", function()
      local mark = "987" .. math.random(100000, 999999)
      local path = write_program("hanging", "#!/bin/sh\nsleep " .. mark .. " &\nsleep " .. mark .. "\n")
      fails({ env = { XCHG_PYTHON = path, XCHG_PROBE_TIMEOUT = "0.3" } }, "no_python", "gave no answer in 0.3 s")
      local pipe = io.popen("grep -l -a -s " .. mark .. " /proc/[0-9]*/cmdline")
      local alive = pipe:read("*a"):gsub("[^\n]*/self/[^\n]*\n", "")
      pipe:close()
      for path_of in alive:gmatch("[^\n]+") do
        local text = io.open(path_of)
        text = text and text:read("*a") or ""
        assert.falsy(text:find("^sleep"), path_of .. " still sleeps")
      end
    end)
  end)

  describe("that nobody named", function()
    it("is looked for in the environment, then on PATH; the error lists what was tried, and the cure", function()
      local bin = empty_folder("broken")
      write_program("broken/python3", "#!/bin/sh\necho out of order >&2\nexit 1\n")
      local said = fails({ env = { PATH = bin, VIRTUAL_ENV = "/no/environment", CONDA_PREFIX = folder } }, "no_python",
        "python: no Python that can be used was found:\n  VIRTUAL_ENV: has no bin/python\n" ..
        "  CONDA_PREFIX: has no bin/python\n" ..
        "  python3 on PATH: " .. bin .. "/python3 failed with status 1: out of order\n" ..
        "  python on PATH: is not on PATH\nset XCHG_PYTHON to a CPython of 3.10 or newer")
      assert.is_string(said)
    end)

    it("keeps the cure in the message when paths are long", function()
      local name = ("long"):rep(60)
      local deep = empty_folder(name .. "/" .. name)
      write_program(name .. "/" .. name .. "/python3", "#!/bin/sh\nexit 1\n")
      write_program(name .. "/" .. name .. "/python", "#!/bin/sh\nexit 2\n")
      local said = fails({ env = { PATH = deep } }, "no_python", "set XCHG_PYTHON to a CPython of 3.10 or newer")
      assert.truthy(said:find("%.%.%.\n"))
    end)

    it("is VIRTUAL_ENV's, also when PATH does not lead there", function()
      local venv = folder .. "/venv"
      assert.equal(0, os.execute(quote(usable()) .. " -m venv --without-pip " .. quote(venv) .. " >/dev/null"))
      local got = works({ env = { VIRTUAL_ENV = venv } }, "VIRTUAL_ENV")
      assert.equal(venv .. "/bin/python", got.executable)
      assert.equal(venv, got.prefix)
      -- and by name, as a folder or an executable
      got = works({ env = { XCHG_PYTHON = venv .. "/bin/python3" } }, "XCHG_PYTHON")
      assert.equal(venv, got.prefix)
      local result = run(([[
        local py = require("xchg").python
        py.configure{ venv = %q }
        print(py.import("sys").prefix, py.info().reason)]]):format(venv), { env = { VIRTUAL_ENV = "/no" } })
      assert.equal(venv .. "\tpython.configure{venv=}\n", result.stdout, result.stderr)
    end)

    it("is CONDA_PREFIX's", function()
      local python = empty_folder("conda/bin") .. "/python"
      os.execute("ln -sf " .. quote(usable()) .. " " .. quote(python))
      assert.equal(python, works({ env = { CONDA_PREFIX = folder .. "/conda" } }, "CONDA_PREFIX").executable)
    end)

    it("is the first python3 on PATH, be it a script that starts another", function()
      local bin = empty_folder("shims")
      write_program("shims/python3", "#!/bin/sh\necho a word of greeting\necho one more >&2\nexec " ..
        quote(usable()) .. ' "$@"\n')
      assert.equal(real, works({ env = { PATH = bin } }, "python3 on PATH").executable)
    end)

    it("may leave a child that holds its output open", function()
      local path = write_program("lingering", "#!/bin/sh\nsleep 30 &\nexec " .. quote(usable()) ..
        ' "$@"\n')
      local before = os.time()
      works({ env = { XCHG_PYTHON = path } }, "XCHG_PYTHON")
      assert.is_true(os.time() - before < 10)
    end)

    it("is found by name through PATH", function()
      local name = usable():match("[^/]+$")
      works({ env = { XCHG_PYTHON = name, PATH = real:match("^(.*)/") } }, "XCHG_PYTHON")
    end)

    it("is found in an empty environment, in the system's folders", function()
      local system = io.open("/usr/bin/python3")
      if not system then pending("no /usr/bin/python3") end
      system:close()
      local result = run(REPORT, { clean = true })
      if result.stdout:find("apt install") then pending("the system's Python has no shared library") end
      assert.equal(0, result.status, result.stdout .. result.stderr)
      assert.truthy(result.stdout:find("^python3 on PATH"))
    end)

    for what, options in pairs({
      ["ignores SIGCHLD"] = { script = [[
        local ffi = require "ffi"
        ffi.cdef "void (*signal(int, void (*)(int)))(int);"
        ffi.C.signal(17, ffi.cast("void (*)(int)", 1))
      ]] },
      ["takes the status of all children"] = { env = { REAP = "1" }, host = "threads_host" },
      ["has no environment"] = { clean = true },
      ["has no PATH and no HOME"] = { unset = { "PATH", "HOME" } },
    }) do
      it("is asked in a host that " .. what, function()
        local env = { XCHG_PYTHON = usable() }
        for name, value in pairs(options.env or {}) do env[name] = value end
        local result = run((options.script or "") .. REPORT, {
          env = env, clean = options.clean, unset = options.unset,
          command = options.host and { host(options.host), "m" } or nil,
        })
        assert.equal(0, result.status, result.stdout .. result.stderr)
        assert.equal(real, lines(result.stdout)[2])
        if not options.clean then
          -- and a program that fails is no success because nobody knows its status
          env.XCHG_PYTHON = write_program("failing", "#!/bin/sh\nexit 3\n")
          result = run((options.script or "") .. REPORT, {
            env = env, unset = options.unset, command = options.host and { host(options.host), "m" } or nil,
          })
          assert.truthy(result.stdout:find("python: XCHG_PYTHON: " .. env.XCHG_PYTHON, 1, true), result.stdout)
        end
      end)
    end
  end)

  describe("once chosen", function()
    it("is not started, opened or looked for by require", function()
      local result = run([[
        local xchg = require "xchg"
        local t = xchg.zeros({ 3 })
        for line in io.lines("/proc/self/maps") do assert(not line:find("libpython"), line) end
        print(#t)]], { env = { XCHG_PYTHON = write_program("never", "#!/bin/sh\ntouch " .. folder .. "/was-run\n") } })
      assert.equal("3\n", result.stdout, result.stderr)
      assert.is_nil(io.open(folder .. "/was-run"))
    end)

    it("runs in the same binary, loads its extension modules and speaks UTF-8 in any locale", function()
      local supported = pythons.supported()
      usable()
      for _, each in ipairs(supported) do
        for _, locale in ipairs({ "C", "POSIX", "C.UTF-8" }) do
          local result = run([[
            local py = require("xchg").python
            py.exec "import _json, _ctypes, math, _struct, sys, os, locale"
            print(py.info().version, py.eval "sys.version.split()[0]")
            io.stdout:flush()
            py.exec "print('é', sys.stdout.encoding, sys.getfilesystemencoding())"
            py.exec "print(os.environ.get('LC_CTYPE'), os.environ['LC_ALL'])"
          ]], {
            env = { XCHG_PYTHON = each.executable, LC_ALL = locale },
            unset = { "LC_CTYPE", "PYTHONUTF8", "PYTHONIOENCODING" },
          })
          assert.equal(0, result.status, result.stderr)
          assert.equal(("%s\t%s\né utf-8 utf-8\nNone %s\n"):format(each.version, each.version, locale), result.stdout)
        end
      end
    end)

    it("is not misled by PYTHONHOME, which children still see", function()
      for _, each in ipairs(pythons.supported()) do
        local other = pythons.all()[1].executable:gsub("/bin/[^/]+$", "")
        for _, home in ipairs({ "/no/such/home", other }) do
          local result = run([[
            local py = require("xchg").python
            py.exec "import sys, _json, json"
            print(py.eval "json.__file__", os.getenv("PYTHONHOME"))
          ]], { env = { XCHG_PYTHON = each.executable, PYTHONHOME = home } })
          assert.equal(0, result.status, result.stderr)
          local prefix = each.executable:gsub("/bin/[^/]+$", "")
          assert.equal(("%s/lib/python3.%d/json/__init__.py\t%s\n"):format(prefix, each.minor, home), result.stdout)
        end
      end
    end)

    it("takes argv, and a home that is wrong is an error, remembered, in a process that lives", function()
      local env = { XCHG_PYTHON = usable() }
      local result = run([[
        local py = require("xchg").python
        py.configure{ argv = { "me", "é", "" } }
        print(py.repr(py.import("sys").argv))
        print(select(2, pcall(py.configure, { argv = {} })).code)]], { env = env })
      assert.equal("['me', 'é', '']\nbad_argument\n", result.stdout, result.stderr)

      result = run([[
        local py = require("xchg").python
        py.configure{ home = "/no/such/home" }
        pcall(py.eval, "1")
        local ok, e = pcall(py.configure, { home = "" })
        assert(not ok and e.code == "bad_argument", e.code)
        assert(e.message:find("too late, after: python: .*could not start"), e.message)
      ]] .. REPORT, { env = env })
      assert.equal(3, result.status, result.stderr)
      local said = lines(result.stdout)
      assert.equal("no_python", said[1])
      assert.truthy(said[2]:find("could not start: .*this process cannot try again"), said[2])
      assert.equal("the same again", said[#said])
    end)

    it("may be configured again after it was not found", function()
      local result = run(([[
        local py = require("xchg").python
        local info, why = py.info()
        assert(info == nil and why:find("/no/such/python", 1, true), why)
        assert(not pcall(py.eval, "1"))
        py.configure{ python = %q }
        print(py.eval "1 + 1", py.info().reason)]]):format(usable()), { env = { XCHG_PYTHON = "/no/such/python" } })
      assert.equal("2\tpython.configure{python=}\n", result.stdout, result.stderr)
    end)

    it("is used with XCHG_LIBPYTHON, alone or beside XCHG_PYTHON, when they fit", function()
      local supported = pythons.supported()
      local first, last = supported[1], supported[#supported]
      usable()
      local bin = empty_folder("of-library") -- alone: with the first Python on PATH that fits, else with what it finds itself
      assert.equal(first.version, works({ env = { XCHG_LIBPYTHON = first.library, PATH = bin } }, "XCHG_LIBPYTHON").version)
      os.execute("ln -s " .. quote(first.executable) .. " " .. quote(bin .. "/python3"))
      local got = works({ env = { XCHG_LIBPYTHON = first.library, PATH = bin } }, "python3 on PATH")
      assert.equal(bin .. "/python3", got.executable)
      works({ env = { XCHG_LIBPYTHON = last.library, XCHG_PYTHON = last.executable } }, "XCHG_PYTHON")
      if first ~= last then
        fails({ env = { XCHG_LIBPYTHON = first.library, XCHG_PYTHON = last.executable } }, "no_python",
          ("is Python %s, but %s is a 3.%d"):format(last.version, first.library, first.minor))
      end
    end)
  end)

  describe("beside what the host set", function()
    local SIGNALS = [[
      local ffi = require "ffi"
      ffi.cdef [=[
        void (*signal(int, void (*)(int)))(int);
        int sigaction(int, const void *, void *);
        int getpid(void); int kill(int, int);
      ]=]
      local INT, PIPE, XFSZ = 2, 13, 25
      local function handler(number)
        local action = ffi.new("uintptr_t[32]")
        assert(ffi.C.sigaction(number, nil, action) == 0)
        return tonumber(action[0])
      end
      local function set(number, value) ffi.C.signal(number, ffi.cast("void (*)(int)", value)) end
      local py = require("xchg").python
    ]]

    local function signals(script)
      local result = run(SIGNALS .. script, { env = { XCHG_PYTHON = usable() } })
      assert.equal(0, result.status, result.stderr)
      return result.stdout
    end

    it("handlers stay what they were", function()
      assert.equal("same\n", signals [[
        local mine = tonumber(ffi.cast("uintptr_t", ffi.C.getpid))
        set(INT, mine) set(PIPE, mine) set(XFSZ, mine)
        py.exec "import signal"
        print(handler(INT) == mine and handler(PIPE) == mine and handler(XFSZ) == mine and "same")]])
      assert.equal("same\n", signals [[
        set(INT, 1) set(PIPE, 1)
        py.exec "import signal"
        print(handler(INT) == 1 and handler(PIPE) == 1 and handler(XFSZ) == 0 and "same")]])
    end)

    it("a default SIGINT stays the default, and Python knows", function()
      assert.equal("0\tTrue\n", signals [[
        set(INT, 0)
        py.exec "import signal"
        print(handler(INT), py.repr(py.eval "signal.getsignal(signal.SIGINT) is signal.SIG_DFL"))]])
    end)

    it("SIGINT becomes KeyboardInterrupt where that was asked for", function()
      assert.equal("KeyboardInterrupt\n", signals [[
        py.configure{ sigint = true }
        py.exec "import os, signal, time"
        local ok, e = pcall(py.exec, "os.kill(os.getpid(), signal.SIGINT)\ntime.sleep(5)")
        print(not ok and e.type)]])
    end)

    it("a default SIGPIPE is ignored, so that a closed pipe is an exception; or left alone on request", function()
      local script = [[
        set(PIPE, 0)
        %s
        local ok, e = pcall(py.exec, "import os\nr, w = os.pipe()\nos.close(r)\nos.write(w, b'x')")
        print(not ok and e.type)]]
      assert.equal("BrokenPipeError\n", signals(script:format("")))
      local result = run(SIGNALS .. script:format("py.configure{ sigpipe = false }"), { env = { XCHG_PYTHON = real } })
      assert.equal(13, result.signal)
    end)
  end)
end)
