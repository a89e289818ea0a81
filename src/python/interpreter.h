/* interpreter.h: the life of Python in this process: found, opened, started, entered, left, ended. */
#ifndef XCHG_PYTHON_INTERPRETER_H
#define XCHG_PYTHON_INTERPRETER_H

#include "python/libpython.h"

/* What the user asked for before the first use; NULL fields were not given. Strings are borrowed until
 * xchg__python_configure returns. */
typedef struct {
  const char *python;    /* executable or command */
  const char *libpython; /* library file */
  const char *venv;      /* environment folder */
  const char *home;
  int sigint;  /* 1: install Python's SIGINT handler */
  int sigpipe; /* 0: leave a default SIGPIPE alone */
  int argc;
  const char *const *argv;
} xchg__python_options;

/* Fails with XCHG_E_ARGUMENT once Python was started. */
int xchg__python_configure(const xchg__python_options *options, xchg_error *err);

/* Which Python it is, for people: static strings, "" where unknown. */
typedef struct {
  int started;            /* we know a running interpreter */
  int ours;               /* ... and started it */
  const char *version;    /* "3.11.7" */
  const char *executable; /* sys.executable of the probe */
  const char *prefix;
  const char *base_prefix;
  const char *library; /* file of libpython, or "(this executable)" */
  const char *reason;  /* why this one: "VIRTUAL_ENV", "python3 on PATH", "already in the process", ... */
  const char *report;  /* a line for each candidate that was looked at, and what became of it */
} xchg__python_facts;

/* Finds (without starting) if it was not found yet; 0 or an error that lists every candidate and why not. */
int xchg__python_find(xchg_error *err);
const xchg__python_facts *xchg__python_known(void);

/* Starts Python if it was not started yet. Once in a process: a thread that comes second waits, a failure is
 * remembered and given again. Does not enter. */
int xchg__python_start(xchg_error *err);

/* 1 in a child of the process that Python was started in (unless Python itself forked it): nothing of
 * CPython's may be touched. */
int xchg__python_forked(void);

/* 1 where Python may be called: started, not finalizing, not a forked child. Any thread, no GIL needed. */
int xchg__python_alive(void);

/* Enters Python on this thread: starts it if needed, takes the GIL (or counts, inside `locked`), drains the
 * release queue. Pair with xchg__gil_leave. No Lua function that can raise may run between the two,
 * except under a protected call. Fails (and enters nothing) without Python, in a forked child, in a
 * sub-interpreter. `state` is the caller's. */
typedef struct {
  int gil;      /* PyGILState_STATE, or -1: nothing to release */
  void *thread; /* what the thread that entered keeps */
} xchg__gil_state;
int xchg__gil_enter(xchg__gil_state *state, xchg_error *err);
void xchg__gil_leave(xchg__gil_state state);

/* Enters for plain C, which runs nothing of Python's and cannot wait for more than the GIL: nothing is started or
 * drained. 0 where it takes more than that to enter; else 1, to be paired with xchg__gil_leave. */
int xchg__gil_enter_plain(xchg__gil_state *state);

/* python.locked: the GIL stays with this thread from the first lock to the last unlock, whoever interleaves. */
int xchg__gil_lock(xchg_error *err);
void xchg__gil_unlock(void);

/* While a thread is inside a region that must not re-enter Lua (a compiled FFI call), this is not 0.
 * A bridge from Python into Lua must refuse then. */
int xchg__no_reentry(void);
void xchg__no_reentry_begin(void);
void xchg__no_reentry_end(void);

/* For a release function: takes the GIL if Python is alive and returns 1, else returns 0 (forget the
 * pointer). Never starts Python, never drains. */
int xchg__gil_borrow(xchg__gil_state *state);

/* python.shutdown(): the soft shutdown, now (never Py_FinalizeEx: Python can still be called). Idempotent;
 * inside or outside of an entry. Of a Python that is not ours it flushes the streams. */
void xchg__python_shutdown(void);
/* Flushes Python's streams (at lua_close). */
void xchg__python_flush(void);

#endif
