/* Libraries, modules and kernels: what loads, names, variables with their first values, handles, contexts that end. */
#include "test.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "device.h"
#include "exec.h"
#include "module.h"
#include "report.h"
#include "result.h"

static sim_context *context, *second;

static const char text[] =
    ".version 8.4\n"
    ".target sm_90\n"
    ".address_size 64\n"
    ".func callee()\n{\n  ret;\n}\n"
    ".visible .global .align 4 .b8 zeros[12];\n"
    ".visible .global .align 4 .u32 numbers[3] = {1, 2, 3};\n"
    ".visible .const .align 8 .u64 limit = 77;\n"
    ".global .align 4 .u32 not_visible = 5;\n"
    ".visible .global .attribute(.managed) .align 4 .u32 shared_by_all = 9;\n"
    ".visible .global .align 8 .u64 pointer = generic(numbers)+4;\n"
    ".visible .global .align 8 .u64 function = callee;\n"
    ".visible .entry second_kernel(.param .u64 a, .param .u8 b, .param .align 16 .b8 c[32])\n"
    "{\n  ret;\n}\n"
    ".visible .entry first_kernel()\n"
    "{\n  .shared .align 4 .b8 tile[100];\n  .reg .b32 %r<2>;\n  mov.u32 %r1, tile;\n  ret;\n}\n";

static void check_quiet(const ptx_log *log) {
  if (log->text[0])
    printf("%s\n", log->text);
  CHECK_EQUAL(log->text[0], '\0');
}

static sim_library *load(sim_context *of) {
  sim_library *library = NULL;
  ptx_log log = {""};
  CHECK_EQUAL(sim_library_load(&library, text, 0, of, &log), SIM_SUCCESS);
  check_quiet(&log);
  if (!library)
    exit(test_end());
  return library;
}

static uint64_t variable(sim_library *library, sim_context *of, const char *name, uint64_t wanted_size) {
  uint64_t address = 0, size = 0;
  CHECK_EQUAL(sim_library_variable(&address, &size, library, of, name, false), SIM_SUCCESS);
  CHECK_EQUAL(size, wanted_size);
  return address;
}

static uint8_t *bytes(uint64_t address) {
  sim_allocation *found = sim_memory_find(address);
  return found->host + (address - found->address);
}

static uint32_t u32(uint64_t address, size_t i) {
  uint32_t value;
  memcpy(&value, bytes(address) + 4 * i, sizeof value);
  return value;
}

static uint64_t u64(uint64_t address) {
  uint64_t value;
  memcpy(&value, bytes(address), sizeof value);
  return value;
}

static void test_variables(void) {
  sim_library *library = load(NULL);
  CHECK_EQUAL(sim_memory_live(SIM_MEMORY_MODULE), 0); /* not before they are needed */
  uint64_t zeros = variable(library, context, "zeros", 12), numbers = variable(library, context, "numbers", 12);
  for (size_t i = 0; i < 3; i++) {
    CHECK_EQUAL(u32(zeros, i), 0);
    CHECK_EQUAL(u32(numbers, i), i + 1);
  }
  uint64_t limit = variable(library, context, "limit", 8);
  CHECK_EQUAL(u64(limit), 77);
  CHECK(sim_memory_find(limit)->read_only);
  CHECK(!sim_memory_find(numbers)->read_only);
  CHECK_EQUAL(sim_memory_find(numbers)->kind, SIM_MEMORY_MODULE);
  CHECK_TEXT(sim_memory_find(numbers)->name, "numbers");
  CHECK_EQUAL(u64(variable(library, context, "pointer", 8)), numbers + 4);
  CHECK_EQUAL(u64(variable(library, context, "function", 8)) >> 56, 4); /* the window of code */

  uint64_t address, size, shared_by_all = variable(library, context, "shared_by_all", 4);
  CHECK_EQUAL(sim_library_variable(&address, &size, library, context, "shared_by_all", true), SIM_SUCCESS);
  CHECK_EQUAL(address, shared_by_all);
  CHECK_EQUAL(*(uint32_t *)(uintptr_t)address, 9); /* the host may read it */
  CHECK_EQUAL(sim_memory_find(address)->kind, SIM_MEMORY_MANAGED);
  CHECK_EQUAL(sim_library_variable(&address, &size, library, context, "numbers", true), SIM_NOT_FOUND);
  CHECK_EQUAL(u32(variable(library, context, "not_visible", 4), 0), 5);
  CHECK_EQUAL(sim_library_variable(&address, &size, library, context, "tile", false), SIM_NOT_FOUND);
  CHECK_EQUAL(sim_library_variable(&address, &size, library, context, "", false), SIM_NOT_FOUND);
  CHECK_EQUAL(sim_library_variable(&address, &size, library, context, "number", false), SIM_NOT_FOUND);

  /* Another device has its own, but for the managed one. */
  *(uint32_t *)(uintptr_t)shared_by_all = 10;
  bytes(numbers)[0] = 100;
  uint64_t elsewhere = variable(library, second, "numbers", 12);
  CHECK(elsewhere != numbers);
  CHECK_EQUAL(sim_memory_find(elsewhere)->device, 1);
  CHECK_EQUAL(u32(elsewhere, 0), 1);
  CHECK_EQUAL(u64(variable(library, second, "pointer", 8)), elsewhere + 4);
  CHECK_EQUAL(variable(library, second, "shared_by_all", 4), shared_by_all);
  CHECK_EQUAL(u32(shared_by_all, 0), 10);

  CHECK_EQUAL(sim_library_unload(library), SIM_SUCCESS);
  CHECK_EQUAL(sim_memory_live(SIM_MEMORY_MODULE), 0);
  CHECK_EQUAL(sim_memory_live(SIM_MEMORY_MANAGED), 0);
  CHECK_EQUAL(sim_memory_find(numbers)->state, SIM_STATE_FREED);
  CHECK_EQUAL(sim_library_unload(library), SIM_INVALID_HANDLE);
}

static void test_kernels(void) {
  uint64_t live = sim_library_live();
  sim_library *library = load(NULL);
  CHECK_EQUAL(sim_library_live(), live + 1);
  CHECK_EQUAL(sim_library_check(library), SIM_SUCCESS);
  CHECK_EQUAL(sim_library_check(NULL), SIM_INVALID_HANDLE);
  CHECK_EQUAL(sim_library_check((sim_library *)(void *)&live), SIM_INVALID_HANDLE);
  CHECK_EQUAL(library->kernel_count, 2);
  CHECK_TEXT(library->kernels->function->name, "second_kernel"); /* the order of the text */
  CHECK_TEXT(library->kernels->next->function->name, "first_kernel");
  CHECK_EQUAL(strcmp(library->image, text) != 0, 1); /* a line end more */
  CHECK_EQUAL(strncmp(library->image, text, sizeof text - 1), 0);

  sim_kernel *first, *kernel, *function, *again;
  CHECK_EQUAL(sim_library_kernel(&first, library, "first_kernel"), SIM_SUCCESS);
  CHECK_EQUAL(sim_library_kernel(&kernel, library, "second_kernel"), SIM_SUCCESS);
  CHECK(first == library->kernels->next && kernel == library->kernels);
  CHECK_EQUAL(sim_library_kernel(&again, library, "third_kernel"), SIM_NOT_FOUND);
  CHECK_EQUAL(sim_library_kernel(&again, library, "callee"), SIM_NOT_FOUND);
  CHECK_EQUAL(sim_kernel_check(kernel), SIM_SUCCESS);
  CHECK_EQUAL(sim_kernel_check(NULL), SIM_INVALID_HANDLE);
  CHECK_EQUAL(sim_kernel_check((sim_kernel *)(void *)library), SIM_INVALID_HANDLE);
  CHECK(kernel->context == NULL);
  CHECK_EQUAL(first->function->shared_bytes, 100);

  CHECK_EQUAL(sim_kernel_in_context(&function, kernel, context), SIM_SUCCESS);
  CHECK(function != kernel && function->context == context && function->function == kernel->function);
  CHECK_EQUAL(sim_kernel_in_context(&again, kernel, context), SIM_SUCCESS);
  CHECK(again == function);
  CHECK_EQUAL(sim_kernel_in_context(&again, kernel, second), SIM_SUCCESS);
  CHECK(again != function);
  CHECK_EQUAL(sim_kernel_check(function), SIM_SUCCESS);
  CHECK_EQUAL(library->kernel_count, 2);

  /* A launch that waits keeps the code, not the handles. */
  sim_launch *launch = sim_launch_create(kernel, 48);
  CHECK_EQUAL(sim_library_unload(library), SIM_SUCCESS);
  CHECK_EQUAL(sim_kernel_check(kernel), SIM_INVALID_HANDLE);
  CHECK_EQUAL(sim_kernel_check(function), SIM_INVALID_HANDLE);
  CHECK_EQUAL(sim_library_check(launch->library), SIM_INVALID_HANDLE);
  CHECK_TEXT(launch->function->name, "second_kernel");
  sim_launch_free(launch);
  CHECK_EQUAL(sim_library_live(), live);
}

static void test_context_end(void) {
  sim_context *made = NULL, *popped = NULL;
  CHECK_EQUAL(sim_context_create(&made, 0, 0), SIM_SUCCESS);
  CHECK_EQUAL(sim_context_pop(&popped), SIM_SUCCESS);
  sim_library *module = load(made), *library = load(NULL);
  CHECK(module->kernels->context == made);
  CHECK(sim_memory_live(SIM_MEMORY_MODULE) > 0); /* a module's are there at once */
  sim_kernel *kernel, *function;
  CHECK_EQUAL(sim_library_kernel(&kernel, library, "first_kernel"), SIM_SUCCESS);
  CHECK_EQUAL(sim_kernel_in_context(&function, kernel, made), SIM_SUCCESS);
  uint64_t in_made = variable(library, made, "numbers", 12), managed = variable(library, made, "shared_by_all", 4);
  CHECK_EQUAL(variable(library, context, "shared_by_all", 4), managed);
  CHECK_EQUAL(sim_context_destroy(made), SIM_SUCCESS);
  CHECK_EQUAL(sim_library_check(module), SIM_INVALID_HANDLE);
  CHECK_EQUAL(sim_library_check(library), SIM_SUCCESS);
  CHECK_EQUAL(sim_kernel_check(kernel), SIM_SUCCESS);
  CHECK_EQUAL(sim_kernel_check(function), SIM_INVALID_HANDLE);
  CHECK_EQUAL(sim_memory_find(in_made)->state, SIM_STATE_FREED);
  CHECK_EQUAL(sim_memory_find(managed)->state, SIM_STATE_LIVE); /* another context still has it */
  CHECK_EQUAL(sim_kernel_in_context(&function, kernel, context), SIM_SUCCESS);
  CHECK_EQUAL(sim_library_unload(library), SIM_SUCCESS);
  CHECK_EQUAL(sim_memory_live(SIM_MEMORY_MANAGED), 0);
}

static int load_result(const void *image, size_t length, const char *wanted) {
  sim_library *library = NULL;
  ptx_log log = {""};
  int result = sim_library_load(&library, image, length, NULL, &log);
  if (strstr(log.text, wanted) == NULL)
    printf("\"%s\" is not in \"%s\"\n", wanted, log.text);
  CHECK(strstr(log.text, wanted) != NULL);
  if (!result)
    sim_library_unload(library);
  return result;
}

static void test_images(void) {
  uint64_t reports = sim_report_count(SIM_REPORT_LOAD);
  CHECK_EQUAL(load_result("\177ELF and so on", 0, "compile for compute_XX"), SIM_NO_BINARY_FOR_GPU);
  CHECK_EQUAL(load_result("\x50\xed\x55\xba fat binary", 16, "compile for compute_XX"), SIM_NO_BINARY_FOR_GPU);
  CHECK_EQUAL(load_result("int main", 0, "neither PTX text"), SIM_INVALID_IMAGE);
  CHECK_EQUAL(load_result("", 0, "neither PTX text"), SIM_INVALID_IMAGE);
  CHECK_EQUAL(load_result(text, 5, "neither PTX text"), SIM_INVALID_IMAGE);
  CHECK_EQUAL(load_result(".version 8.4\n.target sm_90\n.address_size 64\n.entry", 0, "ptx: line 4"), SIM_INVALID_PTX);
  CHECK_EQUAL(load_result(".version 9.9\n.target sm_90\n.address_size 64\n", 0, ""), SIM_UNSUPPORTED_PTX_VERSION);
  CHECK_EQUAL(sim_report_count(SIM_REPORT_LOAD), reports + 7);
  CHECK_EQUAL(load_result(text, sizeof text, ""), SIM_SUCCESS); /* with its NUL */
  CHECK_EQUAL(load_result(text, sizeof text - 1, ""), SIM_SUCCESS);
  CHECK_EQUAL(load_result(NULL, 0, ""), SIM_INVALID_VALUE);
  CHECK_EQUAL(load_result((void *)4096, 0, ""), SIM_INVALID_VALUE);
  CHECK_EQUAL(load_result(".version 8.4\n.target sm_90\n.address_size 64\n.const .align 4 .b8 c[65537];\n", 0, ""),
              SIM_INVALID_PTX);

  /* A text that memory ends behind, without NUL. */
  uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  char *at = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mprotect(at + page, page, PROT_NONE);
  memset(at, ' ', page);
  memcpy(at, text, sizeof text - 1);
  CHECK_EQUAL(load_result(at, 0, "neither PTX text"), SIM_INVALID_IMAGE);
  CHECK_EQUAL(load_result(at, page, ""), SIM_SUCCESS);
  CHECK_EQUAL(load_result(at, page + 1, ""), SIM_INVALID_VALUE);
  munmap(at, 2 * page);
}

static void test_memory(void) {
  /* More than the device has: a module does not load, a library has no instance. */
  static const char huge[] = ".version 8.4\n.target sm_90\n.address_size 64\n.visible .global .b8 a[16];\n"
                             ".visible .global .b8 huge[1000000000000];\n";
  sim_library *library = NULL;
  uint64_t address, size, live = sim_memory_live(SIM_MEMORY_MODULE);
  ptx_log log = {""};
  CHECK_EQUAL(sim_library_load(&library, huge, 0, context, &log), SIM_OUT_OF_MEMORY);
  CHECK_EQUAL(sim_memory_live(SIM_MEMORY_MODULE), live);
  CHECK_EQUAL(sim_library_load(&library, huge, 0, NULL, &log), SIM_SUCCESS);
  CHECK_EQUAL(sim_library_variable(&address, &size, library, context, "a", false), SIM_OUT_OF_MEMORY);
  CHECK_EQUAL(sim_memory_live(SIM_MEMORY_MODULE), live);
  CHECK_EQUAL(sim_library_unload(library), SIM_SUCCESS);
}

static void test_link(void) {
  const char *texts[2] = {".version 8.4\n.target sm_90\n.address_size 64\n.extern .global .align 4 .u32 there;\n"
                          ".visible .global .align 8 .u64 to_there = there;\n",
                          ".version 8.3\n.target sm_80\n.address_size 64\n.visible .global .align 4 .u32 there = 6;\n"};
  size_t lengths[2] = {strlen(texts[0]), strlen(texts[1])};
  sim_library *library = NULL;
  ptx_log log = {""};
  CHECK_EQUAL(sim_library_load_texts(&library, texts, lengths, 2, NULL, &log), SIM_SUCCESS);
  check_quiet(&log);
  if (!library)
    return;
  CHECK_EQUAL(u64(variable(library, context, "to_there", 8)), variable(library, context, "there", 4));
  CHECK_EQUAL(u32(variable(library, context, "there", 4), 0), 6);
  sim_library_unload(library);
}

int main(void) {
  setenv("XCHG_SIM_DEVICES", "2", 1);
  setenv("XCHG_SIM_MEMORY", "64M", 1);
  setenv("XCHG_SIM_LOG", "none", 1);
  CHECK_EQUAL(sim_device_start(), SIM_SUCCESS);
  CHECK_EQUAL(sim_context_current(&context, true), SIM_SUCCESS);
  sim_primary_activate(sim_device_get(1));
  second = &sim_device_get(1)->primary;
  test_variables();
  test_kernels();
  test_context_end();
  test_images();
  test_memory();
  test_link();
  return test_end();
}
