-- docs/protocols.md has the same tables as the code.
local child = require "spec.support.child"
local ffi = require "ffi"
local lib = require "xchg.lib"
local dtypes = require "xchg.dtype"
local promotion = require "xchg.promotion"
local protocols = require "xchg.protocols"

local C = lib.C
local text = child.read "docs/protocols.md"

-- The rows of the table behind a heading, as lists of cells without marks.
local function rows(heading, head)
  local from = assert(text:find("\n#+ " .. heading .. "\n"), heading)
  local start = assert(text:find("\n| " .. head, from, true), head)
  local found = {}
  for line in text:sub(start + 1):gmatch "([^\n]*)\n" do
    if line:sub(1, 1) ~= "|" then break end
    local cells = {}
    for cell in line:gmatch "|([^|]*)%f[|]" do cells[#cells + 1] = cell:match "^%s*(.-)%s*$":gsub("`", "") end
    found[#found + 1] = cells
  end
  table.remove(found, 2)
  return found
end

local function column(table_, n)
  local out = {}
  for i = 2, #table_ do out[i - 1] = table_[i][n] end
  return out
end

describe("docs/protocols.md", function()
  it("has the protocols in the order in which they are asked", function()
    assert.same(protocols.names, column(rows("The order", "protocol | found by"), 1))
  end)

  it("has every dtype with its code, bits and lanes", function()
    local told, there = rows("Dtypes", "dtype | code"), {}
    for id, row in ipairs(dtypes.by_id) do
      local info = C.xchg_dtype_info(id)
      there[id] = { row.name, tostring(info.code), tostring(info.bits / info.lanes), tostring(info.lanes),
        row.readable and "read and written" or "only moved, viewed and passed on" }
    end
    table.remove(told, 1)
    assert.same(there, told)
  end)

  it("has every device by number, name and whether the host reads it", function()
    local told, there = rows("Devices", "number | device"), {}
    table.remove(told, 1)
    local readable = { cpu = true, cuda_host = true, cuda_managed = true, rocm_host = true }
    for number = 1, 18 do
      local name = C.xchg_device_name(number)
      if name ~= nil then
        name = ffi.string(name)
        there[#there + 1] = { tostring(number), name, readable[name] and "yes" or "no" }
      end
    end
    assert.same(there, told)
  end)

  it("has every promotion", function()
    local told = rows("Promotion", "| b1")
    local short = {}
    for i, name in ipairs(promotion.names) do
      local full, abbreviation = told[i + 1][1]:match "^%*%*(%w+)%*%* %((%w+)%)$"
      assert.equal(name, full)
      assert.equal(told[1][i + 1], abbreviation)
      short[name] = abbreviation
    end
    assert.equal(#promotion.names + 1, #told)
    for i, a in ipairs(promotion.names) do
      for j, b in ipairs(promotion.names) do
        assert.equal(short[promotion.of(a, b)], told[i + 1][j + 1], a .. " with " .. b)
      end
    end
  end)
end)
