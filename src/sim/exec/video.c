/* Video instructions: arithmetic on words and parts of words, and what follows on it. */
#include "video.h"
#include "arithmetic.h"
#include "warp.h"

__extension__ typedef __int128 wide;

static inline int64_t part_of(uint32_t word, const sim_video_part *part) {
  return (int64_t)((word >> part->up & part->ones) ^ part->sign) - part->sign;
}

static inline int64_t lesser(int64_t x, int64_t y) {
  return x < y ? x : y;
}
static inline int64_t greater(int64_t x, int64_t y) {
  return x > y ? x : y;
}

/* Counts to 32, or modulo 32. Bits of the highest weight may get lost: they only tell that the result is none of 34 bits. */
static inline int64_t shift_count(int64_t count, uint8_t flags) {
  return flags & SIM_SHIFT_WRAP ? count & 31 : lesser(count, 32);
}
static inline int64_t shift_left(int64_t x, int64_t count) {
  return (count == 32 ? lesser(x, INT32_MAX) : x) * ((int64_t)1 << count);
}

/* Where the relation of x and y is one of the SIM_WHEN_... */
static inline int related(int64_t x, int64_t y, uint8_t relations) {
  return (relations & (x < y ? SIM_WHEN_LESS : x == y ? SIM_WHEN_EQUAL : SIM_WHEN_GREATER)) != 0;
}

/* The second operation or the merge, with c. */
static inline uint32_t finish(const sim_video *video, int64_t value, uint32_t c) {
  int64_t third = (int64_t)(c ^ video->sign) - video->sign;
  value = lesser(greater(value, video->low), video->high);
  switch (video->second) {
  case SIM_VIDEO_ADD: value = (int64_t)((uint64_t)value + (uint64_t)third); break;
  case SIM_VIDEO_MIN: value = lesser(value, third); break;
  case SIM_VIDEO_MAX: value = greater(value, third); break;
  case SIM_VIDEO_NONE: break;
  }
  return (c & video->keep) | ((uint32_t)value & video->ones) << video->up;
}

#define SCALAR(name, result)                                                                                           \
  SIM_HANDLER(name) {                                                                                                  \
    const sim_video *video = op->extra;                                                                                \
    const uint32_t *a = SIM_IN(uint32_t, 0), *b = SIM_IN(uint32_t, 1), *c = SIM_IN(uint32_t, 2);                       \
    uint32_t *out = SIM_OUT(uint32_t), results[SIM_WARP_SIZE], unsure = 0;                                             \
    for (int lane = 0; lane < SIM_WARP_SIZE; lane++) {                                                                 \
      int64_t x = part_of(a[lane], &video->sources[0]), y = part_of(b[lane], &video->sources[1]), value = (result);    \
      unsure |= value < video->sure_low || value > video->sure_high ? sim_lane_bit[lane] : 0;                          \
      results[lane] = finish(video, value, c[lane]);                                                                   \
    }                                                                                                                  \
    if ((unsure & mask) != 0)                                                                                          \
      return sim_warp_fault(warp, op, __builtin_ctz(unsure & mask), 719, "%s", video->unsure);                         \
    SIM_STORE(out, results[lane]);                                                                                     \
    return SIM_NEXT;                                                                                                   \
  }
SCALAR(vadd, x + y)
SCALAR(vsub, x - y)
SCALAR(vabsdiff, greater(x - y, y - x))
SCALAR(vmin, lesser(x, y))
SCALAR(vmax, greater(x, y))
SCALAR(vshl, shift_left(x, shift_count(y, op->flags)))
SCALAR(vshr, x >> shift_count(y, op->flags))
SCALAR(vset, related(x, y, op->flags))

/* a * b + c, of which 66 bits may be needed. */
SIM_HANDLER(vmad) {
  const sim_video_product *video = op->extra;
  const uint32_t *a = SIM_IN(uint32_t, 0), *b = SIM_IN(uint32_t, 1), *c = SIM_IN(uint32_t, 2);
  uint32_t *out = SIM_OUT(uint32_t), results[SIM_WARP_SIZE];
  for (int lane = 0; lane < SIM_WARP_SIZE; lane++) {
    wide product = (wide)part_of(a[lane], &video->sources[0]) * part_of(b[lane], &video->sources[1]);
    wide third = video->is_signed ? (int32_t)c[lane] : (wide)c[lane];
    wide sum = (video->negates_product ? -product : product) + (video->negates_sum ? -third : third) + video->one_more;
    sum >>= video->scale;
    if (mask & sim_lane_bit[lane]) {
      if (video->unsure_from && c[lane] >= video->unsure_from)
        return sim_warp_fault(warp, op, lane, 719,
                              "subtracts %u in a vmad of unsigned numbers, whose sign above 2^31 is not defined",
                              c[lane]);
      if (video->sat && video->is_signed && sum != (int64_t)sum)
        return sim_warp_fault(warp, op, lane, 719,
                              "runs a vmad whose sum needs more than 64 bits: what .sat makes of it is not defined");
    }
    if (video->sat) {
      wide low = video->is_signed ? INT32_MIN : 0, high = video->is_signed ? INT32_MAX : UINT32_MAX;
      sum = sum < low ? low : sum > high ? high : sum;
    }
    results[lane] = (uint32_t)sum;
  }
  SIM_STORE(out, results[lane]);
  return SIM_NEXT;
}

static inline int32_t small_of(uint32_t word, uint32_t up, uint32_t part, uint32_t sign) {
  return (int32_t)(((word >> up & part) ^ sign) - sign);
}

#define PARTS(name, result)                                                                                            \
  SIM_HANDLER(name##_parts) {                                                                                          \
    const sim_video_parts *video = op->extra;                                                                          \
    const uint32_t *c = SIM_IN(uint32_t, 2);                                                                           \
    uint32_t *out = SIM_OUT(uint32_t), results[SIM_WARP_SIZE];                                                         \
    uint32_t part = video->part, ones = video->ones, sign_x = video->sources[0].sign, sign_y = video->sources[1].sign; \
    int32_t low = video->low, high = video->high;                                                                      \
    uint8_t flags = op->flags;                                                                                         \
    (void)flags;                                                                                                       \
    for (int lane = 0; lane < SIM_WARP_SIZE; lane++)                                                                   \
      results[lane] = c[lane] & video->keep;                                                                           \
    for (int i = 0; i < video->count; i++) {                                                                           \
      const uint32_t *a = SIM_IN(uint32_t, video->sources[0].from[i]);                                                 \
      const uint32_t *b = SIM_IN(uint32_t, video->sources[1].from[i]);                                                 \
      uint32_t up_x = video->sources[0].up[i], up_y = video->sources[1].up[i], up = video->up[i];                      \
      if (!(video->mask >> i & 1))                                                                                     \
        continue;                                                                                                      \
      SIM_LANES for (int lane = 0; lane < SIM_WARP_SIZE; lane++) {                                                     \
        int32_t x = small_of(a[lane], up_x, part, sign_x), y = small_of(b[lane], up_y, part, sign_y), z = (result);    \
        z = z < low ? low : z;                                                                                         \
        z = z > high ? high : z;                                                                                       \
        results[lane] += ((uint32_t)z & ones) << up;                                                                   \
      }                                                                                                                \
    }                                                                                                                  \
    SIM_STORE(out, results[lane]);                                                                                     \
    return SIM_NEXT;                                                                                                   \
  }
PARTS(vadd, x + y)
PARTS(vsub, x - y)
PARTS(vavrg, (x + y + (x + y >= 0)) >> 1)
PARTS(vabsdiff, x > y ? x - y : y - x)
PARTS(vmin, x < y ? x : y)
PARTS(vmax, x > y ? x : y)
PARTS(vset, related(x, y, flags))
