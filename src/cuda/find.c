#include "cuda/find.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/error.h"

enum { MOST_TRIED = 32, LONGEST_PATH = 4096, SHOWN = 300 /* bytes of a path in a message */ };

static const char USUAL_ROOT[] = "/usr/local/cuda";
static const char ROOT_VARIABLE[] = "XCHG_CUDA_PATH";

#if defined(__x86_64__)
#  define TARGET "x86_64-linux"
#else
#  define TARGET "sbsa-linux"
#endif
/* Where a toolkit, a conda environment and a distribution have their libraries, below its root. */
static const char *const BELOW_ROOT[] = {"lib64", "targets/" TARGET "/lib", "lib", NULL};

typedef struct {
  const xchg__find_what *what;
  xchg__found *out;
  FILE *report;
  void *tried[MOST_TRIED];
  int tried_count;
  int met; /* how many files were there, those that were tried before included */
} search;

/* A value that is set and not empty. */
static const char *variable(const char *name) {
  const char *value = name != NULL ? getenv(name) : NULL;
  return value != NULL && value[0] != '\0' ? value : NULL;
}

/* Paths may hold any byte: a control character must not make another line of a text. */
static void text_clean(char *text) {
  for (; *text != '\0'; text++)
    if ((unsigned char)*text < ' ' || *text == 127)
      *text = '?';
}

/* A line of the report. */
__attribute__((format(printf, 2, 3))) static void say(search *self, const char *format, ...) {
  char line[1024];
  va_list args;
  if (self->report == NULL)
    return;
  va_start(args, format);
  vsnprintf(line, sizeof line, format, args);
  va_end(args);
  text_clean(line);
  fprintf(self->report, "%s\n", line);
}

const char *xchg__find_file_of(void *handle) {
  struct link_map *map = NULL;
  return dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 ? map->l_name : "";
}

static int was_tried(search *self, void *handle) {
  for (int i = 0; i < self->tried_count; i++)
    if (self->tried[i] == handle)
      return 1;
  if (self->tried_count < MOST_TRIED)
    self->tried[self->tried_count++] = handle;
  return 0;
}

static void refused(search *self, const char *path, const char *why) {
  if (self->out->refusal == NULL && asprintf(&self->out->refusal, "%.*s %s", SHOWN, path, why) < 0)
    self->out->refusal = NULL;
  if (self->out->refusal != NULL)
    text_clean(self->out->refusal);
}

/* Whether an open library will do; 1 ends the search. */
static int take(search *self, void *handle, const char *asked, const char *how) {
  const char *path = xchg__find_file_of(handle);
  char why[512] = "";
  if (path[0] == '\0')
    path = asked;
  self->met++;
  if (was_tried(self, handle))
    return 0;
  if (self->what->accept != NULL && self->what->accept(handle, path, self->what->context, why, sizeof why) != 0) {
    say(self, "%s: %.*s %s", how, SHOWN, path, why);
    refused(self, path, why);
    return 0;
  }
  say(self, "%s: %.*s is used", how, SHOWN, path);
  self->out->handle = handle;
  self->out->path = strdup(path);
  self->out->how = how;
  return 1;
}

static int is_folder(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* Whether a library ends before the segments that it names: a download that was broken off. The loader would map them,
 * and the process would end where it touches them. */
static int file_is_cut(const char *path) {
  ElfW(Ehdr) head;
  ElfW(Phdr) segment;
  struct stat info;
  int cut = 0, file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0)
    return 0;
  if (fstat(file, &info) == 0 && S_ISREG(info.st_mode) && pread(file, &head, sizeof head, 0) == sizeof head &&
      memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 && head.e_ident[EI_CLASS] == ELFCLASS64)
    for (int i = 0; i < head.e_phnum && !cut; i++) {
      off_t at = (off_t)(head.e_phoff + (uint64_t)i * head.e_phentsize);
      cut = pread(file, &segment, sizeof segment, at) != sizeof segment ||
            (segment.p_type == PT_LOAD && (segment.p_offset > (uint64_t)info.st_size ||
                                           segment.p_filesz > (uint64_t)info.st_size - segment.p_offset));
    }
  close(file);
  return cut;
}

/* dlerror's text without the path that it mostly begins with. */
static const char *problem_of(const char *path) {
  const char *text = dlerror();
  size_t length = strlen(path);
  if (text == NULL)
    return "cannot be opened";
  return strncmp(text, path, length) == 0 && strncmp(text + length, ": ", 2) == 0 ? text + length + 2 : text;
}

/* Opens a file that somebody has named. */
static int take_file(search *self, const char *path, const char *how) {
  char why[512];
  int cut = file_is_cut(path);
  void *handle = cut ? NULL : dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle != NULL)
    return take(self, handle, path, how);
  if (is_folder(path))
    snprintf(why, sizeof why, "is a folder; name the file in it");
  else if (cut)
    snprintf(why, sizeof why, "cannot be opened: it is cut off; install it again");
  else
    snprintf(why, sizeof why, "cannot be opened: %.300s", problem_of(path));
  self->met++;
  say(self, "%s: %.*s %s", how, SHOWN, path, why);
  refused(self, path, why);
  return 0;
}

/* Opens `name` in `folder` if it is there. */
static int take_in(search *self, const char *folder, const char *below, const char *name, const char *how) {
  char path[LONGEST_PATH];
  int length = snprintf(path, sizeof path, "%s%s%s/%s", folder, below[0] != '\0' ? "/" : "", below, name);
  if (length < 0 || length >= (int)sizeof path || access(path, F_OK) != 0)
    return 0;
  return take_file(self, path, how);
}

/* ---- the places ------------------------------------------------------------------------------------ */

static int look_in_root(search *self, const char *root, const char *how) {
  int before = self->met;
  for (const char *const *name = self->what->names; *name != NULL; name++)
    for (const char *const *below = BELOW_ROOT; *below != NULL; below++)
      if (take_in(self, root, *below, *name, how))
        return 1;
  for (const char *const *below = BELOW_ROOT; *below != NULL; below++)
    if (take_in(self, root, *below, self->what->plain, how))
      return 1;
  if (self->met == before)
    say(self, "%s: no %s in %.*s", how, self->what->plain, SHOWN, root);
  return 0;
}

/* Whether `a` was mapped before `b`. */
static int is_earlier(void *a, void *b) {
  struct link_map *map = NULL, *other = NULL;
  if (dlinfo(a, RTLD_DI_LINKMAP, &map) != 0 || dlinfo(b, RTLD_DI_LINKMAP, &other) != 0)
    return 1;
  while (map != NULL && map != other)
    map = map->l_next;
  return map == other;
}

/* What is loaded by one of the names; of several what was mapped first: others in the process use that one. */
static void *loaded(const xchg__find_what *what, void *than) {
  void *first = NULL;
  for (const char *const *name = what->names; *name != NULL; name++) {
    void *handle = dlopen(*name, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
    if (handle != NULL && handle != than && (first == NULL || is_earlier(handle, first)))
      first = handle;
  }
  return first;
}

static int look_in_process(search *self) {
  static const char how[] = "in the process";
  void *first = loaded(self->what, NULL), *second;
  if (first == NULL) {
    say(self, "%s: no %s", how, self->what->plain);
    return 0;
  }
  if (take(self, first, self->what->plain, how))
    return 1;
  second = loaded(self->what, first);
  return second != NULL && take(self, second, self->what->plain, how);
}

/* "13" of "libcudart.so.13". */
static const char *major_of(const char *name) {
  const char *so = strstr(name, ".so.");
  return so != NULL ? so + 4 : "";
}

static int look_in_site(search *self, const char *folder) {
  int before = self->met;
  char below[256];
  for (const char *const *name = self->what->names; *name != NULL; name++) {
    snprintf(below, sizeof below, "nvidia/cu%.*s/lib", (int)strspn(major_of(*name), "0123456789"), major_of(*name));
    if (take_in(self, folder, below, *name, "wheel"))
      return 1;
    snprintf(below, sizeof below, "nvidia/%s/lib", self->what->wheel);
    if (take_in(self, folder, below, *name, "wheel"))
      return 1;
  }
  /* sys.path has folders without packages, too */
  if (self->met == before && strstr(folder, "-packages") != NULL && access(folder, F_OK) == 0)
    say(self, "wheel: none in %.*s", SHOWN, folder);
  return 0;
}

static int look_in_wheels(search *self, const char *folders) {
  char folder[LONGEST_PATH];
  if (folders == NULL)
    return 0;
  while (*folders != '\0') {
    size_t length = strcspn(folders, "\n");
    if (length > 0 && length < sizeof folder) {
      memcpy(folder, folders, length);
      folder[length] = '\0';
      if (look_in_site(self, folder))
        return 1;
    }
    folders += length + (folders[length] == '\n');
  }
  return 0;
}

static int look_by_loader(search *self) {
  static const char how[] = "the loader";
  int before = self->met;
  for (const char *const *name = self->what->names; *name != NULL; name++) {
    void *handle = dlopen(*name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (handle != NULL && take(self, handle, *name, how))
      return 1;
  }
  void *handle = dlopen(self->what->plain, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle != NULL && take(self, handle, self->what->plain, how))
    return 1;
  if (self->met == before)
    say(self, "%s: no %s", how, self->what->plain);
  return 0;
}

static int look_in_roots(search *self) {
  static const char *const variables[] = {"CUDA_HOME", "CUDA_PATH", "CONDA_PREFIX", NULL};
  for (const char *const *name = variables; *name != NULL; name++) {
    const char *root = variable(*name);
    if (root != NULL && look_in_root(self, root, *name))
      return 1;
  }
  return look_in_root(self, USUAL_ROOT, "the usual folder");
}

static int look(search *self, const xchg_cuda_places *places) {
  const char *file = variable(self->what->variable), *root = variable(ROOT_VARIABLE);
  if (file != NULL)
    return take_file(self, file, self->what->variable);
  if (root != NULL)
    return look_in_root(self, root, ROOT_VARIABLE);
  return look_in_process(self) || look_in_wheels(self, places->folders) || look_by_loader(self) || look_in_roots(self);
}

int xchg__find(const xchg__find_what *what, const xchg_cuda_places *places, xchg__found *out) {
  search self = {.what = what, .out = out};
  size_t size;
  int found;
  memset(out, 0, sizeof *out);
  self.report = open_memstream(&out->report, &size);
  found = look(&self, places);
  if (self.report != NULL)
    fclose(self.report);
  if (found && out->path == NULL)
    return XCHG_E_MEMORY;
  return found ? 0 : XCHG_E_NO_CUDA;
}

void xchg__found_free(xchg__found *found) {
  free(found->path);
  free(found->refusal);
  free(found->report);
  memset(found, 0, sizeof *found);
}

int xchg__find_needs_folders(const xchg__find_what *what) {
  return variable(what->variable) == NULL && variable(ROOT_VARIABLE) == NULL && loaded(what, NULL) == NULL;
}
