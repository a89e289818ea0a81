/* Callbacks of streams: host functions that are told the stream and the result. */
#ifndef SIM_CALLBACK_H
#define SIM_CALLBACK_H

#include "stream.h"

/* Enqueues it on the stream that `handle` means. 400, 1 for no function or for flags, 900 where the stream captures;
   what sim_stream_submit answers. Where the context is lost before its turn it is not called. */
int sim_callback_add(sim_stream *stream, sim_stream *handle, void (*function)(sim_stream *, int, void *), void *data,
                     unsigned flags, const char *call);

#endif
