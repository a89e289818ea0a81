/* order.h: memory of CUDA devices that others made: whether it is what they say, and when it may be used. */
#ifndef XCHG_EXCHANGE_ORDER_H
#define XCHG_EXCHANGE_ORDER_H

#include "cuda/memory.h"
#include "exchange/descriptor.h"
#include "exchange/request.h"

/* Memory that work on streams is ordered for: of a CUDA device, or managed. */
int xchg__order_applies(int32_t device_type);

/* Makes sure that CUDA can be asked about the device, as memory of CUDA needs it; of pinned memory only whether there
 * is one is asked. 0, XCHG_NEEDS, or an error. `from` opens the messages. */
int xchg__order_open(xchg__request *request, DLDevice device, const char *from, xchg_error *err);
/* The same where the device is not known yet. */
int xchg__order_open_any(xchg__request *request, xchg_error *err);

/* The stream of ours that an array on `device` is for, in *out; NULL where nothing shall be ordered. Where CUDA is open
 * and the device applies. 0, XCHG_NEEDS, or an error. */
int xchg__order_stream(xchg_cuda_stream **out, xchg__request *request, DLDevice device, xchg_error *err);

/* Compares what a producer says of its memory (checked) with what the driver knows of it: the device, and whether the
 * whole array is inside its allocation. Where there is nothing to ask, it is right: other memory than CUDA's, an array
 * without elements. */
int xchg__order_verify(const xchg__checked *checked, const char *from, xchg_error *err);
int xchg__order_verify_range(const xchg__checked *checked, const xchg__memory_place *place, const char *from,
                             xchg_error *err);

/* Blocks until a stream of somebody's has passed. */
int xchg__order_wait(void *stream, int32_t device, xchg_error *err);

#endif
