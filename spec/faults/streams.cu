// Kernels for programs of several streams.

extern "C" __global__ void filled(float *out, int value) {
  out[threadIdx.x] = value;
}

extern "C" __global__ void added(float *out, const float *in, int value) {
  out[threadIdx.x] = in[threadIdx.x] + value;
}

extern "C" __global__ void multiplied(float *out, const float *in, int value) {
  out[threadIdx.x] = in[threadIdx.x] * value;
}

extern "C" __global__ void summed(float *out, const float *a, const float *b) {
  out[threadIdx.x] = a[threadIdx.x] + b[threadIdx.x];
}
