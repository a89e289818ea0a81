--- What the compiler says, made an error that shows the lines it is about.

local ffi = require "ffi"
local lib = require "xchg.lib"
local error_ = require "xchg.error"
local nvrtc = require "xchg.cuda.nvrtc"

local M = {}

local C = lib.C
local known = C.xchg_nvrtc_known()

local MOST_SHOWN = 20 -- errors with their lines
local AROUND = 2 -- lines before, one after

local function split(text)
  local out = {}
  for line in (text:gsub("\n$", "") .. "\n"):gmatch("(.-)\r?\n") do out[#out + 1] = line end
  return out
end

local KINDS = { ["error"] = "error", ["catastrophic error"] = "error", ["internal error"] = "error",
  warning = "warning", remark = "remark" }

-- "program.cu(3): error: identifier ..." in its parts; the kind is "error" for all that end a compilation.
local function head_of(line)
  local file, number, rest = line:match("^(.-)%((%d+)%): (.*)$")
  local kind, text = (rest or ""):match("^(%l[%l ]-)%s*: (.*)$")
  if not kind then kind, text = (rest or ""):match("^(%l[%l ]-) #[%w-]+: (.*)$") end
  if not KINDS[kind] then return nil end
  return file, tonumber(number), KINDS[kind], text
end

local function numbered(out, number, line, width)
  out[#out + 1] = ("%" .. width .. "s | %s"):format(number, line)
end

-- The lines around one of a source, and the mark under the place where the compiler's echo has its own.
local function excerpt(out, lines, number, echo, mark)
  local width = math.max(4, #tostring(number + 1))
  for i = math.max(1, number - AROUND), math.min(#lines, number + 1) do
    numbered(out, tostring(i), lines[i], width)
    -- NVRTC indents what it repeats by two.
    if i == number and mark and echo == "  " .. lines[i] then numbered(out, "", mark:sub(3), width) end
  end
end

-- Cures for what users meet first.
local function cure(log)
  local missing = log:match('could not open source file "([^"]+)"') or log:match('cannot open source file "([^"]+)"')
  if not missing then return nil end
  local cuda_like = missing:find("^cuda") or missing:find("^cooperative_groups") or missing:find("^nv/")
    or missing:find("^cub/") or missing:find("^thrust/") or missing:find("^mma")
  if cuda_like and known.include[0] == 0 then
    local major = math.floor(known.version / 1000)
    return ("no CUDA headers lie beside %s; `pip install \"nvidia-cuda-runtime==%d.*\" \"nvidia-cuda-cccl==%d.*\"` "
      .. "into the same Python brings them, or name their folder with include ="):format(ffi.string(known.path), major,
      major)
  elseif cuda_like then
    return ("the headers of this NVRTC are looked for in %s"):format((ffi.string(known.include):gsub("\n", ", ")))
  elseif missing:find("^[%a_]+$") or missing:find("^std%a+%.h$") or missing:find("^c?math%.?h?$") then
    return ("NVRTC knows no headers of the system; #include <cuda/std/%s> has what of it works on a device"):format(
      missing:gsub("^std(%a+)%.h$", "cstd%1"):gsub("%.h$", ""))
  end
  return "name its folder with include =, or give its text with headers ="
end

-- Errors of a log with the lines they are about, and how many there are.
local function errors_of(source, spec, log)
  local texts = { [spec.name] = source }
  for i, name in ipairs(spec.header_names) do texts[name] = spec.header_texts[i] end
  local sources = {}
  local out, count, lines = {}, 0, split(log)
  for i, line in ipairs(lines) do
    local file, number, kind, text = head_of(line)
    if kind == "error" then
      count = count + 1
      if count <= MOST_SHOWN then
        local expression = file == "__nv_name_map" and (lines[i + 1] or ""):match("nv_mangled_name (.*)$")
        if expression then
          out[#out + 1] = ("names: '%s': %s: %s"):format(expression, kind, text)
        else
          out[#out + 1] = ("%s:%d: %s: %s"):format(file, number, kind, text)
          if texts[file] and not sources[file] then sources[file] = split(texts[file]) end
          if sources[file] then
            excerpt(out, sources[file], number, lines[i + 1], (lines[i + 2] or ""):match("^%s*%^%s*$"))
          else
            for k = i + 1, #lines do
              if lines[k] == "" or head_of(lines[k]) then break end
              out[#out + 1] = lines[k]
            end
          end
        end
      end
    end
  end
  if count > MOST_SHOWN then
    out[#out + 1] = ("... and %d more; the error's field log has them"):format(count - MOST_SHOWN)
  end
  return out, count
end

-- Raises an error object that has the whole log too.
local function raise_with_log(code, log, message)
  local _, problem = pcall(error_.raise, code, "%s", message)
  if error_.is(problem) then problem.log = log end
  error(problem, 0)
end

---@class xchg.cuda.CompileFailure
---@field code string
---@field nvrtc integer   what NVRTC answered
---@field log string
---@field message string  what is to be said where the log says nothing

--- Raises what a compilation failed with.
---@param where string
---@param source string
---@param spec xchg.cuda.CompileSpec
---@param failure xchg.cuda.CompileFailure
function M.raise(where, source, spec, failure)
  local log = failure.log
  if failure.nvrtc == 5 then -- an option that it refuses
    local said = log:match("nvrtc: error: ([^\n]+)") or log:match("^%s*([^\n]+)") or failure.message
    raise_with_log("bad_argument", log, ("%s: NVRTC %s refuses an option: %s (of %s)"):format(where, nvrtc.version(),
      said, table.concat(spec.options, " ")))
  end
  local shown, count = errors_of(source, spec, log)
  if count == 0 then
    local text = log ~= "" and "\n" .. log:gsub("%s+$", "") or ""
    raise_with_log(failure.code, log, ("%s: %s: %s%s"):format(where, spec.name,
      failure.message:gsub("^compile: ", ""), text))
  end
  local help = cure(log)
  raise_with_log(failure.code, log, ("%s: %s: %d error%s (NVRTC %s, %s)%s\n%s"):format(where, spec.name, count,
    count == 1 and "" or "s", nvrtc.version(), spec.arch, help and "; " .. help or "", table.concat(shown, "\n")))
end

return M
