/* Copies and sets: what they are, whether they may be, and doing them. */
#ifndef SIM_COPY_H
#define SIM_COPY_H

#include "memory.h"

/* Where an address lies, as the caller says it. */
typedef enum {
  SIM_PLACE_ANY, /* cudaMemcpyDefault, cuMemcpy: by the address */
  SIM_PLACE_HOST,
  SIM_PLACE_DEVICE,
} sim_copy_place;

/* width x height x depth bytes; pitches in bytes; height and depth are 1 for a plain copy. */
typedef struct {
  uint64_t destination, source;
  sim_copy_place destination_place, source_place;
  uint64_t width, height, depth;
  uint64_t destination_pitch, destination_slice, source_pitch, source_slice;
} sim_copy;

/* Sets `height` rows of `width` elements of `unit` (1, 2, 4) bytes to `value`. */
typedef struct {
  uint64_t destination, pitch, width, height;
  uint32_t value, unit;
} sim_set;

/* At the call: 0, 1 (a place that contradicts the address: a host place that is device memory, a device place that
   no allocation holds; ranges that leave their allocation), 12 (pitch below width). Device memory in state PENDING
   is right here. */
int sim_copy_check(const sim_copy *copy);
int sim_set_check(const sim_set *set);

/* How a copy orders against the host: "API synchronization behavior" of the CUDA runtime API. */
typedef enum {
  SIM_COPY_ASYNC,  /* stays behind in the stream: pinned, device to device */
  SIM_COPY_STAGED, /* host source is pageable: read now, written to the device in stream order */
  SIM_COPY_SYNC,   /* device to pageable host: the call returns when it is done */
} sim_copy_order;
sim_copy_order sim_copy_ordering(const sim_copy *copy);

/* Does it: 0 or 700 with a report (what was freed in between is found here). Initialised marks move
   with the bytes. */
int sim_copy_run(const sim_copy *copy);
int sim_set_run(const sim_set *set);

#endif
