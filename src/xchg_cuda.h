/* xchg_cuda.h: the part of xchg.h that is about CUDA. Included by it, and read by Lua with it.
 *
 * All functions may be called from any thread. Those that work on a device make it the thread's current one for that
 * time and put the old one back. What they queue is queued on the stream that they are given; NULL stands for the legacy
 * default stream of the device. None of them blocks unless it says so.
 * CUDA's own failures carry the code "cuda" and cuda_code, cuda_name and call in the xchg_error. */
#ifndef XCHG_CUDA_H
#define XCHG_CUDA_H

#include <stddef.h>
#include <stdint.h>

enum { XCHG_CUDA_MAX_DEVICES = 32 };

/* ---- finding CUDA -------------------------------------------------------------------------------- */

/* Where to look. NULL fields: nowhere. Borrowed until xchg_cuda_open returns. */
typedef struct xchg_cuda_places {
  const char *simulator; /* file of the simulated device: nothing else is looked at then */
  const char *runtime;   /* file of a CUDA runtime: nothing else is looked at then */
  const char *folders;   /* site-packages folders of Pythons, one a line: CUDA also comes in wheels */
} xchg_cuda_places;

/* Opens CUDA once in a process, without initialising a device. 0, or XCHG_E_NO_CUDA with the reason; a failure is
 * remembered and given again. */
XCHG_API int32_t xchg_cuda_open(const xchg_cuda_places *places, xchg_error *err);

/* What was found. Strings are static, "" where unknown. */
typedef struct xchg_cuda_facts {
  int32_t state;     /* 0: not looked for yet; 1: usable; -1: not, see `reason` */
  int32_t simulated; /* 1: the simulated device */
  int32_t runtime;   /* version: 13000 */
  int32_t driver;    /* version that the driver speaks */
  int32_t devices;   /* how many */
  const char *path;  /* file of the runtime */
  const char *driver_path;
  const char *reason; /* why there is none: one sentence */
  const char *report; /* a line for each place that was looked at, and what became of it */
} xchg_cuda_facts;
XCHG_API const xchg_cuda_facts *xchg_cuda_known(void);

/* ---- devices ------------------------------------------------------------------------------------- */

/* The thread's current device. */
XCHG_API int32_t xchg_cuda_device_current(int32_t *out, xchg_error *err);
XCHG_API int32_t xchg_cuda_device_select(int32_t device, xchg_error *err);

/* ---- streams ------------------------------------------------------------------------------------- */

enum {
  XCHG_CUDA_STREAM_NONBLOCKING = 1, /* does not order itself with the legacy default stream */
  XCHG_CUDA_STREAM_EXTERNAL = 2     /* somebody else's */
};

struct xchg_cuda_graph;

/* A stream as this library knows it: made or adopted once, counted, shared with the memory that was used on it. */
struct xchg_cuda_stream {
  void *handle; /* cudaStream_t: 1 legacy default, 2 per-thread default, else an address */
  int32_t device;
  int32_t flags;
  int32_t priority;
  int32_t references;              /* atomic */
  struct xchg_cuda_graph *capture; /* the graph that is being captured on it by this library; NULL: none */
};

/* The legacy default stream of a device: one for the process, never freed. Borrowed; NULL and err. */
XCHG_API xchg_cuda_stream *xchg_cuda_stream_legacy(int32_t device, xchg_error *err);
/* Gives a reference back (NULL does nothing). The last one destroys a stream that we made; what is queued runs on. */
XCHG_API void xchg_cuda_stream_release(xchg_cuda_stream *stream);

/* ---- memory -------------------------------------------------------------------------------------- */

/* A new tensor in memory of `device_type` (CUDA, CUDA host, CUDA managed), made in the order of the device's current
 * stream; `zero` clears it in the same order. */
XCHG_API int32_t xchg_cuda_empty(xchg_arena *arena, xchg_tensor *out, int32_t device_type, int32_t device_id,
                                 int32_t dtype, int32_t ndim, const int64_t *shape, int32_t zero, xchg_error *err);

/* Notes that work queued so far on `stream` uses the tensor's memory: it is not given back before that is done. */
XCHG_API int32_t xchg_cuda_record(xchg_arena *arena, const xchg_tensor *tensor, xchg_cuda_stream *stream,
                                  xchg_error *err);

/* ---- copies -------------------------------------------------------------------------------------- */

/* Copies src into dst in the order of `stream`: any two of host, pinned, managed and device memory, of one device or two;
 * one dtype, src broadcast to dst's shape, any strides. Returns when host memory that is not pinned may be used again,
 * and, unless `nonblocking`, when dst is complete if it is memory that the host reads. */
XCHG_API int32_t xchg_cuda_copy(xchg_arena *arena, const xchg_tensor *dst, const xchg_tensor *src,
                                xchg_cuda_stream *stream, int32_t nonblocking, xchg_error *err);
/* Writes one element, given in dst's dtype, everywhere, in the order of `stream`. */
XCHG_API int32_t xchg_cuda_fill(xchg_arena *arena, const xchg_tensor *dst, const void *element,
                                xchg_cuda_stream *stream, xchg_error *err);

/* ---- code ---------------------------------------------------------------------------------------- */

/* A loaded image of kernels, for all devices. Counted: kernels of it that are in use keep it. */
typedef struct xchg_cuda_library xchg_cuda_library;

/* Loads PTX text (need not end in NUL), a cubin or a fatbin; its bytes are copied where needed. `log` (may be NULL) gets
 * what the driver says about it. New (xchg_cuda_library_release). */
XCHG_API int32_t xchg_cuda_library_load(xchg_cuda_library **out, const char *image, size_t size, char *log,
                                        size_t log_size, xchg_error *err);
XCHG_API void xchg_cuda_library_release(xchg_cuda_library *library);
/* The handle of a kernel by its mangled name, as launches take it; valid while the library is. NULL and err. */
XCHG_API const void *xchg_cuda_library_kernel(xchg_cuda_library *library, const char *name, xchg_error *err);
/* Address and size of a __device__, __constant__ or __managed__ variable on the current device. */
XCHG_API int32_t xchg_cuda_library_global(xchg_cuda_library *library, const char *name, void **pointer, size_t *size,
                                          xchg_error *err);
/* A new tensor over a variable on `device`; it keeps the library. Its elements must fit into the variable. */
XCHG_API int32_t xchg_cuda_library_tensor(xchg_arena *arena, xchg_tensor *out, xchg_cuda_library *library,
                                          const char *name, int32_t device, int32_t dtype, int32_t ndim,
                                          const int64_t *shape, xchg_error *err);

/* ---- signatures ---------------------------------------------------------------------------------- */

enum {
  XCHG_CUDA_PARAMETER_INTEGER = 1, /* .u8 to .s32 */
  XCHG_CUDA_PARAMETER_FLOAT = 2,   /* .f16 to .f64 */
  XCHG_CUDA_PARAMETER_WORD = 3,    /* 64 bits: an integer or a pointer */
  XCHG_CUDA_PARAMETER_POINTER = 4, /* 64 bits, marked .ptr */
  XCHG_CUDA_PARAMETER_BYTES = 5,   /* an array of bytes: a struct, or a half */
  XCHG_CUDA_PARAMETER_BITS = 6,    /* .b16, .b32, .b64, or known by its size alone: it may be anything */
  XCHG_CUDA_PARAMETER_MOST = 32764 /* bytes of all parameters of a kernel */
};

typedef struct xchg_cuda_parameter {
  int32_t kind;
  int32_t is_signed; /* 1: .s8 to .s64. Compilers write .u32 for an int too: 0 says nothing */
  int32_t size;
  int32_t align;         /* 0: not told */
  int32_t offset;        /* in the kernel's block of parameters */
  int32_t pointee_align; /* of .ptr .align; 0: not told */
  int32_t name_length;   /* the name is text[name_at] and following; 0: none */
  int32_t name_at;
} xchg_cuda_parameter;

/* What an entry of PTX says beside its parameters; 0 where it says nothing. */
typedef struct xchg_cuda_entry {
  int32_t bytes; /* of all parameters */
  int32_t max_threads[3];
  int32_t required_threads[3];
  int32_t required_cluster[3];
  int32_t max_cluster; /* blocks */
  int32_t explicit_cluster;
  int32_t min_blocks;
  int32_t max_registers;
} xchg_cuda_entry;

/* A name in a text. */
typedef struct xchg_cuda_span {
  int32_t at;
  int32_t length;
} xchg_cuda_span;

/* Reads the entry `name` of a PTX text that is not trusted and may end without NUL. Returns the number of parameters and
 * writes the first `room` of them, or a negative code. */
XCHG_API int32_t xchg_cuda_signature_parse(xchg_cuda_entry *entry, xchg_cuda_parameter *out, int32_t room,
                                           const char *ptx, size_t size, const char *name, xchg_error *err);
/* The names of the entries of such a text, in its order: their number, the first `room` written. */
XCHG_API int32_t xchg_cuda_signature_entries(xchg_cuda_span *out, int32_t room, const char *ptx, size_t size,
                                             xchg_error *err);
/* Sizes and offsets of a loaded kernel's parameters, as the runtime knows them (all of kind BITS): their number, the first
 * `room` written. XCHG_E_VERSION where the runtime or the driver is too old to tell. */
XCHG_API int32_t xchg_cuda_signature_of_kernel(xchg_cuda_parameter *out, int32_t room, const void *kernel,
                                               xchg_error *err);

#endif
