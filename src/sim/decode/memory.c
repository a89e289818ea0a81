/* ld, ldu, st, and what goes with memory: prefetches and hints, fences, the stack. */
#include "address.h"
#include "../exec/access.h"

#include <string.h>

static const ptx_type element_types[] = {PTX_B8,    PTX_B16,  PTX_B32,    PTX_B64, PTX_B128, PTX_U8,       PTX_U16,
                                         PTX_U32,   PTX_U64,  PTX_S8,     PTX_S16, PTX_S32,  PTX_S64,      PTX_F16,
                                         PTX_F16X2, PTX_BF16, PTX_BF16X2, PTX_F32, PTX_F64,  PTX_TYPE_NONE};

/* The elements of one access. */
typedef struct {
  const ptx_operand *items;
  uint32_t count;
  ptx_type type;
  uint32_t bytes; /* of an element */
} element_list;

static void elements_decode(sim_decoder *decoder, const ptx_operand *operand, element_list *out) {
  static const char *const vectors[] = {"v2", "v4", "v8", NULL};
  int vector = sim_decode_take_one(decoder, vectors);
  out->type = sim_decode_need_type(decoder, element_types);
  out->bytes = ptx_type_bytes[out->type];
  out->count = vector < 0 ? 1 : 2u << vector;
  out->items = operand;
  if (vector >= 0) {
    if (operand->kind != PTX_OPERAND_VECTOR || operand->count != out->count)
      sim_decode_fail(decoder, "a vector of %u elements is wanted", out->count);
    out->items = operand->items;
  }
  if (out->count * out->bytes > 32)
    sim_decode_fail(decoder, "more than 32 bytes at once");
}

/* ---- emitting ---- */

static uint16_t space_handler(ptx_space space, bool vector, bool store) {
  static const uint16_t handlers[2][2][4] = {
      {{SIM_H_ld_global_8, SIM_H_ld_shared_8, SIM_H_ld_local_8, SIM_H_ld_param_8},
       {SIM_H_ldv_global_8, SIM_H_ldv_shared_8, SIM_H_ldv_local_8, SIM_H_ldv_param_8}},
      {{SIM_H_st_global_8, SIM_H_st_shared_8, SIM_H_st_local_8, 0},
       {SIM_H_stv_global_8, SIM_H_stv_shared_8, SIM_H_stv_local_8, 0}}};
  return handlers[store][vector][space == PTX_SHARED ? 1 : space == PTX_LOCAL ? 2 : space == PTX_PARAM ? 3 : 0];
}

/* The access itself: slots hold elements of `bytes` 1, 2, 4 or 8. */
static void access_emit(sim_decoder *decoder, const sim_address *address, bool store, uint32_t flags, uint32_t bytes,
                        uint32_t count, const uint32_t *slots) {
  if (address->kind != SIM_ADDRESS_SLOT) {
    uint16_t first = store ? SIM_H_stc_8 : address->kind == SIM_ADDRESS_KERNEL ? SIM_H_ldk_8 : SIM_H_ldc_8;
    for (uint32_t i = 0; i < count; i++) {
      sim_op *op = sim_decode_emit(decoder, sim_decode_width(first, bytes));
      op->immediate = address->offset + (int64_t)(i * bytes);
      *(store ? &op->in[1] : &op->out) = slots[i];
    }
    return;
  }
  sim_op *op = sim_decode_emit(decoder, sim_decode_width(space_handler(address->space, count > 1, store), bytes));
  op->flags = (uint8_t)(flags | (address->space == PTX_GENERIC ? SIM_ACCESS_GENERIC : 0));
  op->in[0] = address->slot;
  if (count == 1) {
    op->immediate = address->offset;
    *(store ? &op->in[1] : &op->out) = slots[0];
    return;
  }
  sim_vector *vector = sim_decode_allocate(decoder, sizeof *vector);
  vector->offset = address->offset;
  vector->count = count;
  for (uint32_t i = 0; i < count; i++)
    vector->slots[i] = slots[i];
  op->extra = vector;
}

/* What turns a loaded element into the value of a wider register; 0: it is one already. */
static uint16_t extension(uint32_t bytes, bool is_signed, uint32_t wide) {
  if (wide <= bytes)
    return 0;
  if (wide == 8)
    return !is_signed   ? SIM_H_extend_u32_64
           : bytes == 1 ? SIM_H_extend_s8_64
           : bytes == 2 ? SIM_H_extend_s16_64
                        : SIM_H_extend_s32_64;
  if (!is_signed)
    return 0;
  return bytes == 2 ? SIM_H_extend_s16_32 : wide == 2 ? SIM_H_extend_s8_16 : SIM_H_extend_s8_32;
}

static void load_emit(sim_decoder *decoder, const sim_address *address, const element_list *elements, uint32_t flags) {
  uint32_t outs[8], slots[8];
  uint16_t extensions[8];
  if (elements->type == PTX_B128) {
    for (uint32_t i = 0; i < elements->count; i++) {
      slots[2 * i] = sim_decode_operand_out(decoder, &elements->items[i], PTX_B128, true);
      slots[2 * i + 1] = slots[2 * i] + SIM_WARP_SIZE * 8;
    }
    access_emit(decoder, address, false, flags, 8, 2 * elements->count, slots);
    return;
  }
  bool is_signed = ptx_type_kind[elements->type] == 's';
  for (uint32_t i = 0; i < elements->count; i++) {
    outs[i] = sim_decode_operand_out(decoder, &elements->items[i], elements->type, true);
    uint32_t wide = sim_decode_register_bytes(decoder, &elements->items[i]);
    if (wide == 16)
      sim_decode_fail(decoder, "a register of 128 bits holds only .b128");
    extensions[i] = extension(elements->bytes, is_signed, wide);
    slots[i] = extensions[i] ? sim_decode_slot_temporary(decoder, 4) : outs[i];
  }
  access_emit(decoder, address, false, flags, elements->bytes, elements->count, slots);
  for (uint32_t i = 0; i < elements->count; i++)
    if (extensions[i]) {
      sim_op *op = sim_decode_emit(decoder, extensions[i]);
      op->in[0] = slots[i];
      op->out = outs[i];
    }
}

static void store_emit(sim_decoder *decoder, const sim_address *address, const element_list *elements, uint32_t flags) {
  uint32_t slots[8];
  if (elements->type == PTX_B128) {
    for (uint32_t i = 0; i < elements->count; i++) {
      slots[2 * i] = sim_decode_operand_in(decoder, &elements->items[i], PTX_B128, true);
      slots[2 * i + 1] = slots[2 * i] + SIM_WARP_SIZE * 8;
    }
    access_emit(decoder, address, true, flags, 8, 2 * elements->count, slots);
    return;
  }
  for (uint32_t i = 0; i < elements->count; i++) {
    slots[i] = sim_decode_operand_in(decoder, &elements->items[i], elements->type, true);
    uint32_t wide = sim_decode_register_bytes(decoder, &elements->items[i]);
    if (wide == 16)
      sim_decode_fail(decoder, "a register of 128 bits holds only .b128");
    if (wide == 8 && elements->bytes < 8) {
      uint32_t temporary = sim_decode_slot_temporary(decoder, 4);
      sim_op *op = sim_decode_emit(decoder, SIM_H_narrow_64_32);
      op->in[0] = slots[i];
      op->out = temporary;
      slots[i] = temporary;
    }
  }
  access_emit(decoder, address, true, flags, elements->bytes, elements->count, slots);
}

/* ---- loads that belong to atomics ---- */

static bool address_same(const ptx_operand *a, const ptx_operand *b) {
  if (a->kind != PTX_OPERAND_ADDRESS || b->kind != PTX_OPERAND_ADDRESS)
    return false;
  const ptx_operand *x = &a->items[0], *y = &b->items[0];
  if (x->kind != y->kind || x->component != y->component ||
      (uint64_t)a->offset + (uint64_t)x->offset != (uint64_t)b->offset + (uint64_t)y->offset)
    return false;
  return x->kind == PTX_OPERAND_REGISTER ? x->reg == y->reg : x->kind == PTX_OPERAND_SYMBOL && x->symbol == y->symbol;
}

/* A plain load from the address that a compare-and-swap soon uses: the first guess of its loop, which may be stale.
   Many programs are written so, and it is no race. */
static bool load_is_guess(sim_decoder *decoder, const ptx_instruction *load) {
  enum { NEAR = 64 };
  const ptx_function *function = sim_decode_ptx_function(decoder);
  size_t left = (size_t)(function->instructions + function->instruction_count - load);
  for (size_t i = 1; i < left && i < NEAR; i++) {
    const ptx_instruction *each = &load[i];
    if (each->opcode != PTX_OP_ATOM || each->operand_count < 2 || !address_same(&load->operands[1], &each->operands[1]))
      continue;
    for (uint32_t m = 0; m < each->modifier_count; m++)
      if (strcmp(each->modifiers[m], "cas") == 0)
        return true;
  }
  return false;
}

/* ---- instructions ---- */

static void decode_access(sim_decoder *decoder, const ptx_instruction *instruction, bool store) {
  sim_ordering ordering;
  sim_decode_ordering(decoder, &ordering);
  if (sim_decode_take(decoder, "async") || sim_decode_take(decoder, "bulk"))
    sim_decode_fail(decoder, "asynchronous stores are out of scope");
  ptx_space space = sim_decode_space(decoder);
  bool hint = sim_decode_cache(decoder);
  bool constant = sim_decode_take(decoder, "nc");
  sim_decode_take(decoder, "unified");
  sim_decode_count(decoder, 2u + hint, 2u + hint);
  const ptx_operand *at = &instruction->operands[store ? 0 : 1], *what = &instruction->operands[store ? 1 : 0];
  element_list elements;
  elements_decode(decoder, what, &elements);
  if (hint)
    sim_decode_in(decoder, 2, PTX_B64);
  if (constant && (store || (space != PTX_GLOBAL && space != PTX_GENERIC)))
    sim_decode_fail(decoder, ".nc belongs to loads of global memory");
  if (store && space == PTX_CONST)
    sim_decode_fail(decoder, "constant banks cannot be written");
  sim_address address;
  sim_decode_address(decoder, at, space, &address);
  if (store && (address.kind == SIM_ADDRESS_KERNEL || (space == PTX_PARAM && address.kind == SIM_ADDRESS_SLOT)))
    sim_decode_fail(decoder, "parameters of a kernel cannot be written");
  uint32_t flags = ordering.strong || (!store && load_is_guess(decoder, instruction)) ? SIM_ACCESS_STRONG : 0;
  if (ordering.release)
    sim_decode_fence(decoder, ordering.device);
  (store ? store_emit : load_emit)(decoder, &address, &elements, flags);
  if (ordering.acquire)
    sim_decode_fence(decoder, ordering.device);
}

static void decode_fence(sim_decoder *decoder) {
  static const char *const kinds[] = {"sc", "acq_rel", "acquire", "release", NULL};
  static const char *const scopes[] = {"cta", "cluster", "gpu", "gl", "sys", NULL};
  static const char *const proxies[] = {"proxy",
                                        "alias",
                                        "async",
                                        "async::generic",
                                        "global",
                                        "shared::cta",
                                        "shared::cluster",
                                        "mbarrier_init",
                                        "sync_restrict::shared::cta",
                                        "sync_restrict::shared::cluster",
                                        NULL};
  sim_decode_take_one(decoder, kinds);
  int scope = sim_decode_take_one(decoder, scopes);
  while (sim_decode_take_one(decoder, proxies) >= 0)
    ;
  const char *left = sim_decode_peek(decoder);
  if (left)
    sim_decode_fail(decoder, ".%s is out of scope", left);
  sim_decode_count(decoder, 0, 0);
  sim_decode_fence(decoder, scope >= 2);
}

/* Hints about caches: parsed whole, and nothing is done. */
static void decode_hint(sim_decoder *decoder, const ptx_instruction *instruction) {
  static const char *const words[] = {"L1", "L2", "L2::evict_last", "L2::evict_normal", NULL};
  if (sim_decode_take(decoder, "tensormap"))
    sim_decode_fail(decoder, "tensor maps are out of scope");
  ptx_space space = sim_decode_space(decoder);
  if (sim_decode_take_one(decoder, words) < 0)
    sim_decode_fail(decoder, "the cache level is missing");
  bool size = instruction->opcode == PTX_OP_DISCARD || instruction->opcode == PTX_OP_APPLYPRIORITY;
  sim_decode_count(decoder, 1u + size, 1u + size);
  if (size && sim_decode_constant(decoder, 1) != 128)
    sim_decode_fail(decoder, "the size is 128");
  sim_address address;
  sim_decode_address(decoder, &instruction->operands[0], space, &address);
}

/* A cache policy is a number that nobody looks at. */
static void decode_policy(sim_decoder *decoder) {
  static const char *const words[] = {
      "fractional",          "range", "cvt", "L2", "global", "L2::evict_last", "L2::evict_normal", "L2::evict_first",
      "L2::evict_unchanged", NULL};
  static const ptx_type types[] = {PTX_B64, PTX_TYPE_NONE};
  while (sim_decode_take_one(decoder, words) >= 0)
    ;
  sim_decode_need_type(decoder, types);
  sim_decode_count(decoder, 1, 4);
  sim_op *op = sim_decode_emit(decoder, SIM_H_policy);
  op->out = sim_decode_out(decoder, 0, PTX_B64);
}

/* alloca ptr, size {, alignment}; stacksave d; stackrestore a */
static void decode_stack(sim_decoder *decoder, const ptx_instruction *instruction) {
  static const ptx_type types[] = {PTX_U32, PTX_U64, PTX_TYPE_NONE};
  ptx_type type = sim_decode_need_type(decoder, types);
  bool wide = type == PTX_U64;
  if (instruction->opcode == PTX_OP_ALLOCA) {
    sim_decode_count(decoder, 2, 3);
    int64_t alignment = instruction->operand_count == 3 ? sim_decode_constant(decoder, 2) : 8;
    if (alignment < 1 || alignment > 128 || (alignment & (alignment - 1)))
      sim_decode_fail(decoder, "the alignment is a power of 2 up to 128");
    uint32_t out = sim_decode_out(decoder, 0, type), size = sim_decode_in(decoder, 1, type);
    sim_op *op = sim_decode_emit(decoder, wide ? SIM_H_alloca_64 : SIM_H_alloca_32);
    op->out = out;
    op->in[0] = size;
    op->immediate = alignment;
    return;
  }
  sim_decode_count(decoder, 1, 1);
  bool save = instruction->opcode == PTX_OP_STACKSAVE;
  uint32_t slot = save ? sim_decode_out(decoder, 0, type) : sim_decode_in(decoder, 0, type);
  sim_op *op = sim_decode_emit(decoder, save ? (wide ? SIM_H_stacksave_64 : SIM_H_stacksave_32)
                                             : (wide ? SIM_H_stackrestore_64 : SIM_H_stackrestore_32));
  *(save ? &op->out : &op->in[0]) = slot;
}

void sim_decode_memory(sim_decoder *decoder, const ptx_instruction *instruction) {
  switch (instruction->opcode) {
  case PTX_OP_LD:
  case PTX_OP_LDU: decode_access(decoder, instruction, false); break;
  case PTX_OP_ST: decode_access(decoder, instruction, true); break;
  case PTX_OP_FENCE:
  case PTX_OP_MEMBAR: decode_fence(decoder); break;
  case PTX_OP_CREATEPOLICY: decode_policy(decoder); break;
  case PTX_OP_ALLOCA:
  case PTX_OP_STACKSAVE:
  case PTX_OP_STACKRESTORE: decode_stack(decoder, instruction); break;
  default: decode_hint(decoder, instruction); break;
  }
}
