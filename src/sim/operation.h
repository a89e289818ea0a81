/* One unit of work of a stream or node of a graph: what it is and what it touches, as values that can be copied. */
#ifndef SIM_OPERATION_H
#define SIM_OPERATION_H

#include "copy.h"

typedef struct sim_event sim_event;
typedef struct sim_launch sim_launch; /* exec.h */
typedef struct sim_graph sim_graph;

typedef enum {
  SIM_OPERATION_EMPTY,
  SIM_OPERATION_COPY,
  SIM_OPERATION_SET,
  SIM_OPERATION_LAUNCH,
  SIM_OPERATION_HOST,     /* a host function */
  SIM_OPERATION_RECORD,   /* an event */
  SIM_OPERATION_WAIT,     /* for an event: its dependency is all there is to it */
  SIM_OPERATION_ALLOCATE, /* the memory becomes live */
  SIM_OPERATION_FREE,
  SIM_OPERATION_CHILD,       /* a graph inside a graph */
  SIM_OPERATION_WAIT_VALUE,  /* cuStreamWaitValue32/64 */
  SIM_OPERATION_WRITE_VALUE, /* cuStreamWriteValue32/64 */
} sim_operation_kind;

typedef struct {
  sim_operation_kind kind;
  const char *call; /* static: the API function that made it */
  int device;       /* that runs it */
  union {
    sim_copy copy;
    sim_set set;
    sim_launch *launch; /* owned: exec.h copies and frees it */
    struct {
      void (*function)(void *);
      void *data;
      bool owned; /* data is freed with the work, which is then not copied */
    } host;
    sim_event *event;    /* referenced: event.h */
    uint64_t allocation; /* address; looked up when it runs */
    sim_graph *child;    /* owned */
    struct {
      uint64_t address, value;
      unsigned flags;
      uint32_t size;
    } value;
  };
  uint8_t *staged; /* owned: the bytes of a staged copy, laid out tightly; NULL otherwise */
} sim_work;

/* Copies `work` with everything that it owns; 0 or 2. */
int sim_work_copy(sim_work *out, const sim_work *work);

/* Frees what it owns. */
void sim_work_drop(sim_work *work);

/* Does it: 0 or the sticky result that loses `context`. The lock is held; a host function runs without it. */
int sim_work_run(sim_work *work, sim_context *context);

/* False for a wait for a value that memory does not hold yet. */
bool sim_work_may_run(const sim_work *work);

/* "cudaMemcpyAsync of 400 bytes", "kernel saxpy", for traces, dot and reports. */
void sim_work_describe(const sim_work *work, char *text, size_t room);

/* ---- what it touches, for the stream checker ---- */
typedef struct {
  sim_allocation *allocation; /* NULL: pageable host memory at `begin` */
  uint64_t begin, end;
  bool write;
} sim_touch;

/* The ranges of a copy or set (known beforehand). Writes at most `room`; returns how many. */
size_t sim_work_touches(const sim_work *work, sim_touch *touches, size_t room);

#endif
