/* runtime.h: the functions of the CUDA runtime and driver that were opened, and what is known of them.
 *
 * Nobody calls through these tables before xchg__cuda_ready has answered 0. */
#ifndef XCHG_CUDA_RUNTIME_H
#define XCHG_CUDA_RUNTIME_H

#include "core/error.h"
#include "cuda/symbols.h"

typedef struct {
#define FUNCTION(result, name, arguments) result(*name) arguments;
  XCHG_CUDA_RUNTIME_SYMBOLS(FUNCTION, FUNCTION)
#undef FUNCTION
} xchg__cuda_runtime_table;
extern xchg__cuda_runtime_table xchg__rt;

typedef struct {
#define FUNCTION(result, name, arguments) result(*name) arguments;
  XCHG_CUDA_DRIVER_SYMBOLS(FUNCTION, FUNCTION)
#undef FUNCTION
} xchg__cuda_driver_table;
extern xchg__cuda_driver_table xchg__drv;

/* Numbers of CUDA that are named here. Results: */
enum {
  XCHG_CUDA_SUCCESS = 0,
  XCHG_CUDA_INVALID_VALUE = 1,
  XCHG_CUDA_OUT_OF_MEMORY = 2,
  XCHG_CUDA_NOT_INITIALIZED =
      3,                   /* wrong settings of the simulated device, or a forked child of a program that used CUDA */
  XCHG_CUDA_UNLOADING = 4, /* the process is ending: whoever frees does nothing */
  XCHG_CUDA_STUB = 34,
  XCHG_CUDA_OLD_DRIVER = 35,
  XCHG_CUDA_NO_DEVICE = 100,
  XCHG_CUDA_INVALID_HANDLE = 400,
  XCHG_CUDA_NOT_READY = 600,
  XCHG_CUDA_PEER_ALREADY = 704,
  XCHG_CUDA_NOT_SUPPORTED = 801,
  XCHG_CUDA_DRIVER_MISMATCH = 803
};

/* 0 where CUDA is open, in this process (a forked child may not use it); else XCHG_E_NO_CUDA or XCHG_E_FORKED with
 * the reason. Never opens anything. */
int xchg__cuda_ready(xchg_error *err);
/* What the simulated device reported last, as text; "" on hardware and where nothing was reported. `kind` as in xsim.h:
 * "fault", "config", NULL for any. */
void xchg__cuda_report(char *out, size_t room, const char *kind);
/* 1 once CUDA has said that it is unloading, and in a forked child: handles and memory are left alone. */
int xchg__cuda_gone(void);
/* Remembers that it is unloading. */
void xchg__cuda_note_unloading(void);

#endif
