/* Error codes, the error struct, dtypes and their DLPack spellings. */
#include "test.h"

#include <stdlib.h>

#include "core/dtype.h"

static void error_keeps_the_first(void) {
  xchg_error error = {0};
  CHECK_EQUAL(xchg__error_set(&error, XCHG_E_RANGE, "select: index %d", 7), XCHG_E_RANGE);
  CHECK_EQUAL(xchg__error_set(&error, XCHG_E_MEMORY, "later"), XCHG_E_MEMORY);
  CHECK_EQUAL(error.code, XCHG_E_RANGE);
  CHECK_TEXT(error.message, "select: index 7");
  CHECK_EQUAL(xchg__error_set(NULL, XCHG_E_SHAPE, "nobody listens"), XCHG_E_SHAPE);
}

static void error_cuts_long_messages(void) {
  xchg_error error = {0};
  char text[2000];
  memset(text, 'x', sizeof text);
  text[sizeof text - 1] = 0;
  xchg__error_set(&error, XCHG_E_PYTHON, "%s", text);
  CHECK_EQUAL(strlen(error.message), XCHG_MESSAGE_BYTES - 1);
}

static void error_names_are_unique(void) {
  int names = 0;
  for (int code = -1; xchg_error_name(code) != NULL; code--, names++)
    for (int other = -1; other > code; other--)
      CHECK(strcmp(xchg_error_name(code), xchg_error_name(other)) != 0);
  CHECK_EQUAL(names, 25);
  CHECK(xchg_error_name(0) == NULL);
  CHECK_TEXT(xchg_error_name(XCHG_E_NOT_VIEWABLE), "not_viewable");
}

static void dtype_comes_from_dlpack(void) {
  CHECK(xchg_dtype_info(0) == NULL);
  CHECK(xchg_dtype_info(-1) == NULL);
  CHECK(xchg_dtype_info(XCHG_DTYPE_COUNT) == NULL);
  for (int32_t i = 1; i < XCHG_DTYPE_COUNT; i++) {
    const xchg_dtype *info = xchg_dtype_info(i);
    int32_t found = 0;
    DLDataType type = {info->code, (uint8_t)(info->bits / info->lanes), info->lanes};
    CHECK_EQUAL(xchg__dtype_from_dlpack(&found, type, NULL), 0);
    CHECK_EQUAL(found, i);
  }
  int32_t found = 7;
  DLDataType odd = {kDLInt, 24, 1}, vector = {kDLFloat, 32, 4};
  CHECK_ERROR(xchg__dtype_from_dlpack(&found, odd, &error), XCHG_E_DTYPE,
              "dlpack: no dtype has type code 0 with 24 bits; convert the array in its own library first");
  CHECK_EQUAL(found, XCHG_DTYPE_NONE);
  CHECK_EQUAL(xchg__dtype_from_dlpack(&found, vector, NULL), XCHG_E_DTYPE);
}

static void dtype_counts_bytes(void) {
  CHECK_EQUAL(xchg__dtype_bytes(XCHG_DTYPE_FLOAT64, 3), 24);
  CHECK_EQUAL(xchg__dtype_bytes(XCHG_DTYPE_COMPLEX128, 0), 0);
  CHECK_EQUAL(xchg__dtype_bytes(XCHG_DTYPE_FLOAT4_E2M1FN, 3), 2);
  CHECK_EQUAL(xchg__dtype_bytes(XCHG_DTYPE_FLOAT6_E2M3FN, 4), 3);
  CHECK_EQUAL(xchg__dtype_bytes(XCHG_DTYPE_FLOAT64, INT64_MAX / 64), INT64_MAX / 64 * 8);
  CHECK_EQUAL(xchg__dtype_bytes(XCHG_DTYPE_FLOAT64, INT64_MAX / 64 + 1), -1);
  CHECK_EQUAL(xchg__dtype_bytes(XCHG_DTYPE_INT8, INT64_MAX), -1);
}

int main(void) {
  error_keeps_the_first();
  error_cuts_long_messages();
  error_names_are_unique();
  dtype_comes_from_dlpack();
  dtype_counts_bytes();
  return test_end();
}
