/* Bodies of functions: declarations, labels, scopes and instructions in their order. */
#include "parser.h"

#include <string.h>

/* The token is a word: a label where ':' follows. */
static bool body_label(ptx_parser *parser) {
  ptx_lexer lexer = parser->lexer;
  ptx_name *name = parser->token.name;
  uint32_t line = parser->token.line;
  if (ptx_lexer_skip(&lexer) || lexer.at == lexer.end || *lexer.at != ':')
    return false;
  ptx_parser_advance(parser);
  ptx_parser_advance(parser);
  if (ptx_parser_at_dot(parser, "branchtargets") || ptx_parser_at_dot(parser, "calltargets") ||
      ptx_parser_at_dot(parser, "callprototype")) {
    ptx_table *table = ptx_function_table(parser, name);
    ptx_scope_bind(parser, name, PTX_BOUND_TABLE, line)->table = table;
  } else {
    ptx_scope_label(parser, name, line);
  }
  return true;
}

static void body_declaration(ptx_parser *parser) {
  ptx_linkage linkage = PTX_LINKAGE_STATIC;
  ptx_space space;
  if (ptx_parser_take_dot(parser, "extern"))
    linkage = PTX_LINKAGE_EXTERN;
  space = ptx_variable_space(parser);
  if (space == PTX_GENERIC)
    ptx_parser_fail_here(parser, "unexpected in a function");
  if (linkage == PTX_LINKAGE_EXTERN && space != PTX_SHARED)
    ptx_parser_fail_here(parser, "only .shared variables may be .extern in a function");
  if (space == PTX_REG)
    ptx_variable_registers(parser);
  else
    ptx_variable_declare(parser, space, linkage);
}

/* One statement; false at the brace that ends the body. */
static bool body_statement(ptx_parser *parser, uint32_t outermost) {
  switch (parser->token.kind) {
  case PTX_TOKEN_WORD:
    if (!body_label(parser))
      ptx_instruction_read(parser);
    return true;
  case PTX_TOKEN_DOT:
    if (!ptx_debug_read(parser))
      body_declaration(parser);
    return true;
  case PTX_TOKEN_SIGN:
    if (parser->token.sign == '@') {
      ptx_instruction_read(parser);
      return true;
    }
    if (parser->token.sign == '{')
      ptx_scope_open(parser);
    else if (parser->token.sign == '}' && parser->depth == outermost)
      return false;
    else if (parser->token.sign == '}')
      ptx_scope_close(parser);
    else if (parser->token.sign != ';')
      break;
    ptx_parser_advance(parser);
    return true;
  default: break;
  }
  ptx_parser_fail_here(parser, "expected a statement");
}

static void body_labels(ptx_parser *parser, ptx_function *function) {
  function->label_count = (uint32_t)parser->labels.count;
  if (!function->label_count)
    return;
  function->labels = ptx_parser_take(parser, function->label_count * sizeof *function->labels);
  function->label_names = ptx_parser_take(parser, function->label_count * sizeof *function->label_names);
  for (uint32_t i = 0; i < function->label_count; i++) {
    const ptx_label *label = PTX_LIST_AT(parser->labels, ptx_label, i);
    function->labels[i] = label->instruction;
    function->label_names[i] = label->name;
  }
  parser->labels.count = 0;
}

void ptx_body_read(ptx_parser *parser, ptx_function *function) {
  uint32_t outermost = parser->depth;
  parser->function = function;
  parser->source = 0;
  parser->local_bytes = 0;
  parser->param_bytes = 0;
  ptx_parser_need_sign(parser, '{', "before a body");
  while (body_statement(parser, outermost)) {
  }
  ptx_scope_close(parser);
  ptx_scope_settle(parser);
  function->defined = true;
  function->instruction_count = (uint32_t)parser->instructions.count;
  function->instructions = ptx_parser_keep(parser, &parser->instructions, 0, sizeof *function->instructions);
  function->register_count = (uint32_t)parser->registers.count;
  function->registers = ptx_parser_keep(parser, &parser->registers, 0, sizeof *function->registers);
  function->local_count = (uint32_t)parser->locals.count;
  function->locals = ptx_parser_keep(parser, &parser->locals, 0, sizeof *function->locals);
  body_labels(parser, function);
  parser->function = NULL;
  ptx_parser_advance(parser);
}
