/* device.h: devices as C files of this folder need them. */
#ifndef XCHG_CUDA_DEVICE_H
#define XCHG_CUDA_DEVICE_H

#include "core/error.h"

/* Lets kernels and copies of `device` reach memory of `peer`, for the rest of the process. The same again, or somebody
 * else's, does nothing. 0; XCHG_E_DEVICE where the machine cannot. */
int xchg__cuda_peer_enable(int32_t device, int32_t peer, xchg_error *err);

#endif
