// Kernels that end badly, or not at all.

#include <cuda/std/cassert>

extern "C" __global__ void waits(volatile int *flag) {
  while (*flag == 0) { // waits
  }
}

__device__ __noinline__ int down(int n, const int *before) {
  int frame[32];
  for (int i = 0; i < 32; i++) frame[i] = before[31 - i] + n;
  if (n == 0) return 0;
  return frame[n % 32] + down(n - 1, frame); // goes down
}

extern "C" __global__ void recurses(int *out, int depth) {
  int frame[32] = {};
  out[threadIdx.x] = down(depth, frame);
}

__device__ int *room_for(int n) {
  unsigned long long place;
  asm volatile("{ .reg .u64 room; alloca.u64 room, %1; cvta.local.u64 %0, room; }" // takes room
               : "=l"(place)
               : "l"(n * sizeof(int)));
  return reinterpret_cast<int *>(place);
}

extern "C" __global__ void takes_room(int *out, int n) {
  int *room = room_for(n);
  for (int i = 0; i < n; i++) room[i] = i;
  out[threadIdx.x] = room[n - 1];
}

extern "C" __global__ void asserts(const int *a) {
  assert(a[threadIdx.x] > 0);
}

extern "C" __global__ void traps(const int *a) {
  if (a[threadIdx.x] < 0) {
    __trap(); // traps
  }
}

__device__ int twice(int x) { return 2 * x; }
__device__ int thrice(int x) { return 3 * x; }
__device__ int (*const table[2])(int) = {twice, thrice};

extern "C" __global__ void calls(int *out, const unsigned long long *wild, int index) {
  int (*f)(int) = table[threadIdx.x & 1];
  if (index == (int)threadIdx.x) f = reinterpret_cast<int (*)(int)>(*wild);
  out[threadIdx.x] = f(threadIdx.x); // calls
}

extern "C" __global__ void prints(int lines) {
  for (int i = 0; i < lines; i++) printf("line %d of %d, which is not short at all\n", i, lines);
}

extern "C" __global__ void prints_a_wild_text(const char *text) {
  printf("%s\n", text); // prints
}
