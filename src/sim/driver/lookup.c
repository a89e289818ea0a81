/* Lookup of entry points, and texts of errors. */
#include "front.h"

#include "../report.h"

CU_API int cuGetProcAddress_v2(const char *name, void **out, int version, uint64_t flags, int *status);
CU_API int cuGetProcAddress_v2(const char *name, void **out, int version, uint64_t flags, int *status) {
  CU_BEGIN(cuGetProcAddress, SIM_CALL_ANYTIME);
  int found = 1;
  if (!name || !out || version < 0 || flags > 2)
    CU_END(SIM_INVALID_VALUE);
  result = sim_driver_lookup(name, (unsigned)version, flags, out, &found);
  if (status)
    *status = found;
  /* With somewhere to put the status, a version that is too low is not an error; a name that is unknown is. */
  CU_END(status && found == 2 ? SIM_SUCCESS : result);
}

CU_API int cuGetProcAddress(const char *name, void **out, int version, uint64_t flags);
CU_API int cuGetProcAddress(const char *name, void **out, int version, uint64_t flags) {
  return cuGetProcAddress_v2(name, out, version, flags, NULL);
}
CU_TWIN(cuGetProcAddress_v2, _ptsz, (const char *name, void **out, int version, uint64_t flags, int *status),
        (name, out, version, flags ? flags : 2, status))

/* The private tables that static runtimes ask for are not there: those runtimes then refuse to work. */
CU_API int cuGetExportTable(const void **table, const void *id);
CU_API int cuGetExportTable(const void **table, const void *id) {
  CU_BEGIN(cuGetExportTable, SIM_CALL_ANYTIME);
  (void)id;
  if (table)
    *table = NULL;
  sim_report(SIM_REPORT_STUB,
             "cuGetExportTable: a statically linked CUDA runtime (CuPy, cuda.bindings.runtime, PyTorch, Warp) asks for "
             "undocumented tables of the driver; it cannot run on the simulated device");
  CU_END(SIM_INVALID_VALUE);
}

CU_API int cuGetErrorString(int error, const char **text);
CU_API int cuGetErrorString(int error, const char **text) {
  CU_BEGIN(cuGetErrorString, SIM_CALL_ANYTIME);
  if (!text)
    CU_END(SIM_INVALID_VALUE);
  *text = sim_result_driver_name(error) ? sim_result_text(error) : NULL;
  CU_END(*text ? SIM_SUCCESS : SIM_INVALID_VALUE);
}

CU_API int cuGetErrorName(int error, const char **name);
CU_API int cuGetErrorName(int error, const char **name) {
  CU_BEGIN(cuGetErrorName, SIM_CALL_ANYTIME);
  if (!name)
    CU_END(SIM_INVALID_VALUE);
  *name = sim_result_driver_name(error);
  CU_END(*name ? SIM_SUCCESS : SIM_INVALID_VALUE);
}
