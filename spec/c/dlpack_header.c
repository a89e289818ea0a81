/* Writes sizes, offsets and numbers of a DLPack header: of the file UPSTREAM, or of src/dlpack.h as far as a header
 * of minor version LEVEL goes. spec/dlpack_header_spec.lua compares the two texts. */
#include <stddef.h>
#include <stdio.h>

#ifdef UPSTREAM
#  include UPSTREAM
#  if DLPACK_MAJOR_VERSION != 1
#    error "another major version"
#  endif
#  define LEVEL DLPACK_MINOR_VERSION
#  define READ_ONLY DLPACK_FLAG_BITMASK_READ_ONLY
#  define IS_COPIED DLPACK_FLAG_BITMASK_IS_COPIED
#  define PADDED DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED
#else
#  include "dlpack.h"
#  define READ_ONLY kDLFlagReadOnly
#  define IS_COPIED kDLFlagIsCopied
#  define PADDED kDLFlagSubbytePadded
#endif

#define VALUE(name) printf(#name " %lld\n", (long long)(name))
#define SIZE(type) printf("sizeof " #type " %zu align %zu\n", sizeof(type), _Alignof(type))
#define FIELD(type, field) printf(#type "." #field " %zu %zu\n", offsetof(type, field), sizeof(((type *)0)->field))

int main(void) {
  SIZE(DLPackVersion);
  FIELD(DLPackVersion, major);
  FIELD(DLPackVersion, minor);
  SIZE(DLDevice);
  FIELD(DLDevice, device_type);
  FIELD(DLDevice, device_id);
  SIZE(DLDataType);
  FIELD(DLDataType, code);
  FIELD(DLDataType, bits);
  FIELD(DLDataType, lanes);
  SIZE(DLTensor);
  FIELD(DLTensor, data);
  FIELD(DLTensor, device);
  FIELD(DLTensor, ndim);
  FIELD(DLTensor, dtype);
  FIELD(DLTensor, shape);
  FIELD(DLTensor, strides);
  FIELD(DLTensor, byte_offset);
  SIZE(DLManagedTensor);
  FIELD(DLManagedTensor, dl_tensor);
  FIELD(DLManagedTensor, manager_ctx);
  FIELD(DLManagedTensor, deleter);
  SIZE(struct DLManagedTensorVersioned);
  FIELD(struct DLManagedTensorVersioned, version);
  FIELD(struct DLManagedTensorVersioned, manager_ctx);
  FIELD(struct DLManagedTensorVersioned, deleter);
  FIELD(struct DLManagedTensorVersioned, flags);
  FIELD(struct DLManagedTensorVersioned, dl_tensor);
  VALUE(READ_ONLY);
  VALUE(IS_COPIED);
  VALUE(kDLCPU);
  VALUE(kDLCUDA);
  VALUE(kDLCUDAHost);
  VALUE(kDLOpenCL);
  VALUE(kDLVulkan);
  VALUE(kDLMetal);
  VALUE(kDLVPI);
  VALUE(kDLROCM);
  VALUE(kDLROCMHost);
  VALUE(kDLExtDev);
  VALUE(kDLCUDAManaged);
  VALUE(kDLOneAPI);
  VALUE(kDLWebGPU);
  VALUE(kDLHexagon);
  VALUE(kDLMAIA);
  VALUE(kDLInt);
  VALUE(kDLUInt);
  VALUE(kDLFloat);
  VALUE(kDLOpaqueHandle);
  VALUE(kDLBfloat);
  VALUE(kDLComplex);
  VALUE(kDLBool);
#if LEVEL >= 1
  VALUE(PADDED);
  VALUE(kDLFloat8_e3m4);
  VALUE(kDLFloat8_e4m3);
  VALUE(kDLFloat8_e4m3b11fnuz);
  VALUE(kDLFloat8_e4m3fn);
  VALUE(kDLFloat8_e4m3fnuz);
  VALUE(kDLFloat8_e5m2);
  VALUE(kDLFloat8_e5m2fnuz);
  VALUE(kDLFloat8_e8m0fnu);
  VALUE(kDLFloat6_e2m3fn);
  VALUE(kDLFloat6_e3m2fn);
  VALUE(kDLFloat4_e2m1fn);
#endif
#if LEVEL >= 2
  VALUE(kDLTrn);
  SIZE(DLPackExchangeAPIHeader);
  FIELD(DLPackExchangeAPIHeader, version);
  FIELD(DLPackExchangeAPIHeader, prev_api);
  SIZE(DLPackExchangeAPI);
  FIELD(DLPackExchangeAPI, header);
  FIELD(DLPackExchangeAPI, managed_tensor_allocator);
  FIELD(DLPackExchangeAPI, managed_tensor_from_py_object_no_sync);
  FIELD(DLPackExchangeAPI, managed_tensor_to_py_object_no_sync);
  FIELD(DLPackExchangeAPI, dltensor_from_py_object_no_sync);
  FIELD(DLPackExchangeAPI, current_work_stream);
#endif
  printf("level %d\n", LEVEL);
  return 0;
}
