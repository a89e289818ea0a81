/* f32 and f64 results rounded towards zero, down or up. Only this file changes the rounding mode, and sets it back
   before it returns. op->flags: SIM_ROUND_... << SIM_ROUND_SHIFT, SIM_FTZ. */
#include <fenv.h>
#include <math.h>

#include "arithmetic.h"
#include "float.h"
#include "warp.h"

static void rounding_begin(const sim_op *op) {
  static const int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
  fesetround(modes[op->flags >> SIM_ROUND_SHIFT & 3]);
}
static void rounding_end(void) {
  fesetround(FE_TONEAREST);
}

#define F(x) (ftz ? sim_flush(x) : (x))
#define D(x) (x)
#define CANONICAL(x) sim_canonical(x)

#define ROUNDED(name, type, in, fix, finish, value)                                                                    \
  SIM_HANDLER(name) {                                                                                                  \
    const in *as = SIM_IN(in, 0), *bs = SIM_IN(in, 1), *cs = SIM_IN(in, 2);                                            \
    type *out = SIM_OUT(type);                                                                                         \
    bool ftz = op->flags & SIM_FTZ;                                                                                    \
    (void)ftz, (void)bs, (void)cs;                                                                                     \
    rounding_begin(op);                                                                                                \
    for (int lane = 0; lane < SIM_WARP_SIZE; lane++)                                                                   \
      if (mask >> lane & 1) {                                                                                          \
        in a = fix(as[lane]), b = fix(bs[lane]), c = fix(cs[lane]);                                                    \
        (void)b, (void)c;                                                                                              \
        type result = (value);                                                                                         \
        out[lane] = finish(result);                                                                                    \
      }                                                                                                                \
    rounding_end();                                                                                                    \
    return SIM_NEXT;                                                                                                   \
  }
#define FINISH_F32(x) F(CANONICAL(x))
#define BOTH(name, value32, value64)                                                                                   \
  ROUNDED(name##_round_f32, float, float, F, FINISH_F32, value32)                                                      \
  ROUNDED(name##_round_f64, double, double, D, D, value64)
BOTH(add, a + b, a + b)
BOTH(sub, a - b, a - b)
BOTH(mul, a *b, a *b)
BOTH(div, a / b, a / b)
BOTH(sqrt, sqrtf(a), sqrt(a))
BOTH(fma, fmaf(a, b, c), fma(a, b, c))

ROUNDED(cvt_round_f32_f64, float, double, D, FINISH_F32, (float)a)
ROUNDED(cvt_round_f32_s32, float, int32_t, D, D, (float)a)
ROUNDED(cvt_round_f32_u32, float, uint32_t, D, D, (float)a)
ROUNDED(cvt_round_f32_s64, float, int64_t, D, D, (float)a)
ROUNDED(cvt_round_f32_u64, float, uint64_t, D, D, (float)a)
ROUNDED(cvt_round_f64_s64, double, int64_t, D, D, (double)a)
ROUNDED(cvt_round_f64_u64, double, uint64_t, D, D, (double)a)
