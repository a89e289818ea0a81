#include "exchange/cai.h"

#include <string.h>

#include "core/address.h"
#include "exchange/offer.h"
#include "exchange/producer.h"

#define CAI "cai"

enum { LAST_NAME = 2 /* of streams that have numbers; drivers follow all others as pointers */ };

/* ---- its fields ------------------------------------------------------------------------------------- */

static int read_version(int64_t *out, PyObject *dict, xchg_error *err) {
  static const char cure[] = "the producer must give an integer from 0 to 3";
  PyObject *value = xchg__interface_field(dict, "version");
  int code = 0;
  if (value == NULL || xchg__interface_signed(value, out) != 0 || *out < 0)
    code = xchg__interface_bad(CAI, "version", value, cure, err);
  else if (*out > 3) /* versions have brought masks and streams: what must not be overlooked */
    code = xchg__error_set(err, XCHG_E_VERSION, CAI ": version %lld is not known; this library reads 0 to 3",
                           (long long)*out);
  xchg__py.Py_DecRef(value);
  return code;
}

static int read_stream(xchg__cai *out, PyObject *dict, int64_t version, xchg_error *err) {
  PyObject *value = version >= 3 ? xchg__interface_field(dict, "stream") : NULL;
  uint64_t number = 0;
  int code = 0;
  out->stream = NULL;
  if (value == NULL)
    return 0;
  if (xchg__interface_unsigned(value, &number) != 0)
    code = xchg__interface_bad(CAI, "stream", value,
                               "the producer must give 1 (legacy), 2 (per-thread), a handle, or None", err);
  else if (number == 0)
    code = xchg__error_set(err, XCHG_E_DESCRIPTOR,
                           CAI ": stream 0 is ambiguous; the producer must give 1 (legacy) or 2 (per-thread)");
  else if (number > LAST_NAME && xchg__address_readable((void *)(uintptr_t)number, sizeof(void *)) == 0)
    code = xchg__interface_bad(CAI, "stream", value,
                               "nothing is at that address; the producer's stream must live as long as the array", err);
  out->stream = (void *)(uintptr_t)number;
  xchg__py.Py_DecRef(value);
  return code;
}

static int read_data(xchg__cai *out, PyObject *dict, xchg_error *err) {
  PyObject *value = xchg__interface_field(dict, "data");
  int code = xchg__interface_read_address(&out->array, value, CAI, err);
  xchg__py.Py_DecRef(value);
  return code;
}

static int read_all(xchg__cai *out, int32_t dtype, xchg_error *err) {
  PyObject *dict = out->dict;
  int64_t version = 0;
  int code;
  if (!xchg__interface_has_flag(dict, XCHG_PY_DICT_SUBCLASS))
    return xchg__interface_bad(CAI, "__cuda_array_interface__", dict, "the producer must return a dict", err);
  if ((code = read_version(&version, dict, err)) != 0 || (code = xchg__interface_check_mask(dict, CAI, err)) != 0 ||
      (code = xchg__interface_read_shape(&out->array, dict, CAI, err)) != 0 ||
      (code = xchg__interface_read_type(&out->array, dict, dtype, CAI, err)) != 0 ||
      (code = xchg__interface_read_strides(&out->array, dict, CAI, err)) != 0 ||
      (code = read_data(out, dict, err)) != 0)
    return code;
  return read_stream(out, dict, version, err);
}

int xchg__cai_read(xchg__cai *out, PyObject *object, int32_t dtype, xchg_error *err) {
  int code;
  if (xchg__producer_prepare() != 0) {
    xchg__py.PyErr_Clear();
    return xchg__error_set(err, XCHG_E_MEMORY, "from_cai: Python has no memory");
  }
  if (xchg__offer_is_class(object) &&
      (code = xchg__offer_refuse_class(object, "__cuda_array_interface__", "from_cai", err)) != 0)
    return code;
  memset(&out->array.tensor, 0, sizeof out->array.tensor);
  out->array.tensor.device.device_type = kDLCUDA;
  out->dict = xchg__py.PyObject_GetAttr(object, xchg__names.cuda_interface);
  if (out->dict == NULL)
    return xchg__interface_refuse_attribute(object, "from_cai", "__cuda_array_interface__",
                                            "pass an array in memory of CUDA, or use from_dlpack", err);
  code = read_all(out, dtype, err);
  if (code != 0)
    xchg__py.Py_DecRef(out->dict);
  return code;
}
