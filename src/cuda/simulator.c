#include "cuda/simulator.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/find.h"
#include "cuda/runtime.h"

enum { VERSION = 1 /* of the simulator's own interface */ };

/* Beside the simulator: empty libraries with the names by which programs look for CUDA. They need libxchg_sim.so, which
 * is open by then. With the real nvJitLink Python's clients would hand over machine code. */
static const char *const ALIASES[] = {"sim_cuda.so",        "sim_cudart12.so",    "sim_cudart13.so",
                                      "sim_nvjitlink12.so", "sim_nvjitlink13.so", NULL};

static void *handle;
static char file_opened[PATH_MAX];
static size_t (*report_read)(size_t, char *, size_t, uint64_t *);

/* The driver that is in the process and is not the simulator at `file`; NULL for none. */
static const char *rival(void *simulator) {
  void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  void *theirs, *ours = dlsym(simulator, "xsim_version");
  const char *path;
  if (driver == NULL)
    return NULL;
  theirs = dlsym(driver, "xsim_version");
  path = xchg__find_file_of(driver); /* of the loader: stays while the library does, and that is not ours to end */
  dlclose(driver);
  return theirs != ours ? path : NULL;
}

int xchg__simulator_load(const char *file, xchg_error *err) {
  const char *slash = strrchr(file, '/'), *other;
  char path[PATH_MAX];
  void *library;
  int (*version)(void);
  if (handle != NULL)
    return 0;
  if ((library = dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)) == NULL)
    return xchg__error_set(err, XCHG_E_NO_CUDA, "cuda: the simulated device cannot be opened: %.700s", dlerror());
  *(void **)(void *)&version = dlsym(library, "xsim_version");
  if (version == NULL || version() != VERSION)
    return xchg__error_set(err, XCHG_E_NO_CUDA,
                           "cuda: %.700s is not the simulated device of this version of xchg; build "
                           "or install both together",
                           file);
  if ((other = rival(library)) != NULL)
    return xchg__error_set(
        err, XCHG_E_NO_CUDA,
        "cuda: the simulated device (%.400s) cannot take the place of %.400s, which is in the process "
        "already; start the program with XCHG_CUDA=sim, or ask before Python loads CUDA",
        file, other);
  for (const char *const *alias = ALIASES; *alias != NULL; alias++) {
    int length = snprintf(path, sizeof path, "%.*s/%s", slash != NULL ? (int)(slash - file) : 1,
                          slash != NULL ? file : ".", *alias);
    if (length >= (int)sizeof path || dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE) == NULL)
      return xchg__error_set(err, XCHG_E_NO_CUDA, "cuda: a part of the simulated device cannot be opened: %.700s",
                             length >= (int)sizeof path ? "its path is too long" : dlerror());
  }
  snprintf(file_opened, sizeof file_opened, "%s", xchg__find_file_of(library));
  *(void **)(void *)&report_read = dlsym(library, "xsim_report");
  handle = library;
  return 0;
}

const char *xchg__simulator_file(void) {
  return handle != NULL ? file_opened : NULL;
}

void *xchg__simulator_handle(void) {
  return handle;
}

/* Whether a report is of a kind: what the texts begin with tells. */
static int is_of(const char *text, const char *kind) {
  if (kind == NULL)
    return 1;
  if (strcmp(kind, "config") == 0)
    return strncmp(text, "XCHG_SIM_", 9) == 0;
  return strstr(text, ", block (") != NULL && strncmp(text, "race: ", 6) != 0 && strncmp(text, "init: ", 6) != 0 &&
         strncmp(text, "stream: ", 8) != 0;
}

void xchg__cuda_report(char *out, size_t room, const char *kind) {
  char text[512];
  out[0] = '\0';
  if (report_read == NULL)
    return;
  for (size_t i = 0; report_read(i, text, sizeof text, NULL) > 0; i++)
    if (is_of(text, kind))
      snprintf(out, room, "%s", text);
}
