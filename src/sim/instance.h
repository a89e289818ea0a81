/* Instances: the variables of a library in a context. */
#ifndef SIM_INSTANCE_H
#define SIM_INSTANCE_H

#include "module.h"

/* Releases the variables and the instance of a context; nothing where there is none. */
void sim_instance_drop(sim_library *library, sim_context *context);
void sim_instance_drop_all(sim_library *library);

#endif
