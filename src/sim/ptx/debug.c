/* What says where the text comes from: .file, .loc, .section, .pragma. */
#include "parser.h"

#include <stdlib.h>
#include <string.h>

static void debug_file(ptx_parser *parser) {
  ptx_file *file = ptx_parser_add(parser, &parser->files, sizeof *file);
  char *path;
  file->number = ptx_parser_need_number(parser, "the number of a file", 0, UINT32_MAX);
  if (parser->token.kind != PTX_TOKEN_STRING)
    ptx_parser_fail_here(parser, "expected the name of a file in quotes");
  path = ptx_arena_text(parser->arena, parser->token.text, parser->token.length);
  file->path = path ? path : "";
  ptx_parser_advance(parser);
  while (ptx_parser_take_sign(parser, ',')) /* its time and size */
    ptx_parser_need_number(parser, "a number", 0, UINT64_MAX);
}

/* Reads a .loc; the numbers of a function's name and of where it was inlined are not kept: the line inside the
   function is. */
static void debug_loc(ptx_parser *parser) {
  uint32_t file = ptx_parser_need_number(parser, "the number of a file", 0, UINT32_MAX);
  uint32_t line = ptx_parser_need_number(parser, "a line", 0, UINT32_MAX);
  uint32_t column = ptx_parser_need_number(parser, "a column", 0, UINT32_MAX);
  const ptx_source *last;
  ptx_source *source;
  while (ptx_parser_take_sign(parser, ',')) {
    if (ptx_parser_at_word(parser, "function_name")) {
      ptx_parser_advance(parser);
      ptx_parser_need_word(parser, "a label of .debug_str");
      if (ptx_parser_at_sign(parser, '+')) {
        ptx_parser_advance(parser);
        ptx_parser_need_number(parser, "an offset", 0, UINT32_MAX);
      }
    } else if (ptx_parser_at_word(parser, "inlined_at")) {
      ptx_parser_advance(parser);
      for (int i = 0; i < 3; i++)
        ptx_parser_need_number(parser, "a file, line and column", 0, UINT32_MAX);
    } else {
      ptx_parser_fail_here(parser, "expected function_name or inlined_at");
    }
  }
  last = PTX_LIST_AT(parser->sources, ptx_source, parser->sources.count - 1);
  if (parser->sources.count > parser->first_source && last->line == line && last->column == column &&
      *PTX_LIST_AT(parser->source_files, uint64_t, parser->source_files.count - 1) == file)
    return;
  source = ptx_parser_add(parser, &parser->sources, sizeof *source);
  source->line = line;
  source->column = column;
  *(uint64_t *)ptx_parser_add(parser, &parser->source_files, sizeof(uint64_t)) = file;
  parser->source = (uint32_t)parser->sources.count - 1;
}

/* .section .debug_info { ... }: DWARF, which nobody here reads. */
static void debug_section(ptx_parser *parser) {
  uint32_t depth = 0, line = parser->token.line;
  if (parser->token.kind != PTX_TOKEN_DOT && parser->token.kind != PTX_TOKEN_WORD)
    ptx_parser_fail_here(parser, "expected the name of a section");
  ptx_parser_advance(parser);
  if (!ptx_parser_at_sign(parser, '{'))
    ptx_parser_fail_here(parser, "expected '{' behind the name of a section");
  do {
    if (ptx_parser_at_sign(parser, '{'))
      depth++;
    if (ptx_parser_at_sign(parser, '}'))
      depth--;
    if (parser->token.kind == PTX_TOKEN_END)
      ptx_parser_fail(parser, line, "a section that does not end");
    if (parser->token.kind == PTX_TOKEN_WRONG)
      ptx_parser_fail_here(parser, "in a section");
    ptx_parser_advance(parser);
  } while (depth > 0);
}

static void debug_pragma(ptx_parser *parser) {
  do {
    if (parser->token.kind != PTX_TOKEN_STRING)
      ptx_parser_fail_here(parser, "expected a pragma in quotes");
    ptx_parser_advance(parser);
  } while (ptx_parser_take_sign(parser, ','));
  ptx_parser_need_sign(parser, ';', "behind a pragma");
}

bool ptx_debug_read(ptx_parser *parser) {
  if (parser->token.kind != PTX_TOKEN_DOT)
    return false;
  if (ptx_parser_take_dot(parser, "loc"))
    debug_loc(parser);
  else if (ptx_parser_take_dot(parser, "file"))
    debug_file(parser);
  else if (ptx_parser_take_dot(parser, "section"))
    debug_section(parser);
  else if (ptx_parser_take_dot(parser, "pragma"))
    debug_pragma(parser);
  else
    return false;
  return true;
}

static int file_compare(const void *a, const void *b) {
  const ptx_file *left = a, *right = b;
  return (left->number > right->number) - (left->number < right->number);
}

void ptx_debug_settle(ptx_parser *parser) {
  if (parser->files.count)
    qsort(parser->files.items, parser->files.count, sizeof(ptx_file), file_compare);
  for (size_t i = parser->first_source; i < parser->sources.count && parser->files.count; i++) {
    ptx_file wanted = {.number = *PTX_LIST_AT(parser->source_files, uint64_t, i)};
    const ptx_file *found = bsearch(&wanted, parser->files.items, parser->files.count, sizeof wanted, file_compare);
    if (found)
      PTX_LIST_AT(parser->sources, ptx_source, i)->file = found->path;
  }
  parser->files.count = 0;
  parser->first_source = (uint32_t)parser->sources.count;
  parser->source = 0;
}
