/* A warp made by hand: a grid of 8 blocks of 64 threads, of which block 3 runs, one frame of registers, shared and local memory, and a
   few ops. Handlers are called without decoder and engine. */
#ifndef XCHG_SPEC_SIM_WARP_H
#define XCHG_SPEC_SIM_WARP_H

#include "test.h"

#include <stdlib.h>

#include "check/check.h"
#include "config.h"
#include "exec/access.h"
#include "exec/handlers.h"
#include "report.h"
#include "result.h"

#define X(name) SIM_HANDLER(name);
SIM_MEMORY_HANDLERS(X)
#undef X
#define HANDLER(name) SIM_ISA_NAME(sim_h_##name)

/* Slots of the frame, 512 bytes each. */
enum { SCRATCH, ADDRESS, SECOND, THIRD, FOURTH, OUT, OUT_2, OUT_3, OUT_4, PREDICATE, SLOT_COUNT };
#define SLOT(which) ((uint32_t)(which) * 512)
enum { OPS = 16, SHARED_BYTES = 1000, LOCAL_BYTES = 256, PARAMETER_BYTES = 20, CALL_BYTES = 24 };

static struct {
  sim_launch *launch;
  sim_function function;
  sim_program program;
  sim_op ops[OPS];
  ptx_source sources[2];
  sim_grid grid;
  sim_block block;
  sim_warp warps[2];
  sim_frame frames[2];
  uint8_t slots[2][SLOT_COUNT * 512] __attribute__((aligned(64)));
  uint8_t shared[SHARED_BYTES] __attribute__((aligned(64)));
  uint8_t local[2][SIM_WARP_SIZE * LOCAL_BYTES] __attribute__((aligned(64)));
  uint8_t params[SIM_WARP_SIZE * CALL_BYTES];
} made;

static sim_context *context;

/* Devices, as two of them; `check` as XCHG_SIM_CHECK. */
static void warp_start(const char *check) {
  setenv("XCHG_SIM_DEVICES", "2", 1);
  setenv("XCHG_SIM_MEMORY", "64M", 1);
  setenv("XCHG_SIM_LOG", "none", 1);
  setenv("XCHG_SIM_CHECK", check, 1);
  CHECK_EQUAL(sim_device_start(), SIM_SUCCESS);
  CHECK_EQUAL(sim_context_current(&context, true), SIM_SUCCESS);
  sim_primary_activate(sim_device_get(1));
}

static void block_begin(uint32_t index) {
  made.block = (sim_block){.grid = &made.grid,
                           .index = {index, 0, 0},
                           .linear = index,
                           .shared = made.shared,
                           .shared_bytes = SHARED_BYTES,
                           .epoch = 1,
                           .warps = made.warps,
                           .warp_count = 2};
  CHECK_EQUAL(sim_access_block_begin(&made.block), 0);
}

static void launch_begin(void) {
  sim_launch *launch = calloc(1, sizeof *launch + PARAMETER_BYTES);
  *launch = (sim_launch){
      .function = &made.function, .grid = {8, 1, 1}, .block = {64, 1, 1}, .parameter_bytes = PARAMETER_BYTES};
  made.launch = launch;
  made.function =
      (sim_function){.name = "saxpy", .ops = made.ops, .op_count = OPS, .local_bytes = 64, .param_bytes = CALL_BYTES};
  made.sources[1] = (ptx_source){.file = "saxpy.cu", .line = 12};
  made.program = (sim_program){
      .functions = &made.function, .function_count = 1, .sources = made.sources, .ops = made.ops, .op_total = OPS};
  made.grid = (sim_grid){.launch = launch, .context = context, .program = &made.program, .local_bytes = LOCAL_BYTES};
  for (uint32_t i = 0; i < 2; i++) {
    made.frames[i] = (sim_frame){
        .slots = made.slots[i], .params = made.params, .function = &made.function, .local_top = 64, .lanes = SIM_FULL};
    made.warps[i] = (sim_warp){.slots = made.slots[i],
                               .frame = &made.frames[i],
                               .block = &made.block,
                               .grid = &made.grid,
                               .mask = SIM_FULL,
                               .live = SIM_FULL,
                               .index = i,
                               .local = made.local[i]};
  }
  for (uint32_t i = 0; i < OPS; i++)
    made.ops[i] = (sim_op){.in = {SLOT(ADDRESS), SLOT(SECOND), SLOT(THIRD)}, .out = SLOT(OUT), .line = 100 + i};
  memset(made.shared, 0xCD, sizeof made.shared);
  memset(made.slots, 0, sizeof made.slots);
  CHECK_EQUAL(sim_access_grid_begin(&made.grid), 0);
  block_begin(3);
}

static int launch_end(void) {
  sim_access_block_end(&made.block);
  int result = sim_access_grid_end(&made.grid);
  free(made.launch);
  return result;
}

static uint32_t *words(int warp, int slot) {
  return (uint32_t *)(void *)(made.slots[warp] + SLOT(slot));
}
static inline uint64_t *longs(int warp, int slot) {
  return (uint64_t *)(void *)(made.slots[warp] + SLOT(slot));
}
/* Addresses base + lane * step in the slot ADDRESS. */
static inline void address_longs(int warp, uint64_t base, uint64_t step) {
  for (uint64_t lane = 0; lane < SIM_WARP_SIZE; lane++)
    longs(warp, ADDRESS)[lane] = base + lane * step;
}
static inline void address_words(int warp, uint32_t base, uint32_t step) {
  for (uint32_t lane = 0; lane < SIM_WARP_SIZE; lane++)
    words(warp, ADDRESS)[lane] = base + lane * step;
}

static inline sim_allocation *allocate(uint64_t size) {
  sim_allocation *allocation = NULL;
  CHECK_EQUAL(sim_memory_allocate(&allocation, context, size, SIM_MEMORY_DEVICE, "cudaMalloc"), SIM_SUCCESS);
  return allocation;
}

static uint64_t reports_seen;
static inline uint64_t reports_new(void) {
  uint64_t now = 0, new;
  for (int kind = 0; kind < SIM_REPORT_KINDS; kind++)
    now += sim_report_count((sim_report_kind)kind);
  new = now - reports_seen;
  reports_seen = now;
  return new;
}
static inline const char *report_last(void) {
  const char *text = "", *next;
  for (size_t index = 0; (next = sim_report_text(index, NULL, NULL)) != NULL; index++)
    text = next;
  return text;
}
/* The last report says so. */
#define CHECK_SAYS(part)                                                                                               \
  do {                                                                                                                 \
    test_checks++;                                                                                                     \
    if (!strstr(report_last(), part)) {                                                                                \
      char test_text[3000];                                                                                            \
      snprintf(test_text, sizeof test_text, "the report is\n  \"%s\", without\n  \"%s\"", report_last(), part);        \
      test_fail(__FILE__, __LINE__, test_text);                                                                        \
    }                                                                                                                  \
  } while (0)

#endif
