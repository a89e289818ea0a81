/* Asynchronous copies become visible where they are waited for, and not before; mbarriers count arrivals and bytes. */
#include "sim_warp.h"

#include "exec/async.h"
#include "exec/mbarrier.h"

static sim_allocation *memory;

static uint32_t shared_word(uint32_t index) {
  uint32_t value;
  memcpy(&value, made.shared + 4 * index, 4);
  return value;
}

static void test_copies(void) {
  launch_begin();
  sim_warp *warp = &made.warps[0];
  sim_async_copy copy = {.bytes = 4};
  sim_op *op = &made.ops[0], *commit = &made.ops[1], *wait = &made.ops[2];
  *op = (sim_op){.in = {SLOT(ADDRESS), SLOT(SECOND), SLOT(THIRD), SLOT(PREDICATE)}, .extra = &copy};
  for (uint32_t i = 0; i < 64; i++)
    memcpy(memory->host + 4 * i, &i, 4);
  address_longs(0, memory->address, 4);
  for (uint32_t group = 0; group < 3; group++) {
    for (uint32_t lane = 0; lane < 32; lane++)
      words(0, SECOND)[lane] = group * 128 + lane * 4;
    CHECK_EQUAL(HANDLER(cp_async)(warp, op, SIM_FULL), SIM_NEXT);
    CHECK_EQUAL(HANDLER(cp_async_commit)(warp, commit, SIM_FULL), SIM_NEXT);
  }
  CHECK_EQUAL(shared_word(5), 0xcdcdcdcdu);
  wait->immediate = 2;
  CHECK_EQUAL(HANDLER(cp_async_wait)(warp, wait, 0xffff), SIM_NEXT);
  CHECK_EQUAL(shared_word(5), 5);
  CHECK_EQUAL(shared_word(20), 0xcdcdcdcdu); /* of a lane that did not wait */
  CHECK_EQUAL(shared_word(32 + 5), 0xcdcdcdcdu);
  wait->immediate = 1;
  CHECK_EQUAL(HANDLER(cp_async_wait)(warp, wait, SIM_FULL), SIM_NEXT);
  CHECK_EQUAL(shared_word(20), 20);
  CHECK_EQUAL(shared_word(32 + 5), 5);
  CHECK_EQUAL(shared_word(64 + 5), 0xcdcdcdcdu);
  /* The open group is nobody's but wait_all's. */
  for (uint32_t lane = 0; lane < 32; lane++)
    words(0, SECOND)[lane] = 384 + lane * 4;
  CHECK_EQUAL(HANDLER(cp_async)(warp, op, SIM_FULL), SIM_NEXT);
  wait->immediate = 0;
  CHECK_EQUAL(HANDLER(cp_async_wait)(warp, wait, SIM_FULL), SIM_NEXT);
  CHECK_EQUAL(shared_word(64 + 5), 5);
  CHECK_EQUAL(shared_word(96 + 5), 0xcdcdcdcdu);
  wait->immediate = -1;
  CHECK_EQUAL(HANDLER(cp_async_wait)(warp, wait, SIM_FULL), SIM_NEXT);
  CHECK_EQUAL(shared_word(96 + 5), 5);

  /* A part of the source: zeros follow, and nothing behind it is looked at. Ignored: zeros only, whatever the address. */
  copy = (sim_async_copy){.bytes = 16, .sized = true};
  memset(made.shared, 0xCD, sizeof made.shared);
  for (uint32_t lane = 0; lane < 32; lane++) {
    words(0, SECOND)[lane] = lane * 16;
    words(0, THIRD)[lane] = lane == 0 ? 6 : lane == 1 ? 0 : lane == 2 ? 16 : 99;
  }
  longs(0, ADDRESS)[0] = memory->address + 256 - 6;
  memset(memory->host + 250, 0xEE, 6);
  longs(0, ADDRESS)[1] = 3;
  longs(0, ADDRESS)[2] = memory->address;
  longs(0, ADDRESS)[3] = memory->address + 16;
  CHECK_EQUAL(HANDLER(cp_async)(warp, op, 0xf), SIM_NEXT);
  CHECK_EQUAL(HANDLER(cp_async_wait)(warp, wait, 0xf), SIM_NEXT);
  CHECK_EQUAL(shared_word(0), 0xeeeeeeeeu);
  CHECK_EQUAL(shared_word(1), 0x0000eeeeu);
  CHECK_EQUAL(shared_word(3), 0);
  CHECK_EQUAL(shared_word(4), 0);
  CHECK_EQUAL(shared_word(8 + 3), 3);
  CHECK_EQUAL(shared_word(12), 4);
  copy = (sim_async_copy){.bytes = 8, .ignores = true, .negated = true};
  *words(0, PREDICATE) = 1; /* lane 0 copies, lane 1 does not */
  longs(0, ADDRESS)[0] = memory->address;
  CHECK_EQUAL(HANDLER(cp_async)(warp, op, 3), SIM_NEXT);
  CHECK_EQUAL(HANDLER(cp_async_wait)(warp, wait, 3), SIM_NEXT);
  CHECK_EQUAL(shared_word(1), 1);
  CHECK_EQUAL(shared_word(4), 0);
  CHECK_EQUAL(shared_word(5), 0);

  /* Faults come where the copy begins. */
  reports_new();
  copy = (sim_async_copy){.bytes = 16, .sized = true};
  longs(0, ADDRESS)[0] = memory->address + 256 - 6;
  words(0, THIRD)[0] = 7;
  CHECK_EQUAL(HANDLER(cp_async)(warp, op, 1), SIM_STOP);
  CHECK_EQUAL(made.grid.result, 700);
  CHECK_SAYS("just past the end");
  words(0, THIRD)[0] = 16;
  longs(0, ADDRESS)[0] = memory->address + 8;
  made.grid.result = 0;
  CHECK_EQUAL(HANDLER(cp_async)(warp, op, 1), SIM_STOP);
  CHECK_EQUAL(made.grid.result, 716);
  longs(0, ADDRESS)[0] = memory->address;
  words(0, SECOND)[0] = SHARED_BYTES - 8;
  made.grid.result = 0;
  CHECK_EQUAL(HANDLER(cp_async)(warp, op, 1), SIM_STOP);
  CHECK_EQUAL(made.grid.result, 700);
  CHECK_SAYS("of shared memory");
  launch_end();
}

/* ---- mbarrier ---- */

static sim_op barrier_op(uint8_t flags) {
  return (sim_op){.in = {SLOT(ADDRESS), SLOT(SECOND), SLOT(THIRD)},
                  .out = SLOT(OUT),
                  .flags = (uint8_t)(flags | SIM_ACCESS_SHARED | SIM_ACCESS_STRONG)};
}

static void all_words(int warp, int slot, uint32_t value) {
  for (int lane = 0; lane < 32; lane++)
    words(warp, slot)[lane] = value;
}

/* Whether the phase of `parity` is over, for lane 0 of warp 1. */
static uint32_t is_over(uint32_t parity) {
  sim_op op = barrier_op(0);
  op.out = SLOT(PREDICATE);
  all_words(1, SECOND, parity);
  *words(1, PREDICATE) = 0;
  int answer = HANDLER(mbarrier_test_parity)(&made.warps[1], &op, 1);
  uint32_t over = *words(1, PREDICATE) & 1;
  CHECK_EQUAL(answer, over ? SIM_NEXT : SIM_YIELD);
  return over;
}

static void barrier_init(uint32_t count) {
  sim_op op = barrier_op(0);
  all_words(0, SECOND, count);
  CHECK_EQUAL(HANDLER(mbarrier_init)(&made.warps[0], &op, 1), SIM_NEXT);
}

static void arrive(uint32_t mask, uint8_t flags, uint32_t count, uint32_t bytes, int wanted) {
  sim_op op = barrier_op(flags);
  all_words(0, SECOND, count);
  all_words(0, THIRD, bytes);
  made.grid.result = 0;
  CHECK_EQUAL(HANDLER(mbarrier_arrive)(&made.warps[0], &op, mask), wanted);
}

static void bytes_arrive(uint32_t bytes, uint8_t flags) {
  sim_op op = barrier_op(flags);
  all_words(0, SECOND, bytes);
  CHECK_EQUAL(HANDLER(mbarrier_bytes)(&made.warps[0], &op, 1), SIM_NEXT);
}

static void test_barriers(void) {
  launch_begin();
  for (int warp = 0; warp < 2; warp++)
    address_words(warp, 40, 0);
  reports_new();
  arrive(1, 0, 1, 0, SIM_STOP);
  CHECK_EQUAL(made.grid.result, 719);
  CHECK_SAYS("an mbarrier that is not initialised");

  barrier_init(33);
  CHECK_EQUAL(is_over(0), 0);
  CHECK_EQUAL(is_over(1), 1); /* the phase before the first counts as over */
  arrive(SIM_FULL, 0, 1, 0, SIM_NEXT);
  CHECK_EQUAL(is_over(0), 0);
  sim_op pending = {.in = {SLOT(OUT)}, .out = SLOT(OUT_2)};
  CHECK_EQUAL(HANDLER(mbarrier_pending_count)(&made.warps[0], &pending, SIM_FULL), SIM_NEXT);
  CHECK_EQUAL(words(0, OUT_2)[0], 33);
  CHECK_EQUAL(words(0, OUT_2)[31], 2);
  arrive(1, 0, 1, 0, SIM_NEXT);
  CHECK_EQUAL(is_over(0), 1);
  CHECK_EQUAL(is_over(1), 0);
  /* The state that an arrival gave says which phase it was. */
  sim_op test = barrier_op(0);
  test.out = SLOT(PREDICATE);
  *words(0, PREDICATE) = 0xfffffffeu;
  longs(0, SECOND)[0] = longs(0, OUT)[0];
  CHECK_EQUAL(HANDLER(mbarrier_test_state)(&made.warps[0], &test, 1), SIM_NEXT);
  CHECK_EQUAL(*words(0, PREDICATE), SIM_FULL);

  /* Counts, dropping out, too many. */
  arrive(1, 0, 30, 0, SIM_NEXT);
  arrive(1, SIM_MBARRIER_DROP, 3, 0, SIM_NEXT);
  CHECK_EQUAL(is_over(1), 1);
  arrive(1, 0, 30, 0, SIM_NEXT);
  CHECK_EQUAL(is_over(0), 1);
  arrive(1, 0, 31, 0, SIM_STOP);
  CHECK_SAYS("arrives 31 times at an mbarrier that waits for 30");
  arrive(1, SIM_MBARRIER_NO_COMPLETE, 29, 0, SIM_NEXT);
  arrive(1, SIM_MBARRIER_NO_COMPLETE, 1, 0, SIM_STOP);
  CHECK_SAYS(".noComplete");

  /* Bytes. */
  barrier_init(1);
  arrive(1, 0, 1, 100, SIM_NEXT);
  CHECK_EQUAL(is_over(0), 0);
  bytes_arrive(60, SIM_MBARRIER_SUBTRACT);
  CHECK_EQUAL(is_over(0), 0);
  bytes_arrive(10, 0);
  bytes_arrive(50, SIM_MBARRIER_SUBTRACT);
  CHECK_EQUAL(is_over(0), 1);

  /* Gone. */
  sim_op gone = barrier_op(0);
  CHECK_EQUAL(HANDLER(mbarrier_inval)(&made.warps[0], &gone, 1), SIM_NEXT);
  arrive(1, 0, 1, 0, SIM_STOP);
  sim_op none = barrier_op(0);
  all_words(0, SECOND, 0);
  made.grid.result = 0;
  CHECK_EQUAL(HANDLER(mbarrier_init)(&made.warps[0], &none, 1), SIM_STOP);
  CHECK_SAYS("a count of 0");
  launch_end();
}

/* Copies that arrive at a barrier are done when somebody looks at it. */
static void test_copies_arrive(void) {
  launch_begin();
  for (int warp = 0; warp < 2; warp++)
    address_words(warp, 800, 0);
  barrier_init(32);
  sim_async_copy copy = {.bytes = 4};
  sim_op op = {.in = {SLOT(FOURTH), SLOT(OUT_3)}, .extra = &copy};
  for (uint32_t lane = 0; lane < 32; lane++) {
    longs(0, FOURTH)[lane] = memory->address + 4 * lane;
    words(0, OUT_3)[lane] = 4 * lane;
    memcpy(memory->host + 4 * lane, &(uint32_t){lane + 70}, 4);
  }
  CHECK_EQUAL(HANDLER(cp_async)(&made.warps[0], &op, SIM_FULL), SIM_NEXT);
  sim_op arrival = barrier_op(0);
  all_words(0, SECOND, 0); /* .noinc: counted already */
  CHECK_EQUAL(HANDLER(cp_async_arrive)(&made.warps[0], &arrival, SIM_FULL), SIM_NEXT);
  CHECK_EQUAL(shared_word(9), 0xcdcdcdcdu);
  CHECK_EQUAL(is_over(0), 1);
  CHECK_EQUAL(shared_word(9), 79);

  /* Counted in first: the phase still waits for the 32 of its own. */
  CHECK_EQUAL(HANDLER(cp_async)(&made.warps[0], &op, SIM_FULL), SIM_NEXT);
  all_words(0, SECOND, 1);
  CHECK_EQUAL(HANDLER(cp_async_arrive)(&made.warps[0], &arrival, SIM_FULL), SIM_NEXT);
  CHECK_EQUAL(is_over(1), 0);
  arrive(SIM_FULL, 0, 1, 0, SIM_NEXT);
  CHECK_EQUAL(is_over(1), 1);
  launch_end();
}

int main(void) {
  warp_start("none");
  memory = allocate(256);
  test_copies();
  test_barriers();
  test_copies_arrive();
  return test_end();
}
