/* One instruction at a time, from its text: decoded, then its ops run on a warp of chosen values by every copy of the executor that this
   machine can run, and each lane compared with a reference. */
#ifndef XCHG_SPEC_SIM_ARITH_H
#define XCHG_SPEC_SIM_ARITH_H

#include "test.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "exec/handlers.h"
#include "exec/warp.h"
#include "program.h"

extern const sim_handler sim_handler_table_base[SIM_HANDLER_COUNT];
extern const sim_handler sim_handler_table_v3[SIM_HANDLER_COUNT] __attribute__((weak));
extern const sim_handler sim_handler_table_v4[SIM_HANDLER_COUNT] __attribute__((weak));

/* The copies to test: the second is NULL where the machine has not the instructions. */
static const sim_handler *copies[3];
static void copies_find(void) {
  copies[0] = sim_handler_table_base;
#ifdef __x86_64__
  if (sim_handler_table_v3 != NULL && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("bmi2"))
    copies[1] = sim_handler_table_v3;
  if (sim_handler_table_v4 != NULL && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq"))
    copies[2] = sim_handler_table_v4;
#endif
}

/* Eight registers of each kind, all of which hold the lane's eight values, cut to their width. */
enum { REGISTERS = 8, KINDS = 5 };
static const char kinds[KINDS] = {'q', 'h', 'r', 'd', 'p'};
typedef struct {
  uint64_t v[REGISTERS]; /* %q, %h, %r, %d */
  uint32_t p;            /* a bit for each of %p0 to %p7 */
} lane_values;

typedef struct {
  ptx_module *module;
  sim_program *program;
  const sim_function *function;
  uint32_t slots[KINDS][REGISTERS];
  const sim_op *first, *end; /* of the instructions under test */
} decoded;

static ptx_log arith_log;

/* The kernel that names every register once, so that its first ops tell where they lie, then `text`. */
static bool decoded_make(decoded *made, const char *text) {
  static char whole[20000];
  size_t used = (size_t)snprintf(
      whole, sizeof whole,
      ".version 8.8\n.target sm_120\n.address_size 64\n.visible .entry k()\n{\n"
      ".reg .b8 %%q<8>;\n.reg .b16 %%h<8>;\n.reg .b32 %%r<8>;\n.reg .b64 %%d<8>;\n.reg .pred %%p<8>;\n");
  static const char *const markers[KINDS] = {"cvt.u8.u8", "not.b16", "not.b32", "not.b64", "not.pred"};
  for (int k = 0; k < KINDS; k++)
    for (int i = 0; i < REGISTERS; i++)
      used += (size_t)snprintf(whole + used, sizeof whole - used, "%s %%%c%d, %%%c%d;\n", markers[k], kinds[k], i,
                               kinds[k], i);
  snprintf(whole + used, sizeof whole - used, "%s\nret;\n}\n", text);
  const char *texts[] = {whole};
  size_t lengths[] = {strlen(whole)};
  *made = (decoded){0};
  arith_log.text[0] = 0;
  if (ptx_module_read(&made->module, texts, lengths, 1, 96, 121, &arith_log) != 0)
    return false;
  if (sim_program_create(&made->program, made->module, &arith_log) != 0)
    return false;
  made->function = made->program->functions;
  const sim_op *op = made->function->ops;
  for (int k = 0; k < KINDS; k++)
    for (int i = 0; i < REGISTERS; i++)
      made->slots[k][i] = op++->out;
  made->first = op;
  while (op->handler != SIM_H_ret)
    op++;
  made->end = op;
  return true;
}

static void decoded_free(decoded *made) {
  sim_program_free(made->program);
}

static uint8_t *frame_make(const decoded *made) {
  uint8_t *frame = aligned_alloc(64, made->function->frame_bytes);
  memset(frame, 0xcd, made->function->frame_bytes);
  for (uint32_t i = 0; i < made->function->slot_count; i++) {
    const sim_slot *slot = &made->function->slots[i];
    for (int lane = 0; lane < SIM_WARP_SIZE; lane++)
      memcpy(frame + slot->offset + lane * slot->bytes, &slot->value, slot->bytes);
  }
  return frame;
}

static void frame_fill(const decoded *made, uint8_t *frame, const lane_values *lanes) {
  for (int i = 0; i < REGISTERS; i++) {
    uint32_t predicate = 0;
    for (int lane = 0; lane < SIM_WARP_SIZE; lane++) {
      uint64_t value = lanes[lane].v[i];
      ((uint32_t *)(void *)(frame + made->slots[0][i]))[lane] = (uint8_t)value;
      ((uint32_t *)(void *)(frame + made->slots[1][i]))[lane] = (uint16_t)value;
      ((uint32_t *)(void *)(frame + made->slots[2][i]))[lane] = (uint32_t)value;
      ((uint64_t *)(void *)(frame + made->slots[3][i]))[lane] = value;
      predicate |= (lanes[lane].p >> i & 1) << lane;
    }
    memcpy(frame + made->slots[4][i], &predicate, sizeof predicate);
  }
}

static uint64_t frame_read(const decoded *made, const uint8_t *frame, char kind, int i, int lane) {
  int k = (int)((const char *)memchr(kinds, kind, KINDS) - kinds);
  const uint8_t *slot = frame + made->slots[k][i];
  if (kind == 'p')
    return ((const uint32_t *)(const void *)slot)[0] >> lane & 1;
  return kind == 'd' ? ((const uint64_t *)(const void *)slot)[lane] : ((const uint32_t *)(const void *)slot)[lane];
}

/* Runs the ops as the engine does: a guard narrows the mask. */
static void ops_run(const decoded *made, const sim_handler *table, uint8_t *frame, uint32_t mask) {
  sim_warp warp = {.slots = frame, .mask = mask, .live = SIM_FULL};
  for (const sim_op *op = made->first; op < made->end; op++) {
    uint32_t running = mask;
    if (op->guard != 0) {
      uint32_t guard;
      memcpy(&guard, frame + op->guard, sizeof guard);
      running &= op->guard_negated ? ~guard : guard;
    }
    if (running != 0)
      CHECK_EQUAL(table[op->handler](&warp, op, running), SIM_NEXT);
  }
}

/* ---- values ---- */

/* i: integers and their edges, f: f32, d: f64, h: halves (two in 32 bits), s: small integers, w: any 32-bit pattern */
static uint64_t value_make(char kind) {
  static const uint64_t edges[] = {0,
                                   1,
                                   2,
                                   3,
                                   7,
                                   8,
                                   15,
                                   16,
                                   31,
                                   32,
                                   33,
                                   63,
                                   64,
                                   65,
                                   127,
                                   128,
                                   255,
                                   256,
                                   0x7fff,
                                   0x8000,
                                   0xffff,
                                   0x10000,
                                   0x7fffffff,
                                   0x80000000,
                                   0xffffffff,
                                   0x100000000,
                                   0x7fffffffffffffff,
                                   0x8000000000000000,
                                   0xffffffffffffffff,
                                   0xfffffffffffffffe,
                                   0xffffffff80000000,
                                   0xffffffffffff8000};
  static const uint32_t singles[] = {0,          0x80000000, 0x3f800000, 0xbf800000, 1,          0x80000001, 0x7fffff,
                                     0x807fffff, 0x800000,   0x80800000, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000,
                                     0x7fc00000, 0xffc00001, 0x7f800001, 0x3f000000, 0xbf000000, 0x3fc00000, 0x40200000,
                                     0x4b000000, 0x4f000000, 0xcf000000, 0x4f800000, 0x5f000000, 0xdf000000, 0x5f800000,
                                     0x33800000, 0x477fe000, 0x477ff000, 0x38800000, 0x33000000};
  static const uint64_t doubles[] = {0,
                                     0x8000000000000000,
                                     0x3ff0000000000000,
                                     0xbff0000000000000,
                                     1,
                                     0x8000000000000001,
                                     0x10000000000000,
                                     0xfffffffffffff,
                                     0x7fefffffffffffff,
                                     0xffefffffffffffff,
                                     0x7ff0000000000000,
                                     0xfff0000000000000,
                                     0x7ff8000000000000,
                                     0x3fe0000000000000,
                                     0xbfe0000000000000,
                                     0x3ff8000000000000,
                                     0x41e0000000000000,
                                     0xc1e0000000000000,
                                     0x41f0000000000000,
                                     0x43e0000000000000,
                                     0xc3e0000000000000,
                                     0x43f0000000000000,
                                     0x47efffffe0000000,
                                     0x47effffff0000000,
                                     0x36a0000000000000,
                                     0x3690000000000000};
  static const uint16_t halves[] = {0,      0x8000, 0x3c00, 0xbc00, 1,      0x8001, 0x3ff,  0x83ff,
                                    0x400,  0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0x7fff, 0xffff,
                                    0x3f80, 0x7f80, 0xff80, 0x7f7f, 0x80,   0x7f,   0x3800, 0x3555};
#define ONE_OF(list) (list)[test_below(sizeof(list) / sizeof *(list))]
  bool edge = test_below(3) == 0;
  uint64_t random = test_random();
  switch (kind) {
  case 'f': {
    if (edge)
      return ONE_OF(singles);
    if (test_below(2))
      return (uint32_t)random;
    float near = (float)((double)(int64_t)random / 0x1p58);
    uint32_t bits;
    memcpy(&bits, &near, sizeof bits);
    return bits;
  }
  case 'd': {
    if (edge)
      return ONE_OF(doubles);
    if (test_below(2))
      return random;
    double near = (double)(int64_t)random / (test_below(2) ? 0x1p58 : 0x1p31);
    uint64_t bits;
    memcpy(&bits, &near, sizeof bits);
    return bits;
  }
  case 'h': {
    uint64_t low = edge ? ONE_OF(halves) : random & 0xffff,
             high = test_below(3) == 0 ? ONE_OF(halves) : random >> 16 & 0xffff;
    return low | high << 16;
  }
  case 's': return random % 70;
  case 'w': return (uint32_t)random;
  default: return edge ? ONE_OF(edges) : random >> test_below(64);
  }
}

/* ---- checks ---- */

/* A reference that does not know answers SKIPPED. */
#define SKIPPED UINT64_MAX
typedef uint64_t reference(const lane_values *in);

/* What register `out` ("r0") becomes by `text`, for values of the kinds in `values` ("" or one letter for each of v[1], v[2], ...; the last
   for all others), in `rounds` warps under full and other masks. A NaN of f64 is any NaN. */
__attribute__((unused)) static void check_form(const char *text, const char *out, const char *values, reference *wanted,
                                               int rounds) {
  decoded made;
  if (!decoded_make(&made, text)) {
    printf("%s: %s\n", text, arith_log.text);
    CHECK(!"decoded");
    if (made.module != NULL)
      decoded_free(&made);
    return;
  }
  uint8_t *frame = frame_make(&made);
  for (int round = 0; round < rounds; round++) {
    lane_values lanes[SIM_WARP_SIZE];
    size_t last = strlen(values) - 1;
    for (int lane = 0; lane < SIM_WARP_SIZE; lane++) {
      for (int i = 0; i < REGISTERS; i++)
        lanes[lane].v[i] = value_make(values[i == 0 ? last : (size_t)i - 1 < last ? (size_t)i - 1 : last]);
      lanes[lane].p = (uint32_t)test_random() & 255;
    }
    uint32_t mask = round % 3 == 0 ? SIM_FULL : (uint32_t)test_random();
    for (int copy = 0; copy < 3; copy++) {
      if (copies[copy] == NULL)
        continue;
      frame_fill(&made, frame, lanes);
      uint64_t old[SIM_WARP_SIZE];
      for (int lane = 0; lane < SIM_WARP_SIZE; lane++)
        old[lane] = frame_read(&made, frame, out[0], out[1] - '0', lane);
      ops_run(&made, copies[copy], frame, mask);
      for (int lane = 0; lane < SIM_WARP_SIZE; lane++) {
        uint64_t got = frame_read(&made, frame, out[0], out[1] - '0', lane);
        uint64_t want = mask >> lane & 1 ? wanted(&lanes[lane]) : old[lane];
        bool nan =
            values[0] == 'd' && out[0] == 'd' && (got << 1) > 0xffe0000000000000u && (want << 1) > 0xffe0000000000000u;
        bool unknown = want == SKIPPED && (out[0] == 'r' || values[0] == 'd');
        test_checks++;
        if (got != want && !nan && !unknown) {
          char line[400];
          snprintf(line, sizeof line, "%s (copy %d, %s) of %llx %llx %llx %llx p %x is %llx, not %llx", text, copy,
                   mask >> lane & 1 ? "running" : "masked", (unsigned long long)lanes[lane].v[1],
                   (unsigned long long)lanes[lane].v[2], (unsigned long long)lanes[lane].v[3],
                   (unsigned long long)lanes[lane].v[4], lanes[lane].p, (unsigned long long)got,
                   (unsigned long long)want);
          test_fail(__FILE__, __LINE__, line);
          round = rounds;
          break;
        }
      }
    }
  }
  free(frame);
  decoded_free(&made);
}

/* Values given one after the other as v[1] of the lanes: `visit` sees each value and what became of it. */
__attribute__((unused)) static void each_value(const char *text, const char *out, uint64_t first, uint64_t count,
                                               uint64_t step, void (*visit)(uint64_t in, uint64_t got)) {
  decoded made;
  if (!decoded_make(&made, text)) {
    printf("%s: %s\n", text, arith_log.text);
    CHECK(!"decoded");
    return;
  }
  uint8_t *frame = frame_make(&made);
  for (int copy = 0; copy < 3; copy++)
    for (uint64_t at = 0; copies[copy] != NULL && at < count; at += SIM_WARP_SIZE) {
      lane_values lanes[SIM_WARP_SIZE] = {{.v = {0}}};
      for (int lane = 0; lane < SIM_WARP_SIZE; lane++)
        lanes[lane].v[1] = first + (at + (uint64_t)lane) * step;
      frame_fill(&made, frame, lanes);
      ops_run(&made, copies[copy], frame, SIM_FULL);
      for (int lane = 0; lane < SIM_WARP_SIZE; lane++)
        visit(lanes[lane].v[1], frame_read(&made, frame, out[0], out[1] - '0', lane));
    }
  free(frame);
  decoded_free(&made);
}

/* Refused, with these words in the message. */
__attribute__((unused)) static void check_refused(const char *text, const char *words) {
  decoded made;
  bool read = decoded_make(&made, text);
  bool told = !read && strstr(arith_log.text, words) != NULL;
  if (!told)
    printf("%s: \"%s\" in \"%s\"\n", text, words, arith_log.text);
  CHECK(told);
  if (read)
    decoded_free(&made);
}

#endif
