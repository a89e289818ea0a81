/* The linker: it takes PTX texts and gives back one text, which the loader takes apart again. */
#include "front.h"

#include <stdlib.h>
#include <string.h>

#include "../module.h"
#include "../report.h"
#include "jit.h"

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

CU_API int cuLinkCreate_v2(unsigned count, int *options, void **values, sim_link **out);
CU_API int cuLinkCreate_v2(unsigned count, int *options, void **values, sim_link **out) {
  CU_BEGIN_CONTEXT(cuLinkCreate, SIM_CALL_DRIVER);
  (void)context;
  if (!out || (count && (!options || !values)))
    CU_END(SIM_INVALID_VALUE);
  sim_link *link = calloc(1, sizeof *link);
  if (!link)
    CU_END(SIM_OUT_OF_MEMORY);
  *link = (sim_link){.options = options, .values = values, .count = count, .next = links};
  links = link;
  *out = link;
  CU_END(SIM_SUCCESS);
}

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

CU_API int cuLinkAddData_v2(sim_link *link, int type, void *data, size_t size, const char *name, unsigned count,
                            int *options, void **values);
CU_API int cuLinkAddData_v2(sim_link *link, int type, void *data, size_t size, const char *name, unsigned count,
                            int *options, void **values) {
  CU_BEGIN(cuLinkAddData, SIM_CALL_DRIVER);
  (void)name, (void)options, (void)values, (void)count;
  if (link_check(link))
    CU_END(SIM_INVALID_HANDLE);
  if (!data || !size || type < 0 || type >= INPUTS)
    CU_END(SIM_INVALID_VALUE);
  CU_END(link_add(link, type, data, size));
}

CU_API int cuLinkAddFile_v2(sim_link *link, int type, const char *path, unsigned count, int *options, void **values);
CU_API int cuLinkAddFile_v2(sim_link *link, int type, const char *path, unsigned count, int *options, void **values) {
  CU_BEGIN(cuLinkAddFile, SIM_CALL_DRIVER);
  (void)options, (void)values, (void)count;
  if (link_check(link))
    CU_END(SIM_INVALID_HANDLE);
  if (!path || type < 0 || type >= INPUTS)
    CU_END(SIM_INVALID_VALUE);
  char *bytes = NULL;
  size_t length = 0;
  result = type == INPUT_PTX ? sim_jit_read_file(path, &bytes, &length) : SIM_SUCCESS;
  if (!result)
    result = link_add(link, type, bytes ? bytes : "", length);
  free(bytes);
  CU_END(result);
}

/* Whether the texts fit together is found here, as a linker does: the program is made and thrown away. */
CU_API int cuLinkComplete(sim_link *link, void **image, size_t *size);
CU_API int cuLinkComplete(sim_link *link, void **image, size_t *size) {
  CU_BEGIN(cuLinkComplete, SIM_CALL_DRIVER);
  if (link_check(link))
    CU_END(SIM_INVALID_HANDLE);
  if (!image)
    CU_END(SIM_INVALID_VALUE);
  if (!link->text)
    CU_END(link_fail(link, SIM_INVALID_VALUE, "link: nothing was added"));
  ptx_log log = {""};
  sim_library *library = NULL;
  result = sim_library_load(&library, link->text, link->length, NULL, &log);
  sim_jit_answer(link->options, link->values, link->count, &log, result);
  if (result)
    CU_END(result);
  sim_library_unload(library);
  *image = link->text;
  if (size)
    *size = link->length + 1;
  CU_END(SIM_SUCCESS);
}

CU_API int cuLinkDestroy(sim_link *link);
CU_API int cuLinkDestroy(sim_link *link) {
  CU_BEGIN(cuLinkDestroy, SIM_CALL_DRIVER);
  sim_link **at = &links;
  while (*at && *at != link)
    at = &(*at)->next;
  if (!*at)
    CU_END(SIM_INVALID_HANDLE);
  *at = link->next;
  free(link->text);
  free(link);
  CU_END(SIM_SUCCESS);
}
