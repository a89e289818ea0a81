/* Video instructions, by the PTX manual's account of them: parts of operands become numbers of 33 bits, the result one of 34, which
   is saturated, then given to a second operation or merged into a third source. */
#include "../exec/video.h"
#include "compute.h"

static const ptx_type words[] = {PTX_U32, PTX_S32, PTX_TYPE_NONE};

/* .lt and the like: SIM_WHEN_... */
static uint8_t take_relation(sim_decoder *decoder) {
  static const char *const names[] = {"eq", "ne", "lt", "le", "gt", "ge", NULL};
  static const uint8_t relations[] = {SIM_WHEN_EQUAL,   SIM_WHEN_LESS | SIM_WHEN_GREATER,
                                      SIM_WHEN_LESS,    SIM_WHEN_LESS | SIM_WHEN_EQUAL,
                                      SIM_WHEN_GREATER, SIM_WHEN_GREATER | SIM_WHEN_EQUAL};
  int relation = sim_decode_take_one(decoder, names);
  if (relation < 0)
    sim_decode_fail(decoder, "one of .eq, .ne, .lt, .le, .gt and .ge is missing");
  return relations[relation];
}

/* ---- operands ---- */

/* Takes the selector off an operand. */
static ptx_selector take_selector(ptx_operand *operand) {
  ptx_selector selector = {0};
  if (operand->kind == PTX_OPERAND_REGISTER) {
    selector = operand->selector;
    operand->selector = (ptx_selector){0};
  }
  return selector;
}

static uint32_t source(sim_decoder *decoder, const ptx_operand *operand, ptx_type type, ptx_selector *selector) {
  ptx_operand whole = *operand;
  *selector = take_selector(&whole);
  return sim_decode_operand_in(decoder, &whole, type, false);
}

static uint32_t destination(sim_decoder *decoder, const ptx_operand *operand, ptx_selector *selector) {
  ptx_operand whole = *operand;
  *selector = take_selector(&whole);
  return sim_decode_operand_out(decoder, &whole, PTX_B32, false);
}

static unsigned digit(ptx_selector selector, unsigned i) {
  return selector.parts >> (4 * i) & 15;
}

/* The one part that a selector names; the whole word without it. */
static sim_video_part part_make(sim_decoder *decoder, ptx_selector selector, ptx_type type) {
  unsigned bits = selector.unit == 0 ? 32 : selector.unit == 'b' ? 8 : 16;
  uint32_t ones = UINT32_MAX >> (32 - bits);
  if (selector.unit != 0 && (selector.count != 1 || digit(selector, 0) >= 32 / bits))
    sim_decode_fail(decoder, "a part of a word is .b0 to .b3, .h0 or .h1");
  return (sim_video_part){ones, type == PTX_S32 ? ones ^ ones >> 1 : 0, (uint8_t)(digit(selector, 0) * bits)};
}

/* ---- one number ---- */

static void clamp_set(sim_video *video, unsigned bits, ptx_type type) {
  video->high = ((int64_t)1 << (type == PTX_S32 ? bits - 1 : bits)) - 1;
  video->low = type == PTX_S32 ? -video->high - 1 : 0;
}

/* Results that the manual's account leaves open: the width of what .min and .max compare, that of what vshl saturates. */
static void unsure_set(sim_video *video, ptx_opcode opcode, ptx_type type, bool sat) {
  video->sure_low = INT64_MIN;
  video->sure_high = INT64_MAX;
  if (opcode == PTX_OP_VSHL && sat) {
    video->sure_high = ((int64_t)1 << 33) - 1;
    video->sure_low = -video->sure_high - 1;
    video->unsure = "shifts bits out of 34: what vshl.sat makes of it is not defined";
  } else if (!sat && (video->second == SIM_VIDEO_MIN || video->second == SIM_VIDEO_MAX)) {
    sim_video range = {0};
    clamp_set(&range, 32, type);
    video->sure_low = range.low;
    video->sure_high = range.high;
    video->unsure = "has the result of a video instruction leave its 32 bits: what .min and .max then compare is not "
                    "defined; .sat keeps it inside";
  }
}

static void scalar(sim_decoder *decoder, const ptx_instruction *instruction, uint16_t handler) {
  static const char *const seconds[] = {"add", "min", "max", NULL};
  static const char *const modes[] = {"clamp", "wrap", NULL};
  static const ptx_type counts[] = {PTX_U32, PTX_TYPE_NONE};
  bool compares = handler == SIM_H_vset, shifts = handler == SIM_H_vshl || handler == SIM_H_vshr;
  const ptx_operand *operands = instruction->operands;
  sim_decode_count(decoder, 3, 4);
  uint8_t flags = compares ? take_relation(decoder) : 0;
  if (shifts) {
    int mode = sim_decode_take_one(decoder, modes);
    if (mode < 0)
      sim_decode_fail(decoder, "one of .clamp and .wrap is missing");
    flags = mode == 1 ? SIM_SHIFT_WRAP : 0;
  }
  bool sat = !compares && sim_decode_take(decoder, "sat");
  int second = sim_decode_take_one(decoder, seconds);
  ptx_type type = compares ? PTX_U32 : sim_decode_need_type(decoder, words);
  ptx_type first_type = sim_decode_need_type(decoder, words);
  ptx_type second_type = sim_decode_need_type(decoder, shifts ? counts : words);

  ptx_selector into, first, other, third;
  uint32_t out = destination(decoder, &operands[0], &into);
  uint32_t a = source(decoder, &operands[1], first_type, &first);
  uint32_t b = source(decoder, &operands[2], second_type, &other), c = a;
  if (into.unit != 0 && second >= 0)
    sim_decode_fail(decoder, ".%s does not go with a part of the destination", seconds[second]);
  if (into.unit != 0 || second >= 0) {
    sim_decode_count(decoder, 4, 4);
    c = source(decoder, &operands[3], type, &third);
    if (third.unit != 0)
      sim_decode_fail(decoder, "a third source is a whole word");
  } else {
    sim_decode_count(decoder, 3, 3);
  }

  sim_video *video = sim_decode_allocate(decoder, sizeof *video);
  sim_video_part result = part_make(decoder, into, type);
  *video = (sim_video){.low = INT64_MIN, .high = INT64_MAX, .ones = result.ones, .up = result.up};
  video->sources[0] = part_make(decoder, first, first_type);
  video->sources[1] = part_make(decoder, other, second_type);
  video->keep = ~(result.ones << result.up);
  video->sign = type == PTX_S32 ? 0x80000000u : 0;
  video->second = second < 0 ? SIM_VIDEO_NONE : (sim_video_second)(SIM_VIDEO_ADD + second);
  if (sat)
    clamp_set(video, into.unit == 0 ? 32 : into.unit == 'b' ? 8 : 16, type);
  unsure_set(video, instruction->opcode, type, sat);
  sim_op *op = sim_compute(decoder, handler, out, a, b, c);
  op->flags = flags;
  op->extra = video;
}

/* ---- vmad ---- */

/* A source, and whether it is negated. */
static uint32_t factor(sim_decoder *decoder, const ptx_operand *operand, ptx_type type, bool is_unsigned,
                       ptx_selector *selector, bool *negated) {
  ptx_operand positive = *operand;
  *negated = operand->negated;
  positive.negated = false;
  if (is_unsigned && operand->kind == PTX_OPERAND_INTEGER && (int64_t)operand->bits < 0)
    sim_decode_fail(decoder, "whether a negative constant is one of 32 bits or negates is not defined");
  return source(decoder, &positive, type, selector);
}

static void product_sum(sim_decoder *decoder, const ptx_instruction *instruction) {
  static const char *const scales[] = {"shr7", "shr15", NULL};
  const ptx_operand *operands = instruction->operands;
  sim_decode_count(decoder, 4, 4);
  bool one_more = sim_decode_take(decoder, "po"), sat = sim_decode_take(decoder, "sat");
  int scale = sim_decode_take_one(decoder, scales);
  sim_decode_need_type(decoder, words); /* the result's: signs are those of the sources */
  ptx_type first_type = sim_decode_need_type(decoder, words), second_type = sim_decode_need_type(decoder, words);
  bool is_unsigned = first_type == PTX_U32 && second_type == PTX_U32, minus_a, minus_b, minus_c;
  ptx_selector first, other, third;
  uint32_t a = factor(decoder, &operands[1], first_type, is_unsigned, &first, &minus_a);
  uint32_t b = factor(decoder, &operands[2], second_type, is_unsigned, &other, &minus_b);
  uint32_t c = factor(decoder, &operands[3], PTX_B32, is_unsigned, &third, &minus_c);
  if (third.unit != 0)
    sim_decode_fail(decoder, "a third source is a whole word");
  if (one_more && (minus_a || minus_b || minus_c))
    sim_decode_fail(decoder, "nothing is negated with .po");
  if (minus_a != minus_b && minus_c)
    sim_decode_fail(decoder, "either the product or the third source is negated");

  sim_video_product *video = sim_decode_allocate(decoder, sizeof *video);
  *video = (sim_video_product){.is_signed = !is_unsigned || minus_a != minus_b || minus_c,
                               .negates_product = minus_a != minus_b,
                               .negates_sum = minus_c,
                               .one_more = one_more,
                               .sat = sat,
                               .scale = (uint8_t)(scale < 0    ? 0
                                                  : scale == 0 ? 7
                                                               : 15)};
  video->sources[0] = part_make(decoder, first, first_type);
  video->sources[1] = part_make(decoder, other, second_type);
  /* An unsigned number of 32 bits is subtracted: as one of those, or as a signed one? */
  if (is_unsigned && minus_c && (sat || scale >= 0))
    video->unsure_from = 0x80000000u;
  sim_compute(decoder, SIM_H_vmad, sim_decode_out(decoder, 0, PTX_B32), a, b, c)->extra = video;
}

/* ---- two or four parts ---- */

/* Which parts of both sources a selector chooses; `otherwise` where there is none. */
static void choice_set(sim_decoder *decoder, sim_video_parts *video, int which, ptx_selector selector,
                       ptx_selector otherwise, ptx_type type) {
  unsigned bits = 32u / video->count;
  if (selector.unit == 0)
    selector = otherwise;
  video->sources[which].sign = type == PTX_S32 ? video->part ^ video->part >> 1 : 0;
  for (unsigned i = 0; i < video->count; i++) {
    unsigned part = digit(selector, i);
    if (selector.unit != otherwise.unit || selector.count != video->count || part >= 2u * video->count)
      sim_decode_fail(decoder, "a source's parts are %s", video->count == 2 ? ".hxy of 0 to 3" : ".bxyzw of 0 to 7");
    video->sources[which].from[i] = (uint8_t)(part / video->count);
    video->sources[which].up[i] = (uint8_t)(part % video->count * bits);
  }
}

static void mask_set(sim_decoder *decoder, sim_video_parts *video, ptx_selector selector, char unit) {
  video->mask = (uint8_t)((1u << video->count) - 1);
  if (selector.unit == 0)
    return;
  video->mask = 0;
  for (unsigned i = 0; i < selector.count; i++) {
    unsigned part = digit(selector, i);
    if (selector.unit != unit || part >= video->count || (i > 0 && part <= digit(selector, i - 1)))
      sim_decode_fail(decoder, "the parts of the destination are %s, each at most once, the highest first",
                      video->count == 2 ? ".h1 and .h0" : ".b3 to .b0");
    video->mask |= (uint8_t)(1u << part);
  }
}

static void parts(sim_decoder *decoder, const ptx_instruction *instruction, uint16_t handler, uint8_t count) {
  static const ptx_selector first_of[] = {{'h', 2, 0x10}, {'b', 4, 0x3210}},
                            second_of[] = {{'h', 2, 0x32}, {'b', 4, 0x7654}};
  bool compares = handler == SIM_H_vset_parts;
  const ptx_operand *operands = instruction->operands;
  unsigned bits = 32u / count;
  sim_decode_count(decoder, 4, 4);
  uint8_t flags = compares ? take_relation(decoder) : 0;
  bool sat = !compares && sim_decode_take(decoder, "sat"), adds = sim_decode_take(decoder, "add");
  if (sat && adds)
    sim_decode_fail(decoder, ".sat does not go with .add");
  ptx_type type = compares ? PTX_U32 : sim_decode_need_type(decoder, words);
  ptx_type first_type = sim_decode_need_type(decoder, words), second_type = sim_decode_need_type(decoder, words);
  ptx_selector into, first, other, third;
  uint32_t out = destination(decoder, &operands[0], &into);
  uint32_t a = source(decoder, &operands[1], first_type, &first),
           b = source(decoder, &operands[2], second_type, &other);
  uint32_t c = source(decoder, &operands[3], type, &third);
  if (third.unit != 0)
    sim_decode_fail(decoder, "a third source is a whole word");

  sim_video_parts *video = sim_decode_allocate(decoder, sizeof *video);
  *video = (sim_video_parts){.low = INT32_MIN, .high = INT32_MAX, .part = UINT32_MAX >> (32 - bits), .count = count};
  choice_set(decoder, video, 0, first, first_of[count / 4], first_type);
  choice_set(decoder, video, 1, other, second_of[count / 4], second_type);
  mask_set(decoder, video, into, first_of[count / 4].unit);
  if (sat) {
    video->high = (int32_t)(type == PTX_S32 ? video->part >> 1 : video->part);
    video->low = type == PTX_S32 ? -video->high - 1 : 0;
  }
  video->keep = video->ones = UINT32_MAX;
  for (unsigned i = 0; i < count && !adds; i++) {
    video->up[i] = (uint8_t)(i * bits);
    video->ones = video->part;
    if (video->mask >> i & 1)
      video->keep &= ~(video->part << i * bits);
  }
  sim_op *op = sim_compute(decoder, handler, out, a, b, c);
  op->flags = flags;
  op->extra = video;
}

void sim_decode_video(sim_decoder *decoder, const ptx_instruction *instruction) {
  switch (instruction->opcode) {
  case PTX_OP_VADD: scalar(decoder, instruction, SIM_H_vadd); break;
  case PTX_OP_VSUB: scalar(decoder, instruction, SIM_H_vsub); break;
  case PTX_OP_VABSDIFF: scalar(decoder, instruction, SIM_H_vabsdiff); break;
  case PTX_OP_VMIN: scalar(decoder, instruction, SIM_H_vmin); break;
  case PTX_OP_VMAX: scalar(decoder, instruction, SIM_H_vmax); break;
  case PTX_OP_VSHL: scalar(decoder, instruction, SIM_H_vshl); break;
  case PTX_OP_VSHR: scalar(decoder, instruction, SIM_H_vshr); break;
  case PTX_OP_VSET: scalar(decoder, instruction, SIM_H_vset); break;
  case PTX_OP_VMAD: product_sum(decoder, instruction); break;
  case PTX_OP_VADD2: parts(decoder, instruction, SIM_H_vadd_parts, 2); break;
  case PTX_OP_VSUB2: parts(decoder, instruction, SIM_H_vsub_parts, 2); break;
  case PTX_OP_VAVRG2: parts(decoder, instruction, SIM_H_vavrg_parts, 2); break;
  case PTX_OP_VABSDIFF2: parts(decoder, instruction, SIM_H_vabsdiff_parts, 2); break;
  case PTX_OP_VMIN2: parts(decoder, instruction, SIM_H_vmin_parts, 2); break;
  case PTX_OP_VMAX2: parts(decoder, instruction, SIM_H_vmax_parts, 2); break;
  case PTX_OP_VSET2: parts(decoder, instruction, SIM_H_vset_parts, 2); break;
  case PTX_OP_VADD4: parts(decoder, instruction, SIM_H_vadd_parts, 4); break;
  case PTX_OP_VSUB4: parts(decoder, instruction, SIM_H_vsub_parts, 4); break;
  case PTX_OP_VAVRG4: parts(decoder, instruction, SIM_H_vavrg_parts, 4); break;
  case PTX_OP_VABSDIFF4: parts(decoder, instruction, SIM_H_vabsdiff_parts, 4); break;
  case PTX_OP_VMIN4: parts(decoder, instruction, SIM_H_vmin_parts, 4); break;
  case PTX_OP_VMAX4: parts(decoder, instruction, SIM_H_vmax_parts, 4); break;
  default: parts(decoder, instruction, SIM_H_vset_parts, 4);
  }
}
