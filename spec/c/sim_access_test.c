/* Loads and stores of a warp: what arrives where, in every space and shape, and who is told off for what. */
#include "sim_warp.h"

#include <unistd.h>

enum { LOAD, STORE };

static uint32_t element_of(const sim_allocation *allocation, uint32_t index) {
  uint32_t value;
  memcpy(&value, allocation->host + 4 * (uint64_t)index, 4);
  return value;
}
static void element_set(sim_allocation *allocation, uint32_t index, uint32_t value) {
  memcpy(allocation->host + 4 * (uint64_t)index, &value, 4);
}

static void test_shapes(void) {
  sim_allocation *a = allocate(1024);
  for (uint32_t i = 0; i < 256; i++)
    element_set(a, i, i * 7 + 1);
  sim_op *op = &made.ops[0];

  launch_begin();
  sim_warp *warp = &made.warps[0];
  op->immediate = 40;
  for (int again = 0; again < 3; again++) { /* the second time by the lookup */
    memset(words(0, OUT), 0, 128);
    address_longs(0, a->address, 4);
    CHECK_EQUAL(HANDLER(ld_global_32)(warp, op, SIM_FULL), SIM_NEXT);
    for (uint32_t lane = 0; lane < 32; lane++)
      CHECK_EQUAL(words(0, OUT)[lane], (lane + 10) * 7 + 1);
  }
  /* Only the lanes of the mask. */
  memset(words(0, OUT), 0xff, 128);
  CHECK_EQUAL(HANDLER(ld_global_32)(warp, op, 0x00f0f001), SIM_NEXT);
  for (uint32_t lane = 0; lane < 32; lane++)
    CHECK_EQUAL(words(0, OUT)[lane], 0x00f0f001u >> lane & 1 ? (lane + 10) * 7 + 1 : UINT32_MAX);
  /* All at one place; backwards; far apart. */
  address_longs(0, a->address, 0);
  CHECK_EQUAL(HANDLER(ld_global_32)(warp, op, SIM_FULL), SIM_NEXT);
  for (uint32_t lane = 0; lane < 32; lane++)
    CHECK_EQUAL(words(0, OUT)[lane], 71);
  address_longs(0, a->address + 124, (uint64_t)-4);
  op->immediate = 0;
  CHECK_EQUAL(HANDLER(ld_global_32)(warp, op, SIM_FULL), SIM_NEXT);
  for (uint32_t lane = 0; lane < 32; lane++)
    CHECK_EQUAL(words(0, OUT)[lane], (31 - lane) * 7 + 1);
  address_longs(0, a->address, 28);
  CHECK_EQUAL(HANDLER(ld_global_32)(warp, op, SIM_FULL), SIM_NEXT);
  for (uint32_t lane = 0; lane < 32; lane++)
    CHECK_EQUAL(words(0, OUT)[lane], lane * 49 + 1);
  /* The lanes out of the mask may name anything. */
  longs(0, ADDRESS)[3] = 1;
  longs(0, ADDRESS)[4] = UINT64_MAX;
  CHECK_EQUAL(HANDLER(ld_global_32)(warp, op, SIM_FULL & ~0x18u), SIM_NEXT);
  CHECK_EQUAL(words(0, OUT)[31], 31 * 49 + 1);

  /* Two allocations in one instruction. */
  sim_allocation *b = allocate(128);
  for (uint32_t i = 0; i < 32; i++)
    element_set(b, i, 5000 + i);
  for (uint32_t lane = 0; lane < 32; lane++)
    longs(0, ADDRESS)[lane] = (lane & 1 ? a : b)->address + 4 * lane;
  CHECK_EQUAL(HANDLER(ld_global_32)(warp, op, SIM_FULL), SIM_NEXT);
  for (uint32_t lane = 0; lane < 32; lane++)
    CHECK_EQUAL(words(0, OUT)[lane], lane & 1 ? lane * 7 + 1 : 5000 + lane);

  /* Stores: consecutive, under a mask, and of many lanes to one place the last one. */
  for (uint32_t lane = 0; lane < 32; lane++)
    words(0, SECOND)[lane] = 900 + lane;
  address_longs(0, b->address, 4);
  CHECK_EQUAL(HANDLER(st_global_32)(warp, op, SIM_FULL), SIM_NEXT);
  for (uint32_t i = 0; i < 32; i++)
    CHECK_EQUAL(element_of(b, i), 900 + i);
  for (uint32_t lane = 0; lane < 32; lane++)
    words(0, SECOND)[lane] = lane;
  CHECK_EQUAL(HANDLER(st_global_32)(warp, op, 0xffff0000u), SIM_NEXT);
  for (uint32_t i = 0; i < 32; i++)
    CHECK_EQUAL(element_of(b, i), i < 16 ? 900 + i : i);
  address_longs(0, b->address, 0);
  CHECK_EQUAL(HANDLER(st_global_32)(warp, op, 0x00ffffffu), SIM_NEXT);
  CHECK_EQUAL(element_of(b, 0), 23);
  CHECK_EQUAL(element_of(b, 1), 901);
  CHECK_EQUAL(launch_end(), 0);
  CHECK_EQUAL(reports_new(), 0);
  sim_memory_release(a);
  sim_memory_release(b);
}

static void test_widths(void) {
  sim_allocation *a = allocate(1024);
  for (int i = 0; i < 1024; i++)
    a->host[i] = (uint8_t)(i * 37);
  launch_begin();
  sim_warp *warp = &made.warps[0];
  sim_op *op = &made.ops[0];
  for (int step = 1; step <= 2; step++) { /* consecutive, then not */
    address_longs(0, a->address, (uint64_t)step);
    CHECK_EQUAL(HANDLER(ld_global_8)(warp, op, SIM_FULL), SIM_NEXT);
    for (int lane = 0; lane < 32; lane++)
      CHECK_EQUAL(words(0, OUT)[lane], (lane * step * 37) & 255);
    address_longs(0, a->address, 2 * (uint64_t)step);
    CHECK_EQUAL(HANDLER(ld_global_16)(warp, op, SIM_FULL), SIM_NEXT);
    for (int lane = 0; lane < 32; lane++) {
      uint16_t wanted;
      memcpy(&wanted, a->host + 2 * lane * step, 2);
      CHECK_EQUAL(words(0, OUT)[lane], wanted);
    }
    address_longs(0, a->address, 8 * (uint64_t)step);
    CHECK_EQUAL(HANDLER(ld_global_64)(warp, op, SIM_FULL), SIM_NEXT);
    for (int lane = 0; lane < 32; lane++) {
      uint64_t wanted;
      memcpy(&wanted, a->host + 8 * lane * step, 8);
      CHECK(longs(0, OUT)[lane] == wanted);
    }
  }
  /* Only the low bytes are stored. */
  for (uint32_t lane = 0; lane < 32; lane++)
    words(0, SECOND)[lane] = 0xaabb0000u + lane;
  address_longs(0, a->address + 512, 1);
  CHECK_EQUAL(HANDLER(st_global_8)(warp, op, SIM_FULL), SIM_NEXT);
  for (int i = 0; i < 32; i++)
    CHECK_EQUAL(a->host[512 + i], i);
  CHECK_EQUAL(a->host[544], (uint8_t)(544 * 37));

  /* Extension to the register. */
  static const uint32_t raw[4] = {0x7f, 0x80, 0x7fff, 0x8000};
  for (int lane = 0; lane < 32; lane++)
    words(0, ADDRESS)[lane] = raw[lane % 4];
  CHECK_EQUAL(HANDLER(extend_s8_32)(warp, op, SIM_FULL), SIM_NEXT);
  CHECK_EQUAL(words(0, OUT)[0], 0x7f);
  CHECK_EQUAL(words(0, OUT)[1], 0xffffff80u);
  CHECK_EQUAL(HANDLER(extend_s8_16)(warp, op, SIM_FULL), SIM_NEXT);
  CHECK_EQUAL(words(0, OUT)[1], 0xff80);
  CHECK_EQUAL(HANDLER(extend_s16_32)(warp, op, SIM_FULL), SIM_NEXT);
  CHECK_EQUAL(words(0, OUT)[3], 0xffff8000u);
  CHECK_EQUAL(HANDLER(extend_s16_64)(warp, op, SIM_FULL), SIM_NEXT);
  CHECK(longs(0, OUT)[3] == 0xffffffffffff8000u && longs(0, OUT)[2] == 0x7fff);
  CHECK_EQUAL(HANDLER(extend_u32_64)(warp, op, SIM_FULL), SIM_NEXT);
  CHECK(longs(0, OUT)[3] == 0x8000);
  longs(0, ADDRESS)[0] = UINT64_MAX - 3; /* -4 */
  longs(0, ADDRESS)[1] = 1ull << 32;
  op->immediate = 8;
  CHECK_EQUAL(HANDLER(narrow_address)(warp, op, SIM_FULL), SIM_NEXT);
  CHECK_EQUAL(words(0, OUT)[0], 4);
  CHECK_EQUAL(words(0, OUT)[1], UINT32_MAX & ~31u);

  /* Four elements at once. */
  sim_vector *vector = &(sim_vector){.count = 4, .slots = {SLOT(OUT), SLOT(OUT_2), 0, SLOT(OUT_4)}};
  op->extra = vector;
  for (uint64_t step = 16; step <= 32; step += 16) {
    address_longs(0, a->address, step);
    CHECK_EQUAL(HANDLER(ldv_global_32)(warp, op, step == 16 ? SIM_FULL : 0xffffu), SIM_NEXT);
    for (uint32_t lane = 0; lane < 16; lane++) {
      uint32_t wanted[4];
      memcpy(wanted, a->host + lane * step, 16);
      CHECK_EQUAL(words(0, OUT)[lane], wanted[0]);
      CHECK_EQUAL(words(0, OUT_2)[lane], wanted[1]);
      CHECK_EQUAL(words(0, OUT_4)[lane], wanted[3]);
    }
  }
  for (uint32_t lane = 0; lane < 32; lane++) {
    words(0, OUT)[lane] = lane;
    words(0, OUT_2)[lane] = 100 + lane;
  }
  vector->count = 2;
  address_longs(0, a->address, 8);
  CHECK_EQUAL(HANDLER(stv_global_32)(warp, op, SIM_FULL), SIM_NEXT);
  CHECK_EQUAL(element_of(a, 10), 5);
  CHECK_EQUAL(element_of(a, 11), 105);
  CHECK_EQUAL(launch_end(), 0);
  sim_memory_release(a);
}

static void test_spaces(void) {
  launch_begin();
  sim_warp *warp = &made.warps[0];
  sim_op *op = &made.ops[0];
  for (uint32_t lane = 0; lane < 32; lane++)
    words(0, SECOND)[lane] = 1000 + lane;
  /* Shared: offsets wrap in 32 bits. */
  address_words(0, (uint32_t)-8, 4);
  op->immediate = 16;
  CHECK_EQUAL(HANDLER(st_shared_32)(warp, op, SIM_FULL), SIM_NEXT);
  for (uint32_t i = 0; i < 32; i++)
    CHECK_EQUAL(made.shared[8 + 4 * i], (1000 + i) & 255);
  address_words(0, 8, 8);
  op->immediate = 0;
  CHECK_EQUAL(HANDLER(ld_shared_32)(warp, op, 0xffff), SIM_NEXT);
  for (uint32_t lane = 0; lane < 16; lane++)
    CHECK_EQUAL(words(0, OUT)[lane], 1000 + 2 * lane);
  address_words(0, 12, 0);
  CHECK_EQUAL(HANDLER(ld_shared_32)(warp, op, SIM_FULL), SIM_NEXT);
  CHECK_EQUAL(words(0, OUT)[31], 1001);

  /* Local: each lane its own. */
  address_words(0, 60, 0);
  CHECK_EQUAL(HANDLER(st_local_32)(warp, op, SIM_FULL), SIM_NEXT);
  memset(words(0, OUT), 0, 128);
  CHECK_EQUAL(HANDLER(ld_local_32)(warp, op, SIM_FULL), SIM_NEXT);
  for (uint32_t lane = 0; lane < 32; lane++) {
    CHECK_EQUAL(words(0, OUT)[lane], 1000 + lane);
    CHECK_EQUAL(made.local[0][lane * LOCAL_BYTES + 60], (1000 + lane) & 255);
  }
  CHECK_EQUAL(made.local[1][60], 0);

  /* Parameters of the kernel, by name and by address; of calls, lane by lane. */
  uint32_t value = 77;
  memcpy(made.launch->parameters + 16, &value, 4);
  op->immediate = 16;
  CHECK_EQUAL(HANDLER(ldk_32)(warp, op, 0x7fffffffu), SIM_NEXT);
  CHECK_EQUAL(words(0, OUT)[0], 77);
  CHECK_EQUAL(words(0, OUT)[31], 1031);
  address_words(0, 0, 0);
  CHECK_EQUAL(HANDLER(ld_param_32)(warp, op, SIM_FULL), SIM_NEXT);
  CHECK_EQUAL(words(0, OUT)[31], 77);
  op->immediate = 12;
  CHECK_EQUAL(HANDLER(stc_32)(warp, op, SIM_FULL), SIM_NEXT);
  memset(words(0, OUT), 0, 128);
  CHECK_EQUAL(HANDLER(ldc_32)(warp, op, SIM_FULL), SIM_NEXT);
  for (uint32_t lane = 0; lane < 32; lane++)
    CHECK_EQUAL(words(0, OUT)[lane], 1000 + lane);

  /* Generic addresses: three spaces in one instruction. */
  sim_allocation *a = allocate(128);
  for (uint32_t i = 0; i < 32; i++)
    element_set(a, i, 3000 + i);
  op->flags = SIM_ACCESS_GENERIC;
  op->immediate = 0;
  for (uint32_t lane = 0; lane < 32; lane++)
    longs(0, ADDRESS)[lane] = lane % 3 == 0   ? a->address + 4 * lane
                              : lane % 3 == 1 ? SIM_WINDOW_SHARED + 8 + 4 * lane
                                              : SIM_WINDOW_LOCAL + 60;
  CHECK_EQUAL(HANDLER(ld_global_32)(warp, op, SIM_FULL), SIM_NEXT);
  for (uint32_t lane = 0; lane < 32; lane++)
    CHECK_EQUAL(words(0, OUT)[lane], lane % 3 == 0 ? 3000 + lane : 1000 + lane);
  address_longs(0, SIM_WINDOW_SHARED + 8, 4);
  CHECK_EQUAL(HANDLER(ld_global_32)(warp, op, SIM_FULL), SIM_NEXT);
  CHECK_EQUAL(words(0, OUT)[20], 1020);
  address_longs(0, SIM_WINDOW_PARAM + 16, 0);
  CHECK_EQUAL(HANDLER(ld_global_32)(warp, op, SIM_FULL), SIM_NEXT);
  CHECK_EQUAL(words(0, OUT)[20], 77);
  CHECK_EQUAL(launch_end(), 0);
  CHECK_EQUAL(reports_new(), 0);
  sim_memory_release(a);
}

static void test_stack(void) {
  launch_begin();
  sim_warp *warp = &made.warps[0];
  sim_op *op = &made.ops[0];
  op->immediate = 8;
  for (uint32_t lane = 0; lane < 32; lane++)
    words(0, ADDRESS)[lane] = lane;
  CHECK_EQUAL(HANDLER(stacksave_32)(warp, &made.ops[1], SIM_FULL), SIM_NEXT);
  CHECK_EQUAL(words(0, OUT)[5], 64);
  CHECK_EQUAL(HANDLER(alloca_32)(warp, op, SIM_FULL), SIM_NEXT);
  CHECK_EQUAL(words(0, OUT)[5], 64);
  CHECK_EQUAL(warp->frame->local_top, 64 + 31);
  CHECK_EQUAL(HANDLER(alloca_32)(warp, op, SIM_FULL), SIM_NEXT);
  CHECK_EQUAL(words(0, OUT)[5], 96);
  address_words(0, 64, 0);
  CHECK_EQUAL(HANDLER(stackrestore_32)(warp, op, 1), SIM_NEXT); /* others may need it still */
  CHECK_EQUAL(warp->frame->local_top, 127);
  CHECK_EQUAL(HANDLER(stackrestore_32)(warp, op, SIM_FULL), SIM_NEXT);
  CHECK_EQUAL(warp->frame->local_top, 64);
  address_words(0, LOCAL_BYTES, 0);
  CHECK_EQUAL(HANDLER(alloca_32)(warp, op, SIM_FULL), SIM_STOP);
  CHECK_EQUAL(made.grid.result, 714);
  CHECK_SAYS("takes 256 bytes of a stack that has 192 left");
  reports_new();
  launch_end();
}

/* One access that must fail, and what is said of it. */
static void check_fault(sim_handler handler, const sim_op *op, uint32_t mask, int result, const char *thread,
                        const char *text) {
  made.grid.result = 0;
  CHECK_EQUAL(handler(&made.warps[1], op, mask), SIM_STOP);
  CHECK_EQUAL(made.grid.result, result);
  CHECK_EQUAL(reports_new(), 1);
  CHECK_SAYS(text);
  CHECK_SAYS(thread);
}

static void test_faults(void) {
  sim_allocation *a = allocate(400), *freed = allocate(256), *other = NULL;
  CHECK_EQUAL(sim_memory_allocate(&other, &sim_device_get(1)->primary, 64, SIM_MEMORY_DEVICE, "cudaMalloc"), 0);
  uint64_t freed_address = freed->address;
  sim_memory_release(freed);
  launch_begin();
  made.ops[0].source = 1;
  sim_op *op = &made.ops[0];
  reports_new();
  char text[300];

  /* The last lane reaches one element too far. */
  address_longs(1, a->address + 400 - 31 * 4, 4);
  snprintf(text, sizeof text,
           "writes 4 bytes at 0x%llx, just past the end of the 400 bytes at 0x%llx made by cudaMalloc",
           (unsigned long long)a->address + 400, (unsigned long long)a->address);
  check_fault(HANDLER(st_global_32), op, SIM_FULL, 700, "saxpy, block (3,0,0), thread (63,0,0) (saxpy.cu:12)", text);
  CHECK_SAYS("illegal address");
  /* In range without it. */
  CHECK_EQUAL(HANDLER(st_global_32)(&made.warps[1], op, 0x7fffffffu), SIM_NEXT);
  /* The same when the op has met the allocation before, and whole warps that are not aligned or begin too early. */
  address_longs(1, a->address, 4);
  CHECK_EQUAL(HANDLER(st_global_32)(&made.warps[1], op, SIM_FULL), SIM_NEXT);
  address_longs(1, a->address + 400 - 31 * 4, 4);
  made.grid.result = 0;
  CHECK_EQUAL(HANDLER(st_global_32)(&made.warps[1], op, SIM_FULL), SIM_STOP);
  CHECK_EQUAL(made.grid.result, 700);
  CHECK_EQUAL(reports_new(), 1);
  address_longs(1, a->address + 2, 4);
  check_fault(HANDLER(st_global_32), op, SIM_FULL, 716, "thread (32,0,0)", "which is not a multiple of 4");
  address_longs(1, a->address - 4, 4);
  check_fault(HANDLER(st_global_32), op, SIM_FULL, 700, "thread (32,0,0)", "writes 4 bytes");
  address_longs(1, a->address + 400 - 31 * 4, 4);
  /* Half of the element is outside. */
  longs(1, ADDRESS)[7] = a->address + 396;
  check_fault(HANDLER(ld_global_64), op, 1u << 7, 716, "thread (39,0,0)", "which is not a multiple of 8");
  longs(1, ADDRESS)[7] = a->address + 398;
  check_fault(HANDLER(ld_global_32), op, 1u << 7, 716, "thread (39,0,0)", "which is not a multiple of 4");
  sim_vector vector = {.count = 4};
  made.ops[1].extra = &vector;
  longs(1, ADDRESS)[7] = a->address + 8;
  check_fault(HANDLER(ldv_global_32), &made.ops[1], 1u << 7, 716, "thread (39,0,0)", "reads 16 bytes at");
  longs(1, ADDRESS)[7] = a->address + 400 - 16;
  CHECK_EQUAL(HANDLER(ldv_global_32)(&made.warps[1], &made.ops[1], 1u << 7), SIM_NEXT);
  longs(1, ADDRESS)[7] = a->address + 400;
  check_fault(HANDLER(ldv_global_32), &made.ops[1], 1u << 7, 700, "thread (39,0,0)", "just past the end");
  /* Before the beginning; null; around the end of all addresses. */
  longs(1, ADDRESS)[7] = a->address - 4;
  check_fault(HANDLER(ld_global_32), op, 1u << 7, 700, "thread (39,0,0)", "reads 4 bytes");
  longs(1, ADDRESS)[7] = 0;
  check_fault(HANDLER(ld_global_32), op, 1u << 7, 700, "thread (39,0,0)", "null pointer");
  longs(1, ADDRESS)[7] = UINT64_MAX - 3;
  check_fault(HANDLER(ld_global_32), op, 1u << 7, 700, "thread (39,0,0)", "at 0xfffffffffffffffc");
  address_longs(1, UINT64_MAX - 63, 4);
  check_fault(HANDLER(ld_global_32), op, SIM_FULL, 700, "thread (32,0,0)", "at 0xffffffffffffffc0");
  /* Freed, somebody else's, unknown to CUDA. */
  address_longs(1, freed_address, 0);
  check_fault(HANDLER(ld_global_32), op, SIM_FULL, 700, "thread (32,0,0)", "in freed memory");
  address_longs(1, other->address, 0);
  check_fault(HANDLER(ld_global_32), op, SIM_FULL, 700, "thread (32,0,0)",
              "in memory of device 1, which device 0 may not use");
  static uint32_t host[32];
  address_longs(1, (uintptr_t)host, 4);
  check_fault(HANDLER(ld_global_32), op, SIM_FULL, 700, "thread (32,0,0)",
              "in host memory that no CUDA function made or registered");
  a->read_only = true; /* an op that has not met it yet */
  address_longs(1, a->address, 4);
  check_fault(HANDLER(st_global_32), &made.ops[3], SIM_FULL, 700, "thread (32,0,0)",
              "in memory that kernels may only read");
  CHECK_EQUAL(HANDLER(ld_global_32)(&made.warps[1], &made.ops[3], SIM_FULL), SIM_NEXT);
  check_fault(HANDLER(st_global_32), &made.ops[3], SIM_FULL, 700, "thread (32,0,0)",
              "in memory that kernels may only read");

  /* Shared, local, parameters. */
  address_words(1, SHARED_BYTES - 31 * 4, 4);
  check_fault(HANDLER(ld_shared_32), op, SIM_FULL, 700, "thread (63,0,0)",
              "reads 4 bytes at offset 1000 of shared memory, just past the end of its 1000 bytes");
  CHECK_EQUAL(HANDLER(ld_shared_32)(&made.warps[1], op, 0x7fffffffu), SIM_NEXT);
  words(1, ADDRESS)[0] = 996;
  check_fault(HANDLER(st_shared_64), op, 1, 716, "thread (32,0,0)", "not a multiple of 8");
  words(1, ADDRESS)[0] = UINT32_MAX & ~31u;
  check_fault(HANDLER(st_shared_32), op, 1, 700, "thread (32,0,0)", "of shared memory");
  words(1, ADDRESS)[0] = 64;
  check_fault(HANDLER(st_local_32), op, 1, 700, "thread (32,0,0)", "offset 64 of local memory");
  made.ops[2].immediate = PARAMETER_BYTES - 2;
  check_fault(HANDLER(ldk_32), &made.ops[2], 1, 700, "thread (32,0,0)", "parameters that have 20 bytes");
  made.ops[2].immediate = -4;
  check_fault(HANDLER(ldk_32), &made.ops[2], 1, 700, "thread (32,0,0)", "parameters that have 20 bytes");
  check_fault(HANDLER(stc_32), &made.ops[2], 1, 700, "thread (32,0,0)", "parameters that have 24 bytes");

  /* Windows. */
  op->flags = SIM_ACCESS_GENERIC;
  longs(1, ADDRESS)[0] = SIM_WINDOW_SHARED + SHARED_BYTES;
  check_fault(HANDLER(ld_global_32), op, 1, 700, "thread (32,0,0)", "of shared memory");
  longs(1, ADDRESS)[0] = SIM_WINDOW_SHARED + (1ull << 32);
  check_fault(HANDLER(ld_global_32), op, 1, 700, "thread (32,0,0)", "of shared memory");
  longs(1, ADDRESS)[0] = SIM_WINDOW_CODE;
  check_fault(HANDLER(ld_global_32), op, 1, 700, "thread (32,0,0)", "the address of a function");
  longs(1, ADDRESS)[0] = SIM_WINDOW_PARAM;
  check_fault(HANDLER(st_global_32), op, 1, 700, "thread (32,0,0)", "read-only");
  longs(1, ADDRESS)[0] = 0x7700000000000000;
  check_fault(HANDLER(ld_global_32), op, 1, 700, "thread (32,0,0)", "reads 4 bytes");
  launch_end();
  sim_memory_release(a);
  sim_memory_release(other);
}

/* A lookup of one launch says nothing in the next. */
static void test_lookups_end(void) {
  sim_allocation *a = allocate(256);
  uint64_t address = a->address;
  launch_begin();
  address_longs(1, address, 4);
  CHECK_EQUAL(HANDLER(ld_global_32)(&made.warps[1], &made.ops[0], SIM_FULL), SIM_NEXT);
  launch_end();
  sim_memory_release(a);
  launch_begin();
  reports_new();
  address_longs(1, address, 4);
  check_fault(HANDLER(ld_global_32), &made.ops[0], SIM_FULL, 700, "thread (32,0,0)", "in freed memory");
  launch_end();
}

int main(void) {
  warp_start("none");
  test_shapes();
  test_widths();
  test_spaces();
  test_stack();
  test_faults();
  test_lookups_end();
  return test_end();
}
