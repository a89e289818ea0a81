/* Shapes and strides: what views are, and what the messages say. */
#include "test.h"

#include "core/layout.h"
#include "xchg.h"

#define MAX INT64_MAX
#define MIN INT64_MIN

static xchg_layout layout_of(int32_t ndim, const int64_t *shape, const int64_t *strides) {
  xchg_layout layout = {.offset = 0, .ndim = ndim, .dtype = XCHG_DTYPE_FLOAT64};
  for (int32_t d = 0; d < ndim; d++) {
    layout.shape[d] = shape[d];
    layout.strides[d] = strides == NULL ? 0 : strides[d];
  }
  if (strides == NULL)
    xchg__layout_contiguous(ndim, shape, layout.strides);
  return layout;
}

#define SHAPE(...) (int32_t)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), ((int64_t[]){__VA_ARGS__})
#define LAYOUT(...) layout_of(SHAPE(__VA_ARGS__), NULL)

/* "offset (shape) (strides)" */
static const char *show(const xchg_layout *layout) {
  static char text[400];
  char shape[160], strides[160];
  snprintf(text, sizeof text, "%lld %s %s", (long long)layout->offset,
           xchg__layout_format(shape, sizeof shape, layout->ndim, layout->shape),
           xchg__layout_format(strides, sizeof strides, layout->ndim, layout->strides));
  return text;
}

static void numel_never_overflows(void) {
  CHECK_EQUAL(xchg__layout_numel(0, NULL), 1);
  CHECK_EQUAL(xchg__layout_numel(SHAPE(2, 3)), 6);
  CHECK_EQUAL(xchg__layout_numel(SHAPE(2, 0, 3)), 0);
  CHECK_EQUAL(xchg__layout_numel(SHAPE(MAX)), MAX);
  CHECK_EQUAL(xchg__layout_numel(SHAPE(MAX, 2)), -1);
  CHECK_EQUAL(xchg__layout_numel(SHAPE(2, -3)), -1);
  CHECK_EQUAL(xchg__layout_numel(SHAPE(0, -3)), -1);
  CHECK_EQUAL(xchg__layout_numel(SHAPE(0, MAX, 2)), -1);
  CHECK_EQUAL(xchg__layout_numel(SHAPE(1LL << 32, 1LL << 32)), -1);
}

static void contiguous_strides(void) {
  int64_t strides[3];
  xchg__layout_contiguous(SHAPE(2, 3, 4), strides);
  CHECK(strides[0] == 12 && strides[1] == 4 && strides[2] == 1);
  xchg__layout_contiguous(SHAPE(2, 0, 4), strides);
  CHECK(strides[0] == 4 && strides[1] == 4 && strides[2] == 1);
}

static void span_covers_both_signs(void) {
  int64_t low, high;
#define STRIDES(...) ((int64_t[]){__VA_ARGS__})
  CHECK_EQUAL(xchg__layout_span(SHAPE(2, 3), STRIDES(-10, 2), &low, &high), 0);
  CHECK(low == -10 && high == 4);
  CHECK_EQUAL(xchg__layout_span(0, NULL, NULL, &low, &high), 0);
  CHECK(low == 0 && high == 0);
  CHECK_EQUAL(xchg__layout_span(SHAPE(0, 3), STRIDES(MAX, MAX), &low, &high), 0);
  CHECK(low == 0 && high == 0);
  CHECK_EQUAL(xchg__layout_span(SHAPE(1, 3), STRIDES(MIN, 1), &low, &high), 0);
  CHECK(low == 0 && high == 2);
  CHECK_EQUAL(xchg__layout_span(SHAPE(3, 3), STRIDES(MAX, 1), &low, &high), -1);
  CHECK_EQUAL(xchg__layout_span(SHAPE(2, 2), STRIDES(MAX, 1), &low, &high), -1);
  CHECK_EQUAL(xchg__layout_span(SHAPE(2, 2), STRIDES(MAX, -2), &low, &high), -1);
  CHECK_EQUAL(xchg__layout_span(SHAPE(2), STRIDES(MAX), &low, &high), 0);
  CHECK(low == 0 && high == MAX);
}

static void format_cuts(void) {
  char text[16];
  CHECK_TEXT(xchg__layout_format(text, sizeof text, 0, NULL), "()");
  CHECK_TEXT(xchg__layout_format(text, sizeof text, SHAPE(7)), "(7)");
  CHECK_TEXT(xchg__layout_format(text, sizeof text, SHAPE(2, 3)), "(2, 3)");
  CHECK_TEXT(xchg__layout_format(text, sizeof text, SHAPE(1, 2, 3, 4, 5, 6)), "(1, 2, 3, 4...)");
  CHECK_TEXT(xchg__layout_format(text, sizeof text, SHAPE(MAX)), "(...)");
  CHECK_TEXT(xchg__layout_format(text, sizeof text, SHAPE(1, MAX)), "(1...)");
}

static void contiguity_ignores_extents_of_one(void) {
  CHECK(xchg_layout_is_contiguous(0, NULL, NULL));
  CHECK(xchg_layout_is_contiguous(SHAPE(2, 3), STRIDES(3, 1)));
  CHECK(xchg_layout_is_contiguous(SHAPE(2, 1, 3), STRIDES(3, 99, 1)));
  CHECK(xchg_layout_is_contiguous(SHAPE(2, 0), STRIDES(5, 7)));
  CHECK(xchg_layout_is_contiguous(SHAPE(0, 2), STRIDES(5, 7)));
  CHECK(xchg_layout_is_contiguous(SHAPE(1), STRIDES(-4)));
  CHECK(!xchg_layout_is_contiguous(SHAPE(2, 3), STRIDES(1, 2)));
  CHECK(!xchg_layout_is_contiguous(SHAPE(2), STRIDES(-1)));
  CHECK(!xchg_layout_is_contiguous(SHAPE(2), STRIDES(0)));
  CHECK(!xchg_layout_is_contiguous(SHAPE(2, MAX, MAX), STRIDES(0, MAX, 1)));
}

static void select_counts_from_one(void) {
  xchg_layout a = LAYOUT(2, 3, 4);
  CHECK_EQUAL(xchg_layout_select(&a, 2, 3, NULL), 0);
  CHECK_TEXT(show(&a), "8 (2, 4) (12, 1)");
  CHECK_EQUAL(xchg_layout_select(&a, -1, -1, NULL), 0);
  CHECK_TEXT(show(&a), "11 (2) (12)");
  CHECK_EQUAL(xchg_layout_select(&a, 1, -2, NULL), 0);
  CHECK_TEXT(show(&a), "11 () ()");

  xchg_layout b = LAYOUT(2, 3), empty = LAYOUT(2, 0);
  CHECK_ERROR(xchg_layout_select(&b, 2, 7, &error), XCHG_E_RANGE,
              "select: index 7 is out of range for dimension 2 of size 3; valid are 1 to 3 and -3 to -1");
  CHECK_ERROR(xchg_layout_select(&b, 2, -4, &error), XCHG_E_RANGE,
              "select: index -4 is out of range for dimension 2 of size 3; valid are 1 to 3 and -3 to -1");
  CHECK_ERROR(xchg_layout_select(&b, 1, 0, &error), XCHG_E_RANGE,
              "select: index 0 is out of range for dimension 1 of size 2; indices count from 1");
  CHECK_ERROR(xchg_layout_select(&b, 0, 1, &error), XCHG_E_RANGE,
              "select: there is no dimension 0; dimensions count from 1");
  CHECK_ERROR(xchg_layout_select(&b, 3, 1, &error), XCHG_E_RANGE,
              "select: dimension 3 is out of range for shape (2, 3); valid are 1 to 2 and -2 to -1");
  CHECK_EQUAL(xchg_layout_select(&b, MIN, 1, NULL), XCHG_E_RANGE);
  CHECK_EQUAL(xchg_layout_select(&b, 1, MIN, NULL), XCHG_E_RANGE);
  CHECK_EQUAL(xchg_layout_select(&b, 1, MAX, NULL), XCHG_E_RANGE);
  CHECK_TEXT(show(&b), "0 (2, 3) (3, 1)");
  CHECK_ERROR(xchg_layout_select(&empty, 2, 1, &error), XCHG_E_RANGE,
              "select: index 1 is out of range for dimension 2 of size 0; it has no elements");
  CHECK_ERROR(xchg_layout_select(&a, 1, 1, &error), XCHG_E_RANGE,
              "select: dimension 1 is out of range: a 0-d tensor has no dimensions; use a tensor with at least one");
  xchg_layout damaged = layout_of(SHAPE(3), STRIDES(MAX));
  CHECK_EQUAL(xchg_layout_select(&damaged, 1, 3, NULL), XCHG_E_RANGE);
}

static void narrow_takes_steps(void) {
  xchg_layout a = LAYOUT(10), b = a, c = a, d = a, e = a, f = a;
  CHECK_EQUAL(xchg_layout_narrow(&a, 1, 3, 4, 1, NULL), 0);
  CHECK_TEXT(show(&a), "2 (4) (1)");
  CHECK_EQUAL(xchg_layout_narrow(&a, -1, -1, 2, -3, NULL), 0);
  CHECK_TEXT(show(&a), "5 (2) (-3)");
  CHECK_EQUAL(xchg_layout_narrow(&b, 1, 10, 10, -1, NULL), 0);
  CHECK_TEXT(show(&b), "9 (10) (-1)");
  CHECK_EQUAL(xchg_layout_narrow(&c, 1, 11, 0, 1, NULL), 0);
  CHECK_TEXT(show(&c), "0 (0) (1)");
  CHECK_EQUAL(xchg_layout_narrow(&c, 1, 1, 0, 1, NULL), 0);
  CHECK_EQUAL(xchg_layout_narrow(&d, 1, 4, 1, MIN, NULL), 0);
  CHECK_TEXT(show(&d), "3 (1) (1)");
  CHECK_EQUAL(xchg_layout_narrow(&e, 1, 1, 4, 3, NULL), 0);
  CHECK_TEXT(show(&e), "0 (4) (3)");

  CHECK_ERROR(xchg_layout_narrow(&f, 1, 8, 4, 1, &error), XCHG_E_RANGE,
              "narrow: length 4 from 8 with step 1 leaves dimension 1 of size 10; at most 3 fit");
  CHECK_ERROR(xchg_layout_narrow(&f, 1, 8, 5, -2, &error), XCHG_E_RANGE,
              "narrow: length 5 from 8 with step -2 leaves dimension 1 of size 10; at most 4 fit");
  CHECK_EQUAL(xchg_layout_narrow(&f, 1, 8, 2, MIN, NULL), XCHG_E_RANGE);
  CHECK_EQUAL(xchg_layout_narrow(&f, 1, 8, MAX, MAX, NULL), XCHG_E_RANGE);
  CHECK_ERROR(xchg_layout_narrow(&f, 1, 1, -1, 1, &error), XCHG_E_RANGE,
              "narrow: length -1 is negative; valid are 0 to 10");
  CHECK_ERROR(xchg_layout_narrow(&f, 1, 1, 2, 0, &error), XCHG_E_ARGUMENT,
              "narrow: step 0 never moves; use expand to repeat an element");
  CHECK_ERROR(xchg_layout_narrow(&f, 1, 0, 2, 1, &error), XCHG_E_RANGE,
              "narrow: start 0 is out of range for dimension 1 of size 10; indices count from 1");
  CHECK_ERROR(xchg_layout_narrow(&f, 1, 11, 1, 1, &error), XCHG_E_RANGE,
              "narrow: start 11 is out of range for dimension 1 of size 10; valid are 1 to 10 and -10 to -1");
  CHECK_TEXT(show(&f), "0 (10) (1)");
}

static void transpose_swaps(void) {
  xchg_layout a = LAYOUT(2, 3, 4);
  CHECK_EQUAL(xchg_layout_transpose(&a, 1, -1, NULL), 0);
  CHECK_TEXT(show(&a), "0 (4, 3, 2) (1, 4, 12)");
  CHECK_EQUAL(xchg_layout_transpose(&a, 2, 2, NULL), 0);
  CHECK_TEXT(show(&a), "0 (4, 3, 2) (1, 4, 12)");
  CHECK_ERROR(xchg_layout_transpose(&a, 1, 4, &error), XCHG_E_RANGE,
              "transpose: dimension 4 is out of range for shape (4, 3, 2); valid are 1 to 3 and -3 to -1");
}

static void reshape_views_where_it_can(void) {
  struct {
    xchg_layout from;
    int32_t ndim;
    int64_t shape[4];
    const char *result; /* NULL: only a copy could */
  } rows[] = {
      {LAYOUT(2, 6), 3, {3, 2, 2}, "0 (3, 2, 2) (4, 2, 1)"},
      {LAYOUT(2, 6), 2, {-1, 4}, "0 (3, 4) (4, 1)"},
      {LAYOUT(12), 3, {1, 12, 1}, "0 (1, 12, 1) (12, 1, 1)"},
      {LAYOUT(1), 0, {0}, "0 () ()"},
      {layout_of(0, NULL, NULL), 2, {1, -1}, "0 (1, 1) (1, 1)"},
      {layout_of(SHAPE(4, 3), STRIDES(6, 2)), 1, {12}, "0 (12) (2)"},
      {layout_of(SHAPE(4, 3), STRIDES(-6, -2)), 2, {2, 6}, "0 (2, 6) (-12, -2)"},
      {layout_of(SHAPE(4, 3), STRIDES(10, 1)), 3, {2, 2, 3}, "0 (2, 2, 3) (20, 10, 1)"},
      {layout_of(SHAPE(4, 3), STRIDES(10, 1)), 1, {12}, NULL},
      {layout_of(SHAPE(4, 3), STRIDES(10, 1)), 2, {6, 2}, NULL},
      {layout_of(SHAPE(3, 4), STRIDES(1, 3)), 1, {12}, NULL},
      {layout_of(SHAPE(3, 1, 4), STRIDES(4, 77, 1)), 1, {12}, "0 (12) (1)"},
      {layout_of(SHAPE(3, 4), STRIDES(0, 0)), 1, {12}, "0 (12) (0)"},
      {layout_of(SHAPE(3, 4), STRIDES(0, 1)), 1, {12}, NULL},
      {layout_of(SHAPE(3, 4), STRIDES(0, 1)), 3, {3, 2, 2}, "0 (3, 2, 2) (0, 2, 1)"},
      {layout_of(SHAPE(0, 3), STRIDES(7, 9)), 2, {5, 0}, "0 (5, 0) (1, 1)"},
      {layout_of(SHAPE(0, 3), STRIDES(7, 9)), 2, {-1, 3}, "0 (0, 3) (3, 1)"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    xchg_layout layout = rows[i].from;
    int rc = xchg_layout_reshape(&layout, rows[i].ndim, rows[i].shape, NULL);
    if (rows[i].result != NULL) {
      CHECK_EQUAL(rc, 0);
      CHECK_TEXT(show(&layout), rows[i].result);
    } else {
      CHECK_EQUAL(rc, XCHG_E_NOT_VIEWABLE);
      CHECK(memcmp(&layout, &rows[i].from, sizeof layout) == 0);
    }
  }
}

static void reshape_says_why_not(void) {
  xchg_layout a = LAYOUT(2, 3), t = layout_of(SHAPE(3, 2), STRIDES(1, 3)), empty = LAYOUT(0, 3);
  CHECK_ERROR(xchg_layout_reshape(&t, SHAPE(6), &error), XCHG_E_NOT_VIEWABLE,
              "reshape: a view of shape (3, 2) cannot be seen as (6) with these strides; use "
              "t:contiguous():reshape(...), which copies");
  CHECK_ERROR(xchg_layout_reshape(&a, SHAPE(4, 2), &error), XCHG_E_SHAPE,
              "reshape: (4, 2) does not hold the 6 elements of shape (2, 3); the products must be equal");
  CHECK_ERROR(xchg_layout_reshape(&a, SHAPE(4, -1), &error), XCHG_E_SHAPE,
              "reshape: (4, -1) does not hold the 6 elements of shape (2, 3); the products must be equal");
  CHECK_ERROR(xchg_layout_reshape(&a, SHAPE(-1, -1), &error), XCHG_E_ARGUMENT,
              "reshape: (-1, -1) has more than one -1; only one extent can be inferred");
  CHECK_ERROR(xchg_layout_reshape(&a, SHAPE(6, -2), &error), XCHG_E_ARGUMENT,
              "reshape: extent -2 of dimension 2 is negative; use 0 or more, or one -1");
  CHECK_ERROR(xchg_layout_reshape(&empty, SHAPE(0, -1), &error), XCHG_E_SHAPE,
              "reshape: the -1 in (0, -1) could be anything, the other extents make 0 elements; write it out");
  CHECK_ERROR(xchg_layout_reshape(&a, 65, a.shape, &error), XCHG_E_RANGE,
              "reshape: a shape of 65 dimensions; 0 to 64 are possible");
  CHECK_EQUAL(xchg_layout_reshape(&a, -1, a.shape, NULL), XCHG_E_RANGE);
  CHECK_EQUAL(xchg_layout_reshape(&a, SHAPE(MAX, MAX), NULL), XCHG_E_SHAPE);
  CHECK_EQUAL(xchg_layout_reshape(&a, SHAPE(MAX, -1), NULL), XCHG_E_SHAPE);
  CHECK_EQUAL(xchg_layout_reshape(&a, SHAPE(MIN), NULL), XCHG_E_ARGUMENT);
  CHECK_TEXT(show(&a), "0 (2, 3) (3, 1)");
}

static void expand_repeats_ones(void) {
  xchg_layout a = LAYOUT(3, 1), b = a, c = a, zero = layout_of(0, NULL, NULL);
  CHECK_EQUAL(xchg_layout_expand(&a, SHAPE(2, 3, 4), NULL), 0);
  CHECK_TEXT(show(&a), "0 (2, 3, 4) (0, 1, 0)");
  CHECK_EQUAL(xchg_layout_expand(&b, SHAPE(-1, 0), NULL), 0);
  CHECK_TEXT(show(&b), "0 (3, 0) (1, 0)");
  CHECK_EQUAL(xchg_layout_expand(&zero, SHAPE(2), NULL), 0);
  CHECK_TEXT(show(&zero), "0 (2) (0)");
  CHECK_ERROR(xchg_layout_expand(&c, SHAPE(4, 5), &error), XCHG_E_SHAPE,
              "expand: shape (3, 1) does not broadcast to (4, 5): dimension 1 has size 3, only extents of 1 repeat");
  CHECK_ERROR(xchg_layout_expand(&c, SHAPE(3), &error), XCHG_E_SHAPE,
              "expand: shape (3, 1) has more dimensions than (3); give at least as many, or select first");
  CHECK_ERROR(xchg_layout_expand(&c, SHAPE(-1, 3, 1), &error), XCHG_E_ARGUMENT,
              "expand: extent -1 of dimension 1 is negative; use 0 or more, or -1 to keep an existing dimension");
  CHECK_ERROR(xchg_layout_expand(&c, SHAPE(MAX, 3, 1), &error), XCHG_E_RANGE,
              "expand: (9223372036854775807, 3, 1) has more elements than can be counted; use smaller extents");
  CHECK_EQUAL(xchg_layout_expand(&c, SHAPE(0, 1), NULL), XCHG_E_SHAPE);
  CHECK_EQUAL(xchg_layout_expand(&c, 65, c.shape, NULL), XCHG_E_RANGE);
  CHECK_TEXT(show(&c), "0 (3, 1) (1, 1)");
}

int main(void) {
  numel_never_overflows();
  contiguous_strides();
  span_covers_both_signs();
  format_cuts();
  contiguity_ignores_extents_of_one();
  select_counts_from_one();
  narrow_takes_steps();
  transpose_swaps();
  reshape_views_where_it_can();
  reshape_says_why_not();
  expand_repeats_ones();
  return test_end();
}
