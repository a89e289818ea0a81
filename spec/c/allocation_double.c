/* allocation_double: preloaded, it lets the n-th allocation of the core fail, and of nobody else. */
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

static const char *low, *high; /* of the core in memory */
static long fail_at = -1;      /* counts down with each allocation of the core; 0 is the one that fails */
static long failed;

/* The core is the object that `inside` is an address of, up to `size` bytes behind its beginning. */
EXPORT int allocation_watch(void *inside, size_t size) {
  Dl_info info;
  if (dladdr(inside, &info) == 0)
    return -1;
  low = info.dli_fbase;
  high = low + size;
  return 0;
}

/* From now on: the allocation number `at` (0 is the next) fails; -1: none. How many have failed since the last call. */
EXPORT long allocation_fail(long at) {
  long before = failed;
  failed = 0;
  fail_at = at;
  return before;
}

static int fails(const void *caller) {
  if (fail_at < 0 || (const char *)caller < low || (const char *)caller >= high || fail_at-- > 0)
    return 0;
  failed++;
  errno = ENOMEM;
  return 1;
}

static void *next(const char *name) {
  void *function = dlsym(RTLD_NEXT, name);
  if (function == NULL)
    abort();
  return function;
}

/* ISO C has no conversion from a data pointer to a function's. */
#define NEXT(name, result, ...)                                                                                        \
  static union {                                                                                                       \
    void *data;                                                                                                        \
    result (*function)(__VA_ARGS__);                                                                                   \
  } real;                                                                                                              \
  if (real.data == NULL)                                                                                               \
  real.data = next(name)

EXPORT void *malloc(size_t size) {
  NEXT("malloc", void *, size_t);
  return fails(__builtin_return_address(0)) ? NULL : real.function(size);
}

EXPORT void *realloc(void *block, size_t size) {
  NEXT("realloc", void *, void *, size_t);
  return fails(__builtin_return_address(0)) ? NULL : real.function(block, size);
}

/* dlsym itself may ask for cleared memory before there is anything to give it with: it does without. */
EXPORT void *calloc(size_t count, size_t size) {
  static int looking;
  static union {
    void *data;
    void *(*function)(size_t, size_t);
  } real;
  if (real.data == NULL) {
    if (looking)
      return NULL;
    looking = 1;
    real.data = next("calloc");
  }
  return fails(__builtin_return_address(0)) ? NULL : real.function(count, size);
}

EXPORT int posix_memalign(void **out, size_t alignment, size_t size) {
  NEXT("posix_memalign", int, void **, size_t, size_t);
  return fails(__builtin_return_address(0)) ? ENOMEM : real.function(out, alignment, size);
}
