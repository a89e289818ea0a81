/* cudaDeviceProp of CUDA 12 and of CUDA 13, field by field from the attributes. */
#include "device.h"

#include <string.h>

typedef struct {
  char kind; /* i: int, z: size_t, c: characters that something else fills, m: the device's memory, one size_t */
  unsigned char only; /* 12: only in the layout of that version; 0: in both */
  short attribute;    /* of each element the number; 0: zero */
  short count;
  short more[2]; /* attributes of the second and third element */
} field;

#define ONE(attribute) {'i', 0, attribute, 1, {0}}
#define ONLY12(attribute) {'i', 12, attribute, 1, {0}}
#define ONLY13(attribute) {'i', 13, attribute, 1, {0}}
#define SIZE(attribute) {'z', 0, attribute, 1, {0}}
#define INTS(count) {'i', 0, 0, count, {0}}
#define THREE(a, b, c)                                                                                                 \
  {                                                                                                                    \
    'i', 0, a, 3, {                                                                                                    \
      b, c                                                                                                             \
    }                                                                                                                  \
  }

/* Order and types: driver_types.h of 12.9 and 13.0; textures and surfaces, which are not simulated, are zero. */
static const field fields[] = {
    // clang-format off
    {'c', 0, 0, 256, {0}}, /* name */
    {'c', 0, 0, 16, {0}},  /* uuid */
    {'c', 0, 0, 8, {0}},   /* luid */
    ONE(0), /* luidDeviceNodeMask */
    {'m', 0, 0, 1, {0}},
    /* sharedMemPerBlock, regsPerBlock, warpSize, memPitch, maxThreadsPerBlock, maxThreadsDim, maxGridSize, clockRate */
    SIZE(8), ONE(12), ONE(10), SIZE(11), ONE(1), THREE(2, 3, 4), THREE(5, 6, 7), ONLY12(13),
    /* totalConstMem, major, minor, textureAlignment, texturePitchAlignment, deviceOverlap, multiProcessorCount,
       kernelExecTimeoutEnabled, integrated, canMapHostMemory, computeMode */
    SIZE(9), ONE(75), ONE(76), SIZE(14), SIZE(51), ONLY12(15), ONE(16), ONLY12(17), ONE(18), ONE(19), ONLY12(20),
    /* maxTexture1D to maxTextureCubemapLayered */
    INTS(1), INTS(1), ONLY12(0), INTS(2), INTS(2), INTS(3), INTS(2), INTS(3), INTS(3), INTS(1), INTS(2), INTS(3), INTS(2),
    /* maxSurface1D to maxSurfaceCubemapLayered, surfaceAlignment */
    INTS(1), INTS(2), INTS(3), INTS(2), INTS(3), INTS(1), INTS(2), SIZE(30),
    /* concurrentKernels, ECCEnabled, pciBusID, pciDeviceID, pciDomainID, tccDriver, asyncEngineCount,
       unifiedAddressing */
    ONE(31), ONE(32), ONE(33), ONE(34), ONE(50), ONE(35), ONE(40), ONE(41),
    /* memoryClockRate, memoryBusWidth, l2CacheSize, persistingL2CacheMaxSize, maxThreadsPerMultiProcessor */
    ONLY12(36), ONE(37), ONE(38), ONE(108), ONE(39),
    /* streamPrioritiesSupported, globalL1CacheSupported, localL1CacheSupported, sharedMemPerMultiprocessor,
       regsPerMultiprocessor, managedMemory, isMultiGpuBoard, multiGpuBoardGroupID, hostNativeAtomicSupported */
    ONE(78), ONE(79), ONE(80), SIZE(81), ONE(82), ONE(83), ONE(84), ONE(85), ONE(86),
    /* singleToDoublePrecisionPerfRatio, pageableMemoryAccess, concurrentManagedAccess, computePreemptionSupported,
       canUseHostPointerForRegisteredMem, cooperativeLaunch, cooperativeMultiDeviceLaunch */
    ONLY12(87), ONE(88), ONE(89), ONE(90), ONE(91), ONE(95), ONLY12(0),
    /* sharedMemPerBlockOptin, pageableMemoryAccessUsesHostPageTables, directManagedMemAccessFromHost,
       maxBlocksPerMultiProcessor, accessPolicyMaxWindowSize, reservedSharedMemPerBlock */
    SIZE(97), ONE(100), ONE(101), ONE(106), ONE(109), SIZE(111),
    /* hostRegisterSupported, sparseCudaArraySupported, hostRegisterReadOnlySupported,
       timelineSemaphoreInteropSupported, memoryPoolsSupported, gpuDirectRDMASupported,
       gpuDirectRDMAFlushWritesOptions, gpuDirectRDMAWritesOrdering, memoryPoolSupportedHandleTypes,
       deferredMappingCudaArraySupported, ipcEventSupported, clusterLaunch */
    ONE(99), ONE(112), ONE(113), ONE(114), ONE(115), ONE(116), ONE(117), ONE(118), ONE(119), ONE(121), ONE(125), ONE(120),
    /* unifiedFunctionPointers, deviceNumaConfig, deviceNumaId, mpsEnabled, hostNumaId, gpuPciDeviceID,
       gpuPciSubsystemID, hostNumaMultinodeIpcSupported */
    INTS(1), ONLY13(130), ONLY13(131), ONLY13(133), ONLY13(134), ONLY13(139), ONLY13(140), ONLY13(143),
    // clang-format on
};

static size_t aligned(size_t offset, size_t alignment) {
  return (offset + alignment - 1) / alignment * alignment;
}

void sim_device_properties(const sim_device *device, int version, void *properties) {
  uint8_t *out = properties;
  size_t offset = 0, total = version == 12 ? 1032 : 1008;
  memset(out, 0, total);
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
    const field *f = &fields[i];
    if (f->only && f->only != version)
      continue;
    size_t bytes = f->kind == 'i' ? 4 : f->kind == 'c' ? 1 : 8;
    offset = aligned(offset, bytes);
    if (f->kind == 'm')
      memcpy(out + offset, &sim_config_get()->memory, 8);
    for (int k = 0; f->attribute && k < f->count; k++) {
      int value = 0;
      sim_device_attribute(device, k ? f->more[k - 1] : f->attribute, &value);
      size_t wide = (size_t)value;
      memcpy(out + offset + (size_t)k * bytes, bytes == 4 ? (void *)&value : (void *)&wide, bytes);
    }
    offset += bytes * (size_t)f->count;
  }
  strncpy((char *)out, device->name, 255);
  memcpy(out + 256, device->uuid, sizeof device->uuid);
}
