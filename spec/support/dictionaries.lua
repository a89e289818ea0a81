--- Objects with an array interface of any dictionary, and the tables of docs/protocols.md that say which are taken. A
--- row's first cell is a key, and further keys with their values; the others have values as Python writes them, `x` for
--- the address, or the word "absent".

local ffi = require "ffi"
local xchg = require "xchg"
local tables = require "spec.support.tables"

local M = {}

local py = xchg.python

local SOURCE = [[
class Double:
    """Four float64 at x, but for what `fields` say; None as a whole is a key that is absent."""
    def __init__(self, attribute, x, fields):
        true = {"version": 3, "shape": (4,), "typestr": "<f8", "data": (x, False)}
        setattr(self, attribute, {k: v for k, v in {**true, **fields}.items() if v is not Double})
]]

--- Makes such objects: Python source of a dict, in which `absent` is a value.
---@param attribute string
---@param memory ffi.cdata* a pointer
function M.maker(attribute, memory)
  local space = py.exec(SOURCE, {})
  local x = ffi.cast("uint64_t", ffi.cast("uintptr_t", memory))
  py.set(space, "x", x)
  py.set(space, "absent", py.get(space, "Double"))
  return function(fields) return py.get(space, "Double")(attribute, x, py.eval(fields, space)) end
end

local function values_of(cell)
  local found = tables.spans(cell)
  if cell:find("absent", 1, true) then found[#found + 1] = "absent" end
  return found
end

-- Values with the code that stands behind them: { value, code }.
local function refusals_of(cell)
  local found, waiting = {}, {}
  for _, span in ipairs(tables.spans(cell)) do
    if span:find "^%l+[%l_]*$" then
      for _, value in ipairs(waiting) do found[#found + 1] = { value, span } end
      waiting = {}
    else
      waiting[#waiting + 1] = span
    end
  end
  assert(#waiting == 0, cell)
  return found
end

--- Each value of the table behind a heading: what is so, the fields as Python source, and the dtype that is read or the
--- code of the refusal.
---@param heading string
---@return { name: string, fields: string, expected: string }[]
function M.rows(heading)
  local found = {}
  for _, row in ipairs(tables.rows("docs/protocols.md", heading, "key | taken | `bad_descriptor` | refused otherwise")) do
    local keys, rest = tables.spans(row[1]), ""
    for i = 2, #keys, 2 do rest = rest .. (", %q: %s"):format(keys[i], keys[i + 1]) end
    local function add(value, expected)
      found[#found + 1] = { name = ("%s: %s"):format(tables.plain(row[1]), value), expected = expected,
        fields = ("{%q: %s%s}"):format(keys[1], value, rest) }
    end
    for _, value in ipairs(values_of(row[2])) do
      add(value, keys[1] == "typestr" and (value:find "i4" and "int32" or value:find "u1" and "uint8") or "float64")
    end
    for _, value in ipairs(values_of(row[3])) do add(value, "bad_descriptor") end
    for _, refusal in ipairs(refusals_of(row[4])) do add(refusal[1], refusal[2]) end
  end
  return found
end

return M
