/* Devices and contexts. */
#ifndef SIM_DEVICE_H
#define SIM_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "config.h"

typedef struct sim_stream sim_stream;
typedef struct sim_pool sim_pool;
typedef struct sim_device sim_device;
typedef struct sim_context sim_context;

enum { SIM_LIMITS = 16 };

/* A context. The primary one of each device is part of the device and only becomes active and inactive; cuCtxCreate
   makes others. Handles of contexts are checked with sim_context_check before use. */
struct sim_context {
  sim_device *device;
  bool primary, active;
  unsigned flags;
  int lost; /* 0, or the sticky result that every later call answers */
  uint64_t id;
  uint64_t limits[SIM_LIMITS]; /* cudaLimit: 0 stack, 1 printf fifo, 2 malloc heap, ... */
  uint32_t peers;              /* bit d: memory of device d may be used by kernels and copies of this context */
  int cache_config, shared_config;
  sim_stream *streams; /* all of this context, linked by sim_stream; owned by stream.c */
  sim_stream *legacy,
      *per_thread;   /* made on first use; per_thread: one for each thread, listed in streams: the one used last */
  sim_context *next; /* contexts of cuCtxCreate */
};

struct sim_device {
  int ordinal;
  char name[64]; /* "Simulated CUDA device (sm_90)" */
  uint8_t uuid[16];
  sim_context primary;
  int retained;           /* cuDevicePrimaryCtxRetain */
  sim_pool *current_pool; /* cudaDeviceSetMemPool; NULL: the default one (pool.c) */
};

/* Makes the devices; sim_call_enter does it. */
int sim_device_start(void);
bool sim_device_started(void);
int sim_device_count(void);

/* borrowed; NULL for an ordinal that is none. */
sim_device *sim_device_get(int ordinal);

/* An attribute by the number that both APIs share (cudaDeviceAttr = CUdevice_attribute); 1 for an unknown number. */
int sim_device_attribute(const sim_device *device, int attribute, int *value);

/* Fills a cudaDeviceProp: `version` 12 or 13 chooses the layout (cudaGetDeviceProperties_v2, cudaGetDeviceProperties
   of 13). */
void sim_device_properties(const sim_device *device, int version, void *properties);

/* The device's limits that launches are checked against. */
typedef struct {
  uint32_t threads_per_block; /* 1024 */
  uint32_t block[3], grid[3];
  uint32_t shared_per_block;               /* 48 KiB: without opting in */
  uint32_t shared_opt_in;                  /* by capability */
  uint32_t shared_per_sm, shared_reserved; /* reserved: 1 KiB from 8.0 on */
  uint32_t registers_per_block, registers_per_sm;
  uint32_t threads_per_sm, blocks_per_sm, warps_per_sm;
  uint32_t constant_bytes; /* 64 KiB */
  uint32_t l2_bytes;
} sim_limits;

/* static: of the capability that XCHG_SIM_CC names. Source: the table "Technical specifications per compute
   capability" of the CUDA programming guide. */
const sim_limits *sim_device_limits(void);

/* ---- contexts ---- */

/* A fresh context of the device, inactive. */
void sim_context_init(sim_context *context, sim_device *device);

/* The context of the calling thread. With `make`, the primary context of the thread's device becomes active and current
   where none is current, as the runtime API does. *out is borrowed. 201 without a context, 709 for a destroyed one, the
   sticky result of a lost one. */
int sim_context_current(sim_context **out, bool make);

/* As above, without looking at `lost`: for calls that work on lost contexts too. NULL: none is current. */
sim_context *sim_context_peek(void);

/* 0 where `context` is one that lives; 201 for another value. Never follows a bad pointer. */
int sim_context_check(const sim_context *context);

int sim_context_set_current(sim_context *context); /* NULL: none */
int sim_context_push(sim_context *context);
int sim_context_pop(sim_context **out);
int sim_context_create(sim_context **out, unsigned flags, int device); /* becomes current */
int sim_context_destroy(sim_context *context);

/* The primary context. Releasing the last reference, or resetting, destroys what lives in it. */
int sim_primary_retain(sim_context **out, int device);
int sim_primary_release(int device);
int sim_primary_reset(int device);
void sim_primary_activate(sim_device *device);

/* Marks the context lost: the first result counts. */
void sim_context_lose(sim_context *context, int result);

/* Peer access. */
int sim_peer_can_access(int device, int peer, int *can);
int sim_peer_enable(sim_context *context, int peer, unsigned flags);
int sim_peer_disable(sim_context *context, int peer);
/* Whether code of `device` may use memory of `owner`. */
bool sim_peer_allowed(int device, int owner);

#endif
