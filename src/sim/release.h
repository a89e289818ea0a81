/* Letting memory go, and registering the host's, as both APIs ask for it. */
#ifndef SIM_RELEASE_H
#define SIM_RELEASE_H

#include "memory.h"

/* Device or managed memory that begins at `address`: waits for its context first, so that nothing that was enqueued
   uses it later. 1 for what is none. 0 for address 0. */
int sim_release_device(uint64_t address, sim_context *context);

/* Pinned memory (1 for what is none), registered memory (713): what still uses it runs first, and the stream checker
   says so. */
int sim_release_pinned(void *pointer, const char *call);
int sim_release_registered(void *pointer, const char *call);

/* Registers `size` bytes that are mapped: 1 for memory that is not there or a device's, 712 where a part already is,
   801 for I/O memory. Flags of cudaHostRegister. */
int sim_release_register(void *pointer, size_t size, unsigned flags, sim_context *context, const char *call);

/* Pinned or registered memory that lives, at any of its bytes; else NULL. borrowed. */
const sim_allocation *sim_release_find_host(const void *pointer);

#endif
