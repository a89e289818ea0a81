#include "exchange/capsule.h"

#include "exchange/refusal.h"
#include "python/interpreter.h"

/* Python keeps the pointers. */
static const char legacy_name[] = "dltensor";
static const char legacy_used[] = "used_dltensor";
static const char versioned_name[] = "dltensor_versioned";
static const char versioned_used[] = "used_dltensor_versioned";

/* Why an object is no fresh capsule. */
static int capsule_refuse(PyObject *object, const char *from, xchg_error *err) {
  const char *name;
  char text[96];
  if (xchg__py_type(object) != xchg__py.PyCapsule_Type)
    return xchg__error_set(err, XCHG_E_CAPSULE, "%s: __dlpack__ returned %s; the producer must return a PyCapsule",
                           from, xchg__object_text(object, text, sizeof text));
  if (xchg__py.PyCapsule_IsValid(object, legacy_used) || xchg__py.PyCapsule_IsValid(object, versioned_used))
    return xchg__error_set(
        err, XCHG_E_CAPSULE,
        "%s: the capsule was used already; a capsule can be consumed once, ask the producer for another", from);
  name = xchg__py.PyCapsule_GetName(object);
  if (xchg__py.PyErr_Occurred() != NULL)
    xchg__py.PyErr_Clear();
  return xchg__error_set(err, XCHG_E_CAPSULE,
                         "%s: the capsule is named \"%.60s\"; only \"%s\" and \"%s\" can be consumed", from,
                         name != NULL ? name : "(NULL)", legacy_name, versioned_name);
}

int xchg__capsule_is_legacy(PyObject *object) {
  return xchg__py.PyCapsule_IsValid(object, legacy_name);
}

int xchg__capsule_open(xchg__capsule *out, PyObject *object, const char *from, xchg_error *err) {
  out->capsule = object;
  if (xchg__py.PyCapsule_IsValid(object, versioned_name)) {
    DLManagedTensorVersioned *managed = xchg__py.PyCapsule_GetPointer(object, versioned_name);
    /* Of another major only these first fields are known. */
    if (managed->version.major != kDLPackMajor)
      return xchg__error_set(
          err, XCHG_E_VERSION,
          "%s: the capsule follows DLPack %u.%u; this library reads version %d.x, use an older producer", from,
          managed->version.major, managed->version.minor, kDLPackMajor);
    out->managed = managed;
    out->tensor = &managed->dl_tensor;
    out->flags = managed->flags;
    out->versioned = 1;
    return 0;
  }
  if (xchg__py.PyCapsule_IsValid(object, legacy_name)) {
    DLManagedTensor *managed = xchg__py.PyCapsule_GetPointer(object, legacy_name);
    out->managed = managed;
    out->tensor = &managed->dl_tensor;
    out->flags = 0;
    out->versioned = 0;
    return 0;
  }
  return capsule_refuse(object, from, err);
}

void xchg__capsule_commit(const xchg__capsule *capsule) {
  /* Both: consumers and producers exist that look at only one of the two. */
  xchg__py.PyCapsule_SetName(capsule->capsule, capsule->versioned ? versioned_used : legacy_used);
  xchg__py.PyCapsule_SetDestructor(capsule->capsule, NULL);
}

/* A producer's deleter may be called from any thread and after its interpreter has gone, but in a forked
 * child its locks may be held by threads that no longer exist. */
void xchg__capsule_destroy_legacy(xchg_storage *storage, int python) {
  DLManagedTensor *managed = storage->owner;
  if (managed->deleter != NULL && !xchg__python_forked())
    managed->deleter(managed);
  if (python)
    xchg__py.Py_DecRef(storage->object);
}

void xchg__capsule_destroy_versioned(xchg_storage *storage, int python) {
  DLManagedTensorVersioned *managed = storage->owner;
  if (managed->deleter != NULL && !xchg__python_forked())
    managed->deleter(managed);
  if (python)
    xchg__py.Py_DecRef(storage->object);
}
