/* What a kernel is: attributes, parameters. */
#include "kernel.h"

#include "result.h"

static uint64_t threads_of(const uint32_t count[3]) {
  /* Not given is 0; a missing part counts as 1. */
  return count[0] ? (uint64_t)count[0] * (count[1] ? count[1] : 1) * (count[2] ? count[2] : 1) : 0;
}

enum { LANES = 32 };

/* Registers come by the warp, in pieces of 256. */
static uint64_t warp_registers(const sim_kernel *kernel) {
  enum { PIECE = 256 };
  return ((uint64_t)kernel->function->register_count * LANES + PIECE - 1) / PIECE * PIECE;
}

/* Each quarter of a multiprocessor has a quarter of the registers; no warp takes them from two. */
uint64_t sim_kernel_resident_warps(const sim_kernel *kernel) {
  enum { QUARTERS = 4 };
  const sim_limits *limits = sim_device_limits();
  uint64_t each = warp_registers(kernel);
  return each ? limits->registers_per_sm / QUARTERS / each * QUARTERS : limits->warps_per_sm;
}

int sim_kernel_max_threads(const sim_kernel *kernel) {
  const ptx_function *ptx = kernel->function->ptx;
  uint64_t most = sim_device_limits()->threads_per_block, fitting = sim_kernel_resident_warps(kernel) * LANES;
  most = fitting < most ? fitting : most;
  uint64_t bounds[2] = {threads_of(ptx->max_threads), threads_of(ptx->required_threads)};
  for (int i = 0; i < 2; i++)
    if (bounds[i] && bounds[i] < most)
      most = bounds[i];
  return (int)most;
}

/* What the launch may ask for without opting in, or what was opted in to. */
int sim_kernel_max_dynamic_shared(const sim_kernel *kernel, int device) {
  if (kernel->dynamic_shared[device] >= 0)
    return kernel->dynamic_shared[device];
  uint32_t most = sim_device_limits()->shared_per_block, fixed = kernel->function->shared_bytes;
  return fixed < most ? (int)(most - fixed) : 0;
}

void sim_kernel_get_attributes(const sim_kernel *kernel, int device, sim_kernel_attributes *out) {
  const sim_function *function = kernel->function;
  const ptx_function *ptx = function->ptx;
  *out = (sim_kernel_attributes){
      .shared_bytes = function->shared_bytes,
      .constant_bytes = kernel->library->program->constant_bytes,
      .local_bytes = function->stack_bytes > function->local_bytes ? function->stack_bytes : function->local_bytes,
      .max_threads = sim_kernel_max_threads(kernel),
      .registers = (int)function->register_count,
      .ptx_version = (int)kernel->library->program->module->target,
      .binary_version = sim_config_get()->capability,
      .max_dynamic_shared = sim_kernel_max_dynamic_shared(kernel, device),
      .carveout = kernel->carveout[device],
      .cluster = ptx->cluster,
      .cluster_size = {ptx->cluster_size[0], ptx->cluster_size[1], ptx->cluster_size[2]},
  };
}

static int max_dynamic_shared_set(sim_kernel *kernel, int device, int bytes) {
  const sim_limits *limits = sim_device_limits();
  if (bytes < 0 || (uint64_t)bytes + kernel->function->shared_bytes > limits->shared_opt_in)
    return SIM_INVALID_VALUE;
  kernel->dynamic_shared[device] = bytes;
  return SIM_SUCCESS;
}

/* CUfunction_attribute, cudaFuncAttribute */
enum {
  ATTRIBUTE_MAX_DYNAMIC_SHARED = 8,
  ATTRIBUTE_CARVEOUT,
  ATTRIBUTE_CLUSTER_WIDTH = 11,
  ATTRIBUTE_CLUSTER_DEPTH = 13,
  ATTRIBUTE_NON_PORTABLE_CLUSTER,
  ATTRIBUTE_CLUSTER_POLICY,
};

int sim_kernel_set_attribute(sim_kernel *kernel, int device, int attribute, int value) {
  if (attribute == ATTRIBUTE_MAX_DYNAMIC_SHARED)
    return max_dynamic_shared_set(kernel, device, value);
  if (attribute == ATTRIBUTE_CARVEOUT && value >= -1 && value <= 100) {
    kernel->carveout[device] = value;
    return SIM_SUCCESS;
  }
  if (attribute >= ATTRIBUTE_CLUSTER_WIDTH && attribute <= ATTRIBUTE_CLUSTER_DEPTH && value >= 0)
    return value > 1 ? SIM_NOT_SUPPORTED : SIM_SUCCESS;
  if (attribute == ATTRIBUTE_NON_PORTABLE_CLUSTER && (value == 0 || value == 1)) {
    kernel->non_portable_cluster = value;
    return SIM_SUCCESS;
  }
  return attribute == ATTRIBUTE_CLUSTER_POLICY && value >= 0 && value <= 2 ? SIM_SUCCESS : SIM_INVALID_VALUE;
}

int sim_kernel_parameter(const sim_kernel *kernel, size_t index, size_t *offset, size_t *size) {
  const ptx_function *ptx = kernel->function->ptx;
  if (index >= ptx->parameter_count)
    return SIM_INVALID_VALUE;
  *offset = ptx->parameters[index]->offset;
  *size = ptx->parameters[index]->size;
  return SIM_SUCCESS;
}
