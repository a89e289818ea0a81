// Kernels for what the settings do.

extern "C" __global__ void filled(int *out, int value) {
  out[threadIdx.x] = value;
}

extern "C" __global__ void raced(int *out) {
  __shared__ int tile[64];
  tile[threadIdx.x] = threadIdx.x;        // fills
  out[threadIdx.x] = tile[63 - threadIdx.x]; // reads
}

extern "C" __global__ void copied(int *out, const int *in) {
  out[threadIdx.x] = in[threadIdx.x]; // copied
}
