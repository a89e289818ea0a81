/* abi.h: hands the text and the measurements of xchg.h to Lua. */
#ifndef XCHG_ABI_H
#define XCHG_ABI_H

#include <lua.h>

/* Pushes {text=, number=, layout={{type=, field=, bytes=}, ...}}; a layout row without a field is a size. */
void xchg__abi_push(lua_State *L);

#endif
