#include "exchange/resolve.h"

#include <stdio.h>
#include <string.h>

#include "core/dtype.h"
#include "exchange/array_interface.h"
#include "exchange/array_method.h"
#include "exchange/array_struct.h"
#include "exchange/ask.h"
#include "exchange/buffer.h"
#include "exchange/capsule.h"
#include "exchange/from_cai.h"
#include "exchange/from_dlpack.h"
#include "exchange/ndarray.h"
#include "exchange/offer.h"
#include "exchange/refusal.h"
#include "exchange/typestr.h"

typedef int (*importer)(xchg__request *request, xchg_tensor *out, PyObject *object, xchg_error *err);

static const uint8_t order[] = {
    XCHG_PROTOCOL_EXCHANGE_API, XCHG_PROTOCOL_DLPACK,          XCHG_PROTOCOL_CAI,   XCHG_PROTOCOL_BUFFER,
    XCHG_PROTOCOL_ARRAY_STRUCT, XCHG_PROTOCOL_ARRAY_INTERFACE, XCHG_PROTOCOL_ARRAY, 0};

const uint8_t *xchg__resolve_order(void) {
  return order;
}

static importer importer_of(int protocol) {
  switch (protocol) {
  case XCHG_PROTOCOL_EXCHANGE_API:
  case XCHG_PROTOCOL_DLPACK: return xchg__from_dlpack;
  case XCHG_PROTOCOL_CAI: return xchg__from_cai;
  case XCHG_PROTOCOL_BUFFER: return xchg__from_buffer;
  case XCHG_PROTOCOL_ARRAY_STRUCT: return xchg__from_array_struct;
  case XCHG_PROTOCOL_ARRAY_INTERFACE: return xchg__from_array_interface;
  default: return xchg__from_array;
  }
}

/* ---- refusals ------------------------------------------------------------------------------------- */

/* What was refused so far. */
typedef struct {
  int count;
  xchg_error first;
  PyObject *type, *value, *traceback; /* of the first one's exception, or NULL */
  int device_type;                    /* on which the object says it is; 0: it has not said */
  char others[800];                   /* a line for each */
  int left_out;                       /* for want of room */
} refusals;

/* The first line of a text, or as much of it as a line of a list may have: whole characters. */
static void line_of(char *out, size_t size, const char *text) {
  size_t length = strcspn(text, "\n"), room = size - sizeof "...";
  if (length <= room) {
    snprintf(out, size, "%.*s", (int)length, text);
    return;
  }
  while (room > 0 && ((unsigned char)text[room] & 0xc0) == 0x80)
    room--;
  snprintf(out, size, "%.*s...", (int)room, text);
}

/* The device that the object names, asked with nothing pending. */
static int device_of(PyObject *object) {
  DLDevice device;
  xchg_error ignored;
  ignored.code = 0;
  if (xchg__ask_device(object, XCHG_FAMILY_OTHER, &device, &ignored) != 0) {
    xchg__py.PyErr_Clear();
    return 0;
  }
  return device.device_type;
}

/* Takes a refusal down, with the exception that is pending, and says whether it was the producer's own. */
static int refusals_add(refusals *all, PyObject *object, int protocol, xchg_error *err) {
  PyObject *type, *value, *traceback;
  int own, foreign = xchg__py.PyErr_Occurred() != NULL;
  /* A KeyboardInterrupt or a SystemExit is no opinion about the array. */
  own = foreign && xchg__py.PyErr_ExceptionMatches(xchg__py.PyExc_Exception);
  xchg__py.PyErr_Fetch(&type, &value, &traceback);
  if (all->count++ == 0 || (foreign && !own)) {
    xchg__py.Py_DecRef(all->type);
    xchg__py.Py_DecRef(all->value);
    xchg__py.Py_DecRef(all->traceback);
    all->first = *err;
    all->type = type;
    all->value = value;
    all->traceback = traceback;
    if (own && (protocol == XCHG_PROTOCOL_EXCHANGE_API || protocol == XCHG_PROTOCOL_DLPACK))
      all->device_type = device_of(object);
  } else {
    size_t used = strlen(all->others);
    char line[240];
    line_of(line, sizeof line, err->message);
    if (used + strlen(line) + sizeof "\n  and " <= sizeof all->others)
      snprintf(all->others + used, sizeof all->others - used, "\n  and %s", line);
    else
      all->left_out++;
    xchg__py.Py_DecRef(type);
    xchg__py.Py_DecRef(value);
    xchg__py.Py_DecRef(traceback);
  }
  err->code = 0;
  return own;
}

static void refusals_forget(refusals *all) {
  if (all->type == NULL)
    return;
  xchg__py.Py_DecRef(all->type);
  xchg__py.Py_DecRef(all->value);
  xchg__py.Py_DecRef(all->traceback);
}

static int refusals_give(refusals *all, xchg_error *err) {
  enum { LAST = 32 }; /* room for the last line */
  char *line = all->others, *next;
  size_t used, room;
  *err = all->first;
  used = strlen(err->message);
  room = sizeof err->message - LAST;
  for (; *line != '\0'; line = next) { /* each begins with its line feed */
    size_t length = 1 + strcspn(line + 1, "\n");
    next = line + length;
    if (used + length >= room) {
      all->left_out++;
      continue;
    }
    memcpy(err->message + used, line, length);
    err->message[used += length] = '\0';
  }
  if (all->left_out > 0 && used < room)
    snprintf(err->message + used, sizeof err->message - used, "\n  and %d more", all->left_out);
  if (all->type != NULL)
    xchg__py.PyErr_Restore(all->type, all->value, all->traceback);
  return err->code;
}

/* ---- buffers that lie ----------------------------------------------------------------------------- */

/* Whether an object is a moment or a duration of NumPy: its buffer says that it is bytes. */
static int is_moment(PyObject *object) {
  static const char *const classes[] = {"datetime64", "timedelta64"};
  PyObject *numpy = xchg__py.PyDict_GetItemString(xchg__py.PyImport_GetModuleDict(), "numpy");
  int found = 0;
  for (size_t i = 0; numpy != NULL && !found && i < sizeof classes / sizeof *classes; i++) {
    PyObject *class = xchg__py.PyObject_GetAttrString(numpy, classes[i]);
    found = class != NULL && xchg__py.PyObject_IsInstance(object, class) == 1;
    if (xchg__py.PyErr_Occurred() != NULL)
      xchg__py.PyErr_Clear();
    xchg__py.Py_DecRef(class);
  }
  return found;
}

/* ---- the order ------------------------------------------------------------------------------------ */

/* Whether a protocol may be asked after the refusals so far. */
static int may_ask(const refusals *all, int protocol) {
  if (all->count == 0)
    return 1;
  if (protocol == XCHG_PROTOCOL_ARRAY)
    return 0;
  return all->device_type == 0 || protocol == XCHG_PROTOCOL_EXCHANGE_API || protocol == XCHG_PROTOCOL_DLPACK ||
         (protocol == XCHG_PROTOCOL_CAI) != (all->device_type == kDLCPU);
}

static int nothing_offered(const xchg__request *request, PyObject *object, xchg_error *err) {
  const char *cure = xchg__offer_cure(object);
  int others = xchg__offer_any(object, xchg__offer_absent(object));
  char name[128], list[160] = "";
  for (int i = 0; i < request->protocol_count; i++) {
    size_t used = strlen(list);
    snprintf(list + used, sizeof list - used, "%s%s", i > 0 ? ", " : "", xchg_protocol_name(request->protocols[i]));
  }
  return xchg__error_set(err, XCHG_E_ABSENT, "%s: %s has none of the protocols %s%s%s",
                         request->plain ? "asarray" : "into", xchg__type_name(xchg__py_type(object), name, sizeof name),
                         list,
                         others           ? ", but others: allow them"
                         : request->plain ? ", and is neither a number nor a sequence; "
                                          : "; pass an array",
                         !request->plain || others ? ""
                         : cure != NULL            ? cure
                                                   : "pass an array, or a list of numbers");
}

static int ask_all(xchg__request *request, xchg_tensor *out, PyObject *object, uint32_t absent, refusals *all,
                   xchg_error *err) {
  int is_capsule = xchg__py_type(object) == xchg__py.PyCapsule_Type;
  for (int i = 0; i < request->protocol_count; i++) {
    int protocol = request->protocols[i], code;
    uint32_t bits = 1u << protocol;
    /* One question for both. */
    if (protocol == XCHG_PROTOCOL_EXCHANGE_API && i + 1 < request->protocol_count &&
        request->protocols[i + 1] == XCHG_PROTOCOL_DLPACK) {
      bits |= 1u << XCHG_PROTOCOL_DLPACK;
      i++;
    }
    if (((absent & bits) == bits && !is_capsule) || !may_ask(all, protocol))
      continue;
    request->allowed = protocol == XCHG_PROTOCOL_ARRAY ? 0 : bits;
    if (protocol == XCHG_PROTOCOL_BUFFER && !(absent & 1u << XCHG_PROTOCOL_ARRAY_INTERFACE) && is_moment(object))
      continue;
    request->dtype = protocol == XCHG_PROTOCOL_ARRAY_STRUCT || protocol == XCHG_PROTOCOL_ARRAY_INTERFACE
                         ? xchg__typestr_named(object)
                         : XCHG_DTYPE_NONE;
    code = importer_of(protocol)(request, out, object, err);
    if (code == 0 || code == XCHG_NEEDS)
      return code;
    if (code == XCHG_E_ABSENT && xchg__py.PyErr_Occurred() == NULL)
      err->code = 0;
    else if (!refusals_add(all, object, protocol, err))
      return refusals_give(all, err);
  }
  return all->count > 0 ? refusals_give(all, err) : XCHG_E_ABSENT;
}

/* As xchg__from_ndarray, by the first protocol of the request that NumPy has. */
static int try_ndarray(xchg__request *request, xchg_tensor *out, PyObject *object, xchg_error *err) {
  for (int i = 0; i < request->protocol_count; i++)
    switch (request->protocols[i]) {
    case XCHG_PROTOCOL_EXCHANGE_API:
    case XCHG_PROTOCOL_CAI: break;
    case XCHG_PROTOCOL_DLPACK:
    case XCHG_PROTOCOL_BUFFER: return xchg__from_ndarray(request, out, object, request->protocols[i], err);
    default: return 1;
    }
  return 1;
}

int xchg__resolve(xchg__request *request, xchg_tensor *out, PyObject *object, xchg_error *err) {
  refusals all;
  xchg__offer plain;
  uint32_t absent = 0;
  int code = xchg__ndarray_is(object) ? try_ndarray(request, out, object, err) : 1;
  if (code <= 0)
    return code;
  plain = request->plain ? xchg__offer_builtin(object) : XCHG_OFFER_NOTHING;
  if (plain == XCHG_OFFER_NOTHING) {
    all.count = all.device_type = 0;
    all.type = all.value = all.traceback = NULL;
    all.others[0] = '\0';
    all.left_out = 0;
    absent = xchg__offer_absent(object);
    code = ask_all(request, out, object, absent, &all, err);
    if (code == 0 || code == XCHG_NEEDS) {
      refusals_forget(&all);
      return code;
    }
    if (all.count > 0)
      return code;
    /* An array is none because its protocols were not allowed. */
    if (request->plain && !xchg__offer_any(object, absent))
      plain = xchg__offer_plain(object);
  }
  if (plain == XCHG_OFFER_NOTHING)
    return nothing_offered(request, object, err);
  return plain == XCHG_OFFER_SCALAR ? XCHG_IS_SCALAR : XCHG_IS_SEQUENCE;
}

static int refuse_dtype(int32_t found, int32_t expected, xchg_error *err) {
  return xchg__error_set(err, XCHG_E_DTYPE,
                         "into: the array is %s and the tensor %s, which stays its dtype; use a tensor of the same "
                         "dtype, or asarray",
                         xchg_dtype_info(found)->name, xchg_dtype_info(expected)->name);
}

int xchg__resolve_as(xchg__request *request, xchg_tensor *out, PyObject *object, xchg_error *err) {
  int code;
  if (xchg__py_type(object) == xchg__py.PyCapsule_Type) {
    xchg__capsule capsule;
    int32_t dtype;
    if ((code = xchg__capsule_open(&capsule, object, "into", err)) != 0 ||
        (code = xchg__dtype_from_dlpack(&dtype, capsule.tensor->dtype, err)) != 0)
      return code;
    if (dtype != request->expected)
      return refuse_dtype(dtype, request->expected, err);
  }
  code = xchg__resolve(request, out, object, err);
  if (code != 0 || out->_dtype == request->expected)
    return code;
  request->slots->head.busy--;
  xchg__slot_free(request->slots, out->_slot);
  return refuse_dtype(out->_dtype, request->expected, err);
}

int xchg__resolve_item(xchg__request *request, xchg_tensor *out, PyObject *list, xchg_error *err) {
  PyObject *object = xchg__py.PyList_GetItem(list, (Py_ssize_t)request->item);
  if (object != NULL)
    return xchg__resolve(request, out, object, err);
  xchg__py.PyErr_Clear();
  return xchg__error_set(err, XCHG_E_RANGE, "asarray: the list has no element %lld", (long long)request->item);
}
