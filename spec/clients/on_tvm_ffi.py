"""apache-tvm-ffi takes capsules of simulated device memory and gives them on; it never asks the driver."""
import tvm_ffi

from sections import run


def _buffer():
    try:
        from cuda.core import Device
    except ImportError:
        from cuda.core.experimental import Device
    device = Device()
    device.set_current()
    return device.allocate(64, stream=device.default_stream)


def device_memory_comes_in_and_goes_out():
    buffer = _buffer()
    tensor = tvm_ffi.from_dlpack(buffer)
    assert tuple(tensor.shape) == (64,)
    assert tensor.__dlpack_device__() == (2, 0)
    assert 'capsule object "dltensor' in repr(tensor.__dlpack__())


if __name__ == "__main__":
    run(globals())
