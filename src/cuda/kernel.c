#include "cuda/kernel.h"

#include <stdlib.h>
#include <string.h>

#include "cuda/failure.h"
#include "cuda/graph.h"
#include "cuda/guard.h"
#include "cuda/library.h"
#include "cuda/pending.h"
#include "cuda/runtime.h"

/* Numbers of cudaDeviceAttr */
enum {
  MAX_BLOCK_X = 2,
  MAX_GRID_X = 5,
  WARP_SIZE = 10,
  MULTIPROCESSORS = 16,
  THREADS_PER_MULTIPROCESSOR = 39,
  COOPERATIVE_LAUNCH = 95,
  SHARED_OPTIN = 97,
  CLUSTER_LAUNCH = 120
};
enum { SET_DYNAMIC_SHARED = 8 /* of cudaFuncSetAttribute */ };

/* cudaFuncAttributes, as every runtime from 12 on begins it. */
typedef union {
  struct {
    size_t shared, constant, local;
    int max_threads, registers, ptx, binary, cache, dynamic, carveout, must_cluster, cluster[3];
  } known;
  char room[256];
} attributes;

/* ---- a kernel ----------------------------------------------------------------------------------- */

int32_t xchg_cuda_kernel_new(xchg_cuda_kernel **out, xchg_cuda_library *library, const char *name, const char *shown,
                             const int32_t *required, xchg_error *err) {
  const void *handle = xchg_cuda_library_kernel(library, name, err);
  xchg_cuda_kernel *kernel;
  *out = NULL;
  if (handle == NULL)
    return xchg__error_code(err, XCHG_E_CUDA);
  kernel = calloc(1, sizeof *kernel);
  if (kernel == NULL || (kernel->name = xchg__pending_name(shown)) == NULL) {
    free(kernel);
    return xchg__error_set(err, XCHG_E_MEMORY, "kernel: no memory for %s", shown);
  }
  xchg__library_retain(library);
  kernel->library = library;
  kernel->handle = handle;
  if (required != NULL)
    memcpy(kernel->required, required, sizeof kernel->required);
  *out = kernel;
  return 0;
}

void xchg_cuda_kernel_release(xchg_cuda_kernel *kernel) {
  if (kernel == NULL)
    return;
  for (int i = 0; i < XCHG_CUDA_MAX_DEVICES; i++)
    free(kernel->devices[i]);
  xchg_cuda_library_release(kernel->library);
  free(kernel);
}

/* ---- on a device -------------------------------------------------------------------------------- */

static int device_read(xchg_cuda_kernel_facts *facts, int32_t device, int *optin) {
  struct {
    int number;
    int32_t *to;
  } rows[] = {
      {MAX_BLOCK_X, &facts->max_block[0]},
      {MAX_BLOCK_X + 1, &facts->max_block[1]},
      {MAX_BLOCK_X + 2, &facts->max_block[2]},
      {MAX_GRID_X, &facts->max_grid[0]},
      {MAX_GRID_X + 1, &facts->max_grid[1]},
      {MAX_GRID_X + 2, &facts->max_grid[2]},
      {WARP_SIZE, &facts->warp},
      {MULTIPROCESSORS, &facts->multiprocessors},
      {THREADS_PER_MULTIPROCESSOR, &facts->threads_per_multiprocessor},
      {COOPERATIVE_LAUNCH, &facts->has_cooperative},
      {CLUSTER_LAUNCH, &facts->has_clusters},
      {SHARED_OPTIN, optin},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    int result = xchg__rt.cudaDeviceGetAttribute(rows[i].to, rows[i].number, device);
    if (result != 0)
      return result;
  }
  return 0;
}

/* Asking a kernel for its attributes may load it, which a capture on this thread would forbid. */
static int attributes_read(attributes *out, const void *kernel) {
  int mode, result;
  xchg__graph_relax(&mode);
  result = xchg__rt.cudaFuncGetAttributes(out, kernel);
  xchg__graph_restore(mode);
  return result;
}

xchg_cuda_kernel_facts *xchg__kernel_facts(xchg_cuda_kernel *kernel, int32_t device, xchg_error *err) {
  xchg_cuda_kernel_facts *facts = kernel->devices[device];
  attributes asked;
  int result, optin = 0;
  if (facts != NULL)
    return facts;
  facts = calloc(1, sizeof *facts);
  if (facts == NULL) {
    xchg__error_set(err, XCHG_E_MEMORY, "kernel: no memory for what cuda:%d says of %s", device, kernel->name);
    return NULL;
  }
  memset(&asked, 0, sizeof asked);
  if ((result = attributes_read(&asked, kernel->handle)) != 0) {
    xchg__cuda_fail(err, result, "cudaFuncGetAttributes", "launch: loading %s on cuda:%d", kernel->name, device);
  } else if ((result = device_read(facts, device, &optin)) != 0) {
    xchg__cuda_fail(err, result, "cudaDeviceGetAttribute", "launch: asking cuda:%d", device);
  } else {
    facts->shared_bytes = (int64_t)asked.known.shared;
    facts->constant_bytes = (int64_t)asked.known.constant;
    facts->local_bytes = (int64_t)asked.known.local;
    facts->dynamic_shared_free = asked.known.dynamic;
    facts->dynamic_shared_bytes = optin > facts->shared_bytes ? optin - facts->shared_bytes : 0;
    if (facts->dynamic_shared_bytes < facts->dynamic_shared_free)
      facts->dynamic_shared_bytes = facts->dynamic_shared_free;
    facts->max_threads = asked.known.max_threads;
    facts->registers = asked.known.registers;
    facts->ptx_version = asked.known.ptx;
    facts->binary_version = asked.known.binary;
    memcpy(facts->required_cluster, asked.known.cluster, sizeof facts->required_cluster);
    return kernel->devices[device] = facts;
  }
  free(facts);
  return NULL;
}

int xchg__kernel_allow(xchg_cuda_kernel *kernel, int32_t device, uint64_t shared, xchg_error *err) {
  xchg_cuda_kernel_facts *facts = xchg__kernel_facts(kernel, device, err);
  int result;
  if (facts == NULL)
    return xchg__error_code(err, XCHG_E_CUDA);
  if (shared <= (uint64_t)facts->dynamic_shared_free)
    return 0;
  if (shared > (uint64_t)facts->dynamic_shared_bytes)
    return xchg__error_set(
        err, XCHG_E_RANGE,
        "launch: %llu bytes of dynamic shared memory do not fit: cuda:%d gives a block of this kernel "
        "%lld at most, besides the %lld of its own; ask for fewer",
        (unsigned long long)shared, device, (long long)facts->dynamic_shared_bytes, (long long)facts->shared_bytes);
  /* All that the device gives, once: nobody who launches the same kernel loses what it had. */
  result = xchg__rt.cudaFuncSetAttribute(kernel->handle, SET_DYNAMIC_SHARED, (int)facts->dynamic_shared_bytes);
  if (result != 0)
    return xchg__cuda_fail(err, result, "cudaFuncSetAttribute", "launch: %lld bytes of dynamic shared memory for %s",
                           (long long)facts->dynamic_shared_bytes, kernel->name);
  facts->dynamic_shared_free = facts->dynamic_shared_bytes;
  return 0;
}

int32_t xchg_cuda_kernel_on(const xchg_cuda_kernel_facts **out, xchg_cuda_kernel *kernel, int32_t device,
                            xchg_error *err) {
  xchg__cuda_guard guard;
  int32_t code;
  *out = NULL;
  if ((code = xchg__cuda_enter(&guard, device, err)) != 0)
    return code;
  *out = xchg__kernel_facts(kernel, device, err);
  xchg__cuda_leave(&guard);
  return *out != NULL ? 0 : xchg__error_code(err, XCHG_E_CUDA);
}

/* ---- a configuration ---------------------------------------------------------------------------- */

static int block_check(const xchg_cuda_frame *frame, const xchg_cuda_kernel_facts *facts, int32_t device,
                       xchg_error *err) {
  static const char axes[] = "xyz";
  const uint32_t *block = frame->block, *grid = frame->grid;
  const int32_t *required = frame->kernel->required;
  uint64_t threads = (uint64_t)block[0] * block[1] * block[2];
  for (int i = 0; i < 3; i++) {
    if (block[i] == 0)
      return xchg__error_set(err, XCHG_E_RANGE, "launch: block.%c is 0; a block has at least one thread", axes[i]);
    if (block[i] > (uint32_t)facts->max_block[i])
      return xchg__error_set(err, XCHG_E_RANGE, "launch: block.%c is %u; cuda:%d allows %d at most", axes[i], block[i],
                             device, facts->max_block[i]);
    if (grid[i] > (uint32_t)facts->max_grid[i])
      return xchg__error_set(
          err, XCHG_E_RANGE,
          "launch: grid.%c is %u; cuda:%d allows %d at most (x takes the most: put the longest there)", axes[i],
          grid[i], device, facts->max_grid[i]);
  }
  if (required[0] != 0 &&
      (block[0] != (uint32_t)required[0] || block[1] != (uint32_t)required[1] || block[2] != (uint32_t)required[2]))
    return xchg__error_set(err, XCHG_E_RANGE,
                           "launch: a block of %u x %u x %u threads; the kernel was compiled for %d x %d x %d and runs "
                           "with nothing else",
                           block[0], block[1], block[2], required[0], required[1], required[2]);
  if (threads > (uint64_t)facts->max_threads)
    return xchg__error_set(err, XCHG_E_RANGE,
                           "launch: a block of %llu threads (%u x %u x %u) on cuda:%d, where this kernel allows %d (%d "
                           "registers a thread); take smaller blocks, or compile with __launch_bounds__",
                           (unsigned long long)threads, block[0], block[1], block[2], device, facts->max_threads,
                           facts->registers);
  return 0;
}

static int cooperative_check(const xchg_cuda_frame *frame, const xchg_cuda_kernel_facts *facts, int32_t device,
                             xchg_error *err) {
  uint64_t blocks = (uint64_t)frame->grid[0] * frame->grid[1] * frame->grid[2];
  int resident = 0, code;
  if (!facts->has_cooperative)
    return xchg__error_set(err, XCHG_E_DEVICE,
                           "launch: cooperative launches are beyond cuda:%d; leave cooperative away", device);
  code = xchg__kernel_resident(&resident, frame->kernel, (int32_t)(frame->block[0] * frame->block[1] * frame->block[2]),
                               frame->shared, err);
  if (code != 0)
    return code;
  if (blocks > (uint64_t)resident * (uint64_t)facts->multiprocessors)
    return xchg__error_set(
        err, XCHG_E_RANGE,
        "launch: a cooperative grid of %llu blocks does not fit on cuda:%d at once: %d blocks of this "
        "kernel do (%d on each of %d multiprocessors); launch at most so many and loop in the kernel",
        (unsigned long long)blocks, device, resident * facts->multiprocessors, resident, facts->multiprocessors);
  return 0;
}

static int cluster_check(const xchg_cuda_frame *frame, const xchg_cuda_kernel_facts *facts, int32_t device,
                         xchg_error *err) {
  static const char axes[] = "xyz";
  if (!facts->has_clusters)
    return xchg__error_set(err, XCHG_E_DEVICE,
                           "launch: clusters of blocks are beyond cuda:%d (they need compute capability 9.0); leave "
                           "cluster away",
                           device);
  for (int i = 0; i < 3; i++) {
    if (frame->cluster[i] == 0 || frame->grid[i] % frame->cluster[i] != 0)
      return xchg__error_set(err, XCHG_E_RANGE,
                             "launch: grid.%c is %u, no multiple of cluster.%c, which is %u; grids count blocks",
                             axes[i], frame->grid[i], axes[i], frame->cluster[i]);
    if (facts->required_cluster[i] != 0 && frame->cluster[i] != (uint32_t)facts->required_cluster[i])
      return xchg__error_set(err, XCHG_E_RANGE, "launch: cluster.%c is %u; the kernel was compiled for %d", axes[i],
                             frame->cluster[i], facts->required_cluster[i]);
  }
  return 0;
}

int xchg__kernel_check(xchg_cuda_frame *frame, int32_t device, xchg_error *err) {
  xchg_cuda_kernel_facts *facts = xchg__kernel_facts(frame->kernel, device, err);
  int code;
  if (facts == NULL)
    return xchg__error_code(err, XCHG_E_CUDA);
  if ((code = block_check(frame, facts, device, err)) != 0 ||
      (code = xchg__kernel_allow(frame->kernel, device, frame->shared, err)) != 0)
    return code;
  if (frame->flags & XCHG_CUDA_LAUNCH_COOPERATIVE && (code = cooperative_check(frame, facts, device, err)) != 0)
    return code;
  if (frame->flags & XCHG_CUDA_LAUNCH_CLUSTER && (code = cluster_check(frame, facts, device, err)) != 0)
    return code;
  return 0;
}
