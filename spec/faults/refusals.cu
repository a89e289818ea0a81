// Kernels that are launched or loaded in ways that must be refused.

#include <cooperative_groups.h>

extern "C" __global__ void fills(int *out, int value) {
  int thread = threadIdx.y * blockDim.x + threadIdx.x;
  out[blockIdx.x * blockDim.x * blockDim.y + thread] = value;
}

extern "C" __global__ void __launch_bounds__(64) bounded(int *out) {
  out[threadIdx.x] = 1;
}

extern "C" __global__ void dynamic(int *out) {
  extern __shared__ int tile[];
  tile[threadIdx.x] = 1;
  out[threadIdx.x] = tile[threadIdx.x];
}

extern "C" __global__ void together(int *out) {
  cooperative_groups::this_grid().sync();
  out[blockIdx.x * blockDim.x + threadIdx.x] = 1;
}
