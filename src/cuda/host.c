/* Functions of the host in a stream. CUDA calls back in a thread of its own, where no Lua may run: it only counts. */
#include <stdlib.h>

#include "cuda/failure.h"
#include "cuda/graph.h"
#include "cuda/guard.h"
#include "cuda/runtime.h"
#include "cuda/stream.h"

void xchg_cuda_host_release(xchg_cuda_host *host) {
  if (host != NULL && __atomic_fetch_sub(&host->references, 1, __ATOMIC_ACQ_REL) == 1)
    free(host);
}

/* In a stream it is reached once, and that reference ends. */
static void reach_once(void *data) {
  xchg_cuda_host *host = data;
  __atomic_fetch_add(&host->reached, 1, __ATOMIC_RELEASE);
  xchg_cuda_host_release(host);
}

/* In a graph it is reached once in each replay; the graph keeps it. */
static void reach(void *data) {
  xchg_cuda_host *host = data;
  __atomic_fetch_add(&host->reached, 1, __ATOMIC_RELEASE);
}

static void storage_destroy(xchg_storage *storage, int python) {
  (void)python;
  xchg_cuda_host_release(storage->owner);
}

/* Gives one of the two references to the graph. */
static int keep_in_graph(xchg_cuda_host *host, xchg_cuda_graph *graph, xchg_error *err) {
  xchg_storage *storage = xchg__storage_new(0, host, NULL, storage_destroy, 0, err);
  int code;
  if (storage == NULL)
    return XCHG_E_MEMORY;
  host->references++;
  code = xchg__graph_keep(graph, storage, err);
  xchg__storage_release(storage);
  return code;
}

int32_t xchg_cuda_host_queue(xchg_cuda_host **out, xchg_cuda_stream *stream, xchg_error *err) {
  xchg_cuda_graph *graph = stream->capture;
  xchg__cuda_guard guard;
  xchg_cuda_host *host;
  int result, code;
  *out = NULL;
  if ((code = xchg__cuda_stream_check(stream, "host", err)) != 0 ||
      (code = xchg__cuda_enter(&guard, stream->device, err)) != 0)
    return code;
  if ((host = calloc(1, sizeof *host)) == NULL) {
    code = xchg__error_set(err, XCHG_E_MEMORY, "host: no memory for its record");
  } else {
    host->references = 1;
    if (graph != NULL)
      code = keep_in_graph(host, graph, err);
    else
      host->references++;
    if (code == 0 &&
        (result = xchg__rt.cudaLaunchHostFunc(stream->handle, graph != NULL ? reach : reach_once, host)) != 0) {
      code = xchg__cuda_fail(err, result, "cudaLaunchHostFunc", "host: on stream %p of cuda:%d", stream->handle,
                             stream->device);
      if (graph == NULL)
        xchg_cuda_host_release(host);
    }
    if (code == 0)
      *out = host;
    else
      xchg_cuda_host_release(host);
  }
  xchg__cuda_leave(&guard);
  return code;
}
