--- What is inside of nested tables and sequences, for a stack: arrays, as tensors, and numbers.

local ffi = require "ffi"
local lib = require "xchg.lib"
local buffer = require "xchg.buffer"
local check = require "xchg.check"
local dtypes = require "xchg.dtype"
local error_ = require "xchg.error"
local resolve = require "xchg.resolve"
local slots = require "xchg.slots"

local M = {}

local C, doors = lib.C, lib.core.exchange
local count, item, id_of = lib.core.python.len, lib.core.python.get, lib.core.python.id
local is_tensor = slots.is_tensor

--- A tensor over an array; or nil, and what it is. With a place from 1 on, of that element of a list.
function M.import(x, wanted, place)
  return resolve.import("asarray", x, wanted.stream, wanted.protocols, place, wanted.copy == false)
end

local import = M.import

-- ---- sequences of Python ------------------------------------------------------------------------------

-- Bytes of a walk's leaves: numbers inside of that many lists; above, empty lists; above, arrays. See
-- src/exchange/sequence.h.
local GAP, ARRAY = 64, 128

-- Raises what was raised for something inside of x, whose place only we know.
local function within(place, problem)
  if error_.is(problem) then
    problem.message = ("asarray: %s: %s"):format(place, (problem.message:gsub("^asarray: ", "")))
  end
  error(problem, 0)
end

-- A capsule can be used once: that is left to the stack, which looks first whether all fits.
local function add_capsule(parts, x, wanted, depth, ones)
  local dtype, kind, id, _, shape = doors.peek(x)
  if not dtype then return false end
  local n, address = parts.n + 1, tostring(id_of(x))
  parts.capsule_at = parts.capsule_at or {}
  if parts.capsule_at[address] then
    error_.raise("bad_capsule", "asarray: it is the capsule of %s again; a capsule can be consumed once, ask the "
      .. "producer for another", parts:place(parts.capsule_at[address]))
  end
  parts.capsule_at[address] = n
  parts:add_later(function()
    local done, t = pcall(import, x, wanted)
    if not done then within(parts:place(n), t) end
    return t
  end, dtype, kind, id, shape, depth, ones)
  return true
end

-- An array inside of others: what refuses it does not know where it is.
local function add_array(parts, list, wanted, place, depth, ones)
  local done, t, what = true, nil, nil
  if parts.capsules then
    done, t = pcall(add_capsule, parts, item(list, place - 1), wanted, depth, ones)
    if done and t then return end
  end
  if done then done, t, what = pcall(import, list, wanted, place) end
  if done and t ~= nil then return parts:add(t, true, depth, ones) end
  parts:add_gap(depth, ones) -- for its place
  if not done then within(parts:place(parts.n), t) end
  error_.raise("bad_descriptor", "asarray: %s was an array, and when it was read a %s; it must stay what it is",
    parts:place(parts.n), what)
end

--- Adds what a walk of Python objects has found, inside of `depth` lists of Lua: runs of numbers, arrays, empty
--- sequences. Without `leaves` all are arrays inside of `ndim` sequences.
function M.items(parts, list, leaves, ndim, depth, wanted)
  local n, i = leaves and #leaves or count(list), 1
  while i <= n do
    local leaf = leaves and leaves:byte(i) or ARRAY + ndim
    if leaf > ARRAY then
      add_array(parts, list, wanted, i, depth + leaf - ARRAY, depth)
      i = i + 1
    elseif leaf > GAP then
      parts:add_gap(depth + leaf - GAP, depth)
      i = i + 1
    else
      local last = (leaves:find("[\65-\255]", i) or n + 1) - 1
      parts:add_items(list, i - 1, last - i + 1, depth + leaf, depth)
      i = last + 1
    end
  end
end

-- ---- tables ---------------------------------------------------------------------------------------------

local is_complex = { ["ctype<complex>"] = "complex128", ["ctype<complex float>"] = "complex64" }

--- The dtype of a number of Lua; nil for what is none.
function M.number_dtype(x)
  local kind = type(x)
  if kind == "number" then return "float64" end
  if kind == "boolean" then return "bool" end
  if kind ~= "cdata" then return nil end
  -- To ffi.istype an array of two numbers is a complex too.
  return ffi.istype("int64_t", x) and "int64" or ffi.istype("uint64_t", x) and "uint64"
    or is_complex[tostring(ffi.typeof(x))]
end

-- The elements that are read are those in the table itself. LuaJIT does not ask __len for their number.
local function check_length(value)
  local meta = debug.getmetatable(value)
  local length = type(meta) == "table" and rawget(meta, "__len")
  local n = length and length(value)
  if n and n ~= #value then
    error_.raise("wrong_type", "asarray: a table says by __len that it has %s elements, and holds %d; pass a list of "
      .. "them", tostring(n), #value)
  end
end

local function search(value, seen)
  local kind = type(value)
  if kind ~= "table" then return kind == "userdata" or kind == "cdata" and not M.number_dtype(value) end
  if seen[value] then return false end
  seen[value] = true
  check_length(value)
  for i = 1, #value do
    if search(value[i], seen) then return true end
  end
  return false
end

--- Whether anything in a nested table is an array or a Python object.
function M.has_arrays(x) return search(x, {}) end

local place = {}

function place.__tostring(at)
  local text = "element"
  for d = 1, at.depth do text = text .. "[" .. at[d] .. "]" end
  return text
end

local MAX_PARTS = 2 ^ 31 -- more do not fit into a table

-- A number, inside of `depth` lists.
local function check_rank(parts, depth, at, what)
  if parts.rank == nil and #parts.shape == depth then parts.rank = depth end
  if depth ~= parts.rank then
    error_.raise("shape_mismatch", "asarray: %s is %s where a list of %d was expected; all rows must be of one length",
      at, what, parts.shape[depth + 1] or 0)
  end
end

-- A list of `n`, inside of `depth` lists.
local function check_extent(parts, depth, n, at)
  local shape = parts.shape
  if parts.rank and depth >= parts.rank then
    error_.raise("shape_mismatch", "asarray: %s is a list of %d where a number or an array was expected, as in the "
      .. "rows before", at, n)
  end
  if depth == C.XCHG_MAX_NDIM then
    error_.raise("out_of_range", "asarray: the table is nested deeper than %d levels, or contains itself",
      C.XCHG_MAX_NDIM)
  end
  if shape[depth + 1] == nil then
    shape[depth + 1] = n
    for d = 1, depth do n = n * shape[d] end
    if n > MAX_PARTS then
      error_.raise("out_of_range", "asarray: the table has %.0f elements, or contains itself; pass an array", n)
    end
  elseif shape[depth + 1] ~= n then
    error_.raise("shape_mismatch", "asarray: %s is a list of %d where a list of %d was expected; all rows must be of "
      .. "one length", at, n, shape[depth + 1])
  end
  if shape[depth + 1] == 0 then parts.rank = parts.rank or depth + 1 end
end

-- A Python object inside of `depth` tables.
local function collect_object(x, parts, depth, at, wanted)
  local done, t = pcall(add_capsule, parts, x, wanted, depth, depth)
  if done and t then return end
  if done then done, t = pcall(import, x, wanted) end
  if not done then within(tostring(at), t) end
  if t ~= nil then return parts:add(t, true, depth, depth) end
  local list, shape, number, arrays, leaves, rank, capsules = doors.walk(x, true, tostring(at))
  parts.capsules = capsules
  for d, extent in ipairs(shape) do
    check_extent(parts, depth + d - 1, extent, tostring(at) .. ("[0]"):rep(d - 1))
  end
  if rank then check_rank(parts, depth + rank, at, "a sequence that holds numbers") end
  if number then parts:add_number(dtypes.by_id[number].name) end
  if arrays then
    M.items(parts, list, leaves, #shape, depth, wanted)
  elseif number then
    parts:add_items(list, 0, count(list), depth + #shape, depth)
  else
    local gaps = 1
    for d = 1, #shape - 1 do gaps = gaps * shape[d] end
    parts:add_gap(depth + #shape - 1, depth, gaps)
  end
end

-- Collects what is inside a nested table, in row-major order.
local function collect(value, depth, parts, at, wanted)
  at.depth = depth
  if type(value) == "userdata" then return collect_object(value, parts, depth, at, wanted) end
  if type(value) ~= "table" then
    local number = M.number_dtype(value)
    if number then
      check_rank(parts, depth, at, check.describe(value))
      return parts:add_value(value, number, depth)
    elseif is_tensor(value) then
      return parts:add(slots.check("asarray", value), false, depth, depth)
    elseif type(value) == "cdata" then
      local done, t = pcall(buffer.from_buffer, value)
      if not done then within(tostring(at), t) end
      return parts:add(t, true, depth, depth)
    end
    error_.raise("wrong_type", "asarray: %s is %s, which is no number, array or list%s", at, check.describe(value),
      type(value) == "string" and "; tonumber() reads a number from it, xchg.from_buffer its bytes" or "")
  end
  local n, key = check.list(value)
  if not n then
    error_.raise("wrong_type", "asarray: %s is no list without gaps: it has the key %s", at, check.describe(key))
  end
  check_extent(parts, depth, n, at)
  if n == 0 then parts:add_gap(depth, depth) end
  for i = 1, n do
    at[depth + 1] = i
    collect(value[i], depth + 1, parts, at, wanted)
    at.depth = depth
  end
end

--- Adds what a table holds to the parts.
function M.table(x, parts, wanted)
  collect(x, 0, parts, setmetatable({ depth = 0 }, place), wanted)
end

return M
