#include "exchange/probe.h"

#include "exchange/capsule.h"
#include "exchange/descriptor.h"
#include "lua/raise.h"
#include "python/door.h"
#include "python/object.h"

int xchg__probe_peek(lua_State *L) {
  PyObject *object = xchg__object_self(L, 1);
  xchg__capsule capsule;
  xchg__checked checked;
  const xchg_description *d = &checked.description;
  xchg_error err;
  DLPackVersion version;
  err.code = 0;
  if (xchg__py_type(object) != xchg__py.PyCapsule_Type)
    return 0;
  if (xchg__capsule_open(&capsule, object, "asarray", &err) != 0 ||
      xchg__descriptor_check(&checked, capsule.tensor, capsule.flags, "dlpack", &err) != 0)
    return xchg__raise(L, &err);
  version = xchg__capsule_version(&capsule);
  lua_pushinteger(L, d->dtype);
  lua_pushinteger(L, d->device_type);
  lua_pushinteger(L, d->device_id);
  lua_pushboolean(L, d->readonly);
  lua_createtable(L, d->ndim, 0);
  for (int i = 0; i < d->ndim; i++) {
    lua_pushnumber(L, (lua_Number)d->shape[i]);
    lua_rawseti(L, -2, i + 1);
  }
  lua_pushinteger(L, (lua_Integer)version.major);
  lua_pushinteger(L, (lua_Integer)version.minor);
  return 7;
}
