--- The methods and fields that the objects of xchg.cuda have, read from their metatables: what documents must name.

local cuda = require("spec.support.cuda").cuda

local M = {}

local PTX = [[
.version 8.0
.target sm_50
.address_size 64
.visible .entry nothing() { ret; }
]]

local function upvalue(fn, wanted)
  for i = 1, 60 do
    local name, value = debug.getupvalue(fn, i)
    if name == wanted then return value end
    if not name then break end
  end
  error("no upvalue " .. wanted)
end

local function names(set)
  local list = {}
  for name in pairs(set) do list[#list + 1] = name end
  table.sort(list)
  return list
end

local function of(object, methods, fields)
  local index = getmetatable(object).__index
  return { methods = names(upvalue(index, methods)), fields = names(upvalue(index, fields)) }
end

--- { stream = { methods = {...}, fields = {...} }, ... }, sorted.
function M.all()
  local stream, event, graph = cuda.stream(), cuda.event(), cuda.graph(function() end)
  local program = cuda.load(PTX)
  local kernel = program.nothing
  local all = {
    stream = of(stream, "methods", "fields"), event = of(event, "methods", "fields"),
    graph = of(graph, "methods", "fields"), kernel = of(kernel, "methods", "fields"),
    program = of(program, "Program", "FIELDS"),
    device = {
      methods = names(upvalue(getmetatable(cuda.device(0)).__index, "Device")),
      fields = names(rawget(cuda.device(0), "facts")),
    },
  }
  -- Made when they are first used.
  for _, name in ipairs { "launch", "over" } do
    assert(type(kernel[name]) == "function")
    table.insert(all.kernel.methods, name)
  end
  table.insert(all.stream.fields, "owner") -- a field of the table itself
  stream:close()
  event:release()
  graph:release()
  return all
end

return M
