-- The Mandelbrot set by a kernel, written as a picture: mandelbrot.png, or the file that is named.
--
--     eval "$(make -s env)"; luajit examples/mandelbrot.lua [FILE.png]

local bit = require "bit"
local ffi = require "ffi"
local xchg = require "xchg"
local cuda = xchg.cuda
if not cuda.available() then cuda.use "sim" end -- no GPU here: a CUDA device in software

local W, H, MOST = 240, 160, 200
local program = cuda.compile [[
extern "C" __global__ void mandelbrot(unsigned char *pixels, int width, int height, int most) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  float cr = -2.2f + 3.2f * x / width, ci = -1.1f + 2.2f * y / height, r = 0, i = 0;
  int steps = 0;
  while (steps < most && r * r + i * i < 4) {
    float next = r * r - i * i + cr;
    i = 2 * r * i + ci;
    r = next;
    steps++;
  }
  pixels[y * width + x] = steps == most ? 0 : 255 - 20 * steps % 256;
}]]
local pixels = xchg.zeros({ H, W }, { dtype = "uint8", device = "cuda" })
program.mandelbrot:over({ H, W }, pixels, W, H, MOST)
local image = pixels:to "cpu"

-- ---- a PNG file of one grey channel, stored without compression

local crcs = {}
for n = 0, 255 do
  local c = n
  for _ = 1, 8 do c = bit.band(c, 1) == 1 and bit.bxor(0xedb88320, bit.rshift(c, 1)) or bit.rshift(c, 1) end
  crcs[n] = c
end

local function word(n)
  local bytes = {}
  for i = 1, 4 do bytes[i] = string.char(bit.band(bit.rshift(n, 32 - 8 * i), 255)) end
  return table.concat(bytes)
end

local function chunk(kind, data)
  local crc = -1
  for byte in (kind .. data):gmatch "." do
    crc = bit.bxor(crcs[bit.band(bit.bxor(crc, byte:byte()), 255)], bit.rshift(crc, 8))
  end
  return word(#data) .. kind .. data .. word(bit.bnot(crc))
end

local rows = {}
for y = 1, H do rows[y] = "\0" .. ffi.string(image[y].data, W) end
local raw = table.concat(rows)
local a, b, stored = 1, 0, { "\120\1" }
for at = 1, #raw do
  a = (a + raw:byte(at)) % 65521
  b = (b + a) % 65521
end
for at = 1, #raw, 65535 do
  local part = raw:sub(at, at + 65534)
  local low, high = #part % 256, math.floor(#part / 256)
  stored[#stored + 1] = string.char(at + 65535 > #raw and 1 or 0, low, high, 255 - low, 255 - high) .. part
end
stored[#stored + 1] = word(b * 65536 + a)

local path = arg[1] or "mandelbrot.png"
local file = assert(io.open(path, "wb"))
file:write("\137PNG\r\n\26\n", chunk("IHDR", word(W) .. word(H) .. "\8\0\0\0\0"), chunk("IDAT", table.concat(stored)),
  chunk("IEND", ""))
file:close()

local inside = 0
for y = 1, H do
  for x = 1, W do inside = inside + (image:at(y, x) == 0 and 1 or 0) end
end
print(("%d x %d pixels, %.1f %% of them dark"):format(W, H, 100 * inside / (W * H)))
