/* Options of the functions that load or link code, and their logs. */
#ifndef SIM_DRIVER_JIT_H
#define SIM_DRIVER_JIT_H

#include <stddef.h>

#include "../ptx/ptx.h"

/* Answers the options that the caller gave: the error or info log goes to its buffer, and its size back; the others are hints. A
   buffer and its size are two options, in any order; the values are pointers, or numbers in the place of pointers. */
void sim_jit_answer(const int *options, void *const *values, unsigned count, const ptx_log *log, int result);

/* Reads a file: 301, or new bytes with a NUL behind them. At most 16 MiB. */
int sim_jit_read_file(const char *path, char **out, size_t *length);

#endif
