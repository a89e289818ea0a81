/* nvrtc.h: NVIDIA's runtime compiler, found and opened once in a process. Needs no GPU and no driver. */
#ifndef XCHG_CUDA_NVRTC_H
#define XCHG_CUDA_NVRTC_H

#include <stddef.h>

#include "core/error.h"

/* R: must be there. O: NULL where it is not; the comment says since when it exists. */
#define XCHG_NVRTC_SYMBOLS(R, O)                                                                                       \
  R(int, nvrtcVersion, (int *, int *))                                                                                 \
  R(const char *, nvrtcGetErrorString, (int))                                                                          \
  R(int, nvrtcGetNumSupportedArchs, (int *))                                                                           \
  R(int, nvrtcGetSupportedArchs, (int *))                                                                              \
  R(int, nvrtcCreateProgram, (void **, const char *, const char *, int, const char *const *, const char *const *))     \
  R(int, nvrtcDestroyProgram, (void **))                                                                               \
  R(int, nvrtcAddNameExpression, (void *, const char *))                                                               \
  R(int, nvrtcGetLoweredName, (void *, const char *, const char **))                                                   \
  R(int, nvrtcCompileProgram, (void *, int, const char *const *))                                                      \
  R(int, nvrtcGetPTXSize, (void *, size_t *))                                                                          \
  R(int, nvrtcGetPTX, (void *, char *))                                                                                \
  R(int, nvrtcGetCUBINSize, (void *, size_t *))                                                                        \
  R(int, nvrtcGetCUBIN, (void *, char *))                                                                              \
  R(int, nvrtcGetProgramLogSize, (void *, size_t *))                                                                   \
  R(int, nvrtcGetProgramLog, (void *, char *))                                                                         \
  O(int, nvrtcSetFlowCallback, (void *, int (*)(void *, void *), void *)) /* 12.9 */

typedef struct {
#define FUNCTION(result, name, arguments) result(*name) arguments;
  XCHG_NVRTC_SYMBOLS(FUNCTION, FUNCTION)
#undef FUNCTION
} xchg__nvrtc_table;
extern xchg__nvrtc_table xchg__nvrtc;

enum { XCHG_NVRTC_INVALID_OPTION = 5 };

/* 0 where xchg_nvrtc_open has found one. */
int xchg__nvrtc_ready(xchg_error *err);
/* What tells this compiler and its headers from others: version, size and time of its files. Static. */
const char *xchg__nvrtc_identity(void);

#endif
