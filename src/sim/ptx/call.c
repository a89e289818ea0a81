/* call: returns, target, arguments, and for an indirect one the prototype. */
#include "parser.h"

/* (a, b): registers, .param variables and, for arguments, constants. */
static void call_list(ptx_parser *parser, ptx_operand **out, uint32_t *count, bool constants) {
  size_t first = parser->operands.count;
  ptx_parser_need_sign(parser, '(', "in a call");
  if (!ptx_parser_at_sign(parser, ')'))
    do {
      ptx_operand item;
      ptx_operand_read(parser, &item);
      if (item.kind == PTX_OPERAND_SYMBOL
              ? item.symbol->space != PTX_PARAM || item.offset
              : item.kind != PTX_OPERAND_REGISTER &&
                    !(constants && (item.kind == PTX_OPERAND_INTEGER || item.kind == PTX_OPERAND_FLOAT)))
        ptx_parser_fail_here(parser, "a call takes .param variables, registers%s", constants ? " and constants" : "");
      *(ptx_operand *)ptx_parser_add(parser, &parser->operands, sizeof item) = item;
    } while (ptx_parser_take_sign(parser, ','));
  ptx_parser_need_sign(parser, ')', "in a call");
  *count = (uint32_t)(parser->operands.count - first);
  *out = ptx_parser_keep(parser, &parser->operands, first, sizeof **out);
}

static void call_match(ptx_parser *parser, const char *name, const char *what, const ptx_operand *given,
                       uint32_t given_count, ptx_symbol *const *wanted, uint32_t wanted_count, uint32_t line) {
  if (given_count != wanted_count)
    ptx_parser_fail(parser, line, "'%.200s' has %u %s, and the call %u", name, wanted_count, what, given_count);
  for (uint32_t i = 0; i < given_count; i++) {
    if (given[i].kind != PTX_OPERAND_SYMBOL)
      continue;
    if (wanted[i]->space != PTX_PARAM)
      ptx_parser_fail(parser, line, "'%.200s' has a register where the call has the .param '%.200s'", name,
                      given[i].symbol->name);
    if (wanted[i]->size && wanted[i]->size != given[i].symbol->size)
      ptx_parser_fail(parser, line, "'%.200s' has %llu bytes where the call has the %llu of '%.200s'", name,
                      (unsigned long long)wanted[i]->size, (unsigned long long)given[i].symbol->size,
                      given[i].symbol->name);
  }
}

static void call_table(ptx_parser *parser, ptx_call *call) {
  ptx_operand table;
  ptx_operand_read(parser, &table);
  if (table.kind != PTX_OPERAND_TABLE || (!table.table->targets && !table.table->prototype))
    ptx_parser_fail_here(parser, "an indirect call needs a .callprototype or .calltargets");
  call->prototype = table.table;
}

void ptx_call_read(ptx_parser *parser, ptx_instruction *instruction) {
  ptx_call *call = ptx_parser_take(parser, sizeof *call);
  const ptx_function *formal = NULL;
  instruction->call = call;
  if (ptx_parser_at_sign(parser, '(')) {
    call_list(parser, &call->returns, &call->return_count, false);
    ptx_parser_need_sign(parser, ',', "behind the returns of a call");
  }
  ptx_operand_read(parser, &call->target);
  if (call->target.kind != PTX_OPERAND_FUNCTION && call->target.kind != PTX_OPERAND_REGISTER)
    ptx_parser_fail_here(parser, "a call needs a function or a register");
  if (ptx_parser_take_sign(parser, ',')) {
    if (ptx_parser_at_sign(parser, '(')) {
      call_list(parser, &call->parameters, &call->parameter_count, true);
      if (ptx_parser_take_sign(parser, ','))
        call_table(parser, call);
    } else {
      call_table(parser, call);
    }
  }
  if (call->target.kind == PTX_OPERAND_FUNCTION) {
    formal = call->target.function;
    if (formal->entry)
      ptx_parser_fail(parser, instruction->line, "'%.200s' is a kernel, which cannot be called", formal->name);
  } else if (!call->prototype) {
    ptx_parser_fail(parser, instruction->line, "an indirect call needs a .callprototype or .calltargets");
  } else {
    formal = call->prototype->prototype ? call->prototype->prototype : call->prototype->targets[0];
  }
  call_match(parser, formal->name ? formal->name : call->prototype->name, "parameters", call->parameters,
             call->parameter_count, formal->parameters, formal->parameter_count, instruction->line);
  call_match(parser, formal->name ? formal->name : call->prototype->name, "returns", call->returns, call->return_count,
             formal->returns, formal->return_count, instruction->line);
}
