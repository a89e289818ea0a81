--- Methods and fields of objects. A name that is none raises, as it is most often misspelt.

local lib = require "xchg.lib"
local check = require "xchg.check"
local error_ = require "xchg.error"

local M = {}

local next_key = lib.core.next

--- The __index of a class. Fields are functions of what `subject(name, self)` gives. Names that begin with an
--- underscore, and those in `absent`, may be nil.
---@param class string  as messages call it: "stream"
---@param methods table<string, function>
---@param fields table<string, function>
---@param subject fun(name: string, self: table): any
---@param absent table<string, boolean>?
---@return fun(self: table, name: any): any
function M.index(class, methods, fields, subject, absent)
  local function unknown(name)
    if type(name) == "string" and (name:find "^_" or absent and absent[name]) then return nil end
    local known = {}
    for method in next_key, methods do known[#known + 1] = method end
    for field in next_key, fields do known[#known + 1] = field end
    error_.raise("bad_argument", "%s: there is no field or method %s%s", class, check.describe(name),
      check.suggest(name, known))
  end
  return function(self, name)
    local method = methods[name]
    if method then return method end
    local field = fields[name]
    if field then return field(subject(name, self)) end
    return unknown(name)
  end
end

return M
