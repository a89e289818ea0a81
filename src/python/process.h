/* process.h: what this process has mapped, from its own maps file. */
#ifndef XCHG_PYTHON_PROCESS_H
#define XCHG_PYTHON_PROCESS_H

/* The file that is mapped at `address`; new (free), or NULL. */
char *xchg__process_file_at(const void *address);

/* The first mapped file whose name `accept`s (it gets the whole path); new (free), or NULL. */
char *xchg__process_find(int (*accept)(const char *path, void *context), void *context);

/* The file of the running program; new (free), or NULL. */
char *xchg__process_executable(void);

/* 1 where both names lead to one file. */
int xchg__process_same_file(const char *a, const char *b);

#endif
