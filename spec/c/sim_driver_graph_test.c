/* Graphs, user objects, launches with attributes, occupancy and pools of the driver API. */
#include "test.h"

#include <stdlib.h>

#include "driver/front.h"
#include "xsim.h"

typedef struct sim_graph sim_graph;
typedef struct sim_node sim_node;
typedef struct sim_graph_exec sim_graph_exec;
typedef struct sim_user_object sim_user_object;
typedef struct sim_library sim_library;
typedef struct sim_kernel sim_kernel;
typedef struct sim_pool sim_pool;

typedef struct {
  sim_kernel *function;
  unsigned grid[3], block[3], dynamic_shared;
  void **arguments, **extra;
  sim_kernel *kernel;
  sim_context *context;
} kernel_node; /* CUDA_KERNEL_NODE_PARAMS_v2 */
typedef struct {
  uint64_t destination;
  size_t pitch;
  unsigned value, unit;
  size_t width, height;
} set_node; /* CUDA_MEMSET_NODE_PARAMS */
typedef struct {
  void (*function)(void *);
  void *data;
} host_node; /* CUDA_HOST_NODE_PARAMS */
typedef struct {
  int id, padding;
  union {
    int integer;
    unsigned cluster[3];
    unsigned char bytes[64];
  };
} attribute; /* CUlaunchAttribute */
typedef struct {
  unsigned grid[3], block[3], dynamic_shared;
  sim_stream *stream;
  const attribute *attributes;
  unsigned count;
} launch_config; /* CUlaunchConfig */
typedef struct {
  int type, handle_types, location_type, location_id;
  void *security;
  size_t maximum;
  unsigned short usage;
  unsigned char reserved[54];
} pool_properties; /* CUmemPoolProps */

extern int cuInit(unsigned), cuDevicePrimaryCtxRetain(sim_context **, int), cuCtxSetCurrent(sim_context *),
    cuCtxSynchronize(void), cuMemAlloc_v2(uint64_t *, size_t), cuMemFree_v2(uint64_t),
    cuMemcpyDtoH_v2(void *, uint64_t, size_t), cuModuleLoadData(sim_library **, const void *),
    cuModuleGetFunction(sim_kernel **, sim_library *, const char *), cuModuleUnload(sim_library *);
extern int cuGraphCreate(sim_graph **, unsigned), cuGraphDestroy(sim_graph *), cuGraphClone(sim_graph **, sim_graph *),
    cuGraphAddEmptyNode(sim_node **, sim_graph *, sim_node *const *, size_t),
    cuGraphAddKernelNode_v2(sim_node **, sim_graph *, sim_node *const *, size_t, const kernel_node *),
    cuGraphExecKernelNodeSetParams_v2(sim_graph_exec *, sim_node *, const kernel_node *),
    cuGraphAddMemsetNode(sim_node **, sim_graph *, sim_node *const *, size_t, const set_node *, sim_context *),
    cuGraphAddHostNode(sim_node **, sim_graph *, sim_node *const *, size_t, const host_node *),
    cuGraphAddChildGraphNode(sim_node **, sim_graph *, sim_node *const *, size_t, sim_graph *),
    cuGraphDestroyNode(sim_node *), cuGraphNodeGetType(sim_node *, int *),
    cuGraphGetRootNodes(sim_graph *, sim_node **, size_t *),
    cuGraphAddDependencies(sim_graph *, sim_node *const *, sim_node *const *, size_t),
    cuGraphRemoveDependencies(sim_graph *, sim_node *const *, sim_node *const *, size_t),
    cuGraphInstantiateWithFlags(sim_graph_exec **, sim_graph *, unsigned long long),
    cuGraphLaunch(sim_graph_exec *, sim_stream *), cuGraphExecDestroy(sim_graph_exec *),
    cuGraphDebugDotPrint(sim_graph *, const char *, unsigned);
extern int cuUserObjectCreate(sim_user_object **, void *, void (*)(void *), unsigned, unsigned),
    cuUserObjectRetain(sim_user_object *, unsigned), cuUserObjectRelease(sim_user_object *, unsigned),
    cuGraphRetainUserObject(sim_graph *, sim_user_object *, unsigned, unsigned),
    cuGraphReleaseUserObject(sim_graph *, sim_user_object *, unsigned);
extern int cuLaunchKernelEx(const launch_config *, sim_kernel *, void **, void **),
    cuOccupancyMaxActiveBlocksPerMultiprocessor(int *, sim_kernel *, int, size_t),
    cuOccupancyMaxPotentialBlockSize(int *, int *, sim_kernel *, size_t (*)(int), size_t, int),
    cuOccupancyAvailableDynamicSMemPerBlock(size_t *, sim_kernel *, int, int);
extern int cuMemPoolCreate(sim_pool **, const pool_properties *), cuMemPoolDestroy(sim_pool *),
    cuMemPoolTrimTo(sim_pool *, size_t), cuMemPoolGetAttribute(sim_pool *, int, void *),
    cuMemAllocFromPoolAsync(uint64_t *, size_t, sim_pool *, sim_stream *), cuMemFreeAsync(uint64_t, sim_stream *),
    cuDeviceSetMemPool(int, sim_pool *), cuDeviceGetMemPool(sim_pool **, int);

static sim_context *context;
static sim_library *module;
static sim_kernel *add;

/* p[0] += n */
static const char code[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
                           ".visible .entry add(.param .u64 p, .param .u32 n) {\n"
                           "  .reg .b64 %p; .reg .b32 %r<3>;\n"
                           "  ld.param.u64 %p, [p]; ld.param.u32 %r1, [n]; ld.global.u32 %r2, [%p];\n"
                           "  add.u32 %r2, %r2, %r1; st.global.u32 [%p], %r2; ret;\n}\n";

static void count_up(void *data) {
  ++*(int *)data;
}

static void test_graph(void) {
  uint64_t at = 0;
  uint32_t n = 5, back = 0;
  int ran = 0, type = -1;
  sim_graph *graph = NULL, *child = NULL, *clone = NULL;
  sim_graph_exec *exec = NULL;
  sim_node *set = NULL, *kernel = NULL, *host = NULL, *inner = NULL, *other = NULL;
  CHECK_EQUAL(cuMemAlloc_v2(&at, 4), 0);
  void *arguments[] = {&at, &n};
  kernel_node launch = {.function = add, .grid = {1, 1, 1}, .block = {1, 1, 1}, .arguments = arguments};
  set_node zero = {.destination = at, .value = 100, .unit = 4, .width = 1, .height = 1};
  host_node call = {count_up, &ran};
  CHECK_EQUAL(cuGraphCreate(&graph, 1), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuGraphCreate(NULL, 0), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuGraphCreate(&graph, 0), 0);
  CHECK_EQUAL(cuGraphCreate(&child, 0), 0);
  CHECK_EQUAL(cuGraphAddMemsetNode(&set, graph, NULL, 0, &zero, context), 0);
  CHECK_EQUAL(cuGraphAddKernelNode_v2(&kernel, graph, &set, 1, &launch), 0);
  CHECK_EQUAL(cuGraphAddHostNode(&other, child, NULL, 0, &call), 0);
  CHECK_EQUAL(cuGraphAddChildGraphNode(&inner, graph, &kernel, 1, child), 0);
  CHECK_EQUAL(cuGraphAddHostNode(&host, graph, &inner, 1, &call), 0);
  CHECK_EQUAL(cuGraphNodeGetType(set, &type), 0);
  CHECK_EQUAL(type, 2);
  CHECK_EQUAL(cuGraphNodeGetType(inner, &type), 0);
  CHECK_EQUAL(type, 4);
  /* What is refused leaves the graph as it was. */
  sim_node *nowhere = NULL;
  kernel_node wrong = launch;
  wrong.grid[1] = 0;
  CHECK(cuGraphAddKernelNode_v2(&nowhere, graph, NULL, 0, &wrong) != 0);
  wrong = launch;
  wrong.function = (sim_kernel *)&wrong;
  CHECK_EQUAL(cuGraphAddKernelNode_v2(&nowhere, graph, NULL, 0, &wrong), SIM_INVALID_VALUE);
  wrong = launch;
  wrong.arguments = NULL;
  CHECK_EQUAL(cuGraphAddKernelNode_v2(&nowhere, graph, NULL, 0, &wrong), SIM_INVALID_VALUE);
  set_node bad = zero;
  bad.unit = 3;
  CHECK_EQUAL(cuGraphAddMemsetNode(&nowhere, graph, NULL, 0, &bad, context), SIM_INVALID_VALUE);
  bad = zero;
  bad.width = SIZE_MAX / 2;
  CHECK_EQUAL(cuGraphAddMemsetNode(&nowhere, graph, NULL, 0, &bad, context), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuGraphAddMemsetNode(&nowhere, graph, NULL, 0, &zero, NULL), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuGraphAddHostNode(&nowhere, graph, NULL, 0, &(host_node){NULL, NULL}), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuGraphAddEmptyNode(&nowhere, graph, NULL, 1), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuGraphAddEmptyNode(&nowhere, graph, &other, 1), SIM_INVALID_VALUE); /* of another graph */
  CHECK_EQUAL(cuGraphAddEmptyNode(&nowhere, (sim_graph *)&graph, NULL, 0), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuGraphAddChildGraphNode(&nowhere, graph, NULL, 0, NULL), SIM_INVALID_VALUE);
  CHECK(nowhere == NULL);
  size_t roots = 9;
  CHECK_EQUAL(cuGraphGetRootNodes(graph, NULL, &roots), 0);
  CHECK_EQUAL(roots, 1);
  /* A cycle cannot be run. */
  CHECK_EQUAL(cuGraphAddDependencies(graph, &host, &set, 1), 0);
  CHECK_EQUAL(cuGraphInstantiateWithFlags(&exec, graph, 0), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuGraphRemoveDependencies(graph, &host, &set, 1), 0);
  CHECK_EQUAL(cuGraphRemoveDependencies(graph, &host, &set, 1), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuGraphClone(&clone, graph), 0);
  CHECK_EQUAL(cuGraphInstantiateWithFlags(&exec, graph, 0), 0);
  n = 7; /* was taken when the node was made */
  CHECK_EQUAL(cuGraphLaunch(exec, NULL), 0);
  CHECK_EQUAL(cuMemcpyDtoH_v2(&back, at, 4), 0);
  CHECK_EQUAL(back, 105);
  CHECK_EQUAL(ran, 2);
  CHECK_EQUAL(cuGraphExecKernelNodeSetParams_v2(exec, kernel, &launch), 0);
  CHECK_EQUAL(cuGraphExecKernelNodeSetParams_v2(exec, set, &launch), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuGraphLaunch(exec, NULL), 0);
  CHECK_EQUAL(cuMemcpyDtoH_v2(&back, at, 4), 0);
  CHECK_EQUAL(back, 107);
  CHECK_EQUAL(cuGraphDestroyNode(host), 0);
  CHECK_EQUAL(cuGraphDestroyNode(host), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuGraphDebugDotPrint(graph, "/no/such/folder/graph.dot", 0), SIM_OPERATING_SYSTEM);
  CHECK_EQUAL(cuGraphDestroy(graph), 0);
  CHECK_EQUAL(cuGraphDestroy(clone), 0);
  CHECK_EQUAL(cuGraphDestroy(child), 0);
  CHECK_EQUAL(cuGraphExecDestroy(exec), 0);
  CHECK_EQUAL(cuMemFree_v2(at), 0);
}

static void test_objects(void) {
  int gone = 0;
  sim_user_object *object = NULL;
  sim_graph *graph = NULL;
  CHECK_EQUAL(cuUserObjectCreate(&object, &gone, count_up, 0, 1), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuUserObjectCreate(&object, &gone, NULL, 1, 1), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuUserObjectCreate(&object, &gone, count_up, 1, 0), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuUserObjectCreate(&object, &gone, count_up, 2, 1), 0);
  CHECK_EQUAL(cuGraphCreate(&graph, 0), 0);
  CHECK_EQUAL(cuGraphRetainUserObject(graph, object, 1, 2), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuGraphRetainUserObject(graph, object, 0, 0), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuGraphRetainUserObject(graph, object, 1, 1), 0); /* moves one */
  CHECK_EQUAL(cuGraphReleaseUserObject(graph, object, 2), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuUserObjectRetain(object, 0), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuUserObjectRelease(object, 1), 0);
  CHECK_EQUAL(gone, 0);
  CHECK_EQUAL(cuGraphDestroy(graph), 0);
  CHECK_EQUAL(gone, 1);
  CHECK_EQUAL(cuUserObjectRelease(object, 1), SIM_INVALID_VALUE);
}

static void test_launches(void) {
  uint64_t at = 0;
  uint32_t n = 1;
  int blocks = 0, grid = 0, block = 0;
  size_t bytes = 0;
  CHECK_EQUAL(cuMemAlloc_v2(&at, 4), 0);
  void *arguments[] = {&at, &n};
  attribute attributes[] = {{.id = 2, .integer = 1}, {.id = 4, .cluster = {1, 1, 1}}, {.id = 6, .integer = 1}};
  launch_config config = {.grid = {1, 1, 1}, .block = {1, 1, 1}, .attributes = attributes, .count = 3};
  CHECK_EQUAL(cuLaunchKernelEx(&config, add, arguments, NULL), 0);
  CHECK_EQUAL(cuLaunchKernelEx(NULL, add, arguments, NULL), SIM_INVALID_VALUE);
  config.grid[0] = 1 << 20;
  CHECK_EQUAL(cuLaunchKernelEx(&config, add, arguments, NULL), SIM_COOPERATIVE_LAUNCH_TOO_LARGE);
  config.grid[0] = 1;
  attributes[1].cluster[2] = 2;
  CHECK_EQUAL(cuLaunchKernelEx(&config, add, arguments, NULL), SIM_NOT_SUPPORTED);
  attributes[1].cluster[2] = 1;
  attributes[2].id = 999;
  CHECK_EQUAL(cuLaunchKernelEx(&config, add, arguments, NULL), SIM_INVALID_VALUE);
  config.attributes = NULL;
  CHECK_EQUAL(cuLaunchKernelEx(&config, add, arguments, NULL), SIM_INVALID_VALUE);
  config.count = 0;
  config.dynamic_shared = 48 * 1024 + 1;
  CHECK_EQUAL(cuLaunchKernelEx(&config, add, arguments, NULL), SIM_INVALID_VALUE);
  config.dynamic_shared = 0;
  arguments[1] = (void *)8;
  CHECK_EQUAL(cuLaunchKernelEx(&config, add, arguments, NULL), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuLaunchKernelEx(&config, add, (void **)8, NULL), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add, 1024, 0), 0);
  CHECK_EQUAL(blocks, 2); /* 2048 threads of a multiprocessor of 9.0 */
  CHECK_EQUAL(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add, 0, 0), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, NULL, 32, 0), SIM_INVALID_HANDLE);
  CHECK_EQUAL(cuOccupancyMaxPotentialBlockSize(&grid, &block, add, NULL, 0, 0), 0);
  CHECK(block == 1024 && grid >= 1);
  CHECK_EQUAL(cuOccupancyMaxPotentialBlockSize(&grid, NULL, add, NULL, 0, 0), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuOccupancyAvailableDynamicSMemPerBlock(&bytes, add, 1, 32), 0);
  CHECK(bytes > 0);
  CHECK_EQUAL(cuCtxSynchronize(), 0);
  CHECK_EQUAL(cuMemFree_v2(at), 0);
}

static void test_pools(void) {
  sim_pool *pool = NULL, *current = NULL;
  uint64_t at = 0, used = 9;
  pool_properties properties = {.type = 1, .location_type = 1, .maximum = 1 << 20};
  CHECK_EQUAL(cuMemPoolCreate(&pool, NULL), SIM_INVALID_VALUE);
  properties.location_id = 7;
  CHECK_EQUAL(cuMemPoolCreate(&pool, &properties), SIM_INVALID_VALUE);
  properties.location_id = 0;
  properties.handle_types = 1;
  CHECK_EQUAL(cuMemPoolCreate(&pool, &properties), SIM_NOT_SUPPORTED);
  properties.handle_types = 0;
  CHECK_EQUAL(cuMemPoolCreate(&pool, &properties), 0);
  CHECK_EQUAL(cuMemAllocFromPoolAsync(&at, 1 << 21, pool, NULL), SIM_OUT_OF_MEMORY);
  CHECK_EQUAL(cuMemAllocFromPoolAsync(&at, 0, pool, NULL), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuMemAllocFromPoolAsync(&at, 4096, pool, NULL), 0);
  CHECK_EQUAL(cuMemFreeAsync(at + 8, NULL), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuMemFreeAsync(0, NULL), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuMemFreeAsync(at, NULL), 0);
  CHECK_EQUAL(cuMemFreeAsync(at, NULL), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuCtxSynchronize(), 0);
  CHECK_EQUAL(cuMemPoolGetAttribute(pool, 7, &used), 0); /* CU_MEMPOOL_ATTR_USED_MEM_CURRENT */
  CHECK_EQUAL(used, 0);
  CHECK_EQUAL(cuMemPoolGetAttribute(pool, 99, &used), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuDeviceSetMemPool(0, pool), 0);
  CHECK_EQUAL(cuMemPoolDestroy(pool), 0);
  CHECK_EQUAL(cuMemPoolDestroy(pool), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuMemPoolTrimTo(pool, 0), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuDeviceSetMemPool(0, pool), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuDeviceGetMemPool(&current, 0), 0);
  CHECK(current != pool);
}

int main(void) {
  xsim_configure("LOG", "none");
  CHECK_EQUAL(cuInit(0), 0);
  CHECK_EQUAL(cuDevicePrimaryCtxRetain(&context, 0), 0);
  CHECK_EQUAL(cuCtxSetCurrent(context), 0);
  CHECK_EQUAL(cuModuleLoadData(&module, code), 0);
  CHECK_EQUAL(cuModuleGetFunction(&add, module, "add"), 0);
  test_graph();
  test_objects();
  test_launches();
  test_pools();
  CHECK_EQUAL(cuModuleUnload(module), 0);
  return test_end();
}
