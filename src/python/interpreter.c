#include "python/interpreter.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "python/discovery.h"
#include "python/exit.h"
#include "python/life.h"
#include "python/snippet.h"
#include "python/start.h"

atomic_int xchg__life = XCHG_LIFE_NONE;

/* Guards everything below. Nobody waits for the GIL while holding it, except the thread that starts Python,
 * when there is no GIL yet. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static xchg__python_options options = {.sigpipe = 1};
static enum { NOT_SOUGHT, FOUND, NOT_FOUND } sought;
static xchg__discovery found;
static __attribute__((used)) xchg__discovery found_before; /* never read: keeps what is published within reach */
static xchg_error failure;                                 /* of the search or of the start */
static xchg__python_facts facts = {
    .version = "", .executable = "", .prefix = "", .base_prefix = "", .library = "", .reason = "", .report = ""};

static atomic_int ours;
static pthread_t starter;

int xchg__life_ours(void) {
  return atomic_load_explicit(&ours, memory_order_relaxed);
}

int xchg__life_on_starter(void) {
  return xchg__life_ours() && pthread_equal(starter, pthread_self());
}

void xchg__life_after_fork(void) {
  starter = pthread_self();
}

static const char *text(const char *maybe) {
  return maybe != NULL ? maybe : "";
}

static int fail_again(xchg_error *err) {
  return xchg__error_set(err, failure.code, "%s", failure.message);
}

/* ---- configure -------------------------------------------------------------------------------------- */

static void options_free(xchg__python_options *old) {
  free((void *)(uintptr_t)old->python);
  free((void *)(uintptr_t)old->libpython);
  free((void *)(uintptr_t)old->venv);
  free((void *)(uintptr_t)old->home);
  for (int i = 0; i < old->argc; i++)
    free((void *)(uintptr_t)old->argv[i]);
  free((void *)(uintptr_t)old->argv);
}

static int string_copy(const char **out, const char *from) {
  *out = from != NULL ? strdup(from) : NULL;
  return from == NULL || *out != NULL;
}

static int options_copy(xchg__python_options *out, const xchg__python_options *from) {
  char **argv = from->argc > 0 ? calloc((size_t)from->argc, sizeof *argv) : NULL;
  int good = from->argc == 0 || argv != NULL;
  memset(out, 0, sizeof *out);
  out->sigint = from->sigint;
  out->sigpipe = from->sigpipe;
  out->argv = (const char *const *)argv;
  good = good && string_copy(&out->python, from->python) && string_copy(&out->libpython, from->libpython) &&
         string_copy(&out->venv, from->venv) && string_copy(&out->home, from->home);
  for (int i = 0; good && i < from->argc; i++) {
    argv[i] = strdup(from->argv[i]);
    good = argv[i] != NULL;
    out->argc = i + 1;
  }
  return good;
}

int xchg__python_configure(const xchg__python_options *wanted, xchg_error *err) {
  xchg__python_options made;
  int code = 0;
  pthread_mutex_lock(&lock);
  if (atomic_load(&xchg__life) == XCHG_LIFE_FAILED) {
    code = xchg__error_set(err, XCHG_E_ARGUMENT, "python.configure: too late, after: %s", failure.message);
  } else if (atomic_load(&xchg__life) != XCHG_LIFE_NONE) {
    code = xchg__error_set(err, XCHG_E_ARGUMENT,
                           "python.configure: Python was started already; configure before the first use");
  } else if (wanted->python != NULL && wanted->venv != NULL) {
    code = xchg__error_set(err, XCHG_E_ARGUMENT, "python.configure: python and venv both name an executable; give one");
  } else if (!options_copy(&made, wanted)) {
    options_free(&made);
    code = xchg__error_set(err, XCHG_E_MEMORY, "python.configure: out of memory");
  } else {
    options_free(&options);
    options = made;
    sought = NOT_SOUGHT;
  }
  pthread_mutex_unlock(&lock);
  return code;
}

/* ---- find ------------------------------------------------------------------------------------------- */

/* Published strings stay for ever: a reader may hold them. */
static void facts_from_search(void) {
  xchg__libpython_facts present = {0};
  if (sought == FOUND && found.library == NULL)
    (void)xchg__libpython_present(&present);
  facts.version = found.version != NULL && found.version[0] != '\0' ? found.version : text(present.version);
  facts.executable = text(found.executable);
  facts.prefix = text(found.prefix);
  facts.base_prefix = text(found.base_prefix);
  facts.library = found.library != NULL ? found.library : text(present.path);
  facts.reason = text(found.reason);
  facts.report = text(found.report);
}

static int find_locked(xchg_error *err) {
  if (sought == NOT_SOUGHT) {
    found_before = found; /* the published facts have its strings */
    memset(&found, 0, sizeof found);
    memset(&failure, 0, sizeof failure);
    sought = xchg__discovery_run(&found, &options, &failure) == 0 ? FOUND : NOT_FOUND;
    facts_from_search();
  }
  return sought == FOUND ? 0 : fail_again(err);
}

int xchg__python_find(xchg_error *err) {
  int code;
  pthread_mutex_lock(&lock);
  code = atomic_load(&xchg__life) == XCHG_LIFE_NONE || sought != FOUND ? find_locked(err) : 0;
  pthread_mutex_unlock(&lock);
  return code;
}

const xchg__python_facts *xchg__python_known(void) {
  return &facts;
}

/* ---- start ------------------------------------------------------------------------------------------ */

/* A new string (never freed) of sys.`name`, "" where it is none. GIL held. */
static const char *sys_text(PyObject *sys, const char *name) {
  PyObject *value = xchg__py.PyObject_GetAttrString(sys, name);
  /* Anything but a string is refused there. */
  const char *utf8 = value != NULL ? xchg__py.PyUnicode_AsUTF8AndSize(value, NULL) : NULL;
  char *kept = utf8 != NULL ? strdup(utf8) : NULL;
  xchg__py.PyErr_Clear();
  xchg__py.Py_DecRef(value);
  return kept != NULL ? kept : "";
}

/* What the running interpreter says of itself. GIL held. */
static void facts_from_python(void) {
  PyObject *sys = xchg__py.PyImport_ImportModule("sys");
  if (sys == NULL) {
    xchg__py.PyErr_Clear();
    return;
  }
  facts.executable = sys_text(sys, "executable");
  facts.prefix = sys_text(sys, "prefix");
  facts.base_prefix = sys_text(sys, "base_prefix");
  xchg__py.Py_DecRef(sys);
}

static void facts_from_library(void) {
  facts.started = 1;
  facts.ours = xchg__life_ours();
  facts.version = xchg__libpython_known()->version;
  facts.library = xchg__libpython_known()->path;
}

/* Brings up an interpreter of our own. */
static int start_ours(xchg_error *err) {
  const xchg__start_plan plan = {.program = found.executable,
                                 .home = options.home,
                                 .sigint = options.sigint,
                                 .sigpipe = options.sigpipe,
                                 .argc = options.argc,
                                 .argv = (char *const *)(uintptr_t)options.argv};
  int code = xchg__start_run(&plan, err);
  if (code != 0)
    return code;
  starter = pthread_self();
  atomic_store(&ours, 1);
  (void)xchg__fork_watch_python(); /* without it os.fork's children are refused */
  facts_from_library();
  facts_from_python();
  (void)xchg__py.PyEval_SaveThread();
  return 0;
}

static int start_locked(int *of_host, xchg_error *err) {
  int code = find_locked(err);
  if (code == 0)
    code = xchg__libpython_open(found.library, err);
  if (code != 0)
    return code; /* nothing was changed: may be configured otherwise and tried again */
  code = xchg__fork_watch(err);
  if (code == 0) {
    atomic_store(&xchg__life, XCHG_LIFE_STARTING);
    if (xchg__py.Py_IsInitialized()) {
      *of_host = 1;
      facts_from_library();
    } else {
      code = start_ours(err);
    }
  }
  if (code != 0) {
    atomic_store(&xchg__life, XCHG_LIFE_FAILED);
    return code;
  }
  xchg__exit_prepare();
  atomic_store_explicit(&xchg__life, XCHG_LIFE_READY, memory_order_release);
  return 0;
}

/* What needs the GIL of the host's Python: not under the lock, because a thread that waits for the lock may
 * hold the GIL. */
static void host_greet(void) {
  xchg__gil_state gil;
  if (xchg__gil_borrow(&gil)) {
    (void)xchg__fork_watch_python();
    facts_from_python();
    xchg__gil_leave(gil);
  }
}

int xchg__python_start(xchg_error *err) {
  int of_host = 0, code = 0;
  int life = atomic_load_explicit(&xchg__life, memory_order_acquire);
  if (life == XCHG_LIFE_READY)
    return 0;
  if (life == XCHG_LIFE_FORKED)
    return xchg__fork_error(err);
  pthread_mutex_lock(&lock);
  life = atomic_load(&xchg__life);
  if (life == XCHG_LIFE_FAILED) {
    code = fail_again(err);
  } else if (life != XCHG_LIFE_READY) {
    xchg_error why = {0};
    code = start_locked(&of_host, &why);
    if (code != 0) {
      failure = why;
      sought = sought == FOUND && atomic_load(&xchg__life) == XCHG_LIFE_NONE ? NOT_FOUND : sought;
      code = fail_again(err);
    }
  }
  pthread_mutex_unlock(&lock);
  if (of_host)
    host_greet();
  return code;
}
