// __half and __nv_bfloat16: arithmetic, pairs, comparisons, conversions, functions.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#define ARITHMETIC(T, T2, N, TO_FLOAT)                                                                                 \
  extern "C" __global__ void arithmetic_##N(const T *a, const T *b, T *o) {                                            \
    int i = blockIdx.x * blockDim.x + threadIdx.x;                                                                     \
    T x = a[i], y = b[i], *r = o + i * 12;                                                                             \
    r[0] = __hadd(x, y);                                                                                               \
    r[1] = __hsub(x, y);                                                                                               \
    r[2] = __hmul(x, y);                                                                                               \
    r[3] = __hdiv(x, y);                                                                                               \
    r[4] = __hfma(x, y, x);                                                                                            \
    r[5] = __hmin(x, y);                                                                                               \
    r[6] = __hmax(x, y);                                                                                               \
    r[7] = __hneg(x);                                                                                                  \
    r[8] = __habs(x);                                                                                                  \
    r[9] = hsqrt(__habs(x));                                                                                           \
    r[10] = hfloor(x);                                                                                                 \
    r[11] = hrint(x);                                                                                                  \
  }                                                                                                                    \
  extern "C" __global__ void pairs_##N(const T2 *a, const T2 *b, T2 *o) {                                              \
    int i = threadIdx.x;                                                                                               \
    T2 x = a[i], y = b[i], *r = o + i * 8;                                                                             \
    r[0] = __hadd2(x, y);                                                                                              \
    r[1] = __hsub2(x, y);                                                                                              \
    r[2] = __hmul2(x, y);                                                                                              \
    r[3] = __hfma2(x, y, y);                                                                                           \
    r[4] = __hmax2(x, y);                                                                                              \
    r[5] = __lowhigh2highlow(x);                                                                                       \
    r[6] = __heq2(x, y);                                                                                               \
    r[7] = __hlt2(x, y);                                                                                               \
  }                                                                                                                    \
  extern "C" __global__ void comparisons_##N(const T *a, const T *b, int *o) {                                         \
    int i = threadIdx.x;                                                                                               \
    T x = a[i], y = b[i];                                                                                              \
    o[i] = __hlt(x, y) | __hle(x, y) << 1 | __hgt(x, y) << 2 | __hge(x, y) << 3 | __heq(x, y) << 4 |                   \
           __hne(x, y) << 5 | __hltu(x, y) << 6 | __hgeu(x, y) << 7 | __hisnan(x) << 8;                                \
  }                                                                                                                    \
  extern "C" __global__ void functions_##N(const T *a, float *o) {                                                     \
    int i = threadIdx.x;                                                                                               \
    float *r = o + i * 6;                                                                                              \
    r[0] = TO_FLOAT(hexp(a[i]));                                                                                       \
    r[1] = TO_FLOAT(hlog(a[i]));                                                                                       \
    r[2] = TO_FLOAT(hsin(a[i]));                                                                                       \
    r[3] = TO_FLOAT(hcos(a[i]));                                                                                       \
    r[4] = TO_FLOAT(hrcp(a[i]));                                                                                       \
    r[5] = TO_FLOAT(hrsqrt(a[i]));                                                                                     \
  }

ARITHMETIC(__half, __half2, f16, __half2float)
#if __CUDA_ARCH__ >= 800
ARITHMETIC(__nv_bfloat16, __nv_bfloat162, bf16, __bfloat162float)
#endif

extern "C" __global__ void float_to_half(const float *a, __half *o, __nv_bfloat16 *p) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  o[i * 4] = __float2half_rn(a[i]);
  o[i * 4 + 1] = __float2half_rz(a[i]);
  o[i * 4 + 2] = __float2half_ru(a[i]);
  o[i * 4 + 3] = __float2half_rd(a[i]);
  p[i * 4] = __float2bfloat16_rn(a[i]);
  p[i * 4 + 1] = __float2bfloat16_rz(a[i]);
  p[i * 4 + 2] = __float2bfloat16_ru(a[i]);
  p[i * 4 + 3] = __float2bfloat16_rd(a[i]);
}

extern "C" __global__ void half_to_float(float *o, float *p) {
  unsigned short i = blockIdx.x * blockDim.x + threadIdx.x;
  o[i] = __half2float(__ushort_as_half(i));
  p[i] = __bfloat162float(__ushort_as_bfloat16(i));
}

extern "C" __global__ void half_to_integer(const __half *a, int *o) {
  int i = threadIdx.x, *r = o + i * 5;
  r[0] = __half2int_rn(a[i]);
  r[1] = __half2int_rz(a[i]);
  r[2] = __half2int_ru(a[i]);
  r[3] = __half2int_rd(a[i]);
  r[4] = __half2short_rn(a[i]);
}

extern "C" __global__ void integer_to_half(const int *a, const double *b, __half *o) {
  int i = threadIdx.x;
  o[i * 4] = __int2half_rn(a[i]);
  o[i * 4 + 1] = __int2half_rz(a[i]);
  o[i * 4 + 2] = __ushort2half_rn((unsigned short)a[i]);
  o[i * 4 + 3] = __double2half(b[i]);
}

extern "C" __global__ void atomics_f16(__half2 *g, __half *h, __nv_bfloat162 *b) {
  atomicAdd(g, __floats2half2_rn(1.0f, 0.5f));
  atomicAdd(h, __float2half(2.0f));
  atomicAdd(b, __floats2bfloat162_rn(1.0f, 2.0f));
}

extern "C" __global__ void dot_f16(const __half2 *a, const __half2 *b, float *o, int n) {
  int i = threadIdx.x;
  float sum = 0;
  for (int k = 0; k < n; k++) {
    float2 x = __half22float2(a[i * n + k]), y = __half22float2(b[i * n + k]);
    sum += x.x * y.x + x.y * y.y;
  }
  o[i] = sum;
}

extern "C" __global__ void shuffled_f16(const __half *a, const __half2 *b, __half *o, __half2 *p) {
  int i = threadIdx.x;
  o[i] = __shfl_xor_sync(~0u, a[i], 3);
  p[i] = __shfl_down_sync(~0u, b[i], 2);
}
