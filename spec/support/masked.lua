--- Printed output in a form that does not depend on the machine: versions, addresses and this checkout's folder.

local child = require "spec.support.child"

local M = {}

local function plain(text) return (text:gsub("%p", "%%%0")) end

--- Versions become VERSION, addresses ADDRESS; names under this checkout are relative to it; the line that says which
--- Python is used loses its folder and reason.
---@param text string
---@return string
function M.text(text)
  text = text:gsub("\r\n", "\n"):gsub(plain(child.root) .. "/", "")
  text = text:gsub("0x%x%x%x%x+", "ADDRESS")
  text = text:gsub("%f[%w.]%d+%.%d+%.%d+[%w.+]*", "VERSION")
  text = ("\n" .. text):gsub("(\nPython VERSION)[^\n]*", "%1"):sub(2)
  return (text:gsub("[ \t]+\n", "\n"):gsub("%s+$", "")) .. "\n"
end

--- Splits output at lines "== NAME": a list of {name, text}; the first has no name.
---@param text string
function M.sections(text)
  local sections = { { name = "", text = "" } }
  for line in text:gmatch "[^\n]*\n" do
    local name = line:match "^== (.*)\n$"
    if name then
      sections[#sections + 1] = { name = name, text = "" }
    else
      local last = sections[#sections]
      last.text = last.text .. line
    end
  end
  return sections
end

return M
