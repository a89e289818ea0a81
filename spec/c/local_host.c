/* local_host LIBPYTHON open|start SCRIPT ARG...: opens a libpython for itself alone, as plug-in hosts do, starts it
 * or not, then runs SCRIPT. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include <lauxlib.h>
#include <lualib.h>

static void *symbol(void *library, const char *name) {
  void *address = dlsym(library, name);
  if (address == NULL)
    fprintf(stderr, "%s\n", dlerror());
  return address;
}

int main(int argc, char **argv) {
  void *library;
  lua_State *L;
  int failed;
  if (argc < 4) {
    fprintf(stderr, "usage: %s LIBPYTHON open|start SCRIPT ARG...\n", argv[0]);
    return 98;
  }
  library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 97;
  }
  if (strcmp(argv[2], "start") == 0) {
    void (*initialize)(int);
    void *(*save)(void);
    void *at[] = {symbol(library, "Py_InitializeEx"), symbol(library, "PyEval_SaveThread")};
    memcpy(&initialize, &at[0], sizeof at[0]);
    memcpy(&save, &at[1], sizeof at[1]);
    initialize(0);
    save();
  }
  L = luaL_newstate();
  luaL_openlibs(L);
  lua_createtable(L, argc, 0);
  for (int i = 4; i < argc; i++) {
    lua_pushstring(L, argv[i]);
    lua_rawseti(L, -2, i - 3);
  }
  lua_setglobal(L, "arg");
  failed = luaL_loadfile(L, argv[3]) != 0 || lua_pcall(L, 0, 0, 0) != 0;
  if (failed) {
    luaL_callmeta(L, -1, "__tostring");
    fprintf(stderr, "%s\n", lua_tostring(L, -1));
  }
  lua_close(L);
  return failed;
}
