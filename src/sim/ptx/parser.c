/* Tokens taken and needed, memory, and failing. */
#include "parser.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../result.h"

static _Noreturn void parser_leave_with(ptx_parser *parser, int result, uint32_t line, const char *format, va_list rest,
                                        const char *behind) {
  int used;
  char *text = parser->log->text;
  size_t room = sizeof parser->log->text;
  parser->result = result;
  used = snprintf(text, room, "ptx: ");
  if (parser->text_count > 1 && line)
    used += snprintf(text + used, room - (size_t)used, "text %u, ", parser->text_number);
  if (line)
    used += snprintf(text + used, room - (size_t)used, "line %u: ", line);
  used += vsnprintf(text + used, room - (size_t)used, format, rest);
  if ((size_t)used < room)
    snprintf(text + used, room - (size_t)used, "%s", behind);
  longjmp(parser->failed, 1);
}

_Noreturn void ptx_parser_fail(ptx_parser *parser, uint32_t line, const char *format, ...) {
  va_list rest;
  va_start(rest, format);
  parser_leave_with(parser, SIM_INVALID_PTX, line, format, rest, "");
}

_Noreturn void ptx_parser_fail_with(ptx_parser *parser, int result, uint32_t line, const char *format, ...) {
  va_list rest;
  va_start(rest, format);
  parser_leave_with(parser, result, line, format, rest, "");
}

_Noreturn void ptx_parser_fail_here(ptx_parser *parser, const char *format, ...) {
  char behind[120];
  va_list rest;
  const ptx_token *token = &parser->token;
  if (token->kind == PTX_TOKEN_END) {
    snprintf(behind, sizeof behind, ", but the text ends");
  } else if (token->kind == PTX_TOKEN_WRONG) {
    snprintf(behind, sizeof behind, ", read %s", token->wrong);
  } else {
    char shown[65];
    size_t length = token->length < 60 ? token->length : 60;
    for (size_t i = 0; i < length; i++)
      shown[i] = token->text[i] >= ' ' && token->text[i] < 127 ? token->text[i] : '?';
    snprintf(shown + length, sizeof shown - length, "%s", token->length > 60 ? "..." : "");
    snprintf(behind, sizeof behind, ", read '%s'", shown);
  }
  va_start(rest, format);
  parser_leave_with(parser, parser->lexer.out_of_memory ? SIM_OUT_OF_MEMORY : SIM_INVALID_PTX, token->line, format,
                    rest, behind);
}

static _Noreturn void parser_out_of_memory(ptx_parser *parser) {
  ptx_parser_fail_with(parser, SIM_OUT_OF_MEMORY, parser->token.line, "the text needs more memory than it may take");
}

void ptx_parser_advance(ptx_parser *parser) {
  ptx_lexer_next(&parser->lexer, &parser->token);
}

bool ptx_parser_at_sign(const ptx_parser *parser, int sign) {
  return parser->token.kind == PTX_TOKEN_SIGN && parser->token.sign == sign;
}

bool ptx_parser_at_dot(const ptx_parser *parser, const char *word) {
  return parser->token.kind == PTX_TOKEN_DOT && strcmp(parser->token.name->text, word) == 0;
}

bool ptx_parser_at_word(const ptx_parser *parser, const char *word) {
  return parser->token.kind == PTX_TOKEN_WORD && strcmp(parser->token.name->text, word) == 0;
}

bool ptx_parser_take_sign(ptx_parser *parser, int sign) {
  if (!ptx_parser_at_sign(parser, sign))
    return false;
  ptx_parser_advance(parser);
  return true;
}

bool ptx_parser_take_dot(ptx_parser *parser, const char *word) {
  if (!ptx_parser_at_dot(parser, word))
    return false;
  ptx_parser_advance(parser);
  return true;
}

void ptx_parser_need_sign(ptx_parser *parser, int sign, const char *behind) {
  if (!ptx_parser_take_sign(parser, sign))
    ptx_parser_fail_here(parser, "expected '%c' %s", sign, behind);
}

ptx_name *ptx_parser_need_word(ptx_parser *parser, const char *what) {
  ptx_name *name = parser->token.name;
  if (parser->token.kind != PTX_TOKEN_WORD)
    ptx_parser_fail_here(parser, "expected %s", what);
  ptx_parser_advance(parser);
  return name;
}

uint32_t ptx_parser_need_number(ptx_parser *parser, const char *what, uint64_t least, uint64_t most) {
  uint64_t bits = parser->token.bits;
  if (parser->token.kind != PTX_TOKEN_INTEGER || bits < least || bits > most)
    ptx_parser_fail_here(parser, "expected %s of %llu to %llu", what, (unsigned long long)least,
                         (unsigned long long)most);
  ptx_parser_advance(parser);
  return (uint32_t)bits;
}

void ptx_parser_enter(ptx_parser *parser) {
  if (++parser->nesting > PTX_NESTING_MAX)
    ptx_parser_fail_here(parser, "nested more than %d deep", PTX_NESTING_MAX);
}

void ptx_parser_leave(ptx_parser *parser) {
  parser->nesting--;
}

void *ptx_parser_take(ptx_parser *parser, size_t size) {
  void *taken = ptx_arena_take(parser->arena, size);
  if (!taken)
    parser_out_of_memory(parser);
  return taken;
}

void *ptx_parser_take_scratch(ptx_parser *parser, size_t size) {
  void *taken = ptx_arena_take(parser->scratch, size);
  if (!taken)
    parser_out_of_memory(parser);
  return taken;
}

void *ptx_parser_add(ptx_parser *parser, ptx_list *list, size_t size) {
  void *item = ptx_list_add(list, size);
  if (!item)
    parser_out_of_memory(parser);
  return item;
}

void *ptx_parser_keep(ptx_parser *parser, ptx_list *list, size_t first, size_t size) {
  size_t count = list->count - first;
  void *kept = NULL;
  if (count) {
    kept = ptx_parser_take(parser, count * size);
    memcpy(kept, (char *)list->items + first * size, count * size);
  }
  list->count = first;
  return kept;
}
