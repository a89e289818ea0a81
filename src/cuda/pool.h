/* pool.h: where the memory of a device comes from: a stream-ordered pool of our own, so that what other libraries set
 * on the device's default pool does not touch us; cudaMalloc where the device has no pools. */
#ifndef XCHG_CUDA_POOL_H
#define XCHG_CUDA_POOL_H

#include "core/tensor.h"

/* For all of these the device has been entered. */

/* The device's pool, made when it is first asked for; NULL in `*out` where it has none. 0 or an error. */
int xchg__pool_get(void **out, int32_t device, xchg_error *err);
/* Why the device has no pool; NULL where it has one or nobody has asked yet. */
const char *xchg__pool_refusal(int32_t device);
/* Gives unused memory back to the driver. */
void xchg__pool_trim(int32_t device);
/* Bytes of the pool: taken from the driver, and most that were in use at once. 0 where there is none. */
void xchg__pool_numbers(int32_t device, uint64_t *reserved, uint64_t *peak);

/* Lets `peer` use the memory of the device's pool, now and where it is made later. The runtime's answer. Whoever
 * enables access between two devices calls it. */
int xchg__pool_share(int32_t device, int32_t peer);

#endif
