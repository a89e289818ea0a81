// The instructions whose results PTX only bounds, and the fast functions made of them.

#define APPROXIMATE(NAME, TEXT)                                                                                        \
  extern "C" __global__ void NAME(const float *a, float *o) {                                                          \
    int i = threadIdx.x;                                                                                               \
    float r;                                                                                                           \
    asm(TEXT " %0, %1;" : "=f"(r) : "f"(a[i]));                                                                        \
    o[i] = r;                                                                                                          \
  }

APPROXIMATE(rcp_approx, "rcp.approx.f32")
APPROXIMATE(sqrt_approx, "sqrt.approx.f32")
APPROXIMATE(rsqrt_approx, "rsqrt.approx.f32")
APPROXIMATE(ex2_approx, "ex2.approx.f32")
APPROXIMATE(lg2_approx, "lg2.approx.f32")
APPROXIMATE(sin_approx, "sin.approx.f32")
APPROXIMATE(cos_approx, "cos.approx.f32")
APPROXIMATE(tanh_approx, "tanh.approx.f32")

extern "C" __global__ void div_approx(const float *a, const float *b, float *o) {
  int i = threadIdx.x;
  asm("div.approx.f32 %0, %1, %2;" : "=f"(o[i * 2]) : "f"(a[i]), "f"(b[i]));
  asm("div.full.f32 %0, %1, %2;" : "=f"(o[i * 2 + 1]) : "f"(a[i]), "f"(b[i]));
}

extern "C" __global__ void fast_functions(const float *a, float *o) {
  int i = threadIdx.x;
  float x = a[i], *r = o + i * 6;
  r[0] = __sinf(x);
  r[1] = __cosf(x);
  r[2] = __expf(x);
  r[3] = __logf(x);
  r[4] = __log10f(x);
  r[5] = __powf(x, 1.5f);
}

// The seeds of the double functions: 20 good bits in the upper word.
extern "C" __global__ void seeds_f64(const double *a, double *o) {
  int i = threadIdx.x;
  double r;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(a[i]));
  o[i * 2] = r;
  asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(a[i]));
  o[i * 2 + 1] = r;
}
