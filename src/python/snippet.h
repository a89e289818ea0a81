/* snippet.h: small Python programs of our own. GIL held. */
#ifndef XCHG_PYTHON_SNIPPET_H
#define XCHG_PYTHON_SNIPPET_H

#include "python/libpython.h"

/* Runs statements in a namespace of their own; returns it (new reference), or NULL with an exception set. */
PyObject *xchg__snippet_run(const char *source);

/* The same for its effect. A failure is written where Python writes what nobody can catch. Leaves an exception
 * that was set before as it was. */
void xchg__snippet_effect(const char *source);

#endif
