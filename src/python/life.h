/* life.h: what the files that start, enter and end Python know of each other. */
#ifndef XCHG_PYTHON_LIFE_H
#define XCHG_PYTHON_LIFE_H

#include <stdatomic.h>

#include "python/interpreter.h"

enum {
  XCHG_LIFE_NONE,     /* not started */
  XCHG_LIFE_STARTING, /* a thread is at it */
  XCHG_LIFE_READY,
  XCHG_LIFE_FAILED, /* for ever */
  XCHG_LIFE_FORKED  /* this is a child, and Python stayed in the parent */
};
extern atomic_int xchg__life;

/* 1 where this library started Python, 0 where the host did. */
int xchg__life_ours(void);
/* 1 on the thread that started Python, the one CPython takes for the main thread. */
int xchg__life_on_starter(void);

/* ---- gil.c ---- */

/* 1 where this thread holds the GIL. Any time after the start. */
int xchg__gil_held(void);
/* The thread ends: gives back what its entries keep. */
void xchg__gil_thread_end(void);

/* ---- fork.c ---- */

/* From here on a fork makes the child's life XCHG_LIFE_FORKED. Once. */
int xchg__fork_watch(xchg_error *err);
/* Makes Python's own os.fork an exception from that. GIL held. */
int xchg__fork_watch_python(void);
/* Process that Python runs in. */
int xchg__fork_pid(void);
/* Writes the error of an entry in a child. */
int xchg__fork_error(xchg_error *err);
/* os.fork made this thread Python's only one (interpreter.c). */
void xchg__life_after_fork(void);

#endif
