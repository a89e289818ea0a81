/* What is known of an address. */
#ifndef SIM_POINTER_H
#define SIM_POINTER_H

#include "memory.h"

/* cudaPointerGetAttributes. type: 0 unregistered, 1 host, 2 device, 3 managed. */
typedef struct {
  int type, device;
  uint64_t device_pointer, host_pointer;
} sim_pointer;

/* Unregistered memory: type 0, device -2. */
void sim_pointer_get(uint64_t address, sim_pointer *out);

/* cuPointerGetAttribute by its number, written to `data` in the attribute's own type: 0; 1 for an address without
   allocation (a zeroed value where `zero_unknown`, as the plural function does) or an unknown attribute. */
int sim_pointer_attribute(uint64_t address, int attribute, void *data, bool zero_unknown);

/* cuMemGetAddressRange: 500 (NOT_FOUND) without an allocation. Both outputs may be NULL. */
int sim_pointer_range(uint64_t address, uint64_t *base, uint64_t *size);

#endif
