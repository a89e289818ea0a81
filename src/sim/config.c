/* Settings: one table of names, each with how its text is read and written back. */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "report.h"
#include "result.h"

static sim_config config = {
    .devices = 1,
    .capability = 90,
    .memory = (uint64_t)8 << 30,
    .sms = 4,
    .driver_version = 13050,
    .schedule = SIM_SCHEDULE_LAZY,
    .budget = (uint64_t)1 << 33,
};
static bool config_read;
static char config_wrong[512];

typedef struct {
  const char *name;
  const char *wanted; /* for messages */
  bool shapes;        /* fixed once the devices exist */
  bool (*read)(sim_config *out, const char *text);
  void (*write)(const sim_config *in, char *text, size_t room);
} setting;

/* ---- values ---- */

static bool read_number(const char *text, uint64_t least, uint64_t most, uint64_t *out) {
  char *end;
  if (*text < '0' || *text > '9')
    return false;
  errno = 0;
  unsigned long long value = strtoull(text, &end, 10);
  if (errno || *end || value < least || value > most)
    return false;
  *out = value;
  return true;
}

static bool read_bytes(const char *text, uint64_t least, uint64_t most, uint64_t *out) {
  char *end;
  if (*text < '0' || *text > '9')
    return false;
  errno = 0;
  unsigned long long value = strtoull(text, &end, 10);
  if (errno)
    return false;
  int shift = *end == 'K' || *end == 'k' ? 10 : *end == 'M' || *end == 'm' ? 20 : *end == 'G' || *end == 'g' ? 30 : 0;
  if (shift)
    end++;
  if (*end || value > UINT64_MAX >> shift || value << shift < least || value << shift > most)
    return false;
  *out = value << shift;
  return true;
}

/* "9.0" as 9 and 0 */
static bool read_version(const char *text, int *major, int *minor) {
  char *end;
  if (*text < '0' || *text > '9' || strlen(text) > 5)
    return false;
  *major = (int)strtol(text, &end, 10);
  if (*end != '.' || end[1] < '0' || end[1] > '9' || end[2])
    return false;
  *minor = end[1] - '0';
  return true;
}

static bool read_flag(const char *text, bool *out) {
  *out = !strcmp(text, "1");
  return *out || !strcmp(text, "0");
}

typedef struct kept kept;
struct kept {
  kept *next;
  char text[];
};

/* Takes a copy that lives as long as the process: settings change a few times at most, and others may still read the
   one before. */
static bool read_text(const char *text, const char **out) {
  static kept *all;
  size_t length = strlen(text);
  kept *copy;
  *out = NULL;
  if (!length)
    return true;
  copy = malloc(sizeof *copy + length + 1);
  if (!copy)
    return false;
  memcpy(copy->text, text, length + 1);
  copy->next = all;
  all = copy;
  *out = copy->text;
  return true;
}

static bool devices_read(sim_config *out, const char *text) {
  uint64_t value;
  if (!read_number(text, 0, SIM_DEVICES_MAX, &value))
    return false;
  out->devices = (int)value;
  return true;
}
static void devices_write(const sim_config *in, char *text, size_t room) {
  snprintf(text, room, "%d", in->devices);
}

static bool capability_read(sim_config *out, const char *text) {
  static const int known[] = {75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121};
  int major, minor;
  if (!read_version(text, &major, &minor))
    return false;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (known[i] == major * 10 + minor) {
      out->capability = known[i];
      return true;
    }
  return false;
}
static void capability_write(const sim_config *in, char *text, size_t room) {
  snprintf(text, room, "%d.%d", in->capability / 10, in->capability % 10);
}

static bool memory_read(sim_config *out, const char *text) {
  return read_bytes(text, (uint64_t)1 << 20, (uint64_t)1 << 40, &out->memory);
}
static void memory_write(const sim_config *in, char *text, size_t room) {
  snprintf(text, room, "%llu", (unsigned long long)in->memory);
}

static bool sms_read(sim_config *out, const char *text) {
  uint64_t value;
  if (!read_number(text, 1, 1024, &value))
    return false;
  out->sms = (int)value;
  return true;
}
static void sms_write(const sim_config *in, char *text, size_t room) {
  snprintf(text, room, "%d", in->sms);
}

static bool driver_read(sim_config *out, const char *text) {
  int major, minor;
  if (!read_version(text, &major, &minor) || (major != 12 && major != 13))
    return false;
  out->driver_version = major * 1000 + minor * 10;
  return true;
}
static void driver_write(const sim_config *in, char *text, size_t room) {
  snprintf(text, room, "%d.%d", in->driver_version / 1000, in->driver_version % 1000 / 10);
}

static bool schedule_read(sim_config *out, const char *text) {
  uint64_t seed = 1;
  if (!strcmp(text, "lazy"))
    out->schedule = SIM_SCHEDULE_LAZY;
  else if (!strcmp(text, "eager"))
    out->schedule = SIM_SCHEDULE_EAGER;
  else if (!strncmp(text, "random", 6) && (!text[6] || (text[6] == ':' && read_number(text + 7, 0, UINT64_MAX, &seed))))
    out->schedule = SIM_SCHEDULE_RANDOM;
  else
    return false;
  out->seed = seed;
  return true;
}
static void schedule_write(const sim_config *in, char *text, size_t room) {
  if (in->schedule == SIM_SCHEDULE_RANDOM)
    snprintf(text, room, "random:%llu", (unsigned long long)in->seed);
  else
    snprintf(text, room, "%s", in->schedule == SIM_SCHEDULE_LAZY ? "lazy" : "eager");
}

static const struct {
  const char *name;
  unsigned bits;
} checks[] = {
    {"race", SIM_CHECK_RACE},
    {"init", SIM_CHECK_INIT},
    {"stream", SIM_CHECK_STREAM},
    {"all", SIM_CHECK_ALL},
    {"none", 0},
};

static bool check_read(sim_config *out, const char *text) {
  unsigned bits = 0;
  for (const char *at = text;;) {
    size_t length = strcspn(at, ","), i = 0;
    while (i < sizeof checks / sizeof *checks &&
           (strlen(checks[i].name) != length || strncmp(checks[i].name, at, length) != 0))
      i++;
    if (i == sizeof checks / sizeof *checks)
      return false;
    bits |= checks[i].bits;
    if (!at[length])
      break;
    at += length + 1;
  }
  out->check = bits;
  return true;
}
static void check_write(const sim_config *in, char *text, size_t room) {
  snprintf(text, room, "%s%s%s", in->check & SIM_CHECK_RACE ? "race," : "", in->check & SIM_CHECK_INIT ? "init," : "",
           in->check & SIM_CHECK_STREAM ? "stream," : "");
  size_t length = strlen(text);
  if (length)
    text[length - 1] = 0;
  else
    snprintf(text, room, "none");
}

static bool fatal_read(sim_config *out, const char *text) {
  return read_flag(text, &out->fatal);
}
static void fatal_write(const sim_config *in, char *text, size_t room) {
  snprintf(text, room, "%d", in->fatal);
}

/* A file, as it is named now: the program may change its folder later. It must be one that can be written. */
static bool log_read(sim_config *out, const char *text) {
  char folder[PATH_MAX] = "", path[2 * PATH_MAX];
  if (!*text || !strcmp(text, "none"))
    return read_text(text, &out->log);
  if (*text != '/' && !getcwd(folder, sizeof folder))
    return false;
  snprintf(path, sizeof path, "%s%s%s", folder, *folder ? "/" : "", text);
  FILE *file = fopen(path, "ae");
  if (!file)
    return false;
  fclose(file);
  return read_text(path, &out->log);
}
static void log_write(const sim_config *in, char *text, size_t room) {
  snprintf(text, room, "%s", in->log ? in->log : "");
}

static bool trace_read(sim_config *out, const char *text) {
  return read_text(text, &out->trace);
}
static void trace_write(const sim_config *in, char *text, size_t room) {
  snprintf(text, room, "%s", in->trace ? in->trace : "");
}

static bool fail_read(sim_config *out, const char *text) {
  return read_text(text, &out->fail);
}
static void fail_write(const sim_config *in, char *text, size_t room) {
  snprintf(text, room, "%s", in->fail ? in->fail : "");
}

static bool budget_read(sim_config *out, const char *text) {
  return read_bytes(text, 1, UINT64_MAX >> 1, &out->budget);
}
static void budget_write(const sim_config *in, char *text, size_t room) {
  snprintf(text, room, "%llu", (unsigned long long)in->budget);
}

static bool slow_read(sim_config *out, const char *text) {
  return read_bytes(text, 0, UINT64_MAX >> 1, &out->slow);
}
static void slow_write(const sim_config *in, char *text, size_t room) {
  snprintf(text, room, "%llu", (unsigned long long)in->slow);
}

static bool isa_read(sim_config *out, const char *text) {
  if (*text && strcmp(text, "base") && strcmp(text, "v3") && strcmp(text, "v4"))
    return false;
  return read_text(text, &out->isa);
}
static void isa_write(const sim_config *in, char *text, size_t room) {
  snprintf(text, room, "%s", in->isa ? in->isa : "");
}

/* ---- the table ---- */

static const setting settings[] = {
    {"DEVICES", "a number of devices from 0 to 8", true, devices_read, devices_write},
    {"CC", "a compute capability: 7.5 8.0 8.6 8.7 8.8 8.9 9.0 10.0 10.3 11.0 12.0 or 12.1", true, capability_read,
     capability_write},
    {"MEMORY", "bytes of one device, from 1M to 1024G, with K, M or G behind the number", true, memory_read,
     memory_write},
    {"SMS", "a number of multiprocessors from 1 to 1024", true, sms_read, sms_write},
    {"DRIVER", "a CUDA version from 12.0 to 13.9", true, driver_read, driver_write},
    {"SCHEDULE", "lazy, eager, random or random:SEED", false, schedule_read, schedule_write},
    {"CHECK", "a list with commas of race, init, stream, all and none", false, check_read, check_write},
    {"FATAL", "1 or 0", false, fatal_read, fatal_write},
    {"LOG", "a file that can be written, or none", false, log_read, log_write},
    {"TRACE", "a file", false, trace_read, trace_write},
    {"FAIL", "rules like cudaMalloc:3:2", false, fail_read, fail_write},
    {"BUDGET", "warp instructions of one launch, with K, M or G behind the number", false, budget_read, budget_write},
    {"SLOW", "bytes that a copy moves in a millisecond, with K, M or G behind the number; 0: full speed", false,
     slow_read, slow_write},
    {"ISA", "base, v3 or v4", true, isa_read, isa_write},
};

static const setting *setting_find(const char *name) {
  for (size_t i = 0; name && i < sizeof settings / sizeof *settings; i++)
    if (!strcasecmp(settings[i].name, name))
      return &settings[i];
  return NULL;
}

/* A variable whose name only looks like ours: what it was to switch on would silently be off. */
static bool variable_unknown(const char *variable) {
  static const char ours[] = "XCHG_SIM_";
  if (strncmp(variable, ours, sizeof ours - 1) != 0)
    return false;
  const char *name = variable + sizeof ours - 1;
  size_t length = strcspn(name, "=");
  bool known = length == 3 && !strncmp(name, "DIR", 3); /* the command's: where its links are */
  for (size_t i = 0; !known && i < sizeof settings / sizeof *settings; i++)
    known = !strncmp(settings[i].name, name, length) && !settings[i].name[length];
  return !known;
}

const sim_config *sim_config_get(void) {
  if (config_read)
    return &config;
  config_read = true; /* before the first report, which asks for the log's name */
  char wrong[512] = "";
  for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
    char name[32];
    snprintf(name, sizeof name, "XCHG_SIM_%s", settings[i].name);
    const char *text = getenv(name);
    if (text && *text && !settings[i].read(&config, text) && !wrong[0])
      snprintf(wrong, sizeof wrong, "%s=%.100s: it must be %s", name, text, settings[i].wanted);
  }
  for (char **each = environ; each && *each && !wrong[0]; each++)
    if (variable_unknown(*each))
      snprintf(wrong, sizeof wrong, "%.100s: no such setting; docs/simulator.md lists them", *each);
  if (wrong[0]) {
    memcpy(config_wrong, wrong, sizeof wrong);
    sim_report(SIM_REPORT_CONFIG, "%s", config_wrong);
  }
  return &config;
}

const char *sim_config_error(void) {
  sim_config_get();
  return config_wrong[0] ? config_wrong : NULL;
}

int sim_config_set(const char *name, const char *value, bool started, char *text, size_t room) {
  sim_config_get();
  const setting *found = setting_find(name);
  if (!found) {
    snprintf(text, room, "%.40s: no such setting; those of docs/simulator.md without XCHG_SIM_",
             name ? name : "(null)");
    return SIM_INVALID_VALUE;
  }
  if (found->shapes && started) {
    snprintf(text, room, "%s: the devices exist already; set it before the first CUDA call", found->name);
    return SIM_ILLEGAL_STATE;
  }
  if (!value || !found->read(&config, value)) {
    snprintf(text, room, "%s=%.100s: it must be %s", found->name, value ? value : "(null)", found->wanted);
    return SIM_INVALID_VALUE;
  }
  return SIM_SUCCESS;
}

bool sim_config_describe(const char *name, char *text, size_t room) {
  sim_config_get();
  const setting *found = setting_find(name);
  if (found)
    found->write(&config, text, room);
  return found != NULL;
}
