/* Code that programs load: libraries in the runtime API. */
#include <stdlib.h>

#include "front.h"
#include "../jit.h"
#include "../module.h"

enum { OPTION_LAST = 30, OPTIONS_MAX = 256 };
enum { LIBRARY_OPTION_LAST = 1 }; /* host table 0, binary preserved 1 */

static int options_check(const int *options, void *const *values, unsigned count, int last) {
  if (!count)
    return SIM_SUCCESS;
  if (!options || !values || count > OPTIONS_MAX)
    return SIM_INVALID_VALUE;
  for (unsigned i = 0; i < count; i++)
    if (options[i] < 0 || options[i] > last)
      return SIM_INVALID_VALUE;
  return SIM_SUCCESS;
}

typedef struct {
  const int *jit_options;
  void **jit_values;
  unsigned jit_count;
  const int *options;
  void *const *values;
  unsigned count;
} library_options;

static int library_options_check(const library_options *options) {
  int result = options_check(options->jit_options, options->jit_values, options->jit_count, OPTION_LAST);
  return result ? result : options_check(options->options, options->values, options->count, LIBRARY_OPTION_LAST);
}

/* `length` 0: up to the NUL. */
static int library_load(sim_library **out, const void *code, size_t length, const library_options *options) {
  sim_context *context;
  int result = sim_runtime_context(&context);
  if (!result)
    result = out && code ? library_options_check(options) : SIM_INVALID_VALUE;
  if (result)
    return result;
  ptx_log log = {""};
  result = sim_library_load(out, code, length, NULL, &log);
  sim_jit_answer(options->jit_options, options->jit_values, options->jit_count, &log, result);
  return result;
}

static int library_load_file(sim_library **out, const char *path, const library_options *options) {
  sim_context *context;
  int result = sim_runtime_context(&context);
  if (result)
    return result;
  if (!out || !path)
    return SIM_INVALID_VALUE;
  char *text;
  size_t length;
  result = sim_jit_read_file(path, &text, &length);
  if (result)
    return result;
  result = library_load(out, text, length, options);
  free(text);
  return result;
}

static int library_check(const sim_library *library) {
  sim_context *context;
  int result = sim_runtime_context(&context);
  if (result)
    return result;
  return sim_library_check(library) ? SIM_INVALID_HANDLE : SIM_SUCCESS;
}

static int library_unload(sim_library *library) {
  int result = library_check(library);
  return result ? result : sim_library_unload(library);
}

static int library_kernel(sim_kernel **out, sim_library *library, const char *name) {
  int result = library_check(library);
  if (result)
    return result;
  return out && name ? sim_library_kernel(out, library, name) : SIM_INVALID_VALUE;
}

static int library_variable(void **out, size_t *bytes, sim_library *library, const char *name, bool managed) {
  int result = library_check(library);
  if (result)
    return result;
  if (!name || (!out && !bytes))
    return SIM_INVALID_VALUE;
  sim_context *context;
  uint64_t address, size;
  result = sim_runtime_context(&context);
  if (!result)
    result = sim_library_variable(&address, &size, library, context, name, managed);
  if (result)
    return result;
  if (out)
    *out = (void *)(uintptr_t)address;
  if (bytes)
    *bytes = size;
  return SIM_SUCCESS;
}

static int library_kernel_count(unsigned *count, sim_library *library) {
  int result = library_check(library);
  if (result)
    return result;
  if (!count)
    return SIM_INVALID_VALUE;
  *count = (unsigned)library->kernel_count;
  return SIM_SUCCESS;
}

static int library_kernels(sim_kernel **kernels, unsigned room, sim_library *library) {
  int result = library_check(library);
  if (result)
    return result;
  if (!kernels || !room)
    return SIM_INVALID_VALUE;
  for (unsigned i = sim_library_list_kernels(kernels, room, library); i < room; i++)
    kernels[i] = NULL;
  return SIM_SUCCESS;
}

/* Host functions that are also device functions need a host compiler: none are known. */
static int library_unified(void **out, sim_library *library, const char *name) {
  int result = library_check(library);
  if (result)
    return result;
  return out && name ? SIM_NOT_FOUND : SIM_INVALID_VALUE;
}

SIM_RUNTIME(cudaLibraryLoadData, SIM_CALL_CAPTURE_ILLEGAL,
            (sim_library **out, const void *code, int *jit_options, void **jit_values, unsigned jit_count, int *options,
             void **values, unsigned count),
            library_load(out, code, 0, &(library_options){jit_options, jit_values, jit_count, options, values, count}));
SIM_RUNTIME(cudaLibraryLoadFromFile, SIM_CALL_CAPTURE_ILLEGAL,
            (sim_library **out, const char *path, int *jit_options, void **jit_values, unsigned jit_count, int *options,
             void **values, unsigned count),
            library_load_file(out, path,
                              &(library_options){jit_options, jit_values, jit_count, options, values, count}));
SIM_RUNTIME(cudaLibraryUnload, SIM_CALL_CAPTURE_ILLEGAL, (sim_library *library), library_unload(library));
SIM_RUNTIME(cudaLibraryGetKernel, SIM_CALL_PLAIN, (sim_kernel **out, sim_library *library, const char *name),
            library_kernel(out, library, name));
SIM_RUNTIME(cudaLibraryGetGlobal, SIM_CALL_PLAIN, (void **out, size_t *bytes, sim_library *library, const char *name),
            library_variable(out, bytes, library, name, false));
SIM_RUNTIME(cudaLibraryGetManaged, SIM_CALL_PLAIN, (void **out, size_t *bytes, sim_library *library, const char *name),
            library_variable(out, bytes, library, name, true));
SIM_RUNTIME(cudaLibraryGetUnifiedFunction, SIM_CALL_PLAIN, (void **out, sim_library *library, const char *name),
            library_unified(out, library, name));
SIM_RUNTIME(cudaLibraryGetKernelCount, SIM_CALL_PLAIN, (unsigned *count, sim_library *library),
            library_kernel_count(count, library));
SIM_RUNTIME(cudaLibraryEnumerateKernels, SIM_CALL_PLAIN, (sim_kernel **kernels, unsigned room, sim_library *library),
            library_kernels(kernels, room, library));
