/* capsule.h: DLPack capsules, told apart by name and consumed in two steps that cannot fail. */
#ifndef XCHG_EXCHANGE_CAPSULE_H
#define XCHG_EXCHANGE_CAPSULE_H

#include "core/storage.h"
#include "dlpack.h"
#include "python/libpython.h"

typedef struct {
  PyObject *capsule;      /* borrowed */
  void *managed;          /* DLManagedTensor or DLManagedTensorVersioned */
  const DLTensor *tensor; /* inside it */
  uint64_t flags;         /* 0 for a legacy capsule */
  int versioned;
} xchg__capsule;

/* 1 for a fresh legacy capsule. */
int xchg__capsule_is_legacy(PyObject *object);

/* Looks into a fresh capsule of either kind; `from` (a function or a type) opens the message otherwise.
 * The capsule stays the owner. GIL held; leaves no exception. */
int xchg__capsule_open(xchg__capsule *out, PyObject *object, const char *from, xchg_error *err);

/* The version of DLPack that it follows; 0.0 for a legacy one. */
static inline DLPackVersion xchg__capsule_version(const xchg__capsule *capsule) {
  return capsule->versioned ? ((const DLManagedTensorVersioned *)capsule->managed)->version : (DLPackVersion){0, 0};
}

/* The capsule is used up: its managed tensor now belongs to whoever calls this. Cannot fail. */
void xchg__capsule_commit(const xchg__capsule *capsule);

/* `destroy` of a storage that owns a managed tensor and a reference on its Python object. */
void xchg__capsule_destroy_legacy(xchg_storage *storage, int python);
void xchg__capsule_destroy_versioned(xchg_storage *storage, int python);

#endif
