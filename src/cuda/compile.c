#include "cuda/compile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/nvrtc.h"

/* ---- requests ------------------------------------------------------------------------------------ */

/* The pointers come first, then the texts. Called twice: without a block it only counts. */
typedef struct {
  const char **pointers;
  char *texts;
  size_t pointer_count, text_bytes;
} request_block;

static const char *text_put(request_block *block, const char *text) {
  size_t size = strlen(text) + 1;
  char *at = block->texts != NULL ? memcpy(block->texts + block->text_bytes, text, size) : NULL;
  block->text_bytes += size;
  return at;
}

static const char *const *list_put(request_block *block, const char *const *list, int32_t count) {
  const char **at = block->pointers != NULL ? block->pointers + block->pointer_count : NULL;
  block->pointer_count += (size_t)count;
  for (int32_t i = 0; i < count; i++) {
    const char *text = text_put(block, list[i]);
    if (at != NULL)
      at[i] = text;
  }
  return at;
}

static void request_put(request_block *block, xchg_compile_request *copy, const xchg_compile_request *request) {
  *copy = *request;
  copy->source = text_put(block, request->source);
  copy->name = text_put(block, request->name);
  copy->options = list_put(block, request->options, request->option_count);
  copy->names = list_put(block, request->names, request->name_count);
  copy->header_names = list_put(block, request->header_names, request->header_count);
  copy->header_texts = list_put(block, request->header_texts, request->header_count);
  copy->folders = list_put(block, request->folders, request->folder_count);
  copy->cache = request->cache != NULL ? text_put(block, request->cache) : NULL;
}

xchg_compile_request *xchg__compile_request_copy(const xchg_compile_request *request, xchg_error *err) {
  xchg_compile_request measured, *copy;
  request_block count = {NULL, NULL, 0, 0}, block = {NULL, NULL, 0, 0};
  request_put(&count, &measured, request);
  copy = malloc(sizeof *copy + count.pointer_count * sizeof(char *) + count.text_bytes);
  if (copy == NULL) {
    xchg__error_set(err, XCHG_E_MEMORY, "compile: no memory for a source of %zu bytes", count.text_bytes);
    return NULL;
  }
  block.pointers = (const char **)(copy + 1);
  block.texts = (char *)(block.pointers + count.pointer_count);
  request_put(&block, copy, request);
  return copy;
}

/* ---- outcomes ------------------------------------------------------------------------------------ */

void xchg__bytes_add(xchg__bytes *bytes, const void *from, size_t count) {
  if (bytes->failed)
    return;
  if (count > bytes->room - bytes->size) {
    size_t room = bytes->size + count + bytes->room / 2 + 256;
    char *more = room > count ? realloc(bytes->bytes, room) : NULL;
    if (more == NULL) {
      bytes->failed = 1;
      return;
    }
    bytes->bytes = more;
    bytes->room = room;
  }
  if (from != NULL)
    memcpy(bytes->bytes + bytes->size, from, count);
  else
    memset(bytes->bytes + bytes->size, 0, count);
  bytes->size += count;
}

void xchg__compile_outcome_free(xchg__compile_outcome *outcome) {
  free(outcome->block);
  free(outcome->lowered);
  outcome->block = NULL;
  outcome->lowered = NULL;
}

/* One part of the block, with its NUL. NULL where it does not fit. */
static const char *part_take(const char *block, size_t size, size_t *at, uint64_t length) {
  const char *part = block + *at;
  if (length >= size - *at || part[length] != '\0')
    return NULL;
  *at += (size_t)length + 1;
  return part;
}

int xchg__compile_outcome_take(xchg__compile_outcome *outcome, char *block, size_t size,
                               const xchg__compile_sizes *sizes, int32_t name_count) {
  xchg_compile_result *result = &outcome->result;
  const char **lowered = calloc((size_t)name_count + 1, sizeof *lowered), *names;
  const char *ptx = NULL, *cubin = NULL, *log = NULL;
  size_t at = 0;
  if (lowered == NULL || size == 0 || (ptx = part_take(block, size, &at, sizes->ptx)) == NULL ||
      (at < size ? cubin = part_take(block, size, &at, sizes->cubin) : NULL) == NULL ||
      (at < size ? log = part_take(block, size, &at, sizes->log) : NULL) == NULL || sizes->names != size - at) {
    free(lowered);
    return -1;
  }
  names = block + at;
  for (int32_t i = 0; i < name_count; i++) {
    const char *end = memchr(names, '\0', (size_t)(block + size - names));
    if (end == NULL) {
      free(lowered);
      return -1;
    }
    lowered[i] = names;
    names = end + 1;
  }
  if (names != block + size) {
    free(lowered);
    return -1;
  }
  result->ptx = ptx;
  result->ptx_size = (int64_t)sizes->ptx;
  result->cubin = sizes->cubin > 0 ? cubin : NULL;
  result->cubin_size = (int64_t)sizes->cubin;
  result->log = log;
  result->log_size = (int64_t)sizes->log;
  result->lowered = outcome->lowered = lowered;
  outcome->block = block;
  return 0;
}

/* ---- NVRTC --------------------------------------------------------------------------------------- */

static void fail(xchg__compile_outcome *outcome, int nvrtc, int code, const char *what) {
  if (outcome->result.code != 0)
    return;
  outcome->result.code = code;
  outcome->result.nvrtc = nvrtc;
  if (nvrtc != 0)
    snprintf(outcome->message, sizeof outcome->message, "%s: %s (%d)", what, xchg__nvrtc.nvrtcGetErrorString(nvrtc),
             nvrtc);
  else
    snprintf(outcome->message, sizeof outcome->message, "%s", what);
  outcome->result.message = outcome->message;
}

/* One of NVRTC's pairs of "how long" and "give it", with a NUL behind it. `counts_nul`: as its texts do. */
static uint64_t part_add(xchg__compile_outcome *outcome, xchg__bytes *bytes, void *program, const char *what,
                         int (*size_of)(void *, size_t *), int (*give)(void *, char *), int counts_nul) {
  size_t size = 0, at = bytes->size;
  int result = size_of(program, &size);
  if (result == 0 && size > 0) {
    xchg__bytes_add(bytes, NULL, size);
    if (!bytes->failed)
      result = give(program, bytes->bytes + at);
  }
  if (result != 0)
    fail(outcome, result, XCHG_E_COMPILE, what);
  if (counts_nul && size > 0)
    size--;
  if (!bytes->failed)
    bytes->size = at + size;
  xchg__bytes_add(bytes, "", 1);
  return size;
}

static int code_of(int nvrtc) {
  switch (nvrtc) {
  case 1: return XCHG_E_MEMORY;
  case XCHG_NVRTC_INVALID_OPTION: return XCHG_E_ARGUMENT;
  default: return XCHG_E_COMPILE;
  }
}

static void outcome_gather(xchg__compile_outcome *outcome, const xchg_compile_request *request, void *program,
                           int compiled) {
  xchg__compile_sizes sizes = {0, 0, 0, 0};
  xchg__bytes bytes = {NULL, 0, 0, 0};
  size_t before;
  if (compiled) {
    sizes.ptx = part_add(outcome, &bytes, program, "compile: nvrtcGetPTX", xchg__nvrtc.nvrtcGetPTXSize,
                         xchg__nvrtc.nvrtcGetPTX, 1);
    sizes.cubin = part_add(outcome, &bytes, program, "compile: nvrtcGetCUBIN", xchg__nvrtc.nvrtcGetCUBINSize,
                           xchg__nvrtc.nvrtcGetCUBIN, 0);
  } else {
    xchg__bytes_add(&bytes, NULL, 2);
  }
  sizes.log = part_add(outcome, &bytes, program, "compile: nvrtcGetProgramLog", xchg__nvrtc.nvrtcGetProgramLogSize,
                       xchg__nvrtc.nvrtcGetProgramLog, 1);
  before = bytes.size;
  for (int32_t i = 0; compiled && i < request->name_count; i++) {
    const char *lowered = "";
    int result = xchg__nvrtc.nvrtcGetLoweredName(program, request->names[i], &lowered);
    if (result != 0)
      fail(outcome, result, XCHG_E_COMPILE, "compile: nvrtcGetLoweredName");
    xchg__bytes_add(&bytes, lowered, strlen(lowered) + 1);
  }
  sizes.names = bytes.size - before;
  if (bytes.failed ||
      xchg__compile_outcome_take(outcome, bytes.bytes, bytes.size, &sizes, compiled ? request->name_count : 0) != 0) {
    outcome->result.code = 0;
    fail(outcome, 0, XCHG_E_MEMORY, "compile: no memory for what NVRTC has made");
    free(bytes.bytes);
  }
}

void xchg__compile_run(xchg__compile_outcome *outcome, const xchg_compile_request *request,
                       int (*stop)(void *context, void *unused), void *context) {
  void *program = NULL;
  int result = xchg__nvrtc.nvrtcCreateProgram(&program, request->source, request->name, request->header_count,
                                              request->header_texts, request->header_names);
  if (result != 0) {
    fail(outcome, result, code_of(result), "compile: nvrtcCreateProgram");
    return;
  }
  for (int32_t i = 0; i < request->name_count && result == 0; i++)
    if ((result = xchg__nvrtc.nvrtcAddNameExpression(program, request->names[i])) != 0)
      fail(outcome, result, XCHG_E_COMPILE, "compile: nvrtcAddNameExpression");
  if (result == 0) {
    if (xchg__nvrtc.nvrtcSetFlowCallback != NULL)
      xchg__nvrtc.nvrtcSetFlowCallback(program, stop, context);
    result = xchg__nvrtc.nvrtcCompileProgram(program, request->option_count, request->options);
    if (result != 0)
      fail(outcome, result, code_of(result), "compile: nvrtcCompileProgram");
    outcome_gather(outcome, request, program, result == 0);
  }
  xchg__nvrtc.nvrtcDestroyProgram(&program);
}
