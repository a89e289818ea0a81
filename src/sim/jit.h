/* Loading code as programs ask for it: options, their logs, files. */
#ifndef SIM_JIT_H
#define SIM_JIT_H

#include <stddef.h>

#include "ptx/ptx.h"

/* Answers the options that the caller gave: the error or info log goes to its buffer, and the length that it has
   there to the place of the size; the others are hints. A buffer and its size are two options, in any order; the
   values are pointers, or numbers in the place of pointers. */
void sim_jit_answer(const int *options, void *const *values, unsigned count, const ptx_log *log, int result);

/* Reads a file: 0 and *out new (free) with a NUL behind it, 301 for what is no file that can be read, 200 for an
   empty one or one above 16 MiB, 2. */
int sim_jit_read_file(const char *path, char **out, size_t *length);

#endif
