#include "python/process.h"

#include <inttypes.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct {
  uintptr_t first, end;
  const char *path; /* in the line, NULL for a mapping without a file */
} mapping;

/* "start-end perms offset device inode   path", and " (deleted)" where the file has gone since. */
static int mapping_parse(char *line, mapping *out) {
  static const char deleted[] = " (deleted)";
  int at = 0;
  size_t length;
  if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %*s %*s %*s %*s %n", &out->first, &out->end, &at) < 2)
    return 0;
  line[strcspn(line, "\n")] = '\0';
  out->path = at > 0 && line[at] == '/' ? line + at : NULL;
  if (out->path != NULL) {
    length = strlen(out->path);
    if (length >= sizeof deleted && strcmp(out->path + length - (sizeof deleted - 1), deleted) == 0)
      line[(size_t)at + length - (sizeof deleted - 1)] = '\0';
  }
  return 1;
}

/* Both searches: the first mapping with a file for which `accept` says yes. */
static char *maps_search(int (*accept)(const mapping *, void *), void *context) {
  FILE *maps = fopen("/proc/self/maps", "re");
  char *line = NULL;
  size_t room = 0;
  char *found = NULL;
  mapping each;
  if (maps == NULL)
    return NULL;
  while (found == NULL && getline(&line, &room, maps) > 0)
    if (mapping_parse(line, &each) && each.path != NULL && accept(&each, context))
      found = strdup(each.path);
  free(line);
  fclose(maps);
  return found;
}

static int accept_address(const mapping *each, void *context) {
  uintptr_t address = *(const uintptr_t *)context;
  return each->first <= address && address < each->end;
}

char *xchg__process_file_at(const void *address) {
  uintptr_t wanted = (uintptr_t)address;
  return maps_search(accept_address, &wanted);
}

typedef struct {
  int (*accept)(const char *path, void *context);
  void *context;
} path_search;

static int accept_path(const mapping *each, void *context) {
  path_search *search = context;
  return search->accept(each->path, search->context);
}

char *xchg__process_find(int (*accept)(const char *path, void *context), void *context) {
  path_search search = {accept, context};
  return maps_search(accept_path, &search);
}

char *xchg__process_executable(void) {
  char path[PATH_MAX];
  ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  return length > 0 && (size_t)length < sizeof path ? strndup(path, (size_t)length) : NULL;
}

int xchg__process_same_file(const char *a, const char *b) {
  struct stat one, two;
  return a != NULL && b != NULL && stat(a, &one) == 0 && stat(b, &two) == 0 && one.st_dev == two.st_dev &&
         one.st_ino == two.st_ino;
}
