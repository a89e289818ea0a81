/* Logs of loading and linking. */
#include "jit.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../result.h"

/* CUjit_option */
enum { INFO_LOG = 3, INFO_LOG_SIZE = 4, ERROR_LOG = 5, ERROR_LOG_SIZE = 6 };

static void **option_find(const int *options, void *const *values, unsigned count, int wanted) {
  for (unsigned i = 0; i < count; i++)
    if (options[i] == wanted)
      return (void **)(uintptr_t)&values[i];
  return NULL;
}

/* The driver writes how much it wrote in the place of the size. */
static void log_write(const int *options, void *const *values, unsigned count, int buffer_option, int size_option,
                      const char *text) {
  void **buffer = option_find(options, values, count, buffer_option),
       **size = option_find(options, values, count, size_option);
  if (!size)
    return;
  size_t room = (unsigned)(uintptr_t)*size, length = strlen(text) + 1;
  if (buffer && *buffer && room) {
    length = length < room ? length : room;
    memcpy(*buffer, text, length - 1);
    ((char *)*buffer)[length - 1] = 0;
  } else {
    length = 0;
  }
  *size = (void *)(uintptr_t)length;
}

void sim_jit_answer(const int *options, void *const *values, unsigned count, const ptx_log *log, int result) {
  log_write(options, values, count, ERROR_LOG, ERROR_LOG_SIZE, result ? log->text : "");
  log_write(options, values, count, INFO_LOG, INFO_LOG_SIZE, result ? "" : log->text);
}

int sim_jit_read_file(const char *path, char **out, size_t *length) {
  enum { LIMIT = 16 << 20 };
  FILE *file = fopen(path, "rbe");
  if (!file)
    return SIM_FILE_NOT_FOUND;
  char *bytes = malloc(LIMIT + 1);
  if (!bytes) {
    fclose(file);
    return SIM_OUT_OF_MEMORY;
  }
  *length = fread(bytes, 1, LIMIT + 1, file);
  int result = ferror(file) ? SIM_FILE_NOT_FOUND : *length > LIMIT ? SIM_INVALID_IMAGE : SIM_SUCCESS;
  fclose(file);
  if (result) {
    free(bytes);
    return result;
  }
  bytes[*length] = 0;
  *out = bytes;
  return SIM_SUCCESS;
}
