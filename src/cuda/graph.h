/* graph.h: what a graph that is being captured keeps. */
#ifndef XCHG_CUDA_GRAPH_FILE_H
#define XCHG_CUDA_GRAPH_FILE_H

#include "core/storage.h"
#include "xchg.h"

/* The graph holds a reference on the storage as long as it can be replayed. Once for each storage. 0 or an error. */
int xchg__graph_keep(xchg_cuda_graph *graph, xchg_storage *storage, xchg_error *err);
/* Number of captures of this library that are open in the process. While there are any, memory is neither freed nor are
 * events of releases recorded: both would become part of a graph. */
extern int xchg__graph_captures; /* atomic */
static inline int xchg__graph_capturing(void) {
  return __atomic_load_n(&xchg__graph_captures, __ATOMIC_ACQUIRE);
}

/* An error where this thread captures: for what would wait, or would end the capture in CUDA. `what` opens the message
 * ("synchronize"). */
int xchg__graph_refuse(xchg_error *err, const char *what);
/* Lets this thread do what captures forbid and what is no part of one (making memory, loading code); the mode that it
 * had goes to `mode`. 0, or a result of CUDA. _restore must follow in both cases. */
int xchg__graph_relax(int *mode);
void xchg__graph_restore(int mode);

/* `stream` is about to wait for work that `graph` captures (NULL: for work outside of captures), and becomes part of
 * the capture; an error where the two cannot meet. */
int xchg__graph_join(xchg_cuda_graph *graph, xchg_cuda_stream *stream, xchg_error *err);
/* An error where this thread captures on another device than this: its default would not be a part of the graph. */
int xchg__graph_elsewhere(int32_t device, xchg_error *err);
/* The number of a graph for events; 0 for NULL. And the graph that has it while its capture is open in this thread. */
uint64_t xchg__graph_number(const xchg_cuda_graph *graph);
xchg_cuda_graph *xchg__graph_open(uint64_t number);

#endif
