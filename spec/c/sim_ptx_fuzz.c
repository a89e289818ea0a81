/* Any text as PTX: it is read and decoded, or refused with a reason; never more.
 *
 * libFuzzer: clang -fsanitize=fuzzer,address,undefined -Isrc -Isrc/sim -Ispec/c spec/c/sim_ptx_fuzz.c and the simulator's sources, run over a
 * copy of spec/c/ptx. With XCHG_FUZZ_RUNS defined it is a program that changes those texts itself, that many times. */
#include "test.h"

#include <dirent.h>
#include <stdlib.h>

#include "program.h"
#include "result.h"

#define EXPECT(condition)                                                                                              \
  do {                                                                                                                 \
    if (!(condition)) {                                                                                                \
      printf("sim_ptx_fuzz: %s\n", #condition);                                                                        \
      fflush(stdout);                                                                                                  \
      abort();                                                                                                         \
    }                                                                                                                  \
  } while (0)

static void check_operand(const ptx_module *module, const ptx_function *function, const ptx_operand *operand) {
  switch (operand->kind) {
  case PTX_OPERAND_REGISTER: EXPECT(operand->reg < function->register_count); break;
  case PTX_OPERAND_LABEL: EXPECT(operand->label < function->label_count); break;
  case PTX_OPERAND_SPECIAL: EXPECT(operand->special < PTX_SPECIAL_COUNT); break;
  case PTX_OPERAND_SYMBOL:
    EXPECT(!operand->symbol->definition);
    EXPECT(operand->symbol->index == UINT32_MAX || module->symbols[operand->symbol->index] == operand->symbol);
    break;
  case PTX_OPERAND_FUNCTION:
    EXPECT(!operand->function->definition && module->functions[operand->function->index] == operand->function);
    break;
  case PTX_OPERAND_TABLE:
    for (uint32_t i = 0; operand->table->labels && i < operand->table->count; i++)
      EXPECT(operand->table->labels[i] < function->label_count);
    break;
  case PTX_OPERAND_ADDRESS:
  case PTX_OPERAND_VECTOR:
  case PTX_OPERAND_PAIR:
    EXPECT(operand->count > 0);
    for (uint32_t i = 0; i < operand->count; i++)
      check_operand(module, function, &operand->items[i]);
    break;
  default:
    EXPECT(operand->kind == PTX_OPERAND_INTEGER || operand->kind == PTX_OPERAND_FLOAT ||
           operand->kind == PTX_OPERAND_SINK);
  }
}

static void check_module(const ptx_module *module) {
  for (uint32_t i = 0; i < module->function_count; i++) {
    const ptx_function *function = module->functions[i];
    EXPECT(function->index == i);
    for (uint32_t j = 0; j < function->label_count; j++)
      EXPECT(function->labels[j] <= function->instruction_count);
    for (uint32_t j = 0; j < function->instruction_count; j++) {
      const ptx_instruction *instruction = &function->instructions[j];
      EXPECT(instruction->guard < (int64_t)function->register_count && instruction->guard >= -1);
      EXPECT(instruction->source < module->source_count);
      EXPECT((instruction->call != NULL) == (instruction->opcode == PTX_OP_CALL));
      for (uint32_t k = 0; k < instruction->operand_count; k++)
        check_operand(module, function, &instruction->operands[k]);
    }
  }
  for (uint32_t i = 0; i < module->symbol_count; i++)
    for (uint32_t j = 0; j < module->symbols[i]->relocation_count; j++) {
      const ptx_relocation *relocation = &module->symbols[i]->relocations[j];
      EXPECT((uint64_t)relocation->offset + relocation->size <= module->symbols[i]->size);
      EXPECT((relocation->symbol != NULL) != (relocation->function != NULL));
    }
}

/* Refused: for a reason that begins with "ptx: ". */
static void check_log(int result, const ptx_log *log) {
  size_t length = strlen(log->text);
  EXPECT(length < sizeof log->text);
  if (result == 0)
    return;
  EXPECT(result == SIM_INVALID_PTX || result == SIM_UNSUPPORTED_PTX_VERSION || result == SIM_NO_BINARY_FOR_GPU ||
         result == SIM_OUT_OF_MEMORY);
  EXPECT(strncmp(log->text, "ptx: ", 5) == 0 && length > 12);
}

static unsigned long decoded;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const char *text = (const char *)data;
  ptx_module *module;
  sim_program *program;
  ptx_log log;
  int result;
  ptx_module_recognise(data, size);
  result = ptx_module_read(&module, &text, &size, 1, 96, 120, &log);
  check_log(result, &log);
  EXPECT((result == 0) == (module != NULL));
  if (result)
    return 0;
  check_module(module);
  result = sim_program_create(&program, module, &log);
  check_log(result, &log);
  if (result)
    return 0;
  decoded++;
  sim_program_free(program);
  return 0;
}

/* ---- changes that keep most of a text whole ---- */

static const char *const words[] = {
    "{",          "}",        ";",          ",",          "(",        ")",       "[",          "]",        "<4>",
    "0",          "-1",       "4294967296", "0f7FC00000", "0d0",      "1.5",     "%tid.x",     "_",        "WARP_SZ",
    ".b8",        ".b16",     ".b32",       ".b64",       ".b128",    ".f16x2",  ".bf16",      ".f32",     ".f64",
    ".s8",        ".u64",     ".pred",      ".v2",        ".v4",      ".sat",    ".ftz",       ".rn",      ".wide",
    ".lo",        ".hi",      ".cc",        ".global",    ".shared",  ".local",  ".param",     ".const",   ".reg",
    ".align 3",   ".extern",  ".weak",      ".func",      ".entry",   "call",    "bra",        "ret;",     "mov.b64",
    "ld.param",   "st.local", "@%p1",       "@!%p1",      "!",        "|",       "%r1",        "%rd1",     "%f1",
    ".volatile",  ".sync",    ".relaxed",   ".gpu",       ".acquire", ":",       "a:",         "//",       "/*",
    "\"",         "setp",     "selp",       "cvt",        "atom",     "red",     "shfl",       "vote",     "bar",
    "fma",        "mad",      "lop3",       "prmt",       "bfe",      "div",     "generic(x)", "\0",       "\xff",
    "1000000000", "x[]",      "= {",        ".version",   ".target",  "brx.idx", "mbarrier",   "cp.async", "sm_90",
};

static uint64_t change_state;
static size_t change_below(size_t below) {
  change_state = change_state * 6364136223846793005u + 1442695040888963407u;
  return (size_t)(change_state >> 33) % below;
}

/* A position, mostly where a word begins. */
static size_t change_place(const char *text, size_t size) {
  size_t at = change_below(size + 1);
  if (change_below(4))
    while (at < size && at > 0 && text[at] != ' ' && text[at] != '.' && text[at] != '\n' && text[at] != ',')
      at++;
  return at;
}

static size_t change_line_end(const char *text, size_t size, size_t at) {
  while (at < size && text[at] != '\n')
    at++;
  return at < size ? at + 1 : size;
}

/* Puts `length` bytes at `at` over `gone` ones. */
static size_t change_splice(char *text, size_t size, size_t room, size_t at, size_t gone, const char *made,
                            size_t length) {
  if (gone > size - at)
    gone = size - at;
  if (size - gone + length > room)
    return size;
  memmove(text + at + length, text + at + gone, size - at - gone);
  memcpy(text + at, made, length);
  return size - gone + length;
}

static size_t change_once(char *text, size_t size, size_t room) {
  char held[256];
  size_t at = change_place(text, size), from, length;
  const char *word = words[change_below(sizeof words / sizeof *words)];
  switch (change_below(8)) {
  case 0: /* a word comes in */ return change_splice(text, size, room, at, 0, word, strlen(word));
  case 1: /* a word is replaced */
  case 2: return change_splice(text, size, room, at, change_below(6), word, strlen(word));
  case 3: /* a piece goes */ return change_splice(text, size, room, at, 1 + change_below(24), "", 0);
  case 4: /* a line goes */ return change_splice(text, size, room, at, change_line_end(text, size, at) - at, "", 0);
  case 5: /* a line is put somewhere else */
  case 6:
    from = change_line_end(text, size, change_below(size + 1));
    length = change_line_end(text, size, from) - from;
    if (length > sizeof held)
      length = sizeof held;
    memcpy(held, text + from, length);
    at = change_line_end(text, size, at);
    return change_splice(text, size, room, at, change_below(2) ? length : 0, held, length);
  default: /* a byte */
    if (at < size)
      text[at] = (char)change_below(128);
    return size;
  }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed) {
  change_state = seed * 0x9e3779b97f4a7c15u + size;
  for (size_t times = 1 + change_below(4); times > 0; times--)
    size = change_once((char *)data, size, room);
  return size;
}

#ifdef XCHG_FUZZ_RUNS
int main(void) {
  enum { ROOM = 64 << 10, MOST = 64 };
  static char *texts[MOST];
  static size_t sizes[MOST];
  static uint8_t text[ROOM];
  size_t count = 0;
  struct dirent **entries;
  int found = scandir("spec/c/ptx", &entries, NULL, alphasort);
  for (int i = 0; i < found; i++) {
    char path[512];
    FILE *file;
    snprintf(path, sizeof path, "spec/c/ptx/%s", entries[i]->d_name);
    if (strstr(entries[i]->d_name, ".ptx") && count < MOST && (file = fopen(path, "rb"))) {
      texts[count] = malloc(ROOM);
      sizes[count] = fread(texts[count], 1, ROOM, file);
      fclose(file);
      count++;
    }
    free(entries[i]);
  }
  if (found >= 0)
    free(entries);
  CHECK(count >= 8);
  for (int run = 0; count && run < XCHG_FUZZ_RUNS; run++) {
    size_t which = (size_t)test_below((int64_t)count), size = sizes[which];
    memcpy(text, texts[which], size);
    size = LLVMFuzzerCustomMutator(text, size, ROOM, (unsigned)test_random());
    LLVMFuzzerTestOneInput(text, size);
    test_checks++;
  }
  /* Changes so small that much is still decoded. */
  CHECK(decoded > XCHG_FUZZ_RUNS / 50);
  for (size_t i = 0; i < count; i++)
    free(texts[i]);
  return test_end();
}
#endif
