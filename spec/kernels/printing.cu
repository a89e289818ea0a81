// printf, and the three ways in which a kernel ends itself or is ended.

#include <cuda/std/cassert>

extern "C" __global__ void prints(int n, float f) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  printf("thread %d of %d: %5.2f|%-6s|%c|%lld|%u|%x|%%\n", i, n, f * i, i & 1 ? "odd" : "even", 'a' + i, (long long)i << 33,
         7u - i, 255 + i);
}

extern "C" __global__ void prints_formats() {
  if (threadIdx.x == 0) {
    printf("plain\n");
    printf("%e %g %G %a\n", 12345.678, 0.0001, 1e20, 1.0);
    printf("[%8d] [%-8d] [%08d] [%+d] [% d] [%*d]\n", 42, 42, 42, 42, 42, 6, 42);
    printf("[%o] [%#x] [%#o] [%X] [%hd] [%hu]\n", 8, 255, 8, 48879, 70000, 70001);
    printf("[%lu] [%llx] [%i] [%.3s] [%10.4f]\n", 1ul << 40, 0xabcdefull << 20, -7, "abcdef", 3.14159265);
    printf("%s%s\n", "", "two strings");
  }
}

extern "C" __global__ void asserts(const int *a) {
  assert(a[threadIdx.x] > 0);
}

extern "C" __global__ void traps(const int *a) {
  if (a[threadIdx.x] < 0)
    __trap();
}

extern "C" __global__ void leaves_memory(int *o, long long far) {
  o[threadIdx.x * far] = 1;
}

extern "C" __global__ void misaligned(char *o) {
  *(int *)(o + 4 * threadIdx.x + 1) = 1;
}
