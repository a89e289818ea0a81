/* Joins what the texts define and declare: each name that may be seen from outside gets one definition, and whatever
   names another declaration of it is turned to that one. */
#include "parser.h"

#include <string.h>

static ptx_name *link_name(ptx_parser *parser, const char *text) {
  return ptx_names_find(&parser->names, text, strlen(text));
}

static int linkage_rank(ptx_linkage linkage) {
  switch (linkage) {
  case PTX_LINKAGE_VISIBLE: return 3;
  case PTX_LINKAGE_WEAK: return 2;
  case PTX_LINKAGE_COMMON: return 1;
  default: return 0;
  }
}

static bool symbol_shared_outside(const ptx_symbol *symbol) {
  return symbol->linkage != PTX_LINKAGE_STATIC;
}

static void link_choose_symbol(ptx_parser *parser, ptx_symbol *symbol) {
  ptx_name *name = link_name(parser, symbol->name);
  ptx_symbol *before = name->symbol;
  if (!before) {
    name->symbol = symbol;
    return;
  }
  if (linkage_rank(before->linkage) == 3 && linkage_rank(symbol->linkage) == 3)
    ptx_parser_fail(parser, 0, "'%.200s' is defined in two texts", symbol->name);
  if (before->linkage == PTX_LINKAGE_COMMON && symbol->linkage == PTX_LINKAGE_COMMON && symbol->size > before->size)
    before->size = symbol->size;
  if (linkage_rank(symbol->linkage) > linkage_rank(before->linkage))
    name->symbol = symbol;
}

static void link_settle_symbol(ptx_parser *parser, ptx_symbol *symbol) {
  ptx_symbol *chosen = link_name(parser, symbol->name)->symbol;
  if (chosen->linkage == PTX_LINKAGE_EXTERN) {
    /* Dynamic shared memory is defined by the launch. */
    if (symbol->space != PTX_SHARED || symbol->size)
      ptx_parser_fail(parser, 0, "the .extern variable '%.200s' is defined nowhere", symbol->name);
    return;
  }
  if (chosen == symbol)
    return;
  if (chosen->space != symbol->space || (symbol->size && symbol->size > chosen->size))
    ptx_parser_fail(parser, 0, "'%.200s' is declared and defined as different variables", symbol->name);
  symbol->definition = chosen;
}

static void link_choose_function(ptx_parser *parser, ptx_function *function) {
  ptx_name *name = link_name(parser, function->name);
  ptx_function *before = name->function;
  if (!function->defined || function->linkage == PTX_LINKAGE_STATIC)
    return;
  if (before && before->linkage == PTX_LINKAGE_VISIBLE && function->linkage == PTX_LINKAGE_VISIBLE)
    ptx_parser_fail(parser, 0, "'%.200s' is defined in two texts", function->name);
  if (!before || linkage_rank(function->linkage) > linkage_rank(before->linkage))
    name->function = function;
}

static void link_settle_function(ptx_parser *parser, ptx_function *function) {
  ptx_function *chosen = link_name(parser, function->name)->function;
  if (function->definition || !chosen || chosen == function ||
      (function->defined && function->linkage == PTX_LINKAGE_STATIC))
    return;
  if (!ptx_function_same(function, chosen))
    ptx_parser_fail(parser, 0, "'%.200s' is declared and defined with different parameters", function->name);
  function->definition = chosen;
  function->defined = false;
}

static void link_aliases(ptx_parser *parser) {
  for (size_t i = 0; i < parser->aliases.count; i++) {
    ptx_function **pair = (ptx_function **)parser->aliases.items + 2 * i;
    ptx_name *name = link_name(parser, pair[0]->name);
    if (!pair[1]->defined || pair[0]->defined || pair[0]->definition)
      ptx_parser_fail(parser, 0, "the alias '%.200s' needs a function with a body", pair[0]->name);
    pair[0]->definition = pair[1];
    if (pair[0]->linkage != PTX_LINKAGE_STATIC && !name->function)
      name->function = pair[1];
  }
}

/* ---- turning what names a declaration to its definition ---- */

static void turn_symbol(ptx_symbol **symbol) {
  if ((*symbol)->definition)
    *symbol = (*symbol)->definition;
}

static void turn_function(ptx_function **function) {
  while ((*function)->definition)
    *function = (*function)->definition;
}

static void turn_operand(ptx_operand *operand) {
  switch (operand->kind) {
  case PTX_OPERAND_SYMBOL: turn_symbol(&operand->symbol); break;
  case PTX_OPERAND_FUNCTION: turn_function(&operand->function); break;
  case PTX_OPERAND_TABLE:
    for (uint32_t i = 0; operand->table->targets && i < operand->table->count; i++)
      turn_function(&operand->table->targets[i]);
    break;
  case PTX_OPERAND_ADDRESS:
  case PTX_OPERAND_VECTOR:
  case PTX_OPERAND_PAIR:
    for (uint32_t i = 0; i < operand->count; i++)
      turn_operand(&operand->items[i]);
    break;
  default: break;
  }
}

static void turn_function_body(ptx_function *function) {
  for (uint32_t i = 0; i < function->instruction_count; i++) {
    ptx_instruction *instruction = &function->instructions[i];
    for (uint32_t j = 0; j < instruction->operand_count; j++)
      turn_operand(&instruction->operands[j]);
    if (!instruction->call)
      continue;
    turn_operand(&instruction->call->target);
    if (instruction->call->prototype && instruction->call->prototype->targets)
      turn_operand(&(ptx_operand){.kind = PTX_OPERAND_TABLE, .table = instruction->call->prototype});
  }
}

static void turn_all(ptx_parser *parser) {
  for (size_t i = 0; i < parser->functions.count; i++)
    turn_function_body(*PTX_LIST_AT(parser->functions, ptx_function *, i));
  for (size_t i = 0; i < parser->symbols.count; i++) {
    const ptx_symbol *symbol = *PTX_LIST_AT(parser->symbols, ptx_symbol *, i);
    for (uint32_t j = 0; j < symbol->relocation_count; j++) {
      if (symbol->relocations[j].symbol)
        turn_symbol(&symbol->relocations[j].symbol);
      if (symbol->relocations[j].function)
        turn_function(&symbol->relocations[j].function);
    }
  }
}

void ptx_link(ptx_parser *parser) {
  bool turned = parser->aliases.count > 0;
  for (size_t i = 0; i < parser->symbols.count; i++) {
    ptx_symbol *symbol = *PTX_LIST_AT(parser->symbols, ptx_symbol *, i);
    if (symbol_shared_outside(symbol))
      link_choose_symbol(parser, symbol);
  }
  for (size_t i = 0; i < parser->symbols.count; i++) {
    ptx_symbol *symbol = *PTX_LIST_AT(parser->symbols, ptx_symbol *, i);
    if (symbol_shared_outside(symbol))
      link_settle_symbol(parser, symbol);
    turned |= symbol->definition != NULL;
  }
  for (size_t i = 0; i < parser->functions.count; i++)
    link_choose_function(parser, *PTX_LIST_AT(parser->functions, ptx_function *, i));
  link_aliases(parser);
  for (size_t i = 0; i < parser->functions.count; i++) {
    ptx_function *function = *PTX_LIST_AT(parser->functions, ptx_function *, i);
    link_settle_function(parser, function);
    turned |= function->definition != NULL;
  }
  if (turned)
    turn_all(parser);
}
