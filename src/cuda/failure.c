#include "cuda/failure.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cuda/runtime.h"

int xchg__cuda_is_sticky(int result) {
  switch (result) {
  case 214:
  case 700:
  case 702:
  case 710:
  case 714:
  case 715:
  case 716:
  case 717:
  case 718:
  case 719: return 1;
  default: return 0;
  }
}

static int code_of(int result) {
  if (result == XCHG_CUDA_OUT_OF_MEMORY)
    return XCHG_E_MEMORY;
  return result >= 900 && result <= 908 ? XCHG_E_CAPTURE : XCHG_E_CUDA;
}

int xchg__cuda_fail(xchg_error *err, int result, const char *call, const char *format, ...) {
  char subject[256];
  va_list args;
  int code = code_of(result);
  va_start(args, format);
  vsnprintf(subject, sizeof subject, format, args);
  va_end(args);
  xchg__rt.cudaGetLastError();
  if (result == XCHG_CUDA_UNLOADING)
    xchg__cuda_note_unloading();
  if (err == NULL || err->code != 0)
    return code;
  xchg__error_set(err, code, "%s: %s: %s (%s, %d)", subject, call, xchg__rt.cudaGetErrorString(result),
                  xchg__rt.cudaGetErrorName(result), result);
  err->cuda_code = result;
  err->cuda_name = xchg__rt.cudaGetErrorName(result);
  err->call = call;
  return code;
}
