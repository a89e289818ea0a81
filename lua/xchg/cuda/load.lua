--- Loading code that was compiled elsewhere: PTX text, cubins, fatbins, as strings or files.

local ffi = require "ffi"
local lib = require "xchg.lib"
local check = require "xchg.check"
local error_ = require "xchg.error"
local program = require "xchg.cuda.program"

local M = {}

local C, next_key = lib.C, lib.core.next

---@class xchg.cuda.LoadOptions
---@field name string?  as messages call it; default: that of the file
---@field signatures table<string, string>?  what kernels take, by name: "(float *y, const float *x, int n)"

local known = { name = "string", signatures = "table" }

-- Code has a line break or a NUL in its first bytes; paths have neither.
local function is_code(text)
  return text:find("[%z\n]") ~= nil or text:sub(1, 4) == "\127ELF" or text:sub(1, 4) == "\80\237\85\186"
end

local function read_file(path)
  local out, size = ffi.new("char *[1]"), ffi.new("size_t[1]")
  error_.check("load", C.xchg_cuda_image_read(out, size, path, error_.scratch))
  local image = ffi.gc(out[0], C.xchg_cuda_image_free)
  local text = ffi.string(image, size[0])
  C.xchg_cuda_image_free(ffi.gc(image, nil))
  return text
end

--- Code as a program: a string of PTX, of a cubin or a fatbin, or the path of a file.
---@param code string
---@param options xchg.cuda.LoadOptions?
---@return xchg.cuda.Program
function M.load(code, options)
  if type(code) ~= "string" then
    error_.raise("wrong_type", "load: a string of PTX, a cubin or a fatbin, or a path, is expected, got %s",
      check.describe(code))
  end
  options = check.options("load", options, known)
  local signatures = {}
  for name, text in next_key, options.signatures or {} do
    if type(name) ~= "string" or type(text) ~= "string" then
      error_.raise("wrong_type", "load: option 'signatures' must be a table of strings by kernel, got %s for %s",
        check.describe(text), check.describe(name))
    end
    signatures[name] = text
  end
  local name, image = options.name, code
  if code == "" then error_.raise("bad_argument", "load: the string is empty; PTX, a cubin or a fatbin is expected") end
  if not is_code(code) then
    image = read_file(code)
    name = name or code:match("[^/]*$")
  end
  local is_ptx = program.check_image(image)
  local made = program.new {
    name = name or "loaded code", image = image, ptx = is_ptx and (image:gsub("%z+$", "")) or nil, log = "",
    lowered = {}, signatures = signatures, cached = false,
  }
  return program.begin(made)
end

return M
