/* Result codes. Inside the simulator one enumeration serves both APIs: the numbers are theirs, and where only one of
   them has a code, the other's front answers its nearest one (sim_result_runtime, sim_result_driver).
   Numbers, names: cuda.h and driver_types.h of CUDA 13; texts: what libcudart 13.5 answers. */
#ifndef SIM_RESULT_H
#define SIM_RESULT_H

/* X(name, number, name in the runtime API or NULL, name in the driver API or NULL, text) */
#define SIM_RESULTS(X)                                                                                                 \
  X(SUCCESS, 0, "cudaSuccess", "CUDA_SUCCESS", "no error")                                                             \
  X(INVALID_VALUE, 1, "cudaErrorInvalidValue", "CUDA_ERROR_INVALID_VALUE", "invalid argument")                         \
  X(OUT_OF_MEMORY, 2, "cudaErrorMemoryAllocation", "CUDA_ERROR_OUT_OF_MEMORY", "out of memory")                        \
  X(NOT_INITIALIZED, 3, "cudaErrorInitializationError", "CUDA_ERROR_NOT_INITIALIZED", "initialization error")          \
  X(DEINITIALIZED, 4, "cudaErrorCudartUnloading", "CUDA_ERROR_DEINITIALIZED", "driver shutting down")                  \
  X(PROFILER_DISABLED, 5, "cudaErrorProfilerDisabled", "CUDA_ERROR_PROFILER_DISABLED",                                 \
    "profiler disabled while using external profiling tool")                                                           \
  X(PROFILER_NOT_INITIALIZED, 6, "cudaErrorProfilerNotInitialized", "CUDA_ERROR_PROFILER_NOT_INITIALIZED",             \
    "profiler not initialized: call cudaProfilerInitialize()")                                                         \
  X(PROFILER_ALREADY_STARTED, 7, "cudaErrorProfilerAlreadyStarted", "CUDA_ERROR_PROFILER_ALREADY_STARTED",             \
    "profiler already started")                                                                                        \
  X(PROFILER_ALREADY_STOPPED, 8, "cudaErrorProfilerAlreadyStopped", "CUDA_ERROR_PROFILER_ALREADY_STOPPED",             \
    "profiler already stopped")                                                                                        \
  X(INVALID_CONFIGURATION, 9, "cudaErrorInvalidConfiguration", NULL, "invalid configuration argument")                 \
  X(INVALID_PITCH_VALUE, 12, "cudaErrorInvalidPitchValue", NULL, "invalid pitch argument")                             \
  X(INVALID_SYMBOL, 13, "cudaErrorInvalidSymbol", NULL, "invalid device symbol")                                       \
  X(INVALID_HOST_POINTER, 16, "cudaErrorInvalidHostPointer", NULL, "invalid host pointer")                             \
  X(INVALID_DEVICE_POINTER, 17, "cudaErrorInvalidDevicePointer", NULL, "invalid device pointer")                       \
  X(INVALID_TEXTURE, 18, "cudaErrorInvalidTexture", NULL, "invalid texture reference")                                 \
  X(INVALID_TEXTURE_BINDING, 19, "cudaErrorInvalidTextureBinding", NULL, "texture is not bound to a pointer")          \
  X(INVALID_CHANNEL_DESCRIPTOR, 20, "cudaErrorInvalidChannelDescriptor", NULL, "invalid channel descriptor")           \
  X(INVALID_MEMCPY_DIRECTION, 21, "cudaErrorInvalidMemcpyDirection", NULL, "invalid copy direction for memcpy")        \
  X(ADDRESS_OF_CONSTANT, 22, "cudaErrorAddressOfConstant", NULL, "invalid address of constant")                        \
  X(TEXTURE_FETCH_FAILED, 23, "cudaErrorTextureFetchFailed", NULL, "fetch from texture failed")                        \
  X(TEXTURE_NOT_BOUND, 24, "cudaErrorTextureNotBound", NULL, "cannot fetch from a texture that is not bound")          \
  X(SYNCHRONIZATION_ERROR, 25, "cudaErrorSynchronizationError", NULL, "incorrect use of __syncthreads()")              \
  X(INVALID_FILTER_SETTING, 26, "cudaErrorInvalidFilterSetting", NULL,                                                 \
    "linear filtering not supported for non-float type")                                                               \
  X(INVALID_NORM_SETTING, 27, "cudaErrorInvalidNormSetting", NULL,                                                     \
    "read as normalized float not supported for data type")                                                            \
  X(MIXED_DEVICE_EXECUTION, 28, "cudaErrorMixedDeviceExecution", NULL,                                                 \
    "device emulation mode and device execution mode cannot be mixed")                                                 \
  X(NOT_YET_IMPLEMENTED, 31, "cudaErrorNotYetImplemented", NULL, "feature not yet implemented")                        \
  X(MEMORY_VALUE_TOO_LARGE, 32, "cudaErrorMemoryValueTooLarge", NULL,                                                  \
    "memory size or pointer value too large to fit in 32 bit")                                                         \
  X(STUB_LIBRARY, 34, "cudaErrorStubLibrary", "CUDA_ERROR_STUB_LIBRARY", "CUDA driver is a stub library")              \
  X(INSUFFICIENT_DRIVER, 35, "cudaErrorInsufficientDriver", NULL,                                                      \
    "CUDA driver version is insufficient for CUDA runtime version")                                                    \
  X(CALL_REQUIRES_NEWER_DRIVER, 36, "cudaErrorCallRequiresNewerDriver", "CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER",       \
    "API call is not supported in the installed CUDA driver")                                                          \
  X(INVALID_SURFACE, 37, "cudaErrorInvalidSurface", NULL, "invalid surface reference")                                 \
  X(DUPLICATE_VARIABLE_NAME, 43, "cudaErrorDuplicateVariableName", NULL,                                               \
    "duplicate global variable looked up by string name")                                                              \
  X(DUPLICATE_TEXTURE_NAME, 44, "cudaErrorDuplicateTextureName", NULL, "duplicate texture looked up by string name")   \
  X(DUPLICATE_SURFACE_NAME, 45, "cudaErrorDuplicateSurfaceName", NULL, "duplicate surface looked up by string name")   \
  X(DEVICE_UNAVAILABLE, 46, "cudaErrorDevicesUnavailable", "CUDA_ERROR_DEVICE_UNAVAILABLE",                            \
    "CUDA-capable device(s) is/are busy or unavailable")                                                               \
  X(INCOMPATIBLE_DRIVER_CONTEXT, 49, "cudaErrorIncompatibleDriverContext", NULL, "incompatible driver context")        \
  X(MISSING_CONFIGURATION, 52, "cudaErrorMissingConfiguration", NULL, "__global__ function call is not configured")    \
  X(PRIOR_LAUNCH_FAILURE, 53, "cudaErrorPriorLaunchFailure", NULL, "unspecified launch failure in prior launch")       \
  X(LAUNCH_MAX_DEPTH_EXCEEDED, 65, "cudaErrorLaunchMaxDepthExceeded", NULL,                                            \
    "launch would exceed maximum depth of nested launches")                                                            \
  X(LAUNCH_FILE_SCOPED_TEX, 66, "cudaErrorLaunchFileScopedTex", NULL,                                                  \
    "launch failed because kernel uses unsupported, file-scoped textures (texture objects are supported)")             \
  X(LAUNCH_FILE_SCOPED_SURF, 67, "cudaErrorLaunchFileScopedSurf", NULL,                                                \
    "launch failed because kernel uses unsupported, file-scoped surfaces (surface objects are supported)")             \
  X(SYNC_DEPTH_EXCEEDED, 68, "cudaErrorSyncDepthExceeded", NULL,                                                       \
    "cudaDeviceSynchronize failed because caller's grid depth exceeds cudaLimitDevRuntimeSyncDepth")                   \
  X(LAUNCH_PENDING_COUNT_EXCEEDED, 69, "cudaErrorLaunchPendingCountExceeded", NULL,                                    \
    "launch failed because launch would exceed cudaLimitDevRuntimePendingLaunchCount")                                 \
  X(INVALID_DEVICE_FUNCTION, 98, "cudaErrorInvalidDeviceFunction", NULL, "invalid device function")                    \
  X(NO_DEVICE, 100, "cudaErrorNoDevice", "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected")                 \
  X(INVALID_DEVICE, 101, "cudaErrorInvalidDevice", "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal")              \
  X(DEVICE_NOT_LICENSED, 102, "cudaErrorDeviceNotLicensed", "CUDA_ERROR_DEVICE_NOT_LICENSED",                          \
    "device doesn't have valid Grid license")                                                                          \
  X(SOFTWARE_VALIDITY_NOT_ESTABLISHED, 103, "cudaErrorSoftwareValidityNotEstablished", NULL,                           \
    "integrity checks failed")                                                                                         \
  X(STARTUP_FAILURE, 127, "cudaErrorStartupFailure", NULL, "startup failure in cuda runtime")                          \
  X(INVALID_IMAGE, 200, "cudaErrorInvalidKernelImage", "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid")   \
  X(INVALID_CONTEXT, 201, "cudaErrorDeviceUninitialized", "CUDA_ERROR_INVALID_CONTEXT", "invalid device context")      \
  X(CONTEXT_ALREADY_CURRENT, 202, NULL, "CUDA_ERROR_CONTEXT_ALREADY_CURRENT", "context is already current")            \
  X(MAP_FAILED, 205, "cudaErrorMapBufferObjectFailed", "CUDA_ERROR_MAP_FAILED", "mapping of buffer object failed")     \
  X(UNMAP_FAILED, 206, "cudaErrorUnmapBufferObjectFailed", "CUDA_ERROR_UNMAP_FAILED",                                  \
    "unmapping of buffer object failed")                                                                               \
  X(ARRAY_IS_MAPPED, 207, "cudaErrorArrayIsMapped", "CUDA_ERROR_ARRAY_IS_MAPPED", "array is mapped")                   \
  X(ALREADY_MAPPED, 208, "cudaErrorAlreadyMapped", "CUDA_ERROR_ALREADY_MAPPED", "resource already mapped")             \
  X(NO_BINARY_FOR_GPU, 209, "cudaErrorNoKernelImageForDevice", "CUDA_ERROR_NO_BINARY_FOR_GPU",                         \
    "no kernel image is available for execution on the device")                                                        \
  X(ALREADY_ACQUIRED, 210, "cudaErrorAlreadyAcquired", "CUDA_ERROR_ALREADY_ACQUIRED", "resource already acquired")     \
  X(NOT_MAPPED, 211, "cudaErrorNotMapped", "CUDA_ERROR_NOT_MAPPED", "resource not mapped")                             \
  X(NOT_MAPPED_AS_ARRAY, 212, "cudaErrorNotMappedAsArray", "CUDA_ERROR_NOT_MAPPED_AS_ARRAY",                           \
    "resource not mapped as array")                                                                                    \
  X(NOT_MAPPED_AS_POINTER, 213, "cudaErrorNotMappedAsPointer", "CUDA_ERROR_NOT_MAPPED_AS_POINTER",                     \
    "resource not mapped as pointer")                                                                                  \
  X(ECC_UNCORRECTABLE, 214, "cudaErrorECCUncorrectable", "CUDA_ERROR_ECC_UNCORRECTABLE",                               \
    "uncorrectable ECC error encountered")                                                                             \
  X(UNSUPPORTED_LIMIT, 215, "cudaErrorUnsupportedLimit", "CUDA_ERROR_UNSUPPORTED_LIMIT",                               \
    "limit is not supported on this architecture")                                                                     \
  X(CONTEXT_ALREADY_IN_USE, 216, "cudaErrorDeviceAlreadyInUse", "CUDA_ERROR_CONTEXT_ALREADY_IN_USE",                   \
    "exclusive-thread device already in use by a different thread")                                                    \
  X(PEER_ACCESS_UNSUPPORTED, 217, "cudaErrorPeerAccessUnsupported", "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED",              \
    "peer access is not supported between these two devices")                                                          \
  X(INVALID_PTX, 218, "cudaErrorInvalidPtx", "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed")                 \
  X(INVALID_GRAPHICS_CONTEXT, 219, "cudaErrorInvalidGraphicsContext", "CUDA_ERROR_INVALID_GRAPHICS_CONTEXT",           \
    "invalid OpenGL or DirectX context")                                                                               \
  X(NVLINK_UNCORRECTABLE, 220, "cudaErrorNvlinkUncorrectable", "CUDA_ERROR_NVLINK_UNCORRECTABLE",                      \
    "uncorrectable NVLink error detected during the execution")                                                        \
  X(JIT_COMPILER_NOT_FOUND, 221, "cudaErrorJitCompilerNotFound", "CUDA_ERROR_JIT_COMPILER_NOT_FOUND",                  \
    "PTX JIT compiler library not found")                                                                              \
  X(UNSUPPORTED_PTX_VERSION, 222, "cudaErrorUnsupportedPtxVersion", "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",              \
    "the provided PTX was compiled with an unsupported toolchain.")                                                    \
  X(JIT_COMPILATION_DISABLED, 223, "cudaErrorJitCompilationDisabled", "CUDA_ERROR_JIT_COMPILATION_DISABLED",           \
    "PTX JIT compilation was disabled")                                                                                \
  X(UNSUPPORTED_EXEC_AFFINITY, 224, "cudaErrorUnsupportedExecAffinity", "CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY",        \
    "the provided execution affinity is not supported")                                                                \
  X(UNSUPPORTED_DEVSIDE_SYNC, 225, "cudaErrorUnsupportedDevSideSync", "CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC",           \
    "the provided PTX contains unsupported call to cudaDeviceSynchronize")                                             \
  X(CONTAINED, 226, "cudaErrorContained", "CUDA_ERROR_CONTAINED",                                                      \
    "Invalid access of peer GPU memory over nvlink or a hardware error")                                               \
  X(INVALID_SOURCE, 300, "cudaErrorInvalidSource", "CUDA_ERROR_INVALID_SOURCE", "device kernel image is invalid")      \
  X(FILE_NOT_FOUND, 301, "cudaErrorFileNotFound", "CUDA_ERROR_FILE_NOT_FOUND", "file not found")                       \
  X(SHARED_OBJECT_SYMBOL_NOT_FOUND, 302, "cudaErrorSharedObjectSymbolNotFound",                                        \
    "CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND", "shared object symbol not found")                                     \
  X(SHARED_OBJECT_INIT_FAILED, 303, "cudaErrorSharedObjectInitFailed", "CUDA_ERROR_SHARED_OBJECT_INIT_FAILED",         \
    "shared object initialization failed")                                                                             \
  X(OPERATING_SYSTEM, 304, "cudaErrorOperatingSystem", "CUDA_ERROR_OPERATING_SYSTEM",                                  \
    "OS call failed or operation not supported on this OS")                                                            \
  X(INVALID_HANDLE, 400, "cudaErrorInvalidResourceHandle", "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle")     \
  X(ILLEGAL_STATE, 401, "cudaErrorIllegalState", "CUDA_ERROR_ILLEGAL_STATE",                                           \
    "the operation cannot be performed in the present state")                                                          \
  X(LOSSY_QUERY, 402, "cudaErrorLossyQuery", "CUDA_ERROR_LOSSY_QUERY",                                                 \
    "attempted introspection would be semantically lossy")                                                             \
  X(NOT_FOUND, 500, "cudaErrorSymbolNotFound", "CUDA_ERROR_NOT_FOUND", "named symbol not found")                       \
  X(NOT_READY, 600, "cudaErrorNotReady", "CUDA_ERROR_NOT_READY", "device not ready")                                   \
  X(ILLEGAL_ADDRESS, 700, "cudaErrorIllegalAddress", "CUDA_ERROR_ILLEGAL_ADDRESS",                                     \
    "an illegal memory access was encountered")                                                                        \
  X(LAUNCH_OUT_OF_RESOURCES, 701, "cudaErrorLaunchOutOfResources", "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",               \
    "too many resources requested for launch")                                                                         \
  X(LAUNCH_TIMEOUT, 702, "cudaErrorLaunchTimeout", "CUDA_ERROR_LAUNCH_TIMEOUT",                                        \
    "the launch timed out and was terminated")                                                                         \
  X(LAUNCH_INCOMPATIBLE_TEXTURING, 703, "cudaErrorLaunchIncompatibleTexturing",                                        \
    "CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING", "launch uses incompatible texturing mode")                             \
  X(PEER_ACCESS_ALREADY_ENABLED, 704, "cudaErrorPeerAccessAlreadyEnabled", "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED",   \
    "peer access is already enabled")                                                                                  \
  X(PEER_ACCESS_NOT_ENABLED, 705, "cudaErrorPeerAccessNotEnabled", "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED",               \
    "peer access has not been enabled")                                                                                \
  X(PRIMARY_CONTEXT_ACTIVE, 708, "cudaErrorSetOnActiveProcess", "CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE",                   \
    "cannot set while device is active in this process")                                                               \
  X(CONTEXT_IS_DESTROYED, 709, "cudaErrorContextIsDestroyed", "CUDA_ERROR_CONTEXT_IS_DESTROYED",                       \
    "context is destroyed")                                                                                            \
  X(ASSERT, 710, "cudaErrorAssert", "CUDA_ERROR_ASSERT", "device-side assert triggered")                               \
  X(TOO_MANY_PEERS, 711, "cudaErrorTooManyPeers", "CUDA_ERROR_TOO_MANY_PEERS", "peer mapping resources exhausted")     \
  X(HOST_MEMORY_ALREADY_REGISTERED, 712, "cudaErrorHostMemoryAlreadyRegistered",                                       \
    "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", "part or all of the requested memory range is already mapped")        \
  X(HOST_MEMORY_NOT_REGISTERED, 713, "cudaErrorHostMemoryNotRegistered", "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED",      \
    "pointer does not correspond to a registered memory region")                                                       \
  X(HARDWARE_STACK_ERROR, 714, "cudaErrorHardwareStackError", "CUDA_ERROR_HARDWARE_STACK_ERROR",                       \
    "hardware stack error")                                                                                            \
  X(ILLEGAL_INSTRUCTION, 715, "cudaErrorIllegalInstruction", "CUDA_ERROR_ILLEGAL_INSTRUCTION",                         \
    "an illegal instruction was encountered")                                                                          \
  X(MISALIGNED_ADDRESS, 716, "cudaErrorMisalignedAddress", "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address")      \
  X(INVALID_ADDRESS_SPACE, 717, "cudaErrorInvalidAddressSpace", "CUDA_ERROR_INVALID_ADDRESS_SPACE",                    \
    "operation not supported on global/shared address space")                                                          \
  X(INVALID_PC, 718, "cudaErrorInvalidPc", "CUDA_ERROR_INVALID_PC", "invalid program counter")                         \
  X(LAUNCH_FAILED, 719, "cudaErrorLaunchFailure", "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure")            \
  X(COOPERATIVE_LAUNCH_TOO_LARGE, 720, "cudaErrorCooperativeLaunchTooLarge",                                           \
    "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE", "too many blocks in cooperative launch")                                \
  X(TENSOR_MEMORY_LEAK, 721, "cudaErrorTensorMemoryLeak", "CUDA_ERROR_TENSOR_MEMORY_LEAK",                             \
    "tensor memory not completely freed")                                                                              \
  X(NOT_PERMITTED, 800, "cudaErrorNotPermitted", "CUDA_ERROR_NOT_PERMITTED", "operation not permitted")                \
  X(NOT_SUPPORTED, 801, "cudaErrorNotSupported", "CUDA_ERROR_NOT_SUPPORTED", "operation not supported")                \
  X(SYSTEM_NOT_READY, 802, "cudaErrorSystemNotReady", "CUDA_ERROR_SYSTEM_NOT_READY", "system not yet initialized")     \
  X(SYSTEM_DRIVER_MISMATCH, 803, "cudaErrorSystemDriverMismatch", "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",                 \
    "system has unsupported display driver / cuda driver combination")                                                 \
  X(COMPAT_NOT_SUPPORTED_ON_DEVICE, 804, "cudaErrorCompatNotSupportedOnDevice",                                        \
    "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE", "forward compatibility was attempted on non supported HW")            \
  X(MPS_CONNECTION_FAILED, 805, "cudaErrorMpsConnectionFailed", "CUDA_ERROR_MPS_CONNECTION_FAILED",                    \
    "MPS client failed to connect to the MPS control daemon or the MPS server")                                        \
  X(MPS_RPC_FAILURE, 806, "cudaErrorMpsRpcFailure", "CUDA_ERROR_MPS_RPC_FAILURE",                                      \
    "the remote procedural call between the MPS server and the MPS client failed")                                     \
  X(MPS_SERVER_NOT_READY, 807, "cudaErrorMpsServerNotReady", "CUDA_ERROR_MPS_SERVER_NOT_READY",                        \
    "MPS server is not ready to accept new MPS client requests")                                                       \
  X(MPS_MAX_CLIENTS_REACHED, 808, "cudaErrorMpsMaxClientsReached", "CUDA_ERROR_MPS_MAX_CLIENTS_REACHED",               \
    "the hardware resources required to create MPS client have been exhausted")                                        \
  X(MPS_MAX_CONNECTIONS_REACHED, 809, "cudaErrorMpsMaxConnectionsReached", "CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED",   \
    "the hardware resources required to support device connections have been exhausted")                               \
  X(MPS_CLIENT_TERMINATED, 810, "cudaErrorMpsClientTerminated", "CUDA_ERROR_MPS_CLIENT_TERMINATED",                    \
    "the MPS client has been terminated by the server")                                                                \
  X(CDP_NOT_SUPPORTED, 811, "cudaErrorCdpNotSupported", "CUDA_ERROR_CDP_NOT_SUPPORTED",                                \
    "is using CUDA Dynamic Parallelism, but the current configuration, like MPS, does not support it")                 \
  X(CDP_VERSION_MISMATCH, 812, "cudaErrorCdpVersionMismatch", "CUDA_ERROR_CDP_VERSION_MISMATCH",                       \
    "unsupported interaction between different versions of CUDA Dynamic Parallelism")                                  \
  X(STREAM_CAPTURE_UNSUPPORTED, 900, "cudaErrorStreamCaptureUnsupported", "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",     \
    "operation not permitted when stream is capturing")                                                                \
  X(STREAM_CAPTURE_INVALIDATED, 901, "cudaErrorStreamCaptureInvalidated", "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",     \
    "operation failed due to a previous error during capture")                                                         \
  X(STREAM_CAPTURE_MERGE, 902, "cudaErrorStreamCaptureMerge", "CUDA_ERROR_STREAM_CAPTURE_MERGE",                       \
    "operation would result in a merge of separate capture sequences")                                                 \
  X(STREAM_CAPTURE_UNMATCHED, 903, "cudaErrorStreamCaptureUnmatched", "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED",           \
    "capture was not ended in the same stream as it began")                                                            \
  X(STREAM_CAPTURE_UNJOINED, 904, "cudaErrorStreamCaptureUnjoined", "CUDA_ERROR_STREAM_CAPTURE_UNJOINED",              \
    "capturing stream has unjoined work")                                                                              \
  X(STREAM_CAPTURE_ISOLATION, 905, "cudaErrorStreamCaptureIsolation", "CUDA_ERROR_STREAM_CAPTURE_ISOLATION",           \
    "dependency created on uncaptured work in another stream")                                                         \
  X(STREAM_CAPTURE_IMPLICIT, 906, "cudaErrorStreamCaptureImplicit", "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT",              \
    "operation would make the legacy stream depend on a capturing blocking stream")                                    \
  X(CAPTURED_EVENT, 907, "cudaErrorCapturedEvent", "CUDA_ERROR_CAPTURED_EVENT",                                        \
    "operation not permitted on an event last recorded in a capturing stream")                                         \
  X(STREAM_CAPTURE_WRONG_THREAD, 908, "cudaErrorStreamCaptureWrongThread", "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD",   \
    "attempt to terminate a thread-local capture sequence from another thread")                                        \
  X(TIMEOUT, 909, "cudaErrorTimeout", "CUDA_ERROR_TIMEOUT", "wait operation timed out")                                \
  X(GRAPH_EXEC_UPDATE_FAILURE, 910, "cudaErrorGraphExecUpdateFailure", "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE",         \
    "the graph update was not performed because it included changes which violated constraints specific to "           \
    "instantiated graph update")                                                                                       \
  X(EXTERNAL_DEVICE, 911, "cudaErrorExternalDevice", "CUDA_ERROR_EXTERNAL_DEVICE",                                     \
    "an async error has occured in external entity outside of CUDA")                                                   \
  X(INVALID_CLUSTER_SIZE, 912, "cudaErrorInvalidClusterSize", "CUDA_ERROR_INVALID_CLUSTER_SIZE",                       \
    "a kernel launch error has occurred due to cluster misconfiguration")                                              \
  X(FUNCTION_NOT_LOADED, 913, "cudaErrorFunctionNotLoaded", "CUDA_ERROR_FUNCTION_NOT_LOADED",                          \
    "the function handle is not loaded when calling an API that requires a loaded function")                           \
  X(INVALID_RESOURCE_TYPE, 914, "cudaErrorInvalidResourceType", "CUDA_ERROR_INVALID_RESOURCE_TYPE",                    \
    "one or more resources passed in are not valid resource types for the operation")                                  \
  X(INVALID_RESOURCE_CONFIGURATION, 915, "cudaErrorInvalidResourceConfiguration",                                      \
    "CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION",                                                                       \
    "one or more resources are insufficient or non-applicable for the operation")                                      \
  X(KEY_ROTATION, 916, NULL, "CUDA_ERROR_KEY_ROTATION", "key rotation")                                                \
  X(UNKNOWN, 999, "cudaErrorUnknown", "CUDA_ERROR_UNKNOWN", "unknown error")

typedef enum {
#define X(name, number, runtime, driver, text) SIM_##name = number,
  SIM_RESULTS(X)
#undef X
} sim_result;

/* The code that each API gives for `result`. A code that only the runtime has becomes CUDA_ERROR_INVALID_VALUE in
   the driver API, but for 13 (NOT_FOUND), 35 (SYSTEM_DRIVER_MISMATCH) and 98 (INVALID_HANDLE); one that only the
   driver has becomes cudaErrorUnknown. */
int sim_result_runtime(int result);
int sim_result_driver(int result);

/* static; NULL for a number that the API does not know. */
const char *sim_result_runtime_name(int result);
const char *sim_result_driver_name(int result);
const char *sim_result_text(int result);

/* Whether the result loses the context: 214, 700, 702, 710, 714 to 719. */
int sim_result_is_sticky(int result);

#endif
