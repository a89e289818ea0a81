/* Driver functions by name. */
#include "front.h"

/* driver/entries.c */
int sim_driver_lookup(const char *name, unsigned version, uint64_t flags, void **out, int *status);

enum { ENTRY_DEFAULT, ENTRY_LEGACY, ENTRY_PER_THREAD };

/* Without a place for the status, a name that is not found is an error. */
static int entry_point(const char *name, void **out, unsigned version, unsigned long long flags, int *status,
                       bool twin) {
  if (!name || !out || flags > ENTRY_PER_THREAD)
    return SIM_INVALID_VALUE;
  if (flags == ENTRY_DEFAULT)
    flags = twin ? ENTRY_PER_THREAD : ENTRY_LEGACY;
  int found = 0;
  *out = NULL;
  int result = sim_driver_lookup(name, version, flags, out, &found);
  if (!status)
    return result;
  *status = found;
  return SIM_SUCCESS;
}

#define ENTRY_PARAMETERS (const char *name, void **out, unsigned long long flags, int *status)
SIM_COUNTER(counter_of_cudaGetDriverEntryPoint, "cudaGetDriverEntryPoint");
SIM_RUNTIME_FUNCTION(cudaGetDriverEntryPoint, cudaGetDriverEntryPoint, SIM_CALL_PLAIN, ENTRY_PARAMETERS, (void)0,
                     entry_point(name, out, (unsigned)sim_config_get()->driver_version, flags, status, false))
SIM_RUNTIME_FUNCTION(cudaGetDriverEntryPoint_ptsz, cudaGetDriverEntryPoint, SIM_CALL_PLAIN, ENTRY_PARAMETERS, (void)0,
                     entry_point(name, out, (unsigned)sim_config_get()->driver_version, flags, status, true))

#define ENTRY_VERSION_PARAMETERS (const char *name, void **out, unsigned version, unsigned long long flags, int *status)
SIM_COUNTER(counter_of_cudaGetDriverEntryPointByVersion, "cudaGetDriverEntryPointByVersion");
SIM_RUNTIME_FUNCTION(cudaGetDriverEntryPointByVersion, cudaGetDriverEntryPointByVersion, SIM_CALL_PLAIN,
                     ENTRY_VERSION_PARAMETERS, (void)0, entry_point(name, out, version, flags, status, false))
SIM_RUNTIME_FUNCTION(cudaGetDriverEntryPointByVersion_ptsz, cudaGetDriverEntryPointByVersion, SIM_CALL_PLAIN,
                     ENTRY_VERSION_PARAMETERS, (void)0, entry_point(name, out, version, flags, status, true))
