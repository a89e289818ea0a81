/* closure.h: launches as C functions of Lua, for programs that run without the JIT compiler. */
#ifndef XCHG_CUDA_CLOSURE_H
#define XCHG_CUDA_CLOSURE_H

#include <lua.h>

/* Registered as core.cuda_launcher(frame, tensors, slow, direct, where): a function of the kernel's arguments
 * (`direct`: after the kernel, a grid and a block) that launches it from a frame. `tensors` is the weak table of all
 * tensors. Whatever is not the usual case goes to `slow`, a Lua function of the same arguments. Errors begin with
 * `where`. */
int xchg__launcher_new(lua_State *L);

#endif
