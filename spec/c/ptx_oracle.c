/* The scalar oracle. Nothing of the executor's is used: only what the parser made of the text. */
#include "ptx_oracle.h"

#include <fenv.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef __int128 wide;
__extension__ typedef unsigned __int128 uwide;

/* Addresses of the spaces that only the oracle gives out. */
#define SHARED_BASE ((uint64_t)1 << 60)
#define LOCAL_BASE ((uint64_t)2 << 60)
#define VARIABLE_BASE ((uint64_t)3 << 60)
enum { SHARED_ROOM = 64 << 10, LOCAL_ROOM = 16 << 10, BUDGET = 1000000 };

typedef struct {
  oracle_launch *launch;
  const ptx_instruction *in;
  uint64_t *registers;
  uint8_t shared[SHARED_ROOM], local[LOCAL_ROOM];
  uint32_t tid, ctaid;
  bool carry, failed;
  uint32_t pc;
} machine;

static uint64_t fail(machine *m, const char *why) {
  if (!m->failed)
    snprintf(m->launch->error, sizeof m->launch->error, "line %u: %s%s%s: %s", m->in->line,
             ptx_opcode_text[m->in->opcode], m->in->modifier_count ? "." : "",
             m->in->modifier_count ? m->in->modifiers[m->in->modifier_count - 1] : "", why);
  m->failed = true;
  return 0;
}

static bool has(const machine *m, const char *modifier) {
  for (uint32_t i = 0; i < m->in->modifier_count; i++)
    if (strcmp(m->in->modifiers[i], modifier) == 0)
      return true;
  return false;
}

/* The n-th type among the modifiers. */
static ptx_type type_at(const machine *m, uint32_t n) {
  for (uint32_t i = 0; i < m->in->modifier_count; i++)
    if (m->in->types[i] != PTX_TYPE_NONE && n-- == 0)
      return (ptx_type)m->in->types[i];
  return PTX_TYPE_NONE;
}

static ptx_type last_type(const machine *m) {
  for (uint32_t i = m->in->modifier_count; i-- > 0;)
    if (m->in->types[i] != PTX_TYPE_NONE)
      return (ptx_type)m->in->types[i];
  return PTX_TYPE_NONE;
}

static unsigned bits_of(ptx_type type) {
  return ptx_type_bytes[type] * 8u;
}

static uint64_t low_bits(uint64_t value, unsigned bits) {
  return bits >= 64 ? value : value & (((uint64_t)1 << bits) - 1);
}

static int64_t sign_extend(uint64_t value, unsigned bits) {
  uint64_t sign = (uint64_t)1 << (bits - 1);
  return (int64_t)((low_bits(value, bits) ^ sign) - sign);
}

/* ---- operands ---- */

static const ptx_register *register_of(const machine *m, const ptx_operand *operand) {
  return &m->launch->kernel->registers[operand->reg];
}

static uint64_t symbol_address(machine *m, const ptx_symbol *symbol) {
  uint64_t at = 0;
  switch (symbol->space) {
  case PTX_SHARED:
  case PTX_LOCAL:
    for (uint32_t i = 0; i < m->launch->kernel->local_count; i++) {
      const ptx_symbol *each = m->launch->kernel->locals[i];
      if (each->space != symbol->space)
        continue;
      at = (at + each->alignment - 1) / each->alignment * each->alignment;
      if (each == symbol)
        return (symbol->space == PTX_SHARED ? SHARED_BASE : LOCAL_BASE) + at;
      at += each->size;
    }
    return fail(m, "a variable of another function");
  case PTX_CONST:
  case PTX_GLOBAL: return VARIABLE_BASE + ((uint64_t)symbol->index << 32);
  default: return fail(m, "an address of a parameter");
  }
}

static uint64_t special_value(machine *m, const ptx_operand *operand) {
  bool first = operand->component == 0;
  switch (operand->special) {
  case PTX_SPECIAL_TID: return first ? m->tid : 0;
  case PTX_SPECIAL_CTAID: return first ? m->ctaid : 0;
  case PTX_SPECIAL_NTID: return first ? m->launch->block : 1;
  case PTX_SPECIAL_NCTAID: return first ? m->launch->grid : 1;
  case PTX_SPECIAL_LANEID: return m->tid % 32;
  default: return fail(m, "a special register that the oracle does not know");
  }
}

static uint64_t operand_value(machine *m, const ptx_operand *operand) {
  switch (operand->kind) {
  case PTX_OPERAND_REGISTER: return m->registers[operand->reg] ^ (uint64_t)operand->negated;
  case PTX_OPERAND_INTEGER:
  case PTX_OPERAND_FLOAT: return operand->bits;
  case PTX_OPERAND_SPECIAL: return special_value(m, operand);
  case PTX_OPERAND_SYMBOL: return symbol_address(m, operand->symbol) + (uint64_t)operand->offset;
  default: return fail(m, "an operand that the oracle does not know");
  }
}

static uint64_t raw(machine *m, uint32_t i) {
  return i < m->in->operand_count ? operand_value(m, &m->in->operands[i]) : fail(m, "an operand is missing");
}

/* Operand i as an integer of `type`, in its true size. */
static wide whole(machine *m, uint32_t i, ptx_type type) {
  uint64_t value = raw(m, i);
  if (ptx_type_kind[type] == 's')
    return sign_extend(value, bits_of(type));
  return (wide)low_bits(value, bits_of(type));
}

static void operand_write(machine *m, const ptx_operand *operand, uint64_t value) {
  ptx_type type;
  if (operand->kind == PTX_OPERAND_SINK)
    return;
  if (operand->kind != PTX_OPERAND_REGISTER) {
    fail(m, "a result that goes to no register");
    return;
  }
  type = register_of(m, operand)->type;
  m->registers[operand->reg] = type == PTX_PRED ? value & 1 : low_bits(value, bits_of(type));
}

static void out(machine *m, uint64_t value) {
  operand_write(m, &m->in->operands[0], value);
}

/* A result of `type` into a register that may be wider: signed ones are extended with their sign. */
static void out_as(machine *m, uint64_t value, ptx_type type) {
  out(m, ptx_type_kind[type] == 's' ? (uint64_t)sign_extend(value, bits_of(type)) : low_bits(value, bits_of(type)));
}

/* ---- integers ---- */

static wide type_least(ptx_type type) {
  return ptx_type_kind[type] == 's' ? -((wide)1 << (bits_of(type) - 1)) : 0;
}
static wide type_most(ptx_type type) {
  return ((wide)1 << (bits_of(type) - (ptx_type_kind[type] == 's'))) - 1;
}
static wide clamp(wide value, ptx_type type) {
  return value < type_least(type) ? type_least(type) : value > type_most(type) ? type_most(type) : value;
}

/* The part of a product that .lo, .hi and .wide name. */
static wide product_part(machine *m, wide a, wide b, ptx_type type) {
  uwide product = (uwide)a * (uwide)b;
  if (has(m, "hi"))
    product >>= bits_of(type);
  return (wide)product;
}

static void integer_sum(machine *m, ptx_type type, wide sum) {
  out(m, (uint64_t)(has(m, "sat") ? clamp(sum, type) : sum));
}

/* add.cc and what goes on with its carry: a + b + c in all bits. A subtraction adds the complement, and its flag is that sum's carry too:
   1 where nothing was borrowed. Compilers rely on it where they go on with addc behind subc. */
static void integer_carried(machine *m, ptx_type type, uint64_t a, uint64_t b, uint64_t carry) {
  unsigned bits = bits_of(type);
  uwide sum = (uwide)low_bits(a, bits) + low_bits(b, bits) + carry;
  out(m, (uint64_t)sum);
  if (has(m, "cc"))
    m->carry = (sum >> bits & 1) != 0;
}

static void integer_halves(machine *m, ptx_type type) {
  ptx_type half = type == PTX_U16X2 ? PTX_U16 : PTX_S16;
  uint64_t a = raw(m, 0 + 1), b = raw(m, 2), result = 0;
  for (unsigned shift = 0; shift < 32; shift += 16) {
    wide x = half == PTX_S16 ? sign_extend(a >> shift, 16) : (wide)low_bits(a >> shift, 16);
    wide y = half == PTX_S16 ? sign_extend(b >> shift, 16) : (wide)low_bits(b >> shift, 16), z;
    switch (m->in->opcode) {
    case PTX_OP_ADD: z = x + y; break;
    case PTX_OP_MIN: z = x < y ? x : y; break;
    case PTX_OP_MAX: z = x > y ? x : y; break;
    default: fail(m, "not of halves"); return;
    }
    result |= low_bits((uint64_t)z, 16) << shift;
  }
  out(m, result);
}

static void run_integer(machine *m, ptx_type type) {
  wide a = whole(m, 1, type), b = m->in->operand_count > 2 ? whole(m, 2, type) : 0;
  wide c = m->in->operand_count > 3 ? whole(m, 3, has(m, "wide") ? PTX_U64 : type) : 0;
  switch (m->in->opcode) {
  case PTX_OP_ADD:
    if (has(m, "cc"))
      integer_carried(m, type, (uint64_t)a, (uint64_t)b, 0);
    else
      integer_sum(m, type, a + b);
    break;
  case PTX_OP_SUB:
    if (has(m, "cc"))
      integer_carried(m, type, (uint64_t)a, ~(uint64_t)b, 1);
    else
      integer_sum(m, type, a - b);
    break;
  case PTX_OP_ADDC: integer_carried(m, type, (uint64_t)a, (uint64_t)b, m->carry); break;
  case PTX_OP_SUBC: integer_carried(m, type, (uint64_t)a, ~(uint64_t)b, m->carry); break;
  case PTX_OP_MUL: out(m, (uint64_t)product_part(m, a, b, type)); break;
  case PTX_OP_MAD:
    if (has(m, "cc"))
      integer_carried(m, type, (uint64_t)product_part(m, a, b, type), (uint64_t)c, 0);
    else if (has(m, "sat"))
      out(m, (uint64_t)clamp((wide)sign_extend((uint64_t)product_part(m, a, b, type), bits_of(type)) + c, type));
    else
      out(m, (uint64_t)product_part(m, a, b, type) + (uint64_t)c);
    break;
  case PTX_OP_MADC: integer_carried(m, type, (uint64_t)product_part(m, a, b, type), (uint64_t)c, m->carry); break;
  case PTX_OP_DIV: out(m, (uint64_t)(b ? a / b : 0)); break;
  case PTX_OP_REM: out(m, (uint64_t)(b ? a % b : 0)); break;
  case PTX_OP_MIN: out(m, (uint64_t)(a < b ? a : b)); break;
  case PTX_OP_MAX: out(m, (uint64_t)(a > b ? a : b)); break;
  case PTX_OP_ABS: out(m, (uint64_t)(a < 0 ? -a : a)); break;
  case PTX_OP_NEG: out(m, (uint64_t)-a); break;
  case PTX_OP_SAD: out(m, (uint64_t)(c + (a < b ? b - a : a - b))); break;
  default: fail(m, "not of integers");
  }
}

static void run_mul24(machine *m, ptx_type type) {
  bool is_signed = ptx_type_kind[type] == 's';
  uint64_t x = raw(m, 1), y = raw(m, 2);
  wide a = is_signed ? sign_extend(x, 24) : (wide)low_bits(x, 24);
  wide b = is_signed ? sign_extend(y, 24) : (wide)low_bits(y, 24);
  wide product = a * b;
  if (has(m, "hi"))
    product >>= 16;
  if (m->in->opcode == PTX_OP_MAD24)
    product += whole(m, 3, type);
  out(m, (uint64_t)product);
}

/* dp4a, dp2a: bytes of b with bytes or halves of a. */
static void run_dot(machine *m) {
  ptx_type left = type_at(m, 0), right = type_at(m, 1);
  bool four = m->in->opcode == PTX_OP_DP4A;
  uint64_t a = raw(m, 1), b = raw(m, 2);
  wide sum = (wide)raw(m, 3);
  if (!four && has(m, "hi"))
    b >>= 16;
  for (unsigned i = 0; i < (four ? 4u : 2u); i++) {
    unsigned width = four ? 8 : 16;
    wide x = left == PTX_S32 ? sign_extend(a >> width * i, width) : (wide)low_bits(a >> width * i, width);
    wide y = right == PTX_S32 ? sign_extend(b >> 8 * i, 8) : (wide)low_bits(b >> 8 * i, 8);
    sum += x * y;
  }
  out(m, (uint64_t)sum);
}

/* ---- bits ---- */

static uint64_t bit_field(uint64_t a, unsigned position, unsigned length, unsigned bits, bool is_signed) {
  uint64_t result = 0;
  unsigned top = position + length - 1 < bits - 1 ? position + length - 1 : bits - 1;
  bool sign = is_signed && length > 0 && a >> top & 1;
  for (unsigned i = 0; i < bits; i++) {
    bool bit = i < length && position + i < bits ? a >> (position + i) & 1 : sign;
    result |= (uint64_t)bit << i;
  }
  return result;
}

static uint64_t bit_insert(uint64_t a, uint64_t b, unsigned position, unsigned length, unsigned bits) {
  for (unsigned i = 0; i < length && position + i < bits; i++) {
    uint64_t bit = (uint64_t)1 << (position + i);
    b = a >> i & 1 ? b | bit : b & ~bit;
  }
  return b;
}

static uint64_t bit_find(uint64_t a, ptx_type type, bool shift_amount) {
  unsigned bits = bits_of(type);
  if (ptx_type_kind[type] == 's' && a >> (bits - 1) & 1)
    a = low_bits(~a, bits);
  for (unsigned i = bits; i-- > 0;)
    if (a >> i & 1)
      return shift_amount ? bits - 1 - i : i;
  return 0xffffffff;
}

static uint64_t bit_permute(machine *m, uint64_t a, uint64_t b, uint64_t c) {
  static const struct {
    const char *mode;
    const char *rows[4]; /* the selected bytes for c = 0 to 3, highest first */
  } modes[] = {
      {"f4e", {"3210", "4321", "5432", "6543"}}, {"b4e", {"5670", "6701", "7012", "0123"}},
      {"rc8", {"0000", "1111", "2222", "3333"}}, {"ecl", {"3210", "3211", "3222", "3333"}},
      {"ecr", {"0000", "1110", "2210", "3210"}}, {"rc16", {"1010", "3232", "1010", "3232"}},
  };
  uint64_t pool = low_bits(a, 32) | b << 32, result = 0;
  for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
    if (has(m, modes[i].mode)) {
      const char *row = modes[i].rows[c & 3];
      for (unsigned k = 0; k < 4; k++)
        result |= (pool >> 8 * (unsigned)(row[3 - k] - '0') & 0xff) << 8 * k;
      return result;
    }
  for (unsigned k = 0; k < 4; k++) {
    unsigned selector = c >> 4 * k & 0xf;
    uint64_t byte = pool >> 8 * (selector & 7) & 0xff;
    if (selector & 8)
      byte = byte & 0x80 ? 0xff : 0;
    result |= byte << 8 * k;
  }
  return result;
}

static uint64_t bit_mask(machine *m, uint64_t a, uint64_t b) {
  uint64_t result = 0;
  a = low_bits(a, has(m, "wrap") ? 5 : 32);
  b = low_bits(b, has(m, "wrap") ? 5 : 32);
  for (uint64_t i = 0; i < 32; i++)
    if (i >= a && i < a + b)
      result |= (uint64_t)1 << i;
  return result;
}

static uint64_t bit_funnel(machine *m, uint64_t a, uint64_t b, uint64_t c) {
  uint64_t pair = low_bits(a, 32) | b << 32;
  unsigned count = has(m, "wrap") ? (unsigned)(c & 31) : c > 32 ? 32 : (unsigned)c;
  return has(m, "l") ? (pair << count) >> 32 : pair >> count;
}

static uint64_t bit_shift(const machine *m, uint64_t a, uint64_t count, ptx_type type) {
  unsigned bits = bits_of(type);
  bool is_signed = ptx_type_kind[type] == 's';
  a = low_bits(a, bits);
  if (m->in->opcode == PTX_OP_SHL)
    return count >= bits ? 0 : a << count;
  if (is_signed)
    return (uint64_t)(sign_extend(a, bits) >> (count >= bits ? bits - 1 : count));
  return count >= bits ? 0 : a >> count;
}

static void run_bits(machine *m) {
  ptx_type type = last_type(m);
  unsigned bits = type == PTX_PRED ? 1 : bits_of(type);
  uint64_t a = low_bits(raw(m, 1), bits), b = m->in->operand_count > 2 ? raw(m, 2) : 0;
  uint64_t c = m->in->operand_count > 3 ? raw(m, 3) : 0, result = 0;
  switch (m->in->opcode) {
  case PTX_OP_AND: result = a & b; break;
  case PTX_OP_OR: result = a | b; break;
  case PTX_OP_XOR: result = a ^ b; break;
  case PTX_OP_NOT: result = ~a; break;
  case PTX_OP_CNOT: result = a == 0; break;
  case PTX_OP_LOP3:
    for (unsigned i = 0; i < 32; i++)
      result |= (raw(m, 4) >> ((a >> i & 1) << 2 | (b >> i & 1) << 1 | (c >> i & 1)) & 1) << i;
    break;
  case PTX_OP_SHL:
  case PTX_OP_SHR: result = bit_shift(m, a, low_bits(b, 32), type); break;
  case PTX_OP_SHF: result = bit_funnel(m, a, b, low_bits(c, 32)); break;
  case PTX_OP_BFE: result = bit_field(a, b & 0xff, c & 0xff, bits, ptx_type_kind[type] == 's'); break;
  case PTX_OP_BFI: result = bit_insert(a, b, c & 0xff, raw(m, 4) & 0xff, bits); break;
  case PTX_OP_BFIND: result = bit_find(a, type, has(m, "shiftamt")); break;
  case PTX_OP_BREV:
    for (unsigned i = 0; i < bits; i++)
      result |= (a >> i & 1) << (bits - 1 - i);
    break;
  case PTX_OP_CLZ:
    while (result < bits && !(a >> (bits - 1 - result) & 1))
      result++;
    break;
  case PTX_OP_POPC:
    for (unsigned i = 0; i < bits; i++)
      result += a >> i & 1;
    break;
  case PTX_OP_BMSK: result = bit_mask(m, a, b); break;
  case PTX_OP_PRMT: result = bit_permute(m, a, b, c); break;
  default: fail(m, "not of bits"); return;
  }
  out(m, result);
}

/* ---- floating point ---- */

static float f32_of(uint64_t bits) {
  uint32_t low = (uint32_t)bits;
  float value;
  memcpy(&value, &low, sizeof value);
  return value;
}
static uint64_t f32_bits(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}
static double f64_of(uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}
static uint64_t f64_bits(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static int rounding(const machine *m) {
  return has(m, "rz") ? FE_TOWARDZERO : has(m, "rm") ? FE_DOWNWARD : has(m, "rp") ? FE_UPWARD : FE_TONEAREST;
}

/* volatile: each operation happens where it stands, between the two settings of the mode. */
static float f32_compute(machine *m, float a, float b, float c) {
  volatile float x = a, y = b, z = c, result = 0;
  fesetround(rounding(m));
  switch (m->in->opcode) {
  case PTX_OP_ADD: result = x + y; break;
  case PTX_OP_SUB: result = x - y; break;
  case PTX_OP_MUL: result = x * y; break;
  case PTX_OP_MAD:
  case PTX_OP_FMA: result = fmaf(x, y, z); break;
  case PTX_OP_DIV: result = x / y; break;
  case PTX_OP_RCP: result = 1 / x; break;
  case PTX_OP_SQRT: result = sqrtf(x); break;
  default: fail(m, "not of f32");
  }
  fesetround(FE_TONEAREST);
  return result;
}

static double f64_compute(machine *m, double a, double b, double c) {
  volatile double x = a, y = b, z = c, result = 0;
  fesetround(rounding(m));
  switch (m->in->opcode) {
  case PTX_OP_ADD: result = x + y; break;
  case PTX_OP_SUB: result = x - y; break;
  case PTX_OP_MUL: result = x * y; break;
  case PTX_OP_MAD:
  case PTX_OP_FMA: result = fma(x, y, z); break;
  case PTX_OP_DIV: result = x / y; break;
  case PTX_OP_RCP: result = 1 / x; break;
  case PTX_OP_SQRT: result = sqrt(x); break;
  default: fail(m, "not of f64");
  }
  fesetround(FE_TONEAREST);
  return result;
}

static double flush(const machine *m, double value) {
  return has(m, "ftz") && fabs(value) < 0x1p-126 ? copysign(0, value) : value;
}

/* min and max as IEEE 754-2019's minimumNumber, and with .NaN as its minimum: -0 is below +0. */
static double least(const machine *m, double a, double b) {
  bool max = m->in->opcode == PTX_OP_MAX, a_below;
  if (isnan(a) || isnan(b)) {
    if (has(m, "NaN"))
      return NAN;
    return isnan(a) ? b : a;
  }
  a_below = a < b || (a == b && signbit(a));
  return a_below != max ? a : b;
}

static double saturate(const machine *m, double value) {
  if (!has(m, "sat"))
    return value;
  return isnan(value) ? 0 : value < 0 ? 0 : value > 1 ? 1 : value == 0 ? 0 : value;
}

static double float_of(const machine *m, uint64_t bits, ptx_type type) {
  return type == PTX_F64 ? f64_of(bits) : flush(m, f32_of(bits));
}

/* A NaN of f32 arithmetic is always 0x7fffffff. */
static void out_float(machine *m, double value, ptx_type type) {
  if (type == PTX_F64)
    out(m, f64_bits(saturate(m, value)));
  else
    out(m, isnan(saturate(m, value)) ? 0x7fffffff : f32_bits((float)flush(m, saturate(m, value))));
}

static void run_float(machine *m, ptx_type type) {
  double a = float_of(m, raw(m, 1), type), b = 0, c = 0;
  if (m->in->operand_count > 2)
    b = float_of(m, raw(m, 2), type);
  if (m->in->operand_count > 3)
    c = float_of(m, raw(m, 3), type);
  switch (m->in->opcode) {
  case PTX_OP_ABS: out_float(m, fabs(a), type); break;
  case PTX_OP_NEG: out_float(m, -a, type); break;
  case PTX_OP_MIN:
  case PTX_OP_MAX: out_float(m, least(m, a, b), type); break;
  default:
    if (type == PTX_F64)
      out_float(m, f64_compute(m, a, b, c), type);
    else
      out_float(m, f32_compute(m, (float)a, (float)b, (float)c), type);
  }
}

static void run_copysign(machine *m) {
  uint64_t sign = (uint64_t)1 << (bits_of(last_type(m)) - 1);
  out(m, (raw(m, 1) & sign) | (raw(m, 2) & ~sign));
}

static void run_testp(machine *m) {
  ptx_type type = last_type(m);
  double a = type == PTX_F64 ? f64_of(raw(m, 1)) : (double)f32_of(raw(m, 1));
  double least_normal = type == PTX_F64 ? 0x1p-1022 : 0x1p-126;
  bool subnormal = a != 0 && fabs(a) < least_normal;
  out(m, has(m, "finite")       ? isfinite(a)
         : has(m, "infinite")   ? isinf(a)
         : has(m, "number")     ? !isnan(a)
         : has(m, "notanumber") ? isnan(a)
         : has(m, "subnormal")  ? subnormal
                                : isfinite(a) && !subnormal); /* normal: a zero is one */
}

/* ---- conversions ---- */

/* A number that is rounded to an integer by the mode of .rni, .rzi, .rmi, .rpi or .rn, .rz, .rm, .rp. */
static double to_integer(double value, const machine *m) {
  if (has(m, "rzi") || has(m, "rz"))
    return trunc(value);
  if (has(m, "rmi") || has(m, "rm"))
    return floor(value);
  if (has(m, "rpi") || has(m, "rp"))
    return ceil(value);
  return nearbyint(value);
}

/* To a binary format with `digits` bits of significand and exponents from `low` to `high`. */
static double to_format(const machine *m, double value, int digits, int low, int high) {
  int exponent;
  double rounded, most = ldexp(2 - ldexp(1, 1 - digits), high);
  if (value == 0 || !isfinite(value))
    return value;
  frexp(value, &exponent);
  exponent = exponent - 1 < low ? low : exponent - 1;
  rounded = ldexp(to_integer(ldexp(value, digits - 1 - exponent), m), exponent + 1 - digits);
  if (fabs(rounded) <= most)
    return rounded == 0 ? copysign(0, value) : rounded;
  if (has(m, "rz") || has(m, value > 0 ? "rm" : "rp"))
    return copysign(most, value);
  return copysign(INFINITY, value);
}

static uint64_t half_bits(double value) {
  uint64_t sign = signbit(value) ? 0x8000 : 0;
  int exponent;
  double fraction;
  if (isnan(value))
    return 0x7fff;
  if (isinf(value))
    return sign | 0x7c00;
  if (fabs(value) < 0x1p-14)
    return sign | (uint64_t)ldexp(fabs(value), 24);
  fraction = frexp(fabs(value), &exponent);
  return sign | (uint64_t)(exponent + 14) << 10 | ((uint64_t)ldexp(fraction, 11) & 0x3ff);
}

static double half_value(uint64_t bits) {
  double sign = bits & 0x8000 ? -1 : 1;
  unsigned exponent = bits >> 10 & 31, fraction = bits & 0x3ff;
  if (exponent == 31)
    return fraction ? NAN : sign * INFINITY;
  return sign * (exponent ? ldexp(1024 + fraction, (int)exponent - 25) : ldexp(fraction, -24));
}

static uint64_t float_narrow(const machine *m, double value, ptx_type type) {
  switch (type) {
  case PTX_F16: return half_bits(to_format(m, value, 11, -14, 15));
  case PTX_BF16: return isnan(value) ? 0x7fff : f32_bits((float)to_format(m, value, 8, -126, 127)) >> 16;
  case PTX_F32: return isnan(value) ? 0x7fffffff : f32_bits((float)flush(m, to_format(m, value, 24, -126, 127)));
  default: return f64_bits(value);
  }
}

static uint64_t convert_to_integer(const machine *m, double value, ptx_type from, ptx_type to) {
  double rounded = to_integer(value, m);
  if (isnan(value))
    return from != PTX_F64 && bits_of(to) < 64 ? 0 : (uint64_t)1 << (bits_of(to) - 1);
  if (rounded <= (double)type_least(to))
    return (uint64_t)type_least(to);
  if (rounded >= (double)type_most(to)) /* 2^64 - 1 becomes 2^64: still only what is out of reach */
    return (uint64_t)type_most(to);
  return (uint64_t)(wide)rounded;
}

/* An integer to a format: exactly where it fits, else rounded by hand, for a double may not hold it. */
static double integer_rounded(const machine *m, wide value, int digits) {
  bool negative = value < 0;
  uwide size = negative ? (uwide)-value : (uwide)value, kept, lost;
  int shift = 0;
  bool up;
  while (size >> shift >> digits)
    shift++;
  kept = size >> shift;
  lost = size - (kept << shift);
  if (has(m, "rz"))
    up = false;
  else if (has(m, "rm") || has(m, "rp"))
    up = lost && negative == has(m, "rm");
  else
    up = shift && (lost > (uwide)1 << (shift - 1) || (lost == (uwide)1 << (shift - 1) && kept & 1));
  return (negative ? -1 : 1) * ldexp((double)(uint64_t)(kept + up), shift);
}

static void run_convert(machine *m) {
  ptx_type to = type_at(m, 0), from = type_at(m, 1);
  bool to_float = ptx_type_kind[to] == 'f', from_float = ptx_type_kind[from] == 'f';
  double value;
  if (to == PTX_F16X2) { /* the first operand is the upper half */
    uint64_t high = half_bits(to_format(m, f32_of(raw(m, 1)), 11, -14, 15));
    out(m, high << 16 | half_bits(to_format(m, f32_of(raw(m, 2)), 11, -14, 15)));
    return;
  }
  if (!from_float && !to_float) {
    wide source = whole(m, 1, from);
    out_as(m, (uint64_t)(has(m, "sat") ? clamp(source, to) : source), to);
    return;
  }
  if (!from_float) {
    static const int digits[] = {[PTX_F16] = 11, [PTX_BF16] = 8, [PTX_F32] = 24, [PTX_F64] = 53};
    value = integer_rounded(m, whole(m, 1, from), digits[to]);
    out(m, float_narrow(m, saturate(m, value), to));
    return;
  }
  value = from == PTX_F64    ? f64_of(raw(m, 1))
          : from == PTX_F32  ? flush(m, f32_of(raw(m, 1)))
          : from == PTX_BF16 ? (double)f32_of(low_bits(raw(m, 1), 16) << 16)
                             : half_value(low_bits(raw(m, 1), 16));
  if (!to_float) {
    out_as(m, convert_to_integer(m, value, from, to), to);
    return;
  }
  if (has(m, "rni") || has(m, "rzi") || has(m, "rmi") || has(m, "rpi"))
    value = isfinite(value) ? copysign(to_integer(value, m), value) : value;
  out(m, float_narrow(m, saturate(m, value), to));
}

/* ---- comparisons ---- */

static bool compare_order(machine *m, const char *how, bool less, bool equal, bool unordered) {
  static const struct {
    const char *name;
    bool less, equal, greater, unordered;
  } rows[] = {
      {"eq", 0, 1, 0, 0},  {"ne", 1, 0, 1, 0},  {"lt", 1, 0, 0, 0},  {"le", 1, 1, 0, 0},  {"gt", 0, 0, 1, 0},
      {"ge", 0, 1, 1, 0},  {"lo", 1, 0, 0, 0},  {"ls", 1, 1, 0, 0},  {"hi", 0, 0, 1, 0},  {"hs", 0, 1, 1, 0},
      {"equ", 0, 1, 0, 1}, {"neu", 1, 0, 1, 1}, {"ltu", 1, 0, 0, 1}, {"leu", 1, 1, 0, 1}, {"gtu", 0, 0, 1, 1},
      {"geu", 0, 1, 1, 1}, {"num", 1, 1, 1, 0}, {"nan", 0, 0, 0, 1},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (strcmp(rows[i].name, how) == 0)
      return unordered ? rows[i].unordered : less ? rows[i].less : equal ? rows[i].equal : rows[i].greater;
  fail(m, "a comparison that the oracle does not know");
  return false;
}

static bool compare(machine *m, ptx_type type) {
  const char *how = m->in->modifiers[0];
  if (ptx_type_kind[type] == 'f') {
    double a = float_of(m, raw(m, 1), type), b = float_of(m, raw(m, 2), type);
    return compare_order(m, how, a < b, a == b, isnan(a) || isnan(b));
  }
  return compare_order(m, how, whole(m, 1, type) < whole(m, 2, type), whole(m, 1, type) == whole(m, 2, type), false);
}

static bool combine(machine *m, bool result) {
  bool other;
  if (m->in->operand_count < 4)
    return result;
  other = raw(m, 3) & 1;
  return has(m, "and") ? result && other : has(m, "or") ? result || other : result != other;
}

static void run_setp(machine *m) {
  bool result = compare(m, last_type(m));
  const ptx_operand *target = &m->in->operands[0];
  bool first = combine(m, result), second = combine(m, !result);
  if (target->kind != PTX_OPERAND_PAIR) {
    out(m, first);
    return;
  }
  operand_write(m, &target->items[0], first);
  operand_write(m, &target->items[1], second);
}

static void run_set(machine *m) {
  bool result = combine(m, compare(m, last_type(m)));
  out(m, !result ? 0 : type_at(m, 0) == PTX_F32 ? f32_bits(1) : UINT64_MAX);
}

/* ---- memory ---- */

static const ptx_symbol *variable_at(const machine *m, uint64_t address) {
  uint64_t index = (address - VARIABLE_BASE) >> 32;
  return address >= VARIABLE_BASE && index < m->launch->module->symbol_count ? m->launch->module->symbols[index] : NULL;
}

/* The bytes of an address; NULL and a failure where nothing is. */
static uint8_t *memory_at(machine *m, const ptx_operand *address, size_t size) {
  const ptx_operand *base = &address->items[0];
  uint64_t at;
  if (base->kind == PTX_OPERAND_SYMBOL && base->symbol->space == PTX_PARAM)
    return (uint8_t *)(uintptr_t)m->launch->parameters + base->symbol->offset + address->offset;
  at = operand_value(m, base) + (uint64_t)address->offset;
  if (at >= VARIABLE_BASE) {
    const ptx_symbol *symbol = variable_at(m, at);
    if (symbol && symbol->bytes && (uint32_t)at + size <= symbol->size)
      return (uint8_t *)(uintptr_t)symbol->bytes + (uint32_t)at;
  } else if (at >= LOCAL_BASE) {
    if (at - LOCAL_BASE + size <= LOCAL_ROOM)
      return m->local + (at - LOCAL_BASE);
  } else if (at >= SHARED_BASE) {
    if (at - SHARED_BASE + size <= SHARED_ROOM)
      return m->shared + (at - SHARED_BASE);
  }
  for (size_t i = 0; i < m->launch->memory_count; i++) {
    const oracle_memory *memory = &m->launch->memory[i];
    if (at >= memory->base && at - memory->base + size <= memory->size)
      return memory->bytes + (at - memory->base);
  }
  fail(m, "an address where nothing is");
  return NULL;
}

static void run_memory(machine *m) {
  ptx_type type = last_type(m);
  bool load = m->in->opcode == PTX_OP_LD;
  const ptx_operand *value = &m->in->operands[load ? 0 : 1], *address = &m->in->operands[load ? 1 : 0];
  uint32_t count = value->kind == PTX_OPERAND_VECTOR ? value->count : 1;
  size_t size = ptx_type_bytes[type];
  uint8_t *bytes = memory_at(m, address, size * count);
  for (uint32_t i = 0; bytes && i < count; i++) {
    const ptx_operand *item = value->kind == PTX_OPERAND_VECTOR ? &value->items[i] : value;
    uint64_t bits = 0;
    if (load) {
      memcpy(&bits, bytes + i * size, size);
      operand_write(m, item, ptx_type_kind[type] == 's' ? (uint64_t)sign_extend(bits, bits_of(type)) : bits);
    } else {
      bits = operand_value(m, item);
      memcpy(bytes + i * size, &bits, size);
    }
  }
}

/* The old value; the new one takes its place. */
static void run_atomic(machine *m) {
  ptx_type type = last_type(m);
  bool answers = m->in->opcode == PTX_OP_ATOM;
  uint32_t first = answers ? 1 : 0;
  uint8_t *bytes = memory_at(m, &m->in->operands[first], ptx_type_bytes[type]);
  uint64_t old = 0, made;
  wide before, operand = whole(m, first + 1, type);
  if (!bytes)
    return;
  memcpy(&old, bytes, ptx_type_bytes[type]);
  before = ptx_type_kind[type] == 's' ? sign_extend(old, bits_of(type)) : (wide)old;
  if (has(m, "add") && type == PTX_F32)
    made =
        isnan(f32_of(old) + f32_of((uint64_t)operand)) ? 0x7fffffff : f32_bits(f32_of(old) + f32_of((uint64_t)operand));
  else if (has(m, "add"))
    made = (uint64_t)(before + operand);
  else if (has(m, "min"))
    made = (uint64_t)(before < operand ? before : operand);
  else if (has(m, "max"))
    made = (uint64_t)(before > operand ? before : operand);
  else if (has(m, "and"))
    made = old & (uint64_t)operand;
  else if (has(m, "or"))
    made = old | (uint64_t)operand;
  else if (has(m, "xor"))
    made = old ^ (uint64_t)operand;
  else if (has(m, "exch"))
    made = (uint64_t)operand;
  else if (has(m, "inc"))
    made = before >= operand ? 0 : old + 1;
  else if (has(m, "dec"))
    made = before == 0 || before > operand ? (uint64_t)operand : old - 1;
  else if (has(m, "cas"))
    made = before == operand ? raw(m, first + 2) : old;
  else
    made = fail(m, "an atomic operation that the oracle does not know");
  memcpy(bytes, &made, ptx_type_bytes[type]);
  if (answers)
    out(m, old);
}

/* mov, with the packing and unpacking of vectors. */
static void run_move(machine *m) {
  const ptx_operand *to = &m->in->operands[0], *from = &m->in->operands[1];
  unsigned bits = bits_of(last_type(m));
  uint64_t value = 0;
  if (from->kind == PTX_OPERAND_VECTOR)
    for (uint32_t i = 0; i < from->count; i++)
      value |= low_bits(operand_value(m, &from->items[i]), bits / from->count) << i * (bits / from->count);
  else
    value = operand_value(m, from);
  if (to->kind != PTX_OPERAND_VECTOR) {
    operand_write(m, to, value);
    return;
  }
  for (uint32_t i = 0; i < to->count; i++)
    operand_write(m, &to->items[i], low_bits(value >> i * (bits / to->count), bits / to->count));
}

/* ---- the thread ---- */

static void run_control(machine *m) {
  const ptx_function *kernel = m->launch->kernel;
  if (m->in->opcode == PTX_OP_BRA) {
    m->pc = kernel->labels[m->in->operands[0].label];
  } else {
    const ptx_table *table = m->in->operands[1].table;
    uint64_t index = raw(m, 0);
    if (index >= table->count)
      fail(m, "an index outside its table");
    else
      m->pc = kernel->labels[table->labels[index]];
  }
}

static void run_instruction(machine *m) {
  ptx_type type = last_type(m);
  switch (m->in->opcode) {
  case PTX_OP_BRA:
  case PTX_OP_BRX: run_control(m); return;
  case PTX_OP_RET:
  case PTX_OP_EXIT: m->pc = UINT32_MAX; return;
  case PTX_OP_BAR: return;
  case PTX_OP_MOV: run_move(m); return;
  case PTX_OP_CVTA: out(m, raw(m, 1)); return;
  case PTX_OP_LD:
  case PTX_OP_ST: run_memory(m); return;
  case PTX_OP_ATOM:
  case PTX_OP_RED: run_atomic(m); return;
  case PTX_OP_CVT: run_convert(m); return;
  case PTX_OP_SETP: run_setp(m); return;
  case PTX_OP_SET: run_set(m); return;
  case PTX_OP_SELP: out(m, raw(m, 3) & 1 ? raw(m, 1) : raw(m, 2)); return;
  case PTX_OP_SLCT: {
    bool first = type == PTX_F32 ? float_of(m, raw(m, 3), type) >= 0 : sign_extend(raw(m, 3), 32) >= 0;
    out(m, first ? raw(m, 1) : raw(m, 2));
    return;
  }
  case PTX_OP_MUL24:
  case PTX_OP_MAD24: run_mul24(m, type); return;
  case PTX_OP_DP4A:
  case PTX_OP_DP2A: run_dot(m); return;
  case PTX_OP_COPYSIGN: run_copysign(m); return;
  case PTX_OP_TESTP: run_testp(m); return;
  case PTX_OP_ADD:
  case PTX_OP_SUB:
  case PTX_OP_MUL:
  case PTX_OP_MAD:
  case PTX_OP_FMA:
  case PTX_OP_NEG:
  case PTX_OP_ABS:
  case PTX_OP_DIV:
  case PTX_OP_REM:
  case PTX_OP_MIN:
  case PTX_OP_MAX:
  case PTX_OP_ADDC:
  case PTX_OP_SUBC:
  case PTX_OP_MADC:
  case PTX_OP_SAD:
  case PTX_OP_RCP:
  case PTX_OP_SQRT:
    if (type == PTX_U16X2 || type == PTX_S16X2)
      integer_halves(m, type);
    else if (ptx_type_kind[type] == 'f')
      run_float(m, type);
    else
      run_integer(m, type);
    return;
  default: run_bits(m);
  }
}

static void run_thread(machine *m) {
  const ptx_function *kernel = m->launch->kernel;
  uint32_t steps = 0;
  for (m->pc = 0; !m->failed && m->pc < kernel->instruction_count;) {
    m->in = &kernel->instructions[m->pc++];
    if (++steps > BUDGET)
      fail(m, "the thread does not end");
    else if (m->in->guard < 0 || (m->registers[m->in->guard] & 1) != m->in->guard_negated)
      run_instruction(m);
  }
}

bool oracle_run(oracle_launch *launch) {
  machine *m = calloc(1, sizeof *m);
  bool good;
  m->launch = launch;
  m->registers = calloc(launch->kernel->register_count + 1, sizeof *m->registers);
  launch->error[0] = 0;
  for (m->ctaid = 0; m->ctaid < launch->grid; m->ctaid++) {
    memset(m->shared, 0, sizeof m->shared);
    for (m->tid = 0; m->tid < launch->block; m->tid++) {
      memset(m->registers, 0, launch->kernel->register_count * sizeof *m->registers);
      m->carry = false;
      run_thread(m);
    }
  }
  good = !m->failed;
  free(m->registers);
  free(m);
  return good;
}
