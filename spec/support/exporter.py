"""Objects with a buffer of any kind, true or not: a C type made through ctypes."""
import ctypes

api = ctypes.pythonapi
SIZE = ctypes.c_ssize_t


class View(ctypes.Structure):
    _fields_ = [("buf", ctypes.c_void_p), ("obj", ctypes.c_void_p), ("len", SIZE), ("itemsize", SIZE),
                ("readonly", ctypes.c_int), ("ndim", ctypes.c_int), ("format", ctypes.c_void_p),
                ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p), ("suboffsets", ctypes.c_void_p),
                ("internal", ctypes.c_void_p)]


class Slot(ctypes.Structure):
    _fields_ = [("slot", ctypes.c_int), ("pfunc", ctypes.c_void_p)]


class Spec(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("basicsize", ctypes.c_int), ("itemsize", ctypes.c_int),
                ("flags", ctypes.c_uint), ("slots", ctypes.POINTER(Slot))]


fields_of = {}
held = released = asked = 0


@ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(View), ctypes.c_int)
def get(self, view, flags):
    global held, asked
    asked += 1
    fields = fields_of[id(self)]
    if fields.get("fails"):
        return -1
    ctypes.memset(view, 0, ctypes.sizeof(View))
    for name, value in fields["view"].items():
        setattr(view[0], name, value)
    view[0].obj = id(self)
    api.Py_IncRef(ctypes.py_object(self))
    held += 1
    return 0


@ctypes.PYFUNCTYPE(None, ctypes.py_object, ctypes.POINTER(View))
def release(self, view):
    global released
    released += 1


slots = (Slot * 3)(Slot(1, ctypes.cast(get, ctypes.c_void_p)), Slot(2, ctypes.cast(release, ctypes.c_void_p)), Slot())
spec = Spec(b"exporter.Exporter", object.__basicsize__, 0, 1 << 18 | 1 << 10, slots)
api.PyType_FromSpec.restype = ctypes.py_object
api.PyType_FromSpec.argtypes = [ctypes.c_void_p]
api.Py_IncRef.argtypes = [ctypes.py_object]
Exporter = api.PyType_FromSpec(ctypes.byref(spec))

memory = (ctypes.c_double * 64)(*range(64))


def sizes(values):
    return None if values is None else (SIZE * max(1, len(values)))(*values)


def export(format="B", itemsize=1, shape=(8,), strides=None, suboffsets=None, offset=0, ndim=None, length=None,
           readonly=0, buf=True, fails=False, kind=Exporter):
    """An object of a kind of Exporter whose buffer says all this. `buf` is its own memory, NULL or an address."""
    count = 1
    for n in shape or ():
        count *= n
    keep = [None if format is None else ctypes.create_string_buffer(format.encode("latin-1")),
            sizes(shape), sizes(strides), sizes(suboffsets)]
    text, extents, steps, suboffsets_ = [None if k is None else ctypes.addressof(k) for k in keep]
    value = kind()
    fields_of[id(value)] = {"keep": keep, "fails": fails, "view": {
        "buf": ctypes.addressof(memory) + offset if buf is True else buf or None,
        "len": count * itemsize if length is None else length, "itemsize": itemsize, "readonly": readonly,
        "ndim": len(shape or ()) if ndim is None else ndim, "format": text, "shape": extents, "strides": steps,
        "suboffsets": suboffsets_}}
    return value


def account():
    return held, released, asked
