/* The parser's state and what its files ask of each other. Errors leave by longjmp to ptx_module_read: whatever a
   function took lies in the parser's lists and arenas, which are freed there. */
#ifndef SIM_PTX_PARSER_H
#define SIM_PTX_PARSER_H

#include <setjmp.h>

#include "lexer.h"
#include "list.h"

enum {
  PTX_SCOPES_MAX = 256,  /* { inside { */
  PTX_NESTING_MAX = 128, /* parentheses, braces of initialisers */
};

typedef enum {
  PTX_BOUND_REGISTER,
  PTX_BOUND_FAMILY,
  PTX_BOUND_SYMBOL,
  PTX_BOUND_FUNCTION,
  PTX_BOUND_LABEL,
  PTX_BOUND_TABLE,
} ptx_bound_kind;

/* What a name means in a scope. */
struct ptx_binding {
  ptx_name *name;
  ptx_binding *outer;   /* what the name means outside of this scope */
  ptx_binding *sibling; /* the one bound before it in the same scope */
  uint32_t depth;
  ptx_bound_kind kind;
  union {
    uint32_t reg, label;
    struct {
      uint32_t count, vector;
      ptx_type type;
    } family;
    ptx_symbol *symbol;
    ptx_function *function;
    ptx_table *table;
  };
};

/* A label that was named before it was seen. */
struct ptx_reference {
  ptx_reference *older; /* of the same name */
  ptx_name *name;
  uint32_t *label; /* where its index goes */
  uint32_t line;
  uint32_t order; /* counts all references of a function */
  bool found;
};

typedef struct {
  ptx_binding *bindings; /* last one first */
  uint32_t first_reference;
  uint32_t families;
} ptx_scope;

typedef struct {
  const char *name; /* of the label */
  uint32_t instruction;
} ptx_label;

/* .file */
typedef struct {
  uint64_t number;
  const char *path;
} ptx_file;

typedef struct ptx_parser {
  jmp_buf failed;
  int result;
  ptx_log *log;
  uint32_t text_number, text_count; /* which of the texts, from 1 */
  uint32_t newest, capability;

  ptx_lexer lexer;
  ptx_token token; /* the one to be read next */
  ptx_names names;
  ptx_arena *scratch; /* what is needed only while parsing */
  ptx_module *module;
  ptx_arena *arena; /* the module's */
  uint32_t nesting;

  ptx_scope scopes[PTX_SCOPES_MAX];
  uint32_t depth;          /* 0: of the module, 1: of the function */
  uint32_t deepest_family; /* scopes below this one have no families of registers */

  ptx_list symbols, functions; /* pointers; what becomes the module's */
  ptx_list sources;            /* ptx_source */
  ptx_list source_files;       /* uint64_t: the .file number of each source */
  ptx_list files;              /* ptx_file, of this text */
  uint32_t first_source;       /* of this text */
  uint32_t source;             /* in force */
  ptx_list aliases;            /* ptx_function *[2] */

  ptx_function *function; /* whose body is read; NULL outside */
  ptx_list instructions, registers, labels, locals, references;
  ptx_list operands; /* a stack: vectors in the making */
  uint64_t local_bytes, param_bytes;

  ptx_list initial; /* bytes of an initialiser */
  ptx_list relocations;
} ptx_parser;

/* ---- parser.c: tokens and failing ---- */

/* "ptx: line 12: <format>", 218. Line 0: it is of no line, but of all texts. */
_Noreturn void ptx_parser_fail(ptx_parser *parser, uint32_t line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same at the token, with ", read '...'" behind it. */
_Noreturn void ptx_parser_fail_here(ptx_parser *parser, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Any other result. */
_Noreturn void ptx_parser_fail_with(ptx_parser *parser, int result, uint32_t line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

void ptx_parser_advance(ptx_parser *parser);
bool ptx_parser_at_sign(const ptx_parser *parser, int sign);
bool ptx_parser_at_dot(const ptx_parser *parser, const char *word); /* the token is .word */
bool ptx_parser_at_word(const ptx_parser *parser, const char *word);
bool ptx_parser_take_sign(ptx_parser *parser, int sign);
bool ptx_parser_take_dot(ptx_parser *parser, const char *word);
/* Needs the sign; `behind` says where in the message. */
void ptx_parser_need_sign(ptx_parser *parser, int sign, const char *behind);
ptx_name *ptx_parser_need_word(ptx_parser *parser, const char *what);
uint32_t ptx_parser_need_number(ptx_parser *parser, const char *what, uint64_t least, uint64_t most);
/* Enters a nesting of the grammar; ptx_parser_leave leaves it. */
void ptx_parser_enter(ptx_parser *parser);
void ptx_parser_leave(ptx_parser *parser);

/* Memory of the module, or of the parser's own; never NULL. */
void *ptx_parser_take(ptx_parser *parser, size_t size);
void *ptx_parser_take_scratch(ptx_parser *parser, size_t size);
void *ptx_parser_add(ptx_parser *parser, ptx_list *list, size_t size);
/* The items from `first` on as an array in the arena; the list is cut there. NULL for none. */
void *ptx_parser_keep(ptx_parser *parser, ptx_list *list, size_t first, size_t size);

/* ---- scope.c ---- */
void ptx_scope_open(ptx_parser *parser);
void ptx_scope_close(ptx_parser *parser);
/* Binds in the innermost scope; a second meaning there fails. */
ptx_binding *ptx_scope_bind(ptx_parser *parser, ptx_name *name, ptx_bound_kind kind, uint32_t line);
void ptx_scope_bind_family(ptx_parser *parser, ptx_name *prefix, uint32_t count, ptx_type type, uint32_t vector,
                           uint32_t line);
/* What the name means, or NULL. A register of a family is made when it is first asked for. */
ptx_binding *ptx_scope_look(ptx_parser *parser, ptx_name *name);
/* A new register of the function. */
uint32_t ptx_scope_register(ptx_parser *parser, const char *name, ptx_type type, uint32_t vector);
void ptx_scope_label(ptx_parser *parser, ptx_name *name, uint32_t line);
/* *label becomes the index when the label is known. `label` must stay where it is. */
void ptx_scope_refer(ptx_parser *parser, ptx_name *name, uint32_t *label, uint32_t line);
/* At the end of a function: every label that was named has been seen. */
void ptx_scope_settle(ptx_parser *parser);

/* ---- expression.c ---- */
typedef struct {
  bool is_float, single, is_unsigned;
  uint64_t bits; /* of the integer, of the f32 where `single`, else of the f64 */
} ptx_value;

ptx_value ptx_expression_read(ptx_parser *parser);
/* Of an integer; a floating one fails. */
int64_t ptx_expression_integer(ptx_parser *parser, const char *what);
/* The value's bits as an element of `type` has them. */
uint64_t ptx_value_as(ptx_value value, ptx_type type);

/* ---- variable.c ---- */
/* A state space at the token, read: .global, .shared, ...; PTX_GENERIC where there is none. */
ptx_space ptx_variable_space(ptx_parser *parser);
/* Type, alignment, vector, names, dimensions, initialisers, `;` behind a space. */
void ptx_variable_declare(ptx_parser *parser, ptx_space space, ptx_linkage linkage);
/* .reg type names; */
void ptx_variable_registers(ptx_parser *parser);
/* ( parameter, ... ): new ones in *out; bound to their names where `bind`. */
void ptx_variable_parameters(ptx_parser *parser, ptx_function *function, ptx_symbol ***out, uint32_t *count,
                             uint64_t *bytes, bool bind);

/* ---- initialiser.c ---- */
/* Reads what stands behind `=`. dims[0] may be 0: it is found out. */
void ptx_initialiser_read(ptx_parser *parser, ptx_symbol *symbol, uint64_t *dims, uint32_t dim_count);

/* ---- function.c ---- */
void ptx_function_declare(ptx_parser *parser, ptx_linkage linkage, bool entry);
/* name: .callprototype ... ; the label has been read. */
ptx_table *ptx_function_table(ptx_parser *parser, ptx_name *name);
/* Whether two have the same parameters and returns, by size. */
bool ptx_function_same(const ptx_function *one, const ptx_function *other);

/* ---- body.c ---- */
void ptx_body_read(ptx_parser *parser, ptx_function *function);

/* ---- instruction.c, operand.c, call.c ---- */
void ptx_instruction_read(ptx_parser *parser);
void ptx_operand_read(ptx_parser *parser, ptx_operand *out);
void ptx_call_read(ptx_parser *parser, ptx_instruction *instruction);

/* ---- debug.c ---- */
/* .file, .loc, .section, .pragma; false where the token is none of them. */
bool ptx_debug_read(ptx_parser *parser);
/* At the end of a text: sources get the names of their files. */
void ptx_debug_settle(ptx_parser *parser);

/* ---- text.c ---- */
void ptx_text_read(ptx_parser *parser, const char *text, size_t length);

/* ---- link.c ---- */
void ptx_link(ptx_parser *parser);

#endif
