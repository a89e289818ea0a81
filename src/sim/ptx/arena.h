/* Memory that lives and dies together: what one module's text becomes. */
#ifndef SIM_PTX_ARENA_H
#define SIM_PTX_ARENA_H

#include <stddef.h>

typedef struct ptx_arena ptx_arena;

/* new, or NULL. `limit`: bytes that it may grow to in all; a hostile text must not take the machine's memory. */
ptx_arena *ptx_arena_create(size_t limit);
void ptx_arena_free(ptx_arena *arena);

/* Zeroed, aligned to 16; NULL past the limit or without memory. borrowed from the arena. */
void *ptx_arena_take(ptx_arena *arena, size_t size);

/* A copy with a NUL behind it. */
char *ptx_arena_text(ptx_arena *arena, const char *text, size_t length);

#endif
