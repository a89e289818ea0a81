/* User objects: reference counts of the program's own, kept by graphs. */
#include "graph.h"

#include <limits.h>
#include <stdlib.h>

#include "call.h"
#include "handles.h"
#include "result.h"

struct sim_user_object {
  void *data;
  void (*destroy)(void *);
  uint64_t references;
  sim_user_object *next; /* of those that are to be destroyed */
};

typedef struct sim_graph_reference {
  sim_user_object *object;
  uint64_t count;
  struct sim_graph_reference *next;
} reference;

static sim_handles objects;
static sim_user_object *doomed, **doomed_end = &doomed;

int sim_user_object_check(const sim_user_object *object) {
  return sim_handles_has(&objects, object) ? SIM_SUCCESS : SIM_INVALID_VALUE;
}

int sim_user_object_create(sim_user_object **out, void *data, void (*destroy)(void *), unsigned references,
                           unsigned flags) {
  enum { NO_DESTRUCTOR_SYNC = 1 };
  if (!destroy || !references || references > INT_MAX || flags != NO_DESTRUCTOR_SYNC)
    return SIM_INVALID_VALUE;
  sim_user_object *made = malloc(sizeof *made);
  if (!made)
    return SIM_OUT_OF_MEMORY;
  *made = (sim_user_object){data, destroy, references, NULL};
  if (sim_handles_add(&objects, made)) {
    free(made);
    return SIM_OUT_OF_MEMORY;
  }
  *out = made;
  return SIM_SUCCESS;
}

int sim_user_object_retain(sim_user_object *object, unsigned count) {
  if (sim_user_object_check(object) || !count || count > INT_MAX)
    return SIM_INVALID_VALUE;
  object->references += count;
  return SIM_SUCCESS;
}

/* The destructor waits for sim_user_object_reap. */
static void object_drop(sim_user_object *object, uint64_t count) {
  object->references -= count;
  if (object->references)
    return;
  sim_handles_remove(&objects, object);
  object->next = NULL;
  *doomed_end = object;
  doomed_end = &object->next;
}

void sim_user_object_reap(void) {
  while (doomed) {
    sim_user_object *object = doomed;
    doomed = object->next;
    if (!doomed)
      doomed_end = &doomed;
    sim_call_suspend(false);
    object->destroy(object->data);
    sim_call_resume();
    free(object);
  }
}

int sim_user_object_release(sim_user_object *object, unsigned count) {
  if (sim_user_object_check(object) || !count || count > INT_MAX || count > object->references)
    return SIM_INVALID_VALUE;
  object_drop(object, count);
  sim_user_object_reap();
  return SIM_SUCCESS;
}

/* ---- those of graphs ---- */

static reference **reference_find(reference **list, const sim_user_object *object) {
  while (*list && (*list)->object != object)
    list = &(*list)->next;
  return list;
}

static int reference_add(reference **list, sim_user_object *object, uint64_t count) {
  reference **at = reference_find(list, object);
  if (!*at) {
    *at = calloc(1, sizeof **at);
    if (!*at)
      return SIM_OUT_OF_MEMORY;
    (*at)->object = object;
  }
  (*at)->count += count;
  return SIM_SUCCESS;
}

int sim_graph_retain_object(sim_graph *graph, sim_user_object *object, unsigned count, bool move) {
  if (sim_graph_check(graph) || sim_user_object_check(object) || !count || count > INT_MAX ||
      (move && count > object->references))
    return SIM_INVALID_VALUE;
  if (reference_add(&graph->references, object, count))
    return SIM_OUT_OF_MEMORY;
  if (!move)
    object->references += count;
  return SIM_SUCCESS;
}

int sim_graph_release_object(sim_graph *graph, sim_user_object *object, unsigned count) {
  if (sim_graph_check(graph) || sim_user_object_check(object) || !count)
    return SIM_INVALID_VALUE;
  reference **at = reference_find(&graph->references, object);
  if (!*at || (*at)->count < count)
    return SIM_INVALID_VALUE;
  (*at)->count -= count;
  if (!(*at)->count) {
    reference *empty = *at;
    *at = empty->next;
    free(empty);
  }
  object_drop(object, count);
  sim_user_object_reap();
  return SIM_SUCCESS;
}

int sim_references_copy(reference **to, const reference *from) {
  for (; from; from = from->next) {
    if (reference_add(to, from->object, 1))
      return SIM_OUT_OF_MEMORY;
    from->object->references++;
  }
  return SIM_SUCCESS;
}

void sim_references_drop(reference **list) {
  while (*list) {
    reference *each = *list;
    *list = each->next;
    object_drop(each->object, each->count);
    free(each);
  }
}
