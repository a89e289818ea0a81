-- Several processes: each has its own devices, by MPI, by fork before the first use, by starting a program; a fork after that
-- has none.
local child = require "spec.support.child"
local cuda_ = require "spec.support.cuda"
local xchg = require "xchg"

local cuda = cuda_.cuda

-- out[i] += x, by one block.
local PRELUDE = [[
local xchg = require "xchg"
local cuda = xchg.cuda
local function kernel()
  return cuda.load([=[
.version 7.0
.target sm_75
.address_size 64
.visible .entry add(.param .u64 p, .param .f64 x) {
  .reg .u64 %a; .reg .u32 %i; .reg .f64 %x, %v;
  ld.param.u64 %a, [p]; ld.param.f64 %x, [x];
  cvta.to.global.u64 %a, %a;
  mov.u32 %i, %tid.x;
  mad.wide.u32 %a, %i, 8, %a;
  ld.global.f64 %v, [%a];
  add.f64 %v, %v, %x;
  st.global.f64 [%a], %v;
  ret;
}
]=]):kernel "add"
end
-- A vector of 4 elements of the value that a kernel on `device` has added, as a tensor of the host.
local function computed(device, value)
  return cuda.with_device(device, function()
    local t = xchg.zeros({ 4 }, { dtype = "float64", device = "cuda" })
    kernel():launch({ grid = 1, block = 4 }, t, value)
    return t:to "cpu"
  end)
end
]]

local function run(script, options)
  options = options or {}
  options.env = cuda_.env(options.env)
  local result = child.run(PRELUDE .. script, options)
  -- What the launcher of MPI says of its own is no error here.
  assert.equal(0, result.status, result.stdout .. result.stderr)
  return result.stdout, result.stderr
end

local function sorted(text)
  local lines = {}
  for line in text:gmatch "[^\n]+" do lines[#lines + 1] = line end
  table.sort(lines)
  return lines
end

local last = cuda.device_count() - 1

describe("ranks of MPI", function()
  local python = xchg.python.info()
  local launcher = python and python.prefix and tostring(python.prefix) .. "/bin/mpiexec"
  local function available()
    local file = launcher and io.open(launcher)
    if file then file:close() end
    return file ~= nil and pcall(xchg.python.import, "mpi4py") and pcall(xchg.python.import, "numpy")
  end
  if not available() then return pending "no mpi4py with its mpiexec, or no NumPy" end

  it("are processes that each choose a device, and reduce what their kernels have computed", function()
    local refused = child.foreign_refused()
    if refused then pending(refused) end
    local luajit = os.getenv "LUAJIT" or "luajit"
    local out = run([[
      local py = xchg.python
      local MPI, numpy = py.import "mpi4py.MPI", py.import "numpy"
      local comm = MPI.COMM_WORLD
      local rank, size = tonumber(comm:Get_rank()), tonumber(comm:Get_size())
      local mine, sum = numpy.zeros(4), numpy.zeros(4)
      local device = rank % cuda.device_count()
      xchg.from_dlpack(mine):copy_(computed(device, 10 ^ rank))
      comm:Allreduce(mine, sum)
      io.stdout:write(("%d of %d on cuda:%d: %s, current %s\n"):format(rank, size, device,
        table.concat({ sum[0], sum[3] }, " "), tostring(cuda.current_device())))
      io.stdout:flush()
      comm:Barrier()
      MPI.Finalize()
    ]], { command = { launcher, "-n", "2", luajit }, timeout = 120 })
    assert.same({
      "0 of 2 on cuda:0: 11 11, current cuda:0",
      ("1 of 2 on cuda:%d: 11 11, current cuda:0"):format(math.min(1, last)),
    }, sorted(out))
  end)

  it("that are one use CUDA as any program does", function()
    local out = run [[
      local comm = xchg.python.import("mpi4py.MPI").COMM_WORLD
      print(comm:Get_size(), computed(0, 2.5)[4])
      xchg.python.import("mpi4py.MPI").Finalize()
    ]]
    assert.equal("1\t2.5\n", out)
  end)
end)

local FORK = [[
local ffi = require "ffi"
ffi.cdef "int fork(void); int waitpid(int, int *, int); void _exit(int);"
io.stdout:setvbuf "no"
local function fork(fn)
  local pid = ffi.C.fork()
  if pid ~= 0 then return pid end
  local fine, e = pcall(fn)
  if not fine then io.stdout:write(tostring(type(e) == "table" and e.code or e) .. "\n") end
  ffi.C._exit(fine and 0 or 1)
end
local function join(pid)
  local status = ffi.new "int[1]"
  ffi.C.waitpid(pid, status, 0)
  return status[0] / 256
end
]]

describe("a process that forks", function()
  it("before it uses CUDA has children that each use a device of their own", function()
    local out = run(FORK .. [[
      local children = {}
      for i = 0, 1 do
        children[i] = fork(function()
          local device = i % tonumber(os.getenv "DEVICES")
          io.stdout:write(("child %d: %g on cuda:%d\n"):format(i, computed(device, i + 0.5)[2], device))
        end)
      end
      for i = 0, 1 do assert(join(children[i]) == 0) end
      print("parent: " .. computed(0, 9)[1])
    ]], { env = { DEVICES = tostring(last + 1) } })
    assert.same({ "child 0: 0.5 on cuda:0", ("child 1: 1.5 on cuda:%d"):format(math.min(1, last)), "parent: 9" }, sorted(out))
  end)

  it("after it has only looked for CUDA has children that are refused, as CUDA does not say what it has begun", function()
    local out = run(FORK .. [[
      assert(cuda.available())
      local pid = fork(function() computed(0, 1) end)
      print(join(pid), (cuda.available()))
    ]])
    assert.equal("forked\n1\ttrue\n", out)
  end)

  it("after it has used CUDA has children that are refused, and whose children are too, and goes on itself", function()
    local out = run(FORK .. [[
      local t = computed(0, 1)
      local k, s = kernel(), cuda.stream {}
      local on_device = t:to "cuda:0"
      local pid = fork(function()
        local function told(name, fn, ...)
          local fine, e = pcall(fn, ...)
          io.stdout:write(("%s: %s\n"):format(name, fine and "done" or type(e) == "table" and e.code or tostring(e)))
        end
        told("launch", k.launch, k, { grid = 1, block = 4 }, on_device, 1)
        told("zeros", xchg.zeros, { 2 }, { device = "cuda" })
        told("to", on_device.to, on_device, "cpu")
        told("synchronize", s.synchronize, s)
        told("graph", cuda.graph, function() end)
        told("host", function() return t[1] + xchg.ones({ 2 })[1] end)
        join(fork(function() told("grandchild", cuda.synchronize) end))
        on_device, k, s = nil, nil, nil
        collectgarbage()
        collectgarbage()
      end)
      assert(join(pid) == 0)
      k:launch({ grid = 1, block = 4 }, on_device, 4)
      print("parent: " .. on_device:to("cpu")[3])
    ]])
    assert.same({ "grandchild: forked", "graph: forked", "host: done", "launch: forked", "parent: 5", "synchronize: forked",
      "to: forked", "zeros: forked" }, sorted(out))
  end)

  it("may start programs that use CUDA at any time", function()
    local reason = child.foreign_refused()
    if reason then return pending(reason) end
    local out = run([[
      local function program()
        local pipe = io.popen(os.getenv "PROGRAM")
        local text = pipe:read "*a"
        pipe:close()
        return text
      end
      if os.getenv "INNER" then print(computed(0, 3)[1]) os.exit(0) end
      local before = computed(0, 1)[1]
      io.stdout:write(before .. " " .. program())
      print(computed(0, 2)[1])
    ]], { env = { PROGRAM = ("INNER=1 %s %s"):format(os.getenv "LUAJIT" or "luajit", "\"$SCRIPT\"") },
      command = { "sh", "-c", ("SCRIPT=$0; export SCRIPT; exec %s $0"):format(os.getenv "LUAJIT" or "luajit") } })
    assert.equal("1 3\n2\n", out)
  end)
end)
