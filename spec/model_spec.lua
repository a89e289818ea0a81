-- Random chains of views, reads and writes, against a model that is a plain Lua table: XCHG_SEED=n repeats a run.
local ffi = require "ffi"
local xchg = require "xchg"
local error_ = require "xchg.error"

local SEED = tonumber(os.getenv("XCHG_SEED")) or os.time() % 100000
local STEPS = tonumber(os.getenv("XCHG_STEPS")) or 4000
local DTYPES = { "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "bfloat16", "float32",
  "float64" }

-- Small and exact in every dtype but bool.
local function cast(value, dtype)
  local number = value == true and 1 or value == false and 0 or value
  if dtype == "bool" then return number ~= 0 end
  return number
end

local random = math.random
local function chance(n) return random(n) == 1 end

-- ---- the model: a view is a shape and, in row-major order, the places of its elements in a store ------------

local function product(shape)
  local n = 1
  for _, extent in ipairs(shape) do n = n * extent end
  return n
end

local function copy_list(list) return { unpack(list) } end

-- The cells of a view whose place along each dimension is picked by `places`, a list of lists.
local function pick(model, places)
  local cells, strides, stride = {}, {}, 1
  for d = #model.shape, 1, -1 do
    strides[d] = stride
    stride = stride * model.shape[d]
  end
  local function walk(d, offset)
    if d > #places then
      cells[#cells + 1] = model.cells[offset + 1]
      return
    end
    for _, place in ipairs(places[d]) do walk(d + 1, offset + (place - 1) * strides[d]) end
  end
  walk(1, 0)
  return cells
end

local function all_places(model)
  local places = {}
  for d, extent in ipairs(model.shape) do
    places[d] = {}
    for i = 1, extent do places[d][i] = i end
  end
  return places
end

local function nested(model, get)
  local k = 0
  local function build(d)
    if d > #model.shape then
      k = k + 1
      return get(model.cells[k])
    end
    local out = {}
    for i = 1, model.shape[d] do out[i] = build(d + 1) end
    return out
  end
  return build(1)
end

local function values(model) return nested(model, function(cell) return model.store[cell] end) end

local function derive(model, shape, cells) return { shape = shape, cells = cells, store = model.store, dtype = model.dtype } end

-- ---- steps: each takes a pair {tensor, model} and gives another ------------------------------------------------

local function either(i, extent) return chance(2) and i or i - extent - 1 end

local function pair_of(tensor, model) return { tensor = tensor, model = model } end

local views = {}

function views.select(pair)
  local d = random(#pair.model.shape)
  local extent = pair.model.shape[d]
  if extent == 0 then return nil end
  local i = random(extent)
  local places, shape = all_places(pair.model), copy_list(pair.model.shape)
  places[d] = { i }
  table.remove(shape, d)
  local t
  if d == 1 and #shape > 0 and chance(2) then
    t = pair.tensor[either(i, extent)]
  else
    t = pair.tensor:select(either(d, #pair.model.shape), either(i, extent))
  end
  return pair_of(t, derive(pair.model, shape, pick(pair.model, places)))
end

function views.narrow(pair)
  local d = random(#pair.model.shape)
  local extent = pair.model.shape[d]
  if extent == 0 then return nil end
  local start = random(extent)
  local length = random(0, extent - start + 1)
  local places, shape = all_places(pair.model), copy_list(pair.model.shape)
  places[d] = {}
  for i = 1, length do places[d][i] = start + i - 1 end
  shape[d] = length
  local t = pair.tensor:narrow(either(d, #pair.model.shape), either(start, extent), length)
  return pair_of(t, derive(pair.model, shape, pick(pair.model, places)))
end

function views.transpose(pair)
  local n = #pair.model.shape
  local a, b = random(n), random(n)
  local shape = copy_list(pair.model.shape)
  shape[a], shape[b] = shape[b], shape[a]
  -- Walk the new shape, look the old places up.
  local old, strides, stride = pair.model, {}, 1
  for d = n, 1, -1 do
    strides[d] = stride
    stride = stride * old.shape[d]
  end
  strides[a], strides[b] = strides[b], strides[a]
  local cells = {}
  local function walk(d, offset)
    if d > n then
      cells[#cells + 1] = old.cells[offset + 1]
      return
    end
    for i = 0, shape[d] - 1 do walk(d + 1, offset + i * strides[d]) end
  end
  walk(1, 0)
  return pair_of(pair.tensor:transpose(either(a, n), either(b, n)), derive(old, shape, cells))
end

local function random_shape(count)
  local shape = {}
  while count > 1 and #shape < 4 do
    local divisors = {}
    for k = 1, count do if count % k == 0 then divisors[#divisors + 1] = k end end
    local k = divisors[random(#divisors)]
    shape[#shape + 1] = k
    count = count / k
  end
  if count > 1 or chance(3) then shape[#shape + 1] = count end
  return shape
end

function views.reshape(pair)
  local count = product(pair.model.shape)
  local shape = count == 0 and { 0, 2 } or random_shape(count)
  local wanted = copy_list(shape)
  if count > 0 and #wanted > 0 and chance(3) then wanted[random(#wanted)] = -1 end
  local ok, t = pcall(pair.tensor.reshape, pair.tensor, wanted)
  if not ok then
    assert(t.code == "not_viewable", tostring(t))
    assert(not pair.tensor:is_contiguous(), "a contiguous tensor can have any shape")
    t = pair.tensor:contiguous():reshape(wanted) -- a copy: a store of its own
    local store, cells = {}, {}
    for k, cell in ipairs(pair.model.cells) do store[k], cells[k] = pair.model.store[cell], k end
    return pair_of(t, { shape = shape, cells = cells, store = store, dtype = pair.model.dtype })
  end
  return pair_of(t, derive(pair.model, shape, copy_list(pair.model.cells)))
end

function views.index(pair)
  local expression, shape, places = {}, {}, all_places(pair.model)
  local ranges = 0
  for d, extent in ipairs(pair.model.shape) do
    local kind = random(4)
    if kind == 1 and extent > 0 then
      local i = random(extent)
      expression[d], places[d] = either(i, extent), { i }
    elseif kind == 2 and extent > 0 then
      local a, b, step = random(extent), random(extent), random(3)
      if b < a then step = -step end
      if chance(6) then step = -step end -- nothing, or the first alone
      expression[d] = { either(a, extent), either(b, extent), step }
      if step == 1 and chance(2) then expression[d][3] = nil end
      places[d] = {}
      for i = a, b, step do table.insert(places[d], i) end
      ranges = ranges + 1
      shape[#shape + 1] = #places[d]
    else
      expression[d] = {}
      ranges = ranges + 1
      shape[#shape + 1] = extent
    end
  end
  if ranges == 0 then -- an element otherwise
    local d = #pair.model.shape
    expression[d] = nil
    places[d] = all_places(pair.model)[d]
    shape[1] = pair.model.shape[d]
  end
  return pair_of(pair.tensor[expression], derive(pair.model, shape, pick(pair.model, places)))
end

function views.clone(pair)
  local t = chance(2) and pair.tensor:clone() or nil
  local dtype = pair.model.dtype
  if not t then
    dtype = DTYPES[random(#DTYPES)]
    t = pair.tensor:to(dtype, { copy = true })
  end
  local store, cells = {}, {}
  for k, cell in ipairs(pair.model.cells) do store[k], cells[k] = cast(pair.model.store[cell], dtype), k end
  return pair_of(t, { shape = copy_list(pair.model.shape), cells = cells, store = store, dtype = dtype })
end

local function random_value(dtype)
  if dtype == "bool" then return chance(2) end
  return random(0, 100)
end

local writes = {}

function writes.element(pair)
  local model = pair.model
  if #model.cells == 0 then return end
  local indices, offset = {}, 0
  for d, extent in ipairs(model.shape) do
    local i = random(extent)
    indices[d], offset = either(i, extent), offset * extent + i - 1
  end
  local value, n = random_value(model.dtype), #indices
  local how = random(3)
  if n == 1 and how == 1 then
    pair.tensor[indices[1]] = value
  elseif n > 0 and how == 2 then
    pair.tensor[indices] = value
  else
    pair.tensor:set(value, unpack(indices))
  end
  model.store[model.cells[offset + 1]] = value
  local got = pair.tensor:at(unpack(indices))
  assert(got == value, "the element is not what was written")
end

function writes.fill(pair)
  local value = random_value(pair.model.dtype)
  if chance(2) then pair.tensor:fill_(value) else pair.tensor[{}] = value end
  for _, cell in ipairs(pair.model.cells) do pair.model.store[cell] = value end
end

-- Values for a source that broadcasts to the shape: dimensions are left out, or 1.
local function broadcast_places(shape)
  local source, keep = {}, {}
  local first = chance(3) and random(#shape + 1) or 1
  for d = first, #shape do
    local one = chance(4) and shape[d] > 0
    source[#source + 1] = one and 1 or shape[d]
    keep[d] = not one
  end
  return source, function(indices)
    local offset = 0
    for d = first, #shape do
      local extent = keep[d] and shape[d] or 1
      offset = offset * extent + (keep[d] and indices[d] - 1 or 0)
    end
    return offset + 1
  end
end

local function each_index(shape, fn)
  local indices, k = {}, 0
  local function walk(d)
    if d > #shape then
      k = k + 1
      return fn(indices, k)
    end
    for i = 1, shape[d] do
      indices[d] = i
      walk(d + 1)
    end
  end
  walk(1)
end

function writes.broadcast(pair)
  local model = pair.model
  local shape, place = broadcast_places(model.shape)
  local dtype = chance(2) and model.dtype or DTYPES[random(#DTYPES)]
  local store, cells = {}, {}
  for k = 1, product(shape) do store[k], cells[k] = random_value(dtype), k end
  local source = { shape = shape, cells = cells, store = store, dtype = dtype }
  if chance(2) or #store == 0 then -- a table without elements does not say its shape
    pair.tensor[{}] = xchg.tensor(#shape == 0 and store[1] or values(source), { dtype = dtype }):reshape(shape)
  elseif #shape == 0 then
    pair.tensor[{}] = cast(store[1], model.dtype)
  else
    for k, value in ipairs(store) do store[k] = cast(value, model.dtype) end
    pair.tensor[{}] = values(source)
  end
  each_index(model.shape, function(indices, k) model.store[model.cells[k]] = cast(store[place(indices)], model.dtype) end)
end

-- From one part of a store to another that may overlap with it.
function writes.overlap(pair)
  local d = #pair.model.shape
  local extent = pair.model.shape[d]
  if extent < 2 then return end
  local length = random(1, extent - 1)
  local from, to = random(extent - length + 1), random(extent - length + 1)
  local backwards = chance(2)
  local function part(start)
    local places = all_places(pair.model)
    places[d] = {}
    for i = 1, length do places[d][i] = start + i - 1 end
    return places
  end
  local source = part(from)
  local t = pair.tensor:narrow(d, from, length)
  if backwards then
    local expression = {}
    for k = 1, d - 1 do expression[k] = {} end
    expression[d] = { from + length - 1, from, -1 }
    for i = 1, length do source[d][i] = from + length - i end
    t = pair.tensor[expression]
  end
  local read, written = {}, pick(pair.model, part(to))
  for k, cell in ipairs(pick(pair.model, source)) do read[k] = pair.model.store[cell] end
  pair.tensor:narrow(d, to, length):copy_(t)
  for k, cell in ipairs(written) do pair.model.store[cell] = read[k] end
end

-- Calls that must be refused and change nothing.
local function refused(pair)
  local t, n = pair.tensor, #pair.model.shape
  local calls = {
    function() return t:select(n + 1, 1) end, function() return t:select(1, (pair.model.shape[1] or 0) + 1) end,
    function() return t:narrow(1, 1, (pair.model.shape[1] or 0) + 1) end, function() return t:transpose(0, 1) end,
    function() return t:reshape(product(pair.model.shape) + 1) end, function() return t[0] end,
    function() return t[(pair.model.shape[1] or 0) + 1] end, function() return t[1.5] end, function() t[0 / 0] = 1 end,
    function() t[{}] = "x" end, function() t[{}] = { { 1, 2 }, { 3 } } end, function() t:set(0) end,
    function() t[{}] = xchg.zeros { 1009, 2 } end, function() return t:at(unpack({ 1, 1, 1, 1, 1, 1, 1 })) end,
  }
  if n == 0 then table.remove(calls, 12) end
  local ok, e = pcall(calls[random(#calls)])
  assert(not ok, "nothing was raised")
  assert(error_.is(e), tostring(e))
end

local function same(a, b)
  if type(a) ~= "table" or type(b) ~= "table" then return a == b end
  if #a ~= #b then return false end
  for i = 1, #a do if not same(a[i], b[i]) then return false end end
  return true
end

-- One element, in the ways that compile.
local function probe(pair)
  local indices, offset = {}, 0
  for d, extent in ipairs(pair.model.shape) do
    if extent == 0 then return true end
    local i = random(extent)
    indices[d], offset = i, offset * extent + i - 1
  end
  local expected = pair.model.store[pair.model.cells[offset + 1]]
  if #indices == 1 and pair.tensor[indices[1]] ~= expected then return false end
  if #indices > 0 and pair.tensor[indices] ~= expected then return false end
  return pair.tensor:at(unpack(indices)) == expected
end

local function fresh()
  local shape = {}
  for d = 1, random(0, 4) do shape[d] = chance(15) and 0 or random(4) end
  local dtype = DTYPES[random(#DTYPES)]
  local store, cells = {}, {}
  for k = 1, product(shape) do store[k], cells[k] = random_value(dtype), k end
  local t = xchg.zeros(shape, { dtype = dtype })
  local pair = pair_of(t, { shape = shape, cells = cells, store = store, dtype = dtype })
  local flat = t:reshape(-1)
  for k = 1, #cells do flat[k] = store[k] end
  return pair
end

local function names(set)
  local out = {}
  for name in pairs(set) do out[#out + 1] = name end
  table.sort(out)
  return out
end

local VIEWS, WRITES = names(views), names(writes)

local function run(seed, steps)
  math.randomseed(seed)
  local pairs_, log = { fresh() }, {}
  for step = 1, steps do
    if chance(20) or #pairs_ > 12 then
      pairs_ = { fresh() }
      log = {}
    end
    local k = random(#pairs_)
    local pair = pairs_[k]
    local kind = random(10)
    local name, action
    if kind <= 4 then
      name = VIEWS[random(#VIEWS)]
      action = function()
        if #pair.model.shape == 0 and name ~= "reshape" and name ~= "clone" then return end
        pairs_[#pairs_ + 1] = views[name](pair)
      end
    elseif kind <= 8 then
      name = WRITES[random(#WRITES)]
      action = function()
        if #pair.model.shape == 0 and name == "overlap" then return end
        writes[name](pair)
      end
    elseif kind == 9 then
      name, action = "refused", function() refused(pair) end
    else
      name = "release"
      action = function()
        if #pairs_ < 2 then return end
        pair.tensor:release()
        table.remove(pairs_, k)
      end
    end
    log[#log + 1] = ("%d: %s of {%s} %s"):format(k, name, table.concat(pair.model.shape, ", "), pair.model.dtype)
    local ok, problem = pcall(action)
    local function fail(text)
      error(("XCHG_SEED=%d, step %d: %s\n%s"):format(seed, step, text, table.concat(log, "\n")), 0)
    end
    if not ok then fail(tostring(problem)) end
    for number, other in ipairs(pairs_) do -- every view sees what was written, and only that
      if not same(other.tensor.shape, other.model.shape) then fail(("shape of %d"):format(number)) end
      if not probe(other) then fail(("an element of %d"):format(number)) end
      if not same(other.tensor:totable(), values(other.model)) then
        fail(("%d is\n%s\ninstead of\n%s"):format(number, tostring(other.tensor),
          tostring(xchg.tensor(values(other.model), { dtype = other.model.dtype }))))
      end
    end
  end
end

describe("random views and writes", function()
  it(("do what a plain table does (XCHG_SEED=%d)"):format(SEED), function()
    io.write(("[XCHG_SEED=%d] "):format(SEED))
    run(SEED, STEPS)
  end)

  it("do what they did before", function()
    for seed = 1, 5 do run(seed, 300) end
  end)

  it("do so without the JIT", function()
    jit.off()
    local ok, problem = pcall(run, SEED + 1, 300)
    jit.on()
    assert(ok, problem)
    assert.is_not_nil(ffi)
  end)
end)
