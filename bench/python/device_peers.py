"""What others pay for a launch, an array, an import of memory of a CUDA device: loops of Python, timed inside.

A function gives a callable of a count, which returns nanoseconds, or a text: why there is none. Launches are timed while
they are queued, and waited for in between."""

import time

BATCH = 100


def _queued(clock, once, wait):
    def run(n):
        spent = 0
        while n > 0:
            count = min(n, BATCH)
            start = clock()
            for _ in range(count):
                once()
            spent += clock() - start
            wait()
            n -= count
        return spent

    return run


def _clock(wall):
    return time.perf_counter_ns if wall else time.thread_time_ns


def _core(arch, source):
    import numpy as np
    from cuda.core import Device, LaunchConfig, Program, ProgramOptions

    device = Device(0)
    device.set_current()
    kernel = Program(source, code_type="c++", options=ProgramOptions(arch=arch)).compile("ptx").get_kernel("saxpy")
    stream = device.default_stream
    y, x = (device.allocate(4 * 1024, stream=stream) for _ in range(2))
    return device, stream, LaunchConfig(grid=1, block=32), kernel, (y, x, np.float32(1.5), np.int32(32))


def core_launch(wall, arch, source):
    try:
        from cuda.core import launch
    except ImportError:
        return "cuda.core is not installed"
    device, stream, config, kernel, arguments = _core(arch, source)
    return _queued(_clock(wall), lambda: launch(stream, config, kernel, *arguments), stream.sync)


def core_memory(wall):
    try:
        from cuda.core import Device
    except ImportError:
        return "cuda.core is not installed"
    device = Device(0)
    device.set_current()
    stream = device.default_stream
    return _queued(_clock(wall), lambda: device.allocate(4096, stream=stream).close(stream), stream.sync)


def numba_launch(wall):
    try:
        import numpy as np
        from numba import cuda
    except ImportError:
        return "numba-cuda is not installed"

    @cuda.jit
    def saxpy(y, x, a, n):
        i = cuda.grid(1)
        if i < n:
            y[i] = a * x[i] + y[i]

    y, x = (cuda.to_device(np.zeros(1024, np.float32)) for _ in range(2))
    a, n = np.float32(1.5), np.int32(32)
    run = saxpy[1, 32]
    run(y, x, a, n)
    cuda.synchronize()
    return _queued(_clock(wall), lambda: run(y, x, a, n), cuda.synchronize)


def cupy_launch(wall, source):
    try:
        import cupy
    except ImportError:
        return "CuPy is not installed"
    kernel = cupy.RawKernel(source, "saxpy")
    y, x = (cupy.zeros(1024, cupy.float32) for _ in range(2))
    a, n = cupy.float32(1.5), cupy.int32(32)
    stream = cupy.cuda.get_current_stream()
    return _queued(_clock(wall), lambda: kernel((1,), (32,), (y, x, a, n)), stream.synchronize)


def producers():
    """The same producer over memory of the host and of a device: a pair, or why not."""
    try:
        import numpy as np
        import tvm_ffi
        from cuda.core import Device
    except ImportError as e:
        return "%s is not installed" % e.name
    device = Device(0)
    device.set_current()
    buffer = device.allocate(4096, stream=device.default_stream)
    device.default_stream.sync()
    return tvm_ffi.from_dlpack(np.zeros(4096, np.int8)), tvm_ffi.from_dlpack(buffer)
