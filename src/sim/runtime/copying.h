/* The runtime API's ways to say what is copied. */
#ifndef SIM_RUNTIME_COPYING_H
#define SIM_RUNTIME_COPYING_H

#include "types.h"

/* 21 for a direction that is none, 1 for NULL where bytes are copied. */
int sim_runtime_copy_rows(sim_copy *out, void *destination, size_t destination_pitch, const void *source,
                          size_t source_pitch, size_t width, size_t height, int kind);
int sim_runtime_copy_bytes(sim_copy *out, void *destination, const void *source, size_t count, int kind);
/* 801 for arrays, which the simulator has not got. */
int sim_runtime_copy_3d(sim_copy *out, const sim_copy_3d *from);
/* The way back, for nodes that are asked for their parameters. */
void sim_runtime_copy_tell(sim_copy_3d *out, const sim_copy *from);

/* cudaMemsetParams: 1 for NULL, for another size of elements than 1, 2 or 4. */
int sim_runtime_set_node(sim_set *out, const sim_set_node *from);

#endif
