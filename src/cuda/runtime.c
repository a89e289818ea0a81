#include "cuda/runtime.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

xchg__cuda_runtime_table xchg__rt;
xchg__cuda_driver_table xchg__drv;

static xchg_cuda_facts facts = {.path = "", .driver_path = "", .reason = "", .report = ""};
static atomic_int state; /* as facts.state, for those that do not lock */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pid_t opened_by;
static atomic_int unloading;

enum { OLDEST = 12000 };

/* Fills the tables; the name of what is missing, or NULL. */
static const char *symbols_take(void *runtime, void *driver) {
#define REQUIRED(result, name, arguments)                                                                              \
  if ((*(void **)(void *)&xchg__rt.name = dlsym(runtime, #name)) == NULL)                                              \
    return #name;
#define OPTIONAL(result, name, arguments) *(void **)(void *)&xchg__rt.name = dlsym(runtime, #name);
  XCHG_CUDA_RUNTIME_SYMBOLS(REQUIRED, OPTIONAL)
#undef OPTIONAL
#undef REQUIRED
#define OPTIONAL(result, name, arguments) *(void **)(void *)&xchg__drv.name = driver ? dlsym(driver, #name) : NULL;
  XCHG_CUDA_DRIVER_SYMBOLS(OPTIONAL)
#undef OPTIONAL
  return NULL;
}

static int fail(xchg_error *err, const char *reason) {
  return xchg__error_set(err, XCHG_E_NO_CUDA, "cuda: %s", reason);
}

/* Opens the file and asks it for devices. NULL, or the reason. */
static const char *runtime_open(const char *path, int simulated) {
  static char text[512];
  void *runtime = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE), *driver;
  const char *missing;
  int code;
  if (runtime == NULL) {
    snprintf(text, sizeof text, "%s cannot be opened: %s", path, dlerror());
    return text;
  }
  driver = simulated ? runtime : dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  missing = symbols_take(runtime, driver);
  if (missing != NULL) {
    snprintf(text, sizeof text, "%s has no %s; CUDA 12.0 or newer is needed", path, missing);
    return text;
  }
  facts.path = strdup(path);
  facts.simulated = simulated;
  xchg__rt.cudaRuntimeGetVersion(&facts.runtime);
  xchg__rt.cudaDriverGetVersion(&facts.driver);
  if (facts.runtime < OLDEST) {
    snprintf(text, sizeof text, "%s is CUDA %d.%d; 12.0 or newer is needed", path, facts.runtime / 1000,
             facts.runtime % 1000 / 10);
    return text;
  }
  code = xchg__rt.cudaGetDeviceCount(&facts.devices);
  if (code != 0 || facts.devices == 0) {
    snprintf(text, sizeof text, "there is no device: %s (%d)", xchg__rt.cudaGetErrorString(code), code);
    return text;
  }
  if (facts.devices > XCHG_CUDA_MAX_DEVICES)
    facts.devices = XCHG_CUDA_MAX_DEVICES;
  return NULL;
}

int32_t xchg_cuda_open(const xchg_cuda_places *places, xchg_error *err) {
  int32_t code = 0;
  pthread_mutex_lock(&lock);
  if (facts.state == 0) {
    const char *reason = places->simulator != NULL ? runtime_open(places->simulator, 1)
                         : places->runtime != NULL ? runtime_open(places->runtime, 0)
                                                   : "no CUDA runtime was found";
    facts.reason = reason != NULL ? strdup(reason) : "";
    facts.state = reason != NULL ? -1 : 1;
    opened_by = getpid();
    atomic_store(&state, facts.state);
  }
  if (facts.state < 0)
    code = fail(err, facts.reason);
  pthread_mutex_unlock(&lock);
  return code;
}

const xchg_cuda_facts *xchg_cuda_known(void) {
  return &facts;
}

int xchg__cuda_ready(xchg_error *err) {
  int now = atomic_load_explicit(&state, memory_order_acquire);
  if (now != 1)
    return fail(err, now == 0 ? "it was not opened" : facts.reason);
  if (getpid() != opened_by)
    return xchg__error_set(err, XCHG_E_FORKED,
                           "cuda: this process was forked from one that uses CUDA; CUDA does not survive a fork, start "
                           "a new program instead (multiprocessing: \"spawn\")");
  return 0;
}

int xchg__cuda_gone(void) {
  return atomic_load(&unloading) || atomic_load(&state) != 1 || getpid() != opened_by;
}

void xchg__cuda_note_unloading(void) {
  atomic_store(&unloading, 1);
}

int32_t xchg_cuda_device_current(int32_t *out, xchg_error *err) {
  int32_t code = xchg__cuda_ready(err);
  if (code == 0)
    xchg__rt.cudaGetDevice(out);
  return code;
}
