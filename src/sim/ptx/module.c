/* From texts to a module. */
#include "parser.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../result.h"

/* What a text may grow to: an honest one takes about ten times its size, and its initialised variables. */
enum { GROWTH = 64 };
#define BASE_LIMIT ((size_t)256 << 20)
#define TEXT_MAX ((size_t)16 << 20)

static void parser_free(ptx_parser *parser) {
  ptx_list *const lists[] = {&parser->symbols, &parser->functions,  &parser->sources,      &parser->source_files,
                             &parser->files,   &parser->aliases,    &parser->instructions, &parser->registers,
                             &parser->labels,  &parser->locals,     &parser->references,   &parser->operands,
                             &parser->initial, &parser->relocations};
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
    ptx_list_free(lists[i]);
  ptx_names_end(&parser->names);
  ptx_arena_free(parser->scratch);
  free(parser);
}

static bool parser_begin(ptx_parser *parser, size_t length) {
  size_t limit = BASE_LIMIT + GROWTH * length;
  parser->arena = ptx_arena_create(limit);
  parser->scratch = ptx_arena_create(limit);
  if (!parser->arena || !parser->scratch || !ptx_names_begin(&parser->names, parser->arena, parser->scratch))
    return false;
  parser->lexer.names = &parser->names;
  parser->module = ptx_arena_take(parser->arena, sizeof *parser->module);
  if (!parser->module)
    return false;
  parser->module->arena = parser->arena;
  return true;
}

static void parser_read(ptx_parser *parser, const char *const *texts, const size_t *lengths, size_t count) {
  ptx_parser_add(parser, &parser->sources, sizeof(ptx_source)); /* "none" */
  ptx_parser_add(parser, &parser->source_files, sizeof(uint64_t));
  parser->first_source = 1;
  for (size_t i = 0; i < count; i++) {
    parser->text_number = (uint32_t)i + 1;
    ptx_text_read(parser, texts[i], lengths[i]);
  }
  ptx_link(parser);
  parser->module->symbol_count = (uint32_t)parser->symbols.count;
  parser->module->symbols = ptx_parser_keep(parser, &parser->symbols, 0, sizeof(ptx_symbol *));
  parser->module->function_count = (uint32_t)parser->functions.count;
  parser->module->functions = ptx_parser_keep(parser, &parser->functions, 0, sizeof(ptx_function *));
  parser->module->source_count = (uint32_t)parser->sources.count;
  parser->module->sources = ptx_parser_keep(parser, &parser->sources, 0, sizeof(ptx_source));
}

int ptx_module_read(ptx_module **out, const char *const *texts, const size_t *lengths, size_t count, uint32_t newest,
                    uint32_t capability, ptx_log *log) {
  ptx_parser *parser;
  size_t total = 0;
  int result;
  *out = NULL;
  log->text[0] = 0;
  for (size_t i = 0; i < count; i++) {
    if (lengths[i] > TEXT_MAX) {
      snprintf(log->text, sizeof log->text, "ptx: a text of %zu bytes, above the 16 MiB that are read", lengths[i]);
      return SIM_INVALID_PTX;
    }
    total += lengths[i];
  }
  if (count == 0 || total > 16 * TEXT_MAX) {
    snprintf(log->text, sizeof log->text, "ptx: %s", count ? "texts above 256 MiB in all" : "no text");
    return SIM_INVALID_PTX;
  }
  parser = calloc(1, sizeof *parser);
  if (!parser)
    return SIM_OUT_OF_MEMORY;
  parser->log = log;
  parser->newest = newest;
  parser->capability = capability;
  parser->text_count = (uint32_t)count;
  if (!parser_begin(parser, total)) {
    ptx_arena_free(parser->arena);
    parser_free(parser);
    return SIM_OUT_OF_MEMORY;
  }
  if (setjmp(parser->failed) == 0) {
    parser_read(parser, texts, lengths, count);
    *out = parser->module;
  } else {
    ptx_arena_free(parser->arena);
  }
  result = parser->result;
  parser_free(parser);
  return result;
}

void ptx_module_free(ptx_module *module) {
  if (module)
    ptx_arena_free(module->arena);
}

bool ptx_module_recognise(const void *data, size_t length) {
  static const char wanted[] = ".version";
  ptx_lexer lexer = {.at = data, .end = (const char *)data + length};
  if (!data || ptx_lexer_skip(&lexer))
    return false;
  return (size_t)(lexer.end - lexer.at) >= sizeof wanted - 1 && memcmp(lexer.at, wanted, sizeof wanted - 1) == 0;
}
