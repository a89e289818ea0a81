/* Settings, reports, failures on command, counters: what the control API is for. */
#include "test.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "report.h"
#include "result.h"
#include "xsim.h"

extern int cudaMalloc(void **, size_t), cudaFree(void *), cudaGetDeviceCount(int *), cudaGetLastError(void),
    cudaDeviceGetAttribute(int *, int, int), cudaDeviceSynchronize(void), cuStreamQuery(void *),
    cuStreamQuery_ptsz(void *);

static void test_settings(void) {
  static const struct {
    const char *name, *value, *told; /* told: NULL: refused */
  } rows[] = {
      {"DEVICES", "3", "3"},
      {"DEVICES", "9", NULL},
      {"DEVICES", "-1", NULL},
      {"DEVICES", "2x", NULL},
      {"CC", "12.0", "12.0"},
      {"CC", "9.1", NULL},
      {"CC", "9", NULL},
      {"CC", "7.5", "7.5"},
      {"MEMORY", "64M", "67108864"},
      {"MEMORY", "1K", NULL},
      {"MEMORY", "99999999999G", NULL},
      {"SMS", "0", NULL},
      {"SMS", "8", "8"},
      {"DRIVER", "12.4", "12.4"},
      {"DRIVER", "11.8", NULL},
      {"DRIVER", "13.5", "13.5"},
      {"SCHEDULE", "eager", "eager"},
      {"SCHEDULE", "random:17", "random:17"},
      {"SCHEDULE", "random:", NULL},
      {"SCHEDULE", "randomly", NULL},
      {"SCHEDULE", "lazy", "lazy"},
      {"CHECK", "race,init", "race,init"},
      {"CHECK", "all", "race,init,stream"},
      {"CHECK", "race,", NULL},
      {"CHECK", "rac", NULL},
      {"CHECK", "none", "none"},
      {"FATAL", "yes", NULL},
      {"FATAL", "0", "0"},
      {"BUDGET", "1M", "1048576"},
      {"BUDGET", "0", NULL},
      {"BUDGET", "8G", "8589934592"},
      {"SLOW", "", NULL},
      {"ISA", "v9", NULL},
      {"ISA", "", ""},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const char *before = xsim_setting(rows[i].name);
    char kept[128];
    snprintf(kept, sizeof kept, "%s", before);
    int result = xsim_configure(rows[i].name, rows[i].value);
    CHECK_EQUAL(result, rows[i].told ? 0 : SIM_INVALID_VALUE);
    CHECK_TEXT(xsim_setting(rows[i].name), rows[i].told ? rows[i].told : kept);
    if (!rows[i].told)
      CHECK(strstr(xsim_error(), "it must be") != NULL);
  }
  CHECK_EQUAL(xsim_configure("COLOUR", "red"), SIM_INVALID_VALUE);
  CHECK_EQUAL(xsim_configure(NULL, "red"), SIM_INVALID_VALUE);
  CHECK_EQUAL(xsim_configure("SMS", NULL), SIM_INVALID_VALUE);
  CHECK(xsim_setting("COLOUR") == NULL);
  CHECK(xsim_setting(NULL) == NULL);
}

static void test_started(void) {
  int count = 0;
  CHECK_EQUAL(cudaGetDeviceCount(&count), 0);
  CHECK_EQUAL(count, 3);
  CHECK_EQUAL(xsim_configure("DEVICES", "1"), SIM_ILLEGAL_STATE);
  CHECK_EQUAL(xsim_configure("CHECK", "stream"), 0);
  CHECK_EQUAL(xsim_configure("CHECK", "none"), 0);
}

static void test_failing(void) {
  void *pointer = NULL;
  CHECK_EQUAL(xsim_fail("cudaMalloc:2:2"), 0);
  CHECK_EQUAL(cudaMalloc(&pointer, 16), 0);
  CHECK_EQUAL(cudaFree(pointer), 0);
  pointer = NULL;
  CHECK_EQUAL(cudaMalloc(&pointer, 16), SIM_OUT_OF_MEMORY);
  CHECK(pointer == NULL);
  CHECK_EQUAL(cudaGetLastError(), SIM_OUT_OF_MEMORY);
  CHECK_EQUAL(cudaMalloc(&pointer, 16), 0);
  CHECK_EQUAL(cudaFree(pointer), 0);

  CHECK_EQUAL(xsim_fail("cudaMalloc:>1K:2"), 0);
  CHECK_EQUAL(cudaMalloc(&pointer, 1024), 0);
  CHECK_EQUAL(cudaFree(pointer), 0);
  CHECK_EQUAL(cudaMalloc(&pointer, 1025), SIM_OUT_OF_MEMORY);
  CHECK_EQUAL(xsim_fail("cudaFree:*:1"), 0);
  CHECK_EQUAL(cudaFree(NULL), SIM_INVALID_VALUE);
  CHECK_EQUAL(cudaFree(NULL), SIM_INVALID_VALUE);
  CHECK_EQUAL(xsim_fail(NULL), 0);
  CHECK_EQUAL(cudaFree(NULL), 0);
  CHECK_EQUAL(cudaGetLastError(), SIM_INVALID_VALUE);

  static const char *const wrong[] = {"",
                                      "cudaMalloc",
                                      "cudaMalloc:1",
                                      ":1:2",
                                      "cudaMalloc:0:2",
                                      "cudaMalloc:1:0",
                                      "cudaMalloc:1:2:3",
                                      "cudaMalloc:x:2",
                                      "cudaMalloc:1:77777",
                                      "lost:0",
                                      "lost:x",
                                      "cudaMalloc:1:2,bad",
                                      "cudaMalloc:99999999999999999999:2"};
  for (size_t i = 1; i < sizeof wrong / sizeof *wrong; i++) {
    CHECK_EQUAL(xsim_fail(wrong[i]), SIM_INVALID_VALUE);
    CHECK(strstr(xsim_error(), "a rule is NAME:nth:code") != NULL);
  }
  /* A function that is none would never fail, and the test of it always pass. */
  static const char *const nobody[] = {"cudaMaloc:1:2", "cuMemAlloc_v9x:1:2", "cudaMalloc_ptszz:*:2", "nothing:>1:2"};
  for (size_t i = 0; i < sizeof nobody / sizeof *nobody; i++) {
    CHECK_EQUAL(xsim_fail(nobody[i]), SIM_INVALID_VALUE);
    CHECK(strstr(xsim_error(), "there is no function") != NULL);
  }
  /* Versions and twins fail as their function does, stubs too. */
  static const char *const somebody[] = {"cudaMemcpyAsync_ptsz:1:2", "cuMemAlloc_v2:1:2", "cuMemcpyHtoD_v2_ptds:1:2",
                                         "cuArray3DCreate:1:2", "cudaMallocArray:1:2"};
  for (size_t i = 0; i < sizeof somebody / sizeof *somebody; i++)
    CHECK_EQUAL(xsim_fail(somebody[i]), 0);
  extern int cudaMemcpyAsync(void *, const void *, size_t, int, void *);
  CHECK_EQUAL(cudaMemcpyAsync(NULL, NULL, 0, 1, NULL), SIM_OUT_OF_MEMORY);
  CHECK_EQUAL(xsim_fail(NULL), 0);
  CHECK_EQUAL(cudaGetLastError(), SIM_OUT_OF_MEMORY);
  /* What was refused has left nothing behind. */
  CHECK_EQUAL(cudaMalloc(&pointer, 16), 0);
  CHECK_EQUAL(cudaFree(pointer), 0);
}

static void test_reports(void) {
  xsim_clear_reports();
  CHECK_EQUAL(xsim_reports(NULL), 0);
  CHECK_EQUAL(sim_report(SIM_REPORT_RACE, "race: %d", 1), 0);
  CHECK_EQUAL(sim_report(SIM_REPORT_RACE, "race: %d", 1), 0);
  CHECK_EQUAL(sim_report(SIM_REPORT_INIT, "init: %d", 2), 0);
  CHECK_EQUAL(xsim_reports("race"), 2);
  CHECK_EQUAL(xsim_reports(NULL), 3);
  CHECK_EQUAL(xsim_reports("no such kind"), 0);
  char text[8];
  uint64_t times = 0;
  CHECK_EQUAL(xsim_report(0, text, sizeof text, &times), 7);
  CHECK_TEXT(text, "race: 1");
  CHECK_EQUAL(times, 2);
  CHECK_EQUAL(xsim_report(1, text, 4, NULL), 7);
  CHECK_TEXT(text, "ini");
  CHECK_EQUAL(xsim_report(2, text, sizeof text, NULL), 0);
  CHECK_EQUAL(xsim_report(0, NULL, 0, NULL), 7);
  CHECK_EQUAL(xsim_configure("FATAL", "1"), 0);
  CHECK_EQUAL(sim_report(SIM_REPORT_RACE, "race: %d", 3), SIM_LAUNCH_FAILED);
  CHECK_EQUAL(sim_report(SIM_REPORT_NOTE, "nothing bad"), 0);
  CHECK_EQUAL(xsim_configure("FATAL", "0"), 0);
  xsim_clear_reports();
}

static void test_counters(void) {
  void *pointer;
  uint64_t calls = xsim_stat("cudaMalloc"), live = xsim_stat("allocations"), bytes = xsim_stat("bytes");
  CHECK_EQUAL(cudaMalloc(&pointer, 1000), 0);
  CHECK_EQUAL(xsim_stat("cudaMalloc"), calls + 1);
  /* Both forms of a function of the driver API are one in the counters. */
  cuStreamQuery(NULL);
  cuStreamQuery_ptsz(NULL);
  CHECK_EQUAL(xsim_stat("cuStreamQuery"), 2);
  CHECK_EQUAL(xsim_stat("allocations"), live + 1);
  CHECK(xsim_stat("bytes") >= bytes + 1000);
  CHECK_EQUAL(cudaFree(pointer), 0);
  CHECK_EQUAL(xsim_stat("allocations"), live);
  CHECK_EQUAL(xsim_stat("cuMemHostAlloc"), 0); /* there, and not called */
  CHECK(xsim_stat("no such counter") == UINT64_MAX);
  CHECK(xsim_stat(NULL) == UINT64_MAX);
  char text[16];
  size_t length = xsim_stats(NULL, 0);
  CHECK(length > sizeof text);
  CHECK_EQUAL(xsim_stats(text, sizeof text), length);
  CHECK_EQUAL(strlen(text), sizeof text - 1);
}

/* A child that was forked from a process with devices must not use them, as on hardware. */
static void test_fork(void) {
  CHECK_EQUAL(xsim_forked(), 0);
  fflush(stdout);
  pid_t child = fork();
  if (!child) {
    void *pointer;
    _exit(cudaMalloc(&pointer, 16) == SIM_NOT_INITIALIZED && cudaDeviceSynchronize() == SIM_NOT_INITIALIZED &&
                  xsim_forked()
              ? 0
              : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  CHECK_EQUAL(cudaDeviceSynchronize(), 0);
}

int main(void) {
  xsim_configure("LOG", "none");
  CHECK_EQUAL(xsim_version(), 1);
  test_settings();
  test_started();
  test_failing();
  test_reports();
  test_counters();
  test_fork();
  CHECK_EQUAL(xsim_lose(7, 719), SIM_INVALID_DEVICE);
  CHECK_EQUAL(xsim_lose(0, 1), SIM_INVALID_VALUE);
  return test_end();
}
