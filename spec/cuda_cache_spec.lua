-- The cache of compiled programs: what is found again and what is not, two processes at once, files that were damaged.
local child = require "spec.support.child"
local cuda_ = require "spec.support.cuda"
local raises = require "spec.support.raises"

local cuda = cuda_.cuda

local compiler, reason = cuda.nvrtc()

local OPTIONS = { arch = "compute_90", lineinfo = false }

describe("the cache", function()
  if not compiler then return pending(reason) end

  local folder, cache

  before_each(function()
    folder = child.folder()
    cache = folder .. "/a/b"
  end)
  after_each(function() child.remove(folder) end)

  -- A file is part of these programs, so that this process does not remember them: it would answer before the cache.
  local function compile(source, options)
    local own = { cache = cache, name = "cached.cu" }
    for name, value in pairs(OPTIONS) do own[name] = value end
    for name, value in pairs(options or {}) do own[name] = value end
    own.include = { folder }
    for _, each in ipairs(options and type(options.include) == "table" and options.include
      or { options and options.include }) do
      if each ~= folder then own.include[#own.include + 1] = each end
    end
    child.write(folder .. "/dummy.h", "")
    return cuda.compile('#include "dummy.h"\n' .. source, own)
  end

  local function entries(of)
    local out = {}
    local pipe = assert(io.popen("ls -A " .. child.quote(of or cache) .. " 2>/dev/null"))
    for name in pipe:lines() do out[#out + 1] = name end
    pipe:close()
    return out
  end

  local SOURCE = '#include "value.h"\n__global__ void k(int *y) { *y = VALUE; int unused; }\n'
    .. "template <class T> __global__ void scale(T *y) { *y *= 2; }"

  local function with_header(value)
    return { headers = { ["value.h"] = "#define VALUE " .. value .. "\n" }, names = { "scale<float>", "scale<int>" } }
  end

  -- The cache only: a new Lua state has no memory of its own.
  local function in_child(source, options, script)
    return child.run(([[
      local cuda = require("xchg").cuda
      local prog = cuda.compile(%q, { cache = %q, arch = "compute_90", lineinfo = false, %s })
      print(tostring(prog.cached), prog.note or "", table.concat(prog:kernels(), " "), #prog.log)
      %s
    ]]):format(source, cache, options or "", script or ""), { env = { XCHG_CUDA = "none" } })
  end

  it("is asked before the compiler", function()
    local source = "template <class T> __global__ void scale(T *y) { int unused; *y *= 2; }"
    local first = in_child(source, 'names = { "scale<float>" }')
    assert.equal("", first.stderr)
    assert.truthy(first.stdout:find("^false\t\tscale<float>\t%d+\n$"), first.stdout)
    assert.equal(1, #entries())
    local second = in_child(source, 'names = { "scale<float>" }')
    assert.equal(first.stdout:gsub("^false", "true"), second.stdout) -- log and names too
    assert.equal(1, #entries())
  end)

  it("is a folder for its owner alone, made when it is needed", function()
    compile(SOURCE, with_header(1))
    local pipe = assert(io.popen("stat -c %a " .. child.quote(cache) .. " " .. child.quote(cache) .. "/*"))
    assert.equal("700\n600\n", pipe:read("*a"))
    pipe:close()
    assert.truthy(entries()[1]:find("^" .. ("%x"):rep(64) .. "%.kernel$"), entries()[1])
  end)

  it("gives this process the program that is alive", function()
    local one = cuda.compile("__global__ void alive() {}", { cache = cache })
    assert.is_true(rawequal(one, cuda.compile("__global__ void alive() {}", { cache = cache })))
    assert.is_false(rawequal(one, cuda.compile("__global__ void alive() {}", { cache = cache, arch = "compute_80" })))
    assert.is_false(rawequal(one, cuda.compile("__global__ void alive() {}", { cache = false })))
    local function with(value) return cuda.compile("__global__ void alive() {}", { defines = { N = value } }) end
    local tenth, text = with(0.1), with("0.1")
    assert.is_true(rawequal(tenth, with(0.1)))
    assert.is_false(rawequal(tenth, with(0.1 + 2 ^ -55)))
    assert.is_false(rawequal(tenth, text))
    assert.is_true(rawequal(one, cuda.compile_async("__global__ void alive() {}", { cache = cache }):wait()))
  end)

  it("is not used where that is asked for", function()
    for _ = 1, 2 do
      assert.is_false(cuda.compile("__global__ void k() {}", { cache = false }).cached)
    end
    local off = child.run([[
      local cuda = require("xchg").cuda
      assert(not cuda.compile("__global__ void k() {}", { arch = 90 }).cached)
    ]], { env = { XCHG_CUDA = "none", XCHG_CACHE = "off", HOME = folder, XDG_CACHE_HOME = folder } })
    assert.equal("", off.stderr)
    assert.same({}, entries(folder))
  end)

  for _, row in ipairs {
    { "XCHG_CACHE", { XCHG_CACHE = "own/place" } },
    { "XDG_CACHE_HOME", { XDG_CACHE_HOME = "xdg" }, "xdg/xchg/kernels" },
    { "HOME", { HOME = "home" }, "home/.cache/xchg/kernels" },
  } do
    it("lies where " .. row[1] .. " says", function()
      local env = { XCHG_CUDA = "none", XCHG_CACHE = "", XDG_CACHE_HOME = "" }
      for name, value in pairs(row[2]) do env[name] = folder .. "/" .. value end
      local run = child.run([[require("xchg").cuda.compile("__global__ void k() {}", { arch = 90 })]],
        { env = env })
      assert.equal("", run.stderr)
      assert.equal(1, #entries(folder .. "/" .. (row[3] or "own/place")))
    end)
  end

  -- Everything that decides the outcome makes another entry.
  for _, row in ipairs {
    { "the source", { source = "__global__ void k(int *y) { *y = VALUE + 1; }" } },
    { "a header", { headers = { ["value.h"] = "#define VALUE 2" } } },
    { "a header's name", { headers = { ["value.h"] = "#define VALUE 1", ["more.h"] = "" } } },
    { "the architecture", { arch = "compute_80" } },
    { "a real architecture", { arch = "sm_90" } },
    { "an option", { fast_math = true } },
    { "a macro", { defines = { X = 1 } } },
    { "the program's name", { name = "other.cu" } },
    { "a name expression", { names = { "k" } } },
    { "NVRTC's own option", { options = { "-DX=2" } } },
    { "a folder", { include = "/nowhere" } },
  } do
    it("tells programs apart by " .. row[1], function()
      local options = { headers = { ["value.h"] = "#define VALUE 1" } }
      local source = '#include "value.h"\n__global__ void k(int *y) { *y = VALUE; }'
      compile(source, options)
      assert.equal(1, #entries())
      for name, value in pairs(row[2]) do
        if name == "source" then source = '#include "value.h"\n' .. value else options[name] = value end
      end
      assert.is_false(compile(source, options).cached)
      assert.equal(2, #entries())
    end)
  end

  it("knows what files contain that are included, however deep", function()
    child.write(folder .. "/outer.h", '/* */ # /* */ include \\\n "inner.h"\n')
    child.write(folder .. "/inner.h", "#define VALUE 1\n")
    local options = { include = folder }
    local source = '#include <outer.h>\n__global__ void k(int *y) { *y = VALUE; }'
    assert.is_false(compile(source, options).cached)
    assert.is_true(compile(source, options).cached)
    child.write(folder .. "/inner.h", "#define VALUE 4711\n")
    local changed = compile(source, options)
    assert.is_false(changed.cached)
    assert.truthy(changed.ptx:find("4711", 1, true))
    child.write(folder .. "/inner.h", "#define VALUE 1\n")
    assert.is_true(compile(source, options).cached) -- nothing is ever out of date
  end)

  it("sees a file that comes to lie before another", function()
    os.execute("mkdir " .. child.quote(folder .. "/first") .. " " .. child.quote(folder .. "/second"))
    child.write(folder .. "/second/value.h", "#define VALUE 1\n")
    local options = { include = { folder .. "/first", folder .. "/second" } }
    local source = '#if __has_include("extra.h")\n#include "extra.h"\n#endif\n#include <value.h>\n'
      .. "#ifndef EXTRA\n#define EXTRA 0\n#endif\n__global__ void k(int *y) { *y = VALUE + EXTRA; }"
    compile(source, options)
    assert.is_true(compile(source, options).cached)
    child.write(folder .. "/first/value.h", "#define VALUE 815\n")
    assert.truthy(compile(source, options).ptx:find("815", 1, true))
    child.write(folder .. "/second/extra.h", "#define EXTRA 1000\n")
    assert.truthy(compile(source, options).ptx:find("1815", 1, true))
  end)

  it("survives files that include each other", function()
    child.write(folder .. "/a.h", "#pragma once\n#include \"b.h\"\n#define A 1\n")
    child.write(folder .. "/b.h", "#pragma once\n#include \"a.h\"\n#define B 1\n")
    local source = '#include "a.h"\n__global__ void k(int *y) { *y = A + B; }'
    compile(source, { include = folder })
    assert.is_true(compile(source, { include = folder }).cached)
  end)

  for _, row in ipairs {
    { "the name of an included file comes out of a macro", '#define H "value.h"\n#include H\n', "whose name a macro gives" },
    { "... in a header", '#include "computed.h"\n', "whose name a macro gives" },
    { "it contains the time", '#include "value.h"\n__device__ const char *when = __TIME__;\n', "it contains a time" },
    { "... under another line", '#include "value.h"\n__device__ const char *when = __DA\\\nTE__;\n', "it contains a time" },
  } do
    it("keeps nothing where " .. row[1], function()
      child.write(folder .. "/value.h", "#define VALUE 1\n")
      child.write(folder .. "/computed.h", '#define X <value.h>\n#include X\n')
      local source = row[2] .. "__global__ void k(int *y) { *y = VALUE; }"
      for _ = 1, 2 do
        local prog = compile(source, { include = folder })
        assert.is_false(prog.cached)
        assert.truthy(prog.note:find(row[3], 1, true), prog.note)
      end
      assert.same({}, entries())
    end)
  end

  it("keeps nothing of what may include other things than files", function()
    os.execute("mkfifo " .. child.quote(folder .. "/pipe.h"))
    local source = '#if 0\n#include "pipe.h"\n#endif\n__global__ void k() {}'
    local prog = compile(source, { include = folder })
    assert.truthy(prog.note:find("no file", 1, true), prog.note)
  end)

  it("keeps no program that does not compile", function()
    raises("compile", "identifier", compile, "__global__ void k() { nothing; }")
    assert.same({}, entries())
  end)

  -- ---- damaged files ----

  local function entry_file() return cache .. "/" .. entries()[1] end

  it("takes damaged entries for absent, and writes them anew", function()
    local source, options = '#include "value.h"\n__global__ void k(int *y) { *y = VALUE; }', with_header(3)
    options.names = { "k" }
    local good = compile(source, options)
    local file = entry_file()
    local bytes = child.read(file)
    assert.is_true(compile(source, options).cached)

    local function after_writing(text)
      child.write(file, text)
      return compile(source, options)
    end

    local tried = 0
    for at = 1, #bytes, math.max(1, math.floor(#bytes / 25)) do
      local flipped = bytes:sub(1, at - 1) .. string.char(bit.bxor(bytes:byte(at), 1)) .. bytes:sub(at + 1)
      local again = after_writing(flipped)
      assert.is_false(again.cached)
      assert.equal(good.ptx, again.ptx)
      assert.equal(bytes, child.read(file))
      tried = tried + 1
    end
    assert.truthy(tried >= 20)
    for _, length in ipairs { 0, 1, 8, 100, 143, 144, 145, #bytes - 1 } do
      assert.is_false(after_writing(bytes:sub(1, length)).cached)
      assert.equal(bytes, child.read(file))
    end
    assert.is_false(after_writing(bytes .. "x").cached)
    assert.is_true(after_writing(bytes).cached)
  end)

  it("does not follow links, nor read other than files", function()
    compile(SOURCE, with_header(4))
    local file = entry_file()
    local name = child.quote(file)
    os.execute(("mv %s %s && ln -s %s %s"):format(name, child.quote(folder .. "/elsewhere"),
      child.quote(folder .. "/elsewhere"), name))
    assert.is_false(compile(SOURCE, with_header(4)).cached)
    os.execute(("rm -f %s && mkfifo %s"):format(name, name))
    assert.is_false(compile(SOURCE, with_header(4)).cached)
    os.execute(("rm -rf %s && mkdir %s"):format(name, name))
    local prog = compile(SOURCE, with_header(4))
    assert.is_false(prog.cached)
    assert.truthy(prog.note:find("is not used", 1, true), prog.note)
  end)

  it("is not used where others may write", function()
    compile(SOURCE, with_header(5))
    os.execute("chmod 777 " .. child.quote(cache))
    local prog = compile(SOURCE, with_header(5))
    assert.is_false(prog.cached)
    assert.truthy(prog.note:find("others may write there; chmod go-w makes it safe", 1, true), prog.note)
    os.execute("chmod 700 " .. child.quote(cache))
    assert.is_true(compile(SOURCE, with_header(5)).cached)
  end)

  it("is not used where it belongs to somebody else", function()
    compile(SOURCE, with_header(6))
    if os.execute("chown 65534 " .. child.quote(cache) .. " 2>/dev/null") ~= 0 then
      return pending "only root gives folders away"
    end
    local prog = compile(SOURCE, with_header(6))
    assert.is_false(prog.cached)
    assert.truthy(prog.note:find("it belongs to another user", 1, true), prog.note)
  end)

  it("does not read what somebody else has written", function()
    compile(SOURCE, with_header(7))
    if os.execute("chown 65534 " .. child.quote(entry_file()) .. " 2>/dev/null") ~= 0 then
      return pending "only root gives files away"
    end
    assert.is_false(compile(SOURCE, with_header(7)).cached)
    assert.is_true(compile(SOURCE, with_header(7)).cached) -- our own since
  end)

  it("is done without where there can be none", function()
    child.write(folder .. "/file", "")
    for _, place in ipairs { folder .. "/file", folder .. "/file/below", "/proc/nowhere", ("x"):rep(5000) } do
      local prog = cuda.compile(SOURCE, { cache = place, headers = { ["value.h"] = "#define VALUE 1" }, arch = 90 })
      assert.is_false(prog.cached)
      assert.truthy(prog.note:find("is not used: ", 1, true), prog.note)
    end
  end)

  -- ---- bounds ----

  it("removes what was used longest ago", function()
    local run = child.run(([[
      local cuda = require("xchg").cuda
      local function compile(i)
        return cuda.compile("__global__ void k" .. i .. "(int *y) { *y = " .. i .. "; }", { arch = "compute_90" })
      end
      local function size()
        local pipe = io.popen("cat '%s'/*.kernel | wc -c")
        local bytes = pipe:read("*n")
        pipe:close()
        return bytes
      end
      compile(1)
      os.execute("touch '%s/somebody.else' && touch -d '2 days ago' '%s/.new-1-1-1' '%s'/*.kernel")
      local one = size()
      for i = 2, 12 do compile(i) end
      print(one, size())
    ]]):format(cache, cache, cache, cache), { env = { XCHG_CUDA = "none", XCHG_CACHE = cache, XCHG_CACHE_SIZE = "4K" } })
    assert.equal("", run.stderr)
    local one, total = run.stdout:match("(%d+)%s+(%d+)")
    assert.truthy(tonumber(total) <= 4096 and tonumber(total) > 2 * tonumber(one), run.stdout)
    local names = table.concat(entries(), "\n")
    assert.truthy(names:find("somebody.else", 1, true))
    assert.falsy(names:find(".new-", 1, true))
  end)

  it("is not used with no room at all", function()
    local run = child.run([[require("xchg").cuda.compile("__global__ void k() {}", { arch = 90 })]],
      { env = { XCHG_CUDA = "none", XCHG_CACHE = cache, XCHG_CACHE_SIZE = "0" } })
    assert.equal("", run.stderr)
    assert.same({}, entries())
  end)

  for _, value in ipairs { "much", "-1", "1e9", "99999999999G", "1 G" } do
    it("refuses XCHG_CACHE_SIZE=" .. value, function()
      local run = child.run([[
        local ok, e = pcall(require("xchg").cuda.compile, "__global__ void k() {}", { arch = 90 })
        assert(not ok and e.code == "bad_argument" and e.message:find("compile: XCHG_CACHE_SIZE is", 1, true), tostring(e))
      ]], { env = { XCHG_CUDA = "none", XCHG_CACHE = cache, XCHG_CACHE_SIZE = value } })
      assert.equal("", run.stderr)
    end)
  end

  -- ---- several at once ----

  it("serves processes that compile the same at once", function()
    local script = folder .. "/script.lua"
    child.write(script, ([[
      local cuda = require("xchg").cuda
      for i = 1, 10 do
        local prog = cuda.compile("__global__ void k(int *y) { *y = " .. i .. "; }", { cache = %q, arch = "compute_90" })
        assert(not prog.note, prog.note)
        assert(prog.ptx:find("ret;", 1, true) and prog:kernels()[1] == "k")
      end
    ]]):format(cache))
    local run = child.run(([[
      local command = "for n in 1 2 3 4; do " .. arg[1] .. " %s & done; wait"
      assert(os.execute(command) == 0)
    ]]):format(script), { env = { XCHG_CUDA = "none" }, args = { os.getenv("LUAJIT") or "luajit" } })
    assert.equal("", run.stderr)
    assert.equal(0, run.status)
    assert.equal(10, #entries())
    for _, name in ipairs(entries()) do assert.truthy(name:find("%.kernel$"), name) end
  end)

  it("serves threads that compile the same at once", function()
    local jobs = {}
    for i = 1, 12 do
      jobs[i] = cuda.compile_async('#include "dummy.h"\n__global__ void k(int *y) { *y = 1; }',
        { cache = cache, include = folder, headers = { ["dummy.h"] = "" } })
    end
    for i = 1, 12 do assert.same({ "k" }, jobs[i]:wait():kernels()) end
    assert.equal(1, #entries())
  end)
end)
