/* What nodes of graphs do, as the runtime API says it. */
#include "../kernel.h"
#include "../pool.h"
#include "copying.h"
#include "node.h"
#include "registered.h"

static int work_begin(sim_work *out, sim_operation_kind kind, const char *call) {
  sim_context *context;
  int result = sim_runtime_context(&context);
  if (!result)
    *out = (sim_work){.kind = kind, .call = call, .device = context->device->ordinal};
  return result;
}

/* The list {1, values, 2, &size, 0}: the parameters packed as the kernel has them. */
enum { EXTRA_END, EXTRA_POINTER, EXTRA_SIZE, EXTRA_WORDS = 5 };
static int extra_read(void *const *extra, const void **packed, size_t *size) {
  for (int i = 0; i < EXTRA_WORDS; i += 2) {
    uintptr_t what = (uintptr_t)extra[i];
    if (what == EXTRA_END)
      return SIM_SUCCESS;
    if (i + 1 == EXTRA_WORDS)
      break;
    if (what == EXTRA_POINTER)
      *packed = extra[i + 1];
    else if (what == EXTRA_SIZE && extra[i + 1])
      *size = *(const size_t *)extra[i + 1];
    else
      break;
  }
  return SIM_INVALID_VALUE;
}

int sim_runtime_work_kernel(sim_work *out, const sim_kernel_node *from, const char *call) {
  sim_context *context;
  sim_kernel *kernel;
  int result = sim_runtime_context(&context);
  if (!result)
    result = from ? sim_runtime_kernel(&kernel, from->function) : SIM_INVALID_VALUE;
  if (result)
    return result;
  sim_launch_config config = {.grid = {from->grid.x, from->grid.y, from->grid.z},
                              .block = {from->block.x, from->block.y, from->block.z},
                              .dynamic_shared = from->dynamic_shared};
  const void *packed = NULL;
  size_t size = 0;
  if (from->extra)
    result = from->arguments ? SIM_INVALID_VALUE : extra_read(from->extra, &packed, &size);
  return result ? result : sim_kernel_prepare(out, kernel, &config, from->arguments, packed, size, context, call);
}

int sim_runtime_work_copy(sim_work *out, const sim_copy_3d *from, const char *call) {
  int result = work_begin(out, SIM_OPERATION_COPY, call);
  if (!result)
    result = sim_runtime_copy_3d(&out->copy, from);
  return result ? result : sim_copy_check(&out->copy);
}

int sim_runtime_work_bytes(sim_work *out, void *destination, const void *source, size_t count, int kind,
                           const char *call) {
  int result = work_begin(out, SIM_OPERATION_COPY, call);
  if (!result)
    result = count ? sim_runtime_copy_bytes(&out->copy, destination, source, count, kind) : SIM_INVALID_VALUE;
  return result ? result : sim_copy_check(&out->copy);
}

int sim_runtime_work_set(sim_work *out, const sim_set_node *from, const char *call) {
  int result = work_begin(out, SIM_OPERATION_SET, call);
  return result ? result : sim_runtime_set_node(&out->set, from);
}

int sim_runtime_work_host(sim_work *out, const sim_host_node *from, const char *call) {
  int result = work_begin(out, SIM_OPERATION_HOST, call);
  if (result)
    return result;
  if (!from || !from->function)
    return SIM_INVALID_VALUE;
  out->host.function = from->function;
  out->host.data = from->data;
  return SIM_SUCCESS;
}

int sim_runtime_work_child(sim_work *out, const sim_graph *child, const char *call) {
  int result = work_begin(out, SIM_OPERATION_CHILD, call);
  if (!result)
    result = sim_runtime_graph_check(child);
  return result ? result : sim_graph_clone(&out->child, child);
}

int sim_runtime_work_event(sim_work *out, sim_operation_kind kind, sim_event *event, const char *call) {
  int result = work_begin(out, kind, call);
  if (!result)
    result = sim_event_check(event);
  if (result)
    return result;
  sim_event_retain(event);
  out->event = event;
  return SIM_SUCCESS;
}

enum { NODE_KERNEL, NODE_COPY, NODE_SET, NODE_HOST, NODE_GRAPH, NODE_EMPTY, NODE_WAIT_EVENT, NODE_RECORD_EVENT };

int sim_runtime_work_any(sim_work *out, const sim_node_settings *from, const char *call) {
  if (!from)
    return SIM_INVALID_VALUE;
  switch (from->type) {
  case NODE_KERNEL: return sim_runtime_work_kernel(out, &from->kernel, call);
  case NODE_COPY: return sim_runtime_work_copy(out, &from->copy.copy, call);
  case NODE_SET: return sim_runtime_work_set(out, &from->set, call);
  case NODE_HOST: return sim_runtime_work_host(out, &from->host, call);
  case NODE_GRAPH: return sim_runtime_work_child(out, from->graph, call);
  case NODE_EMPTY: return work_begin(out, SIM_OPERATION_EMPTY, call);
  case NODE_WAIT_EVENT: return sim_runtime_work_event(out, SIM_OPERATION_WAIT, from->event, call);
  case NODE_RECORD_EVENT: return sim_runtime_work_event(out, SIM_OPERATION_RECORD, from->event, call);
  default: return from->type > NODE_RECORD_EVENT && from->type <= 13 ? SIM_NOT_SUPPORTED : SIM_INVALID_VALUE;
  }
}
