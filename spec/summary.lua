-- Output of a run: a line per file, then what failed or was skipped and why, last `N passed, N failed, N skipped`.
local busted = require "busted"
local now = require "system".gettime

local function text(message)
  if message == nil then return "no message" end
  local ok, s = pcall(tostring, message)
  return ok and s or type(message)
end

local function indent(s) return "    " .. s:gsub("\n", "\n    ") end

local function place(record)
  local trace = record.element and record.element.trace or record.trace
  if trace and trace.short_src then return ("%s:%d: "):format(trace.short_src, trace.currentline or 0) end
  return ""
end

return function(options)
  local handler = require "busted.outputHandlers.base"()
  local seed, began, passed, failed, skipped

  local function failures() return handler.failuresCount + handler.errorsCount end

  local function write(...)
    io.write(...)
    io.flush()
    return nil, true
  end

  busted.subscribe({ "suite", "start" }, function(_, run, runs, given)
    seed = given
    if runs > 1 then write(("run %d of %d\n"):format(run, runs)) end
    return write("seed ", tostring(seed or "none, files and tests in order"), "\n")
  end)

  -- The name is written first, so that a crash shows where it happened.
  busted.subscribe({ "file", "start" }, function(file)
    began, passed, failed, skipped = now(), handler.successesCount, failures(), handler.pendingsCount
    return write(("%-40s"):format(file.name))
  end)

  busted.subscribe({ "file", "end" }, function()
    local seconds = now() - began
    passed, failed, skipped = handler.successesCount - passed, failures() - failed, handler.pendingsCount - skipped
    local line = (" %4d passed"):format(passed)
    if failed > 0 then line = line .. (", %d failed"):format(failed) end
    if skipped > 0 then line = line .. (", %d skipped"):format(skipped) end
    return write(("%-36s %7.2f s\n"):format(line, seconds))
  end)

  if os.getenv("XCHG_SPEC_NAMES") then
    busted.subscribe({ "test", "start" }, function(element)
      return write("\n  ", handler.getFullName(element), " ")
    end)
  end

  busted.subscribe({ "suite", "end" }, function()
    for _, record in ipairs(handler.pendings) do
      write("\nskipped: ", record.name, "\n")
      if record.message ~= nil then write(indent(text(record.message)), "\n") end
    end
    for _, records in ipairs { handler.failures, handler.errors } do
      for _, record in ipairs(records) do
        write("\n", record.isError and "error: " or "failed: ", place(record), record.name, "\n")
        write(indent(text(record.message)), "\n")
        local trace = text(record.trace and record.trace.traceback or ""):gsub("^%s+", ""):gsub("%s+$", "")
        if trace ~= "" and (record.isError or options.verbose) then write(indent(trace), "\n") end
      end
    end
    return nil, true
  end)

  busted.subscribe({ "exit" }, function()
    if failures() > 0 and seed then
      local words = { "make test" }
      for _, row in ipairs { { "XCHG_TEST_PART", "PART" }, { "XCHG_SIM_SCHEDULE", "XCHG_SIM_SCHEDULE" } } do
        local value = os.getenv(row[1]) or ""
        if value ~= "" then words[#words + 1] = row[2] .. "=" .. value end
      end
      write("\nagain in this order: ", table.concat(words, " "), " SEED=", tostring(seed), "\n")
    end
    return write(("\n%d passed, %d failed, %d skipped\n"):format(handler.successesCount, failures(),
      handler.pendingsCount))
  end)

  return handler
end
