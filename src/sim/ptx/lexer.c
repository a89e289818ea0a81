/* Tokens of PTX. */
#include "lexer.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

enum { SPACE = 1, LETTER = 2, DIGIT = 4, HEX = 8, FOLLOW = 16 };

/* Not ctype.h: no locale may change what a PTX text means. */
static unsigned class_of(char c) {
  if (c >= '0' && c <= '9')
    return DIGIT | HEX | FOLLOW;
  if ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'))
    return LETTER | HEX | FOLLOW;
  if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))
    return LETTER | FOLLOW;
  if (c == '_' || c == '$')
    return FOLLOW;
  if (c == ' ' || (c >= '\t' && c <= '\r'))
    return SPACE;
  return 0;
}

static char peek(const ptx_lexer *lexer, size_t ahead) {
  return (size_t)(lexer->end - lexer->at) > ahead ? lexer->at[ahead] : 0;
}

const char *ptx_lexer_skip(ptx_lexer *lexer) {
  while (lexer->at < lexer->end) {
    char c = *lexer->at;
    if (c == '\n') {
      lexer->line++;
      lexer->at++;
    } else if (class_of(c) & SPACE) {
      lexer->at++;
    } else if (c == '/' && peek(lexer, 1) == '/') {
      const char *end = memchr(lexer->at, '\n', (size_t)(lexer->end - lexer->at));
      lexer->at = end ? end : lexer->end;
    } else if (c == '/' && peek(lexer, 1) == '*') {
      uint32_t lines = 0;
      const char *at = lexer->at + 2;
      for (;; at++) {
        if (lexer->end - at < 2)
          return "a comment that does not end";
        if (at[0] == '*' && at[1] == '/')
          break;
        lines += at[0] == '\n';
      }
      lexer->at = at + 2;
      lexer->line += lines;
    } else {
      break;
    }
  }
  return NULL;
}

static void token_name(ptx_lexer *lexer, ptx_token *token, const char *text, size_t length) {
  token->name = ptx_names_take(lexer->names, text, length);
  if (!token->name) {
    lexer->out_of_memory = true;
    token->kind = PTX_TOKEN_WRONG;
    token->wrong = "a name for which there is no memory";
  }
}

static void token_wrong(ptx_token *token, const char *why) {
  token->kind = PTX_TOKEN_WRONG;
  token->wrong = why;
}

static const char *follow_end(const ptx_lexer *lexer, const char *at) {
  while (at < lexer->end && class_of(*at) & FOLLOW)
    at++;
  return at;
}

static unsigned digit_value(char c) {
  return c <= '9' ? (unsigned)(c - '0') : (unsigned)((c | 32) - 'a') + 10;
}

/* Hexadecimal digits from `at`: how many, and their value. */
static size_t hex_digits(const char *at, const char *end, uint64_t *value) {
  const char *start = at;
  *value = 0;
  for (; at < end && class_of(*at) & HEX; at++)
    *value = *value << 4 | digit_value(*at);
  return (size_t)(at - start);
}

/* Decimal floating literals: the "C" locale's, whatever the process has set. */
static void token_decimal(ptx_token *token) {
  locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  char copy[128], *end;
  double value;
  if (!plain || token->length >= sizeof copy) {
    if (plain)
      freelocale(plain);
    token_wrong(token, "a floating literal that is too long");
    return;
  }
  memcpy(copy, token->text, token->length);
  copy[token->length] = 0;
  value = strtod_l(copy, &end, plain);
  freelocale(plain);
  if (*end) {
    token_wrong(token, "a number that is none");
    return;
  }
  memcpy(&token->bits, &value, sizeof value);
  token->kind = PTX_TOKEN_FLOAT;
}

/* digits[.digits][e[+-]digits] from lexer->at; whether there was a point or an exponent. */
static bool decimal_end(const ptx_lexer *lexer, const char **out) {
  const char *at = lexer->at;
  bool floating = false;
  while (at < lexer->end && class_of(*at) & DIGIT)
    at++;
  if (at < lexer->end && *at == '.') {
    floating = true;
    at++;
    while (at < lexer->end && class_of(*at) & DIGIT)
      at++;
  }
  if (at < lexer->end && (*at == 'e' || *at == 'E')) {
    const char *exponent = at + 1;
    if (exponent < lexer->end && (*exponent == '+' || *exponent == '-'))
      exponent++;
    if (exponent < lexer->end && class_of(*exponent) & DIGIT) {
      floating = true;
      for (at = exponent; at < lexer->end && class_of(*at) & DIGIT; at++) {
      }
    }
  }
  *out = at;
  return floating;
}

/* 0f and 8, 0d and 16 hexadecimal digits. */
static bool token_exact(ptx_lexer *lexer, ptx_token *token) {
  char kind = (char)(peek(lexer, 1) | 32);
  size_t wanted = kind == 'f' ? 8 : 16;
  if (peek(lexer, 0) != '0' || (kind != 'f' && kind != 'd'))
    return false;
  token->kind = PTX_TOKEN_FLOAT;
  token->single = kind == 'f';
  if (hex_digits(lexer->at + 2, lexer->end, &token->bits) != wanted)
    token_wrong(token, "a floating literal without its 8 (0f) or 16 (0d) hexadecimal digits");
  lexer->at = follow_end(lexer, lexer->at + 2);
  token->length = (size_t)(lexer->at - token->text);
  return true;
}

static void token_integer(ptx_lexer *lexer, ptx_token *token, const char *end) {
  const char *at = lexer->at;
  uint64_t base = 10, value = 0;
  if (end - at > 1 && *at == '0') {
    char mark = (char)(at[1] | 32);
    base = mark == 'x' ? 16 : mark == 'b' ? 2 : 8;
    at += base == 8 ? 1 : 2;
  }
  token->kind = PTX_TOKEN_INTEGER;
  if (end - at > 1 && (end[-1] == 'U' || end[-1] == 'u')) {
    token->is_unsigned = true;
    end--;
  }
  if (at == end)
    token_wrong(token, "a number without digits");
  for (; at < end; at++) {
    unsigned digit = class_of(*at) & HEX ? digit_value(*at) : 99;
    if (digit >= base) {
      token_wrong(token, "a number with a character that it cannot have");
      return;
    }
    if (value > (UINT64_MAX - digit) / base) {
      token_wrong(token, "an integer above 64 bits");
      return;
    }
    value = value * base + digit;
  }
  token->bits = value;
  if (value > INT64_MAX)
    token->is_unsigned = true;
}

static void token_number(ptx_lexer *lexer, ptx_token *token) {
  const char *end;
  bool floating;
  if (token_exact(lexer, token))
    return;
  floating = decimal_end(lexer, &end);
  if (!floating)
    end = follow_end(lexer, lexer->at);
  token->length = (size_t)(end - token->text);
  if (floating && end < lexer->end && class_of(*end) & FOLLOW)
    token_wrong(token, "a number with a character that it cannot have");
  else if (floating)
    token_decimal(token);
  else
    token_integer(lexer, token, end);
  lexer->at = end;
}

static void token_string(ptx_lexer *lexer, ptx_token *token) {
  const char *at = lexer->at + 1;
  while (at < lexer->end && *at != '"' && *at != '\n')
    at += *at == '\\' && lexer->end - at > 1 && at[1] != '\n' ? 2 : 1;
  if (at >= lexer->end || *at != '"') {
    token_wrong(token, "a string that does not end");
    lexer->at = at;
    return;
  }
  token->kind = PTX_TOKEN_STRING;
  token->text = lexer->at + 1;
  token->length = (size_t)(at - token->text);
  lexer->at = at + 1;
}

static void token_sign(ptx_lexer *lexer, ptx_token *token) {
  static const char doubles[][2] = {{'<', '<'}, {'>', '>'}, {'<', '='}, {'>', '='},
                                    {'=', '='}, {'!', '='}, {'&', '&'}, {'|', '|'}};
  char c = peek(lexer, 0), next = peek(lexer, 1);
  token->kind = PTX_TOKEN_SIGN;
  token->sign = c;
  token->length = 1;
  for (size_t i = 0; i < sizeof doubles / sizeof *doubles; i++)
    if (c == doubles[i][0] && next == doubles[i][1]) {
      token->sign = PTX_SIGN2(c, next);
      token->length = 2;
    }
  if (!c || !strchr("{}()[],;:=+-*/%&|^~!<>?@", c))
    token_wrong(token, c == '#' ? "a preprocessor line, which is not supported" : "a character that PTX has not");
  lexer->at += token->length;
}

void ptx_lexer_next(ptx_lexer *lexer, ptx_token *token) {
  bool behind_value = token->kind == PTX_TOKEN_INTEGER || token->kind == PTX_TOKEN_FLOAT ||
                      (token->kind == PTX_TOKEN_SIGN && token->sign == ')');
  const char *wrong = ptx_lexer_skip(lexer);
  char c = peek(lexer, 0), next = peek(lexer, 1);
  *token = (ptx_token){.line = lexer->line, .text = lexer->at};
  if (wrong) {
    token_wrong(token, wrong);
  } else if (lexer->at == lexer->end) {
    token->kind = PTX_TOKEN_END;
  } else if (class_of(c) & LETTER || c == '_' || c == '$' || (c == '%' && class_of(next) & FOLLOW && !behind_value)) {
    token->kind = PTX_TOKEN_WORD;
    lexer->at = follow_end(lexer, lexer->at + 1);
    token->length = (size_t)(lexer->at - token->text);
    token_name(lexer, token, token->text, token->length);
  } else if (c == '.' && class_of(next) & FOLLOW) {
    token->kind = PTX_TOKEN_DOT;
    lexer->at = follow_end(lexer, lexer->at + 1);
    while (peek(lexer, 0) == ':' && peek(lexer, 1) == ':' && class_of(peek(lexer, 2)) & FOLLOW)
      lexer->at = follow_end(lexer, lexer->at + 2);
    token->length = (size_t)(lexer->at - token->text);
    token_name(lexer, token, token->text + 1, token->length - 1);
  } else if (class_of(c) & DIGIT) {
    token_number(lexer, token);
  } else if (c == '"') {
    token_string(lexer, token);
  } else {
    token_sign(lexer, token);
  }
}

void ptx_lexer_stretch(ptx_lexer *lexer, ptx_token *token) {
  const char *at = lexer->at;
  if (peek(lexer, 0) != '.')
    return;
  while (at < lexer->end && (class_of(*at) & FOLLOW || *at == '.' || *at == ':'))
    at++;
  lexer->at = at;
  token->length = (size_t)(at - token->text);
  token_name(lexer, token, token->text, token->length);
}
