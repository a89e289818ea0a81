/* f16, bf16 and smaller formats of the simulated device. The reference knows a format by the list of all its values: a result is the nearest
   of them, found by search, so that no arithmetic of the library's is repeated here. */
#include "sim_arith.h"

__extension__ typedef __int128 wide;

/* ---- formats as lists ---- */

typedef struct {
  int exponent, mantissa, bias;
  bool infinite; /* the highest exponent holds infinity and NaN */
  uint32_t most; /* the code of the largest finite value */
  double list[0x8000];
} format;
static format f16 = {5, 10, 15, true, 0x7bff, {0}}, bf16 = {8, 7, 127, true, 0x7f7f, {0}},
              e4m3 = {4, 3, 7, false, 0x7e, {0}}, e5m2 = {5, 2, 15, true, 0x7b, {0}},
              e2m3 = {2, 3, 1, false, 0x1f, {0}}, e3m2 = {3, 2, 3, false, 0x1f, {0}}, e2m1 = {2, 1, 1, false, 7, {0}};

static void format_fill(format *is) {
  for (uint32_t code = 0; code <= is->most; code++) {
    int exponent = (int)(code >> is->mantissa), fraction = (int)(code & ((1u << is->mantissa) - 1));
    is->list[code] = exponent == 0 ? ldexp(fraction, 1 - is->bias - is->mantissa)
                                   : ldexp(fraction + (1 << is->mantissa), exponent - is->bias - is->mantissa);
  }
}
static uint32_t sign_of(const format *is) {
  return 1u << (is->exponent + is->mantissa);
}
/* A code's value; NaN and infinity for what the list has not. */
static double value_of(const format *is, uint32_t code) {
  uint32_t rest = code & (sign_of(is) - 1);
  double value = rest <= is->most ? is->list[rest] : is->infinite && rest == is->most + 1 ? INFINITY : NAN;
  return code & sign_of(is) ? -value : value;
}

enum { NEAREST, ZERO, DOWN, UP };
/* The code of value + (something of lacks' sign that is smaller than any gap). Overflow to infinity, or the largest where `finite`. */
static uint32_t code_of(const format *is, double value, double lacks, int mode, bool finite) {
  bool negative = signbit(value) != 0;
  if (value == 0 && lacks != 0)
    negative = lacks < 0;
  double size = fabs(value), rest = negative ? -lacks : lacks;
  uint32_t sign = negative ? sign_of(is) : 0, low = 0, high = is->most;
  if (isinf(value))
    return sign | (is->most + (finite ? 0 : 1));
  /* The largest code that is not above. */
  while (low < high) {
    uint32_t middle = (low + high + 1) / 2;
    if (is->list[middle] < size || (is->list[middle] == size && rest >= 0))
      low = middle;
    else
      high = middle - 1;
  }
  double below = is->list[low];
  double step = low < is->most ? is->list[low + 1] - below : below - is->list[low - 1], over = size - below;
  bool exact = over == 0 && rest == 0, up;
  if (mode == NEAREST)
    up = over > step / 2 || (over == step / 2 && (rest > 0 || (rest == 0 && low & 1)));
  else
    up = !exact && mode != ZERO && (mode == DOWN) == negative;
  low += !exact && up;
  return sign | (finite && low > is->most ? is->most : low);
}

static double sum_error(double a, double b) {
  double sum = a + b, part = sum - a;
  return isfinite(sum) ? (a - (sum - part)) + (b - part) : 0;
}
static double f32(uint64_t bits) {
  uint32_t low = (uint32_t)bits;
  float value;
  memcpy(&value, &low, sizeof value);
  return (double)value;
}
static uint32_t bits32(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}
static double f64(uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* ---- arithmetic of one half ---- */

enum { FTZ = 1, SAT = 2, RELU = 4, NAN_WINS = 8, XORSIGN = 16 };
static uint32_t flushed(const format *is, uint32_t code) {
  return code & ((1u << is->exponent) - 1) << is->mantissa ? code : code & sign_of(is);
}
static uint32_t finished(const format *is, double value, double lacks, int flags) {
  if (isnan(value))
    return flags & SAT ? 0 : 0x7fff;
  uint32_t code = code_of(is, value, lacks, NEAREST, false);
  if (flags & FTZ)
    code = flushed(is, code);
  double result = value_of(is, code);
  if (flags & RELU && code & sign_of(is))
    return 0;
  if (flags & SAT)
    return result > 1 ? code_of(is, 1, 0, NEAREST, false) : code & sign_of(is) ? 0 : code;
  return code;
}
static uint32_t one_result(const format *is, char verb, uint32_t a, uint32_t b, uint32_t c, int flags) {
  if (flags & FTZ)
    a = flushed(is, a), b = flushed(is, b), c = flushed(is, c);
  double x = value_of(is, a), y = value_of(is, b), z = value_of(is, c);
  switch (verb) {
  case '+': return finished(is, x + y, sum_error(x, y), flags);
  case '-': return finished(is, x - y, sum_error(x, -y), flags);
  case '*': return finished(is, x * y, 0, flags);
  case 'f': return finished(is, x * y + z, isfinite(x * y) && isfinite(z) ? sum_error(x * y, z) : 0, flags);
  default: break;
  }
  bool most = verb == '>';
  uint32_t sign = (a ^ b) & sign_of(is);
  if (flags & XORSIGN) {
    a &= ~sign_of(is), b &= ~sign_of(is);
    x = fabs(x), y = fabs(y);
  }
  if ((isnan(x) && isnan(y)) || (flags & NAN_WINS && (isnan(x) || isnan(y))))
    return 0x7fff;
  uint32_t value = isnan(x) ? b : isnan(y) ? a : x == y ? ((signbit(x) != 0) != most ? a : b) : (x < y) != most ? a : b;
  return flags & XORSIGN ? value | sign : value;
}

/* The form that is being checked. */
static const format *form_type;
static char form_verb;
static int form_flags;
static bool form_pair;
static uint64_t form_reference(const lane_values *in) {
  uint32_t a = (uint32_t)in->v[1], b = (uint32_t)in->v[2], c = (uint32_t)in->v[3];
  uint64_t low = one_result(form_type, form_verb, a & 0xffff, b & 0xffff, c & 0xffff, form_flags);
  if (!form_pair)
    return low;
  return low | (uint64_t)one_result(form_type, form_verb, a >> 16, b >> 16, c >> 16, form_flags) << 16;
}
static const struct {
  const char *text;
  format *type;
  char verb;
  int flags;
} forms[] = {
    {"add.f16", &f16, '+', 0},
    {"add.rn.bf16", &bf16, '+', 0},
    {"add.f16x2", &f16, '+', 0},
    {"add.sat.f16", &f16, '+', SAT},
    {"add.ftz.f16x2", &f16, '+', FTZ},
    {"sub.f16", &f16, '-', 0},
    {"sub.bf16x2", &bf16, '-', 0},
    {"mul.f16", &f16, '*', 0},
    {"mul.ftz.sat.f16", &f16, '*', FTZ | SAT},
    {"mul.bf16", &bf16, '*', 0},
    {"mul.bf16x2", &bf16, '*', 0},
    {"fma.rn.f16", &f16, 'f', 0},
    {"fma.rn.ftz.f16", &f16, 'f', FTZ},
    {"fma.rn.sat.f16x2", &f16, 'f', SAT},
    {"fma.rn.ftz.relu.f16x2", &f16, 'f', FTZ | RELU},
    {"fma.rn.bf16", &bf16, 'f', 0},
    {"fma.rn.relu.bf16x2", &bf16, 'f', RELU},
    {"min.f16", &f16, '<', 0},
    {"max.NaN.f16x2", &f16, '>', NAN_WINS},
    {"max.ftz.f16", &f16, '>', FTZ},
    {"min.bf16x2", &bf16, '<', 0},
    {"max.xorsign.abs.bf16", &bf16, '>', XORSIGN},
    {"min.NaN.xorsign.abs.f16", &f16, '<', NAN_WINS | XORSIGN},
};

/* ---- every half, every code ---- */

static int mode;
static int flags;
static const format *type;
static const char *name;
static void same(uint64_t in, uint64_t got, uint64_t wanted) {
  test_checks++;
  if (got != wanted) {
    char line[200];
    snprintf(line, sizeof line, "%s of %llx is %llx, not %llx", name, (unsigned long long)in, (unsigned long long)got,
             (unsigned long long)wanted);
    test_fail(__FILE__, __LINE__, line);
  }
}
static void as_f32(uint64_t in, uint64_t got) {
  double value = value_of(type, (uint32_t)in & 0xffff);
  uint32_t nan = type == &f16 ? 0x7fffffffu : (uint32_t)in << 16;
  same(in, got, isnan(value) ? nan : bits32((float)value));
}
static void from_f32(uint64_t in, uint64_t got) {
  double value = f32(in);
  uint32_t wanted = isnan(value) ? 0x7fff : code_of(type, value, 0, mode, (flags & 32) != 0);
  if (flags & RELU && wanted & 0x8000 && !isnan(value))
    wanted = 0;
  same(in, got, wanted);
}
static void sign_bits(uint64_t in, uint64_t got) {
  same(in, got, flags ? in & 0x7fff : (in & 0xffff) ^ 0x8000);
}
static void rounded(uint64_t in, uint64_t got) {
  double value = value_of(type, (uint32_t)in & 0xffff);
  double whole = mode == NEAREST ? nearbyint(value)
                 : mode == ZERO  ? trunc(value)
                 : mode == DOWN  ? floor(value)
                                 : ceil(value);
  same(in, got, isnan(value) ? 0x7fff : code_of(type, whole, 0, NEAREST, false));
}
static void as_s32(uint64_t in, uint64_t got) {
  double value = value_of(type, (uint32_t)in & 0xffff);
  double whole = fmax(-0x1p31, fmin(0x1p31 - 1, floor(value)));
  same(in, got, isnan(value) ? 0 : (uint32_t)(int32_t)whole);
}
static void as_u64(uint64_t in, uint64_t got) {
  double value = value_of(type, (uint32_t)in & 0xffff);
  same(in, got, isnan(value) ? 1ull << 63 : value >= 0x1p64 ? UINT64_MAX : value < 1 ? 0 : (uint64_t)value);
}
/* Within `bound` of the function, or the half next to it. */
static double (*function)(double);
static double bound, floor_of_bound;
static void near_function(uint64_t in, uint64_t got) {
  double value = value_of(type, (uint32_t)in & 0xffff), result = value_of(type, (uint32_t)got & 0xffff);
  if (isnan(value)) {
    same(in, got, 0x7fff);
    return;
  }
  double wanted = function(value);
  bool good = (uint32_t)got == code_of(type, wanted, 0, NEAREST, false) ||
              fabs(result - wanted) <= fmax(bound * fabs(wanted), floor_of_bound);
  test_checks++;
  if (!good)
    same(in, got, code_of(type, wanted, 0, NEAREST, false));
}

/* Small formats. */
static uint32_t small_code(uint32_t bits, bool relu) {
  double value = f32(bits);
  if (isnan(value))
    return type == &e4m3 || type == &e5m2 ? 0x7f : type->most;
  uint32_t code = code_of(type, value, 0, NEAREST, true);
  return relu && code & sign_of(type) ? 0 : code;
}
static uint32_t small_shift(void) {
  return type == &e2m1 ? 4 : 8;
}
static uint64_t small_pair(const lane_values *in) {
  return small_code((uint32_t)in->v[1], flags) << small_shift() | small_code((uint32_t)in->v[2], flags);
}
static uint64_t small_halves(const lane_values *in) {
  uint32_t high = bits32((float)value_of(&f16, in->v[1] >> 16 & 0xffff)),
           low = bits32((float)value_of(&f16, in->v[1] & 0xffff));
  return small_code(high, flags) << small_shift() | small_code(low, flags);
}
static uint32_t small_value(uint32_t code, bool relu) {
  uint32_t rest = code & (2 * sign_of(type) - 1);
  double value = value_of(type, rest);
  if (isnan(value))
    return 0x7fff;
  return relu && rest & sign_of(type) ? 0 : code_of(&f16, value, 0, NEAREST, false);
}
static void small_decoded(uint64_t in, uint64_t got) {
  uint32_t shift = small_shift(), part = (1u << shift) - 1;
  same(in, got, small_value((uint32_t)in & part, flags) | small_value((uint32_t)in >> shift & part, flags) << 16);
}

/* ue8m0: powers of two. */
static uint32_t power(double value, bool up, bool finite) {
  if (isnan(value))
    return 0xff;
  value = fabs(value);
  uint32_t code = 0;
  while (code < 255 && ldexp(1, (int)code - 127) < value)
    code++;
  if (!up && code > 0 && (code == 255 ? value < INFINITY && value < ldexp(1, 128) : ldexp(1, (int)code - 127) > value))
    code--;
  return finite && code == 255 ? 254 : code;
}
static uint64_t power_up(const lane_values *in) {
  return power(f32(in->v[1]), true, true) << 8 | power(f32(in->v[2]), true, true);
}
static uint64_t power_down(const lane_values *in) {
  return power(f32(in->v[1]), false, false) << 8 | power(f32(in->v[2]), false, false);
}
static uint64_t power_bf16(const lane_values *in) {
  return power(value_of(&bf16, in->v[1] >> 16 & 0xffff), true, true) << 8 |
         power(value_of(&bf16, in->v[1] & 0xffff), true, true);
}
static void power_decoded(uint64_t in, uint64_t got) {
  uint32_t low = in & 255, high = in >> 8 & 255;
  uint64_t wanted = (low == 255 ? 0x7fff : code_of(&bf16, ldexp(1, (int)low - 127), 0, NEAREST, false)) |
                    (uint64_t)(high == 255 ? 0x7fff : code_of(&bf16, ldexp(1, (int)high - 127), 0, NEAREST, false))
                        << 16;
  same(in, got, wanted);
}

/* Other sources. */
static uint64_t from_f64(const lane_values *in) {
  double value = f64(in->v[1]);
  return isnan(value) ? 0x7fff : code_of(type, value, 0, mode, false);
}
static uint64_t from_s64(const lane_values *in) {
  double near = (double)(int64_t)in->v[1];
  double lacks = (double)((wide)(int64_t)in->v[1] - (wide)near);
  return code_of(type, near, lacks, mode, false);
}
static uint64_t from_u32(const lane_values *in) {
  return code_of(type, (double)(uint32_t)in->v[1], 0, mode, false);
}
static uint64_t pair_of_f32(const lane_values *in) {
  double a = f32(in->v[1]), b = f32(in->v[2]);
  return (isnan(b) ? 0x7fff : code_of(type, b, 0, mode, false)) |
         (uint64_t)(isnan(a) ? 0x7fff : code_of(type, a, 0, mode, false)) << 16;
}

/* Predicates. */
static uint64_t less_low(const lane_values *in) {
  return value_of(type, in->v[1] & 0xffff) < value_of(type, in->v[2] & 0xffff);
}
static uint64_t not_greater_high(const lane_values *in) {
  double a = value_of(type, in->v[1] >> 16 & 0xffff), b = value_of(type, in->v[2] >> 16 & 0xffff);
  return a > b ? 0 : in->p >> 3 & 1;
}
static uint64_t equal_ftz(const lane_values *in) {
  return value_of(type, flushed(type, in->v[1] & 0xffff)) == value_of(type, flushed(type, in->v[2] & 0xffff));
}
static bool unequal(const lane_values *in, int up) {
  double a = value_of(type, in->v[1] >> up & 0xffff), b = value_of(type, in->v[2] >> up & 0xffff);
  return a < b || a > b;
}
static uint64_t set_mask(const lane_values *in) {
  return (unequal(in, 0) ? 0xffff : 0) | (unequal(in, 16) ? 0xffff0000 : 0);
}
static uint64_t set_ones(const lane_values *in) {
  uint64_t one = type == &f16 ? 0x3c00 : 0x3f80;
  return (unequal(in, 0) ? one : 0) | (unequal(in, 16) ? one << 16 : 0);
}
/* f32 with a half. */
static uint64_t mixed_add(const lane_values *in) {
  float sum = (float)(value_of(type, in->v[1] & 0xffff) + f32(in->v[2]));
  return isnan(sum) ? 0x7fffffffu : bits32(sum);
}
static uint64_t mixed_fma(const lane_values *in) {
  float sum =
      fmaf((float)value_of(type, in->v[1] & 0xffff), (float)value_of(type, in->v[2] & 0xffff), (float)f32(in->v[3]));
  return isnan(sum) ? 0x7fffffffu : bits32(sum);
}

static void with(const format *of, int rounding, int options) {
  type = of;
  mode = rounding;
  flags = options;
}
static void each_half(const char *text, const char *out, const format *of, int rounding, int options,
                      void (*visit)(uint64_t, uint64_t)) {
  with(of, rounding, options);
  name = text;
  each_value(text, out, 0, 0x10000, 1, visit);
}
static void each_f32(const char *text, const format *of, int rounding, int options) {
  with(of, rounding, options);
  name = text;
  each_value(text, "h0", 0, 0x100000000 / 9973, 9973, from_f32);
  /* where f16 has all its steps and halfway points */
  each_value(text, "h0", 0x33000000, 0x15000000 / 0x800, 0x800, from_f32);
}
static void chosen(const char *text, const char *out, const char *values, const format *of, int rounding, int options,
                   reference *wanted) {
  with(of, rounding, options);
  check_form(text, out, values, wanted, 200);
}

static void conversions(void) {
  each_half("cvt.f32.f16 %r0,%h1;", "r0", &f16, 0, 0, as_f32);
  each_half("cvt.f32.bf16 %r0,%h1;", "r0", &bf16, 0, 0, as_f32);
  each_half("abs.f16 %h0,%h1;", "h0", &f16, 0, 1, sign_bits);
  each_half("neg.bf16 %h0,%h1;", "h0", &bf16, 0, 0, sign_bits);
  static const char *const integrals[] = {"rni", "rzi", "rmi", "rpi"}, *const roundings[] = {"rn", "rz", "rm", "rp"};
  for (int rounding = 0; rounding < 4; rounding++) {
    char text[100];
    snprintf(text, sizeof text, "cvt.%s.f16.f16 %%h0,%%h1;", integrals[rounding]);
    each_half(text, "h0", &f16, rounding, 0, rounded);
    snprintf(text, sizeof text, "cvt.%s.bf16.bf16 %%h0,%%h1;", integrals[rounding]);
    each_half(text, "h0", &bf16, rounding, 0, rounded);
    snprintf(text, sizeof text, "cvt.%s.f16.f32 %%h0,%%r1;", roundings[rounding]);
    each_f32(text, &f16, rounding, 0);
    snprintf(text, sizeof text, "cvt.%s.bf16.f32 %%h0,%%r1;", roundings[rounding]);
    each_f32(text, &bf16, rounding, 0);
    snprintf(text, sizeof text, "cvt.%s.f16.f64 %%h0,%%d1;", roundings[rounding]);
    chosen(text, "h0", "d", &f16, rounding, 0, from_f64);
    snprintf(text, sizeof text, "cvt.%s.bf16.s64 %%h0,%%d1;", roundings[rounding]);
    chosen(text, "h0", "i", &bf16, rounding, 0, from_s64);
    snprintf(text, sizeof text, "cvt.%s.f16.u32 %%h0,%%r1;", roundings[rounding]);
    chosen(text, "h0", "i", &f16, rounding, 0, from_u32);
  }
  each_f32("cvt.rn.satfinite.f16.f32 %h0,%r1;", &f16, NEAREST, 32);
  each_f32("cvt.rn.relu.bf16.f32 %h0,%r1;", &bf16, NEAREST, RELU);
  each_half("cvt.rmi.s32.f16 %r0,%h1;", "r0", &f16, 0, 0, as_s32);
  each_half("cvt.rmi.s32.bf16 %r0,%h1;", "r0", &bf16, 0, 0, as_s32);
  each_half("cvt.rzi.u64.bf16 %d0,%h1;", "d0", &bf16, 0, 0, as_u64);
  chosen("cvt.rn.f16x2.f32 %r0,%r1,%r2;", "r0", "f", &f16, NEAREST, 0, pair_of_f32);
  chosen("cvt.rz.bf16x2.f32 %r0,%r1,%r2;", "r0", "f", &bf16, ZERO, 0, pair_of_f32);
}

static void small_formats(void) {
  static const struct {
    const char *name;
    format *type;
    char out;
  } all[] = {{"e4m3x2", &e4m3, 'h'},
             {"e5m2x2", &e5m2, 'h'},
             {"e2m3x2", &e2m3, 'h'},
             {"e3m2x2", &e3m2, 'h'},
             {"e2m1x2", &e2m1, 'q'}};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    for (int relu = 0; relu < 2; relu++) {
      char text[100], out[3] = {all[i].out, '0', 0};
      snprintf(text, sizeof text, "cvt.rn.satfinite%s.%s.f32 %%%s,%%r1,%%r2;", relu ? ".relu" : "", all[i].name, out);
      chosen(text, out, "f", all[i].type, NEAREST, relu, small_pair);
      snprintf(text, sizeof text, "cvt.rn.satfinite%s.%s.f16x2 %%%s,%%r1;", relu ? ".relu" : "", all[i].name, out);
      chosen(text, out, "h", all[i].type, NEAREST, relu, small_halves);
      snprintf(text, sizeof text, "cvt.rn%s.f16x2.%s %%r0,%%%c1;", relu ? ".relu" : "", all[i].name, all[i].out);
      each_half(text, "r0", all[i].type, NEAREST, relu, small_decoded);
    }
  chosen("cvt.rp.satfinite.ue8m0x2.f32 %h0,%r1,%r2;", "h0", "f", &bf16, 0, 0, power_up);
  chosen("cvt.rz.ue8m0x2.f32 %h0,%r1,%r2;", "h0", "f", &bf16, 0, 0, power_down);
  chosen("cvt.rp.satfinite.ue8m0x2.bf16x2 %h0,%r1;", "h0", "h", &bf16, 0, 0, power_bf16);
  each_half("cvt.rn.bf16x2.ue8m0x2 %r0,%h1;", "r0", &bf16, 0, 0, power_decoded);
}

int main(void) {
  copies_find();
  format *all[] = {&f16, &bf16, &e4m3, &e5m2, &e2m3, &e3m2, &e2m1};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    format_fill(all[i]);
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
    char text[100];
    form_type = forms[i].type;
    form_verb = forms[i].verb;
    form_flags = forms[i].flags;
    form_pair = strstr(forms[i].text, "x2") != NULL;
    char k = form_pair ? 'r' : 'h';
    snprintf(text, sizeof text, "%s %%%c0,%%%c1,%%%c2%s%s;", forms[i].text, k, k, k,
             form_verb == 'f' ? (form_pair ? ",%r" : ",%h") : "", form_verb == 'f' ? "3" : "");
    check_form(text, form_pair ? "r0" : "h0", "h", form_reference, 2000);
  }
  conversions();
  small_formats();
  function = exp2, bound = 0x1p-9, floor_of_bound = 0;
  each_half("ex2.approx.f16 %h0,%h1;", "h0", &f16, 0, 0, near_function);
  bound = 0x1p-7, floor_of_bound = 0x1p-126;
  each_half("ex2.approx.ftz.bf16 %h0,%h1;", "h0", &bf16, 0, 0, near_function);
  function = tanh, bound = 0, floor_of_bound = 0x1p-10;
  each_half("tanh.approx.f16 %h0,%h1;", "h0", &f16, 0, 0, near_function);
  bound = 0x1p-8, floor_of_bound = 0;
  each_half("tanh.approx.bf16 %h0,%h1;", "h0", &bf16, 0, 0, near_function);
  chosen("setp.lt.f16 %p0,%h1,%h2;", "p0", "h", &f16, 0, 0, less_low);
  chosen("setp.lt.bf16 %p0,%h1,%h2;", "p0", "h", &bf16, 0, 0, less_low);
  chosen("setp.leu.and.f16x2 %p0|%p1,%r1,%r2,%p3;", "p1", "h", &f16, 0, 0, not_greater_high);
  chosen("setp.eq.ftz.f16 %p0,%h1,%h2;", "p0", "h", &f16, 0, 0, equal_ftz);
  chosen("set.ne.u32.f16x2 %r0,%r1,%r2;", "r0", "h", &f16, 0, 0, set_mask);
  chosen("set.ne.bf16x2.bf16x2 %r0,%r1,%r2;", "r0", "h", &bf16, 0, 0, set_ones);
  chosen("add.f32.f16 %r0,%h1,%r2;", "r0", "hf", &f16, 0, 0, mixed_add);
  chosen("fma.rn.f32.bf16 %r0,%h1,%h2,%r3;", "r0", "hhf", &bf16, 0, 0, mixed_fma);
  return test_end();
}
