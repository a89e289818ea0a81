/* Initialisers: numbers in the order of memory, braces that may follow the dimensions, addresses of variables and
   functions. */
#include "parser.h"

#include <string.h>

enum { INITIALISER_MAX = 64 << 20 };

/* The running initialiser. The vector of an element is one more dimension. */
typedef struct {
  ptx_symbol *symbol;
  const uint64_t *dims; /* dims[0] may be 0: open */
  uint32_t dim_count;
  uint32_t element; /* bytes */
} filling;

static void fill_bytes(ptx_parser *parser, const filling *fill, uint64_t position, uint64_t bits) {
  uint64_t end = (position + 1) * fill->element;
  if (end > INITIALISER_MAX)
    ptx_parser_fail_here(parser, "an initialiser of more than %d bytes", INITIALISER_MAX);
  while (parser->initial.count < end)
    ptx_parser_add(parser, &parser->initial, 1);
  for (uint32_t i = 0; i < fill->element && i < 8; i++)
    ((uint8_t *)parser->initial.items)[position * fill->element + i] = (uint8_t)(bits >> 8 * i);
}

/* foo, foo + 4, generic(foo), generic(foo) - 4: into `out`. */
static void fill_address(ptx_parser *parser, ptx_relocation *out) {
  bool generic = ptx_parser_at_word(parser, "generic");
  uint32_t line = parser->token.line;
  ptx_name *name = ptx_parser_need_word(parser, "a constant or the name of a variable or function");
  const ptx_binding *binding;
  if (generic) {
    ptx_parser_need_sign(parser, '(', "behind generic");
    name = ptx_parser_need_word(parser, "the name of a variable");
    if (ptx_parser_at_sign(parser, '+') || ptx_parser_at_sign(parser, '-'))
      out->addend += ptx_expression_integer(parser, "what is added to an address");
    ptx_parser_need_sign(parser, ')', "behind generic(name");
  }
  binding = ptx_scope_look(parser, name);
  if (binding && binding->kind == PTX_BOUND_SYMBOL &&
      (binding->symbol->space == PTX_GLOBAL || binding->symbol->space == PTX_CONST))
    out->symbol = binding->symbol;
  else if (binding && binding->kind == PTX_BOUND_FUNCTION && !generic)
    out->function = binding->function;
  else
    ptx_parser_fail(parser, line, "'%.200s' is no .global or .const variable%s", name->text,
                    generic ? "" : " and no function");
  if (ptx_parser_at_sign(parser, '+') || ptx_parser_at_sign(parser, '-'))
    out->addend =
        (int64_t)((uint64_t)out->addend + (uint64_t)ptx_expression_integer(parser, "what is added to an address"));
}

static void fill_relocation(ptx_parser *parser, const filling *fill, uint64_t position, bool masked, uint64_t mask) {
  ptx_relocation made = {.offset = (uint32_t)(position * fill->element), .size = fill->element}, *kept;
  if (ptx_type_kind[fill->symbol->type] == 'f' || (!masked && fill->element != 4 && fill->element != 8))
    ptx_parser_fail_here(parser, "an address does not fit into an element of type .%s",
                         ptx_type_text[fill->symbol->type]);
  if (masked) {
    while (made.shift < 64 && mask != (uint64_t)0xff << made.shift)
      made.shift += 8;
    if (made.shift == 64)
      ptx_parser_fail_here(parser, "the mask of an address is 0xFF, 0xFF00, ..., not 0x%llx", (unsigned long long)mask);
    made.size = 1;
    ptx_parser_need_sign(parser, '(', "behind a mask");
  }
  fill_address(parser, &made);
  if (masked)
    ptx_parser_need_sign(parser, ')', "behind mask(name");
  fill_bytes(parser, fill, position, 0);
  kept = ptx_parser_add(parser, &parser->relocations, sizeof *kept);
  *kept = made;
}

static void fill_element(ptx_parser *parser, const filling *fill, uint64_t position) {
  ptx_value value;
  if (parser->token.kind == PTX_TOKEN_WORD && !ptx_parser_at_word(parser, "WARP_SZ")) {
    fill_relocation(parser, fill, position, false, 0);
    return;
  }
  if (parser->token.kind == PTX_TOKEN_INTEGER) {
    ptx_lexer lexer = parser->lexer;
    ptx_token next = parser->token;
    ptx_lexer_next(&lexer, &next);
    if (next.kind == PTX_TOKEN_SIGN && next.sign == '(') {
      uint64_t mask = parser->token.bits;
      ptx_parser_advance(parser);
      fill_relocation(parser, fill, position, true, mask);
      return;
    }
  }
  value = ptx_expression_read(parser);
  if (value.is_float && fill->symbol->type != PTX_F32 && fill->symbol->type != PTX_F64 &&
      !(value.single && ptx_type_bytes[fill->symbol->type] == 4) &&
      !(!value.single && ptx_type_bytes[fill->symbol->type] == 8))
    ptx_parser_fail_here(parser, "a floating value for an element of type .%s", ptx_type_text[fill->symbol->type]);
  fill_bytes(parser, fill, position, ptx_value_as(value, fill->symbol->type));
}

/* { ... } of dimension `level` that begins at element `begin`; `extent` elements, 0: open. Where it ends. */
static uint64_t fill_braces(ptx_parser *parser, const filling *fill, uint32_t level, uint64_t begin, uint64_t extent) {
  uint64_t at = begin, part = 1;
  for (uint32_t i = level + 1; i < fill->dim_count; i++)
    part *= fill->dims[i];
  ptx_parser_enter(parser);
  ptx_parser_need_sign(parser, '{', "before the values of an array or vector");
  while (!ptx_parser_at_sign(parser, '}')) {
    if (extent && at >= begin + extent)
      ptx_parser_fail_here(parser, "more values than '%.200s' has elements", fill->symbol->name);
    if (!ptx_parser_at_sign(parser, '{')) {
      fill_element(parser, fill, at++);
    } else {
      if (level + 1 >= fill->dim_count || (at - begin) % part)
        ptx_parser_fail_here(parser, "braces where '%.200s' has no dimension", fill->symbol->name);
      fill_braces(parser, fill, level + 1, at, part);
      at += part;
    }
    if (!ptx_parser_take_sign(parser, ','))
      break;
  }
  ptx_parser_need_sign(parser, '}', "behind the values of an array");
  ptx_parser_leave(parser);
  return at;
}

void ptx_initialiser_read(ptx_parser *parser, ptx_symbol *symbol, uint64_t *dims, uint32_t dim_count) {
  uint64_t all[17], extent = 1, part = 1, end = 1;
  filling fill = {.symbol = symbol, .dims = all, .dim_count = dim_count, .element = ptx_type_bytes[symbol->type]};
  uint8_t *bytes;
  if (dim_count)
    memcpy(all, dims, dim_count * sizeof *dims);
  if (symbol->vector > 1)
    all[fill.dim_count++] = symbol->vector;
  for (uint32_t i = 0; i < fill.dim_count; i++)
    extent *= all[i];
  parser->initial.count = 0;
  parser->relocations.count = 0;
  if (fill.dim_count == 0)
    fill_element(parser, &fill, 0);
  else
    end = fill_braces(parser, &fill, 0, 0, extent);
  if (dim_count && dims[0] == 0) {
    for (uint32_t i = 1; i < fill.dim_count; i++)
      part *= all[i];
    dims[0] = (end + part - 1) / part;
    extent = dims[0] * part;
    if (extent == 0)
      ptx_parser_fail_here(parser, "'%.200s' has no extent and no values", symbol->name);
  }
  bytes = ptx_parser_take(parser, extent * fill.element);
  if (parser->initial.count)
    memcpy(bytes, parser->initial.items, parser->initial.count);
  symbol->bytes = bytes;
  symbol->relocation_count = (uint32_t)parser->relocations.count;
  symbol->relocations = ptx_parser_keep(parser, &parser->relocations, 0, sizeof *symbol->relocations);
}
