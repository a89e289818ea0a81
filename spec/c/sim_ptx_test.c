/* What a PTX text says: each piece of the grammar, and what is wrong with wrong ones. */
#include "test.h"

#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "ptx/ptx.h"
#include "result.h"

#define HEAD ".version 8.4\n.target sm_75\n.address_size 64\n"
#define KERNEL(body) HEAD ".visible .entry k(.param .u64 a, .param .u32 n)\n{\n" body "\n}\n"

static ptx_log log_;

__attribute__((noinline)) static const char *log_text(void) {
  return log_.text;
}

static int read_texts(ptx_module **module, const char *const *texts, size_t count) {
  size_t lengths[8];
  for (size_t i = 0; i < count; i++)
    lengths[i] = strlen(texts[i]) + 1;
  return ptx_module_read(module, texts, lengths, count, 96, 90, &log_);
}

/* new. A text that must be read. */
static ptx_module *read_good(const char *text) {
  ptx_module *module;
  int result = read_texts(&module, &text, 1);
  CHECK_EQUAL(result, 0);
  if (result == 0)
    return module;
  printf("%s\n%.300s\n", log_.text, text);
  exit(1);
}

static void refuse(const char *text, int result, const char *message) {
  ptx_module *module;
  CHECK_EQUAL(read_texts(&module, &text, 1), result);
  CHECK_TEXT(log_text(), message);
  CHECK(module == NULL);
  ptx_module_free(module);
}

static const ptx_instruction *instruction_of(const ptx_module *module, uint32_t i) {
  const ptx_function *function = module->functions[module->function_count - 1];
  CHECK(i < function->instruction_count);
  return &function->instructions[i];
}

static const ptx_symbol *symbol_of(const ptx_module *module, const char *name) {
  for (uint32_t i = 0; i < module->symbol_count; i++) {
    CHECK_EQUAL(module->symbols[i]->index, i);
    if (strcmp(module->symbols[i]->name, name) == 0)
      return module->symbols[i];
  }
  printf("no symbol %s\n", name);
  exit(1);
}

static void test_heads(void) {
  ptx_module *module = read_good(".version 7.8 // c\n.target sm_80, debug\n/* b\n*/ .address_size 64");
  CHECK_EQUAL(module->version, 78);
  CHECK_EQUAL(module->target, 80);
  CHECK_EQUAL(module->target_suffix, 0);
  CHECK(module->debug);
  CHECK_EQUAL(module->function_count, 0);
  ptx_module_free(module);
  module = read_good(".version 8.0\n.target sm_90a\n");
  CHECK_EQUAL(module->target_suffix, 'a');
  ptx_module_free(module);

  refuse("", 218, "ptx: line 1: expected .version, but the text ends");
  refuse("\n\n hello", 218, "ptx: line 3: expected .version, read 'hello'");
  refuse(".version 8\n", 218, "ptx: line 1: expected a version as 8.4, read '8'");
  refuse(".version 8.44\n", 218, "ptx: line 1: expected a version as 8.4, read '8.44'");
  refuse(".version 9.7\n.target sm_75", 222,
         "ptx: line 1: PTX 9.7 is newer than 9.6, the newest that the driver's version knows");
  refuse(".version 8.0\n.address_size 64", 218, "ptx: line 2: expected .target behind .version, read '.address_size'");
  refuse(".version 8.0\n.target sm_100", 218,
         "ptx: line 2: the text is for sm_100, and the device has compute capability 9.0");
  refuse(".version 8.0\n.target sm_80a", 218,
         "ptx: line 2: the text is for sm_80a, and the device has compute capability 9.0");
  refuse(".version 8.0\n.target sm_80f", 218,
         "ptx: line 2: the text is for sm_80f, and the device has compute capability 9.0");
  refuse(".version 8.0\n.target sm_7x", 218, "ptx: line 2: no target 'sm_7x'");
  refuse(".version 8.0\n.target sm_75, map_f64_to_f32", 218, "ptx: line 2: no target or option 'map_f64_to_f32'");
  refuse(".version 8.0\n.target sm_75\n.address_size 32", 218, "ptx: line 3: only .address_size 64 is supported");
  refuse(
      HEAD "# 1 \"x\"", 218,
      "ptx: line 4: expected a variable, a function or a directive, read a preprocessor line, which is not supported");
  refuse(HEAD "/* no end", 218,
         "ptx: line 4: expected a variable, a function or a directive, read a comment that does not end");
  refuse(HEAD ".global .u32 \xc3\xa9;", 218,
         "ptx: line 4: expected the name of a variable, read a character that PTX has not");
}

static void test_capabilities(void) {
  static const struct {
    const char *target;
    uint32_t capability;
    int result;
  } rows[] = {
      {"sm_75", 75, 0},      {"sm_80", 75, 218},    {"sm_90a", 90, 0},   {"sm_90a", 100, 218},  {"sm_100f", 103, 0},
      {"sm_100f", 120, 218}, {"sm_103f", 100, 218}, {"sm_120a", 120, 0}, {"sm_120a", 121, 218}, {"sm_120f", 121, 0},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char text[64];
    const char *texts = text;
    size_t length = (size_t)snprintf(text, sizeof text, ".version 9.0\n.target %s\n", rows[i].target);
    ptx_module *module;
    CHECK_EQUAL(ptx_module_read(&module, &texts, &length, 1, 96, rows[i].capability, &log_), rows[i].result);
    ptx_module_free(module);
  }
}

static void test_recognise(void) {
  static const char good[] = "\n// words\n/* more */  .version 8.0", bad[] = ".versio", elf[] = "\177ELF";
  CHECK(ptx_module_recognise(good, sizeof good));
  CHECK(!ptx_module_recognise(bad, sizeof bad - 1));
  CHECK(!ptx_module_recognise(elf, sizeof elf));
  CHECK(!ptx_module_recognise("/* ", 3));
  CHECK(!ptx_module_recognise(NULL, 0));
}

/* The text ends at a NUL, and what lies behind it is not read. */
static void test_end_of_text(void) {
  static const char text[] = HEAD ".global .u32 x;\0 garbage";
  const char *texts = text;
  size_t length = sizeof text;
  ptx_module *module;
  CHECK_EQUAL(ptx_module_read(&module, &texts, &length, 1, 96, 90, &log_), 0);
  CHECK_EQUAL(module->symbol_count, 1);
  ptx_module_free(module);
  /* Without a NUL it ends at its length: a name is cut there. */
  length = sizeof HEAD - 1 + strlen(".global .u32");
  CHECK_EQUAL(ptx_module_read(&module, &texts, &length, 1, 96, 90, &log_), 218);
  CHECK_TEXT(log_text(), "ptx: line 4: expected the name of a variable, but the text ends");
}

static void test_variables(void) {
  ptx_module *module = read_good(HEAD ".global .u32 a;\n"
                                      ".visible .global .align 16 .b8 b[12];\n"
                                      ".const .f64 c[2][3];\n"
                                      ".global .attribute(.managed) .align 8 .u64 d;\n"
                                      ".extern .shared .align 16 .b8 e[];\n"
                                      ".shared .v4 .f32 f[2];\n"
                                      ".weak .global .u16 g, h[5];\n"
                                      ".common .global .align 8 .u64 i;\n"
                                      ".global .b128 j;\n");
  static const struct {
    const char *name;
    ptx_space space;
    ptx_type type;
    ptx_linkage linkage;
    uint32_t alignment;
    uint64_t size;
    uint32_t vector;
    bool array, managed;
  } rows[] = {
      {"a", PTX_GLOBAL, PTX_U32, PTX_LINKAGE_STATIC, 4, 4, 1, false, false},
      {"b", PTX_GLOBAL, PTX_B8, PTX_LINKAGE_VISIBLE, 16, 12, 1, true, false},
      {"c", PTX_CONST, PTX_F64, PTX_LINKAGE_STATIC, 8, 48, 1, true, false},
      {"d", PTX_GLOBAL, PTX_U64, PTX_LINKAGE_STATIC, 8, 8, 1, false, true},
      {"e", PTX_SHARED, PTX_B8, PTX_LINKAGE_EXTERN, 16, 0, 1, true, false},
      {"f", PTX_SHARED, PTX_F32, PTX_LINKAGE_STATIC, 16, 32, 4, true, false},
      {"g", PTX_GLOBAL, PTX_U16, PTX_LINKAGE_WEAK, 2, 2, 1, false, false},
      {"h", PTX_GLOBAL, PTX_U16, PTX_LINKAGE_WEAK, 2, 10, 1, true, false},
      {"i", PTX_GLOBAL, PTX_U64, PTX_LINKAGE_COMMON, 8, 8, 1, false, false},
      {"j", PTX_GLOBAL, PTX_B128, PTX_LINKAGE_STATIC, 16, 16, 1, false, false},
  };
  CHECK_EQUAL(module->symbol_count, sizeof rows / sizeof *rows);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const ptx_symbol *symbol = symbol_of(module, rows[i].name);
    CHECK_EQUAL(symbol->space, rows[i].space);
    CHECK_EQUAL(symbol->type, rows[i].type);
    CHECK_EQUAL(symbol->linkage, rows[i].linkage);
    CHECK_EQUAL(symbol->alignment, rows[i].alignment);
    CHECK_EQUAL(symbol->size, rows[i].size);
    CHECK_EQUAL(symbol->vector, rows[i].vector);
    CHECK_EQUAL(symbol->array, rows[i].array);
    CHECK_EQUAL(symbol->managed, rows[i].managed);
    CHECK(symbol->bytes == NULL);
    CHECK(symbol->function == NULL);
  }
  ptx_module_free(module);
}

static void test_wrong_variables(void) {
  refuse(HEAD ".global .u32 a;\n.global .u32 a;", 218, "ptx: line 5: 'a' is already defined");
  refuse(HEAD ".global a;", 218, "ptx: line 4: expected the type of a .global declaration, read 'a'");
  refuse(HEAD ".global .pred a;", 218, "ptx: line 4: a .global variable of a type that it cannot have, read '.pred'");
  refuse(HEAD ".global .align 3 .b8 a;", 218, "ptx: line 4: an alignment of 3, which is no power of two");
  refuse(HEAD ".global .u32 a[0];", 218, "ptx: line 4: an extent of 0, read ']'");
  refuse(HEAD ".global .u32 a[];", 218, "ptx: line 4: 'a' has no extent and no initialiser");
  refuse(HEAD ".global .u32 a[4][];", 218, "ptx: line 4: only the first extent may be left out, read ']'");
  refuse(HEAD ".global .u32 a[1 << 39][1 << 39];", 218,
         "ptx: line 4: 'a' is larger than 1099511627776 bytes, the most that .global can have");
  refuse(HEAD ".shared .b8 a[232449];", 218,
         "ptx: line 4: 'a' is larger than 232448 bytes, the most that .shared can have");
  refuse(HEAD ".global .u32 a", 218, "ptx: line 4: expected ';' behind a declaration, but the text ends");
  refuse(HEAD ".shared .u32 a = 1;", 218,
         "ptx: line 4: 'a' cannot have an initialiser: only .global and .const variables that are defined here can");
  refuse(HEAD ".extern .global .u32 a = 1;", 218,
         "ptx: line 4: 'a' cannot have an initialiser: only .global and .const variables that are defined here can");
  refuse(HEAD ".reg .u32 a;", 218, "ptx: line 4: .reg variables belong into functions, read '.u32'");
  refuse(HEAD ".local .u32 a;", 218, "ptx: line 4: .local variables belong into functions, read '.u32'");
  refuse(HEAD ".const[2] .u32 a;", 218, "ptx: line 4: banks of .const are not supported, read '['");
  refuse(HEAD ".global .texref t;", 218,
         "ptx: line 4: textures, samplers and surfaces are out of the simulator's scope, read '.texref'");
  refuse(HEAD ".global .v4 .f64 a;", 218, "ptx: line 4: vectors of .f64 have no 4 elements");
  refuse(HEAD ".const .attribute(.managed) .u32 a;", 218,
         "ptx: line 4: .managed is for .global variables, not for .const ones");
  refuse(HEAD ".extern .global .u32 a;", 218, "ptx: the .extern variable 'a' is defined nowhere");
  refuse(HEAD ".extern .global .u32 a;\n.global .u64 a;", 218,
         "ptx: line 5: 'a' was declared as another variable before");
  refuse(HEAD ".common .shared .u32 a;", 218, "ptx: line 4: 'a': .common is for .global variables");
  refuse(HEAD ".visible .pragma \"x\";", 218,
         "ptx: line 4: expected a variable, a function or a directive, read '.pragma'");
}

static void check_bytes(const ptx_module *module, const char *name, const void *wanted, size_t size) {
  const ptx_symbol *symbol = symbol_of(module, name);
  CHECK_EQUAL(symbol->size, size);
  CHECK(symbol->bytes && memcmp(symbol->bytes, wanted, size) == 0);
}

static void test_initialisers(void) {
  ptx_module *module = read_good(HEAD ".global .u32 a = 7, b[4] = {1, 2};\n"
                                      ".global .s16 c[] = {-1, 0x10, 010, 0b11};\n"
                                      ".global .u8 d[2][3] = {{1, 2}, {4, 5, 6}};\n"
                                      ".global .u8 e[][2] = {1, 2, {3, 4}, 5};\n"
                                      ".global .f32 f[4] = {0f3F800000, 2.5, -1, 1e3};\n"
                                      ".global .f64 g = 0d4000000000000000;\n"
                                      ".global .v2 .u32 h[2] = {{1, 2}, {3, 4}};\n"
                                      ".const .u64 i = 18446744073709551615, j = -1;\n"
                                      ".global .b32 k = 0f3F800000;\n"
                                      ".global .u32 l = WARP_SZ;\n"
                                      ".global .u8 m[3] = {};\n");
  static const uint32_t a = 7, b[4] = {1, 2, 0, 0}, h[4] = {1, 2, 3, 4}, one = 0x3f800000, lanes = 32;
  static const int16_t c[] = {-1, 16, 8, 3};
  static const uint8_t d[] = {1, 2, 0, 4, 5, 6}, e[] = {1, 2, 3, 4, 5, 0}, m[3] = {0};
  static const float f[] = {1, 2.5f, -1, 1000};
  static const double g = 2;
  static const uint64_t ones = UINT64_MAX;
  check_bytes(module, "a", &a, 4);
  check_bytes(module, "b", b, 16);
  check_bytes(module, "c", c, 8);
  check_bytes(module, "d", d, 6);
  check_bytes(module, "e", e, 6);
  check_bytes(module, "f", f, 16);
  check_bytes(module, "g", &g, 8);
  check_bytes(module, "h", h, 16);
  check_bytes(module, "i", &ones, 8);
  check_bytes(module, "j", &ones, 8);
  check_bytes(module, "k", &one, 4);
  check_bytes(module, "l", &lanes, 4);
  check_bytes(module, "m", m, 3);
  ptx_module_free(module);
}

static void check_relocation(const ptx_symbol *symbol, uint32_t i, uint32_t offset, uint32_t size, const char *target,
                             int64_t addend, uint32_t shift) {
  const ptx_relocation *relocation = &symbol->relocations[i];
  CHECK(i < symbol->relocation_count);
  CHECK_EQUAL(relocation->offset, offset);
  CHECK_EQUAL(relocation->size, size);
  CHECK_TEXT(relocation->symbol ? relocation->symbol->name : relocation->function->name, target);
  CHECK((relocation->symbol == NULL) != (relocation->function == NULL));
  CHECK_EQUAL(relocation->addend, addend);
  CHECK_EQUAL(relocation->shift, shift);
}

static void test_addresses(void) {
  ptx_module *module =
      read_good(HEAD ".func f;\n.global .u32 x[8];\n"
                     ".global .u64 t[5] = {0, x, x + 4, generic(x) - 8, f};\n"
                     ".global .u8 m[3] = {0xFF(x), 0xFF00(x + 1), 0xFF00000000000000(generic(x) + 2)};\n"
                     ".global .u32 low = x;\n"
                     ".func f { ret; }\n");
  const ptx_symbol *t = symbol_of(module, "t"), *m = symbol_of(module, "m");
  CHECK_EQUAL(t->relocation_count, 4);
  check_relocation(t, 0, 8, 8, "x", 0, 0);
  check_relocation(t, 1, 16, 8, "x", 4, 0);
  check_relocation(t, 2, 24, 8, "x", -8, 0);
  check_relocation(t, 3, 32, 8, "f", 0, 0);
  CHECK(t->relocations[3].function->defined);
  CHECK_EQUAL(m->relocation_count, 3);
  check_relocation(m, 0, 0, 1, "x", 0, 0);
  check_relocation(m, 1, 1, 1, "x", 1, 8);
  check_relocation(m, 2, 2, 1, "x", 2, 56);
  check_relocation(symbol_of(module, "low"), 0, 0, 4, "x", 0, 0);
  ptx_module_free(module);
}

static void test_wrong_initialisers(void) {
  refuse(HEAD ".global .u32 a[2] = {1, 2, 3};", 218, "ptx: line 4: more values than 'a' has elements, read '3'");
  refuse(HEAD ".global .u32 a[2] = {{1}, 2};", 218, "ptx: line 4: braces where 'a' has no dimension, read '{'");
  refuse(HEAD ".global .u32 a[2][2] = {1, {2, 3}};", 218, "ptx: line 4: braces where 'a' has no dimension, read '{'");
  refuse(HEAD ".global .u32 a[2] = 1;", 218,
         "ptx: line 4: expected '{' before the values of an array or vector, read '1'");
  refuse(HEAD ".global .u32 a = {1};", 218, "ptx: line 4: expected a constant, read '{'");
  refuse(HEAD ".global .u32 a = 1.5;", 218, "ptx: line 4: a floating value for an element of type .u32, read ';'");
  refuse(HEAD ".global .u32 a = b;", 218, "ptx: line 4: 'b' is no .global or .const variable and no function");
  refuse(HEAD ".shared .u32 s;\n.global .u64 a = s;", 218,
         "ptx: line 5: 's' is no .global or .const variable and no function");
  refuse(HEAD ".global .u32 s;\n.global .u8 a = s;", 218,
         "ptx: line 5: an address does not fit into an element of type .u8, read 's'");
  refuse(HEAD ".global .u32 s;\n.global .u8 a = 0xFE(s);", 218,
         "ptx: line 5: the mask of an address is 0xFF, 0xFF00, ..., not 0xfe, read '('");
  refuse(HEAD ".global .u32 a[] = {};", 218, "ptx: line 4: 'a' has no extent and no values, read ';'");
  refuse(HEAD ".global .u8 a[][70000000] = {{1}, {2}};", 218,
         "ptx: line 4: an initialiser of more than 67108864 bytes, read '}'");
  refuse(HEAD ".global .u8 a[1000000000] = {1};", 2, "ptx: line 4: the text needs more memory than it may take");
}

/* A constant expression as the extent of an array or an operand: what C says. */
static void test_expressions(void) {
  static const struct {
    const char *text;
    int64_t value;
  } rows[] = {
      {"1 + 2 * 3", 7},
      {"(1 + 2) * 3", 9},
      {"7 / 2 - 7 % 4", 0},
      {"-7 / 2", -3},
      {"-7 % 4", -3},
      {"8%3", 2},
      {"1 << 4 | 3", 19},
      {"0xF0 >> 4 & 6 ^ 1", 7},
      {"-16 >> 2", -4},
      {"(.u64)-16 >> 60", 15},
      {"~0", -1},
      {"!5", 0},
      {"!0 + 1", 2},
      {"3 < 4", 1},
      {"-1 < 1", 1},
      {"-1 < 1U", 0},
      {"4 <= 3", 0},
      {"2 == 2 && 0 != 1", 1},
      {"0 || 0", 0},
      {"1 ? 10 : 20", 10},
      {"0 ? 10 : 1 ? 30 : 40", 30},
      {"0x10U", 16},
      {"0b1010", 10},
      {"017", 15},
      {"+-+-5", 5},
      {"1 << 64", 0},
      {"-1 >> 70", -1},
      {"1.5 < 2.5", 1},
      {"WARP_SZ * 2", 64},
      {"-9223372036854775807 - 1", INT64_MIN},
      {"(-9223372036854775807 - 1) / -1", INT64_MIN},
      {"(-9223372036854775807 - 1) % -1", 0},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char text[256];
    ptx_module *module;
    const ptx_operand *operand;
    snprintf(text, sizeof text, KERNEL(".reg .b64 %%r<2>; mov.b64 %%r1, %s; ret;"), rows[i].text);
    module = read_good(text);
    operand = &instruction_of(module, 0)->operands[1];
    CHECK_EQUAL(operand->kind, PTX_OPERAND_INTEGER);
    if ((int64_t)operand->bits != rows[i].value)
      printf("%s\n", rows[i].text);
    CHECK_EQUAL(operand->bits, rows[i].value);
    ptx_module_free(module);
  }
  refuse(HEAD ".global .u32 a[1 / 0];", 218, "ptx: line 4: a constant divided by zero, read ']'");
  refuse(HEAD ".global .u32 a[1.5];", 218, "ptx: line 4: an extent must be an integer, read ']'");
  refuse(HEAD ".global .u32 a = 1 +;", 218, "ptx: line 4: expected a constant, read ';'");
  refuse(HEAD ".global .u32 a = (1;", 218, "ptx: line 4: expected ')' at the end of the parentheses, read ';'");
  refuse(HEAD ".global .u32 a = 18446744073709551616;", 218,
         "ptx: line 4: expected a constant, read an integer above 64 bits");
  refuse(HEAD ".global .u32 a = 09;", 218,
         "ptx: line 4: expected a constant, read a number with a character that it cannot have");
  refuse(HEAD ".global .f32 a = 0f123;", 218,
         "ptx: line 4: expected a constant, read a floating literal without its 8 (0f) or 16 (0d) hexadecimal digits");
  refuse(HEAD ".global .u32 a = 0x;", 218, "ptx: line 4: expected a constant, read a number without digits");
}

static void test_floats(void) {
  static const struct {
    const char *text;
    bool single;
    uint64_t bits;
  } rows[] = {
      {"0f3F800000", true, 0x3f800000},         {"0FBF800000", true, 0xbf800000},
      {"-0f3F800000", true, 0xbf800000},        {"0d3FF0000000000000", false, 0x3ff0000000000000},
      {"1.0", false, 0x3ff0000000000000},       {"-2.5e-1", false, 0xbfd0000000000000},
      {"1e2", false, 0x4059000000000000},       {"3.", false, 0x4008000000000000},
      {"1.5 + 1.5", false, 0x4008000000000000}, {"0f3F800000 * 2.0", false, 0x4000000000000000},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char text[256];
    ptx_module *module;
    const ptx_operand *operand;
    snprintf(text, sizeof text, KERNEL(".reg .f64 %%r<2>; mov.f64 %%r1, %s; ret;"), rows[i].text);
    module = read_good(text);
    operand = &instruction_of(module, 0)->operands[1];
    CHECK_EQUAL(operand->kind, PTX_OPERAND_FLOAT);
    CHECK_EQUAL(operand->single, rows[i].single);
    CHECK_EQUAL(operand->bits, rows[i].bits);
    ptx_module_free(module);
  }
}

static void test_functions(void) {
  ptx_module *module =
      read_good(HEAD ".extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);\n"
                     ".func (.param .align 16 .b8 r[32]) f(.param .b8 a, .param .align 8 .b8 b[9], .param .b16 c) "
                     ".noreturn;\n"
                     ".visible .entry k(.param .u64 .ptr .global .align 4 p, .param .u32 n)\n"
                     ".maxntid 128, 2\n.minnctapersm 3\n.maxnreg 64\n.pragma \"nounroll\";\n{ ret; }\n"
                     ".entry c .reqntid 32, 1, 1 .explicitcluster .reqnctapercluster 2 { }\n"
                     ".func (.reg .f32 r) g(.reg .b32 x, .reg .pred q) { ret; }\n");
  const ptx_function *vprintf_ = module->functions[0], *f = module->functions[1], *k = module->functions[2],
                     *c = module->functions[3], *g = module->functions[4];
  CHECK_EQUAL(module->function_count, 5);
  CHECK_TEXT(vprintf_->name, "vprintf");
  CHECK(!vprintf_->defined && vprintf_->linkage == PTX_LINKAGE_EXTERN && vprintf_->definition == NULL);
  CHECK_EQUAL(vprintf_->parameter_bytes, 16);
  CHECK(f->no_return && !f->defined && !f->entry);
  CHECK_EQUAL(f->returns[0]->size, 32);
  CHECK_EQUAL(f->returns[0]->alignment, 16);
  CHECK_EQUAL(f->parameter_count, 3);
  CHECK_EQUAL(f->parameters[1]->offset, 8);
  CHECK_EQUAL(f->parameters[2]->offset, 18);
  CHECK_EQUAL(f->parameter_bytes, 20);
  CHECK(k->entry && k->defined && k->linkage == PTX_LINKAGE_VISIBLE);
  CHECK_EQUAL(k->line, 6);
  CHECK_EQUAL(k->max_threads[0], 128);
  CHECK_EQUAL(k->max_threads[1], 2);
  CHECK_EQUAL(k->max_threads[2], 1);
  CHECK_EQUAL(k->min_blocks, 3);
  CHECK_EQUAL(k->max_registers, 64);
  CHECK(k->parameters[0]->pointer && k->parameters[0]->pointee == PTX_GLOBAL);
  CHECK_EQUAL(k->parameters[0]->pointer_alignment, 4);
  CHECK_EQUAL(k->parameters[0]->index, UINT32_MAX);
  CHECK(k->parameters[0]->function == k);
  CHECK(!k->parameters[1]->pointer);
  CHECK_EQUAL(k->parameters[1]->offset, 8);
  CHECK_EQUAL(k->parameter_bytes, 12);
  CHECK_EQUAL(c->required_threads[0], 32);
  CHECK(c->cluster && c->cluster_size[0] == 2 && c->cluster_size[2] == 1);
  CHECK(c->defined && c->instruction_count == 0);
  CHECK_EQUAL(g->register_count, 3);
  CHECK_EQUAL(g->returns[0]->space, PTX_REG);
  CHECK_EQUAL(g->registers[g->parameters[1]->offset].type, PTX_PRED);
  CHECK_TEXT(g->registers[g->returns[0]->offset].name, "r");
  for (uint32_t i = 0; i < module->function_count; i++)
    CHECK_EQUAL(module->functions[i]->index, i);
  ptx_module_free(module);
}

static void test_wrong_functions(void) {
  refuse(HEAD ".entry k() { ret; }\n.entry k() { ret; }", 218, "ptx: line 5: 'k' is already defined in line 4");
  refuse(HEAD ".func f(.param .b32 a);\n.func f(.param .b64 a) { ret; }", 218,
         "ptx: line 5: 'f' was declared with other parameters in line 4");
  refuse(HEAD ".global .u32 f;\n.func f { ret; }", 218, "ptx: line 5: 'f' is already a variable");
  refuse(HEAD ".func f { ret; }\n.global .u32 f;", 218, "ptx: line 5: 'f' is already a function in this scope");
  refuse(HEAD ".entry k(.reg .u32 a) { ret; }", 218, "ptx: line 4: expected a .param, read '.u32'");
  refuse(HEAD ".entry k(.param .u32 a, .param .u32 a) { ret; }", 218,
         "ptx: line 4: 'a' is already a variable in this scope");
  refuse(HEAD ".entry k(.param .b8 a[]) { ret; }", 218, "ptx: line 4: 'a' has no extent");
  refuse(HEAD ".entry k(.param .b8 a[32764], .param .b8 b) { ret; }", 218,
         "ptx: line 4: the parameters of 'k' take more than 32764 bytes");
  refuse(HEAD ".entry k .maxntid 2048 { ret; }", 218, "ptx: line 4: expected a number of 1 to 1024, read '2048'");
  refuse(HEAD ".entry k() .unheard 3 { ret; }", 218,
         "ptx: line 4: expected '{' or ';' behind the head of 'k', read '.unheard'");
  refuse(HEAD ".extern .func f { ret; }", 218, "ptx: line 4: 'f' is .extern and has a body");
  refuse(HEAD ".common .func f { ret; }", 218, "ptx: line 4: a function cannot be .common, read 'f'");
  refuse(HEAD ".entry k {\n", 218, "ptx: line 5: expected a statement, but the text ends");
  refuse(HEAD ".entry k(.param .texref t) {}", 218,
         "ptx: line 4: textures, samplers and surfaces are out of the simulator's scope, read '.texref'");
}

static void check_register(const ptx_module *module, const ptx_operand *operand, const char *name, ptx_type type) {
  const ptx_function *function = module->functions[module->function_count - 1];
  CHECK_EQUAL(operand->kind, PTX_OPERAND_REGISTER);
  CHECK(operand->reg < function->register_count);
  CHECK_TEXT(function->registers[operand->reg].name, name);
  CHECK_EQUAL(function->registers[operand->reg].type, type);
}

static void test_registers(void) {
  /* Only what is used of a family exists. */
  ptx_module *module = read_good(KERNEL(".reg .b32 %r<999999999>;\n.reg .f64 %fd<10>, x, a1<3>;\n.reg .v4 .f32 v;\n"
                                        "mov.b32 %r5, %r999999998;\n"
                                        "add.f64 %fd9, x, a12;\n"
                                        "mov.f32 v.y, v.w;\n"
                                        "mov.b32 %r5, %tid.y;"));
  const ptx_function *k = module->functions[0];
  const ptx_instruction *instruction = instruction_of(module, 0);
  CHECK_EQUAL(k->register_count, 6);
  CHECK_EQUAL(instruction->opcode, PTX_OP_MOV);
  CHECK_EQUAL(instruction->line, 9);
  check_register(module, &instruction->operands[0], "%r5", PTX_B32);
  check_register(module, &instruction->operands[1], "%r999999998", PTX_B32);
  instruction = instruction_of(module, 1);
  check_register(module, &instruction->operands[0], "%fd9", PTX_F64);
  check_register(module, &instruction->operands[1], "x", PTX_F64);
  check_register(module, &instruction->operands[2], "a12", PTX_F64);
  instruction = instruction_of(module, 2);
  check_register(module, &instruction->operands[0], "v", PTX_F32);
  CHECK_EQUAL(instruction->operands[0].component, 2);
  CHECK_EQUAL(instruction->operands[1].component, 4);
  CHECK_EQUAL(k->registers[instruction->operands[0].reg].vector, 4);
  ptx_module_free(module);

  refuse(KERNEL(".reg .b32 %r<4>;\nmov.b32 %r1, %r4;"), 218, "ptx: line 7: '%r4' is not declared");
  refuse(KERNEL(".reg .b32 %r<4>;\nmov.b32 %r1, %r01;"), 218, "ptx: line 7: '%r01' is not declared");
  refuse(KERNEL(".reg .b32 %r<4>;\n.reg .b32 %r<5>;"), 218,
         "ptx: line 7: '%r' is already a family of registers in this scope");
  refuse(KERNEL(".reg .b32 %r<4>;\n.reg .b64 %r3;"), 218,
         "ptx: line 7: '%r3' is already a register of a family in this scope");
  refuse(KERNEL(".reg .b32 x, x;"), 218, "ptx: line 6: 'x' is already a register in this scope");
  refuse(KERNEL(".reg .b32 %r<0>;"), 218, "ptx: line 6: expected a number of registers of 1 to 999999999, read '0'");
  refuse(KERNEL(".reg .b32 x;\nmov.b32 x.y, 1;"), 218, "ptx: line 7: 'x' is no vector, read '.y'");
  refuse(KERNEL(".reg .v2 .b32 x;\nmov.b32 x.z, 1;"), 218, "ptx: line 7: 'x' has no such component, read '.z'");
  refuse(KERNEL(".reg .e4m3 x;"), 218, "ptx: line 6: a .reg variable of a type that it cannot have, read '.e4m3'");
}

static void test_operands(void) {
  ptx_module *module = read_good(HEAD ".global .u32 g[4];\n.func f;\n.entry k(.param .u64 a)\n{\n"
                                      ".reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<5>;\n"
                                      "ld.global.v2.u32 {%r1, _}, [%rd1+-8];\n"
                                      "ld.param.u64 %rd1, [a];\n"
                                      "st.u32 [g+4*2], 5;\n"
                                      "setp.lt.and.s32 %p1|%p2, %r1, 3, !%p3;\n"
                                      "mov.u64 %rd2, g - 4;\n"
                                      "mov.u64 %rd2, f;\n"
                                      "mov.u32 %r2, %envreg31;\n"
                                      "ld.u32 %r2, [64];\n"
                                      "mov.u32 %r2, %ctaid.w;\n"
                                      "@!%p4 exit;\n"
                                      "shfl.sync.idx.b32 _|%p1, %r1, 0, 31, -1;\n"
                                      "mov.b64 {%r1, %r2}, %rd1;\n"
                                      "ld.u32 %r2, [%rd1-4];\n"
                                      "mov.u32 %r2, %laneid; }\n.func f { ret; }\n");
  const ptx_function *k = NULL;
  const ptx_instruction *at;
  for (uint32_t i = 0; i < module->function_count; i++)
    if (module->functions[i]->entry)
      k = module->functions[i];
  at = k->instructions;
  CHECK_EQUAL(at[0].modifier_count, 3);
  CHECK_TEXT(at[0].modifiers[0], "global");
  CHECK_TEXT(at[0].modifiers[1], "v2");
  CHECK_EQUAL(at[0].types[1], PTX_TYPE_NONE);
  CHECK_EQUAL(at[0].types[2], PTX_U32);
  CHECK_EQUAL(at[0].operand_count, 2);
  CHECK_EQUAL(at[0].operands[0].kind, PTX_OPERAND_VECTOR);
  CHECK_EQUAL(at[0].operands[0].count, 2);
  CHECK_EQUAL(at[0].operands[0].items[0].kind, PTX_OPERAND_REGISTER);
  CHECK_EQUAL(at[0].operands[0].items[1].kind, PTX_OPERAND_SINK);
  CHECK_EQUAL(at[0].operands[1].kind, PTX_OPERAND_ADDRESS);
  CHECK_EQUAL(at[0].operands[1].items[0].kind, PTX_OPERAND_REGISTER);
  CHECK_EQUAL(at[0].operands[1].offset, -8);
  CHECK_EQUAL(at[0].guard, -1);
  CHECK_EQUAL(at[1].operands[1].items[0].kind, PTX_OPERAND_SYMBOL);
  CHECK(at[1].operands[1].items[0].symbol == k->parameters[0]);
  CHECK_EQUAL(at[2].operands[0].offset, 8);
  CHECK(at[2].operands[0].items[0].symbol == symbol_of(module, "g"));
  CHECK_EQUAL(at[2].operands[0].items[0].offset, 0);
  CHECK_EQUAL(at[2].operands[1].bits, 5);
  CHECK_EQUAL(at[3].operands[0].kind, PTX_OPERAND_PAIR);
  CHECK_EQUAL(at[3].operands[0].count, 2);
  CHECK(at[3].operands[3].negated);
  CHECK(!at[3].operands[1].negated);
  CHECK_EQUAL(at[4].operands[1].kind, PTX_OPERAND_SYMBOL);
  CHECK_EQUAL(at[4].operands[1].offset, -4);
  CHECK_EQUAL(at[5].operands[1].kind, PTX_OPERAND_FUNCTION);
  CHECK(at[5].operands[1].function->defined);
  CHECK_EQUAL(at[6].operands[1].kind, PTX_OPERAND_SPECIAL);
  CHECK_EQUAL(at[6].operands[1].special, PTX_SPECIAL_ENVREG);
  CHECK_EQUAL(at[6].operands[1].component, 31);
  CHECK_EQUAL(at[7].operands[1].items[0].kind, PTX_OPERAND_INTEGER);
  CHECK_EQUAL(at[7].operands[1].items[0].bits, 64);
  CHECK_EQUAL(at[8].operands[1].kind, PTX_OPERAND_INTEGER);
  CHECK_EQUAL(at[8].operands[1].bits, 0);
  CHECK(at[9].guard >= 0 && at[9].guard_negated);
  CHECK_EQUAL(at[9].operand_count, 0);
  CHECK_EQUAL(at[10].operands[0].items[0].kind, PTX_OPERAND_SINK);
  CHECK_EQUAL(at[10].operands[4].bits, (uint64_t)-1);
  CHECK_EQUAL(at[11].operands[0].kind, PTX_OPERAND_VECTOR);
  CHECK_EQUAL(at[12].operands[1].offset, -4);
  CHECK_EQUAL(at[13].operands[1].special, PTX_SPECIAL_LANEID);
  /* Equal words are equal pointers. */
  CHECK(at[6].modifiers[0] == at[8].modifiers[0]);
  ptx_module_free(module);
}

static void test_mnemonics(void) {
  ptx_module *module = read_good(KERNEL(".reg .b32 %r<3>; .reg .b64 %rd<3>; .reg .pred %p;\n"
                                        "ld .global\n .u32 %r1, [%rd1];\n"
                                        "ld.shared::cta.L1::evict_last.L2::128B.u32 %r1,[%rd1];\n"
                                        "mov.u32 %r1,%r2;{mov.u32 %r1,%r2;};;\n"
                                        "tex.2d.v4.f32.f32 {%r1}, [nothing, {%r2, %r3}];\n"));
  const ptx_instruction *at = module->functions[0]->instructions;
  CHECK_EQUAL(at[0].opcode, PTX_OP_LD);
  CHECK_EQUAL(at[0].modifier_count, 2);
  CHECK_TEXT(at[0].modifiers[1], "u32");
  CHECK_TEXT(at[1].modifiers[0], "shared::cta");
  CHECK_TEXT(at[1].modifiers[2], "L2::128B");
  CHECK_EQUAL(module->functions[0]->instruction_count, 5);
  CHECK_EQUAL(at[4].opcode, PTX_OP_TEX);
  CHECK_EQUAL(at[4].operand_count, 0);
  ptx_module_free(module);
}

static void test_wrong_instructions(void) {
  refuse(KERNEL("mvo.u32 a, b;"), 218, "ptx: line 6: no instruction 'mvo'");
  refuse(KERNEL("mov.u32 %r1, 5;"), 218, "ptx: line 6: '%r1' is not declared");
  refuse(KERNEL(".reg .b32 x;\nmov.u32 x, %tid;"), 218,
         "ptx: line 7: expected .x, .y, .z or .w behind '%tid', read ';'");
  refuse(KERNEL(".reg .b32 x;\nmov.u32 x, %envreg32;"), 218, "ptx: line 7: '%envreg32' is not declared");
  refuse(KERNEL(".reg .b32 x;\n@x ret;"), 218, "ptx: line 7: the guard 'x' is no predicate");
  refuse(KERNEL("@y ret;"), 218, "ptx: line 6: the guard 'y' is no predicate");
  refuse(KERNEL(".reg .b32 x;\nmov.u32 x, !x;"), 218, "ptx: line 7: '!' is for predicates, read ';'");
  refuse(KERNEL("ret"), 218, "ptx: line 7: expected an operand, read '}'");
  refuse(KERNEL(".reg .b32 x;\nmov..u32 x, 1;"), 218, "ptx: line 7: mov..u32: an empty modifier");
  refuse(KERNEL(".reg .b32 x;\nmov.a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q x, 1;"), 218,
         "ptx: line 7: mov.a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q: more than 16 modifiers");
  refuse(KERNEL(".reg .b32 x;\nmov.u32 x, 1, 2, 3, 4, 5, 6, 7, 8;"), 218,
         "ptx: line 7: mov.u32: more than 8 operands, read '8'");
  refuse(KERNEL(".reg .b64 x;\nld.u32 x, [x, {x}];"), 218,
         "ptx: line 7: addresses of several parts belong to textures and tensors, which are out of scope, read ','");
  refuse(KERNEL(".reg .b64 x;\nld.u32 x, [1.5];"), 218,
         "ptx: line 7: an address is [register+offset], [variable+offset] or [number], read ']'");
  refuse(KERNEL(".reg .b64 x;\nld.u32 x, [x+x];"), 218, "ptx: line 7: expected a constant, read 'x'");
  refuse(KERNEL(".reg .b64 x;\nld.u32 x, [x;"), 218, "ptx: line 7: expected ']' behind an address, read ';'");
  refuse(KERNEL(".global .u32"), 218, "ptx: line 7: expected the name of a variable, read '}'");
  refuse(KERNEL(".visible .global .u32 x;"), 218, "ptx: line 6: unexpected in a function, read '.visible'");
  refuse(KERNEL("5;"), 218, "ptx: line 6: expected a statement, read '5'");
  refuse(KERNEL(".local .b8 x[524289];"), 218,
         "ptx: line 6: 'x' is larger than 524288 bytes, the most that .local can have");
  refuse(KERNEL(".local .b8 x[300000];\n.local .b8 y[300000];"), 218,
         "ptx: line 7: the function's .local variables take more than 524288 bytes");
}

/* Names mean what the innermost scope says; labels may come later, in the same or an outer scope. */
static void test_scopes(void) {
  ptx_module *module = read_good(KERNEL(".reg .b32 %r<3>, x;\n.param .b32 p;\n"
                                        "{ .reg .f32 x; .reg .b64 %r<2>; .param .b64 p;\n"
                                        "  mov.b64 %r1, 1; mov.f32 x, 0f00000000; st.param.b64 [p], %r1;\n"
                                        "  L: bra L; bra OUT; bra IN; IN: }\n"
                                        "mov.b32 %r1, x;\n"
                                        "{ L: bra L; mov.b32 %r2, %r1; }\n"
                                        "st.param.b32 [p], x;\n"
                                        "OUT: L: bra L;\n"));
  const ptx_function *k = module->functions[0];
  const ptx_instruction *at = k->instructions;
  CHECK_EQUAL(k->label_count, 5);
  check_register(module, &at[0].operands[0], "%r1", PTX_B64);
  check_register(module, &at[1].operands[0], "x", PTX_F32);
  CHECK_EQUAL(at[2].operands[0].items[0].symbol->size, 8);
  CHECK_EQUAL(at[2].operands[0].items[0].symbol->index, UINT32_MAX);
  CHECK_EQUAL(at[3].operands[0].kind, PTX_OPERAND_LABEL);
  CHECK_EQUAL(k->labels[at[3].operands[0].label], 3);
  CHECK_TEXT(k->label_names[at[4].operands[0].label], "OUT");
  CHECK_EQUAL(k->labels[at[4].operands[0].label], 10);
  CHECK_EQUAL(k->labels[at[5].operands[0].label], 6);
  check_register(module, &at[6].operands[0], "%r1", PTX_B32);
  check_register(module, &at[6].operands[1], "x", PTX_B32);
  CHECK_EQUAL(k->labels[at[7].operands[0].label], 7);
  CHECK(at[8].operands[1].reg == at[6].operands[0].reg);
  CHECK_EQUAL(at[9].operands[0].items[0].symbol->size, 4);
  CHECK_EQUAL(k->labels[at[10].operands[0].label], 10);
  CHECK_EQUAL(k->local_count, 2);
  ptx_module_free(module);

  /* Both families could name it: the inner one does. */
  module = read_good(KERNEL(".reg .b32 a<30>;\n{ .reg .b64 a1<5>;\nmov.b64 a12, 0; }\n{ .reg .b64 a<20>;\n"
                            "{ .reg .b16 a1<3>; mov.b64 a13, 0; mov.b16 a12, 0; } }\nmov.b32 a12, 0;"));
  check_register(module, &instruction_of(module, 0)->operands[0], "a12", PTX_B64);
  check_register(module, &instruction_of(module, 1)->operands[0], "a13", PTX_B64);
  check_register(module, &instruction_of(module, 2)->operands[0], "a12", PTX_B16);
  check_register(module, &instruction_of(module, 3)->operands[0], "a12", PTX_B32);
  ptx_module_free(module);

  refuse(KERNEL("bra NOWHERE;\nret;"), 218, "ptx: line 6: no label 'NOWHERE' here");
  refuse(KERNEL("bra INSIDE;\n{ INSIDE: ret; }"), 218, "ptx: line 6: no label 'INSIDE' here");
  refuse(KERNEL("A: ret;\nA: ret;"), 218, "ptx: line 7: 'A' is already a label in this scope");
  refuse(KERNEL("{ ret;"), 218, "ptx: line 8: expected a statement, but the text ends");
  refuse(KERNEL(".reg .b32 x;\nA: mov.b32 x, A;"), 218, "ptx: line 7: 'A' is a label, which is no operand here");
}

static void test_nesting(void) {
  static char text[400000];
  size_t used = (size_t)snprintf(text, sizeof text, HEAD ".entry k {\n");
  memset(text + used, '{', 300);
  text[used + 300] = 0;
  refuse(text, 218, "ptx: line 5: scopes nested more than 256 deep");
  used = (size_t)snprintf(text, sizeof text, HEAD ".global .u32 a = ");
  memset(text + used, '(', 100000);
  text[used + 100000] = 0;
  refuse(text, 218, "ptx: line 4: nested more than 128 deep, read '('");
  memset(text + used, '-', 100000);
  refuse(text, 218, "ptx: line 4: nested more than 128 deep, read '-'");
  used = (size_t)snprintf(text, sizeof text, HEAD ".global .u32 a[2] = ");
  memset(text + used, '{', 100000);
  text[used + 100000] = 0;
  refuse(text, 218, "ptx: line 4: braces where 'a' has no dimension, read '{'");
}

static void test_calls(void) {
  ptx_module *module = read_good(HEAD ".func (.param .b32 r) f(.param .b64 a, .param .b32 b);\n.func g;\n"
                                      ".entry k(.param .u64 a)\n{\n.reg .b32 %r<9>; .reg .b64 %rd<9>;\n"
                                      ".param .b32 rv; .param .b64 p0; .param .b32 p1;\n"
                                      "call.uni (rv), f, (p0, p1);\n"
                                      "call g;\n"
                                      "call (rv), f, (p0, 7);\n"
                                      "proto : .callprototype (.param .b32 _) _ (.param .b64 _, .param .b32 _);\n"
                                      "call (rv), %rd1, (p0, p1), proto;\n"
                                      "none: .callprototype ()_ () .noreturn;\n"
                                      "call %rd1, (), none;\n"
                                      "list: .calltargets f;\n"
                                      "call (rv), %rd1, (p0, %r1), list;\n"
                                      "bt: .branchtargets A, B, A;\n"
                                      "brx.idx %r1, bt;\n"
                                      "A: ret; B: ret;\n}\n"
                                      ".func (.param .b32 r) f(.param .b64 a, .param .b32 b) { ret; }\n");
  const ptx_function *k = module->functions[2];
  const ptx_instruction *at = k->instructions;
  CHECK_TEXT(k->name, "k");
  CHECK_EQUAL(at[0].operand_count, 0);
  CHECK_EQUAL(at[0].call->return_count, 1);
  CHECK_EQUAL(at[0].call->parameter_count, 2);
  CHECK_EQUAL(at[0].call->target.kind, PTX_OPERAND_FUNCTION);
  CHECK(at[0].call->target.function->defined);
  CHECK_TEXT(at[0].call->parameters[1].symbol->name, "p1");
  CHECK(at[0].call->prototype == NULL);
  CHECK_EQUAL(at[1].call->parameter_count, 0);
  CHECK(!at[1].call->target.function->defined);
  CHECK_EQUAL(at[2].call->parameters[1].bits, 7);
  CHECK_EQUAL(at[3].call->target.kind, PTX_OPERAND_REGISTER);
  CHECK_EQUAL(at[3].call->prototype->prototype->parameter_bytes, 12);
  CHECK_TEXT(at[3].call->prototype->name, "proto");
  CHECK_EQUAL(at[4].call->prototype->prototype->parameter_count, 0);
  CHECK_EQUAL(at[5].call->prototype->count, 1);
  CHECK(at[5].call->prototype->targets[0] == at[0].call->target.function);
  CHECK_EQUAL(at[6].operands[1].kind, PTX_OPERAND_TABLE);
  CHECK_EQUAL(at[6].operands[1].table->count, 3);
  CHECK_EQUAL(k->labels[at[6].operands[1].table->labels[0]], 7);
  CHECK_EQUAL(k->labels[at[6].operands[1].table->labels[1]], 8);
  CHECK_EQUAL(k->labels[at[6].operands[1].table->labels[2]], 7);
  ptx_module_free(module);

  refuse(KERNEL("call h;"), 218, "ptx: line 6: 'h' is not declared");
}

static void test_wrong_calls(void) {
#define CALLER(body)                                                                                                   \
  HEAD ".func (.param .b32 r) f(.param .b64 a); .entry e;\n.entry k {\n.param .b64 p; .param .b32 q;\n.reg .b64 "      \
       "x;\n" body "\n}"
  refuse(CALLER("call (q), f;"), 218, "ptx: line 8: 'f' has 1 parameters, and the call 0");
  refuse(CALLER("call f, (p);"), 218, "ptx: line 8: 'f' has 1 returns, and the call 0");
  refuse(CALLER("call (q), f, (q);"), 218, "ptx: line 8: 'f' has 8 bytes where the call has the 4 of 'q'");
  refuse(CALLER("call e;"), 218, "ptx: line 8: 'e' is a kernel, which cannot be called");
  refuse(CALLER("call x;"), 218, "ptx: line 8: an indirect call needs a .callprototype or .calltargets");
  refuse(CALLER("call x, (p), x;"), 218,
         "ptx: line 8: an indirect call needs a .callprototype or .calltargets, read ';'");
  refuse(CALLER("T: .branchtargets L; L: call x, (p), T;"), 218,
         "ptx: line 8: an indirect call needs a .callprototype or .calltargets, read ';'");
  refuse(CALLER("call (5), f, (p);"), 218, "ptx: line 8: a call takes .param variables, registers, read ')'");
  refuse(CALLER("T: .calltargets x;"), 218, "ptx: line 8: expected the name of a function, read ';'");
  refuse(CALLER("T: .branchtargets L;"), 218, "ptx: line 8: no label 'L' here");
#undef CALLER
}

static void test_debug(void) {
  ptx_module *module =
      read_good(HEAD ".entry k {\n.reg .b32 x;\nmov.b32 x, 0;\n.loc 1 12 3\nmov.b32 x, 1;\n"
                     ".loc 2 7 0, function_name $L__info_string0, inlined_at 1 12 3\nmov.b32 x, 2;\n"
                     ".loc 9 1 1\nmov.b32 x, 3;\n.loc 1 12 3\nmov.b32 x, 4;\nret;\n}\n.entry l { ret; }\n"
                     ".file 1 \"/a/b.cu\"\n.file 2 \"c.h\", 123, 456\n"
                     ".section .debug_str\n{\n$L__info_string0:\n.b8 95, 90\n{ .b64 $L__info_string0+4 }\n}\n");
  const ptx_instruction *at = module->functions[0]->instructions;
  CHECK_EQUAL(at[0].source, 0);
  CHECK(module->sources[0].file == NULL);
  CHECK_TEXT(module->sources[at[1].source].file, "/a/b.cu");
  CHECK_EQUAL(module->sources[at[1].source].line, 12);
  CHECK_EQUAL(module->sources[at[1].source].column, 3);
  CHECK_TEXT(module->sources[at[2].source].file, "c.h");
  CHECK_EQUAL(module->sources[at[2].source].line, 7);
  CHECK(module->sources[at[3].source].file == NULL);
  CHECK_EQUAL(module->sources[at[4].source].line, 12);
  CHECK_EQUAL(at[5].source, at[4].source);
  CHECK_EQUAL(module->functions[1]->instructions[0].source, 0);
  ptx_module_free(module);

  refuse(HEAD ".section .debug_str {\n.b8 1\n", 218, "ptx: line 4: a section that does not end");
  refuse(HEAD ".section .debug_str .b8", 218, "ptx: line 4: expected '{' behind the name of a section, read '.b8'");
  refuse(HEAD ".file 1 x", 218, "ptx: line 4: expected the name of a file in quotes, read 'x'");
  refuse(HEAD ".file 1 \"x\n", 218,
         "ptx: line 4: expected the name of a file in quotes, read a string that does not end");
  refuse(KERNEL(".loc 1 2"), 218, "ptx: line 7: expected a column of 0 to 4294967295, read '}'");
  refuse(KERNEL(".loc 1 2 3, what 4"), 218, "ptx: line 6: expected function_name or inlined_at, read 'what'");
  refuse(KERNEL(".pragma nounroll;"), 218, "ptx: line 6: expected a pragma in quotes, read 'nounroll'");
}

static void test_link(void) {
  static const char *const texts[] = {
      HEAD ".extern .global .u32 x;\n.extern .func (.param .b32 r) f(.param .b32 a);\n.weak .func w { ret; }\n"
           ".weak .global .u32 v = 1;\n.common .global .u64 c;\n.global .u32 own = 1;\n.global .u64 p = x;\n"
           ".extern .shared .b8 dyn[];\n"
           ".entry k { .reg .b32 a; .reg .b64 b; .param .b32 r; .param .b32 q;\n"
           "ld.global.u32 a, [x]; call (r), f, (q); call w; mov.u64 b, v; mov.u64 b, own; ret; }\n",
      HEAD ".visible .global .u32 x = 5;\n.visible .func (.param .b32 r) f(.param .b32 a) { ret; }\n"
           ".visible .func w { trap; ret; }\n.visible .global .u32 v = 2;\n.common .global .u64 c;\n"
           ".global .u32 own = 2;\n.extern .shared .b8 dyn[];\n",
  };
  ptx_module *module;
  const ptx_function *k = NULL;
  int result = read_texts(&module, texts, 2);
  CHECK_EQUAL(result, 0);
  CHECK_TEXT(log_text(), "");
  if (result)
    return;
  for (uint32_t i = 0; i < module->function_count; i++)
    if (module->functions[i]->entry)
      k = module->functions[i];
  CHECK_EQUAL(k->instructions[0].operands[1].items[0].symbol->bytes[0], 5);
  CHECK(k->instructions[1].call->target.function->defined);
  CHECK_EQUAL(k->instructions[2].call->target.function->instruction_count, 2);
  CHECK_EQUAL(k->instructions[3].operands[1].symbol->bytes[0], 2);
  CHECK_EQUAL(k->instructions[4].operands[1].symbol->bytes[0], 1);
  CHECK_EQUAL(symbol_of(module, "p")->relocations[0].symbol->bytes[0], 5);
  CHECK(symbol_of(module, "x")->definition != NULL);
  CHECK(symbol_of(module, "dyn")->definition == NULL);
  ptx_module_free(module);

  {
    static const char *const twice[] = {HEAD ".visible .func f { ret; }", HEAD "\n\n.visible .func f { ret; }"};
    CHECK_EQUAL(read_texts(&module, twice, 2), 218);
    CHECK_TEXT(log_text(), "ptx: 'f' is defined in two texts");
  }
  {
    static const char *const other[] = {HEAD ".extern .func f(.param .b32 a);",
                                        HEAD ".visible .func f(.param .b64 a) { ret; }"};
    CHECK_EQUAL(read_texts(&module, other, 2), 218);
    CHECK_TEXT(log_text(), "ptx: 'f' is declared and defined with different parameters");
  }
  {
    static const char *const second[] = {HEAD, HEAD "\nwrong"};
    CHECK_EQUAL(read_texts(&module, second, 2), 218);
    CHECK_TEXT(log_text(), "ptx: text 2, line 5: expected a variable, a function or a directive, read 'wrong'");
  }
}

/* Texts that were joined into one: each begins with its own head and has its own static names. */
static void test_joined(void) {
  ptx_module *module = read_good(HEAD ".extern .func f;\n.global .u32 own;\n.entry k { call f; ret; }\n"
                                      ".version 8.0\n.target sm_80\n.global .u32 own;\n.visible .func f { ret; }\n");
  CHECK_EQUAL(module->version, 84);
  CHECK_EQUAL(module->target, 80);
  CHECK_EQUAL(module->symbol_count, 2);
  CHECK_EQUAL(module->functions[1]->instructions[0].call->target.function->index, 2);
  ptx_module_free(module);
}

static void test_aliases(void) {
  ptx_module *module = read_good(HEAD ".visible .func a;\n.visible .func b { ret; }\n.alias a, b;\n"
                                      ".entry k { call a; ret; }\n");
  CHECK_TEXT(module->functions[2]->instructions[0].call->target.function->name, "b");
  CHECK(module->functions[0]->definition == module->functions[1]);
  ptx_module_free(module);
  refuse(HEAD ".func b { ret; }\n.alias a, b;", 218, "ptx: line 5: 'a' is no function that was declared before");
  refuse(HEAD ".func a; .func b; .alias a, b;", 218, "ptx: the alias 'a' needs a function with a body");
  refuse(HEAD ".func a; .alias a, a;", 218,
         "ptx: line 4: 'a' cannot be an alias of 'a': it has a body or other parameters, but the text ends");
}

/* A name as long as C++ makes them, in a message too. */
static void test_long_names(void) {
  static char text[20000];
  size_t used = (size_t)snprintf(text, sizeof text, HEAD ".entry ");
  ptx_module *module;
  memset(text + used, 'n', 8000);
  snprintf(text + used + 8000, sizeof text - used - 8000, " { ret; }");
  module = read_good(text);
  CHECK_EQUAL(strlen(module->functions[0]->name), 8000);
  ptx_module_free(module);
  snprintf(text + used + 8000, sizeof text - used - 8000, " [");
  {
    const char *texts = text;
    CHECK_EQUAL(read_texts(&module, &texts, 1), 218);
    CHECK(strlen(log_.text) < sizeof log_.text && strstr(log_.text, "behind the head of 'nnnn"));
  }
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Time grows with the text and not faster: texts that a list for each name, a scan for each label or a copy for each scope would make
   slow. The limit is far above what they take, and far below what they would. */
static void test_time(void) {
  enum { SIZE = 1 << 20 };
  char *text = malloc(SIZE + 64);
  static const char *const lines[] = {
      ".global .u32 g%u;\n",                                             /* many names */
      ".entry k%u { bra A; A: ret; }\n",                                 /* many functions */
      ".entry k%u { .reg .b32 %%r<9>; { mov.b32 %%r1, %%r8; } ret; }\n", /* families and scopes */
  };
  static const char *const inside[] = {
      "bra L%u; L%u:\n", "bra END;\n", "{ bra END; }\n", ".loc 1 %u 1 ret;\n", "mov.b32 %%r%u, %%r7;\n",
  };
  for (size_t i = 0; i < sizeof lines / sizeof *lines + sizeof inside / sizeof *inside; i++) {
    bool body = i >= sizeof lines / sizeof *lines;
    const char *line = body ? inside[i - sizeof lines / sizeof *lines] : lines[i];
    size_t used = (size_t)sprintf(text, "%s%s", HEAD, body ? ".entry k { .reg .b32 %r<9999999>;\n" : "");
    double start;
    ptx_module *module;
    for (uint32_t n = 0; used < SIZE - 200; n++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
      used += (size_t)sprintf(text + used, line, n, n);
#pragma GCC diagnostic pop
    }
    if (body)
      strcpy(text + used, "END: ret; }");
    start = seconds();
    module = read_good(text);
    CHECK(seconds() - start < 2);
    ptx_module_free(module);
  }
  free(text);
}

/* What compilers write. */
static void test_samples(void) {
  DIR *folder = opendir("spec/c/ptx");
  int count = 0;
  CHECK(folder != NULL);
  for (struct dirent *entry; folder && (entry = readdir(folder));) {
    char path[512];
    static char text[1 << 20];
    size_t length;
    FILE *file;
    if (!strstr(entry->d_name, ".sm_"))
      continue;
    snprintf(path, sizeof path, "spec/c/ptx/%s", entry->d_name);
    file = fopen(path, "rb");
    CHECK(file != NULL);
    if (!file)
      continue;
    length = fread(text, 1, sizeof text - 1, file);
    text[length] = 0;
    fclose(file);
    {
      const char *texts = text;
      ptx_module *module;
      uint32_t capability = (uint32_t)atoi(strstr(entry->d_name, ".sm_") + 4);
      CHECK_EQUAL(ptx_module_read(&module, &texts, &length, 1, 96, capability, &log_), 0);
      CHECK_TEXT(log_text(), "");
      CHECK(module && module->function_count > 0);
      ptx_module_free(module);
    }
    count++;
  }
  if (folder)
    closedir(folder);
  CHECK(count >= 8);
}

int main(void) {
  test_heads();
  test_capabilities();
  test_recognise();
  test_end_of_text();
  test_variables();
  test_wrong_variables();
  test_initialisers();
  test_addresses();
  test_wrong_initialisers();
  test_expressions();
  test_floats();
  test_functions();
  test_wrong_functions();
  test_registers();
  test_operands();
  test_mnemonics();
  test_wrong_instructions();
  test_scopes();
  test_nesting();
  test_calls();
  test_wrong_calls();
  test_debug();
  test_link();
  test_joined();
  test_aliases();
  test_long_names();
  test_time();
  test_samples();
  return test_end();
}
