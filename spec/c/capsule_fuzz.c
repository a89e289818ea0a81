/* Any managed tensor in any capsule, from any `__dlpack__` and any C exchange API, through the whole of from_dlpack:
 * what is refused is not consumed, what is taken is deleted once, no reference and no exception is left. Python is a
 * small model, every call of which may fail; the tensors and storages are real. Arithmetic on extents is
 * descriptor_fuzz's.
 *
 * libFuzzer: clang -fsanitize=fuzzer,address,undefined -Isrc -Ispec/c spec/c/capsule_fuzz.c src/core/(*).c
 * With XCHG_FUZZ_RUNS defined it is a program that makes that many inputs itself. */
#include "test.h"

#include <stdlib.h>

#include "exchange/ndarray.h"
#include "exchange/order.h"
#include "exchange/producer.h"
#include "exchange/refusal.h"

#include "exchange/adopt.c"
#include "exchange/ask.c"
#include "exchange/capsule.c"
#include "exchange/descriptor.c"
#include "exchange/exchange_api.c"
#include "exchange/wanted.c"

#include "exchange/from_api.c"
#undef WHERE
#undef PROTOCOL
#define check_memory check_order
#include "exchange/from_dlpack.c"
#undef check_memory

#define EXPECT(condition)                                                                                              \
  do {                                                                                                                 \
    if (!(condition)) {                                                                                                \
      printf("capsule_fuzz: %s\n", #condition);                                                                        \
      fflush(stdout);                                                                                                  \
      abort();                                                                                                         \
    }                                                                                                                  \
  } while (0)

#include "capsule_python.h"
#include "capsule_record.h"

/* ---- what stands around the parts that are tested --------------------------------------------------------- */

static xchg__producer producer;
static int order_answer; /* of the questions to CUDA */

/* NumPy's arrays are read elsewhere: here they are asked, or there is no memory for the tensor. */
int xchg__ndarray_is(PyObject *object) {
  EXPECT(object->references > 0 && pending == NULL);
  return producer.family == XCHG_FAMILY_NUMPY && object->kind == OBJECT;
}
int xchg__from_ndarray(xchg__request *request, xchg_tensor *out, PyObject *object, int protocol, xchg_error *err) {
  EXPECT(request != NULL && out != NULL && xchg__ndarray_is(object) && protocol == XCHG_PROTOCOL_DLPACK);
  return rarely(4) ? xchg__error_set(err, XCHG_E_MEMORY, "storage: no memory") : 1;
}

/* Nothing here is a class. */
int xchg__offer_refuse_class(PyObject *class, const char *attribute, const char *where, xchg_error *err) {
  (void)class;
  (void)attribute;
  return xchg__error_set(err, XCHG_E_ABSENT, "%s: a class", where);
}

int xchg__producer_prepare(void) {
  return fails() ? -1 : 0;
}
PyObject *xchg__producer_keywords(int keywords) {
  EXPECT(keywords > 0 && keywords <= XCHG_ASK_ALL);
  return fails() ? NULL : &keyword_tuple;
}
xchg__producer *xchg__producer_of(PyObject *type) {
  EXPECT(pending == NULL && type == producer.type);
  return &producer;
}
xchg__family xchg__producer_family(const xchg__producer *known, PyObject *object) {
  EXPECT(pending == NULL && object->references > 0);
  return known->family;
}
int xchg__refusal_check(xchg__family family, PyObject *object, xchg_error *err) {
  EXPECT(pending == NULL && object->kind == OBJECT);
  return family == XCHG_FAMILY_MASKED ? xchg__error_set(err, XCHG_E_REFUSED, "from_dlpack: masked") : 0;
}
int xchg__refusal_check_conjugate(PyObject *object, xchg_error *err) {
  EXPECT(pending == NULL && object->kind == OBJECT);
  return rarely(3) ? xchg__error_set(err, XCHG_E_REFUSED, "from_dlpack: conjugate") : 0;
}
const char *xchg__type_name(PyObject *type, char *out, size_t size) {
  EXPECT(type->kind == TYPE && pending == NULL);
  snprintf(out, size, "name");
  return out;
}
const char *xchg__object_text(PyObject *object, char *out, size_t size) {
  EXPECT(object->references > 0 && pending == NULL);
  snprintf(out, size, "something");
  return out;
}
void xchg__refusal_reason(char *out, size_t size) {
  snprintf(out, size, "reason");
}
int xchg__refusal_set(xchg_error *err, const char *where, xchg__family family, PyObject *object) {
  EXPECT(pending != NULL && family == producer.family && object->kind == OBJECT);
  return xchg__error_set(err, XCHG_E_REFUSED, "%s: refuses", where);
}
int xchg__python_forked(void) {
  return 0;
}
int xchg__order_applies(int32_t device_type) {
  return device_type == kDLCUDA || device_type == kDLCUDAManaged;
}
int xchg__order_open(xchg__request *request, DLDevice device, const char *from, xchg_error *err) {
  EXPECT(pending == NULL);
  if (order_answer == 1 && xchg__order_applies(device.device_type)) {
    request->needed = device;
    return XCHG_NEEDS;
  }
  return order_answer == 2 && xchg__order_applies(device.device_type)
             ? xchg__error_set(err, XCHG_E_NO_CUDA, "%s: no CUDA", from)
             : 0;
}
int xchg__order_stream(xchg_cuda_stream **out, xchg__request *request, DLDevice device, xchg_error *err) {
  EXPECT(request->slots != NULL && xchg__order_applies(device.device_type));
  *out = NULL;
  return order_answer == 3 ? xchg__error_set(err, XCHG_E_CUDA, "from_dlpack: no stream") : 0;
}
int xchg__order_verify(const xchg__checked *checked, const char *from, xchg_error *err) {
  EXPECT(checked->bytes >= 0);
  return order_answer == 4 ? xchg__error_set(err, XCHG_E_DESCRIPTOR, "%s: not where it says", from) : 0;
}
int xchg__cuda_stream_order_handle(xchg_cuda_stream *later, void *earlier, int32_t device, xchg_error *err) {
  (void)later;
  (void)earlier;
  (void)device;
  (void)err;
  EXPECT(0); /* there is no stream */
  return 0;
}
int xchg__cuda_enter(xchg__cuda_guard *guard, int32_t device, xchg_error *err) {
  memset(guard, 0, sizeof *guard);
  (void)device;
  return order_answer == 5 ? xchg__error_set(err, XCHG_E_CUDA, "from_dlpack: cannot enter") : 0;
}
void xchg__cuda_leave(const xchg__cuda_guard *guard) {
  EXPECT(guard != NULL);
}
void xchg__memory_count(xchg_storage *storage, int32_t device) {
  EXPECT(storage != NULL && device == 0);
}

/* ---- one import --------------------------------------------------------------------------------------------- */

static int taken, refused;

static void check_tensor(const xchg_slots *slots, const xchg_tensor *head, const record *self) {
  const DLTensor *tensor = self->versioned ? &self->managed.versioned.dl_tensor : &self->managed.legacy.dl_tensor;
  const xchg_slot *slot = xchg__slot_get(slots, head->_slot);
  int64_t count = 1;
  EXPECT(slot != NULL && head->_ndim == tensor->ndim && head->_ptr == tensor->data);
  for (int d = 0; d < tensor->ndim; d++)
    count *= self->shape[d];
  EXPECT(head->_numel == count);
  for (int d = 0; d < tensor->ndim; d++)
    EXPECT(head->_shape[d] == self->shape[d] && (count == 0 || head->_strides[d] == self->strides[d]));
  EXPECT(head->_device_type == tensor->device.device_type);
  if (self == &capsule_record)
    EXPECT((head->_flags & XCHG_TENSOR_READONLY) != 0 || !self->versioned ||
           (self->managed.versioned.flags & kDLFlagReadOnly) == 0);
}

static xchg__request take_request(xchg_slots *slots) {
  xchg__request request = {.slots = slots, .order = XCHG_ORDER_NONE};
  uint8_t bits = take();
  request.copy = (xchg__copy)(bits % 3);
  request.writable = bits / 4 % 8 == 0;
  request.allowed = bits > 230 ? 1u << XCHG_PROTOCOL_DLPACK : bits > 210 ? 1u << XCHG_PROTOCOL_EXCHANGE_API : 0;
  if (rarely(5))
    request.device.device_type = (int32_t[]){kDLCPU, kDLCUDA, kDLROCM, kDLCUDAManaged}[take() % 4];
  return request;
}

/* What became of the capsule and of what it holds. */
static void check_capsule(int consumed) {
  record *self = &capsule_record;
  int fresh;
  if (the_capsule == NULL)
    return;
  EXPECT(the_capsule->references == 1);
  fresh = destructor_before != NULL && name_before != NULL &&
          strcmp(name_before, self->versioned ? "dltensor_versioned" : "dltensor") == 0;
  if (consumed) {
    EXPECT(the_capsule->destructor == NULL && strncmp(the_capsule->name, "used_dltensor", 13) == 0);
    EXPECT(self->sound && self->deleted == self->deletes);
  } else {
    EXPECT(the_capsule->name == name_before && the_capsule->destructor == destructor_before && self->deleted == 0);
  }
  fake_dec(the_capsule);
  the_capsule = NULL;
  EXPECT(self->deleted == (consumed || fresh ? self->deletes : 0));
}

/* Whether a raw capsule has nothing for which it could be refused. */
static int must_be_taken(const xchg__request *request, const PyObject *capsule) {
  const record *self = &capsule_record;
  const DLTensor *tensor = self->versioned ? &self->managed.versioned.dl_tensor : &self->managed.legacy.dl_tensor;
  return self->sound && fail_in == 0 && !request->slots->closed && capsule->name != NULL &&
         strcmp(capsule->name, self->versioned ? "dltensor_versioned" : "dltensor") == 0 &&
         xchg__request_allows(request, XCHG_PROTOCOL_DLPACK) && tensor->device.device_type == kDLCPU &&
         (request->device.device_type == 0 || request->device.device_type == kDLCPU) &&
         !(request->writable && self->versioned && (self->managed.versioned.flags & kDLFlagReadOnly) != 0);
}

static void import_one(xchg_slots *slots, PyObject *object) {
  xchg__request request = take_request(slots);
  int expected = object->kind == CAPSULE && must_be_taken(&request, object);
  xchg_tensor head = {0};
  xchg_error err = {0};
  int code = xchg__from_dlpack(&request, &head, object, &err), consumed = 0, from_table = 0;
  EXPECT(code == 0 || !expected);
  fail_in = 0;
  EXPECT(code <= 0 ? code == err.code : code == XCHG_NEEDS);
  EXPECT(pending == NULL || code == XCHG_E_REFUSED);
  model_clear();
  if (code == 0) {
    taken++;
    from_table = head._protocol == XCHG_PROTOCOL_EXCHANGE_API;
    consumed = !from_table;
    check_tensor(slots, &head, from_table ? &table_record : &capsule_record);
    EXPECT(from_table ? table_record.sound : capsule_record.sound);
    slots->head.busy--;
    xchg__slot_free(slots, head._slot);
    EXPECT(xchg__release_drain(1) == 1);
  } else {
    refused++;
  }
  EXPECT(xchg__release_drain(1) == 0 && slots->live == 0 && xchg__count_sum(XCHG_COUNT_STORAGES) == 0);
  if (consumed && the_capsule != NULL) { /* once more: a capsule is used once */
    xchg_error again = {0};
    xchg__request plain = {.slots = slots};
    producer.family = XCHG_FAMILY_OTHER;
    EXPECT(xchg__from_dlpack(&plain, &head, the_capsule, &again) == XCHG_E_CAPSULE && pending == NULL);
  }
  /* What the table has handed over was deleted once, whatever came then. */
  EXPECT(table_record.deleted == (given ? table_record.deletes : 0));
  check_capsule(consumed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static xchg_slots slots;
  PyObject *object;
  int raw;
  in = (input){data, size};
  if (types[0].references == 0) {
    model_prepare();
    xchg__slots_init(&slots);
  }
  memset(&producer, 0, sizeof producer);
  memset(&capsule_record, 0, sizeof capsule_record);
  memset(&table_record, 0, sizeof table_record);
  given = questions = 0;
  order_answer = take() % 8;
  slots.closed = rarely(16); /* no tensor can be made */
  raw = take() < 90;
  if (raw) {
    object = the_capsule = capsule_new();
    name_before = object->name;
    destructor_before = object->destructor;
  } else {
    object = object_new(OBJECT);
    object->number = take();
    object->wide = take() % 2; /* it has a buffer */
    type_of_object = &types[OBJECT];
    take_tables(type_of_object);
    producer.type = type_of_object;
    producer.tag = 1;
    producer.family = (xchg__family)(rarely(3) ? take() % (XCHG_FAMILY_JAX + 1) : XCHG_FAMILY_OTHER);
    producer.api = xchg__exchange_api_find(type_of_object);
    EXPECT(pending == NULL);
    if (rarely(4)) {
      producer.method = xchg__names.dlpack;
      producer.method->references++;
    }
  }
  fail_in = take() < 60 ? 1 + take() % 24 : 0;
  import_one(&slots, object);
  if (!raw) {
    if (producer.method != NULL)
      producer.method->references--;
    EXPECT(object->references == 1);
    fake_dec(object);
    while (type_of_object->count > 0)
      fake_dec(type_of_object->members[--type_of_object->count]);
  }
  /* What nobody was told to delete. */
  free(capsule_record.extents);
  free(capsule_record.steps);
  free(table_record.extents);
  free(table_record.steps);
  EXPECT(live == 0 || live == 1); /* one name is interned once */
  return 0;
}

#ifdef XCHG_FUZZ_RUNS
int main(void) {
  uint8_t bytes[160];
  for (int run = 0; run < XCHG_FUZZ_RUNS; run++) {
    size_t size = 48 + (size_t)test_below((int64_t)sizeof bytes - 48);
    for (size_t i = 0; i < size; i++)
      bytes[i] = (uint8_t)(test_random() >> 32);
    LLVMFuzzerTestOneInput(bytes, size);
    test_checks++;
  }
  CHECK(taken > XCHG_FUZZ_RUNS / 5 && refused > XCHG_FUZZ_RUNS / 5);
  return test_end();
}
#endif
