/* library.h: loaded images of kernels, as the C files of this folder share them.
 *
 * A library is memory of the driver that streams use, like any other: its storage is marked by whoever launches one
 * of its kernels. So it is unloaded when the last launch has ended, a graph that launches it keeps it, and nobody
 * waits. */
#ifndef XCHG_CUDA_LIBRARY_H
#define XCHG_CUDA_LIBRARY_H

#include "core/storage.h"
#include "xchg.h"

struct xchg_cuda_library {
  xchg_storage *storage; /* counts the references; mark it (use.h) for every launch */
  void *handle;          /* cudaLibrary_t, or CUlibrary */
  int32_t by_driver;     /* CUlibrary: the runtime is older than 12.8 */
};

void xchg__library_retain(xchg_cuda_library *library);

#endif
