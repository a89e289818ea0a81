/* request.h: what the caller of an import wants, and what the import needs of its caller before it can go on. */
#ifndef XCHG_EXCHANGE_REQUEST_H
#define XCHG_EXCHANGE_REQUEST_H

#include "core/tensor.h"
#include "dlpack.h"

/* Which of our streams the memory of a device is ordered for. */
typedef enum {
  XCHG_ORDER_CURRENT, /* the current one of its device */
  XCHG_ORDER_GIVEN,   /* `stream` */
  XCHG_ORDER_NONE,    /* none: the caller orders */
  XCHG_ORDER_ASK      /* the caller will say once the device is known */
} xchg__order;

/* How the stream that a producer names is waited for. */
typedef enum { XCHG_WAIT_NONE, XCHG_WAIT_EVENT, XCHG_WAIT_HOST } xchg__wait;

/* Whether the memory shall be a copy: where the producer cannot share it, always, never. */
typedef enum { XCHG_COPY_IF_NEEDED, XCHG_COPY_ALWAYS, XCHG_COPY_NEVER } xchg__copy;

/* Not an error: the import stopped, nothing was consumed, and `needed` says for which device CUDA must be opened, and
 * the stream told where the caller was to be asked. */
enum { XCHG_NEEDS = 2 };

/* Nor are these: the object has no protocol, but is a number, or holds other objects. */
enum { XCHG_IS_SCALAR = 3, XCHG_IS_SEQUENCE = 4 };

struct xchg__stacking; /* stack.h */

typedef struct {
  xchg_slots *slots;
  xchg__order order;
  xchg_cuda_stream *stream; /* with XCHG_ORDER_GIVEN. Borrowed */
  int without_cuda;         /* the caller could not open it: pinned memory is the host's */
  int writable;             /* read-only memory is refused */
  xchg__copy copy;          /* from_dlpack only, as all that follow */
  DLDevice device;          /* on which the memory shall be; device_type 0: where it is */
  int copied;               /* after success with XCHG_COPY_ALWAYS: the producer made a copy that is ours alone */
  int32_t dtype;            /* of raw items; XCHG_DTYPE_NONE: not said. Not from_dlpack */
  xchg__wait wait;          /* from_cai only, as all that follow */
  uint32_t allowed;         /* protocols that may be used, bit 1 << XCHG_PROTOCOL_*; 0: any */
  uint8_t protocols[16];    /* for xchg__resolve: XCHG_PROTOCOL_*, in the order in which they are asked */
  int protocol_count;
  int plain;        /* for xchg__resolve: numbers and sequences are told apart from what is neither */
  int64_t item;     /* for xchg__resolve_item: place in the list, from 0 */
  int32_t expected; /* for xchg__resolve_as: the dtype that it must have */
  const struct xchg__stacking *stacking; /* for xchg__stack */
  DLPackVersion version; /* of the DLPack that was read: 0.0 of a legacy capsule, and of other protocols */
  DLDevice needed;       /* after XCHG_NEEDS; device_id -1: not known yet */
  /* With XCHG_WAIT_HOST, after success: to be waited for without the GIL, which host functions in it may need. */
  void *unfinished;
  int32_t unfinished_device;
} xchg__request;

static inline int xchg__request_allows(const xchg__request *request, int protocol) {
  return request->allowed == 0 || (request->allowed >> protocol & 1) != 0;
}

#endif
