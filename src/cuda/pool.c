#include "cuda/pool.h"

#include <pthread.h>

#include "cuda/failure.h"
#include "cuda/runtime.h"

enum {
  ATTRIBUTE_POOLS = 115,
  POOL_RELEASE_THRESHOLD = 4,
  POOL_RESERVED = 5,
  POOL_USED_MOST = 8,
  LOCATION_DEVICE = 1,
  ALLOCATION_PINNED = 1,
  ACCESS_READ_WRITE = 3
};

/* cudaMemPoolProps */
typedef struct {
  int32_t allocation, handles, location, device;
  void *security;
  uint64_t most;
  uint16_t usage;
  uint8_t reserved[54];
} pool_properties;
_Static_assert(sizeof(pool_properties) == 88, "cudaMemPoolProps of CUDA 12 and 13");

/* cudaMemAccessDesc */
typedef struct {
  int32_t location, device, flags;
} pool_access;

static struct {
  int32_t known;
  void *pool;
  const char *refusal;
  uint32_t peers; /* a bit for each */
} devices[XCHG_CUDA_MAX_DEVICES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int pool_open_to(int32_t device, int32_t peer) {
  pool_access access = {.location = LOCATION_DEVICE, .device = peer, .flags = ACCESS_READ_WRITE};
  return xchg__rt.cudaMemPoolSetAccess(devices[device].pool, &access, 1);
}

/* Frees stay in the pool, where the next allocation finds them without the driver; running out of memory trims it. */
static void pool_shape(int32_t device) {
  uint64_t threshold = UINT64_MAX;
  xchg__rt.cudaMemPoolSetAttribute(devices[device].pool, POOL_RELEASE_THRESHOLD, &threshold);
  for (int32_t peer = 0; peer < XCHG_CUDA_MAX_DEVICES; peer++)
    if (devices[device].peers & 1u << peer)
      pool_open_to(device, peer);
}

static int pool_make(int32_t device, xchg_error *err) {
  pool_properties properties = {.allocation = ALLOCATION_PINNED, .location = LOCATION_DEVICE, .device = device};
  int supported = 0, result = xchg__rt.cudaDeviceGetAttribute(&supported, ATTRIBUTE_POOLS, device);
  if (result != 0)
    return xchg__cuda_fail(err, result, "cudaDeviceGetAttribute", "empty: whether cuda:%d has memory pools", device);
  if (!supported) {
    devices[device].refusal = "the device does not support memory pools";
  } else {
    result = xchg__rt.cudaMemPoolCreate(&devices[device].pool, &properties);
    if (result == XCHG_CUDA_NOT_SUPPORTED) {
      xchg__rt.cudaGetLastError();
      devices[device].pool = NULL;
      devices[device].refusal = "cudaMemPoolCreate answers that it is not supported";
    } else if (result != 0) {
      devices[device].pool = NULL;
      return xchg__cuda_fail(err, result, "cudaMemPoolCreate", "empty: a memory pool on cuda:%d", device);
    } else {
      pool_shape(device);
    }
  }
  __atomic_store_n(&devices[device].known, 1, __ATOMIC_RELEASE);
  return 0;
}

int xchg__pool_get(void **out, int32_t device, xchg_error *err) {
  int code = 0;
  if (!__atomic_load_n(&devices[device].known, __ATOMIC_ACQUIRE)) {
    pthread_mutex_lock(&lock);
    if (!devices[device].known)
      code = pool_make(device, err);
    pthread_mutex_unlock(&lock);
  }
  *out = devices[device].pool;
  return code;
}

const char *xchg__pool_refusal(int32_t device) {
  return __atomic_load_n(&devices[device].known, __ATOMIC_ACQUIRE) ? devices[device].refusal : NULL;
}

void xchg__pool_trim(int32_t device) {
  void *pool = NULL;
  if (__atomic_load_n(&devices[device].known, __ATOMIC_ACQUIRE))
    pool = devices[device].pool;
  if (pool != NULL && xchg__rt.cudaMemPoolTrimTo(pool, 0) != 0)
    xchg__rt.cudaGetLastError();
}

void xchg__pool_numbers(int32_t device, uint64_t *reserved, uint64_t *peak) {
  void *pool = __atomic_load_n(&devices[device].known, __ATOMIC_ACQUIRE) ? devices[device].pool : NULL;
  *reserved = *peak = 0;
  if (pool != NULL && (xchg__rt.cudaMemPoolGetAttribute(pool, POOL_RESERVED, reserved) != 0 ||
                       xchg__rt.cudaMemPoolGetAttribute(pool, POOL_USED_MOST, peak) != 0))
    xchg__rt.cudaGetLastError();
}

int xchg__pool_share(int32_t device, int32_t peer) {
  int result = 0;
  pthread_mutex_lock(&lock);
  devices[device].peers |= 1u << peer;
  if (devices[device].pool != NULL)
    result = pool_open_to(device, peer);
  pthread_mutex_unlock(&lock);
  return result;
}
