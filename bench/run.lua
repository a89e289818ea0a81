--- What things cost, as ratios to what others pay for the same, measured in the same run.
--
--   luajit bench/run.lua              every table
--   luajit bench/run.lua imports sums some of them
--   luajit bench/run.lua list         their names

local folder = arg[0]:match("^(.*)/[^/]*$") or "."
package.path = folder .. "/?.lua;" .. package.path

local TABLES = {
  "imports", "buffers", "arrays", "torch", "jax", "peers", "parts", "gil", "sums", "lives", "sizes", "start",
  "interpreted", "simulator", "launches", "cuda",
}

local chosen, bare = {}, false
for _, word in ipairs(arg) do
  if word == "list" then
    print(table.concat(TABLES, " "))
    return
  elseif word == "--bare" then -- a child of ours: no header
    bare = true
  else
    local known = false
    for _, name in ipairs(TABLES) do known = known or name == word end
    if not known then
      error(("bench: there is no table %q; there are %s"):format(word, table.concat(TABLES, " ")), 0)
    end
    chosen[#chosen + 1] = word
  end
end

if not bare then require("setup").header() end
if #chosen == 1 then
  require("tables." .. chosen[1])()
  return
end
-- Each table in a process of its own: what one has compiled, imported or left behind is nothing to the next.
for _, name in ipairs(#chosen > 0 and chosen or TABLES) do
  local status = os.execute(("%s '%s' --bare %s"):format(arg[-1] or "luajit", arg[0], name))
  if status ~= 0 then io.write(("\n%s: FAILED, status %s\n"):format(name, tostring(status))) end
end
