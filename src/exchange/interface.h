/* interface.h: what the dictionaries of array interfaces have in common: fields, numbers, refusals. */
#ifndef XCHG_EXCHANGE_INTERFACE_H
#define XCHG_EXCHANGE_INTERFACE_H

#include "exchange/descriptor.h"
#include "python/libpython.h"

/* The array that such a dictionary describes. */
typedef struct {
  DLTensor tensor; /* its shape and strides are those below */
  int readonly;
  int64_t shape[XCHG_MAX_NDIM];
  int64_t strides[XCHG_MAX_NDIM]; /* in elements */
} xchg__interface;

/* All of these: GIL held, and no exception is left but by the last two. `from` opens the messages. */

/* New reference to a dictionary's value; NULL where the key is absent or the value None. */
PyObject *xchg__interface_field(PyObject *dict, const char *key);
int xchg__interface_has_flag(PyObject *object, unsigned long flag);
/* An integer that fits. 0, or -1. */
int xchg__interface_signed(PyObject *object, int64_t *out);
int xchg__interface_unsigned(PyObject *object, uint64_t *out);
/* "from: <key> is <value>; <cure>", or that it is missing. Returns the code. */
int xchg__interface_bad(const char *from, const char *key, PyObject *value, const char *cure, xchg_error *err);

/* Fields that all dictionaries have; tensor.dtype is needed by the strides, and the shape by strides and data. */
int xchg__interface_read_shape(xchg__interface *out, PyObject *dict, const char *from, xchg_error *err);
int xchg__interface_read_type(xchg__interface *out, PyObject *dict, int32_t dtype, const char *from, xchg_error *err);
int xchg__interface_read_strides(xchg__interface *out, PyObject *dict, const char *from, xchg_error *err);
/* `value` is the "data": a pair of address and read-only flag. */
int xchg__interface_read_address(xchg__interface *out, PyObject *value, const char *from, xchg_error *err);

/* Refuses what has a mask: tensors have no missing values. */
int xchg__interface_check_mask(PyObject *dict, const char *from, xchg_error *err);

/* Byte strides to ones of elements. */
int xchg__interface_scale(xchg__interface *out, const char *from, xchg_error *err);
void xchg__interface_set_dtype(xchg__interface *out, int32_t dtype);

/* Checks an array in memory of the host that is only known by its address: the descriptor, and that something is
 * there. */
int xchg__interface_check_host(xchg__checked *out, const xchg__interface *array, const char *from, xchg_error *err);

/* Refuses what says less by its memory than it is: an array of NumPy with missing values. */
int xchg__interface_check_object(PyObject *object, const char *from, xchg_error *err);

/* Turns the pending exception, which stays pending, into a refusal of the object's. */
int xchg__interface_refuse(PyObject *object, const char *where, xchg_error *err);
/* The same for an attribute that could not be read: where it is absent, no exception is left. `cure` follows "has no
 * <attribute>". */
int xchg__interface_refuse_attribute(PyObject *object, const char *where, const char *attribute, const char *cure,
                                     xchg_error *err);

#endif
