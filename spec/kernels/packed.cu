// Arithmetic on the bytes and halves of a word. NVRTC makes video instructions of some of it.

extern "C" __global__ void sums_and_extremes(const unsigned *a, const unsigned *b, unsigned *o) {
  int i = threadIdx.x;
  unsigned x = a[i], y = b[i], *r = o + i * 6;
  r[0] = __vadd4(x, y);
  r[1] = __vsub2(x, y);
  r[2] = __vaddus4(x, y);
  r[3] = __vmaxs4(x, y);
  r[4] = __vminu2(x, y);
  r[5] = __vcmpgtu4(x, y);
}

extern "C" __global__ void differences(const unsigned *a, const unsigned *b, unsigned *o) {
  int i = threadIdx.x;
  unsigned x = a[i], y = b[i], *r = o + i * 2;
  r[0] = __vabsdiffu4(x, y);
  r[1] = __vsadu4(x, y);
}
