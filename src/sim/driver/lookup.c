/* Lookup of entry points, and texts of errors. */
#include <dlfcn.h>
#include <string.h>

#include "front.h"

#include "../report.h"

/* With somewhere to put the status, a version that is too low is not an error; a name that is unknown is. */
static int get_proc_address(const char *name, void **out, int version, uint64_t flags, int *status) {
  int found = 1;
  if (!name || !out || version < 0 || flags > 2)
    return SIM_INVALID_VALUE;
  int result = sim_driver_lookup(name, (unsigned)version, flags, out, &found);
  if (status)
    *status = found;
  return status && found == 2 ? SIM_SUCCESS : result;
}
CU(cuGetProcAddress_v2, cuGetProcAddress, SIM_CALL_ANYTIME,
   (const char *name, void **out, int version, uint64_t flags, int *status),
   get_proc_address(name, out, version, flags, status))
CU(cuGetProcAddress_v2_ptsz, cuGetProcAddress, SIM_CALL_ANYTIME,
   (const char *name, void **out, int version, uint64_t flags, int *status),
   get_proc_address(name, out, version, flags ? flags : 2, status))
CU(cuGetProcAddress, cuGetProcAddress, SIM_CALL_ANYTIME, (const char *name, void **out, int version, uint64_t flags),
   get_proc_address(name, out, version, flags, NULL))

/* NVRTC has a runtime inside that it compiles without. */
static int is_nvrtc(const void *caller) {
  Dl_info where;
  return dladdr(caller, &where) != 0 && where.dli_fname && strstr(where.dli_fname, "nvrtc");
}

/* The private tables that static runtimes ask for are not there: those runtimes then refuse to work. */
static int get_export_table(const void **table, const void *caller) {
  if (table)
    *table = NULL;
  if (is_nvrtc(caller))
    return SIM_INVALID_VALUE;
  sim_report(
      SIM_REPORT_STUB,
      "cuGetExportTable: a statically linked CUDA runtime (CuPy, cuda.bindings.runtime, Warp) asks for undocumented "
      "tables of the driver; it cannot run on the simulated device");
  return SIM_INVALID_VALUE;
}
CU(cuGetExportTable, cuGetExportTable, SIM_CALL_ANYTIME, (const void **table, const void *id),
   ((void)id, get_export_table(table, __builtin_return_address(0))))

static int get_error_string(int error, const char **text) {
  if (!text)
    return SIM_INVALID_VALUE;
  *text = sim_result_driver_name(error) ? sim_result_text(error) : NULL;
  return *text ? SIM_SUCCESS : SIM_INVALID_VALUE;
}
CU(cuGetErrorString, cuGetErrorString, SIM_CALL_ANYTIME, (int error, const char **text), get_error_string(error, text))

static int get_error_name(int error, const char **name) {
  if (!name)
    return SIM_INVALID_VALUE;
  *name = sim_result_driver_name(error);
  return *name ? SIM_SUCCESS : SIM_INVALID_VALUE;
}
CU(cuGetErrorName, cuGetErrorName, SIM_CALL_ANYTIME, (int error, const char **name), get_error_name(error, name))
