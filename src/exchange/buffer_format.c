#include "exchange/buffer_format.h"

#include <string.h>

_Static_assert(sizeof(long) == 8 && sizeof(size_t) == 8, "native sizes below are those of LP64");

enum { SHOWN = 40 /* bytes of a format in messages, with the NUL */ };

/* Dtypes by their letter, in the machine's own sizes: without a prefix, with '@' and '^'. */
static const uint8_t numbers[128] = {
    ['?'] = XCHG_DTYPE_BOOL,    ['b'] = XCHG_DTYPE_INT8,      ['B'] = XCHG_DTYPE_UINT8,      ['c'] = XCHG_DTYPE_UINT8,
    ['h'] = XCHG_DTYPE_INT16,   ['H'] = XCHG_DTYPE_UINT16,    ['i'] = XCHG_DTYPE_INT32,      ['I'] = XCHG_DTYPE_UINT32,
    ['l'] = XCHG_DTYPE_INT64,   ['L'] = XCHG_DTYPE_UINT64,    ['q'] = XCHG_DTYPE_INT64,      ['Q'] = XCHG_DTYPE_UINT64,
    ['n'] = XCHG_DTYPE_INT64,   ['N'] = XCHG_DTYPE_UINT64,    ['e'] = XCHG_DTYPE_FLOAT16,    ['f'] = XCHG_DTYPE_FLOAT32,
    ['d'] = XCHG_DTYPE_FLOAT64, ['F'] = XCHG_DTYPE_COMPLEX64, ['D'] = XCHG_DTYPE_COMPLEX128,
};

/* The same behind '=', '<', '>' and '!', where sizes are the same everywhere. */
static int32_t standard_number(char code) {
  switch (code) {
  case 'l': return XCHG_DTYPE_INT32;
  case 'L': return XCHG_DTYPE_UINT32;
  case 'n':
  case 'N': return XCHG_DTYPE_NONE;
  default: return numbers[(unsigned char)code & 127];
  }
}

/* Behind a 'Z'. */
static const struct {
  char code;
  uint8_t dtype;
} complexes[] = {{'e', XCHG_DTYPE_COMPLEX32}, {'f', XCHG_DTYPE_COMPLEX64}, {'d', XCHG_DTYPE_COMPLEX128}};

/* What else formats begin with, behind the prefix. */
static const struct {
  char code;
  const char *name, *cure;
} foreign[] = {
    {'T', "records", "pass one field as an array of its own (NumPy: x['field'])"},
    {'(', "arrays", "export them as further dimensions"},
    {'O', "Python objects", "convert them to numbers first"},
    {'P', "pointers", "pass what they point at"},
    {'&', "pointers", "pass what they point at"},
    {'z', "pointers", "pass what they point at"}, /* of ctypes: to text */
    {'X', "functions", "pass an array of numbers"},
    {'t', "bit fields", "convert them to bytes first"},
    {'g', "long doubles", "convert them to float64 first"},
    {'u', "text", "encode it first"},
    {'w', "text", "encode it first"},
    {'p', "Pascal strings", "take them from Python"},
};

/* The format for a message: cut to fit, and only what can be printed. */
static const char *shown(const char *format, char *out) {
  size_t n = 0;
  while (n < SHOWN - 1 && format[n] != '\0') {
    out[n] = format[n] >= ' ' && format[n] <= '~' ? format[n] : '?';
    n++;
  }
  out[n] = '\0';
  if (n == SHOWN - 1 && format[n] != '\0')
    memcpy(out + SHOWN - 4, "...", 4);
  return out;
}

static int bytes_of(int32_t dtype) {
  return xchg_dtype_info(dtype)->bits / 8;
}

/* Items of no type of their own. Bytes (`known`) are uint8 or int8 where nothing is said, and may be grouped. */
static int read_raw(int32_t *out, int32_t known, const char *text, int64_t itemsize, int32_t dtype, const char *from,
                    xchg_error *err) {
  const xchg_dtype *info = xchg_dtype_info(dtype);
  if (info == NULL && known == XCHG_DTYPE_NONE)
    return xchg__error_set(err, XCHG_E_DTYPE,
                           "%s: format '%s' does not say what its %lld-byte items are; pass the option dtype, or one "
                           "field where they are records or unions",
                           from, text, (long long)itemsize);
  if (info != NULL && itemsize != 1 && (info->bits % 8 != 0 || info->bits / 8 != itemsize))
    return xchg__error_set(err, XCHG_E_DTYPE,
                           "%s: format '%s' has items of %lld bytes, and %s has %d bits; pass a dtype of that size",
                           from, text, (long long)itemsize, info->name, info->bits);
  *out = info != NULL ? dtype : known;
  return 0;
}

static int read_number(int32_t *out, int32_t number, char code, const char *text, int64_t itemsize, int32_t dtype,
                       const char *from, xchg_error *err) {
  if (itemsize != bytes_of(number)) {
    /* ctypes says "<l" for the native long, and "B" for items that it has no format for. */
    if (code == 'l' && itemsize == 8)
      number = XCHG_DTYPE_INT64;
    else if (code == 'L' && itemsize == 8)
      number = XCHG_DTYPE_UINT64;
    else if (code == 'B')
      return read_raw(out, XCHG_DTYPE_NONE, text, itemsize, dtype, from, err);
    else
      return xchg__error_set(err, XCHG_E_DESCRIPTOR,
                             "%s: format '%s' means items of %d bytes, and itemsize is %lld; the exporter must agree "
                             "with itself (memoryview(x).cast changes the format)",
                             from, text, bytes_of(number), (long long)itemsize);
  }
  if (code == 'b' || code == 'B' || code == 'c')
    return read_raw(out, number, text, itemsize, dtype, from, err);
  if (dtype != XCHG_DTYPE_NONE && dtype != number)
    return xchg__error_set(err, XCHG_E_DTYPE,
                           "%s: the items are %s (format '%s'), and the option dtype, which names what raw bytes are, "
                           "casts nothing to %s; import without it, and cast or view() the tensor",
                           from, xchg_dtype_info(number)->name, text, xchg_dtype_info(dtype)->name);
  *out = number;
  return 0;
}

/* The dtype of one code, and what follows it in *rest; XCHG_DTYPE_NONE for what is no number. */
static int32_t find_number(const char *code, int standard, const char **rest) {
  if (*code == 'Z') {
    for (size_t i = 0; i < sizeof complexes / sizeof *complexes; i++)
      if (complexes[i].code == code[1]) {
        *rest = code + 2;
        return complexes[i].dtype;
      }
    return XCHG_DTYPE_NONE;
  }
  *rest = code + 1;
  if ((unsigned char)*code > 127)
    return XCHG_DTYPE_NONE;
  return standard ? standard_number(*code) : numbers[(unsigned char)*code];
}

static int refuse(const char *code, const char *text, const char *from, xchg_error *err) {
  if (code[0] == 'Z' && code[1] == 'g')
    code++;
  for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
    if (*code == foreign[i].code && *code != '\0')
      return xchg__error_set(err, XCHG_E_DTYPE, "%s: format '%s' means %s, which tensors do not hold; %s", from, text,
                             foreign[i].name, foreign[i].cure);
  return xchg__error_set(err, XCHG_E_DTYPE,
                         "%s: format '%s' is none that tensors have a dtype for; convert the array in its own library "
                         "first",
                         from, text);
}

int xchg__buffer_format_read(int32_t *out, const char *format, int64_t itemsize, int32_t dtype, const char *from,
                             xchg_error *err) {
  const char *at = format != NULL ? format : "B", *digits, *rest = "";
  char text[SHOWN];
  int standard, swapped, repeated;
  int32_t number;
  /* Nearly all formats that come are one letter. */
  if (at[0] != '\0' && at[1] == '\0' && dtype == XCHG_DTYPE_NONE &&
      (number = find_number(at, 0, &rest)) != XCHG_DTYPE_NONE && itemsize == bytes_of(number)) {
    *out = number;
    return 0;
  }
  shown(at, text);
  if (itemsize < 1)
    return xchg__error_set(err, XCHG_E_DESCRIPTOR,
                           "%s: itemsize is %lld (format '%s'); the exporter must give 1 or more", from,
                           (long long)itemsize, text);
  standard = *at != '\0' && strchr("=<>!", *at) != NULL;
  swapped = *at == '>' || *at == '!';
  if (standard || *at == '@' || *at == '^')
    at++;
  digits = at;
  while (*at >= '0' && *at <= '9')
    at++;
  repeated = at != digits && !(at == digits + 1 && *digits == '1');
  if ((*at == 'x' || *at == 's') && at[1] == '\0')
    return read_raw(out, XCHG_DTYPE_NONE, text, itemsize, dtype, from, err);
  if (*at == '\0')
    return refuse(at, text, from, err);
  number = find_number(at, standard, &rest);
  if (number == XCHG_DTYPE_NONE)
    return refuse(at, text, from, err);
  if (repeated || *rest != '\0')
    return xchg__error_set(err, XCHG_E_DTYPE,
                           "%s: format '%s' has several numbers in one item; export records field by field, and arrays "
                           "as further dimensions",
                           from, text);
  if (swapped && bytes_of(number) > 1)
    return xchg__error_set(err, XCHG_E_DTYPE,
                           "%s: format '%s' is big-endian; convert the array to the machine's byte order first (NumPy: "
                           "x.astype(x.dtype.newbyteorder('=')))",
                           from, text);
  return read_number(out, number, *at, text, itemsize, dtype, from, err);
}
