/* producer.h: what was learned of a producer's type, so that no attribute is missed twice. */
#ifndef XCHG_EXCHANGE_PRODUCER_H
#define XCHG_EXCHANGE_PRODUCER_H

#include "dlpack.h"
#include "python/libpython.h"

/* Libraries with a rule of their own. */
typedef enum {
  XCHG_FAMILY_OTHER,
  XCHG_FAMILY_NUMPY,  /* exactly numpy.ndarray: always on the CPU */
  XCHG_FAMILY_MASKED, /* numpy.ma.MaskedArray and every subclass */
  XCHG_FAMILY_TORCH,  /* torch.Tensor and every subclass */
  XCHG_FAMILY_TENSORFLOW,
  XCHG_FAMILY_JAX,
  XCHG_FAMILY_PADDLE,
  XCHG_FAMILY_ARROW
} xchg__family;

/* Keywords of `__dlpack__` that not every producer knows. */
enum { XCHG_ASK_MAX_VERSION = 1, XCHG_ASK_STREAM = 2, XCHG_ASK_DL_DEVICE = 4, XCHG_ASK_COPY = 8, XCHG_ASK_ALL = 15 };

typedef struct {
  PyObject *type; /* borrowed: its version tag tells whether it is still the same */
  uint32_t tag;   /* 0: nothing may be kept for the next time */
  xchg__family family;
  const DLPackExchangeAPI *api; /* static, or NULL */
  PyObject *method;             /* new: the C method descriptor of `__dlpack__`; NULL: ask by name */
  int refused_keywords;         /* XCHG_ASK_*: of `__dlpack__`, that the type has refused before */
  int is_proxy;                 /* the type has no `__dlpack__`, its objects may have: they may stand for others */
} xchg__producer;

/* Names, interned once. All NULL until xchg__producer_prepare. */
typedef struct {
  PyObject *dlpack;         /* "__dlpack__" */
  PyObject *dlpack_device;  /* "__dlpack_device__" */
  PyObject *cuda_interface; /* "__cuda_array_interface__" */
  PyObject *max_version;    /* (1, 3) */
  PyObject
      *keywords[XCHG_ASK_ALL + 1]; /* tuples of those names, as XCHG_ASK_* counts; 0: NULL, others once asked for */
} xchg__producer_names;
extern xchg__producer_names xchg__names;

/* Makes the names. GIL held. 0, or -1 with an exception set. */
int xchg__producer_prepare(void);

/* The tuple of these XCHG_ASK_*, not 0. Borrowed; NULL with an exception set. GIL held. */
PyObject *xchg__producer_keywords(int keywords);

/* What is known of a type, learned if need be. Borrowed, and only until Python code runs again:
 * copy what is needed. GIL held; leaves no exception. */
xchg__producer *xchg__producer_of(PyObject *type);

/* The family of what a proxy stands for; of other objects that of their type. Runs Python code. GIL held. */
xchg__family xchg__producer_family(const xchg__producer *producer, PyObject *object);

/* Number of types learned so far, for specs and benchmarks. */
int64_t xchg__producer_misses(void);

#endif
