/* address.h: addresses that came as bare numbers. */
#ifndef XCHG_CORE_ADDRESS_H
#define XCHG_CORE_ADDRESS_H

#include <stddef.h>

/* Whether the host can read `size` bytes (64 at most) there: 1 or 0; -1 where the system does not let itself be
 * asked. */
int xchg__address_readable(const void *address, size_t size);

#endif
