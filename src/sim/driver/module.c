/* Modules: code of one context. */
#include "front.h"

#include <stdlib.h>

#include "../kernel.h"
#include "jit.h"

CU_API int cuModuleLoadDataEx(sim_library **module, const void *image, unsigned count, const int *options,
                              void *const *values);
CU_API int cuModuleLoadDataEx(sim_library **module, const void *image, unsigned count, const int *options,
                              void *const *values) {
  CU_BEGIN_CONTEXT(cuModuleLoadDataEx, SIM_CALL_DRIVER | SIM_CALL_CAPTURE_ILLEGAL);
  if (!module || !image || (count && (!options || !values)))
    CU_END(SIM_INVALID_VALUE);
  ptx_log log = {""};
  result = sim_library_load(module, image, 0, context, &log);
  sim_jit_answer(options, values, count, &log, result);
  CU_END(result);
}

CU_API int cuModuleLoadData(sim_library **module, const void *image);
CU_API int cuModuleLoadData(sim_library **module, const void *image) {
  return cuModuleLoadDataEx(module, image, 0, NULL, NULL);
}

CU_API int cuModuleLoadFatBinary(sim_library **module, const void *image);
CU_API int cuModuleLoadFatBinary(sim_library **module, const void *image) {
  return cuModuleLoadDataEx(module, image, 0, NULL, NULL);
}

CU_API int cuModuleLoad(sim_library **module, const char *path);
CU_API int cuModuleLoad(sim_library **module, const char *path) {
  CU_BEGIN_CONTEXT(cuModuleLoad, SIM_CALL_DRIVER | SIM_CALL_CAPTURE_ILLEGAL);
  if (!module || !path)
    CU_END(SIM_INVALID_VALUE);
  ptx_log log = {""};
  char *image = NULL;
  size_t length = 0;
  result = sim_jit_read_file(path, &image, &length);
  if (!result)
    result = sim_library_load(module, image, length, context, &log);
  free(image);
  CU_END(result);
}

#define MODULE_BEGIN(function, module)                                                                                 \
  CU_BEGIN_CONTEXT(function, SIM_CALL_DRIVER);                                                                         \
  if (sim_library_check(module))                                                                                       \
  CU_END(SIM_INVALID_HANDLE)

CU_API int cuModuleUnload(sim_library *module);
CU_API int cuModuleUnload(sim_library *module) {
  MODULE_BEGIN(cuModuleUnload, module);
  (void)context;
  CU_END(sim_library_unload(module));
}

CU_API int cuModuleGetFunction(sim_kernel **function, sim_library *module, const char *name);
CU_API int cuModuleGetFunction(sim_kernel **function, sim_library *module, const char *name) {
  MODULE_BEGIN(cuModuleGetFunction, module);
  if (!function || !name)
    CU_END(SIM_INVALID_VALUE);
  sim_kernel *kernel = NULL;
  result = sim_library_kernel(&kernel, module, name);
  CU_END(result ? result : sim_kernel_in_context(function, kernel, module->context ? module->context : context));
}

CU_API int cuModuleGetFunctionCount(unsigned *count, sim_library *module);
CU_API int cuModuleGetFunctionCount(unsigned *count, sim_library *module) {
  MODULE_BEGIN(cuModuleGetFunctionCount, module);
  (void)context;
  if (!count)
    CU_END(SIM_INVALID_VALUE);
  *count = (unsigned)module->kernel_count;
  CU_END(SIM_SUCCESS);
}

CU_API int cuModuleGetGlobal_v2(uint64_t *address, size_t *bytes, sim_library *module, const char *name);
CU_API int cuModuleGetGlobal_v2(uint64_t *address, size_t *bytes, sim_library *module, const char *name) {
  MODULE_BEGIN(cuModuleGetGlobal, module);
  if (!name || (!address && !bytes))
    CU_END(SIM_INVALID_VALUE);
  uint64_t at = 0, size = 0;
  result = sim_library_variable(&at, &size, module, module->context ? module->context : context, name, false);
  if (!result && address)
    *address = at;
  if (!result && bytes)
    *bytes = size;
  CU_END(result);
}

/* Lazy loading is not modelled: everything is there at once. */
CU_API int cuModuleGetLoadingMode(int *mode);
CU_API int cuModuleGetLoadingMode(int *mode) {
  CU_BEGIN(cuModuleGetLoadingMode, SIM_CALL_DRIVER);
  if (!mode)
    CU_END(SIM_INVALID_VALUE);
  *mode = 1; /* eager */
  CU_END(SIM_SUCCESS);
}
