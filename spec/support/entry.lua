--- PTX with one kernel that takes what a list says and does nothing: entry({ ".u64 @", ".align 4 .b8 @[12]" }, ".maxntid 32\n").

--- "@" stands for the name of a parameter, numbered as compilers do.
---@param list string[]
---@param directives string?  behind the parameters
---@param name string?  "k" without it
---@return string
return function(list, directives, name)
  local rows = {}
  for i, text in ipairs(list) do rows[i] = ("\t.param %s"):format((text:gsub("@", "k_param_" .. i - 1))) end
  return (".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry %s(\n%s\n)\n%s{\n\tret;\n}\n"):format(name or "k",
    table.concat(rows, ",\n"), directives or "")
end
