/* What barriers and warp-level operations keep in op->flags. */
#ifndef SIM_EXEC_SYNC_H
#define SIM_EXEC_SYNC_H

/* SIM_H_bar: in: number, count (0: all threads), predicate of red. */
enum {
  SIM_BAR_SYNC,
  SIM_BAR_ARRIVE,
  SIM_BAR_POPC,
  SIM_BAR_AND,
  SIM_BAR_OR,
  SIM_BAR_KIND = 7,
  SIM_BAR_ALIGNED = 8,
  SIM_BAR_NEGATED = 16,
  SIM_BAR_CONSTANT = 32 /* number and count are the same in all lanes */
};

/* Warp-level operations: in[3] holds the member mask; SIM_WARP_PLAIN: the forms without .sync, whose members are the
   lanes that run. */
enum { SIM_WARP_KIND = 15, SIM_WARP_NEGATED = 16, SIM_WARP_PLAIN = 32, SIM_WARP_ABS = 64, SIM_WARP_NAN = 128 };
enum { SIM_SHFL_UP, SIM_SHFL_DOWN, SIM_SHFL_BFLY, SIM_SHFL_IDX };
enum { SIM_VOTE_ALL, SIM_VOTE_ANY, SIM_VOTE_UNI, SIM_VOTE_BALLOT };
enum { SIM_MATCH_ANY, SIM_MATCH_ALL };
enum { SIM_REDUX_ADD, SIM_REDUX_MIN, SIM_REDUX_MAX, SIM_REDUX_AND, SIM_REDUX_OR, SIM_REDUX_XOR, SIM_REDUX_SIGNED = 8 };

#endif
