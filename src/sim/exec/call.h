/* What calls carry in op->extra. */
#ifndef SIM_EXEC_CALL_H
#define SIM_EXEC_CALL_H

#include "warp.h"

typedef struct {
  const sim_function *function;          /* NULL: by pointer, or a builtin */
  const sim_place *parameters, *returns; /* in the caller */
  uint32_t parameter_count, return_count;
  const struct sim_builtin *builtin;
} sim_call;

#endif
