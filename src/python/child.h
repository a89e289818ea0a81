/* child.h: asks another program a question: runs it and takes what it says. */
#ifndef XCHG_PYTHON_CHILD_H
#define XCHG_PYTHON_CHILD_H

#include <stddef.h>

enum { XCHG_CHILD_OUTPUT = 32768, XCHG_CHILD_COMPLAINT = 1024 };

typedef struct {
  int failure;   /* errno of the start; 0 where the program ran */
  int timed_out; /* it was killed */
  int status;    /* as of waitpid; -1 unknown: the host ignores SIGCHLD or takes all children's status */
  size_t length; /* of output */
  char output[XCHG_CHILD_OUTPUT + 1];       /* its standard output: the beginning, closed by a NUL */
  char complaint[XCHG_CHILD_COMPLAINT + 1]; /* its standard error: the beginning */
} xchg__child;

/* Runs `file` with `argv`, this process's environment, no input, until it closes its output or `timeout_ms`
 * have passed; once `last` was seen it gets no more than a moment. Nothing is said about how it went. */
void xchg__child_run(xchg__child *out, const char *file, char *const argv[], const char *last, int timeout_ms);

/* The file that a shell would run for `command`, a name without a slash: new (free), or NULL. Where PATH is
 * not set, in the system's usual folders. */
char *xchg__child_which(const char *command);

#endif
