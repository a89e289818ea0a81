/* wanted.h: what the caller of an import asks for, compared with what a producer says or gives. */
#ifndef XCHG_EXCHANGE_WANTED_H
#define XCHG_EXCHANGE_WANTED_H

#include "exchange/descriptor.h"
#include "exchange/request.h"

/* Whether memory of a device is where it was asked for: on that device, or anywhere the host reads where that is the
 * CPU (managed memory only if `synchronised`: by the producer, which was asked for the CPU). */
int xchg__wanted_device(const xchg__request *request, DLDevice device, int synchronised);

/* Checks memory that will be taken: writable where that was asked for, and no copy (`flags` are those of a capsule)
 * where none was. `from` opens the messages. */
int xchg__wanted_check(const xchg__request *request, const xchg__checked *checked, uint64_t flags, const char *from,
                       xchg_error *err);

/* Checks a capsule's device against the one that its producer named before; device_type 0: it named none. */
int xchg__wanted_said(DLDevice said, const xchg__checked *checked, const char *from, xchg_error *err);

#endif
