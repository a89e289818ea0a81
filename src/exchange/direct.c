/* direct.c: imports that Lua calls through the FFI (xchg.h). Nothing here runs Python, raises or makes a Python
 * object. */
#include "exchange/buffer.h"
#include "exchange/ndarray.h"
#include "python/interpreter.h"
#include "python/object.h"

int32_t xchg_import_dtype(const void *userdata, int32_t protocol) {
  PyObject *object = xchg__object_at(userdata);
  int32_t dtype = object != NULL ? xchg__ndarray_dtype(object) : XCHG_DTYPE_NONE;
  if (dtype == XCHG_DTYPE_NONE && object != NULL && protocol == XCHG_PROTOCOL_BUFFER && xchg__bytes_is(object))
    dtype = XCHG_DTYPE_UINT8;
  return dtype;
}

static int import(xchg_slots *slots, xchg_tensor *out, PyObject *object, int32_t dtype, int protocol) {
  xchg__ndarray array;
  if (!xchg__ndarray_is(object))
    return protocol == XCHG_PROTOCOL_BUFFER && dtype == XCHG_DTYPE_UINT8 && xchg__bytes_is(object) &&
           xchg__from_bytes(slots, out, object, NULL) == 0;
  return xchg__ndarray_read(&array, object) && array.checked.description.dtype == dtype &&
         xchg__ndarray_adopt(slots, out, &array, object, protocol, NULL) == 0;
}

int32_t xchg_import(xchg_arena *arena, xchg_tensor *out, const void *userdata, int32_t dtype, int32_t protocol) {
  PyObject *object = xchg__object_at(userdata);
  xchg__gil_state gil;
  int done;
  if (object == NULL || !xchg__gil_enter_plain(&gil))
    return 0;
  done = import((xchg_slots *)arena, out, object, dtype, protocol);
  xchg__gil_leave(gil);
  return done;
}

int32_t xchg_import_into(xchg_arena *arena, xchg_tensor *tensor, const void *userdata, int32_t protocol) {
  xchg_tensor other;
  if (!xchg_import(arena, &other, userdata, tensor->_dtype, protocol))
    return 0;
  xchg_tensor_take(arena, tensor, &other);
  arena->busy -= arena->busy > 0;
  return 1;
}
