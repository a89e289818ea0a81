/* The runtime API of the simulated device: graphs and user objects. */
#include "cudart.h"

static int called;
static void call_me(void *data) {
  called += *(int *)data;
  /* The API is refused here. */
  CHECK_EQUAL(cudaSetDevice(0), NOT_PERMITTED);
}
static int destroyed;
static void destroy_me(void *data) {
  destroyed += *(int *)data;
}

static void test_graph(void) {
  void *graph, *clone, *child, *exec, *p, *nodes[8], *a, *b, *c, *twin, *object;
  void *from[4], *to[4];
  unsigned char in[16] = {1, 2, 3, 4}, out[16] = {0};
  size_t count;
  int type, one = 1;
  WORKS(cudaMalloc(&p, 16));
  WORKS(cudaGraphCreate(&graph, 0));
  FAILS(cudaGraphCreate(NULL, 0), VALUE);
  FAILS(cudaGraphCreate(&clone, 1), VALUE);
  sim_set_node set = {p, 0, 7, 1, 16, 1};
  WORKS(cudaGraphAddMemsetNode(&a, graph, NULL, 0, &set));
  set.unit = 3;
  FAILS(cudaGraphAddMemsetNode(&b, graph, NULL, 0, &set), VALUE);
  set = (sim_set_node){BAD, 0, 7, 1, 16, 1};
  FAILS(cudaGraphAddMemsetNode(&b, graph, NULL, 0, &set), VALUE);
  FAILS(cudaGraphAddMemsetNode(&b, graph, NULL, 0, NULL), VALUE);
  WORKS(cudaGraphAddMemcpyNode1D(&b, graph, &a, 1, p, in, 4, HOST_DEVICE));
  FAILS(cudaGraphAddMemcpyNode1D(&c, graph, &a, 1, p, in, 4, 9), DIRECTION);
  FAILS(cudaGraphAddMemcpyNode1D(&c, graph, &a, 1, p, in, 0, HOST_DEVICE), VALUE);
  FAILS(cudaGraphAddEmptyNode(&c, graph, NULL, 1), VALUE);
  FAILS(cudaGraphAddEmptyNode(&c, graph, &(void *){BAD}, 1), VALUE);
  FAILS(cudaGraphAddEmptyNode(&c, graph, &a, SIZE_MAX), VALUE);
  FAILS(cudaGraphAddEmptyNode(&c, BAD, NULL, 0), VALUE);
  FAILS(cudaGraphAddEmptyNode(NULL, graph, NULL, 0), VALUE);
  called = 0;
  WORKS(cudaGraphAddHostNode(&c, graph, &b, 1, &(sim_host_node){call_me, &one}));
  FAILS(cudaGraphAddHostNode(&c, graph, &b, 1, &(sim_host_node){NULL, &one}), VALUE);
  WORKS(cudaGraphNodeGetType(b, &type));
  CHECK_EQUAL(type, 1);
  FAILS(cudaGraphNodeGetType(b, NULL), VALUE);
  FAILS(cudaGraphNodeGetType(BAD, &type), VALUE);
  count = 0;
  WORKS(cudaGraphGetNodes(graph, NULL, &count));
  CHECK_EQUAL(count, 3);
  count = 8;
  WORKS(cudaGraphGetNodes(graph, nodes, &count));
  CHECK(count == 3 && nodes[0] == a && nodes[2] == c && nodes[3] == NULL);
  count = 1;
  WORKS(cudaGraphGetRootNodes(graph, nodes, &count));
  CHECK(count == 1 && nodes[0] == a);
  FAILS(cudaGraphGetNodes(graph, nodes, NULL), VALUE);
  count = 4;
  sim_edge_data data[4];
  memset(data, 0xff, sizeof data);
  WORKS(cudaGraphGetEdges(graph, from, to, data, &count));
  CHECK(count == 2 && from[0] == a && to[0] == b && data[1].type == 0);
  FAILS(cudaGraphGetEdges(graph, from, NULL, NULL, &count), VALUE);
  count = 4;
  WORKS(cudaGraphNodeGetDependencies(c, nodes, NULL, &count));
  CHECK(count == 1 && nodes[0] == b);
  count = 4;
  WORKS(cudaGraphNodeGetDependentNodes(a, nodes, NULL, &count));
  CHECK(count == 1 && nodes[0] == b);
  WORKS(cudaGraphAddDependencies(graph, &a, &c, NULL, 1));
  WORKS(cudaGraphRemoveDependencies(graph, &a, &c, NULL, 1));
  FAILS(cudaGraphAddDependencies(graph, NULL, &c, NULL, 1), VALUE);
  FAILS(cudaGraphAddDependencies(graph, &(void *){BAD}, &c, NULL, 1), VALUE);
  FAILS(cudaGraphAddDependencies(graph, &a, &c, NULL, SIZE_MAX), VALUE);

  WORKS(cudaGraphInstantiate(&exec, graph, 0));
  FAILS(cudaGraphInstantiate(NULL, graph, 0), VALUE);
  FAILS(cudaGraphInstantiate(&twin, BAD, 0), VALUE);
  FAILS(cudaGraphInstantiate(&twin, graph, 0x100), VALUE);
  WORKS(cudaGraphLaunch(exec, NULL));
  FAILS(cudaGraphLaunch(BAD, NULL), VALUE);
  FAILS(cudaGraphLaunch(exec, BAD), HANDLE);
  WORKS(cudaDeviceSynchronize());
  CHECK_EQUAL(called, 1);
  WORKS(cudaMemcpy(out, p, 16, DEVICE_HOST));
  CHECK(out[0] == 1 && out[3] == 4 && out[4] == 7 && out[15] == 7);
  set = (sim_set_node){p, 0, 9, 1, 16, 1};
  WORKS(cudaGraphExecMemsetNodeSetParams(exec, a, &set));
  FAILS(cudaGraphExecMemsetNodeSetParams(exec, b, &set), VALUE);
  FAILS(cudaGraphExecMemsetNodeSetParams(BAD, a, &set), VALUE);
  WORKS(cudaGraphLaunch(exec, NULL));
  WORKS(cudaMemcpy(out, p, 16, DEVICE_HOST));
  CHECK_EQUAL(out[15], 9);
  set.value = 11;
  WORKS(cudaGraphMemsetNodeSetParams(a, &set));
  memset(&set, 0, sizeof set);
  WORKS(cudaGraphMemsetNodeGetParams(a, &set));
  CHECK(set.value == 11 && set.destination == p && set.width == 16);
  FAILS(cudaGraphMemsetNodeGetParams(a, NULL), VALUE);
  FAILS(cudaGraphMemsetNodeGetParams(b, &set), VALUE);
  sim_update_result update;
  WORKS(cudaGraphExecUpdate(exec, graph, &update));
  FAILS(cudaGraphExecUpdate(exec, graph, NULL), VALUE);
  WORKS(cudaGraphLaunch(exec, NULL));
  WORKS(cudaMemcpy(out, p, 16, DEVICE_HOST));
  CHECK_EQUAL(out[15], 11);

  /* A dependency that is there twice: no node, and no memory that nobody can free. */
  sim_allocation_node memory = {.pool = {.type = SIM_POOL_PINNED, .location = {SIM_LOCATION_DEVICE, 0}}, .bytes = 64};
  uint64_t live = sim_memory_live(SIM_MEMORY_DEVICE);
  FAILS(cudaGraphAddMemAllocNode(&twin, graph, (void *[]){a, a}, 2, &memory), VALUE);
  CHECK_EQUAL(sim_memory_live(SIM_MEMORY_DEVICE), live);

  WORKS(cudaGraphClone(&clone, graph));
  WORKS(cudaGraphNodeFindInClone(&twin, b, clone));
  CHECK(twin != b);
  WORKS(cudaGraphNodeGetType(twin, &type));
  CHECK_EQUAL(type, 1);
  FAILS(cudaGraphNodeFindInClone(&twin, b, graph), VALUE);
  WORKS(cudaGraphAddChildGraphNode(&twin, graph, NULL, 0, clone));
  WORKS(cudaGraphChildGraphNodeGetGraph(twin, &child));
  FAILS(cudaGraphDestroy(child), VALUE);
  FAILS(cudaGraphAddChildGraphNode(&twin, graph, NULL, 0, graph), VALUE);
  sim_node_settings settings = {.type = 5};
  WORKS(cudaGraphAddNode(&twin, graph, &a, NULL, 1, &settings));
  settings.type = 13;
  FAILS(cudaGraphAddNode(&twin, graph, &a, NULL, 1, &settings), NOT_SUPPORTED);
  settings.type = -1;
  FAILS(cudaGraphAddNode(&twin, graph, &a, NULL, 1, &settings), VALUE);
  FAILS(cudaGraphAddNode(&twin, graph, &a, NULL, 1, NULL), VALUE);
  FAILS(cudaGraphDebugDotPrint(graph, NULL, 0), VALUE);
  CHECK(cudaGraphDebugDotPrint(graph, "/nowhere/at/all.dot", 0) != 0);
  cudaGetLastError();
  WORKS(cudaGraphDestroyNode(twin));
  FAILS(cudaGraphDestroyNode(twin), VALUE);

  destroyed = 0;
  WORKS(cudaUserObjectCreate(&object, &one, destroy_me, 1, 1));
  FAILS(cudaUserObjectCreate(&twin, &one, NULL, 1, 1), VALUE);
  FAILS(cudaUserObjectCreate(&twin, &one, destroy_me, 0, 1), VALUE);
  FAILS(cudaUserObjectCreate(&twin, &one, destroy_me, 1, 0), VALUE);
  WORKS(cudaGraphRetainUserObject(clone, object, 1, 1));
  CHECK_EQUAL(destroyed, 0);
  FAILS(cudaGraphRetainUserObject(clone, BAD, 1, 1), VALUE);
  FAILS(cudaUserObjectRelease(BAD, 1), VALUE);
  WORKS(cudaGraphDestroy(clone));
  WORKS(cudaDeviceSynchronize());
  CHECK_EQUAL(destroyed, 1);
  WORKS(cudaGraphExecDestroy(exec));
  FAILS(cudaGraphExecDestroy(exec), VALUE);
  WORKS(cudaGraphDestroy(graph));
  FAILS(cudaGraphDestroy(graph), VALUE);
  WORKS(cudaFree(p));
}

int main(void) {
  cudart_settings();
  test_graph();
  return test_end();
}
