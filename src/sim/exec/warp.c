/* Warp-level operations: lanes of a member mask exchange values, wherever in the code they have come to one of the
   same kind. */
#include "meet.h"

#include <string.h>

#include "../report.h"
#include "handlers.h"
#include "sync.h"

/* Lanes that take part from one group: their operands are in its frame. */
typedef struct {
  const sim_op *op;
  uint8_t *slots;
  uint32_t mask;
} party;

#define ROW(type, party, offset) ((type *)(void *)((party)->slots + (offset)))

/* What a lane reads from one that does not take part: undefined on hardware. */
#define POISON 0xdeadbeefu

static uint32_t parties_mask(const party *parties, uint32_t count) {
  uint32_t mask = 0;
  for (uint32_t i = 0; i < count; i++)
    mask |= parties[i].mask;
  return mask;
}

static void gather_32(uint32_t *values, const party *parties, uint32_t count) {
  if (count == 1) {
    memcpy(values, parties->slots + parties->op->in[0], SIM_WARP_SIZE * sizeof *values);
    return;
  }
  for (uint32_t i = 0; i < count; i++)
    for (uint32_t left = parties[i].mask; left; left &= left - 1)
      values[__builtin_ctz(left)] = ROW(uint32_t, &parties[i], parties[i].op->in[0])[__builtin_ctz(left)];
}

static void store_row(const party *to, const uint32_t *values) {
  uint32_t *out = ROW(uint32_t, to, to->op->out), mask = to->mask;
  SIM_STORE(out, values[lane]);
}

static void store_predicate(const party *to, uint32_t offset, uint32_t value) {
  uint32_t *out = ROW(uint32_t, to, offset);
  *out = (*out & ~to->mask) | (value & to->mask);
}

/* ---- shfl ---- */

static void serve_shfl(const party *parties, uint32_t count) {
  uint32_t values[SIM_WARP_SIZE] = {0}, active = parties_mask(parties, count);
  gather_32(values, parties, count);
  for (uint32_t i = 0; i < count; i++) {
    const party *one = &parties[i];
    const uint32_t *b = ROW(uint32_t, one, one->op->in[1]), *c = ROW(uint32_t, one, one->op->in[2]);
    uint32_t results[SIM_WARP_SIZE], found = 0;
    int mode = one->op->flags & SIM_WARP_KIND;
    for (int lane = 0; lane < SIM_WARP_SIZE; lane++) {
      int segment = (int)(c[lane] >> 8 & 31), clamp = (int)(c[lane] & 31), by = (int)(b[lane] & 31);
      int most = (lane & segment) | (clamp & ~segment), least = lane & segment;
      int from = mode == SIM_SHFL_UP     ? lane - by
                 : mode == SIM_SHFL_DOWN ? lane + by
                 : mode == SIM_SHFL_BFLY ? lane ^ by
                                         : least | (by & ~segment);
      bool inside = mode == SIM_SHFL_UP ? from >= most : from <= most;
      from = (inside ? from : lane) & 31;
      found |= (uint32_t)inside << lane;
      results[lane] = active >> from & 1 ? values[from] : POISON;
    }
    store_row(one, results);
    store_predicate(one, one->op->out2, found);
  }
}

/* ---- vote ---- */

static void serve_vote(const party *parties, uint32_t count) {
  uint32_t active = parties_mask(parties, count), trues = 0;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t value = *ROW(uint32_t, &parties[i], parties[i].op->in[0]);
    trues |= (parties[i].op->flags & SIM_WARP_NEGATED ? ~value : value) & parties[i].mask;
  }
  for (uint32_t i = 0; i < count; i++) {
    const party *one = &parties[i];
    uint32_t results[SIM_WARP_SIZE];
    switch (one->op->flags & SIM_WARP_KIND) {
    case SIM_VOTE_BALLOT:
      for (int lane = 0; lane < SIM_WARP_SIZE; lane++)
        results[lane] = trues;
      store_row(one, results);
      break;
    case SIM_VOTE_ALL: store_predicate(one, one->op->out, trues == active ? SIM_FULL : 0); break;
    case SIM_VOTE_ANY: store_predicate(one, one->op->out, trues ? SIM_FULL : 0); break;
    default: store_predicate(one, one->op->out, trues == active || trues == 0 ? SIM_FULL : 0);
    }
  }
}

/* ---- match ---- */

static void serve_match(const party *parties, uint32_t count, bool wide) {
  uint32_t active = parties_mask(parties, count), results[SIM_WARP_SIZE] = {0};
  uint64_t values[SIM_WARP_SIZE] = {0};
  for (uint32_t i = 0; i < count; i++)
    for (uint32_t left = parties[i].mask; left; left &= left - 1) {
      int lane = __builtin_ctz(left);
      values[lane] = wide ? ROW(uint64_t, &parties[i], parties[i].op->in[0])[lane]
                          : ROW(uint32_t, &parties[i], parties[i].op->in[0])[lane];
    }
  bool all = (parties->op->flags & SIM_WARP_KIND) == SIM_MATCH_ALL, same_all = false;
  for (uint32_t left = active; left;) {
    uint64_t value = values[__builtin_ctz(left)];
    uint32_t same = 0;
    for (uint32_t lane = 0; lane < SIM_WARP_SIZE; lane++)
      same |= (uint32_t)(values[lane] == value) << lane;
    same &= left;
    left &= ~same;
    same_all = same == active;
    for (uint32_t rest = same; rest; rest &= rest - 1)
      results[__builtin_ctz(rest)] = all && !same_all ? 0 : same;
  }
  for (uint32_t i = 0; i < count; i++) {
    store_row(&parties[i], results);
    if (all)
      store_predicate(&parties[i], parties[i].op->out2, same_all ? SIM_FULL : 0);
  }
}

/* ---- redux ---- */

static void serve_redux(const party *parties, uint32_t count) {
  uint32_t values[SIM_WARP_SIZE] = {0}, active = parties_mask(parties, count);
  gather_32(values, parties, count);
  uint32_t flags = parties->op->flags, result = values[__builtin_ctz(active)];
  bool is_signed = flags & SIM_REDUX_SIGNED;
  for (uint32_t left = active & (active - 1); left; left &= left - 1) {
    uint32_t value = values[__builtin_ctz(left)];
    bool less = is_signed ? (int32_t)value < (int32_t)result : value < result;
    switch (flags & 7) {
    case SIM_REDUX_ADD: result += value; break;
    case SIM_REDUX_MIN: result = less ? value : result; break;
    case SIM_REDUX_MAX: result = less ? result : value; break;
    case SIM_REDUX_AND: result &= value; break;
    case SIM_REDUX_OR: result |= value; break;
    default: result ^= value;
    }
  }
  for (int lane = 0; lane < SIM_WARP_SIZE; lane++)
    values[lane] = result;
  for (uint32_t i = 0; i < count; i++)
    store_row(&parties[i], values);
}

/* Orders floats as PTX's min and max do: -0 before +0. */
static int32_t float_key(uint32_t bits) {
  return (int32_t)(bits ^ ((bits >> 31) ? 0x7fffffffu : 0));
}

static void serve_redux_f32(const party *parties, uint32_t count) {
  uint32_t values[SIM_WARP_SIZE] = {0}, active = parties_mask(parties, count), flags = parties->op->flags;
  const uint32_t canonical = 0x7fffffffu;
  gather_32(values, parties, count);
  uint32_t result = canonical;
  bool some = false, nan = false;
  for (uint32_t left = active; left; left &= left - 1) {
    uint32_t value = values[__builtin_ctz(left)];
    if (flags & SIM_WARP_ABS)
      value &= 0x7fffffffu;
    if ((value & 0x7fffffffu) > 0x7f800000u) {
      nan = true;
      continue;
    }
    bool less = float_key(value) < float_key(result);
    if (!some || ((flags & 7) == SIM_REDUX_MIN ? less : !less))
      result = value;
    some = true;
  }
  if (nan && flags & SIM_WARP_NAN)
    result = canonical;
  for (int lane = 0; lane < SIM_WARP_SIZE; lane++)
    values[lane] = result;
  for (uint32_t i = 0; i < count; i++)
    store_row(&parties[i], values);
}

static void serve_elect(const party *parties, uint32_t count) {
  uint32_t active = parties_mask(parties, count), leader = (uint32_t)__builtin_ctz(active), values[SIM_WARP_SIZE];
  for (int lane = 0; lane < SIM_WARP_SIZE; lane++)
    values[lane] = leader;
  for (uint32_t i = 0; i < count; i++) {
    store_row(&parties[i], values);
    store_predicate(&parties[i], parties[i].op->out2, 1u << leader);
  }
}

static void serve(const party *parties, uint32_t count) {
  switch (parties->op->handler) {
  case SIM_H_shfl: serve_shfl(parties, count); break;
  case SIM_H_vote: serve_vote(parties, count); break;
  case SIM_H_match_32: serve_match(parties, count, false); break;
  case SIM_H_match_64: serve_match(parties, count, true); break;
  case SIM_H_redux: serve_redux(parties, count); break;
  case SIM_H_redux_f32: serve_redux_f32(parties, count); break;
  case SIM_H_elect: serve_elect(parties, count); break;
  default: break; /* bar.warp.sync only waits */
  }
}

/* ---- waiting ---- */

static bool meets(const sim_group *a, const sim_group *b) {
  return a->state == SIM_GROUP_WARP && b->state == SIM_GROUP_WARP && a->op->handler == b->op->handler &&
         a->op->flags == b->op->flags && a->members == b->members;
}

/* Serves the parked groups that belong to items[first], where all have come. */
static bool meet_try(sim_warp *warp, uint32_t first) {
  struct sim_groups *groups = warp->groups;
  const sim_group wanted = groups->items[first];
  party parties[SIM_WARP_SIZE];
  uint32_t count = 0, come = 0;
  for (uint32_t i = 0; i < groups->count; i++) {
    const sim_group *group = &groups->items[i];
    if (!meets(group, &wanted))
      continue;
    parties[count++] = (party){group->op, group->frame->slots, group->mask};
    come |= group->mask;
  }
  if (wanted.members & warp->live & ~come)
    return false;
  serve(parties, count);
  for (uint32_t i = 0; i < groups->count;) {
    if (!meets(&groups->items[i], &wanted)) {
      i++;
      continue;
    }
    sim_groups_release(warp, i);
    i = 0;
  }
  return true;
}

void SIM_ISA_NAME(sim_meet_again)(sim_warp *warp) {
  for (uint32_t i = 0; i < warp->groups->count;)
    if (warp->groups->items[i].state == SIM_GROUP_WARP && meet_try(warp, i))
      i = 0;
    else
      i++;
}

static void outside_note(sim_warp *warp, const sim_op *op, uint32_t lanes, uint32_t members) {
  char who[1024];
  sim_warp_describe(warp, op, __builtin_ctz(lanes), who, sizeof who);
  sim_report(
      SIM_REPORT_NOTE,
      "warp: %s executes a warp-level operation whose member mask 0x%08x does not name it: undefined on hardware", who,
      members);
}

/* Lanes come to an operation; each names the members of its own. */
static int meet(sim_warp *warp, const sim_op *op, uint32_t mask) {
  if (op->flags & SIM_WARP_PLAIN) {
    party alone = {op, warp->slots, mask};
    serve(&alone, 1);
    return SIM_NEXT;
  }
  const uint32_t *members = SIM_IN(uint32_t, 3);
  uint32_t first = members[__builtin_ctz(mask)], same = 0;
  for (uint32_t lane = 0; lane < SIM_WARP_SIZE; lane++)
    same |= (uint32_t)(members[lane] == first) << lane;
  if ((same & mask) == mask && (mask & ~first) == 0 && (first & warp->live & ~mask) == 0) {
    party all = {op, warp->slots, mask};
    serve(&all, 1);
    return SIM_NEXT;
  }
  sim_groups_add(warp, warp->frame, op + 1, warp->mask & ~mask);
  for (uint32_t left = mask; left;) {
    uint32_t wanted = members[__builtin_ctz(left)], with = 0;
    for (uint32_t rest = left; rest; rest &= rest - 1)
      if (members[__builtin_ctz(rest)] == wanted)
        with |= rest & (0u - rest);
    left &= ~with;
    if (with & ~wanted)
      outside_note(warp, op, with & ~wanted, wanted);
    sim_groups_park(warp, op, with, SIM_GROUP_WARP, wanted, 0, 0);
  }
  SIM_ISA_NAME(sim_meet_again)(warp);
  return SIM_MOVED;
}

#define MEETS(name)                                                                                                    \
  SIM_HANDLER(name) {                                                                                                  \
    return meet(warp, op, mask);                                                                                       \
  }
MEETS(warp_sync)
MEETS(shfl)
MEETS(vote)
MEETS(match_32)
MEETS(match_64)
MEETS(redux)
MEETS(redux_f32)
MEETS(elect)

SIM_HANDLER(activemask) {
  uint32_t *out = SIM_OUT(uint32_t);
  SIM_STORE(out, mask);
  return SIM_NEXT;
}
