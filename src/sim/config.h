/* What the environment asks for, read once, at the first call that needs it. Everything in it is checked. */
#ifndef SIM_CONFIG_H
#define SIM_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SIM_DEVICES_MAX = 8 };

/* In which order operations run: docs/simulator.md. */
typedef enum {
  SIM_SCHEDULE_LAZY,   /* nothing before somebody waits for it, and then only what it needs */
  SIM_SCHEDULE_EAGER,  /* at once, in the order of the calls */
  SIM_SCHEDULE_RANDOM, /* any legal order, drawn from the seed, warps and groups of lanes included */
} sim_schedule_kind;

/* Bits of XCHG_SIM_CHECK; bounds, alignment, device, lifetime and deadlocks are always checked. */
enum {
  SIM_CHECK_RACE = 1,   /* races between the threads of a launch, in shared and in global memory */
  SIM_CHECK_INIT = 2,   /* reads of device, shared or local memory that nobody wrote */
  SIM_CHECK_STREAM = 4, /* races between operations, and of the host with operations */
  SIM_CHECK_ALL = 7,
};

typedef struct {
  int devices;                /* XCHG_SIM_DEVICES: 0 to 8, 1 */
  int capability;             /* XCHG_SIM_CC: major * 10 + minor, 7.5 to 12.1; 90 */
  uint64_t memory;            /* XCHG_SIM_MEMORY: bytes of each device (suffixes K M G); 8G */
  int sms;                    /* XCHG_SIM_SMS: multiprocessors; 4 */
  int driver_version;         /* XCHG_SIM_DRIVER: major * 1000 + minor * 10, 12.0 to 13.9; 13050 */
  sim_schedule_kind schedule; /* XCHG_SIM_SCHEDULE: lazy, eager, random[:seed]; lazy */
  uint64_t seed;
  unsigned check;    /* XCHG_SIM_CHECK: comma list of race, init, stream, all, none */
  bool fatal;        /* XCHG_SIM_FATAL=1: a finding of a checker loses the context (719), else it is counted */
  const char *log;   /* XCHG_SIM_LOG: file that reports go to; NULL: stderr; "none": nowhere */
  const char *trace; /* XCHG_SIM_TRACE: file of the operations that ran; *.json: Chrome trace events, else text */
  const char *fail;  /* XCHG_SIM_FAIL: NAME:nth:code[,...], parsed in fault.c */
  uint64_t budget;   /* XCHG_SIM_BUDGET: warp instructions of one launch before 702; 2^33 */
  uint64_t slow;     /* XCHG_SIM_SLOW: bytes per millisecond that copies are slowed to; 0: not at all */
  const char *isa;   /* XCHG_SIM_ISA: base, v3, v4: which copy of the executor; NULL: the best that runs here */
} sim_config;

/* static. Never NULL: a wrong value is reported once, with its name, what it is and what it may be, and the first call
   that initialises a device answers 3 (sim_config_error tells which text). xsim_configure may replace values before. */
const sim_config *sim_config_get(void);

/* static: the message about the first wrong setting of the environment, or NULL. */
const char *sim_config_error(void);

/* Replaces a setting by its name without XCHG_SIM_: 0; 1 for a wrong name or value, 401 for one that shapes devices
   where `started`; text says which. */
int sim_config_set(const char *name, const char *value, bool started, char *text, size_t room);

/* The value in force, written into text; false for an unknown name. */
bool sim_config_describe(const char *name, char *text, size_t room);

#endif
