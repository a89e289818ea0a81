/* Launches in the runtime API. */
#include "front.h"
#include "../kernel.h"
#include "registered.h"

enum {
  ATTRIBUTE_IGNORE,
  ATTRIBUTE_WINDOW,
  ATTRIBUTE_COOPERATIVE,
  ATTRIBUTE_POLICY,
  ATTRIBUTE_CLUSTER,
  ATTRIBUTE_CLUSTER_POLICY,
  ATTRIBUTE_SERIALIZATION,
  ATTRIBUTE_EVENT,
  ATTRIBUTE_PRIORITY,
  ATTRIBUTE_DOMAIN_MAP,
  ATTRIBUTE_DOMAIN,
  ATTRIBUTE_PREFERRED_CLUSTER,
  ATTRIBUTE_COMPLETION_EVENT,
  ATTRIBUTE_UPDATABLE,
  ATTRIBUTE_CARVEOUT,
  ATTRIBUTE_NVLINK = 16,
};
enum { ATTRIBUTES_MAX = 64 };

/* What a launch is told besides its dimensions. Programmatic serialization allows an earlier start and never demands it; policies,
   domains and carve-outs change only speed. */
typedef struct {
  sim_launch_config config;
  sim_event *events[2];
  unsigned event_count;
} launch_request;

static int request_attribute(launch_request *request, const sim_launch_attribute *attribute) {
  switch (attribute->id) {
  case ATTRIBUTE_COOPERATIVE: request->config.cooperative = attribute->integer != 0; return SIM_SUCCESS;
  case ATTRIBUTE_PRIORITY: request->config.priority = attribute->integer; return SIM_SUCCESS;
  case ATTRIBUTE_CLUSTER: {
    uint64_t blocks = (uint64_t)attribute->cluster[0] * attribute->cluster[1];
    if (!blocks || !attribute->cluster[2])
      return SIM_INVALID_VALUE;
    request->config.cluster = blocks > 1 || attribute->cluster[2] > 1;
    return SIM_SUCCESS;
  }
  case ATTRIBUTE_EVENT:
  case ATTRIBUTE_COMPLETION_EVENT: {
    int result = sim_event_check(attribute->event.handle);
    if (!result && request->event_count == sizeof request->events / sizeof *request->events)
      result = SIM_INVALID_VALUE;
    if (!result)
      request->events[request->event_count++] = attribute->event.handle;
    return result;
  }
  case ATTRIBUTE_UPDATABLE: return attribute->integer ? SIM_NOT_SUPPORTED : SIM_SUCCESS;
  case ATTRIBUTE_IGNORE:
  case ATTRIBUTE_WINDOW:
  case ATTRIBUTE_POLICY:
  case ATTRIBUTE_CLUSTER_POLICY:
  case ATTRIBUTE_SERIALIZATION:
  case ATTRIBUTE_DOMAIN_MAP:
  case ATTRIBUTE_DOMAIN:
  case ATTRIBUTE_PREFERRED_CLUSTER:
  case ATTRIBUTE_CARVEOUT:
  case ATTRIBUTE_NVLINK: return SIM_SUCCESS;
  default: return SIM_INVALID_VALUE;
  }
}

static int launch(const sim_launch_settings *settings, const void *function, bool cooperative, void **arguments,
                  const char *call) {
  if (!settings)
    return SIM_INVALID_VALUE;
  sim_stream *stream;
  sim_kernel *kernel;
  int result = sim_stream_resolve(&stream, settings->stream, true);
  if (!result)
    result = sim_runtime_kernel(&kernel, function);
  if (result)
    return result;
  if (settings->attribute_count > ATTRIBUTES_MAX || (settings->attribute_count && !settings->attributes))
    return SIM_INVALID_VALUE;
  const sim_dim3 *grid = &settings->grid, *block = &settings->block;
  launch_request request = {.config = {.grid = {grid->x, grid->y, grid->z},
                                       .block = {block->x, block->y, block->z},
                                       .dynamic_shared = settings->dynamic_shared,
                                       .cooperative = cooperative,
                                       .priority = stream->priority}};
  for (uint32_t i = 0; !result && i < settings->attribute_count; i++)
    result = request_attribute(&request, &settings->attributes[i]);
  if (!result)
    result = sim_kernel_launch(kernel, &request.config, arguments, NULL, 0, stream, call);
  for (unsigned i = 0; !result && i < request.event_count; i++)
    result = sim_event_record(request.events[i], stream, 0);
  return result;
}

static int launch_with(const sim_launch_settings *settings, const void *function, void **arguments, bool twin,
                       const char *call) {
  if (!settings)
    return SIM_INVALID_VALUE;
  sim_launch_settings own = *settings;
  if (twin)
    own.stream = sim_runtime_per_thread(own.stream);
  return launch(&own, function, false, arguments, call);
}

#define LAUNCH_PARAMETERS                                                                                              \
  (const void *function, sim_dim3 grid, sim_dim3 block, void **arguments, size_t dynamic_shared, sim_stream *stream)
#define LAUNCH_SETTINGS                                                                                                \
  (&(sim_launch_settings){.grid = grid, .block = block, .dynamic_shared = dynamic_shared, .stream = stream})

SIM_RUNTIME_STREAM(cudaLaunchKernel, SIM_CALL_PLAIN, LAUNCH_PARAMETERS,
                   launch(LAUNCH_SETTINGS, function, false, arguments, call));
SIM_RUNTIME_STREAM(cudaLaunchCooperativeKernel, SIM_CALL_PLAIN, LAUNCH_PARAMETERS,
                   launch(LAUNCH_SETTINGS, function, true, arguments, call));
SIM_RUNTIME_STREAM(__cudaLaunchKernel, SIM_CALL_PLAIN, LAUNCH_PARAMETERS,
                   launch(LAUNCH_SETTINGS, function, false, arguments, call));

#define LAUNCH_EX_PARAMETERS (const sim_launch_settings *settings, const void *function, void **arguments)
static sim_counter counter_of_cudaLaunchKernelExC = {"cudaLaunchKernelExC", 0, 0, NULL, false};
SIM_RUNTIME_FUNCTION(cudaLaunchKernelExC, cudaLaunchKernelExC, SIM_CALL_PLAIN, LAUNCH_EX_PARAMETERS, (void)0,
                     launch_with(settings, function, arguments, false, call))
SIM_RUNTIME_FUNCTION(cudaLaunchKernelExC_ptsz, cudaLaunchKernelExC, SIM_CALL_PLAIN, LAUNCH_EX_PARAMETERS, (void)0,
                     launch_with(settings, function, arguments, true, call))
