#include "core/dtype.h"

#include <stdatomic.h>
#include <stddef.h>

static const xchg_dtype table[XCHG_DTYPE_COUNT] = {
    [XCHG_DTYPE_BOOL] = {"bool", kDLBool, 1, 8, 1},
    [XCHG_DTYPE_INT8] = {"int8", kDLInt, 1, 8, 1},
    [XCHG_DTYPE_INT16] = {"int16", kDLInt, 1, 16, 2},
    [XCHG_DTYPE_INT32] = {"int32", kDLInt, 1, 32, 4},
    [XCHG_DTYPE_INT64] = {"int64", kDLInt, 1, 64, 8},
    [XCHG_DTYPE_UINT8] = {"uint8", kDLUInt, 1, 8, 1},
    [XCHG_DTYPE_UINT16] = {"uint16", kDLUInt, 1, 16, 2},
    [XCHG_DTYPE_UINT32] = {"uint32", kDLUInt, 1, 32, 4},
    [XCHG_DTYPE_UINT64] = {"uint64", kDLUInt, 1, 64, 8},
    [XCHG_DTYPE_FLOAT16] = {"float16", kDLFloat, 1, 16, 2},
    [XCHG_DTYPE_BFLOAT16] = {"bfloat16", kDLBfloat, 1, 16, 2},
    [XCHG_DTYPE_FLOAT32] = {"float32", kDLFloat, 1, 32, 4},
    [XCHG_DTYPE_FLOAT64] = {"float64", kDLFloat, 1, 64, 8},
    [XCHG_DTYPE_COMPLEX64] = {"complex64", kDLComplex, 1, 64, 4},
    [XCHG_DTYPE_COMPLEX128] = {"complex128", kDLComplex, 1, 128, 8},
    [XCHG_DTYPE_COMPLEX32] = {"complex32", kDLComplex, 1, 32, 2},
    [XCHG_DTYPE_FLOAT8_E3M4] = {"float8_e3m4", kDLFloat8_e3m4, 1, 8, 1},
    [XCHG_DTYPE_FLOAT8_E4M3] = {"float8_e4m3", kDLFloat8_e4m3, 1, 8, 1},
    [XCHG_DTYPE_FLOAT8_E4M3B11FNUZ] = {"float8_e4m3b11fnuz", kDLFloat8_e4m3b11fnuz, 1, 8, 1},
    [XCHG_DTYPE_FLOAT8_E4M3FN] = {"float8_e4m3fn", kDLFloat8_e4m3fn, 1, 8, 1},
    [XCHG_DTYPE_FLOAT8_E4M3FNUZ] = {"float8_e4m3fnuz", kDLFloat8_e4m3fnuz, 1, 8, 1},
    [XCHG_DTYPE_FLOAT8_E5M2] = {"float8_e5m2", kDLFloat8_e5m2, 1, 8, 1},
    [XCHG_DTYPE_FLOAT8_E5M2FNUZ] = {"float8_e5m2fnuz", kDLFloat8_e5m2fnuz, 1, 8, 1},
    [XCHG_DTYPE_FLOAT8_E8M0FNU] = {"float8_e8m0fnu", kDLFloat8_e8m0fnu, 1, 8, 1},
    [XCHG_DTYPE_FLOAT6_E2M3FN] = {"float6_e2m3fn", kDLFloat6_e2m3fn, 1, 6, 1},
    [XCHG_DTYPE_FLOAT6_E3M2FN] = {"float6_e3m2fn", kDLFloat6_e3m2fn, 1, 6, 1},
    [XCHG_DTYPE_FLOAT4_E2M1FN] = {"float4_e2m1fn", kDLFloat4_e2m1fn, 1, 4, 1},
    [XCHG_DTYPE_FLOAT4_E2M1FN_X2] = {"float4_e2m1fn_x2", kDLFloat4_e2m1fn, 2, 8, 1},
};

const xchg_dtype *xchg_dtype_info(int32_t dtype) {
  return dtype > XCHG_DTYPE_NONE && dtype < XCHG_DTYPE_COUNT ? &table[dtype] : NULL;
}

/* Code, bits and lanes of the last answer, and the answer: arrays of one type come in a row. */
static _Atomic uint64_t last_answer;

static uint64_t packed(DLDataType type) {
  return (uint64_t)type.code << 24 | (uint64_t)type.bits << 16 | type.lanes;
}

int xchg__dtype_from_dlpack(int32_t *out, DLDataType type, xchg_error *err) {
  uint64_t last = atomic_load_explicit(&last_answer, memory_order_relaxed);
  if (last != 0 && last >> 8 == packed(type)) {
    *out = (int32_t)(last & 0xff);
    return 0;
  }
  /* DLPack's `bits` is of one lane, ours of the whole element. */
  for (int32_t i = 1; i < XCHG_DTYPE_COUNT; i++) {
    if (table[i].code == type.code && table[i].lanes == type.lanes && table[i].bits == type.bits * type.lanes) {
      *out = i;
      atomic_store_explicit(&last_answer, packed(type) << 8 | (uint64_t)i, memory_order_relaxed);
      return 0;
    }
  }
  *out = XCHG_DTYPE_NONE;
  if (type.lanes != 1)
    return xchg__error_set(err, XCHG_E_DTYPE,
                           "dlpack: vector elements (type code %d, %d bits, %d lanes) are not supported; export "
                           "them with an extra dimension of %d",
                           type.code, type.bits, type.lanes, type.lanes);
  return xchg__error_set(err, XCHG_E_DTYPE,
                         "dlpack: no dtype has type code %d with %d bits; convert the array in its own library first",
                         type.code, type.bits);
}

int64_t xchg__dtype_bytes(int32_t dtype, int64_t count) {
  int64_t bits;
  if (__builtin_mul_overflow(count, (int64_t)table[dtype].bits, &bits) || bits > INT64_MAX - 7)
    return -1;
  return (bits + 7) / 8;
}
