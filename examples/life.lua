-- Conway's game of life: rules in Lua, the board a NumPy array that Python looks at between two steps.
--
--     eval "$(make -s env)"; luajit examples/life.lua

local xchg = require "xchg"
local py = xchg.python
local np = py.import "numpy"

local SIZE, GENERATIONS = 16, 4 * 7

-- Python owns the board; a glider sits in its corner.
local board = np.zeros(py.tuple { SIZE, SIZE }, py.kwargs { dtype = "uint8" })
local cells = xchg.from_dlpack(board)
cells[{ { 1, 3 }, { 1, 3 } }] = { { 0, 1, 0 }, { 0, 0, 1 }, { 1, 1, 1 } }

-- The next generation of `from` into `to`; the board is a torus.
local function step(from, to)
  local n, m = from:size(1), from:size(2)
  for i = 1, n do
    local up, down = i > 1 and i - 1 or n, i < n and i + 1 or 1
    for j = 1, m do
      local left, right = j > 1 and j - 1 or m, j < m and j + 1 or 1
      local around = from:at(up, left) + from:at(up, j) + from:at(up, right) + from:at(i, left) + from:at(i, right)
        + from:at(down, left) + from:at(down, j) + from:at(down, right)
      to:set((around == 3 or around == 2 and from:at(i, j) == 1) and 1 or 0, i, j)
    end
  end
end

local next_cells = cells:clone()
local first = cells:clone()
for generation = 1, GENERATIONS do
  step(cells, next_cells)
  cells:copy_(next_cells)
  -- Python sees each generation in its own array: a glider always has five cells.
  assert(py.tonumber(board:sum()) == 5, "generation " .. generation)
end

-- Every four generations a glider moves one cell down and right; NumPy's roll says the same.
local moved = xchg.from_dlpack(np.roll(board, py.tuple { -7, -7 }, py.kwargs { axis = py.tuple { 0, 1 } }))
assert(xchg.equal(moved, first))

local show = py.eval [[lambda board: "\n".join("".join(".#"[c] for c in row) for row in board)]]
print(show(board))
print(("after %d generations: %d cells"):format(GENERATIONS, py.tonumber(board:sum())))
