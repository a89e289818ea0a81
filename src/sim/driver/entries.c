/* Which function a name and a version mean. In a file of its own: here every function has the same wrong type. */
#include "front.h"

#include <stdbool.h>
#include <string.h>

#include "../config.h"

enum { PLAIN, PTDS, PTSZ };

#define X(family, version, symbol, twin) int symbol(void);
#include "table.h"
#undef X

typedef struct {
  const char *name;
  int version;
  int twin;
  int (*function)(void);
} entry;

/* In the order of names, then of versions, plain ones first. */
static const entry entries[] = {
#define X(family, version, symbol, twin) {#family, version, twin, symbol},
#include "table.h"
#undef X
};
enum { ENTRIES = sizeof entries / sizeof *entries };

static size_t entry_first(const char *name) {
  size_t low = 0, high = ENTRIES;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (strcmp(entries[middle].name, name) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

int sim_driver_lookup(const char *name, unsigned version, uint64_t flags, void **out, int *status) {
  const entry *best = NULL, *twin = NULL;
  bool later = false;
  /* Newer functions than the driver that this claims to be are not there. */
  unsigned newest = (unsigned)sim_config_get()->driver_version;
  for (size_t i = entry_first(name); i < ENTRIES && !strcmp(entries[i].name, name); i++) {
    if ((unsigned)entries[i].version > newest)
      continue;
    if ((unsigned)entries[i].version > version)
      later = true;
    else if (entries[i].twin == PLAIN)
      best = &entries[i];
    else
      twin = &entries[i];
  }
  if (best && twin && flags & 2)
    best = twin;
  *out = NULL;
  if (best)
    memcpy(out, &best->function, sizeof *out);
  *status = best ? 0 : later ? 2 : 1;
  return best ? SIM_SUCCESS : SIM_NOT_FOUND;
}
