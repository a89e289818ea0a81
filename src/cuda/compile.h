/* compile.h: one compilation: what it is asked, what it gives. */
#ifndef XCHG_CUDA_COMPILE_H
#define XCHG_CUDA_COMPILE_H

#include "core/error.h"
#include "cuda/sha256.h"

/* A request that owns its strings, in one block. NULL and err for lack of memory. New (free). */
xchg_compile_request *xchg__compile_request_copy(const xchg_compile_request *request, xchg_error *err);

/* Memory that results grow in; never shrinks. */
typedef struct {
  char *bytes;
  size_t size, room;
  int failed; /* there was no memory */
} xchg__bytes;
void xchg__bytes_add(xchg__bytes *bytes, const void *from, size_t count);

/* What a result points into. */
typedef struct {
  xchg_compile_result result;
  char *block;          /* texts */
  const char **lowered; /* result.lowered */
  char message[512];
  char note[256];
} xchg__compile_outcome;
void xchg__compile_outcome_free(xchg__compile_outcome *outcome);
/* The parts of a result in one block: PTX, cubin, log, lowered names, each with a NUL behind it. */
typedef struct {
  uint64_t ptx, cubin, log, names; /* bytes, without the NULs for the first three */
} xchg__compile_sizes;
/* Makes `outcome` point into `block` (stolen on success), where the parts lie one after another. 0; -1 where the sizes
 * do not fit the block or the names are not `name_count`, or for lack of memory. */
int xchg__compile_outcome_take(xchg__compile_outcome *outcome, char *block, size_t size,
                               const xchg__compile_sizes *sizes, int32_t name_count);

/* Compiles. `stop` is asked now and then, with `context` and NULL; not 0 ends it early. */
void xchg__compile_run(xchg__compile_outcome *outcome, const xchg_compile_request *request,
                       int (*stop)(void *context, void *unused), void *context);

/* ---- includes.c ---- */

/* Adds to the digest what every file contains that the source may include, by name, from the user's folders, however
 * deep. Returns the number of files, or -1 with the reason in `why` where that cannot be known. */
int xchg__includes_digest(xchg__sha256 *digest, const xchg_compile_request *request, char *why, size_t room);

/* ---- cache.c ---- */

/* The file name of a request: a digest of all that decides the outcome. Number of files as above, or -1. */
int xchg__cache_key(char key[2 * XCHG_SHA256_BYTES + 1], const xchg_compile_request *request, char *why, size_t room);
/* 0: `outcome` is what was kept. -1: nothing was, or nothing of use; `note` says what is wrong with the folder. */
int xchg__cache_get(xchg__compile_outcome *outcome, const char *folder, const char *key, int32_t name_count);
void xchg__cache_put(xchg__compile_outcome *outcome, const char *folder, int64_t limit, const char *key,
                     int32_t name_count);

#endif
