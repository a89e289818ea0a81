// Kernels that read what nobody wrote, and twins that write it first.

extern "C" __global__ void copied(float *out, const float *in, int n) {
  int i = threadIdx.x;
  if (i < n) {
    float value = in[i]; // copied
    out[i] = value;
  }
}

extern "C" __global__ void swapped(float *out, const float *in, int n) {
  __shared__ float tile[64];
  int i = threadIdx.x;
  if (i < n) tile[i] = in[i];
  __syncthreads();
  float value = tile[63 - i]; // swapped
  out[i] = value;
}

extern "C" __global__ void picked(int *out, const int *which, int n) {
  int slots[16];
  for (int i = 0; i < n; i++) slots[which[i]] = i;
  int value = slots[which[15]]; // picked
  out[threadIdx.x] = value;
}

struct pair {
  char letter; // three bytes of padding follow
  int number;
};

extern "C" __global__ void pairs_filled(pair *pairs) {
  pairs[threadIdx.x].letter = 'a';
  pairs[threadIdx.x].number = threadIdx.x;
}

extern "C" __global__ void pairs_read(int *out, const pair *pairs) {
  out[threadIdx.x] = pairs[threadIdx.x].letter + pairs[threadIdx.x].number;
}

extern "C" __global__ void words_read(int *out, const int *words) {
  int value = words[2 * threadIdx.x]; // words_read
  out[threadIdx.x] = value;
}
