#include "cuda/use.h"

int xchg__use_add(xchg_storage *storage, xchg_cuda_stream *stream, xchg_error *err) {
  (void)storage;
  (void)stream;
  (void)err;
  return 0;
}

void xchg__use_settle(xchg_storage *storage, xchg_cuda_stream *home) {
  (void)storage;
  (void)home;
}

void xchg__use_poll(int wait) {
  (void)wait;
}
