--- What the questions of this folder are answered: `sim`, by the simulated device; `gpu`, by hardware, where somebody has run them
--- there (XCHG_RECORD=file writes the rows). A row with no `gpu` is what documentation says or nobody knows: no claim about
--- hardware. Several answers of hardware that are all right stand in a list.

return {
  pointers = {
    ["host memory before anything was initialised"] = {
      sim = "0, type 0, device -2, device pointer null, host pointer same",
    },
    ["whether that question initialised the device"] = { sim = "active" },
    ["host memory"] = { sim = "0, type 0, device -2, device pointer null, host pointer same" },
    ["cudaMalloc"] = { sim = "0, type 2, device 0, device pointer same, host pointer null" },
    ["cudaMalloc, inside"] = { sim = "0, type 2, device 0, device pointer same, host pointer null" },
    ["cudaMalloc, one past the end of the whole of 2 MiB"] = {
      sim = "0, type 0, device -2, device pointer null, host pointer null",
    },
    ["cudaMalloc, after cudaFree"] = { sim = "0, type 0, device -2, device pointer null, host pointer null" },
    ["cudaMallocAsync"] = { sim = "0, type 2, device 0, device pointer same, host pointer null" },
    ["cudaMallocHost"] = { sim = "0, type 1, device 0, device pointer same, host pointer same" },
    ["cudaMallocHost, inside"] = { sim = "0, type 1, device 0, device pointer same, host pointer same" },
    ["cudaMallocManaged"] = { sim = "0, type 3, device 0, device pointer same, host pointer same" },
    ["cudaHostRegister"] = { sim = "0, type 1, device 0, device pointer same, host pointer same" },
    ["cudaHostRegister, inside"] = { sim = "0, type 1, device 0, device pointer same, host pointer same" },
    ["NULL"] = { sim = "0, type 0, device -2, device pointer null, host pointer null" },
    ["cudaMalloc of device 1 while device 0 is current"] = {
      sim = "0, type 2, device 1, device pointer same, host pointer null",
    },
    ["cudaMallocHost made while device 1 was current"] = {
      sim = "0, type 1, device 1, device pointer same, host pointer same",
    },
    ["the range of cudaMalloc, asked inside"] = { sim = "starts at the pointer, the size that was asked for" },
    ["the range of cudaMallocAsync, asked inside"] = { sim = "starts at the pointer, the size that was asked for" },
    ["the range of cudaMallocManaged"] = { sim = "starts at the pointer, the size that was asked for" },
    ["the range of cudaMallocHost"] = { sim = "starts at the pointer, the size that was asked for" },
    ["one attribute of host memory"] = { sim = "1" },
    ["several attributes of host memory"] = { sim = "0, device 0, managed 0, size 0" },
    ["the number of an allocation that took a freed one's place"] = { sim = "another" },
    ["cudaMalloc of 0 bytes"] = { sim = "0, NULL" },
    ["cudaMallocAsync of 0 bytes"] = { sim = "0, NULL" },
    ["cudaMalloc of more than there is"] = { sim = "2 cudaErrorMemoryAllocation" },
    ["cudaFree of NULL"] = { sim = "0" },
    ["cudaFree a second time"] = { sim = "1 cudaErrorInvalidValue" },
    ["cudaFreeAsync a second time"] = { sim = "1 cudaErrorInvalidValue, then 0" },
    ["cudaFree of host memory"] = { sim = "1 cudaErrorInvalidValue" },
    ["cudaFree inside an allocation"] = { sim = "1 cudaErrorInvalidValue" },
    ["cudaFree of memory of cudaMallocAsync"] = { sim = "0" },
    ["cudaHostRegister of a range that is registered"] = { sim = "712 cudaErrorHostMemoryAlreadyRegistered" },
    ["cudaMemcpy that leaves the allocation"] = { sim = "1 cudaErrorInvalidValue, then 0" },
  },
  launches = {
    ["parameters of a kernel from PTX, and past the last"] = {
      sim = "(0,24)(24,56)(80,56)(136,1)(137,1)(138,2)(144,8)(152,12)(176,16): 1 cudaErrorInvalidValue",
    },
    ["parameters of a kernel without any"] = { sim = ": 1 cudaErrorInvalidValue" },
    ["parameters with a half by value"] = { sim = "(0,2)(4,4): 1 cudaErrorInvalidValue" },
    ["parameters of a kernel from machine code"] = {
      sim = "(0,24)(24,56)(80,56)(136,1)(137,1)(138,2)(144,8)(152,12)(176,16): 1 cudaErrorInvalidValue",
    },
    ["what the driver's linker makes of PTX"] = { sim = "something else" },
    ["a grid of 0"] = { sim = "9 cudaErrorInvalidConfiguration" },
    ["a block of 0"] = { sim = "9 cudaErrorInvalidConfiguration" },
    ["a block of 2000"] = { sim = "9 cudaErrorInvalidConfiguration" },
    ["a block of 1 x 1 x 65"] = { sim = "9 cudaErrorInvalidConfiguration" },
    ["a grid of 1 x 65536"] = { sim = "9 cudaErrorInvalidConfiguration" },
    ["a grid of 2^31"] = { sim = "9 cudaErrorInvalidConfiguration" },
    ["more threads than .maxntid"] = { sim = "701 cudaErrorLaunchOutOfResources" },
    ["47 KiB beside 1 KiB of its own, not opted in"] = { sim = "0" },
    ["48 KiB beside 1 KiB of its own, not opted in"] = { sim = "1 cudaErrorInvalidValue" },
    ["48 KiB beside 1 KiB of its own, opted in"] = { sim = "0" },
    ["opting in to all that a block may have beside 1 KiB of its own"] = {
      sim = "opting in: 1 cudaErrorInvalidValue",
    },
    ["opting in to all but 1 KiB, and using it"] = { sim = "0" },
    ["opting in to more than there is"] = { sim = "opting in: 1 cudaErrorInvalidValue" },
    ["a NULL list of arguments for a kernel with two"] = { sim = "1 cudaErrorInvalidValue" },
    ["a launch attribute that nobody knows"] = { sim = "1 cudaErrorInvalidValue" },
    ["a cooperative launch"] = { sim = "0" },
    ["a cooperative launch that does not fit"] = { sim = "720 cudaErrorCooperativeLaunchTooLarge" },
    ["a kernel that the library does not have"] = { sim = "500 cudaErrorSymbolNotFound" },
    ["text that is no PTX"] = { sim = "200 cudaErrorInvalidKernelImage" },
    ["an empty text"] = { sim = "200 cudaErrorInvalidKernelImage" },
    ["PTX of a version to come"] = { sim = "222 cudaErrorUnsupportedPtxVersion" },
    ["PTX for a device to come"] = { sim = "218 cudaErrorInvalidPtx" },
    ["PTX for a better device"] = { sim = "218 cudaErrorInvalidPtx" },
    ["PTX with a word that is no instruction"] = { sim = "218 cudaErrorInvalidPtx" },
    ["an ELF file for nobody"] = { sim = "209 cudaErrorNoKernelImageForDevice" },
    ["the launch after one that was refused"] = {
      sim = "9 cudaErrorInvalidConfiguration, then 0, last 9 cudaErrorInvalidConfiguration, then 0",
    },
  },
  failures = {
    ["error 1"] = { sim = "cudaErrorInvalidValue: invalid argument" },
    ["error 2"] = { sim = "cudaErrorMemoryAllocation: out of memory" },
    ["error 3"] = { sim = "cudaErrorInitializationError: initialization error" },
    ["error 4"] = { sim = "cudaErrorCudartUnloading: driver shutting down" },
    ["error 9"] = { sim = "cudaErrorInvalidConfiguration: invalid configuration argument" },
    ["error 35"] = {
      sim = "cudaErrorInsufficientDriver: CUDA driver version is insufficient for CUDA runtime version",
    },
    ["error 46"] = { sim = "cudaErrorDevicesUnavailable: CUDA-capable device(s) is/are busy or unavailable" },
    ["error 98"] = { sim = "cudaErrorInvalidDeviceFunction: invalid device function" },
    ["error 100"] = { sim = "cudaErrorNoDevice: no CUDA-capable device is detected" },
    ["error 101"] = { sim = "cudaErrorInvalidDevice: invalid device ordinal" },
    ["error 201"] = { sim = "cudaErrorDeviceUninitialized: invalid device context" },
    ["error 209"] = {
      sim = "cudaErrorNoKernelImageForDevice: no kernel image is available for execution on the device",
    },
    ["error 216"] = {
      sim = "cudaErrorDeviceAlreadyInUse: exclusive-thread device already in use by a different thread",
    },
    ["error 218"] = { sim = "cudaErrorInvalidPtx: a PTX JIT compilation failed" },
    ["error 219"] = { sim = "cudaErrorInvalidGraphicsContext: invalid OpenGL or DirectX context" },
    ["error 220"] = {
      sim = "cudaErrorNvlinkUncorrectable: uncorrectable NVLink error detected during the execution",
    },
    ["error 221"] = { sim = "cudaErrorJitCompilerNotFound: PTX JIT compiler library not found" },
    ["error 222"] = {
      sim = "cudaErrorUnsupportedPtxVersion: the provided PTX was compiled with an unsupported toolchain.",
    },
    ["error 223"] = { sim = "cudaErrorJitCompilationDisabled: PTX JIT compilation was disabled" },
    ["error 300"] = { sim = "cudaErrorInvalidSource: device kernel image is invalid" },
    ["error 400"] = { sim = "cudaErrorInvalidResourceHandle: invalid resource handle" },
    ["error 500"] = { sim = "cudaErrorSymbolNotFound: named symbol not found" },
    ["error 600"] = { sim = "cudaErrorNotReady: device not ready" },
    ["error 700"] = { sim = "cudaErrorIllegalAddress: an illegal memory access was encountered" },
    ["error 701"] = { sim = "cudaErrorLaunchOutOfResources: too many resources requested for launch" },
    ["error 702"] = { sim = "cudaErrorLaunchTimeout: the launch timed out and was terminated" },
    ["error 709"] = { sim = "cudaErrorContextIsDestroyed: context is destroyed" },
    ["error 710"] = { sim = "cudaErrorAssert: device-side assert triggered" },
    ["error 714"] = { sim = "cudaErrorHardwareStackError: hardware stack error" },
    ["error 715"] = { sim = "cudaErrorIllegalInstruction: an illegal instruction was encountered" },
    ["error 716"] = { sim = "cudaErrorMisalignedAddress: misaligned address" },
    ["error 717"] = { sim = "cudaErrorInvalidAddressSpace: operation not supported on global/shared address space" },
    ["error 718"] = { sim = "cudaErrorInvalidPc: invalid program counter" },
    ["error 719"] = { sim = "cudaErrorLaunchFailure: unspecified launch failure" },
    ["error 720"] = { sim = "cudaErrorCooperativeLaunchTooLarge: too many blocks in cooperative launch" },
    ["error 800"] = { sim = "cudaErrorNotPermitted: operation not permitted" },
    ["error 801"] = { sim = "cudaErrorNotSupported: operation not supported" },
    ["error 802"] = { sim = "cudaErrorSystemNotReady: system not yet initialized" },
    ["error 900"] = { sim = "cudaErrorStreamCaptureUnsupported: operation not permitted when stream is capturing" },
    ["error 901"] = {
      sim = "cudaErrorStreamCaptureInvalidated: operation failed due to a previous error during capture",
    },
    ["error 902"] = {
      sim = "cudaErrorStreamCaptureMerge: operation would result in a merge of separate capture sequences",
    },
    ["error 903"] = { sim = "cudaErrorStreamCaptureUnmatched: capture was not ended in the same stream as it began" },
    ["error 904"] = { sim = "cudaErrorStreamCaptureUnjoined: capturing stream has unjoined work" },
    ["error 905"] = {
      sim = "cudaErrorStreamCaptureIsolation: dependency created on uncaptured work in another stream",
    },
    ["error 906"] = {
      sim = "cudaErrorStreamCaptureImplicit: operation would make the legacy stream depend on a capturing blocking stream",
    },
    ["error 907"] = {
      sim = "cudaErrorCapturedEvent: operation not permitted on an event last recorded in a capturing stream",
    },
    ["error 908"] = {
      sim = "cudaErrorStreamCaptureWrongThread: attempt to terminate a thread-local capture sequence from another thread",
    },
    ["error 910"] = {
      sim = "cudaErrorGraphExecUpdateFailure: the graph update was not performed because it included changes which " ..
        "violated constraints specific to instantiated graph update",
    },
    ["error 999"] = { sim = "cudaErrorUnknown: unknown error" },
    ["error 12345"] = { sim = "unrecognized error code: unrecognized error code" },
    ["a wrong argument, and the last error after it"] = {
      sim = "21 cudaErrorInvalidMemcpyDirection; a good call: 0; peeked: 21 cudaErrorInvalidMemcpyDirection; " ..
        "taken: 21 cudaErrorInvalidMemcpyDirection; again: 0",
    },
    ["a device that is not there"] = { sim = "101 cudaErrorInvalidDevice" },
    ["device -1"] = { sim = "101 cudaErrorInvalidDevice" },
    ["an attribute that nobody knows"] = { sim = "1 cudaErrorInvalidValue" },
    ["an event that was never recorded: query, wait, elapsed"] = { sim = "0; 0; 400 cudaErrorInvalidResourceHandle" },
    ["elapsed time of events without timing"] = { sim = "400 cudaErrorInvalidResourceHandle" },
    ["a write to nobody's memory: the launch, the wait"] = { sim = "0, then 700 cudaErrorIllegalAddress" },
    ["a write to address 16"] = { sim = "700 cudaErrorIllegalAddress" },
    ["a write that is not aligned"] = { sim = "716 cudaErrorMisalignedAddress" },
    ["trap"] = { sim = "719 cudaErrorLaunchFailure" },
    ["cudaDeviceSynchronize in a context that a write to nobody's memory has broken"] = {
      sim = "700 cudaErrorIllegalAddress",
    },
    ["cudaPeekAtLastError in a context that a write to nobody's memory has broken"] = {
      sim = "700 cudaErrorIllegalAddress",
    },
    ["cudaGetLastError in a context that a write to nobody's memory has broken"] = {
      sim = "700 cudaErrorIllegalAddress",
    },
    ["cudaGetLastError again in a context that a write to nobody's memory has broken"] = {
      sim = "700 cudaErrorIllegalAddress",
    },
    ["cudaGetDevice in a context that a write to nobody's memory has broken"] = { sim = "0" },
    ["cudaSetDevice in a context that a write to nobody's memory has broken"] = {
      sim = "700 cudaErrorIllegalAddress",
    },
    ["cudaGetDeviceCount in a context that a write to nobody's memory has broken"] = { sim = "0" },
    ["cudaDeviceGetAttribute in a context that a write to nobody's memory has broken"] = { sim = "0" },
    ["cudaMalloc in a context that a write to nobody's memory has broken"] = { sim = "700 cudaErrorIllegalAddress" },
    ["cudaMemGetInfo in a context that a write to nobody's memory has broken"] = {
      sim = "700 cudaErrorIllegalAddress",
    },
    ["cudaPointerGetAttributes in a context that a write to nobody's memory has broken"] = {
      sim = "700 cudaErrorIllegalAddress",
    },
    ["cudaStreamQuery in a context that a write to nobody's memory has broken"] = {
      sim = "700 cudaErrorIllegalAddress",
    },
    ["cudaStreamCreate in a context that a write to nobody's memory has broken"] = {
      sim = "700 cudaErrorIllegalAddress",
    },
    ["cudaEventQuery in a context that a write to nobody's memory has broken"] = {
      sim = "700 cudaErrorIllegalAddress",
    },
    ["cudaEventCreate in a context that a write to nobody's memory has broken"] = {
      sim = "700 cudaErrorIllegalAddress",
    },
    ["cudaFree in a context that a write to nobody's memory has broken"] = { sim = "700 cudaErrorIllegalAddress" },
    ["cudaFreeHost in a context that a write to nobody's memory has broken"] = {
      sim = "700 cudaErrorIllegalAddress",
    },
    ["cudaEventDestroy in a context that a write to nobody's memory has broken"] = {
      sim = "700 cudaErrorIllegalAddress",
    },
    ["cudaStreamDestroy in a context that a write to nobody's memory has broken"] = {
      sim = "700 cudaErrorIllegalAddress",
    },
    ["cudaLibraryUnload in a context that a write to nobody's memory has broken"] = {
      sim = "700 cudaErrorIllegalAddress",
    },
    ["a launch in a context that a write to nobody's memory has broken"] = { sim = "700 cudaErrorIllegalAddress" },
    ["another device after that"] = { sim = "0, cudaMalloc 0, cudaDeviceSynchronize 0" },
    ["cudaDeviceReset after that"] = { sim = "0, cudaMalloc 0" },
  },
  capture = {
    ["nothing"] = { sim = "-; the end: 0; nodes: 0" },
    ["a launch"] = { sim = "0; the end: 0; nodes: 1" },
    ["the first launch of a kernel that was never asked for"] = { sim = "0; the end: 0; nodes: 1" },
    ["loading a library"] = {
      sim = "900 cudaErrorStreamCaptureUnsupported; the end: 901 cudaErrorStreamCaptureInvalidated",
    },
    ["loading a library and launching from it"] = {
      sim = "900 cudaErrorStreamCaptureUnsupported; the end: 901 cudaErrorStreamCaptureInvalidated",
    },
    ["cudaMalloc"] = {
      sim = "900 cudaErrorStreamCaptureUnsupported; the end: 901 cudaErrorStreamCaptureInvalidated",
    },
    ["cudaMalloc, relaxed"] = { sim = "0; the end: 0; nodes: 0" },
    ["cudaFree"] = { sim = "900 cudaErrorStreamCaptureUnsupported; the end: 901 cudaErrorStreamCaptureInvalidated" },
    ["cudaMallocHost"] = {
      sim = "900 cudaErrorStreamCaptureUnsupported; the end: 901 cudaErrorStreamCaptureInvalidated",
    },
    ["cudaMallocAsync on the stream"] = { sim = "0; the end: 0; nodes: 1" },
    ["cudaMallocAsync on another stream"] = { sim = "0; the end: 0; nodes: 0" },
    ["cudaFreeAsync on the stream, of memory from before"] = {
      sim = "1 cudaErrorInvalidValue; the end: 0; nodes: 0",
    },
    ["cudaMemcpy"] = {
      sim = "900 cudaErrorStreamCaptureUnsupported; the end: 901 cudaErrorStreamCaptureInvalidated",
    },
    ["cudaMemsetAsync on the legacy stream"] = { sim = "0; the end: 0; nodes: 0" },
    ["the legacy stream while a blocking stream captures"] = {
      sim = "906 cudaErrorStreamCaptureImplicit; the end: 901 cudaErrorStreamCaptureInvalidated",
    },
    ["cudaDeviceSynchronize"] = {
      sim = "900 cudaErrorStreamCaptureUnsupported; the end: 901 cudaErrorStreamCaptureInvalidated",
    },
    ["cudaStreamSynchronize of the stream"] = {
      sim = "900 cudaErrorStreamCaptureUnsupported; the end: 901 cudaErrorStreamCaptureInvalidated",
    },
    ["cudaStreamSynchronize of another"] = {
      sim = "900 cudaErrorStreamCaptureUnsupported; the end: 901 cudaErrorStreamCaptureInvalidated",
    },
    ["cudaStreamQuery of the stream"] = {
      sim = "900 cudaErrorStreamCaptureUnsupported; the end: 901 cudaErrorStreamCaptureInvalidated",
    },
    ["cudaStreamQuery of another"] = {
      sim = "900 cudaErrorStreamCaptureUnsupported; the end: 901 cudaErrorStreamCaptureInvalidated",
    },
    ["what comes after a call that ended the capture"] = {
      sim = "a launch: 901 cudaErrorStreamCaptureInvalidated; status 2 (0); " ..
        "the end: 901 cudaErrorStreamCaptureInvalidated",
    },
    ["an event that was recorded in it: query, wait of the host"] = {
      sim = "0; 900 cudaErrorStreamCaptureUnsupported; 900 cudaErrorStreamCaptureUnsupported; " ..
        "the end: 901 cudaErrorStreamCaptureInvalidated",
    },
    ["a stream that forks and does not join"] = { sim = "0; the end: 904 cudaErrorStreamCaptureUnjoined" },
    ["an event from before it"] = {
      sim = "905 cudaErrorStreamCaptureIsolation; the end: 901 cudaErrorStreamCaptureInvalidated",
    },
    ["a second beginning"] = { sim = "401 cudaErrorIllegalState; the end: 0; nodes: 0" },
    ["a grid of 0"] = { sim = "9 cudaErrorInvalidConfiguration; the end: 0; nodes: 0" },
    ["cudaStreamDestroy"] = { sim = "0; the end: 400 cudaErrorInvalidResourceHandle" },
    ["capture of the legacy stream"] = { sim = "900 cudaErrorStreamCaptureUnsupported" },
    ["an end without a beginning"] = { sim = "401 cudaErrorIllegalState" },
    ["a graph that runs twice"] = { sim = "0, 0, 0, destroyed while it may run: 0" },
  },
  streams = {
    ["the current context at the beginning"] = { sim = "answers 3" },
    ["the current context after cudaGetDeviceCount"] = { sim = "none" },
    ["the current context after cudaGetDevice"] = { sim = "none" },
    ["the current context after cudaSetDevice"] = { sim = "one" },
    ["the current context after cudaMalloc"] = { sim = "one" },
    ["which context that is"] = { sim = "the primary one" },
    ["the runtime's device after the driver took another context"] = { sim = "1" },
    ["the runtime's device after the driver took no context"] = { sim = "0, context: none" },
    ["the same with device 1"] = { sim = "1" },
    ["a stream of the runtime, asked by the driver"] = { sim = "0" },
    ["an event of the driver, recorded by it, waited for by the runtime"] = { sim = "0, 0, 0" },
    ["an event of device 0 recorded on a stream of device 1"] = { sim = "400 cudaErrorInvalidResourceHandle" },
    ["a launch on a stream of another device than the current one"] = { sim = "0" },
    ["the device of a stream"] = { sim = "0, 0" },
    ["the device of the legacy stream"] = { sim = "0, 0" },
    ["the stream that was destroyed while it works"] = { sim = "0, 0" },
  },
  processes = {
    ["an end with memory, a stream that works and an event"] = { sim = "ended" },
    ["an end while a stream captures"] = { sim = "ended" },
    ["an end after a kernel has broken the context"] = { sim = "ended" },
    ["an end of the library's after somebody's cudaDeviceReset"] = { sim = "ended" },
    ["the driver after a fork, in the child"] = { sim = "3 cudaErrorInitializationError" },
    ["the driver after a fork before its first use, in the child"] = { sim = "0" },
    ["the driver after a fork behind cudaGetDeviceCount, in the child"] = { sim = "3 cudaErrorInitializationError" },
    ["the driver in the parent, after its child has ended"] = { sim = "0" },
    ["two processes that compile the same text into an empty cache"] = { sim = "1 1 1 files" },
  },
}
