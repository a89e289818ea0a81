/* Slots, heads, views, the budget. */
#include "test.h"

#include "core/counter.h"
#include "core/layout.h"
#include "core/tensor.h"
#include "dlpack.h"

static int destroyed;

static void count_destroy(xchg_storage *storage, int python) {
  (void)storage;
  (void)python;
  destroyed++;
}

static const int64_t SHAPE[2] = {3, 4};

static xchg_tensor empty(xchg_slots *slots, int32_t ndim, const int64_t *shape) {
  xchg_tensor tensor;
  CHECK_EQUAL(xchg_tensor_empty(&slots->head, &tensor, XCHG_DTYPE_FLOAT64, ndim, shape, 1, NULL), 0);
  return tensor;
}

static void empty_describes_itself(void) {
  xchg_slots slots;
  xchg__slots_init(&slots);
  xchg_tensor t = empty(&slots, 2, SHAPE);
  CHECK(t._data != NULL && t._data == t._ptr && (uintptr_t)t._data % 64 == 0);
  CHECK(t._ndim == 2 && t._rank == 2 && t._size == 0 && t._slot == 1);
  CHECK(t._shape[0] == 3 && t._shape[1] == 4 && t._strides[0] == 4 && t._strides[1] == 1);
  CHECK(t._dtype == XCHG_DTYPE_FLOAT64 && t._device_type == kDLCPU && t._device_id == 0);
  CHECK(t._flags == XCHG_TENSOR_HOST && t._protocol == XCHG_PROTOCOL_LUA);
  CHECK_EQUAL(t._numel, 12);
  for (int i = 0; i < 12; i++)
    CHECK(((double *)t._data)[i] == 0);

  xchg_tensor row = empty(&slots, 1, SHAPE), scalar = empty(&slots, 0, NULL);
  CHECK(row._size == 3 && row._numel == 3 && row._rank == 1);
  CHECK(scalar._size == 0 && scalar._rank == 0 && scalar._shape != NULL && scalar._numel == 1);
  xchg_statistics stats;
  xchg_stats(&slots.head, &stats);
  CHECK(stats.tensors == 3 && stats.storages == 3 && stats.external_bytes == 96 + 24 + 8 && stats.pending == 0);
  CHECK_EQUAL(slots.head.busy, 3);
  xchg__slots_close(&slots);
  CHECK_EQUAL(xchg__count_sum(XCHG_COUNT_STORAGES), 0);
}

static void empty_refuses(void) {
  xchg_slots slots;
  xchg_tensor t;
  int64_t negative[2] = {2, -1}, large[2] = {INT64_MAX, 2}, many[1] = {INT64_MAX / 8};
  xchg__slots_init(&slots);
  CHECK_ERROR(xchg_tensor_empty(&slots.head, &t, 0, 2, SHAPE, 0, &error), XCHG_E_DTYPE,
              "empty: there is no dtype number 0; valid are 1 to 28");
  CHECK_EQUAL(xchg_tensor_empty(&slots.head, &t, XCHG_DTYPE_COUNT, 2, SHAPE, 0, NULL), XCHG_E_DTYPE);
  CHECK_ERROR(xchg_tensor_empty(&slots.head, &t, 1, 65, SHAPE, 0, &error), XCHG_E_RANGE,
              "empty: a shape of 65 dimensions; 0 to 64 are possible");
  CHECK_EQUAL(xchg_tensor_empty(&slots.head, &t, 1, -1, SHAPE, 0, NULL), XCHG_E_RANGE);
  CHECK_ERROR(xchg_tensor_empty(&slots.head, &t, 1, 2, negative, 0, &error), XCHG_E_ARGUMENT,
              "empty: extent -1 of dimension 2 is negative; use 0 or more");
  CHECK_ERROR(xchg_tensor_empty(&slots.head, &t, 1, 2, large, 0, &error), XCHG_E_RANGE,
              "empty: shape (9223372036854775807, 2) is larger than any memory; use smaller extents");
  CHECK_EQUAL(xchg_tensor_empty(&slots.head, &t, XCHG_DTYPE_COMPLEX128, 1, many, 0, NULL), XCHG_E_RANGE);
  CHECK_EQUAL(slots.live, 0);
  CHECK_EQUAL(xchg__count_sum(XCHG_COUNT_STORAGES), 0);
  xchg__slots_close(&slots);
}

/* A tensor on a storage of its own that counts its release. */
static xchg_tensor foreign(xchg_slots *slots, xchg_description *description, int deferred, int64_t bytes) {
  xchg_tensor tensor;
  xchg_storage *storage = xchg__storage_new(bytes, NULL, NULL, count_destroy, deferred, NULL);
  CHECK_EQUAL(xchg__tensor_new(slots, &tensor, description, storage, NULL), 0);
  return tensor;
}

static void heads_know_what_can_be_read(void) {
  static double memory[4];
  static const struct {
    int32_t device, dtype;
    int host, rank, size;
  } rows[] = {
      {kDLCPU, XCHG_DTYPE_FLOAT64, 1, 1, 4},      {kDLCUDA, XCHG_DTYPE_FLOAT64, 0, -1, 0},
      {kDLCUDAHost, XCHG_DTYPE_FLOAT64, 1, 1, 4}, {kDLCUDAManaged, XCHG_DTYPE_FLOAT64, 1, 1, 4},
      {kDLROCMHost, XCHG_DTYPE_FLOAT64, 1, 1, 4}, {kDLROCM, XCHG_DTYPE_FLOAT64, 0, -1, 0},
      {kDLMetal, XCHG_DTYPE_INT8, 0, -1, 0},      {kDLCPU, XCHG_DTYPE_COMPLEX128, 1, 1, 4},
      {kDLCPU, XCHG_DTYPE_COMPLEX32, 1, -1, 0},   {kDLCPU, XCHG_DTYPE_FLOAT4_E2M1FN, 1, -1, 0},
  };
  xchg_slots slots;
  int64_t four = 4;
  xchg__slots_init(&slots);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    xchg_description description = {.data = memory,
                                    .dtype = rows[i].dtype,
                                    .device_type = rows[i].device,
                                    .device_id = 3,
                                    .ndim = 1,
                                    .readonly = (int32_t)i % 2,
                                    .protocol = XCHG_PROTOCOL_DLPACK,
                                    .shape = &four};
    xchg_tensor t = foreign(&slots, &description, 0, 32);
    CHECK(t._data == (rows[i].host ? memory : NULL));
    CHECK(t._ptr == memory);
    CHECK_EQUAL(t._rank, rows[i].rank);
    CHECK_EQUAL(t._size, rows[i].size);
    CHECK_EQUAL(t._flags, (rows[i].host ? XCHG_TENSOR_HOST : 0) | (i % 2 ? XCHG_TENSOR_READONLY : 0));
    CHECK(t._device_id == 3 && t._protocol == XCHG_PROTOCOL_DLPACK);
    CHECK_EQUAL(xchg__device_host_readable(rows[i].device), rows[i].host);
  }
  destroyed = 0;
  xchg__slots_close(&slots);
  CHECK_EQUAL(destroyed, (int)(sizeof rows / sizeof *rows));
}

static void strides_of_ones_are_compact(void) {
  int64_t shape[4] = {1, 3, 1, 2}, strides[4] = {-99, 100, INT64_MIN, 7};
  xchg_slots slots;
  xchg_description description = {
      .data = &slots, .dtype = XCHG_DTYPE_INT8, .device_type = kDLCPU, .ndim = 4, .shape = shape, .strides = strides};
  xchg__slots_init(&slots);
  xchg_tensor t = foreign(&slots, &description, 0, 1);
  CHECK(t._strides[0] == 6 && t._strides[1] == 100 && t._strides[2] == 2 && t._strides[3] == 7);
  xchg__slots_close(&slots);
}

static void slots_are_reused_and_never_move(void) {
  enum { COUNT = 1000 };
  static xchg_tensor tensors[COUNT];
  xchg_slots slots;
  xchg__slots_init(&slots);
  for (int i = 0; i < COUNT; i++) {
    int64_t shape[1] = {i};
    tensors[i] = empty(&slots, 1, shape);
    CHECK_EQUAL(tensors[i]._slot, i + 1);
  }
  CHECK_EQUAL(slots.chunk_count, 4);
  for (int i = 0; i < COUNT; i++) {
    CHECK_EQUAL(tensors[i]._shape[0], i);
    CHECK(xchg__slot_get(&slots, i + 1)->dims == tensors[i]._shape);
  }
  for (int i = 0; i < COUNT; i += 2)
    xchg_tensor_release(&slots.head, &tensors[i]);
  CHECK_EQUAL(slots.live, COUNT / 2);
  for (int i = 0; i < COUNT; i++)
    CHECK((xchg__slot_get(&slots, i + 1) == NULL) == (i % 2 == 0));
  for (int i = 0; i < COUNT; i += 2) {
    int64_t shape[1] = {i};
    tensors[i] = empty(&slots, 1, shape);
  }
  CHECK_EQUAL(slots.chunk_count, 4);
  CHECK_EQUAL(slots.live, COUNT);
  for (int i = 0; i < COUNT; i++)
    CHECK(tensors[i]._slot >= 1 && tensors[i]._slot <= COUNT && tensors[i]._shape[0] == i);
  CHECK(xchg__slot_get(&slots, 0) == NULL);
  CHECK(xchg__slot_get(&slots, -1) == NULL);
  CHECK(xchg__slot_get(&slots, INT32_MAX) == NULL);
  CHECK(xchg__slot_get(&slots, 1024) == NULL);
  xchg__slots_close(&slots);
}

static void many_dimensions_leave_the_slot(void) {
  int64_t shape[XCHG_MAX_NDIM];
  xchg_slots slots;
  for (int d = 0; d < XCHG_MAX_NDIM; d++)
    shape[d] = d % 16 == 0 ? 2 : 1;
  xchg__slots_init(&slots);
  for (int32_t ndim = 0; ndim <= XCHG_MAX_NDIM; ndim++) {
    xchg_tensor t = empty(&slots, ndim, shape);
    CHECK_EQUAL(t._slot, 1);
    CHECK_EQUAL(t._ndim, ndim);
    for (int32_t d = 0; d < ndim; d++)
      CHECK_EQUAL(t._shape[d], shape[d]);
    CHECK(xchg_layout_is_contiguous(ndim, t._shape, t._strides));
    xchg_tensor_release(&slots.head, &t);
  }
  empty(&slots, XCHG_MAX_NDIM, shape);
  xchg__slots_close(&slots); /* the leak checker sees what it leaves */
}

static void release_is_idempotent(void) {
  xchg_slots slots;
  xchg__slots_init(&slots);
  xchg_description description = {
      .data = &slots, .dtype = XCHG_DTYPE_INT8, .device_type = kDLCPU, .ndim = 2, .shape = SHAPE};
  xchg_tensor t = foreign(&slots, &description, 0, 12);
  destroyed = 0;
  xchg_tensor_release(&slots.head, &t);
  CHECK_EQUAL(destroyed, 1);
  CHECK(t._data == NULL && t._ptr == NULL && t._size == 0 && t._slot == 0 && t._ndim == 0 && t._rank == -1);
  CHECK(t._shape != NULL && t._strides != NULL && t._shape[0] == 0 && t._strides[63] == 0);
  CHECK_EQUAL(t._numel, 0);
  CHECK_EQUAL(t._dtype, XCHG_DTYPE_INT8);
  xchg_tensor other = foreign(&slots, &description, 0, 12);
  xchg_tensor_release(&slots.head, &t);
  CHECK_EQUAL(destroyed, 1);
  xchg_tensor_release(&slots.head, &other);
  CHECK_EQUAL(destroyed, 2);
  CHECK_EQUAL(slots.live, 0);
  xchg__slots_close(&slots);
  xchg__slots_close(&slots);
  CHECK_EQUAL(destroyed, 2);
}

static void views_keep_the_memory(void) {
  xchg_slots slots;
  xchg_layout layout;
  xchg__slots_init(&slots);
  xchg_description description = {.data = (void *)(uintptr_t)0x1000,
                                  .dtype = XCHG_DTYPE_INT32,
                                  .device_type = kDLCUDA,
                                  .device_id = 1,
                                  .ndim = 2,
                                  .readonly = 1,
                                  .protocol = XCHG_PROTOCOL_DLPACK,
                                  .shape = SHAPE};
  xchg_tensor t = foreign(&slots, &description, 0, 48), view, view2;
  destroyed = 0;
  xchg_layout_get(&layout, &t);
  CHECK_EQUAL(xchg_layout_select(&layout, 1, 3, NULL), 0);
  CHECK_EQUAL(xchg_layout_narrow(&layout, 1, 4, 4, -1, NULL), 0);
  CHECK_EQUAL(xchg_tensor_view(&slots.head, &view, &t, &layout, NULL), 0);
  CHECK(view._ptr == (void *)(uintptr_t)(0x1000 + 11 * 4) && view._data == NULL && view._strides[0] == -1);
  CHECK(view._flags == XCHG_TENSOR_READONLY && view._device_id == 1 && view._protocol == XCHG_PROTOCOL_DLPACK);
  CHECK_EQUAL(slots.live, 2);
  xchg_tensor_release(&slots.head, &t);
  CHECK_EQUAL(destroyed, 0);
  xchg_layout_get(&layout, &view);
  CHECK_EQUAL(xchg_tensor_view(&slots.head, &view2, &view, &layout, NULL), 0);
  CHECK_EQUAL(xchg_tensor_view(&slots.head, &view2, &view2, &layout, NULL), 0); /* in place; the slot is lost */
  xchg_tensor_release(&slots.head, &view);
  CHECK_EQUAL(destroyed, 0);
  CHECK_ERROR(xchg_tensor_view(&slots.head, &view2, &view, &layout, &error), XCHG_E_RELEASED,
              "view: the tensor is released; take views before t:release(), they keep the memory");
  xchg__slots_close(&slots);
  CHECK_EQUAL(destroyed, 1);
}

static void views_stay_inside(void) {
  xchg_slots slots;
  xchg_layout layout;
  xchg_tensor view;
  xchg__slots_init(&slots);
  xchg_tensor t = empty(&slots, 2, SHAPE);
  struct {
    int64_t offset, extent, stride;
    int rc;
  } rows[] = {
      {0, 12, 1, 0},
      {11, 12, -1, 0},
      {1, 12, 1, XCHG_E_RANGE},
      {0, 13, 1, XCHG_E_RANGE},
      {-1, 2, 1, XCHG_E_RANGE},
      {0, 2, -1, XCHG_E_RANGE},
      {INT64_MAX, 1, 1, XCHG_E_RANGE},
      {INT64_MAX / 64, 1, 1, XCHG_E_RANGE},
      {INT64_MIN, 2, INT64_MAX, XCHG_E_RANGE},
      {0, INT64_MAX, INT64_MAX, XCHG_E_RANGE},
      {0, -1, 1, XCHG_E_RANGE},
      {12, 0, 1, 0},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    layout.offset = rows[i].offset;
    layout.ndim = 1;
    layout.dtype = XCHG_DTYPE_FLOAT64;
    layout.shape[0] = rows[i].extent;
    layout.strides[0] = rows[i].stride;
    CHECK_EQUAL(xchg_tensor_view(&slots.head, &view, &t, &layout, NULL), rows[i].rc);
  }
  CHECK(view._ptr == t._ptr); /* that of the empty view */
  /* Another dtype over the same bytes, to their last and not further. */
  layout.offset = 0;
  layout.dtype = XCHG_DTYPE_UINT8;
  layout.shape[0] = 96;
  layout.strides[0] = 1;
  CHECK_EQUAL(xchg_tensor_view(&slots.head, &view, &t, &layout, NULL), 0);
  CHECK(view._dtype == XCHG_DTYPE_UINT8 && view._size == 96);
  layout.shape[0] = 97;
  CHECK_EQUAL(xchg_tensor_view(&slots.head, &view, &t, &layout, NULL), XCHG_E_RANGE);
  /* Packed elements begin at bytes. */
  layout.dtype = XCHG_DTYPE_FLOAT4_E2M1FN;
  layout.shape[0] = 4;
  layout.offset = 2;
  CHECK_EQUAL(xchg_tensor_view(&slots.head, &view, &t, &layout, NULL), 0);
  CHECK(view._ptr == (char *)t._ptr + 1);
  layout.offset = 3;
  CHECK_EQUAL(xchg_tensor_view(&slots.head, &view, &t, &layout, NULL), XCHG_E_DTYPE);
  layout.dtype = 0;
  CHECK_EQUAL(xchg_tensor_view(&slots.head, &view, &t, &layout, NULL), XCHG_E_RANGE);
  xchg__slots_close(&slots);
}

static void closed_states_make_nothing(void) {
  xchg_slots slots;
  xchg_tensor t, view;
  xchg_layout layout;
  xchg__slots_init(&slots);
  xchg_tensor base = empty(&slots, 2, SHAPE);
  xchg_layout_get(&layout, &base);
  xchg__slots_close(&slots);
  CHECK_ERROR(xchg_tensor_empty(&slots.head, &t, XCHG_DTYPE_INT8, 2, SHAPE, 0, &error), XCHG_E_RELEASED,
              "tensor: this Lua state is closing; make tensors before it, not in its finalizers");
  base._slot = 1;
  CHECK_EQUAL(xchg_tensor_view(&slots.head, &view, &base, &layout, NULL), XCHG_E_RELEASED);
  xchg_tensor_release(&slots.head, &base);
  CHECK_EQUAL(base._slot, 0);
  CHECK_EQUAL(xchg__count_sum(XCHG_COUNT_STORAGES), 0);
}

static void waiting_releases_ask_for_attention(void) {
  xchg_slots slots;
  xchg_description description = {
      .data = &slots, .dtype = XCHG_DTYPE_INT8, .device_type = kDLCPU, .ndim = 2, .shape = SHAPE};
  xchg__slots_init(&slots);
  destroyed = 0;
  for (int i = 0; i < 64; i++) {
    xchg_tensor t = foreign(&slots, &description, 1, 12);
    xchg_tensor_release(&slots.head, &t);
  }
  CHECK_EQUAL(destroyed, 0);
  CHECK_EQUAL(xchg__count_sum(XCHG_COUNT_PENDING), 64);
  CHECK_EQUAL(slots.head.attention, 0);
  xchg_tensor t = foreign(&slots, &description, 1, 64 << 10);
  xchg_tensor_release(&slots.head, &t);
  CHECK_EQUAL(slots.head.attention, XCHG_ATTEND_DRAIN);
  CHECK_EQUAL(xchg__release_drain(1), 65);
  CHECK_EQUAL(destroyed, 65);
  slots.head.attention = 0;
  t = foreign(&slots, &description, 1, (1 << 20) + 1);
  xchg_tensor_release(&slots.head, &t);
  CHECK_EQUAL(slots.head.attention, XCHG_ATTEND_DRAIN);
  xchg__release_drain(1);
  xchg__slots_close(&slots);
}

static void the_budget_asks_for_collections(void) {
  enum { MIB = 1 << 20 };
  xchg_slots slots;
  xchg_description description = {
      .data = &slots, .dtype = XCHG_DTYPE_INT8, .device_type = kDLCPU, .ndim = 2, .shape = SHAPE};
  xchg__slots_init(&slots);
  CHECK_EQUAL(xchg_budget(0), 256 * MIB);
  CHECK_EQUAL(xchg_budget(10 * MIB), 256 * MIB);
  CHECK_EQUAL(xchg_budget(-5), 10 * MIB);
  CHECK_EQUAL(xchg_budget(0), 10 * MIB);
  xchg_tensor a = foreign(&slots, &description, 0, 10 * MIB);
  CHECK_EQUAL(slots.head.attention, 0);
  xchg_tensor b = foreign(&slots, &description, 0, 64 << 10);
  CHECK_EQUAL(slots.head.attention, XCHG_ATTEND_COLLECT);

#define ASKS(wanted)                                                                                                   \
  do {                                                                                                                 \
    slots.head.attention = 0;                                                                                          \
    xchg__slots_notice(&slots, 0, MIB);                                                                                \
    CHECK_EQUAL(slots.head.attention, (wanted) ? XCHG_ATTEND_COLLECT : 0);                                             \
  } while (0)
  /* A collection that freed nothing: twice the budget, or twice what is in use. */
  xchg__budget_adapt(0, 10 * MIB + 1, 0, 1);
  ASKS(0);
  xchg_tensor c = foreign(&slots, &description, 0, 10 * MIB);
  ASKS(0);
  xchg_tensor d = foreign(&slots, &description, 0, 128 << 10);
  ASKS(1);
  /* One that freed much and was neither cheap nor dear: the limit stays where it is. */
  xchg_tensor_release(&slots.head, &a);
  xchg_tensor_release(&slots.head, &c);
  xchg__budget_adapt(0, 20 * MIB, 0.01, 1);
  xchg_tensor e = foreign(&slots, &description, 0, 20 * MIB);
  ASKS(1);
  xchg_tensor_release(&slots.head, &e);
  ASKS(0);
  /* Dear ones raise it, eight times at most. */
  for (int i = 0; i < 10; i++)
    xchg__budget_adapt(0, 20 * MIB, 0.06, 1);
  e = foreign(&slots, &description, 0, 79 * MIB);
  ASKS(0);
  xchg_tensor f = foreign(&slots, &description, 0, MIB);
  ASKS(1);
  /* Cheap ones that free much lower it again, to the base at the least. */
  xchg_tensor_release(&slots.head, &e);
  for (int i = 0; i < 10; i++)
    xchg__budget_adapt(0, 20 * MIB, 0.001, 1);
  e = foreign(&slots, &description, 0, 10 * MIB);
  ASKS(1);
  /* A sweep that found much in use raises the threshold, one that found little brings it down. */
  xchg__budget_settle();
  ASKS(0);
  xchg_tensor_release(&slots.head, &e);
  xchg__budget_settle();
  e = foreign(&slots, &description, 0, 10 * MIB);
  ASKS(1);
  /* A new base forgets all that. */
  CHECK_EQUAL(xchg_budget(100 * MIB), 10 * MIB);
  ASKS(0);
  xchg_budget(INT64_MAX);
  xchg__budget_adapt(0, INT64_MAX, 1, 1);
  ASKS(0);
  xchg_budget(256 * MIB);
  (void)b, (void)d, (void)f;
  xchg__slots_close(&slots);
}

/* Each device has a budget of its own, and none before somebody who knows its memory gives it one. */
static void places_have_their_own_budgets(void) {
  enum { MIB = 1 << 20, PLACE = 3 };
  xchg_slots slots;
  xchg_statistics stats;
  xchg_description description = {
      .data = &slots, .dtype = XCHG_DTYPE_INT8, .device_type = kDLCUDA, .device_id = 2, .ndim = 2, .shape = SHAPE};
  xchg_tensor t;
  xchg_storage *storage;
  xchg__slots_init(&slots);
  storage = xchg__storage_new(10 * MIB, NULL, NULL, NULL, 1, NULL);
  xchg__storage_put(storage, PLACE);
  CHECK_EQUAL(xchg__tensor_new(&slots, &t, &description, storage, NULL), 0);
  CHECK_EQUAL(slots.head.attention, 0);
  xchg_stats(&slots.head, &stats);
  CHECK_EQUAL(stats.device_bytes[PLACE - 1], 10 * MIB);
  CHECK_EQUAL(stats.external_bytes, 10 * MIB);
  CHECK_EQUAL(xchg__count_sum(XCHG_COUNT_BYTES), 0);

  CHECK_EQUAL(xchg__budget_known(PLACE), 0);
  CHECK_EQUAL(xchg__budget_of(PLACE, 0), 0);
  xchg__budget_default(PLACE, 8 * MIB);
  xchg__budget_default(PLACE, 99 * MIB);
  CHECK_EQUAL(xchg__budget_of(PLACE, 0), 8 * MIB);
  CHECK(xchg__budget_exceeded(PLACE) && !xchg__budget_exceeded(0) && !xchg__budget_exceeded(PLACE - 1));
  xchg__slots_notice(&slots, PLACE, 1); /* small amounts of a device are looked at too */
  CHECK_EQUAL(slots.head.attention, XCHG_ATTEND_COLLECT);
  slots.head.attention = 0;
  xchg__slots_notice(&slots, 0, MIB);
  CHECK_EQUAL(slots.head.attention, 0);
  xchg__budget_settle(); /* all of it is in use */
  xchg__slots_notice(&slots, PLACE, MIB);
  CHECK_EQUAL(slots.head.attention, 0);

  /* A queued release of device memory is drained at once, however little it is. */
  xchg_tensor_release(&slots.head, &t);
  CHECK_EQUAL(slots.head.attention, XCHG_ATTEND_DRAIN);
  CHECK_EQUAL(xchg__release_drain(0), 1);
  xchg_stats(&slots.head, &stats);
  CHECK_EQUAL(stats.device_bytes[PLACE - 1], 0);
  CHECK_EQUAL(xchg__count_sum(XCHG_COUNT_PENDING_DEVICE), 0);
  CHECK_EQUAL(xchg__budget_of(PLACE, MIB), 8 * MIB);
  CHECK_EQUAL(xchg__budget_of(PLACE, -1), MIB);
  xchg__slots_close(&slots);
}

static void names(void) {
  CHECK_TEXT(xchg_device_name(kDLCPU), "cpu");
  CHECK_TEXT(xchg_device_name(kDLCUDAManaged), "cuda_managed");
  CHECK(xchg_device_name(0) == NULL && xchg_device_name(5) == NULL && xchg_device_name(256) == NULL);
  CHECK_TEXT(xchg_device_name(19), "device19");
  CHECK_TEXT(xchg_device_name(255), "device255");
  for (int i = 7; i <= 18; i++)
    CHECK(xchg_device_name(i) != NULL);
  CHECK_TEXT(xchg_protocol_name(XCHG_PROTOCOL_EXCHANGE_API), "exchange_api");
  for (int i = 1; i < XCHG_PROTOCOL_COUNT; i++)
    CHECK(xchg_protocol_name(i) != NULL);
  CHECK(xchg_protocol_name(0) == NULL && xchg_protocol_name(XCHG_PROTOCOL_COUNT) == NULL);
}

int main(void) {
  empty_describes_itself();
  empty_refuses();
  heads_know_what_can_be_read();
  strides_of_ones_are_compact();
  slots_are_reused_and_never_move();
  many_dimensions_leave_the_slot();
  release_is_idempotent();
  views_keep_the_memory();
  views_stay_inside();
  closed_states_make_nothing();
  waiting_releases_ask_for_attention();
  the_budget_asks_for_collections();
  places_have_their_own_budgets();
  names();
  CHECK_EQUAL(xchg__count_sum(XCHG_COUNT_STORAGES), 0);
  CHECK_EQUAL(xchg__count_sum(XCHG_COUNT_BYTES), 0);
  return test_end();
}
