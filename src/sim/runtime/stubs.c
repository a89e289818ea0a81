/* Functions of the runtime API that are not simulated: each says its name once in the reports and answers 801. And
   those that need a variable that the program was compiled with: none is known, 13. */
#include "../report.h"
#include "front.h"

static int stub_answer(const char *call) {
  sim_report(SIM_REPORT_STUB, "%s is not simulated: it answers 801 (cudaErrorNotSupported)", call);
  return SIM_NOT_SUPPORTED;
}

/* The counter is of the name without the twin's suffix. */
#define STUB(name) SIM_RUNTIME(name, SIM_CALL_PLAIN, (void), stub_answer(call))
#define STUB_TWIN(name, suffix)                                                                                        \
  STUB(name);                                                                                                          \
  SIM_RUNTIME_FUNCTION(name##suffix, name, SIM_CALL_PLAIN, (void), (void)0, stub_answer(call))                         \
  SIM_EXPORT int name(void)

/* ---- CUDA arrays, textures, surfaces ---- */
STUB(cudaArrayGetInfo);
STUB(cudaArrayGetMemoryRequirements);
STUB(cudaArrayGetPlane);
STUB(cudaArrayGetSparseProperties);
STUB(cudaCreateSurfaceObject);
STUB(cudaCreateTextureObject);
STUB(cudaDestroySurfaceObject);
STUB(cudaDestroyTextureObject);
STUB(cudaDeviceGetTexture1DLinearMaxWidth);
STUB(cudaExternalMemoryGetMappedMipmappedArray);
STUB(cudaFreeArray);
STUB(cudaFreeMipmappedArray);
STUB(cudaGetChannelDesc);
STUB(cudaGetMipmappedArrayLevel);
STUB(cudaGetSurfaceObjectResourceDesc);
STUB(cudaGetTextureObjectResourceDesc);
STUB(cudaGetTextureObjectResourceViewDesc);
STUB(cudaGetTextureObjectTextureDesc);
STUB(cudaGraphicsResourceGetMappedMipmappedArray);
STUB(cudaGraphicsSubResourceGetMappedArray);
STUB(cudaGraphicsVDPAURegisterOutputSurface);
STUB(cudaGraphicsVDPAURegisterVideoSurface);
STUB(cudaMalloc3DArray);
STUB(cudaMallocArray);
STUB(cudaMallocMipmappedArray);
STUB_TWIN(cudaMemcpy2DArrayToArray, _ptds);
STUB_TWIN(cudaMemcpy2DFromArray, _ptds);
STUB_TWIN(cudaMemcpy2DFromArrayAsync, _ptsz);
STUB_TWIN(cudaMemcpy2DToArray, _ptds);
STUB_TWIN(cudaMemcpy2DToArrayAsync, _ptsz);
STUB_TWIN(cudaMemcpyArrayToArray, _ptds);
STUB_TWIN(cudaMemcpyFromArray, _ptds);
STUB_TWIN(cudaMemcpyFromArrayAsync, _ptsz);
STUB_TWIN(cudaMemcpyToArray, _ptds);
STUB_TWIN(cudaMemcpyToArrayAsync, _ptsz);
STUB(cudaMipmappedArrayGetMemoryRequirements);
STUB(cudaMipmappedArrayGetSparseProperties);

/* ---- graphics ---- */
STUB(cudaEGLStreamConsumerAcquireFrame);
STUB(cudaEGLStreamConsumerConnect);
STUB(cudaEGLStreamConsumerConnectWithFlags);
STUB(cudaEGLStreamConsumerDisconnect);
STUB(cudaEGLStreamConsumerReleaseFrame);
STUB(cudaEGLStreamProducerConnect);
STUB(cudaEGLStreamProducerDisconnect);
STUB(cudaEGLStreamProducerPresentFrame);
STUB(cudaEGLStreamProducerReturnFrame);
STUB(cudaEventCreateFromEGLSync);
STUB(cudaGLGetDevices);
STUB(cudaGLMapBufferObject);
STUB(cudaGLMapBufferObjectAsync);
STUB(cudaGLRegisterBufferObject);
STUB(cudaGLSetBufferObjectMapFlags);
STUB(cudaGLSetGLDevice);
STUB(cudaGLUnmapBufferObject);
STUB(cudaGLUnmapBufferObjectAsync);
STUB(cudaGLUnregisterBufferObject);
STUB(cudaGraphicsEGLRegisterImage);
STUB(cudaGraphicsGLRegisterBuffer);
STUB(cudaGraphicsGLRegisterImage);
STUB(cudaGraphicsMapResources);
STUB(cudaGraphicsResourceGetMappedEglFrame);
STUB(cudaGraphicsResourceGetMappedPointer);
STUB(cudaGraphicsResourceSetMapFlags);
STUB(cudaGraphicsUnmapResources);
STUB(cudaGraphicsUnregisterResource);
STUB(cudaVDPAUGetDevice);
STUB(cudaVDPAUSetVDPAUDevice);

/* ---- other processes and other APIs ---- */
STUB(cudaDestroyExternalMemory);
STUB(cudaDestroyExternalSemaphore);
STUB(cudaDeviceGetNvSciSyncAttributes);
STUB(cudaExternalMemoryGetMappedBuffer);
STUB(cudaGraphAddExternalSemaphoresSignalNode);
STUB(cudaGraphAddExternalSemaphoresWaitNode);
STUB(cudaGraphExecExternalSemaphoresSignalNodeSetParams);
STUB(cudaGraphExecExternalSemaphoresWaitNodeSetParams);
STUB(cudaGraphExternalSemaphoresSignalNodeGetParams);
STUB(cudaGraphExternalSemaphoresSignalNodeSetParams);
STUB(cudaGraphExternalSemaphoresWaitNodeGetParams);
STUB(cudaGraphExternalSemaphoresWaitNodeSetParams);
STUB(cudaImportExternalMemory);
STUB(cudaImportExternalSemaphore);
STUB(cudaIpcCloseMemHandle);
STUB(cudaIpcGetEventHandle);
STUB(cudaIpcGetMemHandle);
STUB(cudaIpcOpenEventHandle);
STUB(cudaIpcOpenMemHandle);
STUB(cudaMemPoolExportPointer);
STUB(cudaMemPoolExportToShareableHandle);
STUB(cudaMemPoolImportFromShareableHandle);
STUB(cudaMemPoolImportPointer);
STUB_TWIN(cudaSignalExternalSemaphoresAsync, _ptsz);
STUB_TWIN(cudaWaitExternalSemaphoresAsync, _ptsz);

/* ---- the rest ---- */
STUB(__cudaGetProcAddress);
STUB(cudaDeviceFlushGPUDirectRDMAWrites);
STUB(cudaDeviceGetGraphMemAttribute);
STUB(cudaDeviceGetHostAtomicCapabilities);
STUB(cudaDeviceGetP2PAtomicCapabilities);
STUB(cudaDeviceRegisterAsyncNotification);
STUB(cudaDeviceSetGraphMemAttribute);
STUB(cudaDeviceUnregisterAsyncNotification);
STUB(cudaGetExportTable);
STUB(cudaGraphConditionalHandleCreate);
STUB(cudaGraphNodeGetEnabled);
STUB(cudaGraphNodeSetEnabled);
STUB(cudaLogsCurrent);
STUB(cudaLogsDumpToFile);
STUB(cudaLogsDumpToMemory);
STUB(cudaLogsRegisterCallback);
STUB(cudaLogsUnregisterCallback);
STUB_TWIN(cudaMemDiscardAndPrefetchBatchAsync, _ptsz);
STUB_TWIN(cudaMemDiscardBatchAsync, _ptsz);
STUB_TWIN(cudaMemPrefetchBatchAsync, _ptsz);
STUB(cudaMemRangeGetAttribute);
STUB(cudaMemRangeGetAttributes);
STUB_TWIN(cudaMemcpy3DBatchAsync, _ptsz);
STUB_TWIN(cudaMemcpyBatchAsync, _ptsz);
STUB(cudaOccupancyMaxActiveClusters);
STUB(cudaOccupancyMaxPotentialClusterSize);
STUB(cudaSetValidDevices);

/* ---- variables of the program ---- */
#define SYMBOL(name) SIM_RUNTIME(name, SIM_CALL_PLAIN, (void), SIM_INVALID_SYMBOL)
#define SYMBOL_TWIN(name, suffix)                                                                                      \
  SYMBOL(name);                                                                                                        \
  SIM_RUNTIME_FUNCTION(name##suffix, name, SIM_CALL_PLAIN, (void), (void)0, SIM_INVALID_SYMBOL)                        \
  SIM_EXPORT int name(void)

SYMBOL(cudaGetSymbolAddress);
SYMBOL(cudaGetSymbolSize);
SYMBOL_TWIN(cudaMemcpyToSymbol, _ptds);
SYMBOL_TWIN(cudaMemcpyFromSymbol, _ptds);
SYMBOL_TWIN(cudaMemcpyToSymbolAsync, _ptsz);
SYMBOL_TWIN(cudaMemcpyFromSymbolAsync, _ptsz);
SYMBOL(cudaGraphAddMemcpyNodeToSymbol);
SYMBOL(cudaGraphAddMemcpyNodeFromSymbol);
SYMBOL(cudaGraphMemcpyNodeSetParamsToSymbol);
SYMBOL(cudaGraphMemcpyNodeSetParamsFromSymbol);
SYMBOL(cudaGraphExecMemcpyNodeSetParamsToSymbol);
SYMBOL(cudaGraphExecMemcpyNodeSetParamsFromSymbol);

/* A description, not a thing: it needs no array. */
SIM_EXPORT sim_channel cudaCreateChannelDesc(int x, int y, int z, int w, int kind);
sim_channel cudaCreateChannelDesc(int x, int y, int z, int w, int kind) {
  return (sim_channel){x, y, z, w, kind};
}
