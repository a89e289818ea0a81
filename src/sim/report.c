/* Keeps and prints reports. */
#include "report.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "result.h"

enum { KEPT = 10000, BUCKETS = 4096 };

typedef struct report {
  sim_report_kind kind;
  uint64_t times;
  uint32_t hash;
  struct report *same; /* in the bucket */
  char text[];
} report;

static report **kept;
static size_t kept_count, kept_room;
static report *buckets[BUCKETS];
static uint64_t counts[SIM_REPORT_KINDS];

static const char *const names[SIM_REPORT_KINDS] = {"fault", "race", "init",   "stream",
                                                    "load",  "stub", "config", "note"};

const char *sim_report_kind_name(sim_report_kind kind) {
  return kind < SIM_REPORT_KINDS ? names[kind] : "?";
}

static void report_print(const char *text) {
  const char *log = sim_config_get()->log;
  if (log && !strcmp(log, "none"))
    return;
  FILE *file = log ? fopen(log, "ae") : stderr;
  if (!file)
    file = stderr;
  fprintf(file, "xchg sim: %s\n", text);
  if (file == stderr)
    fflush(file);
  else
    fclose(file);
}

static report *report_find(sim_report_kind kind, const char *text, uint32_t *hash) {
  uint32_t h = 2166136261u ^ (uint32_t)kind;
  for (const char *at = text; *at; at++)
    h = (h ^ (uint8_t)*at) * 16777619u;
  *hash = h;
  for (report *each = buckets[h % BUCKETS]; each; each = each->same)
    if (each->hash == h && each->kind == kind && !strcmp(each->text, text))
      return each;
  return NULL;
}

/* Without memory the report is only printed. */
static void report_keep(sim_report_kind kind, const char *text, uint32_t hash) {
  if (kept_count == kept_room) {
    size_t room = kept_room ? 2 * kept_room : 64;
    report **grown = realloc(kept, room * sizeof *grown);
    if (!grown)
      return;
    kept = grown;
    kept_room = room;
  }
  size_t size = strlen(text) + 1;
  report *made = malloc(sizeof *made + size);
  if (!made)
    return;
  *made = (report){.kind = kind, .times = 1, .hash = hash, .same = buckets[hash % BUCKETS]};
  memcpy(made->text, text, size);
  buckets[hash % BUCKETS] = made;
  kept[kept_count++] = made;
}

int sim_report(sim_report_kind kind, const char *format, ...) {
  char text[2048];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);

  uint32_t hash;
  report *known = report_find(kind, text, &hash);
  if (known) {
    known->times++;
  } else {
    if (kept_count < KEPT)
      report_keep(kind, text, hash);
    /* A checker that finds the same fault at every address must not fill the disk. */
    if (counts[kind] < KEPT)
      report_print(text);
    else if (counts[kind] == KEPT)
      report_print("more of the same kind is only counted");
  }
  counts[kind]++;
  bool finding = kind == SIM_REPORT_RACE || kind == SIM_REPORT_INIT || kind == SIM_REPORT_STREAM;
  return finding && sim_config_get()->fatal ? SIM_LAUNCH_FAILED : SIM_SUCCESS;
}

uint64_t sim_report_count(sim_report_kind kind) {
  return kind < SIM_REPORT_KINDS ? counts[kind] : 0;
}

const char *sim_report_text(size_t index, sim_report_kind *kind, uint64_t *times) {
  if (index >= kept_count)
    return NULL;
  if (kind)
    *kind = kept[index]->kind;
  if (times)
    *times = kept[index]->times;
  return kept[index]->text;
}

void sim_report_clear(void) {
  for (size_t i = 0; i < kept_count; i++)
    free(kept[i]);
  free(kept);
  kept = NULL;
  kept_count = kept_room = 0;
  memset(buckets, 0, sizeof buckets);
  memset(counts, 0, sizeof counts);
}
