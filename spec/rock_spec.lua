-- The rockspec names every module by hand: one that is missing works in a checkout and not where it is installed.
local lfs = require "lfs"

local ROCKSPEC = "xchg-scm-1.rockspec"

local function rockspec()
  local chunk, spec = assert(loadfile(ROCKSPEC)), {}
  setfenv(chunk, spec)()
  return spec
end

local function files(root, suffix, out)
  out = out or {}
  for name in lfs.dir(root) do
    local path = root .. "/" .. name
    if lfs.attributes(path, "mode") == "directory" then
      if name ~= "." and name ~= ".." then files(path, suffix, out) end
    elseif name:find(suffix) then
      out[path] = true
    end
  end
  return out
end

local function lines(command)
  local pipe, out = assert(io.popen(command)), {}
  for line in pipe:lines() do out[line] = true end
  pipe:close()
  return out
end

-- Keys that only one of two sets has, as text.
local function difference(a, a_name, b, b_name)
  local out = {}
  for key in pairs(a) do if not b[key] then out[#out + 1] = key .. ": only in " .. a_name end end
  for key in pairs(b) do if not a[key] then out[#out + 1] = key .. ": only in " .. b_name end end
  table.sort(out)
  return table.concat(out, "\n")
end

describe("the rockspec", function()
  local spec = rockspec()
  local install = spec.build.install

  it("installs each file under lua/ as the module that its path says", function()
    local expected, given = {}, {}
    for path in pairs(files("lua", "%.lua$")) do
      -- xchg/init.lua must be named "xchg.init": LuaRocks would install "xchg" as xchg.lua.
      expected[path:match("^lua/(.*)%.lua$"):gsub("/", ".") .. " = " .. path] = true
    end
    for name, path in pairs(install.lua) do given[name .. " = " .. path] = true end
    assert.are.equal("", difference(expected, "lua/", given, ROCKSPEC))
  end)

  it("installs the shared objects that the Makefile builds", function()
    local given = {}
    for name, path in pairs(install.lib) do
      assert.are.equal("build/" .. name:gsub("%.", "/") .. ".so", path)
      given[path] = true
    end
    assert.are.equal("", difference(lines("make -s B=build products"), "Makefile", given, ROCKSPEC))
  end)

  it("builds each C file under src/", function()
    assert.are.equal("", difference(files("src", "%.c$"), "src/", lines("make -s sources"), "Makefile"))
  end)

  it("installs commands that exist, unwrapped: a wrapper would start another Lua", function()
    for _, path in ipairs(install.bin) do assert.are.equal("file", lfs.attributes(path, "mode")) end
    assert.is_false(spec.deploy.wrap_bin_scripts)
  end)

  it("copies folders that exist", function()
    for _, path in ipairs(spec.build.copy_directories or {}) do
      assert.are.equal("directory", lfs.attributes(path, "mode"))
    end
  end)
end)
