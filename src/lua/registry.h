/* registry.h: the integer keys of this library in Lua's registry, in one list so that no two are equal.
 *
 * Negative numbers are never given by luaL_ref, and found faster than strings. */
#ifndef XCHG_LUA_REGISTRY_H
#define XCHG_LUA_REGISTRY_H

enum {
  XCHG_REGISTRY_OBJECT = -0x78636801,   /* metatable of boxes */
  XCHG_REGISTRY_NONE = -0x78636802,     /* the box of None */
  XCHG_REGISTRY_KEYWORDS = -0x78636803, /* metatable of keyword arguments */
  XCHG_REGISTRY_VALUES = -0x78636804,   /* metatables of the two kinds of iterators */
  XCHG_REGISTRY_PAIRS = -0x78636805,
  XCHG_REGISTRY_TENSOR = -0x78636806 /* what tensors are made with */
};

#endif
