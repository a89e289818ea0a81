#include "python/start.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "python/libpython.h"
#include "python/snippet.h"

/* PyPreConfig: ten ints from 3.8 on; room for more. */
typedef struct {
  int config_init;
  int parse_argv;
  int isolated;
  int use_environment;
  int configure_locale;
  int coerce_c_locale;
  int coerce_c_locale_warn;
  int utf8_mode;
  int dev_mode;
  int allocator;
  int later[54];
} preconfig;

/* PyConfig differs in every version and is not laid out here: 448 bytes in 3.13. */
enum { CONFIG_BYTES = 32768 };

/* Signals that CPython's start takes, and how the host had them. */
static const int taken_signals[] = {SIGINT, SIGPIPE, SIGXFSZ};
enum { SIGNALS = 3 };

static int was_default(const struct sigaction *action) {
  return (action->sa_flags & SA_SIGINFO) == 0 && action->sa_handler == SIG_DFL;
}

static void signals_save(struct sigaction *saved) {
  for (int i = 0; i < SIGNALS; i++)
    sigaction(taken_signals[i], NULL, &saved[i]);
}

static void signals_restore(const struct sigaction *saved) {
  for (int i = 0; i < SIGNALS; i++)
    sigaction(taken_signals[i], &saved[i], NULL);
}

/* A handler of the host's stays; so does a default SIGINT. A default SIGPIPE becomes ignored, as in every
 * Python: otherwise a write to a closed socket ends the process. Python is told, so that its own record of
 * the handlers is right. */
static void signals_settle(const xchg__start_plan *plan, struct sigaction *saved) {
  int keep_python_sigpipe = was_default(&saved[1]) && plan->sigpipe;
  if (plan->sigint) {
    xchg__snippet_effect("import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n");
    sigaction(SIGINT, NULL, &saved[0]);
  } else if (was_default(&saved[0])) {
    xchg__snippet_effect("import signal\nsignal.signal(signal.SIGINT, signal.SIG_DFL)\n");
  }
  if (keep_python_sigpipe)
    sigaction(SIGPIPE, NULL, &saved[1]);
  else if (was_default(&saved[1]))
    xchg__snippet_effect("import signal\nsignal.signal(signal.SIGPIPE, signal.SIG_DFL)\n");
  signals_restore(saved);
}

static int status_report(const char *step, PyStatus status, xchg_error *err) {
  const char *message = status.message != NULL ? status.message : "it asked to exit";
  return xchg__error_set(err, XCHG_E_NO_PYTHON,
                         "python: %s could not start: %s (%s%s%s); this process cannot try again",
                         xchg__libpython_known()->path, message, step, status.func != NULL ? ", " : "",
                         status.func != NULL ? status.func : "");
}

/* UTF-8 everywhere, the process's locale and environment left alone. */
static int preinitialize(xchg_error *err) {
  preconfig config;
  PyStatus status;
  memset(&config, 0, sizeof config);
  xchg__py.PyPreConfig_InitPythonConfig(&config);
  config.parse_argv = 0;
  config.configure_locale = 0;
  config.coerce_c_locale = 0;
  config.coerce_c_locale_warn = 0;
  config.utf8_mode = 1;
  status = xchg__py.Py_PreInitialize(&config);
  return xchg__py.PyStatus_Exception(status) ? status_report("Py_PreInitialize", status, err) : 0;
}

/* CPython keeps the pointer. */
static wchar_t *program_name, *python_home;

static int path_set(void (*set)(const wchar_t *), wchar_t **kept, const char *path, xchg_error *err) {
  wchar_t *wide = *kept = xchg__py.Py_DecodeLocale(path, NULL);
  if (wide == NULL)
    return xchg__error_set(err, XCHG_E_NO_PYTHON, "python: %s cannot be decoded", path);
  set(wide);
  return 0;
}

static int initialize(xchg_error *err) {
  PyStatus status;
  void *config = calloc(1, CONFIG_BYTES);
  if (config == NULL)
    return xchg__error_set(err, XCHG_E_MEMORY, "python: out of memory");
  xchg__py.PyConfig_InitPythonConfig(config);
  status = xchg__py.Py_InitializeFromConfig(config);
  xchg__py.PyConfig_Clear(config);
  free(config);
  return xchg__py.PyStatus_Exception(status) ? status_report("Py_InitializeFromConfig", status, err) : 0;
}

static int configured_initialize(const xchg__start_plan *plan, xchg_error *err) {
  int code = preinitialize(err);
  if (code == 0 && plan->program != NULL)
    code = path_set(xchg__py.Py_SetProgramName, &program_name, plan->program, err);
  if (code == 0 && plan->home != NULL) {
    if (xchg__py.Py_SetPythonHome == NULL)
      code = xchg__error_set(err, XCHG_E_VERSION, "python: this CPython takes no home; leave it out");
    else
      code = path_set(xchg__py.Py_SetPythonHome, &python_home, plan->home, err);
  }
  return code == 0 ? initialize(err) : code;
}

static void argv_set(const xchg__start_plan *plan) {
  PyObject *sys = xchg__py.PyImport_ImportModule("sys");
  PyObject *name = xchg__py.PyUnicode_InternFromString("argv");
  PyObject *list = xchg__py.PyList_New(0);
  int failed = sys == NULL || name == NULL || list == NULL;
  for (int i = 0; !failed && i < plan->argc; i++) {
    PyObject *text = xchg__py.PyUnicode_DecodeUTF8(plan->argv[i], (Py_ssize_t)strlen(plan->argv[i]), "surrogateescape");
    failed = text == NULL || xchg__py.PyList_Append(list, text) != 0;
    xchg__py.Py_DecRef(text);
  }
  if (failed || xchg__py.PyObject_SetAttr(sys, name, list) != 0)
    xchg__py.PyErr_WriteUnraisable(NULL);
  xchg__py.Py_DecRef(sys);
  xchg__py.Py_DecRef(name);
  xchg__py.Py_DecRef(list);
}

int xchg__start_run(const xchg__start_plan *plan, xchg_error *err) {
  struct sigaction saved[SIGNALS];
  const char *home = plan->program != NULL || plan->home != NULL ? getenv("PYTHONHOME") : NULL;
  char *kept = NULL;
  int code;
  /* The executable was asked without PYTHONHOME and knew its home: another one would mix two installations. */
  if (home != NULL) {
    kept = strdup(home);
    if (kept == NULL)
      return xchg__error_set(err, XCHG_E_MEMORY, "python: out of memory");
    unsetenv("PYTHONHOME");
  }
  signals_save(saved);
  code = configured_initialize(plan, err);
  if (kept != NULL) {
    setenv("PYTHONHOME", kept, 1);
    free(kept);
  }
  if (code != 0) {
    signals_restore(saved);
    return code;
  }
  signals_settle(plan, saved);
  /* On some versions the thread that imports it first is taken for the main thread. */
  xchg__snippet_effect("import threading\n");
  if (plan->argc > 0)
    argv_set(plan);
  return 0;
}
