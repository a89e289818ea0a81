/* Random kernels through the executor, through the scalar oracle, and, where C says the same, compiled for the host: all bits must agree.
   XCHG_DIFFERENTIAL: how many (300); XCHG_DIFFERENTIAL_SEED: where they begin (1). A kernel that fails is left in the folder for
   temporary files. */
#include "test.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include "ptx_forms.h"
#include "ptx_oracle.c"

typedef struct {
  unsigned x, y, z;
} dim3;

extern int cudaMalloc(void **, size_t), cudaFree(void *), cudaMemcpy(void *, const void *, size_t, int),
    cudaMemset(void *, int, size_t), cudaDeviceSynchronize(void), cudaLibraryUnload(void *);
extern int cudaLibraryLoadData(void **, const void *, void *, void *, unsigned, void *, void *, unsigned);
extern int cudaLibraryGetKernel(void **, void *, const char *);
extern int cudaLaunchKernel(const void *, dim3, dim3, void **, size_t, void *);

enum {
  GRID = 2,
  BLOCK = 44, /* the last warp is not full */
  THREADS = GRID * BLOCK,
  INPUT = 1152,
  OUTPUT = 256, /* bytes of a thread */
  PARAMETERS = 40,
};

/* ---- text ---- */

typedef struct {
  char *at;
  size_t used, room;
} text;

__attribute__((format(printf, 2, 3))) static void say(text *out, const char *format, ...) {
  for (;;) {
    va_list rest;
    int length;
    va_start(rest, format);
    length = vsnprintf(out->at + out->used, out->room - out->used, format, rest);
    va_end(rest);
    if ((size_t)length < out->room - out->used) {
      out->used += (size_t)length;
      return;
    }
    out->room = out->room * 2 + 4096;
    out->at = realloc(out->at, out->room);
  }
}

/* ---- registers ---- */

typedef struct {
  char letter;
  const char *prefix, *type;
  int count, bytes;
} pool;

static const pool pools[] = {
    {'r', "%r", "b32", 8, 4}, {'d', "%d", "b64", 5, 8}, {'h', "%h", "b16", 4, 2},
    {'f', "%f", "f32", 6, 4}, {'g', "%g", "f64", 4, 8}, {'p', "%p", "pred", 4, 4},
};

static const pool *pool_of(char letter) {
  for (size_t i = 0; i < sizeof pools / sizeof *pools; i++)
    if (pools[i].letter == letter)
      return &pools[i];
  return NULL;
}

/* ---- a kernel in the making ---- */

typedef struct {
  text ptx, c;
  bool portable;           /* C says it too */
  int labels, loops, left; /* left: statements that may still be made */
} making;

typedef struct {
  char ptx[32], c[64];
} operand_text;

static uint64_t interesting_integer(void) {
  static const uint64_t rows[] = {0,
                                  1,
                                  2,
                                  31,
                                  32,
                                  33,
                                  63,
                                  64,
                                  127,
                                  128,
                                  255,
                                  0x7fff,
                                  0x8000,
                                  0xffff,
                                  0x7fffffff,
                                  0x80000000,
                                  0xffffffff,
                                  0x100000000,
                                  0x7fffffffffffffff,
                                  0x8000000000000000,
                                  UINT64_MAX};
  return test_below(3) ? rows[test_below(sizeof rows / sizeof *rows)] : test_random();
}

static uint32_t interesting_f32(void) {
  static const uint32_t rows[] = {0,          0x80000000, 0x3f800000, 0xbf800000, 0x3f000000, 0x40200000, 0x7f800000,
                                  0xff800000, 0x7fc00000, 0x7f800001, 1,          0x80000001, 0x007fffff, 0x00800000,
                                  0x7f7fffff, 0x4f000000, 0xcf000000, 0x4f800000, 0x5f000000, 0x477fe000, 0x387fc000};
  int64_t kind = test_below(4);
  if (kind == 0)
    return (uint32_t)test_random();
  if (kind == 1) /* near one */
    return (uint32_t)(test_random() & 0x87ffffff) | 0x38000000;
  return rows[test_below(sizeof rows / sizeof *rows)];
}

static uint64_t interesting_f64(void) {
  float narrow = f32_of(interesting_f32());
  return test_below(4) ? f64_bits(narrow) : test_random();
}

static void choose_immediate(char letter, operand_text *out) {
  switch (letter) {
  case 'r': {
    uint32_t value = (uint32_t)interesting_integer();
    snprintf(out->ptx, sizeof out->ptx, "%d", (int32_t)value);
    snprintf(out->c, sizeof out->c, "0x%xu", value);
    break;
  }
  case 'd': {
    uint64_t value = interesting_integer();
    snprintf(out->ptx, sizeof out->ptx, "0x%llx", (unsigned long long)value);
    snprintf(out->c, sizeof out->c, "(u64)0x%llxu", (unsigned long long)value);
    break;
  }
  case 'f': {
    uint32_t value = interesting_f32();
    snprintf(out->ptx, sizeof out->ptx, "0f%08X", value);
    snprintf(out->c, sizeof out->c, "f32_of(0x%xu)", value);
    break;
  }
  default: {
    uint64_t value = interesting_f64();
    snprintf(out->ptx, sizeof out->ptx, "0d%016llX", (unsigned long long)value);
    snprintf(out->c, sizeof out->c, "f64_of(0x%llxu)", (unsigned long long)value);
  }
  }
}

/* `taken`: registers of this pool that it must not be, as bits. */
static void choose_register(char letter, unsigned taken, operand_text *out, int *index) {
  const pool *from = pool_of(letter);
  do
    *index = (int)test_below(from->count);
  while (taken >> *index & 1);
  snprintf(out->ptx, sizeof out->ptx, "%s%d", from->prefix, *index);
  snprintf(out->c, sizeof out->c, "%c%d", letter, *index);
}

static void say_filled(text *out, const char *pattern, const operand_text *operands, bool c) {
  for (; *pattern; pattern++) {
    if (*pattern == '$') {
      const operand_text *operand = &operands[*++pattern - '0'];
      say(out, "%s", c ? operand->c : operand->ptx);
    } else {
      say(out, "%c", *pattern);
    }
  }
}

static void make_form(making *m, const kernel_form *form) {
  operand_text operands[8];
  const char *letter = form->operands;
  size_t count = 0, results;
  unsigned written[128] = {0};
  bool braces = form->ptx[0] == '{', single = !braces && strchr(form->ptx, ';')[1] == 0, guarded;
  int guard = (int)test_below(4), index;
  for (; *letter != '='; letter++) {
    choose_register(*letter, written[(int)*letter], &operands[count++], &index);
    written[(int)*letter] |= 1u << index;
  }
  results = count;
  for (letter++; *letter; letter++) {
    /* What the first of several instructions writes, the next must not read. */
    unsigned taken = results > 1 ? written[(int)*letter] : 0;
    if (strchr("rdfg", *letter) && test_below(6) == 0 && !(results > 1 && *letter == 'd'))
      choose_immediate(*letter, &operands[count++]);
    else
      choose_register(*letter, taken, &operands[count++], &index);
  }
  guarded = single && test_below(8) == 0;
  if (guarded)
    say(&m->ptx, "@%s%%p%d ", guard % 2 ? "!" : "", guard);
  say_filled(&m->ptx, form->ptx, operands, false);
  say(&m->ptx, "\n");
  if (!m->portable)
    return;
  if (guarded)
    say(&m->c, "if (%sp%d) ", guard % 2 ? "!" : "", guard);
  if (results == 1 && !strchr(form->c, ';')) {
    say(&m->c, "%s = ", operands[0].c);
    say_filled(&m->c, form->c, operands, true);
  } else {
    say(&m->c, "{ ");
    say_filled(&m->c, form->c, operands, true);
    say(&m->c, "; }");
  }
  say(&m->c, ";\n");
}

static void make_statements(making *m, int depth, int count, int loop);

static void make_if(making *m, int depth, int loop) {
  int predicate = (int)test_below(4), label = m->labels++;
  bool otherwise = test_below(2);
  say(&m->ptx, "@!%%p%d bra N%d;\n", predicate, label);
  say(&m->c, "if (!p%d) goto N%d;\n", predicate, label);
  make_statements(m, depth + 1, 1 + (int)test_below(4), loop);
  if (otherwise) {
    say(&m->ptx, "bra E%d;\n", label);
    say(&m->c, "goto E%d;\n", label);
  }
  say(&m->ptx, "N%d:\n", label);
  say(&m->c, "N%d:;\n", label);
  if (!otherwise)
    return;
  make_statements(m, depth + 1, 1 + (int)test_below(4), loop);
  say(&m->ptx, "E%d:\n", label);
  say(&m->c, "E%d:;\n", label);
}

static void make_loop(making *m, int depth) {
  int loop = m->loops++, of = (int)test_below(8);
  say(&m->ptx, "mov.u32 %%c%d, 0;\nand.b32 %%m%d, %%r%d, 3;\nL%d:\nsetp.ge.u32 %%q, %%c%d, %%m%d;\n@%%q bra X%d;\n",
      loop, loop, of, loop, loop, loop, loop);
  say(&m->c, "c[%d] = 0; m[%d] = r%d & 3;\nL%d:;\nif (c[%d] >= m[%d]) goto X%d;\n", loop, loop, of, loop, loop, loop,
      loop);
  make_statements(m, depth + 1, 2 + (int)test_below(5), loop);
  say(&m->ptx, "C%d:\nadd.u32 %%c%d, %%c%d, 1;\nbra.uni L%d;\nX%d:\n", loop, loop, loop, loop, loop);
  say(&m->c, "C%d:;\nc[%d]++;\ngoto L%d;\nX%d:;\n", loop, loop, loop, loop);
}

static void make_switch(making *m, int depth, int loop) {
  int label = m->labels++, of = (int)test_below(8);
  say(&m->ptx, "and.b32 %%s, %%r%d, 3;\nT%d: .branchtargets A%d, B%d, F%d, A%d;\nbrx.idx %%s, T%d;\n", of, label, label,
      label, label, label, label);
  say(&m->c, "switch (r%d & 3) { case 1: goto B%d; case 2: goto F%d; default: goto A%d; }\n", of, label, label, label);
  for (const char *arm = "ABF"; *arm; arm++) {
    say(&m->ptx, "%c%d:\n", *arm, label);
    say(&m->c, "%c%d:;\n", *arm, label);
    make_statements(m, depth + 1, 1 + (int)test_below(2), loop);
    if (test_below(3)) { /* else it falls through */
      say(&m->ptx, "bra Z%d;\n", label);
      say(&m->c, "goto Z%d;\n", label);
    }
  }
  say(&m->ptx, "Z%d:\n", label);
  say(&m->c, "Z%d:;\n", label);
}

static void make_statements(making *m, int depth, int count, int loop) {
  for (; count > 0 && m->left > 0; count--, m->left--) {
    int64_t kind = test_below(16);
    const kernel_form *form;
    if (kind == 0 && depth < 4) {
      make_if(m, depth, loop);
    } else if (kind == 1 && depth < 3) {
      make_loop(m, depth);
    } else if (kind == 2 && depth < 3) {
      make_switch(m, depth, loop);
    } else if (kind == 3 && loop >= 0) {
      int predicate = (int)test_below(4);
      char where = test_below(2) ? 'X' : 'C';
      say(&m->ptx, "@%%p%d bra %c%d;\n", predicate, where, loop);
      say(&m->c, "if (p%d) goto %c%d;\n", predicate, where, loop);
    } else {
      do
        form = &forms[test_below(FORMS)];
      while (m->portable && !form->c);
      make_form(m, form);
    }
  }
}

/* ---- what stands around the statements ---- */

static const char c_prelude[] =
    "#include <math.h>\n#include <stdint.h>\n#include <string.h>\n"
    "typedef uint8_t u8; typedef int8_t i8; typedef uint16_t u16; typedef int16_t i16;\n"
    "typedef uint32_t u32; typedef int32_t i32; typedef uint64_t u64; typedef int64_t i64;\n"
    "typedef __int128 i128; typedef unsigned __int128 u128;\n"
    "#define READ(type, from) ({ type v; memcpy(&v, (from), sizeof v); v; })\n"
    "#define WRITE(type, to, value) ({ type v = (value); memcpy((to), &v, sizeof v); })\n"
    "static float f32_of(u32 b) { float v; memcpy(&v, &b, 4); return v; }\n"
    "static double f64_of(u64 b) { double v; memcpy(&v, &b, 8); return v; }\n"
    "static u32 f32_bits(float v) { u32 b; if (v != v) return 0x7fc00000; memcpy(&b, &v, 4); return b; }\n"
    "static u64 f64_bits(double v) { u64 b; if (v != v) return 0x7ff8000000000000u; memcpy(&b, &v, 8); return b; }\n"
    "static u32 saturate(i64 v) { return (u32)(v < INT32_MIN ? INT32_MIN : v > INT32_MAX ? INT32_MAX : v); }\n"
    "static int is_finite(float v) { return v - v == 0; }\n"
    "static double minimum64(double a, double b) {\n"
    "  return a != a ? b : b != b ? a : a < b || (a == b && signbit(a)) ? a : b; }\n"
    "static float minimum(float a, float b) { return (float)minimum64(a, b); }\n"
    "static float maximum(float a, float b) {\n"
    "  return a != a ? b : b != b ? a : a > b || (a == b && !signbit(a)) ? a : b; }\n"
    "static const u32 table[8] = {3, 1, 4, 1, 0xfffffff5, 9, 0x80000002, 6};\n";

static void make_start(making *m) {
  int number = 0;
  say(&m->ptx, "%s",
      ".version 8.0\n.target sm_90\n.address_size 64\n"
      ".const .align 4 .u32 table[8] = {3, 1, 4, 1, 0xfffffff5, 9, 0x80000002, 6};\n"
      ".visible .entry k(.param .u64 in, .param .u64 out, .param .u32 x, .param .align 4 .b8 y[12], .param .f32 z)\n{\n"
      ".reg .b64 %in, %out, %lo, %sh, %ta, %at;\n.reg .b32 %i, %s, %c<64>, %m<64>;\n.reg .pred %q;\n"
      ".local .align 8 .b8 depot[64];\n.shared .align 8 .b8 pool[2816];\n");
  for (size_t i = 0; i < sizeof pools / sizeof *pools; i++)
    say(&m->ptx, ".reg .%s %s<%d>;\n", pools[i].type, pools[i].prefix, pools[i].count);
  say(&m->ptx, "%s",
      "ld.param.u64 %in, [in];\ncvta.to.global.u64 %in, %in;\nld.param.u64 %out, [out];\ncvta.to.global.u64 %out, "
      "%out;\n"
      "mov.u64 %lo, depot;\nmov.u64 %ta, table;\nmov.u64 %sh, pool;\n"
      "mov.u32 %r0, %ctaid.x;\nmov.u32 %r1, %ntid.x;\nmov.u32 %r2, %tid.x;\nmad.lo.u32 %i, %r0, %r1, %r2;\n"
      "mad.wide.u32 %sh, %r2, 64, %sh;\nmad.wide.u32 %out, %i, 256, %out;\n");
  for (int i = 0; i < 64; i += 8)
    say(&m->ptx, "st.local.u64 [%%lo+%d], %d;\nst.shared.u64 [%%sh+%d], %d;\n", i, i * 3, i, i * 5);
  say(&m->c, "%s",
      "u32 i = ctaid * ntid + tid, c[64], m[64];\nu8 depot[64], own[64];\n"
      "for (u64 k = 0; k < 64; k += 8) { u64 a = k * 3, b = k * 5; memcpy(depot + k, &a, 8); "
      "memcpy(own + k, &b, 8); }\n");
  for (size_t i = 0; i < sizeof pools / sizeof *pools; i++)
    for (int k = 0; k < pools[i].count; k++, number++) {
      static const char *const types[] = {"u32", "u64", "u16", "float", "double", "int"};
      char letter = pools[i].letter;
      say(&m->ptx, "mad.lo.u32 %%s, %%i, 13, %d;\nand.b32 %%s, %%s, 127;\nmad.wide.u32 %%at, %%s, 8, %%in;\n", number);
      if (letter == 'p')
        say(&m->ptx, "ld.global.u8 %%s, [%%at];\nand.b32 %%s, %%s, 1;\nsetp.ne.u32 %%p%d, %%s, 0;\n", k);
      else
        say(&m->ptx, "ld.global.%s %s%d, [%%at%s];\n", pools[i].type, pools[i].prefix, k, letter == 'f' ? "+4" : "");
      say(&m->c, "%s %c%d = ", types[i], letter, k);
      if (letter == 'p')
        say(&m->c, "in[((i * 13 + %d) & 127) * 8] & 1;\n", number);
      else
        say(&m->c, "READ(%s, in + ((i * 13 + %d) & 127) * 8%s);\n", types[i], number, letter == 'f' ? " + 4" : "");
    }
}

static void make_end(making *m) {
  int at = 0;
  for (size_t i = 0; i < sizeof pools / sizeof *pools; i++)
    for (int k = 0; k < pools[i].count; k++, at += 8) {
      switch (pools[i].letter) {
      case 'p':
        say(&m->ptx, "selp.b32 %%s, 1, 0, %%p%d;\nst.global.u32 [%%out+%d], %%s;\n", k, at);
        say(&m->c, "WRITE(u32, out + i * 256 + %d, p%d);\n", at, k);
        break;
      case 'f':
        say(&m->ptx,
            "setp.nan.f32 %%q, %%f%d, %%f%d;\nselp.f32 %%f%d, 0f7FC00000, %%f%d, %%q;\n"
            "st.global.f32 [%%out+%d], %%f%d;\n",
            k, k, k, k, at, k);
        say(&m->c, "WRITE(u32, out + i * 256 + %d, f32_bits(f%d));\n", at, k);
        break;
      case 'g':
        say(&m->ptx,
            "setp.nan.f64 %%q, %%g%d, %%g%d;\nselp.f64 %%g%d, 0d7FF8000000000000, %%g%d, %%q;\n"
            "st.global.f64 [%%out+%d], %%g%d;\n",
            k, k, k, k, at, k);
        say(&m->c, "WRITE(u64, out + i * 256 + %d, f64_bits(g%d));\n", at, k);
        break;
      default:
        say(&m->ptx, "st.global.%s [%%out+%d], %s%d;\n", pools[i].type, at, pools[i].prefix, k);
        say(&m->c, "WRITE(u%d, out + i * 256 + %d, %c%d);\n", pools[i].bytes * 8, at, pools[i].letter, k);
      }
    }
  say(&m->ptx, "ret;\n}\n");
}

/* ---- running one three times ---- */

static uint8_t input[INPUT], parameters[PARAMETERS];
static void *device_input, *device_output;

static void fill_input(void) {
  for (size_t i = 0; i < INPUT; i += 8) {
    uint64_t value = test_below(3) == 0   ? test_random()
                     : test_below(2) == 0 ? (uint64_t)interesting_f32() << 32 | (uint32_t)interesting_integer()
                                          : interesting_f64();
    memcpy(input + i, &value, 8);
  }
  for (size_t i = 16; i < PARAMETERS; i++)
    parameters[i] = (uint8_t)test_random();
  memcpy(parameters, &device_input, 8);
  memcpy(parameters + 8, &device_output, 8);
}

static bool run_executor(const char *ptx, uint8_t *output) {
  void *library, *kernel;
  void *arguments[] = {parameters, parameters + 8, parameters + 16, parameters + 20, parameters + 32};
  int result = cudaLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0);
  CHECK_EQUAL(result, 0);
  if (result)
    return false;
  CHECK_EQUAL(cudaLibraryGetKernel(&kernel, library, "k"), 0);
  CHECK_EQUAL(cudaMemcpy(device_input, input, INPUT, 1), 0);
  CHECK_EQUAL(cudaMemset(device_output, 0, THREADS * OUTPUT), 0);
  CHECK_EQUAL(cudaLaunchKernel(kernel, (dim3){GRID, 1, 1}, (dim3){BLOCK, 1, 1}, arguments, 0, NULL), 0);
  result = cudaDeviceSynchronize();
  CHECK_EQUAL(result, 0);
  CHECK_EQUAL(cudaMemcpy(output, device_output, THREADS * OUTPUT, 2), 0);
  cudaLibraryUnload(library);
  return result == 0;
}

static bool run_oracle(const char *ptx, uint8_t *output) {
  ptx_module *module;
  ptx_log log;
  size_t length = strlen(ptx);
  oracle_memory memory[] = {{.base = (uint64_t)(uintptr_t)device_input, .size = INPUT, .bytes = input},
                            {.base = (uint64_t)(uintptr_t)device_output, .size = THREADS * OUTPUT, .bytes = output}};
  oracle_launch launch = {.grid = GRID, .block = BLOCK, .parameters = parameters, .memory = memory, .memory_count = 2};
  bool good;
  CHECK_EQUAL(ptx_module_read(&module, &ptx, &length, 1, 96, 90, &log), 0);
  CHECK_TEXT(log.text[0] ? "refused" : "", "");
  if (!module) {
    printf("%s\n", log.text);
    return false;
  }
  launch.module = module;
  launch.kernel = module->functions[0];
  memset(output, 0, THREADS * OUTPUT);
  good = oracle_run(&launch);
  if (!good)
    printf("oracle: %s\n", launch.error);
  CHECK(good);
  ptx_module_free(module);
  return good;
}

static const char *folder_of_temporaries(void) {
  const char *folder = getenv("TMPDIR");
  return folder && *folder ? folder : "/tmp";
}

/* Which register of which thread differs first; the text is kept. */
static bool compare_outputs(const char *what, uint64_t seed, const char *ptx, const uint8_t *got,
                            const uint8_t *wanted) {
  char path[512];
  FILE *file;
  for (int thread = 0; thread < THREADS; thread++)
    for (int slot = 0, at = 0; slot < (int)(sizeof pools / sizeof *pools); slot++)
      for (int k = 0; k < pools[slot].count; k++, at += 8) {
        const uint8_t *a = got + thread * OUTPUT + at, *b = wanted + thread * OUTPUT + at;
        uint64_t left, right;
        if (memcmp(a, b, 8) == 0)
          continue;
        memcpy(&left, a, 8);
        memcpy(&right, b, 8);
        snprintf(path, sizeof path, "%s/differential-%llu.ptx", folder_of_temporaries(), (unsigned long long)seed);
        file = fopen(path, "w");
        if (file) {
          fputs(ptx, file);
          fclose(file);
        }
        printf("%s: seed %llu, thread %d, %s%d: %llx, the oracle says %llx (%s)\n", what, (unsigned long long)seed,
               thread, pools[slot].prefix, k, (unsigned long long)left, (unsigned long long)right, path);
        return false;
      }
  return true;
}

/* ---- the host's leg ---- */

typedef void host_kernel(uint32_t tid, uint32_t ctaid, uint32_t ntid, const uint8_t *in, uint8_t *out,
                         const uint8_t *par);

/* The library that `cc` makes of the text; NULL where there is no cc. */
static void *compile_host(const text *c) {
  char source[512], library[512], command[2048];
  FILE *file;
  void *handle = NULL;
  if (system("command -v cc >/dev/null 2>&1") != 0) {
    printf("no cc: the host's leg is left out\n");
    return NULL;
  }
  snprintf(source, sizeof source, "%s/differential-%d.c", folder_of_temporaries(), (int)getpid());
  snprintf(library, sizeof library, "%s/differential-%d.so", folder_of_temporaries(), (int)getpid());
  file = fopen(source, "w");
  CHECK(file != NULL);
  if (!file)
    return NULL;
  fwrite(c->at, 1, c->used, file);
  fclose(file);
  snprintf(command, sizeof command,
           "cc -std=gnu11 -O0 -w -fwrapv -ffp-contract=off -fno-builtin-fma -shared -fPIC -o '%s' '%s' -lm", library,
           source);
  CHECK_EQUAL(system(command), 0);
  handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  CHECK(handle != NULL);
  unlink(source);
  unlink(library);
  return handle;
}

static void run_host(void *library, uint64_t number, uint8_t *output) {
  char name[32];
  void *found;
  host_kernel *kernel;
  snprintf(name, sizeof name, "k%llu", (unsigned long long)number);
  found = dlsym(library, name);
  CHECK(found != NULL);
  if (!found)
    return;
  memcpy(&kernel, &found, sizeof kernel);
  memset(output, 0, THREADS * OUTPUT);
  for (uint32_t ctaid = 0; ctaid < GRID; ctaid++)
    for (uint32_t tid = 0; tid < BLOCK; tid++)
      kernel(tid, ctaid, BLOCK, input, output, parameters);
}

/* Makes kernel `seed`: its PTX, and where every second one says it in C, a function behind c. The input follows from it too. */
static void make_kernel(uint64_t seed, making *m) {
  test_state = seed * 0x9e3779b97f4a7c15u | 1;
  for (int i = 0; i < 8; i++)
    test_random();
  fill_input();
  m->portable = seed % 2 == 0;
  m->left = 60;
  make_start(m);
  make_statements(m, 0, 24, -1);
  make_end(m);
}

static uint64_t number_of(const char *name, uint64_t otherwise) {
  const char *value = getenv(name);
  return value && *value ? strtoull(value, NULL, 10) : otherwise;
}

int main(void) {
  uint64_t count = number_of("XCHG_DIFFERENTIAL", 300), first = number_of("XCHG_DIFFERENTIAL_SEED", 1);
  static uint8_t executor[THREADS * OUTPUT], oracle[THREADS * OUTPUT], host[THREADS * OUTPUT];
  text c = {0};
  void *library;
  int failures = 0;
  CHECK_EQUAL(cudaMalloc(&device_input, INPUT), 0);
  CHECK_EQUAL(cudaMalloc(&device_output, THREADS * OUTPUT), 0);
  say(&c, "%s", c_prelude);
  for (uint64_t seed = first; seed < first + count; seed++) {
    making m = {0};
    make_kernel(seed, &m);
    if (m.portable)
      say(&c, "void k%llu(u32 tid, u32 ctaid, u32 ntid, const u8 *in, u8 *out, const u8 *par) {\n%s}\n",
          (unsigned long long)seed, m.c.at);
    free(m.ptx.at);
    free(m.c.at);
  }
  library = compile_host(&c);
  for (uint64_t seed = first; seed < first + count && failures < 10; seed++) {
    making m = {0};
    make_kernel(seed, &m);
    if (!run_oracle(m.ptx.at, oracle) || !run_executor(m.ptx.at, executor) ||
        !compare_outputs("executor", seed, m.ptx.at, executor, oracle)) {
      printf("seed %llu\n", (unsigned long long)seed);
      failures++;
      CHECK(!"the executor and the oracle agree");
    }
    if (library && m.portable) {
      run_host(library, seed, host);
      if (!compare_outputs("host", seed, m.ptx.at, host, oracle)) {
        failures++;
        CHECK(!"the host and the oracle agree");
      }
    }
    test_checks++;
    free(m.ptx.at);
    free(m.c.at);
  }
  free(c.at);
  if (library)
    dlclose(library);
  cudaFree(device_input);
  cudaFree(device_output);
  return test_end();
}
