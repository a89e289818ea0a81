/* Groups of lanes: who runs next. The deepest frame first, then the lowest pc, so that lanes meet again where paths
   join. */
#include "machine.h"

static void group_remove(struct sim_groups *groups, uint32_t i) {
  if (groups->items[i].state == SIM_GROUP_READY)
    groups->ready--;
  groups->items[i] = groups->items[--groups->count];
}

void sim_groups_add(sim_warp *warp, sim_frame *frame, const sim_op *op, uint32_t mask) {
  struct sim_groups *groups = warp->groups;
  if (mask == 0)
    return;
  for (uint32_t i = 0; i < groups->count; i++) {
    sim_group *group = &groups->items[i];
    if (group->op == op && group->frame == frame && group->state == SIM_GROUP_READY) {
      group->mask |= mask;
      groups->unmerged = 0;
      groups->fair = false;
      return;
    }
  }
  groups->items[groups->count++] = (sim_group){.frame = frame, .op = op, .mask = mask, .picked = groups->turns};
  groups->ready++;
}

sim_group *sim_groups_park(sim_warp *warp, const sim_op *op, uint32_t mask, sim_group_state state, uint32_t members,
                           uint32_t threads, uint32_t barrier) {
  struct sim_groups *groups = warp->groups;
  for (uint32_t i = 0; i < groups->count; i++) {
    sim_group *group = &groups->items[i];
    if (group->op == op && group->frame == warp->frame && group->state == state && group->members == members &&
        group->threads == threads && group->barrier == barrier) {
      group->mask |= mask;
      return group;
    }
  }
  sim_group *group = &groups->items[groups->count++];
  *group = (sim_group){.frame = warp->frame,
                       .op = op,
                       .mask = mask,
                       .members = members,
                       .threads = threads,
                       .state = (uint8_t)state,
                       .barrier = (uint8_t)barrier};
  return group;
}

void sim_groups_release(sim_warp *warp, uint32_t i) {
  sim_group group = warp->groups->items[i];
  group_remove(warp->groups, i);
  sim_groups_add(warp, group.frame, group.op + 1, group.mask);
}

/* Whether a runs before b. */
static bool group_before(const sim_group *a, const sim_group *b) {
  if (a->frame->depth != b->frame->depth)
    return a->frame->depth > b->frame->depth;
  return a->op < b->op;
}

static uint32_t group_drawn(sim_machine *machine, const struct sim_groups *groups) {
  uint32_t wanted = (uint32_t)(sim_machine_random(machine) >> 33) % groups->ready;
  for (uint32_t i = 0;; i++)
    if (groups->items[i].state == SIM_GROUP_READY && wanted-- == 0)
      return i;
}

static void group_run(sim_warp *warp, const sim_group *group) {
  warp->frame = group->frame;
  warp->slots = group->frame->slots;
  warp->mask = group->mask;
  warp->next = group->op;
  warp->groups->floor = UINTPTR_MAX;
  warp->groups->stop = NULL;
}

bool sim_groups_pick(sim_warp *warp) {
  struct sim_groups *groups = warp->groups;
  if (groups->ready == 0)
    return false;
  if (groups->count == 1) {
    groups->count = groups->ready = 0;
    group_run(warp, &groups->items[0]);
    return true;
  }
  uint32_t best = UINT32_MAX;
  bool drawn =
      groups->ready > 1 && sim_machine_of(warp)->shuffle && sim_machine_random(sim_machine_of(warp)) >> 62 == 0;
  if (drawn) {
    best = group_drawn(sim_machine_of(warp), groups);
  } else {
    for (uint32_t i = 0; i < groups->count; i++) {
      const sim_group *group = &groups->items[i];
      if (group->state != SIM_GROUP_READY)
        continue;
      if (best == UINT32_MAX ||
          (groups->fair ? group->picked < groups->items[best].picked : group_before(group, &groups->items[best])))
        best = i;
    }
  }
  const sim_group group = groups->items[best];
  group_remove(groups, best);
  groups->turns++;
  sim_groups_turn(groups);
  group_run(warp, &group);
  for (uint32_t i = 0; groups->ready && i < groups->count; i++) {
    const sim_group *other = &groups->items[i];
    if (other->state != SIM_GROUP_READY || other->frame != group.frame)
      continue;
    if ((uintptr_t)other->op < groups->floor)
      groups->floor = (uintptr_t)other->op;
    if (other->op > group.op && (groups->stop == NULL || other->op < groups->stop))
      groups->stop = other->op;
  }
  if (groups->fair || drawn)
    groups->floor = 0;
  return true;
}
