/* Copies and sets as a call of an API makes them: checked, staged, enqueued, and waited for as far as the call
   promises. */
#ifndef SIM_TRANSFER_H
#define SIM_TRANSFER_H

#include "stream.h"

/* `host_waits`: a call like cudaMemcpy. It returns when the bytes are where they go, but for two kinds: of pageable
   host memory to a device (when they are staged) and of one device's memory to a device's (at once). Without it only
   copies between a device and pageable host memory hold the caller up. Nothing to copy is 0. `call` is static. 0, or
   the results of sim_copy_check, sim_stream_submit, sim_stream_synchronize. */
int sim_transfer_copy(const sim_copy *copy, sim_stream *stream, bool host_waits, const char *call);

/* A call like cudaMemset waits where the memory is not a device's. */
int sim_transfer_set(const sim_set *set, sim_stream *stream, bool host_waits, const char *call);

#endif
