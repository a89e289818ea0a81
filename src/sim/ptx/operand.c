/* Operands: registers, constants, special registers, names, addresses, vectors, pairs. */
#include "parser.h"

#include <string.h>

typedef struct {
  const char *text;
  uint8_t components;
} special_row;

static const special_row specials[PTX_SPECIAL_COUNT] = {
#define X(name, text, bytes, components) {text, components},
    PTX_SPECIALS(X)
#undef X
};

static void operand_component_read(ptx_parser *parser, ptx_operand *out, const char *name, uint32_t count) {
  static const char letters[] = "xyzw";
  const char *at;
  if (parser->token.kind != PTX_TOKEN_DOT || parser->token.name->length != 1 ||
      !(at = strchr(letters, parser->token.name->text[0])))
    ptx_parser_fail_here(parser, "expected .x, .y, .z or .w behind '%.200s'", name);
  out->component = (uint8_t)(at - letters);
  if (out->component >= count)
    ptx_parser_fail_here(parser, "'%.200s' has no such component", name);
  ptx_parser_advance(parser);
}

/* %tid.x, %laneid, %envreg3: the word has been read. */
static bool operand_special(ptx_parser *parser, const ptx_name *name, ptx_operand *out) {
  size_t stem = name->length, number = 0;
  if (name->text[0] != '%')
    return false;
  for (int special = 0; special < PTX_SPECIAL_COUNT; special++) {
    if (strcmp(name->text + 1, specials[special].text) != 0)
      continue;
    if (specials[special].components > 4)
      return false; /* those have their number in the name */
    out->kind = PTX_OPERAND_SPECIAL;
    out->special = (ptx_special)special;
    if (specials[special].components > 1) {
      operand_component_read(parser, out, name->text, 4);
      if (out->component == 3)
        *out = (ptx_operand){.kind = PTX_OPERAND_INTEGER}; /* .w is always 0 */
    }
    return true;
  }
  while (stem > 1 && name->text[stem - 1] >= '0' && name->text[stem - 1] <= '9')
    stem--;
  for (size_t i = stem; i < name->length && number < 1000; i++)
    number = number * 10 + (size_t)(name->text[i] - '0');
  for (int special = 0; special < PTX_SPECIAL_COUNT; special++)
    if (stem < name->length && number < specials[special].components && specials[special].components > 4 &&
        strlen(specials[special].text) == stem - 1 && memcmp(specials[special].text, name->text + 1, stem - 1) == 0) {
      out->kind = PTX_OPERAND_SPECIAL;
      out->special = (ptx_special)special;
      out->component = (uint8_t)number;
      return true;
    }
  return false;
}

/* .b0, .h10, .b3210: whether such stands here; then it is read. */
static bool operand_selector(ptx_parser *parser, ptx_selector *out) {
  const char *text;
  size_t length;
  if (parser->token.kind != PTX_TOKEN_DOT)
    return false;
  text = parser->token.name->text;
  length = parser->token.name->length;
  if ((text[0] != 'b' && text[0] != 'h') || length < 2 || length > 5)
    return false;
  for (size_t i = 1; i < length; i++) {
    if (text[i] < '0' || text[i] > '7')
      return false;
    out->parts = (uint16_t)(out->parts << 4 | (text[i] - '0'));
  }
  out->unit = text[0];
  out->count = (uint8_t)(length - 1);
  ptx_parser_advance(parser);
  return true;
}

static void operand_register(ptx_parser *parser, const ptx_binding *binding, ptx_operand *out) {
  const ptx_register *reg = PTX_LIST_AT(parser->registers, ptx_register, binding->reg);
  out->kind = PTX_OPERAND_REGISTER;
  out->reg = binding->reg;
  if (parser->token.kind != PTX_TOKEN_DOT || (reg->vector < 2 && operand_selector(parser, &out->selector)))
    return;
  if (reg->vector < 2)
    ptx_parser_fail_here(parser, "'%.200s' is no vector", reg->name);
  operand_component_read(parser, out, reg->name, reg->vector);
  out->component++;
}

/* A name, and what is added to it where it is a variable. */
static void operand_name(ptx_parser *parser, ptx_operand *out) {
  uint32_t line = parser->token.line;
  ptx_name *name = ptx_parser_need_word(parser, "an operand");
  const ptx_binding *binding;
  if (name->length == 1 && name->text[0] == '_') {
    out->kind = PTX_OPERAND_SINK;
    return;
  }
  binding = ptx_scope_look(parser, name);
  if (!binding) {
    if (!operand_special(parser, name, out))
      ptx_parser_fail(parser, line, "'%.200s' is not declared", name->text);
    return;
  }
  switch (binding->kind) {
  case PTX_BOUND_REGISTER: operand_register(parser, binding, out); return;
  case PTX_BOUND_SYMBOL:
    out->kind = PTX_OPERAND_SYMBOL;
    out->symbol = binding->symbol;
    if (ptx_parser_at_sign(parser, '+') || ptx_parser_at_sign(parser, '-'))
      out->offset = ptx_expression_integer(parser, "what is added to a name");
    return;
  case PTX_BOUND_FUNCTION:
    out->kind = PTX_OPERAND_FUNCTION;
    out->function = binding->function;
    return;
  case PTX_BOUND_TABLE:
    out->kind = PTX_OPERAND_TABLE;
    out->table = binding->table;
    return;
  default: ptx_parser_fail(parser, line, "'%.200s' is a label, which is no operand here", name->text);
  }
}

static void operand_constant(ptx_parser *parser, ptx_operand *out) {
  ptx_value value;
  if (parser->token.kind == PTX_TOKEN_DOT || parser->token.kind == PTX_TOKEN_STRING ||
      parser->token.kind == PTX_TOKEN_END || ptx_parser_at_sign(parser, '}') || ptx_parser_at_sign(parser, ';'))
    ptx_parser_fail_here(parser, "expected an operand");
  value = ptx_expression_read(parser);
  out->kind = value.is_float ? PTX_OPERAND_FLOAT : PTX_OPERAND_INTEGER;
  out->bits = value.bits;
  out->single = value.single;
}

/* [a], [a+8], [64]: the bracket is the token. */
static void operand_address(ptx_parser *parser, ptx_operand *out) {
  ptx_operand *base = ptx_parser_take(parser, sizeof *base);
  ptx_parser_advance(parser);
  if (parser->token.kind == PTX_TOKEN_WORD && !ptx_parser_at_word(parser, "WARP_SZ"))
    operand_name(parser, base);
  else
    operand_constant(parser, base);
  out->kind = PTX_OPERAND_ADDRESS;
  out->count = 1;
  if (base->kind == PTX_OPERAND_REGISTER && (ptx_parser_at_sign(parser, '+') || ptx_parser_at_sign(parser, '-'))) {
    out->offset = ptx_expression_integer(parser, "the offset of an address");
  } else if (base->kind == PTX_OPERAND_SYMBOL) {
    out->offset = base->offset;
    base->offset = 0;
  }
  if (base->kind != PTX_OPERAND_REGISTER && base->kind != PTX_OPERAND_SYMBOL && base->kind != PTX_OPERAND_INTEGER)
    ptx_parser_fail_here(parser, "an address is [register+offset], [variable+offset] or [number]");
  out->items = base;
  if (ptx_parser_at_sign(parser, ','))
    ptx_parser_fail_here(parser, "addresses of several parts belong to textures and tensors, which are out of scope");
  ptx_parser_need_sign(parser, ']', "behind an address");
}

/* -%r1: whether such stands here; the register is read where it does. */
static bool operand_negated(ptx_parser *parser, ptx_operand *out) {
  ptx_lexer lexer = parser->lexer;
  ptx_token next = parser->token;
  const ptx_binding *binding;
  if (!ptx_parser_at_sign(parser, '-'))
    return false;
  ptx_lexer_next(&lexer, &next);
  if (next.kind != PTX_TOKEN_WORD)
    return false;
  binding = ptx_scope_look(parser, next.name);
  if (!binding || binding->kind != PTX_BOUND_REGISTER ||
      PTX_LIST_AT(parser->registers, ptx_register, binding->reg)->type == PTX_PRED)
    return false;
  ptx_parser_advance(parser);
  operand_name(parser, out);
  out->negated = true;
  return true;
}

static void operand_single(ptx_parser *parser, ptx_operand *out);

/* {a, b}: the brace is the token. */
static void operand_vector(ptx_parser *parser, ptx_operand *out) {
  size_t first = parser->operands.count;
  ptx_parser_enter(parser);
  ptx_parser_advance(parser);
  do {
    ptx_operand item = {0};
    operand_single(parser, &item);
    *(ptx_operand *)ptx_parser_add(parser, &parser->operands, sizeof item) = item;
  } while (ptx_parser_take_sign(parser, ','));
  ptx_parser_need_sign(parser, '}', "behind a vector");
  ptx_parser_leave(parser);
  out->kind = PTX_OPERAND_VECTOR;
  out->count = (uint32_t)(parser->operands.count - first);
  out->items = ptx_parser_keep(parser, &parser->operands, first, sizeof *out);
}

static void operand_single(ptx_parser *parser, ptx_operand *out) {
  if (ptx_parser_at_sign(parser, '{')) {
    operand_vector(parser, out);
  } else if (ptx_parser_at_sign(parser, '[')) {
    operand_address(parser, out);
  } else if (ptx_parser_at_sign(parser, '!')) {
    ptx_lexer lexer = parser->lexer;
    ptx_token next = parser->token;
    ptx_lexer_next(&lexer, &next);
    if (next.kind != PTX_TOKEN_WORD) {
      operand_constant(parser, out);
      return;
    }
    ptx_parser_advance(parser);
    operand_name(parser, out);
    if (out->kind != PTX_OPERAND_REGISTER || PTX_LIST_AT(parser->registers, ptx_register, out->reg)->type != PTX_PRED)
      ptx_parser_fail_here(parser, "'!' is for predicates");
    out->negated = true;
  } else if (parser->token.kind == PTX_TOKEN_WORD && !ptx_parser_at_word(parser, "WARP_SZ")) {
    operand_name(parser, out);
  } else if (!operand_negated(parser, out)) {
    operand_constant(parser, out);
  }
}

void ptx_operand_read(ptx_parser *parser, ptx_operand *out) {
  *out = (ptx_operand){0};
  operand_single(parser, out);
  if (ptx_parser_at_sign(parser, '|')) {
    ptx_operand *items = ptx_parser_take(parser, 2 * sizeof *items);
    ptx_parser_advance(parser);
    items[0] = *out;
    operand_single(parser, &items[1]);
    *out = (ptx_operand){.kind = PTX_OPERAND_PAIR, .count = 2, .items = items};
  }
}
