/* Formats of eight bits and less, two in a register: from two f32 (the first becomes the upper) and to two f16 or
   bf16. */
#include "minifloat.h"

#include "half.h"
#include "warp.h"

typedef struct {
  uint32_t exponent, mantissa, bias; /* bits, bits, of the exponent */
  uint32_t most, nan;                /* the largest finite code; what NaN becomes */
  uint32_t apart;                    /* bits from one value to the next in the register */
} minifloat;

static const minifloat formats[] = {
    [SIM_E4M3] = {4, 3, 7, 0x7e, 0x7f, 8}, [SIM_E5M2] = {5, 2, 15, 0x7b, 0x7f, 8},
    [SIM_E2M3] = {2, 3, 1, 0x1f, 0x1f, 8}, [SIM_E3M2] = {3, 2, 3, 0x1f, 0x1f, 8},
    [SIM_E2M1] = {2, 1, 1, 0x7, 0x7, 4},
};

/* To nearest even, what is too large to the largest. */
static uint32_t encode(uint32_t bits, const minifloat *format, bool relu) {
  uint32_t negative = bits >> 31, rest = bits & 0x7fffffffu, exponent = rest >> 23, first = 128 - format->bias;
  if (rest > 0x7f800000u)
    return format->nan;
  if (negative && relu)
    return 0;
  uint32_t scaled = rest - ((127 - format->bias) << 23), count = 23 - format->mantissa;
  if (exponent < first) {
    scaled = (rest & 0x7fffffu) | (exponent != 0 ? 0x800000u : 0);
    count = count + first - exponent > 31 ? 31 : count + first - exponent;
  }
  uint32_t unit = 1u << count, quotient = scaled >> count;
  quotient += sim_round_step(quotient, scaled & (unit - 1), unit >> 1, negative, SIM_ROUND_NEAREST);
  uint32_t code = quotient < format->most ? quotient : format->most;
  return code | negative << (format->exponent + format->mantissa);
}

/* op->bits: the format; SIM_RELU. */
SIM_HANDLER(minifloat_encode) {
  const uint32_t *a = SIM_IN(uint32_t, 0), *b = SIM_IN(uint32_t, 1);
  uint32_t *out = SIM_OUT(uint32_t);
  const minifloat *format = &formats[op->bits];
  for (int lane = 0; lane < SIM_WARP_SIZE; lane++)
    if (mask >> lane & 1)
      out[lane] = encode(a[lane], format, op->flags & SIM_RELU) << format->apart |
                  encode(b[lane], format, op->flags & SIM_RELU);
  return SIM_NEXT;
}

/* As f16, which holds every value exactly. */
static uint32_t decode(uint32_t code, uint64_t kind, bool relu) {
  const minifloat *format = &formats[kind];
  uint32_t negative = code >> (format->exponent + format->mantissa) & 1;
  uint32_t exponent = code >> format->mantissa & ((1u << format->exponent) - 1);
  uint32_t mantissa = code & ((1u << format->mantissa) - 1),
           rest = code & ((1u << (format->exponent + format->mantissa)) - 1);
  if (kind == SIM_E4M3 && rest == 0x7f)
    return SIM_NAN_HALF;
  if (kind == SIM_E5M2 && rest > 0x7c)
    return SIM_NAN_HALF;
  if (negative && relu)
    return 0;
  if (kind == SIM_E5M2 && rest == 0x7c)
    return SIM_INF_F16 | negative << 15;
  uint32_t power = exponent != 0 ? exponent : 1, whole = exponent != 0 ? mantissa | 1u << format->mantissa : mantissa;
  float scale = sim_f32((127 + power - format->bias - format->mantissa) << 23);
  return sim_to_f16((float)whole * scale, SIM_ROUND_NEAREST) | negative << 15;
}

SIM_HANDLER(minifloat_decode) {
  const uint32_t *a = SIM_IN(uint32_t, 0);
  uint32_t *out = SIM_OUT(uint32_t), apart = formats[op->bits].apart;
  for (int lane = 0; lane < SIM_WARP_SIZE; lane++)
    if (mask >> lane & 1)
      out[lane] = decode(a[lane] & ((1u << apart) - 1), op->bits, op->flags & SIM_RELU) |
                  decode(a[lane] >> apart & ((1u << apart) - 1), op->bits, op->flags & SIM_RELU) << 16;
  return SIM_NEXT;
}

/* ue8m0 is an exponent: code e is 2^(e - 127), 255 is NaN. The sign is not looked at. op->flags: SIM_SATFINITE, and
   SIM_ROUND_UP or SIM_ROUND_ZERO << SIM_ROUND_SHIFT. */
static uint32_t power_encode(uint32_t bits, uint8_t flags) {
  uint32_t rest = bits & 0x7fffffffu, code = rest >> 23;
  if (rest > 0x7f800000u)
    return 0xff;
  /* Code 0 is 2^-127, which in f32 is the mantissa's top bit. */
  bool beyond = code == 0 ? rest > 0x400000u : (rest & 0x7fffffu) != 0;
  if (flags >> SIM_ROUND_SHIFT == SIM_ROUND_UP && beyond)
    code++;
  return code == 0xff && flags & SIM_SATFINITE ? 0xfe : code;
}
SIM_HANDLER(ue8m0_encode) {
  const uint32_t *a = SIM_IN(uint32_t, 0), *b = SIM_IN(uint32_t, 1);
  uint32_t *out = SIM_OUT(uint32_t);
  for (int lane = 0; lane < SIM_WARP_SIZE; lane++)
    if (mask >> lane & 1)
      out[lane] = power_encode(a[lane], op->flags) << 8 | power_encode(b[lane], op->flags);
  return SIM_NEXT;
}
static uint32_t power_decode(uint32_t code) {
  return code == 0xff ? SIM_NAN_HALF : code == 0 ? 0x40 : code << 7;
}
SIM_HANDLER(ue8m0_decode) {
  const uint32_t *a = SIM_IN(uint32_t, 0);
  uint32_t *out = SIM_OUT(uint32_t);
  for (int lane = 0; lane < SIM_WARP_SIZE; lane++)
    if (mask >> lane & 1)
      out[lane] = power_decode(a[lane] & 0xff) | power_decode(a[lane] >> 8 & 0xff) << 16;
  return SIM_NEXT;
}
