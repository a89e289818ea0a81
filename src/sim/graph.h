/* Capture and graphs. */
#ifndef SIM_GRAPH_H
#define SIM_GRAPH_H

#include "event.h"

typedef struct sim_node sim_node;
typedef struct sim_graph_exec sim_graph_exec;
typedef struct sim_user_object sim_user_object;

struct sim_node {
  sim_graph *graph;
  sim_work work;
  sim_node **dependencies;
  size_t dependency_count;
  uint64_t id;
  uint64_t origin;           /* the id of the node that it was cloned from, at first hand; 0: none */
  sim_node *next, *previous; /* in the order of making */
  uint64_t mark;             /* of the walk that met it last (graph.c) */
  size_t index, cursor;      /* scratch of that walk */
};

struct sim_graph {
  sim_node *nodes, *last;
  size_t node_count;
  unsigned height; /* graphs inside graphs below it */
  uint64_t id;
  sim_graph *parent;                      /* a child graph's */
  struct sim_graph_reference *references; /* user objects retained: user_object.c */
  sim_graph *next;                        /* all that live */
};

/* ---- capture ---- */
enum { SIM_CAPTURE_GLOBAL, SIM_CAPTURE_THREAD_LOCAL, SIM_CAPTURE_RELAXED };
int sim_capture_begin(sim_stream *stream, int mode);
int sim_capture_begin_to_graph(sim_stream *stream, sim_graph *graph, sim_node *const *dependencies, size_t count,
                               int mode);
int sim_capture_end(sim_stream *stream, sim_graph **graph);    /* *graph NULL and 901 where it was invalidated */
int sim_capture_status(const sim_stream *stream, int *status); /* 0 none, 1 active, 2 invalidated */
typedef struct {
  int status;
  uint64_t id;
  sim_graph *graph;
  sim_node *const *dependencies; /* borrowed */
  size_t count;
} sim_capture_info;
int sim_capture_get_info(const sim_stream *stream, sim_capture_info *info);
int sim_capture_update_dependencies(sim_stream *stream, sim_node *const *dependencies, size_t count, bool set);
/* Called by stream.c and by sim_call_enter for what is illegal while a capture is on: 0, or 900 and every capture of
   the scope (global: all threads; thread-local: this thread) becomes invalidated. */
int sim_capture_forbid(void);
/* Used by stream.c: */
int sim_capture_add(sim_stream *stream, sim_work *work);
int sim_capture_record(sim_stream *stream, sim_event *event);
int sim_capture_wait(sim_stream *stream, sim_event *event);
/* What cannot be done while it captures: 900, or 901 where the capture is invalid already; it becomes so. */
int sim_capture_refuse(sim_stream *stream);
int sim_capture_refuse_event(sim_event *event);             /* 907 */
int sim_capture_forbid_legacy(const sim_context *context);  /* 906 where a blocking stream of the context captures */
int sim_capture_forbid_context(const sim_context *context); /* 900 where a stream of the context captures */
void sim_capture_leave(sim_stream *stream);                 /* the stream goes away */
void sim_capture_lose_graph(const sim_graph *graph, bool whole); /* a node of it or all of it goes away */
void sim_capture_forget(sim_event *event);                       /* the event is recorded anew or goes away */

/* ---- graphs ---- */
int sim_graph_create(sim_graph **out);
int sim_graph_check(const sim_graph *graph); /* 1 for what is none; so too for nodes, execs, user objects */
int sim_graph_clone(sim_graph **out, const sim_graph *graph);
/* The node of `clone` that was cloned from `node`; 1: there is none. */
int sim_graph_find_in_clone(sim_node **out, const sim_node *node, const sim_graph *clone);
/* Nothing happens to the graph of a child node: it goes with its node. */
void sim_graph_destroy(sim_graph *graph);
/* The same in the middle of something: destructors of user objects wait for sim_user_object_reap. */
void sim_graph_drop(sim_graph *graph);
/* Takes what `work` owns in every case, a child graph too. 0; 1 for a dependency that is no node of the graph or is
   there twice; 801 for graphs nested deeper than 128; 2. */
int sim_graph_add(sim_node **out, sim_graph *graph, sim_node *const *dependencies, size_t count, sim_work *work);
int sim_node_check(const sim_node *node);
/* The nodes so that each comes behind its dependencies, else in the order of making; node->index is its place. *out:
   new (free). 0; 1 for a cycle; 2. */
int sim_graph_order(sim_node ***out, const sim_graph *graph);
/* A mark that no node carries yet. */
uint64_t sim_graph_next_mark(void);
/* Edges, each `from` one node `to` another: 1 for ends that are not two nodes of the graph (nothing is changed), and
   for an edge that is there already, or, to `remove`, is not (those before it are done). */
int sim_graph_add_dependencies(sim_graph *graph, sim_node *const *from, sim_node *const *to, size_t count, bool remove);
int sim_graph_destroy_node(sim_node *node);
/* CUgraphNodeType */
enum { SIM_NODE_CHILD = 4, SIM_NODE_EMPTY = 5 };
/* CUgraphNodeType of a node: kernel 0, memcpy 1, memset 2, host 3, graph 4, empty 5, wait event 6, event record 7,
   alloc 10, free 11. */
int sim_node_type(const sim_node *node);
int sim_graph_dot(const sim_graph *graph, const char *path, unsigned flags); /* 304 where the file cannot be written */

int sim_exec_check(const sim_graph_exec *exec);
int sim_exec_create(sim_graph_exec **out, sim_graph *graph, uint64_t flags); /* 1 for a cycle */
void sim_exec_destroy(sim_graph_exec *exec);
uint64_t sim_exec_flags(const sim_graph_exec *exec); /* as they were given */
/* Called by schedule.c: the last operation of a launch is done. */
void sim_exec_release(sim_graph_exec *exec);
int sim_exec_launch(sim_graph_exec *exec, sim_stream *stream);
/* CUgraphExecUpdateResult */
enum {
  SIM_UPDATE_SUCCESS,
  SIM_UPDATE_ERROR,
  SIM_UPDATE_TOPOLOGY_CHANGED,
  SIM_UPDATE_NODE_TYPE_CHANGED,
  SIM_UPDATE_PARAMETERS_CHANGED = 5,
  SIM_UPDATE_NOT_SUPPORTED,
  SIM_UPDATE_UNSUPPORTED_FUNCTION_CHANGE,
  SIM_UPDATE_ATTRIBUTES_CHANGED,
};
typedef struct {
  int result;
  sim_node *error_node, *error_from_node;
} sim_exec_update_info; /* result: CUgraphExecUpdateResult */
int sim_exec_update(sim_graph_exec *exec, sim_graph *graph,
                    sim_exec_update_info *info); /* 910 where the topology differs */
/* Takes what `work` owns in every case. Replaces the parameters of one node of an instantiated graph
   (cudaGraphExecKernelNodeSetParams and friends). */
int sim_exec_set_node(sim_graph_exec *exec, sim_node *node, sim_work *work);

/* ---- user objects ---- */
int sim_user_object_create(sim_user_object **out, void *data, void (*destroy)(void *), unsigned references,
                           unsigned flags);
int sim_user_object_check(const sim_user_object *object);
int sim_user_object_retain(sim_user_object *object, unsigned count);
int sim_user_object_release(sim_user_object *object, unsigned count); /* destroy runs without the lock */
int sim_graph_retain_object(sim_graph *graph, sim_user_object *object, unsigned count, bool move);
int sim_graph_release_object(sim_graph *graph, sim_user_object *object, unsigned count);
/* Used by graphs: retains all of `from` once more for *to; lets all of *list go. */
int sim_references_copy(struct sim_graph_reference **to, const struct sim_graph_reference *from);
void sim_references_drop(struct sim_graph_reference **list);
/* Runs the destructors of those whose last reference went, without the lock: called where nothing is half done. */
void sim_user_object_reap(void);

uint64_t sim_graph_live(void);
uint64_t sim_exec_live(void);

#endif
