/* 16-bit floats: every value, every border between two values, single rounding. */
#include "test.h"

#include <math.h>
#include <pthread.h>

#include "core/scalar.h"

/* The value of a 16-bit float by the definition of the format; not for NaN and infinity. */
static double value_of(uint16_t bits, int fraction_bits, int bias) {
  int exponent = (bits & 0x7fff) >> fraction_bits;
  int fraction = bits & ((1 << fraction_bits) - 1);
  double magnitude = exponent == 0 ? ldexp(fraction, 1 - bias - fraction_bits)
                                   : ldexp((1 << fraction_bits) + fraction, exponent - bias - fraction_bits);
  return bits & 0x8000 ? -magnitude : magnitude;
}

typedef struct format {
  int fraction_bits, bias;
  uint16_t infinity;
  uint16_t (*from_double)(double);
  float (*to_float)(uint16_t);
} format;

static const format HALF = {10, 15, 0x7c00, xchg_float16_from_double, xchg__float16_to_float};
static const format BRAIN = {7, 127, 0x7f80, xchg_bfloat16_from_double, xchg__bfloat16_to_float};

static double value_in(const format *f, uint16_t bits) {
  /* What infinity would be if the format went on: rounding to it begins half-way there. */
  return value_of(bits, f->fraction_bits, f->bias);
}

/* Nearest even by search: the slow way. */
static uint16_t nearest(const format *f, double value) {
  double magnitude = fabs(value);
  uint16_t sign = signbit(value) ? 0x8000 : 0, low = 0, high = f->infinity;
  if (magnitude >= value_in(f, high))
    return sign | high;
  while (high - low > 1) {
    uint16_t middle = (uint16_t)((low + high) / 2);
    if (value_in(f, middle) <= magnitude)
      low = middle;
    else
      high = middle;
  }
  /* Both differences are exact: Sterbenz' lemma, or low is 0. */
  double below = magnitude - value_in(f, low), above = value_in(f, high) - magnitude;
  if (low == 0 && magnitude < value_in(f, 1) / 2)
    return sign;
  return sign | (below < above || (below == above && low % 2 == 0) ? low : high);
}

static void reads_every_value(const format *f) {
  for (uint32_t i = 0; i < 65536; i++) {
    uint16_t bits = (uint16_t)i, magnitude = bits & 0x7fff;
    float value = f->to_float(bits);
    if (magnitude > f->infinity) {
      uint32_t canonical;
      memcpy(&canonical, &value, sizeof canonical);
      CHECK_EQUAL(canonical, 0x7fc00000);
    } else if (magnitude == f->infinity) {
      CHECK(isinf(value) && !signbit(value) == !(bits & 0x8000));
    } else {
      CHECK((double)value == value_in(f, bits) && !signbit(value) == !(bits & 0x8000));
      CHECK_EQUAL(f->from_double(value), bits);
    }
  }
}

static void rounds_at_every_border(const format *f) {
  for (uint16_t low = 0; low < f->infinity; low++) {
    double a = value_in(f, low), b = value_in(f, (uint16_t)(low + 1)), middle = a + (b - a) / 2;
    uint16_t even = (uint16_t)(low + low % 2);
    CHECK_EQUAL(f->from_double(middle), even);
    CHECK_EQUAL(f->from_double(nextafter(middle, 0)), low);
    CHECK_EQUAL(f->from_double(nextafter(middle, INFINITY)), low + 1);
    CHECK_EQUAL(f->from_double(-middle), even | 0x8000);
    CHECK_EQUAL(f->from_double(a + (b - a) / 4), low);
    CHECK_EQUAL(f->from_double(a + (b - a) * 3 / 4), low + 1);
    CHECK_EQUAL(f->from_double(nextafter(b, 0)), low + 1);
  }
}

static void rounds_any_double(const format *f) {
  for (int i = 0; i < 1000000; i++) {
    double value;
    uint64_t bits = test_random();
    if (i % 4 != 0) /* most near the format's own range */
      bits = (bits & 0x800fffffffffffff) |
             (uint64_t)(1023 + test_below(2 * f->bias + 2 * f->fraction_bits + 8) - f->bias - f->fraction_bits - 4)
                 << 52;
    memcpy(&value, &bits, sizeof value);
    if (value == value)
      CHECK_EQUAL(f->from_double(value), nearest(f, value));
  }
}

static void keeps_special_values(const format *f) {
  double payload;
  uint64_t bits = 0xfff0000000000001; /* a signalling NaN whose payload the format cannot hold */
  memcpy(&payload, &bits, sizeof payload);
  CHECK_EQUAL(f->from_double(INFINITY), f->infinity);
  CHECK_EQUAL(f->from_double(-INFINITY), f->infinity | 0x8000);
  CHECK((f->from_double(NAN) & 0x7fff) > f->infinity);
  CHECK((f->from_double(payload) & 0x7fff) > f->infinity);
  CHECK_EQUAL(f->from_double(0.0), 0);
  CHECK_EQUAL(f->from_double(-0.0), 0x8000);
  CHECK_EQUAL(f->from_double(4.9e-324), 0);
  CHECK_EQUAL(f->from_double(-4.9e-324), 0x8000);
  CHECK_EQUAL(f->from_double(1.7e308), f->infinity);
}

static void integers_round_once(void) {
  /* 2^53 is even, 2^53 + 1 is exactly between two doubles: neither may hide it. */
  struct {
    uint64_t value;
    uint16_t brain;
  } rows[] = {
      {(1ULL << 63) + (1ULL << 55), 0x5f00},     /* a tie of bfloat16, to even */
      {(1ULL << 63) + (1ULL << 55) + 1, 0x5f01}, /* a double would make it a tie */
      {(1ULL << 63) + (1ULL << 55) - 1, 0x5f00},
      {(1ULL << 63) + 3 * (1ULL << 55) - 1, 0x5f01},
      {(1ULL << 63) + 3 * (1ULL << 55), 0x5f02},
      {UINT64_MAX, 0x5f80},
      {(1ULL << 62) + (1ULL << 54) + 1, 0x5e81},
      {0, 0},
      {1, 0x3f80},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    CHECK_EQUAL(xchg_bfloat16_from_double(xchg__double_from_uint64_odd(rows[i].value)), rows[i].brain);
    if (rows[i].value <= INT64_MAX) {
      int64_t value = (int64_t)rows[i].value;
      CHECK_EQUAL(xchg_bfloat16_from_double(xchg__double_from_int64_odd(value)), rows[i].brain);
      CHECK_EQUAL(xchg_bfloat16_from_double(xchg__double_from_int64_odd(-value)),
                  value == 0 ? 0 : rows[i].brain | 0x8000);
    }
  }
  CHECK(xchg__double_from_int64_odd(INT64_MIN) == -0x1p63);
  for (int i = 0; i < 100000; i++) {
    uint64_t value = test_random() >> test_below(64);
    double odd = xchg__double_from_uint64_odd(value);
    if (value <= 1ULL << 53) {
      CHECK(odd == (double)value);
    } else {
      /* One of the two doubles around it. */
      double near = (double)value;
      CHECK(odd == near || odd == nextafter(near, 0) || odd == nextafter(near, INFINITY));
      CHECK((float)odd == (float)value);
    }
  }
}

static void *first_use(void *table) {
  *(const float **)table = xchg_float16_table();
  return NULL;
}

static void table_is_made_once(void) {
  pthread_t threads[8];
  const float *tables[8];
  for (int i = 0; i < 8; i++)
    CHECK_EQUAL(pthread_create(&threads[i], NULL, first_use, &tables[i]), 0);
  for (int i = 0; i < 8; i++) {
    pthread_join(threads[i], NULL);
    CHECK(tables[i] == tables[0]);
    CHECK(tables[i][0x3c00] == 1.0f && tables[i][0xffff] != tables[i][0xffff]);
  }
  for (uint32_t i = 0; i < 65536; i++) {
    float value = xchg__float16_to_float((uint16_t)i);
    CHECK(memcmp(&tables[0][i], &value, sizeof value) == 0);
  }
}

int main(void) {
  const format *formats[] = {&HALF, &BRAIN};
  table_is_made_once();
  for (int i = 0; i < 2; i++) {
    reads_every_value(formats[i]);
    rounds_at_every_border(formats[i]);
    rounds_any_double(formats[i]);
    keeps_special_values(formats[i]);
  }
  integers_round_once();
  return test_end();
}
