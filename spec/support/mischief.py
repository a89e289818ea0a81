"""Objects that are arrays, sequences or numbers, and do harm at one place of all where they can be asked something."""
import ctypes
import gc
import sys
import threading
import time
import traceback
import weakref

capsules = sys.modules["xchg_capsules"]
try:
    import numpy
except ImportError:
    numpy = None

GO_ON = object()  # what a deed returns that leaves the answer to the place

alive = weakref.WeakSet()
memory = (ctypes.c_double * 4)(1, 2, 3, 4)
box = []  # the list that the object may be in


class Interface(ctypes.Structure):
    """PyArrayInterface"""

    _fields_ = [
        ("two", ctypes.c_int),
        ("nd", ctypes.c_int),
        ("typekind", ctypes.c_char),
        ("itemsize", ctypes.c_int),
        ("flags", ctypes.c_int),
        ("shape", ctypes.POINTER(ctypes.c_ssize_t)),
        ("strides", ctypes.POINTER(ctypes.c_ssize_t)),
        ("data", ctypes.c_void_p),
        ("descr", ctypes.c_void_p),
    ]


_extents, _strides = (ctypes.c_ssize_t * 1)(4), (ctypes.c_ssize_t * 1)(8)
_interface = Interface(2, 1, b"f", 8, 0x701, _extents, _strides, ctypes.addressof(memory), None)

# ---- objects -------------------------------------------------------------------------------------------------


class Whole:
    """A number that is asked for its value."""

    def __init__(self, value, act, place):
        self.value, self.act, self.place = value, act, place

    def __index__(self):
        return self.act(self.place, lambda: self.value)


class Key(str):
    """A key that is not the one looked for, although its hash is."""

    def __new__(cls, text, act):
        self = str.__new__(cls, text + " not")
        self.text, self.act = text, act
        return self

    def __hash__(self):
        return hash(self.text)

    def __eq__(self, other):
        return self.act("key", lambda: False)


class Keys(dict):
    """A dictionary with methods of its own."""

    act = None

    def __getitem__(self, key):
        return self.act("item", lambda: dict.__getitem__(self, key))

    def get(self, key, default=None):
        return self.act("item", lambda: dict.get(self, key, default))

    def __contains__(self, key):
        return self.act("item", lambda: dict.__contains__(self, key))

    def __len__(self):
        return self.act("length", lambda: dict.__len__(self))


class Extents(tuple):
    act = None

    def __len__(self):
        return self.act("extents", lambda: tuple.__len__(self))

    def __getitem__(self, i):
        return self.act("extent", lambda: tuple.__getitem__(self, i))

    def __iter__(self):
        return self.act("extents", lambda: tuple.__iter__(self))


def dictionary(act, **more):
    """What an array interface gives, with everything in it that can be asked."""
    out = Keys({Key("shape", act): 1, Key("strides", act): 1, Key("data", act): 1})
    shape = Extents((Whole(4, act, "whole"),))
    strides = Extents((Whole(8, act, "whole"),))
    out.act = shape.act = strides.act = act
    out.update(version=Whole(3, act, "version"), shape=shape, strides=strides, typestr="<f8", **more)
    out["data"] = (Whole(ctypes.addressof(memory), act, "address"), Truth(act))
    return out


class Truth:
    def __init__(self, act):
        self.act = act

    def __bool__(self):
        return self.act("truth", lambda: False)


class Items:
    """An iterator."""

    def __init__(self, act):
        self.act, self.i = act, 0

    def __iter__(self):
        return self

    def __next__(self):
        self.i += 1
        if self.i > 4:
            raise StopIteration
        return self.act("next", lambda: float(self.i))

    def __length_hint__(self):
        return self.act("hint", lambda: 4)


# kind: what it has besides the places of all
KINDS = {
    "dlpack": {
        "__dlpack_device__": lambda self: self.act("device", lambda: (1, 0)),
        "__dlpack__": lambda self, **keywords: self.act("dlpack", lambda: capsule(keywords)),
    },
    "device": {
        "__dlpack_device__": lambda self: (Whole(1, self.act, "type"), Whole(0, self.act, "number")),
        "__dlpack__": lambda self, **keywords: capsule(keywords),
    },
    "legacy": {"__dlpack__": lambda self, stream=None: self.act("dlpack", lambda: capsule({}))},
    "cai": {"__cuda_array_interface__": property(lambda self: self.act("interface", lambda: dictionary(self.act)))},
    "array_interface": {
        "__array_interface__": property(lambda self: self.act("interface", lambda: dictionary(self.act))),
    },
    "array_struct": {"__array_struct__": property(lambda self: self.act("struct", interface))},
    "array": {"__array__": lambda self, *a, **k: self.act("array", lambda: numpy.array([1.0, 2.0, 3.0, 4.0]))},
    "items": {
        "__len__": lambda self: self.act("length", lambda: 4),
        "__getitem__": lambda self, i: self.act("item", lambda: (1.0, 2.0, 3.0, 4.0)[i]),
    },
    "iterable": {
        "__iter__": lambda self: self.act("iterator", lambda: Items(self.act)),
        "__len__": lambda self: self.act("length", lambda: 4),
    },
    "index": {"__index__": lambda self: self.act("index", lambda: 7)},
    "float": {"__float__": lambda self: self.act("float", lambda: 7.5)},
    "complex": {"__complex__": lambda self: self.act("complex", lambda: 7j)},
    "nothing": {},
}
if sys.version_info >= (3, 12):
    KINDS["buffer"] = {
        "__buffer__": lambda self, flags: self.act("buffer", lambda: memoryview(memory)),
        "__release_buffer__": lambda self, view: self.act("release", lambda: None),
    }

PLACES = {
    "dlpack": ["device", "dlpack"],
    "device": ["type", "number"],
    "legacy": ["dlpack"],
    "cai": ["interface", "key", "item", "version", "whole", "address"],
    "array_interface": [
        "interface", "key", "item", "length", "extents", "extent", "version", "whole", "address", "truth",
    ],  # fmt: skip
    "array_struct": ["struct"],
    "array": ["array"],
    "items": ["length", "item"],
    "iterable": ["iterator", "next", "hint", "length"],
    "index": ["index"],
    "float": ["float"],
    "complex": ["complex"],
    "nothing": [],
    "buffer": ["buffer", "release"],
}
COMMON = ["repr", "class", "getattr", "getattribute", "meta", "module", "delete"]


def capsule(keywords):
    return capsules.Made(kind="versioned" if keywords.get("max_version") else "legacy", values=[1, 2, 3, 4]).take()


def interface():
    return capsules._new(ctypes.addressof(_interface), None, None)


class Meta(type):
    """A class that is asked for its attributes."""

    def __getattribute__(cls, name):
        act = type.__getattribute__(cls, "__dict__").get("meta_act")
        if act is not None and not name.startswith("meta_"):
            return act("meta", lambda: type.__getattribute__(cls, name))
        return type.__getattribute__(cls, name)


def make(kind, place, deed):
    """A new object of a class of its own."""
    state = {"times": 0, "self": None, "deed": deed}

    def act(where, answer):
        # Not for ever, as what it does may ask again.
        if where == place and state["times"] < 12 and state["deed"] is not None:
            state["times"] += 1
            done = state["deed"](state["self"]() if state["self"] else None)
            if done is not GO_ON:
                return done
        return answer()

    members = dict(KINDS[kind])
    members["act"] = staticmethod(act)
    if place == "repr":
        members["__repr__"] = lambda self: act("repr", lambda: "an object")
    elif place == "class":
        members["__class__"] = property(lambda self: act("class", lambda: type(self)))
    elif place == "getattr":
        members["__getattr__"] = lambda self, name: act("getattr", lambda: object.__getattribute__(self, name))
    elif place == "getattribute":
        members["__getattribute__"] = lambda self, name: (
            object.__getattribute__(self, name)
            if name == "act"
            else act("getattribute", lambda: object.__getattribute__(self, name))
        )
    elif place == "meta":
        members["meta_act"] = staticmethod(act)
    elif place == "module":
        members["__module__"] = property(lambda self: act("module", lambda: "m"))
    elif place == "delete":
        members["__del__"] = lambda self: act("delete", lambda: None)
    made = (Meta if place == "meta" else type)("Trouble", (), members)()
    state["self"] = weakref.ref(made)
    alive.add(made)
    if place == "meta":
        type.__getattribute__(type(made), "__dict__")  # nothing more is asked by us
    box[:] = [made, made]
    return made


# ---- exceptions --------------------------------------------------------------------------------------------------


class Own(BaseException):
    pass


class Mute(Exception):
    def __str__(self):
        raise ValueError("no text")

    __repr__ = __str__


class Liar(Exception):
    @property
    def __class__(self):
        return int

    def __str__(self):
        return 5


class Nameless(Exception):
    @property
    def __traceback__(self):
        raise ValueError("no traceback")

    __cause__ = __context__ = args = property(lambda self: 1 / 0)


class Unborn(Exception):
    def __init__(self, *arguments):
        raise KeyError("cannot be made")


def endless():
    first = error = ValueError("the first of many")
    for i in range(3000):
        error.__cause__ = ValueError("the next")
        error = error.__cause__
    error.__context__ = first
    return first


def deep(_):
    def down():
        return down()

    down()


EXCEPTIONS = [
    lambda: ValueError("no"),
    lambda: AttributeError("__dlpack__"),
    lambda: TypeError("unexpected keyword argument 'max_version'"),
    lambda: TypeError("f() takes no keyword arguments"),
    lambda: BufferError("no"),
    lambda: KeyError("shape"),
    lambda: KeyboardInterrupt(),
    lambda: SystemExit(3),
    lambda: SystemExit(Mute()),
    lambda: GeneratorExit(),
    lambda: MemoryError(),
    lambda: StopIteration(5),
    lambda: OverflowError("too large"),
    lambda: Own("mine"),
    lambda: Mute(),
    lambda: Liar(),
    lambda: Nameless(),
    lambda: UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"),
    lambda: ValueError("\ud800 \0 \x1b[31m %s%n" + "x" * 100000),
    lambda: BaseExceptionGroup("several", [ValueError(1), Own()]) if sys.version_info >= (3, 11) else Own(),
    endless,
]


def raising(make_one):
    def deed(_):
        raise make_one()

    return deed


def unborn(_):
    raise Unborn


# ---- answers -----------------------------------------------------------------------------------------------------


def answers():
    """As lengths these are too large for any memory, or small: what is in between is allocated."""
    used = capsules.Made(name="used_dltensor", destructor="none", deleter=False)
    used.forget()
    return [
        None, True, 5, -1, 2**20, 2**62, 2**63, 2**64, -(2**200), 0.5, float("nan"), 1j, "", "text", "\ud800", b"bytes",
        [], (), (1,), (1, 0, 0), ("a", "b"), (2**70, 0), (1, None), (1, 2**70), (True, False), [1, 0], {},
        {"shape": (2,)}, {"data": None}, set(), object(), NotImplemented, Ellipsis, int, len, lambda: 0, iter([]),
        (i for i in range(3)), memoryview(b"abc"),
        capsules._new(ctypes.addressof(_interface), capsules._static("dltensor_versione"), None),
        Mute(), Mute, sys, Whole, weakref.WeakSet(), range(5), "x" * 1000000,
    ]  # fmt: skip


def answering(value):
    return lambda _: value


# ---- deeds -------------------------------------------------------------------------------------------------------


def collects(_):
    gc.collect(0)
    return GO_ON


def loses_methods(self):
    for name in list(vars(type(self))):
        if name.startswith("__") and name not in ("__dict__", "__weakref__", "__module__", "__doc__"):
            try:
                delattr(type(self), name)
            except Exception:
                pass
    return GO_ON


class Other:
    pass


def changes_class(self):
    object.__setattr__(self, "__class__", Other)
    return GO_ON


def hides_methods(self):
    for name in ("__dlpack__", "__dlpack_device__", "__array__", "__array_interface__", "__cuda_array_interface__"):
        self.__dict__[name] = 5
    return GO_ON


def changes_methods(self):
    for name in ("__dlpack__", "__dlpack_device__", "__array__", "__index__", "__float__"):
        setattr(type(self), name, lambda *a, **k: 1 / 0)
    return GO_ON


def changes_bases(self):
    type(self).__bases__ = (Other,)
    return GO_ON


def empties_list(_):
    box.clear()
    gc.collect(0)
    return GO_ON


def fills_list(_):
    box.extend([[1.0], 5, None])
    return GO_ON


def turns_list(_):
    box[:] = [box]
    return GO_ON


def on_threads(self):
    """Another thread changes the type while this one waits without the GIL."""

    def work():
        for _ in range(3):
            type(self).something = 1
            capsules.Made().drop()
            time.sleep(0)
        gc.collect(0)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    time.sleep(0)
    for thread in threads:
        thread.join()
    return GO_ON


def forgets_types(_):
    for i in range(70):
        type("Passing%d" % i, (Other,), {"__dlpack__": 5})
    return GO_ON


class Hostile:
    """In place of a module."""

    def __getattr__(self, name):
        raise RuntimeError(name)


class Impostor:
    """In place of a module whose classes are none."""

    class Tensor(type):
        def __instancecheck__(cls, x):
            raise RuntimeError

    ndarray = datetime64 = timedelta64 = MaskedArray = property(lambda self: 5)


MODULES = ["numpy", "numpy.ma", "torch", "torch.nn.parameter", "torch._C._functorch", "traceback"]
_modules = {}


def in_place_of_modules(what):
    def deed(_):
        for name in MODULES:
            _modules.setdefault(name, sys.modules.get(name))
            sys.modules[name] = what
        return GO_ON

    return deed


def breaks_tracebacks(_):
    traceback.format_exception = lambda *a, **k: 1 / 0
    return GO_ON


def answers_tracebacks_wrongly(_):
    traceback.format_exception = lambda *a, **k: [5]
    return GO_ON


def traces(_):
    def tracer(*a):
        sys.settrace(None)
        raise ValueError("traced")

    sys.settrace(tracer)
    return GO_ON


def collects_always(_):
    gc.set_threshold(1, 1, 1)
    return GO_ON


def consumes(self):
    if numpy is not None:
        try:
            numpy.from_dlpack(self)
        except Exception:
            pass
    return GO_ON


_format_exception, _threshold = traceback.format_exception, gc.get_threshold()


def make_good():
    """Undoes what deeds have done to the whole process."""
    sys.settrace(None)
    traceback.format_exception = _format_exception
    gc.set_threshold(*_threshold)
    for name, module in _modules.items():
        if module is None:
            sys.modules.pop(name, None)
        else:
            sys.modules[name] = module
    _modules.clear()
    box.clear()


# Those after which everything is as it was, if it is asked no more: the answer must be right.
HARMLESS = [collects, on_threads, forgets_types, collects_always, consumes, breaks_tracebacks]
DEEDS = [
    deep, unborn, loses_methods, changes_class, hides_methods, changes_methods, changes_bases, empties_list, fills_list,
    turns_list, in_place_of_modules(Hostile()), in_place_of_modules(Impostor()), in_place_of_modules(None), traces,
    answers_tracebacks_wrongly,
]  # fmt: skip


def deeds():
    """name, deed, whether it is harmless"""
    out = [(deed.__name__, deed, True) for deed in HARMLESS]
    out += [("%s %d" % (deed.__name__, i), deed, False) for i, deed in enumerate(DEEDS)]
    out += [("raises %d" % i, raising(error), False) for i, error in enumerate(EXCEPTIONS)]
    out += [("answers %d" % i, answering(value), False) for i, value in enumerate(answers())]
    return out


def cases():
    """kind, place: all that there are here"""
    out = []
    for kind in KINDS:
        if kind == "array" and numpy is None:
            continue
        out += [(kind, place) for place in PLACES[kind] + COMMON]
    return out
