/* Barriers of a block: parking, counting, opening. */
#include "machine.h"

#include "../exec/sync.h"

/* Threads of a warp that arrive: a whole one counts as 32, however many of its lanes have exited. */
static uint32_t arriving(const sim_warp *warp, uint32_t mask) {
  return mask == warp->live ? SIM_WARP_SIZE : (uint32_t)__builtin_popcount(mask);
}

static bool group_at(const sim_group *group, uint32_t number, bool counted) {
  return group->state == SIM_GROUP_BARRIER && group->barrier == number && (group->threads != 0) == counted;
}

static uint32_t red_input(const sim_group *group) {
  const sim_op *op = group->op;
  uint32_t value = *(const uint32_t *)(const void *)(group->frame->slots + op->in[2]);
  return (op->flags & SIM_BAR_NEGATED ? ~value : value) & group->mask;
}

static void red_output(const sim_group *group, uint32_t trues, uint32_t all) {
  const sim_op *op = group->op;
  uint32_t *out = (uint32_t *)(void *)(group->frame->slots + op->out), kind = op->flags & SIM_BAR_KIND;
  if (kind == SIM_BAR_POPC) {
    for (uint32_t left = group->mask; left; left &= left - 1)
      out[__builtin_ctz(left)] = trues;
    return;
  }
  bool value = kind == SIM_BAR_AND ? trues == all : trues != 0;
  *out = value ? *out | group->mask : *out & ~group->mask;
}

/* An aligned barrier needs all lanes of a warp at the same instruction. */
static bool aligned_check(sim_block *block, uint32_t number, bool counted) {
  for (uint32_t w = 0; w < block->warp_count; w++) {
    sim_warp *warp = &block->warps[w];
    const sim_group *first = NULL;
    for (uint32_t i = 0; i < warp->groups->count; i++) {
      const sim_group *group = &warp->groups->items[i];
      if (!group_at(group, number, counted))
        continue;
      if (first == NULL) {
        first = group;
      } else if (first->op != group->op && (first->op->flags | group->op->flags) & SIM_BAR_ALIGNED) {
        char place[256];
        sim_op_place(warp, first->op, place, sizeof place);
        sim_warp_fault(
            warp, group->op, __builtin_ctz(group->mask), 719,
            "barrier %u: lanes 0x%08x of this warp are here, lanes 0x%08x at the one of %s; all lanes of a warp "
            "must come to the same one",
            number, group->mask, first->mask, place);
        return false;
      }
    }
  }
  return true;
}

/* Everybody parked at it goes on. */
static bool barrier_complete(sim_block *block, uint32_t number, bool counted) {
  uint32_t trues = 0, all = 0;
  if (!aligned_check(block, number, counted))
    return false;
  for (uint32_t w = 0; w < block->warp_count; w++)
    for (uint32_t i = 0; i < block->warps[w].groups->count; i++) {
      const sim_group *group = &block->warps[w].groups->items[i];
      if (!group_at(group, number, counted) || (group->op->flags & SIM_BAR_KIND) < SIM_BAR_POPC)
        continue;
      trues += (uint32_t)__builtin_popcount(red_input(group));
      all += (uint32_t)__builtin_popcount(group->mask);
    }
  for (uint32_t w = 0; w < block->warp_count; w++) {
    sim_warp *warp = &block->warps[w];
    for (uint32_t i = 0; i < warp->groups->count;) {
      const sim_group *group = &warp->groups->items[i];
      if (!group_at(group, number, counted)) {
        i++;
        continue;
      }
      if ((group->op->flags & SIM_BAR_KIND) >= SIM_BAR_POPC)
        red_output(group, trues, all);
      sim_groups_release(warp, i);
      i = 0; /* releasing reorders the list */
    }
  }
  if (counted)
    block->barriers->counted[number].arrived = 0;
  block->epoch++;
  return true;
}

/* Lanes that name one barrier. */
static int barrier_enter(sim_warp *warp, const sim_op *op, uint32_t mask, uint32_t number, uint32_t threads) {
  sim_block *block = warp->block;
  int lane = __builtin_ctz(mask);
  if (number >= SIM_BARRIERS)
    return sim_warp_fault(warp, op, lane, 719, "barrier %u: a block has the barriers 0 to %d", number,
                          SIM_BARRIERS - 1);
  if (op->in[1] && (threads == 0 || threads % SIM_WARP_SIZE != 0))
    return sim_warp_fault(warp, op, lane, 719, "barrier %u: %u threads are no multiple of %d", number, threads,
                          SIM_WARP_SIZE);
  bool arrive = (op->flags & SIM_BAR_KIND) == SIM_BAR_ARRIVE;
  if (!arrive)
    sim_groups_park(warp, op, mask, SIM_GROUP_BARRIER, 0, threads, number);
  if (threads == 0)
    return SIM_MOVED;
  uint32_t *arrived = &block->barriers->counted[number].arrived, *wanted = &block->barriers->counted[number].threads;
  if (*arrived == 0)
    *wanted = threads;
  if (*wanted != threads)
    return sim_warp_fault(warp, op, lane, 719, "barrier %u: it waits for %u threads here, for %u elsewhere", number,
                          threads, *wanted);
  *arrived += arriving(warp, mask);
  if (*arrived >= threads && !barrier_complete(block, number, true))
    return SIM_STOP;
  return arrive ? SIM_NEXT : SIM_MOVED;
}

int sim_barrier_arrive(sim_warp *warp, const sim_op *op, uint32_t mask) {
  if (mask == warp->live && op->in[1] == 0 && op->flags & SIM_BAR_CONSTANT) {
    sim_groups_park(warp, op, mask, SIM_GROUP_BARRIER, 0, 0,
                    *(const uint32_t *)(const void *)(warp->slots + op->in[0]));
    return SIM_MOVED;
  }
  const uint32_t *numbers = (const uint32_t *)(const void *)(warp->slots + op->in[0]);
  const uint32_t *counts = (const uint32_t *)(const void *)(warp->slots + op->in[1]);
  bool arrive = (op->flags & SIM_BAR_KIND) == SIM_BAR_ARRIVE;
  if (!arrive)
    sim_groups_add(warp, warp->frame, op + 1, warp->mask & ~mask);
  for (uint32_t left = mask; left != 0;) {
    uint32_t first = (uint32_t)__builtin_ctz(left), same = op->flags & SIM_BAR_CONSTANT ? left : 0;
    uint32_t number = numbers[first], threads = op->in[1] ? counts[first] : 0;
    for (uint32_t rest = left & ~same; rest; rest &= rest - 1) {
      uint32_t lane = (uint32_t)__builtin_ctz(rest);
      if (numbers[lane] == number && (op->in[1] ? counts[lane] : 0) == threads)
        same |= 1u << lane;
    }
    left &= ~same;
    if (barrier_enter(warp, op, same, number, threads) == SIM_STOP)
      return SIM_STOP;
  }
  if (!arrive)
    return SIM_MOVED;
  sim_groups_add(warp, warp->frame, op + 1, warp->mask); /* others may have become ready at the same place */
  return SIM_MOVED;
}

/* The common case: all warps are whole at one plain barrier. */
static bool barrier_open_whole(sim_block *block) {
  const sim_op *op = NULL;
  for (uint32_t w = 0; w < block->warp_count; w++) {
    const struct sim_groups *groups = block->warps[w].groups;
    const sim_group *group = &groups->items[0];
    if (groups->count == 0)
      continue;
    if (groups->count != 1 || group->state != SIM_GROUP_BARRIER || group->threads != 0 ||
        (op != NULL && group->op != op))
      return false;
    op = group->op;
  }
  if (op == NULL || (op->flags & SIM_BAR_KIND) != SIM_BAR_SYNC)
    return false;
  for (uint32_t w = 0; w < block->warp_count; w++) {
    struct sim_groups *groups = block->warps[w].groups;
    groups->items[0].state = SIM_GROUP_READY;
    groups->items[0].op = op + 1;
    groups->ready = groups->count;
  }
  block->epoch++;
  return true;
}

int sim_barrier_open(sim_block *block) {
  int opened = 0;
  if (barrier_open_whole(block))
    return 1;
  uint32_t waited = 0;
  for (uint32_t w = 0; w < block->warp_count; w++)
    for (uint32_t i = 0; i < block->warps[w].groups->count; i++) {
      const sim_group *group = &block->warps[w].groups->items[i];
      if (group->state == SIM_GROUP_BARRIER && group->threads == 0)
        waited |= 1u << group->barrier;
    }
  for (uint32_t number = 0; number < SIM_BARRIERS; number++) {
    if (!(waited >> number & 1))
      continue;
    bool complete = true;
    for (uint32_t w = 0; complete && w < block->warp_count; w++) {
      uint32_t parked = 0;
      for (uint32_t i = 0; i < block->warps[w].groups->count; i++)
        if (group_at(&block->warps[w].groups->items[i], number, false))
          parked |= block->warps[w].groups->items[i].mask;
      complete = parked == block->warps[w].live;
    }
    if (!complete)
      continue;
    if (!barrier_complete(block, number, false))
      return -1;
    opened = 1;
  }
  return opened;
}
