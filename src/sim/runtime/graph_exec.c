/* Graphs that can be launched, in the runtime API. */
#include "node.h"

/* Flags of cudaGraphInstantiate: free memory on launch 1, upload 2, device launch 4, use node priority 8. */
enum { INSTANTIATE_UPLOAD = 2, INSTANTIATE_DEVICE_LAUNCH = 4, INSTANTIATE_FLAGS = 0xf };
enum { INSTANTIATED, INSTANTIATE_ERROR }; /* cudaGraphInstantiateResult */

static int exec_create(sim_graph_exec **out, sim_graph *graph, uint64_t flags) {
  int result = sim_runtime_graph_check(graph);
  if (result)
    return result;
  if (!out || flags & ~(uint64_t)INSTANTIATE_FLAGS)
    return SIM_INVALID_VALUE;
  return flags & INSTANTIATE_DEVICE_LAUNCH ? SIM_NOT_SUPPORTED : sim_exec_create(out, graph, flags);
}

static int exec_create_with(sim_graph_exec **out, sim_graph *graph, sim_instantiate_settings *settings, bool twin) {
  if (!settings)
    return SIM_INVALID_VALUE;
  settings->error_node = NULL;
  settings->result = INSTANTIATE_ERROR;
  if (settings->flags & INSTANTIATE_UPLOAD) {
    sim_stream *stream = twin ? sim_runtime_per_thread(settings->upload) : settings->upload;
    int result = sim_stream_resolve(&stream, stream, true);
    if (result)
      return result;
  }
  int result = exec_create(out, graph, settings->flags);
  if (!result)
    settings->result = INSTANTIATED;
  return result;
}

static int exec_check(const sim_graph_exec *exec) {
  sim_context *context;
  int result = sim_runtime_context(&context);
  if (result)
    return result;
  return sim_exec_check(exec) ? SIM_INVALID_VALUE : SIM_SUCCESS;
}

static int exec_destroy(sim_graph_exec *exec) {
  int result = exec_check(exec);
  if (!result)
    sim_exec_destroy(exec);
  return result;
}

static int exec_launch(sim_graph_exec *exec, sim_stream *handle) {
  sim_stream *stream;
  int result = exec_check(exec);
  if (!result)
    result = sim_stream_resolve(&stream, handle, true);
  return result ? result : sim_exec_launch(exec, stream);
}

static int exec_upload(sim_graph_exec *exec, sim_stream *handle) {
  sim_stream *stream;
  int result = exec_check(exec);
  return result ? result : sim_stream_resolve(&stream, handle, true);
}

static int exec_flags(const sim_graph_exec *exec, unsigned long long *flags) {
  int result = exec_check(exec);
  if (result)
    return result;
  if (!flags)
    return SIM_INVALID_VALUE;
  *flags = sim_exec_flags(exec);
  return SIM_SUCCESS;
}

static int exec_update(sim_graph_exec *exec, sim_graph *graph, sim_update_result *out) {
  int result = exec_check(exec);
  if (!result)
    result = sim_runtime_graph_check(graph);
  if (result)
    return result;
  if (!out)
    return SIM_INVALID_VALUE;
  sim_exec_update_info info = {0};
  result = sim_exec_update(exec, graph, &info);
  *out = (sim_update_result){info.result, info.error_node, info.error_from_node};
  return result;
}

/* The node of the graph that the executable one was made of. */
static int exec_set(sim_graph_exec *exec, sim_node *node, int made, sim_work *work) {
  return made ? made : sim_exec_set_node(exec, node, work);
}

static int exec_node_check(const sim_graph_exec *exec, const sim_node *node, sim_operation_kind kind) {
  int result = exec_check(exec);
  return result ? result : sim_runtime_node_is(node, kind);
}

static int set_kernel(sim_graph_exec *exec, sim_node *node, const sim_kernel_node *from, const char *call) {
  sim_work work;
  int result = exec_node_check(exec, node, SIM_OPERATION_LAUNCH);
  return result ? result : exec_set(exec, node, sim_runtime_work_kernel(&work, from, call), &work);
}

static int set_copy(sim_graph_exec *exec, sim_node *node, const sim_copy_3d *from, const char *call) {
  sim_work work;
  int result = exec_node_check(exec, node, SIM_OPERATION_COPY);
  return result ? result : exec_set(exec, node, sim_runtime_work_copy(&work, from, call), &work);
}

static int set_bytes(sim_graph_exec *exec, sim_node *node, void *destination, const void *source, size_t count,
                     int kind, const char *call) {
  sim_work work;
  int result = exec_node_check(exec, node, SIM_OPERATION_COPY);
  if (!result)
    result = sim_runtime_work_bytes(&work, destination, source, count, kind, call);
  return exec_set(exec, node, result, &work);
}

static int set_set(sim_graph_exec *exec, sim_node *node, const sim_set_node *from, const char *call) {
  sim_work work;
  int result = exec_node_check(exec, node, SIM_OPERATION_SET);
  return result ? result : exec_set(exec, node, sim_runtime_work_set(&work, from, call), &work);
}

static int set_host(sim_graph_exec *exec, sim_node *node, const sim_host_node *from, const char *call) {
  sim_work work;
  int result = exec_node_check(exec, node, SIM_OPERATION_HOST);
  return result ? result : exec_set(exec, node, sim_runtime_work_host(&work, from, call), &work);
}

static int set_child(sim_graph_exec *exec, sim_node *node, const sim_graph *child, const char *call) {
  sim_work work;
  int result = exec_node_check(exec, node, SIM_OPERATION_CHILD);
  return result ? result : exec_set(exec, node, sim_runtime_work_child(&work, child, call), &work);
}

static int set_event(sim_graph_exec *exec, sim_node *node, sim_operation_kind kind, sim_event *event,
                     const char *call) {
  sim_work work;
  int result = exec_node_check(exec, node, kind);
  return result ? result : exec_set(exec, node, sim_runtime_work_event(&work, kind, event, call), &work);
}

static int set_any(sim_graph_exec *exec, sim_node *node, const sim_node_settings *from, const char *call) {
  sim_work work;
  int result = exec_check(exec);
  if (!result)
    result = sim_runtime_node_check(node);
  if (!result)
    result = sim_runtime_work_any(&work, from, call);
  if (result)
    return result;
  if (work.kind != node->work.kind) {
    sim_work_drop(&work);
    return SIM_INVALID_VALUE;
  }
  return exec_set(exec, node, SIM_SUCCESS, &work);
}

SIM_RUNTIME(cudaGraphInstantiate, SIM_CALL_PLAIN, (sim_graph_exec **out, sim_graph *graph, unsigned long long flags),
            exec_create(out, graph, flags));
SIM_RUNTIME(cudaGraphInstantiateWithFlags, SIM_CALL_PLAIN,
            (sim_graph_exec **out, sim_graph *graph, unsigned long long flags), exec_create(out, graph, flags));
SIM_COUNTER(counter_of_cudaGraphInstantiateWithParams, "cudaGraphInstantiateWithParams");
SIM_RUNTIME_FUNCTION(cudaGraphInstantiateWithParams, cudaGraphInstantiateWithParams, SIM_CALL_PLAIN,
                     (sim_graph_exec **out, sim_graph *graph, sim_instantiate_settings *settings), (void)0,
                     exec_create_with(out, graph, settings, false))
SIM_RUNTIME_FUNCTION(cudaGraphInstantiateWithParams_ptsz, cudaGraphInstantiateWithParams, SIM_CALL_PLAIN,
                     (sim_graph_exec **out, sim_graph *graph, sim_instantiate_settings *settings), (void)0,
                     exec_create_with(out, graph, settings, true))
SIM_RUNTIME(cudaGraphExecDestroy, SIM_CALL_PLAIN, (sim_graph_exec *exec), exec_destroy(exec));
SIM_RUNTIME(cudaGraphExecGetFlags, SIM_CALL_PLAIN, (sim_graph_exec *exec, unsigned long long *flags),
            exec_flags(exec, flags));
SIM_RUNTIME_STREAM(cudaGraphLaunch, SIM_CALL_PLAIN, (sim_graph_exec *exec, sim_stream *stream),
                   exec_launch(exec, stream));
SIM_RUNTIME_STREAM(cudaGraphUpload, SIM_CALL_PLAIN, (sim_graph_exec *exec, sim_stream *stream),
                   exec_upload(exec, stream));
SIM_RUNTIME(cudaGraphExecUpdate, SIM_CALL_PLAIN, (sim_graph_exec *exec, sim_graph *graph, sim_update_result *out),
            exec_update(exec, graph, out));
SIM_RUNTIME(cudaGraphExecKernelNodeSetParams, SIM_CALL_PLAIN,
            (sim_graph_exec *exec, sim_node *node, const sim_kernel_node *from), set_kernel(exec, node, from, call));
SIM_RUNTIME(cudaGraphExecMemcpyNodeSetParams, SIM_CALL_PLAIN,
            (sim_graph_exec *exec, sim_node *node, const sim_copy_3d *from), set_copy(exec, node, from, call));
SIM_RUNTIME(cudaGraphExecMemcpyNodeSetParams1D, SIM_CALL_PLAIN,
            (sim_graph_exec *exec, sim_node *node, void *destination, const void *source, size_t count, int kind),
            set_bytes(exec, node, destination, source, count, kind, call));
SIM_RUNTIME(cudaGraphExecMemsetNodeSetParams, SIM_CALL_PLAIN,
            (sim_graph_exec *exec, sim_node *node, const sim_set_node *from), set_set(exec, node, from, call));
SIM_RUNTIME(cudaGraphExecHostNodeSetParams, SIM_CALL_PLAIN,
            (sim_graph_exec *exec, sim_node *node, const sim_host_node *from), set_host(exec, node, from, call));
SIM_RUNTIME(cudaGraphExecChildGraphNodeSetParams, SIM_CALL_PLAIN,
            (sim_graph_exec *exec, sim_node *node, sim_graph *child), set_child(exec, node, child, call));
SIM_RUNTIME(cudaGraphExecEventRecordNodeSetEvent, SIM_CALL_PLAIN,
            (sim_graph_exec *exec, sim_node *node, sim_event *event),
            set_event(exec, node, SIM_OPERATION_RECORD, event, call));
SIM_RUNTIME(cudaGraphExecEventWaitNodeSetEvent, SIM_CALL_PLAIN,
            (sim_graph_exec *exec, sim_node *node, sim_event *event),
            set_event(exec, node, SIM_OPERATION_WAIT, event, call));
SIM_RUNTIME(cudaGraphExecNodeSetParams, SIM_CALL_PLAIN,
            (sim_graph_exec *exec, sim_node *node, const sim_node_settings *from), set_any(exec, node, from, call));
