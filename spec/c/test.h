/* test.h: checks for the C test programs. A program ends with `return test_end();`. */
#ifndef XCHG_SPEC_TEST_H
#define XCHG_SPEC_TEST_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/error.h"

static int test_failures;
static int test_checks;

static inline void test_fail(const char *file, int line, const char *text) {
  /* A broken loop must not drown its first failure. */
  if (++test_failures <= 20)
    printf("%s:%d: %s\n", file, line, text);
}

#define CHECK(condition)                                                                                               \
  do {                                                                                                                 \
    test_checks++;                                                                                                     \
    if (!(condition))                                                                                                  \
      test_fail(__FILE__, __LINE__, #condition);                                                                       \
  } while (0)

#define CHECK_EQUAL(got, wanted)                                                                                       \
  do {                                                                                                                 \
    long long test_got = (long long)(got), test_wanted = (long long)(wanted);                                          \
    test_checks++;                                                                                                     \
    if (test_got != test_wanted) {                                                                                     \
      char test_text[256];                                                                                             \
      snprintf(test_text, sizeof test_text, "%s is %lld, not %lld", #got, test_got, test_wanted);                      \
      test_fail(__FILE__, __LINE__, test_text);                                                                        \
    }                                                                                                                  \
  } while (0)

#define CHECK_TEXT(got, wanted)                                                                                        \
  do {                                                                                                                 \
    const char *test_got = (got), *test_wanted = (wanted);                                                             \
    test_checks++;                                                                                                     \
    if (test_got == NULL || strcmp(test_got, test_wanted) != 0) {                                                      \
      char test_text[1200];                                                                                            \
      snprintf(test_text, sizeof test_text, "%s is\n  \"%.500s\", not\n  \"%.500s\"", #got,                            \
               test_got ? test_got : "(null)", test_wanted);                                                           \
      test_fail(__FILE__, __LINE__, test_text);                                                                        \
    }                                                                                                                  \
  } while (0)

/* `call` fails with `wanted_code`, and its message is `wanted_text`. It sees an empty `error`. */
#define CHECK_ERROR(call, wanted_code, wanted_text)                                                                    \
  do {                                                                                                                 \
    xchg_error error = {0};                                                                                            \
    CHECK_EQUAL((call), (wanted_code));                                                                                \
    CHECK_EQUAL(error.code, (wanted_code));                                                                            \
    CHECK_TEXT(error.message, (wanted_text));                                                                          \
  } while (0)

/* A generator with a fixed seed: failures repeat. */
static uint64_t test_state = 0x9e3779b97f4a7c15;
static inline uint64_t test_random(void) {
  test_state ^= test_state << 13;
  test_state ^= test_state >> 7;
  test_state ^= test_state << 17;
  return test_state;
}
/* 0 to below - 1 */
static inline int64_t test_below(int64_t below) {
  return (int64_t)(test_random() >> 11) % below;
}

static inline int test_end(void) {
  printf("%d checks, %d failures\n", test_checks, test_failures);
  return test_failures != 0;
}

#endif
