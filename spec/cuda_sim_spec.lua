-- The simulated device as the CUDA of a process: how it is chosen, who else finds it, and cuda.sim, which steers it.
local child = require "spec.support.child"
local cuda_ = require "spec.support.cuda"
local raises = require "spec.support.raises"

local cuda = cuda_.cuda

local build = os.getenv("XCHG_BUILD") or "build"
if build:sub(1, 1) ~= "/" then build = child.root .. "/" .. build end
local SIMULATOR, DOUBLE = build .. "/xchg/sim.so", build .. "/spec/cudart_double.so"

local CLEAN = { "XCHG_CUDA", "XCHG_CUDART", "XCHG_CUDA_PATH", "LD_LIBRARY_PATH", "XCHG_SIM_DEVICES",
  "XCHG_SIM_CHECK", "XCHG_SIM_LOG", "XCHG_SIM_SCHEDULE" }

local function run(script, env, options)
  options = options or {}
  options.env, options.unset = env or {}, {}
  for _, name in ipairs(CLEAN) do
    if options.env[name] == nil then table.insert(options.unset, name) end
  end
  local result = child.run(script, options)
  assert.equal("", result.stderr)
  assert.equal(0, result.status, result.stdout)
  return result.stdout
end

-- What a program that looks for CUDA by name finds.
local LOOK = [[
local ffi = require "ffi"
ffi.cdef "void *dlopen(const char *, int); void *dlsym(void *, const char *);"
local function look()
  for _, name in ipairs { "libcuda.so.1", "libcudart.so.12", "libcudart.so.13", "libnvJitLink.so.12",
    "libnvJitLink.so.13" } do
    local handle = ffi.C.dlopen(name, 6) -- RTLD_NOW | RTLD_NOLOAD
    print(name, handle ~= nil, handle ~= nil and ffi.C.dlsym(handle, "xsim_version") ~= nil)
  end
end
]]
local FOUND = "libcuda.so.1\ttrue\ttrue\nlibcudart.so.12\ttrue\ttrue\nlibcudart.so.13\ttrue\ttrue\n"
  .. "libnvJitLink.so.12\ttrue\tfalse\nlibnvJitLink.so.13\ttrue\tfalse\n"
local NOT_FOUND = "libcuda.so.1\tfalse\tfalse\nlibcudart.so.12\tfalse\tfalse\nlibcudart.so.13\tfalse\tfalse\n"
  .. "libnvJitLink.so.12\tfalse\tfalse\nlibnvJitLink.so.13\tfalse\tfalse\n"

describe("the simulated device is the CUDA of a process", function()
  it("by XCHG_CUDA=sim, from require on, for whoever looks for CUDA by name", function()
    assert.equal(FOUND .. "0\n", run(LOOK .. [[
      require "xchg"
      look()
      print(require("xchg.cuda.library").known.state) -- opened by nobody yet
    ]], { XCHG_CUDA = "sim" }))
  end)

  it("by cuda.use, later", function()
    assert.equal(NOT_FOUND .. FOUND .. "true\nsim\n", run(LOOK .. [[
      local cuda = require("xchg").cuda
      look()
      cuda.use "sim"
      cuda.use "sim"
      look()
      print(cuda.available())
      print(cuda.backend())
    ]]))
  end)

  it("by cuda.use after a real one was looked for in vain", function()
    local text = run(LOOK .. [[
      local xchg = require "xchg"
      local cuda = xchg.cuda
      print((cuda.available()))
      cuda.use "sim"
      print(cuda.available())
      print(cuda.backend(), xchg.zeros({ 2 }, { device = "cuda" }).device)
    ]], { XCHG_CUDART = "/no/such" })
    assert.equal("false\ntrue\nsim\tcuda:0\n", text)
  end)

  it("for unchanged Python libraries in the process", function()
    if child.foreign_refused() then pending(child.foreign_refused()) end
    local text = run([[
      local xchg = require "xchg"
      local py = xchg.python
      if not pcall(py.import, "numba_cuda") then print "absent" return end
      py.exec "import warnings; warnings.simplefilter('ignore'); import numpy, numba.cuda"
      local total = py.eval "float(numba.cuda.to_device(numpy.arange(5.0)).copy_to_host().sum())"
      print(total, xchg.cuda.sim.stats().allocations, xchg.cuda.current_device())
    ]], { XCHG_CUDA = "sim", XCHG_SIM_LOG = "none" })
    if text == "absent\n" then pending "numba-cuda is not installed" end
    assert.truthy(text:find("^10\t%d+\tcuda:0\n$"), text)
  end)

  it("only where it is asked for: never in place of a real one", function()
    assert.equal(NOT_FOUND, run(LOOK .. [[ local cuda = require("xchg").cuda; cuda.available(); look() ]],
      { XCHG_CUDART = "/no/such", LD_LIBRARY_PATH = "/no" }))
    local text = run([[ print(require("xchg").cuda.available()) ]], { XCHG_CUDART = SIMULATOR })
    assert.equal("false\t" .. SIMULATOR .. " is the simulated device, which is used only when it is asked for: "
      .. "XCHG_CUDA=sim\n", text)
  end)

  it("not for a real runtime that was led to it as its driver", function()
    local folder = child.folder()
    finally(function() child.remove(folder) end)
    assert(os.execute(("cp %s/xchg/sim_cuda.so %s/libcuda.so.1 && cp %s %s/libxchg_sim.so"):format(build, folder, SIMULATOR,
      folder)) == 0)
    local text = run(([[
      local driver = require("ffi").load "%s/libcuda.so.1"
      print(require("xchg").cuda.available())
    ]]):format(folder), { XCHG_CUDART = DOUBLE })
    assert.equal(("false\t%s meets the simulated device (%s/libcuda.so.1) in the place of the driver; ask for it by "
      .. "XCHG_CUDA=sim, or take its folder out of LD_LIBRARY_PATH and LD_PRELOAD\n"):format(DOUBLE, folder), text)
  end)

  it("not where another driver is in the process: both are named", function()
    local folder = child.folder()
    finally(function() child.remove(folder) end)
    child.write(folder .. "/libcuda.so.1", (child.read(DOUBLE):gsub("libcudart%.so%.12%z", "libcuda.so.1\0\0\0\0")))
    local text = run(([[
      local driver = require("ffi").load "%s/libcuda.so.1"
      local cuda = require("xchg").cuda
      local ok, e = pcall(cuda.use, "sim")
      print(ok, e.code, e.message)
      print(cuda.available())
    ]]):format(folder))
    assert.truthy(text:find("false\tno_cuda\tcuda.use: the simulated device (" .. SIMULATOR .. ") cannot take the place of "
      .. folder .. "/libcuda.so.1, which is in the process already", 1, true), text)
    text = run(([[
      local driver = require("ffi").load "%s/libcuda.so.1"
      print(require("xchg").cuda.available())
    ]]):format(folder), { XCHG_CUDA = "sim" })
    assert.truthy(text:find("false\tthe simulated device (" .. SIMULATOR .. ") cannot take the place of "
      .. folder .. "/libcuda.so.1", 1, true), text)
  end)

  it("and cannot be put off again, nor come after a real one", function()
    assert.truthy(run([[
      local cuda = require("xchg").cuda
      local ok, e = pcall(cuda.use, "real")
      print(ok, e.code, e.message)
    ]], { XCHG_CUDA = "sim" }):find("false\tno_cuda\tcuda.use: the simulated device was opened already", 1, true))
    local folder = child.folder()
    finally(function() child.remove(folder) end)
    child.write(folder .. "/libcuda.so.1", child.read(DOUBLE))
    local text = run([[
      local cuda = require("xchg").cuda
      print(cuda.available())
      for _, what in ipairs { "sim", "none", "real" } do
        local ok, e = pcall(cuda.use, what)
        print(what, ok, e and e.message)
      end
      print(cuda.backend())
    ]], { XCHG_CUDART = DOUBLE, LD_LIBRARY_PATH = folder })
    assert.equal([[
true
sim	false	cuda.use: cuda 12.4 is in use already; call cuda.use before anything of CUDA is used
none	false	cuda.use: cuda 12.4 is in use already; call cuda.use before anything of CUDA is used
real	true	nil
cuda 12.4
]], text)
  end)

  it("switches off", function()
    local text = run([[
      local cuda = require("xchg").cuda
      cuda.use "none"
      print(cuda.available())
      cuda.use "sim"
      print(cuda.available())
    ]])
    assert.truthy(text:find('^false\tCUDA is switched off %(XCHG_CUDA=none or cuda.use%("none"%)%)[^\n]*\ntrue'), text)
  end)

  it("not where it is not installed", function()
    local folder = child.folder()
    finally(function() child.remove(folder) end)
    assert(os.execute(("mkdir %s/xchg && cp %s/xchg/core.so %s/xchg/"):format(folder, build, folder)) == 0)
    local text = run([[
      local cuda = require("xchg").cuda
      print(cuda.available())
      print(select(2, pcall(cuda.use, "sim")).message)
    ]], { XCHG_CUDA = "sim", LUA_CPATH = folder .. "/?.so" })
    assert.equal([[
false	the simulated device (xchg/sim.so) is not where LuaJIT looks for libraries; install all of xchg, or run make
cuda.use: the simulated device (xchg/sim.so) is not where LuaJIT looks for libraries; install all of xchg, or run make
]], text)
  end)

  local SETTINGS = {
    { { XCHG_SIM_DEVICES = "0" }, "finds a driver and no device" },
    { { XCHG_SIM_DEVICES = "many" }, "cannot be initialised: XCHG_SIM_DEVICES" },
    { { XCHG_SIM_DVICES = "2" }, "cannot be initialised: XCHG_SIM_DVICES=2: no such setting" },
  }
  for _, row in ipairs(SETTINGS) do
    local name, value = next(row[1])
    it(("says what is wrong with %s=%s"):format(name, value), function()
      row[1].XCHG_CUDA, row[1].XCHG_SIM_LOG = "sim", "none"
      local text = run([[ print(require("xchg").cuda.available()) ]], row[1])
      assert.truthy(text:find("false\tthe simulated device " .. row[2], 1, true), text)
    end)
  end

  it("or what cuda.use does not know is refused", function()
    raises("wrong_type", "cuda.use: 'real', 'sim' or 'none' is expected, got 1", cuda.use, 1)
    raises("wrong_type", "cuda.use: 'real', 'sim' or 'none' is expected, got nil", cuda.use)
    raises("bad_argument", "cuda.use: 'real', 'sim' or 'none' is expected, got \"smi\"; did you mean 'sim'?", cuda.use,
      "smi")
  end)
end)

describe("cuda.sim", function()
  local reason = cuda_.no_simulation()
  if reason then return pending(reason) end
  after_each(cuda_.reports_none)

  it("lets calls fail on command, and forgets that again", function()
    cuda.sim.fail("cudaDeviceSynchronize", 2, 400)
    cuda.synchronize(0)
    raises("cuda", "cuda.synchronize: cuda:0: cudaDeviceSynchronize answered 400", cuda.synchronize, 0)
    cuda.synchronize(0)
    cuda.sim.fail("cudaDeviceSynchronize", "*", 999)
    raises("cuda", "answered 999", cuda.synchronize, 0)
    raises("cuda", "answered 999", cuda.synchronize, 0)
    cuda.sim.fail()
    cuda.synchronize(0)
    cuda.sim.fail("cudaDeviceSynchronize")
    raises("out_of_memory", "cudaDeviceSynchronize answered 2 (cudaErrorMemoryAllocation): the device's memory is "
      .. "exhausted", cuda.synchronize, 0)
    cuda.sim.fail("cudaDeviceSynchronize:1:46")
    raises("cuda", "answered 46", cuda.synchronize, 0)
  end)

  it("counts", function()
    local before = cuda.sim.stats()
    cuda.synchronize(0)
    local after = cuda.sim.stats()
    assert.equal(1, after.cudaDeviceSynchronize - before.cudaDeviceSynchronize)
    assert.equal(0, after.no_such_counter)
    for name, count in pairs(after) do assert.equal(count, cuda.sim.stats(name), name) end
    assert.equal(0, cuda.sim.stats "no_such_counter")
    raises("wrong_type", "cuda.sim.stats: a counter is named by a string, got 1", cuda.sim.stats, 1)
  end)

  it("reads settings and sets them", function()
    local old = cuda.sim.setting "SCHEDULE"
    finally(function() cuda.sim.schedule(old) end)
    cuda.sim.schedule "random:7"
    assert.equal("random:7", cuda.sim.setting "SCHEDULE")
    cuda.sim.configure("SCHEDULE", "eager")
    assert.equal("eager", cuda.sim.setting "SCHEDULE")
    assert.equal(nil, cuda.sim.setting "NO_SUCH")
  end)

  it("gives reports with kind and count, and clears them", function()
    local budget = cuda.sim.setting "BUDGET"
    finally(function() cuda.sim.configure("BUDGET", budget) end)
    assert.same({}, cuda.sim.reports())
    local ffi = require "ffi"
    ffi.cdef "int cudaMallocArray(void **, const void *, size_t, size_t, unsigned);"
    ffi.load(SIMULATOR).cudaMallocArray(nil, nil, 0, 0, 0)
    ffi.load(SIMULATOR).cudaMallocArray(nil, nil, 0, 0, 0)
    local reports = cuda.sim.reports()
    assert.equal(1, #reports)
    assert.equal("stub", reports[1].kind)
    assert.truthy(reports[1].text:find("^cudaMallocArray is not simulated"), reports[1].text)
    assert.equal(1, #cuda.sim.reports "stub")
    assert.same({}, cuda.sim.reports "race")
    cuda.sim.clear_reports()
    assert.same({}, cuda.sim.reports())
  end)

  it("runs single operations", function()
    collectgarbage()
    collectgarbage() -- what is dead is freed in the order of its stream
    for index = 0, cuda.device_count() - 1 do cuda.synchronize(index) end
    assert.equal(0, cuda.sim.step(5)) -- nothing waits
    assert.equal(0, cuda.sim.step())
  end)

  -- function, arguments, code, message
  local WRONG = {
    { "fail", { "cudaMalloc", 0, 2 }, "bad_argument", "cuda.sim.fail: " },
    { "fail", { "cudaNoSuch", 1, 2 }, "bad_argument", "cuda.sim.fail: " },
    { "fail", { "", 1, 2 }, "bad_argument", "cuda.sim.fail: " },
    { "fail", { {}, 1, 2 }, "wrong_type", "cuda.sim.fail: a function must be a string or a number, got a table" },
    { "fail", { "cudaMalloc", {}, 2 }, "wrong_type", "cuda.sim.fail: which call must be a string or a number" },
    { "fail", { "cudaMalloc", 1, print }, "wrong_type", "cuda.sim.fail: a code must be a string or a number" },
    { "configure", { "NOPE", 1 }, "bad_argument", "cuda.sim.configure: " },
    { "configure", { "SCHEDULE", "sideways" }, "bad_argument", "cuda.sim.configure: " },
    { "configure", { "CHECK" }, "wrong_type", "cuda.sim.configure: a value must be a string or a number, got nil" },
    { "schedule", { "later" }, "bad_argument", "cuda.sim.schedule: " },
    { "schedule", {}, "wrong_type", "cuda.sim.schedule: a schedule must be" },
    { "lose", { -1 }, "out_of_range", "cuda.sim.lose: a device must be a whole number" },
    { "lose", { 31 }, "bad_argument", "cuda.sim.lose: " },
    { "lose", { 0, 0 }, "out_of_range", "cuda.sim.lose: a code must be a whole number" },
    { "step", { -1 }, "out_of_range", "cuda.sim.step: a count must be a whole number" },
    { "reports", { "rase" }, "bad_argument", "cuda.sim.reports: unknown kind \"rase\"; did you mean 'race'?" },
    { "setting", { {} }, "wrong_type", "cuda.sim.setting: a name must be" },
  }
  for _, row in ipairs(WRONG) do
    it(("refuses %s%s"):format(row[1], row[4]), function()
      raises(row[3], row[4], cuda.sim[row[1]], unpack(row[2], 1, 3))
    end)
  end

  it("is refused where CUDA is not simulated", function()
    local text = run([[
      local sim = require("xchg").cuda.sim
      for _, name in ipairs { "fail", "configure", "setting", "lose", "schedule", "step", "stats", "reports",
        "clear_reports" } do
        local ok, e = pcall(sim[name], "CHECK", "all")
        print(ok, e.code, e.message)
      end
    ]])
    local _, count = text:gsub("false\tno_cuda\tcuda%.sim%.[%l_]+: CUDA is not simulated here; start with XCHG_CUDA=sim", "")
    assert.equal(9, count, text)
  end)

  it("loses a device, and says what that costs", function()
    local text = run([[
      local cuda = require("xchg").cuda
      cuda.synchronize(0)
      cuda.sim.lose(0)
      for _, fn in ipairs { cuda.synchronize, cuda.synchronize } do
        local ok, e = pcall(fn, 0)
        print(ok, e.code, e.cuda_code, e.cuda_name, e.call, e.message)
      end
      cuda.synchronize(1)
      print(cuda.device(0).name, cuda.available())
    ]], { XCHG_CUDA = "sim", XCHG_SIM_DEVICES = "2", XCHG_SIM_LOG = "none" })
    assert.truthy(text:find("false\tcuda\t719\tcudaErrorLaunchFailure\tcudaDeviceSynchronize\tcuda.synchronize: cuda:0: "
      .. "cudaDeviceSynchronize answered 719 (cudaErrorLaunchFailure): a kernel failed while it ran", 1, true), text)
    assert.truthy(text:find("nothing on this device works any more until the process ends", 1, true), text)
    assert.truthy(text:find("\nSimulated CUDA device %(sm_90%)\ttrue\n$"), text)
  end)
end)
