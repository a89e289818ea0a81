/* forge_double: what the managed tensors of spec/support/forge.lua need of C: deleters and destructors that count, and
 * tables of the C exchange API that do what they were told. Loaded by name into a process that has libpython's
 * symbols. */
#include <stdint.h>
#include <string.h>

#include "dlpack.h"

#define EXPORT __attribute__((visibility("default")))

/* Of libpython, as its documentation declares them. */
typedef struct object object;
void PyErr_SetString(object *type, const char *message);
const char *PyCapsule_GetName(object *capsule);
void *PyCapsule_GetPointer(object *capsule, const char *name);

/* As forge.lua declares it. */
typedef struct {
  union {
    DLManagedTensor legacy;
    DLManagedTensorVersioned versioned;
  } managed;
  int32_t deleted, destroyed;
  int64_t shape[66], strides[66];
} record;

/* For both kinds of managed tensors. */
EXPORT void forge_delete(void *self) {
  ((record *)self)->deleted++;
}

/* What a producer's destructor does: deletes what nobody has consumed. */
EXPORT void forge_destroy(object *capsule) {
  const char *name = PyCapsule_GetName(capsule);
  record *self = PyCapsule_GetPointer(capsule, name);
  self->destroyed++;
  if (name != NULL && strcmp(name, "dltensor_versioned") == 0 && self->managed.versioned.deleter != NULL)
    self->managed.versioned.deleter(&self->managed.versioned);
  else if (name != NULL && strcmp(name, "dltensor") == 0 && self->managed.legacy.deleter != NULL)
    self->managed.legacy.deleter(&self->managed.legacy);
}

/* One that does not look at the name. */
EXPORT void forge_destroy_sloppily(object *capsule) {
  record *self = PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule));
  self->destroyed++;
  forge_delete(self);
}

/* ---- the C exchange API ------------------------------------------------------------------------------- */

/* What the functions do next: `result` is what they return, `error` an exception's class to set (NULL: none), `given`
 * what they write (NULL: nothing is written). */
typedef struct {
  int32_t result;
  object *error;
  void *given;
  int32_t calls;
} behaviour;
EXPORT behaviour forge_owning, forge_borrowing, forge_stream;

static int behave(behaviour *how) {
  how->calls++;
  if (how->error != NULL)
    PyErr_SetString(how->error, "the table says no");
  return how->result;
}

static int owning(void *py_object, DLManagedTensorVersioned **out) {
  (void)py_object;
  if (forge_owning.given != NULL)
    *out = forge_owning.given;
  return behave(&forge_owning);
}

static int borrowing(void *py_object, DLTensor *out) {
  (void)py_object;
  if (forge_borrowing.given != NULL)
    *out = ((record *)forge_borrowing.given)->managed.versioned.dl_tensor;
  return behave(&forge_borrowing);
}

static int stream(int32_t device_type, int32_t device_id, void **out) {
  (void)device_type;
  (void)device_id;
  *out = forge_stream.given;
  return behave(&forge_stream);
}

/* A table of that version, with those of its functions whose bits are set: 1 the owning one, 2 the borrowing one, 4 the
 * stream's. It lasts until some hundred others were made, longer than the types that point to it. */
EXPORT void *forge_table(uint32_t major, uint32_t minor, int functions, void *older) {
  static DLPackExchangeAPI tables[256];
  static unsigned made;
  DLPackExchangeAPI *table = &tables[made++ % 256];
  memset(table, 0, sizeof *table);
  table->header.version.major = major;
  table->header.version.minor = minor;
  table->header.prev_api = older;
  if (functions & 1)
    table->managed_tensor_from_py_object_no_sync = owning;
  if (functions & 2)
    table->dltensor_from_py_object_no_sync = borrowing;
  if (functions & 4)
    table->current_work_stream = stream;
  return table;
}
