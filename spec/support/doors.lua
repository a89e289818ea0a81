--- One array in many layouts, offered by each protocol alone: the Python module beside this file.

local xchg = require "xchg"
local producers = require "spec.support.producers"

local M = {}

local py = xchg.python

--- The Python module.
function M.module()
  producers.module "exporter"
  return producers.module "doors"
end

local NULL = false

---@class doors.Layout
---@field name string
---@field shape integer[]
---@field strides integer[]|false  in elements; false: there are none
---@field offset integer           elements from the address to the first one
---@field values any               of memory that holds 0, 1, 2, ...

--- Layouts with elements: name, shape, strides, offset, elements.
M.FULL = {
  { "no dimensions", {}, NULL, 0, 0 },
  { "no dimensions, at an offset", {}, NULL, 3, 3 },
  { "no dimensions and strides for them", {}, {}, 3, 3 },
  { "one dimension without strides", { 3 }, NULL, 0, { 0, 1, 2 } },
  { "one dimension without strides, at an offset", { 3 }, NULL, 2, { 2, 3, 4 } },
  { "three dimensions without strides", { 2, 1, 3 }, NULL, 4, { { { 4, 5, 6 } }, { { 7, 8, 9 } } } },
  { "every other element", { 4 }, { 2 }, 1, { 1, 3, 5, 7 } },
  { "one element three times", { 3 }, { 0 }, 5, { 5, 5, 5 } },
  { "backwards", { 3 }, { -1 }, 5, { 5, 4, 3 } },
  { "columns", { 2, 3 }, { 1, 2 }, 0, { { 0, 2, 4 }, { 1, 3, 5 } } },
  { "rows backwards, each of one element", { 2, 2 }, { -3, 0 }, 6, { { 6, 6 }, { 3, 3 } } },
  { "rows that overlap", { 2, 3 }, { 1, 1 }, 2, { { 2, 3, 4 }, { 3, 4, 5 } } },
  { "a wide stride of a first extent of 1", { 1, 4 }, { 77, 1 }, 0, { { 0, 1, 2, 3 } } },
  { "a stride of 0 of a first extent of 1", { 1, 3 }, { 0, 1 }, 1, { { 1, 2, 3 } } },
  { "a negative stride of a first extent of 1", { 1, 3 }, { -2 ^ 40, 1 }, 1, { { 1, 2, 3 } } },
  { "a wide stride of a last extent of 1", { 3, 1 }, { 1, 99 }, 1, { { 1 }, { 2 }, { 3 } } },
  { "wide strides of nothing but extents of 1", { 1, 1 }, { 5, 7 }, 9, { { 9 } } },
}

--- Layouts without elements: name, shape, strides.
M.EMPTY = {
  { "an extent of 0", { 0 }, { 1 } }, { "an extent of 0 and a stride of 0", { 0 }, { 0 } },
  { "an extent of 0 and no strides", { 0 }, NULL }, { "an extent of 0 and a wide stride", { 0 }, { 2 ^ 40 } },
  { "a last extent of 0", { 2, 0 }, { 7, 3 } }, { "a first extent of 0, without strides", { 0, 3 }, NULL },
  { "an extent of 0 in between", { 2, 0, 3 }, { 0, 3, 1 } },
}

--- What an array without elements may have as its address.
M.NOWHERE = { "memory", "NULL", "odd" }

--- An object that offers a layout: a row of the tables above. `more`: readonly, data (one of NOWHERE, or "nowhere": where
--- there is no memory), place (an address), device.
---@param module userdata
---@param door string
function M.make(module, door, row, more)
  more = more or {}
  local fields = { shape = py.tuple(row[2]), strides = row[3] and py.tuple(row[3]) or py.None, offset = row[4] or 0,
    readonly = more.readonly, place = more.place, device = more.device and py.tuple(more.device) }
  if more.data == "NULL" then fields.data = py.None end
  if more.data == "odd" then fields.data = 1 end
  if more.data == "nowhere" then fields.data = 4096 end
  return module.make(door, py.kwargs(fields))
end

--- Whether a row of FULL is compact: its elements are consecutive numbers.
function M.is_compact(row)
  local flat = {}
  local function walk(v)
    if type(v) ~= "table" then flat[#flat + 1] = v return end
    for _, w in ipairs(v) do walk(w) end
  end
  walk(row[5])
  for i, v in ipairs(flat) do
    if v ~= flat[1] + i - 1 then return false end
  end
  return true
end

return M
