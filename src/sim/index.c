/* Allocations by address. */
#include "index.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "result.h"

enum { LEAF = 16, LINE = 64 /* bytes of a cache line */ };

/* The size stands beside the pointer: records lie all over memory, and to touch the wrong one costs more than the
   search. */
typedef struct {
  uint64_t size;
  sim_allocation *allocation;
} entry;

typedef struct {
  _Alignas(LINE) uint64_t keys[LEAF]; /* past the count: UINT64_MAX, so that a search need not know it */
  entry entries[LEAF];
  uint32_t count; /* at least 1 */
} leaf;

/* firsts[i] is leaves[i]->keys[0]. */
static uint64_t *firsts;
static leaf **leaves;
static size_t leaf_count, leaf_room;

/* How many of the sorted keys are not above `key`. Four parts at a time, and without branches that depend on the
   keys: those would be guessed wrong half of the time. */
static size_t keys_until(const uint64_t *keys, size_t count, uint64_t key) {
  size_t at = 0, rest = 0;
  while (count >= 8) {
    const uint64_t *part = keys + at;
    size_t quarter = count / 4;
    at += quarter *
          ((size_t)(part[quarter - 1] <= key) + (part[2 * quarter - 1] <= key) + (part[3 * quarter - 1] <= key));
    count -= 3 * quarter;
  }
  for (size_t i = 0; i < count; i++)
    rest += keys[at + i] <= key;
  return at + rest;
}

/* All lines of a leaf come from memory at once, not one after the other as the search asks for them. */
static void leaf_prefetch(const leaf *in) {
  const char *at = (const char *)in;
  for (size_t i = 0; i < sizeof in->keys + sizeof in->entries; i += LINE)
    __builtin_prefetch(at + i);
}

sim_allocation *sim_index_find(uint64_t address) {
  size_t i = keys_until(firsts, leaf_count, address);
  if (!i || address == UINT64_MAX)
    return NULL;
  const leaf *in = leaves[i - 1];
  leaf_prefetch(in);
  size_t j = keys_until(in->keys, LEAF, address) - 1;
  return address - in->keys[j] < in->entries[j].size ? in->entries[j].allocation : NULL;
}

sim_allocation *sim_index_floor(uint64_t address) {
  size_t i = keys_until(firsts, leaf_count, address);
  if (!i)
    return NULL;
  const leaf *in = leaves[i - 1];
  return in->entries[keys_until(in->keys, in->count, address) - 1].allocation;
}

sim_allocation *sim_index_above(uint64_t address) {
  size_t i = keys_until(firsts, leaf_count, address);
  if (i) {
    const leaf *in = leaves[i - 1];
    size_t j = keys_until(in->keys, in->count, address);
    if (j < in->count)
      return in->entries[j].allocation;
  }
  return i < leaf_count ? leaves[i]->entries[0].allocation : NULL;
}

/* A new leaf at position `at`, without entries. */
static leaf *leaf_open(size_t at) {
  if (leaf_count == leaf_room) {
    size_t room = leaf_room ? 2 * leaf_room : 16;
    uint64_t *grown_firsts = realloc(firsts, room * sizeof *firsts);
    if (grown_firsts)
      firsts = grown_firsts;
    leaf **grown_leaves = realloc(leaves, room * sizeof *leaves);
    if (grown_leaves)
      leaves = grown_leaves;
    if (!grown_firsts || !grown_leaves)
      return NULL;
    leaf_room = room;
  }
  leaf *made = aligned_alloc(LINE, sizeof *made);
  if (!made)
    return NULL;
  made->count = 0;
  memset(made->keys, 0xff, sizeof made->keys);
  memmove(firsts + at + 1, firsts + at, (leaf_count - at) * sizeof *firsts);
  memmove(leaves + at + 1, leaves + at, (leaf_count - at) * sizeof *leaves);
  leaves[at] = made;
  leaf_count++;
  return made;
}

/* Makes room for `key` in leaf *i, and leaves in *i the leaf that it now belongs into. */
static bool leaf_split(size_t *i, uint64_t key) {
  leaf *full = leaves[*i], *upper = leaf_open(*i + 1);
  if (!upper)
    return false;
  /* Addresses mostly grow: then the full leaf stays full. */
  uint32_t keep = key > full->keys[LEAF - 1] ? LEAF - 1 : LEAF / 2;
  upper->count = LEAF - keep;
  memcpy(upper->keys, full->keys + keep, upper->count * sizeof *upper->keys);
  memcpy(upper->entries, full->entries + keep, upper->count * sizeof(entry));
  full->count = keep;
  memset(full->keys + keep, 0xff, (LEAF - keep) * sizeof *full->keys);
  firsts[*i + 1] = upper->keys[0];
  *i += key >= upper->keys[0];
  return true;
}

int sim_index_add(sim_allocation *allocation) {
  uint64_t key = allocation->address;
  if (!leaf_count) {
    if (!leaf_open(0))
      return SIM_OUT_OF_MEMORY;
    firsts[0] = key;
  }
  size_t i = keys_until(firsts, leaf_count, key);
  i -= i > 0;
  if (leaves[i]->count == LEAF && !leaf_split(&i, key))
    return SIM_OUT_OF_MEMORY;
  leaf *in = leaves[i];
  size_t j = keys_until(in->keys, in->count, key);
  memmove(in->keys + j + 1, in->keys + j, (in->count - j) * sizeof *in->keys);
  memmove(in->entries + j + 1, in->entries + j, (in->count - j) * sizeof(entry));
  in->keys[j] = key;
  in->entries[j] = (entry){allocation->size, allocation};
  in->count++;
  firsts[i] = in->keys[0];
  return SIM_SUCCESS;
}

void sim_index_remove(const sim_allocation *allocation) {
  size_t i = keys_until(firsts, leaf_count, allocation->address);
  if (!i--)
    return;
  leaf *in = leaves[i];
  size_t j = keys_until(in->keys, in->count, allocation->address) - 1;
  if (in->entries[j].allocation != allocation)
    return;
  in->count--;
  memmove(in->keys + j, in->keys + j + 1, (in->count - j) * sizeof *in->keys);
  memmove(in->entries + j, in->entries + j + 1, (in->count - j) * sizeof(entry));
  in->keys[in->count] = UINT64_MAX;
  if (in->count) {
    firsts[i] = in->keys[0];
    return;
  }
  free(in);
  leaf_count--;
  memmove(firsts + i, firsts + i + 1, (leaf_count - i) * sizeof *firsts);
  memmove(leaves + i, leaves + i + 1, (leaf_count - i) * sizeof *leaves);
}
