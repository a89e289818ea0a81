/* Heads of functions: name, parameters, performance directives; prototypes and tables of targets. */
#include "parser.h"

#include <string.h>

static bool parameters_same(ptx_symbol *const *one, uint32_t count, ptx_symbol *const *other, uint32_t other_count) {
  if (count != other_count)
    return false;
  for (uint32_t i = 0; i < count; i++)
    if (one[i]->size != other[i]->size || one[i]->space != other[i]->space)
      return false;
  return true;
}

bool ptx_function_same(const ptx_function *one, const ptx_function *other) {
  return one->entry == other->entry &&
         parameters_same(one->parameters, one->parameter_count, other->parameters, other->parameter_count) &&
         parameters_same(one->returns, one->return_count, other->returns, other->return_count);
}

/* x, y, z: those that are left out are 1. */
static void directive_triple(ptx_parser *parser, uint32_t *out, uint32_t most) {
  out[0] = ptx_parser_need_number(parser, "a number", 1, most);
  out[1] = ptx_parser_take_sign(parser, ',') ? ptx_parser_need_number(parser, "a number", 1, most) : 1;
  out[2] = ptx_parser_take_sign(parser, ',') ? ptx_parser_need_number(parser, "a number", 1, most) : 1;
}

static bool function_directive(ptx_parser *parser, ptx_function *function) {
  if (parser->token.kind != PTX_TOKEN_DOT)
    return false;
  if (ptx_parser_take_dot(parser, "noreturn"))
    function->no_return = true;
  else if (ptx_parser_take_dot(parser, "maxntid"))
    directive_triple(parser, function->max_threads, 1024);
  else if (ptx_parser_take_dot(parser, "reqntid"))
    directive_triple(parser, function->required_threads, 1024);
  else if (ptx_parser_take_dot(parser, "minnctapersm"))
    function->min_blocks = ptx_parser_need_number(parser, "a number of blocks", 0, 1024);
  else if (ptx_parser_take_dot(parser, "maxnctapersm"))
    ptx_parser_need_number(parser, "a number of blocks", 0, 1024);
  else if (ptx_parser_take_dot(parser, "maxnreg"))
    function->max_registers = ptx_parser_need_number(parser, "a number of registers", 1, 65535);
  else if (ptx_parser_take_dot(parser, "local_maxnreg"))
    ptx_parser_need_number(parser, "a number of registers", 1, 65535);
  else if (ptx_parser_take_dot(parser, "abi_preserve") || ptx_parser_take_dot(parser, "abi_preserve_control"))
    ptx_parser_need_number(parser, "a number of registers", 0, 65535);
  else if (ptx_parser_take_dot(parser, "explicitcluster") || ptx_parser_take_dot(parser, "blocksareclusters"))
    function->cluster = true;
  else if (ptx_parser_take_dot(parser, "reqnctapercluster")) {
    function->cluster = true;
    directive_triple(parser, function->cluster_size, 65535);
  } else if (ptx_parser_take_dot(parser, "maxclusterrank")) {
    function->cluster = true;
    ptx_parser_need_number(parser, "a number of blocks", 1, 65535);
  } else
    return false;
  return true;
}

/* .attribute(.unified(1, 2)): where the function's address is the same on all devices; here it always is. */
static void function_attribute(ptx_parser *parser) {
  if (!ptx_parser_take_dot(parser, "attribute"))
    return;
  ptx_parser_need_sign(parser, '(', "behind .attribute");
  if (!ptx_parser_take_dot(parser, "unified"))
    ptx_parser_fail_here(parser, "expected .unified");
  ptx_parser_need_sign(parser, '(', "behind .unified");
  ptx_expression_integer(parser, "an identifier");
  ptx_parser_need_sign(parser, ',', "in .unified(a, b)");
  ptx_expression_integer(parser, "an identifier");
  ptx_parser_need_sign(parser, ')', "in .unified(a, b)");
  ptx_parser_need_sign(parser, ')', "behind the attributes");
}

/* Where the name's meaning in the module's scope hangs, under what parameters have bound. */
static ptx_binding **function_place(ptx_name *name) {
  ptx_binding **place = &name->binding;
  while (*place && (*place)->depth > 0)
    place = &(*place)->outer;
  return place;
}

/* The function that an earlier declaration made, brought up to date by this head; or `made`, bound and listed. */
static ptx_function *function_enter(ptx_parser *parser, ptx_function *made, ptx_name *name, bool defines) {
  const ptx_binding *old = *function_place(name);
  ptx_function *before;
  if (!old || old->kind != PTX_BOUND_FUNCTION) {
    if (old)
      ptx_parser_fail(parser, made->line, "'%.200s' is already a variable", name->text);
    made->index = (uint32_t)parser->functions.count;
    *(ptx_function **)ptx_parser_add(parser, &parser->functions, sizeof made) = made;
    return made;
  }
  before = old->function;
  if (defines && before->defined)
    ptx_parser_fail(parser, made->line, "'%.200s' is already defined in line %u", name->text, before->line);
  if (!ptx_function_same(made, before))
    ptx_parser_fail(parser, made->line, "'%.200s' was declared with other parameters in line %u", name->text,
                    before->line);
  if (!defines) {
    before->no_return |= made->no_return;
    return before;
  }
  made->index = before->index;
  if (made->linkage == PTX_LINKAGE_STATIC && before->linkage != PTX_LINKAGE_STATIC)
    made->linkage = before->linkage == PTX_LINKAGE_EXTERN ? PTX_LINKAGE_VISIBLE : before->linkage;
  made->no_return |= before->no_return;
  for (uint32_t i = 0; i < made->parameter_count; i++)
    made->parameters[i]->function = before;
  for (uint32_t i = 0; i < made->return_count; i++)
    made->returns[i]->function = before;
  *before = *made;
  return before;
}

void ptx_function_declare(ptx_parser *parser, ptx_linkage linkage, bool entry) {
  ptx_function *function = ptx_parser_take(parser, sizeof *function), *entered;
  uint64_t ignored = 0;
  ptx_name *name;
  bool defines;
  function->entry = entry;
  function->linkage = linkage;
  if (linkage == PTX_LINKAGE_COMMON)
    ptx_parser_fail_here(parser, "a function cannot be .common");
  function_attribute(parser);
  parser->registers.count = 0;
  parser->locals.count = 0;
  ptx_scope_open(parser);
  if (!entry && ptx_parser_at_sign(parser, '('))
    ptx_variable_parameters(parser, function, &function->returns, &function->return_count, &ignored, true);
  function->line = parser->token.line;
  name = ptx_parser_need_word(parser, "the name of a function");
  function->name = name->text;
  if (ptx_parser_at_sign(parser, '('))
    ptx_variable_parameters(parser, function, &function->parameters, &function->parameter_count,
                            &function->parameter_bytes, true);
  while (function_directive(parser, function) || ptx_debug_read(parser)) {
  }
  defines = ptx_parser_at_sign(parser, '{');
  if (!defines && !ptx_parser_at_sign(parser, ';'))
    ptx_parser_fail_here(parser, "expected '{' or ';' behind the head of '%.200s'", name->text);
  if (defines && linkage == PTX_LINKAGE_EXTERN)
    ptx_parser_fail(parser, function->line, "'%.200s' is .extern and has a body", name->text);
  entered = function_enter(parser, function, name, defines);
  if (entered == function) {
    ptx_binding *binding = ptx_parser_take_scratch(parser, sizeof *binding), **place = function_place(name);
    *binding = (ptx_binding){.name = name, .outer = *place, .kind = PTX_BOUND_FUNCTION, .function = function};
    *place = binding;
    binding->sibling = parser->scopes[0].bindings;
    parser->scopes[0].bindings = binding;
  }
  if (defines) {
    ptx_body_read(parser, entered);
    return;
  }
  ptx_scope_close(parser);
  ptx_parser_advance(parser);
}

/* (returns) _ (parameters) .noreturn */
static ptx_function *table_prototype(ptx_parser *parser) {
  ptx_function *function = ptx_parser_take(parser, sizeof *function);
  uint64_t ignored = 0;
  function->index = UINT32_MAX;
  function->line = parser->token.line;
  if (ptx_parser_at_sign(parser, '('))
    ptx_variable_parameters(parser, function, &function->returns, &function->return_count, &ignored, false);
  ptx_parser_need_word(parser, "'_' in a prototype");
  if (ptx_parser_at_sign(parser, '('))
    ptx_variable_parameters(parser, function, &function->parameters, &function->parameter_count,
                            &function->parameter_bytes, false);
  while (function_directive(parser, function)) {
  }
  return function;
}

static void table_branches(ptx_parser *parser, ptx_table *table) {
  size_t first = parser->operands.count;
  do {
    /* The name and line wait in an operand until the number of labels is known. */
    ptx_operand *item;
    uint32_t line = parser->token.line;
    ptx_name *name = ptx_parser_need_word(parser, "a label");
    item = ptx_parser_add(parser, &parser->operands, sizeof *item);
    item->bits = (uintptr_t)name;
    item->count = line;
  } while (ptx_parser_take_sign(parser, ','));
  table->count = (uint32_t)(parser->operands.count - first);
  table->labels = ptx_parser_take(parser, table->count * sizeof *table->labels);
  for (uint32_t i = 0; i < table->count; i++) {
    const ptx_operand *item = PTX_LIST_AT(parser->operands, ptx_operand, first + i);
    ptx_scope_refer(parser, (ptx_name *)(uintptr_t)item->bits, &table->labels[i], item->count);
  }
  parser->operands.count = first;
}

static void table_calls(ptx_parser *parser, ptx_table *table) {
  size_t first = parser->operands.count;
  do {
    ptx_operand item;
    ptx_operand_read(parser, &item);
    if (item.kind != PTX_OPERAND_FUNCTION)
      ptx_parser_fail_here(parser, "expected the name of a function");
    *(ptx_operand *)ptx_parser_add(parser, &parser->operands, sizeof item) = item;
  } while (ptx_parser_take_sign(parser, ','));
  table->count = (uint32_t)(parser->operands.count - first);
  table->targets = ptx_parser_take(parser, table->count * sizeof *table->targets);
  for (uint32_t i = 0; i < table->count; i++)
    table->targets[i] = PTX_LIST_AT(parser->operands, ptx_operand, first + i)->function;
  parser->operands.count = first;
}

ptx_table *ptx_function_table(ptx_parser *parser, ptx_name *name) {
  ptx_table *table = ptx_parser_take(parser, sizeof *table);
  table->name = name->text;
  if (ptx_parser_take_dot(parser, "callprototype"))
    table->prototype = table_prototype(parser);
  else if (ptx_parser_take_dot(parser, "branchtargets"))
    table_branches(parser, table);
  else if (ptx_parser_take_dot(parser, "calltargets"))
    table_calls(parser, table);
  ptx_parser_need_sign(parser, ';', "behind a table or prototype");
  return table;
}
