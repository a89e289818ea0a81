/* The tables of result codes. */
#include "result.h"

#include <stddef.h>

typedef struct {
  int number;
  const char *runtime, *driver, *text;
} result_row;

static const result_row rows[] = {
#define X(name, number, runtime, driver, text) {number, runtime, driver, text},
    SIM_RESULTS(X)
#undef X
};

static const result_row *row_of(int result) {
  size_t low = 0, high = sizeof rows / sizeof *rows;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (rows[middle].number == result)
      return &rows[middle];
    if (rows[middle].number < result)
      low = middle + 1;
    else
      high = middle;
  }
  return NULL;
}

int sim_result_runtime(int result) {
  const result_row *row = row_of(result);
  return row && row->runtime ? result : SIM_UNKNOWN;
}

int sim_result_driver(int result) {
  const result_row *row = row_of(result);
  if (!row)
    return SIM_UNKNOWN;
  if (row->driver)
    return result;
  switch (result) {
  case SIM_INVALID_SYMBOL: return SIM_NOT_FOUND;
  case SIM_INSUFFICIENT_DRIVER: return SIM_SYSTEM_DRIVER_MISMATCH;
  case SIM_INVALID_DEVICE_FUNCTION: return SIM_INVALID_HANDLE;
  default: return SIM_INVALID_VALUE;
  }
}

const char *sim_result_runtime_name(int result) {
  const result_row *row = row_of(result);
  return row ? row->runtime : NULL;
}

const char *sim_result_driver_name(int result) {
  const result_row *row = row_of(result);
  return row ? row->driver : NULL;
}

const char *sim_result_text(int result) {
  const result_row *row = row_of(result);
  return row ? row->text : NULL;
}

int sim_result_is_sticky(int result) {
  return result == SIM_ECC_UNCORRECTABLE || result == SIM_ILLEGAL_ADDRESS || result == SIM_LAUNCH_TIMEOUT ||
         result == SIM_ASSERT || (result >= SIM_HARDWARE_STACK_ERROR && result <= SIM_LAUNCH_FAILED);
}
