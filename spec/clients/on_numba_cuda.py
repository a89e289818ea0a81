"""numba-cuda, unmodified, on the simulated device: arrays, kernels and what a user of it expects to work."""
import math
import threading
import warnings

import numpy as np

warnings.simplefilter("ignore")  # low occupancy, and that nvJitLink is missing

from numba import cuda, float32, float64, int32, uint32, void  # noqa: E402
from numba.cuda.random import create_xoroshiro128p_states, xoroshiro128p_uniform_float32  # noqa: E402

from sections import run  # noqa: E402


def device_is_named():
    assert "Simulated" in cuda.get_current_device().name.decode() if isinstance(
        cuda.get_current_device().name, bytes) else "Simulated" in cuda.get_current_device().name
    assert cuda.get_current_device().compute_capability >= (7, 5)


def arrays_go_and_come_back():
    for dtype in ("int8", "uint16", "int32", "float32", "float64", "complex64", "float16", "bool"):
        host = (np.arange(24) % 7).astype(dtype).reshape(4, 6)
        device = cuda.to_device(host)
        assert device.shape == (4, 6) and device.dtype == host.dtype
        assert np.array_equal(device.copy_to_host(), host)
        assert np.array_equal(device[1:3].copy_to_host(), host[1:3])


def cuda_array_interface_goes_out():
    device = cuda.to_device(np.arange(12, dtype=np.float32).reshape(3, 4))
    interface = device.__cuda_array_interface__
    assert interface["shape"] == (3, 4) and interface["typestr"] == "<f4" and interface["version"] >= 3
    assert interface["strides"] is None and interface["data"][0] > 0
    assert device[:, 1:].__cuda_array_interface__["strides"] == (16, 4)


def cuda_array_interface_comes_in():
    device = cuda.to_device(np.arange(10, dtype=np.int32))

    class Wrapper:
        __cuda_array_interface__ = device.__cuda_array_interface__

    view = cuda.as_cuda_array(Wrapper())
    assert np.array_equal(view.copy_to_host(), np.arange(10))


def kernel_adds():
    @cuda.jit
    def add(x, y, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = x[i] + y[i]

    x, y = np.arange(1000, dtype=np.float32), np.ones(1000, np.float32)
    out = cuda.device_array(1000, np.float32)
    add[8, 128](cuda.to_device(x), cuda.to_device(y), out)
    assert np.array_equal(out.copy_to_host(), x + y)


def kernel_of_two_dimensions_with_host_arrays():
    @cuda.jit
    def transpose(x, out):
        i, j = cuda.grid(2)
        if i < x.shape[0] and j < x.shape[1]:
            out[j, i] = x[i, j]

    x = np.arange(21 * 34, dtype=np.float64).reshape(21, 34)
    out = np.zeros((34, 21))
    transpose[(2, 3), (16, 16)](x, out)
    assert np.array_equal(out, x.T)


def shared_memory_reduces():
    @cuda.jit
    def sums(x, out):
        part = cuda.shared.array(128, float64)
        i = cuda.threadIdx.x
        part[i] = x[cuda.grid(1)]
        cuda.syncthreads()
        half = 64
        while half:
            if i < half:
                part[i] += part[i + half]
            cuda.syncthreads()
            half //= 2
        if i == 0:
            out[cuda.blockIdx.x] = part[0]

    x = np.arange(512, dtype=np.float64)
    out = np.zeros(4)
    sums[4, 128](x, out)
    assert np.array_equal(out, x.reshape(4, 128).sum(1))


def dynamic_shared_memory_up_to_48_kib():
    @cuda.jit
    def reverse(x):
        part = cuda.shared.array(0, float32)
        i = cuda.threadIdx.x
        for k in range(i, x.size, 256):
            part[k] = x[k]
        cuda.syncthreads()
        for k in range(i, x.size, 256):
            x[k] = part[x.size - 1 - k]

    x = np.arange(12288, dtype=np.float32)
    device = cuda.to_device(x)
    reverse[1, 256, 0, x.nbytes](device)
    assert np.array_equal(device.copy_to_host(), x[::-1])
    # More has to be asked for by an attribute of the kernel, which numba-cuda 0.30 does not do.
    try:
        reverse[1, 256, 0, x.nbytes + 4](device)
    except Exception as error:
        assert "INVALID_VALUE" in str(error)
    else:
        raise AssertionError("launched without asking for more shared memory")


def constant_and_local_memory():
    table = np.arange(10, dtype=np.int32) ** 2

    @cuda.jit
    def look_up(out):
        squares = cuda.const.array_like(table)
        own = cuda.local.array(10, int32)
        i = cuda.grid(1)
        for k in range(10):
            own[k] = squares[k] + i
        total = 0
        for k in range(10):
            total += own[(k + i) % 10]
        out[i] = total

    out = np.zeros(32, np.int32)
    look_up[1, 32](out)
    assert np.array_equal(out, table.sum() + 10 * np.arange(32))


def atomics_of_all_kinds():
    @cuda.jit
    def count(x, bins, low, high, total, bits):
        i = cuda.grid(1)
        cuda.atomic.add(bins, x[i] % 8, 1)
        cuda.atomic.min(low, 0, x[i])
        cuda.atomic.max(high, 0, x[i])
        cuda.atomic.add(total, 0, float64(x[i]))
        cuda.atomic.or_(bits, 0, uint32(1) << uint32(x[i] % 32))
        cuda.atomic.sub(bins, 8, 1)
        cuda.atomic.inc(bits, 1, 99)
        cuda.atomic.exch(bits, 2, 7)
        cuda.atomic.cas(bits, 3, 0, 5)

    x = (np.arange(1024) * 37 % 1000).astype(np.int32)
    bins, bits = np.zeros(9, np.int32), np.zeros(4, np.uint32)
    low, high, total = np.array([9999], np.int32), np.array([-1], np.int32), np.zeros(1)
    count[8, 128](x, bins, low, high, total, bits)
    assert np.array_equal(bins[:8], np.bincount(x % 8, minlength=8)) and bins[8] == -1024
    assert low[0] == x.min() and high[0] == x.max() and total[0] == x.sum()
    assert bits[0] == np.bitwise_or.reduce(np.uint32(1) << (x % 32).astype(np.uint32))
    assert bits[1] == 1024 % 100 and bits[2] == 7 and bits[3] == 5


def warp_votes_shuffles_and_matches():
    @cuda.jit
    def warp(out):
        i = cuda.threadIdx.x
        full = 0xFFFFFFFF
        out[0, i] = cuda.ballot_sync(full, i % 3 == 0)
        out[1, i] = cuda.all_sync(full, i < 32)
        out[2, i] = cuda.any_sync(full, i == 40)
        out[3, i] = cuda.shfl_sync(full, i * 10, 5)
        out[4, i] = cuda.shfl_down_sync(full, i, 4)
        out[5, i] = cuda.shfl_xor_sync(full, i, 1)
        out[6, i] = cuda.match_any_sync(full, i // 8)
        out[7, i] = cuda.activemask()

    out = np.zeros((8, 32), np.int64)
    warp[1, 32](out)
    lane = np.arange(32)
    assert (out[0] & 0xFFFFFFFF == sum(1 << k for k in range(0, 32, 3))).all()
    assert out[1].all() and not out[2].any() and (out[3] == 50).all()
    assert np.array_equal(out[4][:28], lane[:28] + 4) and np.array_equal(out[5], lane ^ 1)
    assert np.array_equal(out[6] & 0xFFFFFFFF, [0xFF << (k // 8 * 8) for k in lane])
    assert (out[7] & 0xFFFFFFFF == 0xFFFFFFFF).all()


def mathematics_in_float_and_double():
    @cuda.jit
    def evaluate(x, out):
        i = cuda.grid(1)
        v = x[i]
        out[0, i] = math.sin(v)
        out[1, i] = math.exp(v)
        out[2, i] = math.log(v)
        out[3, i] = math.sqrt(v)
        out[4, i] = math.tanh(v)
        out[5, i] = math.erf(v)
        out[6, i] = math.pow(v, v)
        out[7, i] = math.atan2(v, 2 * v)

    for dtype, bound in ((np.float32, 1e-6), (np.float64, 1e-14)):
        x = np.linspace(0.1, 5, 64).astype(dtype)
        out = np.zeros((8, 64), dtype)
        evaluate[2, 32](x, out)
        erf = np.array([math.erf(v) for v in x])
        expected = [np.sin(x), np.exp(x), np.log(x), np.sqrt(x), np.tanh(x), erf, x ** x, np.arctan2(x, 2 * x)]
        for row, want in zip(out, expected):
            assert np.allclose(row, want, rtol=bound * 4, atol=bound), np.abs(row - want).max()


def tuples_records_and_complex():
    record = np.dtype([("a", np.int32), ("b", np.float64)], align=True)

    @cuda.jit
    def fill(pair, records, z):
        i = cuda.grid(1)
        if i < records.size:
            records[i].a = pair[0] + i
            records[i].b = pair[1] * i
            z[i] = z[i] * (1 + 2j)

    records, z = np.zeros(10, record), np.arange(10).astype(np.complex128)
    fill[1, 32]((3, 0.5), records, z)
    assert np.array_equal(records["a"], 3 + np.arange(10)) and np.array_equal(records["b"], 0.5 * np.arange(10))
    assert np.array_equal(z, np.arange(10) * (1 + 2j))


def half_precision():
    @cuda.jit
    def twice(x):
        i = cuda.grid(1)
        x[i] = x[i] + x[i]

    x = np.arange(64).astype(np.float16) / np.float16(8)
    device = cuda.to_device(x)
    twice[2, 32](device)
    assert np.array_equal(device.copy_to_host(), x + x)


def device_functions_and_signatures():
    @cuda.jit(device=True)
    def square(v):
        return v * v

    @cuda.jit(void(float64[:]))
    def apply(x):
        i = cuda.grid(1)
        x[i] = square(x[i]) + square(2.0)

    x = np.arange(32.0)
    want = x * x + 4
    apply[1, 32](x)
    assert np.array_equal(x, want)


def streams_and_events():
    stream = cuda.stream()
    host = cuda.pinned_array(1000, np.float32)
    host[:] = 3
    start, end = cuda.event(), cuda.event()

    @cuda.jit
    def scale(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] *= 2

    with stream.auto_synchronize():
        start.record(stream)
        device = cuda.to_device(host, stream=stream)
        scale[8, 128, stream](device)
        device.copy_to_host(host, stream=stream)
        end.record(stream)
    assert (host == 6).all()
    assert cuda.event_elapsed_time(start, end) >= 0


def pinned_mapped_and_managed():
    @cuda.jit
    def increment(x):
        x[cuda.grid(1)] += 1

    managed = cuda.managed_array(64, np.int32)
    managed[:] = 5
    increment[2, 32](managed)
    cuda.synchronize()
    assert (managed == 6).all()
    mapped = cuda.mapped_array(64, np.int32)
    mapped[:] = 1
    increment[2, 32](mapped)
    cuda.synchronize()
    assert (mapped == 2).all()


def two_devices():
    if len(cuda.gpus) < 2:
        raise AssertionError("one device: XCHG_SIM_DEVICES=2 is missing")
    arrays = []
    for gpu in range(2):
        with cuda.gpus[gpu]:
            arrays.append(cuda.to_device(np.full(8, gpu)))
    for gpu in range(2):
        with cuda.gpus[gpu]:
            assert (arrays[gpu].copy_to_host() == gpu).all()


def memory_is_told():
    free, total = cuda.current_context().get_memory_info()
    keep = cuda.device_array(1 << 20, np.uint8)
    less, _ = cuda.current_context().get_memory_info()
    assert 0 < less <= free < total + 1
    del keep


def printing(capsys=None):
    @cuda.jit
    def hello():
        if cuda.grid(1) == 3:
            print("thread", cuda.grid(1), 1.5)

    hello[1, 32]()
    cuda.synchronize()


def exceptions_of_kernels():
    @cuda.jit(debug=True, opt=False)
    def fail(x):
        if cuda.grid(1) == 5:
            raise ValueError("five")
        x[cuda.grid(1)] = 1

    try:
        fail[1, 32](np.zeros(32))
        cuda.synchronize()
    except ValueError as error:
        assert "five" in str(error) and "tid=[0, 0, 5]" in str(error), str(error)
    else:
        raise AssertionError("no exception")


def line_information_and_fast_mathematics():
    @cuda.jit(lineinfo=True, fastmath=True)
    def kernel(x):
        i = cuda.grid(1)
        x[i] = math.cos(x[i]) / (x[i] + 1)

    x = np.linspace(0, 3, 32).astype(np.float32)
    want = np.cos(x) / (x + 1)
    kernel[1, 32](x)
    assert np.allclose(x, want, rtol=1e-5, atol=1e-5)


def vectorize_and_guvectorize():
    from numba import guvectorize, vectorize

    @vectorize(["float32(float32, float32)"], target="cuda")
    def hypotenuse(a, b):
        return math.sqrt(a * a + b * b)

    a, b = np.arange(100, dtype=np.float32), np.ones(100, np.float32)
    assert np.allclose(hypotenuse(a, b), np.hypot(a, b))

    @guvectorize(["(float32[:], float32[:])"], "(n)->(n)", target="cuda")
    def running(x, out):
        total = float32(0)
        for k in range(x.size):
            total += x[k]
            out[k] = total

    rows = np.arange(12, dtype=np.float32).reshape(3, 4)
    assert np.array_equal(running(rows), np.cumsum(rows, axis=1))


def reduction():
    add = cuda.reduce(lambda a, b: a + b)
    x = np.arange(5000, dtype=np.float64)
    assert add(x) == x.sum()


def random_numbers():
    @cuda.jit
    def draw(states, out):
        i = cuda.grid(1)
        out[i] = xoroshiro128p_uniform_float32(states, i)

    states = create_xoroshiro128p_states(64, seed=1)
    out = np.zeros(64, np.float32)
    draw[2, 32](states, out)
    assert (0 <= out).all() and (out < 1).all() and len(set(out)) > 60


def grid_synchronisation():
    @cuda.jit
    def steps(x):
        i = cuda.grid(1)
        g = cuda.cg.this_grid()
        for _ in range(3):
            left = x[(i + 1) % x.size]
            g.sync()
            x[i] += left
            g.sync()

    x = np.arange(128, dtype=np.int64)
    want = x.copy()
    for _ in range(3):
        want = want + np.roll(want, -1)
    steps[4, 32](x)
    assert np.array_equal(x, want)


def four_threads():
    @cuda.jit
    def square(x):
        i = cuda.grid(1)
        x[i] *= x[i]

    square[1, 32](np.zeros(32))
    wrong = []

    def work(k):
        for _ in range(10):
            x = np.full(32, float(k))
            square[1, 32](x)
            if not (x == k * k).all():
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not wrong


if __name__ == "__main__":
    run(globals())
