/* Races between the threads of a launch.

   Two accesses to one word race where one of them writes, not both are strong (volatile, relaxed, acquire, release,
   atomic), and nothing orders them. Ordered are: accesses of one warp (it runs in lock-step); of one block, when a
   barrier, a fence, an acquire or a release of any of its warps lies between; of different blocks, when a fence,
   acquire or release at device or system scope lies between. A fence of anybody counts for everybody: what is
   reported is a race, and not every race is reported.

   Shared memory keeps a record for each word, exact to the byte (exec/check.c). Global memory keeps, for each 128
   bytes, the warp that wrote and the one that read last: what others did before it in other words of the same 128
   bytes is forgotten. */
#include "launch.h"
#include "../report.h"

#include <stdio.h>
#include <stdlib.h>

void sim_race_fence(sim_warp *warp, bool device) {
  warp->block->epoch++;
  if (device)
    warp->grid->checks->fences++;
}

void sim_race_grid_barrier(sim_grid *grid) {
  if (grid->checks)
    grid->checks->fences++;
}

/* ---- words ---- */

static const char *block_name(const sim_grid *grid, const sim_block *block, char text[80]) {
  if (grid->launch->grid[1] == 1 && grid->launch->grid[2] == 1)
    snprintf(text, 80, "block %u", block->index[0]);
  else
    snprintf(text, 80, "block (%u,%u,%u)", block->index[0], block->index[1], block->index[2]);
  return text;
}

static const char *other_block_name(const sim_grid *grid, uint32_t linear, char text[80]) {
  const uint32_t *size = grid->launch->grid;
  const sim_block block = {.index = {linear % size[0], linear / size[0] % size[1], linear / size[0] / size[1]}};
  return block_name(grid, &block, text);
}

static const char *thread_name(const sim_grid *grid, uint32_t thread, char text[80]) {
  const uint32_t *size = grid->launch->block;
  if (size[1] == 1 && size[2] == 1)
    snprintf(text, 80, "thread %u", thread);
  else
    snprintf(text, 80, "thread (%u,%u,%u)", thread % size[0], thread / size[0] % size[1], thread / size[0] / size[1]);
  return text;
}

/* The line of the CUDA source, or of the PTX text where that is not known. */
static const char *line_name(const sim_grid *grid, uint32_t number, char text[80]) {
  if (number >= grid->program->op_total) {
    snprintf(text, 80, "line unknown");
    return text;
  }
  const sim_op *op = &grid->program->ops[number];
  const ptx_source *source = grid->program->sources && op->source ? &grid->program->sources[op->source] : NULL;
  if (source && source->file)
    snprintf(text, 80, "line %u", source->line);
  else
    snprintf(text, 80, "PTX line %u", op->line);
  return text;
}

/* Whether this pair of instructions is new in the launch. */
static bool pair_is_new(struct sim_grid_check *checks, uint32_t one, uint32_t other, bool writes) {
  uint64_t pair = (uint64_t)one << 32 | (uint64_t)other << 1 | writes;
  for (size_t i = 0; i < checks->pair_count; i++)
    if (checks->pairs[i] == pair)
      return false;
  if (checks->pair_count == checks->pair_room) {
    size_t room = checks->pair_room ? 2 * checks->pair_room : 16;
    uint64_t *grown = realloc(checks->pairs, room * sizeof *grown);
    if (!grown)
      return true;
    checks->pairs = grown;
    checks->pair_room = room;
  }
  checks->pairs[checks->pair_count++] = pair;
  return true;
}

static bool go_on(sim_warp *warp, int result) {
  if (result != 0)
    warp->grid->result = result;
  return result == 0;
}

static uint32_t op_number(const sim_warp *warp, const sim_op *op) {
  return (uint32_t)(op - warp->grid->program->ops);
}

bool sim_race_report_shared(sim_warp *warp, const sim_op *op, int lane, uint32_t word, bool writes, uint64_t other,
                            bool other_writes) {
  sim_grid *grid = warp->grid;
  uint32_t number = op_number(warp, op), other_number = other & SIM_RACE_OP_MASK;
  if (!pair_is_new(grid->checks, number, other_number, other_writes))
    return true;
  uint32_t thread = warp->index * SIM_WARP_SIZE + (uint32_t)lane, other_thread = other >> SIM_RACE_THREAD_SHIFT & 1023;
  char block[80], first[80], first_line[80], second[80], second_line[80], whose[100];
  thread_name(grid, thread, first);
  line_name(grid, number, first_line);
  thread_name(grid, other_thread, second);
  line_name(grid, other_number, second_line);
  bool many = other & SIM_RACE_MANY && other_thread / SIM_WARP_SIZE == warp->index;
  snprintf(whose, sizeof whose, "%s", many ? "a thread of another warp" : second);
  block_name(grid, warp->block, block);
  const char *kernel = grid->launch->function->name;
  if (writes)
    return go_on(
        warp, sim_report(SIM_REPORT_RACE,
                         "race: %s, %s: %s (%s) wrote shared word %u that %s (%s) %s in the same barrier interval",
                         kernel, block, first, first_line, word, whose, second_line, other_writes ? "wrote" : "read"));
  return go_on(warp,
               sim_report(SIM_REPORT_RACE,
                          "race: %s, %s: %s (%s) wrote shared word %u that %s (%s) read in the same barrier interval",
                          kernel, block, whose, second_line, word, first, first_line));
}

bool sim_race_report_global(sim_warp *warp, const sim_op *op, int lane, const sim_allocation *allocation,
                            uint64_t address, bool writes, const sim_race_side *other, bool other_writes) {
  sim_grid *grid = warp->grid;
  uint32_t number = op_number(warp, op);
  if (!pair_is_new(grid->checks, number, other->op, other_writes))
    return true;
  char block[80], other_block[80], thread[80], line[80], other_line[80], where[300];
  sim_memory_describe(address, 4, where, sizeof where);
  return go_on(
      warp, sim_report(SIM_REPORT_RACE,
                       "race: %s, %s: %s (%s) %s the word at 0x%llx (byte %llu), %s, that warp %u of %s (%s) %s, and "
                       "nothing orders the two",
                       grid->launch->function->name, block_name(grid, warp->block, block),
                       thread_name(grid, warp->index * SIM_WARP_SIZE + (uint32_t)lane, thread),
                       line_name(grid, number, line), writes ? "wrote" : "read", (unsigned long long)address,
                       (unsigned long long)(address - allocation->address), where, other->warp,
                       other_block_name(grid, other->block, other_block), line_name(grid, other->op, other_line),
                       other_writes ? "wrote" : "read"));
}

/* ---- global memory ---- */

typedef struct {
  uint32_t launch, block, epoch, fences, op;
  uint16_t warp;
  bool strong;
} row_access;

static row_access access_of(const sim_warp *warp, const sim_op *op) {
  const struct sim_grid_check *checks = warp->grid->checks;
  return (row_access){.launch = checks->launch,
                      .block = (uint32_t)warp->block->linear,
                      .epoch = warp->block->epoch,
                      .fences = checks->fences,
                      .op = op_number(warp, op),
                      .warp = (uint16_t)warp->index,
                      .strong = (op->flags & SIM_ACCESS_STRONG) != 0};
}

static bool side_is_ours(const sim_race_side *side, const row_access *access) {
  return side->block == access->block && side->warp == access->warp;
}

/* Whether nothing lies between what the record says and now. */
static bool side_is_now(const sim_race_side *side, const row_access *access) {
  return side->launch == access->launch &&
         (side->block == access->block ? side->epoch == access->epoch : side->fences == access->fences);
}

static uint32_t side_conflicts(const sim_race_side *side, const row_access *access, uint32_t words) {
  if (!side_is_now(side, access) || (side->strong && access->strong))
    return 0;
  return words & ((side_is_ours(side, access) ? 0 : side->words) | side->many);
}

static void side_begin(sim_race_side *side, const row_access *access, uint32_t words) {
  *side = (sim_race_side){.launch = access->launch,
                          .block = access->block,
                          .epoch = access->epoch,
                          .fences = access->fences,
                          .words = words,
                          .warp = access->warp,
                          .strong = access->strong,
                          .op = access->op};
}

static bool side_goes_on(const sim_race_side *side, const row_access *access) {
  return side->launch == access->launch && side_is_ours(side, access) && side->epoch == access->epoch &&
         side->fences == access->fences && side->strong == access->strong;
}

static void row_write(sim_race_row *row, const row_access *access, uint32_t words) {
  if (side_goes_on(&row->write, access))
    row->write.words |= words;
  else
    side_begin(&row->write, access, words);
}

/* `many` holds words that at least two warps of one block have read or, with all_blocks, warps of two blocks: then
   everybody who writes there conflicts with one of them. */
static void row_read(sim_race_row *row, const row_access *access, uint32_t words) {
  sim_race_side *side = &row->read;
  if (side_goes_on(side, access)) {
    side->words |= words;
    return;
  }
  uint32_t many = 0;
  bool all_blocks = false;
  if (side_is_now(side, access) && side->strong == access->strong && side->fences == access->fences) {
    bool same_block = side->block == access->block;
    if (same_block && !side->all_blocks && !side_is_ours(side, access))
      many = side->many | (side->words & words);
    else if (same_block)
      many = side->many;
    else
      many = (side->all_blocks ? side->many : side->many & words) | (side->words & words);
    all_blocks = many != 0 && (!same_block || side->all_blocks);
  }
  side_begin(side, access, words);
  side->many = many;
  side->all_blocks = all_blocks;
}

/* The words of `words` in the row that conflict, and with which record. */
static uint32_t row_access_words(sim_race_row *row, const row_access *access, uint32_t words, int what,
                                 sim_race_side *other, bool *other_writes) {
  uint32_t conflicts = side_conflicts(&row->write, access, words);
  *other = row->write;
  *other_writes = true;
  if (!conflicts && what & SIM_WRITE) {
    conflicts = side_conflicts(&row->read, access, words);
    *other = row->read;
    *other_writes = false;
  }
  if (what & SIM_WRITE)
    row_write(row, access, words);
  else
    row_read(row, access, words);
  return conflicts;
}

static sim_race_row *row_of(struct sim_race_row *rows, const struct sim_check_memory *memory, uint64_t address) {
  return rows + (address / SIM_RACE_ROW - memory->begin / SIM_RACE_ROW);
}

bool sim_race_range(sim_warp *warp, const sim_op *op, uint32_t bytes, int what, struct sim_check_memory *memory,
                    uint64_t begin) {
  struct sim_race_row *rows = sim_race_rows(memory);
  if (!rows)
    return true;
  row_access access = access_of(warp, op);
  /* Only whole words: half of one may belong to a neighbour. */
  uint64_t at = (begin + 3) & ~3ull, end = (begin + (uint64_t)bytes * SIM_WARP_SIZE) & ~3ull;
  while (at < end) {
    uint64_t next = (at / SIM_RACE_ROW + 1) * SIM_RACE_ROW;
    uint32_t first = (uint32_t)(at % SIM_RACE_ROW / 4), count = (uint32_t)(((next < end ? next : end) - at) / 4);
    uint32_t words = (count == 32 ? SIM_FULL : (1u << count) - 1) << first;
    sim_race_side other;
    bool other_writes;
    uint32_t conflicts = row_access_words(row_of(rows, memory, at), &access, words, what, &other, &other_writes);
    if (conflicts) {
      uint64_t word = at - at % SIM_RACE_ROW + 4 * (uint64_t)__builtin_ctz(conflicts);
      int lane = word < begin ? 0 : (int)((word - begin) / bytes);
      if (!sim_race_report_global(warp, op, lane, memory->allocation, word, (what & SIM_WRITE) != 0, &other,
                                  other_writes))
        return false;
    }
    at = next;
  }
  return true;
}

bool sim_race_lanes(sim_warp *warp, const sim_op *op, uint32_t mask, uint32_t bytes, int what,
                    struct sim_check_memory *memory, const uint64_t *address) {
  struct sim_race_row *rows = bytes < 4 ? NULL : sim_race_rows(memory);
  if (!rows)
    return true;
  row_access access = access_of(warp, op);
  uint32_t size = bytes / 4;
  for (uint32_t left = mask; left != 0;) {
    int lane = sim_first_lane(left);
    uint64_t row = address[lane] / SIM_RACE_ROW;
    uint32_t words = 0;
    /* The lanes that follow in the same row. */
    for (; left != 0 && address[sim_first_lane(left)] / SIM_RACE_ROW == row; left &= left - 1)
      words |= ((1u << size) - 1) << (address[sim_first_lane(left)] % SIM_RACE_ROW / 4);
    sim_race_side other;
    bool other_writes;
    uint32_t conflicts =
        row_access_words(row_of(rows, memory, address[lane]), &access, words, what, &other, &other_writes);
    if (!conflicts)
      continue;
    uint64_t word = row * SIM_RACE_ROW + 4 * (uint64_t)__builtin_ctz(conflicts);
    uint32_t rest = mask;
    while (rest & (rest - 1) && word - address[sim_first_lane(rest)] >= bytes)
      rest &= rest - 1;
    lane = sim_first_lane(rest);
    if (!sim_race_report_global(warp, op, lane, memory->allocation, word, (what & SIM_WRITE) != 0, &other,
                                other_writes))
      return false;
  }
  return true;
}

/* ---- reads of what nobody wrote ---- */

bool sim_init_report(sim_warp *warp, const sim_op *op, int lane, uint32_t bytes, uint64_t address) {
  if (!pair_is_new(warp->grid->checks, op_number(warp, op), UINT32_MAX >> 1, true))
    return true;
  char who[400], where[300];
  sim_warp_describe(warp, op, lane, who, sizeof who);
  sim_memory_describe(address, bytes, where, sizeof where);
  return go_on(warp, sim_report(SIM_REPORT_INIT, "init: %s: reads %u byte%s at 0x%llx that nobody wrote, %s", who,
                                bytes, bytes == 1 ? "" : "s", (unsigned long long)address, where));
}

bool sim_init_report_space(sim_warp *warp, const sim_op *op, int lane, uint32_t bytes, uint32_t offset,
                           const char *space) {
  if (!pair_is_new(warp->grid->checks, op_number(warp, op), UINT32_MAX >> 1, true))
    return true;
  char who[400];
  sim_warp_describe(warp, op, lane, who, sizeof who);
  return go_on(warp,
               sim_report(SIM_REPORT_INIT, "init: %s: reads %u byte%s at offset %u of %s memory that nobody wrote", who,
                          bytes, bytes == 1 ? "" : "s", offset, space));
}
