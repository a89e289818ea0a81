/* Every entry point that nothing else here defines: says its name once in the reports and answers 801. The
   definitions are weak, so that the real ones win. */
#include "front.h"

#include "../report.h"

static int stub_answer(sim_counter *counter, const char *symbol) {
  int result = sim_call_enter(counter, SIM_CALL_DRIVER);
  if (result)
    return sim_result_driver(result);
  sim_report(SIM_REPORT_STUB, "%s is not simulated: it answers 801 (CUDA_ERROR_NOT_SUPPORTED)", symbol);
  return sim_result_driver(sim_call_leave(SIM_NOT_SUPPORTED));
}

#define X(family, version, symbol, twin)                                                                               \
  __attribute__((weak)) CU_API int symbol(void);                                                                       \
  int symbol(void) {                                                                                                   \
    SIM_COUNTER(counter, #family);                                                                                     \
    return stub_answer(&counter, #symbol);                                                                             \
  }
#include "table.h"
#undef X
