/* Allocations and addresses. A device's memory is a reservation that the host cannot touch (what users see) beside a
   backing store of the same size; the distance between the two is one number for each device. Pinned, registered and
   managed memory is ordinary host memory with a record. Between two allocations of a device lie at least
   SIM_RED_ZONE bytes. */
#ifndef SIM_MEMORY_H
#define SIM_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device.h"

enum { SIM_ALIGNMENT = 512, SIM_RED_ZONE = 512 };

typedef enum {
  SIM_MEMORY_DEVICE,
  SIM_MEMORY_PINNED,     /* cudaHostAlloc, cudaMallocHost */
  SIM_MEMORY_REGISTERED, /* cudaHostRegister */
  SIM_MEMORY_MANAGED,
  SIM_MEMORY_MODULE, /* a variable of a module, in device memory */
  SIM_MEMORY_KINDS,
} sim_memory_kind;

typedef enum {
  SIM_STATE_LIVE,
  SIM_STATE_PENDING, /* cudaMallocAsync whose operation has not run */
  SIM_STATE_FREED,   /* kept a while, so that a later use can be told what it was */
} sim_memory_state;

struct sim_shadow; /* check.h */

typedef struct sim_allocation {
  uint64_t address; /* what the user sees */
  uint64_t size;    /* exactly what was asked for */
  uint8_t *host;    /* where the bytes of `address` are */
  sim_memory_kind kind;
  sim_memory_state state;
  int device; /* owner; for host memory the device that was current */
  sim_context *context;
  unsigned flags;              /* of cudaHostAlloc, cudaHostRegister, cudaMallocManaged */
  bool read_only;              /* for kernels: constant banks, cudaHostRegisterReadOnly */
  sim_pool *pool;              /* NULL: not from a pool */
  bool graph;                  /* of a graph's node: PENDING again where it is freed */
  bool graph_out;              /* one was enqueued that makes it live, none that frees it: graph_memory.c */
  uint32_t graph_nodes;        /* nodes and instantiated graphs that name it */
  bool freeing;                /* cudaFreeAsync was called, its operation has not run */
  uint64_t id;                 /* unique for ever: CU_POINTER_ATTRIBUTE_BUFFER_ID */
  const char *made_by;         /* static: the function that made it */
  uint64_t made;               /* the how manieth allocation of the process */
  const char *name;            /* a module variable's, borrowed from its module; else NULL */
  uint32_t pending;            /* operations enqueued and not yet run that name it (stream checks, frees) */
  struct sim_shadow *shadow;   /* made by the checkers on first use, freed with the allocation */
  struct sim_allocation *next; /* of freed host memory: memory.c */
} sim_allocation;

/* Makes the reservation of a device. */
int sim_memory_start(sim_device *device, uint64_t bytes);

/* The allocation that holds the byte at `address`, live, pending or freed; NULL: none. At most 100 ns with 1e5 of them.
   Host addresses find pinned, registered and managed memory. borrowed. */
sim_allocation *sim_memory_find(uint64_t address);

/* Whether it is in a device's memory: variables of modules are too, managed memory is the host's. */
static inline bool sim_memory_is_device(const sim_allocation *allocation) {
  return allocation->kind == SIM_MEMORY_DEVICE || allocation->kind == SIM_MEMORY_MODULE;
}

/* Makes device memory: filled with 0xCD (large ones at both ends: space.h). 2 where it does not fit (also a failure
   on command of this size). size 0 is for the caller to treat. */
int sim_memory_allocate(sim_allocation **out, sim_context *context, uint64_t size, sim_memory_kind kind,
                        const char *made_by);

/* The same out of a pool, which has counted the bytes; state PENDING. Host and managed pools too. */
int sim_memory_allocate_from(sim_allocation **out, sim_pool *pool, sim_context *context, uint64_t size,
                             const char *made_by);

/* Host memory: `host` NULL: allocated here, page-aligned; else registered (712 where a part already is, 1 where it
   is not there). */
int sim_memory_host(sim_allocation **out, sim_context *context, void *host, uint64_t size, sim_memory_kind kind,
                    unsigned flags, const char *made_by);

/* Makes it freed: filled with 0xDD, its bytes given back when later allocations need them; a pool is told.
   Registered memory is only forgotten: the record is gone unless operations name it. */
void sim_memory_release(sim_allocation *allocation);

/* Takes the record of freed memory out and frees it: its addresses are given out again. */
void sim_memory_forget(sim_allocation *allocation);

/* Bytes used of the device, with what pools hold. */
uint64_t sim_memory_used(const sim_device *device);

/* Releases everything that belongs to a context (reset, destroy). */
void sim_memory_release_context(sim_context *context);

/* "4 bytes past the end of the 400 bytes at 0x7f.. made by cudaMalloc (allocation 3)", "in memory that cudaFree ...",
   "in no allocation", for messages. */
void sim_memory_describe(uint64_t address, uint64_t size, char *text, size_t room);

/* What a copy is that no rule of peers and no read-only bank binds. */
enum { SIM_ANY_DEVICE = -1 };

/* Checks an access of [address, address + size) by `device` (or SIM_ANY_DEVICE): 0, or 700, with a sentence in text
   ("4 bytes past the end of ..."). Used by copies, sets and the slow path of the executor. *out: the allocation
   (borrowed), also with 700 where there is one. */
int sim_memory_access(sim_allocation **out, uint64_t address, uint64_t size, int device, bool write, char *text,
                      size_t room);

/* Live allocations by kind, for xsim_stats. */
uint64_t sim_memory_live(sim_memory_kind kind);

#endif
