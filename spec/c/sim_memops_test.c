/* Kernels as PTX text whose work is memory: every form of loads and stores through the decoder, calls, stacks, asynchronous copies,
   mbarriers; planted bugs, and what is said of them. */
#include "test.h"

#include <stdlib.h>

#include "exec.h"
#include "report.h"
#include "result.h"
#include "stream.h"
#include "xsim.h"

static sim_context *context;
static sim_allocation *memory; /* what kernels get: 4096 bytes */

#define HEAD ".version 8.8\n.target sm_90\n.address_size 64\n"
#define KERNEL(name) ".visible .entry " name "(.param .u64 p) "
/* %rd1: the parameter; %r1: the thread; %rd3: the parameter plus 4 bytes for each thread */
#define BEGIN                                                                                                          \
  "{\n.reg .b16 %h<20>; .reg .b32 %r<30>; .reg .b64 %rd<30>; .reg .pred %q<4>; .reg .f32 %f<9>;\n"                     \
  "ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2;\n"
#define END "ret; }\n"

static int run(const char *text, const char *name, uint32_t blocks, uint32_t threads) {
  ptx_log log = {""};
  sim_library *library = NULL;
  sim_kernel *kernel = NULL;
  int result = sim_library_load(&library, text, 0, NULL, &log);
  if (result != 0) {
    printf("%s\n", log.text);
    return result;
  }
  CHECK_EQUAL(sim_library_kernel(&kernel, library, name), SIM_SUCCESS);
  sim_launch_config config = {.grid = {blocks, 1, 1}, .block = {threads, 1, 1}};
  void *arguments[] = {&memory->address};
  sim_stream *stream = NULL;
  CHECK_EQUAL(sim_stream_resolve(&stream, NULL, true), SIM_SUCCESS);
  result = sim_kernel_launch(kernel, &config, arguments, NULL, 0, stream, "cudaLaunchKernel");
  if (result == 0)
    result = sim_context_synchronize(context);
  CHECK_EQUAL(sim_library_unload(library), SIM_SUCCESS);
  return result;
}

static const char *report_last(void) {
  const char *text = "", *next;
  for (size_t index = 0; (next = sim_report_text(index, NULL, NULL)) != NULL; index++)
    text = next;
  return text;
}
static bool report_has(const char *part) {
  const char *next;
  for (size_t index = 0; (next = sim_report_text(index, NULL, NULL)) != NULL; index++)
    if (strstr(next, part))
      return true;
  return false;
}
static uint64_t report_count(void) {
  uint64_t count = 0;
  for (int kind = 0; kind < SIM_REPORT_KINDS; kind++)
    count += sim_report_count((sim_report_kind)kind);
  return count;
}
static void memory_clear(void) {
  memset(memory->host, 0, memory->size);
  sim_report_clear();
}
/* A new primary context after a fault, with new memory. */
static void context_renew(void) {
  CHECK_EQUAL(sim_primary_reset(0), SIM_SUCCESS);
  CHECK_EQUAL(sim_context_current(&context, true), SIM_SUCCESS);
  CHECK_EQUAL(sim_memory_allocate(&memory, context, 4096, SIM_MEMORY_DEVICE, "cudaMalloc"), SIM_SUCCESS);
  memory_clear();
}

static uint32_t word(uint32_t index) {
  uint32_t value;
  memcpy(&value, memory->host + 4 * index, 4);
  return value;
}
static uint64_t longer(uint32_t index) {
  uint64_t value;
  memcpy(&value, memory->host + 8 * index, 8);
  return value;
}

/* Everything is loaded from the first bytes and stored, as 64 bits, from byte 256 on. */
static void test_loads(void) {
  static const char text[] = HEAD ".global .align 8 .b8 table[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9};\n"
                                  ".const .align 4 .u32 bank[2] = {11, 0x80000001};\n" KERNEL("loads") BEGIN
      "setp.ne.u32 %q1, %r1, 0; @%q1 ret;\n"
      "ld.global.s8 %rd4, [%rd1]; st.u64 [%rd1+256], %rd4;\n"
      "ld.global.u8 %rd4, [%rd1]; st.u64 [%rd1+264], %rd4;\n"
      "ld.s16 %rd4, [%rd1+2]; st.global.u64 [%rd1+272], %rd4;\n"
      "ld.volatile.global.u16 %rd4, [%rd1+2]; st.global.wt.u64 [%rd1+280], %rd4;\n"
      "ld.global.nc.s32 %rd4, [%rd1+4]; st.u64 [%rd1+288], %rd4;\n"
      "ld.relaxed.gpu.global.L1::no_allocate.u32 %rd4, [%rd1+4]; st.release.sys.global.u64 [%rd1+296], %rd4;\n"
      "ld.acquire.cta.s8 %r4, [%rd1]; cvt.u64.u32 %rd4, %r4; st.u64 [%rd1+304], %rd4;\n"
      "ld.ca.s16 %r4, [%rd1+2]; cvt.u64.u32 %rd4, %r4; st.u64 [%rd1+312], %rd4;\n"
      "ld.s8 %h1, [%rd1]; cvt.u64.u16 %rd4, %h1; st.u64 [%rd1+320], %rd4;\n"
      "ld.global.u8 %rd4, [table+7]; st.u64 [%rd1+328], %rd4;\n"
      "mov.u64 %rd5, table; ld.global.u8 %rd4, [%rd5+1]; st.u64 [%rd1+336], %rd4;\n"
      "ld.const.u32 %rd4, [bank+4]; st.u64 [%rd1+344], %rd4;\n"
      "ld.const.s32 %rd4, [bank+4]; st.u64 [%rd1+352], %rd4;\n"
      "ld.global.v2.u8 {%h1, %h2}, [%rd1]; cvt.u64.u16 %rd4, %h2; st.u64 [%rd1+360], %rd4;\n"
      "ld.global.v4.s16 {%r4, %r5, _, %r6}, [%rd1]; cvt.u64.u32 %rd4, %r6; st.u64 [%rd1+368], %rd4;\n"
      "ld.global.v2.b64 {%rd6, %rd7}, [%rd1]; st.v2.u64 [%rd1+384], {%rd7, %rd6};\n"
      "ld.global.v8.b32 {%r4, %r5, %r6, %r7, %r8, %r9, %r10, %r11}, [%rd1]; st.global.v4.b32 [%rd1+400], {%r8, %r9, "
      "%r10, %r11};\n"
      "st.global.u8 [%rd1+416], %rd1; st.global.u8 [%rd1+416], 200; st.u32 [%rd1+420], 7; st.f32 [%rd1+424], "
      "0f3F800000;\n"
      "ldu.global.f32 %f1, [%rd1+424]; st.f32 [%rd1+428], %f1;\n"
      "createpolicy.fractional.L2::evict_last.b64 %rd8, 0f3F800000;\n"
      "ld.global.L2::cache_hint.b32 %r4, [%rd1+4], %rd8; st.global.L2::cache_hint.b32 [%rd1+432], %r4, %rd8;\n"
      "prefetch.global.L2 [%rd1]; discard.global.L2 [%rd1+2048], 128; membar.gl; fence.acq_rel.gpu; "
      "fence.proxy.async;\n" END;
  memory_clear();
  static const uint8_t bytes[16] = {0x85, 0x12, 0x34, 0x92, 0x78, 0x56, 0x34, 0xf2, 1, 2, 3, 4, 5, 6, 7, 8};
  memcpy(memory->host, bytes, 16);
  for (uint32_t i = 4; i < 8; i++)
    memcpy(memory->host + 4 * i, &i, 4);
  CHECK_EQUAL(run(text, "loads", 1, 32), 0);
  static const uint64_t wanted[] = {0xffffffffffffff85u,
                                    0x85,
                                    0xffffffffffff9234u,
                                    0x9234,
                                    0xfffffffff2345678u,
                                    0xf2345678u,
                                    0xffffff85u,
                                    0xffff9234u,
                                    0xff85,
                                    8,
                                    2,
                                    0x80000001u,
                                    0xffffffff80000001u,
                                    0x12,
                                    0xfffff234u};
  for (uint32_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
    CHECK_EQUAL(longer(32 + i), (long long)wanted[i]);
  CHECK(longer(48) == 0x0807060504030201u && longer(49) == 0xf234567892341285u);
  for (uint32_t i = 0; i < 4; i++)
    CHECK_EQUAL(word(100 + i), 4 + i);
  CHECK_EQUAL(memory->host[416], 200);
  CHECK_EQUAL(memory->host[417], 0);
  CHECK_EQUAL(word(105), 7);
  CHECK_EQUAL(word(107), 0x3f800000);
  CHECK_EQUAL(word(108), 0xf2345678u);
  CHECK_EQUAL(report_count(), 0);
}

/* Parameters lane by lane, arrays on the stack, generic addresses of shared and local memory. */
static void test_spaces(void) {
  static const char text[] = HEAD
      ".func (.param .align 8 .b8 r[16]) twist(.param .align 8 .b8 a[16], .param .b32 s)\n"
      "{ .reg .b32 %x<9>; .reg .b64 %y<3>;\n"
      "ld.param.v2.b32 {%x1, %x2}, [a]; ld.param.u64 %y1, [a+8]; ld.param.u32 %x3, [s];\n"
      "add.u32 %x1, %x1, %x3; st.param.v2.b32 [r], {%x2, %x1}; st.param.b64 [r+8], %y1; ret; }\n" KERNEL("spaces") BEGIN
      ".local .align 8 .b8 stack[64]; .shared .align 4 .b8 block[512]; .param .align 8 .b8 q[16]; .param .b32 t; "
      ".param .align 8 .b8 o[16];\n"
      "cvt.u64.u32 %rd4, %r1; st.param.b32 [q], %r1; st.param.b32 [q+4], 50; st.param.b64 [q+8], %rd4; st.param.b32 "
      "[t], 1000;\n"
      "call (o), twist, (q, t);\n"
      "ld.param.v2.u32 {%r4, %r5}, [o]; ld.param.u32 %r6, [o+8];\n"
      "mov.u32 %r7, stack; st.local.v2.u32 [%r7+8], {%r4, %r5};\n" /* 50, tid + 1000 */
      "mov.u64 %rd5, stack; cvta.local.u64 %rd6, %rd5; ld.u32 %r8, [%rd6+12];\n"
      "mov.u32 %r9, block; shl.b32 %r10, %r1, 2; add.u32 %r9, %r9, %r10; st.shared.u32 [%r9], %r8;\n"
      "bar.sync 0;\n"
      "xor.b32 %r10, %r10, 4; mov.u32 %r11, block; add.u32 %r11, %r11, %r10;\n"
      "cvt.u64.u32 %rd7, %r11; cvta.shared.u64 %rd8, %rd7; ld.u32 %r12, [%rd8];\n" /* the neighbour's */
      "ld.shared.u32 %r13, [%rd7]; add.u32 %r12, %r12, %r13;\n"                    /* by a 64-bit register */
      "alloca.u64 %rd9, 32, 16; st.local.u32 [%rd9+28], %r6; ld.local.u32 %r14, [%rd9+28]; add.u32 %r12, %r12, %r14;\n"
      "st.global.u32 [%rd3], %r12;\n" END;
  memory_clear();
  CHECK_EQUAL(run(text, "spaces", 1, 64), 0);
  for (uint32_t thread = 0; thread < 64; thread++)
    CHECK_EQUAL(word(thread), 2 * (1000 + (thread ^ 1)) + thread);
  CHECK_EQUAL(report_count(), 0);
}

static void test_atomics(void) {
  static const char text[] =
      HEAD KERNEL("atomics") BEGIN ".shared .align 8 .b8 s[8];\n"
                                   "setp.eq.u32 %q1, %r1, 0; @%q1 st.shared.u64 [s], 0; bar.sync 0;\n"
                                   "atom.add.u32 %r4, [%rd1], 1;\n"
                                   "red.global.add.u32 [%rd1+4], %r1;\n"
                                   "atom.relaxed.sys.global.max.s32 %r5, [%rd1+8], %r1;\n"
                                   "red.relaxed.cta.shared::cta.add.u32 [s], 3; atom.shared.exch.b32 _, [s+4], 9;\n"
                                   "atom.global.inc.u32 %r6, [%rd1+12], 9;\n"
                                   "mov.b32 %r7, 0x3c003c00; atom.global.gpu.add.noftz.f16x2 %r8, [%rd1+16], %r7; "
                                   "red.global.add.noftz.bf16x2 [%rd1+20], %r7;\n"
                                   "mov.f32 %f1, 0f3F000000; red.global.add.f32 [%rd1+24], %f1;\n"
                                   "atom.global.add.v2.f32 {%f2, %f3}, [%rd1+32], {%f1, %f1};\n"
                                   "atom.acq_rel.gpu.global.cas.b32 %r9, [%rd1+40], 0, 77;\n"
                                   "bar.sync 0; ld.shared.u32 %r10, [s]; st.global.u32 [%rd3+512], %r10;\n" END;
  memory_clear();
  CHECK_EQUAL(run(text, "atomics", 2, 64), 0);
  CHECK_EQUAL(word(0), 128);
  CHECK_EQUAL(word(1), 2 * 63 * 64 / 2);
  CHECK_EQUAL(word(2), 63);
  CHECK_EQUAL(word(3), 128 % 10);
  CHECK_EQUAL(word(4), 0x58005800); /* 128 as f16 */
  CHECK_EQUAL(word(5), 0x3f803f80); /* those bits are 1/128 as bf16 */
  CHECK_EQUAL(word(6), 0x42800000); /* 64 */
  CHECK_EQUAL(word(8), 0x42800000);
  CHECK_EQUAL(word(9), 0x42800000);
  CHECK_EQUAL(word(10), 77);
  CHECK_EQUAL(word(128 + 63), 192);
  CHECK_EQUAL(report_count(), 0);
}

#define COPY(wait)                                                                                                     \
  HEAD KERNEL("copy") BEGIN ".shared .align 16 .b8 s[256]; mov.u32 %r2, s; mad.lo.u32 %r3, %r1, 4, %r2;\n"             \
                            "cp.async.ca.shared.global [%r3], [%rd3], 4, 4;\n"                                         \
                            "cp.async.commit_group;\n" wait                                                            \
                            "ld.shared.u32 %r4, [%r3]; st.global.u32 [%rd3+1024], %r4;\n" END

static void test_copies(void) {
  memory_clear();
  for (uint32_t i = 0; i < 64; i++)
    memcpy(memory->host + 4 * i, &i, 4);
  CHECK_EQUAL(run(COPY("cp.async.wait_group 0;\n"), "copy", 1, 64), 0);
  for (uint32_t i = 0; i < 64; i++)
    CHECK_EQUAL(word(256 + i), i);
  CHECK_EQUAL(run(COPY(""), "copy", 1, 64), 0);
  for (uint32_t i = 0; i < 64; i++)
    CHECK_EQUAL(word(256 + i), 0xcdcdcdcdu); /* the wait is missing: what was there before */
  CHECK_EQUAL(report_count(), 0);
}

/* The first warp waits for what the second one produces: it must not keep the second from running. */
static void test_barriers(void) {
  static const char text[] = HEAD KERNEL("hand") BEGIN
      ".shared .align 8 .b64 full; .shared .align 4 .b8 s[128];\n"
      "setp.eq.u32 %q1, %r1, 0; @%q1 mbarrier.init.shared::cta.b64 [full], 32; bar.sync 0;\n"
      "and.b32 %r2, %r1, 31; shl.b32 %r2, %r2, 2; mov.u32 %r3, s; add.u32 %r3, %r3, %r2;\n"
      "setp.ge.u32 %q2, %r1, 32; @%q2 bra produce;\n"
      "again: mbarrier.try_wait.parity.shared::cta.b64 %q3, [full], 0, 1000; @!%q3 bra again;\n"
      "ld.shared.u32 %r4, [%r3]; st.global.u32 [%rd3], %r4; bra done;\n"
      "produce: st.shared.u32 [%r3], %r1; mbarrier.arrive.shared::cta.b64 %rd5, [full];\n"
      "mbarrier.pending_count.b64 %r5, %rd5; st.global.u32 [%rd3], %r5;\n"
      "done:\n" END;
  memory_clear();
  CHECK_EQUAL(run(text, "hand", 1, 64), 0);
  for (uint32_t i = 0; i < 32; i++) {
    CHECK_EQUAL(word(i), i + 32);
    CHECK_EQUAL(word(i + 32), 32 - i);
  }
  CHECK_EQUAL(report_count(), 0);
}

/* ---- what must be refused ---- */

static void check_refused(const char *instruction, const char *why) {
  char text[1000];
  ptx_log log = {""};
  sim_library *library = NULL;
  snprintf(text, sizeof text, "%s%s%s%s\n%s", HEAD, KERNEL("wrong"), BEGIN, instruction, END);
  CHECK_EQUAL(sim_library_load(&library, text, 0, NULL, &log), SIM_INVALID_PTX);
  if (!strstr(log.text, why) || !strstr(log.text, "line 7: "))
    CHECK_TEXT(log.text, why);
}

static void test_refusals(void) {
  check_refused("ld.global.f33 %r1, [%rd1];", "f33");
  check_refused("ld.global.b32 %r1, %rd1;", "brackets");
  check_refused("ld.global.b32.b32 %r1, [%rd1];", "b32");
  check_refused("ld.global.v4.b64 {%rd1, %rd2}, [%rd1];", "a vector of 4 elements");
  check_refused("ld.global.v8.b64 {%rd1, %rd2, %rd3, %rd4, %rd5, %rd6, %rd7, %rd8}, [%rd1];", "more than 32 bytes");
  check_refused("ld.global.b64 %r1, [%rd1];", "not of the 64 bits");
  check_refused("st.const.b32 [%rd1], %r1;", "constant banks");
  check_refused("st.param.b64 [p], %rd1;", "parameters of a kernel cannot be written");
  check_refused("ld.shared::cluster.b32 %r1, [%r2];", "out of scope");
  check_refused("ld.shared.nc.b32 %r1, [%r2];", ".nc");
  check_refused("ld.global.b32 %r1, [%h1];", "32 or 64 bits");
  check_refused("atom.global.add.u16 %h1, [%rd1], %h2;", "not an atomic operation");
  check_refused("atom.global.add.f16 %h1, [%rd1], %h2;", ".noftz is missing");
  check_refused("red.global.cas.b32 [%rd1], %r1, %r2;", "red has no cas");
  check_refused("atom.local.add.u32 %r1, [%r2], %r3;", "global and shared");
  check_refused("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], 16, [%r2];", "TMA");
  check_refused("cp.async.cg.shared.global [%r1], [%rd1], 8;", "8 bytes");
  check_refused("cp.async.ca.shared.global [%r1], [%rd1], 5;", "5 bytes");
  check_refused("cp.async.wait_group -1;", "groups");
  check_refused("mbarrier.arrive.shared::cluster.b64 _, [%r1];", "out of scope");
  check_refused("mbarrier.test_wait.parity.phase_type::primary.shared::cta.b64 %q1, [%r1], 0;", "phase_type::primary");
  check_refused("red.async.relaxed.cluster.global.add.u32 [%rd1], %r1;", "clusters");
  check_refused("st.async.b32 [%rd1], %r1, [%rd2];", "out of scope");
  check_refused("fence.proxy.tensormap::generic.release.gpu;", "out of scope");
  check_refused("alloca.u64 %rd1, 8, 3;", "alignment");
  check_refused("discard.global.L2 [%rd1], 64;", "128");
}

/* ---- planted bugs ---- */

#define LINE(n) ".loc 1 " #n " 1\n"
#define REDUCE(barrier)                                                                                                \
  HEAD ".file 1 \"reduce.cu\"\n" KERNEL("reduce") BEGIN                                                                \
      ".shared .align 4 .b8 s[256]; mov.u32 %r2, s; mad.lo.u32 %r3, "                                                  \
      "%r1, 4, %r2;\n" LINE(11) "st.shared.u32 [%r3], %r1;\n" LINE(                                                    \
          12) "bar.sync 0;\n"                                                                                          \
              "setp.ge.u32 %q1, %r1, 32; @%q1 bra over;\n" LINE(13) "ld.shared.u32 %r4, [%r3+128];\n" LINE(            \
                  14) "st.shared.u32 [%r3], %r4;\n"                                                                    \
                      "over:\n" barrier LINE(16) "ld.shared.u32 %r5, "                                                 \
                                                 "[s+68];\n" LINE(17) "st.global.u32 [%rd3], "                         \
                                                                      "%r5;\n" END

#define GUESS(loop) HEAD KERNEL("guess") BEGIN "ld.u32 %r4, [%rd1];\n" loop END

static void test_races(void) {
  CHECK_EQUAL(xsim_configure("CHECK", "race,init"), 0);
  memory_clear();
  CHECK_EQUAL(run(REDUCE("bar.sync 0;\n"), "reduce", 1, 64), 0);
  CHECK_EQUAL(report_count(), 0);
  CHECK_EQUAL(run(REDUCE("bar.sync 0;\n"), "reduce", 2, 64), 0);
  CHECK_EQUAL(report_count(), 1); /* blocks write the same global words: a race of its own */
  CHECK(report_has("race: reduce, block 1: thread 0 (line 17) wrote the word at"));
  CHECK(report_has("warp 0 of block 0 (line 17) wrote, and nothing orders the two"));
  memory_clear();
  CHECK_EQUAL(run(REDUCE(""), "reduce", 1, 64), 0);
  CHECK(report_has("race: reduce, block 0: thread 17 (line 14) wrote shared word 17 that thread"));
  CHECK(report_has("(line 16) read in the same barrier interval"));
  /* The guess before a loop of compare-and-swap is no race, the same load without it is one. */
  memory_clear();
  CHECK_EQUAL(run(GUESS("again: add.u32 %r5, %r4, 1; atom.cas.b32 %r6, [%rd1], %r4, %r5; setp.ne.u32 %q1, %r6, %r4;\n"
                        "mov.u32 %r4, %r6; @%q1 bra again;\n"),
                  "guess", 2, 64),
              0);
  CHECK_EQUAL(word(0), 128);
  CHECK_EQUAL(report_count(), 0);
  CHECK_EQUAL(run(GUESS("atom.add.u32 %r4, [%rd1], 1;\n"), "guess", 2, 64), 0);
  CHECK_EQUAL(report_count(), 2);
  CHECK(report_has("race: guess, block 0: thread 32 (PTX line 7) read the word at"));
  /* A read of what nobody wrote. */
  memory_clear();
  static const char unwritten[] =
      HEAD KERNEL("unwritten") BEGIN ".shared .align 4 .b8 s[256]; mov.u32 %r2, s; setp.lt.u32 %q1, %r1, 9; @%q1 "
                                     "st.shared.u32 [s+32], 1; ld.shared.u32 %r4, [s+36];\n" END;
  CHECK_EQUAL(run(unwritten, "unwritten", 1, 32), 0);
  CHECK(report_has("init: unwritten, block (0,0,0)"));
  CHECK(report_has("reads 4 bytes at offset 36 of shared memory that nobody wrote"));
  /* Correct kernels give no report: each of the above once more. */
  test_loads();
  test_spaces();
  test_atomics();
  test_copies();
  test_barriers();
  CHECK_EQUAL(xsim_configure("CHECK", "none"), 0);
}

/* Launches on two streams that nothing orders: 64 words from each of two addresses on. */
static uint64_t streams_found(uint64_t first, uint64_t second) {
  static const char text[] = HEAD KERNEL("touch") BEGIN "st.global.u32 [%rd3], 1;\n" END;
  ptx_log log = {""};
  sim_library *library = NULL;
  sim_kernel *kernel = NULL;
  sim_launch_config config = {.grid = {1, 1, 1}, .block = {64, 1, 1}};
  memory_clear();
  CHECK_EQUAL(sim_library_load(&library, text, 0, NULL, &log), SIM_SUCCESS);
  CHECK_EQUAL(sim_library_kernel(&kernel, library, "touch"), SIM_SUCCESS);
  for (int i = 0; i < 2; i++) {
    uint64_t address = i ? second : first;
    void *arguments[] = {&address};
    sim_stream *stream = NULL;
    CHECK_EQUAL(sim_stream_create(&stream, context, SIM_STREAM_NON_BLOCKING, 0), SIM_SUCCESS);
    CHECK_EQUAL(sim_kernel_launch(kernel, &config, arguments, NULL, 0, stream, "cudaLaunchKernel"), SIM_SUCCESS);
    CHECK_EQUAL(sim_stream_destroy(stream), SIM_SUCCESS);
  }
  CHECK_EQUAL(sim_context_synchronize(context), SIM_SUCCESS);
  CHECK_EQUAL(sim_library_unload(library), SIM_SUCCESS);
  return sim_report_count(SIM_REPORT_STREAM);
}

/* What a kernel has touched goes to the checker of streams, in sectors of 32 bytes. */
static void test_streams(void) {
  CHECK_EQUAL(xsim_configure("CHECK", "stream"), 0);
  CHECK_EQUAL(streams_found(memory->address, memory->address + 256), 0);
  CHECK_EQUAL(streams_found(memory->address, memory->address + 252), 1);
  CHECK(report_has("kernel touch"));
  CHECK_EQUAL(xsim_configure("CHECK", "none"), 0);
}

static void test_faults(void) {
  static const char text[] =
      HEAD ".file 1 \"saxpy.cu\"\n" KERNEL("saxpy") BEGIN LINE(12) "st.global.f32 [%rd3+3972], 0f00000000;\n" END;
  memory_clear();
  CHECK_EQUAL(run(text, "saxpy", 1, 32), SIM_ILLEGAL_ADDRESS);
  char wanted[300];
  snprintf(wanted, sizeof wanted,
           "illegal address: saxpy, block (0,0,0), thread (31,0,0) (saxpy.cu:12): writes 4 bytes at 0x%llx, just past "
           "the end "
           "of the 4096 bytes at 0x%llx made by cudaMalloc (allocation 1)",
           (unsigned long long)memory->address + 4096, (unsigned long long)memory->address);
  CHECK_TEXT(report_last(), wanted);
  context_renew();
}

int main(void) {
  setenv("XCHG_SIM_LOG", "none", 1);
  CHECK_EQUAL(sim_device_start(), SIM_SUCCESS);
  CHECK_EQUAL(sim_context_current(&context, true), SIM_SUCCESS);
  CHECK_EQUAL(sim_memory_allocate(&memory, context, 4096, SIM_MEMORY_DEVICE, "cudaMalloc"), SIM_SUCCESS);
  test_loads();
  test_spaces();
  test_atomics();
  test_copies();
  test_barriers();
  test_refusals();
  test_races();
  test_streams();
  test_faults();
  return test_end();
}
