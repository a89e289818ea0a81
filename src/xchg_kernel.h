/* xchg_kernel.h: the part of xchg.h that is about code for CUDA devices: compiled, loaded, and launched. Included by
 * it, and read by Lua with it; what xchg_cuda.h says of all its functions holds here too. */
#ifndef XCHG_KERNEL_H
#define XCHG_KERNEL_H

#include "xchg_cuda.h"

/* ---- compiling ----------------------------------------------------------------------------------- */

/* NVRTC, NVIDIA's runtime compiler. It needs no GPU and no driver. Strings are static, "" where unknown. */
typedef struct xchg_nvrtc_facts {
  int32_t state;   /* 0: not looked for yet; 1: usable; -1: not, see `reason` */
  int32_t version; /* 13050 */
  int32_t arch_count;
  int32_t archs[64];   /* what it compiles for: 75, 80, ... ascending */
  const char *path;    /* its file */
  const char *include; /* folders of the headers that belong to it, one a line */
  const char *reason;  /* why there is none */
  const char *report;  /* a line for each place that was looked at */
} xchg_nvrtc_facts;

/* Opens NVRTC, once. `folders` as in xchg_cuda_places. 0, or XCHG_E_NO_CUDA with the reason. */
XCHG_API int32_t xchg_nvrtc_open(const char *folders, xchg_error *err);
/* 1 where xchg_nvrtc_open would look into `folders`. Opens nothing. */
XCHG_API int32_t xchg_nvrtc_needs_folders(void);
XCHG_API const xchg_nvrtc_facts *xchg_nvrtc_known(void);

/* What is to be compiled. Everything is copied; strings end in NUL. */
typedef struct xchg_compile_request {
  const char *source;
  const char *name;                /* of the program, as messages call it: "program.cu" */
  const char *const *options;      /* as NVRTC takes them, those of NVRTC's own headers aside */
  const char *const *names;        /* name expressions: "scale<float>" */
  const char *const *header_names; /* headers that are given as text */
  const char *const *header_texts;
  const char *const *folders; /* where the user's own headers lie; they are in `options` too */
  int32_t option_count, name_count, header_count, folder_count;
  const char *cache;   /* folder of the cache; NULL: compile, and keep nothing */
  int64_t cache_bytes; /* that it may hold */
} xchg_compile_request;

typedef struct xchg_compile_result {
  int32_t code;   /* 0; "compile": the log says why; else see `message` */
  int32_t nvrtc;  /* what NVRTC answered */
  int32_t cached; /* 1: came from the cache */
  int32_t files;  /* files of the user that the program was made of, too */
  int64_t ptx_size, cubin_size, log_size;
  const char *ptx;   /* ends in NUL, which is not counted */
  const char *cubin; /* NULL for virtual architectures */
  const char *log;
  const char *const *lowered; /* the mangled name of each name expression */
  const char *message;        /* of a failure that is none of the source */
  const char *note;           /* why the cache was not used; "" */
} xchg_compile_result;

typedef struct xchg_compile_job xchg_compile_job;

/* Compiles, or takes from the cache what was compiled before: before it returns, or (`background`) on another thread.
 * New (xchg_compile_release). Failures of the compilation itself are in the result. */
XCHG_API int32_t xchg_compile_start(xchg_compile_job **out, const xchg_compile_request *request, int32_t background,
                                    xchg_error *err);
/* 1 when it has ended, 0 while it has not. Negative in a forked child, where it never will. */
XCHG_API int32_t xchg_compile_done(xchg_compile_job *job, xchg_error *err);
/* Waits for the end: blocks. Borrowed from the job; NULL and err in a forked child. */
XCHG_API const xchg_compile_result *xchg_compile_wait(xchg_compile_job *job, xchg_error *err);
/* Gives the job back, whether it has ended or not. NULL does nothing. */
XCHG_API void xchg_compile_release(xchg_compile_job *job);

/* ---- code ---------------------------------------------------------------------------------------- */

/* A loaded image of kernels, for all devices. Counted: kernels of it that are in use keep it. */
typedef struct xchg_cuda_library xchg_cuda_library;

enum { XCHG_CUDA_IMAGE_PTX = 1, XCHG_CUDA_IMAGE_CUBIN = 2, XCHG_CUDA_IMAGE_FATBIN = 3 };

/* What an image is, or an error. Drivers read an image's length out of its own header, and believe it: whatever would
 * lead them past the end is refused. Needs no device. */
XCHG_API int32_t xchg_cuda_image_check(const char *image, size_t size, xchg_error *err);

/* The bytes of a file, 2 GiB at most. New (xchg_cuda_image_free). */
XCHG_API int32_t xchg_cuda_image_read(char **out, size_t *size, const char *path, xchg_error *err);
XCHG_API void xchg_cuda_image_free(char *image);

/* Loads PTX text (need not end in NUL), a cubin or a fatbin; its bytes are copied where needed. `log` (may be NULL)
 * gets what the driver says about it. New (xchg_cuda_library_release). */
XCHG_API int32_t xchg_cuda_library_load(xchg_cuda_library **out, const char *image, size_t size, char *log,
                                        size_t log_size, xchg_error *err);
XCHG_API void xchg_cuda_library_release(xchg_cuda_library *library);
/* The handle of a kernel by its mangled name, as launches take it; valid while the library is. NULL and err. */
XCHG_API const void *xchg_cuda_library_kernel(xchg_cuda_library *library, const char *name, xchg_error *err);
/* Names of its kernels, each with a line break behind it. Returns the bytes that takes; what has no room is left
 * out. */
XCHG_API int32_t xchg_cuda_library_kernels(xchg_cuda_library *library, char *out, size_t room, xchg_error *err);
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

/* Reads the entry `name` of a PTX text that is not trusted and may end without NUL. Returns the number of parameters
 * and writes the first `room` of them, or a negative code. */
XCHG_API int32_t xchg_cuda_signature_parse(xchg_cuda_entry *entry, xchg_cuda_parameter *out, int32_t room,
                                           const char *ptx, size_t size, const char *name, xchg_error *err);
/* The names of the entries of such a text, in its order: their number, the first `room` written. */
XCHG_API int32_t xchg_cuda_signature_entries(xchg_cuda_span *out, int32_t room, const char *ptx, size_t size,
                                             xchg_error *err);
/* Sizes and offsets of the parameters of a loaded kernel, as the driver knows them (all of kind BITS): their number,
 * the first `room` written. XCHG_E_VERSION where it is too old to tell. */
XCHG_API int32_t xchg_cuda_signature_of_kernel(xchg_cuda_parameter *out, int32_t room, const xchg_cuda_library *library,
                                               const void *kernel, xchg_error *err);

/* ---- launches ------------------------------------------------------------------------------------ */

/* A kernel of a library, with what each device allows it. Not counted: one owner, one Lua state. */
typedef struct xchg_cuda_kernel xchg_cuda_kernel;

/* `name` is the mangled one, `shown` what errors call it (copied), `required` the block that the code was compiled for
 * (three numbers; NULL: any). Keeps the library. New (xchg_cuda_kernel_release). */
XCHG_API int32_t xchg_cuda_kernel_new(xchg_cuda_kernel **out, xchg_cuda_library *library, const char *name,
                                      const char *shown, const int32_t *required, xchg_error *err);
/* What was launched runs on. NULL does nothing. */
XCHG_API void xchg_cuda_kernel_release(xchg_cuda_kernel *kernel);

/* A kernel on one device. Bytes of shared memory are of a block. */
typedef struct xchg_cuda_kernel_facts {
  int64_t shared_bytes; /* that the code has of its own */
  int64_t constant_bytes;
  int64_t local_bytes;          /* of a thread */
  int64_t dynamic_shared_bytes; /* that a launch may ask for */
  int64_t dynamic_shared_free;  /* ... without opting in */
  int32_t max_threads;          /* of a block */
  int32_t registers;            /* of a thread */
  int32_t ptx_version;
  int32_t binary_version;
  int32_t max_block[3];
  int32_t max_grid[3];
  int32_t required_cluster[3]; /* 0: any */
  int32_t multiprocessors;
  int32_t warp;
  int32_t threads_per_multiprocessor;
  int32_t has_cooperative;
  int32_t has_clusters;
} xchg_cuda_kernel_facts;

/* Borrowed from the kernel; loads it on the device where nobody has. */
XCHG_API int32_t xchg_cuda_kernel_on(const xchg_cuda_kernel_facts **out, xchg_cuda_kernel *kernel, int32_t device,
                                     xchg_error *err);
/* How many blocks of `threads` threads and `shared` dynamic bytes a multiprocessor holds at once. */
XCHG_API int32_t xchg_cuda_kernel_occupancy(int32_t *blocks, xchg_cuda_kernel *kernel, int32_t device, int32_t threads,
                                            int64_t shared, xchg_error *err);
/* Threads of a block that fill the device best: of several that do the one nearest above 256. */
XCHG_API int32_t xchg_cuda_kernel_suggest(int32_t *threads, xchg_cuda_kernel *kernel, int32_t device, int64_t shared,
                                          xchg_error *err);
/* Dynamic bytes that are left for each of `blocks` blocks of `threads` threads on a multiprocessor. */
XCHG_API int32_t xchg_cuda_kernel_available(int64_t *bytes, xchg_cuda_kernel *kernel, int32_t device, int32_t blocks,
                                            int32_t threads, xchg_error *err);
/* Blocks of the largest cluster that fits, for blocks of `threads` threads with `shared` dynamic bytes. */
XCHG_API int32_t xchg_cuda_kernel_cluster(int32_t *blocks, xchg_cuda_kernel *kernel, int32_t device, int32_t threads,
                                          int64_t shared, xchg_error *err);

/* How a Lua value becomes a parameter. */
enum {
  XCHG_CUDA_INPUT_POINTER = 1, /* a tensor */
  XCHG_CUDA_INPUT_WORD = 2,    /* a tensor or an integer of 64 bits */
  XCHG_CUDA_INPUT_INTEGER = 3,
  XCHG_CUDA_INPUT_BOOL = 4,
  XCHG_CUDA_INPUT_FLOAT = 5,
  XCHG_CUDA_INPUT_HALF = 6,
  XCHG_CUDA_INPUT_BFLOAT16 = 7,
  XCHG_CUDA_INPUT_BYTES = 8 /* a struct */
};

typedef struct xchg_cuda_input {
  int32_t kind;
  int32_t size;       /* bytes */
  double low, high;   /* of integers */
  uint32_t dtypes;    /* of tensors that fit: bit n for dtype n */
  uint32_t alignment; /* that their address must have: a power of two */
  int32_t written;    /* 0: only read */
  int32_t cell;       /* its place among the arguments, in bytes */
  int32_t tensor;     /* its place among `heads`; -1: takes none */
} xchg_cuda_input;

enum {
  XCHG_CUDA_LAUNCH_COOPERATIVE = 1,
  XCHG_CUDA_LAUNCH_CLUSTER = 2,
  XCHG_CUDA_LAUNCH_OVERLAP = 4, /* may begin before what is queued in front has ended (programmatic dependent launch) */
  XCHG_CUDA_LAUNCH_NOALIAS = 8,
  XCHG_CUDA_LAUNCH_BLOCKING = 16
};

/* What a launch needs, filled in place and used again: CUDA copies it. It begins as CUDA's own configuration does. */
typedef struct xchg_cuda_frame {
  uint32_t grid[3];
  uint32_t block[3];
  uint64_t shared; /* dynamic bytes */
  void *handle;    /* of the stream, written by the launch */
  void *attributes;
  uint32_t attribute_count;
  int32_t flags;
  uint32_t cluster[3];
  int32_t checked; /* number of the device, plus one, on which the fields above were found possible; set it to 0 when
                      one of them changes */
  xchg_cuda_stream *stream; /* set by xchg_cuda_frame_stream */
  void **heads;   /* of the tensors, in their order among the parameters; NULL: the argument stands in its cell */
  uint8_t *cells; /* the arguments; a cell begins at a multiple of 8 */
  xchg_cuda_kernel *kernel; /* borrowed */
  int32_t turn;             /* counts the users: each adds 1 before it writes anything here */
  int32_t inputs, tensors;
  int32_t plain; /* kept by the callers: block.x where grid and block have nothing but an x; else 0 */
} xchg_cuda_frame;

/* A frame for a kernel with these parameters; `cell` and `tensor` of each are filled in. New
 * (xchg_cuda_frame_release). */
XCHG_API int32_t xchg_cuda_frame_new(xchg_cuda_frame **out, xchg_arena *arena, xchg_cuda_kernel *kernel,
                                     xchg_cuda_input *inputs, int32_t count, xchg_error *err);
XCHG_API void xchg_cuda_frame_release(xchg_cuda_frame *frame);
/* The stream of the launches, on which the frame holds a reference; NULL: the current one of the device. */
XCHG_API void xchg_cuda_frame_stream(xchg_cuda_frame *frame, xchg_cuda_stream *stream);

enum { XCHG_CUDA_LAUNCH_DISTURBED = 0x7fffffff };

/* Queues the kernel. 0; the number of a parameter whose tensor does not fit (from 1 on; nothing was done, and `err` is
 * not written); or an error. XCHG_CUDA_LAUNCH_DISTURBED, and nothing was done, where `turn` is not the frame's: another
 * user came between, and what it left there is not the caller's. A grid with a 0 queues nothing. */
XCHG_API int32_t xchg_cuda_launch(xchg_cuda_frame *frame, int32_t turn, xchg_error *err);

/* Where the elements of two tensors lie in the same bytes: 1, else 0. Holes of strides count as theirs. */
XCHG_API int32_t xchg_cuda_overlap(const xchg_tensor *a, const xchg_tensor *b);

#endif
