/* Declarations of variables, registers and parameters. */
#include "parser.h"

#include <string.h>

enum { DIMS_MAX = 16, ALIGNMENT_MAX = 65536, FAMILY_MAX = 999999999 };

/* What one thread can have of local memory, what CUDA gives an entry's parameters, and bounds that no program comes
   near. */
#define LOCAL_MAX ((uint64_t)512 << 10)
#define SHARED_MAX ((uint64_t)227 << 10)
#define CONST_MAX ((uint64_t)64 << 10)
#define GLOBAL_MAX ((uint64_t)1 << 40)
#define PARAMETERS_MAX ((uint64_t)32764)
#define BODY_PARAMETERS_MAX ((uint64_t)1 << 20)

/* What stands before the names. */
typedef struct {
  ptx_type type;
  uint32_t vector, alignment;
  bool managed, pointer;
  ptx_space pointee;
  uint32_t pointer_alignment;
} declaration;

static const char *space_text(ptx_space space) {
  static const char *const texts[] = {"generic", ".reg", ".const", ".global", ".local", ".param", ".shared"};
  return texts[space];
}

static ptx_space space_of(const char *word) {
  for (int space = PTX_REG; space <= PTX_SHARED; space++)
    if (strcmp(word, space_text((ptx_space)space) + 1) == 0)
      return (ptx_space)space;
  return PTX_GENERIC;
}

ptx_space ptx_variable_space(ptx_parser *parser) {
  ptx_space space = parser->token.kind == PTX_TOKEN_DOT ? space_of(parser->token.name->text) : PTX_GENERIC;
  if (space == PTX_GENERIC)
    return space;
  ptx_parser_advance(parser);
  if (space == PTX_CONST && ptx_parser_at_sign(parser, '['))
    ptx_parser_fail_here(parser, "banks of .const are not supported");
  return space;
}

static uint32_t declaration_alignment(ptx_parser *parser) {
  uint32_t alignment = ptx_parser_need_number(parser, "an alignment", 1, ALIGNMENT_MAX);
  if (alignment & (alignment - 1))
    ptx_parser_fail(parser, parser->token.line, "an alignment of %u, which is no power of two", alignment);
  return alignment;
}

/* .attribute(.managed), .attribute(.unified(1, 2)) */
static void declaration_attribute(ptx_parser *parser, declaration *out) {
  ptx_parser_need_sign(parser, '(', "behind .attribute");
  do {
    if (ptx_parser_take_dot(parser, "managed")) {
      out->managed = true;
    } else if (ptx_parser_take_dot(parser, "unified")) {
      ptx_parser_need_sign(parser, '(', "behind .unified");
      ptx_expression_integer(parser, "an identifier");
      ptx_parser_need_sign(parser, ',', "in .unified(a, b)");
      ptx_expression_integer(parser, "an identifier");
      ptx_parser_need_sign(parser, ')', "in .unified(a, b)");
    } else {
      ptx_parser_fail_here(parser, "expected .managed or .unified");
    }
  } while (ptx_parser_take_sign(parser, ','));
  ptx_parser_need_sign(parser, ')', "behind the attributes");
}

static void declaration_pointer(ptx_parser *parser, declaration *out) {
  out->pointer = true;
  out->pointee = ptx_variable_space(parser);
  if (out->pointee == PTX_REG || out->pointee == PTX_PARAM)
    ptx_parser_fail_here(parser, "a .ptr to %s", space_text(out->pointee));
  if (ptx_parser_take_dot(parser, "align"))
    out->pointer_alignment = declaration_alignment(parser);
}

static bool type_declarable(ptx_type type, ptx_space space) {
  if (type == PTX_PRED)
    return space == PTX_REG;
  return type != PTX_TYPE_NONE && type != PTX_TF32 && type < PTX_E4M3;
}

static void declaration_read(ptx_parser *parser, ptx_space space, declaration *out) {
  *out = (declaration){.vector = 1};
  while (parser->token.kind == PTX_TOKEN_DOT) {
    const ptx_name *word = parser->token.name;
    if (word->type && !out->type) {
      if (!type_declarable(word->type, space))
        ptx_parser_fail_here(parser, "a %s variable of a type that it cannot have", space_text(space));
      out->type = word->type;
      ptx_parser_advance(parser);
    } else if (space != PTX_REG && ptx_parser_take_dot(parser, "align")) {
      out->alignment = declaration_alignment(parser);
    } else if (space != PTX_REG && ptx_parser_take_dot(parser, "attribute")) {
      declaration_attribute(parser, out);
    } else if (out->vector == 1 && ptx_parser_take_dot(parser, "v2")) {
      out->vector = 2;
    } else if (out->vector == 1 && ptx_parser_take_dot(parser, "v4")) {
      out->vector = 4;
    } else if (space == PTX_PARAM && !out->pointer && ptx_parser_take_dot(parser, "ptr")) {
      declaration_pointer(parser, out);
    } else if (ptx_parser_at_dot(parser, "texref") || ptx_parser_at_dot(parser, "samplerref") ||
               ptx_parser_at_dot(parser, "surfref")) {
      ptx_parser_fail_here(parser, "textures, samplers and surfaces are out of the simulator's scope");
    } else {
      ptx_parser_fail_here(parser, "unexpected in a %s declaration", space_text(space));
    }
  }
  if (!out->type)
    ptx_parser_fail_here(parser, "expected the type of a %s declaration", space_text(space));
  if (out->managed && space != PTX_GLOBAL)
    ptx_parser_fail(parser, parser->token.line, ".managed is for .global variables, not for %s ones",
                    space_text(space));
  if (out->vector > 1 && (out->type == PTX_PRED || ptx_type_bytes[out->type] * out->vector > 16))
    ptx_parser_fail(parser, parser->token.line, "vectors of .%s have no %u elements", ptx_type_text[out->type],
                    out->vector);
  if (!out->alignment)
    out->alignment = ptx_type_bytes[out->type] * out->vector;
}

/* [4][2], or [] for the first; the number of dimensions. */
static uint32_t declaration_dims(ptx_parser *parser, uint64_t *dims) {
  uint32_t count = 0;
  while (ptx_parser_take_sign(parser, '[')) {
    if (count == DIMS_MAX)
      ptx_parser_fail_here(parser, "an array of more than %d dimensions", DIMS_MAX);
    dims[count] = 0;
    if (!ptx_parser_at_sign(parser, ']')) {
      int64_t extent = ptx_expression_integer(parser, "an extent");
      if (extent <= 0 || (uint64_t)extent > GLOBAL_MAX)
        ptx_parser_fail_here(parser, "an extent of %lld", (long long)extent);
      dims[count] = (uint64_t)extent;
    } else if (count > 0) {
      ptx_parser_fail_here(parser, "only the first extent may be left out");
    }
    count++;
    ptx_parser_need_sign(parser, ']', "behind an extent");
  }
  return count;
}

static uint64_t space_most(ptx_space space) {
  switch (space) {
  case PTX_LOCAL: return LOCAL_MAX;
  case PTX_SHARED: return SHARED_MAX;
  case PTX_CONST: return CONST_MAX;
  case PTX_PARAM: return PARAMETERS_MAX;
  default: return GLOBAL_MAX;
  }
}

static uint64_t declaration_size(ptx_parser *parser, ptx_space space, const declaration *from, const uint64_t *dims,
                                 uint32_t count, const ptx_name *name) {
  uint64_t size = (uint64_t)ptx_type_bytes[from->type] * from->vector, most = space_most(space);
  bool open = count > 0 && dims[0] == 0;
  for (uint32_t i = open; i < count && size <= most; i++)
    size = dims[i] > most ? most + 1 : size * dims[i];
  if (size > most)
    ptx_parser_fail(parser, parser->token.line, "'%.200s' is larger than %llu bytes, the most that %s can have",
                    name->text, (unsigned long long)most, space_text(space));
  return open ? 0 : size;
}

static ptx_symbol *symbol_make(ptx_parser *parser, ptx_space space, const declaration *from, const ptx_name *name) {
  ptx_symbol *symbol = ptx_parser_take(parser, sizeof *symbol);
  symbol->name = name->text;
  symbol->space = space;
  symbol->type = from->type;
  symbol->alignment = from->alignment;
  symbol->vector = from->vector;
  symbol->managed = from->managed;
  symbol->pointer = from->pointer;
  symbol->pointee = from->pointee;
  symbol->pointer_alignment = from->pointer_alignment;
  symbol->function = parser->function;
  symbol->index = UINT32_MAX;
  return symbol;
}

/* A second declaration of a module's variable: one of them is only .extern, or both are .common. */
static void symbol_merge(ptx_parser *parser, ptx_symbol *old, const ptx_symbol *again, uint32_t line) {
  bool defines = again->linkage != PTX_LINKAGE_EXTERN, defined = old->linkage != PTX_LINKAGE_EXTERN;
  if (old->space != again->space || old->type != again->type)
    ptx_parser_fail(parser, line, "'%.200s' was declared as another variable before", old->name);
  if (defines && defined && !(old->linkage == PTX_LINKAGE_COMMON && again->linkage == PTX_LINKAGE_COMMON))
    ptx_parser_fail(parser, line, "'%.200s' is already defined", old->name);
  if (old->size && again->size && old->size != again->size && again->linkage != PTX_LINKAGE_COMMON)
    ptx_parser_fail(parser, line, "'%.200s' was declared with %llu bytes before, not %llu", old->name,
                    (unsigned long long)old->size, (unsigned long long)again->size);
  if (again->size > old->size)
    old->size = again->size;
  if (again->alignment > old->alignment)
    old->alignment = again->alignment;
  old->array |= again->array;
  old->managed |= again->managed;
  if (!defines || defined)
    return;
  old->linkage = again->linkage == PTX_LINKAGE_STATIC ? PTX_LINKAGE_VISIBLE : again->linkage;
  old->bytes = again->bytes;
  old->relocations = again->relocations;
  old->relocation_count = again->relocation_count;
}

static void symbol_check(ptx_parser *parser, const ptx_symbol *symbol, bool initialised, uint32_t line) {
  bool may = symbol->space == PTX_GLOBAL || symbol->space == PTX_CONST;
  if (initialised && (!may || symbol->linkage == PTX_LINKAGE_EXTERN || symbol->linkage == PTX_LINKAGE_COMMON))
    ptx_parser_fail(parser, line,
                    "'%.200s' cannot have an initialiser: only .global and .const variables that are "
                    "defined here can",
                    symbol->name);
  if (symbol->size == 0 &&
      !(symbol->linkage == PTX_LINKAGE_EXTERN &&
        (symbol->space == PTX_SHARED || symbol->space == PTX_GLOBAL || symbol->space == PTX_CONST)))
    ptx_parser_fail(parser, line, "'%.200s' has no extent and no initialiser", symbol->name);
  if (symbol->linkage != PTX_LINKAGE_STATIC && symbol->function && symbol->linkage != PTX_LINKAGE_EXTERN)
    ptx_parser_fail(parser, line, "'%.200s' is of a function: it cannot be .visible, .weak or .common", symbol->name);
  if (symbol->linkage == PTX_LINKAGE_COMMON && symbol->space != PTX_GLOBAL)
    ptx_parser_fail(parser, line, "'%.200s': .common is for .global variables", symbol->name);
}

/* Binds it and enters it into the lists. */
static void symbol_enter(ptx_parser *parser, ptx_symbol *symbol, ptx_name *name, uint32_t line) {
  ptx_binding *old = name->binding;
  if (!parser->function && old && old->kind == PTX_BOUND_SYMBOL) {
    symbol_merge(parser, old->symbol, symbol, line);
    return;
  }
  ptx_scope_bind(parser, name, PTX_BOUND_SYMBOL, line)->symbol = symbol;
  if (symbol->space != PTX_LOCAL && symbol->space != PTX_PARAM) {
    symbol->index = (uint32_t)parser->symbols.count;
    *(ptx_symbol **)ptx_parser_add(parser, &parser->symbols, sizeof symbol) = symbol;
  }
  if (parser->function)
    *(ptx_symbol **)ptx_parser_add(parser, &parser->locals, sizeof symbol) = symbol;
}

/* All that a body declares in a space must fit together. */
static void symbol_total(ptx_parser *parser, const ptx_symbol *symbol, uint32_t line) {
  uint64_t *total = symbol->space == PTX_LOCAL ? &parser->local_bytes : &parser->param_bytes;
  uint64_t most = symbol->space == PTX_LOCAL ? LOCAL_MAX : BODY_PARAMETERS_MAX;
  if (symbol->space != PTX_LOCAL && symbol->space != PTX_PARAM)
    return;
  *total += symbol->size + symbol->alignment;
  if (*total > most)
    ptx_parser_fail(parser, line, "the function's %s variables take more than %llu bytes", space_text(symbol->space),
                    (unsigned long long)most);
}

void ptx_variable_declare(ptx_parser *parser, ptx_space space, ptx_linkage linkage) {
  declaration from;
  if (!parser->function && (space == PTX_REG || space == PTX_LOCAL || space == PTX_PARAM))
    ptx_parser_fail_here(parser, "%s variables belong into functions", space_text(space));
  declaration_read(parser, space, &from);
  do {
    uint32_t line = parser->token.line;
    ptx_name *name = ptx_parser_need_word(parser, "the name of a variable");
    uint64_t dims[DIMS_MAX];
    uint32_t dim_count = declaration_dims(parser, dims);
    bool initialised = ptx_parser_take_sign(parser, '=');
    ptx_symbol *symbol = symbol_make(parser, space, &from, name);
    symbol->linkage = linkage;
    symbol->array = dim_count > 0;
    symbol->size = declaration_size(parser, space, &from, dims, dim_count, name);
    if (initialised) {
      ptx_initialiser_read(parser, symbol, dims, dim_count);
      symbol->size = declaration_size(parser, space, &from, dims, dim_count, name);
    }
    symbol_check(parser, symbol, initialised, line);
    symbol_total(parser, symbol, line);
    symbol_enter(parser, symbol, name, line);
  } while (ptx_parser_take_sign(parser, ','));
  ptx_parser_need_sign(parser, ';', "behind a declaration");
}

void ptx_variable_registers(ptx_parser *parser) {
  declaration from;
  declaration_read(parser, PTX_REG, &from);
  do {
    uint32_t line = parser->token.line;
    ptx_name *name = ptx_parser_need_word(parser, "the name of a register");
    if (ptx_parser_take_sign(parser, '<')) {
      uint32_t count = ptx_parser_need_number(parser, "a number of registers", 1, FAMILY_MAX);
      ptx_parser_need_sign(parser, '>', "behind the number of registers");
      ptx_scope_bind_family(parser, name, count, from.type, from.vector, line);
    } else {
      ptx_binding *binding = ptx_scope_bind(parser, name, PTX_BOUND_REGISTER, line);
      binding->reg = ptx_scope_register(parser, name->text, from.type, from.vector);
    }
  } while (ptx_parser_take_sign(parser, ','));
  ptx_parser_need_sign(parser, ';', "behind a declaration of registers");
}

static ptx_symbol *parameter_read(ptx_parser *parser, ptx_function *function, uint64_t *bytes, bool bind) {
  uint32_t line = parser->token.line, dim_count;
  uint64_t dims[DIMS_MAX];
  ptx_space space = ptx_variable_space(parser);
  declaration from;
  ptx_name *name;
  ptx_symbol *symbol;
  if (space != PTX_PARAM && (space != PTX_REG || function->entry))
    ptx_parser_fail_here(parser, "expected a .param%s", function->entry ? "" : " or .reg");
  declaration_read(parser, space, &from);
  name = ptx_parser_need_word(parser, "the name of a parameter");
  dim_count = declaration_dims(parser, dims);
  symbol = symbol_make(parser, space, &from, name);
  symbol->function = function;
  symbol->array = dim_count > 0;
  if (space == PTX_REG) {
    if (dim_count || from.vector > 1)
      ptx_parser_fail(parser, line, "a .reg parameter is one register");
    symbol->size = ptx_type_bytes[from.type];
  } else {
    symbol->size = declaration_size(parser, space, &from, dims, dim_count, name);
    if (symbol->size == 0 && function->entry)
      ptx_parser_fail(parser, line, "'%.200s' has no extent", name->text);
    symbol->offset = (*bytes + from.alignment - 1) / from.alignment * from.alignment;
    *bytes = symbol->offset + symbol->size;
    if (*bytes > PARAMETERS_MAX)
      ptx_parser_fail(parser, line, "the parameters of '%.200s' take more than %llu bytes",
                      function->name ? function->name : "a prototype", (unsigned long long)PARAMETERS_MAX);
  }
  if (strcmp(name->text, "_") == 0 || !bind)
    return symbol;
  if (space == PTX_REG) {
    ptx_binding *binding = ptx_scope_bind(parser, name, PTX_BOUND_REGISTER, line);
    binding->reg = ptx_scope_register(parser, name->text, from.type, 1);
    symbol->offset = binding->reg;
  } else {
    ptx_scope_bind(parser, name, PTX_BOUND_SYMBOL, line)->symbol = symbol;
  }
  return symbol;
}

void ptx_variable_parameters(ptx_parser *parser, ptx_function *function, ptx_symbol ***out, uint32_t *count,
                             uint64_t *bytes, bool bind) {
  size_t first = parser->locals.count;
  uint64_t used = 0;
  ptx_parser_need_sign(parser, '(', "before parameters");
  if (!ptx_parser_at_sign(parser, ')'))
    do {
      ptx_symbol *symbol = parameter_read(parser, function, &used, bind);
      *(ptx_symbol **)ptx_parser_add(parser, &parser->locals, sizeof symbol) = symbol;
    } while (ptx_parser_take_sign(parser, ','));
  ptx_parser_need_sign(parser, ')', "behind parameters");
  *count = (uint32_t)(parser->locals.count - first);
  *out = ptx_parser_keep(parser, &parser->locals, first, sizeof **out);
  *bytes = used;
}
