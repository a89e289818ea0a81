/* From characters to tokens. The lexer never fails: what is no token is one of kind WRONG, with a text that says
   why. */
#ifndef SIM_PTX_LEXER_H
#define SIM_PTX_LEXER_H

#include "names.h"

typedef enum {
  PTX_TOKEN_END,
  PTX_TOKEN_WORD,    /* identifier: name */
  PTX_TOKEN_DOT,     /* .word: name, without the dot */
  PTX_TOKEN_INTEGER, /* bits, is_unsigned */
  PTX_TOKEN_FLOAT,   /* bits, single */
  PTX_TOKEN_STRING,  /* text between the quotes, as it stands there */
  PTX_TOKEN_SIGN,    /* sign: a character, or two as PTX_SIGN2('<', '<') */
  PTX_TOKEN_WRONG,   /* wrong */
} ptx_token_kind;

#define PTX_SIGN2(a, b) ((a) | (b) << 8)

typedef struct {
  ptx_token_kind kind;
  uint32_t line;
  const char *text; /* borrowed from the source */
  size_t length;
  ptx_name *name;
  uint64_t bits;
  bool is_unsigned, single;
  int sign;
  const char *wrong; /* static */
} ptx_token;

typedef struct {
  const char *at, *end;
  uint32_t line;
  ptx_names *names; /* borrowed */
  bool out_of_memory;
} ptx_lexer;

/* Reads the next token over `token`, whose kind it asks first: behind a value a `%` is the remainder, elsewhere it
   begins a name. */
void ptx_lexer_next(ptx_lexer *lexer, ptx_token *token);

/* Stretches a WORD that opens an instruction over the modifiers that follow without a space: "mul.wide.s32". */
void ptx_lexer_stretch(ptx_lexer *lexer, ptx_token *token);

/* Skips white space and comments. NULL; or static text: what is wrong with them. */
const char *ptx_lexer_skip(ptx_lexer *lexer);

#endif
