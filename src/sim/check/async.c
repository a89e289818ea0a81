/* Asynchronous copies that are under way, and their end. */
#include "../exec/async.h"
#include "../exec/barrier_word.h"

#include <stdlib.h>

void sim_async_free(sim_block *block) {
  for (uint32_t i = 0; block->async && i < block->async->warp_count; i++)
    free(block->async->warps[i].items);
  free(block->async);
  block->async = NULL;
}

sim_async_warp *sim_async_of(sim_warp *warp) {
  sim_block *block = warp->block;
  if (!block->async) {
    block->async = calloc(1, sizeof *block->async + block->warp_count * sizeof *block->async->warps);
    if (!block->async)
      return NULL;
    block->async->warp_count = block->warp_count;
  }
  return &block->async->warps[warp->index];
}

bool sim_async_add(sim_warp *warp, const sim_async_item *item) {
  sim_async_warp *async = sim_async_of(warp);
  if (!async)
    return false;
  if (async->count == async->room) {
    uint32_t room = async->room ? 2 * async->room : 64;
    sim_async_item *grown = realloc(async->items, room * sizeof *grown);
    if (!grown)
      return false;
    async->items = grown;
    async->room = room;
  }
  sim_async_item *added = &async->items[async->count++];
  *added = *item;
  added->group = async->committed[item->lane];
  return true;
}

/* False: the barrier that it arrives at is none, or expects no more. */
static bool item_do(const sim_async_item *item) {
  if (item->bytes) {
    memcpy(item->to, item->from, item->size);
    memset(item->to + item->size, 0, (size_t)item->bytes - item->size);
    return true;
  }
  sim_mbarrier barrier;
  if (!sim_mbarrier_unpack(sim_fetch_64(item->to), &barrier) || barrier.pending == 0)
    return false;
  barrier.pending--;
  sim_mbarrier_settle(&barrier);
  sim_put_64(item->to, sim_mbarrier_pack(&barrier));
  return true;
}

bool sim_async_wait(sim_warp *warp, const sim_op *op, uint32_t mask, uint32_t open) {
  sim_async_warp *async = warp->block->async ? &warp->block->async->warps[warp->index] : NULL;
  uint32_t kept = 0;
  for (uint32_t i = 0; async && i < async->count; i++) {
    const sim_async_item *item = &async->items[i];
    uint32_t closed = async->committed[item->lane];
    if (!(mask >> item->lane & 1) || (open != UINT32_MAX && (uint64_t)item->group + open >= closed))
      async->items[kept++] = *item;
    else if (!item_do(item)) {
      sim_warp_fault(warp, op, item->lane, 719, "arrives at an mbarrier that is not initialised or expects no more");
      return false;
    }
  }
  if (async)
    async->count = kept;
  return true;
}

bool sim_async_arrive(sim_warp *warp, const sim_op *op, const uint8_t *at) {
  struct sim_async *all = warp->block->async;
  for (uint32_t w = 0; all && w < all->warp_count; w++) {
    sim_async_warp *async = &all->warps[w];
    /* The last arrival of each lane there: what comes before it in the lane is done with it. */
    uint32_t last[SIM_WARP_SIZE] = {0}, kept = 0;
    for (uint32_t i = 0; i < async->count; i++)
      if (async->items[i].bytes == 0 && async->items[i].to == at)
        last[async->items[i].lane] = i + 1;
    for (uint32_t i = 0; i < async->count; i++) {
      const sim_async_item *item = &async->items[i];
      if (i >= last[item->lane])
        async->items[kept++] = *item;
      else if (!item_do(item)) {
        sim_warp_fault(&warp->block->warps[w], op, item->lane, 719,
                       "arrives at an mbarrier that is not initialised or expects no more");
        return false;
      }
    }
    async->count = kept;
  }
  return true;
}
