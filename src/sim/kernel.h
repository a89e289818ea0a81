/* Kernels as launches see them: attributes, parameters, occupancy, and the check of a launch's configuration. */
#ifndef SIM_KERNEL_H
#define SIM_KERNEL_H

#include "module.h"
#include "stream.h"

typedef struct {
  uint64_t shared_bytes, constant_bytes, local_bytes;
  int max_threads, registers, ptx_version, binary_version, max_dynamic_shared, carveout;
  bool cluster;
  uint32_t cluster_size[3];
} sim_kernel_attributes;

void sim_kernel_get_attributes(const sim_kernel *kernel, int device, sim_kernel_attributes *out);
/* An attribute by the number that both APIs share: 1 for one that cannot be set or a value that it cannot have
   (dynamic shared memory above what may be opted in to, less the static one); 801 for a cluster of more than one
   block. */
int sim_kernel_set_attribute(sim_kernel *kernel, int device, int attribute, int value);
/* Threads that a block may have by registers and launch bounds. */
int sim_kernel_max_threads(const sim_kernel *kernel);
/* Warps that fit on a multiprocessor by registers. */
uint64_t sim_kernel_resident_warps(const sim_kernel *kernel);
/* Dynamic shared memory that a launch may ask for: 48 KiB less the static one, or what was opted in to. */
int sim_kernel_max_dynamic_shared(const sim_kernel *kernel, int device);
/* Offset and size of parameter `index`: 1 past the end. */
int sim_kernel_parameter(const sim_kernel *kernel, size_t index, size_t *offset, size_t *size);

/* Blocks of `threads` threads and `dynamic` bytes that fit on one multiprocessor at once. */
int sim_kernel_occupancy(int *blocks, const sim_kernel *kernel, int device, int threads, size_t dynamic);
/* Dynamic shared memory that each of so many blocks may have; 1 where not so many fit. */
int sim_kernel_available_dynamic_shared(size_t *bytes, const sim_kernel *kernel, int device, int blocks, int threads);
/* The largest block with which the most threads are resident; `dynamic`, or NULL: `fixed` bytes. 0 and 0 where
   none fits. */
int sim_kernel_best_block(int *grid, int *block, const sim_kernel *kernel, int device, size_t (*dynamic)(int threads),
                          size_t fixed, int limit);

typedef struct {
  uint32_t grid[3], block[3];
  size_t dynamic_shared;
  bool cooperative, cluster;
  sim_event *events[2]; /* recorded behind the launch; NULL: none */
} sim_launch_config;

/* CUlaunchAttribute, cudaLaunchAttribute */
typedef struct {
  int id, padding;
  union {
    int integer;
    uint32_t cluster[3];
    struct {
      sim_event *handle;
      int flags, at_block_start;
    } event;
    uint8_t bytes[64];
  };
} sim_launch_attribute;
_Static_assert(sizeof(sim_launch_attribute) == 72 && offsetof(sim_launch_attribute, integer) == 8, "CUlaunchAttribute");

/* What a launch is told besides its dimensions. 1 for an attribute that is none or has a wrong value, more than 64
   of them, NULL; 400 for an event that is none; 801 for what the simulator has not got. */
int sim_launch_config_apply(sim_launch_config *config, const sim_launch_attribute *attributes, size_t count);

/* Checks and enqueues a launch. `arguments`: one pointer for each parameter; or `packed`, `packed_size`
   (CU_LAUNCH_PARAM_BUFFER). The values are copied before it returns. SIM_INVALID_CONFIGURATION (9; the driver front
   says 1), 701 (threads above the kernel's bound), 720, 801 (cluster), 1 (dynamic shared above what is allowed, NULL
   arguments), 98/400. A launch of 0 blocks is 9. */
int sim_kernel_launch(sim_kernel *kernel, const sim_launch_config *config, void *const *arguments, const void *packed,
                      size_t packed_size, sim_stream *stream, const char *call);

/* Makes the work of a launch without enqueuing it (graph nodes). */
int sim_kernel_prepare(sim_work *out, sim_kernel *kernel, const sim_launch_config *config, void *const *arguments,
                       const void *packed, size_t packed_size, sim_context *context, const char *call);

#endif
