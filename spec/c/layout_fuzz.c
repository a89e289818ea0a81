/* Any sequence of views over any small tensor, against a list of the elements that each view holds.
 *
 * libFuzzer: clang -fsanitize=fuzzer,address,undefined -Isrc -Ispec/c spec/c/layout_fuzz.c src/core/(*).c
 * With XCHG_FUZZ_RUNS defined it is a program that makes that many inputs itself. */
#include "test.h"

#include <stdlib.h>

#include "core/layout.h"
#include "xchg.h"

enum {
  MOST = 4096 /* elements in a list; larger views are only checked for their span */
};

static void fuzz_fail(const char *what) {
  printf("layout_fuzz: %s\n", what);
  fflush(stdout);
  abort();
}

#define EXPECT(condition)                                                                                              \
  do {                                                                                                                 \
    if (!(condition))                                                                                                  \
      fuzz_fail(#condition);                                                                                           \
  } while (0)

typedef struct input {
  const uint8_t *at;
  size_t left;
} input;

static int64_t take_byte(input *in) {
  if (in->left == 0)
    return 0;
  in->left--;
  return *in->at++;
}

/* Mostly small numbers of either sign, sometimes any 64 bits. */
static int64_t take_number(input *in) {
  static const int64_t extremes[] = {INT64_MIN, INT64_MAX,    INT64_MIN + 1, INT64_MAX - 1,
                                     1LL << 62, -(1LL << 32), 1LL << 31};
  int64_t byte = take_byte(in);
  if (byte < 240)
    return byte % 16 - 7;
  return extremes[byte % 7];
}

/* What a view should be: its shape and the base element of each of its elements, row-major. */
typedef struct model {
  int32_t ndim;
  int64_t shape[XCHG_MAX_NDIM];
  int64_t count;
  int64_t elements[MOST];
} model;

static int64_t element_of(const xchg_layout *layout, int64_t index) {
  int64_t at = layout->offset;
  for (int32_t d = layout->ndim - 1; d >= 0; d--) {
    at += index % layout->shape[d] * layout->strides[d];
    index /= layout->shape[d];
  }
  return at;
}

static void check_model(const model *m, const xchg_layout *layout) {
  EXPECT(layout->ndim == m->ndim);
  for (int32_t d = 0; d < m->ndim; d++)
    EXPECT(layout->shape[d] == m->shape[d]);
  EXPECT(xchg__layout_numel(layout->ndim, layout->shape) == m->count);
  for (int64_t i = 0; i < m->count; i++)
    EXPECT(element_of(layout, i) == m->elements[i]);
}

/* 1..size and -size..-1 to 0-based, else -1. */
static int64_t resolve(int64_t index, int64_t size) {
  if (index >= 1 && index <= size)
    return index - 1;
  return index < 0 && index >= -size ? index + size : -1;
}

/* Keeps the elements whose index in dimension d is first, first + step, ...; `drop` removes the dimension. */
static void model_take(model *m, int32_t d, int64_t first, int64_t length, int64_t step, int drop) {
  static int64_t kept[MOST];
  int64_t inner = 1, outer = 1, count = 0;
  for (int32_t i = 0; i < d; i++)
    outer *= m->shape[i];
  for (int32_t i = d + 1; i < m->ndim; i++)
    inner *= m->shape[i];
  for (int64_t o = 0; o < outer; o++)
    for (int64_t k = 0; k < length; k++)
      for (int64_t i = 0; i < inner; i++)
        kept[count++] = m->elements[(o * m->shape[d] + first + k * step) * inner + i];
  memcpy(m->elements, kept, (size_t)count * sizeof *kept);
  m->count = count;
  m->shape[d] = length;
  if (drop) {
    m->ndim--;
    memmove(&m->shape[d], &m->shape[d + 1], (size_t)(m->ndim - d) * sizeof *m->shape);
  }
}

/* The elements in another order: dimension d of the result is dimension from[d], or a repeated one (-1). */
static void model_arrange(model *m, int32_t ndim, const int64_t *shape, const int32_t *from) {
  static int64_t kept[MOST];
  int64_t old_strides[XCHG_MAX_NDIM], count = 1;
  xchg__layout_contiguous(m->ndim, m->shape, old_strides);
  for (int32_t d = 0; d < ndim; d++)
    count *= shape[d];
  for (int64_t i = 0; i < count; i++) {
    int64_t rest = i, at = 0;
    for (int32_t d = ndim - 1; d >= 0; d--) {
      if (from[d] >= 0)
        at += rest % shape[d] * old_strides[from[d]];
      rest /= shape[d];
    }
    kept[i] = m->elements[at];
  }
  memcpy(m->elements, kept, (size_t)count * sizeof *kept);
  memcpy(m->shape, shape, (size_t)ndim * sizeof *shape);
  m->ndim = ndim;
  m->count = count;
}

/* Some strides reach the model's elements in this shape: there is one candidate for each dimension. */
static int model_viewable(const model *m, int32_t ndim, const int64_t *shape) {
  xchg_layout candidate = {.ndim = ndim};
  int64_t steps[XCHG_MAX_NDIM];
  if (m->count == 0)
    return 1;
  xchg__layout_contiguous(ndim, shape, steps);
  candidate.offset = m->elements[0];
  for (int32_t d = 0; d < ndim; d++) {
    candidate.shape[d] = shape[d];
    candidate.strides[d] = shape[d] > 1 ? m->elements[steps[d]] - m->elements[0] : 0;
  }
  for (int64_t i = 0; i < m->count; i++)
    if (element_of(&candidate, i) != m->elements[i])
      return 0;
  return 1;
}

static int fuzz_select(input *in, model *m, xchg_layout *layout, xchg_error *err) {
  int64_t dim = take_number(in), index = take_number(in);
  int rc = xchg_layout_select(layout, dim, index, err);
  int64_t d = resolve(dim, m->ndim), place = d < 0 ? -1 : resolve(index, m->shape[d]);
  EXPECT((rc == 0) == (place >= 0));
  if (rc == 0)
    model_take(m, (int32_t)d, place, 1, 1, 1);
  return rc;
}

static int fuzz_narrow(input *in, model *m, xchg_layout *layout, xchg_error *err) {
  int64_t dim = take_number(in), start = take_number(in), length = take_number(in), step = take_number(in);
  int rc = xchg_layout_narrow(layout, dim, start, length, step, err);
  int64_t d = resolve(dim, m->ndim), first = d < 0 ? -1 : resolve(start, m->shape[d]);
  int fits = d >= 0 && length >= 0 && step != 0;
  if (fits && length == 0) {
    fits = first >= 0 || start == m->shape[d] + 1;
    first = 0;
  } else if (fits) {
    /* At most `size` elements can be taken, so that the loop is short. */
    fits = first >= 0 && length <= m->shape[d];
    for (int64_t k = 0, at = first; fits && k < length; k++) {
      fits = at >= 0 && at < m->shape[d];
      if (fits && k + 1 < length && __builtin_add_overflow(at, step, &at))
        fits = 0;
    }
  }
  EXPECT((rc == 0) == fits);
  if (rc == 0)
    model_take(m, (int32_t)d, first, length, length > 1 ? step : 1, 0);
  return rc;
}

static int fuzz_transpose(input *in, model *m, xchg_layout *layout, xchg_error *err) {
  int64_t dim1 = take_number(in), dim2 = take_number(in);
  int rc = xchg_layout_transpose(layout, dim1, dim2, err);
  int64_t a = resolve(dim1, m->ndim), b = resolve(dim2, m->ndim);
  EXPECT((rc == 0) == (a >= 0 && b >= 0));
  if (rc == 0) {
    int64_t shape[XCHG_MAX_NDIM];
    int32_t from[XCHG_MAX_NDIM];
    for (int32_t d = 0; d < m->ndim; d++)
      from[d] = d == a ? (int32_t)b : d == b ? (int32_t)a : d;
    for (int32_t d = 0; d < m->ndim; d++)
      shape[d] = m->shape[from[d]];
    model_arrange(m, m->ndim, shape, from);
  }
  return rc;
}

static int fuzz_reshape(input *in, model *m, xchg_layout *layout, xchg_error *err) {
  int64_t shape[XCHG_MAX_NDIM] = {0}, rest = m->count;
  int32_t ndim = (int32_t)(take_byte(in) % 7), hole = -1;
  for (int32_t d = 0; d < ndim; d++) { /* divisors where possible, else the shapes rarely fit */
    int64_t wish = take_number(in);
    shape[d] = wish > 0 && rest > 0 && rest % wish == 0 ? wish : wish < -5 ? wish : rest == 0 ? wish : 1;
    if (d == ndim - 1 && wish % 2 == 0)
      shape[d] = rest;
    if (shape[d] > 0 && rest % shape[d] == 0)
      rest /= shape[d];
  }
  for (int32_t d = 0; d < ndim; d++)
    if (shape[d] == -1)
      hole = hole == -1 ? d : -2;
  xchg_layout before = *layout;
  int rc = xchg_layout_reshape(layout, ndim, shape, err);
  if (hole >= 0) {
    shape[hole] = 1;
    int64_t others = xchg__layout_numel(ndim, shape);
    shape[hole] = others > 0 && m->count % others == 0 ? m->count / others : -1;
  }
  int fits = hole != -2 && xchg__layout_numel(ndim, shape) == m->count && m->count >= 0;
  if (!fits) {
    EXPECT(rc == XCHG_E_SHAPE || rc == XCHG_E_ARGUMENT);
  } else if (model_viewable(m, ndim, shape)) {
    EXPECT(rc == 0);
    memcpy(m->shape, shape, (size_t)ndim * sizeof *shape);
    m->ndim = ndim;
  } else {
    EXPECT(rc == XCHG_E_NOT_VIEWABLE);
  }
  if (rc != 0)
    EXPECT(layout->ndim == before.ndim && layout->offset == before.offset);
  return rc;
}

static int fuzz_expand(input *in, model *m, xchg_layout *layout, xchg_error *err) {
  int64_t shape[XCHG_MAX_NDIM] = {0};
  int32_t from[XCHG_MAX_NDIM];
  int32_t ndim = m->ndim + (int32_t)(take_byte(in) % 4) - 1;
  if (ndim < 0)
    ndim = 0;
  int fits = ndim >= m->ndim;
  for (int32_t d = 0; d < ndim; d++) {
    int32_t own = d - (ndim - m->ndim);
    int64_t wish = take_number(in);
    shape[d] = own >= 0 && wish < 4 && wish != -2 ? -1 : wish;
    int64_t old = own >= 0 && own < m->ndim ? m->shape[own] : 1;
    int64_t want = shape[d] == -1 && own >= 0 ? old : shape[d];
    fits = fits && want >= 0 && (want == old || old == 1);
    from[d] = own >= 0 && old != 1 ? own : -1;
  }
  int rc = xchg_layout_expand(layout, ndim, shape, err);
  int64_t count = 1;
  for (int32_t d = 0; fits && d < ndim; d++) {
    int32_t own = d - (ndim - m->ndim);
    if (shape[d] == -1)
      shape[d] = m->shape[own];
  }
  if (fits)
    count = xchg__layout_numel(ndim, shape);
  EXPECT((rc == 0) == (fits && count >= 0));
  if (rc == 0 && count > MOST)
    return 1; /* right, but too large to follow */
  if (rc == 0)
    model_arrange(m, ndim, shape, from);
  return rc;
}

/* Any strides whatever: nothing may overflow, and a failure changes nothing. */
static void fuzz_hostile(input *in) {
  xchg_layout layout = {.dtype = XCHG_DTYPE_INT8};
  int64_t shape[4], low, high;
  layout.ndim = (int32_t)(take_byte(in) % 5);
  layout.offset = take_number(in);
  for (int32_t d = 0; d < layout.ndim; d++) {
    layout.shape[d] = take_number(in);
    if (layout.shape[d] < 0)
      layout.shape[d] = -(layout.shape[d] + 1);
    layout.strides[d] = take_number(in);
  }
  for (int i = 0; i < 4; i++)
    shape[i] = take_number(in);
  for (int step = 0; step < 6; step++) {
    xchg_layout before = layout;
    int rc = 0;
    switch (take_byte(in) % 6) {
    case 0: rc = xchg_layout_select(&layout, take_number(in), take_number(in), NULL); break;
    case 1:
      rc = xchg_layout_narrow(&layout, take_number(in), take_number(in), take_number(in), take_number(in), NULL);
      break;
    case 2: rc = xchg_layout_transpose(&layout, take_number(in), take_number(in), NULL); break;
    case 3: rc = xchg_layout_reshape(&layout, (int32_t)(take_byte(in) % 5), shape, NULL); break;
    case 4: rc = xchg_layout_expand(&layout, (int32_t)(take_byte(in) % 5), shape, NULL); break;
    default: xchg_layout_is_contiguous(layout.ndim, layout.shape, layout.strides);
    }
    if (rc != 0)
      EXPECT(memcmp(&before, &layout, sizeof layout) == 0);
    if (xchg__layout_span(layout.ndim, layout.shape, layout.strides, &low, &high) == 0)
      EXPECT(low <= 0 && high >= 0);
  }
}

static void fuzz_views(input *in) {
  static model m;
  xchg_layout layout = {.dtype = XCHG_DTYPE_INT8};
  m.ndim = layout.ndim = (int32_t)(take_byte(in) % 5);
  for (int32_t d = 0; d < m.ndim; d++)
    m.shape[d] = layout.shape[d] = take_byte(in) % 7;
  xchg__layout_contiguous(m.ndim, layout.shape, layout.strides);
  int64_t base = m.count = xchg__layout_numel(m.ndim, m.shape);
  for (int64_t i = 0; i < m.count; i++)
    m.elements[i] = i;
  for (int step = 0; step < 12 && in->left > 0; step++) {
    static int (*const views[])(input *, model *, xchg_layout *,
                                xchg_error *) = {fuzz_select, fuzz_narrow, fuzz_transpose, fuzz_reshape, fuzz_expand};
    xchg_error error = {0};
    int64_t low, high;
    int rc = views[take_byte(in) % 5](in, &m, &layout, &error);
    EXPECT((rc < 0) == (error.code != 0) && (rc > 0 || error.code == rc));
    EXPECT((rc < 0) == (error.message[0] != 0));
    EXPECT(xchg__layout_span(layout.ndim, layout.shape, layout.strides, &low, &high) == 0);
    if (xchg__layout_numel(layout.ndim, layout.shape) > 0)
      EXPECT(layout.offset + low >= 0 && layout.offset + high < base);
    if (rc > 0)
      return;
    check_model(&m, &layout);
    for (int32_t d = 0; d < layout.ndim; d++)
      if (layout.shape[d] > MOST) /* of a tensor without elements */
        return;
    if (layout.ndim > 8)
      return;
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  input in = {data, size};
  if (take_byte(&in) % 4 == 0)
    fuzz_hostile(&in);
  else
    fuzz_views(&in);
  return 0;
}

#ifdef XCHG_FUZZ_RUNS
int main(void) {
  uint8_t data[96];
  for (int run = 0; run < XCHG_FUZZ_RUNS; run++) {
    size_t size = (size_t)test_below(sizeof data + 1);
    for (size_t i = 0; i < size; i++)
      data[i] = (uint8_t)test_random();
    LLVMFuzzerTestOneInput(data, size);
    CHECK(size <= sizeof data);
  }
  return test_end();
}
#endif
