/* Work: copied, freed, described and done. */
#include "operation.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "event.h"
#include "exec.h"
#include "graph.h"
#include "pool.h"
#include "report.h"
#include "result.h"

/* cuStreamWaitValue: how the value in memory is compared with that of the call. Bits above may ask for a flush. */
enum { WAIT_GREATER = 0, WAIT_EQUAL = 1, WAIT_AND = 2, WAIT_NOR = 3, WAIT_KINDS = 3 };

/* ---- what it owns ---- */

/* Nothing that `out` owns is left where this fails. */
int sim_work_copy(sim_work *out, const sim_work *work) {
  *out = *work;
  int result = SIM_SUCCESS;
  switch (work->kind) {
  case SIM_OPERATION_COPY: {
    if (!work->staged)
      break;
    size_t size = (size_t)(work->copy.width * work->copy.height * work->copy.depth);
    out->staged = malloc(size ? size : 1);
    if (out->staged)
      memcpy(out->staged, work->staged, size);
    else
      result = SIM_OUT_OF_MEMORY;
    break;
  }
  case SIM_OPERATION_LAUNCH:
    out->launch = sim_launch_copy(work->launch);
    result = out->launch ? SIM_SUCCESS : SIM_OUT_OF_MEMORY;
    break;
  case SIM_OPERATION_RECORD:
  case SIM_OPERATION_WAIT:
    if (out->event)
      sim_event_retain(out->event);
    break;
  case SIM_OPERATION_CHILD: result = sim_graph_clone(&out->child, work->child); break;
  default: break;
  }
  if (result)
    *out = (sim_work){.kind = SIM_OPERATION_EMPTY};
  return result;
}

void sim_work_drop(sim_work *work) {
  free(work->staged);
  switch (work->kind) {
  case SIM_OPERATION_LAUNCH: sim_launch_free(work->launch); break;
  case SIM_OPERATION_HOST:
    if (work->host.owned)
      free(work->host.data);
    break;
  case SIM_OPERATION_RECORD:
  case SIM_OPERATION_WAIT:
    if (work->event)
      sim_event_release(work->event);
    break;
  case SIM_OPERATION_CHILD:
    if (work->child) {
      work->child->parent = NULL;
      sim_graph_drop(work->child);
    }
    break;
  default: break;
  }
  *work = (sim_work){.kind = SIM_OPERATION_EMPTY, .call = work->call, .device = work->device};
}

/* ---- doing it ---- */

static int copy_run(const sim_work *work) {
  if (!work->staged)
    return sim_copy_run(&work->copy);
  sim_copy copy = work->copy;
  copy.source = (uint64_t)(uintptr_t)work->staged;
  copy.source_place = SIM_PLACE_HOST;
  copy.source_pitch = copy.width;
  copy.source_slice = copy.width * copy.height;
  return sim_copy_run(&copy);
}

/* The bytes that a value operation names; NULL with a report where they are not there. */
static uint8_t *value_at(const sim_work *work, bool write) {
  char text[256];
  sim_allocation *allocation;
  if (!sim_memory_access(&allocation, work->value.address, work->value.size, work->device, write, text, sizeof text))
    return allocation->host + (work->value.address - allocation->address);
  sim_report(SIM_REPORT_FAULT, "%s: the value at 0x%" PRIx64 " is %s", work->call, work->value.address, text);
  return NULL;
}

static int value_write(const sim_work *work) {
  uint8_t *to = value_at(work, true);
  if (!to)
    return SIM_ILLEGAL_ADDRESS;
  uint32_t low = (uint32_t)work->value.value;
  if (work->value.size == sizeof low)
    memcpy(to, &low, sizeof low);
  else
    memcpy(to, &work->value.value, sizeof work->value.value);
  return SIM_SUCCESS;
}

static bool value_satisfied(const sim_work *work, const uint8_t *at) {
  uint64_t wanted = work->value.value, value = 0;
  int64_t distance;
  if (work->value.size == sizeof(uint32_t)) {
    uint32_t low;
    memcpy(&low, at, sizeof low);
    value = low;
    wanted = (uint32_t)wanted;
    distance = (int32_t)(low - (uint32_t)wanted);
  } else {
    memcpy(&value, at, sizeof value);
    distance = (int64_t)(value - wanted);
  }
  switch (work->value.flags & WAIT_KINDS) {
  case WAIT_GREATER: return distance >= 0; /* so the documentation has it: values may wrap */
  case WAIT_EQUAL: return value == wanted;
  case WAIT_AND: return (value & wanted) != 0;
  default: {
    uint64_t ones = work->value.size == sizeof(uint32_t) ? UINT32_MAX : UINT64_MAX;
    return (~(value | wanted) & ones) != 0;
  }
  }
}

bool sim_work_may_run(const sim_work *work) {
  if (work->kind != SIM_OPERATION_WAIT_VALUE)
    return true;
  char text[256];
  sim_allocation *allocation;
  if (sim_memory_access(&allocation, work->value.address, work->value.size, work->device, false, text, sizeof text))
    return true; /* it fails when it runs */
  return value_satisfied(work, allocation->host + (work->value.address - allocation->address));
}

static int host_run(const sim_work *work) {
  void (*function)(void *) = work->host.function;
  void *data = work->host.data;
  sim_call_suspend(true);
  function(data);
  sim_call_resume();
  return SIM_SUCCESS;
}

int sim_work_run(sim_work *work, sim_context *context) {
  switch (work->kind) {
  case SIM_OPERATION_COPY: return copy_run(work);
  case SIM_OPERATION_SET: return sim_set_run(&work->set);
  case SIM_OPERATION_LAUNCH: return sim_launch_run(work->launch, context);
  case SIM_OPERATION_HOST: return host_run(work);
  case SIM_OPERATION_ALLOCATE: return sim_pool_run_allocate(work->allocation, work->call);
  case SIM_OPERATION_FREE: return sim_pool_run_free(work->allocation, work->call);
  case SIM_OPERATION_WAIT_VALUE: return value_at(work, false) ? SIM_SUCCESS : SIM_ILLEGAL_ADDRESS;
  case SIM_OPERATION_WRITE_VALUE: return value_write(work);
  case SIM_OPERATION_EMPTY:
  case SIM_OPERATION_RECORD:
  case SIM_OPERATION_WAIT:
  case SIM_OPERATION_CHILD: break; /* their place in the order is all there is to them */
  }
  return SIM_SUCCESS;
}

/* ---- telling of it ---- */

void sim_work_describe(const sim_work *work, char *text, size_t room) {
  const char *call = work->call ? work->call : "work";
  switch (work->kind) {
  case SIM_OPERATION_COPY:
    snprintf(text, room, "%s of %" PRIu64 " bytes", call, work->copy.width * work->copy.height * work->copy.depth);
    break;
  case SIM_OPERATION_SET:
    snprintf(text, room, "%s of %" PRIu64 " bytes", call, work->set.width * work->set.height * work->set.unit);
    break;
  case SIM_OPERATION_LAUNCH: snprintf(text, room, "kernel %s", work->launch->function->name); break;
  case SIM_OPERATION_HOST: snprintf(text, room, "%s: a host function", call); break;
  case SIM_OPERATION_RECORD: snprintf(text, room, "%s", work->call ? call : "event record"); break;
  case SIM_OPERATION_WAIT: snprintf(text, room, "%s", work->call ? call : "event wait"); break;
  case SIM_OPERATION_ALLOCATE:
  case SIM_OPERATION_FREE: snprintf(text, room, "%s of 0x%" PRIx64, call, work->allocation); break;
  case SIM_OPERATION_WAIT_VALUE:
  case SIM_OPERATION_WRITE_VALUE: snprintf(text, room, "%s at 0x%" PRIx64, call, work->value.address); break;
  case SIM_OPERATION_CHILD: snprintf(text, room, "child graph of %zu nodes", work->child->node_count); break;
  case SIM_OPERATION_EMPTY: snprintf(text, room, "%s", work->call ? call : "empty"); break;
  }
}

/* From the first to the last byte of `depth` slices of `height` rows; the gaps of pitched copies are left out row by
   row only where there are few rows. */
typedef struct {
  sim_touch *touches;
  size_t count, room;
} touch_list;

static void touch_add(touch_list *list, uint64_t begin, uint64_t bytes, bool write) {
  if (list->count == list->room || !bytes)
    return;
  list->touches[list->count++] = (sim_touch){sim_memory_find(begin), begin, begin + bytes, write};
}

static void touch_box(touch_list *list, uint64_t address, uint64_t width, uint64_t height, uint64_t depth,
                      uint64_t pitch, uint64_t slice, bool write, size_t most) {
  if (!width || !height || !depth)
    return;
  if (height == 1)
    pitch = width;
  if (depth == 1)
    slice = pitch * height;
  bool dense = pitch == width && (depth == 1 || slice == width * height);
  if (dense || height * depth > most) {
    touch_add(list, address, slice * (depth - 1) + pitch * (height - 1) + width, write);
    return;
  }
  for (uint64_t z = 0; z < depth; z++)
    for (uint64_t y = 0; y < height; y++)
      touch_add(list, address + z * slice + y * pitch, width, write);
}

size_t sim_work_touches(const sim_work *work, sim_touch *touches, size_t room) {
  touch_list list = {touches, 0, room};
  /* A copy has two sides: each gets half of the room. */
  if (work->kind == SIM_OPERATION_COPY) {
    const sim_copy *copy = &work->copy;
    if (!work->staged)
      touch_box(&list, copy->source, copy->width, copy->height, copy->depth, copy->source_pitch, copy->source_slice,
                false, room / 2);
    touch_box(&list, copy->destination, copy->width, copy->height, copy->depth, copy->destination_pitch,
              copy->destination_slice, true, room / 2);
  } else if (work->kind == SIM_OPERATION_SET) {
    const sim_set *set = &work->set;
    touch_box(&list, set->destination, set->width * set->unit, set->height, 1, set->pitch, 0, true, room);
  }
  return list.count;
}
