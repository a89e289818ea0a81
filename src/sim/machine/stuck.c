/* Nobody can go on: says who waits for whom. */
#include "machine.h"

#include <stdio.h>

enum { TEXT = 1024 };

/* Threads as ranges: "threads 0 to 31, 64". */
typedef struct {
  char *text;
  size_t used;
  int64_t first, last;
  uint32_t count;
} span;

static void span_flush(span *spans) {
  if (spans->first < 0 || spans->used > TEXT - 64)
    return;
  const char *head = spans->count ? ", " : "";
  int length = spans->first == spans->last
                   ? snprintf(spans->text + spans->used, TEXT - spans->used, "%s%lld", head, (long long)spans->first)
                   : snprintf(spans->text + spans->used, TEXT - spans->used, "%s%lld to %lld", head,
                              (long long)spans->first, (long long)spans->last);
  spans->used += (size_t)length;
  spans->count++;
  spans->first = -1;
}

static void span_add(span *spans, int64_t thread) {
  if (spans->first >= 0 && thread == spans->last + 1) {
    spans->last = thread;
    return;
  }
  span_flush(spans);
  spans->first = spans->last = thread;
}

static const char *state_text(uint8_t state) {
  return state == SIM_GROUP_BARRIER ? "wait at another barrier"
         : state == SIM_GROUP_WARP  ? "wait for lanes of their warp"
                                    : "wait for the grid";
}

/* Appends the threads of the block that are not at the barrier, by where they are. */
static void missing_threads(sim_block *block, uint32_t number, bool counted, char *text) {
  size_t used = 0;
  for (int where = 0; where < 4; where++) {
    span spans = {text, used, -1, -1, 0};
    char place[256] = "";
    size_t begin = used;
    spans.used += (size_t)snprintf(text + used, TEXT - used, "%sthreads ", used ? "; " : "");
    for (uint32_t w = 0; w < block->warp_count; w++) {
      sim_warp *warp = &block->warps[w];
      uint32_t threads = block->grid->launch->block[0] * block->grid->launch->block[1] * block->grid->launch->block[2];
      for (uint32_t lane = 0; lane < SIM_WARP_SIZE && w * SIM_WARP_SIZE + lane < threads; lane++) {
        int at = warp->live >> lane & 1 ? -1 : 0;
        for (uint32_t i = 0; i < warp->groups->count; i++) {
          const sim_group *group = &warp->groups->items[i];
          if (!(group->mask >> lane & 1))
            continue;
          if (group->state == SIM_GROUP_BARRIER && group->barrier == number && (group->threads != 0) == counted)
            continue;
          at = group->state;
          if (at == where && !place[0])
            sim_op_place(warp, group->op, place, sizeof place);
        }
        if (at == where && (where != 0 || counted))
          span_add(&spans, w * SIM_WARP_SIZE + lane);
      }
    }
    span_flush(&spans);
    if (spans.count == 0) {
      text[begin] = '\0';
      continue;
    }
    used = spans.used;
    if (used < TEXT - 320)
      used += (size_t)(where == 0 ? snprintf(text + used, TEXT - used, " of block %llu have exited",
                                             (unsigned long long)block->linear)
                                  : snprintf(text + used, TEXT - used, " of block %llu %s (%s)",
                                             (unsigned long long)block->linear, state_text((uint8_t)where), place));
  }
  if (used == 0)
    snprintf(text, TEXT, "nobody else comes");
}

static void stuck_warp(sim_warp *warp, const sim_group *group) {
  uint32_t come = 0;
  for (uint32_t i = 0; i < warp->groups->count; i++) {
    const sim_group *other = &warp->groups->items[i];
    if (other->state == SIM_GROUP_WARP && other->op->handler == group->op->handler &&
        other->op->flags == group->op->flags && other->members == group->members)
      come |= other->mask;
  }
  char here[TEXT] = "", there[TEXT] = "";
  span waiting = {here, 0, -1, -1, 0}, missing = {there, 0, -1, -1, 0};
  for (uint32_t lane = 0; lane < SIM_WARP_SIZE; lane++) {
    if (come >> lane & 1)
      span_add(&waiting, lane);
    if ((group->members & warp->live & ~come) >> lane & 1)
      span_add(&missing, lane);
  }
  span_flush(&waiting);
  span_flush(&missing);
  sim_warp_fault(warp, group->op, __builtin_ctz(group->mask), 702,
                 "lanes %s of warp %u wait at a warp-level sync for lanes %s that never come", here, warp->index,
                 there);
}

static void stuck_barrier(sim_warp *warp, const sim_group *group) {
  char text[TEXT] = "";
  missing_threads(warp->block, group->barrier, group->threads != 0, text);
  if (group->threads)
    sim_warp_fault(warp, group->op, __builtin_ctz(group->mask), 702, "barrier %u: %u threads of %u have come; %s",
                   group->barrier, warp->block->barriers->counted[group->barrier].arrived, group->threads, text);
  else
    sim_warp_fault(warp, group->op, __builtin_ctz(group->mask), 702, "barrier %u: %s", group->barrier, text);
}

/* The kind of wait that says most: lanes of a warp, then a barrier, then the grid. */
void sim_stuck_report(sim_machine *machine) {
  static const uint8_t order[] = {SIM_GROUP_WARP, SIM_GROUP_BARRIER, SIM_GROUP_GRID};
  for (int k = 0; k < 3; k++)
    for (sim_seat *seat = machine->seats; seat; seat = seat->next)
      for (uint32_t w = 0; w < seat->block.warp_count; w++) {
        sim_warp *warp = &seat->block.warps[w];
        for (uint32_t i = 0; i < warp->groups->count; i++) {
          const sim_group *group = &warp->groups->items[i];
          if (group->state != order[k])
            continue;
          if (order[k] == SIM_GROUP_BARRIER)
            stuck_barrier(warp, group);
          else if (order[k] == SIM_GROUP_WARP)
            stuck_warp(warp, group);
          else
            sim_warp_fault(warp, group->op, __builtin_ctz(group->mask), 702,
                           "threads wait for the whole grid, others of it have exited or wait elsewhere");
          return;
        }
      }
}
