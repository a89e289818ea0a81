/* printf in kernels. The format language is that of the CUDA programming guide:
   %[flags][width][.precision][size]type, with the values one behind the other, each aligned to its size. */
#include "builtin.h"

#include <stdio.h>
#include <string.h>

#include "../machine/machine.h"
#include "../report.h"

enum { FIELD_MOST = 4096 };

typedef struct {
  sim_warp *warp;
  int lane;
  uint64_t values; /* address */
  uint64_t offset;
  int count;
  uint64_t written; /* bytes */
  char *error;
  size_t room;
} reader;

static void write_count(reader *values, int bytes) {
  values->written += bytes > 0 ? (uint64_t)bytes : 0;
}

static bool read_value(reader *values, uint64_t size, void *out) {
  values->offset = (values->offset + size - 1) / size * size;
  const uint8_t *bytes =
      sim_builtin_read(values->warp, values->lane, values->values + values->offset, size, values->error, values->room);
  if (bytes == NULL)
    return false;
  memcpy(out, bytes, size);
  values->offset += size;
  values->count++;
  return true;
}

/* A width or precision: digits, or `*`. */
static bool read_field(reader *values, const char **at, int *out) {
  if (**at == '*') {
    (*at)++;
    int32_t value;
    if (!read_value(values, 4, &value))
      return false;
    *out = value > FIELD_MOST ? FIELD_MOST : value < -FIELD_MOST ? -FIELD_MOST : value;
    return true;
  }
  int value = 0;
  for (; **at >= '0' && **at <= '9'; (*at)++)
    value = value < FIELD_MOST ? value * 10 + (**at - '0') : value;
  *out = value > FIELD_MOST ? FIELD_MOST : value;
  return true;
}

typedef struct {
  char flags[8];
  int width, precision; /* precision -1: none */
  int size;             /* 0, 1: h, 2: hh, 3: l, 4: ll */
} field;

/* "%" and flags, with both numbers to come as arguments. */
static void field_format(const field *f, const char *type, char *out, size_t room) {
  snprintf(out, room, "%%%s*.*%s", f->flags, type);
}

static bool print_text(reader *values, const field *f) {
  uint64_t address;
  const char *text = "(null)";
  if (!read_value(values, 8, &address))
    return false;
  if (address && sim_builtin_text(values->warp, values->lane, address, &text, values->error, values->room) < 0)
    return false;
  char format[32];
  field_format(f, "s", format, sizeof format);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  write_count(values, printf(format, f->width, f->precision, text));
  return true;
}

static bool print_number(reader *values, const field *f, char type) {
  char format[32], end[4] = {type, 0};
  if (strchr("eEfFgGaA", type)) {
    double value;
    if (!read_value(values, 8, &value))
      return false;
    field_format(f, end, format, sizeof format);
    write_count(values, printf(format, f->width, f->precision, value));
    return true;
  }
  uint64_t value = 0;
  bool wide = f->size >= 3 || type == 'p';
  if (!read_value(values, wide ? 8 : 4, &value))
    return false;
  if (type == 'c') {
    snprintf(format, sizeof format, "%%%s*c", f->flags);
    write_count(values, printf(format, f->width, (int)value));
    return true;
  }
  if (type == 'p') {
    snprintf(format, sizeof format, "%%%s*p", f->flags);
    write_count(values, printf(format, f->width, (void *)(uintptr_t)value));
    return true;
  }
  if (!wide)
    value = f->size == 1 ? (uint64_t)(int16_t)value : f->size == 2 ? (uint64_t)(int8_t)value : (uint64_t)(int32_t)value;
  if (type != 'd' && type != 'i' && !wide)
    value &= f->size == 1 ? 0xffff : f->size == 2 ? 0xff : 0xffffffff;
  snprintf(end, sizeof end, "ll%c", type);
  field_format(f, end, format, sizeof format);
  write_count(values, printf(format, f->width, f->precision, (long long)value));
  return true;
}
#pragma GCC diagnostic pop

/* One specification, behind its `%`. *at moves behind it. */
static bool print_field(reader *values, const char **at) {
  const char *begin = *at;
  field f = {.precision = -1};
  size_t flags = 0;
  for (; **at && strchr("#0 +-", **at); (*at)++)
    if (flags < 5 && !memchr(f.flags, **at, flags))
      f.flags[flags++] = **at;
  if (!read_field(values, at, &f.width))
    return false;
  if (**at == '.') {
    (*at)++;
    if (!read_field(values, at, &f.precision))
      return false;
  }
  for (; **at == 'h' || **at == 'l'; (*at)++)
    f.size = **at == 'h' ? (f.size == 1 ? 2 : 1) : (f.size == 3 ? 4 : 3);
  char type = **at;
  if (type == '\0') {
    write_count(values, printf("%%%s", begin));
    return true;
  }
  (*at)++;
  if (type == '%')
    write_count(values, printf("%%"));
  else if (type == 's')
    return print_text(values, &f);
  else if (strchr("diouxXceEfFgGaAp", type))
    return print_number(values, &f, type);
  else
    write_count(values, printf("%%%.*s", (int)(*at - begin), begin)); /* no type of the language: as it stands */
  return true;
}

static bool print_lane(reader *values, const char *format) {
  while (*format) {
    const char *percent = strchr(format, '%');
    if (percent == NULL) {
      write_count(values, printf("%s", format));
      break;
    }
    write_count(values, (int)fwrite(format, 1, (size_t)(percent - format), stdout));
    format = percent + 1;
    if (!print_field(values, &format))
      return false;
  }
  return true;
}

/* Hardware keeps what fits into its buffer until somebody waits, and loses the oldest. Nothing is lost here. */
static void printed_add(sim_warp *warp, uint64_t bytes) {
  sim_machine *machine = sim_machine_of(warp);
  uint64_t limit = warp->grid->context->limits[1], before = machine->printed;
  machine->printed += bytes;
  if (before <= limit && machine->printed > limit)
    sim_report(
        SIM_REPORT_NOTE,
        "printf: %s has printed more than the %llu bytes of cudaLimitPrintfFifoSize in one launch: hardware loses the "
        "oldest lines",
        warp->grid->launch->function->name, (unsigned long long)limit);
}

int sim_builtin_vprintf(sim_warp *warp, const sim_op *op, uint32_t mask, const sim_call *call) {
  for (uint32_t left = mask; left; left &= left - 1) {
    int lane = __builtin_ctz(left);
    char error[512];
    const char *format;
    reader values = {.warp = warp,
                     .lane = lane,
                     .values = sim_builtin_get(warp, call, 1, lane),
                     .error = error,
                     .room = sizeof error};
    uint64_t address = sim_builtin_get(warp, call, 0, lane);
    if (address == 0) {
      sim_builtin_set(warp, call, lane, (uint32_t)-1);
      continue;
    }
    if (sim_builtin_text(warp, lane, address, &format, error, sizeof error) < 0 || !print_lane(&values, format))
      return sim_warp_fault(warp, op, lane, 700, "printf %s", error);
    printed_add(warp, values.written);
    sim_builtin_set(warp, call, lane, (uint32_t)values.count);
  }
  return SIM_NEXT;
}
