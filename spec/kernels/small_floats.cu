// Numbers of 8, 6 and 4 bits.

#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>

extern "C" __global__ void float_to_fp8(const float *a, unsigned char *o) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = a[i];
  unsigned char *r = o + i * 6;
  r[0] = __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E4M3);
  r[1] = __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E5M2);
  __nv_fp8x2_storage_t pair = __nv_cvt_float2_to_fp8x2(make_float2(x, -x), __NV_SATFINITE, __NV_E4M3);
  r[2] = pair & 255;
  r[3] = pair >> 8;
  __nv_fp8x4_e5m2 four(make_float4(x, -x, x, -x));
  r[4] = four.__x & 255;
  r[5] = four.__x >> 24;
}

extern "C" __global__ void fp8_to_float(float *o, float *p, unsigned short *h) {
  unsigned char i = threadIdx.x;
  __nv_fp8_e4m3 x;
  __nv_fp8_e5m2 y;
  x.__x = i;
  y.__x = i;
  o[i] = (float)x;
  p[i] = (float)y;
  h[i] = __nv_cvt_fp8_to_halfraw(i, __NV_E4M3).x;
}

extern "C" __global__ void half_to_fp8(const __half *a, unsigned char *o) {
  int i = threadIdx.x;
  o[i * 2] = __nv_cvt_halfraw_to_fp8(a[i], __NV_SATFINITE, __NV_E4M3);
  o[i * 2 + 1] = __nv_cvt_halfraw_to_fp8(a[i], __NV_SATFINITE, __NV_E5M2);
}

extern "C" __global__ void float_to_smaller(const float *a, unsigned char *o) {
  int i = threadIdx.x;
  o[i * 3] = __nv_cvt_float_to_fp6(a[i], __NV_E2M3, cudaRoundNearest);
  o[i * 3 + 1] = __nv_cvt_float_to_fp6(a[i], __NV_E3M2, cudaRoundNearest);
  o[i * 3 + 2] = __nv_cvt_float_to_fp4(a[i], __NV_E2M1, cudaRoundNearest);
}

extern "C" __global__ void smaller_to_float(float *o) {
  int i = threadIdx.x;
  __nv_fp6_e2m3 x;
  __nv_fp6_e3m2 y;
  __nv_fp4_e2m1 z;
  x.__x = i;
  y.__x = i;
  z.__x = i & 15;
  o[i * 3] = (float)x;
  o[i * 3 + 1] = (float)y;
  o[i * 3 + 2] = (float)z;
}
