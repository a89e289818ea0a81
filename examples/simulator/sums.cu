// Sums of blocks of 256 floats in shared memory; the second kernel forgets to wait before it adds.
extern "C" __global__ void sums(float *out, const float *in) {
  __shared__ float part[256];
  int i = threadIdx.x;
  part[i] = in[blockIdx.x * 256 + i];
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (i < half) part[i] += part[i + half];
    __syncthreads();
  }
  if (i == 0) out[blockIdx.x] = part[0];
}

extern "C" __global__ void hasty(float *out, const float *in) {
  __shared__ float part[256];
  int i = threadIdx.x;
  part[i] = in[blockIdx.x * 256 + i];
  for (int half = 128; half > 0; half /= 2) {
    if (i < half) part[i] += part[i + half];
    __syncthreads();
  }
  if (i == 0) out[blockIdx.x] = part[0];
}
