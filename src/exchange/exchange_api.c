#include "exchange/exchange_api.h"

#include "core/address.h"

enum {
  MAX_TABLES = 16 /* of older majors to walk: a ring must end */
};

/* A wrong address must not crash us. */
static int is_readable(const void *address) {
  return xchg__address_readable(address, sizeof(DLPackExchangeAPI)) == 1;
}

/* The address that an attribute value holds, or NULL. */
static const void *table_of(PyObject *value) {
  const void *address;
  if (xchg__py.PyCapsule_IsValid(value, "dlpack_exchange_api"))
    return xchg__py.PyCapsule_GetPointer(value, "dlpack_exchange_api");
  if ((xchg__py.PyType_GetFlags(xchg__py_type(value)) & XCHG_PY_LONG_SUBCLASS) == 0)
    return NULL;
  address = xchg__py.PyLong_AsVoidPtr(value);
  if (xchg__py.PyErr_Occurred() != NULL)
    xchg__py.PyErr_Clear();
  return address != NULL && is_readable(address) ? address : NULL;
}

const DLPackExchangeAPI *xchg__exchange_api_find(PyObject *type) {
  static const char *const spellings[] = {"__dlpack_c_exchange_api__", "__c_dlpack_exchange_api__"};
  for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++) {
    PyObject *value = xchg__py.PyObject_GetAttrString(type, spellings[i]);
    const DLPackExchangeAPIHeader *header;
    if (value == NULL) {
      xchg__py.PyErr_Clear();
      continue;
    }
    header = table_of(value);
    xchg__py.Py_DecRef(value);
    for (int n = 0; header != NULL && n < MAX_TABLES; n++) {
      if (header->version.major == kDLPackMajor)
        return (const DLPackExchangeAPI *)header;
      header = header->prev_api;
      if (header != NULL && !is_readable(header))
        break;
    }
  }
  return NULL;
}
