/* The cache of compiled programs: a folder with one file for each.
 *
 * A file's name is a digest of everything that decides what is in it, so nothing is ever out of date, and two processes
 * that write the same file write the same bytes. It is written under another name and renamed: a reader sees all of it
 * or nothing. What was cut off, changed or is of another version is taken for absent, and written anew. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cuda/compile.h"
#include "cuda/nvrtc.h"

enum { KEY_CHARS = 2 * XCHG_SHA256_BYTES, MOST_ENTRY = 1 << 30, FORGOTTEN = 3600 };

#define SUFFIX ".kernel"
#define TEMPORARY ".new-"

/* What a file begins with; the parts of the result follow (xchg__compile_sizes). */
typedef struct {
  char magic[8]; /* ends in the version of this format */
  char key[KEY_CHARS];
  xchg__compile_sizes sizes;
  uint8_t digest[XCHG_SHA256_BYTES]; /* of all before and all that follows */
} entry_head;

static const char magic[8] = "xchgKN1";

/* ---- keys ---------------------------------------------------------------------------------------- */

static void text_add(xchg__sha256 *digest, const char *text) {
  uint64_t length = strlen(text);
  xchg__sha256_add(digest, &length, sizeof length);
  xchg__sha256_add(digest, text, length);
}

static void list_add(xchg__sha256 *digest, const char *const *texts, int32_t count) {
  xchg__sha256_add(digest, &count, sizeof count);
  for (int32_t i = 0; i < count; i++)
    text_add(digest, texts[i]);
}

int xchg__cache_key(char key[KEY_CHARS + 1], const xchg_compile_request *request, char *why, size_t room) {
  static const char digits[] = "0123456789abcdef";
  uint8_t out[XCHG_SHA256_BYTES];
  xchg__sha256 digest;
  int files;
  xchg__sha256_begin(&digest);
  xchg__sha256_add(&digest, magic, sizeof magic);
  text_add(&digest, xchg__nvrtc_identity());
  text_add(&digest, request->source);
  text_add(&digest, request->name);
  list_add(&digest, request->options, request->option_count);
  list_add(&digest, request->names, request->name_count);
  list_add(&digest, request->header_names, request->header_count);
  list_add(&digest, request->header_texts, request->header_count);
  if ((files = xchg__includes_digest(&digest, request, why, room)) < 0)
    return -1;
  xchg__sha256_end(&digest, out);
  for (int i = 0; i < XCHG_SHA256_BYTES; i++) {
    key[2 * i] = digits[out[i] >> 4];
    key[2 * i + 1] = digits[out[i] & 15];
  }
  key[KEY_CHARS] = '\0';
  return files;
}

/* ---- the folder ---------------------------------------------------------------------------------- */

static void note(xchg__compile_outcome *outcome, const char *folder, const char *what) {
  snprintf(outcome->note, sizeof outcome->note, "the cache in %.160s is not used: %s", folder, what);
  outcome->result.note = outcome->note;
}

/* Opens the folder, which `make` makes. -1 with a note where it is not ours alone to write: what others put there would
 * run on the device. */
static int folder_open(xchg__compile_outcome *outcome, const char *folder, int make) {
  struct stat info;
  int handle;
  if (make) {
    char path[4096];
    size_t length = strlen(folder);
    if (length >= sizeof path)
      return note(outcome, folder, "its name is too long"), -1;
    memcpy(path, folder, length + 1);
    for (size_t i = 1; i <= length; i++)
      if (path[i] == '/' || path[i] == '\0') {
        char kept = path[i];
        path[i] = '\0';
        if (mkdir(path, 0700) != 0 && errno != EEXIST && kept == '\0')
          return note(outcome, folder, strerror(errno)), -1;
        path[i] = kept;
      }
  }
  handle = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (handle < 0) {
    if (make || errno != ENOENT)
      note(outcome, folder, strerror(errno));
    return -1;
  }
  if (fstat(handle, &info) == 0 && info.st_uid == geteuid() && (info.st_mode & (S_IWGRP | S_IWOTH)) == 0)
    return handle;
  note(outcome, folder,
       info.st_uid != geteuid() ? "it belongs to another user" : "others may write there; chmod go-w makes it safe");
  close(handle);
  return -1;
}

static void entry_name(char name[KEY_CHARS + sizeof SUFFIX], const char *key) {
  memcpy(name, key, KEY_CHARS);
  memcpy(name + KEY_CHARS, SUFFIX, sizeof SUFFIX);
}

static int is_entry(const char *name) {
  return strspn(name, "0123456789abcdef") == KEY_CHARS && strcmp(name + KEY_CHARS, SUFFIX) == 0;
}

static int is_temporary(const char *name) {
  return strncmp(name, TEMPORARY, sizeof TEMPORARY - 1) == 0;
}

/* ---- reading ------------------------------------------------------------------------------------- */

static void entry_digest(uint8_t out[XCHG_SHA256_BYTES], const entry_head *head, const char *body, size_t size) {
  xchg__sha256 digest;
  xchg__sha256_begin(&digest);
  xchg__sha256_add(&digest, head, offsetof(entry_head, digest));
  xchg__sha256_add(&digest, body, size);
  xchg__sha256_end(&digest, out);
}

static int read_all(int file, void *to, size_t size) {
  for (size_t done = 0; done < size;) {
    ssize_t part = read(file, (char *)to + done, size - done);
    if (part < 0 && errno == EINTR)
      continue;
    if (part <= 0)
      return -1;
    done += (size_t)part;
  }
  return 0;
}

/* The parts of an entry in a new block, or NULL. */
static char *entry_read(int file, const char *key, entry_head *head, size_t *size) {
  uint8_t digest[XCHG_SHA256_BYTES];
  struct stat info;
  char *body;
  if (fstat(file, &info) != 0 || !S_ISREG(info.st_mode) || info.st_uid != geteuid() ||
      info.st_size <= (off_t)sizeof *head || info.st_size > MOST_ENTRY)
    return NULL;
  if (read_all(file, head, sizeof *head) != 0 || memcmp(head->magic, magic, sizeof magic) != 0 ||
      memcmp(head->key, key, KEY_CHARS) != 0)
    return NULL;
  *size = (size_t)info.st_size - sizeof *head;
  if ((body = malloc(*size)) == NULL)
    return NULL;
  if (read_all(file, body, *size) == 0) {
    entry_digest(digest, head, body, *size);
    if (memcmp(digest, head->digest, sizeof digest) == 0)
      return body;
  }
  free(body);
  return NULL;
}

int xchg__cache_get(xchg__compile_outcome *outcome, const char *folder, const char *key, int32_t name_count) {
  char name[KEY_CHARS + sizeof SUFFIX], *body;
  entry_head head;
  size_t size = 0;
  int handle = folder_open(outcome, folder, 0), file, code = -1;
  if (handle < 0)
    return -1;
  entry_name(name, key);
  file = openat(handle, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  close(handle);
  if (file < 0)
    return -1;
  if ((body = entry_read(file, key, &head, &size)) != NULL) {
    if ((code = xchg__compile_outcome_take(outcome, body, size, &head.sizes, name_count)) != 0)
      free(body);
    else
      futimens(file, NULL); /* its last use: the oldest are removed first */
  }
  close(file);
  return code;
}

/* ---- making room --------------------------------------------------------------------------------- */

typedef struct {
  char name[KEY_CHARS + sizeof SUFFIX];
  int64_t bytes;
  struct timespec used;
} kept_entry;

static int entry_order(const void *a, const void *b) {
  const struct timespec *x = &((const kept_entry *)a)->used, *y = &((const kept_entry *)b)->used;
  if (x->tv_sec != y->tv_sec)
    return x->tv_sec < y->tv_sec ? -1 : 1;
  return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

/* Removes the entries that were used longest ago, until the rest takes at most nine tenths of the limit; and what
 * writers that died have left. Files of other names are nobody's business here. */
static void folder_trim(int handle, int64_t limit) {
  kept_entry *entries = NULL;
  size_t count = 0, room = 0;
  int64_t total = 0;
  time_t now = time(NULL);
  struct dirent *found;
  int copy = openat(handle, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *files = copy < 0 ? NULL : fdopendir(copy);
  if (files == NULL) {
    if (copy >= 0)
      close(copy);
    return;
  }
  while ((found = readdir(files)) != NULL) {
    struct stat info;
    int temporary = is_temporary(found->d_name);
    if ((!temporary && !is_entry(found->d_name)) || fstatat(handle, found->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0)
      continue;
    if (temporary) {
      if (S_ISREG(info.st_mode) && info.st_mtim.tv_sec < now - FORGOTTEN)
        unlinkat(handle, found->d_name, 0);
      continue;
    }
    if (count == room) {
      kept_entry *more = realloc(entries, (room * 2 + 64) * sizeof *more);
      if (more == NULL)
        break;
      entries = more;
      room = room * 2 + 64;
    }
    memcpy(entries[count].name, found->d_name, sizeof entries[count].name);
    entries[count].bytes = (int64_t)info.st_size;
    entries[count++].used = info.st_mtim;
    total += (int64_t)info.st_size;
  }
  closedir(files);
  if (total > limit) {
    qsort(entries, count, sizeof *entries, entry_order);
    for (size_t i = 0; i < count && total > limit / 10 * 9; i++)
      if (unlinkat(handle, entries[i].name, 0) == 0)
        total -= entries[i].bytes;
  }
  free(entries);
}

/* ---- writing ------------------------------------------------------------------------------------- */

static int write_all(int file, const void *from, size_t size) {
  for (size_t done = 0; done < size;) {
    ssize_t part = write(file, (const char *)from + done, size - done);
    if (part < 0 && errno == EINTR)
      continue;
    if (part <= 0)
      return -1;
    done += (size_t)part;
  }
  return 0;
}

static size_t names_size(const xchg_compile_result *result, int32_t name_count) {
  size_t size = 0;
  for (int32_t i = 0; i < name_count; i++)
    size += strlen(result->lowered[i]) + 1;
  return size;
}

void xchg__cache_put(xchg__compile_outcome *outcome, const char *folder, int64_t limit, const char *key,
                     int32_t name_count) {
  static atomic_uint written;
  const xchg_compile_result *result = &outcome->result;
  char name[KEY_CHARS + sizeof SUFFIX], temporary[96];
  entry_head head;
  size_t size;
  int handle, file, failed;
  memset(&head, 0, sizeof head);
  memcpy(head.magic, magic, sizeof magic);
  memcpy(head.key, key, KEY_CHARS);
  head.sizes = (xchg__compile_sizes){(uint64_t)result->ptx_size, (uint64_t)result->cubin_size,
                                     (uint64_t)result->log_size, names_size(result, name_count)};
  size = head.sizes.ptx + head.sizes.cubin + head.sizes.log + 3 + head.sizes.names;
  if (size > MOST_ENTRY - sizeof head || (int64_t)(sizeof head + size) > limit)
    return;
  if ((handle = folder_open(outcome, folder, 1)) < 0)
    return;
  entry_digest(head.digest, &head, outcome->block, size);
  entry_name(name, key);
  snprintf(temporary, sizeof temporary, TEMPORARY "%ld-%u-%lx", (long)getpid(), atomic_fetch_add(&written, 1),
           (unsigned long)time(NULL));
  file = openat(handle, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0) {
    note(outcome, folder, strerror(errno));
    close(handle);
    return;
  }
  failed = write_all(file, &head, sizeof head) != 0 || write_all(file, outcome->block, size) != 0;
  if (close(file) != 0)
    failed = 1;
  if (failed || renameat(handle, temporary, handle, name) != 0) {
    note(outcome, folder, strerror(errno));
    unlinkat(handle, temporary, 0);
  } else {
    folder_trim(handle, limit);
  }
  close(handle);
}
