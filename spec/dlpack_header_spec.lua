-- src/dlpack.h is a declaration of our own: it says the same as every copy of the real one that this machine has.
local child = require "spec.support.child"

local quote = child.quote
local compiler = os.getenv("CC") or "cc"

local function run(command)
  local pipe = assert(io.popen("{ " .. command .. "; } 2>&1; echo $?"))
  local text, status = pipe:read("*a"):match("^(.-)(%d+)\n$")
  pipe:close()
  return tonumber(status), text
end

-- Copies of DLPack's header: in the wheels of the Python that the specs run on, and the system's.
local function copies()
  local python, out, seen = os.getenv("XCHG_PYTHON") or "python3", {}, {}
  local folders = "/usr/include/dlpack /usr/local/include/dlpack"
  local status, text = run(quote(python) .. " -c 'import sysconfig; print(sysconfig.get_path(\"purelib\"))'")
  if status == 0 then folders = quote(text:match("[^\n]+")) .. " " .. folders end
  local pipe = assert(io.popen("find " .. folders .. " -name '*dlpack*.h' -type f 2>/dev/null | sort"))
  for path in pipe:lines() do
    local content = child.read(path)
    -- Of one content a single copy; not what only includes the header.
    if content:find("DLPACK_MAJOR_VERSION", 1, true) and content:find("}%s*DLTensor%s*;") and not seen[content] then
      seen[content] = true
      out[#out + 1] = path
    end
  end
  pipe:close()
  return out
end

-- What spec/c/dlpack_header.c, compiled with these options, writes.
local function numbers(options)
  local folder = child.folder()
  local program = folder .. "/header"
  local status, text = run(("cd %s && %s -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -Isrc %s -o %s "
    .. "spec/c/dlpack_header.c && %s"):format(quote(child.root), compiler, options, quote(program),
    quote(program)))
  child.remove(folder)
  assert(status == 0, text)
  return text
end

describe("src/dlpack.h", function()
  local found = copies()

  for _, path in ipairs(found) do
    it("says the same as " .. path:gsub("^.*site%-packages/", ""), function()
      local theirs = numbers("-DUPSTREAM=" .. quote('"' .. path .. '"'))
      local level = tonumber(theirs:match("level (%d+)"))
      assert.equal(theirs, numbers("-DLEVEL=" .. level))
    end)
  end

  it("was compared with one copy at least", function()
    if #found == 0 then
      return pending("no copy of dlpack.h is here; wheels of torch, apache-tvm-ffi, pyarrow or cuda-core have one")
    end
    assert.truthy(numbers("-DLEVEL=3"):find("sizeof DLTensor 48 align 8", 1, true))
  end)
end)
