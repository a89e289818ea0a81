--- Tables of the documents, for specs that hold them against what the code does.

local child = require "spec.support.child"

local M = {}

-- A cell's text: `|` may stand in it as `\|`.
local function cells_of(line)
  local cells = {}
  for cell in line:gsub("\\|", "\1"):gmatch "|([^|]*)%f[|]" do
    cells[#cells + 1] = (cell:match "^%s*(.-)%s*$":gsub("\1", "|"))
  end
  return cells
end

--- The rows of the table that begins with the cells `head`, behind a heading: lists of cells, without the head.
---@param document string path
---@param heading string
---@param head string as it stands there
---@return string[][]
function M.rows(document, heading, head)
  local text = child.read(document)
  local from = assert(text:find("\n#+ " .. heading .. "\n"), heading)
  local _, start = text:find("\n| " .. head .. " |\n", from, true)
  assert(start, head)
  local found = {}
  for line in text:sub(start + 1):gmatch "([^\n]*)\n" do
    if line:sub(1, 1) ~= "|" then break end
    found[#found + 1] = cells_of(line)
  end
  table.remove(found, 1) -- the dashes
  assert(#found > 0, head)
  return found
end

--- What stands between backticks in a cell.
---@return string[]
function M.spans(cell)
  local found = {}
  for span in cell:gmatch "`([^`]+)`" do found[#found + 1] = span end
  return found
end

--- Without backticks.
function M.plain(cell) return (cell:gsub("`", "")) end

--- One column of rows, without backticks.
function M.column(rows, n)
  local out = {}
  for i, row in ipairs(rows) do out[i] = M.plain(row[n]) end
  return out
end

return M
