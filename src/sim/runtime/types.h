/* The structs that programs hand to the runtime API, as its headers of CUDA 13 lay them out. Enumerations are plain
   ints. */
#ifndef SIM_RUNTIME_TYPES_H
#define SIM_RUNTIME_TYPES_H

#include <stddef.h>
#include <stdint.h>

#include "../graph.h"
#include "../kernel.h"

typedef struct {
  uint32_t x, y, z;
} sim_dim3;

typedef struct {
  size_t width, height, depth;
} sim_extent; /* cudaExtent */

typedef struct {
  size_t x, y, z;
} sim_position; /* cudaPos */

typedef struct sim_pitched {
  void *pointer;
  size_t pitch, width, height; /* of the whole memory, in bytes and rows */
} sim_pitched;                 /* cudaPitchedPtr */

typedef struct {
  void *source_array;
  sim_position source_position;
  sim_pitched source;
  void *destination_array;
  sim_position destination_position;
  sim_pitched destination;
  sim_extent extent;
  int kind;
} sim_copy_3d; /* cudaMemcpy3DParms */

typedef struct {
  void *source_array;
  sim_position source_position;
  sim_pitched source;
  int source_device;
  void *destination_array;
  sim_position destination_position;
  sim_pitched destination;
  int destination_device;
  sim_extent extent;
} sim_copy_3d_peer; /* cudaMemcpy3DPeerParms */

typedef struct {
  int type, device;
  void *device_pointer, *host_pointer;
  long reserved[8]; /* since 13.0 */
} sim_pointer_attributes;
enum { SIM_POINTER_ATTRIBUTES_12 = offsetof(sim_pointer_attributes, reserved) };

typedef struct sim_function_attributes {
  size_t shared, constant, local;
  int max_threads, registers, ptx_version, binary_version, cache_mode, max_dynamic_shared, carveout, cluster_required;
  int cluster[3], cluster_policy, non_portable_cluster, reserved[16];
} sim_function_attributes; /* cudaFuncAttributes */

typedef struct {
  sim_dim3 grid, block;
  size_t dynamic_shared;
  sim_stream *stream;
  const sim_launch_attribute *attributes;
  uint32_t attribute_count;
} sim_launch_settings; /* cudaLaunchConfig_t */

enum { SIM_LOCATION_DEVICE = 1, SIM_LOCATION_HOST, SIM_LOCATION_HOST_NUMA, SIM_LOCATION_HOST_NUMA_CURRENT };
typedef struct {
  int type, id;
} sim_location; /* cudaMemLocation */

typedef struct {
  sim_location location;
  int flags;
} sim_access; /* cudaMemAccessDesc */

enum { SIM_POOL_PINNED = 1, SIM_POOL_MANAGED };
typedef struct {
  int type, handle_types;
  sim_location location;
  void *security;
  size_t maximum;
  uint16_t usage;
  uint8_t reserved[54];
} sim_pool_settings; /* cudaMemPoolProps */

typedef struct {
  void *function;
  sim_dim3 grid, block;
  uint32_t dynamic_shared;
  void **arguments, **extra;
} sim_kernel_node; /* cudaKernelNodeParams */

typedef struct {
  void *destination;
  size_t pitch;
  uint32_t value, unit;
  size_t width, height;
} sim_set_node; /* cudaMemsetParams */

typedef struct {
  void (*function)(void *);
  void *data;
} sim_host_node; /* cudaHostNodeParams */

typedef struct {
  sim_pool_settings pool;
  const sim_access *access;
  size_t access_count, bytes;
  void *pointer;       /* told by the call */
} sim_allocation_node; /* cudaMemAllocNodeParams */

typedef struct {
  int flags, reserved[3];
  sim_copy_3d copy;
} sim_copy_node; /* cudaMemcpyNodeParams */

typedef struct {
  int type, reserved[3];
  union {
    sim_kernel_node kernel;
    sim_copy_node copy;
    sim_set_node set;
    sim_host_node host;
    sim_graph *graph;
    sim_event *event;
    uint64_t padding[29];
  };
  uint64_t reserved2;
} sim_node_settings; /* cudaGraphNodeParams */

typedef struct {
  uint8_t from_port, to_port, type, reserved[5];
} sim_edge_data; /* cudaGraphEdgeData */

typedef struct {
  uint64_t flags;
  sim_stream *upload;
  sim_node *error_node;
  int result;
} sim_instantiate_settings; /* cudaGraphInstantiateParams */

typedef struct {
  int result;
  sim_node *error_node, *error_from_node;
} sim_update_result; /* cudaGraphExecUpdateResultInfo */

typedef struct {
  int x, y, z, w, kind;
} sim_channel; /* cudaChannelFormatDesc */

_Static_assert(sizeof(sim_dim3) == 12, "dim3");
_Static_assert(sizeof(sim_copy_3d) == 160 && offsetof(sim_copy_3d, kind) == 152, "cudaMemcpy3DParms");
_Static_assert(sizeof(sim_copy_3d_peer) == 168 && offsetof(sim_copy_3d_peer, extent) == 144, "cudaMemcpy3DPeerParms");
_Static_assert(sizeof(sim_pointer_attributes) == 88 && SIM_POINTER_ATTRIBUTES_12 == 24, "cudaPointerAttributes");
_Static_assert(sizeof(sim_function_attributes) == 144 && offsetof(sim_function_attributes, max_threads) == 24 &&
                   offsetof(sim_function_attributes, carveout) == 48 &&
                   offsetof(sim_function_attributes, non_portable_cluster) == 72,
               "cudaFuncAttributes");
_Static_assert(sizeof(sim_launch_settings) == 56 && offsetof(sim_launch_settings, attributes) == 40,
               "cudaLaunchConfig_t");
_Static_assert(sizeof(sim_access) == 12, "cudaMemAccessDesc");
_Static_assert(sizeof(sim_pool_settings) == 88 && offsetof(sim_pool_settings, maximum) == 24, "cudaMemPoolProps");
_Static_assert(sizeof(sim_kernel_node) == 56 && offsetof(sim_kernel_node, arguments) == 40, "cudaKernelNodeParams");
_Static_assert(sizeof(sim_allocation_node) == 120, "cudaMemAllocNodeParams");
_Static_assert(sizeof(sim_set_node) == 40, "cudaMemsetParams");
_Static_assert(sizeof(sim_host_node) == 16, "cudaHostNodeParams");
_Static_assert(sizeof(sim_node_settings) == 256 && offsetof(sim_node_settings, reserved2) == 248,
               "cudaGraphNodeParams");
_Static_assert(sizeof(sim_edge_data) == 8, "cudaGraphEdgeData");
_Static_assert(sizeof(sim_instantiate_settings) == 32, "cudaGraphInstantiateParams");
_Static_assert(sizeof(sim_update_result) == 24, "cudaGraphExecUpdateResultInfo");

#endif
