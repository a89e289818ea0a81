/* Kernels: attributes, occupancy, parameters, and which launches are refused. */
#include "test.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "call.h"
#include "device.h"
#include "exec.h"
#include "kernel.h"
#include "result.h"

static sim_context *context, *second;
static sim_library *library;

static const char text[] =
    ".version 8.4\n.target sm_80\n.address_size 64\n"
    ".visible .const .align 4 .b8 table[40];\n"
    ".visible .entry plain()\n{\n  ret;\n}\n"
    ".visible .entry values(.param .u8 a, .param .u64 b, .param .u16 c, .param .align 16 .b8 d[24], .param .f32 e)\n"
    "{\n  ret;\n}\n"
    ".visible .entry small()\n.maxntid 96, 2, 1\n{\n  ret;\n}\n"
    ".visible .entry exact()\n.reqntid 8, 4\n{\n  ret;\n}\n"
    ".visible .entry tile()\n{\n  .shared .align 4 .b8 tile[1000];\n  .reg .b32 %r<2>;\n  mov.u32 %r1, tile;\n  "
    "ret;\n}\n";

static sim_kernel *kernel(const char *name) {
  sim_kernel *found = NULL;
  CHECK_EQUAL(sim_library_kernel(&found, library, name), SIM_SUCCESS);
  return found;
}

/* A kernel of which only the counts matter. */
static sim_kernel *counted(uint32_t registers, uint32_t shared) {
  static ptx_function ptx;
  static sim_function function;
  static sim_kernel made;
  function = (sim_function){.ptx = &ptx, .register_count = registers, .shared_bytes = shared};
  made = (sim_kernel){.function = &function};
  return &made;
}

typedef struct {
  int capability;
  uint32_t registers, shared;
  int threads;
  size_t dynamic;
  int blocks; /* that fit on a multiprocessor */
  int block;  /* the best size; 0: not asked */
} row;

/* Computed with the occupancy calculator of the CUDA toolkit (cuda_occupancy.h). */
static const row rows[] = {
    {75, 32, 0, 32, 6500, 9, 0},         {80, 144, 0, 384, 0, 1, 0},
    {80, 144, 0, 416, 0, 0, 384},        {75, 202, 0, 217, 12156, 1, 256},
    {75, 32, 0, 497, 1739, 2, 1024},     {75, 217, 36975, 128, 25566, 1, 256},
    {75, 129, 0, 192, 0, 2, 0},          {75, 207, 7322, 33, 7708, 4, 0},
    {75, 209, 0, 672, 0, 0, 256},        {80, 70, 21855, 716, 0, 1, 896},
    {80, 122, 0, 320, 90750, 1, 512},    {80, 168, 12431, 181, 26805, 2, 384},
    {80, 192, 20341, 192, 166005, 0, 0}, {80, 46, 0, 73, 4166, 13, 0},
    {80, 56, 0, 384, 0, 3, 576},         {80, 190, 0, 32, 0, 8, 0},
    {90, 194, 36002, 128, 5316, 2, 256}, {90, 62, 24845, 960, 0, 1, 1024},
    {90, 74, 0, 544, 128484, 1, 768},    {90, 232, 0, 501, 13141, 0, 256},
    {90, 184, 0, 32, 31853, 7, 0},       {120, 116, 15963, 864, 47725, 0, 512},
    {120, 65, 0, 128, 6942, 7, 896},     {120, 30, 0, 32, 0, 24, 0},
};

static void test_occupancy(int capability) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const row *at = &rows[i];
    if (at->capability != capability)
      continue;
    sim_kernel *of = counted(at->registers, at->shared);
    int blocks = -1, grid = -1, block = -1;
    CHECK_EQUAL(sim_kernel_occupancy(&blocks, of, 0, at->threads, at->dynamic), SIM_SUCCESS);
    CHECK_EQUAL(blocks, at->blocks);
    CHECK_EQUAL(sim_kernel_best_block(&grid, &block, of, 0, NULL, at->dynamic, 0), SIM_SUCCESS);
    if (at->block || !at->blocks)
      CHECK_EQUAL(block, at->block);
    int fit = 0;
    if (block) {
      CHECK_EQUAL(sim_kernel_occupancy(&fit, of, 0, block, at->dynamic), SIM_SUCCESS);
      CHECK_EQUAL(grid, fit * sim_config_get()->sms);
    }
    /* What is said to be free for so many blocks lets so many in, and a piece more does not. */
    size_t bytes = 0, unit = capability >= 80 ? 128 : 256;
    int most = (int)sim_device_limits()->shared_opt_in - (int)at->shared;
    if (at->blocks) {
      CHECK_EQUAL(sim_kernel_available_dynamic_shared(&bytes, of, 0, at->blocks, at->threads), SIM_SUCCESS);
      CHECK_EQUAL(sim_kernel_occupancy(&blocks, of, 0, at->threads, bytes), SIM_SUCCESS);
      CHECK(blocks >= at->blocks);
      CHECK_EQUAL(sim_kernel_occupancy(&blocks, of, 0, at->threads, bytes + unit), SIM_SUCCESS);
      CHECK(blocks < at->blocks || (int)(bytes + unit) > most);
    }
    CHECK_EQUAL(sim_kernel_available_dynamic_shared(&bytes, of, 0, 33, at->threads), SIM_INVALID_VALUE);
  }
}

static size_t by_threads(int threads) {
  return (size_t)threads * 64;
}

static void test_occupancy_arguments(void) {
  sim_kernel *of = counted(32, 0);
  int blocks = -1, grid, block;
  size_t bytes;
  CHECK_EQUAL(sim_kernel_occupancy(&blocks, of, 0, 0, 0), SIM_INVALID_VALUE);
  CHECK_EQUAL(sim_kernel_occupancy(&blocks, of, 0, -1, 0), SIM_INVALID_VALUE);
  CHECK_EQUAL(sim_kernel_occupancy(&blocks, of, 0, 1025, 0), SIM_SUCCESS);
  CHECK_EQUAL(blocks, 0);
  CHECK_EQUAL(sim_kernel_occupancy(&blocks, of, 0, 32, SIZE_MAX), SIM_SUCCESS);
  CHECK_EQUAL(blocks, 0);
  CHECK_EQUAL(sim_kernel_available_dynamic_shared(&bytes, of, 0, 0, 32), SIM_INVALID_VALUE);
  CHECK_EQUAL(sim_kernel_available_dynamic_shared(&bytes, of, 0, 1, 0), SIM_INVALID_VALUE);
  CHECK_EQUAL(sim_kernel_best_block(&grid, &block, of, 0, NULL, 0, 100), SIM_SUCCESS);
  CHECK(block > 0 && block <= 100);
  sim_call_lock(); /* the user's function runs without it */
  CHECK_EQUAL(sim_kernel_best_block(&grid, &block, of, 0, by_threads, 0, 0), SIM_SUCCESS);
  sim_call_unlock();
  CHECK_EQUAL(sim_kernel_occupancy(&blocks, of, 0, block, by_threads(block)), SIM_SUCCESS);
  CHECK(blocks > 0);
}

static void test_attributes(void) {
  sim_kernel_attributes got;
  sim_kernel_get_attributes(kernel("tile"), 0, &got);
  CHECK_EQUAL(got.shared_bytes, 1000);
  CHECK_EQUAL(got.constant_bytes, 40);
  CHECK_EQUAL(got.max_threads, 1024);
  CHECK_EQUAL(got.ptx_version, 80);
  CHECK_EQUAL(got.binary_version, 90);
  CHECK_EQUAL(got.max_dynamic_shared, 48 * 1024 - 1000);
  CHECK_EQUAL(got.carveout, -1);
  CHECK(got.registers >= 16 && got.registers <= 255);
  sim_kernel_get_attributes(kernel("small"), 0, &got);
  CHECK_EQUAL(got.max_threads, 192);
  sim_kernel_get_attributes(kernel("exact"), 0, &got);
  CHECK_EQUAL(got.max_threads, 32);
  CHECK_EQUAL(sim_kernel_max_threads(counted(64, 0)), 1024);
  CHECK_EQUAL(sim_kernel_max_threads(counted(65, 0)), 896);  /* 65536 / (72 * 32), in warps of 32 */
  CHECK_EQUAL(sim_kernel_max_threads(counted(144, 0)), 384); /* 3 warps in each quarter */
  CHECK_EQUAL(sim_kernel_max_threads(counted(255, 0)), 256);

  sim_kernel *tile = kernel("tile");
  int most = (int)sim_device_limits()->shared_opt_in - 1000;
  CHECK_EQUAL(sim_kernel_set_attribute(tile, 0, 8, most + 1), SIM_INVALID_VALUE);
  CHECK_EQUAL(sim_kernel_set_attribute(tile, 0, 8, -1), SIM_INVALID_VALUE);
  CHECK_EQUAL(sim_kernel_set_attribute(tile, 0, 8, most), SIM_SUCCESS);
  CHECK_EQUAL(sim_kernel_max_dynamic_shared(tile, 0), most);
  CHECK_EQUAL(sim_kernel_max_dynamic_shared(tile, 1), 48 * 1024 - 1000); /* the other device is as it was */
  CHECK_EQUAL(sim_kernel_set_attribute(tile, 0, 8, 0), SIM_SUCCESS);
  CHECK_EQUAL(sim_kernel_max_dynamic_shared(tile, 0), 0);
}

static void test_parameters(void) {
  static const struct {
    size_t offset, size;
  } wanted[] = {{0, 1}, {8, 8}, {16, 2}, {32, 24}, {56, 4}};
  size_t offset, size;
  for (size_t i = 0; i < 5; i++) {
    CHECK_EQUAL(sim_kernel_parameter(kernel("values"), i, &offset, &size), SIM_SUCCESS);
    CHECK_EQUAL(offset, wanted[i].offset);
    CHECK_EQUAL(size, wanted[i].size);
  }
  CHECK_EQUAL(sim_kernel_parameter(kernel("values"), 5, &offset, &size), SIM_INVALID_VALUE);
  CHECK_EQUAL(sim_kernel_parameter(kernel("values"), SIZE_MAX, &offset, &size), SIM_INVALID_VALUE);
  CHECK_EQUAL(sim_kernel_parameter(kernel("plain"), 0, &offset, &size), SIM_INVALID_VALUE);
}

static int prepare_in(sim_context *in, sim_kernel *of, sim_launch_config config, void *const *arguments,
                      const void *packed, size_t size) {
  sim_work work;
  int result = sim_kernel_prepare(&work, of, &config, arguments, packed, size, in, "cuLaunchKernel");
  if (!result) {
    CHECK_EQUAL(work.kind, SIM_OPERATION_LAUNCH);
    CHECK_TEXT(work.call, "cuLaunchKernel");
    sim_launch_free(work.launch);
  }
  return result;
}

static void test_configurations(void) {
  sim_kernel *plain = kernel("plain"), *small = kernel("small"), *exact = kernel("exact"), *tile = kernel("tile");
  CHECK_EQUAL(sim_kernel_set_attribute(tile, 0, 8, 48 * 1024 - 1000), SIM_SUCCESS);
  struct {
    sim_kernel *of;
    sim_launch_config config;
    int wanted;
  } launches[] = {
      {plain, {.grid = {1, 1, 1}, .block = {1, 1, 1}}, 0},
      {plain, {.grid = {0x7fffffff, 65535, 65535}, .block = {1024, 1, 1}}, 0},
      {plain, {.grid = {1, 1, 1}, .block = {16, 1, 64}}, 0},
      {plain, {.grid = {0, 1, 1}, .block = {1, 1, 1}}, 9},
      {plain, {.grid = {1, 1, 0}, .block = {1, 1, 1}}, 9},
      {plain, {.grid = {1, 1, 1}, .block = {1, 0, 1}}, 9},
      {plain, {.grid = {0x80000000, 1, 1}, .block = {1, 1, 1}}, 9},
      {plain, {.grid = {1, 65536, 1}, .block = {1, 1, 1}}, 9},
      {plain, {.grid = {1, 1, 65536}, .block = {1, 1, 1}}, 9},
      {plain, {.grid = {1, 1, 1}, .block = {1025, 1, 1}}, 9},
      {plain, {.grid = {1, 1, 1}, .block = {1, 1, 65}}, 9},
      {plain, {.grid = {1, 1, 1}, .block = {32, 33, 1}}, 9},
      {plain, {.grid = {1, 1, 1}, .block = {UINT32_MAX, UINT32_MAX, UINT32_MAX}}, 9},
      /* launch bounds */
      {small, {.grid = {1, 1, 1}, .block = {192, 1, 1}}, 0},
      {small, {.grid = {1, 1, 1}, .block = {193, 1, 1}}, 701},
      {exact, {.grid = {1, 1, 1}, .block = {8, 4, 1}}, 0},
      {exact, {.grid = {1, 1, 1}, .block = {4, 8, 1}}, 9},
      {exact, {.grid = {1, 1, 1}, .block = {8, 2, 1}}, 9},
      /* dynamic shared memory */
      {plain, {.grid = {1, 1, 1}, .block = {1, 1, 1}, .dynamic_shared = 48 * 1024}, 0},
      {plain, {.grid = {1, 1, 1}, .block = {1, 1, 1}, .dynamic_shared = 48 * 1024 + 1}, 1},
      {plain, {.grid = {1, 1, 1}, .block = {1, 1, 1}, .dynamic_shared = SIZE_MAX}, 1},
      {tile, {.grid = {1, 1, 1}, .block = {1, 1, 1}, .dynamic_shared = 48 * 1024 - 1000}, 0},
      {tile, {.grid = {1, 1, 1}, .block = {1, 1, 1}, .dynamic_shared = 48 * 1024 - 999}, 1},
      /* cooperative: 2 blocks of 1024 threads on each of 4 multiprocessors */
      {plain, {.grid = {8, 1, 1}, .block = {1024, 1, 1}, .cooperative = true}, 0},
      {plain, {.grid = {3, 3, 1}, .block = {1024, 1, 1}, .cooperative = true}, 720},
      {plain, {.grid = {0x7fffffff, 65535, 65535}, .block = {1, 1, 1}, .cooperative = true}, 720},
      {plain, {.grid = {1, 1, 1}, .block = {1, 1, 1}, .cluster = true}, 801},
  };
  for (size_t i = 0; i < sizeof launches / sizeof *launches; i++) {
    int result = prepare_in(context, launches[i].of, launches[i].config, NULL, NULL, 0);
    if (result != launches[i].wanted)
      printf("launch %zu:\n", i);
    CHECK_EQUAL(result, launches[i].wanted);
  }
  sim_launch_config one = {.grid = {1, 1, 1}, .block = {1, 1, 1}};
  sim_kernel *function;
  CHECK_EQUAL(sim_kernel_in_context(&function, plain, context), SIM_SUCCESS);
  CHECK_EQUAL(prepare_in(context, function, one, NULL, NULL, 0), SIM_SUCCESS);
  CHECK_EQUAL(prepare_in(second, function, one, NULL, NULL, 0), SIM_INVALID_HANDLE);
  CHECK_EQUAL(prepare_in(second, plain, one, NULL, NULL, 0), SIM_SUCCESS);
}

static void test_arguments(void) {
  sim_kernel *values = kernel("values");
  sim_launch_config one = {.grid = {3, 2, 1}, .block = {32, 1, 1}, .dynamic_shared = 12};
  uint8_t a = 0x11, d[24], buffer[64], wanted[60] = {0};
  uint64_t b = 0x2222222222222222;
  uint16_t c = 0x3333;
  float e = 1.5f;
  for (int i = 0; i < 24; i++)
    d[i] = (uint8_t)(100 + i);
  memcpy(wanted, &a, 1);
  memcpy(wanted + 8, &b, 8);
  memcpy(wanted + 16, &c, 2);
  memcpy(wanted + 32, d, 24);
  memcpy(wanted + 56, &e, 4);
  void *arguments[5] = {&a, &b, &c, d, &e};
  sim_work work;
  CHECK_EQUAL(sim_kernel_prepare(&work, values, &one, arguments, NULL, 0, second, "cudaLaunchKernel"), SIM_SUCCESS);
  CHECK_EQUAL(work.device, 1);
  CHECK_EQUAL(work.launch->parameter_bytes, 60);
  CHECK(memcmp(work.launch->parameters, wanted, 60) == 0);
  CHECK(memcmp(work.launch->grid, one.grid, sizeof one.grid) == 0);
  CHECK(memcmp(work.launch->block, one.block, sizeof one.block) == 0);
  CHECK_EQUAL(work.launch->dynamic_shared, 12);
  CHECK(work.launch->function == values->function && work.launch->library == library);
  sim_launch_free(work.launch);

  memset(buffer, 0, sizeof buffer);
  memcpy(buffer, wanted, 60);
  CHECK_EQUAL(sim_kernel_prepare(&work, values, &one, NULL, buffer, 60, context, "cuLaunchKernel"), SIM_SUCCESS);
  CHECK(memcmp(work.launch->parameters, wanted, 60) == 0);
  sim_launch_free(work.launch);
  CHECK_EQUAL(prepare_in(context, values, one, NULL, buffer, 64), SIM_SUCCESS); /* padded as C does it */
  CHECK_EQUAL(prepare_in(context, values, one, NULL, buffer, 59), SIM_INVALID_VALUE);
  CHECK_EQUAL(prepare_in(context, values, one, NULL, buffer, 65), SIM_INVALID_VALUE);
  CHECK_EQUAL(prepare_in(context, values, one, NULL, (void *)4096, 60), SIM_INVALID_VALUE);

  /* Pointers that lead nowhere are refused, not followed. */
  CHECK_EQUAL(prepare_in(context, values, one, NULL, NULL, 0), SIM_INVALID_VALUE);
  CHECK_EQUAL(prepare_in(context, values, one, (void *const *)4096, NULL, 0), SIM_INVALID_VALUE);
  for (int i = 0; i < 5; i++) {
    void *wrong[] = {NULL, (void *)4096, (void *)UINTPTR_MAX};
    for (int j = 0; j < 3; j++) {
      void *broken[5] = {&a, &b, &c, d, &e};
      broken[i] = wrong[j];
      CHECK_EQUAL(prepare_in(context, values, one, broken, NULL, 0), SIM_INVALID_VALUE);
    }
  }
}

/* A process has one capability. */
static void start(const char *capability) {
  setenv("XCHG_SIM_CC", capability, 1);
  CHECK_EQUAL(sim_device_start(), SIM_SUCCESS);
}

static void test_capability(const char *capability, int number) {
  fflush(stdout);
  pid_t child = fork();
  if (!child) {
    start(capability);
    test_occupancy(number);
    int failed = test_failures;
    fflush(stdout);
    _exit(failed != 0);
  }
  int status = -1;
  CHECK_EQUAL(waitpid(child, &status, 0), child);
  CHECK_EQUAL(status, 0);
}

int main(void) {
  setenv("XCHG_SIM_DEVICES", "2", 1);
  setenv("XCHG_SIM_MEMORY", "64M", 1);
  setenv("XCHG_SIM_SMS", "4", 1);
  setenv("XCHG_SIM_LOG", "none", 1);
  test_capability("7.5", 75);
  test_capability("8.0", 80);
  test_capability("12.0", 120);
  start("9.0");
  test_occupancy(90);
  CHECK_EQUAL(sim_context_current(&context, true), SIM_SUCCESS);
  sim_primary_activate(sim_device_get(1));
  second = &sim_device_get(1)->primary;
  ptx_log log = {""};
  int result = sim_library_load(&library, text, 0, NULL, &log);
  if (result)
    printf("%s\n", log.text);
  CHECK_EQUAL(result, SIM_SUCCESS);
  if (result)
    return test_end();
  test_occupancy_arguments();
  test_attributes();
  test_parameters();
  test_configurations();
  test_arguments();
  CHECK_EQUAL(sim_library_unload(library), SIM_SUCCESS);
  return test_end();
}
