--- The CPythons of this machine, found without being told: pyenv's, and pythonX.Y on PATH.

local child = require "spec.support.child"

local M = {}

local function lines(command)
  local pipe = assert(io.popen("{ " .. command .. "\n} 2>/dev/null", "r"))
  local out = {}
  for line in pipe:lines() do out[#out + 1] = line end
  pipe:close()
  return out
end

local found

--- One for each minor version: { executable =, version = "3.11.7", minor = 11, library = }, oldest first.
function M.all()
  if found then return found end
  local paths = lines([[
    ls -d "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.*/bin/python3
    for minor in 8 9 10 11 12 13 14 15; do command -v python3.$minor; done]])
  local by_minor = {}
  for _, path in ipairs(paths) do
    local answer = lines("timeout 10 " .. child.quote(path) .. [[ -I -c '
import sys, sysconfig, os
get = sysconfig.get_config_var # the first name is that of a development package, the second that of the library alone
names = [os.path.join(get("LIBDIR") or "", get(name) or "") for name in ("LDLIBRARY", "INSTSONAME")]
shared = [name for name in names if ".so" in name and os.path.exists(name)]
print(sys.version_info[1], sys.version.split()[0], shared[0] if shared else "")']])[1]
    local minor, version, library = (answer or ""):match("^(%d+) (%S+) (.*)$")
    minor = tonumber(minor)
    if minor and not by_minor[minor] then
      if library == "" then library = nil end
      by_minor[minor] = { executable = path, version = version, minor = minor, library = library }
    end
  end
  found = {}
  for minor = 0, 99 do found[#found + 1] = by_minor[minor] end
  return found
end

--- Those that the library supports.
function M.supported()
  local out = {}
  for _, each in ipairs(M.all()) do
    if each.minor >= 10 and each.library then out[#out + 1] = each end
  end
  return out
end

--- Those that are too old.
function M.old()
  local out = {}
  for _, each in ipairs(M.all()) do
    if each.minor < 10 then out[#out + 1] = each end
  end
  return out
end

return M
