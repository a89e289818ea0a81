/* What is copied, as the runtime API says it. */
#include "copying.h"

#include "../report.h"
#include "../result.h"

enum { KIND_HOST_HOST, KIND_HOST_DEVICE, KIND_DEVICE_HOST, KIND_DEVICE_DEVICE, KIND_DEFAULT };

static int copy_places(sim_copy *out, int kind) {
  switch (kind) {
  case KIND_HOST_HOST: out->source_place = out->destination_place = SIM_PLACE_HOST; break;
  case KIND_HOST_DEVICE:
    out->source_place = SIM_PLACE_HOST;
    out->destination_place = SIM_PLACE_DEVICE;
    break;
  case KIND_DEVICE_HOST:
    out->source_place = SIM_PLACE_DEVICE;
    out->destination_place = SIM_PLACE_HOST;
    break;
  case KIND_DEVICE_DEVICE: out->source_place = out->destination_place = SIM_PLACE_DEVICE; break;
  case KIND_DEFAULT: out->source_place = out->destination_place = SIM_PLACE_ANY; break;
  default: return SIM_INVALID_MEMCPY_DIRECTION;
  }
  return SIM_SUCCESS;
}

int sim_runtime_copy_rows(sim_copy *out, void *destination, size_t destination_pitch, const void *source,
                          size_t source_pitch, size_t width, size_t height, int kind) {
  *out = (sim_copy){.destination = (uintptr_t)destination,
                    .source = (uintptr_t)source,
                    .width = width,
                    .height = height,
                    .depth = 1,
                    .destination_pitch = destination_pitch,
                    .source_pitch = source_pitch};
  int result = copy_places(out, kind);
  if (result)
    return result;
  if (width && height && (!destination || !source))
    return SIM_INVALID_VALUE;
  return height && (width > destination_pitch || width > source_pitch) ? SIM_INVALID_PITCH_VALUE : SIM_SUCCESS;
}

int sim_runtime_copy_bytes(sim_copy *out, void *destination, const void *source, size_t count, int kind) {
  return sim_runtime_copy_rows(out, destination, count, source, count, count, 1, kind);
}

/* The address of a position in pitched memory, and the bytes from slice to slice. */
static int pitched_place(uint64_t *address, uint64_t *slice, const sim_pitched *memory, const sim_position *position,
                         const sim_extent *extent) {
  uint64_t offset, row;
  if (!memory->pointer)
    return SIM_INVALID_VALUE;
  if (__builtin_mul_overflow(memory->pitch, memory->height, slice) ||
      __builtin_mul_overflow(*slice, position->z, &offset) ||
      __builtin_mul_overflow(memory->pitch, position->y, &row) || __builtin_add_overflow(offset, row, &offset) ||
      __builtin_add_overflow(offset, position->x, &offset) ||
      __builtin_add_overflow((uint64_t)(uintptr_t)memory->pointer, offset, address))
    return SIM_INVALID_VALUE;
  uint64_t end;
  if (__builtin_add_overflow(position->x, extent->width, &end) || end > memory->pitch)
    return SIM_INVALID_PITCH_VALUE;
  /* Rows of one slice must not run into the next. */
  if (extent->depth > 1 && (__builtin_add_overflow(position->y, extent->height, &end) || end > memory->height))
    return SIM_INVALID_VALUE;
  return SIM_SUCCESS;
}

int sim_runtime_copy_3d(sim_copy *out, const sim_copy_3d *from) {
  if (!from)
    return SIM_INVALID_VALUE;
  if (from->source_array || from->destination_array) {
    sim_report(SIM_REPORT_STUB, "a 3D copy of a CUDA array: the simulator has no arrays");
    return SIM_NOT_SUPPORTED;
  }
  *out = (sim_copy){.width = from->extent.width, .height = from->extent.height, .depth = from->extent.depth};
  int result = copy_places(out, from->kind);
  if (result || !out->width || !out->height || !out->depth)
    return result;
  out->source_pitch = from->source.pitch;
  out->destination_pitch = from->destination.pitch;
  result = pitched_place(&out->source, &out->source_slice, &from->source, &from->source_position, &from->extent);
  if (result)
    return result;
  return pitched_place(&out->destination, &out->destination_slice, &from->destination, &from->destination_position,
                       &from->extent);
}

static sim_pitched pitched_tell(uint64_t address, uint64_t pitch, uint64_t slice, const sim_copy *copy) {
  sim_pitched told = {(void *)(uintptr_t)address, pitch ? pitch : copy->width, copy->width, copy->height};
  if (pitch && slice)
    told.height = slice / pitch;
  return told;
}

void sim_runtime_copy_tell(sim_copy_3d *out, const sim_copy *from) {
  *out = (sim_copy_3d){.source = pitched_tell(from->source, from->source_pitch, from->source_slice, from),
                       .destination =
                           pitched_tell(from->destination, from->destination_pitch, from->destination_slice, from),
                       .extent = {from->width, from->height, from->depth}};
  bool from_host = from->source_place == SIM_PLACE_HOST, to_host = from->destination_place == SIM_PLACE_HOST;
  if (from->source_place == SIM_PLACE_ANY)
    out->kind = KIND_DEFAULT;
  else
    out->kind =
        from_host ? (to_host ? KIND_HOST_HOST : KIND_HOST_DEVICE) : (to_host ? KIND_DEVICE_HOST : KIND_DEVICE_DEVICE);
}

int sim_runtime_set_node(sim_set *out, const sim_set_node *from) {
  if (!from || !from->destination || (from->unit != 1 && from->unit != 2 && from->unit != 4) || !from->width ||
      !from->height)
    return SIM_INVALID_VALUE;
  *out = (sim_set){.destination = (uintptr_t)from->destination,
                   .pitch = from->pitch,
                   .width = from->width,
                   .height = from->height,
                   .value = from->value,
                   .unit = from->unit};
  uint64_t row;
  if (__builtin_mul_overflow(out->width, (uint64_t)out->unit, &row))
    return SIM_INVALID_VALUE;
  if (out->height == 1)
    out->pitch = row;
  return row > out->pitch ? SIM_INVALID_PITCH_VALUE : sim_set_check(out);
}
