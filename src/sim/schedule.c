/* The operations that wait. Edges go away when what they come from is done, so an operation may run when it has no
   needs left, and what is done is forgotten at once. */
#include "schedule.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "call.h"
#include "graph.h"
#include "graph_memory.h"
#include "report.h"
#include "result.h"
#include "trace.h"

/* How long a wait for a value that nothing enqueued can write is given to threads of the host. */
enum { VALUE_WAIT_MS = 5000 };

static sim_operation *oldest, *newest;
static sim_operation **ready;
static size_t ready_count, ready_room;
static size_t living; /* made and neither done nor discarded: so many may become ready */
static uint64_t newest_id, waiting_count, ran_count;
static unsigned running_count;
static uint64_t random_state, random_seed;
static bool random_started;
static pthread_cond_t finished = PTHREAD_COND_INITIALIZER;

sim_operation *sim_schedule_first(void) {
  return oldest;
}

uint64_t sim_schedule_newest(void) {
  return newest_id;
}

uint64_t sim_schedule_waiting(void) {
  return waiting_count;
}

uint64_t sim_schedule_ran(void) {
  return ran_count;
}

/* ---- making ---- */

static bool ready_reserve(void) {
  if (living < ready_room)
    return true;
  size_t room = ready_room ? 2 * ready_room : 256;
  sim_operation **grown = realloc(ready, room * sizeof *grown);
  if (!grown)
    return false;
  ready = grown;
  ready_room = room;
  return true;
}

static void ready_add(sim_operation *operation) {
  ready[ready_count++] = operation;
  operation->ready = ready_count;
}

static void ready_remove(sim_operation *operation) {
  sim_operation *last = ready[--ready_count];
  ready[operation->ready - 1] = last;
  last->ready = operation->ready;
  operation->ready = 0;
}

sim_operation *sim_operation_create(sim_stream *stream, sim_work *work) {
  if (!ready_reserve())
    return NULL;
  sim_operation *made = calloc(1, sizeof *made);
  if (!made)
    return NULL;
  made->work = *work;
  made->context = stream->context;
  made->stream = stream;
  made->references = 1;
  living++;
  return made;
}

int sim_operation_need(sim_operation *operation, sim_operation *other) {
  if (sim_operation_is_done(other))
    return SIM_SUCCESS;
  sim_edge *edge = &operation->own;
  if (edge->from) {
    edge = malloc(sizeof *edge);
    if (!edge)
      return SIM_OUT_OF_MEMORY;
  }
  *edge = (sim_edge){.from = other, .to = operation, .next_need = operation->needs, .next_wanted = other->wanted};
  if (edge->next_need)
    edge->next_need->previous_need = edge;
  if (edge->next_wanted)
    edge->next_wanted->previous_wanted = edge;
  operation->needs = edge;
  other->wanted = edge;
  return SIM_SUCCESS;
}

static void edge_remove(sim_edge *edge) {
  if (edge->previous_need)
    edge->previous_need->next_need = edge->next_need;
  else
    edge->to->needs = edge->next_need;
  if (edge->next_need)
    edge->next_need->previous_need = edge->previous_need;
  if (edge->previous_wanted)
    edge->previous_wanted->next_wanted = edge->next_wanted;
  else
    edge->from->wanted = edge->next_wanted;
  if (edge->next_wanted)
    edge->next_wanted->previous_wanted = edge->previous_wanted;
  if (edge == &edge->to->own)
    edge->from = NULL;
  else
    free(edge);
}

/* Memory that the work names stays known until it has run. Kernels name none. */
static void operation_name(sim_operation *operation) {
  uint64_t addresses[2] = {0};
  const sim_work *work = &operation->work;
  switch (work->kind) {
  case SIM_OPERATION_COPY:
    addresses[0] = work->copy.destination;
    addresses[1] = work->staged ? 0 : work->copy.source;
    break;
  case SIM_OPERATION_SET: addresses[0] = work->set.destination; break;
  case SIM_OPERATION_ALLOCATE:
  case SIM_OPERATION_FREE: addresses[0] = work->allocation; break;
  default: return;
  }
  for (int i = 0; i < 2; i++) {
    operation->named[i] = addresses[i] ? sim_memory_find(addresses[i]) : NULL;
    if (!operation->named[i])
      continue;
    operation->named[i]->pending++;
    sim_graph_memory_enqueued(operation->named[i], work->kind);
  }
}

void sim_operation_enqueue(sim_operation *operation) {
  sim_stream *stream = operation->stream;
  operation->id = ++newest_id;
  operation->enqueued = sim_trace_on() ? sim_now() : 0;
  operation_name(operation);
  operation->previous = newest;
  if (newest)
    newest->next = operation;
  else
    oldest = operation;
  newest = operation;
  operation->previous_in_stream = stream->last;
  if (stream->last)
    stream->last->next_in_stream = operation;
  else
    stream->first = operation;
  stream->last = operation;
  stream->newest = operation->id;
  stream->waiting++;
  waiting_count++;
  if (!operation->needs)
    ready_add(operation);
  if (operation->work.kind == SIM_OPERATION_RECORD)
    sim_event_enqueued(operation->work.event, operation);
}

void sim_operation_discard(sim_operation *operation) {
  while (operation->needs)
    edge_remove(operation->needs);
  sim_work_drop(&operation->work);
  living--;
  sim_operation_release(operation);
}

bool sim_operation_is_done(const sim_operation *operation) {
  return !operation || operation->state == SIM_OPERATION_DONE;
}

void sim_operation_release(sim_operation *operation) {
  if (--operation->references)
    return;
  sim_clock_free(operation->clock);
  free(operation);
}

/* ---- ending ---- */

static void operation_unlink(sim_operation *operation) {
  sim_stream *stream = operation->stream;
  *(operation->previous ? &operation->previous->next : &oldest) = operation->next;
  *(operation->next ? &operation->next->previous : &newest) = operation->previous;
  *(operation->previous_in_stream ? &operation->previous_in_stream->next_in_stream : &stream->first) =
      operation->next_in_stream;
  *(operation->next_in_stream ? &operation->next_in_stream->previous_in_stream : &stream->last) =
      operation->previous_in_stream;
  operation->next = operation->previous = NULL;
  operation->next_in_stream = operation->previous_in_stream = NULL;
  waiting_count--;
  living--;
}

/* `result`: what lost its context. What depends on it in other contexts loses those: it cannot run any more either. */
static void operation_finish(sim_operation *operation, int result, uint64_t time) {
  if (operation->ready)
    ready_remove(operation);
  operation->state = SIM_OPERATION_DONE;
  operation->result = result;
  while (operation->needs)
    edge_remove(operation->needs);
  while (operation->wanted) {
    sim_operation *to = operation->wanted->to;
    edge_remove(operation->wanted);
    if (result)
      sim_context_lose(to->context, result);
    /* An operation that is not enqueued yet becomes ready there. */
    if (!to->needs && to->id && to->state == SIM_OPERATION_WAITING)
      ready_add(to);
  }
  operation_unlink(operation);
  for (int i = 0; i < 2; i++)
    if (operation->named[i]) {
      operation->named[i]->pending--;
      sim_graph_memory_done(operation->named[i]);
    }
  if (operation->work.kind == SIM_OPERATION_RECORD)
    sim_event_recorded(operation->work.event, operation, time);
  sim_stream_operation_done(operation->stream);
  operation->stream = NULL;
  sim_work_drop(&operation->work);
  if (operation->exec)
    sim_exec_release(operation->exec);
  sim_operation_release(operation);
}

void sim_schedule_abandon(void) {
  bool again;
  do {
    again = false;
    sim_operation *next;
    for (sim_operation *each = oldest; each; each = next) {
      next = each->next;
      if (each->state != SIM_OPERATION_WAITING || !each->context->lost)
        continue;
      again = true;
      operation_finish(each, each->context->lost, 0);
    }
  } while (again);
  pthread_cond_broadcast(&finished);
}

void sim_schedule_end_context(const sim_context *context) {
  sim_operation *next;
  for (sim_operation *each = oldest; each; each = next) {
    next = each->next;
    if (each->context != context && each->stream->context != context)
      continue;
    if (each->state == SIM_OPERATION_WAITING) {
      operation_finish(each, SIM_SUCCESS, 0);
      continue;
    }
    pthread_cond_wait(&finished, sim_call_mutex());
    next = oldest; /* the lock was let go: anything may have changed */
  }
  pthread_cond_broadcast(&finished);
}

/* ---- running ---- */

static void operation_run(sim_operation *operation) {
  sim_context *context = operation->context;
  ready_remove(operation);
  operation->state = SIM_OPERATION_RUNNING;
  operation->references++;
  running_count++;
  int result = context->lost;
  uint64_t end = 0;
  if (!result) {
    ran_count++;
    uint64_t begin = sim_trace_on() ? sim_now() : 0;
    sim_stream_check_begin(operation->stream, &operation->work, operation->clock, operation->id);
    result = sim_work_run(&operation->work, context);
    int finding = sim_stream_check_end();
    result = result ? result : finding;
    if (begin || operation->work.kind == SIM_OPERATION_RECORD)
      end = sim_now();
    if (begin)
      sim_trace_operation(operation->stream, &operation->work, operation->enqueued, begin, end, result);
    if (result)
      sim_context_lose(context, result);
  }
  running_count--;
  operation_finish(operation, result, end);
  sim_operation_release(operation);
  if (result)
    sim_schedule_abandon();
  pthread_cond_broadcast(&finished);
}

/* splitmix64; a new seed begins a new sequence. */
static uint64_t random_next(uint64_t below) {
  uint64_t seed = sim_config_get()->seed;
  if (!random_started || random_seed != seed) {
    random_started = true;
    random_seed = random_state = seed;
  }
  uint64_t z = random_state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return (z ^ z >> 31) % below;
}

static sim_operation *ready_oldest(void) {
  sim_operation *found = NULL;
  for (size_t i = 0; i < ready_count; i++)
    if ((!found || ready[i]->id < found->id) && sim_work_may_run(&ready[i]->work))
      found = ready[i];
  return found;
}

static sim_operation *ready_random(void) {
  if (!ready_count)
    return NULL;
  sim_operation *found = ready[random_next(ready_count)];
  return sim_work_may_run(&found->work) ? found : ready_oldest();
}

/* The operation that is to run next for `target`; NULL where that is running in another thread, or waits for a
   value. Whatever is older in a stream is needed by what is newer (of the nodes of one launch of a graph some may
   not be), so each hop ends in the oldest one: hops go to ever older operations, each stream is met once at most. */
static sim_operation *choose(const sim_operation *target) {
  if (sim_config_get()->schedule == SIM_SCHEDULE_RANDOM || !target)
    return sim_config_get()->schedule == SIM_SCHEDULE_RANDOM ? ready_random() : ready_oldest();
  sim_operation *at = target->stream->first;
  while (at->needs)
    at = at->needs->from->stream->first;
  if (at->state == SIM_OPERATION_WAITING && sim_work_may_run(&at->work))
    return at;
  return NULL;
}

bool sim_schedule_step(sim_operation *target) {
  sim_operation *next = choose(target);
  if (!next && target && !running_count)
    next = ready_oldest();
  if (next)
    operation_run(next);
  return next != NULL;
}

/* Nothing may run here: another thread is at it, or values in memory are waited for. False when that has taken too
   long. */
static bool wait_for_others(unsigned *waited_ms) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += 1000000;
  if (until.tv_nsec >= 1000000000)
    until.tv_sec++, until.tv_nsec -= 1000000000;
  if (running_count) {
    *waited_ms = 0;
    pthread_cond_timedwait(&finished, sim_call_mutex(), &until);
    return true;
  }
  pthread_cond_timedwait(&finished, sim_call_mutex(), &until);
  return ++*waited_ms < VALUE_WAIT_MS;
}

int sim_schedule_run(sim_operation *target) {
  unsigned waited_ms = 0;
  target->references++;
  while (target->state != SIM_OPERATION_DONE) {
    sim_operation *next = choose(target);
    if (!next)
      next = running_count ? NULL : ready_oldest(); /* it may write the value that is waited for */
    if (next) {
      operation_run(next);
      waited_ms = 0;
    } else if (!wait_for_others(&waited_ms)) {
      sim_report(SIM_REPORT_FAULT, "a wait for a value in memory has lasted %d s, and nothing that is enqueued may run",
                 VALUE_WAIT_MS / 1000);
      sim_context_lose(target->context, SIM_LAUNCH_TIMEOUT);
      sim_schedule_abandon();
    }
  }
  int result = target->result;
  sim_operation_release(target);
  sim_user_object_reap();
  return result;
}

void sim_schedule_enqueued(void) {
  if (sim_config_get()->schedule != SIM_SCHEDULE_EAGER)
    return;
  for (sim_operation *next; (next = ready_oldest());)
    operation_run(next);
  sim_user_object_reap();
}
