/* The address space of a device: a reservation that the host cannot touch, beside it the bytes; who gets which
   addresses, and how much of the device's memory is taken. */
#ifndef SIM_SPACE_H
#define SIM_SPACE_H

#include "memory.h"

/* Reserves several times `bytes`, so that freed addresses are not given out again soon; less where the process may
   not have so much. 2. */
int sim_space_start(int device, uint64_t bytes);

/* Counts bytes as taken: 2 where the device has not so many left. */
int sim_space_charge(int device, uint64_t bytes);
void sim_space_discharge(int device, uint64_t bytes);
uint64_t sim_space_used(int device);

/* Finds room for `size` bytes and a red zone behind them, filled with 0xCD as far as SIM_FILL goes. Records of freed
   memory that lie there are forgotten (sim_memory_forget). 2. */
int sim_space_place(uint64_t *address, uint8_t **host, int device, uint64_t size);

/* The bytes of memory that was freed: small ones are filled with 0xDD, whole pages of large ones go back to the
   system. */
void sim_space_clear(int device, uint8_t *host, uint64_t size);

/* At both ends of an allocation so many bytes are filled: filling gigabytes would take them from the machine. */
enum { SIM_FILL = 1 << 20 };
void sim_space_fill(uint8_t *host, uint64_t size, int value);

/* All zero, without taking pages that nobody touches. */
void sim_space_zero(uint8_t *host, uint64_t size);

#endif
