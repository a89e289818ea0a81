/* What the two APIs are told of an address, for each kind of memory. */
#include "test.h"

#include <stdlib.h>

#include "device.h"
#include "pointer.h"
#include "pool.h"
#include "result.h"

static sim_context *context, *second;

/* CUpointer_attribute of cuda.h, and the bytes of each one's type. */
enum {
  CONTEXT = 1,
  MEMORY_TYPE = 2,
  DEVICE_POINTER = 3,
  HOST_POINTER = 4,
  P2P_TOKENS = 5,
  SYNC_MEMOPS = 6,
  BUFFER_ID = 7,
  IS_MANAGED = 8,
  DEVICE_ORDINAL = 9,
  RANGE_START_ADDR = 11,
  RANGE_SIZE = 12,
  MAPPED = 13,
  ACCESS_FLAGS = 16,
  MEMPOOL_HANDLE = 17,
  LAST = 21
};
static const size_t bytes_of[LAST + 1] = {0, 8, 4, 8, 8, 0, 4, 8, 4, 4, 4, 8, 8, 4, 8, 4, 4, 8, 8, 8, 8, 4};

static uint64_t attribute(uint64_t address, int number) {
  uint64_t value = 0;
  CHECK_EQUAL(sim_pointer_attribute(address, number, &value, false), SIM_SUCCESS);
  return value;
}

static void check_runtime(uint64_t address, int type, int device, uint64_t device_pointer, uint64_t host_pointer) {
  sim_pointer got;
  memset(&got, 0xff, sizeof got);
  sim_pointer_get(address, &got);
  CHECK_EQUAL(got.type, type);
  CHECK_EQUAL(got.device, device);
  CHECK_EQUAL(got.device_pointer, device_pointer);
  CHECK_EQUAL(got.host_pointer, host_pointer);
}

static void test_kinds(void) {
  static char mine[100];
  sim_allocation *device, *remote, *pinned, *managed, *registered;
  sim_memory_allocate(&device, context, 100, SIM_MEMORY_DEVICE, "cudaMalloc");
  sim_memory_allocate(&remote, second, 100, SIM_MEMORY_DEVICE, "cudaMalloc");
  sim_memory_host(&pinned, second, NULL, 100, SIM_MEMORY_PINNED, 0, "cudaMallocHost");
  sim_memory_host(&managed, context, NULL, 100, SIM_MEMORY_MANAGED, 1, "cudaMallocManaged");
  sim_memory_host(&registered, context, mine, 100, SIM_MEMORY_REGISTERED, 0, "cudaHostRegister");
  struct {
    sim_allocation *of;
    int type, device, memory_type, managed;
    bool on_host;
  } rows[] = {
      {device, 2, 0, 2, 0, false}, {remote, 2, 1, 2, 0, false},    {pinned, 1, 1, 1, 0, true},
      {managed, 3, 0, 2, 1, true}, {registered, 1, 0, 1, 0, true},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    uint64_t begin = rows[i].of->address;
    for (uint64_t offset = 0; offset < 100; offset += 99) { /* interior addresses too */
      uint64_t address = begin + offset;
      check_runtime(address, rows[i].type, rows[i].device, address, rows[i].on_host ? address : 0);
      CHECK_EQUAL(attribute(address, MEMORY_TYPE), rows[i].memory_type);
      CHECK_EQUAL(attribute(address, DEVICE_ORDINAL), rows[i].device);
      CHECK_EQUAL(attribute(address, IS_MANAGED), rows[i].managed);
      CHECK_EQUAL(attribute(address, DEVICE_POINTER), address);
      CHECK_EQUAL(attribute(address, RANGE_START_ADDR), begin);
      CHECK_EQUAL(attribute(address, RANGE_SIZE), 100);
      CHECK_EQUAL(attribute(address, MAPPED), 1);
      CHECK_EQUAL(attribute(address, BUFFER_ID), rows[i].of->id);
      CHECK_EQUAL(attribute(address, MEMPOOL_HANDLE), 0);
      CHECK(attribute(address, CONTEXT) == (uintptr_t)rows[i].of->context);
      uint64_t value = 5;
      CHECK_EQUAL(sim_pointer_attribute(address, HOST_POINTER, &value, false), rows[i].on_host ? 0 : 1);
      CHECK_EQUAL(value, rows[i].on_host ? address : 5);
      CHECK_EQUAL(sim_pointer_attribute(address, HOST_POINTER, &value, true), 0);
      CHECK_EQUAL(value, rows[i].on_host ? address : 0);
    }
    uint64_t base, size;
    CHECK_EQUAL(sim_pointer_range(begin + 99, &base, &size), SIM_SUCCESS);
    CHECK_EQUAL(base, begin);
    CHECK_EQUAL(size, 100);
    CHECK_EQUAL(sim_pointer_range(begin, NULL, NULL), SIM_SUCCESS);
  }
  CHECK_EQUAL(attribute(device->address, ACCESS_FLAGS), 3);
  CHECK_EQUAL(attribute(remote->address, ACCESS_FLAGS), 0); /* no peer of the current device */
  CHECK_EQUAL(attribute(pinned->address, ACCESS_FLAGS), 3);

  /* Nothing is known of one past the end, of freed memory, of the program's own. */
  int local = 0;
  uint64_t freed = device->address, base, unknown[] = {freed + 100, freed, (uintptr_t)&local, 0, UINT64_MAX};
  sim_memory_release(device);
  for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
    uint64_t address = unknown[i], value = 5;
    check_runtime(address, 0, -2, 0, address == (uintptr_t)&local ? address : 0);
    CHECK_EQUAL(sim_pointer_range(address, &base, NULL), SIM_NOT_FOUND);
    CHECK_EQUAL(sim_pointer_attribute(address, MEMORY_TYPE, &value, false), SIM_INVALID_VALUE);
    CHECK_EQUAL(value, 5);
    CHECK_EQUAL(sim_pointer_attribute(address, BUFFER_ID, &value, true), SIM_SUCCESS);
    CHECK_EQUAL(value, 0);
  }
  sim_memory_release(remote);
  sim_memory_release(pinned);
  sim_memory_release(managed);
  sim_memory_release(registered);
}

static void test_sizes(void) {
  sim_allocation *managed;
  sim_memory_host(&managed, context, NULL, 8, SIM_MEMORY_MANAGED, 1, "cudaMallocManaged");
  for (int number = -1; number <= LAST + 2; number++)
    for (int known = 0; known < 2; known++) {
      uint8_t data[16];
      memset(data, 0xee, sizeof data);
      bool right = number > 0 && number <= LAST && number != P2P_TOKENS;
      int result = sim_pointer_attribute(known ? managed->address : 1, number, data, true);
      CHECK_EQUAL(result, right ? SIM_SUCCESS : SIM_INVALID_VALUE);
      for (size_t i = right ? bytes_of[number] : 0; i < sizeof data; i++)
        CHECK_EQUAL(data[i], 0xee);
      for (size_t i = 0; right && !known && i < bytes_of[number]; i++)
        CHECK_EQUAL(data[i], 0);
    }
  sim_memory_release(managed);
}

static void test_pool(void) {
  sim_pool *pool = sim_pool_default(context->device);
  uint64_t address = 0;
  CHECK_EQUAL(sim_pool_allocate_graph(&address, pool, 100, context, "x"), SIM_SUCCESS);
  check_runtime(address + 50, 2, 0, address + 50, 0); /* the address is right before the memory lives */
  CHECK(attribute(address, MEMPOOL_HANDLE) == (uintptr_t)pool);
}

int main(void) {
  setenv("XCHG_SIM_DEVICES", "2", 1);
  setenv("XCHG_SIM_MEMORY", "64M", 1);
  CHECK_EQUAL(sim_device_start(), SIM_SUCCESS);
  CHECK_EQUAL(sim_context_current(&context, true), SIM_SUCCESS);
  sim_primary_activate(sim_device_get(1));
  second = &sim_device_get(1)->primary;
  test_kinds();
  test_sizes();
  test_pool();
  return test_end();
}
