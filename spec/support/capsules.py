"""DLPack capsules with every field settable, and a record of what became of each."""
import ctypes
import gc
import threading

VERSIONED = b"dltensor_versioned"
LEGACY = b"dltensor"


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class Legacy(ctypes.Structure):
    _fields_ = [("tensor", Tensor), ("manager_ctx", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager_ctx", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", Tensor),
    ]


class Table(ctypes.Structure):
    """DLPackExchangeAPI, with the functions as addresses."""

    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("prev_api", ctypes.c_void_p),
        ("allocator", ctypes.c_void_p),
        ("from_py", ctypes.c_void_p),
        ("to_py", ctypes.c_void_p),
        ("borrow", ctypes.c_void_p),
        ("stream", ctypes.c_void_p),
    ]


assert ctypes.sizeof(Tensor) == 48 and ctypes.sizeof(Legacy) == 64 and ctypes.sizeof(Versioned) == 80
assert ctypes.sizeof(Table) == 56

_python = ctypes.pythonapi
_new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)(("PyCapsule_New", _python))
_name = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object)(("PyCapsule_GetName", _python))
_set_name = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)(("PyCapsule_SetName", _python))
_destructor = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object)(("PyCapsule_GetDestructor", _python))
# Inside a destructor the capsule has no references left: it is an address there.
_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(("PyCapsule_IsValid", _python))
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)(("PyCapsule_GetPointer", _python))
_name_at = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(("PyCapsule_GetName", _python))

_names = {}


def _static(name):
    """The address of a NUL-terminated name that is never freed."""
    if name is None:
        return None
    if isinstance(name, str):
        name = name.encode()
    if name not in _names:
        _names[name] = ctypes.create_string_buffer(name)
    return ctypes.addressof(_names[name])


def name_of(capsule):
    address = _name(capsule)
    return ctypes.string_at(address).decode("utf-8", "replace") if address else None


def rename(capsule, name):
    _set_name(capsule, _static(name))


def has_destructor(capsule):
    return _destructor(capsule) is not None


_made = {}  # address of the managed tensor: its record, until the deleter has run
strays = []  # addresses that a deleter was called with although it had run, or was never made


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def _delete(address):
    record = _made.pop(address, None)
    if record is None:
        strays.append(address)
        return
    record.deleted += 1
    record.thread = threading.get_ident()
    if record.when_deleted is not None:
        record.when_deleted()


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def _destroy(address):
    """What a producer's destructor should do: delete what nobody has consumed."""
    name = _name_at(address)
    record = _made.get(_pointer(address, name))
    if record is not None:
        record.destroyed += 1
        if ctypes.string_at(name) in (LEGACY, VERSIONED) and record.has_deleter:
            _delete(ctypes.addressof(record.managed))


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def _destroy_sloppily(address):
    """One that does not look at the name."""
    managed = _pointer(address, _name_at(address))
    record = _made.get(managed)
    if record is not None:
        record.destroyed += 1
    _delete(managed)


_destructors = {"python": _destroy, "sloppy": _destroy_sloppily, "none": None}


class Made:
    """A managed tensor and its capsule. `deleted` and `destroyed` count."""

    def __init__(
        self,
        kind="versioned",
        name=...,
        major=1,
        minor=3,
        flags=0,
        shape=(4,),
        strides=...,
        ndim=None,
        code=2,
        bits=64,
        lanes=1,
        device_type=1,
        device_id=0,
        byte_offset=0,
        data=...,
        values=None,
        size=256,
        deleter=True,
        manager_ctx=1,
        destructor="python",
        when_deleted=None,
    ):
        self.deleted = self.destroyed = 0
        self.thread = None
        self.when_deleted = when_deleted
        self.kind = kind
        # 64-byte aligned: what is misaligned in a test is so on purpose.
        self.memory = ctypes.create_string_buffer(size + 64)
        self.address = (ctypes.addressof(self.memory) + 63) & ~63
        if values is not None:
            for i, value in enumerate(values):
                ctypes.c_double.from_address(self.address + 8 * i).value = value
        self.managed = (Versioned if kind == "versioned" else Legacy)()
        if kind == "versioned":
            self.managed.major, self.managed.minor, self.managed.flags = major, minor, flags
        self.managed.manager_ctx = manager_ctx
        self.has_deleter = deleter
        self.managed.deleter = ctypes.cast(_delete, ctypes.c_void_p) if deleter else None
        tensor = self.managed.tensor
        tensor.data = self.address if data is ... else data
        tensor.device_type, tensor.device_id = device_type, device_id
        tensor.code, tensor.bits, tensor.lanes = code, bits, lanes
        tensor.byte_offset = byte_offset
        tensor.ndim = ndim if ndim is not None else 0 if shape is None else len(shape)
        self.shape = self._dims(shape)
        if strides is ...:
            strides = []
            compact = 1
            for extent in reversed(list(shape or ())):
                strides.insert(0, compact)
                compact = (compact * max(extent, 1)) & (2**62 - 1)
        self.strides = self._dims(strides)
        tensor.shape, tensor.strides = self.shape, self.strides
        self.destructor = _destructors[destructor]
        _made[ctypes.addressof(self.managed)] = self
        self.capsule = _new(
            ctypes.addressof(self.managed),
            _static((VERSIONED if kind == "versioned" else LEGACY) if name is ... else name),
            ctypes.cast(self.destructor, ctypes.c_void_p) if self.destructor else None,
        )

    @staticmethod
    def _dims(values):
        return None if values is None else (ctypes.c_int64 * max(len(values), 1))(*values)

    def take(self):
        """The capsule, which this record forgets."""
        capsule, self.capsule = self.capsule, None
        return capsule

    def drop(self):
        self.capsule = None

    def value(self, i):
        return ctypes.c_double.from_address(self.address + 8 * i).value

    def set_value(self, i, value):
        ctypes.c_double.from_address(self.address + 8 * i).value = value

    def scribble(self):
        """Spoils everything that a consumer was told to copy."""
        for dims in (self.shape, self.strides):
            if dims is not None:
                for i in range(len(dims)):
                    dims[i] = -(2**60)

    def forget(self):
        """For what has no deleter, or was refused with none to call."""
        _made.pop(ctypes.addressof(self.managed), None)
        self.capsule = None


def make(**fields):
    return Made(**fields)


def alive():
    return len(_made)


def account():
    """How many have not been deleted, and how many were deleted twice, since the last account."""
    gc.freeze()  # with large libraries loaded, the next collection would take long
    left, twice = len(_made), len(strays)
    _made.clear()
    strays.clear()
    return left, twice


class Producer:
    """An object with `__dlpack__`; each call is written down."""

    def __init__(self, answer=None, device=(1, 0), **fields):
        self.answer, self.device, self.fields = answer, device, fields
        self.calls = []
        self.made = []

    def capsule(self, **fields):
        made = Made(**{**self.fields, **fields})
        self.made.append(made)
        return made.take()

    def __dlpack_device__(self):
        self.calls.append("device")
        if isinstance(self.device, BaseException):
            raise self.device
        return self.device(self) if callable(self.device) else self.device

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        self.calls.append("max_version=%r" % (max_version,))
        answer = self.answer
        if isinstance(answer, BaseException):
            raise answer
        if callable(answer):
            return answer(self)
        if answer is not None:
            return answer
        return self.capsule(kind="legacy" if max_version is None else "versioned")


_keep = []


def table(major=1, minor=3, prev_api=None, **functions):
    """The address of an exchange table whose functions are given as addresses. Never freed, as the real ones."""
    made = Table(major=major, minor=minor, prev_api=prev_api, **functions)
    _keep.append(made)
    return ctypes.addressof(made)


def table_capsule(address, name="dlpack_exchange_api"):
    return _new(address, _static(name), None)


def double(path):
    """The producer in C."""
    library = ctypes.PyDLL(path)
    library.exchange_capsule.restype = ctypes.py_object
    library.exchange_table.restype = ctypes.c_void_p
    library.exchange_table.argtypes = [ctypes.c_char_p]
    return library


def exchange_class(value, spelling="__dlpack_c_exchange_api__", **members):
    """A new class with that attribute, and `__dlpack__` that gives the kind which its caller asked for."""
    return type("Exchanging", (Producer,), {spelling: value, **members})
