/* Copies and sets: what is refused at the call, what moves, what is found when they run, marks of initialised memory. */
#include "test.h"

#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check/check.h"
#include "copy.h"
#include "device.h"
#include "report.h"
#include "result.h"

static sim_context *context, *second;
static sim_allocation *device, *other, *pinned, *managed, *registered;
static uint8_t pageable[4096], mine[4096];

enum { SIZE = 1000 };

static sim_copy plain(uint64_t to, sim_copy_place to_place, uint64_t from, sim_copy_place from_place, uint64_t bytes) {
  return (sim_copy){.destination = to,
                    .source = from,
                    .destination_place = to_place,
                    .source_place = from_place,
                    .width = bytes,
                    .height = 1,
                    .depth = 1};
}

static int check(uint64_t to, sim_copy_place to_place, uint64_t from, sim_copy_place from_place, uint64_t bytes) {
  sim_copy copy = plain(to, to_place, from, from_place, bytes);
  return sim_copy_check(&copy);
}

static uint64_t at(const void *pointer) {
  return (uintptr_t)pointer;
}

static const sim_copy_place ANY = SIM_PLACE_ANY, HOST = SIM_PLACE_HOST, DEVICE = SIM_PLACE_DEVICE;

static void test_check(void) {
  static const char literal[64] = "the linker puts it where nobody may write";
  uint64_t d = device->address, o = other->address, p = pinned->address, m = managed->address, h = at(pageable);
  sim_allocation *freed, *pending;
  sim_memory_allocate(&freed, context, 64, SIM_MEMORY_DEVICE, "cudaMalloc");
  sim_memory_allocate(&pending, context, 64, SIM_MEMORY_DEVICE, "cudaMallocAsync");
  pending->state = SIM_STATE_PENDING;
  sim_memory_release(freed);
  struct {
    uint64_t to, from, bytes;
    sim_copy_place to_place, from_place;
    int wanted;
  } rows[] = {
      {d, h, SIZE, ANY, ANY, 0},
      {h, d, SIZE, ANY, ANY, 0},
      {d, h, SIZE, DEVICE, HOST, 0},
      {h, d, SIZE, HOST, DEVICE, 0},
      {d, o, SIZE, DEVICE, DEVICE, 0},
      {h, at(mine), SIZE, HOST, HOST, 0},
      {p, d, SIZE, HOST, DEVICE, 0},
      {p, d, SIZE, DEVICE, DEVICE, 0}, /* pinned memory is in the address space of devices */
      {m, h, SIZE, DEVICE, HOST, 0},
      {m, h, SIZE, HOST, HOST, 0},
      {d + 999, h, 1, ANY, ANY, 0},
      {pending->address, h, 64, DEVICE, HOST, 0},
      {0, 0, 0, DEVICE, DEVICE, 0}, /* nothing to copy */
      /* the kind contradicts the address */
      {h, d, SIZE, DEVICE, HOST, 1},
      {d, h, SIZE, HOST, DEVICE, 1},
      {d, h, SIZE, DEVICE, DEVICE, 1},
      {h, d, SIZE, HOST, HOST, 1},
      {h, h, SIZE, DEVICE, DEVICE, 1},
      /* out of its allocation */
      {d, h, SIZE + 1, ANY, ANY, 1},
      {h, d, SIZE + 1, ANY, ANY, 1},
      {d + 1, h, SIZE, ANY, ANY, 1},
      {d + SIZE, h, 1, ANY, ANY, 1},
      {d - 1, h, 1, ANY, ANY, 1},
      {p, d, SIZE + 1, ANY, ANY, 1},
      {m + 1, h, SIZE, ANY, ANY, 1},
      {d, h, UINT64_MAX, ANY, ANY, 1},
      {registered->address + 1, d, SIZE, ANY, ANY, 1},
      /* freed, nowhere, not to be written */
      {freed->address, h, 4, DEVICE, HOST, 1},
      {freed->address, h, 4, ANY, HOST, 1},
      {0, d, 4, ANY, ANY, 1},
      {0, d, 4, HOST, DEVICE, 1},
      {d, 4096, 4, DEVICE, HOST, 1},
      {d, UINT64_MAX - 2, 4, DEVICE, HOST, 1},
      {at(literal), d, 4, HOST, DEVICE, 1},
      {d, at(literal), 4, DEVICE, HOST, 0},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    int result = check(rows[i].to, rows[i].to_place, rows[i].from, rows[i].from_place, rows[i].bytes);
    if (result != rows[i].wanted)
      printf("row %zu:\n", i);
    CHECK_EQUAL(result, rows[i].wanted);
  }
  pending->state = SIM_STATE_LIVE;
  sim_memory_release(pending);
}

static void test_shapes(void) {
  sim_copy copy = {.destination = device->address,
                   .source = at(pageable),
                   .width = 10,
                   .height = 5,
                   .depth = 3,
                   .destination_pitch = 20,
                   .source_pitch = 12,
                   .destination_slice = 200,
                   .source_slice = 60};
  struct {
    size_t offset;
    uint64_t value;
    int wanted;
  } rows[] = {
      {offsetof(sim_copy, width), 10, 0},
      {offsetof(sim_copy, destination_pitch), 9, 12},
      {offsetof(sim_copy, source_pitch), 9, 12},
      {offsetof(sim_copy, source_pitch), 0, 12},
      {offsetof(sim_copy, source_slice), 57, 1}, /* slices overlap */
      {offsetof(sim_copy, destination_slice), 455, 0},
      {offsetof(sim_copy, destination_slice), 456, 1}, /* 2 * 456 + 4 * 20 + 10 is 1002 */
      {offsetof(sim_copy, height), UINT64_MAX, 1},
      {offsetof(sim_copy, depth), UINT64_MAX, 1},
      {offsetof(sim_copy, destination_pitch), UINT64_MAX / 2, 1},
      {offsetof(sim_copy, source_slice), UINT64_MAX, 1},
      {offsetof(sim_copy, height), 0, 0},
      {offsetof(sim_copy, depth), 0, 0},
      {offsetof(sim_copy, width), 0, 0},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    sim_copy changed = copy;
    memcpy((char *)&changed + rows[i].offset, &rows[i].value, 8);
    int result = sim_copy_check(&changed);
    if (result != rows[i].wanted)
      printf("row %zu:\n", i);
    CHECK_EQUAL(result, rows[i].wanted);
  }
  sim_copy wide = plain(device->address, ANY, at(pageable), ANY, 10);
  wide.destination_pitch = 9;
  CHECK_EQUAL(sim_copy_check(&wide), SIM_INVALID_PITCH_VALUE);

  /* Rows far apart, with nothing between them. */
  uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  uint8_t *rows_at = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  munmap(rows_at + page, page);
  sim_copy far = {.destination = device->address,
                  .source = at(rows_at),
                  .width = 16,
                  .height = 2,
                  .depth = 1,
                  .destination_pitch = 16,
                  .source_pitch = 2 * page};
  CHECK_EQUAL(sim_copy_check(&far), SIM_SUCCESS);
  rows_at[2 * page] = 77;
  CHECK_EQUAL(sim_copy_run(&far), SIM_SUCCESS);
  CHECK_EQUAL(device->host[16], 77);
  far.source_pitch = page;
  CHECK_EQUAL(sim_copy_check(&far), SIM_INVALID_VALUE);
  munmap(rows_at, 3 * page);
}

static void test_ordering(void) {
  uint64_t d = device->address, p = pinned->address, m = managed->address, h = at(pageable), r = registered->address;
  struct {
    uint64_t to, from;
    sim_copy_order wanted;
  } rows[] = {
      {d, h, SIM_COPY_STAGED}, {m, h, SIM_COPY_STAGED}, {h, d, SIM_COPY_SYNC},  {h, m, SIM_COPY_SYNC},
      {d, p, SIM_COPY_ASYNC},  {p, d, SIM_COPY_ASYNC},  {d, r, SIM_COPY_ASYNC}, {d, other->address, SIM_COPY_ASYNC},
      {m, d, SIM_COPY_ASYNC},  {p, p, SIM_COPY_SYNC},   {p, h, SIM_COPY_SYNC},  {h, p, SIM_COPY_SYNC},
      {h, h, SIM_COPY_SYNC},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    sim_copy copy = plain(rows[i].to, ANY, rows[i].from, ANY, 4);
    CHECK_EQUAL(sim_copy_ordering(&copy), rows[i].wanted);
  }
}

/* Every shape against byte by byte. */
static void test_run(void) {
  for (int round = 0; round < 3000; round++) {
    sim_copy copy = {.width = (uint64_t)test_below(20) + 1,
                     .height = (uint64_t)test_below(4) + 1,
                     .depth = (uint64_t)test_below(3) + 1};
    copy.destination_pitch = copy.width + (uint64_t)test_below(2) * (uint64_t)test_below(9);
    copy.source_pitch = copy.width + (uint64_t)test_below(2) * (uint64_t)test_below(9);
    copy.destination_slice = copy.destination_pitch * copy.height + (uint64_t)test_below(2) * (uint64_t)test_below(9);
    copy.source_slice = copy.source_pitch * copy.height + (uint64_t)test_below(2) * (uint64_t)test_below(9);
    uint64_t to = (uint64_t)test_below(50), from = (uint64_t)test_below(50);
    copy.destination = device->address + to;
    copy.source = (round & 1 ? at(pageable) : other->address) + from;
    uint8_t *source = round & 1 ? pageable : other->host, wanted[SIZE];
    for (int i = 0; i < SIZE; i++)
      source[i] = (uint8_t)test_random();
    memcpy(wanted, device->host, SIZE);
    for (uint64_t z = 0; z < copy.depth; z++)
      for (uint64_t y = 0; y < copy.height; y++)
        for (uint64_t x = 0; x < copy.width; x++)
          wanted[to + z * copy.destination_slice + y * copy.destination_pitch + x] =
              source[from + z * copy.source_slice + y * copy.source_pitch + x];
    CHECK_EQUAL(sim_copy_check(&copy), SIM_SUCCESS);
    CHECK_EQUAL(sim_copy_run(&copy), SIM_SUCCESS);
    CHECK(memcmp(wanted, device->host, SIZE) == 0);
  }
}

static const char *last_report(void) {
  const char *text = "", *next;
  for (size_t i = 0; (next = sim_report_text(i, NULL, NULL)); i++)
    text = next;
  return text;
}

/* What goes between the call and the run. */
static void test_late(void) {
  sim_allocation *short_lived, *pending, *host;
  CHECK_EQUAL(sim_memory_allocate(&short_lived, context, 64, SIM_MEMORY_DEVICE, "cudaMalloc"), SIM_SUCCESS);
  sim_copy to = plain(short_lived->address, DEVICE, at(pageable), HOST, 64),
           from = plain(at(pageable), HOST, short_lived->address, DEVICE, 64);
  CHECK_EQUAL(sim_copy_check(&to), SIM_SUCCESS);
  CHECK_EQUAL(sim_copy_check(&from), SIM_SUCCESS);
  char wanted[200];
  snprintf(wanted, sizeof wanted,
           "fault: a copy writes 64 bytes at 0x%llx, in freed memory: the 64 bytes at 0x%llx made by cudaMalloc "
           "(allocation %llu)",
           (unsigned long long)short_lived->address, (unsigned long long)short_lived->address,
           (unsigned long long)short_lived->made);
  sim_memory_release(short_lived);
  CHECK_EQUAL(sim_copy_run(&to), SIM_ILLEGAL_ADDRESS);
  CHECK_TEXT(last_report(), wanted);
  CHECK_EQUAL(sim_copy_run(&from), SIM_ILLEGAL_ADDRESS);
  CHECK(strstr(last_report(), "fault: a copy reads 64 bytes") != NULL);

  CHECK_EQUAL(sim_memory_allocate(&pending, context, 64, SIM_MEMORY_DEVICE, "cudaMallocAsync"), SIM_SUCCESS);
  pending->state = SIM_STATE_PENDING;
  to = plain(pending->address, DEVICE, at(pageable), HOST, 64);
  CHECK_EQUAL(sim_copy_check(&to), SIM_SUCCESS);
  CHECK_EQUAL(sim_copy_run(&to), SIM_ILLEGAL_ADDRESS);
  pending->state = SIM_STATE_LIVE;
  CHECK_EQUAL(sim_copy_run(&to), SIM_SUCCESS);
  sim_memory_release(pending);

  CHECK_EQUAL(sim_memory_host(&host, context, NULL, 64, SIM_MEMORY_PINNED, 0, "cudaMallocHost"), SIM_SUCCESS);
  to = plain(host->address, HOST, device->address, DEVICE, 64);
  CHECK_EQUAL(sim_copy_check(&to), SIM_SUCCESS);
  sim_memory_release(host);
  CHECK_EQUAL(sim_copy_run(&to), SIM_ILLEGAL_ADDRESS);

  uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  void *mapped = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  from = plain(device->address, DEVICE, at(mapped), HOST, 64);
  CHECK_EQUAL(sim_copy_check(&from), SIM_SUCCESS);
  munmap(mapped, page);
  CHECK_EQUAL(sim_copy_run(&from), SIM_ILLEGAL_ADDRESS);
}

static int set_check(uint64_t to, uint64_t pitch, uint64_t width, uint64_t height, uint32_t unit) {
  sim_set set = {.destination = to, .pitch = pitch, .width = width, .height = height, .unit = unit};
  return sim_set_check(&set);
}

static void test_set(void) {
  uint64_t d = device->address;
  CHECK_EQUAL(set_check(d, 0, SIZE, 1, 1), SIM_SUCCESS);
  CHECK_EQUAL(set_check(d, 0, SIZE + 1, 1, 1), SIM_INVALID_VALUE);
  CHECK_EQUAL(set_check(d, 0, SIZE / 4, 1, 4), SIM_SUCCESS);
  CHECK_EQUAL(set_check(d, 0, SIZE / 4 + 1, 1, 4), SIM_INVALID_VALUE);
  CHECK_EQUAL(set_check(d + 1, 0, 4, 1, 2), SIM_INVALID_VALUE);
  CHECK_EQUAL(set_check(d + 2, 0, 4, 1, 4), SIM_INVALID_VALUE);
  CHECK_EQUAL(set_check(d, 0, 4, 1, 3), SIM_INVALID_VALUE);
  CHECK_EQUAL(set_check(d, 0, UINT64_MAX / 2, 1, 4), SIM_INVALID_VALUE);
  CHECK_EQUAL(set_check(d, 19, 20, 4, 1), SIM_INVALID_PITCH_VALUE);
  CHECK_EQUAL(set_check(d, 41, 10, 4, 4), SIM_INVALID_VALUE);
  CHECK_EQUAL(set_check(d, 44, 10, 4, 4), SIM_SUCCESS);
  CHECK_EQUAL(set_check(at(pageable), 0, 10, 1, 1), SIM_INVALID_VALUE);
  CHECK_EQUAL(set_check(pinned->address, 0, 10, 1, 1), SIM_SUCCESS);
  CHECK_EQUAL(set_check(0, 0, 10, 1, 1), SIM_INVALID_VALUE);
  CHECK_EQUAL(set_check(0, 0, 0, 1, 1), SIM_SUCCESS);
  for (int round = 0; round < 2000; round++) {
    uint32_t unit = 1u << test_below(3);
    sim_set set = {.width = (uint64_t)test_below(20) + 1,
                   .height = (uint64_t)test_below(4) + 1,
                   .value = (uint32_t)test_random(),
                   .unit = unit};
    set.pitch = (set.width + (uint64_t)test_below(3)) * unit;
    uint64_t offset = (uint64_t)test_below(50) * unit;
    set.destination = d + offset;
    uint8_t wanted[SIZE];
    memcpy(wanted, device->host, SIZE);
    for (uint64_t y = 0; y < set.height; y++)
      for (uint64_t x = 0; x < set.width; x++)
        for (uint32_t b = 0; b < unit; b++)
          wanted[offset + y * set.pitch + x * unit + b] = (uint8_t)(set.value >> 8 * b);
    CHECK_EQUAL(sim_set_check(&set), SIM_SUCCESS);
    CHECK_EQUAL(sim_set_run(&set), SIM_SUCCESS);
    CHECK(memcmp(wanted, device->host, SIZE) == 0);
  }
}

/* Marks of written bytes against a list of booleans. */
static void test_marks(void) {
  CHECK_EQUAL(sim_config_set("CHECK", "init", true, (char[100]){0}, 100), 0);
  sim_allocation *a, *b;
  CHECK_EQUAL(sim_memory_allocate(&a, context, 103, SIM_MEMORY_DEVICE, "cudaMalloc"), SIM_SUCCESS);
  CHECK_EQUAL(sim_memory_allocate(&b, context, 103, SIM_MEMORY_DEVICE, "cudaMalloc"), SIM_SUCCESS);
  static bool known[2][103];
  sim_allocation *both[2] = {a, b};
  CHECK_EQUAL(sim_init_find(a, a->address, 103), a->address);
  for (int round = 0; round < 5000; round++) {
    int i = round & 1;
    uint64_t to = (uint64_t)test_below(103), from = (uint64_t)test_below(103), most = 103 - (to > from ? to : from);
    uint64_t bytes = (uint64_t)test_below((int64_t)most + 1) % 17;
    sim_copy copy = plain(both[i]->address + to, DEVICE, both[!i]->address + from, DEVICE, bytes);
    sim_set set = {.destination = both[i]->address + to, .width = bytes, .height = 1, .unit = 1};
    if (round % 50 == 0) {
      CHECK_EQUAL(sim_set_run(&set), SIM_SUCCESS);
      memset(known[i] + to, true, bytes);
    } else {
      CHECK_EQUAL(sim_copy_run(&copy), SIM_SUCCESS);
      memmove(known[i] + to, known[!i] + from, bytes);
    }
    uint64_t begin = (uint64_t)test_below(103), length = (uint64_t)test_below((int64_t)(104 - begin)),
             wanted = UINT64_MAX;
    for (uint64_t k = begin; k < begin + length && wanted == UINT64_MAX; k++)
      if (!known[i][k])
        wanted = both[i]->address + k;
    CHECK(sim_init_find(both[i], both[i]->address + begin, length) == wanted);
  }
  sim_copy copy = plain(a->address, DEVICE, at(pageable), HOST, 103);
  CHECK_EQUAL(sim_copy_run(&copy), SIM_SUCCESS);
  CHECK(sim_init_find(a, a->address, 103) == UINT64_MAX);
  sim_memory_release(a);
  sim_memory_release(b);
  /* Made while nobody asked: all counts as written. */
  CHECK(sim_init_find(device, device->address, SIZE) == UINT64_MAX);
  CHECK(sim_init_find(pinned, pinned->address, SIZE) == UINT64_MAX);
}

int main(void) {
  setenv("XCHG_SIM_DEVICES", "2", 1);
  setenv("XCHG_SIM_MEMORY", "64M", 1);
  setenv("XCHG_SIM_LOG", "none", 1);
  CHECK_EQUAL(sim_device_start(), SIM_SUCCESS);
  CHECK_EQUAL(sim_context_current(&context, true), SIM_SUCCESS);
  sim_primary_activate(sim_device_get(1));
  second = &sim_device_get(1)->primary;
  CHECK_EQUAL(sim_memory_allocate(&device, context, SIZE, SIM_MEMORY_DEVICE, "cudaMalloc"), SIM_SUCCESS);
  CHECK_EQUAL(sim_memory_allocate(&other, second, SIZE, SIM_MEMORY_DEVICE, "cudaMalloc"), SIM_SUCCESS);
  CHECK_EQUAL(sim_memory_host(&pinned, context, NULL, SIZE, SIM_MEMORY_PINNED, 0, "cudaMallocHost"), SIM_SUCCESS);
  CHECK_EQUAL(sim_memory_host(&managed, context, NULL, SIZE, SIM_MEMORY_MANAGED, 1, "cudaMallocManaged"), SIM_SUCCESS);
  CHECK_EQUAL(sim_memory_host(&registered, context, mine + 2000, SIZE, SIM_MEMORY_REGISTERED, 0, "cudaHostRegister"),
              SIM_SUCCESS);
  test_check();
  test_shapes();
  test_ordering();
  test_run();
  test_late();
  test_set();
  test_marks();
  return test_end();
}
