--- Words that the cases of spec/kernels are written in, and what runs a case: uploads, launches, compares every element.
--- Expected values are computed on the host: by LuaJIT's own arithmetic, by the C library, or by hand.

local ffi = require "ffi"
local child = require "spec.support.child"
local nvrtc = require "spec.support.nvrtc"

local M = {}

M.TARGETS = { 75, 90, 100, 120 }

ffi.cdef [[
int fflush(void *);
int dup(int);
int dup2(int, int);
int open(const char *, int, ...);
int close(int);
]]

---@class kernels.Argument
---@field host ffi.cdata* elements before the launch
---@field want? fun(i: integer): any expected element, from 0

-- ---- arguments ----

-- Types by their text: each text is parsed once.
local types = {}
local function typed(ctype, suffix)
  local text = ctype .. (suffix or "[?]")
  types[text] = types[text] or ffi.typeof(text)
  return types[text]
end

--- A scalar or a struct by value.
function M.value(ctype, value)
  local host = ffi.new(typed(ctype, "[1]"))
  if value ~= nil then host[0] = value end
  return { kind = "value", host = host }
end

--- Memory that the kernel reads and writes. `values`: a function of the index from 0, or nil for zeros. `want`: the
--- same for what must lie there afterwards, nil when it must be as before. `bound`: { ulp = n } or { rel = x, abs = x }.
function M.memory(ctype, count, values, want, bound)
  local host = typed(ctype)(count)
  if values then
    for i = 0, count - 1 do host[i] = values(i) end
  end
  return { kind = "memory", ctype = ctype, count = count, host = host, want = want, bound = bound }
end

--- Memory that the kernel only reads.
function M.input(ctype, count, values)
  return M.memory(ctype, count, values)
end

--- Memory that the kernel fills; what it leaves alone must be zero.
function M.output(ctype, count, want, bound)
  return M.memory(ctype, count, nil, want, bound)
end

--- A variable of the module, set before the launch or compared after it. NVRTC shows only those that are asked for by
--- name: the group lists them in `variables`.
function M.global(name, argument)
  argument.kind, argument.name = "global", name
  return argument
end

-- ---- host arithmetic ----

local cell = { float = ffi.new("float[1]") }

--- The nearest float.
function M.f32(x)
  cell.float[0] = x
  return cell.float[0]
end

local casts = {}
--- Wraps a number or 64-bit cdata into a narrower C type as C does: M.cast("int8_t", 200) is -56.
function M.cast(ctype, x)
  local box = casts[ctype]
  if not box then
    box = { ffi.new("int64_t[1]"), nil }
    box[2] = ffi.cast(ctype .. " *", box[1])
    casts[ctype] = box
  end
  box[1][0] = ffi.cast("int64_t", x)
  return box[2][0]
end

--- What a kernel of `#columns` results for each thread must leave: columns[c](thread).
function M.rows(columns)
  local width = #columns
  return function(i) return columns[i % width + 1](math.floor(i / width)) end
end

local ROUND = ffi.arch == "arm64" and { down = 0x800000, up = 0x400000, zero = 0xc00000 }
  or { down = 0x400, up = 0x800, zero = 0xc00 }

ffi.cdef "int fesetround(int);"

--- op(...) with the processor rounding "down", "up" or to "zero"; as a float if asked: two roundings the same way are one.
function M.rounded(mode, op, single)
  local function run(...)
    ffi.C.fesetround(ROUND[mode])
    local x = op(...)
    if single then cell.float[0] = x end
    ffi.C.fesetround(0)
    return single and cell.float[0] or x
  end
  jit.off(run) -- a trace may move arithmetic over the calls
  return run
end

--- Deterministic 32-bit numbers that look like noise: one for each index and stream.
function M.noise(i, stream)
  local x = ffi.cast("uint32_t", i) * 2654435761ULL + (stream or 0) * 40503ULL + 12345ULL
  x = bit.bxor(x, bit.rshift(x, 15)) * 2246822519ULL % 4294967296ULL
  x = bit.bxor(x, bit.rshift(x, 13)) * 3266489917ULL % 4294967296ULL
  return tonumber(bit.bxor(x, bit.rshift(x, 16)) % 4294967296ULL)
end

--- The same as a 64-bit cdata, uint64_t.
function M.noise64(i, stream)
  return M.noise(i, stream) * 4294967296ULL + M.noise(i, (stream or 0) + 7919)
end

-- ---- comparing ----

local bits_of = { float = "int32_t", double = "int64_t" }

-- An element as a Lua value. A NaN's payload must not become one: LuaJIT would take it for an object.
local function element(ctype, array, i)
  if ctype == "float" then
    local n = ffi.cast("uint32_t *", array)[i]
    if n % 0x80000000 > 0x7f800000 then return 0 / 0 end
  elseif ctype == "double" then
    local n = ffi.cast("uint64_t *", array)[i]
    if n % 0x8000000000000000ULL > 0x7ff0000000000000ULL then return 0 / 0 end
  end
  return array[i]
end

-- The position of a float among all floats, so that neighbours differ by one.
local function position(ctype, x)
  local box = typed(ctype, "[1]")(x)
  local n = ffi.cast(typed(bits_of[ctype], " *"), box)[0]
  if ctype == "float" then
    return n < 0 and -2147483648 - n or n
  end
  return n < 0 and ffi.cast("int64_t", 0x8000000000000000ULL) - n or n
end

local function same_bits(ctype, got, want)
  local size = ffi.sizeof(ctype)
  local a, b = typed(ctype, "[1]")(), typed(ctype, "[1]")()
  a[0], b[0] = got, want
  return ffi.string(a, size) == ffi.string(b, size)
end

local function close(ctype, got, want, bound)
  if want ~= want then return got ~= got end
  if got ~= got then return false end
  if got == want then return true end
  if bound.abs and math.abs(got - want) <= bound.abs then return true end
  if bound.rel and math.abs(got - want) <= bound.rel * math.abs(want) then return true end
  if bound.ulp then
    if math.abs(want) == math.huge or math.abs(got) == math.huge then return false end
    local distance = position(ctype, got) - position(ctype, want)
    return tonumber(distance < 0 and -distance or distance) <= bound.ulp
  end
  return false
end

local function show(ctype, value)
  if type(value) == "number" then return ("%.17g"):format(value) end
  if type(value) == "cdata" and ffi.istype(ctype, value) and bits_of[ctype] == nil then
    local ok, text = pcall(tostring, value)
    if ok then return text end
  end
  return tostring(value)
end

-- What is wrong with one buffer, nil if nothing. NaNs are equal whatever their payload.
local function difference(argument, got)
  local ctype, bound = argument.ctype, argument.bound
  local floating = bits_of[ctype] ~= nil
  for i = 0, argument.count - 1 do
    local want
    if argument.want then want = argument.want(i) else want = argument.host[i] end
    if want ~= nil then
      local box = typed(ctype, "[1]")()
      box[0] = want
      want = box[0]
      local value = element(ctype, got, i)
      local right
      if bound then
        right = close(ctype, value, want, type(bound) == "function" and bound(i) or bound)
      else
        right = same_bits(ctype, value, want) or (floating and value ~= value and want ~= want)
      end
      if not right then
        return ("%s element %d of %d: got %s, expected %s"):format(argument.name or ctype, i, argument.count,
          show(ctype, value), show(ctype, want))
      end
    end
  end
end

-- ---- groups of cases ----

--- The cases of spec/kernels/<group>.lua, their source read and their fields filled in.
function M.group(name)
  local group = require("spec.kernels." .. name)
  group.name = name
  group.source = child.read(child.root .. "/spec/kernels/" .. name .. ".cu")
  local seen = {}
  for _, case in ipairs(group) do
    case.name = case.name or case.kernel
    assert(not seen[case.name], "two cases named " .. case.name)
    seen[case.name] = true
    case.group = group
  end
  return group
end

--- The names of all groups, sorted.
function M.groups()
  local out = {}
  for file in require("lfs").dir(child.root .. "/spec/kernels") do
    local name = file:match("^([%w_]+)%.lua$")
    if name then out[#out + 1] = name end
  end
  table.sort(out)
  return out
end

--- PTX of a group for a target (90), and the mangled names of its templates.
function M.ptx(group, target)
  local names, seen = {}, {}
  for _, case in ipairs(group) do
    if case.expression and not seen[case.expression] then
      seen[case.expression] = true
      names[#names + 1] = case.expression
    end
  end
  for _, variable in ipairs(group.variables or {}) do names[#names + 1] = "&" .. variable end
  table.sort(names) -- a group may list its cases in any order
  local options = { "-lineinfo", "-std=c++17", "--device-int128" }
  for _, option in ipairs(group.options or {}) do options[#options + 1] = option end
  return nvrtc.compile(group.source, { arch = "compute_" .. target, options = options, names = names })
end

--- Whether a case has something to do for a target: false and the reason otherwise.
function M.runs(case, target)
  if case.from and target < case.from then return false, ("needs compute_%d"):format(case.from) end
  return true
end

-- ---- running ----

local function with_output(cuda, run)
  ffi.C.fflush(nil)
  local path = os.tmpname()
  local kept, file = ffi.C.dup(1), ffi.C.open(path, 1)
  ffi.C.dup2(file, 1)
  local ok, message = pcall(run)
  ffi.C.fflush(nil)
  ffi.C.dup2(kept, 1)
  ffi.C.close(kept)
  ffi.C.close(file)
  local text = child.read(path)
  os.remove(path)
  if not ok then error(message, 0) end
  return text
end

-- What is wrong with what a kernel printed. Threads may print in any order: `printed` lists lines.
local function printed_difference(case, text)
  local got, want = {}, {}
  for line in text:gmatch("[^\n]*\n") do got[#got + 1] = line:sub(1, -2) end
  for i, line in ipairs(case.printed) do want[i] = line end
  if #text > 0 and text:sub(-1) ~= "\n" then got[#got + 1] = text:match("[^\n]*$") end
  table.sort(got)
  table.sort(want)
  for i = 1, math.max(#got, #want) do
    if got[i] ~= want[i] then
      return ("printed: got %s, expected %s"):format(tostring(got[i]), tostring(want[i]))
    end
  end
end

local function run(cuda, library, lowered, case)
  local kernel = cuda:kernel(library, case.expression and lowered[case.expression] or case.kernel)
  local arguments, memory = {}, {}
  for _, argument in ipairs(case.args()) do
    if argument.kind == "value" then
      arguments[#arguments + 1] = argument.host
    else
      local bytes = argument.count * ffi.sizeof(argument.ctype)
      local pointer, size
      if argument.kind == "global" then
        pointer, size = cuda:global(library, lowered["&" .. argument.name])
        assert(size == bytes, ("%s has %d bytes, the case %d"):format(argument.name, size, bytes))
      else
        pointer = cuda:malloc(bytes)
        arguments[#arguments + 1] = ffi.new("void *[1]", pointer)
      end
      cuda:upload(pointer, argument.host, bytes)
      memory[#memory + 1] = { argument = argument, pointer = pointer, bytes = bytes }
    end
  end
  local text = with_output(cuda, function()
    for _ = 1, case.times or 1 do cuda:launch(kernel, case, arguments) end
    cuda:synchronize()
  end)
  local wrong
  for _, each in ipairs(memory) do
    local got = typed(each.argument.ctype)(each.argument.count)
    cuda:download(got, each.pointer, each.bytes)
    wrong = wrong or difference(each.argument, got)
    if each.argument.kind == "memory" then cuda:free(each.pointer) end
  end
  if wrong then return wrong end
  if case.printed then return printed_difference(case, text) end
  if text ~= "" then return "printed " .. text end
end

--- Runs a case: nil if all is right, else what is wrong. `library` holds the case's group, compiled.
--- Expected values are interpreted: traces of LuaJITs of 2022 compare some 64-bit cdata wrongly.
function M.run(cuda, library, lowered, case)
  jit.off()
  local ok, wrong = pcall(run, cuda, library, lowered, case)
  jit.on()
  if not ok then error(wrong, 0) end
  return wrong
end

return M
