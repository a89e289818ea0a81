/* Any text as the format of a buffer, against a table of what struct's documentation says.
 *
 * libFuzzer: clang -fsanitize=fuzzer,address,undefined -Isrc -Ispec/c spec/c/buffer_format_fuzz.c src/core/(*).c
 * With XCHG_FUZZ_RUNS defined it is a program that makes that many inputs itself. */
#include "test.h"

#include <stdlib.h>

#include "exchange/buffer_format.c"

#define EXPECT(condition)                                                                                              \
  do {                                                                                                                 \
    if (!(condition)) {                                                                                                \
      printf("buffer_format_fuzz: %s\n", #condition);                                                                  \
      fflush(stdout);                                                                                                  \
      abort();                                                                                                         \
    }                                                                                                                  \
  } while (0)

/* Code, dtype's name, bytes natively, bytes in standard size. */
static const struct {
  const char *code, *name;
  int native, standard;
} truth[] = {
    {"?", "bool", 1, 1},      {"b", "int8", 1, 1},        {"B", "uint8", 1, 1},      {"c", "uint8", 1, 1},
    {"h", "int16", 2, 2},     {"H", "uint16", 2, 2},      {"i", "int32", 4, 4},      {"I", "uint32", 4, 4},
    {"l", "int64", 8, 4},     {"L", "uint64", 8, 4},      {"q", "int64", 8, 8},      {"Q", "uint64", 8, 8},
    {"n", "int64", 8, 0},     {"N", "uint64", 8, 0},      {"e", "float16", 2, 2},    {"f", "float32", 4, 4},
    {"d", "float64", 8, 8},   {"Ze", "complex32", 4, 4},  {"Zf", "complex64", 8, 8}, {"Zd", "complex128", 16, 16},
    {"F", "complex64", 8, 8}, {"D", "complex128", 16, 16}};

static int64_t told; /* formats that were read */

/* The dtype that the whole text means, where it is one number of that size; -1 where it is none. */
static int32_t expect(const char *text, int64_t itemsize) {
  int standard = *text != '\0' && strchr("=<>!", *text) != NULL, swapped = *text == '>' || *text == '!';
  if (*text == '@' || *text == '^' || standard)
    text++;
  if (*text == '1')
    text++;
  for (size_t i = 0; i < sizeof truth / sizeof *truth; i++) {
    const char *name = truth[i].name;
    int size = standard ? truth[i].standard : truth[i].native;
    if (strcmp(text, truth[i].code) != 0 || size == 0 || (swapped && size > 1))
      continue;
    if (standard && size == 4 && (*text == 'l' || *text == 'L')) { /* ctypes means the native one */
      if (itemsize == 4)
        name = *text == 'l' ? "int32" : "uint32";
      size = itemsize == 8 ? 8 : 4;
    }
    if (size != itemsize)
      return -1;
    for (int32_t dtype = 1; dtype < XCHG_DTYPE_COUNT; dtype++)
      if (strcmp(xchg_dtype_info(dtype)->name, name) == 0)
        return dtype;
  }
  return -1;
}

static int is_raw(const char *text) {
  text += *text != '\0' && strchr("@^=<>!", *text) != NULL;
  while (*text >= '0' && *text <= '9')
    text++;
  return *text != '\0' && text[1] == '\0' && strchr("bBcxs", *text) != NULL;
}

static void check(const char *text, int64_t itemsize, int32_t dtype) {
  int32_t out = -7, wanted = expect(text, itemsize);
  xchg_error err = {0};
  int code = xchg__buffer_format_read(&out, text, itemsize, dtype, "buffer", &err);
  EXPECT(code == err.code && (code == 0) == (out != -7));
  if (code != 0) {
    EXPECT(code == XCHG_E_DTYPE || code == XCHG_E_DESCRIPTOR);
    EXPECT(strncmp(err.message, "buffer: ", 8) == 0 && strlen(err.message) < 400);
    for (const char *at = err.message; *at != '\0'; at++)
      EXPECT(*at >= ' ' && *at <= '~');
  }
  told += code == 0;
  if (dtype == XCHG_DTYPE_NONE)
    EXPECT(code == 0 ? out == wanted : wanted < 0);
  else if (is_raw(text))
    EXPECT(code != 0 || (out == dtype && (itemsize == 1 || itemsize * 8 == xchg_dtype_info(dtype)->bits)));
  else
    EXPECT(code == 0 ? out == dtype && out == wanted : wanted != dtype);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const int64_t sizes[] = {1, 2, 4, 8, 16, 1, 2, 4, 8, 16, 1, 4, 8, 3, 0, -1, INT64_MAX, INT64_MIN, 12, 32};
  int64_t itemsize = size > 0 ? sizes[data[0] % (sizeof sizes / sizeof *sizes)] : 1;
  int32_t dtype = size > 1 && data[1] % 3 == 0 ? data[1] / 3 % XCHG_DTYPE_COUNT : XCHG_DTYPE_NONE;
  size_t length = size > 2 ? size - 2 : 0;
  char *text = malloc(length + 1); /* of exactly that size: a checker of memory sees a step too far */
  if (text == NULL)
    return 0;
  if (length > 0)
    memcpy(text, data + 2, length);
  text[length] = '\0';
  check(text, itemsize, dtype);
  free(text);
  return 0;
}

#ifdef XCHG_FUZZ_RUNS
int main(void) {
  static const char words[] = "?bBchHiIlLqQnNefdFDZZg@=<>!^0123xspuwOP&X{}T:(),t \n\xff";
  uint8_t bytes[64];
  CHECK(expect("d", 8) == XCHG_DTYPE_FLOAT64 && expect("=l", 4) == XCHG_DTYPE_INT32 && expect("<n", 8) < 0);
  for (int run = 0; run < XCHG_FUZZ_RUNS; run++) {
    size_t size = 2 + (size_t)(test_below(20) ? 1 + test_below(3) : test_below(60));
    bytes[0] = (uint8_t)test_random();
    bytes[1] = (uint8_t)test_random();
    for (size_t i = 2; i < size; i++)
      bytes[i] = test_below(50) ? (uint8_t)words[test_below(sizeof words - 1)] : (uint8_t)test_random();
    LLVMFuzzerTestOneInput(bytes, size);
    test_checks++;
  }
  CHECK(told > XCHG_FUZZ_RUNS / 100);
  return test_end();
}
#endif
