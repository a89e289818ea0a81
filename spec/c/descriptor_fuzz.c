/* Any DLTensor, against arithmetic in 128 bits; and what was asked for, against tables.
 *
 * libFuzzer: clang -fsanitize=fuzzer,address,undefined -Isrc -Ispec/c spec/c/descriptor_fuzz.c src/core/(*).c
 * With XCHG_FUZZ_RUNS defined it is a program that makes that many inputs itself. */
#include "test.h"

#include <stdlib.h>

#include "core/error.h"
#include "exchange/descriptor.c"
#include "exchange/wanted.c"

__extension__ typedef __int128 wide;

#define EXPECT(condition)                                                                                              \
  do {                                                                                                                 \
    if (!(condition)) {                                                                                                \
      printf("descriptor_fuzz: %s\n", #condition);                                                                     \
      fflush(stdout);                                                                                                  \
      abort();                                                                                                         \
    }                                                                                                                  \
  } while (0)

typedef struct input {
  const uint8_t *at;
  size_t left;
} input;

static uint8_t take_byte(input *in) {
  if (in->left == 0)
    return 0;
  in->left--;
  return *in->at++;
}

static uint64_t take_bits(input *in, int bytes) {
  uint64_t value = 0;
  while (bytes-- > 0)
    value = value << 8 | take_byte(in);
  return value;
}

/* Small ones, powers of two and their neighbours, ends of the range, anything. */
static int64_t take_number(input *in) {
  uint8_t kind = take_byte(in);
  if (kind < 140)
    return kind % 9;
  if (kind < 170)
    return -(kind % 9);
  if (kind < 215)
    return (int64_t)((UINT64_C(1) << take_byte(in) % 64) + (uint64_t)(kind % 3) - 1);
  if (kind < 225)
    return -(int64_t)(UINT64_C(1) << take_byte(in) % 63);
  if (kind < 235)
    return kind % 2 ? INT64_MIN : INT64_MAX;
  return (int64_t)take_bits(in, 8);
}

/* code, bits, lanes, bytes of alignment */
static const int known[][4] = {
    {0, 8, 1, 1},   {0, 16, 1, 2}, {0, 32, 1, 4}, {0, 64, 1, 8}, {1, 8, 1, 1},  {1, 16, 1, 2}, {1, 32, 1, 4},
    {1, 64, 1, 8},  {2, 16, 1, 2}, {2, 32, 1, 4}, {2, 64, 1, 8}, {4, 16, 1, 2}, {5, 32, 1, 2}, {5, 64, 1, 4},
    {5, 128, 1, 8}, {6, 8, 1, 1},  {7, 8, 1, 1},  {8, 8, 1, 1},  {9, 8, 1, 1},  {10, 8, 1, 1}, {11, 8, 1, 1},
    {12, 8, 1, 1},  {13, 8, 1, 1}, {14, 8, 1, 1}, {15, 6, 1, 1}, {16, 6, 1, 1}, {17, 4, 1, 1}, {17, 4, 2, 1}};
enum { KNOWN = sizeof known / sizeof *known };

static int find_known(DLDataType type) {
  for (int i = 0; i < KNOWN; i++)
    if (known[i][0] == type.code && known[i][1] == type.bits && known[i][2] == type.lanes)
      return i;
  return -1;
}

static int device_known(int32_t type) {
  return type >= 1 && type <= 255 && type != 5 && type != 6;
}
/* The host is one device. */
static int device_single(int32_t type) {
  return type == 1 || type == 3 || type == 11;
}
static int device_handle(int32_t type) {
  return type == 4 || type == 7 || type == 8 || type == 15;
}

static const wide FAR = (wide)1 << 62;
static const wide VERY_FAR = (wide)1 << 100; /* 64 times 128 of it do not overflow */

/* What the tensor is, in numbers that cannot overflow. */
typedef struct truth {
  int sound; /* every field by itself is possible */
  int empty;
  wide count; /* of elements, FAR if more than can be counted */
  wide low;   /* first and last bit that are reached, from the first element on */
  wide high;
  int compact;
  wide first; /* address of the first element */
} truth;

static truth look(const DLTensor *t) {
  truth is = {0};
  int type = find_known(t->dtype);
  wide expected = 1, bits;
  is.count = 1;
  is.compact = 1;
  is.first = (wide)(uintptr_t)t->data + (wide)t->byte_offset;
  if (t->ndim < 0 || t->ndim > 64 || (t->ndim > 0 && t->shape == NULL) || type < 0 ||
      !device_known(t->device.device_type))
    return is;
  bits = (wide)t->dtype.bits * t->dtype.lanes;
  for (int d = 0; d < t->ndim; d++) {
    if (t->shape[d] < 0)
      return is;
    if (t->shape[d] == 0)
      is.empty = 1;
    else if (is.count < FAR)
      is.count *= t->shape[d];
  }
  for (int d = t->ndim - 1; d >= 0; d--) {
    wide stride = t->strides != NULL ? (wide)t->strides[d] : expected;
    wide reach = stride * ((wide)t->shape[d] - 1);
    if (t->shape[d] > 1 && stride != expected)
      is.compact = 0;
    if (is.empty || t->shape[d] == 1)
      continue;
    expected *= t->shape[d];
    if (expected > FAR)
      expected = FAR; /* refused for its count, whatever the strides are */
    reach = reach > VERY_FAR ? VERY_FAR : reach < -VERY_FAR ? -VERY_FAR : reach;
    if (reach < 0)
      is.low += reach;
    else
      is.high += reach;
  }
  is.low *= bits;
  is.high = is.high * bits + bits - 1;
  is.sound = 1;
  return is;
}

static void check_one(const DLTensor *t, uint64_t flags) {
  truth is = look(t);
  xchg__checked out = {0};
  xchg_error err = {0};
  const wide end = (wide)1 << 64;
  int code = xchg__descriptor_check(&out, t, flags, "dlpack", &err);
  int handle, packed;
  EXPECT((code == 0) == (err.code == 0));
  EXPECT(code == err.code);
  if (code != 0) {
    size_t length = strlen(err.message);
    EXPECT(length > 10 && length < sizeof err.message && strncmp(err.message, "dlpack: ", 8) == 0);
  }
  if (!is.sound) {
    EXPECT(code != 0);
    return;
  }
  handle = device_handle(t->device.device_type);
  packed = t->dtype.bits % 8 != 0;
  if (code == 0) {
    const int *type = known[find_known(t->dtype)];
    wide bits = (wide)type[1] * type[2];
    EXPECT(out.description.ndim == t->ndim && out.description.shape == t->shape);
    EXPECT(out.description.device_type == t->device.device_type);
    EXPECT(out.description.device_id == (device_single(t->device.device_type) ? 0 : t->device.device_id));
    EXPECT(out.description.readonly == (int)(flags & 1));
    EXPECT(xchg_dtype_info(out.description.dtype)->code == type[0]);
    EXPECT(xchg_dtype_info(out.description.dtype)->bits == bits);
    EXPECT(!(packed && flags & 4));
    EXPECT(!(handle && t->byte_offset != 0));
    EXPECT(is.first < end);
    EXPECT((wide)(uintptr_t)out.description.data == is.first);
    EXPECT(is.count <= INT64_MAX);
    if (is.empty) {
      EXPECT(out.bytes == 0);
      return;
    }
    EXPECT(is.count * bits <= INT64_MAX);
    EXPECT(t->data != NULL);
    EXPECT(handle || is.first % type[3] == 0);
    EXPECT(type[1] % 8 == 0 || type[2] > 1 || is.compact);
    /* Every byte of every element has an address. */
    EXPECT(is.first + is.low / 8 >= 0 && is.first + is.high / 8 < end);
    EXPECT((wide)out.bytes == (is.high - is.low) / 8 + 1);
    EXPECT((wide)(uintptr_t)out.start == is.first + is.low / 8);
    for (int d = 0; d < t->ndim; d++)
      EXPECT(out.description.strides == NULL || out.description.strides[d] == t->strides[d]);
    return;
  }
  /* Nothing that is good, and not absurdly large, is refused. */
  {
    const int *type = known[find_known(t->dtype)];
    int good = !(packed && flags & 4) && !(handle && t->byte_offset != 0) && is.first < end && is.count < FAR;
    if (!is.empty)
      good = good && is.count * type[1] * type[2] < INT64_MAX - 8 && t->data != NULL &&
             (handle || is.first % type[3] == 0) && (type[1] * type[2] % 8 == 0 || is.compact) &&
             is.first + is.low / 8 >= 0 && is.first + is.high / 8 + 1 < end && is.low > INT64_MIN / 2 &&
             is.high < INT64_MAX / 2;
    else if (type[1] * type[2] % 8 != 0 && t->strides != NULL)
      good = good && is.compact;
    EXPECT(!good);
  }
}

/* What the caller asks for, and what the producer said before. */
typedef struct {
  xchg__request request;
  DLDevice said;
  int synchronised;
} question;

static DLDevice take_device(input *in) {
  static const int32_t types[] = {0, 1, 1, 1, 2, 3, 8, 10, 11, 13, 19, -1};
  DLDevice device;
  device.device_type = types[take_byte(in) % (sizeof types / sizeof *types)];
  device.device_id = take_byte(in) % 3;
  return device;
}

static question take_question(input *in) {
  question q = {0};
  uint8_t bits = take_byte(in);
  q.request.writable = bits & 1;
  q.request.copy = (xchg__copy)(bits / 2 % 3);
  q.synchronised = bits >> 7;
  q.request.device = take_device(in);
  q.said = take_device(in);
  return q;
}

/* Devices by what can be taken for what. */
enum { CLASS_HOST = 1000, CLASS_CUDA = 2000 };
static int64_t class_of(int32_t type, int32_t id) {
  if (device_single(type))
    return CLASS_HOST;
  if (type == 2 || type == 13)
    return CLASS_CUDA + (int64_t)id * 65536;
  return type + (int64_t)id * 65536;
}

static void check_question(const question *q, const DLTensor *t, uint64_t flags) {
  xchg__checked out = {0};
  xchg_error err = {0};
  const DLDevice wanted = q->request.device;
  DLDevice is;
  int expected, code;
  if (xchg__descriptor_check(&out, t, flags, "dlpack", &err) != 0)
    return;
  is.device_type = out.description.device_type;
  is.device_id = out.description.device_id;
  EXPECT(device_single(is.device_type) ? is.device_id == 0 : is.device_id == t->device.device_id);
  /* Where it was asked to be. */
  expected = wanted.device_type == 0 ||
             (wanted.device_type == 1 ? device_single(is.device_type) || (q->synchronised && is.device_type == 13)
                                      : wanted.device_type == is.device_type &&
                                            (device_single(wanted.device_type) || wanted.device_id == is.device_id));
  EXPECT(xchg__wanted_device(&q->request, is, q->synchronised) == expected);
  /* Where it was said to be. */
  code = xchg__wanted_said(q->said, &out, "dlpack", &err);
  expected = q->said.device_type == 0 ||
             class_of(q->said.device_type, q->said.device_id) == class_of(is.device_type, is.device_id);
  EXPECT(code == (expected ? 0 : XCHG_E_DESCRIPTOR) && code == err.code);
  /* How it was asked to be. */
  err.code = 0;
  code = xchg__wanted_check(&q->request, &out, flags, "dlpack", &err);
  expected = q->request.writable && flags & 1                         ? XCHG_E_READONLY
             : q->request.copy == XCHG_COPY_NEVER && (flags & 2) != 0 ? XCHG_E_REFUSED
                                                                      : 0;
  EXPECT(code == expected && code == err.code);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  input in = {data, size};
  DLTensor t = {0};
  uint64_t flags = 0;
  uint8_t kind = take_byte(&in), odd = take_byte(&in);
  const question q = take_question(&in);
  size_t dims;
  t.ndim = odd % 8 == 1 ? (int32_t)take_number(&in) : kind % 67;
  if (odd % 8 != 1 && kind < 200)
    t.ndim = kind % 5;
  if (odd & 16) {
    t.dtype.code = take_byte(&in);
    t.dtype.bits = take_byte(&in);
    t.dtype.lanes = (uint16_t)take_bits(&in, 2);
  } else {
    const int *type = known[take_byte(&in) % KNOWN];
    t.dtype.code = (uint8_t)type[0];
    t.dtype.bits = (uint8_t)type[1];
    t.dtype.lanes = (uint16_t)type[2];
  }
  t.device.device_type = odd & 32 ? (int32_t)take_number(&in) : odd & 64 ? take_byte(&in) % 24 : 1;
  t.device.device_id = odd & 64 ? (int32_t)take_number(&in) : 0;
  if (odd & 128)
    flags = take_bits(&in, 2);
  /* No address here is memory: a read through it would be a crash. */
  kind = take_byte(&in);
  t.data = (void *)(uintptr_t)(kind < 20    ? 0
                               : kind < 180 ? UINT64_C(0x7f0000000000) + (kind % 3 != 0 ? 0 : kind)
                                            : (uint64_t)take_number(&in));
  kind = take_byte(&in);
  t.byte_offset = kind < 150 ? 0 : kind < 210 ? (uint64_t)(kind % 16) * 4 : (uint64_t)take_number(&in);
  /* Of exactly the size that ndim says, so that a checker of memory sees a step too far. */
  dims = t.ndim > 0 && t.ndim <= 64 ? (size_t)t.ndim : 1;
  kind = take_byte(&in);
  t.shape = kind < 8 ? NULL : malloc(dims * sizeof *t.shape);
  t.strides = kind < 60 ? NULL : malloc(dims * sizeof *t.strides);
  for (size_t d = 0; d < dims; d++) {
    if (t.shape != NULL)
      t.shape[d] = take_number(&in);
    if (t.strides != NULL)
      t.strides[d] = take_number(&in);
  }
  /* Compact strides, by which packed elements are accepted. */
  if (t.shape != NULL && t.strides != NULL && kind > 200 && t.ndim > 0 && t.ndim <= 64) {
    uint64_t stride = 1;
    for (size_t d = dims; d-- > 0;) {
      t.strides[d] = (int64_t)stride;
      stride *= (uint64_t)t.shape[d];
    }
  }
  check_one(&t, flags);
  check_question(&q, &t, flags);
  free(t.shape);
  free(t.strides);
  return 0;
}

#ifdef XCHG_FUZZ_RUNS
int main(void) {
  uint8_t bytes[96];
  for (int run = 0; run < XCHG_FUZZ_RUNS; run++) {
    size_t size = (size_t)test_below((int64_t)sizeof bytes);
    for (size_t i = 0; i < size; i++)
      bytes[i] = (uint8_t)(test_random() >> 32);
    LLVMFuzzerTestOneInput(bytes, size);
    test_checks++;
  }
  return test_end();
}
#endif
