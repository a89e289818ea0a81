/* A hash table of chains. */
#include "names.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_BUCKETS = 1024 };

bool ptx_names_begin(ptx_names *names, ptx_arena *texts, ptx_arena *records) {
  *names = (ptx_names){.bucket_count = FIRST_BUCKETS, .texts = texts, .records = records};
  names->buckets = calloc(FIRST_BUCKETS, sizeof *names->buckets);
  if (!names->buckets)
    return false;
  for (int type = PTX_TYPE_NONE + 1; type < PTX_TYPE_COUNT; type++) {
    ptx_name *name = ptx_names_take(names, ptx_type_text[type], strlen(ptx_type_text[type]));
    if (!name)
      return false;
    name->type = (ptx_type)type;
  }
  return true;
}

void ptx_names_end(ptx_names *names) {
  free(names->buckets);
  *names = (ptx_names){0};
}

uint32_t ptx_names_hash(const char *text, size_t length) {
  uint64_t hash = 0x9ddfea08eb382d69u ^ length;
  for (; length >= 8; text += 8, length -= 8) {
    uint64_t word;
    memcpy(&word, text, 8);
    hash = (hash ^ word) * 0x9fb21c651e98df25u;
    hash ^= hash >> 29;
  }
  for (size_t i = 0; i < length; i++)
    hash = (hash ^ (unsigned char)text[i]) * 0x9fb21c651e98df25u;
  return (uint32_t)(hash ^ hash >> 32);
}

static ptx_name *names_look(const ptx_names *names, const char *text, size_t length, uint32_t hash) {
  for (ptx_name *name = names->buckets[hash & (names->bucket_count - 1)]; name; name = name->next)
    if (name->hash == hash && name->length == length && memcmp(name->text, text, length) == 0)
      return name;
  return NULL;
}

ptx_name *ptx_names_find(const ptx_names *names, const char *text, size_t length) {
  return names_look(names, text, length, ptx_names_hash(text, length));
}

/* A table that cannot grow stays as it is: slower, not wrong. */
static void names_grow(ptx_names *names) {
  uint32_t count = names->bucket_count * 2;
  ptx_name **buckets = calloc(count, sizeof *buckets);
  if (!buckets)
    return;
  for (uint32_t i = 0; i < names->bucket_count; i++)
    for (ptx_name *name = names->buckets[i], *next; name; name = next) {
      next = name->next;
      name->next = buckets[name->hash & (count - 1)];
      buckets[name->hash & (count - 1)] = name;
    }
  free(names->buckets);
  names->buckets = buckets;
  names->bucket_count = count;
}

ptx_name *ptx_names_take(ptx_names *names, const char *text, size_t length) {
  uint32_t hash = ptx_names_hash(text, length);
  ptx_name *name = names_look(names, text, length, hash);
  if (name)
    return name;
  name = ptx_arena_take(names->records, sizeof *name);
  if (!name)
    return NULL;
  name->text = ptx_arena_text(names->texts, text, length);
  if (!name->text)
    return NULL;
  name->length = (uint32_t)length;
  name->hash = hash;
  if (names->count++ >= names->bucket_count)
    names_grow(names);
  name->next = names->buckets[hash & (names->bucket_count - 1)];
  names->buckets[hash & (names->bucket_count - 1)] = name;
  return name;
}
