/* The handlers by number. */
#include "handlers.h"
#include "warp.h"

#define X(name) SIM_HANDLER(name);
SIM_HANDLERS(X)
#undef X

extern const sim_handler SIM_ISA_NAME(sim_handler_table)[SIM_HANDLER_COUNT];

const sim_handler SIM_ISA_NAME(sim_handler_table)[SIM_HANDLER_COUNT] = {
#define X(name) SIM_ISA_NAME(sim_h_##name),
    SIM_HANDLERS(X)
#undef X
};
