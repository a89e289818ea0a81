// Bit tricks: counting, permuting, fields, dot products of bytes, carries.

extern "C" __global__ void count_bits(const unsigned *a, int *o) {
  int i = threadIdx.x;
  unsigned x = a[i];
  int *r = o + i * 6;
  r[0] = __popc(x);
  r[1] = __clz(x);
  r[2] = __ffs(x);
  r[3] = __brev(x);
  asm("bfind.u32 %0, %1;" : "=r"(r[4]) : "r"(x));
  asm("bfind.shiftamt.s32 %0, %1;" : "=r"(r[5]) : "r"(x));
}

extern "C" __global__ void count_bits64(const unsigned long long *a, unsigned long long *o) {
  int i = threadIdx.x;
  unsigned long long x = a[i], *r = o + i * 4;
  r[0] = __popcll(x);
  r[1] = __clzll(x);
  r[2] = __ffsll(x);
  r[3] = __brevll(x);
}

extern "C" __global__ void fields(const unsigned *a, unsigned *o) {
  int i = threadIdx.x;
  unsigned x = a[i], r, position = i % 40, length = i / 3 % 36;
  asm("bfe.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(x), "r"(position), "r"(length));
  o[i * 4] = r;
  asm("bfe.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(x), "r"(position), "r"(length));
  o[i * 4 + 1] = r;
  asm("bfi.b32 %0, %1, %2, %3, %4;" : "=r"(r) : "r"(x), "r"(~x * 3u), "r"(position), "r"(length));
  o[i * 4 + 2] = r;
  asm("lop3.b32 %0, %1, %2, %3, 0xCA;" : "=r"(r) : "r"(x), "r"(x >> 7), "r"(x << 5));
  o[i * 4 + 3] = r;
}

extern "C" __global__ void bytes(const unsigned *a, const unsigned *b, const unsigned *c, unsigned *o) {
  int i = threadIdx.x;
  unsigned x = a[i], y = b[i], z = c[i], *r = o + i * 6;
  r[0] = __byte_perm(x, y, z & 0x7777);
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(r[1]) : "r"(x), "r"(y), "r"(z));
  r[2] = __funnelshift_l(x, y, z);
  r[3] = __funnelshift_lc(x, y, z & 63);
  r[4] = __funnelshift_r(x, y, z);
  r[5] = __funnelshift_rc(x, y, z & 63);
}

extern "C" __global__ void dot_products(const int *a, const int *b, const int *c, int *o) {
  int i = threadIdx.x, x = a[i], y = b[i], z = c[i], *r = o + i * 5;
  r[0] = __dp4a(x, y, z);
  r[1] = __dp4a((unsigned)x, (unsigned)y, (unsigned)z);
  r[2] = __dp2a_lo(x, y, z);
  r[3] = __dp2a_hi(x, y, z);
  r[4] = __dp2a_hi((unsigned)x, (unsigned)y, (unsigned)z);
}

// 96-bit sum and difference, and a 64-bit product plus 64 bits, word by word with the carry flag.
extern "C" __global__ void carries(const unsigned *a, unsigned *o) {
  int i = threadIdx.x;
  const unsigned *x = a + i * 6;
  unsigned *r = o + i * 9;
  asm("add.cc.u32 %0, %3, %6; addc.cc.u32 %1, %4, %7; addc.u32 %2, %5, %8;"
      : "=&r"(r[0]), "=&r"(r[1]), "=&r"(r[2])
      : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(x[4]), "r"(x[5]));
  asm("sub.cc.u32 %0, %3, %6; subc.cc.u32 %1, %4, %7; subc.u32 %2, %5, %8;"
      : "=&r"(r[3]), "=&r"(r[4]), "=&r"(r[5])
      : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(x[4]), "r"(x[5]));
  asm("mad.lo.cc.u32 %0, %3, %4, %5; madc.hi.cc.u32 %1, %3, %4, %6; addc.u32 %2, 0, 0;"
      : "=&r"(r[6]), "=&r"(r[7]), "=&r"(r[8])
      : "r"(x[0]), "r"(x[3]), "r"(x[1]), "r"(x[2]));
}

extern "C" __global__ void crc32(const unsigned char *text, unsigned *o, int length) {
  int i = threadIdx.x;
  unsigned crc = ~0u;
  for (int p = 0; p < length; p++) {
    crc ^= text[i * length + p];
    for (int b = 0; b < 8; b++)
      crc = crc & 1 ? crc >> 1 ^ 0xEDB88320u : crc >> 1;
  }
  o[i] = ~crc;
}

extern "C" __global__ void morton(const unsigned *a, unsigned *o) {
  int i = threadIdx.x;
  unsigned r = 0, x = a[i] & 0xffff, y = a[i] >> 16;
#pragma unroll
  for (int b = 0; b < 16; b++)
    r |= (x >> b & 1u) << (2 * b) | (y >> b & 1u) << (2 * b + 1);
  o[i] = r;
}
