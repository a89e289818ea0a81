#include "core/error.h"

#include <stdarg.h>
#include <stdio.h>

const char *xchg_error_name(int32_t code) {
  switch (code) {
#define XCHG_ERROR_CASE(name, number, text)                                                                            \
  case number: return text;
    XCHG_ERRORS(XCHG_ERROR_CASE)
#undef XCHG_ERROR_CASE
  default: return NULL;
  }
}

int xchg__error_set(xchg_error *err, int code, const char *format, ...) {
  if (err != NULL && err->code == 0) {
    va_list args;
    err->code = code;
    err->cuda_code = 0;
    va_start(args, format);
    vsnprintf(err->message, sizeof err->message, format, args);
    va_end(args);
  }
  return code;
}
