/* Scopes and what names mean in them. A name leads to its innermost binding; leaving a scope unbinds what it bound.
   Labels may be named before they are seen: at the end of the scope that has the label, the references made inside
   it are settled. */
#include "parser.h"

#include <string.h>

void ptx_scope_open(ptx_parser *parser) {
  if (parser->depth + 1 >= PTX_SCOPES_MAX)
    ptx_parser_fail(parser, parser->token.line, "scopes nested more than %d deep", PTX_SCOPES_MAX);
  parser->scopes[++parser->depth] = (ptx_scope){.first_reference = (uint32_t)parser->references.count};
}

static void scope_settle_label(const ptx_binding *binding, uint32_t first_reference) {
  ptx_name *name = binding->name;
  while (name->pending && name->pending->order >= first_reference) {
    *name->pending->label = binding->label;
    name->pending->found = true;
    name->pending = name->pending->older;
  }
}

void ptx_scope_close(ptx_parser *parser) {
  ptx_scope *scope = &parser->scopes[parser->depth];
  for (ptx_binding *binding = scope->bindings; binding; binding = binding->sibling) {
    if (binding->kind == PTX_BOUND_LABEL)
      scope_settle_label(binding, scope->first_reference);
    if (binding->kind == PTX_BOUND_FAMILY)
      binding->name->family = binding->outer;
    else
      binding->name->binding = binding->outer;
  }
  scope->bindings = NULL;
  scope->families = 0;
  if (parser->depth > 0)
    parser->depth--;
  while (parser->deepest_family > 0 && parser->scopes[parser->deepest_family].families == 0)
    parser->deepest_family--;
}

static ptx_binding *scope_push(ptx_parser *parser, ptx_name *name, ptx_bound_kind kind, uint32_t depth) {
  ptx_binding *binding = ptx_parser_take_scratch(parser, sizeof *binding), **top;
  top = kind == PTX_BOUND_FAMILY ? &name->family : &name->binding;
  *binding = (ptx_binding){.name = name, .outer = *top, .depth = depth, .kind = kind};
  *top = binding;
  binding->sibling = parser->scopes[depth].bindings;
  parser->scopes[depth].bindings = binding;
  return binding;
}

/* The innermost family below `depth` that has a register of this name; its number. */
static ptx_binding *scope_family(ptx_parser *parser, const ptx_name *name, uint32_t above) {
  ptx_binding *found = NULL;
  uint64_t number = 0, scale = 1;
  for (uint32_t length = name->length; length > 1 && name->length - length < 9; scale *= 10) {
    char digit = name->text[--length];
    ptx_name *prefix;
    if (digit < '0' || digit > '9')
      break;
    number += (uint64_t)(digit - '0') * scale;
    if (digit == '0' && length + 1 < name->length)
      continue; /* no number begins with 0 */
    prefix = ptx_names_find(&parser->names, name->text, length);
    if (prefix && prefix->family && number < prefix->family->family.count && prefix->family->depth >= above &&
        (!found || prefix->family->depth > found->depth))
      found = prefix->family;
  }
  return found;
}

static const char *scope_bound_text(ptx_bound_kind kind) {
  switch (kind) {
  case PTX_BOUND_REGISTER: return "a register";
  case PTX_BOUND_FAMILY: return "a family of registers";
  case PTX_BOUND_SYMBOL: return "a variable";
  case PTX_BOUND_FUNCTION: return "a function";
  case PTX_BOUND_LABEL: return "a label";
  case PTX_BOUND_TABLE: return "a table or prototype";
  }
  return "a name";
}

static void scope_check_new(ptx_parser *parser, const ptx_name *name, uint32_t line) {
  const ptx_binding *old = name->binding;
  if (old && old->depth == parser->depth)
    ptx_parser_fail(parser, line, "'%.200s' is already %s in this scope", name->text, scope_bound_text(old->kind));
  if (parser->scopes[parser->depth].families && scope_family(parser, name, parser->depth))
    ptx_parser_fail(parser, line, "'%.200s' is already a register of a family in this scope", name->text);
}

ptx_binding *ptx_scope_bind(ptx_parser *parser, ptx_name *name, ptx_bound_kind kind, uint32_t line) {
  scope_check_new(parser, name, line);
  return scope_push(parser, name, kind, parser->depth);
}

void ptx_scope_bind_family(ptx_parser *parser, ptx_name *prefix, uint32_t count, ptx_type type, uint32_t vector,
                           uint32_t line) {
  ptx_binding *binding;
  if (prefix->family && prefix->family->depth == parser->depth)
    ptx_parser_fail(parser, line, "'%.200s' is already a family of registers in this scope", prefix->text);
  binding = scope_push(parser, prefix, PTX_BOUND_FAMILY, parser->depth);
  binding->family.count = count;
  binding->family.type = type;
  binding->family.vector = vector;
  parser->scopes[parser->depth].families++;
  parser->deepest_family = parser->depth;
}

ptx_binding *ptx_scope_look(ptx_parser *parser, ptx_name *name) {
  ptx_binding *binding = name->binding, *family, *made;
  uint32_t above = binding ? binding->depth + 1 : 0;
  if (above > parser->deepest_family)
    return binding;
  family = scope_family(parser, name, above);
  if (!family)
    return binding;
  made = scope_push(parser, name, PTX_BOUND_REGISTER, family->depth);
  made->reg = ptx_scope_register(parser, name->text, family->family.type, family->family.vector);
  return made;
}

uint32_t ptx_scope_register(ptx_parser *parser, const char *name, ptx_type type, uint32_t vector) {
  ptx_register *made = ptx_parser_add(parser, &parser->registers, sizeof *made);
  made->name = name;
  made->type = type;
  made->vector = vector;
  return (uint32_t)parser->registers.count - 1;
}

void ptx_scope_label(ptx_parser *parser, ptx_name *name, uint32_t line) {
  ptx_binding *binding = ptx_scope_bind(parser, name, PTX_BOUND_LABEL, line);
  ptx_label *label = ptx_parser_add(parser, &parser->labels, sizeof *label);
  binding->label = (uint32_t)parser->labels.count - 1;
  label->name = name->text;
  label->instruction = (uint32_t)parser->instructions.count;
}

void ptx_scope_refer(ptx_parser *parser, ptx_name *name, uint32_t *label, uint32_t line) {
  ptx_reference *reference = ptx_parser_take_scratch(parser, sizeof *reference);
  *reference = (ptx_reference){
      .older = name->pending, .name = name, .label = label, .line = line, .order = (uint32_t)parser->references.count};
  name->pending = reference;
  *(ptx_reference **)ptx_parser_add(parser, &parser->references, sizeof reference) = reference;
}

void ptx_scope_settle(ptx_parser *parser) {
  for (size_t i = 0; i < parser->references.count; i++) {
    const ptx_reference *reference = *PTX_LIST_AT(parser->references, ptx_reference *, i);
    if (!reference->found)
      ptx_parser_fail(parser, reference->line, "no label '%.200s' here", reference->name->text);
  }
  parser->references.count = 0;
}
