/* Launches and occupancy of the driver API. */
#include "launch.h"

#include "front.h"

#include <stdbool.h>
#include <string.h>

#include "../kernel.h"

/* CUlaunchConfig */
typedef struct {
  unsigned grid[3], block[3], dynamic_shared;
  sim_stream *stream;
  const sim_launch_attribute *attributes;
  unsigned count;
} launch_config;
_Static_assert(sizeof(launch_config) == 56, "CUlaunchConfig");

int sim_driver_extra(void **extra, const void **packed, size_t *size) {
  const size_t *bytes = NULL;
  *packed = NULL;
  for (int i = 0; extra && i < 8 && extra[i]; i += 2)
    if (extra[i] == (void *)1)
      *packed = extra[i + 1];
    else if (extra[i] == (void *)2)
      bytes = extra[i + 1];
    else
      return SIM_INVALID_VALUE;
  if (!*packed != !bytes)
    return SIM_INVALID_VALUE;
  *size = bytes ? *bytes : 0;
  return SIM_SUCCESS;
}

static int launch(sim_kernel *function, const sim_launch_config *config, sim_stream *handle, void **arguments,
                  void **extra, const char *call) {
  if (sim_kernel_check(function))
    return SIM_INVALID_HANDLE;
  CU_RESOLVE(stream, handle);
  const void *packed = NULL;
  size_t size = 0;
  if (arguments && extra)
    return SIM_INVALID_VALUE;
  int result = sim_driver_extra(extra, &packed, &size);
  return result ? result : sim_kernel_launch(function, config, arguments, packed, size, stream, call);
}

static int launch_plain(sim_kernel *function, const unsigned *sizes, unsigned dynamic, bool cooperative,
                        sim_stream *handle, void **arguments, void **extra, const char *call) {
  sim_launch_config config = {.dynamic_shared = dynamic, .cooperative = cooperative};
  memcpy(config.grid, sizes, sizeof config.grid);
  memcpy(config.block, sizes + 3, sizeof config.block);
  return launch(function, &config, handle, arguments, extra, call);
}
CU_STREAM(cuLaunchKernel, cuLaunchKernel, SIM_CALL_DRIVER,
          (sim_kernel *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
           unsigned dynamic, sim_stream *stream, void **arguments, void **extra),
          launch_plain(function, (unsigned[]){gx, gy, gz, bx, by, bz}, dynamic, false, stream, arguments, extra, call))
CU_STREAM(cuLaunchCooperativeKernel, cuLaunchCooperativeKernel, SIM_CALL_DRIVER,
          (sim_kernel *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
           unsigned dynamic, sim_stream *stream, void **arguments),
          launch_plain(function, (unsigned[]){gx, gy, gz, bx, by, bz}, dynamic, true, stream, arguments, NULL, call))

static int launch_extended(const launch_config *given, bool per_thread, sim_kernel *function, void **arguments,
                           void **extra, const char *call) {
  if (!given)
    return SIM_INVALID_VALUE;
  sim_launch_config config = {.dynamic_shared = given->dynamic_shared};
  memcpy(config.grid, given->grid, sizeof config.grid);
  memcpy(config.block, given->block, sizeof config.block);
  int result = sim_launch_config_apply(&config, given->attributes, given->count);
  if (result)
    return result;
  sim_stream *stream = given->stream || !per_thread ? given->stream : SIM_STREAM_PER_THREAD;
  return launch(function, &config, stream, arguments, extra, call);
}
CU(cuLaunchKernelEx, cuLaunchKernelEx, SIM_CALL_DRIVER,
   (const launch_config *config, sim_kernel *function, void **arguments, void **extra),
   launch_extended(config, false, function, arguments, extra, call))
CU(cuLaunchKernelEx_ptsz, cuLaunchKernelEx, SIM_CALL_DRIVER,
   (const launch_config *config, sim_kernel *function, void **arguments, void **extra),
   launch_extended(config, true, function, arguments, extra, call))

/* ---- occupancy ---- */

static int occupancy_blocks(int *blocks, sim_kernel *function, int threads, size_t dynamic, unsigned flags) {
  if (sim_kernel_check(function))
    return SIM_INVALID_HANDLE;
  CU_CONTEXT(context);
  if (!blocks || flags > 1)
    return SIM_INVALID_VALUE;
  return sim_kernel_occupancy(blocks, function, context->device->ordinal, threads, dynamic);
}
CU(cuOccupancyMaxActiveBlocksPerMultiprocessor, cuOccupancyMaxActiveBlocksPerMultiprocessor, SIM_CALL_DRIVER,
   (int *blocks, sim_kernel *function, int threads, size_t dynamic),
   occupancy_blocks(blocks, function, threads, dynamic, 0))
CU(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
   SIM_CALL_DRIVER, (int *blocks, sim_kernel *function, int threads, size_t dynamic, unsigned flags),
   occupancy_blocks(blocks, function, threads, dynamic, flags))

static int occupancy_shared(size_t *bytes, sim_kernel *function, int blocks, int threads) {
  if (sim_kernel_check(function))
    return SIM_INVALID_HANDLE;
  CU_CONTEXT(context);
  if (!bytes)
    return SIM_INVALID_VALUE;
  return sim_kernel_available_dynamic_shared(bytes, function, context->device->ordinal, blocks, threads);
}
CU(cuOccupancyAvailableDynamicSMemPerBlock, cuOccupancyAvailableDynamicSMemPerBlock, SIM_CALL_DRIVER,
   (size_t *bytes, sim_kernel *function, int blocks, int threads), occupancy_shared(bytes, function, blocks, threads))

static int occupancy_best(int *grid, int *block, sim_kernel *function, size_t (*dynamic)(int), size_t fixed, int limit,
                          unsigned flags) {
  if (sim_kernel_check(function))
    return SIM_INVALID_HANDLE;
  CU_CONTEXT(context);
  if (!grid || !block || flags > 1)
    return SIM_INVALID_VALUE;
  return sim_kernel_best_block(grid, block, function, context->device->ordinal, dynamic, fixed, limit);
}
CU(cuOccupancyMaxPotentialBlockSize, cuOccupancyMaxPotentialBlockSize, SIM_CALL_DRIVER,
   (int *grid, int *block, sim_kernel *function, size_t (*dynamic)(int), size_t fixed, int limit),
   occupancy_best(grid, block, function, dynamic, fixed, limit, 0))
CU(cuOccupancyMaxPotentialBlockSizeWithFlags, cuOccupancyMaxPotentialBlockSizeWithFlags, SIM_CALL_DRIVER,
   (int *grid, int *block, sim_kernel *function, size_t (*dynamic)(int), size_t fixed, int limit, unsigned flags),
   occupancy_best(grid, block, function, dynamic, fixed, limit, flags))
