/* Never Py_FinalizeEx: Lua, other libraries and daemon threads still hold Python objects. What users can see of
 * Python's end is done instead, once:
 *
 * - exit() destroys the calling thread's thread_locals before it runs atexit handlers, and extension modules
 *   (JAX's) read theirs from Python's atexit functions. So the work is begun by a destructor of the same kind,
 *   registered at the thread's first entry, and Python's atexit functions run on a fresh thread.
 * - Such a destructor also runs where only the thread ends. Whether `exit` is on the call stack tells. */
#include "python/exit.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/release.h"
#include "python/life.h"
#include "python/snippet.h"

/* MPI wants to be finalized by the thread that initialised it; mpirun calls a rank that did not a failure. */
static const char MPI_FINALIZE[] =
    "import sys\n"
    "mpi = sys.modules.get('mpi4py.MPI')\n"
    "if mpi is not None and mpi.Is_initialized() and not mpi.Is_finalized() and mpi.Is_thread_main():\n"
    "    mpi.Finalize()\n";

/* Joins what was not started as a daemon. On another thread than Python's main one it hangs. */
static const char JOIN_THREADS[] = "import sys\n"
                                   "threading = sys.modules.get('threading')\n"
                                   "if threading is not None:\n"
                                   "    threading._shutdown()\n";

static const char RUN_ATEXIT[] = "import atexit\n"
                                 "atexit._run_exitfuncs()\n";

/* A stream that cannot be written (closed, broken pipe, full) has nowhere to complain to. */
static const char FLUSH[] = "import sys\n"
                            "for name in ('stdout', 'stderr', '__stdout__', '__stderr__'):\n"
                            "    try:\n"
                            "        getattr(sys, name).flush()\n"
                            "    except BaseException:\n"
                            "        pass\n";

static void snippet_entered(const char *source) {
  xchg__gil_state gil;
  if (xchg__gil_borrow(&gil)) {
    xchg__snippet_effect(source);
    xchg__gil_leave(gil);
  }
}

static void *finish_on_fresh_thread(void *unused) {
  xchg__gil_state gil;
  (void)unused;
  if (xchg__gil_borrow(&gil)) {
    (void)xchg__release_drain(1);
    xchg__snippet_effect(RUN_ATEXIT);
    (void)xchg__release_drain(1); /* what those functions let go */
    xchg__snippet_effect(FLUSH);
    xchg__gil_leave(gil);
  }
  return NULL;
}

/* Gives up the GIL if this thread holds it; what to restore, or NULL. */
static PyThreadState *shutdown_run(void) {
  PyThreadState *kept;
  pthread_t helper;
  snippet_entered(MPI_FINALIZE);
  if (xchg__life_on_starter())
    snippet_entered(JOIN_THREADS);
  kept = xchg__gil_held() ? xchg__py.PyEval_SaveThread() : NULL;
  if (pthread_create(&helper, NULL, finish_on_fresh_thread, NULL) == 0)
    pthread_join(helper, NULL);
  else
    finish_on_fresh_thread(NULL);
  return kept;
}

/* Children that skipped the fork handlers (vfork, clone) are told by their number. */
static int python_is_here(void) {
  return xchg__python_alive() && xchg__fork_pid() == (int)getpid();
}

static atomic_flag ending = ATOMIC_FLAG_INIT;

/* 0 where the end has begun already. */
static int process_end_once(void) {
  if (!python_is_here())
    return 1;
  if (atomic_flag_test_and_set(&ending))
    return 0;
  if (xchg__life_ours())
    (void)shutdown_run();
  else
    snippet_entered(FLUSH); /* the host's exit would have done it, Lua's os.exit does not */
  return 1;
}

static void process_ends(void) {
  (void)process_end_once();
}

void xchg__python_shutdown(void) {
  static atomic_flag done = ATOMIC_FLAG_INIT;
  PyThreadState *kept;
  if (!python_is_here())
    return;
  if (!xchg__life_ours() || atomic_flag_test_and_set(&done)) {
    snippet_entered(FLUSH);
    return;
  }
  kept = shutdown_run();
  if (kept != NULL)
    xchg__py.PyEval_RestoreThread(kept);
}

void xchg__python_flush(void) {
  if (python_is_here())
    snippet_entered(FLUSH);
}

/* ---- noticing the end ------------------------------------------------------------------------------- */

static int exit_is_running(void) {
  void *frames[48];
  void *address = dlsym(RTLD_DEFAULT, "exit");
  int count = backtrace(frames, (int)(sizeof frames / sizeof frames[0]));
  for (int i = 0; i < count; i++) {
    Dl_info info;
    /* A return address may lie behind its function's last instruction. */
    if (frames[i] != NULL && dladdr((char *)frames[i] - 1, &info) != 0 && info.dli_saddr != NULL &&
        (info.dli_saddr == address || (info.dli_sname != NULL && strcmp(info.dli_sname, "exit") == 0))) {
      return 1;
    }
  }
  return 0;
}

/* Another thread has called exit() before, and will end the process. Two at once run the same destructors, which C
 * leaves undefined: the second stays here, as newer C libraries do it. */
static void exit_wait(void) {
  if (xchg__gil_held())
    (void)xchg__py.PyEval_SaveThread();
  for (;;)
    pause();
}

static void thread_ends(void *unused) {
  (void)unused;
  if (!python_is_here())
    return;
  if (exit_is_running()) {
    if (!process_end_once())
      exit_wait();
    return;
  }
  xchg__python_flush();
  xchg__gil_thread_end();
  /* Handlers run last first: once more, so that this comes before those of libraries loaded meanwhile. */
  (void)atexit(process_ends);
}

void xchg__exit_watch_thread(void) {
  int (*on_thread_exit)(void (*)(void *), void *, void *);
  void *address = dlsym(RTLD_DEFAULT, "__cxa_thread_atexit_impl");
  static char anchor; /* an address of this object: the C library keeps the object for it */
  if (address != NULL) {
    memcpy(&on_thread_exit, &address, sizeof address);
    (void)on_thread_exit(thread_ends, NULL, &anchor);
  }
}

void xchg__exit_prepare(void) {
  void *frame;
  (void)backtrace(&frame, 1); /* loads the unwinder, too late at exit */
  (void)atexit(process_ends);
}
