/* Code in the driver API: libraries, modules, kernels, functions. */
#include "front.h"

#include <stdlib.h>

#include "../kernel.h"
#include "../jit.h"

/* ---- libraries: code for all devices ---- */

static int library_load_data(sim_library **library, const void *image, const int *options, void *const *values,
                             unsigned count, const int *library_options, void *const *library_values,
                             unsigned library_count) {
  if (!library || !image || (count && (!options || !values)) || (library_count && !library_options))
    return SIM_INVALID_VALUE;
  (void)library_values; /* the image is always copied */
  ptx_log log = {""};
  int result = sim_library_load(library, image, 0, NULL, &log);
  sim_jit_answer(options, values, count, &log, result);
  return result;
}
CU(cuLibraryLoadData, cuLibraryLoadData, SIM_CALL_DRIVER,
   (sim_library **library, const void *image, const int *options, void *const *values, unsigned count,
    const int *library_options, void *const *library_values, unsigned library_count),
   library_load_data(library, image, options, values, count, library_options, library_values, library_count))

static int library_load_from_file(sim_library **library, const char *path, const int *options, void *const *values,
                                  unsigned count, const int *library_options, void *const *library_values,
                                  unsigned library_count) {
  if (!library || !path || (count && (!options || !values)) || (library_count && !library_options))
    return SIM_INVALID_VALUE;
  (void)library_values;
  ptx_log log = {""};
  char *image = NULL;
  size_t length = 0;
  int result = sim_jit_read_file(path, &image, &length);
  if (!result)
    result = sim_library_load(library, image, length, NULL, &log);
  free(image);
  sim_jit_answer(options, values, count, &log, result);
  return result;
}
CU(cuLibraryLoadFromFile, cuLibraryLoadFromFile, SIM_CALL_DRIVER,
   (sim_library **library, const char *path, const int *options, void *const *values, unsigned count,
    const int *library_options, void *const *library_values, unsigned library_count),
   library_load_from_file(library, path, options, values, count, library_options, library_values, library_count))

#define LIBRARY(library)                                                                                               \
  if (sim_library_check(library))                                                                                      \
  return SIM_INVALID_HANDLE

static int library_unload(sim_library *library) {
  LIBRARY(library);
  return sim_library_unload(library);
}
CU(cuLibraryUnload, cuLibraryUnload, SIM_CALL_DRIVER, (sim_library *library), library_unload(library))

static int library_get_kernel(sim_kernel **kernel, sim_library *library, const char *name) {
  LIBRARY(library);
  return kernel && name ? sim_library_kernel(kernel, library, name) : SIM_INVALID_VALUE;
}
CU(cuLibraryGetKernel, cuLibraryGetKernel, SIM_CALL_DRIVER,
   (sim_kernel **kernel, sim_library *library, const char *name), library_get_kernel(kernel, library, name))

static int library_get_kernel_count(unsigned *count, sim_library *library) {
  LIBRARY(library);
  if (!count)
    return SIM_INVALID_VALUE;
  *count = (unsigned)library->kernel_count;
  return SIM_SUCCESS;
}
CU(cuLibraryGetKernelCount, cuLibraryGetKernelCount, SIM_CALL_DRIVER, (unsigned *count, sim_library *library),
   library_get_kernel_count(count, library))

static int library_enumerate_kernels(sim_kernel **kernels, unsigned count, sim_library *library) {
  LIBRARY(library);
  if (!kernels)
    return SIM_INVALID_VALUE;
  sim_library_list_kernels(kernels, count, library);
  return SIM_SUCCESS;
}
CU(cuLibraryEnumerateKernels, cuLibraryEnumerateKernels, SIM_CALL_DRIVER,
   (sim_kernel **kernels, unsigned count, sim_library *library), library_enumerate_kernels(kernels, count, library))

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

static int library_get_global(uint64_t *address, size_t *bytes, sim_library *library, const char *name) {
  LIBRARY(library);
  return variable_get(address, bytes, library, name, false);
}
CU(cuLibraryGetGlobal, cuLibraryGetGlobal, SIM_CALL_DRIVER,
   (uint64_t *address, size_t *bytes, sim_library *library, const char *name),
   library_get_global(address, bytes, library, name))

static int library_get_managed(uint64_t *address, size_t *bytes, sim_library *library, const char *name) {
  LIBRARY(library);
  return variable_get(address, bytes, library, name, true);
}
CU(cuLibraryGetManaged, cuLibraryGetManaged, SIM_CALL_DRIVER,
   (uint64_t *address, size_t *bytes, sim_library *library, const char *name),
   library_get_managed(address, bytes, library, name))

static int library_get_module(sim_library **module, sim_library *library) {
  LIBRARY(library);
  if (!module)
    return SIM_INVALID_VALUE;
  *module = library;
  return SIM_SUCCESS;
}
CU(cuLibraryGetModule, cuLibraryGetModule, SIM_CALL_DRIVER, (sim_library **module, sim_library *library),
   library_get_module(module, library))

/* ---- kernels ---- */

#define KERNEL(kernel)                                                                                                 \
  if (sim_kernel_check(kernel))                                                                                        \
  return SIM_INVALID_HANDLE

static int kernel_get_function(sim_kernel **function, sim_kernel *kernel) {
  KERNEL(kernel);
  sim_context *context = NULL;
  if (!function)
    return SIM_INVALID_VALUE;
  int result = sim_context_current(&context, false);
  return result ? result : sim_kernel_in_context(function, kernel, context);
}
CU(cuKernelGetFunction, cuKernelGetFunction, SIM_CALL_DRIVER, (sim_kernel **function, sim_kernel *kernel),
   kernel_get_function(function, kernel))

static int kernel_get_library(sim_library **library, sim_kernel *kernel) {
  KERNEL(kernel);
  if (!library)
    return SIM_INVALID_VALUE;
  *library = kernel->library;
  return SIM_SUCCESS;
}
CU(cuKernelGetLibrary, cuKernelGetLibrary, SIM_CALL_DRIVER, (sim_library **library, sim_kernel *kernel),
   kernel_get_library(library, kernel))

static int kernel_get_name(const char **name, sim_kernel *kernel) {
  KERNEL(kernel);
  if (!name)
    return SIM_INVALID_VALUE;
  *name = kernel->function->name;
  return SIM_SUCCESS;
}
CU(cuKernelGetName, cuKernelGetName, SIM_CALL_DRIVER, (const char **name, sim_kernel *kernel),
   kernel_get_name(name, kernel))

static int kernel_get_param_info(sim_kernel *kernel, size_t index, size_t *offset, size_t *size) {
  KERNEL(kernel);
  size_t bytes;
  if (!offset)
    return SIM_INVALID_VALUE;
  return sim_kernel_parameter(kernel, index, offset, size ? size : &bytes);
}
CU(cuKernelGetParamInfo, cuKernelGetParamInfo, SIM_CALL_DRIVER,
   (sim_kernel *kernel, size_t index, size_t *offset, size_t *size), kernel_get_param_info(kernel, index, offset, size))

static int parameter_count(sim_kernel *kernel, size_t *count) {
  if (!count)
    return SIM_INVALID_VALUE;
  *count = kernel->function->ptx->parameter_count;
  return SIM_SUCCESS;
}

static int kernel_get_param_count(sim_kernel *kernel, size_t *count) {
  KERNEL(kernel);
  return parameter_count(kernel, count);
}
CU(cuKernelGetParamCount, cuKernelGetParamCount, SIM_CALL_DRIVER, (sim_kernel *kernel, size_t *count),
   kernel_get_param_count(kernel, count))

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

static int kernel_get_attribute(int *value, int attribute, sim_kernel *kernel, int device) {
  KERNEL(kernel);
  if (!sim_device_get(device))
    return SIM_INVALID_DEVICE;
  return value ? attribute_get(value, attribute, kernel, device) : SIM_INVALID_VALUE;
}
CU(cuKernelGetAttribute, cuKernelGetAttribute, SIM_CALL_DRIVER,
   (int *value, int attribute, sim_kernel *kernel, int device), kernel_get_attribute(value, attribute, kernel, device))

static int kernel_set_attribute(int attribute, int value, sim_kernel *kernel, int device) {
  KERNEL(kernel);
  if (!sim_device_get(device))
    return SIM_INVALID_DEVICE;
  return sim_kernel_set_attribute(kernel, device, attribute, value);
}
CU(cuKernelSetAttribute, cuKernelSetAttribute, SIM_CALL_DRIVER,
   (int attribute, int value, sim_kernel *kernel, int device), kernel_set_attribute(attribute, value, kernel, device))

static int kernel_set_cache_config(sim_kernel *kernel, int value, int device) {
  KERNEL(kernel);
  if (!sim_device_get(device))
    return SIM_INVALID_DEVICE;
  return value < 0 || value > 3 ? SIM_INVALID_VALUE : SIM_SUCCESS;
}
CU(cuKernelSetCacheConfig, cuKernelSetCacheConfig, SIM_CALL_DRIVER, (sim_kernel *kernel, int value, int device),
   kernel_set_cache_config(kernel, value, device))

/* ---- functions: kernels of one context, or a kernel's handle in the current one ---- */

static int function_device(const sim_kernel *function, int *device) {
  sim_context *context = function->context;
  int result = context ? SIM_SUCCESS : sim_context_current(&context, false);
  if (!result)
    *device = context->device->ordinal;
  return result;
}

static int function_get_attribute(int *value, int attribute, sim_kernel *function) {
  KERNEL(function);
  int device = 0;
  int result = value ? function_device(function, &device) : SIM_INVALID_VALUE;
  return result ? result : attribute_get(value, attribute, function, device);
}
CU(cuFuncGetAttribute, cuFuncGetAttribute, SIM_CALL_DRIVER, (int *value, int attribute, sim_kernel *function),
   function_get_attribute(value, attribute, function))

static int function_set_attribute(sim_kernel *function, int attribute, int value) {
  KERNEL(function);
  int device = 0;
  int result = function_device(function, &device);
  return result ? result : sim_kernel_set_attribute(function, device, attribute, value);
}
CU(cuFuncSetAttribute, cuFuncSetAttribute, SIM_CALL_DRIVER, (sim_kernel *function, int attribute, int value),
   function_set_attribute(function, attribute, value))

static int function_set_cache_config(sim_kernel *function, int value) {
  KERNEL(function);
  return value < 0 || value > 3 ? SIM_INVALID_VALUE : SIM_SUCCESS;
}
CU(cuFuncSetCacheConfig, cuFuncSetCacheConfig, SIM_CALL_DRIVER, (sim_kernel *function, int value),
   function_set_cache_config(function, value))

static int function_set_shared_mem_config(sim_kernel *function, int value) {
  KERNEL(function);
  return value < 0 || value > 2 ? SIM_INVALID_VALUE : SIM_SUCCESS;
}
CU(cuFuncSetSharedMemConfig, cuFuncSetSharedMemConfig, SIM_CALL_DRIVER, (sim_kernel *function, int value),
   function_set_shared_mem_config(function, value))

CU(cuFuncGetName, cuFuncGetName, SIM_CALL_DRIVER, (const char **name, sim_kernel *function),
   kernel_get_name(name, function))

CU(cuFuncGetParamInfo, cuFuncGetParamInfo, SIM_CALL_DRIVER,
   (sim_kernel *function, size_t index, size_t *offset, size_t *size),
   kernel_get_param_info(function, index, offset, size))

static int function_get_param_count(sim_kernel *function, size_t *count) {
  KERNEL(function);
  return parameter_count(function, count);
}
CU(cuFuncGetParamCount, cuFuncGetParamCount, SIM_CALL_DRIVER, (sim_kernel *function, size_t *count),
   function_get_param_count(function, count))

CU(cuFuncGetModule, cuFuncGetModule, SIM_CALL_DRIVER, (sim_library **module, sim_kernel *function),
   kernel_get_library(module, function))

/* Everything is loaded when its library is. */
static int function_is_loaded(int *state, sim_kernel *function) {
  KERNEL(function);
  if (!state)
    return SIM_INVALID_VALUE;
  *state = 1;
  return SIM_SUCCESS;
}
CU(cuFuncIsLoaded, cuFuncIsLoaded, SIM_CALL_DRIVER, (int *state, sim_kernel *function),
   function_is_loaded(state, function))

static int function_load(sim_kernel *function) {
  KERNEL(function);
  return SIM_SUCCESS;
}
CU(cuFuncLoad, cuFuncLoad, SIM_CALL_DRIVER, (sim_kernel *function), function_load(function))
