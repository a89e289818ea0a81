#include "python/open.h"

#include "python/call.h"
#include "python/construct.h"
#include "python/control.h"
#include "python/door.h"
#include "python/evaluate.h"
#include "python/inspect.h"
#include "python/iterate.h"
#include "python/member.h"
#include "python/name.h"
#include "python/object.h"
#include "python/operator.h"
#include "python/table.h"

void xchg__python_open(lua_State *L) {
  static const luaL_Reg members[] = {
      {"__index", xchg__member_index},
      {"__newindex", xchg__member_newindex},
      {"__call", xchg__call_object},
      {NULL, NULL},
  };
  static const luaL_Reg calls[] = {{"call", xchg__call_plain}, {NULL, NULL}};
  int cache;
  xchg__name_push_cache(L);
  cache = lua_gettop(L);

  xchg__object_open(L);
  xchg__door_register(L, members, cache);
  xchg__operator_open(L, cache);
  lua_pop(L, 1);

  lua_createtable(L, 0, 40);
  xchg__control_open(L);
  xchg__door_register(L, calls, cache);
  xchg__member_open(L, cache);
  xchg__inspect_open(L, cache);
  xchg__construct_open(L, cache);
  xchg__iterate_open(L, cache);
  xchg__evaluate_open(L, cache);
  xchg__table_open(L);
  lua_setfield(L, -2, "keywords");
  lua_remove(L, cache);
}
