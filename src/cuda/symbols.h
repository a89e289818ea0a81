/* symbols.h: every name that is looked up in the CUDA runtime and in the driver.
 *
 * R(result, name, arguments)  a function that must be there, in every runtime from 12.0 on
 * O(result, name, arguments)  a function that may be absent (NULL): the comment says since when it exists
 * The same for the driver, which comes with the device and is mostly newer than the runtime.
 * Only functions whose arguments are the same in 12.0 and in 13 are here, except where a comment says what differs. All
 * return a cudaError_t (the driver: a CUresult, with the same numbers) unless they say otherwise. */
#ifndef XCHG_CUDA_SYMBOLS_H
#define XCHG_CUDA_SYMBOLS_H

#define XCHG_CUDA_RUNTIME_SYMBOLS(R, O)                                                                                \
  /* the runtime itself */                                                                                             \
  R(int, cudaRuntimeGetVersion, (int *))                                                                               \
  R(int, cudaDriverGetVersion, (int *))                                                                                \
  R(const char *, cudaGetErrorName, (int))                                                                             \
  R(const char *, cudaGetErrorString, (int))                                                                           \
  R(int, cudaGetLastError, (void))                                                                                     \
  /* devices */                                                                                                        \
  R(int, cudaGetDeviceCount, (int *))                                                                                  \
  R(int, cudaGetDevice, (int *))                                                                                       \
  R(int, cudaSetDevice, (int))                                                                                         \
  R(int, cudaDeviceGetAttribute, (int *, int, int))                                                                    \
  R(int, cudaDeviceGetPCIBusId, (char *, int, int))                                                                    \
  R(int, cudaDeviceSynchronize, (void))                                                                                \
  R(int, cudaMemGetInfo, (size_t *, size_t *))                                                                         \
  R(int, cudaDeviceCanAccessPeer, (int *, int, int))                                                                   \
  R(int, cudaDeviceEnablePeerAccess, (int, unsigned))                                                                  \
  R(int, cudaDeviceGetStreamPriorityRange, (int *, int *))                                                             \
  /* memory */                                                                                                         \
  R(int, cudaMalloc, (void **, size_t))                                                                                \
  R(int, cudaFree, (void *))                                                                                           \
  R(int, cudaFreeAsync, (void *, void *))                                                                              \
  R(int, cudaMallocFromPoolAsync, (void **, size_t, void *, void *))                                                   \
  R(int, cudaMemPoolCreate, (void **, const void *)) /* 88 bytes, the same in 12 and 13 */                             \
  R(int, cudaMemPoolSetAttribute, (void *, int, void *))                                                               \
  R(int, cudaMemPoolGetAttribute, (void *, int, void *))                                                               \
  R(int, cudaMemPoolTrimTo, (void *, size_t))                                                                          \
  R(int, cudaMemPoolSetAccess, (void *, const void *, size_t))                                                         \
  R(int, cudaHostAlloc, (void **, size_t, unsigned))                                                                   \
  R(int, cudaFreeHost, (void *))                                                                                       \
  R(int, cudaMallocManaged, (void **, size_t, unsigned))                                                               \
  R(int, cudaPointerGetAttributes, (void *, const void *)) /* 24 bytes in 12, 88 in 13: give it 128 zeroed ones */     \
  /* copies */                                                                                                         \
  R(int, cudaMemcpyAsync, (void *, const void *, size_t, int, void *))                                                 \
  R(int, cudaMemcpy2DAsync, (void *, size_t, const void *, size_t, size_t, size_t, int, void *))                       \
  R(int, cudaMemcpy3DAsync, (const void *, void *))                                                                    \
  R(int, cudaMemcpyPeerAsync, (void *, int, const void *, int, size_t, void *))                                        \
  R(int, cudaMemcpy3DPeerAsync, (const void *, void *))                                                                \
  R(int, cudaMemsetAsync, (void *, int, size_t, void *))                                                               \
  R(int, cudaMemset2DAsync, (void *, size_t, int, size_t, size_t, void *))                                             \
  /* streams and events */                                                                                             \
  R(int, cudaStreamCreateWithPriority, (void **, unsigned, int))                                                       \
  R(int, cudaStreamDestroy, (void *))                                                                                  \
  R(int, cudaStreamSynchronize, (void *))                                                                              \
  R(int, cudaStreamQuery, (void *))                                                                                    \
  R(int, cudaStreamWaitEvent, (void *, void *, unsigned))                                                              \
  R(int, cudaStreamGetFlags, (void *, unsigned *))                                                                     \
  R(int, cudaStreamGetPriority, (void *, int *))                                                                       \
  O(int, cudaStreamGetDevice, (void *, int *)) /* 12.8 */                                                              \
  R(int, cudaLaunchHostFunc, (void *, void (*)(void *), void *))                                                       \
  R(int, cudaEventCreateWithFlags, (void **, unsigned))                                                                \
  R(int, cudaEventRecord, (void *, void *))                                                                            \
  R(int, cudaEventQuery, (void *))                                                                                     \
  R(int, cudaEventSynchronize, (void *))                                                                               \
  R(int, cudaEventElapsedTime, (float *, void *, void *))                                                              \
  R(int, cudaEventDestroy, (void *))                                                                                   \
  /* captures and graphs */                                                                                            \
  R(int, cudaStreamBeginCapture, (void *, int))                                                                        \
  R(int, cudaStreamEndCapture, (void *, void **))                                                                      \
  R(int, cudaStreamIsCapturing, (void *, int *))                                                                       \
  R(int, cudaThreadExchangeStreamCaptureMode, (int *))                                                                 \
  R(int, cudaGraphInstantiateWithFlags, (void **, void *, unsigned long long))                                         \
  R(int, cudaGraphLaunch, (void *, void *))                                                                            \
  R(int, cudaGraphExecUpdate, (void *, void *, void *)) /* a struct of 24 bytes since 12.0 */                          \
  R(int, cudaGraphExecDestroy, (void *))                                                                               \
  R(int, cudaGraphDestroy, (void *))                                                                                   \
  R(int, cudaGraphDebugDotPrint, (void *, const char *, unsigned))                                                     \
  R(int, cudaGraphGetNodes, (void *, void **, size_t *))                                                               \
  /* code */                                                                                                           \
  O(int, cudaLibraryLoadData, (void **, const void *, int *, void **, unsigned, int *, void **, unsigned)) /* 12.8 */  \
  O(int, cudaLibraryUnload, (void *))                                                                                  \
  O(int, cudaLibraryGetKernel, (void **, void *, const char *))                                                        \
  O(int, cudaLibraryGetGlobal, (void **, size_t *, void *, const char *))                                              \
  O(int, cudaLibraryGetManaged, (void **, size_t *, void *, const char *))                                             \
  O(int, cudaLibraryGetKernelCount, (unsigned *, void *))                                                              \
  O(int, cudaLibraryEnumerateKernels, (void **, unsigned, void *))                                                     \
  O(int, cudaFuncGetParamInfo, (const void *, size_t, size_t *, size_t *)) /* 12.4 */                                  \
  O(int, cudaFuncGetName, (const char **, const void *))                   /* 12.3 */                                  \
  R(int, cudaFuncGetAttributes, (void *, const void *)) /* 144 bytes in 13; give it 256 zeroed ones */                 \
  R(int, cudaFuncSetAttribute, (const void *, int, int))                                                               \
  R(int, cudaLaunchKernelExC, (const void *, const void *, void **))                                                   \
  R(int, cudaOccupancyMaxActiveBlocksPerMultiprocessor, (int *, const void *, int, size_t))                            \
  R(int, cudaOccupancyAvailableDynamicSMemPerBlock, (size_t *, const void *, int, int))                                \
  R(int, cudaOccupancyMaxPotentialClusterSize, (int *, const void *, const void *))

#define XCHG_CUDA_DRIVER_SYMBOLS(R, O)                                                                                 \
  R(int, cuCtxGetCurrent, (void **))                                                                                   \
  R(int, cuCtxSetCurrent, (void *))                                                                                    \
  R(int, cuCtxPushCurrent_v2, (void *))                                                                                \
  R(int, cuCtxPopCurrent_v2, (void **))                                                                                \
  R(int, cuDevicePrimaryCtxRetain, (void **, int))                                                                     \
  R(int, cuDevicePrimaryCtxGetState, (int, unsigned *, int *))                                                         \
  R(int, cuDeviceGetName, (char *, int, int))                                                                          \
  R(int, cuDeviceGetUuid_v2, (char *, int))                                                                            \
  R(int, cuDeviceTotalMem_v2, (size_t *, int))                                                                         \
  O(int, cuPointerGetAttributes, (unsigned, const int *, void **, uint64_t))                                           \
  O(int, cuMemsetD16Async, (uint64_t, unsigned short, size_t, void *))                                                 \
  O(int, cuMemsetD32Async, (uint64_t, unsigned, size_t, void *))                                                       \
  /* code, where the runtime is older than 12.8 */                                                                     \
  O(int, cuLibraryLoadData, (void **, const void *, int *, void **, unsigned, int *, void **, unsigned)) /* 12.0 */    \
  O(int, cuLibraryUnload, (void *))                                                                                    \
  O(int, cuLibraryGetKernel, (void **, void *, const char *))                                                          \
  O(int, cuLibraryGetGlobal, (uint64_t *, size_t *, void *, const char *))                                             \
  O(int, cuLibraryGetManaged, (uint64_t *, size_t *, void *, const char *))                                            \
  O(int, cuLibraryGetKernelCount, (unsigned *, void *)) /* 12.4 */                                                     \
  O(int, cuLibraryEnumerateKernels, (void **, unsigned, void *))                                                       \
  O(int, cuKernelGetParamInfo, (void *, size_t, size_t *, size_t *)) /* 12.4 */                                        \
  O(int, cuKernelGetName, (const char **, void *))                   /* 12.3 */

#endif
