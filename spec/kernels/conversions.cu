// Conversions between number types: rounding modes, saturation, widening and narrowing, bit casts.

extern "C" __global__ void float_to_integer(const float *a, long long *o) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = a[i];
  long long *r = o + i * 11;
  r[0] = __float2int_rn(x);
  r[1] = __float2int_rz(x);
  r[2] = __float2int_ru(x);
  r[3] = __float2int_rd(x);
  r[4] = __float2uint_rn(x);
  r[5] = __float2uint_rz(x);
  r[6] = __float2ll_rn(x);
  r[7] = __float2ll_rd(x);
  r[8] = __float2ull_ru(x);
  r[9] = __float_as_int(x);
  r[10] = x != 0 ? (int)x : 0;
}

extern "C" __global__ void double_to_integer(const double *a, long long *o) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  double x = a[i];
  long long *r = o + i * 8;
  r[0] = __double2int_rn(x);
  r[1] = __double2int_rz(x);
  r[2] = __double2uint_ru(x);
  r[3] = __double2ll_rn(x);
  r[4] = __double2ll_rd(x);
  r[5] = __double2ull_rz(x);
  r[6] = __double_as_longlong(x);
  r[7] = __double2hiint(x);
}

extern "C" __global__ void integer_to_float(const long long *a, float *o) {
  int i = threadIdx.x;
  long long x = a[i];
  float *r = o + i * 10;
  r[0] = (int)x;
  r[1] = (unsigned)x;
  r[2] = x;
  r[3] = (unsigned long long)x;
  r[4] = __int2float_rz((int)x);
  r[5] = __uint2float_ru((unsigned)x);
  r[6] = __ll2float_rd(x);
  r[7] = __ull2float_rz((unsigned long long)x);
  r[8] = (signed char)x;
  r[9] = (unsigned short)x;
}

extern "C" __global__ void integer_to_double(const long long *a, double *o) {
  int i = threadIdx.x;
  long long x = a[i];
  double *r = o + i * 6;
  r[0] = (int)x;
  r[1] = (unsigned)x;
  r[2] = x;
  r[3] = (unsigned long long)x;
  r[4] = __ll2double_ru(x);
  r[5] = __ull2double_rz((unsigned long long)x);
}

extern "C" __global__ void float_to_float(const double *a, float *o, double *p) {
  int i = threadIdx.x;
  double x = a[i];
  o[i * 4] = (float)x;
  o[i * 4 + 1] = __double2float_rz(x);
  o[i * 4 + 2] = __double2float_ru(x);
  o[i * 4 + 3] = __double2float_rd(x);
  p[i] = (double)(float)x;
}

extern "C" __global__ void integer_to_integer(const long long *a, long long *o) {
  int i = threadIdx.x;
  long long x = a[i], *r = o + i * 8;
  r[0] = (signed char)x;
  r[1] = (unsigned char)x;
  r[2] = (short)x;
  r[3] = (unsigned short)x;
  r[4] = (int)x;
  r[5] = (unsigned)x;
  r[6] = (unsigned)(signed char)x;
  r[7] = (bool)x;
}

// cvt.sat clamps to the range of the narrower type.
extern "C" __global__ void saturating(const int *a, int *o) {
  int i = threadIdx.x;
  short h;
  unsigned short g;
  asm("cvt.sat.s8.s32 %0, %1;" : "=h"(h) : "r"(a[i]));
  o[i * 3] = (signed char)h;
  asm("cvt.sat.u8.s32 %0, %1;" : "=h"(g) : "r"(a[i]));
  o[i * 3 + 1] = (unsigned char)g;
  asm("cvt.sat.s16.s32 %0, %1;" : "=h"(h) : "r"(a[i]));
  o[i * 3 + 2] = h;
}
