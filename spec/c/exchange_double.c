/* exchange_double: a producer in C, for what Python functions cannot stand in for.
 *
 * Its deleters touch no Python, count, and may be called from any thread at any time. Its C exchange API fails in ways
 * that a ctypes function cannot. Loaded by name into a process that has libpython's symbols. Where EXCHANGE_REPORT
 * is set, the end of the process writes a line with the counts. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dlpack.h"

#define EXPORT __attribute__((visibility("default")))

/* Of libpython, as its documentation declares them. */
typedef struct object object;
extern object *PyExc_BufferError;
void PyErr_SetString(object *type, const char *message);
object *PyCapsule_New(void *pointer, const char *name, void (*destructor)(object *));
int PyCapsule_IsValid(object *capsule, const char *name);
void *PyCapsule_GetPointer(object *capsule, const char *name);

static atomic_int made, deleted, twice, stray_thread;
static _Thread_local int on_thread; /* not 0 on a thread that has made or asked something */

typedef struct array array;
struct array {
  double values[4];
  int64_t shape[1];
  int64_t strides[1];
  atomic_int dead;
  union {
    DLManagedTensor legacy;
    DLManagedTensorVersioned versioned;
  } managed;
  array *older;
};

/* Never freed, as a second call of a deleter must be seen, not crash; and so that leak checkers know. */
static _Atomic(array *) arrays;

static void array_delete(array *self) {
  if (atomic_exchange(&self->dead, 1))
    atomic_fetch_add(&twice, 1);
  else
    atomic_fetch_add(&deleted, 1);
  if (!on_thread)
    atomic_fetch_add(&stray_thread, 1);
  memset(self->values, 0xff, sizeof self->values);
}

static void delete_legacy(DLManagedTensor *self) {
  array_delete(self->manager_ctx);
}

static void delete_versioned(DLManagedTensorVersioned *self) {
  array_delete(self->manager_ctx);
}

static void fill(DLTensor *tensor, array *self) {
  self->shape[0] = 4;
  self->strides[0] = 1;
  for (int i = 0; i < 4; i++)
    self->values[i] = i + 0.5;
  tensor->data = self->values;
  tensor->device.device_type = kDLCPU;
  tensor->ndim = 1;
  tensor->dtype.code = kDLFloat;
  tensor->dtype.bits = 64;
  tensor->dtype.lanes = 1;
  tensor->shape = self->shape;
  tensor->strides = self->strides;
}

static array *array_new(int versioned) {
  array *self = calloc(1, sizeof *self);
  if (self == NULL)
    abort();
  on_thread = 1;
  self->older = atomic_load(&arrays);
  while (!atomic_compare_exchange_weak(&arrays, &self->older, self)) {
  }
  if (versioned) {
    self->managed.versioned.version.major = 1;
    self->managed.versioned.version.minor = 3;
    self->managed.versioned.manager_ctx = self;
    self->managed.versioned.deleter = delete_versioned;
    fill(&self->managed.versioned.dl_tensor, self);
  } else {
    self->managed.legacy.manager_ctx = self;
    self->managed.legacy.deleter = delete_legacy;
    fill(&self->managed.legacy.dl_tensor, self);
  }
  atomic_fetch_add(&made, 1);
  return self;
}

static void destroy_legacy(object *capsule) {
  if (PyCapsule_IsValid(capsule, "dltensor")) {
    DLManagedTensor *managed = PyCapsule_GetPointer(capsule, "dltensor");
    managed->deleter(managed);
  }
}

static void destroy_versioned(object *capsule) {
  if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
    DLManagedTensorVersioned *managed = PyCapsule_GetPointer(capsule, "dltensor_versioned");
    managed->deleter(managed);
  }
}

/* A new capsule over four float64 (0.5, 1.5, 2.5, 3.5) with a destructor in C. */
EXPORT object *exchange_capsule(int versioned) {
  array *self = array_new(versioned);
  object *capsule = versioned ? PyCapsule_New(&self->managed.versioned, "dltensor_versioned", destroy_versioned)
                              : PyCapsule_New(&self->managed.legacy, "dltensor", destroy_legacy);
  if (capsule == NULL)
    array_delete(self);
  return capsule;
}

EXPORT int exchange_made(void) {
  return made;
}
EXPORT int exchange_deleted(void) {
  return deleted;
}
/* Deleter calls on an array that was deleted before. */
EXPORT int exchange_twice(void) {
  return twice;
}
/* Deleter calls on a thread that has made no array. */
EXPORT int exchange_stray(void) {
  return stray_thread;
}

/* ---- the C exchange API --------------------------------------------------------------------------- */

/* What managed_tensor_from_py_object_no_sync does next. */
enum {
  WORKS,
  FAILS,          /* -1 and an exception */
  FAILS_SILENTLY, /* -1 and none */
  WORKS_PENDING,  /* 0, a tensor, and an exception */
  WORKS_EMPTY,    /* 0 and no tensor */
  MAJOR_2,        /* a tensor of another major version */
  NO_DATA,        /* a tensor with elements and no memory */
  READ_ONLY
};
static int behaviour;
static int calls;

EXPORT void exchange_behave(int how) {
  behaviour = how;
}
EXPORT int exchange_calls(void) {
  return calls;
}

static int from_py(void *py_object, DLManagedTensorVersioned **out) {
  array *self;
  (void)py_object;
  calls++;
  if (behaviour == FAILS || behaviour == WORKS_PENDING)
    PyErr_SetString(PyExc_BufferError, "the table says no");
  if (behaviour == FAILS || behaviour == FAILS_SILENTLY)
    return -1;
  if (behaviour == WORKS_EMPTY)
    return 0;
  self = array_new(1);
  if (behaviour == MAJOR_2) {
    self->managed.versioned.version.major = 2;
    memset(&self->managed.versioned.dl_tensor, 0xa5, sizeof self->managed.versioned.dl_tensor);
  }
  if (behaviour == NO_DATA)
    self->managed.versioned.dl_tensor.data = NULL;
  if (behaviour == READ_ONLY)
    self->managed.versioned.flags = kDLFlagReadOnly;
  *out = &self->managed.versioned;
  return 0;
}

static DLPackExchangeAPI working = {{{1, 3}, NULL}, NULL, from_py, NULL, NULL, NULL};
static DLPackExchangeAPI empty = {{{1, 3}, NULL}, NULL, NULL, NULL, NULL, NULL};
static DLPackExchangeAPI newer = {{{2, 0}, &working.header}, NULL, NULL, NULL, NULL, NULL};
static DLPackExchangeAPI newest = {{{3, 0}, &newer.header}, NULL, NULL, NULL, NULL, NULL};
static DLPackExchangeAPI alone = {{{2, 0}, NULL}, NULL, NULL, NULL, NULL, NULL};
static DLPackExchangeAPI ring = {{{2, 0}, &ring.header}, NULL, NULL, NULL, NULL, NULL};
static DLPackExchangeAPI dangling = {{{2, 0}, NULL}, NULL, NULL, NULL, NULL, NULL};

/* A table by its name, NULL for an unknown one. */
EXPORT void *exchange_table(const char *name) {
  static const struct {
    const char *name;
    DLPackExchangeAPI *table;
  } tables[] = {{"working", &working}, {"empty", &empty}, {"newest", &newest}, {"alone", &alone}, {"ring", &ring}};
  if (strcmp(name, "dangling") == 0) {
    uintptr_t nowhere = 0x10;
    memcpy(&dangling.header.prev_api, &nowhere, sizeof nowhere);
    return &dangling;
  }
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
    if (strcmp(name, tables[i].name) == 0)
      return tables[i].table;
  return NULL;
}

/* ---- the end ---------------------------------------------------------------------------------------- */

__attribute__((destructor)) static void report(void) {
  char line[128];
  int length;
  if (getenv("EXCHANGE_REPORT") == NULL)
    return;
  length = snprintf(line, sizeof line, "made %d deleted %d twice %d stray %d\n", made, deleted, twice, stray_thread);
  if (write(STDOUT_FILENO, line, (size_t)length) != length)
    abort();
}
