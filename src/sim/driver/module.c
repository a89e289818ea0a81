/* Modules: code of one context. */
#include "front.h"

#include <stdlib.h>

#include "../kernel.h"
#include "../jit.h"

static int module_load_data_ex(sim_library **module, const void *image, unsigned count, const int *options,
                               void *const *values) {
  CU_CONTEXT(context);
  if (!module || !image || (count && (!options || !values)))
    return SIM_INVALID_VALUE;
  ptx_log log = {""};
  int result = sim_library_load(module, image, 0, context, &log);
  sim_jit_answer(options, values, count, &log, result);
  return result;
}
CU(cuModuleLoadDataEx, cuModuleLoadDataEx, SIM_CALL_DRIVER | SIM_CALL_CAPTURE_ILLEGAL,
   (sim_library **module, const void *image, unsigned count, const int *options, void *const *values),
   module_load_data_ex(module, image, count, options, values))

CU(cuModuleLoadData, cuModuleLoadData, SIM_CALL_DRIVER | SIM_CALL_CAPTURE_ILLEGAL,
   (sim_library **module, const void *image), module_load_data_ex(module, image, 0, NULL, NULL))

CU(cuModuleLoadFatBinary, cuModuleLoadFatBinary, SIM_CALL_DRIVER | SIM_CALL_CAPTURE_ILLEGAL,
   (sim_library **module, const void *image), module_load_data_ex(module, image, 0, NULL, NULL))

static int module_load(sim_library **module, const char *path) {
  CU_CONTEXT(context);
  if (!module || !path)
    return SIM_INVALID_VALUE;
  ptx_log log = {""};
  char *image = NULL;
  size_t length = 0;
  int result = sim_jit_read_file(path, &image, &length);
  if (!result)
    result = sim_library_load(module, image, length, context, &log);
  free(image);
  return result;
}
CU(cuModuleLoad, cuModuleLoad, SIM_CALL_DRIVER | SIM_CALL_CAPTURE_ILLEGAL, (sim_library **module, const char *path),
   module_load(module, path))

#define LIBRARY(library)                                                                                               \
  if (sim_library_check(library))                                                                                      \
  return SIM_INVALID_HANDLE

static int module_unload(sim_library *module) {
  CU_CONTEXT(context);
  LIBRARY(module);
  return sim_library_unload(module);
}
CU(cuModuleUnload, cuModuleUnload, SIM_CALL_DRIVER, (sim_library *module), module_unload(module))

static int module_get_function(sim_kernel **function, sim_library *module, const char *name) {
  CU_CONTEXT(context);
  LIBRARY(module);
  if (!function || !name)
    return SIM_INVALID_VALUE;
  sim_kernel *kernel = NULL;
  int result = sim_library_kernel(&kernel, module, name);
  return result ? result : sim_kernel_in_context(function, kernel, module->context ? module->context : context);
}
CU(cuModuleGetFunction, cuModuleGetFunction, SIM_CALL_DRIVER,
   (sim_kernel **function, sim_library *module, const char *name), module_get_function(function, module, name))

static int module_get_function_count(unsigned *count, sim_library *module) {
  CU_CONTEXT(context);
  LIBRARY(module);
  if (!count)
    return SIM_INVALID_VALUE;
  *count = (unsigned)module->kernel_count;
  return SIM_SUCCESS;
}
CU(cuModuleGetFunctionCount, cuModuleGetFunctionCount, SIM_CALL_DRIVER, (unsigned *count, sim_library *module),
   module_get_function_count(count, module))

static int module_get_global(uint64_t *address, size_t *bytes, sim_library *module, const char *name) {
  CU_CONTEXT(context);
  LIBRARY(module);
  if (!name || (!address && !bytes))
    return SIM_INVALID_VALUE;
  uint64_t at = 0, size = 0;
  int result = sim_library_variable(&at, &size, module, module->context ? module->context : context, name, false);
  if (!result && address)
    *address = at;
  if (!result && bytes)
    *bytes = size;
  return result;
}
CU(cuModuleGetGlobal_v2, cuModuleGetGlobal, SIM_CALL_DRIVER,
   (uint64_t *address, size_t *bytes, sim_library *module, const char *name),
   module_get_global(address, bytes, module, name))

/* Lazy loading is not modelled: everything is there at once. */
static int module_get_loading_mode(int *mode) {
  if (!mode)
    return SIM_INVALID_VALUE;
  *mode = 1; /* eager */
  return SIM_SUCCESS;
}
CU(cuModuleGetLoadingMode, cuModuleGetLoadingMode, SIM_CALL_DRIVER, (int *mode), module_get_loading_mode(mode))
