// What the threads of a block do together: barriers of all kinds, shared memory, reductions and scans by hand.

extern "C" __global__ void reduction(const float *a, float *o, int n) {
  __shared__ float s[256];
  int t = threadIdx.x, i = blockIdx.x * 256 + t;
  s[t] = i < n ? a[i] : 0;
  __syncthreads();
  for (int k = 128; k > 0; k >>= 1) {
    if (t < k)
      s[t] += s[t + k];
    __syncthreads();
  }
  if (t == 0)
    o[blockIdx.x] = s[0];
}

extern "C" __global__ void scan(const int *a, int *o) {
  __shared__ int s[2][128];
  int t = threadIdx.x, from = 0;
  s[0][t] = a[t];
  __syncthreads();
  for (int k = 1; k < 128; k <<= 1) {
    s[1 - from][t] = s[from][t] + (t >= k ? s[from][t - k] : 0);
    from = 1 - from;
    __syncthreads();
  }
  o[t] = s[from][t];
}

extern "C" __global__ void counting_barriers(const int *a, int *o) {
  int i = threadIdx.x;
  int count = __syncthreads_count(a[i] > 0), all = __syncthreads_and(a[i] > -1000), any = __syncthreads_or(a[i] > 95);
  o[i] = count * 4 + (all != 0) * 2 + (any != 0);
}

// Two halves of a block that wait at barriers of their own.
extern "C" __global__ void named_barriers(int *o) {
  __shared__ int s[128];
  int i = threadIdx.x;
  s[i] = i * 3;
  if (i < 64)
    asm volatile("bar.sync 1, 64;" ::: "memory");
  else
    asm volatile("barrier.sync 2, 64;" ::: "memory");
  o[i] = s[i ^ 63];
}

// Producers arrive and go on; consumers wait for them.
extern "C" __global__ void producers_and_consumers(int *o) {
  __shared__ volatile int s[64];
  int i = threadIdx.x;
  if (i >= 64) {
    s[i - 64] = i * i;
    __threadfence_block();
    asm volatile("bar.arrive 3, 128;" ::: "memory");
  } else {
    asm volatile("bar.sync 3, 128;" ::: "memory");
    o[i] = s[63 - i];
  }
}

// Threads that have left do not hold the others up.
extern "C" __global__ void barrier_after_exits(int *o, int n) {
  __shared__ int s[128];
  int i = threadIdx.x;
  if (i >= n)
    return;
  s[i] = i + 1;
  __syncthreads();
  o[i] = s[n - 1 - i];
}

extern "C" __global__ void bitonic(int *a) {
  __shared__ int s[256];
  int i = threadIdx.x;
  s[i] = a[i];
  __syncthreads();
  for (int k = 2; k <= 256; k <<= 1)
    for (int j = k >> 1; j > 0; j >>= 1) {
      int p = i ^ j;
      if (p > i) {
        int x = s[i], y = s[p];
        if ((x > y) == ((i & k) == 0)) {
          s[i] = y;
          s[p] = x;
        }
      }
      __syncthreads();
    }
  a[i] = s[i];
}

extern "C" __global__ void stencil(const int *a, int *o, int n) {
  __shared__ int s[128 + 4];
  int t = threadIdx.x, i = blockIdx.x * 128 + t;
  s[t + 2] = i < n ? a[i] : 0;
  if (t < 2) {
    s[t] = i >= 2 ? a[i - 2] : 0;
    s[t + 130] = i + 128 < n ? a[i + 128] : 0;
  }
  __syncthreads();
  if (i < n)
    o[i] = s[t] + 2 * s[t + 1] + 3 * s[t + 2] + 2 * s[t + 3] + s[t + 4];
}

extern "C" __global__ void __launch_bounds__(128, 2) bounded(int *o) {
  o[blockIdx.x * blockDim.x + threadIdx.x] = 1;
}

// The last block to finish adds up what all have written.
__device__ unsigned finished;

extern "C" __global__ void last_block(const int *a, volatile int *partial, int *o) {
  __shared__ int s[64];
  __shared__ bool last;
  int t = threadIdx.x;
  s[t] = a[blockIdx.x * 64 + t];
  __syncthreads();
  if (t == 0) {
    int sum = 0;
    for (int k = 0; k < 64; k++)
      sum += s[k];
    partial[blockIdx.x] = sum;
    __threadfence();
    last = atomicInc(&finished, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && t == 0) {
    int sum = 0;
    for (int k = 0; k < gridDim.x; k++)
      sum += partial[k];
    o[0] = sum;
  }
}
