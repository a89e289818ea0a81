#include "cuda/runtime.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/find.h"
#include "cuda/simulator.h"

xchg__cuda_runtime_table xchg__rt;
xchg__cuda_driver_table xchg__drv;

static xchg_cuda_facts facts = {.path = "", .driver_path = "", .reason = "", .report = ""};
/* Of the search before the simulated device was asked for: others may still read its texts. */
static xchg_cuda_facts vain __attribute__((used));
static atomic_int state; /* as facts.state, for those that do not lock */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int forked;
static atomic_int unloading;

enum { OLDEST = 12000, OPENING = 2 /* a state, too */ };

static const char FORKED[] =
    "this process was forked from one that uses CUDA, and CUDA does not survive a fork; start a "
    "new program instead (Python's multiprocessing: the method \"spawn\")";

static const char *const NAMES[] = {"libcudart.so.13", "libcudart.so.12", NULL};

/* What a driver was asked that is called by its own name and not by the runtime. */
static const char DRIVER[] = "libcuda.so.1";

/* ---- one runtime --------------------------------------------------------------------------------- */

/* Fills the table; the name of what is missing, or NULL. */
static const char *runtime_take(void *handle) {
#define REQUIRED(result, name, arguments)                                                                              \
  if ((*(void **)(void *)&xchg__rt.name = dlsym(handle, #name)) == NULL)                                               \
    return #name;
#define OPTIONAL(result, name, arguments) *(void **)(void *)&xchg__rt.name = dlsym(handle, #name);
  XCHG_CUDA_RUNTIME_SYMBOLS(REQUIRED, OPTIONAL)
#undef OPTIONAL
#undef REQUIRED
  return NULL;
}

static const char *driver_take(void *handle) {
#define REQUIRED(result, name, arguments)                                                                              \
  if ((*(void **)(void *)&xchg__drv.name = dlsym(handle, #name)) == NULL)                                              \
    return #name;
#define OPTIONAL(result, name, arguments) *(void **)(void *)&xchg__drv.name = dlsym(handle, #name);
  XCHG_CUDA_DRIVER_SYMBOLS(REQUIRED, OPTIONAL)
#undef OPTIONAL
#undef REQUIRED
  return NULL;
}

/* What keeps the runtime from using a device, continuing the file's name. */
static void count_explain(int code, char *why, size_t room) {
  const char *visible = getenv("CUDA_VISIBLE_DEVICES");
  char report[300];
  int runtime = facts.runtime, driver = facts.driver;
  switch (code) {
  case XCHG_CUDA_NOT_INITIALIZED:
    xchg__cuda_report(report, sizeof report, "config");
    if (report[0] != '\0')
      snprintf(why, room, "cannot be initialised: %s", report);
    else
      snprintf(why, room,
               "cannot be initialised (%s, 3); a process that was forked from one that uses CUDA cannot use it",
               xchg__rt.cudaGetErrorName(code));
    return;
  case XCHG_CUDA_STUB:
    snprintf(why, room,
             "found the stub of %s that toolkits bring for linking; take its folder (lib64/stubs) out of "
             "LD_LIBRARY_PATH, so that the driver's own is found",
             DRIVER);
    return;
  case XCHG_CUDA_OLD_DRIVER:
    if (driver == 0)
      snprintf(why, room, "finds no NVIDIA driver (%s); install one, or try the simulated device: XCHG_CUDA=sim",
               DRIVER);
    else
      snprintf(why, room,
               "is CUDA %d.%d, and the driver goes up to %d.%d; update the driver, or install a CUDA runtime of "
               "version %d (pip install nvidia-cuda-runtime-cu%d)",
               runtime / 1000, runtime % 1000 / 10, driver / 1000, driver % 1000 / 10, driver / 1000, driver / 1000);
    return;
  case XCHG_CUDA_SUCCESS:
  case XCHG_CUDA_NO_DEVICE:
    if (visible != NULL)
      snprintf(why, room, "finds a driver and no device (cudaErrorNoDevice, 100); CUDA_VISIBLE_DEVICES is '%.100s'",
               visible);
    else
      snprintf(why, room, "finds a driver and no device (cudaErrorNoDevice, 100)");
    return;
  case XCHG_CUDA_DRIVER_MISMATCH:
    snprintf(why, room,
             "finds a driver library of another version than the kernel's module (%s, 803); restart the machine after "
             "an update of the driver",
             xchg__rt.cudaGetErrorName(code));
    return;
  default:
    snprintf(why, room, "cannot be used: %s (%s, %d)", xchg__rt.cudaGetErrorString(code),
             xchg__rt.cudaGetErrorName(code), code);
  }
}

/* The file of the driver that is in the process, where that is the simulated device: for a program that was led to it
 * and asks for a real one. NULL otherwise. */
static const char *simulated_driver(void) {
  void *driver = dlopen(DRIVER, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
  return driver != NULL && dlsym(driver, "xsim_version") != NULL ? xchg__find_file_of(driver) : NULL;
}

/* Whether a runtime will do: the accept of a search. Fills the tables and the numbers in facts. */
static int runtime_accept(void *handle, const char *path, void *simulated, char *why, size_t room) {
  const char *missing, *other;
  void *driver;
  int code, devices = 0;
  (void)path;
  if (simulated == NULL && dlsym(handle, "xsim_version") != NULL) {
    snprintf(why, room, "is the simulated device, which is used only when it is asked for: XCHG_CUDA=sim");
    return -1;
  }
  missing = runtime_take(handle);
  facts.runtime = facts.driver = 0;
  if (xchg__rt.cudaRuntimeGetVersion == NULL || xchg__rt.cudaRuntimeGetVersion(&facts.runtime) != 0) {
    snprintf(why, room, "is no CUDA runtime: it has no cudaRuntimeGetVersion");
    return -1;
  }
  if (facts.runtime < OLDEST) {
    snprintf(why, room, "is CUDA %d.%d; 12.0 or newer is needed", facts.runtime / 1000, facts.runtime % 1000 / 10);
    return -1;
  }
  if (missing != NULL) {
    snprintf(why, room, "says that it is CUDA %d.%d and has no %s; install a complete CUDA runtime",
             facts.runtime / 1000, facts.runtime % 1000 / 10, missing);
    return -1;
  }
  xchg__rt.cudaDriverGetVersion(&facts.driver);
  code = xchg__rt.cudaGetDeviceCount(&devices);
  if (simulated == NULL && (other = simulated_driver()) != NULL) {
    snprintf(why, room,
             "meets the simulated device (%.300s) in the place of the driver; ask for it by XCHG_CUDA=sim, or take its "
             "folder out of LD_LIBRARY_PATH and LD_PRELOAD",
             other);
    return -1;
  }
  if (code != 0 || devices <= 0) {
    xchg__rt.cudaGetLastError();
    count_explain(code, why, room);
    return -1;
  }
  driver = simulated != NULL ? handle : dlopen(DRIVER, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (driver == NULL || (missing = driver_take(driver)) != NULL) {
    snprintf(why, room, "works, but %s %s", DRIVER, driver == NULL ? "cannot be opened" : "is incomplete");
    return -1;
  }
  facts.devices = devices < XCHG_CUDA_MAX_DEVICES ? devices : XCHG_CUDA_MAX_DEVICES;
  facts.driver_path = xchg__find_file_of(driver);
  return 0;
}

/* ---- opening ------------------------------------------------------------------------------------- */

/* Takes what a search has found, which then belongs to the facts. NULL, or the reason (new). */
static char *found_take(xchg__found *found, int code) {
  char *reason = NULL;
  facts.report = found->report != NULL ? found->report : "";
  found->report = NULL;
  if (code == 0) {
    facts.path = found->path;
    found->path = NULL;
    return NULL;
  }
  if (found->refusal != NULL) {
    reason = found->refusal;
    found->refusal = NULL;
    return reason;
  }
  return strdup("no CUDA runtime (libcudart.so.13 or .12) was found; install one (pip install nvidia-cuda-runtime into "
                "the Python that is used, or a CUDA toolkit) or name its file: XCHG_CUDART=/path/libcudart.so.13; "
                "`xchg info` tells where was looked");
}

static char *runtime_find(const xchg_cuda_places *places) {
  const char *simulator = xchg__simulator_file();
  const xchg__find_what what = {.variable = "XCHG_CUDART",
                                .names = NAMES,
                                .plain = "libcudart.so",
                                .wheel = "cuda_runtime",
                                .accept = runtime_accept};
  xchg__found found;
  char *reason, why[512];
  int code;
  if (simulator == NULL) {
    code = xchg__find(&what, places, &found);
    reason = found_take(&found, code);
    xchg__found_free(&found);
    return reason;
  }
  facts.simulated = 1;
  facts.path = simulator;
  facts.report = "XCHG_CUDA=sim or cuda.use(\"sim\"): nothing else is looked at\n";
  if (runtime_accept(xchg__simulator_handle(), simulator, &facts, why, sizeof why) == 0)
    return NULL;
  return asprintf(&reason, "the simulated device %s", why) < 0 ? strdup("the simulated device cannot be used") : reason;
}

/* In a forked child: what the parent has opened is dead, what it has not may be opened. */
static void child_after_fork(void) {
  if (atomic_load(&state) == 0)
    return;
  atomic_store(&forked, 1);
  atomic_store(&state, -1);
  facts.state = -1;
  facts.reason = FORKED;
}

static void watch_forks(void) {
  pthread_atfork(NULL, NULL, child_after_fork);
}

static int fail(xchg_error *err) {
  if (atomic_load(&forked))
    return xchg__error_set(err, XCHG_E_FORKED, "cuda: %s", FORKED);
  return xchg__error_set(err, XCHG_E_NO_CUDA, "cuda: %s", facts.reason);
}

int32_t xchg_cuda_open(const xchg_cuda_places *places, xchg_error *err) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  int32_t code;
  if (atomic_load(&forked)) /* the lock may be held by a thread of the parent's */
    return fail(err);
  pthread_mutex_lock(&lock);
  if (facts.state == 0) {
    char *reason;
    pthread_once(&once, watch_forks);
    atomic_store(&state, OPENING);
    reason = runtime_find(places);
    facts.reason = reason != NULL ? reason : "";
    atomic_store(&state, reason != NULL ? -1 : 1); /* before Lua states of other threads see the facts and rely on it */
    facts.state = reason != NULL ? -1 : 1;
  }
  code = facts.state < 0 ? fail(err) : 0;
  pthread_mutex_unlock(&lock);
  return code;
}

int32_t xchg_cuda_simulate(const char *file, xchg_error *err) {
  int32_t code = 0;
  if (atomic_load(&forked))
    return fail(err);
  pthread_mutex_lock(&lock);
  if (facts.state == 1 && !facts.simulated)
    code =
        xchg__error_set(err, XCHG_E_NO_CUDA,
                        "cuda: %s is in use already; ask for the simulated device before anything of CUDA is used, or "
                        "start the program with XCHG_CUDA=sim",
                        facts.path[0] != '\0' ? facts.path : "another CUDA");
  else
    code = xchg__simulator_load(file, err);
  if (code == 0 && !facts.simulated) {
    vain = facts;
    facts.simulated = 1;
    facts.state = 0; /* where a real one was looked for in vain */
    atomic_store(&state, 0);
  }
  pthread_mutex_unlock(&lock);
  return code;
}

int32_t xchg_cuda_needs_folders(void) {
  const xchg__find_what what = {.variable = "XCHG_CUDART", .names = NAMES};
  return atomic_load(&state) == 0 && xchg__simulator_file() == NULL && xchg__find_needs_folders(&what);
}

const xchg_cuda_facts *xchg_cuda_known(void) {
  return &facts;
}

/* ---- for everybody else --------------------------------------------------------------------------- */

int xchg__cuda_ready(xchg_error *err) {
  int now = atomic_load_explicit(&state, memory_order_acquire);
  if (now == 1)
    return 0;
  if (now != -1)
    return xchg__error_set(err, XCHG_E_NO_CUDA, "cuda: it was not opened");
  return fail(err);
}

int xchg__cuda_gone(void) {
  return atomic_load(&unloading) || atomic_load(&state) != 1;
}

void xchg__cuda_note_unloading(void) {
  atomic_store(&unloading, 1);
}
