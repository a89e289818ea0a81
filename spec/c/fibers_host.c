/* fibers_host SCRIPT: two fibers of one thread run SCRIPT, each on a C stack and a Lua thread of its own, as
 * Tarantool's do. The script finds its number in `fiber`; switch() goes on in the other fiber. */
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#include <lauxlib.h>
#include <lualib.h>

enum { STACK = 1 << 20, FIBERS = 2 };

static ucontext_t home, contexts[FIBERS];
static lua_State *states[FIBERS];
static int ended[FIBERS], current, failed;
static const char *script;

static int fiber_switch(lua_State *L) {
  int from = current, to = 1 - current;
  (void)L;
  if (!ended[to]) {
    current = to;
    swapcontext(&contexts[from], &contexts[to]);
  }
  return 0;
}

static void fiber_run(int number) {
  lua_State *L = states[number];
  if (luaL_loadfile(L, script) != 0) {
    failed = 1;
  } else {
    lua_pushinteger(L, number + 1);
    failed |= lua_pcall(L, 1, 0, 0) != 0;
  }
  if (lua_gettop(L) > 0) {
    fprintf(stderr, "fiber %d: %s\n", number + 1,
            luaL_callmeta(L, -1, "__tostring") ? lua_tostring(L, -1) : lua_tostring(L, -1));
  }
  ended[number] = 1;
  current = 1 - number;
  setcontext(ended[current] ? &home : &contexts[current]);
}

int main(int argc, char **argv) {
  lua_State *L = luaL_newstate();
  if (argc != 2) {
    fprintf(stderr, "usage: %s SCRIPT\n", argv[0]);
    return 98;
  }
  script = argv[1];
  luaL_openlibs(L);
  lua_register(L, "switch", fiber_switch);
  for (int i = 0; i < FIBERS; i++) {
    states[i] = lua_newthread(L);
    lua_setfield(L, LUA_REGISTRYINDEX, i == 0 ? "fiber 1" : "fiber 2");
    getcontext(&contexts[i]);
    contexts[i].uc_stack.ss_sp = malloc(STACK);
    contexts[i].uc_stack.ss_size = STACK;
    makecontext(&contexts[i], (void (*)(void))fiber_run, 1, i);
  }
  swapcontext(&home, &contexts[0]);
  lua_close(L);
  return failed;
}
