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
  unsigned x = a[i], y = b[i], *r = o + i * 5;
  r[0] = __vabsdiffu4(x, y);
  r[1] = __vsadu4(x, y);
  r[2] = __vabsdiffs4(x, y);
  r[3] = __vsads4(x, y);
  r[4] = __vsadu2(x, y);
}

// As programs of the time of native video instructions write them.
extern "C" __global__ void written_by_hand(const unsigned *a, const unsigned *b, unsigned *o) {
  int i = threadIdx.x;
  unsigned x = a[i], y = b[i], *r = o + i * 4;
  asm("vadd.s32.u32.s32.sat.max %0, %1.b3, %2.h0, %3;" : "=r"(r[0]) : "r"(x), "r"(y), "r"(-100));
  asm("vsub.u32.u32.u32.sat %0.h1, %1.h1, %2.h0, %2;" : "=r"(r[1]) : "r"(x), "r"(y));
  asm("vavrg4.u32.u32.u32 %0, %1, %2, %1;" : "=r"(r[2]) : "r"(x), "r"(y));
  asm("vmad.s32.s32.s32 %0, %1.b0, -%2.b1, %1;" : "=r"(r[3]) : "r"(x), "r"(y));
}
