/* Reports: what a checker found, why a kernel was stopped, why a text did not load. One sentence each, to stderr or the
   file of XCHG_SIM_LOG with the prefix "xchg sim: ", and kept for the control API. */
#ifndef SIM_REPORT_H
#define SIM_REPORT_H

#include <stddef.h>
#include <stdint.h>

typedef enum {
  SIM_REPORT_FAULT,  /* a kernel or a copy did what loses the context */
  SIM_REPORT_RACE,   /* between threads of one launch */
  SIM_REPORT_INIT,   /* a read of memory that nobody wrote */
  SIM_REPORT_STREAM, /* between operations, or of the host with an operation */
  SIM_REPORT_LOAD,   /* PTX that was refused */
  SIM_REPORT_STUB,   /* a function that is only a stub was called */
  SIM_REPORT_CONFIG, /* a wrong setting */
  SIM_REPORT_NOTE,   /* anything else that a person should read once */
  SIM_REPORT_KINDS,
} sim_report_kind;

/* Writes the report (the first 10000 of each kind) and keeps it (the first 10000 texts); all are counted. Same text
   again and again (a race in a loop) is written once and counted. The lock is held. Returns 719 where XCHG_SIM_FATAL
   makes findings of checkers fatal and `kind` is one (RACE, INIT, STREAM), else 0. */
int sim_report(sim_report_kind kind, const char *format, ...) __attribute__((format(printf, 2, 3)));

uint64_t sim_report_count(sim_report_kind kind);

/* borrowed, until the next report; NULL past the end. `index` from 0 over all kinds, in order of time. */
const char *sim_report_text(size_t index, sim_report_kind *kind, uint64_t *times);

void sim_report_clear(void);

/* static: "fault", "race", ... */
const char *sim_report_kind_name(sim_report_kind kind);

#endif
