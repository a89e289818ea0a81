#include "python/discovery.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "python/child.h"
#include "python/libpython.h"
#include "python/probe.h"
#include "python/process.h"

/* A Python that may be used: where it was named, and the file to run. */
typedef struct {
  const char *reason;
  char *path;      /* NULL: not there */
  const char *why; /* ... because; static */
} candidate;

/* What was asked for by name. */
typedef struct {
  const char *python, *python_reason;
  const char *venv;
  const char *libpython, *libpython_reason;
} request;

enum { MOST_CANDIDATES = 5 };

typedef struct {
  request asked;
  xchg__libpython_facts present; /* path NULL: none */
  int present_runs;              /* ... and its interpreter was started by the host */
  int open_minor;                /* of the library that was asked for, -1 unknown */
  FILE *report;
  char *lines[MOST_CANDIDATES]; /* for the error: what became of each */
  int count;
} search;

static const char CURE[] = "set XCHG_PYTHON to a CPython of 3.10 or newer that has a shared library";

static const char *environment(const char *name) {
  const char *value = getenv(name);
  return value != NULL && value[0] != '\0' ? value : NULL;
}

static request request_read(const xchg__python_options *options) {
  request asked = {0};
  if (options->python != NULL || options->venv != NULL || options->libpython != NULL) {
    asked.python = options->python;
    asked.python_reason = "python.configure{python=}";
    asked.venv = options->python == NULL ? options->venv : NULL;
    asked.libpython = options->libpython;
    asked.libpython_reason = "python.configure{libpython=}";
  } else {
    asked.python = environment("XCHG_PYTHON");
    asked.python_reason = "XCHG_PYTHON";
    asked.libpython = environment("XCHG_LIBPYTHON");
    asked.libpython_reason = "XCHG_LIBPYTHON";
  }
  return asked;
}

static char *join(const char *folder, const char *name) {
  char *path;
  return asprintf(&path, "%s/%s", folder, name) >= 0 ? path : NULL;
}

/* ---- candidates ------------------------------------------------------------------------------------- */

static candidate candidate_command(const char *reason, const char *command) {
  candidate made = {.reason = reason, .why = "is not on PATH"};
  if (strchr(command, '/') == NULL) {
    made.path = xchg__child_which(command);
  } else {
    made.path = strdup(command);
    made.why = "does not fit into memory";
  }
  return made;
}

static candidate candidate_folder(const char *reason, const char *folder) {
  candidate made = {.reason = reason, .path = join(folder, "bin/python"), .why = "has no bin/python"};
  if (made.path != NULL && access(made.path, F_OK) != 0) {
    free(made.path);
    made.path = NULL;
  }
  return made;
}

/* Those that nobody asked for by name. */
static int candidates_list(candidate *out) {
  int count = 0;
  if (environment("VIRTUAL_ENV") != NULL)
    out[count++] = candidate_folder("VIRTUAL_ENV", environment("VIRTUAL_ENV"));
  if (environment("CONDA_PREFIX") != NULL)
    out[count++] = candidate_folder("CONDA_PREFIX", environment("CONDA_PREFIX"));
  out[count++] = candidate_command("python3 on PATH", "python3");
  out[count++] = candidate_command("python on PATH", "python");
  /* Both names often lead to one file. */
  if (xchg__process_same_file(out[count - 1].path, out[count - 2].path))
    free(out[--count].path);
  return count;
}

/* ---- what becomes of them --------------------------------------------------------------------------- */

static void search_note(search *self, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void search_note(search *self, const char *format, ...) {
  va_list args;
  char *line = NULL;
  va_start(args, format);
  if (vasprintf(&line, format, args) >= 0) {
    if (self->report != NULL)
      fprintf(self->report, "%s\n", line);
    if (self->count < MOST_CANDIDATES) {
      self->lines[self->count++] = line;
      line = NULL;
    }
  }
  va_end(args);
  free(line);
}

static char *copy(const char *text) {
  return strdup(text != NULL ? text : "");
}

static int discovery_fill(xchg__discovery *out, const xchg__probe *probe, const char *library, const char *reason,
                          xchg_error *err) {
  out->executable = copy(probe->executable);
  out->version = copy(probe->version);
  out->prefix = copy(probe->prefix);
  out->base_prefix = copy(probe->base_prefix);
  out->reason = copy(reason);
  out->library = library != NULL ? copy(library) : NULL;
  if (out->executable == NULL || out->version == NULL || out->prefix == NULL || out->base_prefix == NULL ||
      out->reason == NULL || (library != NULL && out->library == NULL)) {
    return xchg__error_set(err, XCHG_E_MEMORY, "python: out of memory");
  }
  return 0;
}

/* Whether the probed Python is the one in the process. */
static int is_present(const search *self, const xchg__probe *probe) {
  char *program;
  int same;
  if (!self->present.executable)
    return xchg__process_same_file(probe->library, self->present.path);
  program = xchg__process_executable();
  same = xchg__process_same_file(probe->executable, program);
  free(program);
  return same;
}

/* Judges a Python that answered: 0 and `out` filled, or an error that continues "path ...". */
static int answer_use(search *self, const xchg__probe *probe, const char *reason, xchg__discovery *out,
                      xchg_error *err) {
  const char *library = self->asked.libpython != NULL ? self->asked.libpython : probe->library;
  if (self->present.path != NULL) {
    if (!is_present(self, probe)) {
      return xchg__error_set(err, XCHG_E_NO_PYTHON,
                             "(its library: %s) is not the Python that is in this process already (%s), and two would "
                             "mix",
                             library[0] != '\0' ? library : "none", self->present.path);
    }
    return discovery_fill(out, probe, NULL, self->present_runs ? "already in the process" : reason, err);
  }
  if (self->asked.libpython != NULL && self->open_minor != probe->minor) {
    return xchg__error_set(err, XCHG_E_NO_PYTHON, "is Python %.40s, but %s is a 3.%d", probe->version, library,
                           self->open_minor);
  }
  if (library[0] == '\0') {
    xchg__probe_cure(probe, err);
    return XCHG_E_NO_PYTHON;
  }
  return discovery_fill(out, probe, library, reason, err);
}

/* 0 and `out` filled; else what became of it is noted and written after "path " into err. */
static int candidate_try(search *self, const candidate *one, xchg__discovery *out, xchg_error *err) {
  xchg__probe probe;
  int code;
  if (one->path == NULL) {
    xchg__error_set(err, XCHG_E_NO_PYTHON, "%s", one->why);
    search_note(self, "%s: %s", one->reason, one->why);
    return XCHG_E_NO_PYTHON;
  }
  code = xchg__probe_run(&probe, one->path, err);
  if (code == 0) {
    code = answer_use(self, &probe, one->reason, out, err);
    xchg__probe_free(&probe);
  }
  if (code != 0)
    search_note(self, "%s: %s %s", one->reason, one->path, err->message);
  else
    search_note(self, "%s: %s is used", one->reason, one->path);
  return code;
}

/* ---- the order -------------------------------------------------------------------------------------- */

/* Asked for by name: taken, or an error that says what is wrong with it. */
static int named_use(search *self, candidate one, const char *name, xchg__discovery *out, xchg_error *err) {
  xchg_error reason = {0};
  int code = candidate_try(self, &one, out, &reason);
  if (code != 0) {
    xchg__error_set(err, reason.code, "python: %s: %s %s", one.reason, one.path != NULL ? one.path : name,
                    reason.message);
  }
  free(one.path);
  return code;
}

/* The interpreter runs already: nothing to choose, unless something else was asked for. */
static int present_use(search *self, xchg__discovery *out, xchg_error *err) {
  const xchg__probe known = {.executable = "", .prefix = "", .base_prefix = "", .version = self->present.version};
  search_note(self, "already in the process: %s (Python %s)", self->present.path, self->present.version);
  return discovery_fill(out, &known, NULL, "already in the process", err);
}

/* A library was named, or is present, and no executable fits: the one beside it, else CPython's own search. */
static int library_use(search *self, xchg__discovery *out, xchg_error *err) {
  const char *library = self->present.path != NULL ? self->present.path : self->asked.libpython;
  const char *reason = self->present.path != NULL ? "already in the process" : self->asked.libpython_reason;
  const xchg__probe unknown = {.executable = "", .prefix = "", .base_prefix = "", .version = ""};
  const char *slash = strrchr(library, '/');
  int minor = self->present.path != NULL ? self->present.minor : self->open_minor;
  candidate beside = {.reason = reason};
  int code;
  if (slash != NULL && minor >= 0 &&
      asprintf(&beside.path, "%.*s/../bin/python3.%d", (int)(slash - library), library, minor) >= 0) {
    xchg_error ignored = {0};
    code = access(beside.path, X_OK) == 0 ? candidate_try(self, &beside, out, &ignored) : -1;
    free(beside.path);
    if (code == 0)
      return 0;
  }
  search_note(self, "%s: %s is used without an executable", reason, library);
  code = discovery_fill(out, &unknown, self->present.path != NULL ? NULL : library, reason, err);
  free(out->executable);
  out->executable = NULL;
  return code;
}

static void nothing_explain(const search *self, xchg_error *err) {
  char lines[sizeof err->message] = "";
  size_t used = 0;
  /* The message has room for so much of each line; the report has all. */
  int most = self->count > 0 ? (int)(sizeof err->message - sizeof CURE - 60) / self->count : 0;
  for (int i = 0; i < self->count; i++) {
    int length = (int)strlen(self->lines[i]);
    used += (size_t)snprintf(lines + used, sizeof lines - used, "\n  %.*s%s", length > most - 3 ? most - 6 : length,
                             self->lines[i], length > most - 3 ? "..." : "");
  }
  xchg__error_set(err, XCHG_E_NO_PYTHON, "python: no Python that can be used was found:%s\n%s", lines, CURE);
}

static int unnamed_use(search *self, xchg__discovery *out, xchg_error *err) {
  candidate all[MOST_CANDIDATES];
  int count = candidates_list(all);
  int code = XCHG_E_NO_PYTHON;
  for (int i = 0; i < count; i++) {
    xchg_error ignored = {0};
    if (code != 0)
      code = candidate_try(self, &all[i], out, &ignored);
    free(all[i].path);
  }
  if (code == 0)
    return 0;
  if (self->present.path != NULL || self->asked.libpython != NULL)
    return library_use(self, out, err);
  nothing_explain(self, err);
  return XCHG_E_NO_PYTHON;
}

/* What cannot work whatever executable is found. */
static int libraries_check(const search *self, xchg_error *err) {
  const request *asked = &self->asked;
  if (self->present.path != NULL && self->present.minor < XCHG_PY_OLDEST_MINOR) {
    return xchg__error_set(err, XCHG_E_VERSION,
                           "python: %s is in this process already and is Python %s; CPython 3.%d or newer is needed",
                           self->present.path, self->present.version, XCHG_PY_OLDEST_MINOR);
  }
  if (asked->libpython == NULL)
    return 0;
  if (access(asked->libpython, R_OK) != 0) {
    return xchg__error_set(err, XCHG_E_NO_PYTHON, "python: %s: %s cannot be read: %s", asked->libpython_reason,
                           asked->libpython, strerror(errno));
  }
  if (self->present.path == NULL && self->open_minor < 0) {
    return xchg__error_set(err, XCHG_E_NO_PYTHON, "python: %s: %s is no libpython that can be opened here",
                           asked->libpython_reason, asked->libpython);
  }
  if (self->present.path == NULL && self->open_minor < XCHG_PY_OLDEST_MINOR) {
    return xchg__error_set(err, XCHG_E_VERSION, "python: %s: %s is Python 3.%d; CPython 3.%d or newer is needed",
                           asked->libpython_reason, asked->libpython, self->open_minor, XCHG_PY_OLDEST_MINOR);
  }
  if (self->present.path != NULL && !xchg__process_same_file(asked->libpython, self->present.path)) {
    return xchg__error_set(err, XCHG_E_NO_PYTHON,
                           "python: %s: %s is not the Python that is in this process already (%s), and two would mix",
                           asked->libpython_reason, asked->libpython, self->present.path);
  }
  return 0;
}

static int search_run(search *self, xchg__discovery *out, xchg_error *err) {
  const request *asked = &self->asked;
  int code = libraries_check(self, err);
  if (code != 0)
    return code;
  if (asked->python != NULL)
    return named_use(self, candidate_command(asked->python_reason, asked->python), asked->python, out, err);
  if (asked->venv != NULL)
    return named_use(self, candidate_folder("python.configure{venv=}", asked->venv), asked->venv, out, err);
  return self->present_runs ? present_use(self, out, err) : unnamed_use(self, out, err);
}

int xchg__discovery_run(xchg__discovery *out, const xchg__python_options *options, xchg_error *err) {
  search self = {.asked = request_read(options), .open_minor = -1};
  size_t length = 0;
  int code;
  memset(out, 0, sizeof *out);
  self.report = open_memstream(&out->report, &length);
  if (xchg__libpython_present(&self.present))
    self.present_runs = xchg__libpython_present_runs();
  if (self.asked.libpython != NULL && self.present.path == NULL)
    self.open_minor = xchg__libpython_minor(self.asked.libpython);
  code = search_run(&self, out, err);
  for (int i = 0; i < self.count; i++)
    free(self.lines[i]);
  if (self.report != NULL)
    fclose(self.report);
  return code;
}
