/* graph.h: what a graph that is being captured keeps. */
#ifndef XCHG_CUDA_GRAPH_FILE_H
#define XCHG_CUDA_GRAPH_FILE_H

#include "core/storage.h"
#include "xchg.h"

typedef struct xchg_cuda_graph xchg_cuda_graph;

/* The graph holds a reference on the storage as long as it can be replayed. Once for each storage. 0 or an error. */
int xchg__graph_keep(xchg_cuda_graph *graph, xchg_storage *storage, xchg_error *err);
/* Number of captures of this library that are open in the process. While there are any, memory is neither freed nor are
 * events of releases recorded: both would become part of a graph. */
int xchg__graph_capturing(void);

#endif
