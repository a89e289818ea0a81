--- Python in this process: modules, source text, objects and what can be asked of them.
-- Nothing starts Python but its first use. What Python gives is a Lua value where one says the same (numbers,
-- strings, booleans, None as nil), else an object: a userdata with attributes, items, calls and operators.

local lib = require "xchg.lib"
local error_ = require "xchg.error"
local check = require "xchg.check"

local core = lib.core
local door = core.python

---@class xchg.python
---@field None any      Python's None as a value: where nil would end a loop or leave a hole
---@field builtins any  Python's module of built-in names
local M = {}

-- Resolved at each use, so that `require` starts nothing.
local lazy = { None = door.none, builtins = door.builtins }
setmetatable(M, {
  __index = function(_, name)
    local resolve = lazy[name]
    if resolve then return resolve() end
    return nil
  end,
})

-- ---- modules and source text

--- A module by its full name: `py.import "numpy.linalg"` gives numpy.linalg.
---@type fun(name: string): any
M.import = door.import

-- Long strings in Lua code are mostly indented. Where the first line is, as no source may be, what all lines share
-- with it is taken off; line numbers stay.
local function dedent(source)
  local blank, indent = source:match("^([ \t\r\n]*\n)([ \t]+)")
  if not indent then
    blank, indent = "", source:match("^[ \t]+")
  end
  if not indent then return source end
  local lines = {}
  for line, ending in source:sub(#blank + 1):gmatch("([^\n]*)(\n?)") do
    if line:sub(1, #indent) == indent then
      line = line:sub(#indent + 1)
    elseif line:find("%S") then
      return source
    end
    lines[#lines + 1] = line .. ending
  end
  return blank:gsub("[^\n]", "") .. table.concat(lines)
end

--- The value of an expression. Names are looked up in `env` (a dict, or a table of variables), else among what
--- py.exec has defined without one. An expression may stretch over lines.
---@param source string
---@param env any?
function M.eval(source, env)
  if type(source) == "string" then
    source = source:match("^%s*(.*)$")
    if source:find("\n%s*%S") then source = "(" .. source .. "\n)" end
  end
  return (door.eval(source, env))
end

--- Runs statements. `env` is as for py.eval; a table of variables is copied.
---@param source string  may be indented as a whole
---@param env any?
---@return any namespace  the dict that holds what the source has defined
function M.exec(source, env)
  if type(source) == "string" then source = dedent(source) end
  return (door.exec(source, env))
end

-- ---- calls

--- Calls a Python callable with exactly these arguments. `o:method(x)` and `o.method(x)` do the same, except that a
--- call `f(o, ...)` drops `o` where f is a method that is bound to `o`.
---@type fun(f: any, ...): any
M.call = door.call

--- Keyword arguments: `f(x, py.kwargs{axis = 0})`. Only as the last argument of a call.
---@param arguments table<string, any>
function M.kwargs(arguments)
  if type(arguments) ~= "table" then
    error_.raise("wrong_type", "python.kwargs: a table of keyword arguments is expected, got %s",
      check.describe(arguments))
  end
  return setmetatable({ arguments }, door.keywords)
end

-- ---- making objects of a given type

--- A list of a sequence or of anything iterable; without argument an empty one.
---@type fun(v: any?): any
M.list = door.list
---@type fun(v: any?): any
M.tuple = door.tuple
--- With one argument or none: a set. With three: o[key] = value.
---@overload fun(v: any?): any
---@type fun(o: any, key: any, value: any)
M.set = door.set
--- A dict of a table with any keys, of a mapping or of pairs; without argument an empty one.
---@type fun(v: any?): any
M.dict = door.dict
--- bytes of a string, a sequence of numbers or a bytes-like object.
---@type fun(v: any): any
M.bytes = door.bytes
--- str(v) as an object.
---@type fun(v: any): any
M.str = door.str
--- int(v) as an object: floats are truncated, strings parsed.
---@type fun(v: any): any
M.int = door.int
--- float(v) as an object: py.float(3) is 3.0 where a plain 3 would be an int.
---@type fun(v: any): any
M.float = door.float
--- The other way round: a Lua number (or 64-bit cdata) of anything that Python can make an int or a float of, such as
--- numpy.int64.
---@type fun(o: any): number
M.tonumber = door.tonumber

-- ---- questions

---@type fun(o: any): integer
M.len = door.len
---@type fun(o: any): any
M.type = door.type
---@type fun(o: any): string
M.repr = door.repr
--- id(o): a number, the same for every reference on one object; a key for tables.
---@type fun(o: any): number
M.id = door.id
--- a is b
---@type fun(a: any, b: any): boolean
M.is = door.is
--- a == b as Python sees it: for arrays an array.
---@type fun(a: any, b: any): any
M.eq = door.eq
--- isinstance(o, class); several classes in a table.
---@type fun(o: any, class: any): boolean
M.isinstance = door.isinstance
--- getattr(o, name [, default]): only a missing attribute gives the default.
---@type fun(o: any, name: string, default: any?): any
M.getattr = door.getattr

-- ---- items by any key

--- o[key]; the default, if given, where there is no such key or index.
---@type fun(o: any, key: any, default: any?): any
M.get = door.get
--- Deletes o[key].
---@type fun(o: any, key: any)
M.del = door.del
--- key in o
---@type fun(o: any, key: any): boolean
M.has = door.has

-- ---- walks and copies

--- `for v in py.iter(o) do`. None is py.None. `it:close()` ends a generator that a loop has left early.
---@type fun(o: any): any
M.iter = door.iter
--- `for key, value in py.items(d) do`
---@type fun(d: any): any
M.items = door.items
--- A Lua copy: lists, tuples and sets become sequences from 1, dicts tables, also inside (up to `depth` levels);
--- everything else stays as it would be alone. None is py.None.
---@type fun(o: any, depth: integer?): table
M.totable = door.totable
--- All items as results; None is nil.
---@type fun(o: any): ...
M.unpack = door.unpack

-- ---- the interpreter

local CONFIGURE = {
  python = "string", libpython = "string", venv = "string", home = "string", argv = "table", sigint = "boolean",
  sigpipe = "boolean",
}

---@class xchg.python.Options
---@field python string?     executable or command
---@field libpython string?  library file
---@field venv string?       folder of an environment
---@field home string?       where Python's own modules are
---@field argv string[]?     what sys.argv will be
---@field sigint boolean?    true: Python handles SIGINT
---@field sigpipe boolean?   false: a default SIGPIPE stays

--- Says which Python to use and how to start it; only before the first use.
---@param options xchg.python.Options
function M.configure(options)
  door.configure(check.options("python.configure", options, CONFIGURE))
end

--- Which Python it is, and why: a table of strings, with `started` and `ours`. Starts nothing. Where there is none:
--- nil and the reason.
---@type fun(): table?, string?
M.info = door.info

--- Calls fn(...) and keeps Python's lock until it returns: for loops of many short calls. Python's other threads get
--- their turn only at calls into Python, and fn cannot yield out of it.
---@type fun(fn: function, ...): ...
M.locked = door.locked

--- Releases what is queued: objects and tensors that Lua has collected or released.
---@type fun()
M.collect = core.collect

--- Ends Python as the end of the process would: its threads are joined, its exit handlers run, its output is
--- flushed. Calls still work afterwards.
---@type fun()
M.shutdown = door.shutdown

return M
