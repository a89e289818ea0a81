/* Races between operations, and of the host with operations: what each touched is compared with what others touched
   before it ran, whatever the order was in which they happened to run. */
#include "history.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../report.h"
#include "../result.h"
#include "../schedule.h"

enum { MEETINGS = 16, KNOWN = 256 };

/* What an operation, or the host, met in one allocation without an order. */
typedef struct {
  const sim_clock *clock;
  struct {
    sim_toucher *other; /* referenced */
    bool wrote;
    uint64_t bytes;
  } met[MEETINGS];
  size_t count;
} meetings;

static sim_toucher *current; /* owned; NULL: not checked */
static const sim_clock *current_clock;
static sim_touch *touches; /* what it touched so far */
static size_t touch_count, touch_room;
static int finding;
/* What was reported of the current one: a kernel that reads and writes races twice with the same operation. */
static struct {
  uint64_t operation;
  const sim_allocation *allocation;
} reported[MEETINGS];
static size_t reported_count;

/* ---- reporting ---- */

static void meet(sim_toucher *other, bool wrote, uint64_t bytes, void *data) {
  meetings *found = data;
  if (other->moment <= sim_clock_moment(found->clock, other->lane))
    return;
  size_t i = 0;
  while (i < found->count && (found->met[i].other != other || found->met[i].wrote != wrote))
    i++;
  if (i == MEETINGS)
    return;
  if (i == found->count) {
    found->met[found->count++].other = other;
    found->met[i].wrote = wrote;
    found->met[i].bytes = 0;
    other->references++;
  }
  found->met[i].bytes += bytes;
}

static void allocation_describe(const sim_allocation *allocation, char *text, size_t room) {
  snprintf(text, room, "the allocation at 0x%" PRIx64 " (%s, allocation %" PRIu64 ")", allocation->address,
           allocation->made_by, allocation->made);
}

/* The cure: whoever was submitted first is meant to come first. */
static void report_pair(const sim_toucher *other, bool wrote, uint64_t bytes, const sim_allocation *allocation,
                        bool write) {
  for (size_t i = 0; i < reported_count; i++)
    if (reported[i].operation == other->operation && reported[i].allocation == allocation)
      return;
  if (reported_count < MEETINGS) {
    reported[reported_count].operation = other->operation;
    reported[reported_count++].allocation = allocation;
  }
  char where[160], cure[160];
  allocation_describe(allocation, where, sizeof where);
  const sim_toucher *before = other->operation < current->operation ? other : current;
  const sim_toucher *after = before == other ? current : other;
  if (!strcmp(before->stream, after->stream))
    snprintf(cure, sizeof cure, "add a dependency to the graph that they are nodes of");
  else
    snprintf(cure, sizeof cure, "record an event on %s and make %s wait for it", before->stream, after->stream);
  finding |= sim_report(SIM_REPORT_STREAM,
                        "stream: %s on %s %s %" PRIu64 " bytes of %s that %s on %s %s, and nothing orders them: %s",
                        current->what, current->stream, write ? "writes" : "reads", bytes, where, other->what,
                        other->stream, wrote ? "wrote" : "read", cure);
}

/* ---- operations ---- */

static void work_name(const sim_work *work, char *text, size_t room) {
  if (work->kind == SIM_OPERATION_LAUNCH)
    sim_work_describe(work, text, room);
  else
    snprintf(text, room, "%s", work->call ? work->call : "work");
}

static int touch_compare(const void *left, const void *right) {
  const sim_touch *a = left, *b = right;
  if (a->allocation != b->allocation)
    return a->allocation->made < b->allocation->made ? -1 : 1;
  if (a->write != b->write)
    return a->write - b->write;
  return (a->begin > b->begin) - (a->begin < b->begin);
}

/* All touches of one allocation and one kind, which are in order. */
static void touches_enter(const sim_touch *first, size_t count, sim_range *ranges) {
  sim_allocation *allocation = first->allocation;
  struct sim_shadow *shadow = sim_shadow_get(allocation);
  if (!shadow)
    return;
  size_t filled = 0;
  for (size_t i = 0; i < count; i++) {
    if (filled && first[i].begin <= ranges[filled - 1].end) {
      if (ranges[filled - 1].end < first[i].end)
        ranges[filled - 1].end = first[i].end;
    } else
      ranges[filled++] = (sim_range){first[i].begin, first[i].end};
  }
  meetings found = {.clock = current_clock};
  sim_history_touch(&shadow->stream, current, current_clock, ranges, filled, first->write, meet, &found);
  for (size_t i = 0; i < found.count; i++) {
    report_pair(found.met[i].other, found.met[i].wrote, found.met[i].bytes, allocation, first->write);
    sim_toucher_release(found.met[i].other);
  }
}

static void touches_compare(void) {
  sim_range *ranges = touch_count ? malloc(touch_count * sizeof *ranges) : NULL;
  if (ranges) {
    qsort(touches, touch_count, sizeof *touches, touch_compare);
    for (size_t first = 0, after; first < touch_count; first = after) {
      for (after = first + 1; after < touch_count && touches[after].allocation == touches[first].allocation &&
                              touches[after].write == touches[first].write;)
        after++;
      touches_enter(&touches[first], after - first, ranges);
    }
  }
  free(ranges);
  touch_count = 0;
}

void sim_stream_check_touch(sim_allocation *allocation, uint64_t begin, uint64_t end, bool write) {
  if (!current || !allocation || allocation->state == SIM_STATE_FREED || begin >= end)
    return;
  if (touch_count == touch_room) {
    size_t room = touch_room ? 2 * touch_room : 64;
    sim_touch *grown = realloc(touches, room * sizeof *grown);
    if (!grown)
      return; /* it is missed, never wrong */
    touches = grown;
    touch_room = room;
  }
  touches[touch_count++] = (sim_touch){allocation, begin, end, write};
}

/* Memory that goes is written as a whole: nothing may use it before or after without an order. */
static void free_touch(const sim_work *work) {
  sim_allocation *allocation = sim_memory_find(work->allocation);
  if (allocation && allocation->state == SIM_STATE_LIVE)
    sim_stream_check_touch(allocation, allocation->address, allocation->address + allocation->size, true);
}

void sim_stream_check_begin(const sim_stream *stream, const sim_work *work, const sim_clock *clock,
                            uint64_t operation) {
  finding = SIM_SUCCESS;
  reported_count = 0;
  /* Other operations run while a host function does. */
  if (!clock || !sim_clock_on() || work->kind == SIM_OPERATION_HOST)
    return;
  current = calloc(1, sizeof *current);
  if (!current)
    return;
  current->references = 1;
  current->lane = sim_clock_lane(clock);
  current->moment = sim_clock_moment(clock, current->lane);
  current->operation = operation;
  work_name(work, current->what, sizeof current->what);
  sim_stream_describe(stream, current->stream, sizeof current->stream);
  current_clock = clock;
  sim_touch known[KNOWN];
  size_t count = sim_work_touches(work, known, KNOWN);
  for (size_t i = 0; i < count; i++)
    sim_stream_check_touch(known[i].allocation, known[i].begin, known[i].end, known[i].write);
  if (work->kind == SIM_OPERATION_FREE)
    free_touch(work);
  touches_compare();
}

int sim_stream_check_end(void) {
  if (!current)
    return SIM_SUCCESS;
  touches_compare();
  sim_toucher_release(current);
  current = NULL;
  return finding;
}

/* ---- the host ---- */

static void report_host(const char *what, const char *stream, bool wrote, bool ran, const sim_allocation *allocation,
                        bool write, const char *call) {
  char where[160];
  allocation_describe(allocation, where, sizeof where);
  finding |= sim_report(SIM_REPORT_STREAM,
                        "stream: %s %s %s that %s on %s %s, and the host has not waited for it: synchronize %s first",
                        call, write ? "frees or overwrites" : "reads", where, what, stream,
                        ran     ? wrote ? "wrote" : "read"
                        : wrote ? "will write"
                                : "will read",
                        stream);
}

/* What has not run yet and names the range. Kernels are known only once they ran. */
static void host_compare_waiting(const sim_allocation *allocation, sim_range range, bool write, const char *call) {
  for (const sim_operation *each = sim_schedule_first(); each; each = each->next) {
    if (each->named[0] != allocation && each->named[1] != allocation)
      continue;
    sim_touch known[KNOWN];
    size_t count = sim_work_touches(&each->work, known, KNOWN);
    for (size_t i = 0; i < count; i++)
      if (known[i].allocation == allocation && known[i].begin < range.end && range.begin < known[i].end &&
          (write || known[i].write)) {
        char stream[48], what[128];
        sim_stream_describe(each->stream, stream, sizeof stream);
        work_name(&each->work, what, sizeof what);
        report_host(what, stream, known[i].write, false, allocation, write, call);
        break;
      }
  }
}

int sim_stream_check_host(sim_allocation *allocation, uint64_t begin, uint64_t end, bool write, const char *call) {
  if (!sim_clock_on())
    return SIM_SUCCESS;
  finding = SIM_SUCCESS;
  sim_range range = {begin, end};
  host_compare_waiting(allocation, range, write, call);
  meetings found = {.clock = *sim_clock_host()};
  if (allocation->shadow)
    sim_history_look(allocation->shadow->stream, range, write, meet, &found);
  for (size_t i = 0; i < found.count; i++) {
    report_host(found.met[i].other->what, found.met[i].other->stream, found.met[i].wrote, true, allocation, write,
                call);
    sim_toucher_release(found.met[i].other);
  }
  return finding;
}
