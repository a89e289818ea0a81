/* How many blocks of a kernel fit on a multiprocessor: the rules of the CUDA occupancy calculator. */
#include "call.h"
#include "kernel.h"
#include "result.h"

enum { LANES = 32 };

static uint64_t round_up(uint64_t value, uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

static uint64_t least(uint64_t a, uint64_t b) {
  return a < b ? a : b;
}

/* Shared memory is given to blocks in pieces. */
static uint64_t shared_unit(void) {
  return sim_config_get()->capability >= 80 ? 128 : 256;
}

static uint64_t fit_shared(const sim_kernel *kernel, uint64_t dynamic) {
  const sim_limits *limits = sim_device_limits();
  uint64_t asked = kernel->function->shared_bytes + dynamic;
  if (asked > limits->shared_opt_in)
    return 0;
  uint64_t of_block = round_up(asked + limits->shared_reserved, shared_unit());
  return of_block ? limits->shared_per_sm / of_block : limits->blocks_per_sm;
}

static uint64_t fit_all(const sim_kernel *kernel, uint64_t threads, uint64_t dynamic) {
  const sim_limits *limits = sim_device_limits();
  uint64_t warps = (threads + LANES - 1) / LANES;
  if (threads > (uint64_t)sim_kernel_max_threads(kernel) || dynamic > limits->shared_opt_in)
    return 0;
  uint64_t fit = least(limits->blocks_per_sm, limits->warps_per_sm / warps);
  fit = least(fit, sim_kernel_resident_warps(kernel) / warps);
  return least(fit, fit_shared(kernel, dynamic));
}

int sim_kernel_occupancy(int *blocks, const sim_kernel *kernel, int device, int threads, size_t dynamic) {
  (void)device;
  if (threads <= 0)
    return SIM_INVALID_VALUE;
  *blocks = (int)fit_all(kernel, (uint64_t)threads, dynamic);
  return SIM_SUCCESS;
}

int sim_kernel_available_dynamic_shared(size_t *bytes, const sim_kernel *kernel, int device, int blocks, int threads) {
  (void)device;
  const sim_limits *limits = sim_device_limits();
  if (threads <= 0 || blocks <= 0)
    return SIM_INVALID_VALUE;
  if ((uint64_t)blocks > fit_all(kernel, (uint64_t)threads, 0))
    return SIM_INVALID_VALUE;
  uint64_t share = limits->shared_per_sm / (uint64_t)blocks / shared_unit() * shared_unit();
  uint64_t taken = kernel->function->shared_bytes + limits->shared_reserved;
  uint64_t most = limits->shared_opt_in - least(limits->shared_opt_in, kernel->function->shared_bytes);
  *bytes = share > taken ? least(share - taken, most) : 0;
  return SIM_SUCCESS;
}

/* The user's function, which may call us. */
static size_t dynamic_of(size_t (*dynamic)(int threads), int threads, size_t fixed) {
  if (!dynamic)
    return fixed;
  sim_call_suspend(false);
  size_t bytes = dynamic(threads);
  sim_call_resume();
  return bytes;
}

int sim_kernel_best_block(int *grid, int *block, const sim_kernel *kernel, int device, size_t (*dynamic)(int threads),
                          size_t fixed, int limit) {
  (void)device;
  const uint64_t on_sm = sim_device_limits()->threads_per_sm;
  int most = sim_kernel_max_threads(kernel);
  if (limit > 0 && limit < most)
    most = limit;
  uint64_t best = 0;
  *grid = *block = 0;
  /* From the largest down, in whole warps: of equals the largest. */
  for (int tried = (int)round_up((uint64_t)most, LANES); tried > 0; tried -= LANES) {
    int threads = tried < most ? tried : most;
    uint64_t blocks = fit_all(kernel, (uint64_t)threads, dynamic_of(dynamic, threads, fixed));
    if (blocks * (uint64_t)threads > best) {
      best = blocks * (uint64_t)threads;
      *grid = (int)blocks * sim_config_get()->sms;
      *block = threads;
    }
    if (best >= on_sm)
      break;
  }
  return SIM_SUCCESS;
}
