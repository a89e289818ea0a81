// Kernels whose threads do not wait for each other as they must. Each bug has its correct twin beside it.

#include <cooperative_groups.h>

extern "C" __global__ void sums_hasty(float *out, const float *in) {
  __shared__ float partial[256];
  int t = threadIdx.x;
  partial[t] = in[blockIdx.x * 256 + t]; // fills
  for (int half = 128; half > 0; half /= 2) {
    if (t < half) partial[t] += partial[t + half]; // adds
  }
  if (t == 0) out[blockIdx.x] = partial[0];
}

extern "C" __global__ void sums(float *out, const float *in) {
  __shared__ float partial[256];
  int t = threadIdx.x;
  partial[t] = in[blockIdx.x * 256 + t];
  for (int half = 128; half > 0; half /= 2) {
    __syncthreads();
    if (t < half) partial[t] += partial[t + half];
  }
  if (t == 0) out[blockIdx.x] = partial[0];
}

// The barrier at the end of a turn is missing: the next turn overwrites what others still read.
extern "C" __global__ void turns_hasty(float *out, const float *in, int turns) {
  __shared__ float tile[64];
  int t = threadIdx.x;
  float sum = 0;
  for (int i = 0; i < turns; i++) {
    tile[t] = in[i * 64 + t]; // overwrites
    __syncthreads();
    sum += tile[63 - t]; // still reads
  }
  out[t] = sum;
}

extern "C" __global__ void turns(float *out, const float *in, int turns) {
  __shared__ float tile[64];
  int t = threadIdx.x;
  float sum = 0;
  for (int i = 0; i < turns; i++) {
    tile[t] = in[i * 64 + t];
    __syncthreads();
    sum += tile[63 - t];
    __syncthreads();
  }
  out[t] = sum;
}

extern "C" __global__ void totals_hasty(int *total, const int *in) {
  int old = *total;                 // takes
  *total = old + in[blockIdx.x];    // gives
}

extern "C" __global__ void totals(int *total, const int *in) {
  atomicAdd(total, in[blockIdx.x]);
}

// Each block reads what its neighbour writes in the same launch.
extern "C" __global__ void neighbours_hasty(float *values) {
  int i = blockIdx.x * 32 + threadIdx.x, n = gridDim.x * 32;
  float next = values[(i + 32) % n]; // peeks
  values[i] = next + 1;              // steps
}

extern "C" __global__ void neighbours(float *out, const float *values) {
  int i = blockIdx.x * 32 + threadIdx.x, n = gridDim.x * 32;
  out[i] = values[(i + 32) % n] + 1;
}

// Half of a warp waits at another barrier than the other half.
extern "C" __global__ void halves_apart(int *out) {
  __shared__ int tile[32];
  int t = threadIdx.x;
  tile[t] = t;
  if (t < 16) {
    __syncthreads(); // low half
    out[t] = tile[31 - t];
  } else {
    out[t] = tile[t];
    __syncthreads(); // high half
    out[t] += tile[31 - t];
  }
}

extern "C" __global__ void halves(int *out) {
  __shared__ int tile[32];
  int t = threadIdx.x;
  tile[t] = t;
  __syncthreads();
  if (t < 16)
    out[t] = tile[31 - t];
  else
    out[t] = tile[t] + tile[31 - t];
}

__device__ void wait_for(int threads) {
  asm volatile("bar.sync 1, %0;" ::"r"(threads) : "memory"); // named barrier
}

// `leave` threads end before the barrier that counts 64.
extern "C" __global__ void some_leave(int *out, int leave, int expected) {
  int t = threadIdx.x;
  if (t >= 64 - leave) return;
  wait_for(expected);
  out[t] = t;
}

// `skip` threads go to the barrier of all, the others to a numbered one first.
extern "C" __global__ void some_skip(int *out, int skip) {
  int t = threadIdx.x;
  if (t < 64 - skip) wait_for(64);
  __syncthreads(); // the barrier of all
  out[t] = t;
}

// Lane 31 is named by the mask and never comes.
extern "C" __global__ void lane_missing(int *out, unsigned mask) {
  int t = threadIdx.x;
  int value = 0;
  if (t < 31) value = __shfl_sync(mask, t, 0); // shuffles
  __syncthreads();
  out[t] = value + t;
}

// The scratch memory is global, of one block.
extern "C" __global__ void reversed_hasty(float *out, float *scratch) {
  int t = threadIdx.x;
  scratch[t] = t;                // writes scratch
  out[t] = scratch[63 - t];      // reads scratch
}

extern "C" __global__ void reversed(float *out, float *scratch) {
  int t = threadIdx.x;
  scratch[t] = t;
  __syncthreads();
  out[t] = scratch[63 - t];
}

// All blocks write, then all read: between them the whole grid must meet.
extern "C" __global__ void rotated_hasty(float *out, float *all) {
  int i = blockIdx.x * 32 + threadIdx.x, n = gridDim.x * 32;
  all[i] = i;                    // writes all
  __syncthreads();
  out[i] = all[(i + 32) % n];    // reads all
}

extern "C" __global__ void rotated(float *out, float *all) {
  int i = blockIdx.x * 32 + threadIdx.x, n = gridDim.x * 32;
  all[i] = i;
  cooperative_groups::this_grid().sync();
  out[i] = all[(i + 32) % n];
}

// Threads that have nothing to do may end before a barrier of all.
extern "C" __global__ void guarded(int *out, int n) {
  int t = threadIdx.x;
  if (t >= n) return;
  __syncthreads();
  out[t] = t;
}
