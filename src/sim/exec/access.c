/* The accesses that are not the common case: partial masks, scattered lanes, windows, faults. */
#include "access.h"
#include "../check/launch.h"

/* Whether [least, most + bytes) lies in the allocation that `lookup` knows. */
static bool lookup_holds(const struct sim_lookup *lookup, uint64_t least, uint64_t most, uint32_t bytes, int what) {
  uint64_t room = what & SIM_WRITE ? lookup->writable : lookup->readable, last = most - lookup->begin;
  return least >= lookup->begin && last <= room && room - last >= bytes;
}

/* Lanes in several allocations, or a fault: each by itself. */
static sim_shape access_each(sim_warp *warp, const sim_op *op, uint32_t mask, uint32_t bytes, int what,
                             sim_lanes *lanes) {
  struct sim_lookup *lookup = sim_lookup_of(warp, op);
  for (uint32_t left = mask; left != 0; left &= left - 1) {
    int lane = sim_first_lane(left);
    uint64_t address = lanes->address[lane];
    if (address & (bytes - 1)) {
      sim_bounds_misaligned(warp, op, lane, address, bytes, what);
      return SIM_SHAPE_STOP;
    }
    if (!lookup_holds(lookup, address, address, bytes, what) &&
        !sim_bounds_find(warp, op, lane, address, bytes, what, lookup))
      return SIM_SHAPE_STOP;
    lanes->host[lane] = (uint8_t *)(uintptr_t)(address + lookup->delta);
    if (warp->grid->check && !SIM_ISA_NAME(sim_check_global)(warp, op, 1u << lane, bytes, what, lookup, lanes->address))
      return SIM_SHAPE_STOP;
  }
  for (uint32_t left = ~mask; left != 0; left &= left - 1)
    lanes->host[sim_first_lane(left)] = lanes->host[sim_first_lane(mask)];
  return SIM_SHAPE_SCATTERED;
}

/* lanes->address is filled in, with that of a lane in the mask for those out of it. */
static sim_shape access_addresses(sim_warp *warp, const sim_op *op, uint32_t mask, uint32_t bytes, int what,
                                  sim_lanes *lanes) {
  struct sim_lookup *lookup = sim_lookup_of(warp, op);
  uint64_t least = UINT64_MAX, most = 0, low = 0;
  for (int lane = 0; lane < SIM_WARP_SIZE; lane++) {
    uint64_t address = lanes->address[lane];
    least = address < least ? address : least;
    most = address > most ? address : most;
    low |= address;
  }
  if (low & (bytes - 1))
    return access_each(warp, op, mask, bytes, what, lanes);
  if (!lookup_holds(lookup, least, most, bytes, what)) {
    int lane = sim_first_lane(mask);
    if (!sim_bounds_find(warp, op, lane, lanes->address[lane], bytes, what, lookup))
      return SIM_SHAPE_STOP;
    if (!lookup_holds(lookup, least, most, bytes, what))
      return access_each(warp, op, mask, bytes, what, lanes);
  }
  if (__builtin_expect(warp->grid->check != 0, 0) &&
      !SIM_ISA_NAME(sim_check_global)(warp, op, mask, bytes, what, lookup, lanes->address))
    return SIM_SHAPE_STOP;
  if (least == most) {
    lanes->base = (uint8_t *)(uintptr_t)(least + lookup->delta);
    return SIM_SHAPE_UNIFORM;
  }
  for (int lane = 0; lane < SIM_WARP_SIZE; lane++)
    lanes->host[lane] = (uint8_t *)(uintptr_t)(lanes->address[lane] + lookup->delta);
  return SIM_SHAPE_SCATTERED;
}

/* ---- 32-bit spaces ---- */

/* The offsets of lanes in a space of `size` bytes; lanes out of the mask get that of one in it. */
static inline bool space_offsets(sim_warp *warp, const sim_op *op, uint32_t mask, uint32_t bytes, int what,
                                 const char *space, uint64_t size, uint32_t *offset) {
  uint32_t most = 0, low = 0;
  uint32_t some = offset[sim_first_lane(mask)];
  for (int lane = 0; lane < SIM_WARP_SIZE; lane++) {
    uint32_t at = mask >> lane & 1 ? offset[lane] : some;
    offset[lane] = at;
    most = at > most ? at : most;
    low |= at;
  }
  if (__builtin_expect((low & (bytes - 1)) == 0 && (uint64_t)most + bytes <= size, 1))
    return true;
  for (uint32_t left = mask; left != 0; left &= left - 1) {
    int lane = sim_first_lane(left);
    if (offset[lane] & (bytes - 1)) {
      sim_bounds_misaligned(warp, op, lane, offset[lane], bytes, what);
      return false;
    }
    if ((uint64_t)offset[lane] + bytes > size) {
      sim_bounds_space(warp, op, lane, offset[lane], bytes, what, space, size);
      return false;
    }
  }
  return false;
}

sim_shape SIM_ISA_NAME(sim_access_shared_at)(sim_warp *warp, const sim_op *op, uint32_t mask, uint32_t bytes, int what,
                                             uint32_t *offset, sim_lanes *lanes) {
  sim_block *block = warp->block;
  if (!space_offsets(warp, op, mask, bytes, what, "shared", block->shared_bytes, offset))
    return SIM_SHAPE_STOP;
  if (__builtin_expect(block->check != NULL, 0) && !SIM_ISA_NAME(sim_check_shared)(warp, op, mask, bytes, what, offset))
    return SIM_SHAPE_STOP;
  uint32_t consecutive = mask ^ SIM_FULL, uniform = 0, first = offset[0];
  for (uint32_t lane = 0; lane < SIM_WARP_SIZE; lane++) {
    consecutive |= offset[lane] ^ (first + lane * bytes);
    uniform |= offset[lane] ^ first;
  }
  lanes->base = block->shared + first;
  if (consecutive == 0)
    return SIM_SHAPE_CONSECUTIVE;
  if (uniform == 0)
    return SIM_SHAPE_UNIFORM;
  for (int lane = 0; lane < SIM_WARP_SIZE; lane++)
    lanes->host[lane] = block->shared + offset[lane];
  return SIM_SHAPE_SCATTERED;
}

static sim_shape local_offsets(sim_warp *warp, const sim_op *op, uint32_t mask, uint32_t bytes, int what,
                               uint32_t *offset, sim_lanes *lanes) {
  if (!space_offsets(warp, op, mask, bytes, what, "local", warp->frame->local_top, offset))
    return SIM_SHAPE_STOP;
  if (__builtin_expect(warp->block->check != NULL, 0) &&
      !SIM_ISA_NAME(sim_check_local)(warp, op, mask, bytes, what, offset))
    return SIM_SHAPE_STOP;
  uint64_t stride = warp->grid->local_bytes;
  uint64_t some = sim_first_lane(mask) * stride;
  for (int lane = 0; lane < SIM_WARP_SIZE; lane++)
    lanes->host[lane] = warp->local + (mask >> lane & 1 ? (uint64_t)lane * stride : some) + offset[lane];
  return SIM_SHAPE_SCATTERED;
}

static sim_shape param_offsets(sim_warp *warp, const sim_op *op, uint32_t mask, uint32_t bytes, int what,
                               uint32_t *offset, sim_lanes *lanes) {
  const sim_launch *launch = warp->grid->launch;
  if (what & SIM_WRITE) {
    sim_warp_fault(warp, op, sim_first_lane(mask), 700, "writes to the parameters of the kernel, which are read-only");
    return SIM_SHAPE_STOP;
  }
  if (!space_offsets(warp, op, mask, bytes, what, "parameter", launch->parameter_bytes, offset))
    return SIM_SHAPE_STOP;
  for (int lane = 0; lane < SIM_WARP_SIZE; lane++)
    lanes->host[lane] = (uint8_t *)(uintptr_t)(launch->parameters + offset[lane]);
  return SIM_SHAPE_SCATTERED;
}

#define SPACE(name, offsets)                                                                                           \
  sim_shape SIM_ISA_NAME(sim_access_##name)(sim_warp * warp, const sim_op *op, uint32_t mask, uint32_t bytes,          \
                                            int what, int64_t offset, sim_lanes *lanes) {                              \
    const uint32_t *address = SIM_IN(uint32_t, 0);                                                                     \
    uint32_t at[SIM_WARP_SIZE];                                                                                        \
    for (int lane = 0; lane < SIM_WARP_SIZE; lane++)                                                                   \
      at[lane] = address[lane] + (uint32_t)offset;                                                                     \
    return offsets(warp, op, mask, bytes, what, at, lanes);                                                            \
  }
SPACE(shared, SIM_ISA_NAME(sim_access_shared_at))
SPACE(local, local_offsets)
SPACE(param, param_offsets)

/* ---- generic addresses ---- */

static sim_shape access_window(sim_warp *warp, const sim_op *op, uint32_t mask, uint64_t window, uint32_t bytes,
                               int what, sim_lanes *lanes) {
  uint32_t offset[SIM_WARP_SIZE];
  for (int lane = 0; lane < SIM_WARP_SIZE; lane++) {
    uint64_t inside = lanes->address[lane] & ~SIM_WINDOW_MASK;
    offset[lane] = inside > UINT32_MAX ? UINT32_MAX & ~31u : (uint32_t)inside;
  }
  switch (window) {
  case SIM_WINDOW_SHARED: return SIM_ISA_NAME(sim_access_shared_at)(warp, op, mask, bytes, what, offset, lanes);
  case SIM_WINDOW_LOCAL: return local_offsets(warp, op, mask, bytes, what, offset, lanes);
  case SIM_WINDOW_PARAM: return param_offsets(warp, op, mask, bytes, what, offset, lanes);
  case 0: return access_addresses(warp, op, mask, bytes, what, lanes);
  case SIM_WINDOW_CODE:
    sim_warp_fault(warp, op, sim_first_lane(mask), 700, "uses the address of a function as one of data");
    return SIM_SHAPE_STOP;
  default: return access_each(warp, op, mask, bytes, what, lanes);
  }
}

/* Lanes in different windows: one window after the other. */
static sim_shape access_windows(sim_warp *warp, const sim_op *op, uint32_t mask, uint32_t bytes, int what,
                                sim_lanes *lanes) {
  uint8_t *host[SIM_WARP_SIZE];
  for (uint32_t left = mask; left != 0;) {
    uint64_t window = lanes->address[sim_first_lane(left)] & SIM_WINDOW_MASK;
    uint32_t same = 0;
    for (uint32_t rest = left; rest != 0; rest &= rest - 1) {
      int lane = sim_first_lane(rest);
      if ((lanes->address[lane] & SIM_WINDOW_MASK) == window)
        same |= 1u << lane;
    }
    sim_lanes part;
    for (int lane = 0; lane < SIM_WARP_SIZE; lane++)
      part.address[lane] = lanes->address[same >> lane & 1 ? lane : sim_first_lane(same)];
    sim_shape shape = access_window(warp, op, same, window, bytes, what, &part);
    if (shape == SIM_SHAPE_STOP)
      return shape;
    for (uint32_t rest = same; rest != 0; rest &= rest - 1) {
      int lane = sim_first_lane(rest);
      host[lane] = sim_lane_host(&part, shape, lane, bytes);
    }
    left &= ~same;
  }
  for (int lane = 0; lane < SIM_WARP_SIZE; lane++)
    lanes->host[lane] = host[mask >> lane & 1 ? lane : sim_first_lane(mask)];
  return SIM_SHAPE_SCATTERED;
}

sim_shape SIM_ISA_NAME(sim_access_global_slow)(sim_warp *warp, const sim_op *op, uint32_t mask, uint32_t bytes,
                                               int what, int64_t offset, sim_lanes *lanes) {
  const uint64_t *address = SIM_IN(uint64_t, 0);
  uint64_t some = address[sim_first_lane(mask)], windows = 0;
  for (int lane = 0; lane < SIM_WARP_SIZE; lane++) {
    uint64_t at = (mask >> lane & 1 ? address[lane] : some) + (uint64_t)offset;
    lanes->address[lane] = at;
    windows |= at ^ (some + (uint64_t)offset);
  }
  if (op->flags & SIM_ACCESS_GENERIC) {
    if (windows & SIM_WINDOW_MASK)
      return access_windows(warp, op, mask, bytes, what, lanes);
    uint64_t window = (some + (uint64_t)offset) & SIM_WINDOW_MASK;
    if (window != 0)
      return access_window(warp, op, mask, window, bytes, what, lanes);
  }
  return access_addresses(warp, op, mask, bytes, what, lanes);
}
