/* Whether memory of the host that nobody told us of is there: a wrong pointer is answered with an error, not with a
   crash. */
#ifndef SIM_HOST_H
#define SIM_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether each byte of the range can be read, or written. About 0.3 us for a page, 0.1 ms from a MiB on. */
bool sim_host_usable(uint64_t address, uint64_t size, bool write);

typedef struct {
  void *to;
  const void *from; /* of the user: not trusted */
  size_t size;
} sim_host_piece;

/* Copies pieces (at most 64) from memory that may not be there; false where one is not. About 0.5 us. */
bool sim_host_read(const sim_host_piece *pieces, size_t count);

#endif
