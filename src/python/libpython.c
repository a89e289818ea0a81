#include "python/libpython.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "python/process.h"

xchg__python_table xchg__py;
int xchg__py_has_plain_heads;

static xchg__libpython_facts opened;

static const char THIS_EXECUTABLE[] = "(this executable)";

typedef enum { REQUIRED, OPTIONAL, ADDRESS, VARIABLE } symbol_kind;

typedef struct {
  const char *name;
  size_t offset; /* in the table */
  symbol_kind kind;
} symbol;

static const symbol symbols[] = {
#define R(result, name, arguments) {#name, offsetof(xchg__python_table, name), REQUIRED},
#define O(result, name, arguments) {#name, offsetof(xchg__python_table, name), OPTIONAL},
#define D(name) {#name, offsetof(xchg__python_table, name), ADDRESS},
#define E(name) {#name, offsetof(xchg__python_table, name), VARIABLE},
    XCHG_PY_SYMBOLS(R, O, D, E)
#undef R
#undef O
#undef D
#undef E
};

/* Fills `table`; the name of a missing symbol, or NULL when all are there. */
static const char *table_fill(xchg__python_table *table, void *library) {
  for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
    void *value = dlsym(library, symbols[i].name);
    if (value != NULL && symbols[i].kind == VARIABLE)
      value = *(void **)value;
    if (value == NULL && symbols[i].kind != OPTIONAL)
      return symbols[i].name;
    /* POSIX promises that function and object pointers look alike; ISO C wants the bytes copied. */
    memcpy((char *)table + symbols[i].offset, &value, sizeof value);
  }
  return NULL;
}

/* "3.11.7 (main, ...)" to a new "3.11.7"; sets the minor number, -1 unless this is a Python 3. */
static char *version_read(void *library, int *minor) {
  const char *(*get_version)(void);
  void *address = dlsym(library, "Py_GetVersion");
  const char *text;
  int major = 0;
  *minor = -1;
  if (address == NULL)
    return NULL;
  memcpy(&get_version, &address, sizeof address);
  text = get_version();
  if (text == NULL)
    return NULL;
  if (sscanf(text, "%d.%d", &major, minor) != 2 || major != 3)
    *minor = -1;
  return strndup(text, strcspn(text, " "));
}

/* ---- what the process has already ------------------------------------------------------------------- */

static int is_libpython(const char *path, void *context) {
  const char *base = strrchr(path, '/') + 1;
  void *library;
  int python;
  (void)context;
  if (strncmp(base, "libpython", 9) != 0 || base[9] < '0' || base[9] > '9' || strstr(base, ".so") == NULL)
    return 0;
  library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  if (library == NULL)
    return 0;
  python = dlsym(library, "Py_IsInitialized") != NULL;
  dlclose(library);
  return python;
}

/* Opens what is present: new handle (dlclose), NULL for none. Names the file (new) and says where it is. */
static void *present_open(int flags, char **path, int *executable) {
  /* RTLD_DEFAULT is a null pointer on glibc: the answer of dlsym is the only sign. */
  void *address = dlsym(RTLD_DEFAULT, "Py_IsInitialized");
  void *library = NULL;
  char *program;
  *executable = 0;
  if (address == NULL) {
    /* A host may have opened it for itself alone. */
    *path = xchg__process_find(is_libpython, NULL);
  } else {
    *path = xchg__process_file_at(address);
    program = xchg__process_executable();
    *executable = *path == NULL || xchg__process_same_file(*path, program);
    free(program);
  }
  if (*executable) {
    free(*path);
    *path = strdup(THIS_EXECUTABLE);
    library = dlopen(NULL, RTLD_NOW);
  } else if (*path != NULL) {
    library = dlopen(*path, RTLD_NOW | RTLD_NOLOAD | flags);
  }
  if (library == NULL) {
    free(*path);
    *path = NULL;
  }
  return library;
}

int xchg__libpython_present(xchg__libpython_facts *out) {
  static xchg__libpython_facts known; /* a Python that is present stays, and so do its names */
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  char *path, *version = NULL;
  int executable, minor = -1;
  void *library = present_open(0, &path, &executable);
  if (library == NULL)
    return 0;
  version = version_read(library, &minor);
  dlclose(library);
  pthread_mutex_lock(&lock);
  if (known.path == NULL || strcmp(known.path, path) != 0) {
    known.path = path;
    known.version = version;
    known.minor = minor;
    known.executable = executable;
    path = version = NULL;
  }
  if (out != NULL)
    *out = known;
  pthread_mutex_unlock(&lock);
  free(path);
  free(version);
  return 1;
}

int xchg__libpython_present_runs(void) {
  char *path;
  int executable, runs = 0;
  int (*is_initialized)(void);
  void *library = present_open(0, &path, &executable);
  void *address = library != NULL ? dlsym(library, "Py_IsInitialized") : NULL;
  if (address != NULL) {
    memcpy(&is_initialized, &address, sizeof address);
    runs = is_initialized();
  }
  free(path);
  if (library != NULL)
    dlclose(library);
  return runs;
}

int xchg__libpython_minor(const char *path) {
  void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  int minor = -1;
  if (library != NULL) {
    free(version_read(library, &minor));
    dlclose(library);
  }
  return minor;
}

/* ---- opening ---------------------------------------------------------------------------------------- */

static int has_plain_heads(const xchg__python_table *table) {
  PyObject *const types[] = {table->PyBytes_Type, table->PyLong_Type, table->PyTuple_Type, table->PyType_Type};
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (((PyObject *const *)types[i])[1] != table->PyType_Type)
      return 0;
  return 1;
}

/* Checks the version and the functions of an open library; fills the table and what is known. */
static int library_accept(void *library, const char *path, int executable, xchg_error *err) {
  xchg__python_table table;
  const char *missing;
  int minor;
  char *version = version_read(library, &minor);
  if (version == NULL)
    return xchg__error_set(err, XCHG_E_NO_PYTHON, "python: %s is no libpython: it has no Py_GetVersion", path);
  if (minor < XCHG_PY_OLDEST_MINOR) {
    xchg__error_set(err, XCHG_E_VERSION, "python: %s is Python %s; CPython 3.%d or newer is needed", path, version,
                    XCHG_PY_OLDEST_MINOR);
    free(version);
    return XCHG_E_VERSION;
  }
  missing = table_fill(&table, library);
  if (missing != NULL) {
    xchg__error_set(err, XCHG_E_VERSION, "python: %s (Python %s) has no %s, which is needed; use another CPython", path,
                    version, missing);
    free(version);
    return XCHG_E_VERSION;
  }
  opened.path = strdup(path);
  if (opened.path == NULL) {
    free(version);
    return xchg__error_set(err, XCHG_E_MEMORY, "python: out of memory");
  }
  opened.version = version;
  opened.minor = minor;
  opened.executable = executable;
  xchg__py = table;
  xchg__py_has_plain_heads = has_plain_heads(&table);
  return 0;
}

static int present_take(xchg_error *err) {
  char *path;
  int executable, code;
  void *library = present_open(RTLD_GLOBAL | RTLD_NODELETE, &path, &executable);
  if (library == NULL)
    return xchg__error_set(err, XCHG_E_NO_PYTHON, "python: no Python is in this process");
  code = library_accept(library, path, executable, err);
  free(path);
  return code; /* the handle stays open */
}

static int library_open(const char *path, xchg_error *err) {
  /* First for ourselves alone: a library that is refused must go again. */
  void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  int code;
  if (library == NULL)
    return xchg__error_set(err, XCHG_E_NO_PYTHON, "python: libpython cannot be opened: %s", dlerror());
  code = library_accept(library, path, 0, err);
  if (code == 0 && dlopen(path, RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE) == NULL) {
    memset(&xchg__py, 0, sizeof xchg__py);
    memset(&opened, 0, sizeof opened);
    code = xchg__error_set(err, XCHG_E_NO_PYTHON, "python: libpython cannot be opened: %s", dlerror());
  }
  if (code != 0)
    dlclose(library);
  return code;
}

int xchg__libpython_open(const char *path, xchg_error *err) {
  xchg__libpython_facts present;
  if (!xchg__libpython_present(&present)) {
    if (path == NULL)
      return xchg__error_set(err, XCHG_E_NO_PYTHON, "python: no Python is in this process");
    return library_open(path, err);
  }
  if (path != NULL && !xchg__process_same_file(path, present.path)) {
    return xchg__error_set(err, XCHG_E_NO_PYTHON,
                           "python: %s is in this process already, and a second one (%s) would mix with it",
                           present.path, path);
  }
  return present_take(err);
}

const xchg__libpython_facts *xchg__libpython_known(void) {
  return &opened;
}
