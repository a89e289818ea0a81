/* Logs and files of code that is loaded or linked. */
#include "jit.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "result.h"

/* CUjit_option, cudaJitOption */
enum { INFO_LOG = 3, INFO_LOG_SIZE = 4, ERROR_LOG = 5, ERROR_LOG_SIZE = 6 };
enum { FILE_MOST = 16 << 20 };

static void **option_find(const int *options, void *const *values, unsigned count, int wanted) {
  for (unsigned i = 0; i < count; i++)
    if (options[i] == wanted)
      return (void **)(uintptr_t)&values[i];
  return NULL;
}

static void log_write(const int *options, void *const *values, unsigned count, int buffer_option, int size_option,
                      const char *text) {
  void **buffer = option_find(options, values, count, buffer_option),
       **size = option_find(options, values, count, size_option);
  if (!size)
    return;
  size_t room = (unsigned)(uintptr_t)*size, length = 0;
  if (buffer && *buffer && room) {
    length = strnlen(text, room - 1);
    memcpy(*buffer, text, length);
    ((char *)*buffer)[length] = 0;
  }
  *size = (void *)(uintptr_t)length;
}

void sim_jit_answer(const int *options, void *const *values, unsigned count, const ptx_log *log, int result) {
  log_write(options, values, count, ERROR_LOG, ERROR_LOG_SIZE, result ? log->text : "");
  log_write(options, values, count, INFO_LOG, INFO_LOG_SIZE, result ? "" : log->text);
}

/* All bytes of an open file: what it has grown by since it was measured is left out. */
static int file_read(int file, size_t size, char **out, size_t *length) {
  char *bytes = malloc(size + 1);
  if (!bytes)
    return SIM_OUT_OF_MEMORY;
  size_t have = 0;
  for (ssize_t got = 1; got > 0 && have < size; have += got > 0 ? (size_t)got : 0)
    got = read(file, bytes + have, size - have);
  bytes[have] = 0;
  *out = bytes;
  *length = have;
  return SIM_SUCCESS;
}

int sim_jit_read_file(const char *path, char **out, size_t *length) {
  struct stat facts;
  /* The lock is held: opening a pipe must not wait for its other end. */
  int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0)
    return SIM_FILE_NOT_FOUND;
  int result = SIM_FILE_NOT_FOUND;
  if (!fstat(file, &facts) && S_ISREG(facts.st_mode))
    result = facts.st_size > 0 && facts.st_size <= FILE_MOST ? file_read(file, (size_t)facts.st_size, out, length)
                                                             : SIM_INVALID_IMAGE;
  close(file);
  return result;
}
