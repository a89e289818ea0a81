-- What failures look like: every one is raised, as an object with fields, and nothing is half done.
--
--     eval "$(make -s env)"; luajit examples/errors.lua

local xchg = require "xchg"
local py = xchg.python
local np = py.import "numpy"

-- Runs `fn`, which must fail, and shows the error. What a library says differs between its versions.
local function show(fn, ...)
  local done, e = pcall(fn, ...)
  assert(not done, "no error")
  print(("%-18s %s"):format(e.code, e.type or e.message))
  return e
end

local t = xchg.tensor { { 1, 2, 3 }, { 4, 5, 6 } }

print "-- wrong use of a tensor: code, message with the value and the cure, where"
show(function() return t:at(1, 4) end)
show(function() return t:at(0, 1) end)
show(function() return t.shapes end)
show(function() return t:reshape(4, 2) end)
show(function() return xchg.zeros({ 2, 2 }, { dtyp = "int8" }) end)
show(function() return xchg.tensor({ 1, 2.5 }, { dtype = "int32" }) end)

print "-- exceptions of Python: besides that type, module, value and the traceback"
local e = show(function() return np.zeros(py.tuple { 2, -1 }) end)
assert(e.code == "python" and e.type == "ValueError" and e.module == "builtins")
assert(py.isinstance(e.value, py.builtins.ValueError))
e = show(function() return np.no_such_function end)
assert(e.type == "AttributeError")
e = show(py.exec, "def f(n):\n    return 1 // n\nf(0)")
assert(e.traceback:find("line 2, in f", 1, true))
local division = e

print "-- what cannot be shared says why"
show(xchg.from_dlpack, py.list { 1, 2, 3 })
e = show(xchg.from_dlpack, np.array(py.list { "text" }))
assert(e.message:find("numpy.ndarray refuses: BufferError: ", 1, true))
show(xchg.from_dlpack, { 1, 2, 3 })

print "-- an error that is not handled prints place, message and traceback"
local text = tostring(division)
assert(text:sub(1, #division.where) == division.where and text:find("ZeroDivisionError", 1, true))
local failed, released = pcall(function()
  t:release()
  return t[1]
end)
assert(not failed and released.code == "released")
print((tostring(released):gsub("^.*/", "")))
