/* Writes operations as they end. A JSON file is whole after each of them: the closing bracket is written over. */
#include "trace.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "result.h"

static FILE *file;
static bool json, first;
static uint64_t start;

uint64_t sim_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

bool sim_trace_on(void) {
  return file != NULL;
}

int sim_trace_open(const char *path) {
  if (file)
    fclose(file);
  file = NULL;
  if (!path)
    return SIM_SUCCESS;
  file = fopen(path, "we");
  if (!file)
    return SIM_OPERATING_SYSTEM;
  size_t length = strlen(path);
  json = length > 5 && !strcmp(path + length - 5, ".json");
  first = true;
  start = sim_now();
  if (json)
    fputs("[\n]\n", file);
  fflush(file);
  return SIM_SUCCESS;
}

static void json_string(const char *text) {
  for (; *text; text++)
    if (*text == '"' || *text == '\\')
      fprintf(file, "\\%c", *text);
    else if ((unsigned char)*text < ' ')
      fprintf(file, "\\u%04x", (unsigned)(unsigned char)*text);
    else
      fputc(*text, file);
}

void sim_trace_operation(const sim_stream *stream, const sim_work *work, uint64_t enqueued, uint64_t begin,
                         uint64_t end, int result) {
  if (!file)
    return;
  /* The file may have been opened between. */
  enqueued = enqueued < start ? start : enqueued;
  begin = begin < enqueued ? enqueued : begin;
  end = end < begin ? begin : end;
  char what[512], where[64];
  sim_work_describe(work, what, sizeof what);
  sim_stream_describe(stream, where, sizeof where);
  double at = (double)(begin - start) / 1e3, took = (double)(end - begin) / 1e3;
  if (!json) {
    fprintf(file, "%12.3f us  device %d  %-18s %s", at, work->device, where, what);
    fprintf(file, "  (%.3f us, waited %.3f us)", took, (double)(begin - enqueued) / 1e3);
    if (result)
      fprintf(file, "  failed: %d", result);
    fputc('\n', file);
  } else {
    fseek(file, -2, SEEK_END); /* before "]\n" */
    if (!first)
      fseek(file, -1, SEEK_CUR), fputs(",\n", file);
    fputs("{\"ph\": \"X\", \"name\": \"", file);
    json_string(what);
    fprintf(file, "\", \"cat\": \"%s\", \"pid\": \"device %d\", \"tid\": \"", result ? "failed" : "operation",
            work->device);
    json_string(where);
    fprintf(file,
            "\", \"ts\": %.3f, \"dur\": %.3f, \"args\": {\"call\": \"%s\", \"waited_us\": %.3f, \"result\": %d}}\n]\n",
            at, took, work->call ? work->call : "", (double)(begin - enqueued) / 1e3, result);
    first = false;
  }
  fflush(file);
}
