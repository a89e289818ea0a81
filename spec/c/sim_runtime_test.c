/* The runtime API of the simulated device: devices, errors, versions, driver entry points, lost devices, forks. */
#include "cudart.h"

static void test_device(void) {
  int count = 0, value = -1, device = -1;
  unsigned flags = 99;
  size_t size, total;
  char text[64];
  WORKS(cudaGetDeviceCount(&count));
  CHECK_EQUAL(count, 2);
  FAILS(cudaGetDeviceCount(NULL), VALUE);
  WORKS(cudaGetDevice(&device));
  CHECK_EQUAL(device, 0);
  FAILS(cudaGetDevice(NULL), VALUE);
  FAILS(cudaSetDevice(2), DEVICE);
  FAILS(cudaSetDevice(-1), DEVICE);
  WORKS(cudaSetDevice(1));
  WORKS(cudaGetDevice(&device));
  CHECK_EQUAL(device, 1);
  WORKS(cudaSetDevice(0));
  WORKS(cudaInitDevice(1, 0, 0));
  FAILS(cudaInitDevice(7, 0, 0), DEVICE);
  FAILS(cudaInitDevice(0, 3, 1), VALUE);
  FAILS(cudaInitDevice(0, 0, 2), VALUE);
  FAILS(cudaSetDeviceFlags(3), VALUE);
  FAILS(cudaSetDeviceFlags(0x1000), VALUE);
  WORKS(cudaSetDeviceFlags(4));
  WORKS(cudaGetDeviceFlags(&flags));
  CHECK_EQUAL(flags, 4);
  FAILS(cudaGetDeviceFlags(NULL), VALUE);
  WORKS(cudaSetDeviceFlags(0));
  WORKS(cudaDeviceGetAttribute(&value, 10, 0));
  CHECK_EQUAL(value, 32); /* warp size */
  WORKS(cudaDeviceGetAttribute(&value, 75, 1));
  CHECK_EQUAL(value, 9);
  FAILS(cudaDeviceGetAttribute(NULL, 10, 0), VALUE);
  FAILS(cudaDeviceGetAttribute(&value, 10, 2), DEVICE);
  FAILS(cudaDeviceGetAttribute(&value, 100000, 0), VALUE);
  FAILS(cudaDeviceGetAttribute(&value, -1, 0), VALUE);
  unsigned char properties[1100];
  memset(properties, 0xa5, sizeof properties);
  WORKS(cudaGetDeviceProperties(properties, 0));
  CHECK_EQUAL(memcmp(properties, "Simulated", 9), 0);
  CHECK_EQUAL(properties[1008], 0xa5); /* the struct of CUDA 13 ends here */
  int major;
  memcpy(&major, properties + 360, sizeof major);
  CHECK_EQUAL(major, 9);
  memset(properties, 0xa5, sizeof properties);
  WORKS(cudaGetDeviceProperties_v2(properties, 0));
  CHECK_EQUAL(properties[1032], 0xa5);
  FAILS(cudaGetDeviceProperties(NULL, 0), VALUE);
  FAILS(cudaGetDeviceProperties(properties, 2), DEVICE);
  WORKS(cudaChooseDevice(&value, properties));
  FAILS(cudaChooseDevice(NULL, properties), VALUE);
  WORKS(cudaDeviceGetPCIBusId(text, sizeof text, 1));
  WORKS(cudaDeviceGetByPCIBusId(&device, text));
  CHECK_EQUAL(device, 1);
  FAILS(cudaDeviceGetPCIBusId(text, 12, 1), VALUE);
  FAILS(cudaDeviceGetPCIBusId(NULL, 64, 1), VALUE);
  FAILS(cudaDeviceGetPCIBusId(text, 64, 5), DEVICE);
  FAILS(cudaDeviceGetByPCIBusId(&device, "nonsense"), VALUE);
  FAILS(cudaDeviceGetByPCIBusId(&device, "ffff:ff:ff.0"), DEVICE);
  FAILS(cudaDeviceGetByPCIBusId(NULL, text), VALUE);
  FAILS(cudaDeviceGetByPCIBusId(&device, NULL), VALUE);
  WORKS(cudaDeviceSetLimit(0, 4096));
  WORKS(cudaDeviceGetLimit(&size, 0));
  CHECK_EQUAL(size, 4096);
  FAILS(cudaDeviceGetLimit(NULL, 0), VALUE);
  FAILS(cudaDeviceGetLimit(&size, 77), LIMIT);
  FAILS(cudaDeviceSetLimit(-1, 1), LIMIT);
  WORKS(cudaDeviceSetCacheConfig(2));
  WORKS(cudaDeviceGetCacheConfig(&value));
  CHECK_EQUAL(value, 2);
  FAILS(cudaDeviceSetCacheConfig(4), VALUE);
  FAILS(cudaDeviceGetCacheConfig(NULL), VALUE);
  WORKS(cudaMemGetInfo(&size, &total));
  CHECK(size <= total && total == (size_t)1 << 30);
  FAILS(cudaMemGetInfo(NULL, &total), VALUE);
  FAILS(cudaMemGetInfo(&size, NULL), VALUE);
  WORKS(cudaProfilerStart());
  WORKS(cudaProfilerStop());
  WORKS(cudaDeviceSynchronize());
}

static void test_error(void) {
  int version = 0;
  CHECK_TEXT(cudaGetErrorName(2), "cudaErrorMemoryAllocation");
  CHECK_TEXT(cudaGetErrorString(2), "out of memory");
  CHECK_TEXT(cudaGetErrorName(0), "cudaSuccess");
  CHECK_TEXT(cudaGetErrorName(12345), "unrecognized error code");
  CHECK_TEXT(cudaGetErrorString(-5), "unrecognized error code");
  WORKS(cudaRuntimeGetVersion(&version));
  CHECK_EQUAL(version, 13050);
  WORKS(cudaDriverGetVersion(&version));
  CHECK_EQUAL(version, 13050);
  FAILS(cudaRuntimeGetVersion(NULL), VALUE);
  FAILS(cudaDriverGetVersion(NULL), VALUE);
  /* A good call leaves the last error alone. */
  CHECK_EQUAL(cudaSetDevice(9), DEVICE);
  WORKS(cudaSetDevice(0));
  CHECK_EQUAL(cudaPeekAtLastError(), DEVICE);
  CHECK_EQUAL(cudaGetLastError(), DEVICE);
  CHECK_EQUAL(cudaGetLastError(), 0);
  /* Failures on command. */
  WORKS(xsim_fail("cudaSetDevice:2:2"));
  WORKS(cudaSetDevice(0));
  FAILS(cudaSetDevice(0), MEMORY);
  WORKS(cudaSetDevice(0));
  WORKS(xsim_fail(NULL));
}

static void test_peer(void) {
  int can = -1;
  WORKS(cudaDeviceCanAccessPeer(&can, 0, 1));
  CHECK_EQUAL(can, 1);
  WORKS(cudaDeviceCanAccessPeer(&can, 0, 0));
  CHECK_EQUAL(can, 0);
  FAILS(cudaDeviceCanAccessPeer(NULL, 0, 1), VALUE);
  FAILS(cudaDeviceCanAccessPeer(&can, 0, 2), DEVICE);
  FAILS(cudaDeviceDisablePeerAccess(1), PEER_NOT_ENABLED);
  FAILS(cudaDeviceEnablePeerAccess(1, 1), VALUE);
  FAILS(cudaDeviceEnablePeerAccess(0, 0), DEVICE);
  FAILS(cudaDeviceEnablePeerAccess(9, 0), DEVICE);
  WORKS(cudaDeviceEnablePeerAccess(1, 0));
  FAILS(cudaDeviceEnablePeerAccess(1, 0), PEER_ENABLED);
  WORKS(cudaDeviceDisablePeerAccess(1));
  WORKS(cudaDeviceGetP2PAttribute(&can, 2, 0, 1));
  CHECK_EQUAL(can, 1);
  FAILS(cudaDeviceGetP2PAttribute(&can, 2, 0, 0), DEVICE);
  FAILS(cudaDeviceGetP2PAttribute(&can, 99, 0, 1), VALUE);
  FAILS(cudaDeviceGetP2PAttribute(NULL, 2, 0, 1), VALUE);
}

static void test_entry(void) {
  int (*version)(int *) = NULL;
  int status = 9, value = 0;
  WORKS(cudaGetDriverEntryPointByVersion("cuDriverGetVersion", (void **)&version, 12000, 0, &status));
  CHECK_EQUAL(status, 0);
  CHECK(version != NULL && version(&value) == 0 && value == 13050);
  WORKS(cudaGetDriverEntryPointByVersion("cuNothing", (void **)&version, 12000, 0, &status));
  CHECK(status == 1 && version == NULL);
  WORKS(cudaGetDriverEntryPointByVersion("cuLibraryLoadData", (void **)&version, 11000, 0, &status));
  CHECK(status == 2 && version == NULL);
  FAILS(cudaGetDriverEntryPointByVersion("cuNothing", (void **)&version, 12000, 0, NULL), NOT_FOUND);
  FAILS(cudaGetDriverEntryPointByVersion(NULL, (void **)&version, 12000, 0, &status), VALUE);
  FAILS(cudaGetDriverEntryPointByVersion("cuInit", NULL, 12000, 0, &status), VALUE);
  FAILS(cudaGetDriverEntryPointByVersion("cuInit", (void **)&version, 12000, 7, &status), VALUE);
}

static void test_stub(void) {
  void *array;
  uint64_t reports = xsim_reports("stub");
  FAILS(cudaMallocArray(&array, NULL, 1, 1, 0), NOT_SUPPORTED);
  FAILS(cudaIpcGetMemHandle(NULL, NULL), NOT_SUPPORTED);
  CHECK_EQUAL(xsim_reports("stub"), reports + 2);
}

/* ---- processes of their own: other settings, lost devices ---- */

static void child_old_version(void) {
  int version = 0, status = 9;
  unsigned char room[1100];
  unsigned long long id;
  void *p, *graph, *a, *b, *nodes[2];
  size_t count = 2;
  WORKS(cudaRuntimeGetVersion(&version));
  CHECK_EQUAL(version, 12090);
  memset(room, 0xa5, sizeof room);
  WORKS(cudaPointerGetAttributes(room, &version));
  CHECK_EQUAL(room[24], 0xa5); /* the struct of CUDA 12 ends here */
  memset(room, 0xa5, sizeof room);
  WORKS(cudaGetDeviceProperties(room, 0));
  CHECK_EQUAL(room[712], 0xa5);
  WORKS(cudaGetDeviceProperties_v2(room, 0));
  CHECK_EQUAL(room[1032], 0xa5);
  WORKS(cudaMallocManaged(&p, 64, 1));
  int (*prefetch)(const void *, size_t, int, void *) =
      (int (*)(const void *, size_t, int, void *))(void (*)(void))cudaMemPrefetchAsync;
  WORKS(prefetch(p, 64, 0, NULL));
  WORKS(prefetch(p, 64, -1, NULL));
  FAILS(prefetch(p, 64, 5, NULL), DEVICE);
  FAILS(prefetch(p, 64, 0, BAD), HANDLE);
  int (*advise)(const void *, size_t, int, int) =
      (int (*)(const void *, size_t, int, int))(void (*)(void))cudaMemAdvise;
  WORKS(advise(p, 64, 3, -1));
  FAILS(advise(p, 64, 3, 4), DEVICE);
  int (*info)(void *, int *, unsigned long long *) =
      (int (*)(void *, int *, unsigned long long *))(void (*)(void))cudaStreamGetCaptureInfo;
  WORKS(info(NULL, &status, &id));
  CHECK_EQUAL(status, 0);
  WORKS(cudaGraphCreate(&graph, 0));
  WORKS(cudaGraphAddEmptyNode(&a, graph, NULL, 0));
  sim_node_settings empty = {.type = 5};
  int (*add)(void **, void *, void **, size_t, const sim_node_settings *) =
      (int (*)(void **, void *, void **, size_t, const sim_node_settings *))(void (*)(void))cudaGraphAddNode;
  WORKS(add(&b, graph, NULL, 0, &empty));
  int (*connect)(void *, void **, void **, size_t) =
      (int (*)(void *, void **, void **, size_t))(void (*)(void))cudaGraphAddDependencies;
  WORKS(connect(graph, &a, &b, 1));
  int (*needs)(void *, void **, size_t *) =
      (int (*)(void *, void **, size_t *))(void (*)(void))cudaGraphNodeGetDependencies;
  WORKS(needs(b, nodes, &count));
  CHECK(count == 1 && nodes[0] == a);
  WORKS(cudaGraphDestroy(graph));
}

static void child_no_device(void) {
  int count = 9;
  void *p;
  CHECK_EQUAL(cudaGetDeviceCount(&count), NO_DEVICE);
  CHECK_EQUAL(cudaMalloc(&p, 1), NO_DEVICE);
  CHECK_EQUAL(cudaGetLastError(), NO_DEVICE);
  WORKS(cudaRuntimeGetVersion(&count));
}

static void child_wrong_setting(void) {
  void *p;
  CHECK_EQUAL(cudaMalloc(&p, 1), INITIALIZATION);
  CHECK_EQUAL(cudaSetDevice(0), INITIALIZATION);
}

static void child_lost(void) {
  void *p, *q, *stream, *event;
  WORKS(cudaMalloc(&p, 16));
  WORKS(cudaStreamCreate(&stream));
  WORKS(cudaEventCreate(&event));
  WORKS(xsim_lose(0, LAUNCH_FAILURE));
  CHECK_EQUAL(cudaMalloc(&q, 16), LAUNCH_FAILURE);
  CHECK_EQUAL(cudaFree(p), LAUNCH_FAILURE);
  CHECK_EQUAL(cudaMemset(p, 0, 16), LAUNCH_FAILURE);
  CHECK_EQUAL(cudaMemcpy(p, p, 0, DEVICE_DEVICE), LAUNCH_FAILURE);
  CHECK_EQUAL(cudaStreamSynchronize(stream), LAUNCH_FAILURE);
  CHECK_EQUAL(cudaStreamQuery(stream), LAUNCH_FAILURE);
  CHECK_EQUAL(cudaEventRecord(event, stream), LAUNCH_FAILURE);
  CHECK_EQUAL(cudaEventQuery(event), LAUNCH_FAILURE);
  CHECK_EQUAL(cudaDeviceSynchronize(), LAUNCH_FAILURE);
  CHECK_EQUAL(cudaStreamCreate(&q), LAUNCH_FAILURE);
  CHECK_EQUAL(cudaGraphCreate(&q, 0), LAUNCH_FAILURE);
  CHECK_EQUAL(cudaLibraryLoadData(&q, "", NULL, NULL, 0, NULL, NULL, 0), LAUNCH_FAILURE);
  CHECK_EQUAL(cudaLaunchKernel(BAD, (sim_dim3){1, 1, 1}, (sim_dim3){1, 1, 1}, NULL, 0, NULL), LAUNCH_FAILURE);
  CHECK_EQUAL(cudaGetLastError(), LAUNCH_FAILURE);
  CHECK_EQUAL(cudaGetLastError(), LAUNCH_FAILURE); /* not cleared */
  CHECK_EQUAL(cudaPeekAtLastError(), LAUNCH_FAILURE);
  /* Another device goes on. */
  WORKS(cudaSetDevice(1));
  WORKS(cudaMalloc(&q, 16));
  WORKS(cudaFree(q));
  CHECK_EQUAL(cudaSetDevice(0), LAUNCH_FAILURE);
  WORKS(cudaDeviceReset());
  CHECK_EQUAL(cudaGetLastError(), 0);
  WORKS(cudaMalloc(&p, 16));
  CHECK_EQUAL(cudaStreamSynchronize(stream), CONTEXT_DESTROYED);
}

static void child_forked(void) {
  int count;
  WORKS(cudaFree(NULL));
  fflush(stdout);
  pid_t child = fork();
  if (!child)
    _exit(cudaGetDeviceCount(&count) == INITIALIZATION && cudaFree(NULL) == INITIALIZATION ? 0 : 1);
  int status = 1;
  waitpid(child, &status, 0);
  CHECK_EQUAL(status, 0);
  WORKS(cudaFree(NULL));
}

/* Runs `work` in a process that has called nothing yet. */
static inline void in_child(void (*work)(void), const char *name, const char *value) {
  fflush(stdout);
  pid_t child = fork();
  if (!child) {
    if (name)
      setenv(name, value, 1);
    test_failures = 0;
    work();
    fflush(stdout);
    _exit(test_failures != 0);
  }
  int status = 1;
  waitpid(child, &status, 0);
  CHECK_EQUAL(status, 0);
}

int main(void) {
  cudart_settings();
  in_child(child_old_version, "XCHG_SIM_DRIVER", "12.9");
  in_child(child_no_device, "XCHG_SIM_DEVICES", "0");
  in_child(child_wrong_setting, "XCHG_SIM_DEVICES", "many");
  in_child(child_lost, NULL, NULL);
  in_child(child_forked, NULL, NULL);
  test_device();
  test_error();
  test_peer();
  test_entry();
  test_stub();
  return test_end();
}
