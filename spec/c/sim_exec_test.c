/* The running machine: divergence, calls, barriers, warp operations, builtins, and kernels that do what they must not. Results by hand. */
#include "sim_kernel.h"

#include <unistd.h>

#include "config.h"

/* A kernel with one parameter, `out`, and registers enough; its thread number in %r0, &out[thread] in %rd0. */
#define KERNEL(name, body)                                                                                             \
  ".visible .entry " name "(.param .u64 out)\n{\n"                                                                     \
  ".reg .pred %p<8>;\n.reg .b16 %h<8>;\n.reg .b32 %r<32>;\n.reg .b64 %rd<16>;\n.reg .f32 %f<8>;\n"                     \
  "mov.u32 %r0, %tid.x;\nmov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %ntid.x;\n"                                              \
  "mad.lo.u32 %r3, %r1, %r2, %r0;\nld.param.u64 %rd1, [out];\nmul.wide.u32 %rd2, %r3, 4;\n"                            \
  "add.u64 %rd0, %rd1, %rd2;\n" body "\nret;\n}\n"

/* A run ends with this result. */
#define ENDS(ran, wanted)                                                                                              \
  do {                                                                                                                 \
    int ended = (ran);                                                                                                 \
    CHECK_EQUAL(ended, wanted);                                                                                        \
  } while (0)

static uint32_t results[4096];

/* Runs the one kernel `k` of a text over `shape`; results[] is what it stored. */
static int run(const char *text, kernel_shape shape) {
  sim_library *library = kernel_load(text);
  uint32_t threads = shape.blocks * shape.threads;
  sim_allocation *out = kernel_memory(threads * 4 + 256);
  sim_report_clear();
  int result = kernel_run(library, "k", shape, &out->address, 1);
  memcpy(results, out->host, threads * 4 < sizeof results ? threads * 4 : sizeof results);
  sim_memory_release(out);
  sim_library_unload(library);
  return result;
}

static int run_one(const char *body_text) {
  return run(body_text, (kernel_shape){1, 32, 0, false});
}

#define RUN(body) run_one(HEAD KERNEL("k", body))

static void moves(void) {
  ENDS(RUN("mov.u16 %h0, 0x1234; mov.u16 %h1, -1; mov.b32 %r4, {%h0, %h1};"
           "st.global.u32 [%rd0], %r4;"),
       0);
  CHECK_EQUAL(results[5], 0xffff1234);
  ENDS(RUN("mov.u32 %r4, 0x01020304; mov.u32 %r5, 7; mov.b64 %rd3, {%r4, %r5}; mov.b64 {%h0, %h1, %h2, %h3}, %rd3;"
           "cvt.u32.u16 %r6, %h0; cvt.u32.u16 %r7, %h1; cvt.u32.u16 %r8, %h2;"
           "shl.b32 %r7, %r7, 8; add.u32 %r6, %r6, %r7; add.u32 %r6, %r6, %r8; st.global.u32 [%rd0], %r6;"),
       0);
  CHECK_EQUAL(results[0], 0x0304 + (0x0102 << 8) + 7);
  ENDS(RUN("mov.b64 {_, %r4}, 0x500000001; st.global.u32 [%rd0], %r4;"), 0);
  CHECK_EQUAL(results[31], 5);
  /* predicates move, and constants are ones */
  ENDS(RUN("mov.pred %p0, 1; mov.pred %p1, %p0; @%p1 st.global.u32 [%rd0], 9; @!%p1 st.global.u32 [%rd0], 8;"), 0);
  CHECK_EQUAL(results[0], 9);
  /* special registers */
  ENDS(RUN("mov.u32 %r4, %laneid; mov.u32 %r5, %lanemask_lt; popc.b32 %r5, %r5; mov.u32 %r6, WARP_SZ;"
           "mad.lo.u32 %r4, %r4, %r6, %r5; st.global.u32 [%rd0], %r4;"),
       0);
  CHECK_EQUAL(results[3], 3 * 32 + 3);
  ENDS(RUN("mov.u64 %rd3, %clock64; mov.u64 %rd4, %clock64; setp.lt.u64 %p0, %rd3, %rd4;"
           "selp.u32 %r4, 1, 0, %p0; st.global.u32 [%rd0], %r4;"),
       0);
  CHECK_EQUAL(results[3], 1);
}

/* Registers of 128 bits, of bytes, of several elements. */
static void wide_moves(void) {
  ENDS(RUN(".reg .b128 %q; mov.u64 %rd3, 7; mov.u64 %rd4, 9; mov.b128 %q, {%rd3, %rd4}; mov.b128 {%rd5, %rd6}, %q;"
           "mad.lo.u64 %rd5, %rd6, 100, %rd5; cvt.u32.u64 %r4, %rd5; st.global.u32 [%rd0], %r4;"),
       0);
  CHECK_EQUAL(results[17], 907);
  ENDS(RUN(".reg .b8 %b<4>; mov.u32 %r4, 0x01020304; mov.b32 {%b0, %b1, %b2, %b3}, %r4;"
           "mov.b32 %r5, {%b3, %b2, %b1, %b0}; st.global.u32 [%rd0], %r5;"),
       0);
  CHECK_EQUAL(results[17], 0x04030201);
  ENDS(RUN(".reg .v2 .u32 %v; mov.u32 %v.x, 5; add.u32 %v.y, %v.x, %r0; add.u32 %r4, %v.x, %v.y;"
           "st.global.u32 [%rd0], %r4;"),
       0);
  CHECK_EQUAL(results[17], 27);
}

/* Reconvergence is seen by activemask. */
static void divergence(void) {
  ENDS(RUN("rem.u32 %r4, %r0, 3; setp.ne.u32 %p0, %r4, 0; mov.u32 %r5, 0; @%p0 bra join; activemask.b32 %r5;"
           "join: activemask.b32 %r6; xor.b32 %r5, %r5, %r6; st.global.u32 [%rd0], %r5;"),
       0);
  CHECK_EQUAL(results[0], ~0x49249249u);
  CHECK_EQUAL(results[1], 0xffffffff);
  /* a loop that lanes leave one after the other, and a jump table */
  ENDS(RUN("mov.u32 %r4, 0; loop: add.u32 %r4, %r4, 2; setp.lt.u32 %p0, %r4, %r0; @%p0 bra loop;"
           "activemask.b32 %r5; setp.eq.u32 %p1, %r5, -1; @%p1 add.u32 %r4, %r4, 100; st.global.u32 [%rd0], %r4;"),
       0);
  CHECK_EQUAL(results[0], 102);
  CHECK_EQUAL(results[31], 132);
  ENDS(RUN("and.b32 %r4, %r0, 3; t: .branchtargets a, b, c, c; brx.idx %r4, t;"
           "a: mov.u32 %r5, 10; bra join; b: mov.u32 %r5, 20; bra join; c: mov.u32 %r5, 30;"
           "join: st.global.u32 [%rd0], %r5;"),
       0);
  CHECK_EQUAL(results[4], 10);
  CHECK_EQUAL(results[1], 20);
  CHECK_EQUAL(results[2], 30);
  CHECK_EQUAL(results[7], 30);
  ENDS(RUN("t: .branchtargets a; brx.idx %r0, t; a: st.global.u32 [%rd0], 1;"), 718);
  /* part of the lanes leave */
  ENDS(RUN("setp.lt.u32 %p0, %r0, 10; @%p0 exit; activemask.b32 %r4; st.global.u32 [%rd0], %r4;"), 0);
  CHECK_EQUAL(results[9], 0);
  CHECK_EQUAL(results[10], 0xfffffc00);
}

/* A lock that lanes of one warp take in turn: lock-step without fairness would never end. */
static void spin_lock(void) {
  ENDS(run(HEAD ".global .u32 lock; .global .u32 count;\n" KERNEL(
               "k", "spin: atom.global.cas.b32 %r4, [lock], 0, 1; setp.ne.u32 %p0, %r4, 0; @%p0 bra spin;"
                    "ld.volatile.global.u32 %r5, [count]; add.u32 %r5, %r5, 1; st.volatile.global.u32 [count], %r5;"
                    "atom.global.exch.b32 %r6, [lock], 0; st.global.u32 [%rd0], %r5;"),
           (kernel_shape){2, 64, 0, false}),
       0);
  uint64_t sum = 0;
  for (int i = 0; i < 128; i++)
    sum += results[i];
  CHECK_EQUAL(sum, 128 * 129 / 2);
}

#define CALLS                                                                                                          \
  HEAD ".func (.param .b32 r) twice(.param .b32 a)\n{ .reg .b32 %x<3>; ld.param.u32 %x0, [a]; add.u32 %x0, %x0, %x0;"  \
       "st.param.b32 [r], %x0; ret; }\n"                                                                               \
       ".func (.reg .b32 r) plus(.reg .b32 a, .reg .b32 b)\n{ add.u32 r, a, b; ret; }\n"                               \
       ".func (.param .b32 r) three(.param .b32 a)\n{ .reg .b32 %x<3>; ld.param.u32 %x0, [a]; mul.lo.u32 %x0, %x0, 3;" \
       "st.param.b32 [r], %x0; ret; }\n"                                                                               \
       ".func (.param .b32 r) factorial(.param .b32 a)\n{ .reg .pred %p; .reg .b32 %x<4>; ld.param.u32 %x0, [a];"      \
       "mov.u32 %x1, 1; setp.le.u32 %p, %x0, 1; @%p bra done; sub.u32 %x2, %x0, 1;"                                    \
       "{ .param .b32 q; .param .b32 s; st.param.b32 [q], %x2; call (s), factorial, (q); ld.param.b32 %x1, [s]; }"     \
       "mul.lo.u32 %x1, %x1, %x0; done: st.param.b32 [r], %x1; ret; }\n"                                               \
       ".func (.param .b32 r) other(.param .b64 a)\n{ st.param.b32 [r], 1; ret; }\n"                                   \
       ".global .u64 table[3] = {twice, three, other};\n"

/* Calls `how` with %r0 and stores what comes back. */
#define CALL(how)                                                                                                      \
  "{ .param .b32 q; .param .b32 s; st.param.b32 [q], %r0;" how "ld.param.b32 %r4, [s]; } st.global.u32 [%rd0], %r4;"
#define POINTER(get) get "proto: .callprototype (.param .b32 _) _ (.param .b32 _);" CALL("call (s), %rd5, (q), proto;")

static void calls(void) {
  ENDS(run_one(CALLS KERNEL("k", CALL("call (s), twice, (q);"))), 0);
  CHECK_EQUAL(results[21], 42);
  ENDS(run_one(CALLS KERNEL("k", "call (%r4), plus, (%r0, 5); call (%r4), plus, (%r4, %r4);"
                                 "st.global.u32 [%rd0], %r4;")),
       0);
  CHECK_EQUAL(results[3], 16);
  /* half of the lanes call, the others do not */
  ENDS(run_one(CALLS KERNEL("k", "mov.u32 %r4, 7; setp.lt.u32 %p0, %r0, 16; @!%p0 bra join;" CALL(
                                     "call (s), three, (q);") "join: activemask.b32 %r5; add.u32 %r4, %r4, %r5;"
                                                              "st.global.u32 [%rd0], %r4;")),
       0);
  CHECK_EQUAL(results[5], 14);
  CHECK_EQUAL(results[20], 6);
  /* recursion of lanes with different depths */
  ENDS(run_one(CALLS KERNEL("k", "and.b32 %r0, %r0, 7;" CALL("call (s), factorial, (q);"))), 0);
  CHECK_EQUAL(results[0], 1);
  CHECK_EQUAL(results[13], 120);
  CHECK_EQUAL(results[31], 5040);
  /* by pointer, to two functions at once */
  ENDS(run_one(CALLS KERNEL("k", POINTER("and.b32 %r5, %r0, 1; mul.wide.u32 %rd3, %r5, 8; mov.u64 %rd4, table;"
                                         "add.u64 %rd4, %rd4, %rd3; ld.global.u64 %rd5, [%rd4];"))),
       0);
  CHECK_EQUAL(results[10], 20);
  CHECK_EQUAL(results[11], 33);
  /* pointers that name no such function */
  ENDS(run_one(CALLS KERNEL("k", POINTER("ld.global.u64 %rd5, [table+16];"))), 718);
  CHECK(strstr(kernel_fault(), "invalid program counter: k, block (0,0,0), thread (0,0,0)") != NULL);
  CHECK(strstr(kernel_fault(), "calls other by pointer with other parameters than it has") != NULL);
  ENDS(run_one(CALLS KERNEL("k", POINTER("mov.u64 %rd5, 0;"))), 718);
  ENDS(run_one(CALLS KERNEL("k", POINTER("mov.u64 %rd5, k;"))), 718);
  ENDS(run_one(CALLS KERNEL("k", POINTER("mov.u64 %rd5, 0x0400000000001000;"))), 718);
  ENDS(run_one(CALLS KERNEL("k", POINTER("mov.u64 %rd5, 0x04ffffffffffffff;"))), 718);
  ENDS(run_one(CALLS KERNEL("k", POINTER("mov.u64 %rd5, %rd1;"))), 718);
  /* recursion without end */
  ENDS(run_one(CALLS KERNEL("k", "mov.u32 %r0, 100000;" CALL("call (s), factorial, (q);"))), 714);
  CHECK(strstr(kernel_fault(), "stack overflow: k") != NULL);
  CHECK(strstr(kernel_fault(), "cudaLimitStackSize") != NULL);
}

/* A deeper stack than the default's 1024 bytes; lanes that meet in a function from two calls of it. */
static void deep_calls(void) {
  uint64_t limit = kernel_context->limits[0];
  static const char sum[] =
      HEAD ".func (.param .b32 r) sum(.param .b32 a)\n{ .reg .pred %p; .reg .b32 %x<4>; .local .b32 mine;"
           "ld.param.u32 %x0, [a]; st.local.u32 [mine], %x0; mov.u32 %x1, 0; setp.eq.u32 %p, %x0, 0; @%p bra done;"
           "sub.u32 %x2, %x0, 1; { .param .b32 q; .param .b32 s; st.param.b32 [q], %x2; call (s), sum, (q);"
           "ld.param.b32 %x1, [s]; } ld.local.u32 %x0, [mine]; add.u32 %x1, %x1, %x0; done: st.param.b32 [r], %x1; "
           "ret; }\n" KERNEL("k", "mul.lo.u32 %r0, %r0, 10;" CALL("call (s), sum, (q);"));
  ENDS(run_one(sum), 714);
  kernel_context->limits[0] = 65536;
  ENDS(run_one(sum), 0);
  CHECK_EQUAL(results[31], 310 * 311 / 2);
  CHECK_EQUAL(results[7], 70 * 71 / 2);
  kernel_context->limits[0] = limit;
  /* lanes that return before the others */
  ENDS(run_one(HEAD
               ".func (.param .b32 r) early(.param .b32 a)\n{ .reg .pred %p; .reg .b32 %x<4>; ld.param.u32 %x0, [a];"
               "st.param.b32 [r], 0; setp.eq.u32 %p, %x0, 0; @%p ret; sub.u32 %x2, %x0, 1;"
               "{ .param .b32 q; .param .b32 s; st.param.b32 [q], %x2; call (s), early, (q); ld.param.b32 %x1, [s]; }"
               "add.u32 %x1, %x1, %x0; st.param.b32 [r], %x1; ret; }\n" KERNEL("k", CALL("call (s), early, (q);"))),
       0);
  CHECK_EQUAL(results[0], 0);
  CHECK_EQUAL(results[10], 55);
  CHECK_EQUAL(results[31], 496);
  ENDS(run_one(HEAD ".func (.param .b32 r) swap(.param .b32 a)\n{ .reg .b32 %x<2>; ld.param.u32 %x0, [a];"
                    "shfl.sync.bfly.b32 %x1, %x0, 31, 31, -1; st.param.b32 [r], %x1; ret; }\n" KERNEL(
                        "k", "setp.lt.u32 %p0, %r0, 9; @%p0 bra low;" CALL("call (s), swap, (q);") "bra end; low:" CALL(
                                 "call (s), swap, (q);") "end:")),
       0);
  CHECK_EQUAL(results[0], 31);
  CHECK_EQUAL(results[31], 0);
}

/* ---- barriers ---- */

static int run_block(const char *text, uint32_t threads) {
  return run(text, (kernel_shape){1, threads, 0, false});
}

static void barriers(void) {
  /* thread i reads what thread 95 - i wrote */
  static const char reverse[] = HEAD
      ".shared .u32 x[96];\n" KERNEL("k", "mov.u32 %r4, x; mad.lo.u32 %r5, %r0, 4, %r4; st.shared.u32 [%r5], %r0;"
                                          "barrier.sync.aligned 0; sub.u32 %r6, 95, %r0; mad.lo.u32 %r5, %r6, 4, %r4;"
                                          "ld.shared.u32 %r7, [%r5]; st.global.u32 [%rd0], %r7;");
  ENDS(run_block(reverse, 96), 0);
  for (uint32_t i = 0; i < 96; i++)
    CHECK_EQUAL(results[i], 95 - i);
  /* threads that have exited are not waited for; those of the last warp need not be 32 */
  ENDS(run_block(HEAD KERNEL("k", "setp.lt.u32 %p0, %r0, 40; @%p0 exit; bar.sync 0; st.global.u32 [%rd0], 1;"), 70), 0);
  CHECK_EQUAL(results[39], 0);
  CHECK_EQUAL(results[69], 1);
  /* reductions */
  ENDS(run_block(HEAD KERNEL("k", "setp.lt.u32 %p0, %r0, 40; bar.red.popc.u32 %r4, 0, %p0;"
                                  "bar.red.popc.u32 %r5, 0, !%p0; mad.lo.u32 %r4, %r5, 1000, %r4;"
                                  "st.global.u32 [%rd0], %r4;"),
                 70),
       0);
  CHECK_EQUAL(results[0], 30040);
  CHECK_EQUAL(results[69], 30040);
  ENDS(run_block(HEAD KERNEL("k", "setp.ne.u32 %p0, %r0, 5; bar.red.and.pred %p1, 1, %p0; bar.red.or.pred %p2, 1, %p0;"
                                  "selp.u32 %r4, 1, 0, %p1; selp.u32 %r5, 2, 0, %p2; or.b32 %r4, %r4, %r5;"
                                  "st.global.u32 [%rd0], %r4;"),
                 64),
       0);
  CHECK_EQUAL(results[63], 2);
  /* a producer and a consumer with numbered barriers */
  ENDS(run_block(HEAD ".shared .u32 box;\n" KERNEL(
                     "k", "setp.lt.u32 %p0, %r0, 32; @%p0 bra consumer;"
                          "mov.u32 %r4, 77; st.shared.u32 [box], %r4; bar.arrive 3, 64; bra end;"
                          "consumer: bar.sync 3, 64; ld.shared.u32 %r5, [box]; st.global.u32 [%rd0], %r5; end:"),
                 64),
       0);
  CHECK_EQUAL(results[0], 77);
  CHECK_EQUAL(results[31], 77);
}

static void broken_barriers(void) {
  /* half of the block goes elsewhere */
  ENDS(run_block(
           HEAD KERNEL("k", "setp.lt.u32 %p0, %r0, 32; @%p0 bra low;\nbar.sync 1;\nbra end;\nlow:\nbar.sync 0;\nend:"),
           64),
       702);
  CHECK(strstr(kernel_fault(), "launch timed out: k, block (0,0,0), thread (0,0,0) (PTX line ") != NULL);
  CHECK(strstr(kernel_fault(), "barrier 0: threads 32 to 63 of block 0 wait at another barrier (PTX line ") != NULL);
  /* both halves of a warp at barriers of their own */
  ENDS(run_block(HEAD KERNEL("k", "setp.lt.u32 %p0, %r0, 16; @%p0 bra low; bar.sync 0; bra end; low: bar.sync 0; end:"),
                 64),
       719);
  CHECK(strstr(kernel_fault(), "lanes 0x0000ffff") != NULL);
  /* which is no mistake where it says that it need not be aligned */
  ENDS(run_block(HEAD KERNEL("k", "setp.lt.u32 %p0, %r0, 16; @%p0 bra low; barrier.sync 0; bra end;"
                                  "low: barrier.sync 0; end: st.global.u32 [%rd0], 1;"),
                 64),
       0);
  CHECK_EQUAL(results[63], 1);
  /* too few come */
  ENDS(run_block(HEAD KERNEL("k", "setp.lt.u32 %p0, %r0, 32; @%p0 exit; bar.sync 2, 64;"), 64), 702);
  CHECK(strstr(kernel_fault(), "barrier 2: 32 threads of 64 have come; threads 0 to 31 of block 0 have exited") !=
        NULL);
  ENDS(run_block(HEAD KERNEL("k", "mov.u32 %r4, 16; bar.sync %r4;"), 64), 719);
  ENDS(run_block(HEAD KERNEL("k", "bar.sync 0, 20;"), 64), 719);
  ENDS(run_block(HEAD KERNEL("k", "mov.u32 %r4, 4294967295; bar.sync %r4, %r0;"), 64), 719);
}

/* ---- warps ---- */

static void shuffles(void) {
  ENDS(RUN("shfl.sync.bfly.b32 %r4, %r0, 1, 31, -1; st.global.u32 [%rd0], %r4;"), 0);
  CHECK_EQUAL(results[6], 7);
  ENDS(RUN("shfl.sync.up.b32 %r4|%p0, %r0, 2, 0, -1; @!%p0 add.u32 %r4, %r4, 100; st.global.u32 [%rd0], %r4;"), 0);
  CHECK_EQUAL(results[1], 101);
  CHECK_EQUAL(results[2], 0);
  ENDS(RUN("shfl.sync.down.b32 %r4|%p0, %r0, 3, 31, -1; @!%p0 add.u32 %r4, %r4, 100; st.global.u32 [%rd0], %r4;"), 0);
  CHECK_EQUAL(results[28], 31);
  CHECK_EQUAL(results[29], 129);
  /* in segments of 8: clamp 31, segment mask 24 */
  ENDS(RUN("shfl.sync.idx.b32 %r4, %r0, 9, 0x181f, -1; st.global.u32 [%rd0], %r4;"), 0);
  CHECK_EQUAL(results[17], 17 / 8 * 8 + 1);
  /* both halves of a divided warp exchange among themselves, from different instructions */
  ENDS(RUN("setp.lt.u32 %p0, %r0, 16; @%p0 bra low; shfl.sync.bfly.b32 %r4, %r0, 1, 31, 0xffff0000; bra join;"
           "low: shfl.sync.bfly.b32 %r4, %r0, 2, 31, 0xffff; join: st.global.u32 [%rd0], %r4;"),
       0);
  CHECK_EQUAL(results[0], 2);
  CHECK_EQUAL(results[16], 17);
  /* all lanes, from two instructions */
  ENDS(RUN("setp.lt.u32 %p0, %r0, 16; @%p0 bra low; shfl.sync.bfly.b32 %r4, %r0, 31, 31, -1; bra join;"
           "low: shfl.sync.bfly.b32 %r4, %r0, 31, 31, -1; join: st.global.u32 [%rd0], %r4;"),
       0);
  CHECK_EQUAL(results[0], 31);
  CHECK_EQUAL(results[31], 0);
  /* each pair of lanes with a mask of its own */
  ENDS(RUN("and.b32 %r4, %r0, 30; shl.b32 %r5, 3, %r4; shfl.sync.bfly.b32 %r4, %r0, 1, 31, %r5; st.global.u32 [%rd0], "
           "%r4;"),
       0);
  CHECK_EQUAL(results[10], 11);
}

static void votes(void) {
  ENDS(RUN("setp.lt.u32 %p0, %r0, 5; vote.sync.ballot.b32 %r4, %p0, -1; vote.sync.any.pred %p1, %p0, -1;"
           "vote.sync.all.pred %p2, %p0, -1; vote.sync.uni.pred %p3, !%p0, -1; selp.u32 %r5, 0x100, 0, %p1;"
           "selp.u32 %r6, 0x200, 0, %p2; selp.u32 %r7, 0x400, 0, %p3; or.b32 %r4, %r4, %r5; or.b32 %r4, %r4, %r6;"
           "or.b32 %r4, %r4, %r7; st.global.u32 [%rd0], %r4;"),
       0);
  CHECK_EQUAL(results[30], 0x11f);
  ENDS(RUN("and.b32 %r4, %r0, 1; match.any.sync.b32 %r5, %r4, -1; st.global.u32 [%rd0], %r5;"), 0);
  CHECK_EQUAL(results[2], 0x55555555);
  CHECK_EQUAL(results[3], 0xaaaaaaaa);
  ENDS(RUN("mov.u64 %rd3, 0x700000000; match.all.sync.b64 %r5|%p0, %rd3, -1; cvt.u64.u32 %rd4, %r0; add.u64 %rd3, "
           "%rd3, %rd4;"
           "match.all.sync.b64 %r6|%p1, %rd3, -1; selp.u32 %r7, 1, 2, %p0; selp.u32 %r8, 10, 20, %p1; add.u32 %r7, "
           "%r7, %r8;"
           "add.u32 %r7, %r7, %r6; setp.eq.u32 %p2, %r5, -1; @%p2 add.u32 %r7, %r7, 100; st.global.u32 [%rd0], %r7;"),
       0);
  CHECK_EQUAL(results[9], 121);
  ENDS(RUN("redux.sync.add.s32 %r4, %r0, -1; redux.sync.max.u32 %r5, %r0, -1; neg.s32 %r6, %r0; redux.sync.min.s32 "
           "%r6, %r6, -1;"
           "add.u32 %r4, %r4, %r5; add.u32 %r4, %r4, %r6; st.global.u32 [%rd0], %r4;"),
       0);
  CHECK_EQUAL(results[9], 496 + 31 - 31);
  ENDS(RUN("cvt.rn.f32.u32 %f0, %r0; sub.f32 %f0, %f0, 0f41200000; redux.sync.max.abs.f32 %f1, %f0, -1;"
           "cvt.rzi.u32.f32 %r4, %f1; st.global.u32 [%rd0], %r4;"),
       0);
  CHECK_EQUAL(results[9], 21);
  ENDS(RUN("setp.gt.u32 %p0, %r0, 3; @!%p0 exit; elect.sync %r4|%p1, 0xfffffff0; @%p1 add.u32 %r4, %r4, 100;"
           "st.global.u32 [%rd0], %r4;"),
       0);
  CHECK_EQUAL(results[4], 104);
  CHECK_EQUAL(results[5], 4);
}

static void broken_warps(void) {
  ENDS(RUN("setp.lt.u32 %p0, %r0, 16; @%p0 bra low; bar.warp.sync 0xffff0003; bra end;\n low: barrier.sync 0; end:"),
       702);
  CHECK(strstr(kernel_fault(), "lanes 16 to 31 of warp 0 wait at a warp-level sync for lanes 0 to 1 that never come") !=
        NULL);
  /* lanes that have exited are not waited for */
  ENDS(RUN("setp.lt.u32 %p0, %r0, 3; @%p0 exit; bar.warp.sync -1; st.global.u32 [%rd0], 1;"), 0);
  CHECK_EQUAL(results[31], 1);
  ENDS(RUN("setp.lt.u32 %p0, %r0, 3; @!%p0 bra wait; bra end; wait: bar.warp.sync -1; st.global.u32 [%rd0], 1; end:"),
       0);
  /* a lane that its own mask does not name is told of, and no deadlock */
  ENDS(RUN("bar.warp.sync 1; st.global.u32 [%rd0], 1;"), 0);
  CHECK_EQUAL(sim_report_count(SIM_REPORT_NOTE), 1);
}

/* ---- ends ---- */

static void ends(void) {
  ENDS(RUN("setp.eq.u32 %p0, %r0, 7; @%p0 trap;"), 719);
  CHECK(strstr(kernel_fault(), "launch failure: k, block (0,0,0), thread (7,0,0) (PTX line") != NULL);
  ENDS(RUN("brkpt;"), 719);
  ENDS(RUN("loop: bra loop;"), 702);
  CHECK(strstr(kernel_fault(), "launch timed out: k") != NULL);
  ENDS(RUN("nanosleep.u32 100; pmevent 1; griddepcontrol.wait; st.global.u32 [%rd0], 1;"), 0);
  CHECK_EQUAL(results[0], 1);
  ENDS(RUN("mov.u64 %rd5, 0; st.global.u32 [%rd5], 1;"), 700);
}

/* A warp waits for another one in a loop, either way round. */
static void waits(void) {
  ENDS(
      run_block(HEAD ".shared .u32 flag;\n" KERNEL(
                    "k", "mov.u32 %r4, 0; setp.eq.u32 %p1, %r0, 0; @%p1 st.volatile.shared.u32 [flag], %r4; bar.sync 0;"
                         "setp.ge.u32 %p0, %r0, 32; @%p0 bra set; loop: ld.volatile.shared.u32 %r5, [flag];"
                         "setp.eq.u32 %p2, %r5, 0; @%p2 bra loop; st.global.u32 [%rd0], %r5; bra end;"
                         "set: mov.u32 %r6, 5; st.volatile.shared.u32 [flag], %r6; end:"),
                64),
      0);
  CHECK_EQUAL(results[31], 5);
  /* lanes of one warp wait for the last one */
  ENDS(
      RUN(".shared .u32 flag; st.volatile.shared.u32 [flag], 0; bar.warp.sync -1; setp.eq.u32 %p0, %r0, 31; @%p0 bra "
          "set;"
          "loop: nanosleep.u32 20; ld.volatile.shared.u32 %r5, [flag]; setp.eq.u32 %p1, %r5, 0; @%p1 bra loop; bra end;"
          "set: mov.u32 %r5, 6; st.volatile.shared.u32 [flag], %r5; end: st.global.u32 [%rd0], %r5;"),
      0);
  CHECK_EQUAL(results[0], 6);
}

/* ---- builtins ---- */

#define EXTERNS                                                                                                        \
  ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n"                                             \
  ".extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);\n"           \
  ".extern .func (.param .b64 r) malloc(.param .b64 a);\n.extern .func free(.param .b64 a);\n"                         \
  ".extern .func (.param .b64 r) cudaCGGetIntrinsicHandle(.param .b32 a);\n"                                           \
  ".extern .func (.param .b32 r) cudaCGSynchronize(.param .b64 a, .param .b32 b);\n"

static void assertions(void) {
  ENDS(run_one(
           HEAD EXTERNS
           ".global .b8 what[6] = {120, 32, 62, 32, 49, 0};\n.global .b8 file[5] = {97, 46, 99, 117, 0};\n"
           ".global .b8 fn[2] = {102, 0};\n" KERNEL(
               "k",
               "setp.ne.u32 %p0, %r0, 9; @%p0 exit; { .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d;"
               ".param .b64 e; mov.u64 %rd3, what; st.param.b64 [a], %rd3; mov.u64 %rd3, file; st.param.b64 [b], %rd3;"
               "st.param.b32 [c], 12; mov.u64 %rd3, fn; st.param.b64 [d], %rd3; st.param.b64 [e], 1;"
               "call __assertfail, (a, b, c, d, e); }")),
       710);
  CHECK(strstr(kernel_fault(), "a.cu:12: f: block: [0,0,0], thread: [9,0,0] Assertion `x > 1` failed.") != NULL);
}

static void heap(void) {
  ENDS(run_one(HEAD EXTERNS KERNEL(
           "k", "{ .param .b64 a; .param .b64 r; st.param.b64 [a], 16; call (r), malloc, (a); ld.param.b64 %rd3, [r]; }"
                "st.u32 [%rd3+12], %r0; ld.u32 %r4, [%rd3+12]; st.global.u32 [%rd0], %r4;"
                "{ .param .b64 a; st.param.b64 [a], %rd3; call free, (a); }")),
       0);
  CHECK_EQUAL(results[19], 19);
  ENDS(run_one(HEAD EXTERNS KERNEL(
           "k", "{ .param .b64 a; .param .b64 r; st.param.b64 [a], 16; call (r), malloc, (a); ld.param.b64 %rd3, [r]; }"
                "st.u32 [%rd3+16], %r0;")),
       700);
  ENDS(run_one(HEAD EXTERNS KERNEL(
           "k", "{ .param .b64 a; .param .b64 r; st.param.b64 [a], 16; call (r), malloc, (a); ld.param.b64 %rd3, [r]; }"
                "{ .param .b64 a; st.param.b64 [a], %rd3; call free, (a); } { .param .b64 a; st.param.b64 [a], %rd3; "
                "call free, (a); }")),
       719);
  /* more than the limit is NULL */
  ENDS(run_one(HEAD EXTERNS KERNEL("k",
                                   "{ .param .b64 a; .param .b64 r; st.param.b64 [a], 0x7fffffffffffffff; call (r), "
                                   "malloc, (a); ld.param.b64 %rd3, [r]; }"
                                   "setp.eq.u64 %p0, %rd3, 0; selp.u32 %r4, 1, 2, %p0; st.global.u32 [%rd0], %r4;")),
       0);
  CHECK_EQUAL(results[0], 1);
}

/* What printf wrote: stdout goes to a file meanwhile. */
static void printing(void) {
  fflush(stdout);
  int kept = dup(1);
  FILE *file = tmpfile();
  dup2(fileno(file), 1);
  uint64_t limit = kernel_context->limits[1];
  kernel_context->limits[1] = 60; /* one line fits, two do not */
  /* "%d|%5.2f|%s|%lld|%c|%%|%-4x|%*d\n" with 42, 3.14159, "hi", 1 << 40, 'A', 255, 3, 7 */
  int result = run_block(
      HEAD EXTERNS
      ".global .b8 fmt[36] = "
      "{37,100,124,37,53,46,50,102,124,37,115,124,37,108,108,100,124,37,99,124,37,37,124,37,45,52,120,124,"
      "37,42,100,10,0};\n.global .b8 hi[3] = {104, 105, 0};\n" KERNEL(
          "k", ".local .align 8 .b8 buf[64]; mov.u64 %rd3, buf; cvta.local.u64 %rd4, %rd3; mov.u64 %rd5, fmt; mov.u64 "
               "%rd6, hi;"
               "st.local.u32 [buf], 42; st.local.b64 [buf+8], 0d400921F9F01B866E; st.local.u64 [buf+16], %rd6;"
               "st.local.u64 [buf+24], 0x10000000000; st.local.u32 [buf+32], 65; st.local.u32 [buf+36], 255;"
               "st.local.u32 [buf+40], 3; st.local.u32 [buf+44], 7;"
               "{ .param .b64 a; .param .b64 b; .param .b32 r; st.param.b64 [a], %rd5; st.param.b64 [b], %rd4;"
               "call (r), vprintf, (a, b); ld.param.b32 %r4, [r]; } st.global.u32 [%rd0], %r4;"),
      2);
  uint64_t notes = sim_report_count(SIM_REPORT_NOTE);
  kernel_context->limits[1] = limit;
  int bad = run_one(HEAD EXTERNS KERNEL("k", "{ .param .b64 a; .param .b64 b; .param .b32 r; st.param.b64 [a], 0x123; "
                                             "st.param.b64 [b], 0; call (r), vprintf, (a, b); }"));
  fflush(stdout);
  dup2(kept, 1);
  close(kept);
  rewind(file);
  char text[256] = "";
  size_t length = fread(text, 1, sizeof text - 1, file);
  text[length] = '\0';
  fclose(file);
  CHECK_EQUAL(result, 0);
  CHECK_EQUAL(notes, 1);
  CHECK_EQUAL(bad, 700);
  CHECK_TEXT(text, "42| 3.14|hi|1099511627776|A|%|ff  |  7\n42| 3.14|hi|1099511627776|A|%|ff  |  7\n");
  CHECK_EQUAL(results[0], 0); /* of the second kernel, which stored nothing */
}

/* ---- grids ---- */

static void grids(void) {
  static const char builtin[] = HEAD EXTERNS ".global .u32 sum;\n" KERNEL(
      "k", "{ .param .b32 a; .param .b64 r; st.param.b32 [a], 1; call (r), cudaCGGetIntrinsicHandle, (a); ld.param.b64 "
           "%rd3, [r]; }"
           "atom.global.add.u32 %r4, [sum], 1;"
           "{ .param .b64 a; .param .b32 b; .param .b32 r; st.param.b64 [a], %rd3; st.param.b32 [b], 0;"
           "call (r), cudaCGSynchronize, (a, b); } ld.volatile.global.u32 %r5, [sum]; st.global.u32 [%rd0], %r5;");
  ENDS(run(builtin, (kernel_shape){4, 64, 0, true}), 0);
  for (int i = 0; i < 256; i++)
    CHECK_EQUAL(results[i], 256);
  ENDS(run(builtin, (kernel_shape){4, 64, 0, false}), 719);
  /* the barrier that headers build: a word behind %envreg1:2, block 0 adds 0x80000000 - (blocks - 1), the others 1 */
  static const char headers[] = HEAD ".global .u32 sum;\n" KERNEL(
      "k", "atom.global.add.u32 %r4, [sum], 1; bar.sync 0; setp.ne.u32 %p0, %r0, 0; @%p0 bra wait;"
           "mov.u32 %r4, %envreg1; mov.u32 %r5, %envreg2; mov.b64 %rd3, {%r5, %r4}; mov.u32 %r6, %nctaid.x;"
           "sub.u32 %r6, 0x80000001, %r6; setp.eq.u32 %p1, %r1, 0; selp.u32 %r6, %r6, 1, %p1; atom.add.u32 %r7, "
           "[%rd3+4], %r6;"
           "spin: ld.volatile.u32 %r8, [%rd3+4]; xor.b32 %r8, %r8, %r7; setp.ge.s32 %p2, %r8, 0; @%p2 bra spin;"
           "wait: bar.sync 0; ld.volatile.global.u32 %r5, [sum]; st.global.u32 [%rd0], %r5;");
  ENDS(run(headers, (kernel_shape){8, 32, 0, true}), 0);
  for (int i = 0; i < 256; i++)
    CHECK_EQUAL(results[i], 256);
}

static void shared_memory(void) {
  static const char dynamic[] = HEAD ".shared .align 4 .b8 a[20];\n.extern .shared .align 16 .b8 d[];\n" KERNEL(
      "k", "mov.u32 %r4, d; mov.u32 %r5, a; sub.u32 %r4, %r4, %r5; mov.u32 %r6, %dynamic_smem_size; mad.lo.u32 %r4, "
           "%r6, 1000, %r4;"
           "st.global.u32 [%rd0], %r4;");
  ENDS(run(dynamic, (kernel_shape){1, 32, 64, false}), 0);
  CHECK_EQUAL(results[0], 64032);
}

static const sim_function *entry(sim_library *library, const char *name) {
  sim_kernel *kernel;
  return sim_library_kernel(&kernel, library, name) ? NULL : kernel->function;
}

/* Two kernels: each has its own shared memory's size, and variables that both reach lie at one place. */
static void sizes(void) {
  sim_library *library =
      kernel_load(HEAD ".shared .align 4 .b8 a[100];\n.shared .align 4 .b8 b[40];\n.shared .align 4 .b8 c[8];\n"
                       ".func f() { .reg .b32 %r; ld.shared.u32 %r, [c]; ret; }\n"
                       ".visible .entry one() { .reg .b32 %r; ld.shared.u32 %r, [a]; call f; ret; }\n"
                       ".visible .entry two() { .reg .b32 %r; ld.shared.u32 %r, [b]; call f; ret; }\n"
                       ".visible .entry none() { .local .b8 l[24]; .reg .b32 %r; ld.local.u32 %r, [l]; ret; }\n");
  if (library == NULL)
    return;
  CHECK_EQUAL(entry(library, "one")->shared_bytes, 108);
  CHECK_EQUAL(entry(library, "two")->shared_bytes, 48);
  CHECK_EQUAL(entry(library, "none")->shared_bytes, 0);
  CHECK_EQUAL(entry(library, "none")->local_bytes, 32);
  CHECK(entry(library, "f") == NULL);
  sim_library_unload(library);
}

/* Texts that parse and are no programs. */
static void refusals(void) {
  static const struct {
    const char *body, *wanted;
  } rows[] = {
      {"mov.u32 %r4, %rd0;", "ptx: line 19: mov.u32: %rd0 is .b64, not of the 32 bits of .u32"},
      {"bar.sync 16;", "ptx: line 19: bar.sync: barrier 16: a block has the barriers 0 to 15"},
      {"mov.f32 %f0, 1;", "ptx: line 19: mov.f32: an integer constant is no .f32"},
      {"shfl.bfly.b32 %r4, %r0, 1, 31;",
       "ptx: line 19: shfl.bfly.b32: .sync is missing: targets from sm_70 on need it"},
      {"mov.u32.foo %r4, %r0;", NULL},
      {"bar.sync.aligned 0;", "ptx: line 19: bar.sync.aligned: .aligned is not known here"},
      {"call undefined;", NULL},
      {"barrier.cluster.arrive;",
       "ptx: line 19: barrier.cluster.arrive: clusters are out of the simulated device's scope"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char text[2048] = HEAD, *end;
    ptx_log log = {""};
    sim_library *library = NULL;
    end = strcat(text, KERNEL("k", "\n@"));
    end = strchr(end, '@');
    strcpy(end, rows[i].body);
    strcat(text, "}\n");
    CHECK_EQUAL(sim_library_load(&library, text, 0, NULL, &log), 218);
    if (rows[i].wanted)
      CHECK(strcmp(log.text, rows[i].wanted) == 0);
  }
}

/* What is right in every order of warps and groups of lanes. */
static void any_order(const char *schedule) {
  char text[256];
  CHECK_EQUAL(sim_config_set("SCHEDULE", schedule, true, text, sizeof text), 0);
  moves();
  wide_moves();
  spin_lock();
  deep_calls();
  barriers();
  shuffles();
  votes();
  waits();
  heap();
  grids();
}

int main(void) {
  setenv("XCHG_SIM_BUDGET", "20000000", 1);
  setenv("XCHG_SIM_SCHEDULE", "lazy", 1); /* a drawn one may run lanes apart that activemask is to see together */
  kernel_start();
  moves();
  wide_moves();
  divergence();
  spin_lock();
  calls();
  deep_calls();
  barriers();
  broken_barriers();
  shuffles();
  votes();
  broken_warps();
  ends();
  waits();
  assertions();
  heap();
  printing();
  grids();
  shared_memory();
  sizes();
  refusals();
  any_order("random:3");
  any_order("random:20");
  return test_end();
}
