/* loops.c: the loops that compiled Lua is compared with, as plain C at -O2. */
#include <stdint.h>

#define API __attribute__((visibility("default")))

API double bench_sum_f64(const double *p, int64_t n) {
  double s = 0;
  for (int64_t i = 0; i < n; i++)
    s += p[i];
  return s;
}

API double bench_sum_f32(const float *p, int64_t n) {
  double s = 0;
  for (int64_t i = 0; i < n; i++)
    s += p[i];
  return s;
}

API double bench_sum_i32(const int32_t *p, int64_t n) {
  double s = 0;
  for (int64_t i = 0; i < n; i++)
    s += p[i];
  return s;
}

API double bench_sum_2d(const double *p, int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride) {
  double s = 0;
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < columns; j++)
      s += p[i * row_stride + j * column_stride];
  return s;
}

API void bench_saxpy(double *y, const double *x, double a, int64_t n) {
  for (int64_t i = 0; i < n; i++)
    y[i] += a * x[i];
}

API void bench_fill(double *p, double value, int64_t n) {
  for (int64_t i = 0; i < n; i++)
    p[i] = value;
}
