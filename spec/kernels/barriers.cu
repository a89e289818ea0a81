// cuda::barrier, cuda::pipeline and the asynchronous copies under them.

#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda_awbarrier_primitives.h>
#include <cuda_pipeline.h>

extern "C" __global__ void phases(const int *a, int *o) {
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  __shared__ int s[128];
  int i = threadIdx.x;
  if (i == 0)
    init(&barrier, blockDim.x);
  __syncthreads();
  for (int k = 0; k < 3; k++) {
    s[i] = a[i] + k;
    auto token = barrier.arrive();
    barrier.wait(cuda::std::move(token));
    o[k * 128 + i] = s[127 - i];
    barrier.arrive_and_wait();
  }
}

extern "C" __global__ void dropped(int *o) {
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  __shared__ int s[128];
  int i = threadIdx.x;
  if (i == 0)
    init(&barrier, blockDim.x);
  s[i] = i;
  __syncthreads();
  if (i >= 64) { // half of the threads take no part in later phases
    s[i] = i * 2;
    barrier.arrive_and_drop();
    return;
  }
  barrier.arrive_and_wait();
  o[i] = s[i + 64];
  s[i] = i * 3;
  barrier.arrive_and_wait();
  o[64 + i] = s[63 - i];
}

extern "C" __global__ void copies_at_barrier(const int *a, int *o) {
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  __shared__ alignas(16) int s[128];
  int i = threadIdx.x;
  if (i == 0)
    init(&barrier, blockDim.x);
  __syncthreads();
  cuda::memcpy_async(s + i, a + i, cuda::aligned_size_t<4>(4), barrier);
  barrier.arrive_and_wait();
  o[i] = s[127 - i];
}

extern "C" __global__ void pipelined(const float *a, float *o, int n) {
  __shared__ float s[2][128];
  auto pipe = cuda::make_pipeline();
  int i = threadIdx.x;
  pipe.producer_acquire();
  cuda::memcpy_async(&s[0][i], a + i, cuda::aligned_size_t<4>(4), pipe);
  pipe.producer_commit();
  float r = 0;
  for (int k = 0; k < n; k++) {
    if (k + 1 < n) {
      pipe.producer_acquire();
      cuda::memcpy_async(&s[(k + 1) & 1][i], a + (k + 1) * 128 + i, cuda::aligned_size_t<4>(4), pipe);
      pipe.producer_commit();
      cuda::pipeline_consumer_wait_prior<1>(pipe);
    } else {
      cuda::pipeline_consumer_wait_prior<0>(pipe);
    }
    __syncthreads();
    r += s[k & 1][127 - i];
    __syncthreads();
    pipe.consumer_release();
  }
  o[i] = r;
}

extern "C" __global__ void primitive_copies(const float4 *a, float4 *o, const int *b, int *p, const double *c,
                                            double *q) {
  __shared__ float4 s[64];
  __shared__ int t[64];
  __shared__ double u[64];
  int i = threadIdx.x;
  __pipeline_memcpy_async(&s[i], a + i, 16);
  __pipeline_commit();
  __pipeline_memcpy_async(&t[i], b + i, 4);
  __pipeline_memcpy_async(&u[i], c + i, 8);
  __pipeline_commit();
  __pipeline_wait_prior(1);
  __syncthreads();
  o[i] = s[63 - i];
  __pipeline_wait_prior(0);
  __syncthreads();
  p[i] = t[63 - i];
  q[i] = u[63 - i];
}

#if __CUDA_ARCH__ >= 800
// The last bytes of a destination may be zeros instead of the source's.
extern "C" __global__ void zero_filled_copies(const int *a, int *o) {
  __shared__ __align__(16) int s[256];
  int i = threadIdx.x;
  unsigned at = (unsigned)__cvta_generic_to_shared(&s[4 * i]);
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(a + 4 * i), "r"(i % 5 * 4));
  asm volatile("cp.async.commit_group;");
  asm volatile("cp.async.wait_group 0;" ::: "memory");
  __syncthreads();
  for (int k = 0; k < 4; k++)
    o[4 * i + k] = s[4 * i + k];
}
#endif

extern "C" __global__ void primitive_barrier(const int *a, int *o) {
  __shared__ __mbarrier_t barrier;
  __shared__ int s[64];
  int i = threadIdx.x;
  if (i == 0)
    __mbarrier_init(&barrier, 64);
  __syncthreads();
  s[i] = a[i];
  __mbarrier_token_t token = __mbarrier_arrive(&barrier);
  while (!__mbarrier_test_wait(&barrier, token))
    ;
  o[i] = s[63 - i];
  __syncthreads();
  if (i == 0)
    __mbarrier_inval(&barrier);
}

#if __CUDA_ARCH__ >= 900
extern "C" __global__ void parity(const int *a, int *o) {
  __shared__ __align__(8) unsigned long long barrier;
  __shared__ int s[64];
  int i = threadIdx.x;
  unsigned at = (unsigned)__cvta_generic_to_shared(&barrier), done;
  if (i == 0)
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 64;" ::"r"(at) : "memory");
  __syncthreads();
  for (int phase = 0; phase < 4; phase++) {
    s[i] = a[i] * (phase + 1);
    asm volatile("{ .reg .b64 t; mbarrier.arrive.release.cta.shared::cta.b64 t, [%0]; }" ::"r"(at) : "memory");
    do
      asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 p, [%1], %2;"
                   " selp.u32 %0, 1, 0, p; }"
                   : "=r"(done)
                   : "r"(at), "r"(phase & 1)
                   : "memory");
    while (!done);
    o[phase * 64 + i] = s[63 - i];
    __syncthreads();
  }
}
#endif
