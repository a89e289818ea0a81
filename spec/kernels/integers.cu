// Arithmetic, comparisons and shifts of every integer type; what narrows and widens; 128-bit numbers.

#define ARITHMETIC(T, N)                                                                                               \
  extern "C" __global__ void arithmetic_##N(const T *a, const T *b, T *o, int n) {                                     \
    int i = blockIdx.x * blockDim.x + threadIdx.x;                                                                     \
    if (i >= n)                                                                                                        \
      return;                                                                                                          \
    T x = a[i], y = b[i], *r = o + i * 16;                                                                             \
    r[0] = x + y;                                                                                                      \
    r[1] = x - y;                                                                                                      \
    r[2] = x * y;                                                                                                      \
    r[3] = y ? x / y : 0;                                                                                              \
    r[4] = y ? x % y : 0;                                                                                              \
    r[5] = x & y;                                                                                                      \
    r[6] = x | y;                                                                                                      \
    r[7] = x ^ y;                                                                                                      \
    r[8] = x << (y & 7);                                                                                               \
    r[9] = x >> (y & 7);                                                                                               \
    r[10] = ~x;                                                                                                        \
    r[11] = -x;                                                                                                        \
    r[12] = x < y ? x : y;                                                                                             \
    r[13] = x > y ? x : y;                                                                                             \
    r[14] = !x;                                                                                                        \
    r[15] = (x <= y) + (x >= y) * 2 + (x == y) * 4 + (x != y) * 8;                                                     \
  }

ARITHMETIC(signed char, s8)
ARITHMETIC(unsigned char, u8)
ARITHMETIC(short, s16)
ARITHMETIC(unsigned short, u16)
ARITHMETIC(int, s32)
ARITHMETIC(unsigned, u32)
ARITHMETIC(long long, s64)
ARITHMETIC(unsigned long long, u64)

extern "C" __global__ void high_parts(const int *a, const int *b, const int *c, int *o) {
  int i = threadIdx.x, x = a[i], y = b[i], z = c[i], *r = o + i * 8;
  r[0] = __mulhi(x, y);
  r[1] = __umulhi(x, y);
  r[2] = __mul24(x, y);
  r[3] = __umul24(x, y);
  r[4] = __sad(x, y, z);
  r[5] = __usad(x, y, z);
  r[6] = __hadd(x, y);
  r[7] = __urhadd(x, y);
}

extern "C" __global__ void wide(const int *a, const int *b, const long long *c, long long *o) {
  int i = threadIdx.x, x = a[i], y = b[i];
  long long z = c[i], *r = o + i * 8;
  r[0] = (long long)x * y;
  r[1] = (unsigned)x * (unsigned long long)(unsigned)y;
  r[2] = (long long)x * y + z;
  r[3] = __mul64hi(z, z ^ x);
  r[4] = __umul64hi(z, z ^ x);
  r[5] = z / 7;
  r[6] = (unsigned long long)z / 1000003ull;
  r[7] = z % 10;
}

extern "C" __global__ void shifts(const unsigned long long *a, const int *b, long long *o) {
  int i = threadIdx.x, n = b[i] & 63;
  unsigned long long x = a[i];
  long long *r = o + i * 6;
  r[0] = x << n;
  r[1] = x >> n;
  r[2] = (long long)x >> n;
  r[3] = (x << n) | (x >> ((64 - n) & 63));
  r[4] = (int)x >> (n & 31);
  r[5] = (unsigned)x >> (n & 31);
}

// PTX clamps a shift at the width of the operand.
extern "C" __global__ void clamped_shifts(const unsigned *a, const unsigned *b, unsigned *o) {
  int i = threadIdx.x;
  unsigned x = a[i], n = b[i], r;
  asm("shl.b32 %0, %1, %2;" : "=r"(r) : "r"(x), "r"(n));
  o[i * 3] = r;
  asm("shr.u32 %0, %1, %2;" : "=r"(r) : "r"(x), "r"(n));
  o[i * 3 + 1] = r;
  asm("shr.s32 %0, %1, %2;" : "=r"(r) : "r"(x), "r"(n));
  o[i * 3 + 2] = r;
}

extern "C" __global__ void saturated(const int *a, const int *b, int *o) {
  int i = threadIdx.x, r;
  asm("add.sat.s32 %0, %1, %2;" : "=r"(r) : "r"(a[i]), "r"(b[i]));
  o[i * 2] = r;
  asm("sub.sat.s32 %0, %1, %2;" : "=r"(r) : "r"(a[i]), "r"(b[i]));
  o[i * 2 + 1] = r;
}

// a is 2 words for each number, low word first; o gets the sum of neighbours and the product of 64-bit halves.
extern "C" __global__ void int128(const unsigned long long *a, unsigned long long *o) {
  int i = threadIdx.x;
  unsigned __int128 x = ((unsigned __int128)a[2 * i + 1] << 64) | a[2 * i];
  unsigned __int128 y = ((unsigned __int128)a[2 * i + 3] << 64) | a[2 * i + 2];
  unsigned __int128 sum = x + y, difference = x - y, product = (unsigned __int128)a[2 * i] * a[2 * i + 1];
  unsigned long long *r = o + i * 6;
  r[0] = (unsigned long long)sum;
  r[1] = (unsigned long long)(sum >> 64);
  r[2] = (unsigned long long)difference;
  r[3] = (unsigned long long)(difference >> 64);
  r[4] = (unsigned long long)product;
  r[5] = (unsigned long long)(product >> 64);
}

// Quotient and remainder by a 64-bit number below 2^32: schoolbook division is the host's check.
extern "C" __global__ void divide128(const unsigned long long *a, unsigned long long *o) {
  int i = threadIdx.x;
  unsigned __int128 x = ((unsigned __int128)a[2 * i + 1] << 64) | a[2 * i];
  unsigned d = (unsigned)(a[2 * i] >> 7) | 1u;
  unsigned __int128 q = x / d;
  o[i * 3] = (unsigned long long)q;
  o[i * 3 + 1] = (unsigned long long)(q >> 64);
  o[i * 3 + 2] = (unsigned long long)(x % d);
}
