"""A numba-cuda program on a machine without a GPU: it knows nothing of the simulated device.

    eval "$(make -s env)"
    XCHG_SIM_CHECK=race bin/xchg sim run "$XCHG_PYTHON" -W ignore examples/simulator/sums.py

The second kernel forgets to wait before it adds.
"""
import numpy as np
from numba import cuda, float32

BLOCKS, THREADS = 4, 256


@cuda.jit(lineinfo=True)
def sums(out, values):
    part = cuda.shared.array(256, float32)
    i = cuda.threadIdx.x
    part[i] = values[cuda.blockIdx.x * 256 + i]
    cuda.syncthreads()
    half = 128
    while half > 0:
        if i < half:
            part[i] += part[i + half]
        cuda.syncthreads()
        half //= 2
    if i == 0:
        out[cuda.blockIdx.x] = part[0]


@cuda.jit(lineinfo=True)
def hasty(out, values):
    part = cuda.shared.array(256, float32)
    i = cuda.threadIdx.x
    part[i] = values[cuda.blockIdx.x * 256 + i]
    if i < 128:
        part[i] += part[i + 128]
    cuda.syncthreads()
    if i == 0:
        out[cuda.blockIdx.x] = part[0]


values = cuda.to_device(np.arange(BLOCKS * THREADS, dtype=np.float32) % 7)
out = cuda.device_array(BLOCKS, np.float32)
sums[BLOCKS, THREADS](out, values)
host = (np.arange(BLOCKS * THREADS) % 7).reshape(BLOCKS, THREADS).sum(axis=1)
print("sums", out.copy_to_host(), "on the host", host)
assert np.array_equal(out.copy_to_host(), host)

hasty[BLOCKS, THREADS](out, values)
cuda.synchronize()
