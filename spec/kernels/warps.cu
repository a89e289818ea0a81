// What the lanes of a warp do together.

extern "C" __global__ void votes(const int *a, unsigned *o) {
  int i = threadIdx.x;
  unsigned all = ~0u, *r = o + i * 6;
  r[0] = __all_sync(all, a[i] > 0);
  r[1] = __any_sync(all, a[i] > 90);
  r[2] = __ballot_sync(all, a[i] & 1);
  r[3] = __activemask();
  int same;
  asm volatile("{ .reg .pred p, q; setp.gt.s32 p, %1, 50; vote.sync.uni.pred q, p, 0xffffffff; selp.s32 %0, 1, 0, q; }"
               : "=r"(same)
               : "r"(a[i]));
  r[4] = same;
  r[5] = 0;
  if (i % 3 == 0) // lanes 0, 3, ... of the first warp, 1, 4, ... of the second
    r[5] = __ballot_sync(i < 32 ? 0x49249249u : 0x92492492u, a[i] > 20);
}

extern "C" __global__ void matches(const int *a, unsigned *o) {
  int i = threadIdx.x, p;
  unsigned *r = o + i * 6;
  r[0] = __match_any_sync(~0u, a[i]);
  r[1] = __match_any_sync(~0u, (long long)a[i] << 33);
  r[2] = __match_all_sync(~0u, a[i], &p);
  r[3] = p;
  r[4] = __match_all_sync(~0u, i / 32, &p);
  r[5] = p;
}

extern "C" __global__ void shuffles(const int *a, int *o) {
  int i = threadIdx.x, x = a[i], *r = o + i * 9;
  r[0] = __shfl_sync(~0u, x, 5);
  r[1] = __shfl_sync(~0u, x, i + 3, 8);
  r[2] = __shfl_up_sync(~0u, x, 1);
  r[3] = __shfl_up_sync(~0u, x, 3, 16);
  r[4] = __shfl_down_sync(~0u, x, 2);
  r[5] = __shfl_down_sync(~0u, x, 2, 4);
  r[6] = __shfl_xor_sync(~0u, x, 16);
  r[7] = __shfl_xor_sync(~0u, x, 3, 8);
  r[8] = __shfl_sync(~0u, x, x & 31);
}

extern "C" __global__ void wide_shuffles(const double *a, double *o, const long long *b, long long *p) {
  int i = threadIdx.x;
  o[i] = __shfl_xor_sync(~0u, a[i], 1) + __shfl_up_sync(~0u, a[i], 7);
  p[i] = __shfl_sync(~0u, b[i], 31 - i % 32);
}

// Halves of a warp that shuffle in different arms of a branch.
extern "C" __global__ void half_warps(const int *a, int *o) {
  int i = threadIdx.x;
  if (i % 32 < 16)
    o[i] = __shfl_xor_sync(0x0000ffffu, a[i], 1) * 2;
  else
    o[i] = __shfl_xor_sync(0xffff0000u, a[i], 2) * 3;
}

extern "C" __global__ void predicate_of_shuffle(const int *a, int *o) {
  int i = threadIdx.x, x, p;
  asm volatile("{ .reg .pred p; shfl.sync.up.b32 %0|p, %2, 4, 0, 0xffffffff; selp.s32 %1, 1, 0, p; }"
               : "=r"(x), "=r"(p)
               : "r"(a[i]));
  o[i * 2] = x;
  o[i * 2 + 1] = p;
}

extern "C" __global__ void warp_sum(const float *a, float *o) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = a[i];
  for (int s = 16; s > 0; s >>= 1)
    x += __shfl_down_sync(~0u, x, s);
  if (i % 32 == 0)
    o[i / 32] = x;
}

extern "C" __global__ void warp_scan(const int *a, int *o) {
  int i = threadIdx.x, x = a[i];
  for (int s = 1; s < 32; s <<= 1) {
    int y = __shfl_up_sync(~0u, x, s);
    if (i % 32 >= s)
      x += y;
  }
  o[i] = x;
}

extern "C" __global__ void diverged_masks(unsigned *o) {
  int i = threadIdx.x;
  unsigned m = 0;
  if (i % 3 == 0)
    m = __activemask();
  o[i] = m;
}

extern "C" __global__ void lane_registers(unsigned *o) {
  int i = threadIdx.x;
  unsigned *r = o + i * 7;
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(r[0]));
  asm volatile("mov.u32 %0, %%lanemask_eq;" : "=r"(r[1]));
  asm volatile("mov.u32 %0, %%lanemask_lt;" : "=r"(r[2]));
  asm volatile("mov.u32 %0, %%lanemask_le;" : "=r"(r[3]));
  asm volatile("mov.u32 %0, %%lanemask_gt;" : "=r"(r[4]));
  asm volatile("mov.u32 %0, %%lanemask_ge;" : "=r"(r[5]));
  r[6] = warpSize;
}

#if __CUDA_ARCH__ >= 800
extern "C" __global__ void reductions(const int *a, int *o) {
  int i = threadIdx.x, *r = o + i * 8;
  r[0] = __reduce_add_sync(~0u, a[i]);
  r[1] = __reduce_min_sync(~0u, a[i]);
  r[2] = __reduce_max_sync(~0u, a[i]);
  r[3] = __reduce_and_sync(~0u, (unsigned)a[i]);
  r[4] = __reduce_or_sync(~0u, (unsigned)a[i]);
  r[5] = __reduce_xor_sync(~0u, (unsigned)a[i]);
  r[6] = __reduce_min_sync(~0u, (unsigned)a[i]);
  r[7] = __reduce_max_sync(~0u, (unsigned)a[i]);
}
#endif

#if __CUDA_ARCH__ >= 900
extern "C" __global__ void elected(unsigned *o) {
  int i = threadIdx.x;
  unsigned leader, chosen;
  asm volatile("{ .reg .pred p; elect.sync %0|p, 0xffffffff; selp.u32 %1, 1, 0, p; }" : "=r"(leader), "=r"(chosen));
  unsigned count = __popc(__ballot_sync(~0u, chosen));
  o[i] = count == 1 && leader < 32;
}
#endif
