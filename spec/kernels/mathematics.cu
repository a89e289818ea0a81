// The math library, one kernel for each function and type: what NVRTC makes of it are long runs of fma and branches.

#define UNARY(F)                                                                                                       \
  extern "C" __global__ void F##_f32(const float *a, float *o) {                                                       \
    int i = threadIdx.x;                                                                                               \
    o[i] = F##f(a[i]);                                                                                                 \
  }                                                                                                                    \
  extern "C" __global__ void F##_f64(const double *a, double *o) {                                                     \
    int i = threadIdx.x;                                                                                               \
    o[i] = F(a[i]);                                                                                                    \
  }

#define BINARY(F)                                                                                                      \
  extern "C" __global__ void F##_f32(const float *a, const float *b, float *o) {                                       \
    int i = threadIdx.x;                                                                                               \
    o[i] = F##f(a[i], b[i]);                                                                                           \
  }                                                                                                                    \
  extern "C" __global__ void F##_f64(const double *a, const double *b, double *o) {                                    \
    int i = threadIdx.x;                                                                                               \
    o[i] = F(a[i], b[i]);                                                                                              \
  }

UNARY(sin)
UNARY(cos)
UNARY(tan)
UNARY(asin)
UNARY(acos)
UNARY(atan)
UNARY(sinh)
UNARY(cosh)
UNARY(tanh)
UNARY(asinh)
UNARY(acosh)
UNARY(atanh)
UNARY(exp)
UNARY(exp2)
UNARY(exp10)
UNARY(expm1)
UNARY(log)
UNARY(log2)
UNARY(log10)
UNARY(log1p)
UNARY(cbrt)
UNARY(rsqrt)
UNARY(erf)
UNARY(erfc)
UNARY(tgamma)
UNARY(lgamma)
BINARY(pow)
BINARY(atan2)
BINARY(hypot)
BINARY(fmod)
BINARY(remainder)
BINARY(nextafter)

extern "C" __global__ void pieces_f32(const float *a, float *o) {
  int i = threadIdx.x, e;
  float x = a[i], whole, *r = o + i * 8;
  r[0] = frexpf(x, &e);
  r[1] = e;
  r[2] = modff(x, &whole);
  r[3] = whole;
  r[4] = ldexpf(x, i % 9 - 4);
  r[5] = ilogbf(x);
  r[6] = fdimf(x, 2.0f);
  r[7] = rintf(x * 4.0f);
}

// Payne-Hanek reduction: arguments far beyond 2^20 go through a table in memory and 96 bits of arithmetic.
extern "C" __global__ void sine_of_large(const double *a, double *o) {
  int i = threadIdx.x;
  double s, c;
  sincos(a[i], &s, &c);
  o[i * 2] = s;
  o[i * 2 + 1] = c;
}

extern "C" __global__ void sine_of_large_f32(const float *a, float *o) {
  int i = threadIdx.x;
  o[i] = sinf(a[i]);
}
