"""One array, offered by each protocol alone. Its memory are the numbers 0 to 63; `deaths` counts objects that have gone."""
import ctypes
import sys
import weakref

capsules = sys.modules["xchg_capsules"]
exporter = sys.modules["xchg_exporter"]

ITEM = 8  # all are float64
address = ctypes.addressof(exporter.memory)
deaths = 0


def count(*_):
    global deaths
    deaths += 1


def watched(x):
    weakref.finalize(x, count).atexit = False
    return x


class Layout:
    """Strides in elements, or None for none at all. `data` replaces the address: None, or a number where nothing is."""

    def __init__(self, shape, strides, offset, readonly=False, data=..., place=None, device=(1, 0)):
        self.shape, self.strides, self.offset, self.readonly = tuple(shape), strides, offset, readonly
        self.base = address if place is None else place
        self.data, self.device = data, device

    @property
    def first(self):
        return self.base + ITEM * self.offset if self.data is ... else self.data

    @property
    def steps(self):
        return None if self.strides is None else tuple(ITEM * n for n in self.strides)

    def managed(self, kind):
        """The offset is the struct's, as few producers write it."""
        return capsules.Made(
            kind=kind, shape=self.shape, strides=self.strides, flags=int(self.readonly), device_type=self.device[0],
            device_id=self.device[1], data=self.base if self.data is ... else self.data,
            byte_offset=ITEM * self.offset if self.data is ... else 0, when_deleted=count,
        )


# ---- DLPack --------------------------------------------------------------------------------------------


def raw(layout, kind):
    return layout.managed(kind).take()


class Dlpack:
    def __init__(self, layout, kind):
        self.layout, self.kind = layout, kind

    def __dlpack_device__(self):
        return self.layout.device

    def __dlpack__(self, *, max_version=None, stream=None):
        managed = self.layout.managed(self.kind)
        managed.when_deleted = None
        return managed.take()


@ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(ctypes.c_void_p))
def from_py(x, out):
    made = x.layout.managed("versioned")
    made.when_deleted = None
    capsules.rename(made.take(), "used_dltensor_versioned")
    out[0] = ctypes.addressof(made.managed)
    return 0


@ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))
def current_stream(kind, number, out):
    return 0


def function(f):
    return ctypes.cast(f, ctypes.c_void_p).value


class ExchangeApi:
    __dlpack_c_exchange_api__ = capsules.table_capsule(
        capsules.table(from_py=function(from_py), stream=function(current_stream))
    )

    def __init__(self, layout):
        self.layout = layout


# ---- the interfaces ------------------------------------------------------------------------------------


def dictionary(layout, **fields):
    made = {"version": 3, "typestr": "<f8", "shape": layout.shape, "data": (layout.first, layout.readonly)}
    if layout.steps is not None:
        made["strides"] = layout.steps
    return {**made, **fields}


class Cai:
    def __init__(self, layout):
        self.__cuda_array_interface__ = dictionary(layout)


class ArrayInterface:
    def __init__(self, layout):
        self.__array_interface__ = dictionary(layout)


class BufferBeside:
    """The interface names a buffer and the offset of the first element in it."""

    def __init__(self, layout):
        data = memoryview(exporter.memory).cast("B")
        if layout.readonly:
            data = data.toreadonly()
        self.__array_interface__ = dictionary(layout, data=data, offset=ITEM * layout.offset)


class Struct(ctypes.Structure):
    _fields_ = [("two", ctypes.c_int), ("nd", ctypes.c_int), ("typekind", ctypes.c_char), ("itemsize", ctypes.c_int),
                ("flags", ctypes.c_int), ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p),
                ("data", ctypes.c_void_p), ("descr", ctypes.c_void_p)]


COMPACT, NATIVE, WRITEABLE = 1, 0x200, 0x400


class ArrayStruct:
    def __init__(self, layout):
        self.sizes = [exporter.sizes(layout.shape), exporter.sizes(layout.steps)]
        shape, strides = [None if s is None else ctypes.addressof(s) for s in self.sizes]
        flags = NATIVE | (0 if layout.readonly else WRITEABLE) | (COMPACT if strides is None else 0)
        self.struct = Struct(2, len(layout.shape), b"f", ITEM, flags, shape, strides, layout.first, None)
        self.__array_struct__ = capsules._new(ctypes.addressof(self.struct), None, None)


class Buffer(exporter.Exporter):
    pass


def buffer(layout):
    x = exporter.export(format="d", itemsize=ITEM, shape=layout.shape, strides=layout.steps,
                        readonly=int(layout.readonly), buf=layout.first, kind=Buffer)
    weakref.finalize(x, exporter.fields_of.pop, id(x)).atexit = False
    return x


# The name of each door, the protocol that the tensor has come by.
DOORS = {
    "a versioned capsule": lambda layout: raw(layout, "versioned"),
    "a legacy capsule": lambda layout: raw(layout, "legacy"),
    "__dlpack__, versioned": lambda layout: watched(Dlpack(layout, "versioned")),
    "__dlpack__, legacy": lambda layout: watched(Dlpack(layout, "legacy")),
    "the C exchange API": lambda layout: watched(ExchangeApi(layout)),
    "__cuda_array_interface__": lambda layout: watched(Cai(layout)),
    "a buffer": lambda layout: watched(buffer(layout)),
    "__array_struct__": lambda layout: watched(ArrayStruct(layout)),
    "__array_interface__": lambda layout: watched(ArrayInterface(layout)),
    "a buffer beside __array_interface__": lambda layout: watched(BufferBeside(layout)),
}


def make(door, **fields):
    return DOORS[door](Layout(**fields))
