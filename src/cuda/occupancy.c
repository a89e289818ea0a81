/* occupancy.c: how a kernel fills a device. */
#include "cuda/failure.h"
#include "cuda/guard.h"
#include "cuda/kernel.h"
#include "cuda/runtime.h"

enum { GOOD_BLOCK = 256 };

int xchg__kernel_resident(int *blocks, xchg_cuda_kernel *kernel, int32_t threads, uint64_t shared, xchg_error *err) {
  int result = xchg__rt.cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, kernel->handle, threads, (size_t)shared);
  if (result != 0)
    return xchg__cuda_fail(err, result, "cudaOccupancyMaxActiveBlocksPerMultiprocessor",
                           "occupancy: blocks of %d threads of %s", threads, kernel->name);
  return 0;
}

static int threads_check(const xchg_cuda_kernel_facts *facts, int32_t device, int32_t threads, xchg_error *err) {
  if (threads >= 1 && threads <= facts->max_threads)
    return 0;
  return xchg__error_set(err, XCHG_E_RANGE, "occupancy: blocks of %d threads; this kernel allows 1 to %d on cuda:%d",
                         threads, facts->max_threads, device);
}

int32_t xchg_cuda_kernel_occupancy(int32_t *blocks, xchg_cuda_kernel *kernel, int32_t device, int32_t threads,
                                   int64_t shared, xchg_error *err) {
  xchg__cuda_guard guard;
  const xchg_cuda_kernel_facts *facts;
  int32_t code;
  *blocks = 0;
  if ((code = xchg__cuda_enter(&guard, device, err)) != 0)
    return code;
  if ((facts = xchg__kernel_facts(kernel, device, err)) == NULL)
    code = xchg__error_code(err, XCHG_E_CUDA);
  else if ((code = threads_check(facts, device, threads, err)) == 0 &&
           (code = xchg__kernel_allow(kernel, device, (uint64_t)shared, err)) == 0)
    code = xchg__kernel_resident(blocks, kernel, threads, (uint64_t)shared, err);
  xchg__cuda_leave(&guard);
  return code;
}

/* Whole warps, from the largest block down: more threads at once win; of equals the smaller block, which leaves less
 * idle at the end of a grid, down to GOOD_BLOCK. */
static int suggest(int32_t *threads, xchg_cuda_kernel *kernel, const xchg_cuda_kernel_facts *facts, int64_t shared,
                   xchg_error *err) {
  int64_t best = -1;
  for (int32_t block = facts->max_threads / facts->warp * facts->warp; block >= facts->warp; block -= facts->warp) {
    int resident, code = xchg__kernel_resident(&resident, kernel, block, (uint64_t)shared, err);
    if (code != 0)
      return code;
    int64_t active = (int64_t)resident * block;
    if (active > best || (active == best && block >= GOOD_BLOCK)) {
      best = active;
      *threads = block;
    }
  }
  if (best < 0) /* fewer threads than a warp */
    *threads = facts->max_threads;
  return 0;
}

int32_t xchg_cuda_kernel_suggest(int32_t *threads, xchg_cuda_kernel *kernel, int32_t device, int64_t shared,
                                 xchg_error *err) {
  xchg__cuda_guard guard;
  const xchg_cuda_kernel_facts *facts;
  int32_t code;
  *threads = 0;
  if ((code = xchg__cuda_enter(&guard, device, err)) != 0)
    return code;
  if ((facts = xchg__kernel_facts(kernel, device, err)) == NULL)
    code = xchg__error_code(err, XCHG_E_CUDA);
  else if (kernel->required[0] != 0)
    *threads = kernel->required[0] * kernel->required[1] * kernel->required[2];
  else if ((code = xchg__kernel_allow(kernel, device, (uint64_t)shared, err)) == 0)
    code = suggest(threads, kernel, facts, shared, err);
  xchg__cuda_leave(&guard);
  return code;
}

int32_t xchg_cuda_kernel_available(int64_t *bytes, xchg_cuda_kernel *kernel, int32_t device, int32_t blocks,
                                   int32_t threads, xchg_error *err) {
  xchg__cuda_guard guard;
  const xchg_cuda_kernel_facts *facts;
  size_t size = 0;
  int32_t code;
  int result;
  *bytes = 0;
  if ((code = xchg__cuda_enter(&guard, device, err)) != 0)
    return code;
  if ((facts = xchg__kernel_facts(kernel, device, err)) == NULL)
    code = xchg__error_code(err, XCHG_E_CUDA);
  else if ((code = threads_check(facts, device, threads, err)) == 0) {
    result = xchg__rt.cudaOccupancyAvailableDynamicSMemPerBlock(&size, kernel->handle, blocks, threads);
    if (result != 0)
      code = xchg__cuda_fail(err, result, "cudaOccupancyAvailableDynamicSMemPerBlock",
                             "occupancy: %d blocks of %d threads of %s", blocks, threads, kernel->name);
    *bytes = (int64_t)size;
  }
  xchg__cuda_leave(&guard);
  return code;
}

int32_t xchg_cuda_kernel_cluster(int32_t *blocks, xchg_cuda_kernel *kernel, int32_t device, int32_t threads,
                                 int64_t shared, xchg_error *err) {
  xchg_cuda_frame frame = {.grid = {1, 1, 1}, .block = {(uint32_t)threads, 1, 1}, .shared = (uint64_t)shared};
  xchg__cuda_guard guard;
  int32_t code;
  *blocks = 0;
  if ((code = xchg__cuda_enter(&guard, device, err)) != 0)
    return code;
  if ((code = xchg__kernel_allow(kernel, device, (uint64_t)shared, err)) == 0) {
    int result = xchg__rt.cudaOccupancyMaxPotentialClusterSize(blocks, kernel->handle, &frame);
    if (result != 0)
      code = xchg__cuda_fail(err, result, "cudaOccupancyMaxPotentialClusterSize",
                             "occupancy: clusters of blocks of %d threads of %s", threads, kernel->name);
  }
  xchg__cuda_leave(&guard);
  return code;
}
