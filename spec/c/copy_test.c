/* Copy, fill and compare, against one element at a time. */
#include "test.h"

#include <stdlib.h>

#include "head.h"
#include "oracle.h"

enum { MAX_NDIM = 5, MAX_EXTENT = 6, BYTES = 1 << 20 };

/* A strided tensor somewhere in a buffer. */
typedef struct strided {
  int32_t ndim, dtype;
  int64_t shape[MAX_NDIM + 1], strides[MAX_NDIM + 1];
  int64_t first; /* element of the buffer */
} strided;

static char *buffer_a, *buffer_b, *wanted;

static xchg_tensor head_of(const strided *s, char *buffer) {
  return head_make(s->dtype, buffer + s->first * oracle_size(s->dtype), s->ndim, s->shape, s->strides);
}

/* Lays a shape out: dimensions in any order, gaps between elements, either direction. */
static void lay_out(strided *s) {
  int32_t order[MAX_NDIM + 1];
  int64_t step = 1 + test_below(3) / 2, first = test_below(5);
  for (int32_t d = 0; d < s->ndim; d++)
    order[d] = s->ndim - 1 - d;
  if (test_below(2) == 0) {
    for (int32_t d = s->ndim - 1; d > 0; d--) {
      int32_t other = (int32_t)test_below(d + 1), kept = order[d];
      order[d] = order[other];
      order[other] = kept;
    }
  }
  for (int32_t i = 0; i < s->ndim; i++) {
    int32_t d = order[i];
    s->strides[d] = step;
    if (s->shape[d] > 1) {
      step *= s->shape[d];
      step += test_below(4) == 0 ? test_below(3) : 0;
      if (test_below(3) == 0) {
        first += (s->shape[d] - 1) * s->strides[d];
        s->strides[d] = -s->strides[d];
      }
    }
  }
  s->first = first;
}

static void any_shape(strided *s, int32_t dtype) {
  s->dtype = dtype;
  s->ndim = (int32_t)test_below(MAX_NDIM);
  for (int32_t d = 0; d < s->ndim; d++)
    s->shape[d] = test_below(20) == 0 ? 0 : 1 + test_below(MAX_EXTENT);
  if (s->ndim > 0 && test_below(3) == 0) /* long runs too: over the block of the engine */
    s->shape[test_below(s->ndim)] = 20 + test_below(s->ndim > 2 ? 30 : 700);
}

/* A shape that broadcasts to that of `to`. */
static void broadcasting_shape(strided *s, const strided *to, int32_t dtype) {
  int32_t dropped = test_below(3) == 0 ? (int32_t)test_below(to->ndim + 1) : 0;
  s->dtype = dtype;
  s->ndim = to->ndim - dropped;
  for (int32_t d = 0; d < s->ndim; d++)
    s->shape[d] = test_below(6) == 0 ? 1 : to->shape[d + dropped];
}

/* Element `index` of the shape of `like`, in `s`, which broadcasts to it. */
static int64_t element_of(const strided *s, const strided *like, int64_t index) {
  int64_t at = s->first;
  for (int32_t d = like->ndim - 1; d >= 0; d--) {
    int32_t own = d - (like->ndim - s->ndim);
    if (own >= 0 && s->shape[own] != 1)
      at += index % like->shape[d] * s->strides[own];
    index /= like->shape[d];
  }
  return at;
}

/* Bit patterns where casts go wrong: borders, halves, NaNs, infinities, and anything. */
static void any_element(int32_t dtype, void *at) {
  static const double borders[] = {
      0,        -0.0,    0.5,        -0.5,          0.99,          1.5,          2.5,          -1,
      127,      127.9,   128,        -128,          -128.9,        -129,         255,          255.5,
      256,      32767,   32768,      -32768,        -32769,        65504,        65519.99,     65520,
      65535,    65536,   2147483647, 2147483648.0,  -2147483649.0, 4294967295.0, 4294967296.0, 0x1p53,
      0x1p63,   -0x1p63, 0x1p64,     0x1.fffffep63, 1e19,          -1e19,        1e30,         3.4e38,
      3.41e38,  1e300,   6e-8,       2.9e-8,        1e-40,         1e-45,        1e-300,       INFINITY,
      -INFINITY};
  static const int64_t whole[] = {0,
                                  1,
                                  -1,
                                  127,
                                  128,
                                  255,
                                  256,
                                  65535,
                                  65519,
                                  65520,
                                  2147483647,
                                  4294967295,
                                  16777217,
                                  16777219,
                                  2049,
                                  2051,
                                  257,
                                  259,
                                  INT64_MAX,
                                  INT64_MIN,
                                  (1LL << 53) + 1,
                                  (1LL << 62) + (1LL << 54) + 1,
                                  -(1LL << 40) - 1};
  int64_t choice = test_below(4);
  uint64_t random[2] = {test_random(), test_random()};
  oracle_value value = {0, 0, 0, 0};
  if (choice == 0) {
    memcpy(at, random, (size_t)oracle_size(dtype));
    return;
  }
  if (dtype < XCHG_DTYPE_FLOAT16) {
    value.whole = 1;
    value.low = choice == 1 ? (uint64_t)whole[test_below(sizeof whole / sizeof *whole)] : random[0] >> random[1] % 64;
  } else {
    value.real =
        choice == 1 ? borders[test_below(sizeof borders / sizeof *borders)] : (double)(int64_t)random[0] / 0x1p40;
    value.imaginary = random[1] % 2 ? borders[test_below(sizeof borders / sizeof *borders)] : 0;
  }
  oracle_write(dtype, at, value);
}

/* All elements that a shape reaches. */
static void any_elements(const strided *s, char *buffer) {
  int64_t count = xchg__layout_numel(s->ndim, s->shape);
  for (int64_t i = 0; i < count; i++)
    any_element(s->dtype, buffer + element_of(s, s, i) * oracle_size(s->dtype));
}

static void compare_buffers(const strided *dst, char *got) {
  int64_t count = xchg__layout_numel(dst->ndim, dst->shape);
  int size = oracle_size(dst->dtype);
  int same = 1;
  for (int64_t i = 0; i < count; i++) {
    int64_t at = element_of(dst, dst, i) * size;
    same = same && oracle_same(dst->dtype, got + at, wanted + at);
    memcpy(wanted + at, got + at, (size_t)size); /* NaNs may differ in their bits */
  }
  CHECK(same);
  CHECK(memcmp(got, wanted, BYTES) == 0);
}

/* `source` may be the destination's buffer. */
static void copy_once(int32_t to, int32_t from, char *source) {
  strided dst, src;
  any_shape(&dst, to);
  lay_out(&dst);
  broadcasting_shape(&src, &dst, from);
  lay_out(&src);
  if (source == buffer_a) { /* near each other, aligned */
    dst.first += 16 * test_below(8);
    src.first += 16 * test_below(8);
  }
  if (test_below(6) == 0) { /* a producer's own broadcast */
    for (int32_t d = 0; d < src.ndim; d++)
      if (src.strides[d] > 0 && test_below(2) == 0)
        src.strides[d] = 0;
  }
  any_elements(&src, source);
  memcpy(wanted, buffer_a, BYTES);

  int64_t count = xchg__layout_numel(dst.ndim, dst.shape);
  oracle_value *values = malloc((size_t)(count + 1) * sizeof *values);
  for (int64_t i = 0; i < count; i++)
    values[i] = oracle_read(from, source + element_of(&src, &dst, i) * oracle_size(from));
  if (to == from) { /* bits, not values */
    char *bits = malloc((size_t)(count + 1) * 16);
    int size = oracle_size(to);
    for (int64_t i = 0; i < count; i++)
      memcpy(bits + i * size, source + element_of(&src, &dst, i) * size, (size_t)size);
    for (int64_t i = 0; i < count; i++)
      memcpy(wanted + element_of(&dst, &dst, i) * size, bits + i * size, (size_t)size);
    free(bits);
  } else {
    for (int64_t i = 0; i < count; i++)
      oracle_write(to, wanted + element_of(&dst, &dst, i) * oracle_size(to), values[i]);
  }
  free(values);

  xchg_tensor dst_head = head_of(&dst, buffer_a), src_head = head_of(&src, source);
  src_head._flags |= XCHG_TENSOR_READONLY;
  xchg_error error = {0};
  if (oracle_is_complex(from) && !oracle_is_complex(to) && to != XCHG_DTYPE_BOOL) {
    CHECK_EQUAL(xchg_tensor_copy(&dst_head, &src_head, &error), XCHG_E_DTYPE);
    return;
  }
  CHECK_EQUAL(xchg_tensor_copy(&dst_head, &src_head, &error), 0);
  if (error.code != 0)
    puts(error.message);
  if (to == from)
    CHECK(memcmp(buffer_a, wanted, BYTES) == 0);
  else
    compare_buffers(&dst, buffer_a);
}

/* valgrind computes long double as double, in which the oracle would round 64-bit integers twice. */
static int oracle_is_exact(int32_t to, int32_t from) {
  volatile long double wide = 0x1p63L;
  int large = from == XCHG_DTYPE_INT64 || from == XCHG_DTYPE_UINT64;
  return !large || to < XCHG_DTYPE_FLOAT16 || wide + 1 != wide;
}

static void copies_every_pair(void) {
  for (int32_t to = 1; to <= XCHG_DTYPE_LAST_READABLE; to++) {
    for (int32_t from = 1; from <= XCHG_DTYPE_LAST_READABLE; from++) {
      if (!oracle_is_exact(to, from))
        continue;
      int failures = test_failures;
      for (int i = 0; i < 12; i++)
        copy_once(to, from, buffer_b);
      for (int i = 0; i < 8; i++)
        copy_once(to, from, buffer_a);
      if (test_failures != failures)
        printf("  in casts from %s to %s\n", xchg_dtype_info(from)->name, xchg_dtype_info(to)->name);
    }
  }
}

static void fills_any_layout(void) {
  for (int i = 0; i < 600; i++) {
    strided s;
    char element[16];
    any_shape(&s, 1 + (int32_t)test_below(XCHG_DTYPE_LAST_READABLE));
    lay_out(&s);
    for (int32_t d = 0; d < s.ndim; d++)
      if (s.strides[d] > 0 && test_below(5) == 0)
        s.strides[d] = 0;
    if (i % 3 == 0)
      memset(element, (int)test_below(2) * 255, sizeof element);
    else
      any_element(s.dtype, element);
    int size = oracle_size(s.dtype);
    memcpy(wanted, buffer_a, BYTES);
    for (int64_t e = xchg__layout_numel(s.ndim, s.shape) - 1; e >= 0; e--)
      memcpy(wanted + element_of(&s, &s, e) * size, element, (size_t)size);
    xchg_tensor head = head_of(&s, buffer_a);
    CHECK_EQUAL(xchg_tensor_fill(&head, element, NULL), 0);
    CHECK(memcmp(buffer_a, wanted, BYTES) == 0);
  }
}

static void compares_any_layout(void) {
  for (int i = 0; i < 400; i++) {
    strided a, b;
    any_shape(&a, 1 + (int32_t)test_below(XCHG_DTYPE_LAST_READABLE));
    lay_out(&a);
    b = a;
    lay_out(&b);
    int64_t count = xchg__layout_numel(a.ndim, a.shape);
    int size = oracle_size(a.dtype), nan = 0;
    any_elements(&a, buffer_a);
    for (int64_t e = 0; e < count; e++) {
      oracle_value value = oracle_read(a.dtype, buffer_a + element_of(&a, &a, e) * size);
      nan = nan || value.real != value.real || value.imaginary != value.imaginary;
      memcpy(buffer_b + element_of(&b, &b, e) * size, buffer_a + element_of(&a, &a, e) * size, (size_t)size);
    }
    xchg_tensor x = head_of(&a, buffer_a), y = head_of(&b, buffer_b);
    CHECK_EQUAL(xchg_tensor_equal(&x, &y, NULL), !nan);
    if (count > 0) {
      char *at = buffer_b + element_of(&b, &b, test_below(count)) * size;
      oracle_value one = {1, 0, 1, 1}, two = {2, 0, 1, 2};
      int was_one = oracle_read(a.dtype, at).real == 1;
      oracle_write(a.dtype, at,
                   a.dtype == XCHG_DTYPE_BOOL ? (was_one ? (oracle_value){0, 0, 1, 0} : one)
                   : was_one                  ? two
                                              : one);
      CHECK_EQUAL(xchg_tensor_equal(&x, &y, NULL), 0);
    }
  }
}

/* ---- single cases -------------------------------------------------------------------------------- */

static const int64_t ONE = 1, TWO = 2, THREE = 3, EIGHT = 8;

static void equality_is_of_numbers(void) {
  uint64_t big = UINT64_MAX, border = 1ULL << 63;
  int64_t minus = -1, lowest = INT64_MIN, odd = (1LL << 53) + 1;
  double lowest_double = -0x1p63, border_double = 0x1p63, odd_double = 0x1p53, half = 0.5, nan = NAN;
  double zero[2] = {-0.0, 0}, imaginary[2] = {0, 1};
  uint8_t yes = 7;
  int8_t one = 1;
  struct {
    int32_t dtype_a;
    void *a;
    int32_t dtype_b;
    void *b;
    int equal;
  } rows[] = {
      {XCHG_DTYPE_UINT64, &big, XCHG_DTYPE_INT64, &minus, 0},
      {XCHG_DTYPE_UINT64, &border, XCHG_DTYPE_INT64, &lowest, 0},
      {XCHG_DTYPE_UINT64, &border, XCHG_DTYPE_FLOAT64, &border_double, 1},
      {XCHG_DTYPE_INT64, &lowest, XCHG_DTYPE_FLOAT64, &lowest_double, 1},
      {XCHG_DTYPE_INT64, &odd, XCHG_DTYPE_FLOAT64, &odd_double, 0},
      {XCHG_DTYPE_FLOAT64, &half, XCHG_DTYPE_FLOAT64, &half, 1},
      {XCHG_DTYPE_FLOAT64, &nan, XCHG_DTYPE_FLOAT64, &nan, 0},
      {XCHG_DTYPE_COMPLEX128, zero, XCHG_DTYPE_FLOAT64, &zero[1], 1},
      {XCHG_DTYPE_COMPLEX128, imaginary, XCHG_DTYPE_FLOAT64, &zero[1], 0},
      {XCHG_DTYPE_BOOL, &yes, XCHG_DTYPE_INT8, &one, 1},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    xchg_tensor a = head_row(rows[i].dtype_a, rows[i].a, &ONE), b = head_row(rows[i].dtype_b, rows[i].b, &ONE);
    CHECK_EQUAL(xchg_tensor_equal(&a, &b, NULL), rows[i].equal);
    CHECK_EQUAL(xchg_tensor_equal(&b, &a, NULL), rows[i].equal);
  }
  xchg_tensor scalar = head_make(XCHG_DTYPE_INT8, &one, 0, NULL, NULL), row = head_row(XCHG_DTYPE_INT8, &one, &ONE);
  CHECK_EQUAL(xchg_tensor_equal(&scalar, &row, NULL), 0);
  CHECK_EQUAL(xchg_tensor_equal(&scalar, &scalar, NULL), 1);
}

static void bits_survive(void) {
  uint32_t signalling[2] = {0x7f800001, 0xffbadbad}, copy[2] = {0, 0};
  uint8_t odd_bools[3] = {0, 2, 255};
  int32_t numbers[3] = {-1, -1, -1};
  xchg_tensor from = head_row(XCHG_DTYPE_FLOAT32, signalling, &TWO), to = head_row(XCHG_DTYPE_FLOAT32, copy, &TWO);
  CHECK_EQUAL(xchg_tensor_copy(&to, &from, NULL), 0);
  CHECK(copy[0] == signalling[0] && copy[1] == signalling[1]);
  from = head_row(XCHG_DTYPE_BOOL, odd_bools, &THREE);
  to = head_row(XCHG_DTYPE_INT32, numbers, &THREE);
  CHECK_EQUAL(xchg_tensor_copy(&to, &from, NULL), 0);
  CHECK(numbers[0] == 0 && numbers[1] == 1 && numbers[2] == 1);
}

static void unreadable_dtypes_move(void) {
  uint8_t from[8] = {1, 2, 3, 4, 5, 6, 7, 8}, to[8] = {0};
  int64_t four = 4, minus = -2, two_strides = 2;
  xchg_tensor a = head_make(XCHG_DTYPE_FLOAT8_E4M3FN, from, 1, &four, &two_strides);
  xchg_tensor b = head_make(XCHG_DTYPE_FLOAT8_E4M3FN, to + 7, 1, &four, &minus);
  xchg_tensor c = head_row(XCHG_DTYPE_FLOAT8_E5M2, to, &four), wide = head_row(XCHG_DTYPE_COMPLEX32, from, &TWO);
  xchg_tensor wide_to = head_row(XCHG_DTYPE_COMPLEX32, to, &TWO);
  CHECK_EQUAL(xchg_tensor_copy(&b, &a, NULL), 0);
  CHECK(to[7] == 1 && to[5] == 3 && to[3] == 5 && to[1] == 7 && to[0] == 0 && to[6] == 0);
  CHECK_ERROR(xchg_tensor_copy(&c, &a, &error), XCHG_E_DTYPE,
              "copy: float8_e4m3fn cannot be cast to float8_e5m2 here; convert it in the library that made the source");
  CHECK_ERROR(xchg_tensor_equal(&a, &c, &error), XCHG_E_DTYPE,
              "equal: float8_e4m3fn elements cannot be compared here; convert them in the library that made them");
  CHECK_EQUAL(xchg_tensor_copy(&wide_to, &wide, NULL), 0);
  CHECK(memcmp(from, to, 8) == 0);
}

static void packed_dtypes_move_whole(void) {
  uint8_t from[4] = {0xab, 0xcd, 0xef, 0x12}, to[4] = {0, 0, 0x70, 0x55};
  int64_t five = 5;
  xchg_tensor a = head_row(XCHG_DTYPE_FLOAT4_E2M1FN, from, &five), b = head_row(XCHG_DTYPE_FLOAT4_E2M1FN, to, &five);
  xchg_tensor strided_source = head_make(XCHG_DTYPE_FLOAT4_E2M1FN, from, 1, &five, &TWO);
  CHECK_EQUAL(xchg_tensor_copy(&b, &a, NULL), 0);
  CHECK(to[0] == 0xab && to[1] == 0xcd && to[2] == 0x7f && to[3] == 0x55);
  CHECK_EQUAL(xchg_tensor_copy(&b, &strided_source, NULL), XCHG_E_DTYPE);
  CHECK_EQUAL(xchg_tensor_fill(&b, from, NULL), XCHG_E_DTYPE);
}

static void refusals_say_why(void) {
  double memory[9] = {0};
  int64_t still = 0, square[2] = {2, 3}, square_strides[2] = {3, 1};
  xchg_tensor good = head_row(XCHG_DTYPE_FLOAT64, memory, &EIGHT), bad = good, complex_source = good;
  complex_source._dtype = XCHG_DTYPE_COMPLEX64;
  bad._flags |= XCHG_TENSOR_READONLY;
  CHECK_ERROR(xchg_tensor_copy(&bad, &good, &error), XCHG_E_READONLY,
              "copy: the destination is read-only; write into t:clone()");
  CHECK_EQUAL(xchg_tensor_fill(&bad, memory, NULL), XCHG_E_READONLY);
  bad = good;
  bad._slot = 0;
  CHECK_ERROR(xchg_tensor_copy(&good, &bad, &error), XCHG_E_RELEASED,
              "copy: the source is released; use tensors before t:release()");
  CHECK_EQUAL(xchg_tensor_copy(&bad, &good, NULL), XCHG_E_RELEASED);
  CHECK_EQUAL(xchg_tensor_fill(&bad, memory, NULL), XCHG_E_RELEASED);
  CHECK_EQUAL(xchg_tensor_equal(&bad, &good, NULL), XCHG_E_RELEASED);
  CHECK_EQUAL(xchg_tensor_equal(&good, &bad, NULL), XCHG_E_RELEASED);
  bad = good;
  bad._flags = 0;
  bad._device_type = kDLCUDA;
  bad._device_id = 1;
  bad._data = NULL;
  CHECK_ERROR(xchg_tensor_copy(&good, &bad, &error), XCHG_E_DEVICE,
              "copy: the source is in cuda:1 memory, which the host cannot reach; move it with t:to(\"cpu\")");
  CHECK_EQUAL(xchg_tensor_copy(&bad, &good, NULL), XCHG_E_DEVICE);
  CHECK_EQUAL(xchg_tensor_fill(&bad, memory, NULL), XCHG_E_DEVICE);
  CHECK_ERROR(xchg_tensor_copy(&good, &complex_source, &error), XCHG_E_DTYPE,
              "copy: casting complex64 to float64 would drop the imaginary part; copy into a complex tensor, or take "
              "the real part in the library that made the source");
  bad = head_make(XCHG_DTYPE_FLOAT64, memory, 1, &EIGHT, &still);
  CHECK_ERROR(xchg_tensor_copy(&bad, &good, &error), XCHG_E_ARGUMENT,
              "copy: the destination repeats one element along dimension 1 (stride 0, size 8), which can hold one "
              "value only; write into t:contiguous()");
  bad = head_make(XCHG_DTYPE_FLOAT64, memory, 2, square, square_strides);
  CHECK_ERROR(xchg_tensor_copy(&good, &bad, &error), XCHG_E_SHAPE,
              "copy: shape (2, 3) does not broadcast to (8); extents must be equal from the last dimension on, or 1 in "
              "the source");
  CHECK_EQUAL(xchg_tensor_copy(&bad, &good, NULL), XCHG_E_SHAPE);
}

static void nothing_has_no_address(void) {
  int64_t shape[3] = {4, 0, INT64_MAX / 4}, strides[3] = {-INT64_MAX / 4, INT64_MAX / 4, -1};
  double one = 1;
  xchg_tensor empty = head_make(XCHG_DTYPE_FLOAT64, NULL, 3, shape, strides);
  xchg_tensor other = head_make(XCHG_DTYPE_INT8, NULL, 3, shape, strides);
  xchg_tensor scalar = head_make(XCHG_DTYPE_FLOAT64, &one, 0, NULL, NULL);
  CHECK_EQUAL(xchg_tensor_copy(&empty, &other, NULL), 0);
  CHECK_EQUAL(xchg_tensor_copy(&empty, &scalar, NULL), 0);
  CHECK_EQUAL(xchg_tensor_copy(&scalar, &empty, NULL), XCHG_E_SHAPE);
  CHECK_EQUAL(xchg_tensor_fill(&empty, &one, NULL), 0);
  CHECK_EQUAL(xchg_tensor_equal(&empty, &other, NULL), 1);
}

int main(void) {
  buffer_a = malloc(BYTES);
  buffer_b = malloc(BYTES);
  wanted = malloc(BYTES);
  if (buffer_a == NULL || buffer_b == NULL || wanted == NULL)
    return 2;
  memset(buffer_a, 0xa5, BYTES);
  memset(buffer_b, 0x5a, BYTES);
  copies_every_pair();
  fills_any_layout();
  compares_any_layout();
  equality_is_of_numbers();
  bits_survive();
  unreadable_dtypes_move();
  packed_dtypes_move_whole();
  refusals_say_why();
  nothing_has_no_address();
  free(buffer_a);
  free(buffer_b);
  free(wanted);
  return test_end();
}
