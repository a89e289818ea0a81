-- A camera that fills one of four buffers at a time: each frame is another array of Python's. xchg.into points one
-- tensor at them in turn, so that the loop makes nothing for the collector and stays compiled.
--
--     eval "$(make -s env)"; luajit examples/frames.lua

local xchg = require "xchg"
local py = xchg.python

local FRAMES, HEIGHT, WIDTH = 2000, 24, 32

local camera = py.exec([[
import numpy as np
def ring(height, width):
    frames = [np.zeros(height * width, np.uint8) for _ in range(4)]
    for k, frame in enumerate(frames): frame[:] = (np.arange(frame.size) * (k + 1)) % 251
    return frames
]], {})
local ring = {}
for frame in py.iter(py.get(camera, "ring")(HEIGHT, WIDTH)) do ring[#ring + 1] = frame end

-- The brightest pixel of each frame, as index from 1.
local function brightest(out)
  local frame = xchg.empty(0, { dtype = "uint8" })
  for k = 1, FRAMES do
    xchg.into(frame, ring[(k - 1) % 4 + 1])
    local best, value = 1, frame[1]
    for i = 2, #frame do
      local v = frame[i]
      if v > value then best, value = i, v end
    end
    out[k] = best
  end
  frame:release()
  return out
end

local out = brightest(xchg.zeros(FRAMES, { dtype = "int32" }))
for k = 1, FRAMES do
  local a = ring[(k - 1) % 4 + 1]
  if k <= 4 then
    assert(out[k] - 1 == a:argmax():item())
    print(("frame %d: pixel %d has %d"):format(k, out[k], a:max():item()))
  else
    assert(out[k] == out[(k - 1) % 4 + 1])
  end
end
