#include "exchange/adopt.h"

#include "cuda/memory.h"

int xchg__adopt(xchg_slots *slots, xchg_tensor *out, const xchg__checked *checked, void *owner, PyObject *object,
                void (*destroy)(xchg_storage *, int), xchg_error *err) {
  const xchg_description *d = &checked->description;
  xchg_storage *storage = xchg__storage_new(checked->bytes, owner, object, destroy, 1, err);
  int code;
  if (storage == NULL)
    return XCHG_E_MEMORY;
  /* Pinned memory is the host's. */
  if (d->device_type == kDLCUDA || d->device_type == kDLCUDAManaged)
    xchg__memory_count(storage, d->device_id);
  code = xchg__tensor_new(slots, out, d, storage, err);
  if (code != 0)
    xchg__storage_abandon(storage);
  else if (object != NULL)
    xchg__py.Py_IncRef(object);
  return code;
}

void xchg__adopt_destroy_python(xchg_storage *storage, int python) {
  if (!python)
    return;
  xchg__py.Py_DecRef(storage->owner);
  xchg__py.Py_DecRef(storage->object);
}
