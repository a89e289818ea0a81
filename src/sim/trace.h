/* The operations that ran, in order: as text, or as Chrome trace events, one row for each device and stream. */
#ifndef SIM_TRACE_H
#define SIM_TRACE_H

#include "stream.h"

/* Cheap when nothing is traced. Times in nanoseconds of a monotonic clock. */
bool sim_trace_on(void);
void sim_trace_operation(const sim_stream *stream, const sim_work *work, uint64_t enqueued, uint64_t begin,
                         uint64_t end, int result);
/* Starts, stops (path NULL) and completes the file; also at exit of the process, so that the JSON is whole. 0, or
   304. */
int sim_trace_open(const char *path);

uint64_t sim_now(void); /* nanoseconds, monotonic */

#endif
