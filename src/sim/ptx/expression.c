/* Constant expressions: C's operators over 64-bit integers and f64. */
#include "parser.h"

#include <string.h>

static ptx_value expression_ternary(ptx_parser *parser);
static ptx_value expression_unary(ptx_parser *parser);

static ptx_value value_integer(uint64_t bits, bool is_unsigned) {
  return (ptx_value){.bits = bits, .is_unsigned = is_unsigned};
}

static double value_double(ptx_value value) {
  double wide;
  if (value.single) {
    float narrow;
    uint32_t bits = (uint32_t)value.bits;
    memcpy(&narrow, &bits, sizeof narrow);
    return (double)narrow;
  }
  if (value.is_float) {
    memcpy(&wide, &value.bits, sizeof wide);
    return wide;
  }
  return value.is_unsigned ? (double)value.bits : (double)(int64_t)value.bits;
}

static ptx_value value_of_double(double wide) {
  ptx_value value = {.is_float = true};
  memcpy(&value.bits, &wide, sizeof wide);
  return value;
}

static bool value_true(ptx_value value) {
  return value.is_float ? value_double(value) != 0 : value.bits != 0;
}

static void expression_need_integer(ptx_parser *parser, ptx_value value, const char *what) {
  if (value.is_float)
    ptx_parser_fail_here(parser, "%s needs integers, not a floating value", what);
}

static ptx_value expression_primary(ptx_parser *parser) {
  ptx_value value = {0};
  const ptx_token *token = &parser->token;
  if (token->kind == PTX_TOKEN_INTEGER || token->kind == PTX_TOKEN_FLOAT) {
    value = (ptx_value){.is_float = token->kind == PTX_TOKEN_FLOAT,
                        .single = token->single,
                        .is_unsigned = token->is_unsigned,
                        .bits = token->bits};
    ptx_parser_advance(parser);
    return value;
  }
  if (ptx_parser_at_word(parser, "WARP_SZ")) {
    ptx_parser_advance(parser);
    return value_integer(32, false);
  }
  if (!ptx_parser_take_sign(parser, '('))
    ptx_parser_fail_here(parser, "expected a constant");
  ptx_parser_enter(parser);
  if (ptx_parser_at_dot(parser, "s64") || ptx_parser_at_dot(parser, "u64")) {
    bool is_unsigned = ptx_parser_at_dot(parser, "u64");
    ptx_parser_advance(parser);
    ptx_parser_need_sign(parser, ')', "behind the type of a cast");
    value = expression_unary(parser);
    expression_need_integer(parser, value, "a cast");
    value.is_unsigned = is_unsigned;
  } else {
    value = expression_ternary(parser);
    ptx_parser_need_sign(parser, ')', "at the end of the parentheses");
  }
  ptx_parser_leave(parser);
  return value;
}

static ptx_value expression_unary(ptx_parser *parser) {
  ptx_value value;
  int sign = parser->token.sign;
  if (parser->token.kind != PTX_TOKEN_SIGN || (sign != '-' && sign != '+' && sign != '~' && sign != '!'))
    return expression_primary(parser);
  ptx_parser_enter(parser);
  ptx_parser_advance(parser);
  value = expression_unary(parser);
  ptx_parser_leave(parser);
  if (sign == '!')
    return value_integer(!value_true(value), false);
  if (sign == '~') {
    expression_need_integer(parser, value, "'~'");
    value.bits = ~value.bits;
  }
  if (sign == '-')
    value.bits = value.single     ? value.bits ^ 0x80000000u
                 : value.is_float ? value.bits ^ (uint64_t)1 << 63
                                  : 0 - value.bits;
  return value;
}

/* C's levels, multiplication 10 first; 0: no binary operator. */
static int expression_level(const ptx_parser *parser) {
  if (parser->token.kind != PTX_TOKEN_SIGN)
    return 0;
  switch (parser->token.sign) {
  case '*':
  case '/':
  case '%': return 10;
  case '+':
  case '-': return 9;
  case PTX_SIGN2('<', '<'):
  case PTX_SIGN2('>', '>'): return 8;
  case '<':
  case '>':
  case PTX_SIGN2('<', '='):
  case PTX_SIGN2('>', '='): return 7;
  case PTX_SIGN2('=', '='):
  case PTX_SIGN2('!', '='): return 6;
  case '&': return 5;
  case '^': return 4;
  case '|': return 3;
  case PTX_SIGN2('&', '&'): return 2;
  case PTX_SIGN2('|', '|'): return 1;
  default: return 0;
  }
}

static ptx_value expression_float(ptx_parser *parser, int sign, double a, double b) {
  switch (sign) {
  case '*': return value_of_double(a * b);
  case '/':
    if (b == 0)
      ptx_parser_fail_here(parser, "a constant divided by zero");
    return value_of_double(a / b);
  case '+': return value_of_double(a + b);
  case '-': return value_of_double(a - b);
  case '<': return value_integer(a < b, false);
  case '>': return value_integer(a > b, false);
  case PTX_SIGN2('<', '='): return value_integer(a <= b, false);
  case PTX_SIGN2('>', '='): return value_integer(a >= b, false);
  case PTX_SIGN2('=', '='): return value_integer(a == b, false);
  case PTX_SIGN2('!', '='): return value_integer(a != b, false);
  default: ptx_parser_fail_here(parser, "an operator that needs integers has a floating operand");
  }
}

static ptx_value expression_divide(ptx_parser *parser, bool remainder, ptx_value a, ptx_value b) {
  int64_t left = (int64_t)a.bits, right = (int64_t)b.bits;
  if (b.bits == 0)
    ptx_parser_fail_here(parser, "a constant divided by zero");
  if (a.is_unsigned || b.is_unsigned)
    return value_integer(remainder ? a.bits % b.bits : a.bits / b.bits, true);
  if (right == -1)
    return value_integer(remainder ? 0 : 0 - a.bits, false);
  return value_integer((uint64_t)(remainder ? left % right : left / right), false);
}

/* Where one operand is unsigned both are, as in C. */
static bool value_less(ptx_value a, ptx_value b) {
  return a.is_unsigned || b.is_unsigned ? a.bits < b.bits : (int64_t)a.bits < (int64_t)b.bits;
}

static ptx_value expression_integers(ptx_parser *parser, int sign, ptx_value a, ptx_value b) {
  bool is_unsigned = a.is_unsigned || b.is_unsigned;
  switch (sign) {
  case '*': return value_integer(a.bits * b.bits, is_unsigned);
  case '/':
  case '%': return expression_divide(parser, sign == '%', a, b);
  case '+': return value_integer(a.bits + b.bits, is_unsigned);
  case '-': return value_integer(a.bits - b.bits, is_unsigned);
  case PTX_SIGN2('<', '<'): return value_integer(b.bits > 63 ? 0 : a.bits << b.bits, a.is_unsigned);
  case PTX_SIGN2('>', '>'): {
    unsigned count = b.bits > 63 ? 63 : (unsigned)b.bits;
    uint64_t fill = !a.is_unsigned && a.bits >> 63 && count ? ~(uint64_t)0 << (64 - count) : 0;
    return value_integer(b.bits > 63 && a.is_unsigned ? 0 : a.bits >> count | fill, a.is_unsigned);
  }
  case '<': return value_integer(value_less(a, b), false);
  case '>': return value_integer(value_less(b, a), false);
  case PTX_SIGN2('<', '='): return value_integer(!value_less(b, a), false);
  case PTX_SIGN2('>', '='): return value_integer(!value_less(a, b), false);
  case PTX_SIGN2('=', '='): return value_integer(a.bits == b.bits, false);
  case PTX_SIGN2('!', '='): return value_integer(a.bits != b.bits, false);
  case '&': return value_integer(a.bits & b.bits, is_unsigned);
  case '^': return value_integer(a.bits ^ b.bits, is_unsigned);
  default: return value_integer(a.bits | b.bits, is_unsigned);
  }
}

static ptx_value expression_binary(ptx_parser *parser, int least) {
  ptx_value left = expression_unary(parser);
  for (int level; (level = expression_level(parser)) >= least;) {
    int sign = parser->token.sign;
    ptx_value right;
    ptx_parser_enter(parser);
    ptx_parser_advance(parser);
    right = expression_binary(parser, level + 1);
    ptx_parser_leave(parser);
    if (sign == PTX_SIGN2('&', '&'))
      left = value_integer(value_true(left) && value_true(right), false);
    else if (sign == PTX_SIGN2('|', '|'))
      left = value_integer(value_true(left) || value_true(right), false);
    else if (left.is_float || right.is_float)
      left = expression_float(parser, sign, value_double(left), value_double(right));
    else
      left = expression_integers(parser, sign, left, right);
  }
  return left;
}

static ptx_value expression_ternary(ptx_parser *parser) {
  ptx_value condition = expression_binary(parser, 1), yes, no;
  if (!ptx_parser_take_sign(parser, '?'))
    return condition;
  ptx_parser_enter(parser);
  yes = expression_ternary(parser);
  ptx_parser_need_sign(parser, ':', "in a ?: expression");
  no = expression_ternary(parser);
  ptx_parser_leave(parser);
  return value_true(condition) ? yes : no;
}

ptx_value ptx_expression_read(ptx_parser *parser) {
  return expression_ternary(parser);
}

int64_t ptx_expression_integer(ptx_parser *parser, const char *what) {
  ptx_value value = expression_ternary(parser);
  if (value.is_float)
    ptx_parser_fail_here(parser, "%s must be an integer", what);
  return (int64_t)value.bits;
}

uint64_t ptx_value_as(ptx_value value, ptx_type type) {
  if (type == PTX_F32) {
    float narrow;
    uint32_t bits;
    if (value.single)
      return value.bits;
    narrow = (float)value_double(value);
    memcpy(&bits, &narrow, sizeof bits);
    return bits;
  }
  if (type == PTX_F64) {
    double wide = value_double(value);
    uint64_t bits;
    memcpy(&bits, &wide, sizeof bits);
    return bits;
  }
  return value.bits;
}
