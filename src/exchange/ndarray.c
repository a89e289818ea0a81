#include "exchange/ndarray.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/dtype.h"
#include "exchange/adopt.h"
#include "exchange/capsule.h"
#include "python/snippet.h"

enum {
  ABI_1 = 0x01000009, /* of NumPy 1.x, */
  ABI_2 = 0x02000000, /* and 2.x */
  C_API_VERSION = 0,  /* places in NumPy's table of functions: the function that gives the number, */
  C_API_TYPE = 2,     /* and the type */
  WRITEABLE = 0x0400,
  WARN_ON_WRITE = (int)(1u << 31), /* writable with a warning, which we cannot give */
  MOST_BASES = 8,                  /* of arrays that are views of others: NumPy shortens such chains */
  DESCRIPTORS = 64                 /* a power of two, several times the dtypes that are shared */
};

/* The start of an array, with the object's head of a Python that has a global lock. */
typedef struct {
  void *head[2];
  char *data;
  int ndim;
  const int64_t *shape;
  const int64_t *strides; /* in bytes */
  PyObject *base;
  PyObject *descriptor;
  int flags;
} fields;

/* A dtype that all arrays of it share: one that only looks like it has another address, and is not known. */
typedef struct {
  const PyObject *descriptor; /* kept for ever */
  int32_t dtype;
  int32_t shift; /* bytes of an element, as a power of two */
} known_dtype;

/* Written under the GIL; read without it once there is a type. */
static struct {
  _Atomic(PyObject *) type; /* NULL: nothing was learned yet, or cannot be */
  PyObject *refused;        /* the type that could not be learned, or is being */
  DLPackVersion version;
  known_dtype dtypes[DESCRIPTORS];
} known;

/* ---- reading ------------------------------------------------------------------------------------------ */

static known_dtype *dtype_place(const PyObject *descriptor) {
  size_t place = ((uintptr_t)descriptor >> 5) * 0x9E3779B97F4A7C15u >> 58;
  while (known.dtypes[place].descriptor != NULL && known.dtypes[place].descriptor != descriptor)
    place = (place + 1) % DESCRIPTORS;
  return &known.dtypes[place];
}

int xchg__ndarray_is(PyObject *object) {
  const PyObject *type = atomic_load_explicit(&known.type, memory_order_acquire);
  return type != NULL && xchg__py_type(object) == type;
}

int32_t xchg__ndarray_dtype(PyObject *object) {
  return xchg__ndarray_is(object) ? dtype_place(((const fields *)object)->descriptor)->dtype : XCHG_DTYPE_NONE;
}

/* The description of an array whose elements have a dtype that is known. */
static int describe(xchg__ndarray *out, const fields *array, const known_dtype *dtype) {
  xchg_description *d = &out->checked.description;
  int64_t size = INT64_C(1) << dtype->shift, low = 0, high = 0, numel = 1;
  uintptr_t first = (uintptr_t)array->data;
  if (array->ndim < 0 || array->ndim > XCHG_MAX_NDIM)
    return 0;
  for (int i = 0; i < array->ndim; i++) {
    int64_t extent = array->shape[i], stride = array->strides[i], reach;
    if (extent < 0 || __builtin_mul_overflow(numel, extent, &numel))
      return 0;
    out->strides[i] = stride >> dtype->shift;
    if (extent <= 1)
      continue;
    if ((stride & (size - 1)) != 0 || __builtin_mul_overflow(extent - 1, stride, &reach) ||
        __builtin_add_overflow(stride < 0 ? low : high, reach, stride < 0 ? &low : &high))
      return 0;
  }
  if (numel > INT64_MAX >> dtype->shift)
    return 0;
  if (numel > 0 &&
      (__builtin_add_overflow(high, size, &high) || __builtin_sub_overflow(high, low, &out->checked.bytes) ||
       first == 0 || (uintptr_t)-low > first || first + (uintptr_t)high < first ||
       (first & (uintptr_t)(xchg_dtype_info(dtype->dtype)->align - 1)) != 0))
    return 0;
  if (numel == 0) {
    low = 0;
    out->checked.bytes = 0;
  }
  out->checked.start = (const void *)(first - (uintptr_t)-low);
  d->data = array->data;
  d->dtype = dtype->dtype;
  d->device_type = kDLCPU;
  d->device_id = 0;
  d->ndim = array->ndim;
  d->readonly = (array->flags & WRITEABLE) == 0;
  d->protocol = XCHG_PROTOCOL_DLPACK;
  d->shape = array->shape;
  d->strides = numel == 0 ? NULL : out->strides;
  return 1;
}

/* Whether the memory is the host's own: what NumPy has from a capsule may be pinned, and says so only when it is
 * asked. */
static int is_own_memory(const fields *array) {
  for (int i = 0; i < MOST_BASES; i++) {
    PyObject *base = array->base;
    if (base == NULL)
      return 1;
    if (!xchg__ndarray_is(base))
      return xchg__py_type(base) != xchg__py.PyCapsule_Type &&
             !xchg__py.PyType_IsSubtype(xchg__py_type(base), known.type);
    array = (const fields *)base;
  }
  return 0;
}

int xchg__ndarray_read(xchg__ndarray *out, PyObject *object) {
  const fields *array = (const fields *)object;
  const known_dtype *dtype;
  if (!xchg__ndarray_is(object) || (array->flags & WARN_ON_WRITE) != 0 || !is_own_memory(array))
    return 0;
  dtype = dtype_place(array->descriptor);
  return dtype->descriptor != NULL && describe(out, array, dtype);
}

/* ---- learning ----------------------------------------------------------------------------------------- */

/* One array of each dtype, and arrays whose fields differ in every way. */
static const char probes_source[] =
    "import sys\n"
    "head, numpy = object.__basicsize__, sys.modules['numpy']\n"
    "core = sys.modules.get('numpy._core._multiarray_umath') or sys.modules['numpy.core._multiarray_umath']\n"
    "api, size = core._ARRAY_API, numpy.ndarray.__basicsize__\n"
    "box = numpy.array(range(24), 'd').reshape(2, 3, 4)\n"
    "fixed = numpy.array([1, 2, 3], 'i')\n"
    "fixed.flags.writeable = False\n"
    "probes = [numpy.array([1, 2], c) for c in '?bBhHiIlLqQefdFD']\n"
    "probes += [box, box[::-1, 1:, ::2], box.transpose(2, 0, 1), box[:, :0], box[0, 0, 0, None][0:1], box[1, 2, 3:4],\n"
    "           numpy.array(5, 'h'), numpy.array(7, 'f').reshape((1,) * 20), fixed, fixed[::2]]\n"
    "try:\n"
    "    capsules = [p.__dlpack__(max_version=(1, 3)) for p in probes]\n"
    "except TypeError:\n" /* an old one, which has no word for read-only memory */
    "    probes = [p for p in probes if p.flags.writeable]\n"
    "    capsules = [p.__dlpack__() for p in probes]\n";

/* The whole number that a namespace holds under a name; -1 without one. */
static long long number_of(PyObject *names, const char *name) {
  PyObject *value = xchg__py.PyDict_GetItemString(names, name);
  int overflow;
  return value != NULL ? xchg__py.PyLong_AsLongLongAndOverflow(value, &overflow) : -1;
}

/* Whether arrays lie in memory as they should, by all that says so without reading one. */
static int is_layout_known(PyObject *names, PyObject *type) {
  PyObject *capsule = xchg__py.PyDict_GetItemString(names, "api");
  void **api = capsule != NULL && xchg__py_type(capsule) == xchg__py.PyCapsule_Type
                   ? xchg__py.PyCapsule_GetPointer(capsule, xchg__py.PyCapsule_GetName(capsule))
                   : NULL;
  unsigned int (*version)(void);
  if (api == NULL || !xchg__py_has_plain_heads || number_of(names, "head") != offsetof(fields, data) ||
      number_of(names, "size") < (long long)sizeof(fields) || api[C_API_TYPE] != type)
    return 0;
  memcpy(&version, &api[C_API_VERSION], sizeof version);
  return version() == ABI_1 || version() == ABI_2;
}

static int is_same(const xchg__ndarray *mine, const xchg__checked *theirs) {
  const xchg_description *a = &mine->checked.description, *b = &theirs->description;
  if (a->data != b->data || a->dtype != b->dtype || a->ndim != b->ndim || a->readonly != b->readonly ||
      mine->checked.bytes != theirs->bytes || mine->checked.start != theirs->start)
    return 0;
  for (int i = 0; i < a->ndim; i++)
    if (a->shape[i] != b->shape[i] ||
        (a->strides != NULL && b->strides != NULL && a->shape[i] > 1 && a->strides[i] != b->strides[i]))
      return 0;
  return 1;
}

/* Compares what is read of an array with what it says, and takes its dtype down where that is new. */
static int learn_probe(PyObject *object, PyObject *capsule) {
  const fields *array = (const fields *)object;
  known_dtype *dtype;
  xchg__ndarray mine;
  xchg__capsule opened;
  xchg__checked theirs;
  xchg_error err;
  err.code = 0;
  if (xchg__py_type(object) != known.refused || xchg__capsule_open(&opened, capsule, "numpy", &err) != 0 ||
      xchg__descriptor_check(&theirs, opened.tensor, opened.flags, "numpy", &err) != 0)
    return 0;
  known.version = xchg__capsule_version(&opened);
  dtype = dtype_place(array->descriptor);
  if (dtype->descriptor == NULL) {
    dtype->dtype = theirs.description.dtype;
    dtype->shift = __builtin_ctz(xchg_dtype_info(dtype->dtype)->bits / 8);
    dtype->descriptor = array->descriptor;
    xchg__py.Py_IncRef(array->descriptor); /* for ever, as NumPy itself */
  }
  return describe(&mine, array, dtype) && is_same(&mine, &theirs);
}

static int learn_probes(PyObject *names) {
  PyObject *probes = xchg__py.PyDict_GetItemString(names, "probes");
  PyObject *capsules = xchg__py.PyDict_GetItemString(names, "capsules");
  Py_ssize_t count = xchg__py.PyList_Size(probes);
  if (count <= 0 || xchg__py.PyList_Size(capsules) != count)
    return 0;
  for (Py_ssize_t i = 0; i < count; i++)
    if (!learn_probe(xchg__py.PyList_GetItem(probes, i), xchg__py.PyList_GetItem(capsules, i)))
      return 0;
  return 1;
}

void xchg__ndarray_learn(PyObject *type) {
  const char *setting = getenv("XCHG_NDARRAY");
  PyObject *names;
  if (atomic_load(&known.type) != NULL || known.refused == type || (setting != NULL && strcmp(setting, "0") == 0))
    return;
  known.refused = type;
  memset(known.dtypes, 0, sizeof known.dtypes);
  names = xchg__snippet_run(probes_source);
  if (names != NULL && is_layout_known(names, type) && learn_probes(names))
    atomic_store_explicit(&known.type, type, memory_order_release);
  if (xchg__py.PyErr_Occurred() != NULL)
    xchg__py.PyErr_Clear();
  xchg__py.Py_DecRef(names);
}

/* ---- tensors ------------------------------------------------------------------------------------------ */

/* The owner is the array; the object, which may be another later, is held besides it only then. */
static void ndarray_destroy(xchg_storage *storage, int python) {
  if (!python)
    return;
  if (storage->object != storage->owner)
    xchg__py.Py_DecRef(storage->object);
  xchg__py.Py_DecRef(storage->owner);
}

int xchg__ndarray_adopt(xchg_slots *slots, xchg_tensor *out, xchg__ndarray *array, PyObject *object, int protocol,
                        xchg_error *err) {
  array->checked.description.protocol = protocol;
  return xchg__adopt(slots, out, &array->checked, object, object, ndarray_destroy, err);
}

int xchg__from_ndarray(xchg__request *request, xchg_tensor *out, PyObject *object, int protocol, xchg_error *err) {
  xchg__ndarray array;
  if (!xchg__ndarray_read(&array, object) || (request->writable && array.checked.description.readonly))
    return 1;
  if (protocol == XCHG_PROTOCOL_DLPACK)
    request->version = known.version;
  return xchg__ndarray_adopt(request->slots, out, &array, object, protocol, err);
}
