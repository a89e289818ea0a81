#include "cuda/nvrtc.h"

#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cuda/find.h"

xchg__nvrtc_table xchg__nvrtc;

enum { PATH_BYTES = 4096, OLDEST = 12000, MOST_ARCHS = 64 };

static xchg_nvrtc_facts facts = {.path = "", .include = "", .reason = "", .report = ""};
static atomic_int state; /* as facts.state, for those that do not lock */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char identity[1024];

static int symbols_take(void *library, char *why, size_t room) {
#define REQUIRED(result, name, arguments)                                                                              \
  if ((*(void **)(void *)&xchg__nvrtc.name = dlsym(library, #name)) == NULL) {                                         \
    snprintf(why, room, "has no %s; NVRTC 12.0 or newer is needed", #name);                                            \
    return -1;                                                                                                         \
  }
#define OPTIONAL(result, name, arguments) *(void **)(void *)&xchg__nvrtc.name = dlsym(library, #name);
  XCHG_NVRTC_SYMBOLS(REQUIRED, OPTIONAL)
#undef OPTIONAL
#undef REQUIRED
  return 0;
}

static int nvrtc_accept(void *library, const char *path, void *context, char *why, size_t room) {
  int major = 0, minor = 0;
  (void)path;
  (void)context;
  if (symbols_take(library, why, room) != 0)
    return -1;
  if (xchg__nvrtc.nvrtcVersion(&major, &minor) != 0 || major * 1000 + minor * 10 < OLDEST) {
    snprintf(why, room, "is NVRTC %d.%d; 12.0 or newer is needed", major, minor);
    return -1;
  }
  facts.version = major * 1000 + minor * 10;
  return 0;
}

/* "a/b/c" -> "a/b", in place; 0 where there is no folder. */
static int parent(char *path) {
  char *slash = strrchr(path, '/');
  if (slash == NULL || slash == path)
    return 0;
  *slash = '\0';
  return 1;
}

/* NVRTC asks the loader for its other half by name, which finds it only in the loader's own folders or when it is
 * open. */
static int builtins_open(const char *folder) {
  char wanted[64], path[PATH_BYTES];
  struct dirent *entry;
  DIR *files;
  int found = 0;
  snprintf(wanted, sizeof wanted, "libnvrtc-builtins.so.%d.%d", facts.version / 1000, facts.version % 1000 / 10);
  if ((files = opendir(folder)) == NULL)
    return 0;
  while (!found && (entry = readdir(files)) != NULL)
    if (strncmp(entry->d_name, wanted, strlen(wanted)) == 0 &&
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) < (int)sizeof path &&
        dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE) != NULL)
      found = 1;
  closedir(files);
  return found;
}

static int has(const char *folder, const char *file) {
  char path[PATH_BYTES];
  struct stat there;
  return snprintf(path, sizeof path, "%s/%s", folder, file) < (int)sizeof path && stat(path, &there) == 0;
}

typedef struct {
  char text[4 * PATH_BYTES];
  size_t length;
  int builtins; /* whether they are open */
} folder_list;

static void folder_add(folder_list *list, const char *folder) {
  int length = snprintf(list->text + list->length, sizeof list->text - list->length, "%s%s",
                        list->length > 0 ? "\n" : "", folder);
  if (length > 0 && (size_t)length < sizeof list->text - list->length)
    list->length += (size_t)length;
  else
    list->text[list->length] = '\0';
}

/* A folder of CUDA's headers, and that of the C++ library's, which lies below it since 13. */
static int headers_add(folder_list *list, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int headers_add(folder_list *list, const char *format, ...) {
  char folder[PATH_BYTES], inner[PATH_BYTES + 8];
  va_list args;
  va_start(args, format);
  int length = vsnprintf(folder, sizeof folder, format, args);
  va_end(args);
  if (length >= (int)sizeof folder)
    return 0;
  snprintf(inner, sizeof inner, "%s/cccl", folder);
  int found = 0;
  if (has(folder, "cuda_fp16.h") || has(folder, "cuda/std/cstdint"))
    folder_add(list, folder), found = 1;
  if (has(inner, "cuda/std/cstdint"))
    folder_add(list, inner), found = 1;
  return found;
}

/* CUDA_VERSION of a folder's cuda.h; 0 where there is none. */
static int headers_version(const char *folder) {
  char path[PATH_BYTES], line[256];
  int version = 0;
  FILE *file;
  if (snprintf(path, sizeof path, "%s/cuda.h", folder) >= (int)sizeof path || (file = fopen(path, "re")) == NULL)
    return 0;
  while (version == 0 && fgets(line, sizeof line, file) != NULL)
    sscanf(line, "#define CUDA_VERSION %d", &version);
  fclose(file);
  return version;
}

/* Headers belong to the library that was found: those of another version are understood by chance only. */
static void headers_find(folder_list *list, const char *folder) {
  char up[PATH_BYTES];
  snprintf(up, sizeof up, "%s", folder);
  if (parent(up)) {
    headers_add(list, "%s/include", up);
    if (parent(up)) {
      headers_add(list, "%s/cuda_runtime/include", up); /* wheels for CUDA 12 */
      headers_add(list, "%s/cuda_cccl/include", up);
      if (list->length == 0)
        headers_add(list, "%s/include", up); /* .../lib/x86_64-linux-gnu */
    }
  }
}

/* Those of a toolkit, where none lie beside the library and the version is nearly the same. */
static void headers_of_toolkit(folder_list *list) {
  static const char *const toolkits[] = {"CUDA_HOME", "CUDA_PATH", NULL};
  char up[PATH_BYTES];
  for (int i = 0; i < 3 && list->length == 0; i++) {
    const char *root = toolkits[i] != NULL ? getenv(toolkits[i]) : "/usr/local/cuda";
    if (root == NULL || root[0] != '/' || snprintf(up, sizeof up, "%s/include", root) >= (int)sizeof up)
      continue;
    if (headers_version(up) / 1000 == facts.version / 1000)
      headers_add(list, "%s", up);
  }
}

static size_t stamp(char *out, size_t room, const char *path) {
  struct stat there;
  int length = 0;
  if (stat(path, &there) == 0)
    length = snprintf(out, room, " %lld.%lld.%ld", (long long)there.st_size, (long long)there.st_mtim.tv_sec,
                      (long)there.st_mtim.tv_nsec);
  return length > 0 && (size_t)length < room ? (size_t)length : 0;
}

/* The headers are too many to read each time; those that every release changes stand for all. */
static void identity_make(const char *path) {
  static const char *const signs[] = {"", "/cuda_fp16.h", "/cuda.h", "/cuda/std/__cccl/version.h", NULL};
  char file[PATH_BYTES + 64];
  size_t length = (size_t)snprintf(identity, sizeof identity, "nvrtc %d", facts.version);
  length += stamp(identity + length, sizeof identity - length, path);
  for (const char *folder = facts.include; *folder != '\0';) {
    int size = (int)strcspn(folder, "\n");
    for (int i = 0; signs[i] != NULL; i++)
      if (snprintf(file, sizeof file, "%.*s%s", size, folder, signs[i]) < (int)sizeof file)
        length += stamp(identity + length, sizeof identity - length, file);
    folder += size + (folder[size] == '\n');
  }
}

static void archs_take(void) {
  int count = 0, *archs;
  if (xchg__nvrtc.nvrtcGetNumSupportedArchs(&count) != 0 || count <= 0 || count > 1024)
    return;
  if ((archs = calloc((size_t)count, sizeof *archs)) == NULL)
    return;
  if (xchg__nvrtc.nvrtcGetSupportedArchs(archs) == 0)
    for (facts.arch_count = 0; facts.arch_count < count && facts.arch_count < MOST_ARCHS; facts.arch_count++)
      facts.archs[facts.arch_count] = archs[facts.arch_count];
  free(archs);
}

/* What belongs to the library and lies near it, where it was not found yet. */
static void beside(const char *library, folder_list *list) {
  char folder[PATH_BYTES];
  if (strlen(library) >= sizeof folder)
    return;
  memcpy(folder, library, strlen(library) + 1);
  if (!parent(folder))
    return;
  if (!list->builtins)
    list->builtins = builtins_open(folder);
  if (list->length == 0)
    headers_find(list, folder);
}

static const char *copied(const char *text) {
  char *copy = text != NULL ? strdup(text) : NULL;
  return copy != NULL ? copy : "";
}

static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", NULL};
static const xchg__find_what what = {
    .variable = "XCHG_NVRTC", .names = names, .plain = "libnvrtc.so", .wheel = "cuda_nvrtc", .accept = nvrtc_accept};

static void nvrtc_find(const char *wheels) {
  xchg_cuda_places places = {.folders = wheels};
  xchg__found found = {0};
  xchg_error problem = {0};
  int code = xchg__find(&what, &places, &found);
  facts.report = copied(found.report);
  if (code != 0 || found.handle == NULL) {
    snprintf(problem.message, sizeof problem.message, "%s",
             found.refusal != NULL ? found.refusal : "no NVRTC (libnvrtc.so.13 or .12) was found");
    facts.reason = copied(problem.message);
    facts.state = -1;
  } else if (symbols_take(found.handle, problem.message, sizeof problem.message) == 0) {
    folder_list list = {.length = 0};
    char *real = realpath(found.path, NULL);
    beside(found.path, &list);
    if (real != NULL)
      beside(real, &list); /* the library may be a link */
    free(real);
    headers_of_toolkit(&list);
    facts.path = copied(found.path);
    facts.include = copied(list.text);
    archs_take();
    identity_make(facts.path);
    facts.state = 1;
  } else {
    facts.reason = copied(problem.message);
    facts.state = -1;
  }
  xchg__found_free(&found);
}

int xchg__nvrtc_ready(xchg_error *err) {
  int now = atomic_load_explicit(&state, memory_order_acquire);
  if (now == 1)
    return 0;
  return xchg__error_set(
      err, XCHG_E_NO_CUDA,
      "compile: %s; install it with `pip install nvidia-cuda-nvrtc` into the Python that is used, or "
      "with the CUDA toolkit, or name the file in XCHG_NVRTC",
      now == 0 ? "NVRTC was not opened" : facts.reason);
}

int32_t xchg_nvrtc_open(const char *wheels, xchg_error *err) {
  pthread_mutex_lock(&lock);
  if (facts.state == 0)
    nvrtc_find(wheels);
  atomic_store_explicit(&state, facts.state, memory_order_release);
  pthread_mutex_unlock(&lock);
  return xchg__nvrtc_ready(err);
}

int32_t xchg_nvrtc_needs_folders(void) {
  return atomic_load_explicit(&state, memory_order_acquire) == 0 && xchg__find_needs_folders(&what);
}

const xchg_nvrtc_facts *xchg_nvrtc_known(void) {
  return &facts;
}

const char *xchg__nvrtc_identity(void) {
  return identity;
}
