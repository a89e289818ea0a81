/* xchg_cuda.h: the part of xchg.h that is about CUDA. Included by it, and read by Lua with it.
 *
 * All functions may be called from any thread. Those that work on a device make it the thread's current one for that
 * time and put the old one back. What they queue is queued on the stream that they are given, which must not be NULL
 * unless they say what that means. None of them blocks unless it says so.
 * CUDA's own failures have cuda_code, cuda_name and call in the xchg_error; its code is "cuda", "out_of_memory", or
 * "capturing" for what a capture does not allow. */
#ifndef XCHG_CUDA_H
#define XCHG_CUDA_H

#include <stddef.h>
#include <stdint.h>

enum { XCHG_CUDA_MAX_DEVICES = 32 };

/* ---- finding CUDA -------------------------------------------------------------------------------- */

/* Where else to look. Borrowed until the function returns. */
typedef struct xchg_cuda_places {
  const char *folders; /* site-packages folders of Pythons, one a line: CUDA also comes in wheels. NULL: none */
} xchg_cuda_places;

/* Makes the simulated device the CUDA of this process: opens `file` (xchg/sim.so) and the libraries beside it that
 * carry CUDA's names, for whoever looks for them by name, and nothing more. 0, or XCHG_E_NO_CUDA with the reason
 * (another driver is in the process, a real CUDA is in use): then nothing was changed, but that the file may have been
 * opened. */
XCHG_API int32_t xchg_cuda_simulate(const char *file, xchg_error *err);

/* 1 where xchg_cuda_open would look into `folders`. Opens nothing. */
XCHG_API int32_t xchg_cuda_needs_folders(void);

/* Opens CUDA once in a process, the simulated one where xchg_cuda_simulate was called, without initialising a device.
 * 0, or XCHG_E_NO_CUDA (in a forked child XCHG_E_FORKED) with the reason; a failure is remembered and given again. */
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

/* The thread's current device. Initialises none. */
XCHG_API int32_t xchg_cuda_device_current(int32_t *out, xchg_error *err);

/* The device that a call or a stretch of Lua works on, made current for that time. */
typedef struct xchg_cuda_guard {
  void *context;    /* that was current */
  int32_t device;   /* that was current */
  int32_t switched; /* and has to be put back */
} xchg_cuda_guard;

/* Makes `device` current for this thread, and initialises it. What was current is put back by _leave, also after other
 * code has changed it in between. _leave does nothing for a guard that was not entered (all zero). */
XCHG_API int32_t xchg_cuda_device_enter(xchg_cuda_guard *guard, int32_t device, xchg_error *err);
XCHG_API void xchg_cuda_device_leave(xchg_cuda_guard *guard);

typedef struct xchg_cuda_device {
  char name[256];       /* "Simulated CUDA device (sm_90)" */
  char uuid[48];        /* "GPU-7d4e5b6a-...", "" where unknown */
  char pci[32];         /* "0000:01:00.0" */
  int32_t major, minor; /* compute capability */
  int32_t multiprocessors, warp_size, max_threads_per_block;
  int64_t memory; /* bytes */
} xchg_cuda_device;

/* What a device is; initialises none. */
XCHG_API int32_t xchg_cuda_device_describe(xchg_cuda_device *out, int32_t device, xchg_error *err);
/* A cudaDeviceAttr by its number. */
XCHG_API int32_t xchg_cuda_device_attribute(int32_t *out, int32_t attribute, int32_t device, xchg_error *err);
/* Waits for all that is queued on a device, then releases what waited for that. */
XCHG_API int32_t xchg_cuda_device_synchronize(int32_t device, xchg_error *err);
/* Whether kernels and copies of `device` can reach memory of `peer`: 1, 0 or an error. */
XCHG_API int32_t xchg_cuda_device_can_access(int32_t device, int32_t peer, xchg_error *err);

/* ---- streams ------------------------------------------------------------------------------------- */

enum {
  XCHG_CUDA_STREAM_NONBLOCKING = 1, /* does not order itself with the legacy default stream */
  XCHG_CUDA_STREAM_EXTERNAL = 2,    /* somebody else's */
  XCHG_CUDA_STREAM_CLOSED = 4       /* ... who may have destroyed it: only `last` is asked from then on */
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
  void *last;                      /* of a closed one: an event behind all that was queued; NULL: nothing was */
};

/* The legacy default stream of a device: one for the process, never freed. Borrowed; NULL and err. */
XCHG_API xchg_cuda_stream *xchg_cuda_stream_legacy(int32_t device, xchg_error *err);
/* A new stream of a device; `flags` 0 or XCHG_CUDA_STREAM_NONBLOCKING. New (xchg_cuda_stream_release). */
XCHG_API int32_t xchg_cuda_stream_new(xchg_cuda_stream **out, int32_t device, int32_t flags, int32_t priority,
                                      xchg_error *err);
/* A record for a stream that somebody else made, or for one of the default streams (1, 2). `device` -1: the driver is
 * asked (CUDA 12.8), else the current one; a device that is not the stream's is an error. The stream must live until
 * xchg_cuda_stream_close. New (xchg_cuda_stream_close). */
XCHG_API int32_t xchg_cuda_stream_adopt(xchg_cuda_stream **out, void *handle, int32_t device, xchg_error *err);
/* The device of a handle; -1 where nobody tells, -2 where it is no stream that lives. */
XCHG_API int32_t xchg_cuda_stream_device(void *handle);
/* Lowest and highest priority; the highest is the lower number. */
XCHG_API int32_t xchg_cuda_stream_priorities(int32_t device, int32_t *lowest, int32_t *highest, xchg_error *err);
/* Gives a reference back (NULL does nothing). The last one destroys a stream that we made; what is queued runs on. */
XCHG_API void xchg_cuda_stream_release(xchg_cuda_stream *stream);
/* The same for whoever made or adopted it: an adopted stream is not touched from then on. */
XCHG_API void xchg_cuda_stream_close(xchg_cuda_stream *stream);
/* The current stream of a device for a Lua state: the legacy default one where none was selected. Borrowed; NULL and
 * err, also where this thread captures on another device: its default would be no part of the graph. */
XCHG_API xchg_cuda_stream *xchg_cuda_stream_current(const xchg_arena *arena, int32_t device, xchg_error *err);
/* Makes it the current stream of its device for a Lua state, which holds a reference; NULL: the legacy default one. */
XCHG_API void xchg_cuda_stream_select(xchg_arena *arena, int32_t device, xchg_cuda_stream *stream);
/* Waits until all is done that is queued. */
XCHG_API int32_t xchg_cuda_stream_synchronize(xchg_cuda_stream *stream, xchg_error *err);
/* 1: all is done; 0: not yet. */
XCHG_API int32_t xchg_cuda_stream_query(xchg_cuda_stream *stream, xchg_error *err);
/* What is queued on `later` from now on waits for what is queued on `earlier` so far; two devices are fine. */
XCHG_API int32_t xchg_cuda_stream_wait(xchg_cuda_stream *later, xchg_cuda_stream *earlier, xchg_error *err);

/* ---- events -------------------------------------------------------------------------------------- */

typedef struct xchg_cuda_event {
  void *handle;
  int32_t device;
  int32_t timing;
  uint64_t recorded; /* 0: never; else counts up */
  uint64_t capture;  /* number of the graph that it was recorded in; 0: none */
} xchg_cuda_event;

/* A new event of a device (xchg_cuda_event_release). */
XCHG_API int32_t xchg_cuda_event_new(xchg_cuda_event **out, int32_t device, int32_t timing, xchg_error *err);
XCHG_API void xchg_cuda_event_release(xchg_cuda_event *event);
XCHG_API int32_t xchg_cuda_event_record(xchg_cuda_event *event, xchg_cuda_stream *stream, xchg_error *err);
/* What is queued on `stream` from now on waits for what the event was recorded behind. */
XCHG_API int32_t xchg_cuda_event_wait(xchg_cuda_event *event, xchg_cuda_stream *stream, xchg_error *err);
/* Waits for it. */
XCHG_API int32_t xchg_cuda_event_synchronize(xchg_cuda_event *event, xchg_error *err);
/* 1: it has happened (or was never recorded); 0: not yet. */
XCHG_API int32_t xchg_cuda_event_query(xchg_cuda_event *event, xchg_error *err);
/* Milliseconds from one to the other; both must have happened. */
XCHG_API int32_t xchg_cuda_event_elapsed(double *out, xchg_cuda_event *from, xchg_cuda_event *to, xchg_error *err);

/* ---- functions of the host in a stream ------------------------------------------------------------ */

/* Counts how often a place in a stream was reached; whoever asks runs the function then. */
typedef struct xchg_cuda_host {
  uint32_t reached; /* atomic */
  int32_t references;
} xchg_cuda_host;

/* Queues the place. New (xchg_cuda_host_release). */
XCHG_API int32_t xchg_cuda_host_queue(xchg_cuda_host **out, xchg_cuda_stream *stream, xchg_error *err);
XCHG_API void xchg_cuda_host_release(xchg_cuda_host *host);

/* ---- graphs -------------------------------------------------------------------------------------- */

typedef struct xchg_cuda_graph xchg_cuda_graph;

/* An error where this thread captures: before what waits for work or asks for its end. */
XCHG_API int32_t xchg_cuda_graph_refuse(xchg_error *err);
/* Begins a capture on `stream` (not a default one) in this thread. Only one can be open in a thread.
 * New (xchg_cuda_graph_release), also when the capture fails later. */
XCHG_API int32_t xchg_cuda_graph_begin(xchg_cuda_graph **out, xchg_cuda_stream *stream, xchg_error *err);
/* Ends it, in any case. `keep` 0: nothing comes of it; 1: it can be launched; 2: only good for an update. */
XCHG_API int32_t xchg_cuda_graph_end(xchg_cuda_graph *graph, int32_t keep, xchg_error *err);
/* Replays it behind what is queued on the stream. */
XCHG_API int32_t xchg_cuda_graph_launch(xchg_cuda_graph *graph, xchg_cuda_stream *stream, xchg_error *err);
/* Makes `to` what `from` was launched as: 1, and `from` cannot be launched any more; 0 where its nodes are not the same
 * kind of work, with the reason (static), and nothing has changed. */
XCHG_API int32_t xchg_cuda_graph_update(xchg_cuda_graph *from, xchg_cuda_graph *to, const char **reason,
                                        xchg_error *err);
/* Writes it as Graphviz text to a file. */
XCHG_API int32_t xchg_cuda_graph_dot(xchg_cuda_graph *graph, const char *path, int32_t flags, xchg_error *err);
XCHG_API int64_t xchg_cuda_graph_nodes(const xchg_cuda_graph *graph);
XCHG_API int32_t xchg_cuda_graph_device(const xchg_cuda_graph *graph);
/* What it keeps is given back when its last launch is done. */
XCHG_API void xchg_cuda_graph_release(xchg_cuda_graph *graph);

/* ---- memory -------------------------------------------------------------------------------------- */

/* A new tensor in memory of `device_type` (CUDA, CUDA host, CUDA managed), made in the order of the device's current
 * stream; `zero` clears it in the same order. */
XCHG_API int32_t xchg_cuda_empty(xchg_arena *arena, xchg_tensor *out, int32_t device_type, int32_t device_id,
                                 int32_t dtype, int32_t ndim, const int64_t *shape, int32_t zero, xchg_error *err);

/* Notes that work queued so far on `stream` (NULL: the legacy default one of the tensor's device) uses the tensor's
 * memory: it is not given back before that is done. */
XCHG_API int32_t xchg_cuda_record(xchg_arena *arena, const xchg_tensor *tensor, xchg_cuda_stream *stream,
                                  xchg_error *err);

typedef struct xchg_cuda_memory {
  int64_t free;        /* bytes that the driver has left, for everybody */
  int64_t total;       /* of the device */
  int64_t used;        /* live ones of this library's tensors, imported ones included */
  uint64_t reserved;   /* held by our pool, in use or not */
  uint64_t peak;       /* most of the pool that was in use at once */
  int64_t budget;      /* as xchg_cuda_budget */
  const char *refusal; /* why there is no pool but cudaMalloc; NULL: there is one. Static */
} xchg_cuda_memory;
XCHG_API int32_t xchg_cuda_memory_get(xchg_cuda_memory *out, int32_t device, xchg_error *err);

/* Bytes of a device's memory that may be live before Lua's collector is run, an eighth of it at first; 0 leaves it. The
 * old one goes to `out`. */
XCHG_API int32_t xchg_cuda_budget(int64_t *out, int32_t device, int64_t bytes, xchg_error *err);

/* Waits for the device and gives all memory that is not in use back to the driver. Waits for nothing during a
 * capture. */
XCHG_API int32_t xchg_cuda_trim(int32_t device, xchg_error *err);

/* ---- copies -------------------------------------------------------------------------------------- */

/* Copies src into dst in the order of `stream` (NULL: the current stream of dst's device, else of src's): any two of
 * host, pinned, managed and device memory, of one device or two; src broadcast to dst's shape and cast to its dtype,
 * any strides. Returns when host memory that is not pinned may be used again, and, unless `nonblocking`, when dst is
 * complete if it is memory that the host reads. */
XCHG_API int32_t xchg_cuda_copy(xchg_arena *arena, const xchg_tensor *dst, const xchg_tensor *src,
                                xchg_cuda_stream *stream, int32_t nonblocking, xchg_error *err);
/* Writes one element, given in dst's dtype, everywhere, in the order of `stream` (NULL: the current one of its device).
 * Pinned and managed memory is filled on return, unless it is a capture. */
XCHG_API int32_t xchg_cuda_fill(xchg_arena *arena, const xchg_tensor *dst, const void *element,
                                xchg_cuda_stream *stream, xchg_error *err);

#endif
