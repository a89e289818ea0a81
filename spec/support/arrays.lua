--- What specs of real arrays need: a namespace of Python's, and every element of an array and of a tensor as text.

local ffi = require "ffi"
local xchg = require "xchg"
local capsules = require "spec.support.capsules"

local M = {}

local py = xchg.python

local SOURCE = [[
import xchg_capsules

def texts(x):
    """Every element in row-major order, each as text that tells all floats apart."""
    def text(v):
        if isinstance(v, bool): return "true" if v else "false"
        if isinstance(v, int): return str(v)
        if isinstance(v, complex): return text(v.real) + " " + text(v.imag)
        v = float(v)
        return "nan" if v != v else v.hex()
    def walk(v):
        if isinstance(v, list):
            for w in v: yield from walk(w)
        else:
            yield text(v)
    return list(walk(x.tolist()))
]]

--- A new namespace, in which the module of broken capsules is at hand.
function M.namespace()
  capsules.module()
  return py.exec(SOURCE, {})
end

--- A module, or nil where it is not installed.
---@param name string
function M.import(name)
  local ok, module = pcall(py.import, name)
  return ok and module or nil
end

--- The elements of an array, as Python tells them.
function M.expected(namespace, x)
  return py.totable(py.get(namespace, "texts")(x))
end

local function text_of(v)
  if type(v) == "boolean" then return tostring(v) end
  if type(v) == "number" then return py.eval("float(v).hex() if v == v else 'nan'", { v = v }) end
  if tostring(ffi.typeof(v)):find("complex", 1, true) then return text_of(v.re) .. " " .. text_of(v.im) end
  return (tostring(v):gsub("U?LL$", ""))
end

--- The elements of a tensor, through t:at.
function M.elements(t)
  local out, at = {}, {}
  local integral = t.dtype:find("^u?int") ~= nil
  local function walk(d)
    if d > t.ndim then
      local v = t:at(unpack(at))
      out[#out + 1] = integral and type(v) == "number" and ("%.0f"):format(v) or text_of(v)
      return
    end
    for i = 1, t:size(d) do
      at[d] = i
      walk(d + 1)
      at[d] = nil
    end
  end
  walk(1)
  return out
end

return M
