// float and double: what IEEE 754 defines exactly, all rounding modes, comparisons with NaN, flushing of denormals.

#define EXACT(T, N, FMA, MIN, MAX)                                                                                     \
  extern "C" __global__ void exact_##N(const T *a, const T *b, T *o) {                                                 \
    int i = blockIdx.x * blockDim.x + threadIdx.x;                                                                     \
    T x = a[i], y = b[i], *r = o + i * 16;                                                                             \
    r[0] = x + y;                                                                                                      \
    r[1] = x - y;                                                                                                      \
    r[2] = x * y;                                                                                                      \
    r[3] = x / y;                                                                                                      \
    r[4] = sqrt(x);                                                                                                    \
    r[5] = FMA(x, y, (T)1);                                                                                            \
    r[6] = MIN(x, y);                                                                                                  \
    r[7] = MAX(x, y);                                                                                                  \
    r[8] = fabs(x);                                                                                                    \
    r[9] = -x;                                                                                                         \
    r[10] = copysign(x, y);                                                                                            \
    r[11] = floor(x);                                                                                                  \
    r[12] = ceil(x);                                                                                                   \
    r[13] = trunc(x);                                                                                                  \
    r[14] = rint(x);                                                                                                   \
    r[15] = round(x);                                                                                                  \
  }

EXACT(float, f32, fmaf, fminf, fmaxf)
EXACT(double, f64, fma, fmin, fmax)

#define DIRECTED(MODE)                                                                                                 \
  extern "C" __global__ void f32_##MODE(const float *a, const float *b, float *o) {                                    \
    int i = threadIdx.x;                                                                                               \
    float x = a[i], y = b[i], *r = o + i * 7;                                                                          \
    r[0] = __fadd_##MODE(x, y);                                                                                        \
    r[1] = __fsub_##MODE(x, y);                                                                                        \
    r[2] = __fmul_##MODE(x, y);                                                                                        \
    r[3] = __fdiv_##MODE(x, y);                                                                                        \
    r[4] = __fsqrt_##MODE(x);                                                                                          \
    r[5] = __frcp_##MODE(y);                                                                                           \
    r[6] = __fmaf_##MODE(x, y, 0.1f);                                                                                  \
  }                                                                                                                    \
  extern "C" __global__ void f64_##MODE(const double *a, const double *b, double *o) {                                 \
    int i = threadIdx.x;                                                                                               \
    double x = a[i], y = b[i], *r = o + i * 7;                                                                         \
    r[0] = __dadd_##MODE(x, y);                                                                                        \
    r[1] = __dsub_##MODE(x, y);                                                                                        \
    r[2] = __dmul_##MODE(x, y);                                                                                        \
    r[3] = __ddiv_##MODE(x, y);                                                                                        \
    r[4] = __dsqrt_##MODE(x);                                                                                          \
    r[5] = __drcp_##MODE(y);                                                                                           \
    r[6] = __fma_##MODE(x, y, 0.1);                                                                                    \
  }

DIRECTED(rz)
DIRECTED(ru)
DIRECTED(rd)

extern "C" __global__ void compare_f32(const float *a, const float *b, unsigned *o) {
  int i = threadIdx.x;
  float x = a[i], y = b[i];
  o[i] = (x < y) | (x <= y) << 1 | (x > y) << 2 | (x >= y) << 3 | (x == y) << 4 | (x != y) << 5 | !(x < y) << 6 |
         !(x >= y) << 7 | isnan(x) << 8 | (isinf(x) != 0) << 9 | (isfinite(y) != 0) << 10 | (signbit(x) != 0) << 11;
}

extern "C" __global__ void saturate(const float *a, float *o) {
  int i = threadIdx.x;
  o[i] = __saturatef(a[i]);
}

// Denormals are kept without .ftz, as operands and as results, and become zeros of their sign with it.
extern "C" __global__ void denormals(const float *a, const float *b, float *o) {
  int i = threadIdx.x;
  float r;
  asm("mul.f32 %0, %1, %2;" : "=f"(r) : "f"(a[i]), "f"(b[i]));
  o[i * 4] = r;
  asm("mul.ftz.f32 %0, %1, %2;" : "=f"(r) : "f"(a[i]), "f"(b[i]));
  o[i * 4 + 1] = r;
  asm("add.ftz.f32 %0, %1, %2;" : "=f"(r) : "f"(a[i]), "f"(b[i]));
  o[i * 4 + 2] = r;
  asm("fma.rn.ftz.f32 %0, %1, %2, %1;" : "=f"(r) : "f"(a[i]), "f"(b[i]));
  o[i * 4 + 3] = r;
}

// Compensated summation: any reassociation or contraction ruins it.
extern "C" __global__ void kahan(const float *a, float *o, int n) {
  int i = threadIdx.x;
  float sum = 0, lost = 0;
  for (int k = 0; k < n; k++) {
    float y = __fsub_rn(a[i * n + k], lost), t = __fadd_rn(sum, y);
    lost = __fsub_rn(__fsub_rn(t, sum), y);
    sum = t;
  }
  o[i] = sum;
}

// A polynomial by Horner's rule: NVRTC makes fma of it, and says so.
extern "C" __global__ void horner(const double *a, double *o) {
  int i = threadIdx.x;
  double x = a[i];
  o[i] = ((0.5 * x + 0.25) * x - 3.0) * x + 7.0;
}
