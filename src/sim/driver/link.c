/* The linker: it takes PTX texts and gives back one text, which the loader takes apart again. */
#include "front.h"

#include <stdlib.h>
#include <string.h>

#include "../module.h"
#include "../report.h"
#include "../jit.h"

typedef struct sim_link {
  char *text;
  size_t length;
  int *options; /* the caller's, which live as long as the linker does */
  void **values;
  unsigned count;
  struct sim_link *next;
} sim_link;

static sim_link *links;

/* CUjitInputType */
enum { INPUT_CUBIN, INPUT_PTX, INPUT_FATBINARY, INPUT_OBJECT, INPUT_LIBRARY, INPUT_NVVM, INPUTS };

static int link_check(const sim_link *wanted) {
  for (const sim_link *each = links; each; each = each->next)
    if (each == wanted)
      return SIM_SUCCESS;
  return SIM_INVALID_HANDLE;
}

static int link_fail(sim_link *link, int result, const char *text) {
  ptx_log log = {""};
  strncpy(log.text, text, sizeof log.text - 1);
  sim_report(SIM_REPORT_LOAD, "%s", text);
  sim_jit_answer(link->options, link->values, link->count, &log, result);
  return result;
}

static int link_create(unsigned count, int *options, void **values, sim_link **out) {
  CU_CONTEXT(context);
  (void)context;
  if (!out || (count && (!options || !values)))
    return SIM_INVALID_VALUE;
  sim_link *link = calloc(1, sizeof *link);
  if (!link)
    return SIM_OUT_OF_MEMORY;
  *link = (sim_link){.options = options, .values = values, .count = count, .next = links};
  links = link;
  *out = link;
  return SIM_SUCCESS;
}
CU(cuLinkCreate_v2, cuLinkCreate, SIM_CALL_DRIVER, (unsigned count, int *options, void **values, sim_link **out),
   link_create(count, options, values, out))

/* A text that begins with .version stands for itself wherever it comes in one text. */
static int link_add(sim_link *link, int type, const void *data, size_t size) {
  enum { LIMIT = 64 << 20 };
  switch (type) {
  case INPUT_PTX: break;
  case INPUT_LIBRARY: return SIM_SUCCESS; /* cudadevrt: what kernels use of it is built in */
  default:
    return link_fail(link, SIM_NOT_SUPPORTED,
                     "link: the simulator runs PTX: cubins, objects, fat binaries and LTO-IR cannot be linked; compile "
                     "for compute_XX");
  }
  const char *end = memchr(data, 0, size);
  size_t length = end ? (size_t)(end - (const char *)data) : size;
  if (!ptx_module_recognise(data, length))
    return link_fail(link, SIM_INVALID_IMAGE, "link: the input is no PTX text");
  if (length > LIMIT - link->length)
    return link_fail(link, SIM_INVALID_IMAGE, "link: more than 64 MiB of text");
  char *grown = realloc(link->text, link->length + length + 2);
  if (!grown)
    return SIM_OUT_OF_MEMORY;
  memcpy(grown + link->length, data, length);
  link->text = grown;
  link->length += length;
  link->text[link->length++] = '\n';
  link->text[link->length] = 0;
  return SIM_SUCCESS;
}

static int link_add_data(sim_link *link, int type, void *data, size_t size, const char *name, unsigned count,
                         int *options, void **values) {
  (void)name, (void)options, (void)values, (void)count;
  if (link_check(link))
    return SIM_INVALID_HANDLE;
  if (!data || !size || type < 0 || type >= INPUTS)
    return SIM_INVALID_VALUE;
  return link_add(link, type, data, size);
}
CU(cuLinkAddData_v2, cuLinkAddData, SIM_CALL_DRIVER,
   (sim_link * link, int type, void *data, size_t size, const char *name, unsigned count, int *options, void **values),
   link_add_data(link, type, data, size, name, count, options, values))

static int link_add_file(sim_link *link, int type, const char *path, unsigned count, int *options, void **values) {
  (void)options, (void)values, (void)count;
  if (link_check(link))
    return SIM_INVALID_HANDLE;
  if (!path || type < 0 || type >= INPUTS)
    return SIM_INVALID_VALUE;
  char *bytes = NULL;
  size_t length = 0;
  int result = type == INPUT_PTX ? sim_jit_read_file(path, &bytes, &length) : SIM_SUCCESS;
  if (!result)
    result = link_add(link, type, bytes ? bytes : "", length);
  free(bytes);
  return result;
}
CU(cuLinkAddFile_v2, cuLinkAddFile, SIM_CALL_DRIVER,
   (sim_link * link, int type, const char *path, unsigned count, int *options, void **values),
   link_add_file(link, type, path, count, options, values))

/* Whether the texts fit together is found here, as a linker does: the program is made and thrown away. */
static int link_complete(sim_link *link, void **image, size_t *size) {
  if (link_check(link))
    return SIM_INVALID_HANDLE;
  if (!image)
    return SIM_INVALID_VALUE;
  if (!link->text)
    return link_fail(link, SIM_INVALID_VALUE, "link: nothing was added");
  ptx_log log = {""};
  sim_library *library = NULL;
  int result = sim_library_load(&library, link->text, link->length, NULL, &log);
  sim_jit_answer(link->options, link->values, link->count, &log, result);
  if (result)
    return result;
  sim_library_unload(library);
  *image = link->text;
  if (size)
    *size = link->length + 1;
  return SIM_SUCCESS;
}
CU(cuLinkComplete, cuLinkComplete, SIM_CALL_DRIVER, (sim_link * link, void **image, size_t *size),
   link_complete(link, image, size))

static int link_destroy(sim_link *link) {
  sim_link **at = &links;
  while (*at && *at != link)
    at = &(*at)->next;
  if (!*at)
    return SIM_INVALID_HANDLE;
  *at = link->next;
  free(link->text);
  free(link);
  return SIM_SUCCESS;
}
CU(cuLinkDestroy, cuLinkDestroy, SIM_CALL_DRIVER, (sim_link * link), link_destroy(link))
