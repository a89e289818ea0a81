/* Any dictionary of an array interface, host or CUDA, any PyArrayInterface and any Py_buffer, from objects that answer,
 * lie and raise. Python is a small model here: what it hands out is counted, and every exception must be taken back.
 *
 * libFuzzer: clang -fsanitize=fuzzer,address,undefined -Isrc -Ispec/c spec/c/interface_fuzz.c src/core/(*).c
 * With XCHG_FUZZ_RUNS defined it is a program that makes that many inputs itself. */
#include "test.h"

#include <stdlib.h>

#include "exchange/adopt.h"
#include "exchange/ndarray.h"
#include "exchange/producer.h"
#include "exchange/refusal.h"

#define foreign format_foreign
#define read_raw format_read_raw
#include "exchange/buffer_format.c"
#undef foreign
#undef read_raw

#include "exchange/buffer.c"
#include "exchange/descriptor.c"
#include "exchange/interface.c"
#include "exchange/typestr.c"

#undef PROTOCOL
#include "exchange/array_interface.c"
#undef PROTOCOL
#undef WHERE
#define import import_struct
#include "exchange/array_struct.c"
#undef import
#define read_version cai_read_version
#define read_mask cai_read_mask
#define read_data cai_read_data
#define read_all cai_read_all
#include "exchange/cai.c"

#define EXPECT(condition)                                                                                              \
  do {                                                                                                                 \
    if (!(condition)) {                                                                                                \
      printf("interface_fuzz: %s\n", #condition);                                                                      \
      fflush(stdout);                                                                                                  \
      abort();                                                                                                         \
    }                                                                                                                  \
  } while (0)

#include "small_python.h"

/* ---- what stands around the parts that are tested ------------------------------------------------------- */

xchg__python_table xchg__py;
xchg__producer_names xchg__names;

/* NumPy's own arrays are read elsewhere. */
int xchg__ndarray_is(PyObject *object) {
  EXPECT(object->kind == OBJECT);
  return 0;
}
int xchg__from_ndarray(xchg__request *request, xchg_tensor *out, PyObject *object, int protocol, xchg_error *err) {
  (void)request;
  (void)out;
  (void)object;
  (void)protocol;
  (void)err;
  EXPECT(0);
  return 1;
}

/* Nothing here is a class. */
int xchg__offer_refuse_class(PyObject *class, const char *attribute, const char *where, xchg_error *err) {
  (void)class;
  (void)attribute;
  return xchg__error_set(err, XCHG_E_ABSENT, "%s: a class", where);
}

int xchg__producer_prepare(void) {
  static PyObject name = {.kind = TEXT, .references = 1, .text = "__cuda_array_interf"};
  xchg__names.cuda_interface = &name;
  return 0;
}
xchg__producer *xchg__producer_of(PyObject *type) {
  static xchg__producer producer;
  EXPECT(pending == NULL);
  producer.type = type;
  return &producer;
}
int xchg__refusal_check(xchg__family family, PyObject *object, xchg_error *err) {
  (void)object;
  return xchg__error_set(err, XCHG_E_REFUSED, "refused, family %d", family);
}
const char *xchg__type_name(PyObject *type, char *out, size_t size) {
  EXPECT(type->kind == TYPE);
  snprintf(out, size, "name");
  return out;
}
const char *xchg__object_text(PyObject *object, char *out, size_t size) {
  snprintf(out, size, "%s", object->kind == TEXT ? object->text : "something");
  return out;
}
void xchg__refusal_reason(char *out, size_t size) {
  EXPECT(pending != NULL);
  snprintf(out, size, "reason");
}
int xchg__refusal_set(xchg_error *err, const char *where, xchg__family family, PyObject *object) {
  EXPECT(pending != NULL && family == XCHG_FAMILY_OTHER && object != NULL);
  return xchg__error_set(err, XCHG_E_REFUSED, "%s: refuses", where);
}
void xchg__adopt_destroy_python(xchg_storage *storage, int python) {
  EXPECT(python);
  fake_dec(storage->owner);
}

static int adopted;
static void check_adopted(const xchg__checked *checked, const xchg__buffer *buffer) {
  const xchg_description *d = &checked->description;
  const unsigned char *first = checked->start, *last;
  EXPECT(d->ndim >= 0 && d->ndim <= XCHG_MAX_NDIM && xchg_dtype_info(d->dtype) != NULL);
  if (checked->bytes == 0)
    return;
  last = first + checked->bytes - 1;
  if (buffer != NULL && buffer->view.obj->liar)
    return;
  if (buffer != NULL)
    EXPECT(first >= memory + 16 && last < memory + 16 + buffer->view.len);
  else
    EXPECT(xchg__address_readable(first, 1) != 0 && xchg__address_readable(last, 1) != 0);
}
int xchg__adopt(xchg_slots *slots, xchg_tensor *out, const xchg__checked *checked, void *owner, PyObject *object,
                void (*destroy)(xchg_storage *, int), xchg_error *err) {
  xchg_storage storage = {.owner = owner, .object = object};
  EXPECT(slots == NULL && out == NULL && owner != NULL && object->kind == OBJECT);
  check_adopted(checked, destroy == xchg__buffer_destroy ? owner : NULL);
  if (checked->description.ndim == 3)
    return xchg__error_set(err, XCHG_E_MEMORY, "storage: no memory");
  adopted++;
  if (destroy == xchg__buffer_destroy)
    object->references++; /* which that function gives back */
  out = NULL;
  (void)out;
  /* At once, but for the buffer's dictionary, which is given to it after this. */
  if (destroy == xchg__adopt_destroy_python)
    destroy(&storage, 1);
  else
    object->source.data = owner;
  return 0;
}

/* ---- inputs ------------------------------------------------------------------------------------------- */

typedef struct input {
  const uint8_t *at;
  size_t left;
} input;

static uint8_t take(input *in) {
  if (in->left == 0)
    return 0;
  in->left--;
  return *in->at++;
}
static int64_t take_number(input *in) {
  uint8_t kind = take(in);
  if (kind < 150)
    return kind % 10;
  if (kind < 190)
    return 8 * (kind % 9) - 24;
  if (kind < 220)
    return (int64_t)((UINT64_C(1) << take(in) % 64) + (uint64_t)(kind % 3) - 1);
  return kind % 3 == 0 ? INT64_MIN : kind % 3 == 1 ? INT64_MAX : -(int64_t)(take(in) % 100);
}
/* Mostly an address of our memory. */
static int64_t take_address(input *in) {
  uint8_t kind = take(in);
  return kind < 200 ? (int64_t)(uintptr_t)(memory + 8 * (kind % 64)) : kind < 220 ? 0 : take_number(in);
}

static void put(PyObject *object, const char *key, PyObject *value) {
  if (object->count == MEMBERS) {
    fake_dec(value);
    return;
  }
  object->keys[object->count] = key;
  object->members[object->count++] = value;
}

static PyObject *take_integer(input *in, int64_t number) {
  PyObject *object = object_new(INTEGER);
  object->number = number;
  object->wide = take(in) > 252;
  return object;
}
static PyObject *take_anything(input *in) {
  static const int kinds[] = {NONE, INTEGER, TEXT, TUPLE, LIST, DICT, BUFFER, CAPSULE, OBJECT, RAISER};
  int kind = kinds[take(in) % (sizeof kinds / sizeof *kinds)];
  PyObject *object;
  if (kind == NONE) {
    none.references++;
    return &none;
  }
  object = object_new(kind);
  object->number = kind == BUFFER || kind == INTEGER || kind == RAISER ? take_number(in) : 0;
  return object;
}
static PyObject *take_integers(input *in) {
  PyObject *object = object_new(take(in) % 4 ? TUPLE : LIST);
  int count = take(in) % 5;
  for (int i = 0; i < count; i++)
    put(object, NULL, take(in) < 250 ? take_integer(in, take_number(in)) : take_anything(in));
  if (take(in) > 250)
    object->number = take(in);
  return object;
}
static PyObject *take_typestr(input *in) {
  static const char *const good[] = {"<f8", "<f4", "|u1", "<i2", "|b1", "<c16", ">f8", "|V2", "<M8[ns]", "|O8", "<U3"};
  PyObject *object = fake_text(good[take(in) % (sizeof good / sizeof *good)]);
  if (take(in) > 230)
    object->text[take(in) % 4] = (char)(take(in) | 1);
  object->wide = take(in) > 252;
  return object;
}
static PyObject *take_data(input *in) {
  PyObject *object = object_new(take(in) % 8 ? TUPLE : LIST);
  put(object, NULL, take_integer(in, take_address(in)));
  put(object, NULL, take(in) < 240 ? take_integer(in, take(in) % 2) : take_anything(in));
  return object;
}

static PyObject *take_dict(input *in) {
  PyObject *dict = object_new(DICT);
  if (take(in) < 250)
    put(dict, "version", take(in) < 250 ? take_integer(in, take(in) < 200 ? 3 : take_number(in)) : take_anything(in));
  if (take(in) < 250)
    put(dict, "shape", take(in) < 245 ? take_integers(in) : take_anything(in));
  if (take(in) < 250)
    put(dict, "typestr", take(in) < 245 ? take_typestr(in) : take_anything(in));
  if (take(in) < 90)
    put(dict, "strides", take(in) < 230 ? take_integers(in) : take_anything(in));
  if (take(in) < 220)
    put(dict, "data", take(in) < 180 ? take_data(in) : take_anything(in));
  if (take(in) < 60)
    put(dict, "offset", take(in) < 220 ? take_integer(in, take_number(in)) : take_anything(in));
  if (take(in) < 40)
    put(dict, "descr", take_anything(in));
  if (take(in) < 30)
    put(dict, "mask", take_anything(in));
  if (take(in) < 60)
    put(dict, "stream", take(in) < 200 ? take_integer(in, take_number(in)) : take_anything(in));
  return dict;
}

static PyObject *take_capsule(input *in) {
  static const char kinds[] = "fiubcVOq";
  PyObject *object = object_new(CAPSULE);
  array_struct *s = &object->source;
  object->wide = take(in) > 250;
  s->two = take(in) > 250 ? 3 : 2;
  s->nd = take(in) < 240 ? take(in) % 4 : (int)take_number(in);
  s->typekind = take(in) < 250 ? kinds[take(in) % (sizeof kinds - 1)] : (char)take(in);
  s->itemsize = take(in) < 240 ? 1 << take(in) % 5 : (int)take_number(in);
  s->flags = take(in) < 200 ? 0x701 : take(in) << 4 | take(in);
  s->data = (void *)(uintptr_t)take_address(in);
  for (int d = 0; d < 4; d++) {
    object->dims[d] = (Py_ssize_t)take_number(in);
    object->dims[XCHG_MAX_NDIM + d] = take(in) < 200 ? s->itemsize : (Py_ssize_t)take_number(in);
  }
  s->shape = take(in) < 245 ? object->dims : (Py_ssize_t *)(uintptr_t)take(in);
  s->strides = take(in) < 245 ? object->dims + XCHG_MAX_NDIM : (Py_ssize_t *)(uintptr_t)take(in);
  if (s->flags & HAS_DESCR)
    put(object, NULL, s->descr = take_anything(in));
  return object;
}

/* A buffer that says anything. */
static void take_view(PyObject *object, input *in) {
  static const char *const formats[] = {"d", "B", NULL, "f", "l", "<q", "Zd", "x", "T{i:a:}", ">i", "8s", "?"};
  Py_buffer *view = &object->view;
  int64_t length = 1;
  object->liar = object->wide = 1;
  view->format = (char *)(uintptr_t)formats[take(in) % (sizeof formats / sizeof *formats)];
  view->itemsize = take(in) < 200 ? (Py_ssize_t[]){1, 4, 8, 16}[take(in) % 4] : (Py_ssize_t)take_number(in);
  view->ndim = take(in) < 245 ? take(in) % 4 : (int)take_number(in);
  view->readonly = take(in) % 3 == 0;
  view->buf = (void *)(uintptr_t)take_address(in);
  for (int d = 0; d < 4; d++) {
    object->dims[d] = (Py_ssize_t)take_number(in);
    object->dims[XCHG_MAX_NDIM + d] = take(in) < 180 ? view->itemsize : (Py_ssize_t)take_number(in);
    object->dims[2 * XCHG_MAX_NDIM + d] = take(in) < 240 ? -1 : (Py_ssize_t)take_number(in);
    if (d < view->ndim)
      length = (int64_t)((uint64_t)length * (uint64_t)object->dims[d]);
  }
  length = (int64_t)((uint64_t)length * (uint64_t)view->itemsize);
  view->len = take(in) < 240 ? (Py_ssize_t)length : (Py_ssize_t)take_number(in);
  view->shape = take(in) < 240 ? object->dims : NULL;
  view->strides = take(in) < 200 ? object->dims + XCHG_MAX_NDIM : NULL;
  view->suboffsets = take(in) < 40 ? object->dims + (ptrdiff_t)2 * XCHG_MAX_NDIM : NULL;
}

static void check_end(int code, const xchg_error *err, PyObject *object) {
  EXPECT(code == err->code && code <= 0);
  EXPECT(pending == NULL || code == XCHG_E_REFUSED);
  pending = NULL;
  if (code == 0 && object->source.data != NULL) {
    xchg_storage storage = {.owner = object->source.data, .object = object};
    xchg__buffer_destroy(&storage, 1);
    object->source.data = NULL;
  }
  EXPECT(object->references == 1 && exports == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  input in = {data, size};
  xchg__request request = {.dtype = take(&in) < 40 ? (int32_t)take(&in) % XCHG_DTYPE_COUNT : 0,
                           .writable = take(&in) < 30};
  int which = take(&in) % 4, code;
  PyObject *object, *value;
  xchg_error err = {0};
  xchg__cai cai;
  if (types[0].references == 0)
    prepare();
  object = object_new(OBJECT);
  object->wide = take(&in) % 2;
  object->number = take_number(&in) & INT64_MAX;
  if (which == 3)
    take_view(object, &in);
  value = take(&in) > 250 ? take_anything(&in) : which == 0 ? take_capsule(&in) : take_dict(&in);
  put(object, which == 0 ? "__array_struct__" : which == 1 ? "__array_interface__" : "__cuda_array_interf", value);
  if (which == 0) {
    code = xchg__from_array_struct(&request, NULL, object, &err);
  } else if (which == 1) {
    code = xchg__from_array_interface(&request, NULL, object, &err);
  } else if (which == 3) {
    code = xchg__from_buffer(&request, NULL, object, &err);
  } else {
    code = xchg__cai_read(&cai, object, request.dtype, &err);
    if (code == 0)
      fake_dec(cai.dict);
  }
  check_end(code, &err, object);
  fake_dec(object);
  EXPECT(live == 0);
  return 0;
}

#ifdef XCHG_FUZZ_RUNS
int main(void) {
  uint8_t bytes[128];
  for (int run = 0; run < XCHG_FUZZ_RUNS; run++) {
    size_t size = 24 + (size_t)test_below((int64_t)sizeof bytes - 24);
    for (size_t i = 0; i < size; i++)
      bytes[i] = (uint8_t)(test_random() >> 32);
    LLVMFuzzerTestOneInput(bytes, size);
    test_checks++;
  }
  CHECK(adopted > XCHG_FUZZ_RUNS / 100);
  return test_end();
}
#endif
