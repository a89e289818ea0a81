/* Any text as PTX, and what loads of it is run: a kernel may do anything, and the process lives.
 *
 * Built as sim_ptx_fuzz.c is, whose changes of texts it shares. With XCHG_FUZZ_RUNS defined it is a program that changes those texts
 * itself, that many times. */
#include "sim_kernel.h"

#define LLVMFuzzerTestOneInput read_one
#ifdef XCHG_FUZZ_RUNS
#  define main unused_main
#endif
#include "sim_ptx_fuzz.c"
#undef LLVMFuzzerTestOneInput
#undef main

#include <fcntl.h>
#include <unistd.h>

#include "config.h"
#include "kernel.h"

static unsigned long ran;
static sim_allocation *memory;

/* Every result that a kernel may end with. */
static bool result_known(int result) {
  switch (result) {
  case SIM_SUCCESS:
  case SIM_OUT_OF_MEMORY:
  case SIM_ILLEGAL_ADDRESS:
  case SIM_LAUNCH_OUT_OF_RESOURCES:
  case SIM_LAUNCH_TIMEOUT:
  case SIM_ASSERT:
  case SIM_HARDWARE_STACK_ERROR:
  case SIM_ILLEGAL_INSTRUCTION:
  case SIM_MISALIGNED_ADDRESS:
  case SIM_INVALID_ADDRESS_SPACE:
  case SIM_INVALID_PC:
  case SIM_LAUNCH_FAILED: return true;
  default: return false;
  }
}

/* All parameters zero, but each that can hold an address has one every other time. */
static void run_kernel(sim_kernel *kernel, bool addresses) {
  const ptx_function *ptx = kernel->function->ptx;
  static uint8_t parameters[32768];
  memset(parameters, 0, sizeof parameters);
  for (uint32_t i = 0; addresses && i < ptx->parameter_count; i++)
    if (ptx->parameters[i]->size == 8)
      memcpy(parameters + ptx->parameters[i]->offset, &memory->address, 8);
  sim_launch_config config = {.grid = {2, 1, 1}, .block = {33, 1, 1}, .dynamic_shared = 64};
  sim_work work;
  if (sim_kernel_prepare(&work, kernel, &config, NULL, parameters, ptx->parameter_bytes, kernel_context, "fuzz"))
    return;
  EXPECT(result_known(sim_work_run(&work, kernel_context)));
  sim_work_drop(&work);
  ran++;
}

/* What kernels print is not wanted. */
static int stdout_away(void) {
  fflush(stdout);
  int kept = dup(1), nowhere = open("/dev/null", O_WRONLY);
  dup2(nowhere, 1);
  close(nowhere);
  return kept;
}

static void stdout_back(int kept) {
  fflush(stdout);
  dup2(kept, 1);
  close(kept);
}

static void start(void) {
  setenv("XCHG_SIM_BUDGET", "20000", 1);
  setenv("XCHG_SIM_CC", "12.0", 1);
  setenv("XCHG_SIM_MEMORY", "64M", 1);
  kernel_start();
  memory = kernel_memory(65536);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (!memory)
    start();
  char *text = malloc(size + 1);
  memcpy(text, data, size);
  text[size] = 0;
  ptx_log log = {""};
  sim_library *library = NULL;
  if (strlen(text) == size && !sim_library_load(&library, text, 0, NULL, &log)) {
    int kept = stdout_away();
    /* Functions of the kernels in this context enter the same list. */
    for (sim_kernel *each = library->kernels; each; each = each->next)
      run_kernel(each, ran & 1);
    stdout_back(kept);
    sim_library_unload(library);
    sim_report_clear();
  }
  free(text);
  return 0;
}

#ifdef XCHG_FUZZ_RUNS
int main(void) {
  enum { ROOM = 64 << 10 };
  static uint8_t text[ROOM];
  static char whole[ROOM];
  struct dirent **entries;
  int found = scandir("spec/c/ptx", &entries, NULL, alphasort), texts = 0;
  for (int i = 0; i < found; i++) {
    char path[512];
    FILE *file = NULL;
    snprintf(path, sizeof path, "spec/c/ptx/%s", entries[i]->d_name);
    if (strstr(entries[i]->d_name, ".ptx") && (file = fopen(path, "rb"))) {
      size_t length = fread(whole, 1, ROOM, file);
      fclose(file);
      texts++;
      for (int run = 0; run < XCHG_FUZZ_RUNS; run++) {
        memcpy(text, whole, length);
        size_t size = run ? LLVMFuzzerCustomMutator(text, length, ROOM, (unsigned)test_random()) : length;
        LLVMFuzzerTestOneInput(text, size);
        test_checks++;
      }
    }
    free(entries[i]);
  }
  if (found >= 0)
    free(entries);
  CHECK(texts >= 8);
  CHECK(ran > (unsigned long)XCHG_FUZZ_RUNS);
  return test_end();
}
#endif
