/* exit.h: the end of the process, and of its threads, as Python sees it. */
#ifndef XCHG_PYTHON_EXIT_H
#define XCHG_PYTHON_EXIT_H

/* Once, when Python has been started. */
void xchg__exit_prepare(void);

/* At a thread's first entry: its end, and an exit() that it calls, will be noticed before its thread_locals
 * are gone. */
void xchg__exit_watch_thread(void);

#endif
