// Kernels that leave their memory. A line that a report must name ends with a mark, which the cases repeat.

extern "C" __global__ void doubled(float *out, const float *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float value = in[i]; // doubled reads
    out[i] = 2 * value;  // doubled writes
  }
}

extern "C" __global__ void differences(float *out, const float *in, int n, int first) {
  int i = blockIdx.x * blockDim.x + threadIdx.x + first;
  if (i < n) {
    float before = in[i - 1]; // differences
    out[i] = in[i] - before;
  }
}

extern "C" __global__ void shifted(float *out, const float *in, int last) {
  __shared__ float tile[64];
  int t = threadIdx.x;
  tile[t] = in[t];
  __syncthreads();
  float next = t <= last ? tile[t + 1] : 0.0f; // shifted
  out[t] = next;
}

extern "C" __global__ void shared_writes(float *out, int first) {
  extern __shared__ float dynamic[];
  int t = threadIdx.x;
  dynamic[t + first] = t; // shared_writes
  __syncthreads();
  out[t] = dynamic[t];
}

extern "C" __global__ void ring(int *out, const int *order, int count) {
  int slots[8];
  for (int i = 0; i < 8; i++) slots[i] = i;
  for (int i = 0; i < count; i++) slots[order[i]] += 10; // ring
  int sum = 0;
  for (int i = 0; i < 8; i++) sum += slots[order[i]];
  out[threadIdx.x] = sum;
}

__constant__ float coefficients[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

extern "C" __global__ void weighted(float *out, int first) {
  int i = threadIdx.x;
  float weight = coefficients[i + first]; // weighted
  out[i] = weight;
}

extern "C" __global__ void fours(float4 *out, const float *in) {
  const float4 *vectors = reinterpret_cast<const float4 *>(in);
  out[threadIdx.x] = vectors[threadIdx.x]; // fours
}

extern "C" __global__ void counted(int *counter) {
  atomicAdd(counter, 1); // counted
}

extern "C" __global__ void bytes_doubled(unsigned char *bytes, int n) {
  int i = threadIdx.x;
  if (i < n) bytes[i] = 2 * bytes[i]; // bytes_doubled
}

extern "C" __global__ void boxes(int *out, int x, int y, int z) {
  int i = threadIdx.x + blockDim.x * blockIdx.x, j = threadIdx.y + blockDim.y * blockIdx.y;
  int k = threadIdx.z + blockDim.z * blockIdx.z;
  if (i < x && j < y && k < z) out[i + x * (j + y * k)] = 1; // boxes
}

extern "C" __global__ void rows_cleared(float **rows) {
  float *row = rows[blockIdx.x];
  row[threadIdx.x] = 0; // rows_cleared
}

template <typename T> struct column {
  const T *first;
  int pitch;
  __device__ T get(int i) const {
    return first[i * pitch]; // column
  }
};

extern "C" __global__ void columns(double *out, column<double> from) {
  out[threadIdx.x] = 2 * from.get(threadIdx.x);
}

extern "C" __global__ void local_below(int *out, int i) {
  int slots[8];
  for (int k = 0; k < 8; k++) slots[k] = out[k];
  slots[i] = 1; // local_below
  for (int k = 0; k < 8; k++) out[k] = slots[k];
}

extern "C" __global__ void shared_vector(float4 *out, int first) {
  __shared__ float tile[64];
  tile[2 * threadIdx.x] = tile[2 * threadIdx.x + 1] = threadIdx.x;
  __syncthreads();
  if (threadIdx.x < 8) out[threadIdx.x] = *reinterpret_cast<float4 *>(&tile[first + 4 * threadIdx.x]); // shared_vector
}

extern "C" __global__ void either(float *out, const float *in, int n) {
  __shared__ float tile[32];
  tile[threadIdx.x] = threadIdx.x;
  __syncthreads();
  const float *from = threadIdx.x < 16 ? in : tile;
  float value = from[threadIdx.x + (threadIdx.x == n)]; // either
  out[threadIdx.x] = value;
}

extern "C" __global__ void wide_counted(char *counter) {
  atomicAdd(reinterpret_cast<unsigned long long *>(counter), 1ull); // wide_counted
}
