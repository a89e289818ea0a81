std = "luajit"
max_line_length = 120
unused_args = false
include_files = {
  "lua/**/*.lua", "spec/**/*.lua", "bench/**/*.lua", "examples/**/*.lua", "types/**/*.lua", "bin/xchg", "*.rockspec",
  ".busted", ".luacheckrc",
}
files["spec"] = { std = "luajit+busted", max_line_length = 160 } -- rows of tables
files["*.rockspec"].std = "+rockspec"
-- A file of annotations declares shapes, it defines nothing that is used.
files["types"].ignore = {"1", "2", "5"}
