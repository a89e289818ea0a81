/* dlpack.h: the DLPack 1.3 ABI, declared by us.
 *
 * DLPack is an ABI, not a build dependency: these are the documented layouts, frozen by the static
 * assertions at the end. spec/dlpack_header_spec.lua compares them with every upstream header that
 * the test machine has. Names are upstream's, so that its documentation reads on. */
#ifndef XCHG_DLPACK_H
#define XCHG_DLPACK_H

#include <stddef.h>
#include <stdint.h>

enum {
  kDLPackMajor = 1, /* another major may move everything behind `flags` */
  kDLPackMinor = 3
};

/* DLDevice.device_type. 5 and 6 were never given out. */
enum {
  kDLCPU = 1,
  kDLCUDA = 2,
  kDLCUDAHost = 3,
  kDLOpenCL = 4,
  kDLVulkan = 7,
  kDLMetal = 8,
  kDLVPI = 9,
  kDLROCM = 10,
  kDLROCMHost = 11,
  kDLExtDev = 12,
  kDLCUDAManaged = 13,
  kDLOneAPI = 14,
  kDLWebGPU = 15,
  kDLHexagon = 16,
  kDLMAIA = 17,
  kDLTrn = 18
};

/* DLDataType.code. `bits` counts a whole element: 64 for complex64. */
enum {
  kDLInt = 0,
  kDLUInt = 1,
  kDLFloat = 2,
  kDLOpaqueHandle = 3,
  kDLBfloat = 4,
  kDLComplex = 5,
  kDLBool = 6,
  kDLFloat8_e3m4 = 7,
  kDLFloat8_e4m3 = 8,
  kDLFloat8_e4m3b11fnuz = 9,
  kDLFloat8_e4m3fn = 10,
  kDLFloat8_e4m3fnuz = 11,
  kDLFloat8_e5m2 = 12,
  kDLFloat8_e5m2fnuz = 13,
  kDLFloat8_e8m0fnu = 14,
  kDLFloat6_e2m3fn = 15,
  kDLFloat6_e3m2fn = 16,
  kDLFloat4_e2m1fn = 17
};

/* DLManagedTensorVersioned.flags */
enum { kDLFlagReadOnly = 1, kDLFlagIsCopied = 2, kDLFlagSubbytePadded = 4 };

typedef struct {
  uint32_t major;
  uint32_t minor;
} DLPackVersion;

typedef struct {
  int32_t device_type;
  int32_t device_id;
} DLDevice;

typedef struct {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
} DLDataType;

typedef struct {
  void *data; /* first element is at data + byte_offset */
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape;   /* ndim extents; may be NULL when ndim is 0 */
  int64_t *strides; /* in elements, signed; NULL: compact row-major (before 1.2, or ndim 0) */
  uint64_t byte_offset;
} DLTensor;

/* In capsules named "dltensor". */
typedef struct DLManagedTensor {
  DLTensor dl_tensor;
  void *manager_ctx;
  void (*deleter)(struct DLManagedTensor *self); /* may be NULL; frees the struct too */
} DLManagedTensor;

/* In capsules named "dltensor_versioned". The first four fields stay where they are in every major. */
typedef struct DLManagedTensorVersioned {
  DLPackVersion version;
  void *manager_ctx;
  void (*deleter)(struct DLManagedTensorVersioned *self);
  uint64_t flags;
  DLTensor dl_tensor;
} DLManagedTensorVersioned;

/* The C exchange API: a static table found through an attribute of a producer's *type*. */
typedef struct DLPackExchangeAPIHeader {
  DLPackVersion version;
  struct DLPackExchangeAPIHeader *prev_api; /* an older major's table, or NULL */
} DLPackExchangeAPIHeader;

/* Every function returns 0, or -1 with a Python exception set; those on Python objects need the GIL. */
typedef struct {
  DLPackExchangeAPIHeader header;
  int (*managed_tensor_allocator)(DLTensor *prototype, DLManagedTensorVersioned **out, void *error_ctx,
                                  void (*set_error)(void *error_ctx, const char *kind, const char *message));
  int (*managed_tensor_from_py_object_no_sync)(void *py_object, DLManagedTensorVersioned **out);
  int (*managed_tensor_to_py_object_no_sync)(DLManagedTensorVersioned *tensor, void **out_py_object);
  int (*dltensor_from_py_object_no_sync)(void *py_object, DLTensor *out); /* borrowed; may be NULL */
  int (*current_work_stream)(int32_t device_type, int32_t device_id, void **out_stream);
} DLPackExchangeAPI;

#define XCHG_FROZEN(type, size) _Static_assert(sizeof(type) == (size), "the DLPack 1 ABI fixes sizeof(" #type ")")
#define XCHG_FROZEN_AT(type, field, offset)                                                                            \
  _Static_assert(offsetof(type, field) == (offset), "the DLPack 1 ABI fixes " #type "." #field)

XCHG_FROZEN(DLTensor, 48);
XCHG_FROZEN_AT(DLTensor, device, 8);
XCHG_FROZEN_AT(DLTensor, ndim, 16);
XCHG_FROZEN_AT(DLTensor, dtype, 20);
XCHG_FROZEN_AT(DLTensor, shape, 24);
XCHG_FROZEN_AT(DLTensor, strides, 32);
XCHG_FROZEN_AT(DLTensor, byte_offset, 40);
XCHG_FROZEN(DLManagedTensor, 64);
XCHG_FROZEN_AT(DLManagedTensor, manager_ctx, 48);
XCHG_FROZEN_AT(DLManagedTensor, deleter, 56);
XCHG_FROZEN(DLManagedTensorVersioned, 80);
XCHG_FROZEN_AT(DLManagedTensorVersioned, manager_ctx, 8);
XCHG_FROZEN_AT(DLManagedTensorVersioned, deleter, 16);
XCHG_FROZEN_AT(DLManagedTensorVersioned, flags, 24);
XCHG_FROZEN_AT(DLManagedTensorVersioned, dl_tensor, 32);
XCHG_FROZEN(DLPackExchangeAPI, 56);
XCHG_FROZEN_AT(DLPackExchangeAPI, managed_tensor_allocator, 16);
XCHG_FROZEN_AT(DLPackExchangeAPI, managed_tensor_from_py_object_no_sync, 24);
XCHG_FROZEN_AT(DLPackExchangeAPI, managed_tensor_to_py_object_no_sync, 32);
XCHG_FROZEN_AT(DLPackExchangeAPI, dltensor_from_py_object_no_sync, 40);
XCHG_FROZEN_AT(DLPackExchangeAPI, current_work_stream, 48);

#endif
