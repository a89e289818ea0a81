/* What an entry of PTX takes. Only the heads of entries are read, and only what is surely understood: a parameter that
 * is not makes the whole entry unknown. The text is hostile; nothing here reads past its end or keeps anything. */
#include "core/error.h"
#include "xchg.h"

#include <string.h>

enum { ALIGN_MOST = 4096, TEXT_MOST = INT32_MAX };

/* ---- tokens --------------------------------------------------------------------------------------- */

enum { TOKEN_END, TOKEN_WORD, TOKEN_DOT, TOKEN_STRING, TOKEN_MARK };

typedef struct {
  const char *text, *at, *end;
  int kind;
  const char *token; /* of TOKEN_DOT without the dot */
  size_t length;
} scanner;

/* Not ctype.h: no locale may change what a text means. */
static int is_follow(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' || c == '%';
}

static void scanner_skip(scanner *s) {
  while (s->at < s->end) {
    char c = *s->at, following = s->end - s->at > 1 ? s->at[1] : 0;
    if (c == ' ' || (c >= '\t' && c <= '\r')) {
      s->at++;
    } else if (c == '/' && following == '/') {
      const char *line = memchr(s->at, '\n', (size_t)(s->end - s->at));
      s->at = line != NULL ? line : s->end;
    } else if (c == '/' && following == '*') {
      s->at += 2;
      while (s->end - s->at >= 2 && !(s->at[0] == '*' && s->at[1] == '/'))
        s->at++;
      s->at = s->end - s->at >= 2 ? s->at + 2 : s->end;
    } else {
      return;
    }
  }
}

static void scanner_next(scanner *s) {
  scanner_skip(s);
  s->token = s->at;
  s->kind = TOKEN_END;
  s->length = 0;
  if (s->at >= s->end)
    return;
  if (is_follow(*s->at) || (*s->at == '.' && s->end - s->at > 1 && is_follow(s->at[1]))) {
    s->kind = *s->at == '.' ? TOKEN_DOT : TOKEN_WORD;
    s->token += s->kind == TOKEN_DOT;
    s->at = s->token;
    while (s->at < s->end && is_follow(*s->at))
      s->at++;
  } else if (*s->at == '"') {
    s->kind = TOKEN_STRING;
    s->at++;
    while (s->at < s->end && *s->at != '"' && *s->at != '\n')
      s->at++;
    if (s->at < s->end)
      s->at++;
  } else {
    s->kind = TOKEN_MARK;
    s->at++;
  }
  s->length = (size_t)(s->at - s->token);
}

/* What follows a NUL is not read by the driver either. */
static void scanner_open(scanner *s, const char *text, size_t size) {
  const char *end = size > 0 ? memchr(text, 0, size) : NULL;
  s->text = s->at = text;
  s->end = end != NULL ? end : text + size;
  scanner_next(s);
}

static int at_mark(const scanner *s, char mark) {
  return s->kind == TOKEN_MARK && *s->token == mark;
}

static int is_text(const scanner *s, int kind, const char *text) {
  return s->kind == kind && s->length == strlen(text) && memcmp(s->token, text, s->length) == 0;
}

static int take_mark(scanner *s, char mark) {
  if (!at_mark(s, mark))
    return 0;
  scanner_next(s);
  return 1;
}

static int take_dot(scanner *s, const char *text) {
  if (!is_text(s, TOKEN_DOT, text))
    return 0;
  scanner_next(s);
  return 1;
}

static int digit_value(char c) {
  if (c >= '0' && c <= '9')
    return c - '0';
  c |= 32;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
}

/* An integer literal that fits 31 bits. */
static int take_number(scanner *s, int32_t *out) {
  const char *at = s->token, *end = s->token + s->length;
  int64_t value = 0;
  int base = 10;
  if (s->kind != TOKEN_WORD || *at < '0' || *at > '9')
    return 0;
  if (*at == '0' && end - at > 1) {
    base = (at[1] | 32) == 'x' ? 16 : (at[1] | 32) == 'b' ? 2 : 8;
    at += base == 8 ? 1 : 2;
  }
  if (end - at > 1 && end[-1] == 'U')
    end--;
  if (at == end)
    return *s->token == '0' && end - s->token == 1;
  for (; at < end; at++) {
    int digit = digit_value(*at);
    if (digit >= base || (value = value * base + digit) > INT32_MAX)
      return 0;
  }
  *out = (int32_t)value;
  scanner_next(s);
  return 1;
}

/* ---- a parameter ---------------------------------------------------------------------------------- */

static const struct {
  char name[6];
  int8_t kind, size, is_signed;
} types[] = {
    {"u8", XCHG_CUDA_PARAMETER_INTEGER, 1, 0},  {"s8", XCHG_CUDA_PARAMETER_INTEGER, 1, 1},
    {"u16", XCHG_CUDA_PARAMETER_INTEGER, 2, 0}, {"s16", XCHG_CUDA_PARAMETER_INTEGER, 2, 1},
    {"u32", XCHG_CUDA_PARAMETER_INTEGER, 4, 0}, {"s32", XCHG_CUDA_PARAMETER_INTEGER, 4, 1},
    {"u64", XCHG_CUDA_PARAMETER_WORD, 8, 0},    {"s64", XCHG_CUDA_PARAMETER_INTEGER, 8, 1},
    {"f16", XCHG_CUDA_PARAMETER_FLOAT, 2, 0},   {"f32", XCHG_CUDA_PARAMETER_FLOAT, 4, 0},
    {"f64", XCHG_CUDA_PARAMETER_FLOAT, 8, 0},   {"b8", XCHG_CUDA_PARAMETER_BITS, 1, 0},
    {"b16", XCHG_CUDA_PARAMETER_BITS, 2, 0},    {"b32", XCHG_CUDA_PARAMETER_BITS, 4, 0},
    {"b64", XCHG_CUDA_PARAMETER_BITS, 8, 0},    {"b128", XCHG_CUDA_PARAMETER_BITS, 16, 0},
};

static int take_type(scanner *s, xchg_cuda_parameter *out) {
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (take_dot(s, types[i].name)) {
      out->kind = types[i].kind;
      out->size = types[i].size;
      out->is_signed = types[i].is_signed;
      return 1;
    }
  return 0;
}

static int take_align(scanner *s, int32_t *out) {
  return take_number(s, out) && *out > 0 && *out <= ALIGN_MOST && (*out & (*out - 1)) == 0;
}

/* NULL, or what is wrong with it. */
static const char *take_parameter(scanner *s, xchg_cuda_parameter *out) {
  int32_t lanes = 1, marked = 0, arrays = 0;
  memset(out, 0, sizeof *out);
  if (!take_dot(s, "param"))
    return "a parameter that is not in .param";
  for (; s->kind == TOKEN_DOT && out->kind == 0;) {
    if (take_dot(s, "align")) {
      if (out->align != 0 || !take_align(s, &out->align))
        return "an alignment that is none";
    } else if (take_dot(s, "v2")) {
      lanes = 2;
    } else if (take_dot(s, "v4")) {
      lanes = 4;
    } else if (!take_type(s, out)) {
      return "a parameter of a type that cannot be passed";
    }
  }
  if (out->kind == 0)
    return "a parameter without a type";
  if (take_dot(s, "ptr")) {
    marked = 1;
    if (!take_dot(s, "global") && !take_dot(s, "const") && !take_dot(s, "shared") && !take_dot(s, "local"))
      take_dot(s, "generic");
    if (take_dot(s, "align") && !take_align(s, &out->pointee_align))
      return "an alignment that is none";
  }
  if (s->kind != TOKEN_WORD || (*s->token >= '0' && *s->token <= '9'))
    return "a parameter without a name";
  out->name_at = (int32_t)(s->token - s->text);
  out->name_length = (int32_t)s->length;
  scanner_next(s);
  if (lanes > 1 || at_mark(s, '['))
    out->kind = XCHG_CUDA_PARAMETER_BYTES;
  if (out->align == 0)
    out->align = out->size * lanes;
  for (; take_mark(s, '['); arrays++) {
    int32_t count = 0;
    if (!take_number(s, &count) || count <= 0 || !take_mark(s, ']'))
      return "an array without a size in plain digits";
    if ((int64_t)out->size * count > XCHG_CUDA_PARAMETER_MOST)
      return "an array above what a kernel takes";
    out->size *= count;
  }
  out->size *= lanes;
  if (marked) {
    if (out->size != 8 || arrays > 0 || lanes > 1)
      return "a pointer that has not 64 bits";
    out->kind = XCHG_CUDA_PARAMETER_POINTER;
  }
  if (out->kind != XCHG_CUDA_PARAMETER_INTEGER)
    out->is_signed = 0;
  return NULL;
}

/* ---- an entry ------------------------------------------------------------------------------------- */

/* Behind the "(": the count, or -1 with what is wrong. */
static int32_t take_parameters(scanner *s, xchg_cuda_entry *entry, xchg_cuda_parameter *out, int32_t room,
                               const char **wrong) {
  int32_t count = 0, offset = 0;
  *wrong = NULL;
  if (take_mark(s, ')'))
    return 0;
  do {
    xchg_cuda_parameter one;
    if ((*wrong = take_parameter(s, &one)) != NULL)
      return -1;
    offset = (offset + one.align - 1) & -one.align;
    one.offset = offset;
    offset += one.size;
    if (offset > XCHG_CUDA_PARAMETER_MOST) {
      *wrong = "more than 32764 bytes of parameters";
      return -1;
    }
    if (count < room)
      out[count] = one;
    count++;
  } while (take_mark(s, ','));
  if (!take_mark(s, ')'))
    *wrong = "a list of parameters that does not end";
  entry->bytes = offset;
  return *wrong != NULL ? -1 : count;
}

/* Up to three numbers; those that are not written are 1. */
static const char *take_extents(scanner *s, int32_t *out) {
  int i = 0;
  do {
    if (i == 3 || !take_number(s, &out[i++]))
      return "a directive without its numbers";
  } while (take_mark(s, ','));
  while (i < 3)
    out[i++] = 1;
  return NULL;
}

static const char *take_one(scanner *s, int32_t *out) {
  return take_number(s, out) ? NULL : "a directive without its number";
}

/* Behind the parameters, up to the body. */
static const char *take_directives(scanner *s, xchg_cuda_entry *entry) {
  const char *wrong = NULL;
  while (wrong == NULL && !at_mark(s, '{') && !at_mark(s, ';'))
    if (take_dot(s, "maxntid"))
      wrong = take_extents(s, entry->max_threads);
    else if (take_dot(s, "reqntid"))
      wrong = take_extents(s, entry->required_threads);
    else if (take_dot(s, "reqnctapercluster"))
      wrong = take_extents(s, entry->required_cluster);
    else if (take_dot(s, "maxclusterrank"))
      wrong = take_one(s, &entry->max_cluster);
    else if (take_dot(s, "minnctapersm"))
      wrong = take_one(s, &entry->min_blocks);
    else if (take_dot(s, "maxnreg"))
      wrong = take_one(s, &entry->max_registers);
    else if (take_dot(s, "explicitcluster"))
      entry->explicit_cluster = 1;
    else if (s->kind == TOKEN_END)
      wrong = "neither a body nor an end";
    else
      scanner_next(s);
  return wrong;
}

/* Goes on to the name of the next entry outside of any braces. */
static int next_entry(scanner *s) {
  int64_t depth = 0;
  for (; s->kind != TOKEN_END; scanner_next(s)) {
    if (at_mark(s, '{')) {
      depth++;
    } else if (at_mark(s, '}')) {
      depth -= depth > 0;
    } else if (depth == 0 && is_text(s, TOKEN_DOT, "entry")) {
      scanner_next(s);
      if (s->kind == TOKEN_WORD)
        return 1;
    }
  }
  return 0;
}

static int check_text(const char *ptx, size_t size, xchg_error *err) {
  if (ptx == NULL || size > TEXT_MOST)
    return xchg__error_set(err, XCHG_E_ARGUMENT, "signature: a PTX text of %zu bytes cannot be read; the most are %d",
                           size, (int)TEXT_MOST);
  return 0;
}

int32_t xchg_cuda_signature_parse(xchg_cuda_entry *entry, xchg_cuda_parameter *out, int32_t room, const char *ptx,
                                  size_t size, const char *name, xchg_error *err) {
  scanner s;
  int code = check_text(ptx, size, err);
  memset(entry, 0, sizeof *entry);
  if (code != 0)
    return code;
  scanner_open(&s, ptx, size);
  while (next_entry(&s)) {
    const char *wrong = NULL;
    int32_t count = 0;
    if (!is_text(&s, TOKEN_WORD, name))
      continue;
    scanner_next(&s);
    if (take_mark(&s, '('))
      count = take_parameters(&s, entry, out, room, &wrong);
    if (wrong == NULL)
      wrong = take_directives(&s, entry);
    if (wrong == NULL)
      return count;
    return xchg__error_set(err, XCHG_E_ARGUMENT, "signature: the PTX of kernel '%.200s' has %s, near '%.*s'", name,
                           wrong, (int)(s.length < 40 ? s.length : 40), s.token);
  }
  return xchg__error_set(err, XCHG_E_ARGUMENT, "signature: the PTX has no kernel '%.400s'", name);
}

int32_t xchg_cuda_signature_entries(xchg_cuda_span *out, int32_t room, const char *ptx, size_t size, xchg_error *err) {
  scanner s;
  int32_t count = 0;
  int code = check_text(ptx, size, err);
  if (code != 0)
    return code;
  scanner_open(&s, ptx, size);
  while (next_entry(&s)) {
    if (count < room) {
      out[count].at = (int32_t)(s.token - s.text);
      out[count].length = (int32_t)s.length;
    }
    count++;
  }
  return count;
}
