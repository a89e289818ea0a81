// What the executor's throughput is measured with.
extern "C" __global__ void saxpy(float *y, const float *x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}

extern "C" __global__ void saxpy_strided(float *y, const float *x, float a, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = a * x[i] + y[i];
}

extern "C" __global__ void sums(float *out, const float *in, int n) {
  __shared__ float part[256];
  int i = threadIdx.x;
  float sum = 0;
  for (int k = blockIdx.x * 256 + i; k < n; k += gridDim.x * 256) sum += in[k];
  part[i] = sum;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (i < half) part[i] += part[i + half];
    __syncthreads();
  }
  if (i == 0) out[blockIdx.x] = part[0];
}

extern "C" __global__ void mandelbrot(float *out, const float *unused, float scale, int width) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float cx = (i % width) * scale - 2.0f, cy = (i / width) * scale - 1.0f, x = 0, y = 0;
  int k = 0;
  while (k < 256 && x * x + y * y < 4.0f) {
    float next = x * x - y * y + cx;
    y = 2 * x * y + cy;
    x = next;
    k++;
  }
  out[i] = k;
}

extern "C" __global__ void collatz(float *out, const float *unused, float first, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, steps = 0;
  unsigned v = i + (unsigned)first;
  while (v > 1 && steps < 1000) {
    v = v & 1 ? 3 * v + 1 : v / 2;
    steps++;
  }
  if (i < n) out[i] = steps;
}
