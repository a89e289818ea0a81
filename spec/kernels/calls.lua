-- Calls, replayed with Lua functions.
local k = require "spec.support.kernels"

local cases = {}

local function fibonacci(n) return n < 2 and n or fibonacci(n - 1) + fibonacci(n - 2) end

cases[#cases + 1] = {
  kernel = "recursion", grid = 1, block = 64,
  args = function() return { k.output("int32_t", 64, function(i) return fibonacci(i % 14) end) } end,
}

cases[#cases + 1] = {
  kernel = "double_recursion", grid = 1, block = 32,
  -- The closed forms: A(1, n) = n + 2, A(2, n) = 2 n + 3.
  args = function()
    return { k.output("int32_t", 32, function(i) return i % 2 == 1 and 2 * (i % 7) + 3 or i % 7 + 2 end) }
  end,
}

cases[#cases + 1] = {
  kernel = "mutual_recursion", grid = 1, block = 32,
  args = function() return { k.output("int32_t", 32, function(i) return i % 2 == 0 and 2 or 1 end) } end,
}

local BINARY = {
  add = function(a, b) return a + b end,
  subtract = function(a, b) return a - b end,
  multiply = function(a, b) return a * b end,
}

cases[#cases + 1] = {
  kernel = "function_pointers", grid = 1, block = 64,
  args = function()
    local first, second = { [0] = "add", "subtract", "multiply" }, { [0] = "multiply", "add", "subtract" }
    return {
      k.output("int32_t", 64, function(i)
        return BINARY[first[i % 3]](i, 7) + 1000 * BINARY[second[(i + 1) % 3]](7, i)
      end),
      k.value("int", 7),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "chosen_pointer", grid = 1, block = 32,
  args = function()
    return {
      k.output("int32_t", 32, function(i)
        local f = BINARY[i < 10 and "add" or i < 20 and "subtract" or "multiply"]
        return f(f(i, 9), f(9, i))
      end),
      k.value("int", 9),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "virtual_functions", grid = 1, block = 64,
  args = function()
    local areas = {
      [0] = function(i) return i * i + 2 end,
      function(i) return math.floor(i * (i + 1) / 2) end,
      function(i) return i * 5 end,
    }
    return { k.output("int32_t", 64, function(i) return areas[i % 3](i) end) }
  end,
}

cases[#cases + 1] = {
  kernel = "structures", grid = 1, block = 64,
  args = function()
    return {
      k.output("double", 64, function(i)
        -- The twelve products add up to 66 i; every term is a multiple of a half.
        return i * 0.5 + 1.5 - i - 3 + i + 4 + i % 2 + 66 * i + 5 + i
      end),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "quicksort", grid = 1, block = 16,
  args = function()
    local n = 25
    local a = k.memory("int32_t", 16 * n, function(i) return k.noise(i, 1) % 200 - 100 end)
    local sorted = {}
    for row = 0, 15 do
      local list = {}
      for at = 0, n - 1 do list[at + 1] = a.host[row * n + at] end
      table.sort(list)
      for at = 1, n do sorted[row * n + at - 1] = list[at] end
    end
    a.want = function(i) return sorted[i] end
    return { a, k.value("int", n) }
  end,
}

cases[#cases + 1] = {
  kernel = "barrier_in_function", grid = 1, block = 128,
  args = function() return { k.output("int32_t", 128, function(i) return (127 - i) ^ 2 end) } end,
}

cases[#cases + 1] = {
  kernel = "heap", grid = 1, block = 64,
  args = function()
    local n = 7
    return {
      k.output("int32_t", 64, function(i)
        local sum = 0
        for node = n - 1, 0, -1 do sum = sum * 3 + i * node end
        return sum + i % 16 + i
      end),
      k.value("int", n),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "registers", grid = 1, block = 64, shared = 4096,
  args = function()
    return {
      k.output("uint32_t", 64 * 6, k.rows {
        function() return 64 end, function() return 1 end, function(i) return math.floor(i / 32) end,
        function() return 4096 end, function() return 1 end, function() return 1 end,
      }),
    }
  end,
}

return cases
