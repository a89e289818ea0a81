"""Producers of DLPack that write down every keyword, and those that want to do harm."""
import gc
import sys
import threading

capsules = sys.modules["xchg_capsules"]


class Asked(capsules.Producer):
    """Knows every keyword. `flags` go into its versioned capsules; `moved` are the fields of what it makes for another
    device (None: it refuses); `on_copy` is what it does when asked for a copy: an exception to raise, or fields."""

    def __init__(self, moved=None, on_copy=None, **fields):
        super().__init__(**fields)
        self.moved, self.on_copy = moved, on_copy

    def __dlpack__(self, **kwargs):
        self.calls.append(", ".join("%s=%r" % item for item in kwargs.items()))
        fields = {"kind": "legacy" if kwargs.get("max_version") is None else "versioned"}
        if kwargs.get("dl_device") is not None:
            if self.moved is None:
                raise BufferError("no way to another device")
            fields.update(self.moved)
        if kwargs.get("copy"):
            if isinstance(self.on_copy, BaseException):
                raise self.on_copy
            fields.update(self.on_copy or {})
        return self.capsule(**fields)


class NoCopy(Asked):
    """Does not know `copy`."""

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None):
        self.calls.append("max_version=%r" % (max_version,))
        return self.capsule(kind="versioned" if max_version else "legacy")


class NoDevice(Asked):
    """Does not know `dl_device`."""

    def __dlpack__(self, *, stream=None, max_version=None, copy=None):
        self.calls.append("max_version=%r" % (max_version,))
        return self.capsule(kind="versioned" if max_version else "legacy")


# ---- kinds of objects --------------------------------------------------------------------------------


class Forwarding:
    """A proxy by `__getattr__`, as many libraries have."""

    def __init__(self, target):
        object.__setattr__(self, "_target", target)

    def __getattr__(self, name):
        return getattr(self._target, name)


class Disguised(Forwarding):
    """One that also says that it is of the target's class."""

    @property
    def __class__(self):
        return type(self._target)


class Slotted:
    """Without a __dict__; the methods are attributes of the object."""

    __slots__ = ("__dlpack__", "__dlpack_device__", "calls")

    def __init__(self, producer):
        self.__dlpack__, self.__dlpack_device__ = producer.__dlpack__, producer.__dlpack_device__
        self.calls = producer.calls


class Meta(type):
    """A class whose class has the methods: the class itself is an array."""

    def __dlpack__(cls, **kwargs):
        return cls.producer.__dlpack__(**kwargs)

    def __dlpack_device__(cls):
        return cls.producer.__dlpack_device__()


def class_array(producer):
    return Meta("ClassArray", (), {"producer": producer})


# ---- those that want to do harm ------------------------------------------------------------------------


class Evil(capsules.Producer):
    """Does `deed(self)` at `place`: "device", "dlpack", "keywords" (before a TypeError that names max_version), "repr"
    (of what it gives in place of a capsule), "class" (when asked for its class)."""

    def __init__(self, place, deed, **fields):
        super().__init__(**fields)
        self.place, self.deed, self.times = place, deed, 0

    def do(self, place):
        if self.__dict__.get("place") == place:
            self.times += 1
            if self.times < 20:
                self.deed(self)

    def __dlpack_device__(self):
        self.do("device")
        return super().__dlpack_device__()

    def __dlpack__(self, **kwargs):
        self.do("dlpack")
        if self.place == "keywords" and kwargs:
            self.do("keywords")
            raise TypeError("unexpected keyword argument 'max_version'")
        if self.place == "repr":
            return Shown(self)
        return self.capsule(kind="versioned" if kwargs.get("max_version") else "legacy")


class Shown:
    def __init__(self, evil):
        self.evil = evil

    def __repr__(self):
        self.evil.do("repr")
        return "shown"


def collect(_):
    gc.collect()


def on_threads(_):
    """Other threads import, delete and collect meanwhile."""

    def work():
        for made in [capsules.Made() for _ in range(20)]:
            made.drop()
        gc.collect()

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def change_type(evil):
    """The type loses and gets its method back, and so its version."""
    cls = type(evil)
    cls.__dlpack__ = cls.__dlpack__
    for i in range(70):  # more than the library keeps in mind
        type("Passing%d" % i, (capsules.Producer,), {})


def lose_method(evil):
    """The object hides its method while it is asked."""
    evil.__dict__["__dlpack__"] = 5


def deep(evil):
    """Runs out of stack, and says so by an exception."""

    def down():
        return down()

    down()


def exit_process(_):
    raise SystemExit(3)


def leave_exception(_):
    try:
        raise KeyError("handled")
    except KeyError:
        pass


class Suicide:
    """A capsule's only reference is in here; the object lets go of all it has."""

    def __init__(self, **fields):
        self.made = capsules.Made(**fields)

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **kwargs):
        made, self.made = self.made, None
        self.__dict__.clear()
        gc.collect()
        return made.take()


class Reader:
    """Consumes the capsule that it gives, by a thread that is still at it."""

    def __init__(self):
        self.threads = []

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **kwargs):
        made = capsules.Made()
        capsule = made.take()

        def steal():
            capsules.rename(capsule, "used_dltensor_versioned")
            capsules._delete(capsules.ctypes.addressof(made.managed))

        thread = threading.Thread(target=steal)
        thread.start()
        thread.join()
        return capsule
