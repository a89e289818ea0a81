/* The runtime API as a C program declares it, and ways to check what it answers. Codes come from its documentation. */
#ifndef XCHG_SPEC_CUDART_H
#define XCHG_SPEC_CUDART_H

#include "test.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/types.h"
#include "xsim.h"

enum {
  VALUE = 1,
  MEMORY = 2,
  INITIALIZATION = 3,
  PITCH = 12,
  SYMBOL = 13,
  DIRECTION = 21,
  DEVICE_FUNCTION = 98,
  NO_DEVICE = 100,
  DEVICE = 101,
  LIMIT = 215,
  IMAGE = 200,
  PTX = 218,
  NOT_FOUND_FILE = 301,
  HANDLE = 400,
  NOT_FOUND = 500,
  NOT_READY = 600,
  PEER_ENABLED = 704,
  PEER_NOT_ENABLED = 705,
  CONTEXT_DESTROYED = 709,
  REGISTERED_ALREADY = 712,
  NOT_REGISTERED = 713,
  LAUNCH_FAILURE = 719,
  NOT_PERMITTED = 800,
  NOT_SUPPORTED = 801,
  CAPTURE_UNSUPPORTED = 900,
  CAPTURE_INVALIDATED = 901,
};
enum { HOST_HOST, HOST_DEVICE, DEVICE_HOST, DEVICE_DEVICE, DEFAULT };

const char *cudaGetErrorName(int), *cudaGetErrorString(int);
int cudaGetLastError(void), cudaPeekAtLastError(void), cudaDriverGetVersion(int *), cudaRuntimeGetVersion(int *);
int cudaProfilerStart(void), cudaProfilerStop(void);
int cudaGetDeviceCount(int *), cudaGetDevice(int *), cudaSetDevice(int), cudaInitDevice(int, unsigned, unsigned);
int cudaSetDeviceFlags(unsigned), cudaGetDeviceFlags(unsigned *), cudaDeviceGetAttribute(int *, int, int);
int cudaGetDeviceProperties(void *, int), cudaGetDeviceProperties_v2(void *, int),
    cudaChooseDevice(int *, const void *);
int cudaDeviceGetPCIBusId(char *, int, int), cudaDeviceGetByPCIBusId(int *, const char *);
int cudaDeviceSetLimit(int, size_t), cudaDeviceGetLimit(size_t *, int);
int cudaDeviceSetCacheConfig(int), cudaDeviceGetCacheConfig(int *), cudaDeviceSynchronize(void), cudaDeviceReset(void);
int cudaMemGetInfo(size_t *, size_t *);
int cudaDeviceCanAccessPeer(int *, int, int), cudaDeviceEnablePeerAccess(int, unsigned);
int cudaDeviceDisablePeerAccess(int), cudaDeviceGetP2PAttribute(int *, int, int, int);
int cudaMalloc(void **, size_t), cudaFree(void *), cudaMallocHost(void **, size_t), cudaFreeHost(void *);
int cudaMallocPitch(void **, size_t *, size_t, size_t), cudaMalloc3D(sim_pitched *, sim_extent);
int cudaHostAlloc(void **, size_t, unsigned), cudaMallocManaged(void **, size_t, unsigned);
int cudaHostRegister(void *, size_t, unsigned), cudaHostUnregister(void *);
int cudaHostGetDevicePointer(void **, void *, unsigned), cudaHostGetFlags(unsigned *, void *);
int cudaPointerGetAttributes(void *, const void *);
int cudaMemcpy(void *, const void *, size_t, int), cudaMemcpyAsync(void *, const void *, size_t, int, void *);
int cudaMemcpy_ptds(void *, const void *, size_t, int), cudaMemcpyAsync_ptsz(void *, const void *, size_t, int, void *);
int cudaMemcpy2D(void *, size_t, const void *, size_t, size_t, size_t, int), cudaMemcpy3D(const sim_copy_3d *);
int cudaMemcpyPeer(void *, int, const void *, int, size_t), cudaMemcpy3DPeer(const sim_copy_3d_peer *);
int cudaMemset(void *, int, size_t), cudaMemset2D(void *, size_t, int, size_t, size_t);
int cudaMemset3D(sim_pitched, int, sim_extent), cudaMemsetAsync(void *, int, size_t, void *);
int cudaMemPrefetchAsync(const void *, size_t, sim_location, unsigned, void *);
int cudaMemAdvise(const void *, size_t, int, sim_location);
int cudaMemcpyToSymbol(const void *, const void *, size_t, size_t, int), cudaGetSymbolAddress(void **, const void *);
int cudaStreamAttachMemAsync(void *, void *, size_t, unsigned);
int cudaDeviceGetDefaultMemPool(void **, int), cudaDeviceGetMemPool(void **, int), cudaDeviceSetMemPool(int, void *);
int cudaMemPoolCreate(void **, const sim_pool_settings *), cudaMemPoolDestroy(void *),
    cudaMemPoolTrimTo(void *, size_t);
int cudaMemPoolSetAttribute(void *, int, void *), cudaMemPoolGetAttribute(void *, int, void *);
int cudaMemPoolSetAccess(void *, const sim_access *, size_t), cudaMemPoolGetAccess(int *, void *, const sim_location *);
int cudaMallocAsync(void **, size_t, void *), cudaFreeAsync(void *, void *);
int cudaMallocFromPoolAsync(void **, size_t, void *, void *);
int cudaStreamCreate(void **), cudaStreamCreateWithFlags(void **, unsigned);
int cudaStreamCreateWithPriority(void **, unsigned, int), cudaDeviceGetStreamPriorityRange(int *, int *);
int cudaStreamDestroy(void *), cudaStreamSynchronize(void *), cudaStreamQuery(void *);
int cudaStreamGetFlags(void *, unsigned *), cudaStreamGetPriority(void *, int *);
int cudaStreamGetId(void *, unsigned long long *), cudaStreamGetDevice(void *, int *);
int cudaStreamWaitEvent(void *, void *, unsigned), cudaLaunchHostFunc(void *, void (*)(void *), void *);
int cudaStreamAddCallback(void *, void (*)(void *, int, void *), void *, unsigned);
int cudaEventCreate(void **), cudaEventCreateWithFlags(void **, unsigned), cudaEventDestroy(void *);
int cudaEventRecord(void *, void *), cudaEventQuery(void *), cudaEventSynchronize(void *);
int cudaEventElapsedTime(float *, void *, void *);
int cudaStreamBeginCapture(void *, int), cudaStreamEndCapture(void *, void **), cudaStreamIsCapturing(void *, int *);
int cudaStreamGetCaptureInfo(void *, int *, unsigned long long *, void **, void *const **, const sim_edge_data **,
                             size_t *);
int cudaThreadExchangeStreamCaptureMode(int *);
int cudaGraphCreate(void **, unsigned), cudaGraphDestroy(void *), cudaGraphClone(void **, void *);
int cudaGraphAddMemcpyNode1D(void **, void *, void **, size_t, void *, const void *, size_t, int);
int cudaGraphAddMemsetNode(void **, void *, void **, size_t, const sim_set_node *);
int cudaGraphMemsetNodeGetParams(void *, sim_set_node *), cudaGraphMemsetNodeSetParams(void *, const sim_set_node *);
int cudaGraphAddHostNode(void **, void *, void **, size_t, const sim_host_node *);
int cudaGraphAddEmptyNode(void **, void *, void **, size_t);
int cudaGraphAddChildGraphNode(void **, void *, void **, size_t, void *);
int cudaGraphChildGraphNodeGetGraph(void *, void **), cudaGraphNodeFindInClone(void **, void *, void *);
int cudaGraphAddNode(void **, void *, void **, const sim_edge_data *, size_t, const sim_node_settings *);
int cudaGraphNodeGetType(void *, int *), cudaGraphGetNodes(void *, void **, size_t *);
int cudaGraphGetRootNodes(void *, void **, size_t *);
int cudaGraphGetEdges(void *, void **, void **, sim_edge_data *, size_t *);
int cudaGraphNodeGetDependencies(void *, void **, sim_edge_data *, size_t *);
int cudaGraphNodeGetDependentNodes(void *, void **, sim_edge_data *, size_t *);
int cudaGraphAddDependencies(void *, void **, void **, const sim_edge_data *, size_t), cudaGraphDestroyNode(void *);
int cudaGraphRemoveDependencies(void *, void **, void **, const sim_edge_data *, size_t);
int cudaGraphInstantiate(void **, void *, unsigned long long), cudaGraphExecDestroy(void *);
int cudaGraphLaunch(void *, void *), cudaGraphExecUpdate(void *, void *, sim_update_result *);
int cudaGraphAddMemAllocNode(void **, void *, void *const *, size_t, sim_allocation_node *);
int cudaGraphExecMemsetNodeSetParams(void *, void *, const sim_set_node *);
int cudaGraphDebugDotPrint(void *, const char *, unsigned);
int cudaUserObjectCreate(void **, void *, void (*)(void *), unsigned, unsigned),
    cudaUserObjectRelease(void *, unsigned);
int cudaGraphRetainUserObject(void *, void *, unsigned, unsigned);
int cudaLibraryLoadData(void **, const void *, int *, void **, unsigned, int *, void **, unsigned);
int cudaGetFuncBySymbol(void **, const void *);
int cudaLibraryLoadFromFile(void **, const char *, int *, void **, unsigned, int *, void **, unsigned);
int cudaLibraryUnload(void *), cudaLibraryGetKernel(void **, void *, const char *);
int cudaLibraryGetGlobal(void **, size_t *, void *, const char *), cudaLibraryGetKernelCount(unsigned *, void *);
int cudaLibraryEnumerateKernels(void **, unsigned, void *);
int cudaFuncGetAttributes(sim_function_attributes *, const void *), cudaFuncSetAttribute(const void *, int, int);
int cudaFuncGetName(const char **, const void *), cudaFuncGetParamInfo(const void *, size_t, size_t *, size_t *);
int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *, const void *, int, size_t);
int cudaLaunchKernel(const void *, sim_dim3, sim_dim3, void **, size_t, void *);
int cudaLaunchKernelExC(const sim_launch_settings *, const void *, void **);
int cudaLaunchCooperativeKernel(const void *, sim_dim3, sim_dim3, void **, size_t, void *);
int cudaGraphAddKernelNode(void **, void *, void **, size_t, const sim_kernel_node *);
int cudaGraphKernelNodeGetParams(void *, sim_kernel_node *);
int cudaGetDriverEntryPointByVersion(const char *, void **, unsigned, unsigned long long, int *);
int cudaMallocArray(void **, const void *, size_t, size_t, unsigned), cudaIpcGetMemHandle(void *, void *);
void **__cudaRegisterFatBinary(void *);
void __cudaRegisterFunction(void **, const char *, char *, const char *, int, void *, void *, void *, void *, int *);
void __cudaUnregisterFatBinary(void **);

#define BAD ((void *)(uintptr_t)0x1234567)

/* Answers `code`, which is then the last error, once. */
#define FAILS(call, code)                                                                                              \
  do {                                                                                                                 \
    CHECK_EQUAL((call), (code));                                                                                       \
    CHECK_EQUAL(cudaPeekAtLastError(), (code));                                                                        \
    CHECK_EQUAL(cudaGetLastError(), (code));                                                                           \
    CHECK_EQUAL(cudaGetLastError(), 0);                                                                                \
  } while (0)
#define WORKS(call) CHECK_EQUAL((call), 0)

/* Two devices of 1 GiB; reports go nowhere. Before the first call. */
static inline void cudart_settings(void) {
  setenv("XCHG_SIM_DEVICES", "2", 1);
  setenv("XCHG_SIM_MEMORY", "1G", 1);
  setenv("XCHG_SIM_LOG", "none", 1);
}

#endif
