-- Python libraries that know nothing of the simulated device run on it unchanged. Each section of the scripts in
-- spec/clients is a spec of its own; one process runs all of a script's sections.
local child = require "spec.support.child"

local CLIENTS = {
  { script = "on_numba_cuda.py", module = "numba.cuda", needs = "numba-cuda" },
  { script = "on_cuda_core.py", module = "cuda.core", needs = "cuda-core" },
  { script = "on_tvm_ffi.py", module = "tvm_ffi, cuda.core", needs = "apache-tvm-ffi and cuda-core" },
}

local function output(command)
  local pipe = assert(io.popen(command))
  local text = pipe:read("*a")
  pipe:close()
  return text
end

local python = os.getenv "XCHG_PYTHON"
python = python and child.quote(python)

local function has(module)
  return python and output(("%s -c 'import %s; print(\"yes\")' 2>/dev/null"):format(python, module)):find("yes")
end

-- All sections of a script: name -> what became of it.
local function run(script)
  local cache = child.folder()
  local text = output(("cd spec/clients && env XDG_CACHE_HOME=%s NUMBA_CACHE_DIR=%s XCHG_SIM_DEVICES=2 %s sim run %s %s 2>&1")
    :format(cache, cache, child.quote(child.root .. "/bin/xchg"), python, script))
  child.remove(cache)
  local results = { text = text }
  for line in text:gmatch "[^\n]+" do
    local verdict, name, rest = line:match "^(%l[%l ]-) ([%w_]+) ?(.*)$"
    if verdict == "ok" or verdict == "not ok" or verdict == "skip" then
      results[name] = { verdict = verdict, text = (rest:gsub("\\n", "\n")) }
    end
  end
  return results
end

local function sections(script)
  local names = {}
  for name in child.read("spec/clients/" .. script):gmatch "\ndef (%l[%w_]*)%(" do names[#names + 1] = name end
  assert(#names > 0)
  return names
end

for _, client in ipairs(CLIENTS) do
  describe(client.script .. " on the simulated device", function()
    local installed, results
    for _, name in ipairs(sections(client.script)) do
      it((name:gsub("_", " ")), function()
        local reason = child.foreign_refused()
        if reason then pending(reason) end
        if installed == nil then installed = has(client.module) or false end
        if not installed then pending(client.needs .. " is not installed") end
        results = results or run(client.script)
        local result = results[name]
        assert(result, "the script ended before:\n" .. results.text)
        if result.verdict == "skip" then pending(result.text) end
        assert(result.verdict == "ok", result.text)
      end)
    end
  end)
end
