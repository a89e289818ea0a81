#include "exchange/typestr.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exchange/refusal.h"

enum { MAX_ITEMSIZE = 1 << 20 };

static const struct {
  char kind;
  int size; /* bytes */
  int32_t dtype;
} plain[] = {
    {'b', 1, XCHG_DTYPE_BOOL},      {'i', 1, XCHG_DTYPE_INT8},      {'i', 2, XCHG_DTYPE_INT16},
    {'i', 4, XCHG_DTYPE_INT32},     {'i', 8, XCHG_DTYPE_INT64},     {'u', 1, XCHG_DTYPE_UINT8},
    {'u', 2, XCHG_DTYPE_UINT16},    {'u', 4, XCHG_DTYPE_UINT32},    {'u', 8, XCHG_DTYPE_UINT64},
    {'f', 2, XCHG_DTYPE_FLOAT16},   {'f', 4, XCHG_DTYPE_FLOAT32},   {'f', 8, XCHG_DTYPE_FLOAT64},
    {'c', 4, XCHG_DTYPE_COMPLEX32}, {'c', 8, XCHG_DTYPE_COMPLEX64}, {'c', 16, XCHG_DTYPE_COMPLEX128},
};

/* What kinds that have no dtype are called, and what to do. */
#define MOMENTS "pass them as integers (NumPy: x.view('i8'))"
#define NUMBERS "convert them to numbers first"
static const struct {
  char kind;
  const char *name, *cure;
} foreign[] = {
    {'t', "bit fields", NUMBERS},   {'O', "Python objects", NUMBERS}, {'S', "byte strings", NUMBERS},
    {'U', "text strings", NUMBERS}, {'m', "time spans", MOMENTS},     {'M', "points in time", MOMENTS},
};

/* Whether "descr" tells of more than one nameless item: 1, and the first field's name in `out` for a message. */
static int is_structured(PyObject *fields, char *out, size_t room) {
  PyObject *first, *name;
  Py_ssize_t count;
  int structured;
  if (fields == NULL)
    return 0;
  count = xchg__py.PyObject_Size(fields);
  first = count > 0 ? xchg__py.PySequence_GetItem(fields, 0) : NULL;
  name = first != NULL ? xchg__py.PySequence_GetItem(first, 0) : NULL;
  if (xchg__py.PyErr_Occurred() != NULL)
    xchg__py.PyErr_Clear();
  xchg__object_text(name != NULL ? name : fields, out, room);
  structured = count > 1 || (name != NULL && strcmp(out, "''") != 0);
  xchg__py.Py_DecRef(name);
  xchg__py.Py_DecRef(first);
  return structured;
}

/* Items of no type of their own: what the caller says they are. */
static int read_raw(int32_t *out, const char *text, long size, PyObject *fields, int32_t dtype, const char *from,
                    xchg_error *err) {
  const xchg_dtype *info = xchg_dtype_info(dtype);
  char name[64];
  if (info == NULL) {
    if (is_structured(fields, name, sizeof name))
      return xchg__error_set(
          err, XCHG_E_DTYPE,
          "%s: the items are records of %ld bytes (typestr '%s', first field %s), which tensors do not "
          "hold; pass one field as an array of its own",
          from, size, text, name);
    return xchg__error_set(err, XCHG_E_DTYPE,
                           "%s: typestr '%s' does not say what its %ld-byte items are; pass the option dtype "
                           "(PyTorch's '<V2' are \"bfloat16\"), "
                           "or one field where they are records",
                           from, text, size);
  }
  if (info->bits % 8 != 0 || info->bits / 8 != size)
    return xchg__error_set(err, XCHG_E_DTYPE,
                           "%s: typestr '%s' has items of %ld bytes, and %s has %d bits; pass a dtype of that size",
                           from, text, size, info->name, info->bits);
  *out = dtype;
  return 0;
}

/* Whether the items have no type of their own. ml_dtypes gives float8_e5m2 and complex32 kinds that say as little as
 * 'V'. */
static int is_raw(char kind, long size) {
  return kind == 'V' || (kind == 'f' && size == 1) || (kind == 'W' && size == 4);
}

/* A well-formed type string, and the size in it. */
static int read_text(int32_t *out, const char *text, long size, PyObject *fields, int32_t dtype, const char *from,
                     xchg_error *err) {
  if (is_raw(text[1], size))
    return read_raw(out, text, size, fields, dtype, from, err);
  if (text[0] == '>' && size > 1)
    return xchg__error_set(err, XCHG_E_DTYPE,
                           "%s: typestr '%s' is big-endian; convert the array to the machine's byte order first", from,
                           text);
  for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
    if (plain[i].kind != text[1] || plain[i].size != size)
      continue;
    if (dtype != XCHG_DTYPE_NONE && dtype != plain[i].dtype)
      return xchg__error_set(
          err, XCHG_E_DTYPE,
          "%s: the items are %s (typestr '%s'), and the option dtype, which names what raw items are, "
          "casts nothing to %s; import without it, and cast or view() the tensor",
          from, xchg_dtype_info(plain[i].dtype)->name, text, xchg_dtype_info(dtype)->name);
    *out = plain[i].dtype;
    return 0;
  }
  for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
    if (foreign[i].kind == text[1])
      return xchg__error_set(err, XCHG_E_DTYPE, "%s: typestr '%s' means %s, which tensors do not hold; %s", from, text,
                             foreign[i].name, foreign[i].cure);
  return xchg__error_set(err, XCHG_E_DTYPE, "%s: no dtype is '%s'; convert the array in its own library first", from,
                         text);
}

int xchg__typestr_read(int32_t *out, PyObject *typestr, PyObject *fields, int32_t dtype, const char *from,
                       xchg_error *err) {
  char text[32], quoted[48], *end = NULL;
  Py_ssize_t length = 0;
  const char *raw = xchg__py.PyUnicode_AsUTF8AndSize(typestr, &length);
  long size = 0;
  if (raw == NULL)
    xchg__py.PyErr_Clear();
  if (raw != NULL && length >= 3 && length < (Py_ssize_t)sizeof text && strlen(raw) == (size_t)length &&
      strchr("<>|=", raw[0]) != NULL && raw[2] >= '0' && raw[2] <= '9')
    size = strtol(raw + 2, &end, 10);
  /* A unit may follow the size of a time: "<M8[ns]". */
  if (end == NULL || size < 1 || size > MAX_ITEMSIZE ||
      (*end != '\0' && !(*end == '[' && (raw[1] == 'm' || raw[1] == 'M'))))
    return xchg__error_set(err, XCHG_E_DTYPE, "%s: typestr %s is no type; the producer must give one such as '<f4'",
                           from, xchg__object_text(typestr, quoted, sizeof quoted));
  strcpy(text, raw);
  return read_text(out, text, size, fields, dtype, from, err);
}

int xchg__typestr_read_parts(int32_t *out, char order, char kind, long size, PyObject *fields, int32_t dtype,
                             const char *from, xchg_error *err) {
  char text[32];
  if (kind < '!' || kind > '~' || size < 1 || size > MAX_ITEMSIZE)
    return xchg__error_set(err, XCHG_E_DTYPE,
                           "%s: kind %d with items of %ld bytes is no type; the producer must give one such as 'f', 4",
                           from, kind, size);
  snprintf(text, sizeof text, "%c%c%ld", order, kind, size);
  return read_text(out, text, size, fields, dtype, from, err);
}

int32_t xchg__typestr_named(PyObject *object) {
  PyObject *dtype = xchg__py.PyObject_GetAttrString(object, "dtype");
  PyObject *name = dtype != NULL ? xchg__py.PyObject_GetAttrString(dtype, "name") : NULL;
  Py_ssize_t length;
  const char *text = NULL;
  int32_t found = XCHG_DTYPE_NONE;
  if (name != NULL)
    text = xchg__py.PyUnicode_AsUTF8AndSize(name, &length);
  for (int32_t id = 1; text != NULL && id < XCHG_DTYPE_COUNT; id++)
    if (strcmp(xchg_dtype_info(id)->name, text) == 0 && xchg_dtype_info(id)->bits % 8 == 0)
      found = id;
  if (xchg__py.PyErr_Occurred() != NULL)
    xchg__py.PyErr_Clear();
  xchg__py.Py_DecRef(name);
  xchg__py.Py_DecRef(dtype);
  return found == XCHG_DTYPE_BFLOAT16 || found > XCHG_DTYPE_LAST_READABLE ? found : XCHG_DTYPE_NONE;
}
