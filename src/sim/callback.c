/* Callbacks of streams. */
#include "callback.h"

#include <stdlib.h>

#include "graph.h"
#include "result.h"

typedef struct {
  sim_stream *handle; /* as the caller named it; never followed */
  void (*function)(sim_stream *, int, void *);
  void *data;
} callback;

static void callback_run(void *data) {
  const callback *each = data;
  each->function(each->handle, SIM_SUCCESS, each->data);
}

int sim_callback_add(sim_stream *stream, sim_stream *handle, void (*function)(sim_stream *, int, void *), void *data,
                     unsigned flags, const char *call) {
  if (!function || flags)
    return SIM_INVALID_VALUE;
  if (stream->capture)
    return sim_capture_refuse(stream);
  callback *made = malloc(sizeof *made);
  if (!made)
    return SIM_OUT_OF_MEMORY;
  *made = (callback){handle, function, data};
  sim_work work = {.kind = SIM_OPERATION_HOST,
                   .call = call,
                   .device = stream->context->device->ordinal,
                   .host = {callback_run, made, true}};
  return sim_stream_submit(stream, &work);
}
