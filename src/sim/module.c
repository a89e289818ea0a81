/* Libraries and modules: loading, looking up, unloading. */
#include "module.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "handles.h"
#include "host.h"
#include "instance.h"
#include "report.h"
#include "result.h"
#include "stream.h"

enum { IMAGE_MOST = 16 << 20 };

static sim_library *libraries; /* all that are loaded */
static sim_handles library_handles, kernel_handles;

int sim_library_check(const sim_library *library) {
  return sim_handles_has(&library_handles, library) ? SIM_SUCCESS : SIM_INVALID_HANDLE;
}

int sim_kernel_check(const sim_kernel *kernel) {
  return sim_handles_has(&kernel_handles, kernel) ? SIM_SUCCESS : SIM_INVALID_HANDLE;
}

uint64_t sim_library_live(void) {
  return library_handles.count;
}

/* ---- images ---- */

/* Bytes of a text whose length nobody gave: to its NUL. 0: memory ends before, or it is too long. */
static size_t image_measure(const char *image) {
  const uint64_t step = 4096;
  size_t length = 0;
  while (length < IMAGE_MOST) {
    size_t part = step - ((uintptr_t)image + length) % step;
    if (!sim_host_usable((uintptr_t)image + length, part, false))
      return 0;
    size_t here = strnlen(image + length, part);
    length += here;
    if (here < part)
      return length;
  }
  return 0;
}

/* Stops at the first byte that differs: a short text may end there, and memory with it. */
static bool image_begins(const char *image, size_t length, const uint8_t magic[4]) {
  for (size_t i = 0; i < 4; i++)
    if (i == length || (uint8_t)image[i] != magic[i])
      return false;
  return true;
}

static bool image_is_binary(const char *image, size_t length) {
  static const uint8_t magics[3][4] = {
      {0x7f, 'E', 'L', 'F'}, {0x50, 0xed, 0x55, 0xba} /* fat binary */, {0xb1, 'C', 'b', 'F'} /* its wrapper */};
  for (int i = 0; i < 3; i++)
    if (image_begins(image, length, magics[i]))
      return true;
  return false;
}

static int load_refuse(ptx_log *log, int result) {
  sim_report(SIM_REPORT_LOAD, "load: %s", log->text);
  return result;
}

static int load_say(ptx_log *log, int result, const char *text) {
  snprintf(log->text, sizeof log->text, "%s", text);
  return load_refuse(log, result);
}

/* The newest PTX of the CUDA release that the driver claims: 95 for 13.5. */
static uint32_t newest_ptx(void) {
  static const uint8_t of_12[10] = {80, 81, 82, 83, 84, 85, 85, 86, 87, 88};
  int version = sim_config_get()->driver_version, major = version / 1000, minor = version % 1000 / 10;
  return major == 12 ? of_12[minor] : (uint32_t)(90 + minor);
}

/* ---- loading ---- */

static int kernel_create(sim_kernel **out, sim_library *library, const sim_function *function, sim_context *context) {
  sim_kernel *made = calloc(1, sizeof *made);
  if (!made)
    return SIM_OUT_OF_MEMORY;
  made->library = library;
  made->function = function;
  made->context = context;
  for (int i = 0; i < SIM_DEVICES_MAX; i++)
    made->dynamic_shared[i] = made->carveout[i] = -1;
  if (sim_handles_add(&kernel_handles, made)) {
    free(made);
    return SIM_OUT_OF_MEMORY;
  }
  /* In the order of making, behind the others. */
  sim_kernel **link = library->last_kernel ? &library->last_kernel->next : &library->kernels;
  *link = library->last_kernel = made;
  *out = made;
  return SIM_SUCCESS;
}

static int kernel_order(const void *a, const void *b) {
  return strcmp((*(sim_kernel *const *)a)->function->name, (*(sim_kernel *const *)b)->function->name);
}

static int kernel_find(const void *name, const void *each) {
  return strcmp(name, (*(sim_kernel *const *)each)->function->name);
}

static int library_make_kernels(sim_library *library) {
  const sim_program *program = library->program;
  library->by_name = calloc(program->function_count + 1, sizeof(sim_kernel *));
  if (!library->by_name)
    return SIM_OUT_OF_MEMORY;
  for (uint32_t i = 0; i < program->function_count; i++) {
    const ptx_function *ptx = program->module->functions[i];
    if (!ptx->entry || !ptx->defined)
      continue;
    int result =
        kernel_create(&library->by_name[library->kernel_count], library, &program->functions[i], library->context);
    if (result)
      return result;
    library->kernel_count++;
  }
  qsort(library->by_name, library->kernel_count, sizeof(sim_kernel *), kernel_order);
  return SIM_SUCCESS;
}

/* Those that are not .visible too: NVRTC writes `.const` and `.global` alone for variables that the host is to find. */
static bool symbol_is_variable(const ptx_symbol *symbol) {
  return (symbol->space == PTX_GLOBAL || symbol->space == PTX_CONST) && !symbol->function && !symbol->definition &&
         symbol->size;
}

static int symbol_order(const void *a, const void *b) {
  return strcmp((*(const ptx_symbol *const *)a)->name, (*(const ptx_symbol *const *)b)->name);
}

static int symbol_find(const void *name, const void *each) {
  return strcmp(name, (*(const ptx_symbol *const *)each)->name);
}

static int library_list_variables(sim_library *library) {
  const ptx_module *module = library->program->module;
  library->variables = calloc((size_t)module->symbol_count + 1, sizeof *library->variables);
  if (!library->variables)
    return SIM_OUT_OF_MEMORY;
  for (uint32_t i = 0; i < module->symbol_count; i++)
    if (symbol_is_variable(module->symbols[i]))
      library->variables[library->variable_count++] = module->symbols[i];
  qsort(library->variables, library->variable_count, sizeof *library->variables, symbol_order);
  return SIM_SUCCESS;
}

static void library_drop(sim_library *library) {
  sim_instance_drop_all(library);
  for (sim_kernel *each = library->kernels, *next; each; each = next) {
    next = each->next;
    sim_handles_remove(&kernel_handles, each);
    free(each);
  }
  sim_program_free(library->program);
  free(library->by_name);
  free(library->variables);
  free(library->managed);
  free(library->image);
  free(library);
}

void sim_library_retain(sim_library *library) {
  library->references++;
}

void sim_library_release(sim_library *library) {
  if (library && !--library->references)
    library_drop(library);
}

/* The texts one behind the other, each on lines of its own. */
static char *texts_join(const char *const *texts, const size_t *lengths, size_t count, size_t *size) {
  size_t total = 0;
  for (size_t i = 0; i < count; i++)
    total += lengths[i] + 1;
  char *joined = malloc(total + 1), *at = joined;
  if (!joined)
    return NULL;
  for (size_t i = 0; i < count; i++) {
    size_t length = strnlen(texts[i], lengths[i]);
    memcpy(at, texts[i], length);
    at += length;
    *at++ = '\n';
  }
  *at = '\0';
  *size = (size_t)(at - joined);
  return joined;
}

static int library_fill(sim_library *library, const char *const *texts, const size_t *lengths, size_t count,
                        ptx_log *log) {
  library->image = texts_join(texts, lengths, count, &library->image_size);
  if (!library->image)
    return SIM_OUT_OF_MEMORY;
  ptx_module *module = NULL;
  int result =
      ptx_module_read(&module, texts, lengths, count, newest_ptx(), (uint32_t)sim_config_get()->capability, log);
  if (!result)
    result = sim_program_create(&library->program, module, log);
  if (result)
    return log->text[0] ? load_refuse(log, result) : result;
  if (library->program->constant_bytes > sim_device_limits()->constant_bytes)
    return load_say(log, SIM_INVALID_PTX, "ptx: more than 64 KiB of constant memory");
  result = library_make_kernels(library);
  return result ? result : library_list_variables(library);
}

int sim_library_load_texts(sim_library **out, const char *const *texts, const size_t *lengths, size_t count,
                           sim_context *context, ptx_log *log) {
  ptx_log own = {""};
  log = log ? log : &own;
  log->text[0] = '\0';
  sim_library *made = calloc(1, sizeof *made);
  if (!made)
    return SIM_OUT_OF_MEMORY;
  made->context = context;
  made->references = 1;
  int result = library_fill(made, texts, lengths, count, log);
  /* A module's variables are there from now on; a library's when a context first needs them. */
  sim_instance *instance;
  if (!result && context)
    result = sim_library_instance(&instance, made, context);
  if (!result)
    result = sim_handles_add(&library_handles, made);
  if (result) {
    library_drop(made);
    return result;
  }
  made->next = libraries;
  libraries = made;
  *out = made;
  return SIM_SUCCESS;
}

int sim_library_load(sim_library **out, const void *image, size_t length, sim_context *context, ptx_log *log) {
  ptx_log own = {""};
  log = log ? log : &own;
  if (!image || !sim_host_usable((uintptr_t)image, length ? length : 1, false))
    return SIM_INVALID_VALUE;
  if (image_is_binary(image, length ? length : SIZE_MAX))
    return load_say(log, SIM_NO_BINARY_FOR_GPU,
                    "image: this is machine code of a GPU; the simulator runs PTX: compile for compute_XX");
  const char *text = image;
  if (!length)
    length = image_measure(text);
  if (!length || !ptx_module_recognise(text, length))
    return load_say(log, SIM_INVALID_IMAGE, "image: neither PTX text nor machine code of a GPU");
  return sim_library_load_texts(out, &text, &length, 1, context, log);
}

/* ---- unloading ---- */

/* Runs the launches that wait, wherever they may wait. */
static int library_settle(const sim_library *library) {
  int result = library->context ? sim_context_synchronize(library->context) : SIM_SUCCESS;
  for (const sim_instance *each = library->instances; each; each = each->next) {
    int one = sim_context_synchronize(each->context);
    result = result ? result : one;
  }
  for (int i = 0; i < sim_device_count(); i++) {
    sim_context *primary = &sim_device_get(i)->primary;
    int one = primary->active ? sim_context_synchronize(primary) : SIM_SUCCESS;
    result = result ? result : one;
  }
  return result;
}

int sim_library_unload(sim_library *library) {
  if (sim_library_check(library))
    return SIM_INVALID_HANDLE;
  /* What was launched runs first; a graph that holds a launch cannot run it any more. */
  int result = library->references > 1 ? library_settle(library) : SIM_SUCCESS;
  sim_handles_remove(&library_handles, library);
  for (sim_library **link = &libraries; *link; link = &(*link)->next)
    if (*link == library) {
      *link = library->next;
      break;
    }
  /* Launches of graphs keep the code; its handles and its memory go now. */
  for (sim_kernel *each = library->kernels; each; each = each->next)
    sim_handles_remove(&kernel_handles, each);
  sim_instance_drop_all(library);
  sim_library_release(library);
  return result;
}

/* Its functions for the context. */
static void library_drop_functions(sim_library *library, const sim_context *context) {
  library->last_kernel = NULL;
  for (sim_kernel **link = &library->kernels; *link;) {
    sim_kernel *each = *link;
    if (each->context == context && !each->retired) {
      /* A launch that waits may name it. */
      sim_handles_remove(&kernel_handles, each);
      each->retired = true;
    }
    library->last_kernel = each;
    link = &each->next;
  }
}

void sim_library_end_context(sim_context *context) {
  for (sim_library *each = libraries, *next; each; each = next) {
    next = each->next;
    if (each->context == context) {
      sim_library_unload(each);
      continue;
    }
    library_drop_functions(each, context);
    sim_instance_drop(each, context);
  }
}

/* ---- looking up ---- */

int sim_library_kernel(sim_kernel **out, sim_library *library, const char *name) {
  sim_kernel **found = bsearch(name, library->by_name, library->kernel_count, sizeof(sim_kernel *), kernel_find);
  if (!found)
    return SIM_NOT_FOUND;
  *out = *found;
  return SIM_SUCCESS;
}

unsigned sim_library_list_kernels(sim_kernel **kernels, unsigned room, const sim_library *library) {
  unsigned count = 0;
  for (sim_kernel *each = library->kernels; count < room && count < library->kernel_count; each = each->next)
    kernels[count++] = each;
  return count;
}

int sim_kernel_in_context(sim_kernel **out, sim_kernel *kernel, sim_context *context) {
  for (sim_kernel *each = kernel->library->kernels; each; each = each->next)
    if (each->function == kernel->function && each->context == context && !each->retired) {
      *out = each;
      return SIM_SUCCESS;
    }
  int result = kernel_create(out, kernel->library, kernel->function, context);
  if (result)
    return result;
  memcpy((*out)->dynamic_shared, kernel->dynamic_shared, sizeof kernel->dynamic_shared);
  memcpy((*out)->carveout, kernel->carveout, sizeof kernel->carveout);
  (*out)->non_portable_cluster = kernel->non_portable_cluster;
  return SIM_SUCCESS;
}

int sim_library_variable(uint64_t *address, uint64_t *size, sim_library *library, sim_context *context,
                         const char *name, bool managed) {
  const ptx_symbol **found =
      bsearch(name, library->variables, library->variable_count, sizeof *library->variables, symbol_find);
  if (!found || (managed && !(*found)->managed))
    return SIM_NOT_FOUND;
  sim_instance *instance;
  int result = sim_library_instance(&instance, library, context);
  if (result)
    return result;
  *address = instance->addresses[(*found)->index];
  *size = (*found)->size;
  return SIM_SUCCESS;
}
