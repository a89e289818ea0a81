/* sha256.h: the digest by which compiled programs are filed. */
#ifndef XCHG_CUDA_SHA256_H
#define XCHG_CUDA_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { XCHG_SHA256_BYTES = 32 };

typedef struct {
  uint32_t state[8];
  uint64_t length; /* bytes so far */
  uint8_t block[64];
} xchg__sha256;

void xchg__sha256_begin(xchg__sha256 *digest);
void xchg__sha256_add(xchg__sha256 *digest, const void *bytes, size_t count);
void xchg__sha256_end(xchg__sha256 *digest, uint8_t out[XCHG_SHA256_BYTES]);

#endif
