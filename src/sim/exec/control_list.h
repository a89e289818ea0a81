/* Handlers of moves, control, calls, barriers, warps. */
#ifndef SIM_EXEC_CONTROL_LIST_H
#define SIM_EXEC_CONTROL_LIST_H

#define SIM_MOVE_HANDLERS(X)                                                                                           \
  X(mov_32)                                                                                                            \
  X(mov_64)                                                                                                            \
  X(mov_pred)                                                                                                          \
  X(pack_16_32)                                                                                                        \
  X(pack_32_64)                                                                                                        \
  X(unpack_32_16)                                                                                                      \
  X(unpack_64_32)                                                                                                      \
  X(place_32)                                                                                                          \
  X(place_64) X(pick_32) X(pick_64) X(shift_64) X(clock_32) X(clock_64) X(is_window) X(is_const) X(is_global)

#define SIM_FLOW_HANDLERS(X) X(bra) X(brx) X(ret) X(exit) X(trap) X(brkpt) X(pause) X(call) X(call_pointer) X(builtin)

#define SIM_WARP_HANDLERS(X)                                                                                           \
  X(bar)                                                                                                               \
  X(warp_sync) X(shfl) X(vote) X(match_32) X(match_64) X(redux) X(redux_f32) X(elect) X(activemask)

#define SIM_CONTROL_HANDLERS(X) SIM_MOVE_HANDLERS(X) SIM_FLOW_HANDLERS(X) SIM_WARP_HANDLERS(X)

#endif
