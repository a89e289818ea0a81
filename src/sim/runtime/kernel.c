/* Kernels in the runtime API: what they are, what they may be, how many fit. */
#include "../kernel.h"

#include "front.h"
#include "registered.h"

static int kernel_find(sim_kernel **kernel, const void *function, sim_context **context) {
  int result = sim_runtime_context(context);
  return result ? result : sim_runtime_kernel(kernel, function);
}

static int kernel_attributes(sim_function_attributes *out, const void *function) {
  sim_context *context;
  sim_kernel *kernel;
  int result = kernel_find(&kernel, function, &context);
  if (result)
    return result;
  if (!out)
    return SIM_INVALID_VALUE;
  sim_kernel_attributes known;
  sim_kernel_get_attributes(kernel, context->device->ordinal, &known);
  *out = (sim_function_attributes){
      .shared = known.shared_bytes,
      .constant = known.constant_bytes,
      .local = known.local_bytes,
      .max_threads = known.max_threads,
      .registers = known.registers,
      .ptx_version = known.ptx_version,
      .binary_version = known.binary_version,
      .max_dynamic_shared = known.max_dynamic_shared,
      .carveout = known.carveout,
      .cluster_required = known.cluster,
      .cluster = {(int)known.cluster_size[0], (int)known.cluster_size[1], (int)known.cluster_size[2]},
      .non_portable_cluster = kernel->non_portable_cluster,
  };
  return SIM_SUCCESS;
}

static int kernel_set_here(const void *function, int attribute, int value) {
  sim_context *context;
  sim_kernel *kernel;
  int result = kernel_find(&kernel, function, &context);
  return result ? result : sim_kernel_set_attribute(kernel, context->device->ordinal, attribute, value);
}

static int kernel_set_there(sim_kernel *handle, int attribute, int value, int device) {
  sim_context *context;
  sim_kernel *kernel;
  int result = kernel_find(&kernel, handle, &context);
  if (result)
    return result;
  return sim_device_get(device) ? sim_kernel_set_attribute(kernel, device, attribute, value) : SIM_INVALID_DEVICE;
}

/* A preference that has no effect. */
static int kernel_prefer(const void *function, int config, int last) {
  sim_context *context;
  sim_kernel *kernel;
  int result = kernel_find(&kernel, function, &context);
  if (result)
    return result;
  return config < 0 || config > last ? SIM_INVALID_VALUE : SIM_SUCCESS;
}

static int kernel_name(const char **name, const void *function) {
  sim_context *context;
  sim_kernel *kernel;
  int result = kernel_find(&kernel, function, &context);
  if (result)
    return result;
  if (!name)
    return SIM_INVALID_VALUE;
  *name = kernel->function->name;
  return SIM_SUCCESS;
}

static int kernel_parameter(const void *function, size_t index, size_t *offset, size_t *size) {
  sim_context *context;
  sim_kernel *kernel;
  int result = kernel_find(&kernel, function, &context);
  if (result)
    return result;
  if (!offset)
    return SIM_INVALID_VALUE;
  size_t ignored;
  return sim_kernel_parameter(kernel, index, offset, size ? size : &ignored);
}

static int kernel_parameter_count(const void *function, size_t *count) {
  sim_context *context;
  sim_kernel *kernel;
  int result = kernel_find(&kernel, function, &context);
  if (result)
    return result;
  if (!count)
    return SIM_INVALID_VALUE;
  *count = kernel->function->ptx->parameter_count;
  return SIM_SUCCESS;
}

/* The handle that works in the current context. */
static int kernel_function(sim_kernel **out, const void *function) {
  sim_context *context;
  sim_kernel *kernel;
  int result = kernel_find(&kernel, function, &context);
  if (result)
    return result;
  return out ? sim_kernel_in_context(out, kernel, context) : SIM_INVALID_VALUE;
}

static int kernel_handle(sim_kernel **out, const void *function) {
  sim_context *context;
  sim_kernel *kernel;
  int result = kernel_find(&kernel, function, &context);
  if (result)
    return result;
  if (!out)
    return SIM_INVALID_VALUE;
  *out = kernel;
  return SIM_SUCCESS;
}

enum { OCCUPANCY_FLAGS = 1 }; /* disable the caching override */

static int kernel_occupancy(int *blocks, const void *function, int threads, size_t dynamic, unsigned flags) {
  sim_context *context;
  sim_kernel *kernel;
  int result = kernel_find(&kernel, function, &context);
  if (result)
    return result;
  if (!blocks || threads <= 0 || flags & ~(unsigned)OCCUPANCY_FLAGS)
    return SIM_INVALID_VALUE;
  return sim_kernel_occupancy(blocks, kernel, context->device->ordinal, threads, dynamic);
}

static int kernel_available(size_t *bytes, const void *function, int blocks, int threads) {
  sim_context *context;
  sim_kernel *kernel;
  int result = kernel_find(&kernel, function, &context);
  if (result)
    return result;
  if (!bytes || blocks <= 0 || threads <= 0)
    return SIM_INVALID_VALUE;
  return sim_kernel_available_dynamic_shared(bytes, kernel, context->device->ordinal, blocks, threads);
}

SIM_RUNTIME(cudaFuncGetAttributes, SIM_CALL_PLAIN, (sim_function_attributes *out, const void *function),
            kernel_attributes(out, function));
SIM_RUNTIME(cudaFuncSetAttribute, SIM_CALL_PLAIN, (const void *function, int attribute, int value),
            kernel_set_here(function, attribute, value));
SIM_RUNTIME(cudaKernelSetAttributeForDevice, SIM_CALL_PLAIN, (sim_kernel *kernel, int attribute, int value, int device),
            kernel_set_there(kernel, attribute, value, device));
SIM_RUNTIME(cudaFuncSetCacheConfig, SIM_CALL_PLAIN, (const void *function, int config),
            kernel_prefer(function, config, 3));
SIM_RUNTIME(cudaFuncSetSharedMemConfig, SIM_CALL_PLAIN, (const void *function, int config),
            kernel_prefer(function, config, 2));
SIM_RUNTIME(cudaFuncGetName, SIM_CALL_PLAIN, (const char **name, const void *function), kernel_name(name, function));
SIM_RUNTIME(cudaFuncGetParamInfo, SIM_CALL_PLAIN, (const void *function, size_t index, size_t *offset, size_t *size),
            kernel_parameter(function, index, offset, size));
SIM_RUNTIME(cudaFuncGetParamCount, SIM_CALL_PLAIN, (const void *function, size_t *count),
            kernel_parameter_count(function, count));
SIM_RUNTIME(cudaGetFuncBySymbol, SIM_CALL_PLAIN, (sim_kernel **out, const void *function),
            kernel_function(out, function));
SIM_RUNTIME(cudaGetKernel, SIM_CALL_PLAIN, (sim_kernel **out, const void *function), kernel_handle(out, function));
SIM_RUNTIME(__cudaGetKernel, SIM_CALL_PLAIN, (sim_kernel **out, const void *function), kernel_handle(out, function));
SIM_RUNTIME(cudaOccupancyMaxActiveBlocksPerMultiprocessor, SIM_CALL_PLAIN,
            (int *blocks, const void *function, int threads, size_t dynamic),
            kernel_occupancy(blocks, function, threads, dynamic, 0));
SIM_RUNTIME(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, SIM_CALL_PLAIN,
            (int *blocks, const void *function, int threads, size_t dynamic, unsigned flags),
            kernel_occupancy(blocks, function, threads, dynamic, flags));
SIM_RUNTIME(cudaOccupancyAvailableDynamicSMemPerBlock, SIM_CALL_PLAIN,
            (size_t *bytes, const void *function, int blocks, int threads),
            kernel_available(bytes, function, blocks, threads));
