/* Capture: a sequence is one graph in the making, with the streams that take part. Each stream has its tips: the
   nodes that what it does next depends on. The rules are those of "stream capture" in the CUDA programming guide. */
#include "graph.h"

#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "node_set.h"
#include "result.h"

enum { NONE, ACTIVE, INVALIDATED };

typedef struct member {
  sim_stream *stream;
  sim_node_set tips;
  struct member *next;
} member;

struct sim_capture {
  uint64_t id;
  int mode, status;
  const void *owner; /* the thread that began it */
  sim_stream *origin;
  sim_graph *graph;
  bool own_graph; /* else the user's */
  member *members;
  unsigned references;      /* itself while it lasts, and events */
  struct sim_capture *next; /* all that last */
};

static struct sim_capture *captures;
static uint64_t next_id = 1;

/* ---- sequences ---- */

static member *member_of(const sim_stream *stream) {
  member *each = stream->capture->members;
  while (each->stream != stream)
    each = each->next;
  return each;
}

static int member_add(struct sim_capture *capture, sim_stream *stream, sim_node *const *tips, size_t count) {
  member *made = calloc(1, sizeof *made);
  if (!made || sim_node_set_join(&made->tips, tips, count)) {
    if (made)
      sim_node_set_clear(&made->tips);
    free(made);
    return SIM_OUT_OF_MEMORY;
  }
  made->stream = stream;
  made->next = capture->members;
  capture->members = made;
  stream->capture = capture;
  return SIM_SUCCESS;
}

static void capture_release(struct sim_capture *capture) {
  if (!--capture->references)
    free(capture);
}

/* Its streams no longer capture. Returns the graph, which belongs to the caller where capture->own_graph. */
static sim_graph *capture_finish(struct sim_capture *capture) {
  struct sim_capture **link = &captures;
  while (*link != capture)
    link = &(*link)->next;
  *link = capture->next;
  while (capture->members) {
    member *each = capture->members;
    capture->members = each->next;
    each->stream->capture = NULL;
    sim_node_set_clear(&each->tips);
    free(each);
  }
  sim_graph *graph = capture->graph;
  capture->graph = NULL;
  capture->status = NONE;
  return graph;
}

static int capture_begin(sim_stream *stream, sim_graph *graph, sim_node *const *tips, size_t count, int mode,
                         bool own_graph) {
  struct sim_capture *made = calloc(1, sizeof *made);
  if (!made)
    return SIM_OUT_OF_MEMORY;
  if (member_add(made, stream, tips, count)) {
    free(made);
    return SIM_OUT_OF_MEMORY;
  }
  made->id = next_id++;
  made->mode = mode;
  made->status = ACTIVE;
  made->owner = sim_thread_get();
  made->origin = stream;
  made->graph = graph;
  made->own_graph = own_graph;
  made->references = 1;
  made->next = captures;
  captures = made;
  return SIM_SUCCESS;
}

static int begin_check(const sim_stream *stream, int mode) {
  if (mode < SIM_CAPTURE_GLOBAL || mode > SIM_CAPTURE_RELAXED)
    return SIM_INVALID_VALUE;
  if (stream->legacy)
    return SIM_STREAM_CAPTURE_UNSUPPORTED;
  return stream->capture ? SIM_ILLEGAL_STATE : stream->context->lost;
}

int sim_capture_begin(sim_stream *stream, int mode) {
  sim_graph *graph;
  int result = begin_check(stream, mode);
  if (!result)
    result = sim_graph_create(&graph);
  if (result)
    return result;
  result = capture_begin(stream, graph, NULL, 0, mode, true);
  if (result)
    sim_graph_destroy(graph);
  return result;
}

int sim_capture_begin_to_graph(sim_stream *stream, sim_graph *graph, sim_node *const *dependencies, size_t count,
                               int mode) {
  int result = begin_check(stream, mode);
  if (result)
    return result;
  if (sim_graph_check(graph))
    return SIM_INVALID_VALUE;
  for (size_t i = 0; i < count; i++)
    if (sim_node_check(dependencies[i]) || dependencies[i]->graph != graph)
      return SIM_INVALID_VALUE;
  return capture_begin(stream, graph, dependencies, count, mode, false);
}

/* 904 where a stream has work that the first stream's next one would not come after. */
static int joined_check(const struct sim_capture *capture) {
  sim_node **stack = malloc((capture->graph->node_count + 1) * sizeof *stack);
  if (!stack)
    return SIM_OUT_OF_MEMORY;
  uint64_t mark = sim_graph_next_mark();
  size_t count = 0;
  const sim_node_set *tips = &member_of(capture->origin)->tips;
  for (size_t i = 0; i < tips->count; i++) {
    tips->items[i]->mark = mark;
    stack[count++] = tips->items[i];
  }
  while (count) {
    const sim_node *each = stack[--count];
    for (size_t i = 0; i < each->dependency_count; i++)
      if (each->dependencies[i]->mark != mark) {
        each->dependencies[i]->mark = mark;
        stack[count++] = each->dependencies[i];
      }
  }
  free(stack);
  for (const member *each = capture->members; each; each = each->next)
    for (size_t i = 0; i < each->tips.count; i++)
      if (each->tips.items[i]->mark != mark)
        return SIM_STREAM_CAPTURE_UNJOINED;
  return SIM_SUCCESS;
}

/* What is wrong with a call on a capture: it is invalid from now on. */
static int capture_fail(struct sim_capture *capture, int result) {
  capture->status = INVALIDATED;
  return result;
}

int sim_capture_end(sim_stream *stream, sim_graph **graph) {
  *graph = NULL;
  struct sim_capture *capture = stream->capture;
  if (!capture)
    return SIM_ILLEGAL_STATE;
  if (capture->origin != stream)
    return capture_fail(capture, SIM_STREAM_CAPTURE_UNMATCHED);
  if (capture->mode != SIM_CAPTURE_RELAXED && capture->owner != sim_thread_get())
    return capture_fail(capture, SIM_STREAM_CAPTURE_WRONG_THREAD);
  int result = capture->status == INVALIDATED ? SIM_STREAM_CAPTURE_INVALIDATED : joined_check(capture);
  bool own = capture->own_graph;
  sim_graph *made = capture_finish(capture);
  capture_release(capture);
  if (!result)
    *graph = made;
  else if (own)
    sim_graph_destroy(made);
  return result;
}

int sim_capture_status(const sim_stream *stream, int *status) {
  *status = stream->capture ? stream->capture->status : NONE;
  return SIM_SUCCESS;
}

int sim_capture_get_info(const sim_stream *stream, sim_capture_info *info) {
  *info = (sim_capture_info){0};
  const struct sim_capture *capture = stream->capture;
  if (!capture)
    return SIM_SUCCESS;
  info->status = capture->status;
  info->id = capture->id;
  if (capture->status != ACTIVE)
    return SIM_SUCCESS;
  const sim_node_set *tips = &member_of(stream)->tips;
  info->graph = capture->graph;
  info->dependencies = tips->items;
  info->count = tips->count;
  return SIM_SUCCESS;
}

int sim_capture_update_dependencies(sim_stream *stream, sim_node *const *dependencies, size_t count, bool set) {
  struct sim_capture *capture = stream->capture;
  if (!capture)
    return SIM_ILLEGAL_STATE;
  if (capture->status == INVALIDATED)
    return SIM_STREAM_CAPTURE_INVALIDATED;
  for (size_t i = 0; i < count; i++)
    if (sim_node_check(dependencies[i]) || dependencies[i]->graph != capture->graph)
      return SIM_INVALID_VALUE;
  sim_node_set joined = {0};
  sim_node_set *tips = &member_of(stream)->tips;
  if ((!set && sim_node_set_join(&joined, tips->items, tips->count)) ||
      sim_node_set_join(&joined, dependencies, count)) {
    sim_node_set_clear(&joined);
    return SIM_OUT_OF_MEMORY;
  }
  sim_node_set_clear(tips);
  *tips = joined;
  return SIM_SUCCESS;
}

/* ---- what cannot be done ---- */

int sim_capture_forbid(void) {
  const sim_thread *thread = sim_thread_get();
  if (thread->capture_mode == SIM_CAPTURE_RELAXED)
    return SIM_SUCCESS;
  int result = SIM_SUCCESS;
  for (struct sim_capture *each = captures; each; each = each->next) {
    bool mine = each->owner == thread && each->mode != SIM_CAPTURE_RELAXED;
    bool anybodys = each->mode == SIM_CAPTURE_GLOBAL && thread->capture_mode == SIM_CAPTURE_GLOBAL;
    if (mine || anybodys)
      result = capture_fail(each, SIM_STREAM_CAPTURE_UNSUPPORTED);
  }
  return result;
}

/* Whether a stream of the context takes part; with `blocking` only those that the legacy stream waits for count. */
static bool takes_part(const struct sim_capture *capture, const sim_context *context, bool blocking) {
  for (const member *each = capture->members; each; each = each->next)
    if (each->stream->context == context && !(blocking && each->stream->flags & SIM_STREAM_NON_BLOCKING))
      return true;
  return false;
}

static int forbid_all(const sim_context *context, bool blocking, int code) {
  int result = SIM_SUCCESS;
  for (struct sim_capture *each = captures; each; each = each->next)
    if (takes_part(each, context, blocking))
      result = capture_fail(each, code);
  return result;
}

int sim_capture_forbid_legacy(const sim_context *context) {
  return captures ? forbid_all(context, true, SIM_STREAM_CAPTURE_IMPLICIT) : SIM_SUCCESS;
}

int sim_capture_forbid_context(const sim_context *context) {
  return forbid_all(context, false, SIM_STREAM_CAPTURE_UNSUPPORTED);
}

static int refuse(struct sim_capture *capture, int code) {
  if (capture->status == INVALIDATED)
    return SIM_STREAM_CAPTURE_INVALIDATED;
  return capture->status == ACTIVE ? capture_fail(capture, code) : code;
}

int sim_capture_refuse(sim_stream *stream) {
  return refuse(stream->capture, SIM_STREAM_CAPTURE_UNSUPPORTED);
}

int sim_capture_refuse_event(sim_event *event) {
  return refuse(event->capture, SIM_CAPTURED_EVENT);
}

void sim_capture_leave(sim_stream *stream) {
  struct sim_capture *capture = stream->capture;
  if (!capture)
    return;
  capture->status = INVALIDATED;
  if (capture->origin == stream) {
    bool own = capture->own_graph;
    sim_graph *graph = capture_finish(capture);
    if (own)
      sim_graph_drop(graph);
    capture_release(capture);
    return;
  }
  member **link = &capture->members;
  while ((*link)->stream != stream)
    link = &(*link)->next;
  member *gone = *link;
  *link = gone->next;
  sim_node_set_clear(&gone->tips);
  free(gone);
  stream->capture = NULL;
}

/* The nodes that streams and events remember are not looked at once a capture is invalid. */
void sim_capture_lose_graph(const sim_graph *graph, bool whole) {
  for (struct sim_capture *each = captures; each; each = each->next)
    if (each->graph == graph) {
      each->status = INVALIDATED;
      if (whole)
        each->graph = NULL;
    }
}

/* ---- what streams do ---- */

int sim_capture_add(sim_stream *stream, sim_work *work) {
  struct sim_capture *capture = stream->capture;
  if (capture->status == INVALIDATED) {
    sim_work_drop(work);
    return SIM_STREAM_CAPTURE_INVALIDATED;
  }
  sim_node_set *tips = &member_of(stream)->tips;
  sim_node *made;
  int result = sim_graph_add(&made, capture->graph, tips->items, tips->count, work);
  if (result)
    return result;
  tips->count = 0;
  return sim_node_set_add(tips, made);
}

int sim_capture_record(sim_stream *stream, sim_event *event) {
  struct sim_capture *capture = stream->capture;
  if (capture->status == INVALIDATED)
    return SIM_STREAM_CAPTURE_INVALIDATED;
  sim_node_set *nodes = calloc(1, sizeof *nodes);
  const sim_node_set *tips = &member_of(stream)->tips;
  if (!nodes || sim_node_set_join(nodes, tips->items, tips->count)) {
    if (nodes)
      sim_node_set_clear(nodes);
    free(nodes);
    return SIM_OUT_OF_MEMORY;
  }
  sim_capture_forget(event);
  event->capture = capture;
  event->nodes = nodes;
  capture->references++;
  return SIM_SUCCESS;
}

void sim_capture_forget(sim_event *event) {
  if (!event->capture)
    return;
  sim_node_set_clear(event->nodes);
  free(event->nodes);
  capture_release(event->capture);
  event->capture = NULL;
  event->nodes = NULL;
}

/* A stream that does not capture joins the capture that the event is of. */
static int capture_join(sim_stream *stream, const sim_event *event) {
  struct sim_capture *capture = event->capture;
  if (capture->status != ACTIVE)
    return refuse(capture, SIM_CAPTURED_EVENT);
  if (stream->legacy)
    return capture_fail(capture, SIM_STREAM_CAPTURE_IMPLICIT);
  const sim_node_set *nodes = event->nodes;
  return member_add(capture, stream, nodes->items, nodes->count);
}

int sim_capture_wait(sim_stream *stream, sim_event *event) {
  struct sim_capture *capture = stream->capture, *other = event->capture;
  if (!capture)
    return capture_join(stream, event);
  if (capture->status == INVALIDATED)
    return SIM_STREAM_CAPTURE_INVALIDATED;
  if (!other) {
    bool recorded = event->record || event->time;
    return recorded ? capture_fail(capture, SIM_STREAM_CAPTURE_ISOLATION) : SIM_SUCCESS;
  }
  if (other != capture) {
    if (other->status == NONE)
      return capture_fail(capture, SIM_CAPTURED_EVENT);
    other->status = INVALIDATED;
    return capture_fail(capture, SIM_STREAM_CAPTURE_MERGE);
  }
  const sim_node_set *nodes = event->nodes;
  return sim_node_set_join(&member_of(stream)->tips, nodes->items, nodes->count);
}
