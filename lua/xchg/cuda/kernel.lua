--- Kernels: what they take, how they are launched.

local ffi = require "ffi"
local lib = require "xchg.lib"
local check = require "xchg.check"
local error_ = require "xchg.error"
local configuration = require "xchg.cuda.configuration"
local launcher = require "xchg.cuda.launcher"
local device_ = require "xchg.cuda.device"
local over = require "xchg.cuda.over"
local plan_ = require "xchg.cuda.plan"
local signature_ = require "xchg.cuda.signature"

local M = {}

local C = lib.C
local err, checked = error_.scratch, error_.check

---@class xchg.cuda.Kernel
---@field name string
---@field signature xchg.cuda.Signature
---@field attributes table  on the current device
local methods = {}

local number = ffi.new("int32_t[1]")

-- Where a kernel object has what it stands for: {where, name, plan, kernel, program, suggested, required, blocking}.
local STATE = {}

local function state_of(where, self)
  local state = type(self) == "table" and rawget(self, STATE)
  if not state then
    error_.raise("wrong_type", "%s: expected a kernel, got %s; call it as kernel:%s(...)", where, check.describe(self),
      where)
  end
  return state
end

-- The function of a form.
local function runner(state, form)
  local frame, kept, always = launcher.frame(state.plan), {}, state.blocking
  frame.flags = always
  local prepare
  if form == "call" then
    prepare = function(f, grid, block)
      f.checked, f.plain = 0, 0
      configuration.three(state.where, "grid", grid, f.grid, 0)
      configuration.three(state.where, "block", block, f.block, 1)
      if type(grid) == "number" and grid > 0 and type(block) == "number" then f.plain = block end
    end
  elseif form == "launch" then
    prepare = function(f, options) configuration.configure(state.where, f, kept, options, always) end
  else
    prepare = function(f, value, first) over.spread(state, f, kept, value, first, always) end
  end
  return launcher.new(state.plan, frame, form, prepare)
end

--- A function of the kernel's arguments that launches it with these options, for hot loops.
---@param options xchg.cuda.LaunchOptions
---@return fun(...)
function methods:config(options)
  local state = state_of("config", self)
  local frame, kept = launcher.frame(state.plan), {}
  configuration.configure(state.where, frame, kept, options, state.blocking)
  return launcher.new(state.plan, frame, "config", kept)
end

local facts_out = ffi.new("const xchg_cuda_kernel_facts *[1]")

local function facts_of(state, device)
  local code = C.xchg_cuda_kernel_on(facts_out, state.kernel, device, err)
  local facts = facts_out[0]
  checked(state.where, code)
  return facts
end

---@class xchg.cuda.Occupancy
---@field blocks integer   that a multiprocessor holds at once
---@field threads integer  of those
---@field warps integer    of those
---@field fraction number  of the threads that it could hold
---@field multiprocessors integer
---@field grid integer     blocks that the device holds at once: the largest cooperative grid

--- Blocks that a multiprocessor holds at once, and what follows from it.
---@param block integer threads of a block
---@param shared integer? dynamic bytes
---@return xchg.cuda.Occupancy
function methods:occupancy(block, shared)
  local state, where = state_of("occupancy", self), "occupancy"
  block = check.integer(where, "the block", block, 1, 2 ^ 31 - 1)
  shared = shared and check.integer(where, "shared", shared, 0, 2 ^ 31 - 1) or 0
  local device = device_.index(where)
  checked(where, C.xchg_cuda_kernel_occupancy(number, state.kernel, device, block, shared, err))
  local blocks, facts = number[0], facts_of(state, device)
  return {
    blocks = blocks, threads = blocks * block, warps = blocks * math.ceil(block / facts.warp),
    fraction = blocks * block / facts.threads_per_multiprocessor, multiprocessors = facts.multiprocessors,
    grid = blocks * facts.multiprocessors,
  }
end

--- Threads of a block that fill the current device best.
---@param shared integer? dynamic bytes
---@return integer
function methods:suggest_block(shared)
  local where = "suggest_block"
  shared = shared and check.integer(where, "shared", shared, 0, 2 ^ 31 - 1) or 0
  return over.suggestion(state_of(where, self), device_.index(where), shared)
end

local bytes = ffi.new("int64_t[1]")

--- Dynamic bytes that are left for each block where a multiprocessor holds `blocks` blocks of `block` threads.
---@return integer
function methods:available_shared(blocks, block)
  local where = "available_shared"
  blocks = check.integer(where, "blocks", blocks, 1, 2 ^ 31 - 1)
  block = check.integer(where, "the block", block, 1, 2 ^ 31 - 1)
  local state, device = state_of(where, self), device_.index(where)
  checked(where, C.xchg_cuda_kernel_available(bytes, state.kernel, device, blocks, block, err))
  return tonumber(bytes[0])
end

--- Blocks of the largest cluster that the current device runs.
---@param block integer threads of a block
---@param shared integer? dynamic bytes
---@return integer
function methods:max_cluster(block, shared)
  local where = "max_cluster"
  block = check.integer(where, "the block", block, 1, 2 ^ 31 - 1)
  shared = shared and check.integer(where, "shared", shared, 0, 2 ^ 31 - 1) or 0
  local state, device = state_of(where, self), device_.index(where)
  checked(where, C.xchg_cuda_kernel_cluster(number, state.kernel, device, block, shared, err))
  return number[0]
end

local fields = {}

function fields.name(state) return state.name end
function fields.signature(state) return state.plan.signature end
function fields.program(state) return state.program end

function fields.attributes(state)
  local facts = facts_of(state, device_.index(state.where))
  return {
    registers = facts.registers, max_threads = facts.max_threads, ptx_version = facts.ptx_version,
    binary_version = facts.binary_version, shared_bytes = tonumber(facts.shared_bytes),
    local_bytes = tonumber(facts.local_bytes), constant_bytes = tonumber(facts.constant_bytes),
    max_dynamic_shared_bytes = tonumber(facts.dynamic_shared_bytes), multiprocessors = facts.multiprocessors,
  }
end

local function index(self, key)
  local method = methods[key]
  if method then return method end
  local state = rawget(self, STATE)
  if key == "launch" or key == "over" then
    local run = runner(state, key)
    rawset(self, key, run)
    return run
  end
  local field = fields[key]
  if field then return field(state) end
  error_.raise("bad_argument", "kernel %s: there is no '%s'%s", state.name, tostring(key), check.suggest(key, {
    "launch", "over", "config", "occupancy", "suggest_block", "available_shared", "max_cluster", "name", "signature",
    "program", "attributes",
  }))
end

local out = ffi.new("xchg_cuda_kernel *[1]")

---@class xchg.cuda.KernelSource
---@field library ffi.cdata*   xchg_cuda_library *
---@field name string          mangled
---@field expression string?   as the program was asked for it: "scale<float>"
---@field ptx string?
---@field source string?
---@field defines table?
---@field declared string?     the signature as the user says it
---@field program any          kept

--- A kernel of a loaded library.
---@param how xchg.cuda.KernelSource
---@return xchg.cuda.Kernel
function M.new(how)
  local shown = how.expression or how.name
  local where = "launch of " .. shown
  -- Its signature needs the handle, and the record the block that the signature's text tells.
  local handle = C.xchg_cuda_library_kernel(how.library, how.name, err)
  if handle == nil then checked(where, err.code) end
  local signature = signature_.of {
    name = how.name, ptx = how.ptx, source = how.source, expression = how.expression, defines = how.defines,
    declared = how.declared, library = how.library, kernel = handle,
  }
  local required = signature.entry and signature.entry.required_threads
  local code = C.xchg_cuda_kernel_new(out, how.library, how.name, shown,
    required and ffi.new("int32_t[3]", required[1], required[2] or 1, required[3] or 1) or nil, err)
  local kernel = out[0]
  checked(where, code)
  ffi.gc(kernel, C.xchg_cuda_kernel_release)
  local state = {
    where = where, name = shown, kernel = kernel, program = how.program, required = required, suggested = {},
    blocking = configuration.blocking(), plan = plan_.new(where, signature, kernel),
  }
  state.plan.program = how.program
  local metatable = {
    __name = "xchg.Kernel", __index = index,
    __tostring = function() return "kernel " .. tostring(signature) end,
    __newindex = function() error_.raise("bad_argument", "kernel %s: fields cannot be set", shown) end,
  }
  function metatable.__call(...)
    metatable.__call = runner(state, "call")
    return metatable.__call(...)
  end
  return setmetatable({ [STATE] = state }, metatable)
end

return M
