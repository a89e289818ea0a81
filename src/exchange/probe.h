/* probe.h: what an object offers, found without keeping anything of it. */
#ifndef XCHG_EXCHANGE_PROBE_H
#define XCHG_EXCHANGE_PROBE_H

#include <lua.h>

/* Body: exchange.peek(object) -> dtype number, device type, device number, readonly, shape, major, minor of a fresh
 * DLPack capsule, which stays fresh; nothing for any other object. Raises for a capsule that cannot be taken. */
int xchg__probe_peek(lua_State *L);

#endif
