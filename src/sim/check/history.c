/* One pass over the old ranges makes the new ones. */
#include "history.h"

#include <stdlib.h>
#include <string.h>

/* More readers than that are forgotten, the oldest first: they can only be missed, never be wrong. */
enum { READERS = 3 };

typedef struct {
  uint64_t begin, end;
  sim_toucher *writer;
  sim_toucher *readers[READERS]; /* NULL behind the last */
} segment;

struct sim_stream_shadow {
  segment *items;
  size_t count, room;
};

void sim_toucher_release(sim_toucher *toucher) {
  if (toucher && !--toucher->references)
    free(toucher);
}

static sim_toucher *toucher_retain(sim_toucher *toucher) {
  if (toucher)
    toucher->references++;
  return toucher;
}

static void segment_release(segment *old) {
  sim_toucher_release(old->writer);
  for (int i = 0; i < READERS; i++)
    sim_toucher_release(old->readers[i]);
}

static void segment_retain(const segment *kept) {
  toucher_retain(kept->writer);
  for (int i = 0; i < READERS; i++)
    toucher_retain(kept->readers[i]);
}

static void segments_drop(struct sim_stream_shadow *list) {
  for (size_t i = 0; i < list->count; i++)
    segment_release(&list->items[i]);
  free(list->items);
  *list = (struct sim_stream_shadow){0};
}

void sim_stream_shadow_free(struct sim_stream_shadow *shadow) {
  if (shadow)
    segments_drop(shadow);
  free(shadow);
}

/* Appends a copy; what is like its neighbour becomes part of it. */
static bool segments_push(struct sim_stream_shadow *list, const segment *added) {
  if (added->begin == added->end)
    return true;
  segment *last = list->count ? &list->items[list->count - 1] : NULL;
  if (last && last->end == added->begin && last->writer == added->writer &&
      !memcmp(last->readers, added->readers, sizeof last->readers)) {
    last->end = added->end;
    return true;
  }
  if (list->count == list->room) {
    size_t room = list->room ? 2 * list->room : 8;
    segment *grown = realloc(list->items, room * sizeof *grown);
    if (!grown)
      return false;
    list->items = grown;
    list->room = room;
  }
  segment_retain(added);
  list->items[list->count++] = *added;
  return true;
}

static void segment_meet(const segment *old, const sim_toucher *by, uint64_t bytes, bool write, sim_meeting *meet,
                         void *data) {
  if (old->writer && old->writer != by)
    meet(old->writer, true, bytes, data);
  for (int i = 0; write && i < READERS && old->readers[i]; i++)
    if (old->readers[i] != by)
      meet(old->readers[i], false, bytes, data);
}

/* The part of `old` in [begin, end) after `by` touched it. Readers that `by` comes after need not be remembered: who
   comes after `by` comes after them. References are counted by segments_push. */
static segment segment_touch(const segment *old, uint64_t begin, uint64_t end, sim_toucher *by, const sim_clock *clock,
                             bool write) {
  if (write)
    return (segment){.begin = begin, .end = end, .writer = by};
  segment made = {.begin = begin, .end = end, .writer = old->writer};
  int count = 0;
  for (int i = 0; i < READERS && old->readers[i]; i++)
    if (old->readers[i]->moment > sim_clock_moment(clock, old->readers[i]->lane))
      made.readers[count++] = old->readers[i];
  if (count == READERS) {
    memmove(made.readers, made.readers + 1, (READERS - 1) * sizeof *made.readers);
    count--;
  }
  made.readers[count] = by;
  return made;
}

bool sim_history_touch(struct sim_stream_shadow **history, sim_toucher *by, const sim_clock *clock,
                       const sim_range *ranges, size_t count, bool write, sim_meeting *meet, void *data) {
  if (!*history)
    *history = calloc(1, sizeof **history);
  if (!*history)
    return false;
  struct sim_stream_shadow *old = *history, made = {0};
  segment empty = {0}, rest = empty;
  size_t at = 0;
  bool whole = true;
  if (old->count)
    rest = old->items[0];
  for (size_t i = 0; i < count && whole; i++) {
    uint64_t position = ranges[i].begin, end = ranges[i].end;
    while (at < old->count && rest.end <= position && whole) {
      whole = segments_push(&made, &rest);
      rest = ++at < old->count ? old->items[at] : empty;
    }
    if (at < old->count && rest.begin < position) {
      segment left = rest;
      left.end = rest.begin = position;
      whole = whole && segments_push(&made, &left);
    }
    while (position < end && whole) {
      bool fresh = at == old->count || rest.begin > position;
      uint64_t stop = at < old->count && fresh ? rest.begin : fresh ? end : rest.end;
      stop = stop < end ? stop : end;
      const segment *below = fresh ? &empty : &rest;
      segment_meet(below, by, stop - position, write, meet, data);
      segment touched = segment_touch(below, position, stop, by, clock, write);
      whole = segments_push(&made, &touched);
      position = stop;
      if (fresh)
        continue;
      rest.begin = stop;
      if (rest.begin == rest.end)
        rest = ++at < old->count ? old->items[at] : empty;
    }
  }
  while (at < old->count && whole) {
    whole = segments_push(&made, &rest);
    rest = ++at < old->count ? old->items[at] : empty;
  }
  segments_drop(whole ? old : &made);
  if (whole)
    *old = made;
  return whole;
}

void sim_history_look(const struct sim_stream_shadow *history, sim_range range, bool write, sim_meeting *meet,
                      void *data) {
  for (size_t i = 0; history && i < history->count; i++) {
    const segment *each = &history->items[i];
    uint64_t begin = each->begin > range.begin ? each->begin : range.begin;
    uint64_t end = each->end < range.end ? each->end : range.end;
    if (begin < end)
      segment_meet(each, NULL, end - begin, write, meet, data);
  }
}
