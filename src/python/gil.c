#include <time.h>

#include "core/release.h"
#include "python/exit.h"
#include "python/life.h"
#include "python/libpython.h"

/* What a thread keeps. Fibers that share a thread interleave; counters do not mind their order. */
typedef struct {
  int depth;      /* of `locked`: the GIL stays from 0 to 1 and back */
  int inside;     /* entries that have not left: the GIL may have been given up by what they call */
  int attached;   /* the thread state was made here, and stays */
  int watched;    /* the thread's end is */
  int locked_gil; /* of the first lock */
  int countdown;  /* entries until the next look at the clock */
  int interval;   /* entries between two looks */
  int no_reentry;
  int64_t since;  /* ms: when the GIL was last taken or given to others */
  int64_t looked; /* ms: of the last look at the clock */
} gil_thread;

static _Thread_local gil_thread here;

/* Finding thread-local storage in a loaded object is a call: once for an entry. The compiler would rather call
 * again than keep the address. */
static gil_thread *thread_here(void) {
  gil_thread *thread = &here;
  __asm__("" : "+r"(thread));
  return thread;
}

enum {
  /* CPython's waiters ask for the GIL after 5 ms; only one that has asked is sure to get it when it is dropped. */
  BREATH_MS = 6,
  LONGEST_INTERVAL = 16,
  LOCKED_DEPTH = 150 /* each level is a C call: LuaJIT allows 200, and threads have small stacks */
};

static int64_t clock_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- may Python be called? -------------------------------------------------------------------------- */

int xchg__python_forked(void) {
  return atomic_load_explicit(&xchg__life, memory_order_relaxed) == XCHG_LIFE_FORKED;
}

static int finalizing(void) {
  return xchg__py.Py_IsFinalizing != NULL ? xchg__py.Py_IsFinalizing()
                                          : xchg__py._Py_IsFinalizing != NULL && xchg__py._Py_IsFinalizing();
}

int xchg__python_alive(void) {
  return atomic_load_explicit(&xchg__life, memory_order_acquire) == XCHG_LIFE_READY && xchg__py.Py_IsInitialized() &&
         !finalizing();
}

static PyThreadState *current_state(void) {
  return xchg__py.PyThreadState_GetUnchecked != NULL    ? xchg__py.PyThreadState_GetUnchecked()
         : xchg__py._PyThreadState_UncheckedGet != NULL ? xchg__py._PyThreadState_UncheckedGet()
                                                        : NULL;
}

/* PyGILState_Check always says 1 once there was a sub-interpreter. */
int xchg__gil_held(void) {
  PyThreadState *mine = xchg__py.PyGILState_GetThisThreadState();
  return mine != NULL && mine == current_state();
}

/* PyGILState knows the main interpreter only, and to 3.11 it hangs where another one's state is current. There
 * the current state may be another thread's, so that any sub-interpreter in the process is one too many. */
static int in_subinterpreter(void) {
  PyThreadState *state;
  if (xchg__libpython_known()->minor < 12)
    return xchg__py.PyInterpreterState_Head() != xchg__py.PyInterpreterState_Main();
  state = current_state();
  return state != NULL && xchg__py.PyThreadState_GetInterpreter(state) != xchg__py.PyInterpreterState_Main();
}

static int refuse_subinterpreter(xchg_error *err) {
  return xchg__error_set(
      err, XCHG_E_NO_PYTHON, "python: sub-interpreters are not supported; run Lua under the main interpreter%s",
      xchg__libpython_known()->minor < 12 ? ", in a process without others (before Python 3.12)" : "");
}

static int refuse_reentry(xchg_error *err) {
  return xchg__error_set(
      err, XCHG_E_REENTRY,
      "python: Python cannot be entered from inside a call that must not re-enter Lua; leave it first");
}

/* ---- entries ---------------------------------------------------------------------------------------- */

/* A thread that CPython does not know gets a state that stays. Otherwise each Release would delete it and run
 * the destructors of what it holds: any code, in a place where none is expected. */
static void thread_attach(gil_thread *thread) {
  if (!thread->watched) {
    thread->watched = 1;
    xchg__exit_watch_thread();
  }
  if (xchg__py.PyGILState_GetThisThreadState() == NULL) {
    (void)xchg__py.PyGILState_Ensure();
    (void)xchg__py.PyEval_SaveThread();
    thread->attached = 1;
  }
}

/* Takes the GIL, whatever the thread holds already. */
static int gil_take(gil_thread *thread, int *gil, xchg_error *err) {
  int code = xchg__python_start(err);
  if (code != 0)
    return code;
  if (!xchg__python_alive())
    return xchg__error_set(err, XCHG_E_NO_PYTHON, "python: the host has ended the interpreter");
  if (!xchg__life_ours() && in_subinterpreter())
    return refuse_subinterpreter(err);
  if (!thread->attached)
    thread_attach(thread);
  *gil = xchg__py.PyGILState_Ensure();
  if (!xchg__life_ours() && xchg__py.PyInterpreterState_Get() != xchg__py.PyInterpreterState_Main()) {
    xchg__py.PyGILState_Release(*gil);
    return refuse_subinterpreter(err);
  }
  return 0;
}

static void drain(gil_thread *thread) {
  if (xchg__release_waiting()) {
    thread->inside++;
    xchg__release_drain(1);
    thread->inside--;
  }
}

/* Inside `locked`: looks at the clock now and then, and lets others have the GIL when they had to wait. */
static void breathe(gil_thread *thread) {
  int64_t now = clock_ms();
  thread->interval = now != thread->looked                 ? 1
                     : thread->interval < LONGEST_INTERVAL ? thread->interval * 2
                                                           : LONGEST_INTERVAL;
  thread->countdown = thread->interval;
  thread->looked = now;
  if (now - thread->since >= BREATH_MS) {
    xchg__py.PyEval_RestoreThread(xchg__py.PyEval_SaveThread());
    thread->since = thread->looked = clock_ms();
  }
}

int xchg__gil_enter(xchg__gil_state *state, xchg_error *err) {
  gil_thread *thread = thread_here();
  int code;
  state->thread = thread;
  state->gil = -1;
  if (thread->no_reentry > 0)
    return refuse_reentry(err);
  if (thread->depth > 0 && thread->inside == 0 &&
      atomic_load_explicit(&xchg__life, memory_order_relaxed) == XCHG_LIFE_READY) {
    if (--thread->countdown <= 0)
      breathe(thread);
  } else {
    code = gil_take(thread, &state->gil, err);
    if (code != 0)
      return code;
  }
  thread->inside++;
  if (xchg__release_waiting())
    xchg__release_drain(1);
  return 0;
}

int xchg__gil_enter_plain(xchg__gil_state *state) {
  gil_thread *thread = thread_here();
  state->thread = thread;
  state->gil = -1;
  if (thread->no_reentry > 0)
    return 0;
  if (thread->depth > 0) {
    if (thread->inside != 0 || atomic_load_explicit(&xchg__life, memory_order_relaxed) != XCHG_LIFE_READY)
      return 0;
    if (--thread->countdown <= 0)
      breathe(thread);
  } else {
    /* A thread that is watched has its state; under a host of Python's own there is more to ask. */
    if (!thread->watched || !xchg__life_ours() || !xchg__python_alive())
      return 0;
    state->gil = xchg__py.PyGILState_Ensure();
  }
  thread->inside++;
  return 1;
}

void xchg__gil_leave(xchg__gil_state state) {
  gil_thread *thread = state.thread;
  if (state.gil >= 0)
    xchg__py.PyGILState_Release(state.gil);
  thread->inside--;
}

int xchg__gil_borrow(xchg__gil_state *state) {
  if (!xchg__python_alive() || (!xchg__life_ours() && in_subinterpreter()))
    return 0;
  state->thread = &here;
  state->gil = xchg__py.PyGILState_Ensure();
  here.inside++;
  return 1;
}

/* ---- locked ----------------------------------------------------------------------------------------- */

int xchg__gil_lock(xchg_error *err) {
  gil_thread *thread = &here;
  if (thread->no_reentry > 0)
    return refuse_reentry(err);
  if (thread->depth == LOCKED_DEPTH)
    return xchg__error_set(err, XCHG_E_RANGE, "python.locked: nested %d deep; one level keeps the lock", thread->depth);
  if (thread->depth == 0) {
    int code = gil_take(thread, &thread->locked_gil, err);
    if (code != 0)
      return code;
    thread->since = thread->looked = clock_ms();
    thread->countdown = thread->interval = 1;
  } else if (atomic_load(&xchg__life) != XCHG_LIFE_READY) {
    return xchg__fork_error(err);
  }
  thread->depth++;
  return 0;
}

void xchg__gil_unlock(void) {
  gil_thread *thread = &here;
  if (--thread->depth == 0 && !xchg__python_forked()) {
    drain(thread);
    xchg__py.PyGILState_Release(thread->locked_gil);
  }
}

/* ---- what a thread leaves --------------------------------------------------------------------------- */

void xchg__gil_thread_end(void) {
  gil_thread *thread = &here;
  if (thread->depth > 0) {
    thread->depth = 0;
    xchg__py.PyGILState_Release(thread->locked_gil);
  }
  if (thread->attached && !xchg__life_on_starter()) {
    thread->attached = 0;
    /* The first pairs with itself, the second with the one of thread_attach, and deletes the state. */
    int gil = xchg__py.PyGILState_Ensure();
    xchg__py.PyGILState_Release(0 /* PyGILState_LOCKED: keep it */);
    xchg__py.PyGILState_Release(gil);
  }
  thread->watched = 0;
}

/* ---- regions that must not lead back into Lua ------------------------------------------------------- */

int xchg__no_reentry(void) {
  return here.no_reentry;
}

void xchg__no_reentry_begin(void) {
  here.no_reentry++;
}

void xchg__no_reentry_end(void) {
  here.no_reentry--;
}
