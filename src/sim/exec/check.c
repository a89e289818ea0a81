/* What the checkers look at in each access, a warp at a time: initialised bytes, sectors touched, races. */
#include "access.h"
#include "../check/launch.h"

enum { WHOLE = 15 };

/* ---- global memory ---- */

static void touch(const struct sim_check_memory *memory, uint64_t begin, uint64_t bytes, int what) {
  uint64_t first = (begin - memory->begin) / SIM_SECTOR, last = (begin + bytes - 1 - memory->begin) / SIM_SECTOR;
  for (uint64_t sector = first; sector <= last; sector++)
    memory->touched[sector] |= (uint8_t)what;
}

static bool init_range(sim_warp *warp, const sim_op *op, uint32_t bytes, int what,
                       const struct sim_check_memory *memory, uint64_t begin) {
  uint8_t *written = memory->shadow->written;
  uint64_t offset = begin - memory->begin, length = (uint64_t)bytes * SIM_WARP_SIZE;
  bool whole = offset % 4 == 0;
  if (what & SIM_READ) {
    uint8_t missing = !whole;
    for (uint64_t word = 0; whole && word < length / 4; word++)
      missing |= written[offset / 4 + word] ^ WHOLE;
    uint64_t culprit = missing ? sim_init_find(memory->allocation, begin, length) : UINT64_MAX;
    if (culprit != UINT64_MAX) {
      int lane = (int)((culprit - begin) / bytes);
      return sim_init_report(warp, op, lane, bytes, begin + (uint64_t)lane * bytes);
    }
  }
  if (what & SIM_WRITE) {
    if (whole)
      memset(written + offset / 4, WHOLE, length / 4);
    else
      sim_init_mark(memory->allocation, begin, length);
  }
  return true;
}

bool SIM_ISA_NAME(sim_check_range)(sim_warp *warp, const sim_op *op, uint32_t bytes, int what,
                                   const struct sim_lookup *lookup, uint64_t begin) {
  struct sim_check_memory *memory = lookup->memory;
  if (!memory)
    return true;
  if (memory->touched)
    touch(memory, begin, (uint64_t)bytes * SIM_WARP_SIZE, what);
  unsigned check = warp->grid->check;
  if (check & SIM_CHECK_INIT && memory->shadow && memory->shadow->written &&
      !init_range(warp, op, bytes, what, memory, begin))
    return false;
  return !(check & SIM_CHECK_RACE) || sim_race_range(warp, op, bytes, what, memory, begin);
}

bool SIM_ISA_NAME(sim_check_global)(sim_warp *warp, const sim_op *op, uint32_t mask, uint32_t bytes, int what,
                                    const struct sim_lookup *lookup, const uint64_t *address) {
  struct sim_check_memory *memory = lookup->memory;
  if (!memory)
    return true;
  unsigned check = warp->grid->check;
  bool init = check & SIM_CHECK_INIT && memory->shadow && memory->shadow->written;
  for (uint32_t left = mask; left != 0 && (init || memory->touched); left &= left - 1) {
    int lane = sim_first_lane(left);
    if (memory->touched)
      touch(memory, address[lane], bytes, what);
    if (!init)
      continue;
    uint8_t *written = memory->shadow->written + (address[lane] - memory->begin) / 4;
    bool word = bytes == 4 && (address[lane] - memory->begin) % 4 == 0;
    if (what & SIM_READ &&
        (word ? *written != WHOLE : sim_init_find(memory->allocation, address[lane], bytes) != UINT64_MAX) &&
        !sim_init_report(warp, op, lane, bytes, address[lane]))
      return false;
    if (what & SIM_WRITE) {
      if (word)
        *written = WHOLE;
      else
        sim_init_mark(memory->allocation, address[lane], bytes);
    }
  }
  return !(check & SIM_CHECK_RACE) || sim_race_lanes(warp, op, mask, bytes, what, memory, address);
}

/* ---- shared and local memory ---- */

/* The bytes of an access in its first word. */
static uint8_t byte_bits(uint32_t offset, uint32_t bytes) {
  return bytes >= 4 ? WHOLE : (uint8_t)(((1u << bytes) - 1) << offset % 4);
}

/* Tests and marks words of a lane; the index of the first byte that is missing, or -1. */
static int written_lane(uint8_t *written, uint32_t offset, uint32_t bytes, int what) {
  uint8_t bits = byte_bits(offset, bytes);
  for (uint32_t word = offset / 4, i = 0; i < bytes; word++, i += 4) {
    if (what & SIM_READ && (written[word] & bits) != bits)
      return (int)i;
    if (what & SIM_WRITE)
      written[word] |= bits;
  }
  return -1;
}

#define RECORD(interval, bits, flags, thread, number)                                                                  \
  ((uint64_t)(interval) << SIM_RACE_INTERVAL_SHIFT | (uint64_t)(bits) << SIM_RACE_BYTES_SHIFT | (flags) |              \
   (uint64_t)(thread) << SIM_RACE_THREAD_SHIFT | (number))

/* The running access, as records see it. */
typedef struct {
  uint32_t interval, warp;
  uint64_t strong, number;
} race_access;

static inline bool record_is_now(uint64_t record, const race_access *access) {
  return record >> SIM_RACE_INTERVAL_SHIFT == access->interval;
}
static inline bool record_is_ours(uint64_t record, const race_access *access) {
  return (record >> (SIM_RACE_THREAD_SHIFT + 5) & 31) == access->warp;
}
static inline uint32_t record_bytes(uint64_t record) {
  return record >> SIM_RACE_BYTES_SHIFT & WHOLE;
}
/* Two accesses of which one writes: a race where another warp made the record in this interval. */
static inline bool record_conflicts(uint64_t record, const race_access *access, uint32_t bits) {
  return record_is_now(record, access) && (!record_is_ours(record, access) || record & SIM_RACE_MANY) &&
         record_bytes(record) & bits && !(record & access->strong);
}

static uint64_t read_after(uint64_t old, uint64_t now, const race_access *access, uint32_t bits) {
  if (!record_is_now(old, access) || (old & SIM_RACE_STRONG) != access->strong)
    return now;
  if (record_is_ours(old, access))
    return old & SIM_RACE_MANY ? old : now | (uint64_t)record_bytes(old) << SIM_RACE_BYTES_SHIFT;
  uint32_t both = record_bytes(old) & bits;
  if (both == 0)
    return now;
  return (now & ~((uint64_t)WHOLE << SIM_RACE_BYTES_SHIFT)) | (uint64_t)both << SIM_RACE_BYTES_SHIFT | SIM_RACE_MANY;
}

static uint64_t write_after(uint64_t old, uint64_t now, const race_access *access) {
  if (record_is_now(old, access) && record_is_ours(old, access) && (old & SIM_RACE_STRONG) == access->strong)
    return now | (uint64_t)record_bytes(old) << SIM_RACE_BYTES_SHIFT;
  return now;
}

static bool race_lane(sim_warp *warp, const sim_op *op, int lane, uint32_t offset, uint32_t bytes, int what,
                      const race_access *access) {
  struct sim_block_check *check = warp->block->check;
  uint32_t bits = byte_bits(offset, bytes);
  uint64_t now =
      RECORD(access->interval, bits, access->strong, access->warp * SIM_WARP_SIZE + (uint32_t)lane, access->number);
  for (uint32_t word = offset / 4, i = 0; i < bytes; word++, i += 4) {
    uint64_t write = check->writes[word], read = check->reads[word];
    if (record_conflicts(write, access, bits) &&
        !sim_race_report_shared(warp, op, lane, word, (what & SIM_WRITE) != 0, write, true))
      return false;
    if (!(what & SIM_WRITE)) {
      check->reads[word] = read_after(read, now, access, bits);
      continue;
    }
    if (record_conflicts(read, access, bits) && !sim_race_report_shared(warp, op, lane, word, true, read, false))
      return false;
    check->writes[word] = write_after(write, now, access);
  }
  return true;
}

/* Whole words beside each other: no record of another warp in this interval means nothing to look at one by one. */
static bool race_words(sim_warp *warp, uint32_t first, int what, const race_access *access) {
  struct sim_block_check *check = warp->block->check;
  uint64_t *writes = check->writes + first, *reads = check->reads + first;
  uint64_t other = 0, interval = access->interval, ours = access->warp;
  for (int i = 0; i < SIM_WARP_SIZE; i++) {
    uint64_t write = writes[i], read = reads[i];
    uint64_t now = (write >> SIM_RACE_INTERVAL_SHIFT) ^ interval;
    uint64_t mine = (write >> (SIM_RACE_THREAD_SHIFT + 5) & 31) ^ ours;
    other |= now == 0 ? mine : 0;
    now = (read >> SIM_RACE_INTERVAL_SHIFT) ^ interval;
    mine = ((read >> (SIM_RACE_THREAD_SHIFT + 5) & 31) ^ ours) | (read & SIM_RACE_MANY);
    other |= now == 0 ? mine : 0;
  }
  if (other)
    return false;
  uint64_t record = RECORD(interval, WHOLE, access->strong, ours * SIM_WARP_SIZE, access->number);
  uint64_t *to = what & SIM_WRITE ? writes : reads;
  for (uint64_t i = 0; i < SIM_WARP_SIZE; i++)
    to[i] = record + (i << SIM_RACE_THREAD_SHIFT);
  return true;
}

/* Another warp made the record in this interval: perhaps a race, which is then looked at closely. */
static inline bool record_suspect(uint64_t record, uint64_t ours) {
  uint64_t differ = record ^ ours;
  return differ >> SIM_RACE_INTERVAL_SHIFT == 0 && (differ >> (SIM_RACE_THREAD_SHIFT + 5) & 31) != 0;
}

/* Whole words anywhere. False: something is suspect, to be looked at one by one (what was recorded already does not
   disturb that). */
static bool race_scattered(sim_warp *warp, uint32_t mask, int what, const uint32_t *offset, const race_access *access) {
  uint64_t *writes = warp->block->check->writes, *reads = warp->block->check->reads;
  uint64_t ours = RECORD(access->interval, WHOLE, access->strong, access->warp * SIM_WARP_SIZE, access->number);
  /* What must agree for a record to be as good as ours: all but which lane, which op, and who else has read. */
  uint64_t same = ~(SIM_RACE_MANY | 31ull << SIM_RACE_THREAD_SHIFT | SIM_RACE_OP_MASK);
  bool suspect = false;
  for (uint32_t left = mask; left != 0; left &= left - 1) {
    int lane = sim_first_lane(left);
    uint32_t word = offset[lane] / 4;
    suspect |= record_suspect(writes[word], ours);
    if (what & SIM_WRITE)
      suspect |=
          record_suspect(reads[word], ours) || (record_is_now(reads[word], access) && reads[word] & SIM_RACE_MANY);
    else if (((reads[word] ^ ours) & same) != 0)
      reads[word] = read_after(reads[word], ours + ((uint64_t)lane << SIM_RACE_THREAD_SHIFT), access, WHOLE);
  }
  if (suspect || !(what & SIM_WRITE))
    return !suspect;
  for (uint32_t left = mask; left != 0; left &= left - 1) {
    int lane = sim_first_lane(left);
    writes[offset[lane] / 4] = ours + ((uint64_t)lane << SIM_RACE_THREAD_SHIFT);
  }
  return true;
}

static bool race_shared(sim_warp *warp, const sim_op *op, uint32_t mask, uint32_t bytes, int what,
                        const uint32_t *offset) {
  const sim_block *block = warp->block;
  race_access access = {.interval = (block->check->interval + block->epoch) & (SIM_RACE_INTERVALS - 1),
                        .warp = warp->index,
                        .strong = op->flags & SIM_ACCESS_STRONG ? SIM_RACE_STRONG : 0,
                        .number = (uint64_t)(op - warp->grid->program->ops) & SIM_RACE_OP_MASK};
  if (bytes == 4 && mask == SIM_FULL) {
    uint32_t different = 0;
    for (uint32_t lane = 0; lane < SIM_WARP_SIZE; lane++)
      different |= offset[lane] ^ (offset[0] + 4 * lane);
    if (different == 0 && race_words(warp, offset[0] / 4, what, &access))
      return true;
  }
  if (bytes == 4 && race_scattered(warp, mask, what, offset, &access))
    return true;
  for (uint32_t left = mask; left != 0; left &= left - 1) {
    int lane = sim_first_lane(left);
    if (!race_lane(warp, op, lane, offset[lane], bytes, what, &access))
      return false;
  }
  return true;
}

/* Tests and marks whole words; false where one is missing. */
static bool written_words(uint8_t *written, const uint32_t *offset, uint32_t mask, int what) {
  uint32_t missing = 0;
  for (int lane = 0; lane < SIM_WARP_SIZE; lane++)
    missing |= written[offset[lane] / 4] ^ WHOLE;
  if (missing == 0)
    return true;
  if (what & SIM_READ)
    return false;
  for (uint32_t left = mask; left != 0; left &= left - 1)
    written[offset[sim_first_lane(left)] / 4] = WHOLE;
  return true;
}

bool SIM_ISA_NAME(sim_check_shared)(sim_warp *warp, const sim_op *op, uint32_t mask, uint32_t bytes, int what,
                                    const uint32_t *offset) {
  struct sim_block_check *check = warp->block->check;
  bool good = check->shared_written == NULL || (bytes == 4 && written_words(check->shared_written, offset, mask, what));
  for (uint32_t left = good ? 0 : mask; left != 0; left &= left - 1) {
    int lane = sim_first_lane(left), missing = written_lane(check->shared_written, offset[lane], bytes, what);
    if (missing >= 0 && !sim_init_report_space(warp, op, lane, bytes, offset[lane], "shared"))
      return false;
  }
  return !check->writes || race_shared(warp, op, mask, bytes, what, offset);
}

bool SIM_ISA_NAME(sim_check_local)(sim_warp *warp, const sim_op *op, uint32_t mask, uint32_t bytes, int what,
                                   const uint32_t *offset) {
  struct sim_block_check *check = warp->block->check;
  for (uint32_t left = check->local_written ? mask : 0; left != 0; left &= left - 1) {
    int lane = sim_first_lane(left);
    uint8_t *written = check->local_written + ((size_t)warp->index * SIM_WARP_SIZE + (size_t)lane) * check->local_words;
    if (written_lane(written, offset[lane], bytes, what) >= 0 &&
        !sim_init_report_space(warp, op, lane, bytes, offset[lane], "local"))
      return false;
  }
  return true;
}
