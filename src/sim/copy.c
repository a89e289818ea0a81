/* Copies and sets. */
#include "copy.h"

#include <stdio.h>
#include <string.h>

#include "check/check.h"
#include "fault.h"
#include "host.h"
#include "report.h"
#include "result.h"

/* One side of a copy: rows of bytes. */
typedef struct {
  uint64_t address;
  sim_copy_place place;
  uint64_t width, height, depth, pitch, slice; /* in bytes, rows, slices */
  bool write;
} block;

static block copy_destination(const sim_copy *copy) {
  return (block){copy->destination,       copy->destination_place, copy->width, copy->height, copy->depth,
                 copy->destination_pitch, copy->destination_slice, true};
}

static block copy_source(const sim_copy *copy) {
  return (block){copy->source, copy->source_place, copy->width,        copy->height,
                 copy->depth,  copy->source_pitch, copy->source_slice, false};
}

static block set_destination(const sim_set *set) {
  return (block){set->destination, SIM_PLACE_DEVICE, set->width * set->unit, set->height, 1, set->pitch, 0, true};
}

/* ---- at the call ---- */

/* Bytes from the first to the last; 1 where the numbers say nonsense, 12 for a pitch below the width. */
static int block_span(const block *of, uint64_t *span) {
  if (of->height > 1 || of->depth > 1 ? of->pitch < of->width : of->pitch && of->pitch < of->width)
    return SIM_INVALID_PITCH_VALUE;
  uint64_t plane, all, last;
  if (__builtin_mul_overflow(of->height - 1, of->pitch, &plane) || __builtin_add_overflow(plane, of->width, &plane))
    return SIM_INVALID_VALUE;
  if (of->depth > 1 && of->slice < plane)
    return SIM_INVALID_VALUE;
  if (__builtin_mul_overflow(of->depth - 1, of->slice, &all) || __builtin_add_overflow(all, plane, &all) ||
      __builtin_add_overflow(all, of->address, &last))
    return SIM_INVALID_VALUE;
  *span = all;
  return SIM_SUCCESS;
}

/* Memory between the rows may be missing: then each row is asked for. */
static bool block_usable(const block *of, uint64_t span) {
  if (sim_host_usable(of->address, span, of->write))
    return true;
  if (of->height == 1 && of->depth == 1)
    return false;
  for (uint64_t z = 0; z < of->depth; z++)
    for (uint64_t y = 0; y < of->height; y++)
      if (!sim_host_usable(of->address + z * of->slice + y * of->pitch, of->width, of->write))
        return false;
  return true;
}

static int block_check(const block *of) {
  uint64_t span;
  int result = block_span(of, &span);
  if (result)
    return result;
  const sim_allocation *found = sim_memory_find(of->address);
  if (!found)
    return of->place != SIM_PLACE_DEVICE && block_usable(of, span) ? SIM_SUCCESS : SIM_INVALID_VALUE;
  if (found->state == SIM_STATE_FREED || span > found->size - (of->address - found->address) ||
      (of->place == SIM_PLACE_HOST && sim_memory_is_device(found)))
    return SIM_INVALID_VALUE;
  return SIM_SUCCESS;
}

int sim_copy_check(const sim_copy *copy) {
  if (!copy->width || !copy->height || !copy->depth)
    return SIM_SUCCESS;
  block to = copy_destination(copy), from = copy_source(copy);
  int result = block_check(&to);
  return result ? result : block_check(&from);
}

int sim_set_check(const sim_set *set) {
  uint64_t bytes;
  if ((set->unit != 1 && set->unit != 2 && set->unit != 4) || set->destination % set->unit)
    return SIM_INVALID_VALUE;
  if (!set->width || !set->height)
    return SIM_SUCCESS;
  if (__builtin_mul_overflow(set->width, set->unit, &bytes) || (set->height > 1 && set->pitch % set->unit))
    return SIM_INVALID_VALUE;
  block to = set_destination(set);
  return block_check(&to);
}

typedef enum { SIDE_PAGEABLE, SIDE_PINNED, SIDE_DEVICE } side;

/* Managed memory counts as a device's: it may be there. */
static side side_of(uint64_t address) {
  const sim_allocation *found = sim_memory_find(address);
  if (!found || found->state == SIM_STATE_FREED)
    return SIDE_PAGEABLE;
  return sim_memory_is_device(found) || found->kind == SIM_MEMORY_MANAGED ? SIDE_DEVICE : SIDE_PINNED;
}

sim_copy_order sim_copy_ordering(const sim_copy *copy) {
  side to = side_of(copy->destination), from = side_of(copy->source);
  if (to == SIDE_PAGEABLE || (to == SIDE_PINNED && from != SIDE_DEVICE))
    return SIM_COPY_SYNC; /* from host to host always */
  return from == SIDE_PAGEABLE ? SIM_COPY_STAGED : SIM_COPY_ASYNC;
}

/* ---- when it runs ---- */

/* Where the bytes are now; NULL after a report. *out: their allocation, NULL for pageable memory. */
static uint8_t *block_find(const block *of, sim_allocation **out) {
  uint64_t span;
  char text[600] = "";
  *out = sim_memory_find(of->address);
  bool right = !block_span(of, &span);
  if (right && (*out || of->place == SIM_PLACE_DEVICE)) {
    right = !sim_memory_access(out, of->address, span, SIM_ANY_DEVICE, of->write, text, sizeof text);
    /* Registered memory is the user's, who may have unmapped it. */
    if (right && (*out)->kind == SIM_MEMORY_REGISTERED && !block_usable(of, span)) {
      right = false;
      snprintf(text, sizeof text, "registered memory that is no longer there");
    }
    if (right)
      return (*out)->host + (of->address - (*out)->address);
  } else if (right && block_usable(of, span)) {
    return (uint8_t *)(uintptr_t)of->address;
  } else {
    sim_memory_describe(of->address, 1, text, sizeof text);
  }
  sim_report(SIM_REPORT_FAULT, "fault: a copy %s %llu bytes at 0x%llx, %s", of->write ? "writes" : "reads",
             (unsigned long long)(of->width * of->height * of->depth), (unsigned long long)of->address, text);
  return NULL;
}

/* Rows without gaps are one row. */
static void copy_join(sim_copy *copy) {
  if (copy->destination_pitch == copy->width && copy->source_pitch == copy->width) {
    copy->width *= copy->height;
    copy->height = 1;
  }
  if (copy->height == 1 && copy->destination_slice == copy->width && copy->source_slice == copy->width) {
    copy->width *= copy->depth;
    copy->depth = 1;
  }
}

int sim_copy_run(const sim_copy *copy) {
  if (!copy->width || !copy->height || !copy->depth)
    return SIM_SUCCESS;
  block destination = copy_destination(copy), source = copy_source(copy);
  sim_allocation *to, *from;
  uint8_t *write = block_find(&destination, &to);
  const uint8_t *read = write ? block_find(&source, &from) : NULL;
  if (!read)
    return SIM_ILLEGAL_ADDRESS;
  sim_copy rows = *copy;
  copy_join(&rows);
  for (uint64_t z = 0; z < rows.depth; z++)
    for (uint64_t y = 0; y < rows.height; y++) {
      uint64_t into = z * rows.destination_slice + y * rows.destination_pitch,
               out_of = z * rows.source_slice + y * rows.source_pitch;
      memmove(write + into, read + out_of, rows.width);
      if (to && to->shadow)
        sim_init_copy(to, copy->destination + into, from, copy->source + out_of, rows.width);
    }
  sim_fault_slow(copy->width * copy->height * copy->depth);
  return SIM_SUCCESS;
}

static void row_set(uint8_t *row, const sim_set *set, uint64_t count) {
  if (set->unit == 1) {
    memset(row, (int)(set->value & 0xff), count);
  } else if (set->unit == 2) {
    uint16_t *to = (uint16_t *)(void *)row;
    for (uint64_t i = 0; i < count; i++)
      to[i] = (uint16_t)set->value;
  } else {
    uint32_t *to = (uint32_t *)(void *)row;
    for (uint64_t i = 0; i < count; i++)
      to[i] = set->value;
  }
}

int sim_set_run(const sim_set *set) {
  if (!set->width || !set->height)
    return SIM_SUCCESS;
  block destination = set_destination(set);
  sim_allocation *to;
  uint8_t *write = block_find(&destination, &to);
  if (!write)
    return SIM_ILLEGAL_ADDRESS;
  bool joined = set->pitch == destination.width;
  uint64_t rows = joined ? 1 : set->height, count = joined ? set->width * set->height : set->width;
  for (uint64_t y = 0; y < rows; y++) {
    row_set(write + y * set->pitch, set, count);
    if (to->shadow)
      sim_init_mark(to, set->destination + y * set->pitch, count * set->unit);
  }
  sim_fault_slow(set->width * set->height * set->unit);
  return SIM_SUCCESS;
}
