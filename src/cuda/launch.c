#include "cuda/launch.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/dtype.h"
#include "cuda/failure.h"
#include "cuda/graph.h"
#include "cuda/guard.h"
#include "cuda/kernel.h"
#include "cuda/library.h"
#include "cuda/runtime.h"
#include "cuda/stream.h"
#include "cuda/use.h"
#include "dlpack.h"

/* cudaLaunchConfig_t ends with the number of attributes, 56 bytes in all. */
_Static_assert(offsetof(xchg_cuda_frame, block) == 12 && offsetof(xchg_cuda_frame, shared) == 24 &&
                   offsetof(xchg_cuda_frame, handle) == 32 && offsetof(xchg_cuda_frame, attributes) == 40 &&
                   offsetof(xchg_cuda_frame, attribute_count) == 48,
               "a frame begins as CUDA's launch configuration");
_Static_assert(sizeof(xchg__launch_attribute) == 72, "CUDA's launch attribute");

enum { ATTRIBUTE_COOPERATIVE = 2, ATTRIBUTE_CLUSTER = 4, ATTRIBUTE_OVERLAP = 6 };

/* ---- frames ------------------------------------------------------------------------------------- */

static size_t round_up(size_t bytes, size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

int32_t xchg_cuda_frame_new(xchg_cuda_frame **out, xchg_arena *arena, xchg_cuda_kernel *kernel, xchg_cuda_input *inputs,
                            int32_t count, xchg_error *err) {
  size_t cells = 0, tensors = 0, n = (size_t)count;
  xchg__frame *frame = NULL;
  xchg__pending_ring *ring = xchg__pending_ring_of(arena);
  char *room;
  *out = NULL;
  for (size_t i = 0; i < n; i++) {
    cells = round_up(cells, inputs[i].size > 8 ? 16 : 8);
    inputs[i].cell = (int32_t)cells;
    cells += round_up((size_t)inputs[i].size, 8);
    inputs[i].tensor = inputs[i].kind <= XCHG_CUDA_INPUT_WORD ? (int32_t)tensors++ : -1;
  }
  /* One block: cells first in it for their alignment. */
  size_t most = round_up(tensors > 0 ? tensors : 1, XCHG_LAUNCH_STEP);
  size_t head = round_up(sizeof *frame, 16), arguments = head + round_up(cells, 16),
         heads = arguments + n * sizeof(void *), seen = heads + most * sizeof(void *),
         rules = seen + most * sizeof(void *), described = rules + tensors * sizeof(xchg__launch_rule);
  if (ring == NULL || (room = aligned_alloc(16, round_up(described + n * sizeof *inputs, 16))) == NULL)
    return xchg__error_set(err, XCHG_E_MEMORY, "launch: no memory for the %d arguments of %s", count, kernel->name);
  memset(room, 0, round_up(described + n * sizeof *inputs, 16));
  frame = (xchg__frame *)(void *)room;
  frame->slots = (const xchg_slots *)arena;
  frame->ring = ring;
  frame->arguments = (const void **)(void *)(room + arguments);
  frame->rules = (xchg__launch_rule *)(void *)(room + rules);
  frame->seen = (const void **)(void *)(room + seen);
  frame->described = (xchg_cuda_input *)(void *)(room + described);
  if (n > 0)
    memcpy(frame->described, inputs, n * sizeof *inputs);
  frame->head.heads = (void **)(void *)(room + heads);
  frame->head.cells = (uint8_t *)room + head;
  frame->head.attributes = frame->attributes;
  frame->head.kernel = kernel;
  frame->handle = kernel->handle;
  frame->name = kernel->name;
  frame->library = kernel->library->storage;
  frame->head.inputs = count;
  frame->head.tensors = (int32_t)tensors;
  for (size_t i = 0; i < n; i++) {
    frame->arguments[i] = frame->head.cells + inputs[i].cell;
    if (inputs[i].tensor >= 0)
      frame->rules[inputs[i].tensor] =
          (xchg__launch_rule){.misaligned = (inputs[i].alignment > 0 ? inputs[i].alignment : 1) - 1,
                              .argument = &frame->arguments[i],
                              .dtypes = inputs[i].dtypes,
                              .place = (int32_t)i,
                              .refused_flags = inputs[i].written ? XCHG_TENSOR_READONLY : 0};
  }
  *out = &frame->head;
  return 0;
}

void xchg_cuda_frame_release(xchg_cuda_frame *frame) {
  if (frame == NULL)
    return;
  xchg_cuda_stream_release(frame->stream);
  free(frame);
}

void xchg_cuda_frame_stream(xchg_cuda_frame *frame, xchg_cuda_stream *stream) {
  xchg_cuda_stream *before = frame->stream;
  if (stream != NULL)
    xchg__cuda_stream_retain(stream);
  frame->stream = stream;
  frame->checked = 0;
  xchg_cuda_stream_release(before);
}

/* ---- overlap ------------------------------------------------------------------------------------ */

/* The bytes from the first to the last element: [low, high). */
static void span_of(const xchg_tensor *tensor, uintptr_t *low, uintptr_t *high) {
  int64_t least = 0, most = 0, bits = xchg_dtype_info(tensor->_dtype)->bits;
  *low = *high = (uintptr_t)tensor->_ptr;
  for (int d = 0; d < tensor->_ndim; d++) {
    int64_t reach = (tensor->_shape[d] - 1) * tensor->_strides[d];
    least += reach < 0 ? reach : 0;
    most += reach > 0 ? reach : 0;
  }
  *low += (uintptr_t)(least * bits / 8);
  *high += (uintptr_t)(((most + 1) * bits + 7) / 8);
}

int32_t xchg_cuda_overlap(const xchg_tensor *a, const xchg_tensor *b) {
  uintptr_t a_low, a_high, b_low, b_high;
  span_of(a, &a_low, &a_high);
  span_of(b, &b_low, &b_high);
  return a->_numel > 0 && b->_numel > 0 && a_low < b_high && b_low < a_high;
}

/* The position of a written tensor that lies in the bytes of another one; 0 where none does. */
static int32_t alias_find(const xchg__frame *frame) {
  for (int32_t i = 0; i < frame->head.tensors; i++)
    for (int32_t k = 0; k < frame->head.tensors; k++)
      if (i != k && frame->rules[i].refused_flags && frame->head.heads[i] != NULL && frame->head.heads[k] != NULL &&
          xchg_cuda_overlap(frame->head.heads[i], frame->head.heads[k]))
        return frame->rules[i].place + 1;
  return 0;
}

/* ---- launches ----------------------------------------------------------------------------------- */

static void attributes_write(xchg__frame *frame) {
  xchg__launch_attribute *next = frame->attributes;
  if (frame->head.flags & XCHG_CUDA_LAUNCH_COOPERATIVE)
    *next++ = (xchg__launch_attribute){.id = ATTRIBUTE_COOPERATIVE, .value.number = 1};
  if (frame->head.flags & XCHG_CUDA_LAUNCH_CLUSTER) {
    *next = (xchg__launch_attribute){.id = ATTRIBUTE_CLUSTER};
    memcpy(next++->value.three, frame->head.cluster, sizeof frame->head.cluster);
  }
  if (frame->head.flags & XCHG_CUDA_LAUNCH_OVERLAP)
    *next++ = (xchg__launch_attribute){.id = ATTRIBUTE_OVERLAP, .value.number = 1};
  frame->head.attribute_count = (uint32_t)(next - frame->attributes);
}

/* A tensor is usual where its parameter names one dtype and it is memory of the device. */
static void rule_prepare(xchg__launch_rule *rule, int32_t device) {
  xchg_tensor mask, wanted;
  memset(&mask, 0, sizeof mask);
  memset(&wanted, 0, sizeof wanted);
  for (uint8_t dtype = 0; dtype < XCHG_DTYPE_COUNT; dtype++)
    if (rule->dtypes == (uint32_t)1 << dtype) {
      mask._dtype = UINT8_MAX;
      wanted._dtype = dtype;
    }
  mask._device_type = UINT8_MAX;
  wanted._device_type = kDLCUDA;
  mask._flags = (uint8_t)rule->refused_flags;
  mask._device_id = -1;
  wanted._device_id = device;
  rule->mask = xchg__launch_kind(&mask);
  rule->wanted = xchg__launch_kind(&wanted);
  if (mask._dtype == 0 && rule->dtypes != UINT32_MAX) /* several: never equal */
    rule->wanted = ~rule->mask;
}

/* What is looked at once for a configuration and a device. */
static int32_t launch_prepare(xchg__frame *frame, int32_t device, xchg_error *err) {
  xchg_cuda_frame *head = &frame->head;
  int32_t code;
  head->checked = 0;
  if ((code = xchg__kernel_check(head, device, err)) != 0)
    return code;
  attributes_write(frame);
  frame->chosen = head->stream != NULL ? &head->stream : &frame->slots->head.streams[device];
  if (frame->context != xchg__cuda_primary[device]) {
    frame->context = NULL;
    if ((frame->legacy = xchg_cuda_stream_legacy(device, err)) == NULL)
      return xchg__error_code(err, XCHG_E_CUDA);
    for (int32_t i = 0; i < head->tensors; i++)
      rule_prepare(&frame->rules[i], device);
    frame->context = xchg__cuda_primary[device];
  }
  /* Others than the usual launch are looked at each time. */
  if ((head->flags & (XCHG_CUDA_LAUNCH_NOALIAS | XCHG_CUDA_LAUNCH_BLOCKING)) == 0 && head->grid[0] != 0 &&
      head->grid[1] != 0 && head->grid[2] != 0)
    head->checked = device + 1;
  return 0;
}

static int launch_fail(const xchg_cuda_frame *head, int32_t device, int result, const char *call, xchg_error *err) {
  return xchg__cuda_fail(err, result, call, "launch: %s<<<(%u, %u, %u), (%u, %u, %u)>>> on cuda:%d", head->kernel->name,
                         head->grid[0], head->grid[1], head->grid[2], head->block[0], head->block[1], head->block[2],
                         device);
}

/* XCHG_LAUNCH_BLOCKING: what the kernel does wrong is the error of its launch. */
static int launch_wait(const xchg_cuda_frame *head, int32_t device, xchg_error *err) {
  int result = xchg__rt.cudaStreamSynchronize(head->handle);
  if (result != 0)
    return launch_fail(head, device, result, "cudaStreamSynchronize", err);
  xchg__pending_passed(device, head->handle);
  return 0;
}

static inline xchg_storage *storage_of(const xchg_slots *slots, int32_t number) {
  uint32_t place = (uint32_t)number - 1;
  if (place >= (uint32_t)slots->chunk_count * XCHG_SLOTS_PER_CHUNK)
    return NULL;
  return slots->chunks[place / XCHG_SLOTS_PER_CHUNK][place % XCHG_SLOTS_PER_CHUNK].storage;
}

/* The device is current, and all tensors fit. */
static int32_t launch_queue(xchg__frame *frame, int32_t device, xchg_error *err) {
  xchg_cuda_frame *head = &frame->head;
  xchg_cuda_stream *stream = head->stream;
  int32_t code;
  int result;
  if (head->checked != device + 1 && (code = launch_prepare(frame, device, err)) != 0)
    return code;
  if (head->flags & XCHG_CUDA_LAUNCH_NOALIAS && (code = alias_find(frame)) != 0)
    return code;
  if (head->grid[0] == 0 || head->grid[1] == 0 || head->grid[2] == 0)
    return 0;
  if (stream == NULL && (stream = xchg_cuda_stream_current(&frame->slots->head, device, err)) == NULL)
    return xchg__error_code(err, XCHG_E_CUDA);
  if ((code = xchg__cuda_stream_check(stream, "launch", err)) != 0)
    return code;
  frame->stream = NULL; /* the arguments become others than those of `seen` */
  for (int32_t i = 0; i < head->tensors; i++) {
    const xchg_tensor *tensor = head->heads[i];
    xchg_storage *storage;
    if (tensor == NULL) {
      *frame->rules[i].argument = head->cells + frame->described[frame->rules[i].place].cell;
      continue;
    }
    if ((storage = storage_of(frame->slots, tensor->_slot)) == NULL)
      return frame->rules[i].place + 1;
    *frame->rules[i].argument = &tensor->_ptr;
    if ((code = xchg__use_mark(storage, stream, err)) != 0)
      return code;
  }
  if ((code = xchg__use_mark(frame->library, stream, err)) != 0)
    return code;
  head->handle = stream->handle;
  result = xchg__rt.cudaLaunchKernelExC(head, frame->handle, (void **)frame->arguments);
  if (result != 0)
    return launch_fail(head, device, result, "cudaLaunchKernelExC", err);
  xchg__pending_note(frame->ring, frame->name, stream->handle, device);
  if (head->flags & XCHG_CUDA_LAUNCH_BLOCKING && stream->capture == NULL)
    return launch_wait(head, device, err);
  return 0;
}

static int32_t launch_guarded(xchg__frame *frame, int32_t device, xchg_error *err) {
  xchg__cuda_guard guard;
  int32_t code;
  if (device < 0 && (code = xchg_cuda_device_current(&device, err)) != 0)
    return code;
  if ((code = xchg__cuda_enter(&guard, device, err)) != 0)
    return code;
  code = launch_queue(frame, device, err);
  xchg__cuda_leave(&guard);
  return code;
}

/* Looks at everything. */
static int32_t launch_any(xchg__frame *frame, xchg_error *err) {
  const xchg_cuda_frame *head = &frame->head;
  int32_t device = head->stream != NULL ? head->stream->device : -1;
  for (int32_t i = 0; i < head->tensors; i++) {
    const xchg_tensor *tensor = head->heads[i];
    const xchg__launch_rule *rule = &frame->rules[i];
    if (tensor == NULL)
      continue;
    if (!(rule->dtypes >> (tensor->_dtype & 31) & 1) || ((uintptr_t)tensor->_ptr & rule->misaligned) != 0 ||
        (tensor->_flags & rule->refused_flags) != 0)
      return rule->place + 1;
    if (tensor->_device_type == kDLCUDA) {
      if (device < 0)
        device = tensor->_device_id;
      else if (device != tensor->_device_id)
        return rule->place + 1;
    } else if (tensor->_device_type != kDLCUDAHost && tensor->_device_type != kDLCUDAManaged) {
      return rule->place + 1;
    }
  }
  return launch_guarded(frame, device, err);
}

/* Nothing is known of any tensor. 0 where `stream` has no mark on the code. */
static int frame_begin(xchg__frame *frame, const xchg_cuda_stream *stream) {
  if (__atomic_load_n(&frame->library->last_stream, __ATOMIC_RELAXED) != stream)
    return 0;
  for (int32_t i = 0; i < frame->head.tensors; i++)
    frame->seen[i] = frame;
  frame->changes = frame->slots->changes;
  frame->stream = stream;
  return 1;
}

/* 1 if the tensor is usual memory, which the stream has used before. */
static int rule_fits(const xchg__frame *frame, const xchg__launch_rule *rule, const xchg_tensor *tensor) {
  const xchg_storage *storage;
  return (xchg__launch_kind(tensor) & rule->mask) == rule->wanted &&
         ((uintptr_t)tensor->_ptr & rule->misaligned) == 0 &&
         (storage = storage_of(frame->slots, tensor->_slot)) != NULL &&
         __atomic_load_n(&storage->last_stream, __ATOMIC_RELAXED) == frame->stream;
}

/* Others than at the launch before. 1 if all are usual. */
__attribute__((noinline)) static int frame_adopt(xchg__frame *frame, const xchg_cuda_stream *stream) {
  if ((frame->changes != frame->slots->changes || frame->stream != stream) && !frame_begin(frame, stream))
    return 0;
  for (int32_t i = 0; i < frame->head.tensors; i++) {
    xchg__launch_rule *rule = &frame->rules[i];
    const xchg_tensor *tensor = frame->head.heads[i];
    if (frame->seen[i] == tensor)
      continue;
    if (tensor == NULL) {
      *rule->argument = frame->head.cells + frame->described[rule->place].cell;
    } else if (rule_fits(frame, rule, tensor)) {
      *rule->argument = &tensor->_ptr;
      rule->slot = tensor->_slot;
    } else {
      return 0;
    }
    frame->seen[i] = tensor;
  }
  return 1;
}

#define SELDOM(condition) __builtin_expect(condition, 0)

/* 0 where XCHG_LAUNCH_STEP tensors, from the one at `i` on, are those of the launch before. */
static inline uintptr_t frame_changed(const xchg__frame *frame, int32_t i) {
  const uintptr_t *heads = (const uintptr_t *)(const void *)frame->head.heads + i;
  const uintptr_t *seen = (const uintptr_t *)(const void *)frame->seen + i;
  _Static_assert(XCHG_LAUNCH_STEP == 4, "as many as here");
  return (heads[0] ^ seen[0]) | (heads[1] ^ seen[1]) | (heads[2] ^ seen[2]) | (heads[3] ^ seen[3]);
}

/* The usual launch repeats the one before: its device is current, each tensor is usual memory that its stream has used
 * before, nobody captures. A forked child's driver answers an error. */
int32_t xchg_cuda_launch(xchg_cuda_frame *head, int32_t turn, xchg_error *err) {
  xchg__frame *frame = (xchg__frame *)(void *)head;
  xchg_cuda_stream *stream;
  uintptr_t changed;
  int result;
  if (SELDOM(head->turn != turn))
    return XCHG_CUDA_LAUNCH_DISTURBED;
  if (SELDOM(head->checked == 0 || xchg__graph_capturing()))
    return launch_any(frame, err);
  if (!SELDOM((stream = *frame->chosen) != NULL))
    stream = frame->legacy;
  else if (stream->flags & XCHG_CUDA_STREAM_CLOSED)
    return launch_any(frame, err);
  changed = frame_changed(frame, 0);
  for (int32_t i = XCHG_LAUNCH_STEP; SELDOM(i < head->tensors); i += XCHG_LAUNCH_STEP)
    changed |= frame_changed(frame, i);
  if (SELDOM(changed != 0 || frame->changes != frame->slots->changes || frame->stream != stream) &&
      !frame_adopt(frame, stream))
    return launch_any(frame, err);
  if (SELDOM(xchg__drv.cuCtxGetCurrent(&frame->current) != 0 || frame->current != frame->context))
    return launch_any(frame, err);
  head->handle = stream->handle;
  result = xchg__rt.cudaLaunchKernelExC(head, frame->handle, (void **)frame->arguments);
  if (SELDOM(result != 0))
    return launch_fail(head, head->checked - 1, result, "cudaLaunchKernelExC", err);
  xchg__pending_note(frame->ring, frame->name, head->handle, head->checked - 1);
  return 0;
}
