/* threads_host PLAN SCRIPT ARG...: runs SCRIPT in Lua states on several threads.
 *
 * Each letter of PLAN is a step: m a state on the main thread; s a state on a thread of its own, waited for; S the
 * same with the state left open; p two threads at once, a state each. The script finds `where` ("main", "side" or
 * "pair") before its arguments. Ends with the sum of the failures. With REAP in the environment it takes the status
 * of every child of the process, as servers do. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <lauxlib.h>
#include <lualib.h>

static char **arguments;
static int count;

typedef struct {
  const char *where;
  int leave_open;
  int failed;
} job;

static void *state_run(void *given) {
  job *self = given;
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  lua_createtable(L, count, 1);
  for (int i = 1; i < count; i++) {
    lua_pushstring(L, arguments[i]);
    lua_rawseti(L, -2, i);
  }
  lua_setglobal(L, "arg");
  lua_pushstring(L, self->where);
  lua_setglobal(L, "where");
  self->failed = luaL_loadfile(L, arguments[0]) != 0 || lua_pcall(L, 0, 0, 0) != 0;
  if (self->failed) {
    const char *text = lua_tostring(L, -1);
    if (text == NULL && luaL_callmeta(L, -1, "__tostring") != 0)
      text = lua_tostring(L, -1);
    fprintf(stderr, "%s: %s\n", self->where, text != NULL ? text : "an error without text");
  }
  if (!self->leave_open)
    lua_close(L);
  return NULL;
}

static int threads_run(job *jobs, int number) {
  pthread_t threads[2];
  int failed = 0;
  for (int i = 0; i < number; i++) {
    if (pthread_create(&threads[i], NULL, state_run, &jobs[i]) != 0) {
      perror("pthread_create");
      exit(99);
    }
  }
  for (int i = 0; i < number; i++) {
    pthread_join(threads[i], NULL);
    failed += jobs[i].failed;
  }
  return failed;
}

static void children_reap(int signal_number) {
  int kept = errno;
  (void)signal_number;
  while (waitpid(-1, NULL, WNOHANG) > 0) {
  }
  errno = kept;
}

int main(int argc, char **argv) {
  int failed = 0;
  if (getenv("REAP") != NULL) {
    struct sigaction action = {.sa_handler = children_reap};
    sigaction(SIGCHLD, &action, NULL);
  }
  if (argc < 3) {
    fprintf(stderr, "usage: %s PLAN SCRIPT ARG...\n", argv[0]);
    return 98;
  }
  arguments = argv + 2;
  count = argc - 2;
  for (const char *step = argv[1]; *step != '\0'; step++) {
    job jobs[2] = {{.where = "side", .leave_open = *step == 'S'}, {.where = "pair"}};
    switch (*step) {
    case 'm':
      jobs[0].where = "main";
      state_run(&jobs[0]);
      failed += jobs[0].failed;
      break;
    case 'p':
      jobs[0].where = "pair";
      failed += threads_run(jobs, 2);
      break;
    default: failed += threads_run(jobs, 1);
    }
  }
  return failed;
}
