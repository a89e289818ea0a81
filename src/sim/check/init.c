/* Which bytes of device memory have been written: a byte for each 4-byte word, bit b for byte b. Memory without that
   array counts as written: what the host can write behind our back, variables of modules, and what was made while
   nobody asked. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

enum { WHOLE = 15 };

void sim_init_begin(sim_allocation *allocation) {
  struct sim_shadow *shadow = sim_shadow_get(allocation);
  if (shadow && !shadow->written)
    shadow->written = calloc(1, allocation->size / 4 + 1);
}

static uint8_t *written_of(const sim_allocation *allocation) {
  return allocation && allocation->shadow ? allocation->shadow->written : NULL;
}

/* Bits of the bytes of word `word` that lie in [begin, end). */
static uint8_t word_bits(uint64_t word, uint64_t begin, uint64_t end) {
  uint8_t bits = WHOLE;
  if (begin > 4 * word)
    bits &= (uint8_t)(WHOLE << (begin - 4 * word));
  if (end < 4 * word + 4)
    bits &= (uint8_t)(WHOLE >> (4 * word + 4 - end));
  return bits;
}

static void range_mark(uint8_t *written, uint64_t begin, uint64_t end) {
  if (begin == end)
    return;
  uint64_t first = begin / 4, last = (end - 1) / 4;
  written[first] |= word_bits(first, begin, end);
  if (first == last)
    return;
  memset(written + first + 1, WHOLE, last - first - 1);
  written[last] |= word_bits(last, begin, end);
}

void sim_init_mark(sim_allocation *allocation, uint64_t address, uint64_t bytes) {
  uint8_t *written = written_of(allocation);
  if (written)
    range_mark(written, address - allocation->address, address - allocation->address + bytes);
}

static bool byte_written(const uint8_t *written, uint64_t offset) {
  return written[offset / 4] >> offset % 4 & 1;
}

static void byte_set(uint8_t *written, uint64_t offset, bool value) {
  uint8_t bit = (uint8_t)(1 << offset % 4);
  written[offset / 4] = (uint8_t)(value ? written[offset / 4] | bit : written[offset / 4] & ~bit);
}

void sim_init_copy(sim_allocation *to, uint64_t to_address, sim_allocation *from, uint64_t from_address,
                   uint64_t bytes) {
  uint8_t *written = written_of(to);
  const uint8_t *source = written_of(from);
  if (!written)
    return;
  uint64_t begin = to_address - to->address;
  if (!source) {
    range_mark(written, begin, begin + bytes);
    return;
  }
  uint64_t offset = from_address - from->address, i = 0;
  if (begin % 4 == 0 && offset % 4 == 0) {
    memmove(written + begin / 4, source + offset / 4, bytes / 4);
    i = bytes / 4 * 4;
  }
  for (; i < bytes; i++)
    byte_set(written, begin + i, byte_written(source, offset + i));
}

uint64_t sim_init_find(sim_allocation *allocation, uint64_t address, uint64_t bytes) {
  const uint8_t *written = written_of(allocation);
  if (!written)
    return UINT64_MAX;
  uint64_t begin = address - allocation->address, end = begin + bytes;
  for (uint64_t word = begin / 4; 4 * word < end; word++) {
    uint8_t missing = (uint8_t)(word_bits(word, begin, end) & ~written[word]);
    if (missing)
      return allocation->address + 4 * word + (uint64_t)__builtin_ctz(missing);
  }
  return UINT64_MAX;
}
