"""cuda.core, unmodified, on the simulated device: streams, buffers, programs, graphs, exchange."""
import warnings

import numpy as np

warnings.simplefilter("ignore")

try:
    from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch
except ImportError:
    from cuda.core.experimental import Device, LaunchConfig, Program, ProgramOptions, launch

from sections import run  # noqa: E402

SOURCE = r"""
template <typename T> __global__ void scale(T *x, T factor, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= factor;
}
"""


def _device():
    device = Device()
    device.set_current()
    return device


def _kernel(device, name="scale<float>"):
    arch = "sm_%d%d" % tuple(device.compute_capability)
    program = Program(SOURCE, code_type="c++", options=ProgramOptions(std="c++17", arch=arch))
    return program.compile("ptx", name_expressions=(name,)).get_kernel(name)


def _read(buffer, dtype):
    from cuda.bindings import driver

    host = np.empty(buffer.size // np.dtype(dtype).itemsize, dtype)
    result, = driver.cuMemcpyDtoH(host.ctypes.data, int(buffer.handle), buffer.size)
    assert result == 0, result
    return host


def _write(buffer, array):
    from cuda.bindings import driver

    result, = driver.cuMemcpyHtoD(int(buffer.handle), array.ctypes.data, array.nbytes)
    assert result == 0, result
    # A copy of pageable memory returns when it is staged, and streams that do not block do not wait for it.
    result, = driver.cuCtxSynchronize()
    assert result == 0, result


def device_is_told():
    device = _device()
    assert "Simulated" in device.name
    assert device.properties.max_threads_per_block == 1024 and device.properties.warp_size == 32
    assert len(device.uuid) > 0


def streams_and_events():
    device = _device()
    stream, other = device.create_stream(), device.create_stream()
    event = stream.record()
    other.wait(event)
    other.sync()
    assert event.is_done
    assert stream.__cuda_stream__()[0] == 0


def buffers_of_the_pool():
    device = _device()
    stream = device.create_stream()
    a, b = device.allocate(4096, stream=stream), device.allocate(4096, stream=stream)
    stream.sync()
    data = np.arange(1024, dtype=np.float32)
    _write(a, data)
    a.copy_to(b, stream=stream)
    stream.sync()
    assert np.array_equal(_read(b, np.float32), data)
    assert b.is_device_accessible and b.device_id == device.device_id
    a.close()
    b.close()


def templates_compile_and_launch():
    device = _device()
    stream = device.create_stream()
    kernel = _kernel(device)
    buffer = device.allocate(400, stream=stream)
    stream.sync()
    data = np.arange(100, dtype=np.float32)
    _write(buffer, data)
    launch(stream, LaunchConfig(grid=4, block=32), kernel, buffer, np.float32(3), np.uint32(100))
    stream.sync()
    assert np.array_equal(_read(buffer, np.float32), 3 * data)
    assert kernel.attributes.max_threads_per_block == 1024


def ptx_is_linked_by_the_driver():
    device = _device()
    arch = "sm_%d%d" % tuple(device.compute_capability)
    code = Program(SOURCE, code_type="c++", options=ProgramOptions(arch=arch)).compile(
        "ptx", name_expressions=("scale<double>",))
    assert code.get_kernel("scale<double>") is not None


def capture_becomes_a_graph():
    device = _device()
    stream = device.create_stream()
    kernel = _kernel(device)
    buffer = device.allocate(400, stream=stream)
    stream.sync()
    _write(buffer, np.ones(100, np.float32))
    builder = device.create_graph_builder().begin_building()
    for _ in range(3):
        launch(builder, LaunchConfig(grid=4, block=32), kernel, buffer, np.float32(2), np.uint32(100))
    graph = builder.end_building().complete()
    assert (_read(buffer, np.float32) == 1).all()
    graph.launch(stream)
    graph.launch(stream)
    stream.sync()
    assert (_read(buffer, np.float32) == 64).all()


def dlpack_goes_out():
    device = _device()
    buffer = device.allocate(64, stream=device.default_stream)
    assert buffer.__dlpack_device__() == (2, device.device_id)
    for stream in (None, -1, 1, 2):
        assert 'capsule object "dltensor"' in repr(buffer.__dlpack__(stream=stream))
    assert 'capsule object "dltensor_versioned"' in repr(buffer.__dlpack__(max_version=(1, 0)))


def views_of_cuda_array_interfaces():
    try:
        from cuda.core.utils import StridedMemoryView
    except ImportError:
        from cuda.core.experimental.utils import StridedMemoryView
    device = _device()
    buffer = device.allocate(64, stream=device.default_stream)
    device.default_stream.sync()

    class Array:
        __cuda_array_interface__ = {"shape": (4, 4), "typestr": "<f4", "strides": None, "version": 3,
                                    "data": (int(buffer.handle), False), "stream": None}

    view = StridedMemoryView.from_cuda_array_interface(Array(), stream_ptr=-1) if hasattr(
        StridedMemoryView, "from_cuda_array_interface") else StridedMemoryView(Array(), stream_ptr=-1)
    assert view.ptr == int(buffer.handle) and view.shape == (4, 4) and view.is_device_accessible


def pinned_memory_is_numpys_too():
    try:
        from cuda.core import LegacyPinnedMemoryResource
    except ImportError:
        from cuda.core.experimental import LegacyPinnedMemoryResource
    _device()
    buffer = LegacyPinnedMemoryResource().allocate(64)
    assert buffer.__dlpack_device__()[0] == 3
    array = np.from_dlpack(buffer)
    array[:] = 7
    assert array.nbytes == 64 and array.ctypes.data == int(buffer.handle)


if __name__ == "__main__":
    run(globals())
