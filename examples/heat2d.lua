-- Heat that spreads in a plate: two kernels captured once as a graph and launched many times, with one call each.
--
--     eval "$(make -s env)"; luajit examples/heat2d.lua

local xchg = require "xchg"
local cuda = xchg.cuda
if not cuda.available() then cuda.use "sim" end -- no GPU here: a CUDA device in software

local H, W = 24, 64
local program = cuda.compile([[
// One step of the explicit scheme; the edge keeps its temperature.
extern "C" __global__ void step(float *to, const float *from) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= WIDTH || y >= HEIGHT) return;
  int i = y * WIDTH + x;
  if (x == 0 || y == 0 || x == WIDTH - 1 || y == HEIGHT - 1) to[i] = from[i];
  else to[i] = from[i] + 0.2f * (from[i - 1] + from[i + 1] + from[i - WIDTH] + from[i + WIDTH] - 4 * from[i]);
}]], { defines = { WIDTH = W, HEIGHT = H } })
local step = program.step

local options = { dtype = "float32", device = "cuda" }
local a, b = xchg.zeros({ H, W }, options), xchg.zeros({ H, W }, options)
a[{ 1, {} }] = 100 -- the upper edge is hot

local twice = cuda.graph(function()
  step:over({ H, W }, b, a)
  step:over({ H, W }, a, b)
end)
print(twice.nodes .. " kernels in the graph")

local milliseconds = cuda.time(function()
  for _ = 1, 100 do twice:launch() end
end)
assert(milliseconds > 0)

local plate = a:to "cpu"
local shades = " .:-=+*#%@"
for y = 1, H, 3 do
  local line = {}
  for x = 1, W do
    local shade = math.floor(plate:at(y, x) / 100 * (#shades - 1) + 0.5) + 1
    line[x] = shades:sub(shade, shade)
  end
  print((table.concat(line):gsub(" +$", "")))
end

-- The same on the host.
local cold, hot = xchg.zeros({ H, W }, { dtype = "float32" }), xchg.zeros({ H, W }, { dtype = "float32" })
hot[{ 1, {} }] = 100
cold[{ 1, {} }] = 100
for _ = 1, 200 do
  for y = 2, H - 1 do
    for x = 2, W - 1 do
      local c = hot:at(y, x)
      local around = hot:at(y, x - 1) + hot:at(y, x + 1) + hot:at(y - 1, x) + hot:at(y + 1, x)
      cold:set(c + 0.2 * (around - 4 * c), y, x)
    end
  end
  hot, cold = cold, hot
end
local worst = 0
for y = 1, H do
  for x = 1, W do worst = math.max(worst, math.abs(plate:at(y, x) - hot:at(y, x))) end
end
assert(worst < 1e-3, worst)
