/* Capture of streams in the runtime API. */
#include "node.h"

static int capture_mode_check(int mode) {
  return mode < SIM_CAPTURE_GLOBAL || mode > SIM_CAPTURE_RELAXED ? SIM_INVALID_VALUE : SIM_SUCCESS;
}

static int capture_begin(sim_stream *handle, int mode) {
  sim_stream *stream;
  int result = sim_stream_resolve(&stream, handle, true);
  if (!result)
    result = capture_mode_check(mode);
  return result ? result : sim_capture_begin(stream, mode);
}

/* Dependencies are nodes of the graph that is captured into. */
static int dependencies_check(const sim_graph *graph, sim_node *const *dependencies, size_t count) {
  if ((count && !dependencies) || count > graph->node_count)
    return SIM_INVALID_VALUE;
  for (size_t i = 0; i < count; i++)
    if (sim_node_check(dependencies[i]) || dependencies[i]->graph != graph)
      return SIM_INVALID_VALUE;
  return SIM_SUCCESS;
}

static int capture_begin_to_graph(sim_stream *handle, sim_graph *graph, sim_node *const *dependencies, size_t count,
                                  int mode) {
  sim_stream *stream;
  int result = sim_stream_resolve(&stream, handle, true);
  if (!result)
    result = capture_mode_check(mode);
  if (!result)
    result = sim_runtime_graph_check(graph);
  if (!result)
    result = dependencies_check(graph, dependencies, count);
  return result ? result : sim_capture_begin_to_graph(stream, graph, dependencies, count, mode);
}

static int capture_end(sim_stream *handle, sim_graph **out) {
  sim_stream *stream;
  int result = sim_stream_resolve(&stream, handle, true);
  if (result)
    return result;
  return out ? sim_capture_end(stream, out) : SIM_INVALID_VALUE;
}

static int capture_status(sim_stream *handle, int *status) {
  sim_stream *stream;
  int result = sim_stream_resolve(&stream, handle, true);
  if (result)
    return result;
  return status ? sim_capture_status(stream, status) : SIM_INVALID_VALUE;
}

/* Everything but the status may be NULL. */
typedef struct {
  int *status;
  unsigned long long *id;
  sim_graph **graph;
  sim_node *const **dependencies;
  const sim_edge_data **edges;
  size_t *count;
} capture_answer;

static int capture_info(sim_stream *handle, const capture_answer *answer) {
  sim_stream *stream;
  int result = sim_stream_resolve(&stream, handle, true);
  if (result)
    return result;
  if (!answer->status)
    return SIM_INVALID_VALUE;
  sim_capture_info info = {0};
  result = sim_capture_get_info(stream, &info);
  if (result)
    return result;
  *answer->status = info.status;
  if (!info.status)
    return SIM_SUCCESS; /* the others mean nothing */
  if (answer->id)
    *answer->id = info.id;
  if (answer->graph)
    *answer->graph = info.graph;
  if (answer->dependencies)
    *answer->dependencies = info.dependencies;
  if (answer->edges)
    *answer->edges = NULL; /* all edges are ordinary ones */
  if (answer->count)
    *answer->count = info.count;
  return SIM_SUCCESS;
}

/* CUDA 12 has (stream, status, id) under the plain name. */
static int capture_info_any(sim_stream *stream, capture_answer answer) {
  if (sim_runtime_major() < 13)
    answer = (capture_answer){.status = answer.status, .id = answer.id};
  return capture_info(stream, &answer);
}

enum { UPDATE_ADD, UPDATE_SET };

static int capture_update(sim_stream *handle, sim_node *const *dependencies, size_t count, unsigned flags) {
  sim_stream *stream;
  int result = sim_stream_resolve(&stream, handle, true);
  if (result)
    return result;
  sim_capture_info info = {0};
  result = sim_capture_get_info(stream, &info);
  if (result)
    return result;
  if (info.status != 1)
    return info.status ? SIM_STREAM_CAPTURE_INVALIDATED : SIM_ILLEGAL_STATE;
  if (flags > UPDATE_SET)
    return SIM_INVALID_VALUE;
  result = dependencies_check(info.graph, dependencies, count);
  return result ? result : sim_capture_update_dependencies(stream, dependencies, count, flags == UPDATE_SET);
}

/* CUDA 12 has (stream, dependencies, count, flags), 13 the edges' data before the count. */
static int capture_update_any(sim_stream *stream, sim_node *const *dependencies, uint64_t third, uint64_t fourth,
                              uint64_t fifth) {
  bool newer = sim_runtime_major() >= 13;
  return capture_update(stream, dependencies, newer ? fourth : third, (unsigned)(newer ? fifth : fourth));
}

static int capture_exchange_mode(int *mode) {
  if (!mode || capture_mode_check(*mode))
    return SIM_INVALID_VALUE;
  sim_thread *thread = sim_thread_get();
  int old = thread->capture_mode;
  thread->capture_mode = *mode;
  *mode = old;
  return SIM_SUCCESS;
}

SIM_RUNTIME_STREAM(cudaStreamBeginCapture, SIM_CALL_PLAIN, (sim_stream *stream, int mode), capture_begin(stream, mode));
SIM_RUNTIME_STREAM(cudaStreamBeginCaptureToGraph, SIM_CALL_PLAIN,
                   (sim_stream *stream, sim_graph *graph, sim_node *const *dependencies, const sim_edge_data *edges,
                    size_t count, int mode),
                   ((void)edges, capture_begin_to_graph(stream, graph, dependencies, count, mode)));
SIM_RUNTIME_STREAM(cudaStreamEndCapture, SIM_CALL_PLAIN, (sim_stream *stream, sim_graph **out),
                   capture_end(stream, out));
SIM_RUNTIME_STREAM(cudaStreamIsCapturing, SIM_CALL_PLAIN, (sim_stream *stream, int *status),
                   capture_status(stream, status));
SIM_RUNTIME_STREAM(cudaStreamGetCaptureInfo, SIM_CALL_PLAIN,
                   (sim_stream *stream, int *status, unsigned long long *id, sim_graph **graph,
                    sim_node *const **dependencies, const sim_edge_data **edges, size_t *count),
                   capture_info_any(stream, (capture_answer){status, id, graph, dependencies, edges, count}));
SIM_RUNTIME_STREAM(cudaStreamGetCaptureInfo_v2, SIM_CALL_PLAIN,
                   (sim_stream *stream, int *status, unsigned long long *id, sim_graph **graph,
                    sim_node *const **dependencies, size_t *count),
                   capture_info(stream, &(capture_answer){status, id, graph, dependencies, NULL, count}));
SIM_RUNTIME_STREAM(cudaStreamGetCaptureInfo_v3, SIM_CALL_PLAIN,
                   (sim_stream *stream, int *status, unsigned long long *id, sim_graph **graph,
                    sim_node *const **dependencies, const sim_edge_data **edges, size_t *count),
                   capture_info(stream, &(capture_answer){status, id, graph, dependencies, edges, count}));
SIM_RUNTIME_STREAM(cudaStreamUpdateCaptureDependencies, SIM_CALL_PLAIN,
                   (sim_stream *stream, sim_node *const *dependencies, uint64_t third, uint64_t fourth, uint64_t fifth),
                   capture_update_any(stream, dependencies, third, fourth, fifth));
SIM_RUNTIME_STREAM(cudaStreamUpdateCaptureDependencies_v2, SIM_CALL_PLAIN,
                   (sim_stream *stream, sim_node *const *dependencies, const sim_edge_data *edges, size_t count,
                    unsigned flags),
                   ((void)edges, capture_update(stream, dependencies, count, flags)));
SIM_RUNTIME(cudaThreadExchangeStreamCaptureMode, SIM_CALL_PLAIN, (int *mode), capture_exchange_mode(mode));
