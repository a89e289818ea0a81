/* What a PTX text says: symbols, functions and instructions, with names already looked up. Names and meanings: NVIDIA's PTX ISA
   manual, versions 6.3 to 9.x. */
#ifndef SIM_PTX_H
#define SIM_PTX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"

/* X(name, text, bytes of one register, kind): kind: b bits, u unsigned, s signed, f floating, p predicate */
// clang-format off
#define PTX_TYPES(X) \
  X(PRED, "pred", 0, 'p') X(B8, "b8", 1, 'b') X(B16, "b16", 2, 'b') X(B32, "b32", 4, 'b') X(B64, "b64", 8, 'b') \
  X(B128, "b128", 16, 'b') X(U8, "u8", 1, 'u') X(U16, "u16", 2, 'u') X(U32, "u32", 4, 'u') X(U64, "u64", 8, 'u') \
  X(S8, "s8", 1, 's') X(S16, "s16", 2, 's') X(S32, "s32", 4, 's') X(S64, "s64", 8, 's') \
  X(U16X2, "u16x2", 4, 'u') X(S16X2, "s16x2", 4, 's') X(F16, "f16", 2, 'f') X(F16X2, "f16x2", 4, 'f') \
  X(BF16, "bf16", 2, 'f') X(BF16X2, "bf16x2", 4, 'f') X(F32, "f32", 4, 'f') X(F32X2, "f32x2", 8, 'f') \
  X(TF32, "tf32", 4, 'f') X(F64, "f64", 8, 'f') X(E4M3, "e4m3", 1, 'f') X(E5M2, "e5m2", 1, 'f') \
  X(E4M3X2, "e4m3x2", 2, 'f') X(E5M2X2, "e5m2x2", 2, 'f') X(E4M3X4, "e4m3x4", 4, 'f') \
  X(E5M2X4, "e5m2x4", 4, 'f') X(E2M3X2, "e2m3x2", 2, 'f') X(E3M2X2, "e3m2x2", 2, 'f') \
  X(E2M3X4, "e2m3x4", 4, 'f') X(E3M2X4, "e3m2x4", 4, 'f') X(E2M1X2, "e2m1x2", 1, 'f') \
  X(E2M1X4, "e2m1x4", 2, 'f') X(UE8M0X2, "ue8m0x2", 2, 'f') X(S2F6X2, "s2f6x2", 2, 'f')
// clang-format on

typedef enum {
  PTX_TYPE_NONE,
#define X(name, text, bytes, kind) PTX_##name,
  PTX_TYPES(X)
#undef X
      PTX_TYPE_COUNT,
} ptx_type;

/* static tables, indexed by ptx_type */
extern const uint8_t ptx_type_bytes[PTX_TYPE_COUNT];
extern const char ptx_type_kind[PTX_TYPE_COUNT];
extern const char *const ptx_type_text[PTX_TYPE_COUNT];

typedef enum { PTX_GENERIC, PTX_REG, PTX_CONST, PTX_GLOBAL, PTX_LOCAL, PTX_PARAM, PTX_SHARED } ptx_space;

/* X(name, text, family). The family names the decoder that takes it (decode/): integer, bits, floating, compare, convert, move,
   memory, atomic, async, control, call, barrier, warp, video; `outside` is out of scope and named as such when met (its operands are
   skipped). `add` and its like are
   integer or floating by type: decode/arithmetic.c asks. */
// clang-format off
#define PTX_OPCODES(X) \
  X(ABS, "abs", arithmetic) X(ADD, "add", arithmetic) X(SUB, "sub", arithmetic) X(MUL, "mul", arithmetic) \
  X(MAD, "mad", arithmetic) X(FMA, "fma", arithmetic) X(NEG, "neg", arithmetic) X(DIV, "div", arithmetic) \
  X(REM, "rem", arithmetic) X(MIN, "min", arithmetic) X(MAX, "max", arithmetic) X(ADDC, "addc", integer) \
  X(SUBC, "subc", integer) X(MADC, "madc", integer) X(SAD, "sad", integer) X(MUL24, "mul24", integer) \
  X(MAD24, "mad24", integer) X(DP4A, "dp4a", integer) X(DP2A, "dp2a", integer) X(AND, "and", bits) \
  X(OR, "or", bits) X(XOR, "xor", bits) X(NOT, "not", bits) X(CNOT, "cnot", bits) X(LOP3, "lop3", bits) \
  X(SHL, "shl", bits) X(SHR, "shr", bits) X(SHF, "shf", bits) X(BFE, "bfe", bits) X(BFI, "bfi", bits) \
  X(BFIND, "bfind", bits) X(BREV, "brev", bits) X(CLZ, "clz", bits) X(POPC, "popc", bits) X(BMSK, "bmsk", bits) \
  X(PRMT, "prmt", bits) X(SZEXT, "szext", bits) X(FNS, "fns", bits) X(RCP, "rcp", floating) \
  X(SQRT, "sqrt", floating) X(RSQRT, "rsqrt", floating) X(EX2, "ex2", floating) X(LG2, "lg2", floating) \
  X(SIN, "sin", floating) X(COS, "cos", floating) X(TANH, "tanh", floating) X(COPYSIGN, "copysign", floating) \
  X(TESTP, "testp", floating) X(SET, "set", compare) X(SETP, "setp", compare) X(SELP, "selp", compare) \
  X(SLCT, "slct", compare) X(CVT, "cvt", convert) X(MOV, "mov", move) X(CVTA, "cvta", move) \
  X(ISSPACEP, "isspacep", move) X(LD, "ld", memory) X(LDU, "ldu", memory) X(ST, "st", memory) \
  X(PREFETCH, "prefetch", memory) X(PREFETCHU, "prefetchu", memory) X(DISCARD, "discard", memory) \
  X(APPLYPRIORITY, "applypriority", memory) X(CREATEPOLICY, "createpolicy", memory) X(MEMBAR, "membar", memory) \
  X(FENCE, "fence", memory) X(ALLOCA, "alloca", memory) X(STACKSAVE, "stacksave", memory) \
  X(STACKRESTORE, "stackrestore", memory) X(ATOM, "atom", atomic) X(RED, "red", atomic) X(CP, "cp", async) \
  X(MBARRIER, "mbarrier", async) X(BRA, "bra", control) X(BRX, "brx", control) X(EXIT, "exit", control) \
  X(TRAP, "trap", control) X(BRKPT, "brkpt", control) X(NANOSLEEP, "nanosleep", control) \
  X(PMEVENT, "pmevent", control) X(GRIDDEPCONTROL, "griddepcontrol", control) \
  X(SETMAXNREG, "setmaxnreg", control) X(CALL, "call", call) X(RET, "ret", call) X(BAR, "bar", barrier) \
  X(BARRIER, "barrier", barrier) X(VOTE, "vote", warp) X(SHFL, "shfl", warp) X(MATCH, "match", warp) \
  X(REDUX, "redux", warp) X(ACTIVEMASK, "activemask", warp) X(ELECT, "elect", warp) X(TEX, "tex", outside) \
  X(TLD4, "tld4", outside) X(TXQ, "txq", outside) X(SULD, "suld", outside) X(SUST, "sust", outside) \
  X(SURED, "sured", outside) X(SUQ, "suq", outside) X(ISTYPEP, "istypep", outside) X(WMMA, "wmma", outside) \
  X(MMA, "mma", outside) X(LDMATRIX, "ldmatrix", outside) X(STMATRIX, "stmatrix", outside) \
  X(MOVMATRIX, "movmatrix", outside) X(WGMMA, "wgmma", outside) X(TCGEN05, "tcgen05", outside) \
  X(TENSORMAP, "tensormap", outside) X(MULTIMEM, "multimem", outside) X(MAPA, "mapa", outside) \
  X(GETCTARANK, "getctarank", outside) X(CLUSTERLAUNCHCONTROL, "clusterlaunchcontrol", outside) \
  X(VADD, "vadd", video) X(VSUB, "vsub", video) X(VABSDIFF, "vabsdiff", video) X(VMIN, "vmin", video) \
  X(VMAX, "vmax", video) X(VSHL, "vshl", video) X(VSHR, "vshr", video) X(VMAD, "vmad", video) X(VSET, "vset", video) \
  X(VADD2, "vadd2", video) X(VSUB2, "vsub2", video) X(VAVRG2, "vavrg2", video) X(VABSDIFF2, "vabsdiff2", video) \
  X(VMIN2, "vmin2", video) X(VMAX2, "vmax2", video) X(VSET2, "vset2", video) X(VADD4, "vadd4", video) \
  X(VSUB4, "vsub4", video) X(VAVRG4, "vavrg4", video) X(VABSDIFF4, "vabsdiff4", video) X(VMIN4, "vmin4", video) \
  X(VMAX4, "vmax4", video) X(VSET4, "vset4", video)
// clang-format on

typedef enum {
#define X(name, text, family) PTX_OP_##name,
  PTX_OPCODES(X)
#undef X
      PTX_OPCODE_COUNT,
} ptx_opcode;

extern const char *const ptx_opcode_text[PTX_OPCODE_COUNT];

/* Special registers. X(name, text, bytes, components) */
// clang-format off
#define PTX_SPECIALS(X) \
  X(TID, "tid", 4, 3) X(NTID, "ntid", 4, 3) X(CTAID, "ctaid", 4, 3) X(NCTAID, "nctaid", 4, 3) \
  X(LANEID, "laneid", 4, 1) X(WARPID, "warpid", 4, 1) X(NWARPID, "nwarpid", 4, 1) X(SMID, "smid", 4, 1) \
  X(NSMID, "nsmid", 4, 1) X(GRIDID, "gridid", 8, 1) X(CLOCK, "clock", 4, 1) X(CLOCK_HI, "clock_hi", 4, 1) \
  X(CLOCK64, "clock64", 8, 1) X(GLOBALTIMER, "globaltimer", 8, 1) X(GLOBALTIMER_LO, "globaltimer_lo", 4, 1) \
  X(GLOBALTIMER_HI, "globaltimer_hi", 4, 1) X(LANEMASK_EQ, "lanemask_eq", 4, 1) \
  X(LANEMASK_LE, "lanemask_le", 4, 1) X(LANEMASK_LT, "lanemask_lt", 4, 1) X(LANEMASK_GE, "lanemask_ge", 4, 1) \
  X(LANEMASK_GT, "lanemask_gt", 4, 1) X(DYNAMIC_SMEM_SIZE, "dynamic_smem_size", 4, 1) \
  X(TOTAL_SMEM_SIZE, "total_smem_size", 4, 1) X(AGGR_SMEM_SIZE, "aggr_smem_size", 4, 1) \
  X(RESERVED_SMEM_OFFSET_BEGIN, "reserved_smem_offset_begin", 4, 1) \
  X(RESERVED_SMEM_OFFSET_0, "reserved_smem_offset_0", 4, 1) \
  X(RESERVED_SMEM_OFFSET_1, "reserved_smem_offset_1", 4, 1) X(RESERVED_SMEM_OFFSET_END, "reserved_smem_offset_end", 4, 1) \
  X(RESERVED_SMEM_OFFSET_CAP, "reserved_smem_offset_cap", 4, 1) X(CLUSTERID, "clusterid", 4, 3) \
  X(NCLUSTERID, "nclusterid", 4, 3) X(CLUSTER_CTAID, "cluster_ctaid", 4, 3) \
  X(CLUSTER_NCTAID, "cluster_nctaid", 4, 3) X(CLUSTER_CTARANK, "cluster_ctarank", 4, 1) \
  X(CLUSTER_NCTARANK, "cluster_nctarank", 4, 1) X(IS_EXPLICIT_CLUSTER, "is_explicit_cluster", 0, 1) \
  X(ENVREG, "envreg", 4, 32) X(PM, "pm", 4, 8) X(CURRENT_GRAPH_EXEC, "current_graph_exec", 8, 1) \
  X(WARPSZ, "WARP_SZ", 4, 1)
// clang-format on

typedef enum {
#define X(name, text, bytes, components) PTX_SPECIAL_##name,
  PTX_SPECIALS(X)
#undef X
      PTX_SPECIAL_COUNT,
} ptx_special;

/* A position in a CUDA source, from .loc, .file. */
typedef struct {
  const char *file; /* borrowed from the arena; NULL: none */
  uint32_t line, column;
} ptx_source;

typedef struct ptx_symbol ptx_symbol;
typedef struct ptx_function ptx_function;
typedef struct ptx_operand ptx_operand;

typedef enum {
  PTX_OPERAND_NONE,
  PTX_OPERAND_REGISTER, /* reg: index into function->registers */
  PTX_OPERAND_INTEGER,  /* bits */
  PTX_OPERAND_FLOAT, /* bits: of the f32 where `single` (0f........), else of the f64 (0d................ or decimal) */
  PTX_OPERAND_SPECIAL,  /* special, component */
  PTX_OPERAND_SYMBOL,   /* a variable, parameter or label-like name: symbol, offset */
  PTX_OPERAND_FUNCTION, /* function */
  PTX_OPERAND_LABEL,    /* label: index into function->labels */
  PTX_OPERAND_ADDRESS,  /* [items[0] + offset]: items[0] is REGISTER, SYMBOL or INTEGER */
  PTX_OPERAND_VECTOR,   /* {items[0], ...}: count */
  PTX_OPERAND_PAIR,     /* items[0] | items[1] */
  PTX_OPERAND_SINK,     /* _ */
  PTX_OPERAND_TABLE,    /* a .branchtargets, .calltargets or .callprototype by name: table */
} ptx_operand_kind;

typedef struct ptx_table ptx_table;

/* What stands behind a register of a video instruction: %r1.b3210, %r1.h1. */
typedef struct {
  char unit;      /* 'b', 'h'; 0: none */
  uint8_t count;  /* digits, 1 to 4 */
  uint16_t parts; /* four bits each, 0 to 7, the last digit lowest */
} ptx_selector;

struct ptx_operand {
  uint8_t kind;
  bool negated; /* !p, or -x of a register */
  bool single;
  uint8_t component; /* of a special register (x 0, y 1, z 2), or a vector register's (.x .y .z .w + 1; 0: none) */
  union {
    uint32_t count;
    ptx_selector selector; /* of a register */
  };
  union {
    uint32_t reg;
    uint64_t bits;
    ptx_special special;
    ptx_symbol *symbol;
    ptx_function *function;
    uint32_t label;
    ptx_operand *items;
    ptx_table *table;
  };
  int64_t offset;
};

enum { PTX_MODIFIERS_MAX = 16, PTX_OPERANDS_MAX = 8 };

/* One instruction. Modifiers are kept as text, in order, without the dot ("wide", "s32", "shared::cta"); a type among them also as a
   type. Call operands: (returns), function, (parameters), table: see ptx_call. */
typedef struct {
  ptx_opcode opcode;
  uint16_t modifier_count, operand_count; /* at most PTX_MODIFIERS_MAX, PTX_OPERANDS_MAX */
  const char *const *modifiers; /* interned in the arena: equal texts are equal pointers within one module set */
  const uint8_t *types;         /* ptx_type of each modifier, or PTX_TYPE_NONE */
  ptx_operand *operands;
  int64_t guard; /* register index of the predicate, or -1 */
  bool guard_negated;
  uint32_t line;         /* in the PTX text */
  uint32_t source;       /* index into module->sources; 0: none */
  struct ptx_call *call; /* of CALL */
} ptx_instruction;

typedef struct ptx_call {
  ptx_operand *returns, *parameters; /* symbols of space PARAM, or registers and immediates */
  uint32_t return_count, parameter_count;
  ptx_operand target;   /* FUNCTION, or REGISTER (indirect) */
  ptx_table *prototype; /* of an indirect call: .callprototype or .calltargets */
} ptx_call;

/* .branchtargets, .calltargets, .callprototype */
struct ptx_table {
  const char *name;
  uint32_t *labels;       /* .branchtargets: indices into function->labels */
  ptx_function **targets; /* .calltargets */
  uint32_t count;
  ptx_function *prototype; /* .callprototype: a function without body and name */
};

/* A place in an initialiser that holds an address: bytes `size` at `offset` become (address + addend) >> shift. */
typedef struct {
  uint32_t offset, size;
  ptx_symbol *symbol; /* or */
  ptx_function *function;
  int64_t addend;
  uint32_t shift; /* 0xFF(x) masks */
} ptx_relocation;

typedef enum {
  PTX_LINKAGE_STATIC,
  PTX_LINKAGE_VISIBLE,
  PTX_LINKAGE_WEAK,
  PTX_LINKAGE_COMMON,
  PTX_LINKAGE_EXTERN
} ptx_linkage;

/* A variable, or a parameter. */
struct ptx_symbol {
  const char *name;
  ptx_space space; /* CONST, GLOBAL, LOCAL, PARAM, SHARED */
  ptx_type type;
  ptx_linkage linkage;
  uint32_t alignment;
  uint64_t size;   /* bytes; 0: `.extern .shared x[]` */
  uint32_t vector; /* elements of .v2, .v4; 1 */
  bool array;
  bool managed;      /* .attribute(.managed) */
  bool pointer;      /* .ptr: a parameter that is a pointer */
  ptx_space pointee; /* of .ptr */
  uint32_t pointer_alignment;
  uint64_t offset;      /* of a parameter in its list; of the others for who places them */
  const uint8_t *bytes; /* initialiser, `size` long; NULL: zero */
  ptx_relocation *relocations;
  uint32_t relocation_count;
  ptx_function *function; /* that it is declared in; NULL: of the module */
  /* Into module->symbols; UINT32_MAX for parameters and LOCAL and PARAM variables of bodies, which are not there. */
  uint32_t index;
  /* Of an extern, weak or common one: what the link took instead; operands and relocations name that one already. */
  ptx_symbol *definition;
};

typedef struct {
  const char *name;
  ptx_type type;
  uint32_t vector;
} ptx_register;

struct ptx_function {
  const char *name;
  bool entry, no_return;
  bool defined; /* it has a body; else it is only declared */
  ptx_linkage linkage;
  /* Of space PARAM, or REG for .reg parameters of functions (then `offset` is the register). */
  ptx_symbol **returns, **parameters;
  uint32_t return_count, parameter_count;
  uint64_t parameter_bytes; /* with offsets by the C rules */
  ptx_register *registers;  /* those that the body names: of a family %r<100> only what is used */
  uint32_t register_count;
  ptx_symbol **locals; /* LOCAL, SHARED, PARAM, GLOBAL, CONST variables of the body */
  uint32_t local_count;
  uint32_t *labels; /* label -> index of the instruction it stands before (may be instruction_count) */
  const char **label_names;
  uint32_t label_count;
  ptx_instruction *instructions;
  uint32_t instruction_count;
  uint32_t max_threads[3], required_threads[3]; /* .maxntid, .reqntid; 0: not given */
  uint32_t min_blocks, max_registers;           /* .minnctapersm, .maxnreg */
  bool cluster;                                 /* .explicitcluster, .reqnctapercluster, .maxclusterrank */
  uint32_t cluster_size[3];
  uint32_t line;  /* of its head in the text */
  uint32_t index; /* into module->functions */
  /* Of a declaration, or a weak one that lost: what the link found (operands, calls and relocations name that one already), or NULL
     (an extern of the device's runtime). */
  ptx_function *definition;
};

typedef struct ptx_module {
  ptx_arena *arena;   /* owns everything here */
  uint32_t version;   /* .version * 10: 84 (the highest of the texts) */
  uint32_t target;    /* 90; the highest of the texts */
  char target_suffix; /* 'a', 'f' or 0 */
  bool debug;
  ptx_symbol **symbols; /* of the module, and the static ones of functions */
  uint32_t symbol_count;
  ptx_function **functions;
  uint32_t function_count;
  ptx_source *sources; /* [0] is "none" */
  uint32_t source_count;
} ptx_module;

/* A log for the user: JIT options "error log", and reports. Truncated, always ends with NUL. */
typedef struct {
  char text[2048];
} ptx_log;

/* Reads one or several texts (a linker's inputs, or texts that were joined: each begins with .version) and joins them: externs are
   looked up among all; a definition twice is an error. A text ends at its length or a NUL before it.
   0 and *out new (ptx_module_free); 218 with "ptx: line 12: ..." in the log, also for a .target above `capability` and an `a` target
   of another one, as drivers answer; 222 for a .version newer than `newest` (96 = 9.6); 2. At most 16 MiB a text. */
int ptx_module_read(ptx_module **out, const char *const *texts, const size_t *lengths, size_t count, uint32_t newest,
                    uint32_t capability, ptx_log *log);
void ptx_module_free(ptx_module *module);

/* Only the heads: whether the data begins like a PTX text (white space and comments, then .version). */
bool ptx_module_recognise(const void *data, size_t length);

#endif
