/* Launches: what they are told, whether a configuration may be, and taking the arguments. */
#include <string.h>

#include "event.h"
#include "exec.h"
#include "host.h"
#include "kernel.h"
#include "result.h"

/* CUlaunchAttributeID, cudaLaunchAttributeID */
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
enum { ATTRIBUTES_MOST = 64 };

static int config_event(sim_launch_config *config, sim_event *event) {
  int result = sim_event_check(event);
  if (result)
    return result;
  if (config->events[1])
    return SIM_INVALID_VALUE;
  config->events[config->events[0] != NULL] = event;
  return SIM_SUCCESS;
}

/* Programmatic serialization allows an earlier start and never demands it; policies, priorities, domains and
   carve-outs change only speed. */
static int config_attribute(sim_launch_config *config, const sim_launch_attribute *attribute) {
  const uint32_t *cluster = attribute->cluster;
  switch (attribute->id) {
  case ATTRIBUTE_COOPERATIVE: config->cooperative = attribute->integer != 0; return SIM_SUCCESS;
  case ATTRIBUTE_CLUSTER:
    if (!cluster[0] || !cluster[1] || !cluster[2])
      return SIM_INVALID_VALUE;
    config->cluster = cluster[0] > 1 || cluster[1] > 1 || cluster[2] > 1;
    return SIM_SUCCESS;
  case ATTRIBUTE_EVENT:
  case ATTRIBUTE_COMPLETION_EVENT: return config_event(config, attribute->event.handle);
  case ATTRIBUTE_UPDATABLE: return attribute->integer ? SIM_NOT_SUPPORTED : SIM_SUCCESS;
  case ATTRIBUTE_IGNORE:
  case ATTRIBUTE_WINDOW:
  case ATTRIBUTE_POLICY:
  case ATTRIBUTE_CLUSTER_POLICY:
  case ATTRIBUTE_SERIALIZATION:
  case ATTRIBUTE_PRIORITY:
  case ATTRIBUTE_DOMAIN_MAP:
  case ATTRIBUTE_DOMAIN:
  case ATTRIBUTE_PREFERRED_CLUSTER:
  case ATTRIBUTE_CARVEOUT:
  case ATTRIBUTE_NVLINK: return SIM_SUCCESS;
  default: return SIM_INVALID_VALUE;
  }
}

int sim_launch_config_apply(sim_launch_config *config, const sim_launch_attribute *attributes, size_t count) {
  if (count > ATTRIBUTES_MOST || (count && !attributes))
    return SIM_INVALID_VALUE;
  int result = SIM_SUCCESS;
  for (size_t i = 0; !result && i < count; i++)
    result = config_attribute(config, &attributes[i]);
  return result;
}

static int grid_check(const sim_launch_config *config) {
  const sim_limits *limits = sim_device_limits();
  for (int i = 0; i < 3; i++)
    if (!config->grid[i] || config->grid[i] > limits->grid[i] || !config->block[i] ||
        config->block[i] > limits->block[i])
      return SIM_INVALID_CONFIGURATION;
  uint64_t threads = (uint64_t)config->block[0] * config->block[1] * config->block[2];
  return threads > limits->threads_per_block ? SIM_INVALID_CONFIGURATION : SIM_SUCCESS;
}

/* Bounds that the kernel was compiled with. */
static int block_check(const sim_kernel *kernel, const sim_launch_config *config) {
  const ptx_function *ptx = kernel->function->ptx;
  uint64_t threads = (uint64_t)config->block[0] * config->block[1] * config->block[2];
  if (threads > (uint64_t)sim_kernel_max_threads(kernel))
    return SIM_LAUNCH_OUT_OF_RESOURCES;
  for (int i = 0; ptx->required_threads[0] && i < 3; i++) {
    uint32_t required = ptx->required_threads[i] ? ptx->required_threads[i] : 1;
    if (config->block[i] != required)
      return SIM_INVALID_CONFIGURATION;
  }
  return SIM_SUCCESS;
}

static int cooperative_check(const sim_kernel *kernel, const sim_launch_config *config, int device) {
  int fit = 0, threads = (int)(config->block[0] * config->block[1] * config->block[2]);
  int result = sim_kernel_occupancy(&fit, kernel, device, threads, config->dynamic_shared);
  uint64_t most = (uint64_t)fit * (uint64_t)sim_config_get()->sms;
  uint64_t plane = (uint64_t)config->grid[0] * config->grid[1];
  if (!result && (plane > most || plane * config->grid[2] > most))
    return SIM_COOPERATIVE_LAUNCH_TOO_LARGE;
  return result;
}

static int config_check(const sim_kernel *kernel, const sim_launch_config *config, const sim_context *context) {
  int device = context->device->ordinal;
  if (kernel->context && kernel->context != context)
    return SIM_INVALID_HANDLE;
  if (config->cluster || kernel->function->ptx->cluster)
    return SIM_NOT_SUPPORTED;
  int result = grid_check(config);
  if (result)
    return result;
  if (config->dynamic_shared > (uint64_t)sim_kernel_max_dynamic_shared(kernel, device))
    return SIM_INVALID_VALUE;
  result = block_check(kernel, config);
  return result || !config->cooperative ? result : cooperative_check(kernel, config, device);
}

/* One pointer for each parameter. An array that is too short names whatever comes behind it: that must not end the
   process. */
static int arguments_gather(uint8_t *to, const ptx_function *ptx, void *const *arguments) {
  if (!ptx->parameter_count)
    return SIM_SUCCESS;
  if (!arguments || !sim_host_usable((uintptr_t)arguments, ptx->parameter_count * sizeof *arguments, false))
    return SIM_INVALID_VALUE;
  enum { AT_ONCE = 64 };
  sim_host_piece pieces[AT_ONCE];
  uint32_t count = 0;
  for (uint32_t i = 0; i < ptx->parameter_count; i++) {
    const ptx_symbol *parameter = ptx->parameters[i];
    pieces[count++] = (sim_host_piece){to + parameter->offset, arguments[i], parameter->size};
    if ((count == AT_ONCE || i + 1 == ptx->parameter_count) && !sim_host_read(pieces, count))
      return SIM_INVALID_VALUE;
    if (count == AT_ONCE)
      count = 0;
  }
  return SIM_SUCCESS;
}

/* A buffer laid out as the parameters are; C pads it at the end. */
static int arguments_unpack(uint8_t *to, const ptx_function *ptx, const void *packed, size_t size) {
  uint64_t padded = (ptx->parameter_bytes + 15) / 16 * 16;
  if (size < ptx->parameter_bytes || size > padded)
    return SIM_INVALID_VALUE;
  sim_host_piece piece = {to, packed, ptx->parameter_bytes};
  return sim_host_read(&piece, 1) ? SIM_SUCCESS : SIM_INVALID_VALUE;
}

int sim_kernel_prepare(sim_work *out, sim_kernel *kernel, const sim_launch_config *config, void *const *arguments,
                       const void *packed, size_t packed_size, sim_context *context, const char *call) {
  int result = config_check(kernel, config, context);
  if (result)
    return result;
  const ptx_function *ptx = kernel->function->ptx;
  sim_launch *launch = sim_launch_create(kernel, (uint32_t)ptx->parameter_bytes);
  if (!launch)
    return SIM_OUT_OF_MEMORY;
  result = packed ? arguments_unpack(launch->parameters, ptx, packed, packed_size)
                  : arguments_gather(launch->parameters, ptx, arguments);
  if (result) {
    sim_launch_free(launch);
    return result;
  }
  memcpy(launch->grid, config->grid, sizeof launch->grid);
  memcpy(launch->block, config->block, sizeof launch->block);
  launch->dynamic_shared = (uint32_t)config->dynamic_shared;
  launch->cooperative = config->cooperative;
  *out = (sim_work){.kind = SIM_OPERATION_LAUNCH, .call = call, .device = context->device->ordinal, .launch = launch};
  return SIM_SUCCESS;
}

int sim_kernel_launch(sim_kernel *kernel, const sim_launch_config *config, void *const *arguments, const void *packed,
                      size_t packed_size, sim_stream *stream, const char *call) {
  sim_work work;
  int result = sim_kernel_prepare(&work, kernel, config, arguments, packed, packed_size, stream->context, call);
  if (!result)
    result = sim_stream_submit(stream, &work);
  for (int i = 0; !result && i < 2 && config->events[i]; i++)
    result = sim_event_record(config->events[i], stream, 0);
  return result;
}
