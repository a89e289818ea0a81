/* The functions of the device's runtime, by name, and how they reach their parameters and memory. */
#include "builtin.h"

#include <stdio.h>
#include <string.h>

static const sim_builtin builtins[] = {
    {"vprintf", sim_builtin_vprintf, 4, {8, 8}, false},
    {"__assertfail", sim_builtin_assertfail, 0, {8, 8, 4, 8, 8}, false},
    {"malloc", sim_builtin_malloc, 8, {8}, false},
    {"free", sim_builtin_free, 0, {8}, false},
    {"cudaCGGetIntrinsicHandle", sim_builtin_grid_handle, 8, {4}, true},
    {"cudaCGSynchronize", sim_builtin_grid_sync, 4, {8, 4}, true},
};

const sim_builtin *sim_builtin_find(const char *name) {
  for (size_t i = 0; i < sizeof builtins / sizeof *builtins; i++)
    if (strcmp(builtins[i].name, name) == 0)
      return &builtins[i];
  return NULL;
}

static uint8_t *place_bytes(const sim_warp *warp, const sim_place *place, int lane) {
  const sim_frame *frame = warp->frame;
  if (place->is_slot)
    return frame->slots + place->offset + (size_t)lane * (place->bytes <= 4 ? 4 : 8);
  return frame->params + (size_t)lane * frame->function->param_bytes + place->offset;
}

uint64_t sim_builtin_get(const sim_warp *warp, const sim_call *call, uint32_t parameter, int lane) {
  const sim_place *place = &call->parameters[parameter];
  uint64_t value = 0;
  memcpy(&value, place_bytes(warp, place, lane), place->bytes);
  return value;
}

void sim_builtin_set(sim_warp *warp, const sim_call *call, int lane, uint64_t value) {
  const sim_place *place = &call->returns[0];
  memcpy(place_bytes(warp, place, lane), &value, place->bytes);
}

/* Bytes that can be read from `address` on; *after: how many. */
static const uint8_t *bytes_at(const sim_warp *warp, int lane, uint64_t address, uint64_t *after, char *text,
                               size_t room) {
  uint64_t offset = address & ~SIM_WINDOW_MASK, size;
  const uint8_t *base;
  switch (address & SIM_WINDOW_MASK) {
  case SIM_WINDOW_LOCAL:
    size = warp->grid->local_bytes;
    base = warp->local + (size_t)lane * size;
    break;
  case SIM_WINDOW_SHARED:
    size = warp->block->shared_bytes;
    base = warp->block->shared;
    break;
  case SIM_WINDOW_PARAM:
    size = warp->grid->launch->parameter_bytes;
    base = warp->grid->launch->parameters;
    break;
  case 0: {
    sim_allocation *allocation;
    char why[512];
    if (sim_memory_access(&allocation, address, 1, warp->grid->device, false, why, sizeof why)) {
      snprintf(text, room, "reads 0x%llx: %s", (unsigned long long)address, why);
      return NULL;
    }
    offset = address - allocation->address;
    size = allocation->size;
    base = allocation->host;
    break;
  }
  default: snprintf(text, room, "reads 0x%llx, which is no address", (unsigned long long)address); return NULL;
  }
  if (offset >= size) {
    snprintf(text, room, "reads 0x%llx, past the end of its space", (unsigned long long)address);
    return NULL;
  }
  *after = size - offset;
  return base + offset;
}

const uint8_t *sim_builtin_read(const sim_warp *warp, int lane, uint64_t address, uint64_t size, char *text,
                                size_t room) {
  uint64_t after;
  const uint8_t *bytes = bytes_at(warp, lane, address, &after, text, room);
  if (bytes != NULL && after < size) {
    snprintf(text, room, "reads %llu bytes at 0x%llx, where %llu are left", (unsigned long long)size,
             (unsigned long long)address, (unsigned long long)after);
    return NULL;
  }
  return bytes;
}

int64_t sim_builtin_text(const sim_warp *warp, int lane, uint64_t address, const char **out, char *text, size_t room) {
  uint64_t after;
  const uint8_t *bytes = bytes_at(warp, lane, address, &after, text, room);
  if (bytes == NULL)
    return -1;
  const uint8_t *end = memchr(bytes, 0, after);
  if (end == NULL) {
    snprintf(text, room, "reads a text at 0x%llx that has no end", (unsigned long long)address);
    return -1;
  }
  *out = (const char *)bytes;
  return end - bytes;
}
