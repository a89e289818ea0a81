/* gather.h: the built-in kernels that move or write strided memory of one device.
 *
 * They are PTX text that is written here: they need no compiler but the driver's, on every device that CUDA 12 and
 * later know. */
#ifndef XCHG_CUDA_GATHER_H
#define XCHG_CUDA_GATHER_H

#include "cuda/rows.h"

/* Queues the copy of `rows` on the stream, whose device is current: every address must be one that this device reaches,
 * and source and destination must not overlap. 0 or an error. */
int xchg__gather_copy(xchg_arena *arena, xchg_cuda_stream *stream, const xchg__rows *rows, xchg_error *err);
/* Queues writing one element of `size` bytes all over the rows' destination. */
int xchg__gather_fill(xchg_arena *arena, xchg_cuda_stream *stream, const xchg__rows *rows, const void *element,
                      int32_t size, xchg_error *err);

/* ---- other kernels of the same form --------------------------------------------------------------- */

/* A kernel for one element each of source and destination, handed over as its name and the instructions between the
 * places %from and %to. These may use: %p0 %p1 (predicates), %h0 (16 bits), %r0 to %r2 (32), %n0 to %n2 (64), %f0
 * (f32), %x0 %x1 (f64). */
typedef struct {
  char name[48];
  char body[2048];
} xchg__gather_kernel;

/* A loaded one; it stays for good. */
typedef struct {
  const void *handle; /* as launches take it; NULL: not loaded yet */
  xchg_cuda_library *library;
} xchg__gather_loaded;

/* Makes and loads it for counts up to 2^31 - 1, or (`wide`) for all. 0 or an error. */
int xchg__gather_load(xchg__gather_loaded *out, const xchg__gather_kernel *kernel, int wide, xchg_error *err);
/* Whether it takes the wide one for these rows. */
int xchg__gather_wide(const xchg__rows *rows);
/* Queues it over rows of one element each. `name` is static. */
int xchg__gather_run(xchg_arena *arena, xchg_cuda_stream *stream, const void *kernel, const char *name,
                     const xchg__rows *rows, xchg_error *err);

#endif
