-- Loops over elements compile: no trace that starts in them is given up, none of them is blacklisted, nothing is
-- allocated for an element on the fast paths, and they say the same as the interpreter.
local ffi = require "ffi"
local jutil = require "jit.util"
local xchg = require "xchg"
local raises = require "spec.support.raises"
local has_names, vmdef = pcall(require, "jit.vmdef")

local N = 3000

local function opcodes(fn)
  local seen = {}
  for pc = 1, 1e6 do
    local instruction = jutil.funcbc(fn, pc)
    if not instruction then return seen end
    local place = bit.band(instruction, 0xff) * 6
    seen[vmdef.bcnames:sub(place + 1, place + 6):gsub(" ", "")] = true
  end
end

local function reason(code, info)
  local text = vmdef.traceerr[code] or tostring(code)
  return text:find("%%") and text:format(tostring(info)) or text
end

-- Runs fn(...), chunk "=hot", often enough. Returns its result and what the compiler gave up.
local function watch(fn, ...)
  local aborts, starts = {}, {}
  local function listen(what, trace, func, pc, code, info)
    if what == "start" then
      starts[trace] = jutil.funcinfo(func, pc).source == "=hot"
    elseif what == "abort" and starts[trace] then
      local at = jutil.funcinfo(func, pc)
      aborts[#aborts + 1] = ("%s at %s:%d"):format(reason(code, info), tostring(at.source), at.currentline or 0)
    end
  end
  jit.flush()
  jit.off() -- and on: the counts of what is hot begin anew, so that what ran before has made nothing of this nearly hot
  jit.on()
  collectgarbage()
  collectgarbage("stop") -- a finalizer that runs while a trace is recorded ends the recording
  jit.attach(listen, "trace")
  local ok, result = pcall(fn, ...)
  jit.attach(listen)
  collectgarbage("restart")
  assert(ok, result)
  return result, aborts
end

local function load_hot(source)
  return assert(loadstring("local xchg, ffi = ... return function(t, n) " .. source .. " end", "=hot"))(xchg, ffi)
end

-- The compiler counts what is hot in 64 places, by address: now and then an outer loop shares its place with a function that
-- the inner one calls, is tried first, and left for the inner one. At another address it is not; what is wrong with the loop
-- itself comes back at each.
local function shared_place(aborts)
  return #aborts == 1 and (aborts[1]:find("leaving loop in root trace", 1, true)
    or aborts[1]:find("inner loop in root trace", 1, true))
end

-- The loop, at an address of its own, and what watching its first run gave.
local function load_apart(source, ...)
  local kept = {} -- what was tried keeps its address
  local fn, result, aborts
  repeat
    fn = load_hot(source)
    kept[#kept + 1] = fn
    result, aborts = watch(fn, ...)
  until #kept == 4 or not shared_place(aborts)
  return fn, result, aborts
end

local function interpret(source, ...)
  local fn = load_hot(source)
  jit.off()
  local ok, result = pcall(fn, ...)
  jit.on()
  assert(ok, result)
  return result
end

-- Bytes for each element that a loop leaves for the collector.
local function garbage(fn, t)
  fn(t, N)
  collectgarbage()
  collectgarbage("stop")
  local before = collectgarbage("count")
  for _ = 1, 10 do fn(t, N) end
  local bytes = (collectgarbage("count") - before) * 1024 / (10 * N)
  collectgarbage("restart")
  return bytes
end

local function filled(shape, name)
  local t = xchg.zeros(shape, { dtype = name })
  local flat = t:reshape(-1)
  for i = 1, flat:numel() do
    if name == "bool" then flat[i] = i % 3 == 0 else flat[i] = i % 100 end
  end
  return t
end

local NUMBERS = { "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "bfloat16", "float32", "float64" }

-- What, the loop, a tensor for it; N elements are visited. Off the fast paths, bytes that an element may cost.
local ROWS = {
  { "t[i] with strides", "local s = 0 for i = 1, n do s = s + t[i] end return s", filled({ N, 2 }, "float64"):select(2, 2) },
  { "t[i] from the end", "local s = 0 for i = 1, n do s = s + t[i] end return s", filled(N, "float64")[{ { N, 1, -1 } }] },
  { "t[-i]", "local s = 0 for i = 1, n do s = s + t[-i] end return s", filled(N, "float64") },
  { "t:at(-i, j)", "local s = 0 for i = 1, 30 do for j = 1, 100 do s = s + t:at(-i, j) end end return s", filled({ 30, 100 }, "float64"), 200 },
  { "t[{i, -j}]", "local s = 0 for i = 1, 30 do for j = 1, 100 do s = s + t[{i, -j}] end end return s", filled({ 30, 100 }, "float64"), 200 },
  { "t[{i, j, k}]", "local s = 0 for i = 1, 3 do for j = 1, 10 do for k = 1, 100 do s = s + t[{i, j, k}] end end end return s",
    filled({ 3, 10, 100 }, "int32"), 200 },
  { "t[{i}]", "local s = 0 for i = 1, n do s = s + t[{i}] end return s", filled(N, "float64"), 200 },
  { "t[-i] = v", "for i = 1, n do t[-i] = i % 50 end return t[n]", filled(N, "float64") },
  { "t:set(v, i, -j)", "for i = 1, 30 do for j = 1, 100 do t:set(i, i, -j) end end return t:at(30, 100)", filled({ 30, 100 }, "float64"), 200 },
  { "#t", "local s = 0 for i = 1, #t do s = s + #t end return s", filled(N, "float64") },
  { "ipairs(t)", "local s = 0 for i, v in ipairs(t) do s = s + i * v end return s", filled(N, "float64") },
  { "t:at(i)", "local s = 0 for i = 1, n do s = s + t:at(i) end return s", filled(N, "float64") },
  { "t:at(i, j)", "local s = 0 for i = 1, 30 do for j = 1, 100 do s = s + t:at(i, j) end end return s", filled({ 30, 100 }, "float64") },
  { "t:at(i, j) transposed", "local s = 0 for i = 1, 30 do for j = 1, 100 do s = s + t:at(i, j) end end return s",
    filled({ 100, 30 }, "float32"):transpose(1, 2) },
  { "t:at(i, j, k)", "local s = 0 for i = 1, 3 do for j = 1, 10 do for k = 1, 100 do s = s + t:at(i, j, k) end end end return s",
    filled({ 3, 10, 100 }, "int32") },
  { "t[{i, j}]", "local s = 0 for i = 1, 30 do for j = 1, 100 do s = s + t[{i, j}] end end return s", filled({ 30, 100 }, "float64") },
  { "t[i] = v", "for i = 1, n do t[i] = i % 50 end return t[n]", filled(N, "float64") },
  { "t[i] = v with strides", "for i = 1, n do t[i] = i % 50 end return t[n]", filled({ N, 2 }, "int16"):select(2, 1) },
  { "t[i] = t[i] * a + b", "for i = 1, n do t[i] = i % 8 end for i = 1, n do t[i] = t[i] * 0.5 + 1 end return t[n]", filled(N, "float32") },
  { "t[{i, j}] = v", "for i = 1, 30 do for j = 1, 100 do t[{i, j}] = i + j end end return t:at(30, 100)", filled({ 30, 100 }, "float64") },
  { "t:set(v, i)", "for i = 1, n do t:set(i % 50, i) end return t[n]", filled(N, "uint8") },
  { "t:set(v, i, j)", "for i = 1, 30 do for j = 1, 100 do t:set(i, i, j) end end return t:at(30, 100)", filled({ 30, 100 }, "float64") },
  { "t:set(v, i, j, k)", "for i = 1, 3 do for j = 1, 10 do for k = 1, 100 do t:set(i, i, j, k) end end end return t:at(3, 10, 100)",
    filled({ 3, 10, 100 }, "int64") },
  { "a branch on bool", "local s = 0 for i = 1, n do if t[i] then s = s + 1 end end return s", filled(N, "bool") },
  { "t[i] = a boolean", "for i = 1, n do t[i] = i % 2 == 0 end return t[n]", filled(N, "bool") },
  { "t.data[i]", "local p, s = t.data, 0 for i = 0, n - 1 do s = s + p[i] end return s", filled(N, "float64") },
}
for _, name in ipairs(NUMBERS) do
  ROWS[#ROWS + 1] = { "t[i] of " .. name, "local s = 0 for i = 1, n do s = s + t[i] end return s", filled(N, name) }
  ROWS[#ROWS + 1] = { "t[i] = v of " .. name, "for i = 1, n do t[i] = i % 100 end return t[n]", filled(N, name) }
end

-- What a long program does before: the compiler has seen these functions with everything else.
local function disturb()
  local m, c = filled({ 5, 6 }, "float64"), filled({ 2, 3, 2, 3, 2 }, "int32")
  for round = 1, 200 do
    for i = -3, 3 do
      pcall(m.at, m, i, round)
      pcall(c.at, c, 1, i, 1, 1, -1)
      pcall(function() return m[{ i, {} }] end)
      pcall(function() return c[{ 1, i, 1, {}, 1 }] end)
      pcall(function() c[{ 1, -1, 1, i }] = round end)
      pcall(function() m[i] = i end)
    end
  end
end

describe("a loop over", function()
  setup(disturb)

  if not has_names then
    it("elements", function() pending("this LuaJIT has no jit.vmdef") end)
    return
  end

  for _, row in ipairs(ROWS) do
    it(row[1] .. " compiles", function()
      local fn, result, aborts = load_apart(row[2], row[3], N)
      for round = 1, 3 do
        if round > 1 then result, aborts = watch(fn, row[3], N) end
        assert.equal("", table.concat(aborts, "\n"))
        assert.equal(result, interpret(row[2], row[3], N))
      end
      local seen = opcodes(fn)
      for _, name in ipairs { "IFORL", "IITERL", "ILOOP" } do assert.is_nil(seen[name]) end
      local bytes = garbage(fn, row[3])
      assert(bytes < (row[4] or 1), ("%.1f bytes for each element"):format(bytes))
    end)
  end

  it("tensors of all dtypes in turn compiles for each", function()
    local source = "local s = 0 for i = 1, n do s = s + t[i] end return s"
    local fn, tensors = load_hot(source), {}
    for k, name in ipairs(NUMBERS) do tensors[k] = filled(N, name) end
    for _ = 1, 3 do
      for _, t in ipairs(tensors) do
        assert.equal(interpret(source, t, 10), fn(t, 10))
        assert.equal(interpret(source, t, N), fn(t, N))
      end
    end
    for _, t in ipairs(tensors) do assert(garbage(fn, t) < 1, t.dtype) end
  end)

  it("64-bit integers beyond 2^53 adds them exactly, and unboxed", function()
    local source = "local s = 0LL for i = 1, n do s = s + t[i] end return s"
    local t = xchg.full(N, 9007199254740993LL)
    local fn = load_hot(source)
    local sum, aborts = watch(fn, t, N)
    assert.equal("", table.concat(aborts, "\n"))
    assert.is_true(sum == 9007199254740993LL * N)
    assert.is_true(interpret(source, t, N) == sum)
    assert(garbage(fn, t) < 1)
  end)

  it("64-bit integers of both kinds gives each as it is", function()
    local t = xchg.zeros(N, { dtype = "int64" })
    for i = 1, N do t[i] = i % 2 == 0 and i or 9007199254740993LL end
    local function kinds(x, n)
      local numbers, cdata = 0, 0
      for i = 1, n do if type(x[i]) == "number" then numbers = numbers + 1 else cdata = cdata + 1 end end
      return numbers, cdata
    end
    for _ = 1, 3 do assert.same({ N / 2, N / 2 }, { kinds(t, N) }) end
  end)

  it("complex numbers gives their parts", function()
    local source = "local s = 0 for i = 1, n do local z = t[i] s = s + z.re - 2 * z.im end return s"
    for _, name in ipairs { "complex64", "complex128" } do
      local t = xchg.zeros(N, { dtype = name })
      for i = 1, N do t[i] = ffi.new("complex", i % 100, i % 7) end
      local fn = load_hot(source)
      local sum, aborts = watch(fn, t, N)
      assert.equal("", table.concat(aborts, "\n"))
      assert.equal(interpret(source, t, N), sum)
      assert(garbage(fn, t) < 1)
    end
  end)
end)

describe("a compiled loop", function()
  it("refuses what the interpreter refuses, wherever it comes", function()
    local t, m = filled(100, "float64"), filled({ 10, 10 }, "float64")
    local function one(i) return t[i] end
    local function two(i, j) return m:at(i, j) end
    local function three(i, j) return m[{ i, j }] end
    for i = 1, 100 do one(i) two((i - 1) % 10 + 1, 3) three(3, (i - 1) % 10 + 1) end
    for _, bad in ipairs { 0, 101, -101, 2 ^ 31, 2 ^ 53, 2 ^ 63, 1 / 0, -1 / 0 } do
      raises("out_of_range", "index: index", one, bad)
      raises("out_of_range", "at: index", two, 1, bad)
      raises("out_of_range", "at: index", two, bad, 1)
      raises("out_of_range", "index: index", three, 1, bad)
    end
    for _, bad in ipairs { 1.5, 0.5, 99.9999, 0 / 0 } do
      raises("wrong_type", "index: index", one, bad)
      raises("wrong_type", "at: index 1", two, bad, 1)
      raises("wrong_type", "index: index 2", three, 1, bad)
    end
    for i = 1, 100 do assert.equal(i % 100, one(i)) end
  end)

  it("sees the end of the tensor", function()
    local t = filled(N, "float64")
    local function sum(n) local s = 0 for i = 1, n do s = s + t[i] end return s end
    for _ = 1, 3 do sum(N) end
    raises("out_of_range", ("index: index %d is out of range"):format(N + 1), sum, N + 1)
  end)

  it("sees that a value no longer fits", function()
    local t = xchg.zeros(N, { dtype = "int8" })
    local function write(from) for i = 1, N do t[i] = from + i % 100 end end
    for _ = 1, 3 do write(0) end
    raises("out_of_range", "index: 128 does not fit in int8", write, 100)
    assert.equal(101, t[1])
  end)
end)
