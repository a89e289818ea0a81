/* Chunks that double, taken from the front; a taking that is larger than a chunk gets one of its own. */
#include "arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 16, FIRST_CHUNK = 16 << 10, LARGEST_CHUNK = 1 << 20 };

typedef struct chunk {
  struct chunk *next;
} chunk;

enum { HEAD = (sizeof(chunk) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT };

struct ptx_arena {
  chunk *chunks;
  unsigned char *at; /* free bytes of the running chunk */
  size_t left;
  size_t next_size; /* of the next chunk */
  size_t used, limit;
};

ptx_arena *ptx_arena_create(size_t limit) {
  ptx_arena *arena = calloc(1, sizeof *arena);
  if (!arena)
    return NULL;
  arena->limit = limit;
  arena->next_size = FIRST_CHUNK;
  return arena;
}

void ptx_arena_free(ptx_arena *arena) {
  if (!arena)
    return;
  for (chunk *each = arena->chunks, *next; each; each = next) {
    next = each->next;
    free(each);
  }
  free(arena);
}

/* The bytes behind the head of a new chunk, zeroed. */
static unsigned char *chunk_add(ptx_arena *arena, size_t room) {
  chunk *made;
  if (room > arena->limit - arena->used)
    return NULL;
  made = calloc(1, HEAD + room);
  if (!made)
    return NULL;
  arena->used += room;
  made->next = arena->chunks;
  arena->chunks = made;
  return (unsigned char *)made + HEAD;
}

void *ptx_arena_take(ptx_arena *arena, size_t size) {
  void *taken;
  if (size > SIZE_MAX - ALIGNMENT)
    return NULL;
  size = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  if (size == 0)
    size = ALIGNMENT;
  if (size > arena->left) {
    size_t room = arena->next_size;
    if (size > room / 4)
      return chunk_add(arena, size);
    if (room > arena->limit - arena->used)
      room = (arena->limit - arena->used) / ALIGNMENT * ALIGNMENT;
    if (size > room)
      return NULL;
    taken = chunk_add(arena, room);
    if (!taken)
      return NULL;
    arena->at = taken;
    arena->left = room;
    if (arena->next_size < LARGEST_CHUNK)
      arena->next_size *= 2;
  }
  taken = arena->at;
  arena->at += size;
  arena->left -= size;
  return taken;
}

char *ptx_arena_text(ptx_arena *arena, const char *text, size_t length) {
  char *copy = length < SIZE_MAX ? ptx_arena_take(arena, length + 1) : NULL;
  if (copy && length)
    memcpy(copy, text, length);
  return copy;
}
