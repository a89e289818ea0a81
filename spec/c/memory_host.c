/* memory_host SCRIPT: runs a Lua script in a state whose memory runs out on request. */
#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>

static long countdown = -1; /* allocations until one fails; negative: none does */
static long failures;

static void *allocate(void *context, void *block, size_t old, size_t size) {
  (void)context;
  if (size == 0) {
    free(block);
    return NULL;
  }
  if (size > old && countdown >= 0 && countdown-- == 0) {
    failures++;
    return NULL;
  }
  return realloc(block, size);
}

/* fail_at(n): the n-th allocation from now on fails, once; 0: none. Returns how many have failed so far. */
static int fail_at(lua_State *L) {
  countdown = (long)lua_tointeger(L, 1) - 1;
  lua_pushinteger(L, failures);
  return 1;
}

int main(int argc, char **argv) {
  lua_State *L = lua_newstate(allocate, NULL);
  int status;
  if (argc != 2 || L == NULL) {
    fprintf(stderr, "no state (this LuaJIT takes no allocator)\n");
    return 77;
  }
  luaL_openlibs(L);
  lua_pushcfunction(L, fail_at);
  lua_setglobal(L, "fail_at");
  status = luaL_dofile(L, argv[1]);
  if (status != 0) {
    lua_getglobal(L, "tostring");
    lua_insert(L, -2);
    lua_call(L, 1, 1);
    fprintf(stderr, "%s\n", lua_tostring(L, -1));
  }
  lua_close(L);
  return status != 0;
}
