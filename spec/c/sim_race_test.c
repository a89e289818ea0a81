/* The race and init checkers: planted bugs are told in the right words, correct accesses give no report. */
#include "sim_warp.h"

enum { READER = 1, WRITER = 2, OTHER_WRITER = 3, ATOMIC = 4, OTHER_ATOMIC = 5, VOLATILE = 6 };

static sim_allocation *memory;

static void ops_set(void) {
  made.ops[ATOMIC].flags = SIM_ACCESS_SHARED | SIM_ACCESS_STRONG;
  made.ops[OTHER_ATOMIC].flags = SIM_ACCESS_STRONG;
  made.ops[VOLATILE].flags = SIM_ACCESS_STRONG;
}

static void shared_words(int warp, sim_handler handler, int op, uint32_t mask, uint32_t first, uint32_t step) {
  address_words(warp, first, step);
  CHECK_EQUAL(handler(&made.warps[warp], &made.ops[op], mask), SIM_NEXT);
}
static void global_words(int warp, sim_handler handler, int op, uint32_t mask, uint64_t first, uint64_t step) {
  address_longs(warp, memory->address + first, step);
  CHECK_EQUAL(handler(&made.warps[warp], &made.ops[op], mask), SIM_NEXT);
}

static void test_shared(void) {
  sim_handler load = HANDLER(ld_shared_32), store = HANDLER(st_shared_32), add = HANDLER(atom_add_32);
  launch_begin();
  ops_set();
  made.function.name = "reduce";
  reports_new();

  /* With a barrier between, and of one warp, nothing is wrong. */
  shared_words(0, store, WRITER, SIM_FULL, 0, 4);
  shared_words(0, load, READER, SIM_FULL, 64, 0);
  made.block.epoch++;
  shared_words(1, load, READER, SIM_FULL, 0, 4);
  shared_words(0, load, READER, SIM_FULL, 0, 4);
  shared_words(1, load, READER, SIM_FULL, 0, 4);
  made.block.epoch++;
  shared_words(1, store, WRITER, SIM_FULL, 0, 4);
  CHECK_EQUAL(reports_new(), 0);

  /* Read after a write of the other warp. */
  made.sources[1] = (ptx_source){.file = "reduce.cu", .line = 14};
  made.ops[READER].source = 1;
  shared_words(0, load, READER, 1u << 5, 17 * 4 - 20, 4);
  CHECK_EQUAL(reports_new(), 1);
  CHECK_TEXT(report_last(),
             "race: reduce, block 3: thread 49 (PTX line 102) wrote shared word 17 that thread 5 (line 14) "
             "read in the same barrier interval");
  shared_words(0, load, READER, 1u << 5, 17 * 4 - 20, 4);
  CHECK_EQUAL(reports_new(), 0); /* one pair of instructions, one report */

  /* Write after a read, then after a write. */
  made.block.epoch++;
  shared_words(1, load, READER, 1u << 6, 17 * 4 - 24, 4);
  shared_words(0, store, WRITER, 1u << 5, 17 * 4 - 20, 4);
  CHECK_EQUAL(reports_new(), 1);
  CHECK_TEXT(report_last(),
             "race: reduce, block 3: thread 5 (PTX line 102) wrote shared word 17 that thread 38 (line 14) "
             "read in the same barrier interval");
  made.block.epoch++;
  shared_words(1, store, OTHER_WRITER, SIM_FULL, 0, 4);
  shared_words(0, store, WRITER, SIM_FULL, 124, 4);
  CHECK_EQUAL(reports_new(), 1);
  CHECK_SAYS("thread 0 (PTX line 102) wrote shared word 31 that thread 63 (PTX line 103) wrote in the same");
  /* Read by both warps, written by one of them: the other one's read conflicts. */
  made.block.epoch++;
  shared_words(1, load, READER, SIM_FULL, 0, 4);
  shared_words(0, load, READER, SIM_FULL, 0, 4);
  shared_words(0, store, OTHER_WRITER, 1, 0, 4);
  CHECK_EQUAL(reports_new(), 1);
  CHECK_SAYS("that a thread of another warp (line 14) read");

  /* Bytes of one word are apart. */
  made.block.epoch++;
  shared_words(0, HANDLER(st_shared_8), 7, 3, 0, 1);
  shared_words(1, HANDLER(st_shared_8), 8, 3, 2, 1);
  shared_words(1, HANDLER(ld_shared_8), 8, 3, 2, 1);
  shared_words(1, HANDLER(st_shared_8), 8, 3, 2, 1);
  CHECK_EQUAL(reports_new(), 0);
  shared_words(0, HANDLER(ld_shared_8), 9, 1, 3, 1);
  CHECK_EQUAL(reports_new(), 1);
  made.block.epoch++;
  shared_words(0, HANDLER(ld_shared_8), 7, 1, 0, 1);
  shared_words(1, HANDLER(ld_shared_8), 8, 1, 1, 1);
  shared_words(0, HANDLER(st_shared_8), 9, 1, 0, 1);
  CHECK_EQUAL(reports_new(), 0);

  /* Atomics among themselves; not with others. */
  made.block.epoch++;
  shared_words(0, add, ATOMIC, SIM_FULL, 0, 0);
  shared_words(1, add, ATOMIC, SIM_FULL, 0, 0);
  shared_words(0, load, VOLATILE, SIM_FULL, 0, 0);
  CHECK_EQUAL(reports_new(), 0);
  shared_words(0, load, 10, 1, 0, 0);
  CHECK_EQUAL(reports_new(), 1);
  /* A fence of anybody ends the interval. */
  shared_words(1, store, 11, 1, 400, 0);
  CHECK_EQUAL(HANDLER(fence_block)(&made.warps[1], &made.ops[12], SIM_FULL), SIM_NEXT);
  shared_words(0, load, 13, 1, 400, 0);
  CHECK_EQUAL(reports_new(), 0);

  /* The next block begins with clean records. */
  shared_words(1, store, 14, SIM_FULL, 0, 4);
  sim_access_block_end(&made.block);
  block_begin(4);
  shared_words(0, store, 15, SIM_FULL, 0, 4);
  CHECK_EQUAL(reports_new(), 0);
  launch_end();
}

/* Warp `warp` of block `block`; blocks of a normal launch run one after the other. */
static void in_block(uint32_t block) {
  sim_access_block_end(&made.block);
  block_begin(block);
}

static void test_global(void) {
  sim_handler load = HANDLER(ld_global_32), store = HANDLER(st_global_32), add = HANDLER(atom_add_32);
  launch_begin();
  ops_set();
  reports_new();
  /* Each warp its own part; everybody reads the same. */
  for (uint32_t block = 0; block < 4; block++) {
    in_block(block);
    for (int warp = 0; warp < 2; warp++) {
      uint64_t at = (block * 2 + (uint64_t)warp) * 128;
      global_words(warp, load, READER, SIM_FULL, 2048, 4);
      global_words(warp, load, READER, SIM_FULL, at, 4);
      global_words(warp, store, WRITER, SIM_FULL, at, 4);
      global_words(warp, HANDLER(st_global_8), 7, SIM_FULL, 3073 + at / 4, 1); /* not aligned to words */
      global_words(warp, add, OTHER_ATOMIC, SIM_FULL, 4000, 0);
    }
  }
  CHECK_EQUAL(reports_new(), 0);
  /* A neighbour's element, one block further. */
  in_block(4);
  global_words(1, load, 8, SIM_FULL, 1020 + 124, (uint64_t)-4);
  CHECK_EQUAL(reports_new(), 1);
  CHECK_SAYS("race: saxpy, block 4: thread 63 (PTX line 108) read the word at");
  CHECK_SAYS("warp 1 of block 3 (PTX line 102) wrote, and nothing orders the two");
  /* Written where others read. */
  global_words(0, store, 9, 1u << 3, 2048, 4);
  CHECK_EQUAL(reports_new(), 1);
  CHECK_SAYS("thread 3 (PTX line 109) wrote the word at");
  CHECK_SAYS("(byte 2060)");
  /* An atomic counter that somebody reads plainly. */
  global_words(0, load, 10, 1, 4000, 0);
  CHECK_EQUAL(reports_new(), 1);
  global_words(0, load, VOLATILE, 1, 4000, 0);
  CHECK_EQUAL(reports_new(), 0);

  /* In one block a barrier orders, for other blocks a fence of the device. */
  in_block(5);
  global_words(0, store, 11, SIM_FULL, 5120, 4);
  made.block.epoch++;
  global_words(1, load, 12, SIM_FULL, 5120, 4);
  CHECK_EQUAL(reports_new(), 0);
  CHECK_EQUAL(HANDLER(fence_block)(&made.warps[1], &made.ops[13], SIM_FULL), SIM_NEXT);
  in_block(6);
  global_words(0, load, 14, SIM_FULL, 5120, 4);
  CHECK_EQUAL(reports_new(), 1);
  in_block(7);
  global_words(0, store, 11, SIM_FULL, 6144, 4);
  CHECK_EQUAL(HANDLER(fence_device)(&made.warps[1], &made.ops[13], SIM_FULL), SIM_NEXT);
  in_block(6);
  global_words(0, load, 14, SIM_FULL, 6144, 4);
  global_words(0, store, 15, SIM_FULL, 6144, 4);
  CHECK_EQUAL(reports_new(), 0);
  /* Scattered lanes. */
  global_words(0, store, 11, 0xff, 7168, 36);
  global_words(1, store, 12, 0xff, 7168 + 4, 36);
  CHECK_EQUAL(reports_new(), 0);
  global_words(1, load, 13, 0xff, 7168 + 4 * 36 + 4, 0);
  CHECK_EQUAL(reports_new(), 0);
  global_words(0, load, 13, 0x10, 7168 + 4, 36);
  CHECK_EQUAL(reports_new(), 1);
  CHECK_SAYS("thread 4 (");
  launch_end();
  /* Another launch is ordered after this one. */
  launch_begin();
  global_words(1, store, 1, SIM_FULL, 2048, 4);
  CHECK_EQUAL(reports_new(), 0);
  launch_end();
}

static void test_init(void) {
  launch_begin();
  reports_new();
  sim_allocation *fresh = allocate(1024);
  sim_init_begin(fresh);
  uint64_t old = memory->address;
  sim_allocation *kept = memory;
  memory = fresh;
  global_words(0, HANDLER(st_global_32), WRITER, SIM_FULL, 0, 4);
  global_words(0, HANDLER(ld_global_32), READER, SIM_FULL, 0, 4);
  global_words(0, HANDLER(st_global_16), 4, SIM_FULL, 128, 2);
  global_words(0, HANDLER(ld_global_64), 5, 0xff, 128, 8);
  CHECK_EQUAL(reports_new(), 0);
  global_words(1, HANDLER(ld_global_32), READER, SIM_FULL, 128, 4);
  CHECK_EQUAL(reports_new(), 1);
  CHECK_SAYS("init: saxpy, block (3,0,0)");
  CHECK_SAYS("thread (48,0,0)");
  CHECK_SAYS("reads 4 bytes at");
  CHECK_SAYS("that nobody wrote");
  global_words(1, HANDLER(st_global_8), 6, 1, 500, 1);
  global_words(1, HANDLER(ld_global_32), 7, 1, 500, 1);
  CHECK_EQUAL(reports_new(), 1);
  global_words(1, HANDLER(ld_global_8), 8, 1, 500, 1);
  CHECK_EQUAL(reports_new(), 0);
  global_words(1, HANDLER(atom_add_32), 9, 1, 600, 1);
  CHECK_EQUAL(reports_new(), 1);
  global_words(1, HANDLER(ld_global_32), 10, 1, 600, 1);
  CHECK_EQUAL(reports_new(), 0);
  memory = kept;
  CHECK_EQUAL(memory->address, old);

  shared_words(0, HANDLER(st_shared_32), 11, SIM_FULL, 0, 4);
  shared_words(0, HANDLER(ld_shared_32), 11, SIM_FULL, 0, 4);
  CHECK_EQUAL(reports_new(), 0);
  shared_words(0, HANDLER(ld_shared_32), 12, 1, 128, 4);
  CHECK_EQUAL(reports_new(), 1);
  CHECK_SAYS("reads 4 bytes at offset 128 of shared memory that nobody wrote");
  shared_words(0, HANDLER(st_local_32), 13, 1, 32, 0);
  shared_words(0, HANDLER(ld_local_32), 13, 1, 32, 0);
  CHECK_EQUAL(reports_new(), 0);
  shared_words(0, HANDLER(ld_local_32), 14, 3, 32, 0);
  CHECK_EQUAL(reports_new(), 1);
  CHECK_SAYS("thread (1,0,0)");
  CHECK_SAYS("of local memory that nobody wrote");
  launch_end();
  sim_memory_release(fresh);
}

int main(void) {
  warp_start("race,init");
  memory = allocate(8192);
  sim_init_mark(memory, memory->address, memory->size);
  test_shared();
  test_global();
  test_init();
  return test_end();
}
