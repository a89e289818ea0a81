/* Pools: attributes, accounting, stream-ordered allocation, memory of graphs, access of other devices. */
#include "test.h"

#include <stdlib.h>

#include "device.h"
#include "graph.h"
#include "pool.h"
#include "report.h"
#include "result.h"
#include "stream.h"

enum { MIB = 1 << 20 };
enum { RELEASE_THRESHOLD = 4, RESERVED = 5, RESERVED_HIGH = 6, USED = 7, USED_HIGH = 8 };

static sim_context *context;
static sim_device *device;
static sim_stream *stream, *other;

static uint64_t attribute(sim_pool *pool, int number) {
  uint64_t value = 0;
  CHECK_EQUAL(sim_pool_get_attribute(pool, number, &value), SIM_SUCCESS);
  return value;
}

static int set_attribute(sim_pool *pool, int number, uint64_t value) {
  return sim_pool_set_attribute(pool, number, &value);
}

static uint64_t allocate(sim_pool *pool, uint64_t size) {
  uint64_t address = 0;
  CHECK_EQUAL(sim_pool_allocate(&address, pool, size, stream, "cudaMallocAsync"), SIM_SUCCESS);
  CHECK(address != 0);
  return address;
}

static void give_back(uint64_t address) {
  CHECK_EQUAL(sim_pool_free(address, stream, "cudaFreeAsync"), SIM_SUCCESS);
}

static void wait(void) {
  CHECK_EQUAL(sim_stream_synchronize(stream), SIM_SUCCESS);
}

static void test_attributes(void) {
  sim_pool *pool = sim_pool_default(device);
  CHECK(device->current_pool == pool);
  CHECK_EQUAL(sim_pool_check(pool), SIM_SUCCESS);
  CHECK_EQUAL(sim_pool_check(NULL), SIM_INVALID_VALUE);
  CHECK_EQUAL(sim_pool_check((sim_pool *)&pool), SIM_INVALID_VALUE);
  for (int i = 1; i <= 3; i++) {
    int flag = -1;
    CHECK_EQUAL(sim_pool_get_attribute(pool, i, &flag), SIM_SUCCESS);
    CHECK_EQUAL(flag, 1);
    flag = 0;
    CHECK_EQUAL(sim_pool_set_attribute(pool, i, &flag), SIM_SUCCESS);
    flag = -1;
    CHECK_EQUAL(sim_pool_get_attribute(pool, i, &flag), SIM_SUCCESS);
    CHECK_EQUAL(flag, 0);
  }
  for (int i = RELEASE_THRESHOLD; i <= USED_HIGH; i++)
    CHECK_EQUAL(attribute(pool, i), 0);
  uint64_t value;
  int none[] = {-1, 0, 9, 1000};
  for (int i = 0; i < 4; i++) {
    CHECK_EQUAL(sim_pool_get_attribute(pool, none[i], &value), SIM_INVALID_VALUE);
    CHECK_EQUAL(set_attribute(pool, none[i], 0), SIM_INVALID_VALUE);
  }
  CHECK_EQUAL(set_attribute(pool, RESERVED, 0), SIM_INVALID_VALUE);
  CHECK_EQUAL(set_attribute(pool, USED, 0), SIM_INVALID_VALUE);
  CHECK_EQUAL(set_attribute(pool, USED_HIGH, 1), SIM_INVALID_VALUE);
  CHECK_EQUAL(sim_pool_destroy(pool), SIM_INVALID_VALUE);
}

static void test_life(void) {
  sim_pool *pool = sim_pool_default(device);
  uint64_t before = sim_memory_used(device), address = allocate(pool, 1000);
  sim_allocation *made = sim_memory_find(address);
  CHECK_EQUAL(made->state, SIM_STATE_PENDING);
  CHECK_EQUAL(made->size, 1000);
  CHECK(made->pool == pool);
  CHECK_EQUAL(attribute(pool, USED), 1024);
  CHECK_EQUAL(attribute(pool, RESERVED), 2 * MIB);
  CHECK_EQUAL(sim_memory_used(device), before + 2 * MIB);
  wait();
  CHECK_EQUAL(made->state, SIM_STATE_LIVE);
  CHECK_EQUAL(sim_pool_free(address + 1, stream, "x"), SIM_INVALID_VALUE);
  CHECK_EQUAL(sim_pool_free(12, stream, "x"), SIM_INVALID_VALUE);
  give_back(address);
  CHECK_EQUAL(made->state, SIM_STATE_LIVE);
  CHECK_EQUAL(sim_pool_free(address, stream, "x"), SIM_INVALID_VALUE);
  wait();
  CHECK_EQUAL(made->state, SIM_STATE_FREED);
  CHECK_EQUAL(sim_pool_free(address, stream, "x"), SIM_INVALID_VALUE);
  CHECK_EQUAL(attribute(pool, USED), 0);
  CHECK_EQUAL(attribute(pool, RESERVED), 0); /* the threshold is 0 */
  CHECK_EQUAL(attribute(pool, USED_HIGH), 1024);
  CHECK_EQUAL(attribute(pool, RESERVED_HIGH), 2 * MIB);
  CHECK_EQUAL(set_attribute(pool, USED_HIGH, 0), SIM_SUCCESS);
  CHECK_EQUAL(set_attribute(pool, RESERVED_HIGH, 0), SIM_SUCCESS);
  CHECK_EQUAL(attribute(pool, USED_HIGH), 0);
  CHECK_EQUAL(attribute(pool, RESERVED_HIGH), 0);
  CHECK_EQUAL(sim_memory_used(device), before);

  /* Memory of cudaMalloc may be freed in order, pinned memory not. */
  sim_allocation *plain, *pinned;
  CHECK_EQUAL(sim_memory_allocate(&plain, context, 64, SIM_MEMORY_DEVICE, "cudaMalloc"), SIM_SUCCESS);
  give_back(plain->address);
  wait();
  CHECK_EQUAL(plain->state, SIM_STATE_FREED);
  CHECK_EQUAL(sim_memory_host(&pinned, context, NULL, 64, SIM_MEMORY_PINNED, 0, "cudaMallocHost"), SIM_SUCCESS);
  CHECK_EQUAL(sim_pool_free(pinned->address, stream, "x"), SIM_INVALID_VALUE);
  sim_memory_release(pinned);
}

static void test_threshold(void) {
  sim_pool *pool = sim_pool_default(device);
  CHECK_EQUAL(set_attribute(pool, RELEASE_THRESHOLD, UINT64_MAX), SIM_SUCCESS);
  uint64_t small = allocate(pool, 10), large = allocate(pool, 5 * MIB);
  CHECK_EQUAL(attribute(pool, RESERVED), 6 * MIB);
  give_back(large);
  wait();
  CHECK_EQUAL(attribute(pool, RESERVED), 6 * MIB);
  CHECK_EQUAL(sim_pool_trim(pool, 4 * MIB), SIM_SUCCESS);
  CHECK_EQUAL(attribute(pool, RESERVED), 4 * MIB);
  CHECK_EQUAL(sim_pool_trim(pool, 0), SIM_SUCCESS);
  CHECK_EQUAL(attribute(pool, RESERVED), 2 * MIB); /* what is in use stays */
  give_back(small);
  wait();
  CHECK_EQUAL(attribute(pool, RESERVED), 2 * MIB);
  CHECK_EQUAL(sim_pool_trim(pool, 0), SIM_SUCCESS);
  CHECK_EQUAL(attribute(pool, RESERVED), 0);
  CHECK_EQUAL(set_attribute(pool, RELEASE_THRESHOLD, 0), SIM_SUCCESS);
}

static void test_limits(void) {
  sim_pool *pool;
  uint64_t address;
  CHECK_EQUAL(sim_pool_create(&pool, SIM_MEMORY_DEVICE, 7, 0), SIM_INVALID_DEVICE);
  CHECK_EQUAL(sim_pool_create(&pool, SIM_MEMORY_DEVICE, 0, MIB), SIM_SUCCESS);
  CHECK_EQUAL(sim_pool_allocate(&address, pool, MIB + 1, stream, "x"), SIM_OUT_OF_MEMORY);
  address = allocate(pool, MIB);
  CHECK_EQUAL(attribute(pool, RESERVED), MIB);
  CHECK_EQUAL(sim_pool_allocate(&address, pool, 1, stream, "x"), SIM_OUT_OF_MEMORY);
  give_back(address);
  wait();
  CHECK_EQUAL(sim_pool_destroy(pool), SIM_SUCCESS);
  CHECK_EQUAL(sim_pool_check(pool), SIM_INVALID_VALUE);
  CHECK_EQUAL(sim_pool_destroy(pool), SIM_INVALID_VALUE);

  pool = sim_pool_default(device);
  CHECK_EQUAL(sim_pool_allocate(&address, pool, sim_config_get()->memory + 1, stream, "x"), SIM_OUT_OF_MEMORY);
  CHECK_EQUAL(sim_pool_allocate(&address, pool, UINT64_MAX, stream, "x"), SIM_OUT_OF_MEMORY);
  CHECK_EQUAL(attribute(pool, USED), 0);
  /* All that is left, though it is no whole number of pieces. */
  sim_allocation *odd;
  CHECK_EQUAL(sim_memory_allocate(&odd, context, 512, SIM_MEMORY_DEVICE, "cudaMalloc"), SIM_SUCCESS);
  address = allocate(pool, sim_config_get()->memory - sim_memory_used(device));
  give_back(address);
  wait();
  sim_memory_release(odd);
  CHECK_EQUAL(sim_memory_used(device), 0);
}

static void test_destroy(void) {
  sim_pool *pool;
  CHECK_EQUAL(sim_pool_create(&pool, SIM_MEMORY_DEVICE, 0, 0), SIM_SUCCESS);
  device->current_pool = pool;
  uint64_t address = allocate(pool, 100);
  CHECK_EQUAL(sim_pool_destroy(pool), SIM_SUCCESS);
  CHECK(device->current_pool == sim_pool_default(device));
  CHECK_EQUAL(sim_pool_check(pool), SIM_INVALID_VALUE);
  wait();
  CHECK_EQUAL(sim_memory_find(address)->state, SIM_STATE_LIVE);
  give_back(address);
  wait();
  CHECK_EQUAL(sim_memory_used(device), 0);
}

static void test_access(void) {
  sim_pool *pool;
  sim_allocation *found;
  char text[600];
  int flags = -1;
  CHECK_EQUAL(sim_pool_create(&pool, SIM_MEMORY_DEVICE, 0, 0), SIM_SUCCESS);
  uint64_t address = allocate(pool, 64);
  wait();
  CHECK_EQUAL(sim_pool_get_access(pool, 0, &flags), SIM_SUCCESS);
  CHECK_EQUAL(flags, 3);
  CHECK_EQUAL(sim_pool_get_access(pool, 1, &flags), SIM_SUCCESS);
  CHECK_EQUAL(flags, 0);
  CHECK_EQUAL(sim_memory_access(&found, address, 4, 0, true, text, sizeof text), SIM_SUCCESS);
  CHECK_EQUAL(sim_memory_access(&found, address, 4, 1, false, text, sizeof text), SIM_ILLEGAL_ADDRESS);
  CHECK(strstr(text, "(no access to its pool)") != NULL);
  CHECK_EQUAL(sim_pool_set_access(pool, 1, 1), SIM_SUCCESS);
  CHECK_EQUAL(sim_pool_get_access(pool, 1, &flags), SIM_SUCCESS);
  CHECK_EQUAL(flags, 1);
  CHECK_EQUAL(sim_memory_access(&found, address, 4, 1, false, text, sizeof text), SIM_SUCCESS);
  CHECK_EQUAL(sim_memory_access(&found, address, 4, 1, true, text, sizeof text), SIM_ILLEGAL_ADDRESS);
  CHECK_EQUAL(sim_pool_set_access(pool, 1, 3), SIM_SUCCESS);
  CHECK_EQUAL(sim_memory_access(&found, address, 4, 1, true, text, sizeof text), SIM_SUCCESS);
  CHECK_EQUAL(sim_pool_set_access(pool, 1, 0), SIM_SUCCESS);
  CHECK_EQUAL(sim_memory_access(&found, address, 4, 1, true, text, sizeof text), SIM_ILLEGAL_ADDRESS);
  CHECK_EQUAL(sim_pool_set_access(pool, 0, 0), SIM_INVALID_VALUE);
  CHECK_EQUAL(sim_pool_set_access(pool, 1, 2), SIM_INVALID_VALUE);
  CHECK_EQUAL(sim_pool_set_access(pool, 2, 3), SIM_INVALID_DEVICE);
  CHECK_EQUAL(sim_pool_get_access(pool, -1, &flags), SIM_INVALID_DEVICE);
  give_back(address);
  wait();
  CHECK_EQUAL(sim_pool_destroy(pool), SIM_SUCCESS);
}

static void test_host_pools(void) {
  sim_memory_kind kinds[2] = {SIM_MEMORY_PINNED, SIM_MEMORY_MANAGED};
  for (int i = 0; i < 2; i++) {
    sim_pool *pool = sim_pool_builtin(kinds[i]);
    CHECK_EQUAL(sim_pool_check(pool), SIM_SUCCESS);
    uint64_t address = allocate(pool, 100);
    wait();
    CHECK_EQUAL(sim_memory_find(address)->kind, kinds[i]);
    *(char *)(uintptr_t)address = 1; /* the host may use it */
    CHECK_EQUAL(sim_memory_used(device), 0);
    give_back(address);
    wait();
    CHECK_EQUAL(attribute(pool, USED), 0);
    CHECK_EQUAL(sim_pool_destroy(pool), SIM_INVALID_VALUE);
  }
}

/* The address is the same in each launch; the memory lives from the node that allocates it to the one that frees it. */
static void test_graph(void) {
  sim_graph *graph;
  sim_graph_exec *exec;
  sim_pool *pool = sim_pool_default(device);
  sim_allocation *plain;
  CHECK_EQUAL(sim_memory_allocate(&plain, context, 64, SIM_MEMORY_DEVICE, "cudaMalloc"), SIM_SUCCESS);
  CHECK_EQUAL(sim_capture_begin(stream, SIM_CAPTURE_RELAXED), SIM_SUCCESS);
  uint64_t address = allocate(pool, 256);
  CHECK_EQUAL(sim_pool_free(plain->address, stream, "x"), SIM_INVALID_VALUE);
  sim_set set = {.destination = address, .width = 256, .height = 1, .value = 7, .unit = 1};
  CHECK_EQUAL(sim_set_check(&set), SIM_SUCCESS);
  sim_work work = {.kind = SIM_OPERATION_SET, .call = "cudaMemsetAsync", .set = set};
  CHECK_EQUAL(sim_stream_submit(stream, &work), SIM_SUCCESS);
  give_back(address);
  CHECK_EQUAL(sim_capture_end(stream, &graph), SIM_SUCCESS);
  CHECK_EQUAL(attribute(pool, USED), 0);
  CHECK_EQUAL(sim_exec_create(&exec, graph, 0), SIM_SUCCESS);
  for (int i = 0; i < 3; i++) {
    CHECK_EQUAL(sim_exec_launch(exec, stream), SIM_SUCCESS);
    wait();
    CHECK_EQUAL(sim_memory_find(address)->state, SIM_STATE_PENDING);
    CHECK_EQUAL(sim_memory_find(address)->host[9], 0xDD);
    CHECK_EQUAL(attribute(pool, USED), 0);
    CHECK_EQUAL(attribute(pool, USED_HIGH) >= 512, 1);
  }
  sim_exec_destroy(exec);
  sim_graph_destroy(graph);
  sim_memory_release(plain);
}

static void test_graph_memory(void) {
  sim_pool *pool = sim_pool_default(device);
  uint64_t address = 0, faults = sim_report_count(SIM_REPORT_FAULT);
  CHECK_EQUAL(sim_pool_allocate_graph(&address, pool, 100, context, "cudaGraphAddMemAllocNode"), SIM_SUCCESS);
  CHECK_EQUAL(sim_memory_find(address)->state, SIM_STATE_PENDING);
  CHECK_EQUAL(sim_pool_run_allocate(address, "x"), SIM_SUCCESS);
  CHECK_EQUAL(attribute(pool, USED), 512);
  CHECK_EQUAL(sim_pool_run_allocate(address, "x"), SIM_ILLEGAL_ADDRESS);
  CHECK_EQUAL(sim_pool_run_free(address, "x"), SIM_SUCCESS);
  CHECK_EQUAL(sim_pool_run_free(address, "x"), SIM_ILLEGAL_ADDRESS);
  CHECK_EQUAL(sim_report_count(SIM_REPORT_FAULT), faults + 2);
  CHECK_EQUAL(attribute(pool, USED), 0);
  CHECK_EQUAL(sim_pool_run_allocate(address, "x"), SIM_SUCCESS);
  CHECK_EQUAL(sim_memory_find(address)->state, SIM_STATE_LIVE);
  sim_memory_release(sim_memory_find(address));
  CHECK_EQUAL(attribute(pool, USED), 0);
  CHECK_EQUAL(sim_pool_run_allocate(address, "x"), SIM_ILLEGAL_ADDRESS);
}

/* A destroyed pool stays for the graph that will use it again. */
static void test_graph_pool(void) {
  sim_pool *pool;
  uint64_t address = 0, used = sim_memory_used(device);
  CHECK_EQUAL(sim_pool_create(&pool, SIM_MEMORY_DEVICE, 0, 0), SIM_SUCCESS);
  CHECK_EQUAL(sim_pool_allocate_graph(&address, pool, 100, context, "cudaGraphAddMemAllocNode"), SIM_SUCCESS);
  CHECK_EQUAL(sim_pool_destroy(pool), SIM_SUCCESS);
  for (int i = 0; i < 2; i++) {
    CHECK_EQUAL(sim_pool_run_allocate(address, "x"), SIM_SUCCESS);
    CHECK_EQUAL(sim_memory_used(device), used + 2 * MIB);
    CHECK_EQUAL(sim_pool_run_free(address, "x"), SIM_SUCCESS);
    CHECK_EQUAL(sim_memory_used(device), used);
  }
  CHECK_EQUAL(sim_pool_run_allocate(address, "x"), SIM_SUCCESS);
  sim_memory_release(sim_memory_find(address));
  CHECK_EQUAL(sim_memory_used(device), used);
}

/* Nothing orders the free behind the allocation. Loses the context: comes last. */
static void test_disorder(void) {
  uint64_t address = allocate(sim_pool_default(device), 100);
  CHECK_EQUAL(sim_pool_free(address, other, "cudaFreeAsync"), SIM_SUCCESS);
  CHECK_EQUAL(sim_stream_synchronize(other), SIM_ILLEGAL_ADDRESS);
  CHECK_EQUAL(context->lost, SIM_ILLEGAL_ADDRESS);
}

int main(void) {
  setenv("XCHG_SIM_DEVICES", "2", 1);
  setenv("XCHG_SIM_MEMORY", "64M", 1);
  setenv("XCHG_SIM_SCHEDULE", "lazy", 1);
  setenv("XCHG_SIM_LOG", "none", 1);
  CHECK_EQUAL(sim_device_start(), SIM_SUCCESS);
  CHECK_EQUAL(sim_context_current(&context, true), SIM_SUCCESS);
  device = context->device;
  CHECK_EQUAL(sim_stream_create(&stream, context, SIM_STREAM_NON_BLOCKING, 0), SIM_SUCCESS);
  CHECK_EQUAL(sim_stream_create(&other, context, SIM_STREAM_NON_BLOCKING, 0), SIM_SUCCESS);
  test_attributes();
  test_life();
  test_threshold();
  test_limits();
  test_destroy();
  test_access();
  test_host_pools();
  test_graph();
  test_graph_memory();
  test_graph_pool();
  test_disorder();
  return test_end();
}
