/* Atomics of a warp: every operation and type against the same done one after the other, old values in lane order. */
#include "sim_warp.h"

#include "exec/atomic.h"

#include <math.h>

static sim_allocation *memory;

static uint32_t seed_words(int slot, int i) {
  for (int lane = 0; lane < 32; lane++)
    words(0, slot)[lane] = (uint32_t)test_random() >> (i % 3 == 0 ? 28 : 0);
  return (uint32_t)test_random() >> (i % 3 == 0 ? 28 : 0);
}
static uint64_t seed_longs(int slot, int i) {
  for (int lane = 0; lane < 32; lane++)
    longs(0, slot)[lane] = test_random() >> (i % 3 == 0 ? 60 : 0);
  return test_random() >> (i % 3 == 0 ? 60 : 0);
}

typedef uint64_t step(uint64_t old, uint64_t b, uint64_t c);
#define STEP(name, value)                                                                                              \
  static uint64_t name(uint64_t old, uint64_t b, uint64_t c) {                                                         \
    (void)old, (void)b, (void)c;                                                                                       \
    return value;                                                                                                      \
  }
STEP(add, old + b)
STEP(and, old &b)
STEP(or, old | b)
STEP(xor, old ^ b)
STEP(exch, b)
STEP(cas, old == b ? c : old)
STEP(min_u, old < b ? old : b)
STEP(max_u, old > b ? old : b)
STEP(min_s32, (int32_t)old < (int32_t)b ? old : b)
STEP(max_s32, (int32_t)old > (int32_t)b ? old : b)
STEP(min_s64, (int64_t)old < (int64_t)b ? old : b)
STEP(max_s64, (int64_t)old > (int64_t)b ? old : b)
/* The manual: inc counts up to b and begins again at 0, dec counts down to 0 and begins again at b. */
STEP(inc, old >= b ? 0 : old + 1)
STEP(dec, old == 0 || old > b ? b : old - 1)

static void check_integers(sim_handler handler, step *expected, uint32_t bytes) {
  uint64_t limit = bytes == 8 ? UINT64_MAX : bytes == 4 ? UINT32_MAX : UINT16_MAX;
  for (int i = 0; i < 12; i++) {
    uint32_t mask = i % 2 ? SIM_FULL : (uint32_t)test_random() | 1;
    bool shared = i % 4 < 2, together = i % 3 != 1;
    sim_op *op = &made.ops[i % OPS];
    uint64_t cells[32], first = bytes == 8 ? seed_longs(SECOND, i) : seed_words(SECOND, i);
    if (bytes == 8)
      seed_longs(THIRD, i);
    else
      seed_words(THIRD, i);
    if (bytes == 2)
      for (int lane = 0; lane < 32; lane++) {
        words(0, SECOND)[lane] &= 0xf;
        words(0, THIRD)[lane] &= 0xf;
      }
    for (int cell = 0; cell < 32; cell++)
      cells[cell] = (bytes == 2 ? first & 0xf : first) & limit;
    uint8_t *host = shared ? made.shared + 64 : memory->host + 64;
    for (int cell = 0; cell < 32; cell++)
      memcpy(host + (uint32_t)cell * bytes, &cells[cell], bytes);
    op->flags = shared ? SIM_ACCESS_SHARED | SIM_ACCESS_STRONG : SIM_ACCESS_STRONG;
    op->immediate = 64;
    if (shared)
      address_words(0, 0, together ? 0 : bytes);
    else
      address_longs(0, memory->address, together ? 0 : bytes);
    memset(longs(0, OUT), 0, 256);
    CHECK_EQUAL(handler(&made.warps[0], op, mask), SIM_NEXT);
    for (int lane = 0; lane < 32; lane++) {
      if (!(mask >> lane & 1))
        continue;
      uint64_t *cell = &cells[together ? 0 : lane];
      uint64_t b = bytes == 8 ? longs(0, SECOND)[lane] : words(0, SECOND)[lane];
      uint64_t c = bytes == 8 ? longs(0, THIRD)[lane] : words(0, THIRD)[lane];
      CHECK((bytes == 8 ? longs(0, OUT)[lane] : words(0, OUT)[lane]) == *cell);
      *cell = expected(*cell, b, c) & limit;
    }
    for (int cell = 0; cell < 32; cell++)
      CHECK(memcmp(host + (uint32_t)cell * bytes, &cells[cell], bytes) == 0);
  }
}

static void test_integers(void) {
  check_integers(HANDLER(atom_add_32), add, 4);
  check_integers(HANDLER(atom_add_64), add, 8);
  check_integers(HANDLER(atom_and_32), and, 4);
  check_integers(HANDLER(atom_and_64), and, 8);
  check_integers(HANDLER(atom_or_32), or, 4);
  check_integers(HANDLER(atom_or_64), or, 8);
  check_integers(HANDLER(atom_xor_32), xor, 4);
  check_integers(HANDLER(atom_xor_64), xor, 8);
  check_integers(HANDLER(atom_exch_32), exch, 4);
  check_integers(HANDLER(atom_exch_64), exch, 8);
  check_integers(HANDLER(atom_cas_16), cas, 2);
  check_integers(HANDLER(atom_cas_32), cas, 4);
  check_integers(HANDLER(atom_cas_64), cas, 8);
  check_integers(HANDLER(atom_min_u32), min_u, 4);
  check_integers(HANDLER(atom_max_u32), max_u, 4);
  check_integers(HANDLER(atom_min_u64), min_u, 8);
  check_integers(HANDLER(atom_max_u64), max_u, 8);
  check_integers(HANDLER(atom_min_s32), min_s32, 4);
  check_integers(HANDLER(atom_max_s32), max_s32, 4);
  check_integers(HANDLER(atom_min_s64), min_s64, 8);
  check_integers(HANDLER(atom_max_s64), max_s64, 8);
  check_integers(HANDLER(atom_inc_32), inc, 4);
  check_integers(HANDLER(atom_dec_32), dec, 4);
}

static void test_floats(void) {
  sim_op *op = &made.ops[0];
  *op = (sim_op){.in = {SLOT(ADDRESS), SLOT(SECOND), SLOT(THIRD)}, .out = SLOT(OUT), .flags = SIM_ACCESS_STRONG};
  float sum = 0.5f, f;
  memcpy(memory->host, &sum, 4);
  for (int lane = 0; lane < 32; lane++) {
    f = 1.0f / (float)(lane + 3);
    memcpy(&words(0, SECOND)[lane], &f, 4);
  }
  address_longs(0, memory->address, 0);
  CHECK_EQUAL(HANDLER(atom_add_f32)(&made.warps[0], op, 0xffff0000u), SIM_NEXT);
  for (int lane = 16; lane < 32; lane++) {
    memcpy(&f, &words(0, OUT)[lane], 4);
    CHECK(f == sum);
    sum += 1.0f / (float)(lane + 3);
  }
  memcpy(&f, memory->host, 4);
  CHECK(f == sum);

  double total = 1e300, d;
  memcpy(memory->host, &total, 8);
  for (int lane = 0; lane < 32; lane++) {
    d = lane % 2 ? 1e300 : -3e299;
    memcpy(&longs(0, SECOND)[lane], &d, 8);
  }
  CHECK_EQUAL(HANDLER(atom_add_f64)(&made.warps[0], op, SIM_FULL), SIM_NEXT);
  for (int lane = 0; lane < 32; lane++)
    total += lane % 2 ? 1e300 : -3e299;
  memcpy(&d, memory->host, 8);
  CHECK(d == total);

  /* Subnormal numbers: flushed in global memory, kept in shared memory. */
  uint32_t small = 0x80000005u, got;
  words(0, SECOND)[0] = 0x80000003u;
  memcpy(memory->host, &small, 4);
  CHECK_EQUAL(HANDLER(atom_add_f32)(&made.warps[0], op, 1), SIM_NEXT);
  memcpy(&got, memory->host, 4);
  CHECK_EQUAL(got, 0x80000000u);
  memcpy(made.shared, &small, 4);
  longs(0, ADDRESS)[0] = SIM_WINDOW_SHARED;
  op->flags = SIM_ACCESS_STRONG | SIM_ACCESS_GENERIC;
  CHECK_EQUAL(HANDLER(atom_add_f32)(&made.warps[0], op, 1), SIM_NEXT);
  memcpy(&got, made.shared, 4);
  CHECK_EQUAL(got, 0x80000008u);
  words(0, SECOND)[0] = 0x7f800000u;
  small = 0xff800000u;
  memcpy(made.shared, &small, 4);
  CHECK_EQUAL(HANDLER(atom_add_f32)(&made.warps[0], op, 1), SIM_NEXT);
  memcpy(&got, made.shared, 4);
  CHECK_EQUAL(got, 0x7fffffffu);
}

/* By the definition: sign, exponent, fraction. */
static double half_value(uint32_t bits, int exponents, int fractions) {
  int exponent = (int)(bits >> fractions) & ((1 << exponents) - 1), bias = (1 << (exponents - 1)) - 1;
  double fraction = (double)(bits & ((1u << fractions) - 1)) / (1 << fractions);
  if (exponent == (1 << exponents) - 1)
    return fraction != 0 ? NAN : bits >> 15 ? -INFINITY : INFINITY;
  double value = exponent == 0 ? ldexp(fraction, 1 - bias) : ldexp(1 + fraction, exponent - bias);
  return bits >> 15 ? -value : value;
}

/* Of all finite neighbours none is nearer, and of two as near ours is the even one. */
static bool is_nearest(uint32_t bits, double exact, int exponents, int fractions) {
  double own = half_value(bits, exponents, fractions);
  uint32_t infinity = ((1u << exponents) - 1) << fractions;
  if (isnan(exact))
    return bits == 0x7fff;
  if (isinf(own)) {
    double largest = half_value(infinity - 1, exponents, fractions);
    double unit = largest - half_value(infinity - 2, exponents, fractions);
    return fabs(exact) >= largest + unit / 2 && signbit(own) == signbit(exact);
  }
  double gap = fabs(own - exact);
  for (int d = -1; d <= 1; d += 2) {
    if ((bits & 0x7fff) == 0 && d < 0)
      continue;
    uint32_t near = bits + (uint32_t)d;
    double other = fabs((near & 0x7fff) == infinity ? (near >> 15 ? -1 : 1) * ldexp(1, 1 << (exponents - 1)) - exact
                                                    : half_value(near, exponents, fractions) - exact);
    if (other < gap || (other == gap && bits & 1))
      return false;
  }
  return true;
}

static void test_halves(void) {
  sim_atomic_vector vector = {.in = {.count = 1, .slots = {SLOT(SECOND), SLOT(THIRD)}},
                              .outs = {SLOT(OUT), SLOT(OUT_2)}};
  sim_op *op = &made.ops[0];
  *op = (sim_op){.in = {SLOT(ADDRESS)}, .flags = SIM_ACCESS_STRONG, .extra = &vector};
  address_longs(0, memory->address, 2);
  for (int i = 0; i < 400; i++) {
    uint16_t before[32], after[32];
    for (int lane = 0; lane < 32; lane++) {
      before[lane] = (uint16_t)test_random();
      words(0, SECOND)[lane] = (uint16_t)(i % 2 ? test_random() : before[lane] ^ (test_random() & 0x83ff));
    }
    bool wide = i % 4 < 2;
    int exponents = wide ? 8 : 5, fractions = wide ? 7 : 10;
    memcpy(memory->host, before, 64);
    CHECK_EQUAL((wide ? HANDLER(atomv_add_bf16) : HANDLER(atomv_add_f16))(&made.warps[0], op, SIM_FULL), SIM_NEXT);
    memcpy(after, memory->host, 64);
    for (int lane = 0; lane < 32; lane++) {
      CHECK_EQUAL(words(0, OUT)[lane], before[lane]);
      double a = half_value(before[lane], exponents, fractions);
      double b = half_value(words(0, SECOND)[lane], exponents, fractions);
      CHECK(is_nearest(after[lane], a + b, exponents, fractions));
    }
    memcpy(memory->host, before, 64);
    CHECK_EQUAL((wide ? HANDLER(atomv_max_bf16) : HANDLER(atomv_max_f16))(&made.warps[0], op, SIM_FULL), SIM_NEXT);
    memcpy(after, memory->host, 64);
    for (int lane = 0; lane < 32; lane++) {
      double a = half_value(before[lane], exponents, fractions);
      double b = half_value(words(0, SECOND)[lane], exponents, fractions);
      double wanted = fmax(a, b), got = half_value(after[lane], exponents, fractions);
      CHECK(isnan(wanted) ? after[lane] == 0x7fff : got == wanted);
    }
  }
  /* Two vectors of two pairs: 1 + 2, -1 + 0.5, and -0 below +0. */
  static const uint32_t pairs[2] = {0xbc003c00u, 0x00008000u}, more[2] = {0x38004000u, 0x80000000u};
  memcpy(memory->host, pairs, 8);
  words(0, SECOND)[0] = more[0];
  words(0, THIRD)[0] = more[1];
  vector.in.count = 2;
  uint32_t got[2];
  CHECK_EQUAL(HANDLER(atomv_add_f16x2)(&made.warps[0], op, 1), SIM_NEXT);
  memcpy(got, memory->host, 8);
  CHECK_EQUAL(got[0], 0xb8004200u);
  CHECK_EQUAL(got[1], 0);
  CHECK_EQUAL(words(0, OUT)[0], pairs[0]);
  CHECK_EQUAL(words(0, OUT_2)[0], pairs[1]);
  memcpy(memory->host, pairs, 8);
  CHECK_EQUAL(HANDLER(atomv_min_f16x2)(&made.warps[0], op, 1), SIM_NEXT);
  memcpy(got, memory->host, 8);
  CHECK_EQUAL(got[1], 0x80008000u);
  /* Two floats. */
  static const float floats[2] = {1.5f, -2.0f};
  memcpy(memory->host, floats, 8);
  memcpy(words(0, SECOND), &floats[1], 4);
  memcpy(words(0, THIRD), &floats[0], 4);
  CHECK_EQUAL(HANDLER(atomv_add_f32)(&made.warps[0], op, 1), SIM_NEXT);
  float sums[2];
  memcpy(sums, memory->host, 8);
  CHECK(sums[0] == -0.5f && sums[1] == -0.5f);
}

static void test_wide(void) {
  sim_op *op = &made.ops[0];
  *op = (sim_op){.in = {SLOT(ADDRESS), SLOT(SECOND), SLOT(THIRD)}, .out = SLOT(OUT), .flags = SIM_ACCESS_STRONG};
  uint64_t cell[2] = {7, 8};
  memcpy(memory->host, cell, 16);
  address_longs(0, memory->address, 0);
  /* Lane 1 sees what lane 0 wrote; lane 2 compares with something else. */
  for (int lane = 0; lane < 3; lane++) {
    longs(0, SECOND)[lane] = lane < 2 ? 7 + 10 * (uint64_t)lane : 7;
    longs(0, SECOND)[lane + 32] = 8;
    longs(0, THIRD)[lane] = 17 + 10 * (uint64_t)lane;
    longs(0, THIRD)[lane + 32] = 8 + (uint64_t)lane;
  }
  CHECK_EQUAL(HANDLER(atom_cas_128)(&made.warps[0], op, 7), SIM_NEXT);
  memcpy(cell, memory->host, 16);
  CHECK(cell[0] == 27 && cell[1] == 9);
  CHECK(longs(0, OUT)[1] == 17 && longs(0, OUT)[33] == 8 && longs(0, OUT)[2] == 27 && longs(0, OUT)[34] == 9);
  CHECK_EQUAL(HANDLER(atom_exch_128)(&made.warps[0], op, 1), SIM_NEXT);
  memcpy(cell, memory->host, 16);
  CHECK(cell[0] == 7 && cell[1] == 8 && longs(0, OUT)[0] == 27);
  address_longs(0, memory->address + 8, 0);
  CHECK_EQUAL(HANDLER(atom_exch_128)(&made.warps[0], op, 1), SIM_STOP);
  CHECK_EQUAL(made.grid.result, 716);
  CHECK_SAYS("updates 16 bytes");
}

int main(void) {
  warp_start("none");
  memory = allocate(512);
  launch_begin();
  test_integers();
  test_floats();
  test_halves();
  test_wide();
  launch_end();
  return test_end();
}
