/* All handlers by number. Each family lists its own in exec/<family>_list.h as SIM_<FAMILY>_HANDLERS(X). */
#ifndef SIM_EXEC_HANDLERS_H
#define SIM_EXEC_HANDLERS_H

#include "arithmetic_list.h" /* integer, bits, floating, compare, convert */
#include "control_list.h"    /* move, control, call, barrier, warp */
#include "memory_list.h"     /* memory, atomic, async */
#include "video_list.h"

#define SIM_HANDLERS(X) SIM_ARITHMETIC_HANDLERS(X) SIM_CONTROL_HANDLERS(X) SIM_MEMORY_HANDLERS(X) SIM_VIDEO_HANDLERS(X)

enum {
#define X(name) SIM_H_##name,
  SIM_HANDLERS(X)
#undef X
      SIM_HANDLER_COUNT,
};

#endif
