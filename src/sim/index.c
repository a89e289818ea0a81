/* Allocations by address. */
#include "index.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "result.h"

enum { LEAF = 128 };

typedef struct {
  uint32_t count; /* at least 1 */
  uint64_t keys[LEAF];
  sim_allocation *values[LEAF];
} leaf;

/* firsts[i] is leaves[i]->keys[0]. */
static uint64_t *firsts;
static leaf **leaves;
static size_t leaf_count, leaf_room;

/* How many of the sorted keys are not above `key`. Without branches that depend on the keys: they would be guessed wrong half of
   the time. */
static size_t keys_until(const uint64_t *keys, size_t count, uint64_t key) {
  const uint64_t *base = keys;
  while (count > 1) {
    size_t half = count / 2;
    base = base[half - 1] <= key ? base + half : base;
    count -= half;
  }
  return (size_t)(base - keys) + (count && *base <= key);
}

sim_allocation *sim_index_floor(uint64_t address) {
  size_t i = keys_until(firsts, leaf_count, address);
  if (!i)
    return NULL;
  const leaf *in = leaves[i - 1];
  return in->values[keys_until(in->keys, in->count, address) - 1];
}

sim_allocation *sim_index_above(uint64_t address) {
  size_t i = keys_until(firsts, leaf_count, address);
  if (i) {
    const leaf *in = leaves[i - 1];
    size_t j = keys_until(in->keys, in->count, address);
    if (j < in->count)
      return in->values[j];
  }
  return i < leaf_count ? leaves[i]->values[0] : NULL;
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
  leaf *made = malloc(sizeof *made);
  if (!made)
    return NULL;
  made->count = 0;
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
  memcpy(upper->values, full->values + keep, upper->count * sizeof(sim_allocation *));
  full->count = keep;
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
  memmove(in->values + j + 1, in->values + j, (in->count - j) * sizeof(sim_allocation *));
  in->keys[j] = key;
  in->values[j] = allocation;
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
  if (in->values[j] != allocation)
    return;
  in->count--;
  memmove(in->keys + j, in->keys + j + 1, (in->count - j) * sizeof *in->keys);
  memmove(in->values + j, in->values + j + 1, (in->count - j) * sizeof(sim_allocation *));
  if (in->count) {
    firsts[i] = in->keys[0];
    return;
  }
  free(in);
  leaf_count--;
  memmove(firsts + i, firsts + i + 1, (leaf_count - i) * sizeof *firsts);
  memmove(leaves + i, leaves + i + 1, (leaf_count - i) * sizeof *leaves);
}
