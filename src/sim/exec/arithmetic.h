/* What the decoder of arithmetic tells its handlers in op->flags; each handler says which it knows. */
#ifndef SIM_EXEC_ARITHMETIC_H
#define SIM_EXEC_ARITHMETIC_H

/* floating arithmetic */
enum {
  SIM_FTZ = 1,      /* subnormal inputs and results become zeros of their sign */
  SIM_SAT = 2,      /* the result is clamped to [0, 1], NaN to 0 */
  SIM_RELU = 4,     /* negative results become 0 */
  SIM_NAN = 8,      /* min, max: NaN where an input is NaN */
  SIM_XORSIGN = 16, /* min, max: of the magnitudes, with the product's sign */
  SIM_SATFINITE = 32,
};

/* rounding of a result: two bits, shifted where a handler has other flags too */
enum { SIM_ROUND_NEAREST, SIM_ROUND_ZERO, SIM_ROUND_DOWN, SIM_ROUND_UP, SIM_ROUND_AWAY };
#define SIM_ROUND_SHIFT 6

/* integers */
enum { SIM_CARRY_IN = 1, SIM_CARRY_OUT = 2 };                          /* add_carry, sub_carry */
enum { SIM_DOT_SIGNED_A = 1, SIM_DOT_SIGNED_B = 2, SIM_DOT_HIGH = 4 }; /* dp4a, dp2a */
enum { SIM_SHIFT_WRAP = 1 };                                           /* shf, bmsk, szext: counts modulo 32 */
enum { SIM_FIND_SHIFT = 1 };                                           /* bfind: the count that normalises */
enum { SIM_PERMUTE_F4E, SIM_PERMUTE_B4E, SIM_PERMUTE_RC8, SIM_PERMUTE_ECL, SIM_PERMUTE_ECR, SIM_PERMUTE_RC16 };

/* predicates: which are negated, how two meet */
enum { SIM_NOT_FIRST = 1, SIM_NOT_SECOND = 2, SIM_NOT_THIRD = 4 };
enum { SIM_COMBINE_NONE = 0, SIM_COMBINE_AND = 8, SIM_COMBINE_OR = 16, SIM_COMBINE_XOR = 24, SIM_COMBINE_BITS = 24 };

/* setp of halves: for which relations of the two values the predicate holds */
enum { SIM_WHEN_LESS = 1, SIM_WHEN_EQUAL = 2, SIM_WHEN_GREATER = 4, SIM_WHEN_UNORDERED = 8, SIM_WHEN_FTZ = 16 };

/* testp */
enum {
  SIM_TEST_FINITE,
  SIM_TEST_INFINITE,
  SIM_TEST_NUMBER,
  SIM_TEST_NOTANUMBER,
  SIM_TEST_NORMAL,
  SIM_TEST_SUBNORMAL,
};

#endif
