/* What a kernel is given: made, copied, freed. */
#include "exec.h"

#include <stdlib.h>
#include <string.h>

static uint64_t launches;

sim_launch *sim_launch_create(sim_kernel *kernel, uint32_t parameter_bytes) {
  sim_launch *made = calloc(1, sizeof *made + parameter_bytes);
  if (!made)
    return NULL;
  made->library = kernel->library;
  made->kernel = kernel;
  made->function = kernel->function;
  made->parameter_bytes = parameter_bytes;
  made->id = ++launches;
  sim_library_retain(made->library);
  return made;
}

sim_launch *sim_launch_copy(const sim_launch *launch) {
  size_t size = sizeof *launch + launch->parameter_bytes;
  sim_launch *made = malloc(size);
  if (!made)
    return NULL;
  memcpy(made, launch, size);
  made->id = ++launches;
  sim_library_retain(made->library);
  return made;
}

void sim_launch_free(sim_launch *launch) {
  if (!launch)
    return;
  sim_library_release(launch->library);
  free(launch);
}
