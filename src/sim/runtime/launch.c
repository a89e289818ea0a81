/* Launches in the runtime API. */
#include "front.h"
#include "../kernel.h"
#include "registered.h"

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
  const sim_dim3 *grid = &settings->grid, *block = &settings->block;
  sim_launch_config config = {.grid = {grid->x, grid->y, grid->z},
                              .block = {block->x, block->y, block->z},
                              .dynamic_shared = settings->dynamic_shared,
                              .cooperative = cooperative};
  result = sim_launch_config_apply(&config, settings->attributes, settings->attribute_count);
  return result ? result : sim_kernel_launch(kernel, &config, arguments, NULL, 0, stream, call);
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
SIM_COUNTER(counter_of_cudaLaunchKernelExC, "cudaLaunchKernelExC");
SIM_RUNTIME_FUNCTION(cudaLaunchKernelExC, cudaLaunchKernelExC, SIM_CALL_PLAIN, LAUNCH_EX_PARAMETERS, (void)0,
                     launch_with(settings, function, arguments, false, call))
SIM_RUNTIME_FUNCTION(cudaLaunchKernelExC_ptsz, cudaLaunchKernelExC, SIM_CALL_PLAIN, LAUNCH_EX_PARAMETERS, (void)0,
                     launch_with(settings, function, arguments, true, call))
