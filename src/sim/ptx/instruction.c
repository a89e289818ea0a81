/* Instructions: guard, opcode with modifiers, operands. */
#include "parser.h"

#include <string.h>

static const char *const opcode_family[PTX_OPCODE_COUNT] = {
#define X(name, text, family) #family,
    PTX_OPCODES(X)
#undef X
};

static ptx_opcode form_opcode(ptx_parser *parser, const char *text, size_t length, uint32_t line) {
  for (int opcode = 0; opcode < PTX_OPCODE_COUNT; opcode++)
    if (ptx_opcode_text[opcode][0] == text[0] && strlen(ptx_opcode_text[opcode]) == length &&
        memcmp(ptx_opcode_text[opcode], text, length) == 0)
      return (ptx_opcode)opcode;
  ptx_parser_fail(parser, line, "no instruction '%.*s'", length < 100 ? (int)length : 100, text);
}

static ptx_form *form_make(ptx_parser *parser, const ptx_name *name, uint32_t line) {
  ptx_form *form = ptx_parser_take(parser, sizeof *form);
  const char *text = name->text, *dot = strchr(text, '.');
  form->opcode = form_opcode(parser, text, dot ? (size_t)(dot - text) : name->length, line);
  form->outside = strcmp(opcode_family[form->opcode], "outside") == 0;
  while (dot) {
    const char *word = dot + 1;
    ptx_name *modifier;
    size_t length;
    dot = strchr(word, '.');
    length = dot ? (size_t)(dot - word) : strlen(word);
    if (length == 0)
      ptx_parser_fail(parser, line, "%.200s: an empty modifier", text);
    if (form->modifier_count == PTX_MODIFIERS_MAX)
      ptx_parser_fail(parser, line, "%.200s: more than %d modifiers", text, PTX_MODIFIERS_MAX);
    modifier = ptx_names_take(&parser->names, word, length);
    if (!modifier)
      ptx_parser_fail_here(parser, "no memory");
    form->types[form->modifier_count] = (uint8_t)modifier->type;
    form->modifiers[form->modifier_count++] = modifier->text;
  }
  return form;
}

/* The words that open an instruction, also where spaces stand between them. */
static ptx_name *instruction_words(ptx_parser *parser) {
  ptx_name *name;
  ptx_lexer_stretch(&parser->lexer, &parser->token);
  name = ptx_parser_need_word(parser, "an instruction");
  while (parser->token.kind == PTX_TOKEN_DOT) {
    size_t length = name->length + parser->token.length;
    char *joined = ptx_parser_take_scratch(parser, length);
    memcpy(joined, name->text, name->length);
    memcpy(joined + name->length, parser->token.text, parser->token.length);
    name = ptx_names_take(&parser->names, joined, length);
    if (!name)
      ptx_parser_fail_here(parser, "no memory");
    ptx_parser_advance(parser);
  }
  return name;
}

static void instruction_guard(ptx_parser *parser, ptx_instruction *out) {
  const ptx_binding *binding;
  ptx_name *name;
  out->guard = -1;
  if (!ptx_parser_take_sign(parser, '@'))
    return;
  out->guard_negated = ptx_parser_take_sign(parser, '!');
  name = ptx_parser_need_word(parser, "a predicate behind '@'");
  binding = ptx_scope_look(parser, name);
  if (!binding || binding->kind != PTX_BOUND_REGISTER ||
      PTX_LIST_AT(parser->registers, ptx_register, binding->reg)->type != PTX_PRED)
    ptx_parser_fail(parser, parser->token.line, "the guard '%.200s' is no predicate", name->text);
  out->guard = binding->reg;
}

static void instruction_skip(ptx_parser *parser) {
  while (!ptx_parser_at_sign(parser, ';')) {
    if (parser->token.kind == PTX_TOKEN_END || parser->token.kind == PTX_TOKEN_WRONG)
      ptx_parser_fail_here(parser, "expected ';' behind an instruction");
    ptx_parser_advance(parser);
  }
}

static void instruction_operands(ptx_parser *parser, ptx_instruction *out, const ptx_name *words) {
  size_t first = parser->operands.count;
  if (ptx_parser_at_sign(parser, ';'))
    return;
  do {
    ptx_operand operand;
    if (out->operand_count == PTX_OPERANDS_MAX)
      ptx_parser_fail_here(parser, "%.200s: more than %d operands", words->text, PTX_OPERANDS_MAX);
    ptx_operand_read(parser, &operand);
    *(ptx_operand *)ptx_parser_add(parser, &parser->operands, sizeof operand) = operand;
    out->operand_count++;
  } while (ptx_parser_take_sign(parser, ','));
  out->operands = ptx_parser_keep(parser, &parser->operands, first, sizeof *out->operands);
}

/* bra label; */
static void instruction_label(ptx_parser *parser, ptx_instruction *out) {
  uint32_t line = parser->token.line;
  ptx_name *name = ptx_parser_need_word(parser, "a label");
  out->operands = ptx_parser_take(parser, sizeof *out->operands);
  out->operands->kind = PTX_OPERAND_LABEL;
  out->operand_count = 1;
  ptx_scope_refer(parser, name, &out->operands->label, line);
}

void ptx_instruction_read(ptx_parser *parser) {
  ptx_instruction made = {.source = parser->source};
  const ptx_name *words;
  instruction_guard(parser, &made);
  made.line = parser->token.line;
  if (parser->token.kind != PTX_TOKEN_WORD)
    ptx_parser_fail_here(parser, "expected an instruction");
  {
    ptx_name *name = instruction_words(parser);
    if (!name->form)
      name->form = form_make(parser, name, made.line);
    made.opcode = name->form->opcode;
    made.modifier_count = name->form->modifier_count;
    made.modifiers = name->form->modifiers;
    made.types = name->form->types;
    words = name;
  }
  if (words->form->outside)
    instruction_skip(parser);
  else if (made.opcode == PTX_OP_CALL)
    ptx_call_read(parser, &made);
  else if (made.opcode == PTX_OP_BRA)
    instruction_label(parser, &made);
  else
    instruction_operands(parser, &made, words);
  if (!ptx_parser_at_sign(parser, ';'))
    ptx_parser_fail_here(parser, "expected ';' behind %.200s", words->text);
  ptx_parser_advance(parser);
  *(ptx_instruction *)ptx_parser_add(parser, &parser->instructions, sizeof made) = made;
}
