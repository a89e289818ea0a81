-- Devices: what they are, which one is current, contexts of others, and what a failure, a fork or the process's end does.
local child = require "spec.support.child"
local cuda_ = require "spec.support.cuda"
local raises = require "spec.support.raises"
local xchg = require "xchg"

local cuda = cuda_.cuda

describe("a CUDA device", function()
  after_each(cuda_.reports_none)

  it("is given by number, name or object", function()
    local first = cuda.device(0)
    assert.equal(first, cuda.device "cuda:0")
    assert.equal(first, cuda.device(first))
    assert.equal(first, cuda.device "cuda")
    assert.equal(first, cuda.device())
    assert.equal(first, cuda.current_device())
    assert.equal("cuda:0", tostring(first))
    assert.equal(0, first.index)
    assert.equal(cuda.device_count(), #cuda.devices())
    assert.equal(first, cuda.devices()[1])
    assert.truthy(rawequal(first, cuda.device(0)))
  end)

  it("differs from another", function()
    cuda_.only_with_two()
    assert.is_true(cuda.device(0) ~= cuda.device(1))
    assert.equal("cuda:1", tostring(cuda.devices()[2]))
  end)

  it("says what it is", function()
    local device = cuda.device(0)
    assert.truthy(#device.name > 0)
    assert.equal(("%d.%d"):format(device.major, device.minor), device.capability)
    assert.truthy(device.uuid:find("^GPU%-%x%x%x%x%x%x%x%x%-%x%x%x%x%-%x%x%x%x%-%x%x%x%x%-%x%x%x%x%x%x%x%x%x%x%x%x$"))
    assert.truthy(device.pci:find("^%x+:%x%x:%x%x%.%x$"), device.pci)
    assert.equal(32, device.warp_size) -- of every CUDA device so far
    assert.equal(1024, device.max_threads_per_block) -- the same
    assert.truthy(device.memory >= 2 ^ 20)
    assert.truthy(device.multiprocessors >= 1)
    assert.equal(cuda_.simulated, device.simulated)
  end)

  it("says what the simulated one was shaped as", function()
    cuda_.only_simulated()
    local device = cuda.device(0)
    local units = { [""] = 1, K = 2 ^ 10, M = 2 ^ 20, G = 2 ^ 30 }
    local number, unit = cuda.sim.setting("MEMORY"):match "^(%d+)(%a?)$"
    assert.equal(cuda.sim.setting "CC", device.capability)
    assert.equal(number * units[unit], device.memory)
    assert.equal(tonumber(cuda.sim.setting "SMS"), device.multiprocessors)
    assert.truthy(device.name:find("^Simulated CUDA device"))
  end)

  it("has attributes by name and number, asked when they are read", function()
    local device = cuda.device(0)
    assert.equal(32, device.attributes.warp_size)
    assert.equal(32, device.attributes[10])
    assert.equal(device.major, device.attributes.capability_major)
    assert.equal(device.multiprocessors, device.attributes[16])
    assert.equal(1, device.attributes.unified_addressing)
    assert.truthy(device.attributes.shared_memory_per_block_optin >= 48 * 1024)
    raises("bad_argument", "device.attributes: unknown attribute \"warpsize\"; did you mean 'warp_size'?", function()
      return device.attributes.warpsize
    end)
    raises("out_of_range", "device.attributes: an attribute must be a whole number", function()
      return device.attributes[0]
    end)
    raises("wrong_type", "device.attributes: an attribute must be a whole number", function()
      return device.attributes[1.5]
    end)
    local e = raises("cuda", "device.attributes: attribute 99999 of cuda:0: cudaDeviceGetAttribute answered 1", function()
      return device.attributes[99999]
    end)
    assert.equal(1, e.cuda_code)
    assert.equal("cudaErrorInvalidValue", e.cuda_name)
    assert.equal("cudaDeviceGetAttribute", e.call)
  end)

  it("cannot be assigned to, and refuses names that it does not have", function()
    local device = cuda.device(0)
    raises("readonly", "device: what a device is cannot be assigned", function() device.name = "mine" end)
    raises("readonly", "device.attributes: ", function() device.attributes.warp_size = 64 end)
    raises("bad_argument", "device: there is no field \"nmae\"", function() return device.nmae end)
    raises("wrong_type", "device.can_access: call it as d:can_access(other)", device.can_access, 0)
  end)

  it("tells whether it reaches another one's memory", function()
    assert.is_true(cuda.device(0):can_access(0))
    cuda_.only_with_two()
    assert.equal("boolean", type(cuda.device(0):can_access(1)))
    assert.equal(cuda.device(1):can_access "cuda:0", cuda.device(1):can_access(cuda.device(0)))
  end)

  it("that is not there is refused", function()
    local count = cuda.device_count()
    local known = count == 1 and "cuda:0" or "cuda:0 to cuda:" .. count - 1
    -- value, code, message after the function
    local ROWS = {
      { count, "unsupported_device", ("there is no device %d; this machine has %d, %s"):format(count, count, known) },
      { -1, "unsupported_device", "there is no device -1; this machine has " },
      { 1e300, "unsupported_device", "there is no device 1e+300" },
      { 0 / 0, "wrong_type", "there is no device nan" },
      { 1 / 0, "unsupported_device", "there is no device inf" },
      { 0.5, "wrong_type", "there is no device 0.5" },
      { "cuda:7777", "unsupported_device", "there is no device \"cuda:7777\"" },
      { "cpu", "unsupported_device", "a CUDA device is expected ('cuda:0' or 0), got 'cpu'" },
      { "cudo", "unsupported_device", "unknown device 'cudo'; did you mean 'cuda'?" },
      { "cuda:-1", "unsupported_device", "unknown device 'cuda:-1'" },
      { "cuda:" .. ("9"):rep(400), "unsupported_device", "there is no device a string of 405 bytes" },
      { {}, "wrong_type", "a device is a string such as 'cuda:0' or a Device, got a table" },
      { true, "wrong_type", "a device is a string such as 'cuda:0' or a Device, got true" },
    }
    for _, row in ipairs(ROWS) do
      raises(row[2], "cuda.device: " .. row[3], cuda.device, row[1])
      raises(row[2], "cuda.synchronize: " .. row[3], cuda.synchronize, row[1])
      raises(row[2], "cuda.with_device: " .. row[3], cuda.with_device, row[1], print)
      raises(row[2], "device.can_access: " .. row[3], cuda.device(0).can_access, cuda.device(0), row[1])
    end
    assert.equal(cuda.device(0), cuda.current_device())
  end)

  it("is shown as simulated before anything has worked on it", function()
    cuda_.only_simulated()
    local result = child.run([[
      require("xchg").cuda.use "sim"
      print(require("xchg.device").shown(2, 1))
    ]], { env = cuda_.env() })
    assert.equal("cuda:1 (simulated)\n", result.stdout)
  end)
end)

describe("the current device", function()
  after_each(cuda_.reports_none)
  local reason = cuda_.no_second()
  if reason then return pending(reason) end

  it("is another one inside of with_device", function()
    local inside, a, b = cuda.with_device(1, function(...) return cuda.current_device(), ... end, 4, nil)
    assert.equal(cuda.device(1), inside)
    assert.equal(4, a)
    assert.equal(nil, b)
    assert.equal(cuda.device(0), cuda.current_device())
    cuda.with_device("cuda:1", function()
      cuda.with_device(cuda.device(0), function() assert.equal(0, cuda.current_device().index) end)
      cuda.with_device(1, function() assert.equal(1, cuda.current_device().index) end)
      assert.equal(1, cuda.current_device().index)
      assert.equal(1, cuda.device("cuda").index)
    end)
    assert.equal(cuda.device(0), cuda.current_device())
  end)

  it("is the old one again after an error, which comes through as it is", function()
    local mine = {}
    local ok, e = pcall(cuda.with_device, 1, function() error(mine) end)
    assert.is_false(ok)
    assert.equal(mine, e)
    assert.equal(cuda.device(0), cuda.current_device())
    raises("wrong_type", "cuda.with_device: the second argument must be a function, got nil", cuda.with_device, 1)
    raises("wrong_type", "cuda.with_device: the second argument must be a function, got 7", cuda.with_device, 1, 7)
    assert.equal(cuda.device(0), cuda.current_device())
  end)

  it("is what tensors are made on", function()
    local t = cuda.with_device(1, function() return xchg.zeros({ 3 }, { device = "cuda" }) end)
    assert.equal("cuda:1", t.device)
    t:release()
    t = xchg.zeros({ 3 }, { device = cuda.device(1) })
    assert.equal("cuda:1", t.device)
    t:release()
    assert.equal(cuda.device(0), cuda.current_device())
  end)

  it("stays what it was when work goes to another one", function()
    cuda.synchronize(1)
    assert.equal(cuda.device(0), cuda.current_device())
    if cuda_.simulated then
      cuda.sim.fail("cudaDeviceSynchronize", 1, 999)
      raises("cuda", "cuda.synchronize: cuda:1: cudaDeviceSynchronize answered 999 (cudaErrorUnknown)", cuda.synchronize, 1)
    end
    assert.equal(cuda.device(0), cuda.current_device())
  end)

  it("can be called by what can be called", function()
    local callable = setmetatable({}, { __call = function(_, x) return x, cuda.current_device().index end })
    local x, index = cuda.with_device(1, callable, 5)
    assert.equal(5, x)
    assert.equal(1, index)
  end)
end)

-- What other libraries do to contexts, in processes of their own, by the driver.
local DRIVER = [[
local ffi = require "ffi"
ffi.cdef "int cuInit(unsigned); int cuCtxCreate_v2(void **, unsigned, int); int cuCtxDestroy_v2(void *);"
ffi.cdef "int cuCtxGetCurrent(void **); int cuCtxSetCurrent(void *); int cuCtxPopCurrent_v2(void **);"
ffi.cdef "int cuCtxPushCurrent_v2(void *); int cuDevicePrimaryCtxRetain(void **, int); int cudaSetDevice(int);"
ffi.cdef "int cuDevicePrimaryCtxGetState(int, unsigned *, int *); int cudaGetDevice(int *);"
local xchg = require "xchg"
local cuda = xchg.cuda
assert(cuda.available())
local driver = ffi.load "libcuda.so.1"
local runtime = ffi.load(ffi.string(require("xchg.cuda.library").known.path))
local box, int = ffi.new "void *[1]", ffi.new "int[1]"
local function current() assert(driver.cuCtxGetCurrent(box) == 0) return box[0] end
local function active(device)
  assert(driver.cuDevicePrimaryCtxGetState(device, ffi.new "unsigned[1]", int) == 0)
  return int[0] == 1
end
local function primary(device) assert(driver.cuDevicePrimaryCtxRetain(box, device) == 0) return box[0] end
local function current_device() assert(runtime.cudaGetDevice(int) == 0) return int[0] end
]]

local function run(script, env)
  local result = child.run(DRIVER .. script, { env = cuda_.env(env) })
  assert.equal("", result.stderr)
  assert.equal(0, result.status, result.stdout)
  return result.stdout
end

describe("a context", function()
  local reason = cuda_.no_second()
  if reason then return pending(reason) end

  it("of a device is made when it is worked on, not by asking", function()
    assert.equal("false false\nfalse true\ncuda:0\n", run [[
      cuda.devices() cuda.device(1).name:len() cuda.current_device() cuda.device(0):can_access(1)
      print(tostring(active(0)) .. " " .. tostring(active(1)))
      cuda.synchronize(1)
      print(tostring(active(0)) .. " " .. tostring(active(1)))
      print(cuda.current_device())
    ]])
  end)

  it("that is current stays so, none too", function()
    assert.equal("true\ntrue\ntrue\n0\n", run [[
      assert(driver.cuCtxSetCurrent(nil) == 0)
      cuda.synchronize(1)
      print(current() == nil)
      cuda.with_device(1, function() assert(current() == primary(1)) end)
      print(current() == nil)
      cuda.synchronize(0)
      cuda.synchronize(1)
      print(current() == primary(0)) -- the first call on a thread's own device makes it current, as the runtime does
      print(current_device())
    ]])
  end)

  it("that others have changed inside of with_device is put back", function()
    assert.equal("true 0\ntrue 0\ntrue 1\ntrue 0\n", run [[
      cuda.synchronize(0)
      local mine = current()
      local function told(expected) print(tostring(current() == expected) .. " " .. current_device()) end
      cuda.with_device(1, function() assert(runtime.cudaSetDevice(0) == 0) end)
      told(mine)
      cuda.with_device(1, function() assert(driver.cuCtxPushCurrent_v2(primary(0)) == 0) end)
      told(mine)
      assert(runtime.cudaSetDevice(1) == 0)
      cuda.with_device(0, function() assert(runtime.cudaSetDevice(0) == 0) end)
      told(primary(1))
      assert(runtime.cudaSetDevice(0) == 0)
      while current() ~= nil do assert(driver.cuCtxSetCurrent(nil) == 0) end
      cuda.with_device(1, function() assert(driver.cuCtxPushCurrent_v2(primary(0)) == 0) end)
      told(nil)
    ]])
  end)

  it("of each thread is its own: threads that never had one work side by side and are left as they were", function()
    if child.foreign_refused() then pending(child.foreign_refused()) end
    local text = run [[
      cuda.synchronize(1)
      if not xchg.python.info() then print "no Python" return end
      xchg.python.exec(([=[
        import ctypes, threading
        core = ctypes.CDLL(%q)
        driver = ctypes.CDLL("libcuda.so.1")
        runtime = ctypes.CDLL(%q)
        results = []
        def work(number):
            failures = 0
            for i in range(50):
                failures += core.xchg_cuda_device_synchronize(1 if number %% 2 else (i + number) %% 2, None) != 0
            context, device = ctypes.c_void_p(), ctypes.c_int(-1)
            driver.cuCtxGetCurrent(ctypes.byref(context))
            runtime.cudaGetDevice(ctypes.byref(device))
            results.append((number %% 2, failures, context.value is None, device.value))
        threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        print(sorted(results), flush=True)
      ]=]):format(require("xchg.lib").path, ffi.string(require("xchg.cuda.library").known.path)))
    ]]
    if text == "no Python\n" then pending "no Python" end
    assert.equal("[(0, 0, False, 0), (0, 0, False, 0), (1, 0, True, 0), (1, 0, True, 0)]\n", text)
  end)

  it("that is no primary one is named and refused, and all is well once it is gone", function()
    local text = run [[
      cuda.synchronize(0)
      assert(driver.cuCtxCreate_v2(box, 0, 0) == 0)
      local foreign = current()
      local function told(fn, ...)
        local ok, e = pcall(fn, ...)
        print(ok, e and e.code, e and (e.message:gsub(tostring(foreign):match "0x%x+", "FOREIGN")))
      end
      told(cuda.synchronize, 0)
      told(cuda.synchronize, 1)
      told(cuda.with_device, 1, print)
      told(xchg.zeros, { 3 }, { device = "cuda" })
      print(current() == foreign, cuda.device(0).warp_size, (cuda.available()))
      assert(driver.cuCtxPopCurrent_v2(box) == 0)
      cuda.synchronize(0)
      print(xchg.zeros({ 3 }, { device = "cuda" }).device)
      assert(driver.cuCtxDestroy_v2(foreign) == 0)
    ]]
    local _, count = text:gsub("false\tcuda\t[%w_.]+: the current context FOREIGN is not the primary one of a device, and "
      .. "tensors, streams and kernels are of those; pop it first, or make it with cuDevicePrimaryCtxRetain", "")
    assert.equal(4, count, text)
    assert.truthy(text:find("\ntrue\t32\ttrue\ncuda:0\n$"), text)
  end)
end)

describe("after a fork", function()
  local FORK = [[
    local ffi = require "ffi"
    ffi.cdef "int fork(void); int waitpid(int, int *, int); void _exit(int);"
    io.stdout:setvbuf "no"
    local function fork(fn)
      local pid = ffi.C.fork()
      if pid == 0 then
        local ok, e = pcall(fn)
        if not ok then print("failed", e) end
        ffi.C._exit(ok and 0 or 1)
      end
      local status = ffi.new "int[1]"
      ffi.C.waitpid(pid, status, 0)
      return status[0]
    end
    local xchg = require "xchg"
    local cuda = xchg.cuda
  ]]
  local function forked(script)
    local result = child.run(FORK .. script, { env = cuda_.env() })
    assert.equal("", result.stderr)
    assert.equal(0, result.status, result.stdout)
    return result.stdout
  end

  it("a child is refused with the reason, everywhere, and the parent goes on", function()
    local text = forked [[
      local t = xchg.zeros({ 4 }, { device = "cuda" })
      local d = cuda.device(0)
      print(fork(function()
        print(cuda.available())
        local function told(fn, ...)
          local ok, e = pcall(fn, ...)
          print(ok, e and e.code, e and e.message)
        end
        told(cuda.device_count) told(cuda.devices) told(cuda.device, 0) told(cuda.current_device)
        told(cuda.synchronize) told(cuda.with_device, 0, print) told(cuda.backend)
        told(function() return d.attributes.warp_size end)
        told(d.can_access, d, 0)
        told(xchg.zeros, { 2 }, { device = "cuda" })
        told(t.to, t, "cpu")
        told(cuda.use, "real") -- nothing is undone by it
        print(cuda.available(), d.name)
        t:release() -- of the parent's device: left alone
        t = nil
        collectgarbage()
      end))
      cuda.synchronize(0)
      print(t:to "cpu"[4], cuda.available())
    ]]
    local reason = "this process was forked from one that uses CUDA, and CUDA does not survive a fork; start a new "
      .. "program instead"
    assert.truthy(text:find("^false\t" .. reason), text)
    local _, count = text:gsub("false\tforked\t[%w_.]+: " .. reason, "")
    assert.equal(11, count, text)
    assert.truthy(text:find("\n0\n0\ttrue\n$"), text)
  end)

  it("a child of a parent that has not used CUDA uses it", function()
    assert.equal("true\ncuda:0\n0\ntrue\n", forked [[
      print(fork(function()
        print((cuda.available()))
        print(xchg.zeros({ 4 }, { device = "cuda" }).device)
      end))
      print((cuda.available()))
    ]])
  end)
end)

describe("at the end of a process", function()
  -- How it ends; each with tensors, views, a Device and a guard still there.
  local ENDS = {
    { "the script ends", "" },
    { "os.exit", "os.exit(0)" },
    { "os.exit that closes Lua", "os.exit(0, true)" },
    { "everything is collected first", "t, v = nil, nil collectgarbage() collectgarbage()" },
    { "inside of with_device", "cuda.with_device(0, function() os.exit(0, true) end)" },
    { "the device is lost", "cuda.sim.lose(0)", true },
    { "CUDA says that it is unloading", "for _, name in ipairs { 'cudaFree', 'cudaFreeAsync', 'cudaFreeHost', "
      .. "'cudaEventRecord', 'cudaEventCreateWithFlags', 'cudaStreamDestroy' } do cuda.sim.fail(name, '*', 4) end", true },
    { "after an error", "local ok = pcall(cuda.with_device, 0, error, 'x')" },
  }
  for _, row in ipairs(ENDS) do
    it("nothing is said and nothing goes wrong: " .. row[1], function()
      if row[3] then cuda_.only_simulated() end
      local reason = row[1] == "os.exit" and cuda_.no_open_end()
      if reason then return pending(reason) end
      local result = child.run([[
        local xchg = require "xchg"
        local cuda = xchg.cuda
        local t = xchg.zeros({ 1000 }, { device = "cuda" })
        local v = t[{ { 1, 10 } }]
        local p = xchg.zeros({ 1000 }, { device = "cuda_host" })
        local m = xchg.zeros({ 1000 }, { device = "cuda_managed" })
        local s = cuda.stream {}
        keep = { t, v, p, m, s, cuda.device(0) }
      ]] .. row[2], { env = cuda_.env() })
      assert.equal("", result.stderr)
      assert.equal("", result.stdout)
      assert.equal(0, result.status)
    end)
  end
end)

describe("a failure of CUDA", function()
  local reason = cuda_.no_simulation()
  if reason then return pending(reason) end

  -- code, name, words of its meaning and cure
  local CODES = {
    { 1, "cudaErrorInvalidValue", "a value that CUDA does not take" },
    { 2, "cudaErrorMemoryAllocation", "the device's memory is exhausted; release tensors", "out_of_memory" },
    { 9, "cudaErrorInvalidConfiguration", "a block has at most 1024 threads" },
    { 35, "cudaErrorInsufficientDriver", "the driver is older than the runtime; update it" },
    { 100, "cudaErrorNoDevice", "there is no CUDA device" },
    { 101, "cudaErrorInvalidDevice", "cuda.device_count() tells how many there are" },
    { 200, "cudaErrorInvalidKernelImage", "PTX text, cubin or fatbin" },
    { 209, "cudaErrorNoKernelImageForDevice", "compiled for another device; compile for this one" },
    { 218, "cudaErrorInvalidPtx", "the PTX is wrong" },
    { 222, "cudaErrorUnsupportedPtxVersion", "the PTX is of a newer CUDA than the driver knows; update the driver" },
    { 400, "cudaErrorInvalidResourceHandle", "not of this device, or no longer there" },
    { 600, "cudaErrorNotReady", "synchronize first" },
    { 701, "cudaErrorLaunchOutOfResources", "make the block smaller" },
    { 720, "cudaErrorCooperativeLaunchTooLarge", "more blocks than can run at once; k:occupancy tells" },
    { 801, "cudaErrorNotSupported", "cannot do that" },
    { 900, "cudaErrorStreamCaptureUnsupported", "do it before or after cuda.graph", "capturing" },
    { 901, "cudaErrorStreamCaptureInvalidated", "capture again", "capturing" },
    { 904, "cudaErrorStreamCaptureUnjoined", "was not joined back", "capturing" },
    { 906, "cudaErrorStreamCaptureImplicit", "the legacy default stream cannot be used", "capturing" },
    { 910, "cudaErrorGraphExecUpdateFailure", "another shape than the one that was instantiated" },
    { 912, "cudaErrorInvalidClusterSize", "the cluster does not fit the device" },
    { 999, "cudaErrorUnknown", "see dmesg" },
    { 17, "cudaErrorInvalidDevicePointer", "device pointer" }, -- without words of ours: the runtime's own
  }
  for _, row in ipairs(CODES) do
    it(("%d says call, code, name, cause and cure"):format(row[1]), function()
      finally(function() cuda.sim.fail() end)
      cuda.sim.fail("cudaDeviceSynchronize", 1, row[1])
      local e = raises(row[4] or "cuda", ("cuda.synchronize: cuda:0: cudaDeviceSynchronize answered %d (%s): "):format(row[1],
        row[2]), cuda.synchronize, 0)
      assert.truthy(e.message:lower():find(row[3]:lower(), 1, true), e.message)
      assert.equal(row[1], e.cuda_code)
      assert.equal(row[2], e.cuda_name)
      assert.equal("cudaDeviceSynchronize", e.call)
      assert.truthy(e.where:find("raises.lua", 1, true), e.where)
      assert.falsy(e.message:find("nothing on this device works", 1, true))
      cuda.synchronize(0) -- and is gone
    end)
  end

  local STICKY = { 214, 700, 702, 710, 714, 715, 716, 717, 718, 719 }
  for _, code in ipairs(STICKY) do
    it(("%d says that the device is lost, and it is"):format(code), function()
      local text = run(([[
        cuda.sim.fail("cudaDeviceSynchronize", 1, %d)
        for _ = 1, 2 do
          local ok, e = pcall(cuda.synchronize, 0)
          print(ok, e.cuda_code, e.message)
        end
        cuda.synchronize(1)
        print(cuda.current_device())
      ]]):format(code))
      local _, count = text:gsub(("false\t%d\tcuda.synchronize: cuda:0: [^\n]*; nothing on this device works any more until "
        .. "the process ends"):format(code), "")
      assert.equal(2, count, text)
      assert.truthy(text:find("\ncuda:0\n$"), text)
    end)
  end

  it("of a kernel names the launch, and what the simulated device has seen", function()
    local text = run([[
      local program = cuda.load [=[
        .version 8.0
        .target sm_75
        .address_size 64
        .visible .entry poke(.param .u64 out) {
          .reg .u64 %at;
          .reg .u32 %v;
          ld.param.u64 %at, [out];
          st.global.u32 [%at+4096], 7;
          ret;
        }
      ]=]
      local t = xchg.zeros({ 16 }, { device = "cuda", dtype = "int32" })
      program.poke(1, 1, t)
      local ok, e = pcall(cuda.synchronize, 0)
      print(e.cuda_code, e.message)
    ]], { XCHG_SIM_SCHEDULE = "lazy" })
    assert.truthy(text:find("^700\tcuda.synchronize: cuda:0: cudaDeviceSynchronize answered 700 %(cudaErrorIllegalAddress%): "
      .. "a kernel read or wrote memory that is not its own"), text)
    assert.truthy(text:find("; the simulated device says: illegal address: poke, block (0,0,0), thread (0,0,0) "
      .. "(PTX line 8): writes 4 bytes at 0x", 1, true), text)
    assert.truthy(text:find("; launches that may not have ended: poke on ", 1, true), text)
    assert.truthy(text:find("; nothing on this device works any more until the process ends; launches", 1, true), text)
  end)
end)

describe("each call of CUDA's that fails", function()
  local reason = cuda_.no_simulation()
  if reason then return pending(reason) end

  -- For every function that these calls use: each of its calls fails once. Nothing crashes, the current device stays, and
  -- the error says which call it was, or nothing is wrong.
  it("leaves the device current that was, and says which one it was", function()
    local text = run [[
      local work = {
        device = function() return cuda.device(1) end,
        devices = function() return cuda.devices() end,
        current = function() return cuda.current_device() end,
        synchronize = function() cuda.synchronize(1) end,
        with_device = function() return cuda.with_device(1, function() return cuda.current_device() end) end,
        attribute = function() return cuda.device(1).attributes.warp_size end,
        memory = function() return cuda.memory(1) end,
        access = function() return cuda.device(1):can_access(0) end,
      }
      for _, fn in pairs(work) do fn() end
      local failed, wrong = 0, 0
      for name, fn in pairs(work) do
        local before = cuda.sim.stats()
        fn()
        local after = cuda.sim.stats()
        for call in pairs(after) do
          if call:find "^cu" and after[call] > before[call] then
            for n = 1, after[call] - before[call] do
              cuda.sim.fail(call, n, 999)
              local ok, e = pcall(fn)
              cuda.sim.fail()
              if not ok then
                failed = failed + 1
                if not (type(e) == "table" and e.code == "cuda" and e.cuda_code == 999 and e.message:find(e.call, 1, true)) then
                  print(name, call, n, e)
                end
              end
              if current_device() ~= 0 then print("current", name, call, n, current_device()) wrong = wrong + 1
                runtime.cudaSetDevice(0) end
            end
          end
        end
      end
      print(failed >= 5 or failed, wrong)
    ]]
    assert.equal("true\t0\n", text)
  end)
end)
