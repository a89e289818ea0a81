/* Code in the driver API: libraries, modules, kernels, functions. */
#include "front.h"

#include <stdlib.h>
#include <string.h>

#include "../kernel.h"
#include "jit.h"

/* ---- libraries: code for all devices ---- */

CU_API int cuLibraryLoadData(sim_library **library, const void *image, const int *options, void *const *values,
                             unsigned count, const int *library_options, void *const *library_values,
                             unsigned library_count);
CU_API int cuLibraryLoadData(sim_library **library, const void *image, const int *options, void *const *values,
                             unsigned count, const int *library_options, void *const *library_values,
                             unsigned library_count) {
  CU_BEGIN(cuLibraryLoadData, SIM_CALL_DRIVER);
  if (!library || !image || (count && (!options || !values)) || (library_count && !library_options))
    CU_END(SIM_INVALID_VALUE);
  (void)library_values; /* the image is always copied */
  ptx_log log = {""};
  result = sim_library_load(library, image, 0, NULL, &log);
  sim_jit_answer(options, values, count, &log, result);
  CU_END(result);
}

CU_API int cuLibraryLoadFromFile(sim_library **library, const char *path, const int *options, void *const *values,
                                 unsigned count, const int *library_options, void *const *library_values,
                                 unsigned library_count);
CU_API int cuLibraryLoadFromFile(sim_library **library, const char *path, const int *options, void *const *values,
                                 unsigned count, const int *library_options, void *const *library_values,
                                 unsigned library_count) {
  CU_BEGIN(cuLibraryLoadFromFile, SIM_CALL_DRIVER);
  if (!library || !path || (count && (!options || !values)) || (library_count && !library_options))
    CU_END(SIM_INVALID_VALUE);
  (void)library_values;
  ptx_log log = {""};
  char *image = NULL;
  size_t length = 0;
  result = sim_jit_read_file(path, &image, &length);
  if (!result)
    result = sim_library_load(library, image, length, NULL, &log);
  free(image);
  sim_jit_answer(options, values, count, &log, result);
  CU_END(result);
}

/* Begins a function about one library. */
#define LIBRARY_BEGIN(function, library)                                                                               \
  CU_BEGIN(function, SIM_CALL_DRIVER);                                                                                 \
  result = sim_library_check(library);                                                                                 \
  if (result)                                                                                                          \
  CU_END(SIM_INVALID_HANDLE)

CU_API int cuLibraryUnload(sim_library *library);
CU_API int cuLibraryUnload(sim_library *library) {
  LIBRARY_BEGIN(cuLibraryUnload, library);
  CU_END(sim_library_unload(library));
}

CU_API int cuLibraryGetKernel(sim_kernel **kernel, sim_library *library, const char *name);
CU_API int cuLibraryGetKernel(sim_kernel **kernel, sim_library *library, const char *name) {
  LIBRARY_BEGIN(cuLibraryGetKernel, library);
  CU_END(kernel && name ? sim_library_kernel(kernel, library, name) : SIM_INVALID_VALUE);
}

CU_API int cuLibraryGetKernelCount(unsigned *count, sim_library *library);
CU_API int cuLibraryGetKernelCount(unsigned *count, sim_library *library) {
  LIBRARY_BEGIN(cuLibraryGetKernelCount, library);
  if (!count)
    CU_END(SIM_INVALID_VALUE);
  *count = (unsigned)library->kernel_count;
  CU_END(SIM_SUCCESS);
}

static int kernels_enumerate(sim_kernel **kernels, unsigned count, const sim_library *library) {
  if (!kernels)
    return SIM_INVALID_VALUE;
  unsigned i = 0;
  for (sim_kernel *each = library->kernels; each && i < count; each = each->next)
    if (!each->context || library->context)
      kernels[i++] = each;
  return SIM_SUCCESS;
}

CU_API int cuLibraryEnumerateKernels(sim_kernel **kernels, unsigned count, sim_library *library);
CU_API int cuLibraryEnumerateKernels(sim_kernel **kernels, unsigned count, sim_library *library) {
  LIBRARY_BEGIN(cuLibraryEnumerateKernels, library);
  CU_END(kernels_enumerate(kernels, count, library));
}

/* A variable in the current context. */
static int variable_get(uint64_t *address, size_t *bytes, sim_library *library, const char *name, bool managed) {
  if (!name || (!address && !bytes))
    return SIM_INVALID_VALUE;
  sim_context *context = library->context;
  int result = context ? SIM_SUCCESS : sim_context_current(&context, false);
  uint64_t at = 0, size = 0;
  if (!result)
    result = sim_library_variable(&at, &size, library, context, name, managed);
  if (result)
    return result;
  if (address)
    *address = at;
  if (bytes)
    *bytes = size;
  return SIM_SUCCESS;
}

CU_API int cuLibraryGetGlobal(uint64_t *address, size_t *bytes, sim_library *library, const char *name);
CU_API int cuLibraryGetGlobal(uint64_t *address, size_t *bytes, sim_library *library, const char *name) {
  LIBRARY_BEGIN(cuLibraryGetGlobal, library);
  CU_END(variable_get(address, bytes, library, name, false));
}

CU_API int cuLibraryGetManaged(uint64_t *address, size_t *bytes, sim_library *library, const char *name);
CU_API int cuLibraryGetManaged(uint64_t *address, size_t *bytes, sim_library *library, const char *name) {
  LIBRARY_BEGIN(cuLibraryGetManaged, library);
  CU_END(variable_get(address, bytes, library, name, true));
}

CU_API int cuLibraryGetModule(sim_library **module, sim_library *library);
CU_API int cuLibraryGetModule(sim_library **module, sim_library *library) {
  LIBRARY_BEGIN(cuLibraryGetModule, library);
  if (!module)
    CU_END(SIM_INVALID_VALUE);
  *module = library;
  CU_END(SIM_SUCCESS);
}

/* ---- kernels ---- */

#define KERNEL_BEGIN(called, kernel)                                                                                   \
  CU_BEGIN(function, SIM_CALL_DRIVER);                                                                                 \
  if (sim_kernel_check(kernel))                                                                                        \
  CU_END(SIM_INVALID_HANDLE)

CU_API int cuKernelGetFunction(sim_kernel **function, sim_kernel *kernel);
CU_API int cuKernelGetFunction(sim_kernel **function, sim_kernel *kernel) {
  KERNEL_BEGIN(cuKernelGetFunction, kernel);
  sim_context *context = NULL;
  if (!function)
    CU_END(SIM_INVALID_VALUE);
  result = sim_context_current(&context, false);
  CU_END(result ? result : sim_kernel_in_context(function, kernel, context));
}

CU_API int cuKernelGetLibrary(sim_library **library, sim_kernel *kernel);
CU_API int cuKernelGetLibrary(sim_library **library, sim_kernel *kernel) {
  KERNEL_BEGIN(cuKernelGetLibrary, kernel);
  if (!library)
    CU_END(SIM_INVALID_VALUE);
  *library = kernel->library;
  CU_END(SIM_SUCCESS);
}

CU_API int cuKernelGetName(const char **name, sim_kernel *kernel);
CU_API int cuKernelGetName(const char **name, sim_kernel *kernel) {
  KERNEL_BEGIN(cuKernelGetName, kernel);
  if (!name)
    CU_END(SIM_INVALID_VALUE);
  *name = kernel->function->name;
  CU_END(SIM_SUCCESS);
}

CU_API int cuKernelGetParamInfo(sim_kernel *kernel, size_t index, size_t *offset, size_t *size);
CU_API int cuKernelGetParamInfo(sim_kernel *kernel, size_t index, size_t *offset, size_t *size) {
  KERNEL_BEGIN(cuKernelGetParamInfo, kernel);
  size_t bytes;
  if (!offset)
    CU_END(SIM_INVALID_VALUE);
  CU_END(sim_kernel_parameter(kernel, index, offset, size ? size : &bytes));
}

static int parameter_count(sim_kernel *kernel, size_t *count) {
  if (!count)
    return SIM_INVALID_VALUE;
  *count = kernel->function->ptx->parameter_count;
  return SIM_SUCCESS;
}

CU_API int cuKernelGetParamCount(sim_kernel *kernel, size_t *count);
CU_API int cuKernelGetParamCount(sim_kernel *kernel, size_t *count) {
  KERNEL_BEGIN(cuKernelGetParamCount, kernel);
  CU_END(parameter_count(kernel, count));
}

/* CUfunction_attribute: 0 to 9, 10 to 15 for clusters. */
static int attribute_get(int *value, int attribute, const sim_kernel *kernel, int device) {
  sim_kernel_attributes all;
  sim_kernel_get_attributes(kernel, device, &all);
  switch (attribute) {
  case 0: *value = all.max_threads; break;
  case 1: *value = (int)all.shared_bytes; break;
  case 2: *value = (int)all.constant_bytes; break;
  case 3: *value = (int)all.local_bytes; break;
  case 4: *value = all.registers; break;
  case 5: *value = all.ptx_version; break;
  case 6: *value = all.binary_version; break;
  case 7: *value = 0; break; /* compiled to cache global loads */
  case 8: *value = all.max_dynamic_shared; break;
  case 9: *value = all.carveout; break;
  case 10: *value = all.cluster; break;
  case 11:
  case 12:
  case 13: *value = (int)all.cluster_size[attribute - 11]; break;
  case 14: *value = kernel->non_portable_cluster; break;
  case 15: *value = 0; break;
  default: return SIM_INVALID_VALUE;
  }
  return SIM_SUCCESS;
}

static int attribute_set(int attribute, int value, sim_kernel *kernel, int device) {
  switch (attribute) {
  case 8: return sim_kernel_set_max_dynamic_shared(kernel, device, value);
  case 9:
    if (value < -1 || value > 100)
      return SIM_INVALID_VALUE;
    kernel->carveout[device] = value;
    return SIM_SUCCESS;
  case 14:
    if (value != 0 && value != 1)
      return SIM_INVALID_VALUE;
    kernel->non_portable_cluster = value;
    return SIM_SUCCESS;
  default: return SIM_INVALID_VALUE;
  }
}

CU_API int cuKernelGetAttribute(int *value, int attribute, sim_kernel *kernel, int device);
CU_API int cuKernelGetAttribute(int *value, int attribute, sim_kernel *kernel, int device) {
  KERNEL_BEGIN(cuKernelGetAttribute, kernel);
  if (!sim_device_get(device))
    CU_END(SIM_INVALID_DEVICE);
  CU_END(value ? attribute_get(value, attribute, kernel, device) : SIM_INVALID_VALUE);
}

CU_API int cuKernelSetAttribute(int attribute, int value, sim_kernel *kernel, int device);
CU_API int cuKernelSetAttribute(int attribute, int value, sim_kernel *kernel, int device) {
  KERNEL_BEGIN(cuKernelSetAttribute, kernel);
  if (!sim_device_get(device))
    CU_END(SIM_INVALID_DEVICE);
  CU_END(attribute_set(attribute, value, kernel, device));
}

CU_API int cuKernelSetCacheConfig(sim_kernel *kernel, int value, int device);
CU_API int cuKernelSetCacheConfig(sim_kernel *kernel, int value, int device) {
  KERNEL_BEGIN(cuKernelSetCacheConfig, kernel);
  if (!sim_device_get(device))
    CU_END(SIM_INVALID_DEVICE);
  CU_END(value < 0 || value > 3 ? SIM_INVALID_VALUE : SIM_SUCCESS);
}

/* ---- functions: kernels of one context, or a kernel's handle in the current one ---- */

static int function_device(const sim_kernel *function, int *device) {
  sim_context *context = function->context;
  int result = context ? SIM_SUCCESS : sim_context_current(&context, false);
  if (!result)
    *device = context->device->ordinal;
  return result;
}

CU_API int cuFuncGetAttribute(int *value, int attribute, sim_kernel *function);
CU_API int cuFuncGetAttribute(int *value, int attribute, sim_kernel *function) {
  KERNEL_BEGIN(cuFuncGetAttribute, function);
  int device = 0;
  result = value ? function_device(function, &device) : SIM_INVALID_VALUE;
  CU_END(result ? result : attribute_get(value, attribute, function, device));
}

CU_API int cuFuncSetAttribute(sim_kernel *function, int attribute, int value);
CU_API int cuFuncSetAttribute(sim_kernel *function, int attribute, int value) {
  KERNEL_BEGIN(cuFuncSetAttribute, function);
  int device = 0;
  result = function_device(function, &device);
  CU_END(result ? result : attribute_set(attribute, value, function, device));
}

CU_API int cuFuncSetCacheConfig(sim_kernel *function, int value);
CU_API int cuFuncSetCacheConfig(sim_kernel *function, int value) {
  KERNEL_BEGIN(cuFuncSetCacheConfig, function);
  CU_END(value < 0 || value > 3 ? SIM_INVALID_VALUE : SIM_SUCCESS);
}

CU_API int cuFuncSetSharedMemConfig(sim_kernel *function, int value);
CU_API int cuFuncSetSharedMemConfig(sim_kernel *function, int value) {
  KERNEL_BEGIN(cuFuncSetSharedMemConfig, function);
  CU_END(value < 0 || value > 2 ? SIM_INVALID_VALUE : SIM_SUCCESS);
}

CU_API int cuFuncGetName(const char **name, sim_kernel *function);
CU_API int cuFuncGetName(const char **name, sim_kernel *function) {
  return cuKernelGetName(name, function);
}

CU_API int cuFuncGetParamInfo(sim_kernel *function, size_t index, size_t *offset, size_t *size);
CU_API int cuFuncGetParamInfo(sim_kernel *function, size_t index, size_t *offset, size_t *size) {
  return cuKernelGetParamInfo(function, index, offset, size);
}

CU_API int cuFuncGetParamCount(sim_kernel *function, size_t *count);
CU_API int cuFuncGetParamCount(sim_kernel *function, size_t *count) {
  KERNEL_BEGIN(cuFuncGetParamCount, function);
  CU_END(parameter_count(function, count));
}

CU_API int cuFuncGetModule(sim_library **module, sim_kernel *function);
CU_API int cuFuncGetModule(sim_library **module, sim_kernel *function) {
  return cuKernelGetLibrary(module, function);
}

/* Everything is loaded when its library is. */
CU_API int cuFuncIsLoaded(int *state, sim_kernel *function);
CU_API int cuFuncIsLoaded(int *state, sim_kernel *function) {
  KERNEL_BEGIN(cuFuncIsLoaded, function);
  if (!state)
    CU_END(SIM_INVALID_VALUE);
  *state = 1;
  CU_END(SIM_SUCCESS);
}

CU_API int cuFuncLoad(sim_kernel *function);
CU_API int cuFuncLoad(sim_kernel *function) {
  KERNEL_BEGIN(cuFuncLoad, function);
  CU_END(SIM_SUCCESS);
}
