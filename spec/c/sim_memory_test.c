/* Allocations of the simulated device: addresses, red zones, what is found and what is told, reuse, accounting. */
#include "test.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "config.h"
#include "device.h"
#include "fault.h"
#include "host.h"
#include "memory.h"
#include "result.h"

static sim_context *context, *second;

static sim_allocation *allocate(uint64_t size) {
  sim_allocation *made = NULL;
  CHECK_EQUAL(sim_memory_allocate(&made, context, size, SIM_MEMORY_DEVICE, "cudaMalloc"), SIM_SUCCESS);
  return made;
}

static void test_addresses(void) {
  sim_allocation *a = allocate(4), *b = allocate(400), *c = allocate(1);
  CHECK_EQUAL(a->address % 512, 0);
  CHECK_EQUAL(b->address % 512, 0);
  CHECK(b->address - (a->address + a->size) >= SIM_RED_ZONE);
  CHECK(c->address - (b->address + b->size) >= SIM_RED_ZONE);
  CHECK(a->id != b->id && b->id != c->id);
  CHECK_EQUAL(b->size, 400);
  CHECK_EQUAL(b->device, 0);
  CHECK(b->context == context);

  CHECK(sim_memory_find(b->address) == b);
  CHECK(sim_memory_find(b->address + 399) == b);
  CHECK(sim_memory_find(b->address + 400) == NULL);
  CHECK(sim_memory_find(b->address - 1) == NULL);
  CHECK(sim_memory_find(0) == NULL);
  CHECK(sim_memory_find(UINT64_MAX) == NULL);

  for (int i = 0; i < 400; i++)
    CHECK_EQUAL(b->host[i], 0xCD);
  /* What the user sees cannot be touched by the host. */
  CHECK(!sim_host_usable(b->address, 400, false));
  CHECK(sim_host_usable((uintptr_t)b->host, 400, true));

  sim_allocation *other = NULL;
  CHECK_EQUAL(sim_memory_allocate(&other, second, 64, SIM_MEMORY_DEVICE, "cudaMalloc"), SIM_SUCCESS);
  CHECK_EQUAL(other->device, 1);
  uint64_t distance = (uintptr_t)b->host - b->address;
  CHECK_EQUAL((uintptr_t)c->host - c->address, distance);
  sim_memory_release(a);
  sim_memory_release(b);
  sim_memory_release(c);
  sim_memory_release(other);
}

static void test_release(void) {
  uint64_t used = sim_memory_used(sim_device_get(0)), live = sim_memory_live(SIM_MEMORY_DEVICE);
  sim_allocation *a = allocate(1000);
  uint64_t address = a->address;
  CHECK(sim_memory_used(sim_device_get(0)) >= used + 1000);
  CHECK_EQUAL(sim_memory_live(SIM_MEMORY_DEVICE), live + 1);
  uint8_t *host = a->host;
  sim_memory_release(a);
  CHECK_EQUAL(sim_memory_used(sim_device_get(0)), used);
  CHECK_EQUAL(sim_memory_live(SIM_MEMORY_DEVICE), live);
  CHECK_EQUAL(host[0], 0xDD);
  CHECK_EQUAL(host[999], 0xDD);
  /* It is remembered, and its addresses are not given out again soon. */
  CHECK(sim_memory_find(address) != NULL);
  CHECK_EQUAL(sim_memory_find(address)->state, SIM_STATE_FREED);
  for (int i = 0; i < 1000; i++) {
    sim_allocation *b = allocate(1000);
    CHECK(b->address != address);
    sim_memory_release(b);
  }
  CHECK_EQUAL(sim_memory_find(address)->state, SIM_STATE_FREED);
}

/* More is allocated and freed than there are addresses; memory that operations name stays. */
static void test_reuse(void) {
  const uint64_t part = sim_config_get()->memory / 4;
  sim_allocation *kept = allocate(100), *named = allocate(100);
  uint64_t first = 0, address = named->address;
  named->pending = 1;
  sim_memory_release(named);
  bool again = false;
  for (int i = 0; i < 100; i++) {
    sim_allocation *a = allocate(part);
    CHECK_EQUAL(a->host[0], 0xCD);
    CHECK_EQUAL(a->host[part - 1], 0xCD);
    again |= a->address == first;
    first = first ? first : a->address;
    CHECK(a->address > kept->address || a->address + part <= kept->address);
    sim_memory_release(a);
  }
  CHECK(again);
  CHECK(sim_memory_find(address) == named);
  named->pending = 0;
  CHECK_EQUAL(kept->state, SIM_STATE_LIVE);
  sim_memory_release(kept);
}

static void test_exhaustion(void) {
  sim_device *device = sim_device_get(0);
  uint64_t left = sim_config_get()->memory - sim_memory_used(device);
  sim_allocation *all = allocate(left), *one = NULL;
  CHECK_EQUAL(sim_memory_allocate(&one, context, 1, SIM_MEMORY_DEVICE, "cudaMalloc"), SIM_OUT_OF_MEMORY);
  sim_memory_release(all);
  CHECK_EQUAL(sim_memory_allocate(&one, context, left + 1, SIM_MEMORY_DEVICE, "cudaMalloc"), SIM_OUT_OF_MEMORY);
  CHECK_EQUAL(sim_memory_allocate(&one, context, UINT64_MAX, SIM_MEMORY_DEVICE, "cudaMalloc"), SIM_OUT_OF_MEMORY);
  CHECK_EQUAL(sim_memory_host(&one, context, NULL, UINT64_MAX, SIM_MEMORY_PINNED, 0, "cudaMallocHost"),
              SIM_OUT_OF_MEMORY);
  CHECK_EQUAL(sim_memory_used(device), sim_config_get()->memory - left);
  char text[200];
  CHECK_EQUAL(sim_fault_add("cudaMalloc:>1M:2", text, sizeof text), 0);
  CHECK_EQUAL(sim_memory_allocate(&one, context, (1 << 20) + 1, SIM_MEMORY_DEVICE, "cudaMalloc"), SIM_OUT_OF_MEMORY);
  one = allocate(1 << 20);
  sim_fault_clear();
  sim_memory_release(one);
}

static void test_host(void) {
  sim_allocation *pinned, *managed, *registered, *again;
  CHECK_EQUAL(sim_memory_host(&pinned, context, NULL, 100, SIM_MEMORY_PINNED, 2, "cudaHostAlloc"), SIM_SUCCESS);
  CHECK_EQUAL(pinned->address, (uintptr_t)pinned->host);
  CHECK_EQUAL(pinned->address % (uint64_t)sysconf(_SC_PAGESIZE), 0);
  CHECK_EQUAL(pinned->flags, 2);
  CHECK(sim_memory_find(pinned->address + 99) == pinned);
  pinned->host[99] = 1;
  CHECK_EQUAL(sim_memory_host(&managed, context, NULL, 5000, SIM_MEMORY_MANAGED, 1, "cudaMallocManaged"), SIM_SUCCESS);
  CHECK(sim_memory_find(managed->address + 4999) == managed);
  CHECK(sim_memory_find(managed->address + 5000) == NULL);

  static char mine[10000];
  CHECK_EQUAL(sim_memory_host(&registered, context, mine + 1000, 5000, SIM_MEMORY_REGISTERED, 0, "cudaHostRegister"),
              SIM_SUCCESS);
  CHECK(sim_memory_find((uintptr_t)mine + 5999) == registered);
  CHECK(sim_memory_find((uintptr_t)mine + 999) == NULL);
  struct {
    uint64_t offset, size;
    int wanted;
  } parts[] = {{1000, 5000, 712}, {0, 1001, 712}, {5999, 10, 712}, {0, 10000, 712},
               {2000, 1, 712},    {0, 1000, 0},   {6000, 4000, 0}};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    int result = sim_memory_host(&again, context, mine + parts[i].offset, parts[i].size, SIM_MEMORY_REGISTERED, 0, "x");
    CHECK_EQUAL(result, parts[i].wanted);
    if (!result)
      sim_memory_release(again);
  }
  CHECK_EQUAL(sim_memory_live(SIM_MEMORY_REGISTERED), 1);
  sim_memory_release(registered);
  CHECK(sim_memory_find((uintptr_t)mine + 1000) == NULL);
  /* Memory that is not there. */
  CHECK_EQUAL(sim_memory_host(&again, context, (void *)4096, 10, SIM_MEMORY_REGISTERED, 0, "x"), SIM_INVALID_VALUE);
  CHECK_EQUAL(sim_memory_host(&again, context, mine, UINT64_MAX, SIM_MEMORY_REGISTERED, 0, "x"), SIM_INVALID_VALUE);

  /* Freed pinned memory faults, and is remembered for a while. */
  uint64_t address = pinned->address;
  sim_memory_release(pinned);
  CHECK(!sim_host_usable(address, 1, false));
  CHECK_EQUAL(sim_memory_find(address)->state, SIM_STATE_FREED);
  for (int i = 0; i < 3000; i++) {
    CHECK_EQUAL(sim_memory_host(&again, context, NULL, 10, SIM_MEMORY_PINNED, 0, "cudaMallocHost"), SIM_SUCCESS);
    sim_memory_release(again);
  }
  CHECK_EQUAL(sim_memory_live(SIM_MEMORY_PINNED), 0);
  sim_memory_release(managed);
}

static const char *described(uint64_t address, uint64_t size) {
  static char text[300];
  sim_memory_describe(address, size, text, sizeof text);
  return text;
}

static void test_words(void) {
  sim_allocation *a = allocate(400);
  char wanted[200], what[120];
  snprintf(what, sizeof what, "the 400 bytes at 0x%llx made by cudaMalloc (allocation %llu)",
           (unsigned long long)a->address, (unsigned long long)a->made);
  snprintf(wanted, sizeof wanted, "just past the end of %s", what);
  CHECK_TEXT(described(a->address + 400, 4), wanted);
  snprintf(wanted, sizeof wanted, "4 bytes past the end of %s", what);
  CHECK_TEXT(described(a->address + 404, 4), wanted);
  snprintf(wanted, sizeof wanted, "1 byte before %s", what);
  CHECK_TEXT(described(a->address - 1, 1), wanted);
  snprintf(wanted, sizeof wanted, "2 bytes reach past the end of %s", what);
  CHECK_TEXT(described(a->address + 398, 4), wanted);
  snprintf(wanted, sizeof wanted, "in %s", what);
  CHECK_TEXT(described(a->address + 396, 4), wanted);
  a->name = "table";
  snprintf(wanted, sizeof wanted, "4 bytes past the end of table (400 bytes at 0x%llx)",
           (unsigned long long)a->address);
  CHECK_TEXT(described(a->address + 404, 4), wanted);
  a->name = NULL;
  sim_memory_release(a);
  snprintf(wanted, sizeof wanted, "in freed memory: %s", what);
  CHECK_TEXT(described(a->address, 4), wanted);
  CHECK_TEXT(described(12, 4), "in no allocation");
}

static void test_access(void) {
  char text[600];
  sim_allocation *a = allocate(400), *found;
  CHECK_EQUAL(sim_memory_access(&found, a->address, 400, 0, true, text, sizeof text), SIM_SUCCESS);
  CHECK(found == a);
  CHECK_EQUAL(sim_memory_access(&found, a->address, 401, 0, true, text, sizeof text), SIM_ILLEGAL_ADDRESS);
  CHECK_EQUAL(sim_memory_access(&found, a->address + 200, 200, 0, true, text, sizeof text), SIM_SUCCESS);
  CHECK_EQUAL(sim_memory_access(&found, a->address + 200, 201, 0, true, text, sizeof text), SIM_ILLEGAL_ADDRESS);
  CHECK_EQUAL(sim_memory_access(&found, a->address + 8, UINT64_MAX, 0, true, text, sizeof text), SIM_ILLEGAL_ADDRESS);
  CHECK_EQUAL(sim_memory_access(&found, a->address - 4, 4, 0, true, text, sizeof text), SIM_ILLEGAL_ADDRESS);
  CHECK_EQUAL(sim_memory_access(&found, 0, 4, 0, false, text, sizeof text), SIM_ILLEGAL_ADDRESS);
  CHECK_TEXT(text, "in no allocation");
  /* Another device, until it is a peer. */
  CHECK_EQUAL(sim_memory_access(&found, a->address, 4, 1, false, text, sizeof text), SIM_ILLEGAL_ADDRESS);
  CHECK(strstr(text, "in memory of device 0, which device 1 may not use (no peer access): the 400 bytes at") == text);
  CHECK_EQUAL(sim_memory_access(&found, a->address, 4, SIM_ANY_DEVICE, false, text, sizeof text), SIM_SUCCESS);
  sim_primary_activate(sim_device_get(0));
  CHECK_EQUAL(sim_peer_enable(second, 0, 0), SIM_SUCCESS);
  CHECK_EQUAL(sim_memory_access(&found, a->address, 4, 1, true, text, sizeof text), SIM_SUCCESS);
  CHECK_EQUAL(sim_peer_disable(second, 0), SIM_SUCCESS);
  a->read_only = true;
  CHECK_EQUAL(sim_memory_access(&found, a->address, 4, 0, false, text, sizeof text), SIM_SUCCESS);
  CHECK_EQUAL(sim_memory_access(&found, a->address, 4, 0, true, text, sizeof text), SIM_ILLEGAL_ADDRESS);
  CHECK_EQUAL(sim_memory_access(&found, a->address, 4, SIM_ANY_DEVICE, true, text, sizeof text), SIM_SUCCESS);
  a->read_only = false;
  a->state = SIM_STATE_PENDING;
  CHECK_EQUAL(sim_memory_access(&found, a->address, 4, 0, true, text, sizeof text), SIM_ILLEGAL_ADDRESS);
  CHECK(strstr(text, "in memory whose allocation has not run yet in its stream: ") == text);
  a->state = SIM_STATE_LIVE;
  sim_memory_release(a);
  CHECK_EQUAL(sim_memory_access(&found, a->address, 4, 0, true, text, sizeof text), SIM_ILLEGAL_ADDRESS);
}

static void test_host_usable(void) {
  uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  uint8_t *at = mmap(NULL, 1024 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(at != MAP_FAILED);
  uint64_t address = (uintptr_t)at;
  for (int large = 0; large < 2; large++) { /* the two ways to ask */
    uint64_t size = large ? 1000 * page : 10 * page;
    CHECK(sim_host_usable(address + 1, size, true));
    mprotect(at + 5 * page, page, PROT_READ);
    CHECK(sim_host_usable(address + 1, size, false));
    CHECK(!sim_host_usable(address + 1, size, true));
    mprotect(at + 5 * page, page, PROT_NONE);
    CHECK(!sim_host_usable(address + 1, size, false));
    CHECK(sim_host_usable(address + 6 * page, size - 6 * page, true));
    mprotect(at + 5 * page, page, PROT_READ | PROT_WRITE);
  }
  munmap(at + 512 * page, page);
  CHECK(!sim_host_usable(address, 1024 * page, false));
  CHECK(!sim_host_usable(address + 512 * page, 1, false));
  CHECK(!sim_host_usable(0, 1, false));
  CHECK(!sim_host_usable(UINT64_MAX - 3, 8, false));
  CHECK(sim_host_usable(0, 0, false));
  munmap(at, 1024 * page);
}

static void test_context_end(void) {
  sim_allocation *a = allocate(64), *b = NULL, *c = NULL;
  CHECK_EQUAL(sim_memory_allocate(&b, second, 64, SIM_MEMORY_DEVICE, "cudaMalloc"), SIM_SUCCESS);
  CHECK_EQUAL(sim_memory_host(&c, second, NULL, 64, SIM_MEMORY_PINNED, 0, "cudaMallocHost"), SIM_SUCCESS);
  sim_memory_release_context(second);
  CHECK_EQUAL(a->state, SIM_STATE_LIVE);
  CHECK_EQUAL(b->state, SIM_STATE_FREED);
  CHECK_EQUAL(c->state, SIM_STATE_FREED);
  CHECK_EQUAL(sim_memory_used(sim_device_get(1)), 0);
  sim_memory_release(a);
}

/* Against a plain list: random sizes, random frees, random questions. */
static void test_churn(void) {
  enum { MOST = 2000 };
  static sim_allocation *held[MOST];
  size_t count = 0;
  for (int round = 0; round < 20000; round++) {
    if (count < MOST && test_below(5) < 3) {
      held[count++] = allocate((uint64_t)test_below(3000) + 1);
    } else if (count) {
      size_t i = (size_t)test_below((int64_t)count);
      sim_memory_release(held[i]);
      held[i] = held[--count];
    }
    if (!count)
      continue;
    sim_allocation *a = held[test_below((int64_t)count)];
    CHECK(sim_memory_find(a->address + (uint64_t)test_below((int64_t)a->size)) == a);
    sim_allocation *past = sim_memory_find(a->address + a->size);
    CHECK(past == NULL);
  }
  for (size_t i = 0; i < count; i++)
    for (size_t j = i + 1; j < count && j < i + 20; j++)
      CHECK(held[i]->address + held[i]->size + SIM_RED_ZONE <= held[j]->address ||
            held[j]->address + held[j]->size + SIM_RED_ZONE <= held[i]->address);
  while (count)
    sim_memory_release(held[--count]);
}

int main(void) {
  setenv("XCHG_SIM_DEVICES", "2", 1);
  setenv("XCHG_SIM_MEMORY", "64M", 1);
  CHECK_EQUAL(sim_device_start(), SIM_SUCCESS);
  CHECK_EQUAL(sim_context_current(&context, true), SIM_SUCCESS);
  sim_primary_activate(sim_device_get(1));
  second = &sim_device_get(1)->primary;
  test_addresses();
  test_release();
  test_reuse();
  test_exhaustion();
  test_host();
  test_words();
  test_access();
  test_host_usable();
  test_context_end();
  test_churn();
  return test_end();
}
