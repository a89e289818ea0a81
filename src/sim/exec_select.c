/* Which copy of the executor runs here: the widest that the processor has, or the one that is asked for. */
#include "machine/machine.h"

#include <string.h>

#include "report.h"

sim_run sim_warp_run_base(sim_warp *warp, uint64_t slice);
sim_run sim_warp_run_v3(sim_warp *warp, uint64_t slice) __attribute__((weak));
sim_run sim_warp_run_v4(sim_warp *warp, uint64_t slice) __attribute__((weak));

static const sim_executor base = {"base", sim_warp_run_base};

#ifdef __x86_64__
static sim_executor wide;

static bool runs_v3(void) {
  return sim_warp_run_v3 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");
}

static bool runs_v4(void) {
  return sim_warp_run_v4 && runs_v3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512cd");
}

static const sim_executor *executor_choose(const char *wanted) {
  bool any = wanted == NULL;
  if ((any || strcmp(wanted, "v4") == 0) && runs_v4())
    wide = (sim_executor){"v4", sim_warp_run_v4};
  else if ((any || strcmp(wanted, "v3") == 0) && runs_v3())
    wide = (sim_executor){"v3", sim_warp_run_v3};
  else
    return &base;
  return &wide;
}
#else
static const sim_executor *executor_choose(const char *wanted) {
  (void)wanted;
  return &base;
}
#endif

const sim_executor *sim_executor_get(void) {
  static const sim_executor *chosen;
  if (chosen == NULL) {
    const char *wanted = sim_config_get()->isa;
    chosen = executor_choose(wanted);
    if (wanted && strcmp(wanted, chosen->name) != 0)
      sim_report(SIM_REPORT_NOTE, "XCHG_SIM_ISA: this processor has no %s, %s is used", wanted, chosen->name);
  }
  return chosen;
}
