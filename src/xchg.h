/* xchg.h: what Lua may see of the core through the FFI.
 *
 * One text, two readers: C includes it, the build embeds it (abi.c) and lua/xchg/lib.lua gives it to
 * ffi.cdef. LuaJIT's parser sets the style: fixed-width integers, anonymous enums of plain literals,
 * no bit-fields. Change anything here and XCHG_ABI must change with it.
 *
 * No function here can run Python or Lua code, so all of them are safe in compiled traces.
 * Functions that can fail return 0, or a negative XCHG_E_* code after writing `err` (which may be NULL).
 * Pointers are borrowed unless a comment says otherwise. */
#ifndef XCHG_H
#define XCHG_H

#include <stdint.h>

#define XCHG_API __attribute__((visibility("default")))

enum {
  XCHG_ABI = 3,
  XCHG_MAX_NDIM = 64,       /* NumPy's and the buffer protocol's limit */
  XCHG_MESSAGE_BYTES = 1024 /* of an error message, with its NUL; longer ones are cut */
};

/* ---- errors ------------------------------------------------------------------------------------ */

typedef struct xchg_error {
  int32_t code;          /* 0: none. The rest is only there with one */
  int32_t cuda_code;     /* 0, or the number that CUDA answered, */
  const char *cuda_name; /* ... its name ("cudaErrorIllegalAddress"), */
  const char *call;      /* ... and the function that answered it. Static */
  char message[1024];
} xchg_error;

/* The lower-case name of an error code ("unsupported_dtype"), static; NULL for an unknown code. */
XCHG_API const char *xchg_error_name(int32_t code);

/* ---- dtypes ------------------------------------------------------------------------------------ */

enum {
  XCHG_DTYPE_NONE = 0,
  XCHG_DTYPE_BOOL = 1,
  XCHG_DTYPE_INT8 = 2,
  XCHG_DTYPE_INT16 = 3,
  XCHG_DTYPE_INT32 = 4,
  XCHG_DTYPE_INT64 = 5,
  XCHG_DTYPE_UINT8 = 6,
  XCHG_DTYPE_UINT16 = 7,
  XCHG_DTYPE_UINT32 = 8,
  XCHG_DTYPE_UINT64 = 9,
  XCHG_DTYPE_FLOAT16 = 10,
  XCHG_DTYPE_BFLOAT16 = 11,
  XCHG_DTYPE_FLOAT32 = 12,
  XCHG_DTYPE_FLOAT64 = 13,
  XCHG_DTYPE_COMPLEX64 = 14,
  XCHG_DTYPE_COMPLEX128 = 15,
  /* from here on: imported, moved and named, but not read element by element */
  XCHG_DTYPE_COMPLEX32 = 16,
  XCHG_DTYPE_FLOAT8_E3M4 = 17,
  XCHG_DTYPE_FLOAT8_E4M3 = 18,
  XCHG_DTYPE_FLOAT8_E4M3B11FNUZ = 19,
  XCHG_DTYPE_FLOAT8_E4M3FN = 20,
  XCHG_DTYPE_FLOAT8_E4M3FNUZ = 21,
  XCHG_DTYPE_FLOAT8_E5M2 = 22,
  XCHG_DTYPE_FLOAT8_E5M2FNUZ = 23,
  XCHG_DTYPE_FLOAT8_E8M0FNU = 24,
  XCHG_DTYPE_FLOAT6_E2M3FN = 25,
  XCHG_DTYPE_FLOAT6_E3M2FN = 26,
  XCHG_DTYPE_FLOAT4_E2M1FN = 27,
  XCHG_DTYPE_FLOAT4_E2M1FN_X2 = 28, /* pairs in one byte: PyTorch's float4_e2m1fn_x2 */
  XCHG_DTYPE_COUNT = 29
};

enum { XCHG_DTYPE_LAST_READABLE = 15 };

typedef struct xchg_dtype {
  const char *name; /* static: "float32" */
  uint8_t code;     /* DLPack's type code */
  uint8_t lanes;    /* DLPack's lanes */
  uint8_t bits;     /* of one element, all lanes: 64 for complex64, 4 for a packed float4 */
  uint8_t align;    /* bytes that an element's address must be a multiple of */
} xchg_dtype;

/* Static description of a dtype; NULL for a number that is none. */
XCHG_API const xchg_dtype *xchg_dtype_info(int32_t dtype);

/* ---- devices ----------------------------------------------------------------------------------- */

/* DLPack's name of a device type ("cpu", "cuda", "cuda_managed", ...), static; "device19" up to "device255" for those
 * that came later than 18; NULL for other numbers. */
XCHG_API const char *xchg_device_name(int32_t device_type);

/* ---- tensors ----------------------------------------------------------------------------------- */

enum {
  XCHG_TENSOR_READONLY = 1,
  XCHG_TENSOR_HOST = 2 /* the memory can be read by the host at `_ptr` */
};

enum {
  XCHG_PROTOCOL_NONE = 0,
  XCHG_PROTOCOL_EXCHANGE_API = 1,
  XCHG_PROTOCOL_DLPACK = 2,
  XCHG_PROTOCOL_LUA = 3,
  XCHG_PROTOCOL_CAI = 4,
  XCHG_PROTOCOL_BUFFER = 5,
  XCHG_PROTOCOL_ARRAY_STRUCT = 6,
  XCHG_PROTOCOL_ARRAY_INTERFACE = 7,
  XCHG_PROTOCOL_ARRAY = 8,
  XCHG_PROTOCOL_POINTER = 9,
  XCHG_PROTOCOL_COUNT = 10
};

/* "exchange_api", "dlpack", "array_struct", ...; NULL for an unknown number. Static. */
XCHG_API const char *xchg_protocol_name(int32_t protocol);

/* Head of every tensor cdata. Lua declares one such struct for each dtype, with a typed `_data`.
 * `_size` and `_rank` are what the hot paths test: `t[i]` needs 1 <= i <= _size (or _rank == 1), `t:at(i, j)`
 * needs _rank == 2. Both refuse released tensors and memory that the host cannot read. */
typedef struct xchg_tensor {
  void *_data;             /* first element, or NULL where the host cannot read it */
  uint64_t _size;          /* extent of a compact, host-readable 1-D tensor, else 0 */
  int64_t _numel;          /* number of elements */
  const int64_t *_shape;   /* in the slot: _ndim extents */
  const int64_t *_strides; /* in the slot: in elements */
  void *_ptr;              /* first element on its device */
  int32_t _slot;           /* number of the tensor slot; 0 once released */
  int16_t _ndim;
  int16_t _rank; /* _ndim where elements can be read on the host, else -1 */
  uint8_t _dtype;
  uint8_t _device_type;
  uint8_t _flags;
  uint8_t _protocol;
  int32_t _device_id;
} xchg_tensor;

/* The tensor slots of one Lua state. `attention` is not 0 when the state should call core.attend().
 * `busy` counts tensors that have a slot but are not in Lua's weak table yet, where a sweep would take
 * them for dead: C adds one with each slot it gives out, whoever stores the cdata takes one off. */
typedef struct xchg_cuda_stream xchg_cuda_stream;

typedef struct xchg_arena {
  int32_t attention;
  int32_t busy;
  xchg_cuda_stream *streams[32]; /* the current stream of each CUDA device; NULL: the legacy default stream */
} xchg_arena;

enum {
  XCHG_ATTEND_SWEEP = 1,  /* a GC cycle has ended: look for dead tensors */
  XCHG_ATTEND_DRAIN = 2,  /* much memory waits for a release that may run Python */
  XCHG_ATTEND_COLLECT = 4 /* tensors hold more external memory than the budget */
};

/* A shape under construction: views are computed here, then made a tensor in one step. */
typedef struct xchg_layout {
  int64_t offset; /* of the first element from the base tensor's, in elements */
  int32_t ndim;
  int32_t dtype;
  int64_t shape[64];
  int64_t strides[64];
} xchg_layout;

XCHG_API void xchg_layout_get(xchg_layout *out, const xchg_tensor *tensor);
/* Dimensions and indices count from 1, negatives from the end; `step` may be negative. */
XCHG_API int32_t xchg_layout_select(xchg_layout *layout, int64_t dim, int64_t index, xchg_error *err);
XCHG_API int32_t xchg_layout_narrow(xchg_layout *layout, int64_t dim, int64_t start, int64_t length, int64_t step,
                                    xchg_error *err);
XCHG_API int32_t xchg_layout_transpose(xchg_layout *layout, int64_t dim1, int64_t dim2, xchg_error *err);
/* A new shape over the same elements in row-major order; one extent may be -1. Fails with
 * XCHG_E_NOT_VIEWABLE where only a copy could have that shape. */
XCHG_API int32_t xchg_layout_reshape(xchg_layout *layout, int32_t ndim, const int64_t *shape, xchg_error *err);
/* Broadcasts to a shape of at least as many dimensions: extents of 1 repeat with stride 0; -1 keeps one. */
XCHG_API int32_t xchg_layout_expand(xchg_layout *layout, int32_t ndim, const int64_t *shape, xchg_error *err);
XCHG_API int32_t xchg_layout_is_contiguous(int32_t ndim, const int64_t *shape, const int64_t *strides);

/* A new tensor on 64-byte aligned host memory; `zero` clears it. Fills `out` and takes a slot. */
XCHG_API int32_t xchg_tensor_empty(xchg_arena *arena, xchg_tensor *out, int32_t dtype, int32_t ndim,
                                   const int64_t *shape, int32_t zero, xchg_error *err);
/* A view: its own slot, the same storage. */
XCHG_API int32_t xchg_tensor_view(xchg_arena *arena, xchg_tensor *out, const xchg_tensor *base,
                                  const xchg_layout *layout, xchg_error *err);
/* Gives the slot up and turns `tensor` into a released one; nothing to do on a released one.
 * Memory whose release may run Python is queued. */
XCHG_API void xchg_tensor_release(xchg_arena *arena, xchg_tensor *tensor);
/* `tensor` gives its memory back, as if released, and becomes what `other` was, which is a released one then: the same
 * cdata and slot with other memory. Both live, of one dtype and of this state; else nothing happens. */
XCHG_API void xchg_tensor_take(xchg_arena *arena, xchg_tensor *tensor, xchg_tensor *other);

/* Copies src into dst: broadcast to dst's shape, cast to its dtype. Overlap is allowed; a dst that
 * repeats an element (stride 0) is not. The same dtype keeps every bit. Floats to integers truncate and
 * saturate, NaN gives 0. Integers to narrower ones wrap around (keep their low bits). To bool, what is
 * not 0 is true, NaN too. Everything else is rounded once, to nearest even. Complex to real fails. */
XCHG_API int32_t xchg_tensor_copy(const xchg_tensor *dst, const xchg_tensor *src, xchg_error *err);
/* Writes one element, given in dst's dtype, everywhere. */
XCHG_API int32_t xchg_tensor_fill(const xchg_tensor *dst, const void *element, xchg_error *err);
/* 1 where both have the same shape and every element compares equal (NaN does not), else 0;
 * negative on error. */
XCHG_API int32_t xchg_tensor_equal(const xchg_tensor *a, const xchg_tensor *b, xchg_error *err);

/* ---- memory of Lua's own values --------------------------------------------------------------------- */

/* Tensors over strings and cdata. Lua keeps the value under a number (1 or more) as long as its memory is needed; that
 * it is not any more, C says later. One book for a Lua state. */
typedef struct xchg_loans xchg_loans;

XCHG_API xchg_loans *xchg_loans_new(void); /* NULL: no memory */
/* At the end of the Lua state. */
XCHG_API void xchg_loans_free(xchg_loans *loans);
/* The number of a loan that has ended, each told once; 0: no more. */
XCHG_API int64_t xchg_loans_ended(xchg_loans *loans);
/* A new compact tensor over memory that stays as long as the value with that number. Fills `out` and takes a slot. */
XCHG_API int32_t xchg_tensor_borrow(xchg_arena *arena, xchg_tensor *out, xchg_loans *loans, int64_t number,
                                    const void *data, int32_t dtype, int32_t readonly, int32_t ndim,
                                    const int64_t *shape, xchg_error *err);

/* ---- arrays of Python, the short way ----------------------------------------------------------------- */

/* What is imported most, NumPy's own arrays and bytes, without Lua's C API, which traces cannot look into. These take
 * the GIL where the thread does not keep it, and run nothing of Python's; whatever is out of the ordinary, and every
 * error, is left to the functions of core.exchange. `object` is the userdata of a Python object. */

/* The dtype of such an array, asked for through an XCHG_PROTOCOL_*; 0: this is not the way. */
XCHG_API int32_t xchg_import_dtype(const void *object, int32_t protocol);
/* Fills `out`, an empty tensor of that dtype, and takes a slot: 1. Or 0, and nothing was done. */
XCHG_API int32_t xchg_import(xchg_arena *arena, xchg_tensor *out, const void *object, int32_t dtype, int32_t protocol);
/* The same for a live tensor, which gives its memory back as xchg_tensor_take does. */
XCHG_API int32_t xchg_import_into(xchg_arena *arena, xchg_tensor *tensor, const void *object, int32_t protocol);

/* ---- scalars that LuaJIT cannot read by itself --------------------------------------------------- */

/* All 65536 float16 values as floats, with every NaN canonical. Static, made on first use. */
XCHG_API const float *xchg_float16_table(void);
XCHG_API uint16_t xchg_float16_from_double(double value);
XCHG_API uint16_t xchg_bfloat16_from_double(double value);

/* ---- accounting --------------------------------------------------------------------------------- */

typedef struct xchg_statistics {
  int64_t tensors;          /* live slots of this state */
  int64_t storages;         /* live storages of the process, queued ones included */
  int64_t external_bytes;   /* memory behind them, of the host and of all devices */
  int64_t pending;          /* releases queued until Python may run */
  int64_t objects;          /* Python objects held by Lua states */
  int64_t in_flight;        /* storages that are released once the streams that use them have passed */
  int64_t device_bytes[32]; /* memory of each CUDA device */
} xchg_statistics;

XCHG_API void xchg_stats(const xchg_arena *arena, xchg_statistics *out);
/* Bytes of host memory that may be live before Lua's collector is run; 0 leaves it. Returns the old one. */
XCHG_API int64_t xchg_budget(int64_t bytes);

#include "xchg_cuda.h"
#include "xchg_kernel.h"

#endif
