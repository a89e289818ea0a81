-- What the core exports is what xchg.h declares, and the headers that it includes.
local build = os.getenv("XCHG_BUILD") or "build"

local function read(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read("*a")
  file:close()
  return text
end

local function quote(path) return "'" .. path:gsub("'", "'\\''") .. "'" end

local function difference(declared, exported)
  local out = {}
  for name in pairs(declared) do if not exported[name] then out[#out + 1] = name .. ": declared, not exported" end end
  for name in pairs(exported) do if not declared[name] then out[#out + 1] = name .. ": exported, not declared" end end
  table.sort(out)
  return table.concat(out, "\n")
end

describe("the ABI", function()
  it("exports the functions marked in the headers, luaopen_xchg_core and nothing else", function()
    local declared = { luaopen_xchg_core = true }
    local header = (read "src/xchg.h" .. read "src/xchg_cuda.h" .. read "src/xchg_kernel.h"):gsub("/%*.-%*/", ""):gsub("#[^\n]*", "")
    for declaration in header:gmatch("XCHG_API%s+([^;{]+)") do
      declared[assert(declaration:match("([%w_]+)%s*%("), declaration)] = true
    end

    local exported = {}
    local pipe = assert(io.popen("nm -D --defined-only " .. quote(build .. "/xchg/core.so")))
    for line in pipe:lines() do
      local name = line:match("%x+%s+%a%s+([^%s@]+)")
      -- __asan_..., __odr_asan...: what a sanitizer adds
      if name and name:sub(1, 2) ~= "__" then exported[name] = true end
    end
    pipe:close()
    assert.are.equal("", difference(declared, exported))
  end)

  it("is given to Lua without the declarations of system headers", function()
    local text = read(build .. "/abi_text.txt")
    assert.is_truthy(text:find("XCHG_ABI", 1, true))
    assert.is_nil(text:find("typedef[^;]-%f[%w_]int32_t%s*;"))
    assert.is_nil(text:find("#", 1, true))
    assert.is_nil(text:find("__attribute__", 1, true))
  end)
end)
