/* The outermost level of a text: version, target, linkage, variables and functions. */
#include "parser.h"

#include <string.h>

#include "../result.h"

static void text_version(ptx_parser *parser) {
  const char *at = parser->token.text, *end = at + parser->token.length;
  uint32_t major = 0, minor = 0;
  while (at < end && *at >= '0' && *at <= '9' && major < 1000)
    major = major * 10 + (uint32_t)(*at++ - '0');
  if (parser->token.kind != PTX_TOKEN_FLOAT || major == 0 || end - at != 2 || *at != '.' || at[1] < '0' || at[1] > '9')
    ptx_parser_fail_here(parser, "expected a version as 8.4");
  minor = (uint32_t)(at[1] - '0');
  if (major * 10 + minor > parser->newest)
    ptx_parser_fail_with(parser, SIM_UNSUPPORTED_PTX_VERSION, parser->token.line,
                         "PTX %u.%u is newer than %u.%u, the newest that the driver's version knows", major, minor,
                         parser->newest / 10, parser->newest % 10);
  if (major * 10 + minor > parser->module->version)
    parser->module->version = major * 10 + minor;
  ptx_parser_advance(parser);
}

/* sm_90, sm_90a, sm_100f: whether the device runs it. */
static void text_architecture(ptx_parser *parser, const ptx_name *name, uint32_t line) {
  uint32_t number = 0;
  const char *at = name->text + 3;
  char suffix;
  bool runs;
  while (*at >= '0' && *at <= '9' && number < 10000)
    number = number * 10 + (uint32_t)(*at++ - '0');
  suffix = *at ? *at++ : 0;
  if (number < 10 || *at || (suffix && suffix != 'a' && suffix != 'f'))
    ptx_parser_fail(parser, line, "no target '%.60s'", name->text);
  runs = suffix == 'a'   ? number == parser->capability
         : suffix == 'f' ? number <= parser->capability && number / 10 == parser->capability / 10
                         : number <= parser->capability;
  if (!runs)
    ptx_parser_fail(parser, line, "the text is for %.60s, and the device has compute capability %u.%u", name->text,
                    parser->capability / 10, parser->capability % 10);
  if (number > parser->module->target || (number == parser->module->target && suffix)) {
    parser->module->target = number;
    parser->module->target_suffix = suffix;
  }
}

static void text_target(ptx_parser *parser) {
  bool found = false;
  do {
    uint32_t line = parser->token.line;
    const ptx_name *name = ptx_parser_need_word(parser, "a target as sm_75");
    if (strncmp(name->text, "sm_", 3) == 0 || strncmp(name->text, "compute_", 8) == 0) {
      if (found || name->text[0] == 'c')
        ptx_parser_fail(parser, line, "one target as sm_75, not '%.60s'", name->text);
      text_architecture(parser, name, line);
      found = true;
    } else if (strcmp(name->text, "debug") == 0) {
      parser->module->debug = true;
    } else if (strcmp(name->text, "texmode_unified") != 0 && strcmp(name->text, "texmode_independent") != 0) {
      ptx_parser_fail(parser, line, "no target or option '%.60s'", name->text);
    }
  } while (ptx_parser_take_sign(parser, ','));
  if (!found)
    ptx_parser_fail_here(parser, "expected a target as sm_75");
}

/* .version, .target and .address_size; the text begins a module of its own. */
static void text_head(ptx_parser *parser) {
  text_version(parser);
  while (ptx_debug_read(parser)) {
  }
  if (!ptx_parser_take_dot(parser, "target"))
    ptx_parser_fail_here(parser, "expected .target behind .version");
  text_target(parser);
  if (ptx_parser_take_dot(parser, "address_size"))
    if (ptx_parser_need_number(parser, "an address size", 32, 64) != 64)
      ptx_parser_fail(parser, parser->token.line, "only .address_size 64 is supported");
}

/* .alias name, of; */
static void text_alias(ptx_parser *parser) {
  ptx_function **pair = ptx_parser_add(parser, &parser->aliases, 2 * sizeof *pair);
  for (int i = 0; i < 2; i++) {
    uint32_t line = parser->token.line;
    ptx_name *name = ptx_parser_need_word(parser, "the name of a function");
    const ptx_binding *binding = ptx_scope_look(parser, name);
    if (!binding || binding->kind != PTX_BOUND_FUNCTION)
      ptx_parser_fail(parser, line, "'%.200s' is no function that was declared before", name->text);
    pair[i] = binding->function;
    if (i == 0)
      ptx_parser_need_sign(parser, ',', "in .alias");
  }
  ptx_parser_need_sign(parser, ';', "behind .alias");
  if (pair[0]->defined || pair[0] == pair[1] || !ptx_function_same(pair[0], pair[1]))
    ptx_parser_fail_here(parser, "'%.200s' cannot be an alias of '%.200s': it has a body or other parameters",
                         pair[0]->name, pair[1]->name);
}

static void text_declaration(ptx_parser *parser) {
  ptx_linkage linkage = PTX_LINKAGE_STATIC;
  ptx_space space;
  if (ptx_parser_take_dot(parser, "visible"))
    linkage = PTX_LINKAGE_VISIBLE;
  else if (ptx_parser_take_dot(parser, "extern"))
    linkage = PTX_LINKAGE_EXTERN;
  else if (ptx_parser_take_dot(parser, "weak"))
    linkage = PTX_LINKAGE_WEAK;
  else if (ptx_parser_take_dot(parser, "common"))
    linkage = PTX_LINKAGE_COMMON;
  if (ptx_parser_take_dot(parser, "entry"))
    ptx_function_declare(parser, linkage, true);
  else if (ptx_parser_take_dot(parser, "func"))
    ptx_function_declare(parser, linkage, false);
  else if ((space = ptx_variable_space(parser)) != PTX_GENERIC)
    ptx_variable_declare(parser, space, linkage);
  else if (ptx_parser_at_dot(parser, "tex"))
    ptx_parser_fail_here(parser, "textures, samplers and surfaces are out of the simulator's scope");
  else
    ptx_parser_fail_here(parser, "expected a variable, a function or a directive");
}

void ptx_text_read(ptx_parser *parser, const char *text, size_t length) {
  const char *end = memchr(text, 0, length);
  parser->lexer.at = text;
  parser->lexer.end = end ? end : text + length;
  parser->lexer.line = 1;
  parser->token = (ptx_token){0};
  ptx_parser_advance(parser);
  while (ptx_debug_read(parser)) {
  }
  if (!ptx_parser_at_dot(parser, "version"))
    ptx_parser_fail_here(parser, "expected .version");
  while (parser->token.kind != PTX_TOKEN_END) {
    if (ptx_parser_take_dot(parser, "version")) {
      ptx_scope_close(parser);
      ptx_debug_settle(parser);
      text_head(parser);
    } else if (ptx_parser_take_dot(parser, "alias")) {
      text_alias(parser);
    } else if (!ptx_debug_read(parser) && !ptx_parser_take_sign(parser, ';')) {
      text_declaration(parser);
    }
  }
  ptx_scope_close(parser);
  ptx_debug_settle(parser);
}
