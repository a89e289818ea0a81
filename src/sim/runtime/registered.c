/* What programs that were compiled with <<<>>> call as they start: they load, and their kernels are known by name. */
#include "registered.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../report.h"
#include "front.h"

typedef struct registered {
  const void *function; /* the host's stub */
  char *name;
  void **handle; /* of the fat binary */
  struct registered *next;
} registered;

/* These run before main and at exit, and need no device: a lock of their own. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static registered *functions;

/* borrowed; NULL: unknown. */
static const char *function_name(const void *function) {
  const char *name = NULL;
  pthread_mutex_lock(&lock);
  for (const registered *each = functions; each && !name; each = each->next)
    if (each->function == function)
      name = each->name;
  pthread_mutex_unlock(&lock);
  return name;
}

int sim_runtime_kernel(sim_kernel **out, const void *function) {
  sim_kernel *kernel = (sim_kernel *)(uintptr_t)function;
  if (!sim_kernel_check(kernel)) {
    *out = kernel;
    return SIM_SUCCESS;
  }
  const char *name = function_name(function);
  if (name)
    sim_report(
        SIM_REPORT_NOTE,
        "kernel %.200s was compiled into the program; the simulator runs PTX that is loaded by cudaLibraryLoadData",
        name);
  return SIM_INVALID_DEVICE_FUNCTION;
}

SIM_EXPORT void **__cudaRegisterFatBinary(void *binary);
void **__cudaRegisterFatBinary(void *binary) {
  void **handle = malloc(sizeof *handle);
  if (handle)
    *handle = binary;
  return handle;
}

SIM_EXPORT void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaRegisterFatBinaryEnd(void **handle) {
  (void)handle;
}

SIM_EXPORT void __cudaUnregisterFatBinary(void **handle);
void __cudaUnregisterFatBinary(void **handle) {
  if (!handle)
    return;
  pthread_mutex_lock(&lock);
  for (registered **link = &functions; *link;) {
    registered *each = *link;
    if (each->handle != handle) {
      link = &each->next;
      continue;
    }
    *link = each->next;
    free(each->name);
    free(each);
  }
  pthread_mutex_unlock(&lock);
  free(handle);
}

SIM_EXPORT void __cudaRegisterFunction(void **handle, const char *function, char *device_function, const char *name,
                                       int thread_limit, void *thread, void *block, void *block_size, void *grid_size,
                                       int *warp_size);
void __cudaRegisterFunction(void **handle, const char *function, char *device_function, const char *name,
                            int thread_limit, void *thread, void *block, void *block_size, void *grid_size,
                            int *warp_size) {
  (void)device_function, (void)thread_limit, (void)thread, (void)block, (void)block_size, (void)grid_size;
  (void)warp_size;
  registered *made = malloc(sizeof *made);
  if (!made)
    return;
  *made = (registered){function, strdup(name ? name : "?"), handle, NULL};
  if (!made->name) {
    free(made);
    return;
  }
  pthread_mutex_lock(&lock);
  made->next = functions;
  functions = made;
  pthread_mutex_unlock(&lock);
}

/* Variables, tables of unified functions: nothing can reach them. */
#define REGISTER_NOTHING(name, ...)                                                                                    \
  SIM_EXPORT void name(__VA_ARGS__);                                                                                   \
  void name(__VA_ARGS__) {                                                                                             \
    (void)handle;                                                                                                      \
  }                                                                                                                    \
  SIM_EXPORT void name(__VA_ARGS__)
REGISTER_NOTHING(__cudaRegisterVar, void **handle);
REGISTER_NOTHING(__cudaRegisterManagedVar, void **handle);
REGISTER_NOTHING(__cudaRegisterHostVar, void **handle);
REGISTER_NOTHING(__cudaRegisterUnifiedTable, void **handle);

SIM_EXPORT char __cudaInitModule(void **handle);
char __cudaInitModule(void **handle) {
  (void)handle;
  return 1;
}

/* ---- the configuration between <<<>>> and the stub that it calls ---- */

typedef struct {
  sim_dim3 grid, block;
  size_t shared;
  void *stream;
} configuration;

enum { CONFIGURATIONS = 64 };
static _Thread_local configuration configurations[CONFIGURATIONS];
static _Thread_local unsigned configuration_count;

SIM_EXPORT unsigned __cudaPushCallConfiguration(sim_dim3 grid, sim_dim3 block, size_t shared, void *stream);
unsigned __cudaPushCallConfiguration(sim_dim3 grid, sim_dim3 block, size_t shared, void *stream) {
  if (configuration_count == CONFIGURATIONS)
    return SIM_OUT_OF_MEMORY;
  configurations[configuration_count++] = (configuration){grid, block, shared, stream};
  return SIM_SUCCESS;
}

SIM_EXPORT int __cudaPopCallConfiguration(sim_dim3 *grid, sim_dim3 *block, size_t *shared, void *stream);
int __cudaPopCallConfiguration(sim_dim3 *grid, sim_dim3 *block, size_t *shared, void *stream) {
  if (!grid || !block || !shared || !stream || !configuration_count)
    return SIM_MISSING_CONFIGURATION;
  const configuration *top = &configurations[--configuration_count];
  *grid = top->grid;
  *block = top->block;
  *shared = top->shared;
  memcpy(stream, &top->stream, sizeof top->stream);
  return SIM_SUCCESS;
}
