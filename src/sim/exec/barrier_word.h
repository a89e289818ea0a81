/* The 64 bits of an mbarrier: arrivals that a phase needs, arrivals that are missing, bytes that are missing, the
   phase's parity. The layout is our own, as the manual leaves it open; the tag tells it from memory that nobody
   initialised. */
#ifndef SIM_EXEC_BARRIER_WORD_H
#define SIM_EXEC_BARRIER_WORD_H

#include <stdbool.h>
#include <stdint.h>

enum { SIM_MBARRIER_MOST = (1 << 20) - 1 };

typedef struct {
  uint32_t expected, pending;
  int32_t bytes;
  uint32_t phase;
} sim_mbarrier;

static inline uint32_t sim_mbarrier_pending(uint64_t word) {
  return word >> 20 & SIM_MBARRIER_MOST;
}

static inline uint32_t sim_mbarrier_phase(uint64_t word) {
  return word >> 61 & 1;
}

/* False for memory that is no mbarrier. */
static inline bool sim_mbarrier_unpack(uint64_t word, sim_mbarrier *out) {
  out->expected = word & SIM_MBARRIER_MOST;
  out->pending = sim_mbarrier_pending(word);
  out->bytes = (int32_t)(word >> 40 & 0x1fffff) - SIM_MBARRIER_MOST;
  out->phase = sim_mbarrier_phase(word);
  return word >> 62 == 2;
}

static inline uint64_t sim_mbarrier_pack(const sim_mbarrier *barrier) {
  return (uint64_t)2 << 62 | (uint64_t)barrier->phase << 61 |
         (uint64_t)(uint32_t)(barrier->bytes + SIM_MBARRIER_MOST) << 40 | (uint64_t)barrier->pending << 20 |
         barrier->expected;
}

/* The next phase begins when nothing is missing. */
static inline void sim_mbarrier_settle(sim_mbarrier *barrier) {
  if (barrier->pending == 0 && barrier->bytes == 0) {
    barrier->phase ^= 1;
    barrier->pending = barrier->expected;
  }
}

#endif
