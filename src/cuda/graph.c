#include "cuda/graph.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/failure.h"
#include "cuda/guard.h"
#include "cuda/runtime.h"
#include "cuda/stream.h"
#include "cuda/use.h"

enum {
  THREAD_LOCAL = 1,      /* capture mode: other threads go on as they like */
  RELAXED = 2,           /* so does this one */
  TOPOLOGY_DIFFERS = 910 /* answer of cudaGraphExecUpdate, for every reason but a failure */
};

struct xchg_cuda_graph {
  uint64_t number;
  int32_t device;
  int32_t open;              /* being captured */
  xchg_storage *life;        /* of this record: marked with streams as memory is, so that it outlives its launches */
  xchg_cuda_stream *stream;  /* that captures; NULL afterwards */
  xchg_cuda_stream **joined; /* others that became part of the capture */
  size_t joined_count;
  xchg_storage **kept; /* a hash set by address: NULL is an empty place */
  size_t kept_count, kept_room;
  void *graph, *executable;
  size_t nodes;
};

int xchg__graph_captures;
static atomic_uint_fast64_t numbers;
static _Thread_local xchg_cuda_graph *here; /* the open one of this thread */

uint64_t xchg__graph_number(const xchg_cuda_graph *graph) {
  return graph != NULL ? graph->number : 0;
}

xchg_cuda_graph *xchg__graph_open(uint64_t number) {
  return here != NULL && here->number == number ? here : NULL;
}

int xchg__graph_refuse(xchg_error *err, const char *what) {
  if (here == NULL)
    return 0;
  return xchg__error_set(err, XCHG_E_CAPTURE,
                         "%s: nothing runs while a graph is captured, so nothing can be waited for or asked; do it "
                         "before or after cuda.graph",
                         what);
}

int32_t xchg_cuda_graph_refuse(xchg_error *err) {
  return xchg__graph_refuse(err, "cuda");
}

int xchg__graph_elsewhere(int32_t device, xchg_error *err) {
  if (here == NULL || here->device == device)
    return 0;
  return xchg__error_set(
      err, XCHG_E_CAPTURE,
      "graph: it is captured on cuda:%d, and work on the current stream of cuda:%d is no part of it; "
      "make a stream of cuda:%d current that has waited for an event of the capture, or give "
      "cuda.graph device='cuda:%d'",
      here->device, device, device, device);
}

int xchg__graph_relax(int *mode) {
  int result;
  *mode = RELAXED;
  if ((result = xchg__rt.cudaThreadExchangeStreamCaptureMode(mode)) != 0) {
    *mode = RELAXED;
    xchg__rt.cudaGetLastError();
  }
  return result;
}

/* Tried twice: any call may answer with the failure of an earlier one. */
void xchg__graph_restore(int mode) {
  int old = mode;
  if (mode != RELAXED && xchg__rt.cudaThreadExchangeStreamCaptureMode(&old) != 0) {
    xchg__rt.cudaGetLastError();
    xchg__rt.cudaThreadExchangeStreamCaptureMode(&mode);
  }
}

/* ---- what it keeps ------------------------------------------------------------------------------ */

static size_t kept_place(const xchg_cuda_graph *graph, const xchg_storage *storage) {
  size_t place = ((uintptr_t)storage >> 4) * 0x9E3779B97F4A7C15u;
  for (place &= graph->kept_room - 1; graph->kept[place] != NULL && graph->kept[place] != storage;)
    place = (place + 1) & (graph->kept_room - 1);
  return place;
}

static int kept_grow(xchg_cuda_graph *graph, xchg_error *err) {
  xchg_cuda_graph wider = *graph;
  wider.kept_room = graph->kept_room > 0 ? 2 * graph->kept_room : 16;
  wider.kept = calloc(wider.kept_room, sizeof *wider.kept);
  if (wider.kept == NULL)
    return xchg__error_set(err, XCHG_E_MEMORY, "graph: no memory to note %zu tensors", graph->kept_count);
  for (size_t i = 0; i < graph->kept_room; i++)
    if (graph->kept[i] != NULL)
      wider.kept[kept_place(&wider, graph->kept[i])] = graph->kept[i];
  free(graph->kept);
  *graph = wider;
  return 0;
}

int xchg__graph_keep(xchg_cuda_graph *graph, xchg_storage *storage, xchg_error *err) {
  int code;
  size_t place;
  if (2 * graph->kept_count >= graph->kept_room && (code = kept_grow(graph, err)) != 0)
    return code;
  place = kept_place(graph, storage);
  if (graph->kept[place] == NULL) {
    xchg__storage_retain(storage);
    graph->kept[place] = storage;
    graph->kept_count++;
  }
  return 0;
}

int xchg__graph_join(xchg_cuda_graph *graph, xchg_cuda_stream *stream, xchg_error *err) {
  xchg_cuda_stream **joined;
  if (stream->capture == graph)
    return 0;
  if (stream->capture != NULL)
    return xchg__error_set(err, XCHG_E_CAPTURE,
                           "wait: what a graph captures cannot wait for work outside of it; let the stream wait before "
                           "cuda.graph, or g:launch on a stream that has waited");
  if (graph->stream == NULL || here != graph)
    return xchg__error_set(err, XCHG_E_CAPTURE,
                           "wait: this was recorded in the capture of a graph, which is over; it stands for nothing "
                           "outside of it");
  if (stream->handle == XCHG_STREAM_LEGACY)
    return xchg__error_set(err, XCHG_E_CAPTURE,
                           "wait: the legacy default stream cannot become part of a graph; use a stream of "
                           "cuda.stream{nonblocking=true}");
  joined = realloc(graph->joined, (graph->joined_count + 1) * sizeof *joined);
  if (joined == NULL)
    return xchg__error_set(err, XCHG_E_MEMORY, "wait: no memory to note a stream of the graph");
  graph->joined = joined;
  xchg__cuda_stream_retain(stream);
  joined[graph->joined_count++] = stream;
  stream->capture = graph;
  return 0;
}

/* ---- life --------------------------------------------------------------------------------------- */

static void graph_destroy(xchg_storage *life, int python) {
  xchg_cuda_graph *graph = life->owner;
  (void)python;
  xchg__cuda_destroy(xchg__rt.cudaGraphExecDestroy, graph->executable);
  xchg__cuda_destroy(xchg__rt.cudaGraphDestroy, graph->graph);
  for (size_t i = 0; i < graph->kept_room; i++)
    xchg__storage_release(graph->kept[i]);
  free(graph->kept);
  free(graph->joined);
  free(graph);
}

static xchg_cuda_graph *graph_new(int32_t device, xchg_error *err) {
  xchg_cuda_graph *graph = calloc(1, sizeof *graph);
  if (graph == NULL) {
    xchg__error_set(err, XCHG_E_MEMORY, "graph: no memory for its record");
    return NULL;
  }
  graph->number = atomic_fetch_add(&numbers, 1) + 1;
  graph->device = device;
  graph->life = xchg__storage_new(0, graph, NULL, graph_destroy, 0, err);
  if (graph->life == NULL) {
    free(graph);
    return NULL;
  }
  xchg__use_begin(graph->life, NULL);
  return graph;
}

void xchg_cuda_graph_release(xchg_cuda_graph *graph) {
  if (graph == NULL)
    return;
  if (graph->open)
    xchg_cuda_graph_end(graph, 0, NULL);
  xchg__storage_release(graph->life);
}

int64_t xchg_cuda_graph_nodes(const xchg_cuda_graph *graph) {
  return (int64_t)graph->nodes;
}

int32_t xchg_cuda_graph_device(const xchg_cuda_graph *graph) {
  return graph->device;
}

/* ---- capture ------------------------------------------------------------------------------------ */

int32_t xchg_cuda_graph_begin(xchg_cuda_graph **out, xchg_cuda_stream *stream, xchg_error *err) {
  xchg__cuda_guard guard;
  xchg_cuda_graph *graph;
  int result, code;
  *out = NULL;
  if (here != NULL)
    return xchg__error_set(err, XCHG_E_CAPTURE,
                           "graph: a graph is being captured in this thread already; captures do not nest");
  if ((code = xchg__cuda_stream_check(stream, "graph", err)) != 0 ||
      (code = xchg__cuda_enter(&guard, stream->device, err)) != 0)
    return code;
  if ((graph = graph_new(stream->device, err)) == NULL) {
    code = XCHG_E_MEMORY;
  } else if ((result = xchg__rt.cudaStreamBeginCapture(stream->handle, THREAD_LOCAL)) != 0) {
    code = xchg__cuda_fail(err, result, "cudaStreamBeginCapture", "graph: on stream %p of cuda:%d", stream->handle,
                           stream->device);
    xchg_cuda_graph_release(graph);
  } else {
    xchg__cuda_stream_retain(stream);
    graph->stream = stream;
    graph->open = 1;
    stream->capture = here = graph;
    __atomic_fetch_add(&xchg__graph_captures, 1, __ATOMIC_ACQ_REL);
    *out = graph;
  }
  xchg__cuda_leave(&guard);
  return code;
}

/* Lets the capturing stream wait for the others, as CUDA demands before the end. */
static int bring_together(xchg_cuda_graph *graph, xchg_error *err) {
  for (size_t i = 0; i < graph->joined_count; i++) {
    int code = xchg__cuda_stream_order(graph->stream, graph->joined[i], err);
    if (code != 0)
      return code;
  }
  return 0;
}

static void graph_close(xchg_cuda_graph *graph) {
  for (size_t i = 0; i < graph->joined_count; i++) {
    graph->joined[i]->capture = NULL;
    xchg_cuda_stream_release(graph->joined[i]);
  }
  graph->joined_count = 0;
  graph->stream->capture = NULL;
  xchg_cuda_stream_release(graph->stream);
  graph->stream = NULL;
  graph->open = 0;
  here = NULL;
  __atomic_fetch_sub(&xchg__graph_captures, 1, __ATOMIC_ACQ_REL);
}

/* Counts the nodes, and makes it launchable if it is to be. */
static int graph_complete(xchg_cuda_graph *graph, int instantiate, xchg_error *err) {
  xchg_cuda_stream *errand;
  int result, code;
  if ((result = xchg__rt.cudaGraphGetNodes(graph->graph, NULL, &graph->nodes)) != 0)
    return xchg__cuda_fail(err, result, "cudaGraphGetNodes", "graph: on cuda:%d", graph->device);
  /* Memory that was made during the capture is made on this stream, and replays do not wait for it. */
  if ((errand = xchg__cuda_stream_aside(graph->device, err)) == NULL)
    return xchg__error_code(err, XCHG_E_CUDA);
  if ((code = xchg_cuda_stream_synchronize(errand, err)) != 0)
    return code;
  if (instantiate && (result = xchg__rt.cudaGraphInstantiateWithFlags(&graph->executable, graph->graph, 0)) != 0) {
    graph->executable = NULL;
    return xchg__cuda_fail(err, result, "cudaGraphInstantiateWithFlags", "graph: %zu nodes on cuda:%d", graph->nodes,
                           graph->device);
  }
  return 0;
}

/* Any call may answer with the failure of an earlier one, and has not done its work then. */
static int capture_end(xchg_cuda_graph *graph) {
  int result = xchg__rt.cudaStreamEndCapture(graph->stream->handle, &graph->graph), capturing = 0;
  if (result == 0)
    return 0;
  graph->graph = NULL;
  xchg__rt.cudaGetLastError();
  if (xchg__rt.cudaStreamIsCapturing(graph->stream->handle, &capturing) == 0 && capturing &&
      xchg__rt.cudaStreamEndCapture(graph->stream->handle, &graph->graph) != 0) {
    graph->graph = NULL;
    xchg__rt.cudaGetLastError();
  }
  return result;
}

int32_t xchg_cuda_graph_end(xchg_cuda_graph *graph, int32_t keep, xchg_error *err) {
  xchg__cuda_guard guard;
  int result, code;
  if (!graph->open || here != graph)
    return xchg__error_set(err, XCHG_E_CAPTURE, "graph: its capture is not open in this thread");
  if ((code = xchg__cuda_enter(&guard, graph->device, err)) != 0) {
    /* Where the context is lost or the process forked there is no capture any more; else no stream may stay in it. */
    if (xchg__cuda_enter_quietly(&guard, graph->device) == 0) {
      capture_end(graph);
      xchg__cuda_leave(&guard);
    }
    graph_close(graph);
    return code;
  }
  if (keep)
    code = bring_together(graph, err);
  result = capture_end(graph);
  graph_close(graph);
  if (result != 0) {
    if (keep && code == 0)
      code = xchg__cuda_fail(err, result, "cudaStreamEndCapture", "graph: the capture on cuda:%d came to nothing",
                             graph->device);
  } else if (keep && code == 0) {
    code = graph_complete(graph, keep == 1, err);
  }
  xchg__cuda_leave(&guard);
  xchg__use_poll(0); /* what died meanwhile had to wait */
  return code;
}

/* ---- use ---------------------------------------------------------------------------------------- */

/* Marks the graph, and where another stream than last time launches it, all that it keeps: that stream must come after
 * the making of the memory. */
static int graph_mark(xchg_cuda_graph *graph, xchg_cuda_stream *stream, xchg_error *err) {
  int code = 0;
  if (graph->life->last_stream == stream && stream->capture == NULL)
    return 0;
  for (size_t i = 0; i < graph->kept_room && code == 0; i++)
    if (graph->kept[i] != NULL)
      code = xchg__use_mark(graph->kept[i], stream, err);
  return code != 0 ? code : xchg__use_mark(graph->life, stream, err);
}

int32_t xchg_cuda_graph_launch(xchg_cuda_graph *graph, xchg_cuda_stream *stream, xchg_error *err) {
  xchg__cuda_guard guard;
  int result, code;
  if (stream->device != graph->device)
    return xchg__error_set(err, XCHG_E_DEVICE,
                           "launch: the graph was captured on cuda:%d, and the stream is one of cuda:%d; launch it on "
                           "a stream of cuda:%d",
                           graph->device, stream->device, graph->device);
  if (graph->executable == NULL)
    return xchg__error_set(err, XCHG_E_RELEASED, "launch: the graph was released; keep it until its last launch");
  if ((code = xchg__cuda_stream_check(stream, "launch", err)) != 0 ||
      (code = xchg__cuda_enter(&guard, graph->device, err)) != 0)
    return code;
  if ((code = graph_mark(graph, stream, err)) == 0 &&
      (result = xchg__rt.cudaGraphLaunch(graph->executable, stream->handle)) != 0)
    code = xchg__cuda_fail(err, result, "cudaGraphLaunch", "launch: a graph of %zu nodes on stream %p of cuda:%d",
                           graph->nodes, stream->handle, graph->device);
  xchg__cuda_leave(&guard);
  return code;
}

static const char *update_reason(int result) {
  switch (result) {
  case 2: return "the graphs have different nodes or edges";
  case 3: return "a node is another kind of work";
  case 4: return "a node runs another kernel, and the driver cannot exchange it";
  case 5: return "a node's parameters changed in a way that a graph cannot take over";
  case 6: return "the driver cannot change such a node";
  case 7: return "a node runs a kernel of another device or context";
  case 8: return "a node's launch attributes changed in a way that a graph cannot take over";
  default: return "the driver gives no reason";
  }
}

int32_t xchg_cuda_graph_update(xchg_cuda_graph *from, xchg_cuda_graph *to, const char **reason, xchg_error *err) {
  xchg__cuda_guard guard;
  struct {
    int32_t result;
    int32_t padding;
    void *nodes[2];
  } info = {0};
  int result, code;
  *reason = "";
  if (from->executable == NULL || to->graph == NULL)
    return xchg__error_set(err, XCHG_E_RELEASED, "update: the graph was released; keep it until its last use");
  if (from->device != to->device) {
    *reason = "the graphs are of two devices";
    return 0;
  }
  if ((code = xchg__cuda_enter(&guard, from->device, err)) != 0)
    return code;
  result = xchg__rt.cudaGraphExecUpdate(from->executable, to->graph, &info);
  if (result == 0) {
    to->executable = from->executable;
    from->executable = NULL;
    code = 1;
  } else if (result == TOPOLOGY_DIFFERS) {
    xchg__rt.cudaGetLastError();
    *reason = update_reason(info.result);
  } else {
    code = xchg__cuda_fail(err, result, "cudaGraphExecUpdate", "update: a graph of %zu nodes on cuda:%d", from->nodes,
                           from->device);
  }
  xchg__cuda_leave(&guard);
  return code;
}

int32_t xchg_cuda_graph_dot(xchg_cuda_graph *graph, const char *path, int32_t flags, xchg_error *err) {
  xchg__cuda_guard guard;
  int result, code;
  if (graph->graph == NULL)
    return xchg__error_set(err, XCHG_E_RELEASED, "dot: the graph was released");
  if ((code = xchg__cuda_enter(&guard, graph->device, err)) != 0)
    return code;
  if ((result = xchg__rt.cudaGraphDebugDotPrint(graph->graph, path, (unsigned)flags)) != 0)
    code = xchg__cuda_fail(err, result, "cudaGraphDebugDotPrint", "dot: to %s", path);
  xchg__cuda_leave(&guard);
  return code;
}
