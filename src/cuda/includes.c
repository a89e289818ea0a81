/* Which files a source may include.
 *
 * NVRTC does not tell, so the texts are looked through for every name that follows the word "include", in comments and
 * in branches that are not taken too: a file too many costs a compilation, one too few a wrong program. Where a name
 * comes out of a macro nobody can know, and such a program is not kept. */
#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cuda/compile.h"

enum { PATH_BYTES = 4096, MOST_FILES = 4096, MOST_BYTES = 64 << 20 };

typedef struct {
  char *path; /* NULL for what was given as text */
  char *text; /* without line continuations */
  size_t size;
  const char *name; /* by which its folder is known */
} source_file;

typedef struct {
  const xchg_compile_request *request;
  xchg__sha256 *digest;
  source_file *files;
  int count, room, given; /* the first `given` are no files */
  size_t bytes;
  char *why;
  size_t why_room;
  int failed;
} scan;

static void give_up(scan *s, const char *reason, const char *subject) {
  if (!s->failed)
    snprintf(s->why, s->why_room, "%s%.150s", reason, subject);
  s->failed = 1;
}

/* Lines that end in a backslash go on in the next one, which may part a word. In place. */
static size_t lines_join(char *text, size_t size) {
  size_t to = 0;
  for (size_t from = 0; from < size; from++) {
    size_t over = 0;
    if (text[from] == '\\')
      over = from + 1;
    else if (text[from] == '?' && size - from >= 3 && memcmp(text + from, "?\?/", 3) == 0)
      over = from + 3;
    if (over > 0) {
      while (over < size && (text[over] == ' ' || text[over] == '\t' || text[over] == '\r'))
        over++;
      if (over < size && text[over] == '\n') {
        from = over;
        continue;
      }
    }
    text[to++] = text[from];
  }
  return to;
}

/* Takes `text` (new) over. */
static void file_add(scan *s, char *path, char *text, size_t size, const char *name) {
  if (s->count == s->room) {
    int room = s->room * 2 + 16;
    source_file *more = realloc(s->files, (size_t)room * sizeof *more);
    if (more == NULL) {
      give_up(s, "there is no memory to look for included files", "");
      free(path);
      free(text);
      return;
    }
    s->files = more;
    s->room = room;
  }
  s->files[s->count++] = (source_file){path, text, lines_join(text, size), name != NULL ? name : path};
}

static void given_add(scan *s, const char *name, const char *text) {
  char *copy = strdup(text);
  if (copy == NULL)
    give_up(s, "there is no memory to look for included files", "");
  else
    file_add(s, NULL, copy, strlen(text), name);
}

static int is_known(const scan *s, const char *path) {
  for (int i = s->given; i < s->count; i++)
    if (strcmp(s->files[i].path, path) == 0)
      return 1;
  return 0;
}

/* A file that may be meant, if it is there. */
static void candidate_add(scan *s, const char *path) {
  struct stat info;
  char *text = NULL, *own = NULL;
  size_t size = 0;
  int file;
  if (s->failed || is_known(s, path) || (file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)) < 0)
    return;
  if (fstat(file, &info) != 0 || S_ISDIR(info.st_mode)) {
    close(file);
    return;
  }
  if (!S_ISREG(info.st_mode) || info.st_size > MOST_BYTES - (off_t)s->bytes || s->count - s->given >= MOST_FILES) {
    give_up(s, S_ISREG(info.st_mode) ? "it includes too much: " : "it may include what is no file: ", path);
    close(file);
    return;
  }
  text = malloc((size_t)info.st_size + 1);
  own = strdup(path);
  while (text != NULL && size < (size_t)info.st_size) {
    ssize_t part = read(file, text + size, (size_t)info.st_size - size);
    if (part <= 0)
      break;
    size += (size_t)part;
  }
  close(file);
  if (text == NULL || own == NULL || size != (size_t)info.st_size) {
    give_up(s, "it may include a file that could not be read: ", path);
    free(text);
    free(own);
    return;
  }
  s->bytes += size;
  xchg__sha256_add(s->digest, path, strlen(path) + 1);
  xchg__sha256_add(s->digest, &size, sizeof size);
  xchg__sha256_add(s->digest, text, size);
  file_add(s, own, text, size, NULL);
}

/* Beside the file that includes it, and in each of the user's folders. */
static void name_follow(scan *s, const char *includer, const char *name, size_t length) {
  char path[2 * PATH_BYTES];
  const char *slash = strrchr(includer, '/');
  if (length == 0 || length >= PATH_BYTES || strlen(includer) >= PATH_BYTES)
    return;
  if (name[0] == '/') {
    snprintf(path, sizeof path, "%.*s", (int)length, name);
    candidate_add(s, path);
    return;
  }
  snprintf(path, sizeof path, "%.*s%.*s", slash != NULL ? (int)(slash - includer) + 1 : 0, includer, (int)length, name);
  candidate_add(s, path);
  for (int32_t i = 0; i < s->request->folder_count; i++)
    if (strlen(s->request->folders[i]) < PATH_BYTES) {
      snprintf(path, sizeof path, "%s/%.*s", s->request->folders[i], (int)length, name);
      candidate_add(s, path);
    }
}

/* Behind blanks and comments. */
static size_t blanks_skip(const char *text, size_t size, size_t at) {
  while (at < size) {
    if (text[at] == ' ' || text[at] == '\t' || text[at] == '\v' || text[at] == '\f') {
      at++;
    } else if (size - at >= 2 && text[at] == '/' && text[at + 1] == '*') {
      const char *end = memmem(text + at + 2, size - at - 2, "*/", 2);
      if (end == NULL)
        return size;
      at = (size_t)(end - text) + 2;
    } else {
      break;
    }
  }
  return at;
}

/* Whether what stands before makes the word at `at` a directive, or may. */
static int is_directive(const char *text, size_t at) {
  while (at > 0 && (text[at - 1] == ' ' || text[at - 1] == '\t' || text[at - 1] == '\v' || text[at - 1] == '\f'))
    at--;
  return at > 0 && (text[at - 1] == '#' || text[at - 1] == ':' || text[at - 1] == '=' ||
                    (at > 1 && text[at - 1] == '/' && text[at - 2] == '*'));
}

static int word_is(const char *word, size_t length, const char *const *words) {
  for (; *words != NULL; words++)
    if (strlen(*words) == length && memcmp(word, *words, length) == 0)
      return 1;
  return 0;
}

/* What a word of the text means for us; `at` stands behind it. */
static void word_read(scan *s, const char *includer, const char *text, size_t size, size_t start, size_t at) {
  static const char *const times[] = {"__DATE__", "__TIME__", "__TIMESTAMP__", NULL};
  static const char *const directives[] = {"include", "include_next", "import", "embed", NULL};
  static const char *const questions[] = {"__has_include", "__has_include_next", "__has_embed", NULL};
  size_t length = at - start, name;
  int question = 0;
  if (word_is(text + start, length, times)) {
    give_up(s, "it contains a time: ", "__DATE__, __TIME__ or __TIMESTAMP__");
    return;
  }
  if (!word_is(text + start, length, directives) && !(question = word_is(text + start, length, questions)))
    return;
  name = blanks_skip(text, size, at);
  if (question && name < size && text[name] == '(')
    name = blanks_skip(text, size, name + 1);
  if (name < size && (text[name] == '<' || text[name] == '"')) {
    char close = text[name] == '<' ? '>' : '"';
    size_t end = name + 1;
    while (end < size && text[end] != close && text[end] != '\n')
      end++;
    if (end < size && text[end] == close) {
      name_follow(s, includer, text + name + 1, end - name - 1);
      return;
    }
  }
  if (question ? name < size && (isalpha((unsigned char)text[name]) || text[name] == '_') : is_directive(text, start))
    give_up(s, "it includes a file whose name a macro gives", "");
}

static void file_scan(scan *s, int index) {
  /* The list moves as it grows, the texts do not. */
  const source_file file = s->files[index];
  const char *text = file.text;
  for (size_t at = 0; at < file.size && !s->failed;) {
    size_t start = at;
    if (!isalpha((unsigned char)text[at]) && text[at] != '_') {
      at++;
      continue;
    }
    while (at < file.size && (isalnum((unsigned char)text[at]) || text[at] == '_'))
      at++;
    word_read(s, file.name, text, file.size, start, at);
  }
}

int xchg__includes_digest(xchg__sha256 *digest, const xchg_compile_request *request, char *why, size_t room) {
  scan s = {.request = request, .digest = digest, .why = why, .why_room = room};
  given_add(&s, request->name, request->source);
  for (int32_t i = 0; i < request->header_count; i++)
    given_add(&s, request->header_names[i], request->header_texts[i]);
  s.given = s.count;
  for (int i = 0; i < s.count && !s.failed; i++)
    file_scan(&s, i);
  for (int i = 0; i < s.count; i++) {
    free(s.files[i].path);
    free(s.files[i].text);
  }
  free(s.files);
  return s.failed ? -1 : s.count - s.given;
}
