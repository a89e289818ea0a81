/* Rules of XCHG_SIM_FAIL. */
#include "fault.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "call.h"
#include "config.h"
#include "result.h"

enum { RULES = 64 };

typedef struct {
  char name[64];
  bool every, sized;
  uint64_t nth; /* counts down; `sized`: fails above so many bytes */
  int code;
} rule;

static rule rules[RULES];
static unsigned rule_count;
static uint64_t lost_launch; /* 0: none */

static bool read_count(const char *text, const char *end, uint64_t *out) {
  char *stop;
  if (text == end || *text < '0' || *text > '9')
    return false;
  errno = 0;
  *out = strtoull(text, &stop, 10);
  if (errno)
    return false;
  int shift = *stop == 'K' ? 10 : *stop == 'M' ? 20 : *stop == 'G' ? 30 : 0;
  if (shift)
    stop++;
  if (stop != end || *out > UINT64_MAX >> shift)
    return false;
  *out <<= shift;
  return true;
}

/* One rule in [text, end). */
static bool rule_read(rule *out, const char *text, const char *end, uint64_t *lost) {
  const char *name_end = memchr(text, ':', (size_t)(end - text));
  if (!name_end || name_end == text || (size_t)(name_end - text) >= sizeof out->name)
    return false;
  *out = (rule){0};
  memcpy(out->name, text, (size_t)(name_end - text));
  const char *nth = name_end + 1;
  if (!strcmp(out->name, "lost"))
    return read_count(nth, end, lost) && *lost > 0;
  const char *nth_end = memchr(nth, ':', (size_t)(end - nth));
  if (!nth_end)
    return false;
  out->name[sim_call_name(out->name, strlen(out->name))] = 0; /* versions and twins fail alike */
  out->every = nth_end - nth == 1 && *nth == '*';
  out->sized = nth < nth_end && *nth == '>';
  if (!out->every && !read_count(nth + out->sized, nth_end, &out->nth))
    return false;
  if (!out->every && !out->sized && !out->nth)
    return false;
  uint64_t code;
  if (!read_count(nth_end + 1, end, &code) || !code || code > 100000 || !sim_result_text((int)code))
    return false;
  out->code = (int)code;
  return true;
}

int sim_fault_add(const char *text, char *message, unsigned room) {
  rule read[RULES];
  unsigned count = 0;
  uint64_t lost = 0;
  for (const char *at = text; *at;) {
    size_t length = strcspn(at, ",");
    if (rule_count + count == RULES) {
      snprintf(message, room, "FAIL: more than %d rules", RULES);
      return SIM_INVALID_VALUE;
    }
    bool is_lost = !strncmp(at, "lost:", 5);
    size_t name = strcspn(at, ":,");
    if (!is_lost && at[name] == ':' && name && !sim_call_name(at, name)) {
      snprintf(message, room, "FAIL=%.*s: there is no function %.*s in the CUDA runtime or driver API",
               (int)(length > 100 ? 100 : length), at, (int)(name > 60 ? 60 : name), at);
      return SIM_INVALID_VALUE;
    }
    if (!rule_read(&read[count], at, at + length, &lost)) {
      snprintf(
          message, room,
          "FAIL=%.*s: a rule is NAME:nth:code (nth: a number from 1, * for every call, >BYTES for allocations above a "
          "size), or lost:n for the n-th launch; code is an error number of CUDA",
          (int)(length > 100 ? 100 : length), at);
      return SIM_INVALID_VALUE;
    }
    count += !is_lost;
    at += length + (at[length] == ',');
  }
  memcpy(rules + rule_count, read, count * sizeof *rules);
  rule_count += count;
  if (lost)
    lost_launch = lost;
  return SIM_SUCCESS;
}

void sim_fault_clear(void) {
  rule_count = 0;
  lost_launch = 0;
}

int sim_fault_call(const char *name) {
  int code = SIM_SUCCESS;
  for (unsigned i = 0; i < rule_count; i++) {
    rule *each = &rules[i];
    if (each->sized || strcmp(each->name, name) != 0)
      continue;
    if (each->every || (each->nth && --each->nth == 0))
      code = code ? code : each->code;
  }
  return code;
}

int sim_fault_size(const char *name, uint64_t bytes) {
  for (unsigned i = 0; i < rule_count; i++)
    if (rules[i].sized && bytes > rules[i].nth && !strcmp(rules[i].name, name))
      return rules[i].code;
  return SIM_SUCCESS;
}

bool sim_fault_launch(void) {
  return lost_launch && --lost_launch == 0;
}

void sim_fault_slow(uint64_t bytes) {
  uint64_t rate = sim_config_get()->slow;
  if (!rate)
    return;
  uint64_t nanoseconds = (uint64_t)((double)bytes / (double)rate * 1e6);
  struct timespec rest = {(time_t)(nanoseconds / 1000000000), (long)(nanoseconds % 1000000000)};
  while (nanosleep(&rest, &rest) && errno == EINTR)
    ;
}
