/* finalize_host LIBPYTHON PLAN SCRIPT ARG...: a program with a Python and a Lua of its own, ended in a given order.
 *
 * Each letter of PLAN is a step: P start Python; L a new Lua state that runs SCRIPT; F end Python (Py_FinalizeEx);
 * C close the Lua state on this thread; T close it on another. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lauxlib.h>
#include <lualib.h>

static void *libpython;

static void (*function(const char *name))(void) {
  void *address = dlsym(libpython, name);
  void (*result)(void);
  if (address == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    exit(97);
  }
  memcpy(&result, &address, sizeof result);
  return result;
}

static lua_State *state_run(char **arguments, int count) {
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  lua_createtable(L, count, 0);
  for (int i = 1; i < count; i++) {
    lua_pushstring(L, arguments[i]);
    lua_rawseti(L, -2, i);
  }
  lua_setglobal(L, "arg");
  if (luaL_loadfile(L, arguments[0]) != 0 || lua_pcall(L, 0, 0, 0) != 0) {
    if (luaL_callmeta(L, -1, "__tostring") == 0)
      lua_pushvalue(L, -1);
    fprintf(stderr, "%s\n", lua_tostring(L, -1));
    exit(96);
  }
  return L;
}

static void *state_close(void *L) {
  lua_close(L);
  return NULL;
}

int main(int argc, char **argv) {
  lua_State *L = NULL;
  void *thread_state = NULL;
  pthread_t thread;
  if (argc < 4) {
    fprintf(stderr, "usage: %s LIBPYTHON PLAN SCRIPT ARG...\n", argv[0]);
    return 98;
  }
  libpython = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
  if (libpython == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 97;
  }
  for (const char *step = argv[2]; *step != '\0'; step++) {
    switch (*step) {
    case 'P':
      ((void (*)(int))function("Py_InitializeEx"))(0);
      thread_state = ((void *(*)(void))function("PyEval_SaveThread"))();
      break;
    case 'L': L = state_run(argv + 3, argc - 3); break;
    case 'F':
      ((void (*)(void *))function("PyEval_RestoreThread"))(thread_state);
      printf("finalize %d\n", ((int (*)(void))function("Py_FinalizeEx"))());
      break;
    case 'C': state_close(L); break;
    default:
      if (pthread_create(&thread, NULL, state_close, L) != 0 || pthread_join(thread, NULL) != 0)
        return 95;
    }
    printf("%c done\n", *step);
    fflush(stdout);
  }
  return 0;
}
