// Where data lies: global, constant, shared, local and parameter memory, generic addresses, vectors, initialisers.

__constant__ int constants[64];
__device__ int counters[64];
__device__ float initialised[4] = {1.0f, 2.0f, 3.5f, -0.5f};
__device__ unsigned char bytes[7] = {1, 2, 3, 250};
__device__ unsigned long long wide[2] = {1ull << 40, 5};
__device__ const char *text = "hello";
__device__ int *inner = &counters[5];

extern "C" __global__ void constant_memory(int *o) {
  int i = threadIdx.x;
  o[i] = constants[i] + constants[(i * 7) & 63] * 2 + constants[3];
}

extern "C" __global__ void module_variables(int *o) {
  int i = threadIdx.x;
  o[i] = (int)(initialised[i & 3] * 2) + bytes[i % 7] + (int)(wide[i & 1] >> 38) + text[i % 5];
  counters[i] += i;
  __syncthreads();
  if (i == 0)
    o[64] = *inner;
}

extern "C" __global__ void reverse_shared(const int *a, int *o) {
  __shared__ int s[256];
  int i = threadIdx.x;
  s[i] = a[blockIdx.x * 256 + i];
  __syncthreads();
  o[blockIdx.x * 256 + i] = s[255 - i];
}

extern __shared__ double dynamic[];

extern "C" __global__ void dynamic_shared(const double *a, double *o, int n) {
  int i = threadIdx.x;
  for (int k = i; k < n; k += blockDim.x)
    dynamic[k] = a[k];
  __syncthreads();
  for (int k = i; k < n; k += blockDim.x)
    o[k] = dynamic[n - 1 - k] + dynamic[(k * 3) % n];
}

extern "C" __global__ void generic_addresses(int *g, int *o, int k) {
  int i = threadIdx.x;
  __shared__ int s[64];
  int local[64];
  for (int n = 0; n < 64; n++)
    local[n] = n * k;
  s[i] = 1000 + i;
  __syncthreads();
  int *p = i % 3 == 0 ? s : i % 3 == 1 ? local : g;
  int before = p[i];
  p[i] = before + 1;
  o[i * 3] = before;
  o[i * 3 + 1] = __isShared(p) + 2 * __isLocal(p) + 4 * __isGlobal(p);
  o[i * 3 + 2] = p[i] + local[i];
}

extern "C" __global__ void vectors(const float4 *a, float4 *o, const int2 *b, int2 *p, const double2 *c, double2 *q,
                                   const uchar4 *d, uchar4 *r, const short2 *e, short2 *s) {
  int i = threadIdx.x;
  float4 x = a[i];
  o[i] = make_float4(x.w, x.z, x.y, x.x);
  p[i] = make_int2(b[i].y, b[i].x);
  q[i] = make_double2(c[i].y, c[i].x);
  uchar4 y = d[i];
  r[i] = make_uchar4(y.w, y.z, y.y, y.x);
  s[i] = make_short2(e[i].y, e[i].x);
}

extern "C" __global__ void hints(const float *a, float *o, const int4 *b, int4 *p) {
  int i = threadIdx.x;
  float x = __ldg(a + i) + __ldcg(a + i) + __ldca(a + i) + __ldcs(a + i) + __ldlu(a + i) + __ldcv(a + i);
  __stwb(o + i, x);
  __stcg(o + 64 + i, x + 1);
  __stcs(o + 128 + i, x + 2);
  __stwt(o + 192 + i, x + 3);
  __stcs(p + i, __ldg(b + i));
  __threadfence();
}

extern "C" __global__ void restricted(const float *__restrict__ a, const short *__restrict__ b,
                                      const unsigned char *__restrict__ c, float *__restrict__ o) {
  int i = threadIdx.x;
  o[i] = a[i] + b[i] + c[i];
}

extern "C" __global__ void volatile_words(volatile int *a) {
  int i = threadIdx.x;
  a[i] = a[i] + 1;
  a[i] = a[i] * 2;
}

struct Table {
  int x[40];
};

extern "C" __global__ void indexed_parameter(const __grid_constant__ Table p, int *o) {
  o[threadIdx.x] = p.x[(threadIdx.x * 7) % 40];
}

// A parameter that the kernel changes is a copy for each thread.
extern "C" __global__ void changed_parameter(Table p, int *o) {
  int i = threadIdx.x;
  p.x[i % 40] += i;
  o[i] = p.x[i % 40] + p.x[(i + 1) % 40];
}

extern "C" __global__ void local_arrays(const int *a, int *o) {
  int i = threadIdx.x, count[16];
  for (int k = 0; k < 16; k++)
    count[k] = 0;
  for (int k = 0; k < 50; k++)
    count[a[(i * 50 + k) % 512] & 15]++;
  for (int k = 0; k < 16; k++)
    o[i * 16 + k] = count[k];
}

extern "C" __global__ void sorted_locally(const int *a, int *o) {
  int i = threadIdx.x, v[12];
  for (int k = 0; k < 12; k++)
    v[k] = a[i * 12 + k];
  for (int k = 1; k < 12; k++)
    for (int j = k; j > 0 && v[j - 1] > v[j]; j--) {
      int t = v[j];
      v[j] = v[j - 1];
      v[j - 1] = t;
    }
  for (int k = 0; k < 12; k++)
    o[i * 12 + k] = v[k];
}

extern "C" __global__ void copied_bytes(const char *a, char *o) {
  int i = threadIdx.x;
  char b[40];
  memset(b, 'a' + i, 40);
  memcpy(b + 3, a + i, 21);
  memcpy(o + 40 * i, b, 40);
}

extern "C" __global__ void transpose(const float *a, float *o, int n) {
  __shared__ float t[32][33];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8)
    if (x < n && y + j < n)
      t[threadIdx.y + j][threadIdx.x] = a[(y + j) * n + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x;
  y = blockIdx.x * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8)
    if (x < n && y + j < n)
      o[(y + j) * n + x] = t[threadIdx.x][threadIdx.y + j];
}

extern "C" __global__ void multiply(const float *a, const float *b, float *c, int n) {
  __shared__ float s[16][16], t[16][16];
  int x = threadIdx.x, y = threadIdx.y;
  float r = 0;
  for (int k = 0; k < n; k += 16) {
    s[y][x] = a[(blockIdx.y * 16 + y) * n + k + x];
    t[y][x] = b[(k + y) * n + blockIdx.x * 16 + x];
    __syncthreads();
    for (int q = 0; q < 16; q++)
      r += s[y][q] * t[q][x];
    __syncthreads();
  }
  c[(blockIdx.y * 16 + y) * n + blockIdx.x * 16 + x] = r;
}
