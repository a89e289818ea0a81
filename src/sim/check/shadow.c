/* What the checkers keep beside an allocation. */
#include "check.h"

#include <stdlib.h>

struct sim_shadow *sim_shadow_get(sim_allocation *allocation) {
  if (!allocation->shadow)
    allocation->shadow = calloc(1, sizeof *allocation->shadow);
  return allocation->shadow;
}

void sim_shadow_free(struct sim_shadow *shadow) {
  if (!shadow)
    return;
  free(shadow->written);
  free(shadow->race);
  if (shadow->stream)
    sim_stream_shadow_free(shadow->stream);
  free(shadow);
}
