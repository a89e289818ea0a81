-- Writes table.h, the versions of the driver's entry points, from the toolkit's cudaTypedefs.h:
--
--     luajit src/sim/driver/generate.lua /usr/local/cuda/include/cudaTypedefs.h > src/sim/driver/table.h
--
-- The header has one type for each version of a function: PFN_cuMemAlloc_v3020. In the order of their versions they are the
-- symbols cuMemAlloc, cuMemAlloc_v2, ...; those that end in _ptds or _ptsz are the twins for per-thread default streams, and
-- carry the number of the newest version that is not newer than they are.

local path = assert(arg[1], "generate.lua: which cudaTypedefs.h?")
local versions, twins, names = {}, {}, {}

for line in assert(io.open(path)):lines() do
  local name, version, twin = line:match("%(CUDAAPI%s*%*PFN_(cu%w+)_v(%d+)_?(%a*)%)")
  if name then
    version = tonumber(version)
    if not versions[name] then
      versions[name], twins[name] = {}, {}
      names[#names + 1] = name
    end
    local list = twin == "" and versions[name] or twins[name]
    list[#list + 1] = { version = version, twin = twin }
  end
end
table.sort(names)

local rows = 0
local function row(name, version, symbol, twin)
  rows = rows + 1
  print(("X(%s, %d, %s, %s)"):format(name, version, symbol, twin))
end

local function symbol(name, k) return k == 1 and name or ("%s_v%d"):format(name, k) end

print("/* Made by generate.lua: not to be edited. X(name, version it came with, symbol, PLAIN or the twin's kind) */")
for _, name in ipairs(names) do
  local plain = versions[name]
  table.sort(plain, function(a, b) return a.version < b.version end)
  for k, each in ipairs(plain) do row(name, each.version, symbol(name, k), "PLAIN") end
  table.sort(twins[name], function(a, b) return a.version < b.version end)
  for _, each in ipairs(twins[name]) do
    local k = 0
    for _, base in ipairs(plain) do
      if base.version <= each.version then k = k + 1 end
    end
    row(name, each.version, symbol(name, math.max(k, 1)) .. "_" .. each.twin, each.twin:upper())
  end
end
io.stderr:write(("%d functions, %d rows\n"):format(#names, rows))
