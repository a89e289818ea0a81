// Atomic operations of every type and place, and what is built of them.

#include <cuda/atomic>

#define ADDITION(T, N)                                                                                                 \
  extern "C" __global__ void add_##N(T *g, const T *a) {                                                               \
    __shared__ T s[2];                                                                                                 \
    int i = blockIdx.x * blockDim.x + threadIdx.x;                                                                     \
    if (threadIdx.x < 2)                                                                                               \
      s[threadIdx.x] = 0;                                                                                              \
    __syncthreads();                                                                                                   \
    atomicAdd(&g[0], a[i]);                                                                                            \
    atomicAdd(&s[i & 1], a[i]);                                                                                        \
    __syncthreads();                                                                                                   \
    if (threadIdx.x < 2)                                                                                               \
      atomicAdd(&g[1 + threadIdx.x], s[threadIdx.x]);                                                                  \
  }

ADDITION(int, s32)
ADDITION(unsigned, u32)
ADDITION(unsigned long long, u64)
ADDITION(float, f32)
ADDITION(double, f64)

#define BITWISE(T, N)                                                                                                  \
  extern "C" __global__ void others_##N(T *g, const T *a) {                                                            \
    __shared__ T s[5];                                                                                                 \
    int i = threadIdx.x;                                                                                               \
    if (i < 5)                                                                                                         \
      s[i] = g[5 + i];                                                                                                 \
    __syncthreads();                                                                                                   \
    atomicMin(&g[0], a[i]);                                                                                            \
    atomicMax(&g[1], a[i]);                                                                                            \
    atomicAnd(&g[2], a[i]);                                                                                            \
    atomicOr(&g[3], a[i]);                                                                                             \
    atomicXor(&g[4], a[i]);                                                                                            \
    atomicMin(&s[0], a[i]);                                                                                            \
    atomicMax(&s[1], a[i]);                                                                                            \
    atomicAnd(&s[2], a[i]);                                                                                            \
    atomicOr(&s[3], a[i]);                                                                                             \
    atomicXor(&s[4], a[i]);                                                                                            \
    __syncthreads();                                                                                                   \
    if (i < 5)                                                                                                         \
      g[5 + i] = s[i];                                                                                                 \
  }

BITWISE(int, s32)
BITWISE(unsigned, u32)
BITWISE(long long, s64)
BITWISE(unsigned long long, u64)

// Each ticket is drawn exactly once, whoever draws it.
extern "C" __global__ void tickets(unsigned *counter, unsigned *drawn) {
  unsigned ticket = atomicAdd(counter, 1u);
  drawn[ticket] += 1;
}

extern "C" __global__ void wrapping(unsigned *g) {
  atomicInc(&g[0], 6);
  atomicDec(&g[1], 6);
  atomicSub(&g[2], 3u);
}

// A chain through exchange: every value comes out once, the last one by the thread that finds all others gone.
extern "C" __global__ void exchanged(unsigned *g, unsigned *seen) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned before = atomicExch(&g[0], i + 1);
  atomicAdd(&seen[before], 1u);
  __threadfence();
  if (atomicAdd(&g[1], 1u) == gridDim.x * blockDim.x - 1)
    atomicAdd(&seen[atomicAdd(&g[0], 0u)], 1u);
}

// Maximum of doubles by compare and swap.
extern "C" __global__ void compare_and_swap(unsigned long long *g, const double *a) {
  double x = a[blockIdx.x * blockDim.x + threadIdx.x];
  unsigned long long old = atomicAdd(g, 0ull), assumed;
  do {
    assumed = old;
    if (__longlong_as_double(assumed) >= x)
      break;
    old = atomicCAS(g, assumed, (unsigned long long)__double_as_longlong(x));
  } while (old != assumed);
}

extern "C" __global__ void compare_and_swap_short(unsigned short *g) {
  unsigned short old = atomicCAS(g, (unsigned short)0, (unsigned short)0), assumed;
  do {
    assumed = old;
    old = atomicCAS(g, assumed, (unsigned short)(assumed + 3));
  } while (old != assumed);
}

extern "C" __global__ void histogram(const unsigned char *a, unsigned *o, int n) {
  __shared__ unsigned s[256];
  s[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&s[a[i]], 1u);
  __syncthreads();
  atomicAdd(o + threadIdx.x, s[threadIdx.x]);
}

extern "C" __global__ void scopes(unsigned *g) {
  atomicAdd_block(&g[blockIdx.x], 1u);
  atomicAdd_system(&g[4], 1u);
  atomicMax_block(&g[5 + blockIdx.x], threadIdx.x);
  atomicOr_system(&g[9], 1u << (threadIdx.x & 31));
}

// A lock that the lanes of one warp fight for: needs threads that progress on their own.
extern "C" __global__ void spin_lock(int *lock, volatile int *count) {
  bool done = false;
  while (!done) {
    if (atomicCAS(lock, 0, 1) == 0) {
      count[0] = count[0] + 1;
      __threadfence();
      atomicExch(lock, 0);
      done = true;
    }
  }
}

extern "C" __global__ void tight_spin_lock(int *lock, volatile int *count) {
  while (atomicCAS(lock, 0, 1) != 0)
    ;
  __threadfence();
  count[0] = count[0] + 1;
  __threadfence();
  atomicExch(lock, 0);
}

extern "C" __global__ void ticket_lock(unsigned *next, volatile unsigned *serving, volatile int *count) {
  unsigned mine = atomicAdd(next, 1u);
  while (*serving != mine)
    ;
  __threadfence();
  count[0] = count[0] * 3 % 10007 + 1;
  __threadfence();
  *serving = mine + 1;
}

extern "C" __global__ void library(int *a, unsigned long long *b, double *d, unsigned char *c) {
  cuda::atomic_ref<int, cuda::thread_scope_device> x(a[0]);
  x.fetch_add(2, cuda::memory_order_relaxed);
  cuda::atomic_ref<int, cuda::thread_scope_device> y(a[1]);
  y.fetch_max((int)threadIdx.x, cuda::memory_order_acq_rel);
  cuda::atomic_ref<unsigned long long, cuda::thread_scope_block> z(b[0]);
  z.fetch_xor(1ull << threadIdx.x);
  cuda::atomic_ref<double, cuda::thread_scope_device> w(d[0]);
  w.fetch_add(0.5);
  int expected = x.load(cuda::memory_order_acquire);
  cuda::atomic_ref<int, cuda::thread_scope_system> v(a[2]);
  while (!v.compare_exchange_weak(expected, expected + 5, cuda::memory_order_acq_rel))
    ;
  cuda::atomic_ref<unsigned char, cuda::thread_scope_device> u(c[0]);
  u.fetch_add(1);
  cuda::atomic_thread_fence(cuda::memory_order_seq_cst, cuda::thread_scope_device);
}
