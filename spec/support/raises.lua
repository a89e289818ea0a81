--- Asserts that a call raises an error object of this library.

local error_ = require "xchg.error"

--- Calls fn(...), which must raise an error object with this code and a message that contains `text`.
---@param code string
---@param text string plain, no pattern
---@return xchg.Error
return function(code, text, fn, ...)
  local ok, e = pcall(fn, ...)
  if ok then error(("nothing was raised; expected %s: %s"):format(code, text), 2) end
  if not error_.is(e) then error(("no error object but %s; expected %s: %s"):format(tostring(e), code, text), 2) end
  if e.code ~= code or not e.message:find(text, 1, true) then
    error(("expected %s: ...%s...\ngot %s: %s"):format(code, text, e.code, e.message), 2)
  end
  return e
end
