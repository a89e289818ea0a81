/* Addresses of devices. */
#include "space.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "index.h"
#include "result.h"

enum {
  PAGE = 1 << 21,       /* reservations are multiples of it, as large pages are */
  GIVE_BACK = 128 << 10 /* freed memory from this size on goes back to the system */
};
/* So many bytes of small freed memory may wait before addresses are given out again from the start. */
static const uint64_t stale_most = 256 << 20;

typedef struct {
  uint64_t begin, end; /* what users see */
  uint64_t distance;   /* from there to the bytes */
  uint64_t bytes, used;
  uint64_t cursor; /* where the search for room goes on: what was freed last is given out last */
  uint64_t stale;  /* bytes freed, not given back to the system, since the search began at the start */
} space;

static space spaces[SIM_DEVICES_MAX];

static uint64_t round_up(uint64_t value, uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

/* One mapping of both halves: the distance between them is the size. */
static bool space_map(space *out, uint64_t span) {
  uint8_t *at = mmap(NULL, 2 * (size_t)span, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED)
    return false;
  if (mprotect(at + span, span, PROT_READ | PROT_WRITE)) {
    munmap(at, 2 * (size_t)span);
    return false;
  }
  /* Nobody wants gigabytes of emptiness in a core file. */
  madvise(at, span, MADV_DONTDUMP);
  out->begin = round_up((uintptr_t)at, SIM_ALIGNMENT) + SIM_RED_ZONE;
  out->end = (uintptr_t)at + span;
  out->distance = span;
  out->cursor = out->begin;
  return true;
}

/* What one device may reserve: all of them together take half of what the process is limited to. */
static uint64_t span_most(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur == RLIM_INFINITY)
    return UINT64_MAX;
  return limit.rlim_cur / 4 / (uint64_t)sim_config_get()->devices / PAGE * PAGE;
}

int sim_space_start(int device, uint64_t bytes) {
  space *made = &spaces[device];
  if (made->begin)
    return SIM_SUCCESS;
  if (bytes > UINT64_MAX / 16)
    return SIM_OUT_OF_MEMORY;
  made->bytes = bytes;
  uint64_t span = round_up(4 * bytes, PAGE) + PAGE, most = span_most();
  for (span = span < most ? span : most; span; span = span / 2 / PAGE * PAGE)
    if (space_map(made, span))
      return SIM_SUCCESS;
  return SIM_OUT_OF_MEMORY;
}

int sim_space_charge(int device, uint64_t bytes) {
  space *of = &spaces[device];
  if (bytes > of->bytes - of->used)
    return SIM_OUT_OF_MEMORY;
  of->used += bytes;
  return SIM_SUCCESS;
}

void sim_space_discharge(int device, uint64_t bytes) {
  spaces[device].used -= bytes;
}

uint64_t sim_space_used(int device) {
  return spaces[device].used;
}

static uint64_t slot_bytes(uint64_t size) {
  return round_up(size, SIM_ALIGNMENT) + SIM_RED_ZONE;
}

/* From the cursor to the end; 0: no room there. */
static uint64_t space_search(space *in, uint64_t need) {
  uint64_t at = in->cursor;
  while (need <= in->end - at) {
    sim_allocation *next = sim_index_above(at - 1);
    uint64_t limit = next && next->address < in->end ? next->address : in->end;
    if (limit - at >= need) {
      in->cursor = at + need;
      return at;
    }
    if (limit == in->end)
      return 0;
    if (next->state == SIM_STATE_FREED && !next->pending)
      sim_memory_forget(next);
    else
      at = next->address + slot_bytes(next->size);
  }
  return 0;
}

void sim_space_fill(uint8_t *host, uint64_t size, int value) {
  if (size <= 2 * SIM_FILL) {
    memset(host, value, size);
  } else {
    memset(host, value, SIM_FILL);
    memset(host + size - SIM_FILL, value, SIM_FILL);
  }
}

int sim_space_place(uint64_t *address, uint8_t **host, int device, uint64_t size) {
  space *in = &spaces[device];
  if (!in->begin || size > in->end - in->begin)
    return SIM_OUT_OF_MEMORY;
  uint64_t need = slot_bytes(size);
  if (in->stale > stale_most) {
    in->stale = 0;
    in->cursor = in->begin;
  }
  uint64_t at = space_search(in, need);
  if (!at) {
    in->stale = 0;
    in->cursor = in->begin;
    at = space_search(in, need);
  }
  if (!at)
    return SIM_OUT_OF_MEMORY;
  *address = at;
  *host = (uint8_t *)(uintptr_t)(at + in->distance);
  sim_space_fill(*host, size, 0xCD);
  return SIM_SUCCESS;
}

/* Whole pages go back to the system and are zero from then on; what is left at both ends is set to `value`. */
static void pages_give_back(uint8_t *host, uint64_t size, int value) {
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), first = (uintptr_t)host, past = first + size,
            begin = round_up(first, page), end = past / page * page;
  memset(host, value, begin - first);
  memset((void *)end, value, past - end);
  madvise((void *)begin, end - begin, MADV_DONTNEED);
}

void sim_space_clear(int device, uint8_t *host, uint64_t size) {
  if (size >= GIVE_BACK) {
    pages_give_back(host, size, 0xDD);
    return;
  }
  memset(host, 0xDD, size);
  spaces[device].stale += slot_bytes(size);
}

void sim_space_zero(uint8_t *host, uint64_t size) {
  if (size >= GIVE_BACK)
    pages_give_back(host, size, 0);
  else
    memset(host, 0, size);
}
