/* Vector clocks as arrays of moments, one for each lane. */
#include "clock.h"

#include <stdlib.h>
#include <string.h>

#include "../result.h"

struct sim_clock {
  unsigned count, lane;
  uint64_t moments[];
};

/* Lane 0 is for whoever comes when there is no memory for another. */
static uint64_t *lanes; /* the newest moment of each: a lane that is used again goes on counting */
static unsigned *idle;
static unsigned lane_count = 1, lane_room, idle_count;
static sim_clock *host;
static bool broken; /* no memory: wrong clocks would report what is right */

bool sim_clock_on(void) {
  return sim_config_get()->check & SIM_CHECK_STREAM && !broken;
}

sim_clock **sim_clock_host(void) {
  return &host;
}

unsigned sim_lane_take(void) {
  if (idle_count)
    return idle[--idle_count];
  if (lane_count >= lane_room) {
    unsigned room = lane_room ? 2 * lane_room : 64;
    uint64_t *grown = realloc(lanes, room * sizeof *grown);
    unsigned *grown_idle = grown ? realloc(idle, room * sizeof *grown_idle) : NULL;
    lanes = grown ? grown : lanes;
    if (!grown_idle)
      return 0;
    idle = grown_idle;
    memset(lanes + lane_room, 0, (room - lane_room) * sizeof *lanes);
    lane_room = room;
  }
  return lane_count++;
}

void sim_lane_give_back(unsigned lane) {
  if (lane)
    idle[idle_count++] = lane;
}

static bool clock_reserve(sim_clock **clock, unsigned count) {
  unsigned had = *clock ? (*clock)->count : 0;
  if (had >= count)
    return true;
  sim_clock *grown = realloc(*clock, sizeof *grown + count * sizeof *grown->moments);
  if (!grown) {
    broken = true;
    return false;
  }
  memset(grown->moments + had, 0, (count - had) * sizeof *grown->moments);
  if (!*clock)
    grown->lane = 0;
  grown->count = count;
  *clock = grown;
  return true;
}

void sim_clock_join(sim_clock **clock, const sim_clock *other) {
  if (!other || !clock_reserve(clock, other->count))
    return;
  for (unsigned i = 0; i < other->count; i++)
    if ((*clock)->moments[i] < other->moments[i])
      (*clock)->moments[i] = other->moments[i];
}

void sim_clock_tick(sim_clock **clock, unsigned lane) {
  if (lane >= lane_room || !clock_reserve(clock, lane + 1))
    return;
  (*clock)->moments[lane] = ++lanes[lane];
  (*clock)->lane = lane;
}

void sim_clock_set(sim_clock **out, const sim_clock *clock) {
  sim_clock_free(*out);
  *out = NULL;
  sim_clock_join(out, clock);
}

void sim_clock_free(sim_clock *clock) {
  free(clock);
}

unsigned sim_clock_lane(const sim_clock *clock) {
  return clock->lane;
}

uint64_t sim_clock_moment(const sim_clock *clock, unsigned lane) {
  return clock && lane < clock->count ? clock->moments[lane] : 0;
}
