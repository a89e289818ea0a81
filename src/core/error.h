/* error.h: the library's error codes, from one list, and the struct that carries a failure. */
#ifndef XCHG_CORE_ERROR_H
#define XCHG_CORE_ERROR_H

#include "xchg.h"

/* X(ENUM, number, "name"): `name` is the error object's `code` in Lua. Numbers stay for ever. */
#define XCHG_ERRORS(X)                                                                                                 \
  X(MEMORY, -1, "out_of_memory")                                                                                       \
  X(ARGUMENT, -2, "bad_argument")                                                                                      \
  X(TYPE, -3, "wrong_type")                                                                                            \
  X(RANGE, -4, "out_of_range")                                                                                         \
  X(RELEASED, -5, "released")                                                                                          \
  X(READONLY, -6, "readonly")                                                                                          \
  X(DTYPE, -7, "unsupported_dtype")                                                                                    \
  X(DEVICE, -8, "unsupported_device")                                                                                  \
  X(VERSION, -9, "unsupported_version")                                                                                \
  X(DESCRIPTOR, -10, "bad_descriptor")                                                                                 \
  X(CAPSULE, -11, "bad_capsule")                                                                                       \
  X(ABSENT, -12, "no_protocol")                                                                                        \
  X(REFUSED, -13, "refused")                                                                                           \
  X(SHAPE, -14, "shape_mismatch")                                                                                      \
  X(NOT_VIEWABLE, -15, "not_viewable")                                                                                 \
  X(PYTHON, -16, "python")                                                                                             \
  X(NO_PYTHON, -17, "no_python")                                                                                       \
  X(FORKED, -18, "forked")                                                                                             \
  X(REENTRY, -19, "reentry")                                                                                           \
  X(LUAJIT, -20, "unsupported_luajit")                                                                                 \
  X(CUDA, -21, "cuda")                                                                                                 \
  X(NO_CUDA, -22, "no_cuda")                                                                                           \
  X(COMPILE, -23, "compile")                                                                                           \
  X(CAPTURE, -24, "capturing")                                                                                         \
  X(LAYOUT, -25, "unsupported_layout")

enum {
#define XCHG_ERROR_ENUM(name, number, text) XCHG_E_##name = (number),
  XCHG_ERRORS(XCHG_ERROR_ENUM)
#undef XCHG_ERROR_ENUM
};

/* Writes code and message unless `err` is NULL or holds an error already (the first one wins).
 * Returns `code`, so that a failing function ends with `return xchg__error_set(err, ...)`. */
int xchg__error_set(xchg_error *err, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* After a failure whose code was not returned: the code that it wrote; `unknown` where `err` is NULL. */
static inline int xchg__error_code(const xchg_error *err, int unknown) {
  return err != NULL && err->code != 0 ? err->code : unknown;
}

#endif
