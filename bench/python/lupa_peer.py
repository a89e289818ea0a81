"""lupa in a process of its own: LuaJIT inside Python. Prints lines "name nanoseconds ratio", where the ratio is the
median of per-round ratios to np.from_dlpack called from C in this process."""

import ctypes
import statistics
import sys

library = ctypes.PyDLL(sys.argv[1])
library.bench_open()
call = library.bench_call
call.restype = ctypes.c_double
call.argtypes = [ctypes.py_object, ctypes.py_object, ctypes.c_int64]

try:
    import numpy as np
    from lupa.luajit21 import LuaRuntime
except ImportError as error:
    print("skipped", str(error).replace("\n", " "))
    sys.exit()

array = np.arange(1000.0)
lua = LuaRuntime()
take = lua.eval("function(x) end")
ELEMENTS = 1000
elements = lua.eval("function(x) local s = 0 for i = 0, 999 do s = s + x[i] end return s end")

CASES = {
    "reference": lambda: call(np.from_dlpack, array, 5000) / 5000,
    "pass": lambda: call(take, array, 3000) / 3000,
    "element": lambda: call(elements, array, 3) / 3 / ELEMENTS,
}
for run in CASES.values():
    run()
samples = {name: [] for name in CASES}
for _ in range(61):
    for name, run in CASES.items():
        samples[name].append(run())
for name, values in samples.items():
    ratios = [value / reference for value, reference in zip(values, samples["reference"])]
    print(name, statistics.median(values), statistics.median(ratios))
