"""Producers of arrays in memory of CUDA devices that a spec can break field by field, and what each was asked."""
import ctypes
import sys

capsules = sys.modules["xchg_capsules"]

ABSENT = "absent"


class Runtime:
    """The CUDA runtime that the library has opened."""

    def __init__(self, path):
        self.library = ctypes.CDLL(path)

    def device(self):
        """The current one; None where CUDA does not say."""
        out = ctypes.c_int(-1)
        return out.value if self.library.cudaGetDevice(ctypes.byref(out)) == 0 else None

    def fill(self, address, value, size, stream):
        """Queues work that writes; 0."""
        return self.library.cudaMemsetAsync(
            ctypes.c_void_p(address), value, ctypes.c_size_t(size), ctypes.c_void_p(stream)
        )


runtime = None


def open_runtime(path):
    global runtime
    runtime = Runtime(path)
    return runtime


class Array(capsules.Producer):
    """`__dlpack__` with every keyword. `streams` are those that it was given, `devices` were current then."""

    def __init__(self, device=(2, 0), **fields):
        fields.setdefault("device_type", device[0])
        fields.setdefault("device_id", device[1])
        super().__init__(device=device, **fields)
        self.streams, self.devices = [], []
        self.kind = None  # "legacy" or "versioned", whatever was asked

    def note(self, stream):
        self.streams.append(stream)
        if runtime is not None:
            self.devices.append(runtime.device())

    def export(self, max_version):
        if self.answer is not None:
            return capsules.Producer.__dlpack__(self, max_version=max_version)
        return self.capsule(kind=self.kind or ("legacy" if max_version is None else "versioned"))

    def __dlpack__(self, *, stream=ABSENT, max_version=None, dl_device=None, copy=None):
        self.note(stream)
        return self.export(max_version)


class Streamless(Array):
    def __dlpack__(self, *, max_version=None):
        self.note(ABSENT)
        return self.export(max_version)


class Versionless(Array):
    def __dlpack__(self, *, stream=ABSENT):
        self.note(stream)
        return self.export(None)


class Bare(Array):
    def __dlpack__(self):
        self.note(ABSENT)
        return self.export(None)


class Deviceless:
    """No `__dlpack_device__`."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, *, stream=ABSENT, max_version=None):
        self.array.note(stream)
        return self.array.export(max_version)


FROM_PY = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(ctypes.c_void_p))
STREAM = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))
_kept = []


def exchanging(stream=0, result=0, with_stream=True):
    """A class like Array with a C exchange table whose current work stream is `stream`. `asked` are its questions."""
    asked = []

    def from_py(obj, out):
        made = capsules.Made(kind="versioned", **obj.fields)
        obj.made.append(made)
        capsule = made.take()
        capsules.rename(capsule, "used_dltensor_versioned")
        out[0] = ctypes.addressof(made.managed)
        return 0

    def current(kind, number, out):
        asked.append((kind, number))
        if result == 0:
            out[0] = stream or None
        return result

    functions = [FROM_PY(from_py), STREAM(current)]
    _kept.extend(functions)
    table = capsules.table(
        from_py=ctypes.cast(functions[0], ctypes.c_void_p).value,
        stream=ctypes.cast(functions[1], ctypes.c_void_p).value if with_stream else None,
    )
    return type(
        "Exchanging", (Array,), {"__dlpack_c_exchange_api__": capsules.table_capsule(table), "asked": asked}
    )


class Interface:
    """`__cuda_array_interface__` with the given keys; `reads` counts. A key whose value is ABSENT is left out."""

    DEFAULT = {"shape": (4,), "typestr": "<f8", "data": (0, False), "version": 3}

    def __init__(self, address=0, answer=None, **fields):
        self.reads = 0
        self.answer = answer
        values = {**self.DEFAULT, "data": (address, False), **fields}
        self.dict = {key: value for key, value in values.items() if not (isinstance(value, str) and value == ABSENT)}

    @property
    def __cuda_array_interface__(self):
        self.reads += 1
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.dict if self.answer is None else self.answer


class Temporary:
    """An object whose dictionary alone keeps its memory."""

    def __init__(self, **fields):
        self.fields = fields
        self.dead = []

    @property
    def __cuda_array_interface__(self):
        dead = self.dead

        class Memory:
            def __del__(self):
                dead.append(1)

        return dict(Interface(**self.fields).dict, memory=Memory())


class Number:
    """An integer by its `__index__` only."""

    def __init__(self, value):
        self.value = value

    def __index__(self):
        if isinstance(self.value, BaseException):
            raise self.value
        return self.value


class Sequence:
    """Neither tuple nor list."""

    def __init__(self, *values):
        self.values = values

    def __len__(self):
        return len(self.values)

    def __getitem__(self, i):
        return self.values[i]
