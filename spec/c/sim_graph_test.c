/* Graphs: building, running, updating, user objects, drawing. */
#include "sim_streams.h"

#include <unistd.h>

static sim_stream *stream;
static sim_allocation *a, *b, *c;

static sim_graph *new_graph(void) {
  sim_graph *graph = NULL;
  CHECK_EQUAL(sim_graph_create(&graph), 0);
  return graph;
}

static sim_node *add_set(sim_graph *graph, sim_node *const *needs, size_t count, const sim_allocation *to,
                         uint32_t value) {
  sim_node *node = NULL;
  sim_work work = work_set(to, 0, to->size, value);
  CHECK_EQUAL(sim_graph_add(&node, graph, needs, count, &work), 0);
  return node;
}

static sim_node *add_copy(sim_graph *graph, sim_node *const *needs, size_t count, const sim_allocation *to,
                          const sim_allocation *from) {
  sim_node *node = NULL;
  sim_work work = work_copy(to, from, to->size);
  CHECK_EQUAL(sim_graph_add(&node, graph, needs, count, &work), 0);
  return node;
}

static sim_node *add_host(sim_graph *graph, sim_node *const *needs, size_t count, void (*function)(void *),
                          void *data) {
  sim_node *node = NULL;
  sim_work work = work_host(function, data);
  CHECK_EQUAL(sim_graph_add(&node, graph, needs, count, &work), 0);
  return node;
}

static sim_graph_exec *new_exec(sim_graph *graph) {
  sim_graph_exec *exec = NULL;
  CHECK_EQUAL(sim_exec_create(&exec, graph, 0), 0);
  return exec;
}

static void run(sim_graph_exec *exec) {
  CHECK_EQUAL(sim_exec_launch(exec, stream), 0);
  CHECK_EQUAL(sim_stream_synchronize(stream), 0);
}

static void nodes_run_in_the_order_of_edges(void) {
  /* made in the wrong order: the copy first */
  sim_graph *graph = new_graph();
  sim_node *copy = add_copy(graph, NULL, 0, b, a);
  sim_node *set = add_set(graph, NULL, 0, a, 3);
  CHECK_EQUAL(sim_graph_add_dependencies(graph, &set, &copy, 1, false), 0);
  sim_graph_exec *exec = new_exec(graph);
  sim_graph_destroy(graph); /* the exec does not need it */
  CHECK_EQUAL(sim_exec_launch(exec, stream), 0);
  CHECK(b->host[0] != 3);
  CHECK_EQUAL(sim_stream_synchronize(stream), 0);
  CHECK_EQUAL(b->host[0], 3);
  sim_exec_destroy(exec);
}

static void wrong_edges_are_refused(void) {
  sim_graph *graph = new_graph(), *other = new_graph();
  sim_node *one = add_set(graph, NULL, 0, a, 1), *two = add_set(graph, &one, 1, a, 2),
           *theirs = add_set(other, NULL, 0, a, 3);
  sim_node *twice[2] = {one, one}, *made = (sim_node *)1, *bad = (sim_node *)(uintptr_t)0x98765430;
  sim_work work = work_set(a, 0, 16, 1), again = work, third = work;
  CHECK_EQUAL(sim_graph_add(&made, graph, twice, 2, &work), 1);
  CHECK(made == NULL);
  CHECK_EQUAL(sim_graph_add(&made, graph, &theirs, 1, &again), 1);
  CHECK_EQUAL(sim_graph_add(&made, graph, &bad, 1, &third), 1);
  CHECK_EQUAL(sim_graph_add_dependencies(graph, &one, &two, 1, false), 1); /* there already */
  CHECK_EQUAL(sim_graph_add_dependencies(graph, &two, &one, 1, true), 1);  /* not there */
  CHECK_EQUAL(sim_graph_add_dependencies(graph, &one, &one, 1, false), 1);
  CHECK_EQUAL(sim_graph_add_dependencies(graph, &one, &theirs, 1, false), 1);
  CHECK_EQUAL(sim_graph_add_dependencies(graph, &bad, &one, 1, false), 1);
  /* A cycle is found when it is instantiated. */
  CHECK_EQUAL(sim_graph_add_dependencies(graph, &two, &one, 1, false), 0);
  sim_graph_exec *exec;
  CHECK_EQUAL(sim_exec_create(&exec, graph, 0), 1);
  CHECK_EQUAL(sim_graph_add_dependencies(graph, &two, &one, 1, true), 0);
  CHECK_EQUAL(sim_exec_create(&exec, graph, 16), 1);
  CHECK_EQUAL(sim_exec_create(&exec, graph, 4), 801);
  CHECK_EQUAL(sim_exec_create(&exec, (sim_graph *)bad, 0), 1);
  CHECK_EQUAL(sim_graph_destroy_node(one), 0);
  CHECK_EQUAL(two->dependency_count, 0);
  CHECK_EQUAL(sim_node_check(one), 1);
  CHECK_EQUAL(sim_graph_destroy_node(one), 1);
  sim_graph_destroy(graph);
  CHECK_EQUAL(sim_graph_check(graph), 1);
  CHECK_EQUAL(sim_node_check(two), 1);
  sim_graph_destroy(other);
}

static void launches_of_one_exec_follow_each_other(void) {
  /* b = a, a = 9: the second launch sees the first one's end, whatever the stream */
  sim_graph *graph = new_graph();
  sim_node *copy = add_copy(graph, NULL, 0, b, a);
  add_set(graph, &copy, 1, a, 9);
  sim_graph_exec *exec = new_exec(graph);
  sim_graph_destroy(graph);
  sim_stream *one = test_stream(SIM_STREAM_NON_BLOCKING), *two = test_stream(SIM_STREAM_NON_BLOCKING);
  submit_set(one, a, 1);
  CHECK_EQUAL(sim_exec_launch(exec, one), 0);
  CHECK_EQUAL(sim_exec_launch(exec, two), 0);
  sim_exec_destroy(exec); /* what was launched still runs */
  CHECK_EQUAL(sim_stream_synchronize(two), 0);
  CHECK_EQUAL(b->host[0], 9);
  sim_stream_destroy(one);
  sim_stream_destroy(two);
}

static void launches_keep_what_they_were_given(void) {
  sim_graph *graph = new_graph();
  sim_node *set = add_set(graph, NULL, 0, a, 1);
  add_copy(graph, &set, 1, b, a);
  sim_graph_exec *exec = new_exec(graph);
  CHECK_EQUAL(sim_exec_launch(exec, stream), 0);
  sim_work work = work_set(a, 0, a->size, 2);
  CHECK_EQUAL(sim_exec_set_node(exec, set, &work), 0);
  CHECK_EQUAL(sim_stream_synchronize(stream), 0);
  CHECK_EQUAL(b->host[0], 1);
  run(exec);
  CHECK_EQUAL(b->host[0], 2);
  sim_work copy = work_copy(b, a, 16), more = work_set(a, 0, 16, 1);
  CHECK_EQUAL(sim_exec_set_node(exec, set, &copy), 1); /* another kind */
  sim_graph *other = new_graph();
  sim_node *stranger = add_set(other, NULL, 0, a, 1);
  CHECK_EQUAL(sim_exec_set_node(exec, stranger, &more), 1);
  sim_graph_destroy(other);
  sim_graph_destroy(graph);
  sim_exec_destroy(exec);
  CHECK_EQUAL(sim_exec_check(exec), 1);
}

/* ---- update ---- */

static int update(sim_graph_exec *exec, sim_graph *graph, int *result, sim_node **node) {
  sim_exec_update_info info;
  int code = sim_exec_update(exec, graph, &info);
  *result = info.result;
  *node = info.error_node;
  return code;
}

static sim_graph *two_sets(uint32_t first, uint32_t second, bool edge) {
  sim_graph *graph = new_graph();
  sim_node *one = add_set(graph, NULL, 0, a, first);
  add_set(graph, &one, edge, b, second);
  return graph;
}

static void an_update_wants_the_same_topology(void) {
  sim_graph *graph = two_sets(1, 2, true), *fresh = two_sets(3, 4, true);
  sim_graph_exec *exec = new_exec(graph);
  int result;
  sim_node *node;
  CHECK_EQUAL(update(exec, fresh, &result, &node), 0);
  CHECK_EQUAL(result, 0);
  run(exec);
  CHECK_EQUAL(a->host[0], 3);
  CHECK_EQUAL(b->host[0], 4);
  sim_graph_destroy(fresh);

  fresh = two_sets(5, 6, false); /* an edge less */
  CHECK_EQUAL(update(exec, fresh, &result, &node), 910);
  CHECK_EQUAL(result, 2);
  CHECK(node == fresh->last);
  add_set(fresh, NULL, 0, a, 1); /* a node more */
  CHECK_EQUAL(update(exec, fresh, &result, &node), 910);
  CHECK_EQUAL(result, 2);
  CHECK(node == NULL);
  sim_graph_destroy(fresh);

  fresh = new_graph(); /* another type */
  sim_node *one = add_set(fresh, NULL, 0, a, 7);
  add_copy(fresh, &one, 1, b, a);
  CHECK_EQUAL(update(exec, fresh, &result, &node), 910);
  CHECK_EQUAL(result, 3);
  CHECK(node == fresh->last);
  sim_graph_destroy(fresh);

  fresh = two_sets(8, 9, true); /* memory of another kind */
  sim_allocation *pinned;
  CHECK_EQUAL(sim_memory_host(&pinned, test_context(), NULL, 64, SIM_MEMORY_PINNED, 0, "cudaHostAlloc"), 0);
  fresh->last->work = work_set(pinned, 0, 64, 9);
  CHECK_EQUAL(update(exec, fresh, &result, &node), 910);
  CHECK_EQUAL(result, 5);
  sim_graph_destroy(fresh);
  sim_memory_release(pinned);

  CHECK_EQUAL(update(exec, graph + 1, &result, &node), 1);
  CHECK_EQUAL(result, 1);
  run(exec); /* unchanged by what was refused */
  CHECK_EQUAL(a->host[0], 3);
  CHECK_EQUAL(b->host[0], 4);
  sim_exec_destroy(exec);
  sim_graph_destroy(graph);
}

/* ---- graphs in graphs ---- */

static sim_node *add_child(sim_graph *graph, sim_node *const *needs, size_t count, const sim_graph *child) {
  sim_node *node = NULL;
  sim_work work = {.kind = SIM_OPERATION_CHILD, .call = "cudaGraphAddChildGraphNode"};
  CHECK_EQUAL(sim_graph_clone(&work.child, child), 0);
  CHECK_EQUAL(sim_graph_add(&node, graph, needs, count, &work), 0);
  return node;
}

static void children_run_between_their_neighbours(void) {
  sim_graph *inner = new_graph(), *outer = new_graph();
  sim_node *inner_copy = add_copy(inner, NULL, 0, b, a);
  sim_node *first = add_set(outer, NULL, 0, a, 5), *child = add_child(outer, &first, 1, inner);
  add_copy(outer, &child, 1, c, b);
  sim_graph_exec *exec = new_exec(outer);
  run(exec);
  CHECK_EQUAL(c->host[0], 5);
  /* The child's graph is a clone with a handle of its own, which goes with its node. */
  sim_graph *clone = child->work.child;
  CHECK(clone != inner && clone->parent == outer);
  sim_node *found;
  CHECK_EQUAL(sim_graph_find_in_clone(&found, inner_copy, clone), 0);
  CHECK(found == clone->nodes);
  CHECK_EQUAL(sim_graph_find_in_clone(&found, first, clone), 1);
  sim_graph_destroy(clone);
  CHECK_EQUAL(sim_graph_check(clone), 0);
  /* Replaced in the exec by one of the same shape. */
  sim_graph *other = new_graph(), *longer = new_graph();
  add_copy(other, NULL, 0, b, c);
  sim_work work = {.kind = SIM_OPERATION_CHILD};
  CHECK_EQUAL(sim_graph_clone(&work.child, other), 0);
  memset(c->host, 77, c->size);
  CHECK_EQUAL(sim_exec_set_node(exec, child, &work), 0);
  run(exec);
  CHECK_EQUAL(b->host[0], 77);
  add_copy(longer, NULL, 0, b, c);
  add_copy(longer, NULL, 0, b, c);
  work = (sim_work){.kind = SIM_OPERATION_CHILD};
  CHECK_EQUAL(sim_graph_clone(&work.child, longer), 0);
  CHECK_EQUAL(sim_exec_set_node(exec, child, &work), 1);
  /* An empty child is passed through. */
  sim_graph *hollow = new_graph(), *around = new_graph();
  first = add_set(around, NULL, 0, a, 6);
  child = add_child(around, &first, 1, hollow);
  add_copy(around, &child, 1, c, a);
  sim_graph_exec *second = new_exec(around);
  run(second);
  CHECK_EQUAL(c->host[0], 6);
  sim_exec_destroy(second);
  sim_exec_destroy(exec);
  sim_graph_destroy(hollow);
  sim_graph_destroy(around);
  sim_graph_destroy(other);
  sim_graph_destroy(longer);
  sim_graph_destroy(inner);
  sim_graph_destroy(outer);
}

static void nesting_has_an_end(void) {
  sim_graph *graph = new_graph();
  int depth = 0, result = 0;
  while (!result && depth < 1000) {
    sim_graph *outer = new_graph();
    sim_work work = {.kind = SIM_OPERATION_CHILD, .child = graph};
    sim_node *node;
    result = sim_graph_add(&node, outer, NULL, 0, &work);
    graph = outer;
    depth++;
  }
  CHECK_EQUAL(result, 801);
  CHECK_EQUAL(depth, 128);
  sim_graph_destroy(graph);
}

static void long_chains_need_no_stack(void) {
  enum { LONG = 200000 };
  sim_graph *graph = new_graph();
  int ran = 0;
  sim_node *last = NULL;
  for (int i = 0; i < LONG; i++)
    last = add_host(graph, &last, last != NULL, count_up, &ran);
  sim_graph *clone;
  CHECK_EQUAL(sim_graph_clone(&clone, graph), 0);
  sim_graph_destroy(graph);
  sim_graph_exec *exec = new_exec(clone);
  sim_graph_destroy(clone);
  run(exec);
  CHECK_EQUAL(ran, LONG);
  sim_exec_destroy(exec);
}

/* ---- schedules ---- */

static unsigned order_seen;
static int order[4], order_count;
static void note_0(void *unused) {
  (void)unused;
  order[order_count++] = 0;
}
static void note_1(void *unused) {
  (void)unused;
  order[order_count++] = 1;
}

static void branches_run_in_any_order(void) {
  sim_graph *graph = new_graph();
  int ended = 0;
  sim_node *branches[2] = {add_host(graph, NULL, 0, note_0, NULL), add_host(graph, NULL, 0, note_1, NULL)};
  add_host(graph, branches, 2, count_up, &ended);
  sim_graph_exec *exec = new_exec(graph);
  for (int seed = 0; seed < 20; seed++) {
    char schedule[32];
    snprintf(schedule, sizeof schedule, "random:%d", seed);
    test_configure("SCHEDULE", schedule);
    order_count = 0;
    run(exec);
    CHECK_EQUAL(order_count, 2);
    order_seen |= 1u << order[0];
  }
  CHECK_EQUAL(ended, 20);
  CHECK_EQUAL(order_seen, 3);
  test_configure("SCHEDULE", "eager");
  CHECK_EQUAL(sim_exec_launch(exec, stream), 0);
  CHECK_EQUAL(ended, 21);
  test_configure("SCHEDULE", "lazy");
  sim_exec_destroy(exec);
  sim_graph_destroy(graph);
}

/* Each node notes when it ran; edges go from a lower to a higher rank, nodes are made in any order. */
enum { RANDOM_NODES = 40 };
static int ran_at[RANDOM_NODES], ran_count;
static void note_time(void *data) {
  *(int *)data = ++ran_count;
}

static void random_graphs_run_in_the_order_of_edges(void) {
  for (int round = 0; round < 40; round++) {
    char schedule[32];
    snprintf(schedule, sizeof schedule, round % 4 ? "random:%d" : "lazy", round);
    test_configure("SCHEDULE", schedule);
    sim_graph *graph = new_graph(), *clone;
    sim_node *nodes[RANDOM_NODES] = {NULL};
    bool edges[RANDOM_NODES][RANDOM_NODES] = {{false}};
    for (int made = 0; made < RANDOM_NODES; made++) {
      int rank = (int)test_below(RANDOM_NODES);
      while (nodes[rank])
        rank = (rank + 1) % RANDOM_NODES;
      nodes[rank] = add_host(graph, NULL, 0, note_time, &ran_at[rank]);
    }
    for (int i = 0; i < 80; i++) {
      int from = (int)test_below(RANDOM_NODES - 1), to = from + 1 + (int)test_below(RANDOM_NODES - 1 - from);
      CHECK_EQUAL(sim_graph_add_dependencies(graph, &nodes[from], &nodes[to], 1, false), edges[from][to] ? 1 : 0);
      edges[from][to] = true;
    }
    CHECK_EQUAL(sim_graph_clone(&clone, graph), 0);
    sim_graph_exec *exec = new_exec(clone);
    for (int launch = 0; launch < 2; launch++) {
      ran_count = 0;
      run(exec);
      CHECK_EQUAL(ran_count, RANDOM_NODES);
      for (int from = 0; from < RANDOM_NODES; from++)
        for (int to = 0; to < RANDOM_NODES; to++)
          if (edges[from][to])
            CHECK(ran_at[from] < ran_at[to]);
    }
    sim_exec_update_info info;
    CHECK_EQUAL(sim_exec_update(exec, graph, &info), 0);
    sim_exec_destroy(exec);
    sim_graph_destroy(clone);
    sim_graph_destroy(graph);
  }
  test_configure("SCHEDULE", "lazy");
}

static void events_in_graphs(void) {
  sim_event *recorded = test_event(), *waited = test_event();
  sim_stream *other = test_stream(SIM_STREAM_NON_BLOCKING);
  sim_graph *graph = new_graph();
  sim_node *wait, *copy, *record;
  sim_work work = {.kind = SIM_OPERATION_WAIT, .event = waited};
  sim_event_retain(waited);
  CHECK_EQUAL(sim_graph_add(&wait, graph, NULL, 0, &work), 0);
  copy = add_copy(graph, &wait, 1, b, a);
  work = (sim_work){.kind = SIM_OPERATION_RECORD, .event = recorded};
  sim_event_retain(recorded);
  CHECK_EQUAL(sim_graph_add(&record, graph, &copy, 1, &work), 0);
  sim_graph_exec *exec = new_exec(graph);
  submit_set(other, a, 21);
  CHECK_EQUAL(sim_event_record(waited, other, 0), 0);
  CHECK_EQUAL(sim_exec_launch(exec, stream), 0);
  CHECK_EQUAL(sim_event_synchronize(recorded), 0);
  CHECK_EQUAL(b->host[0], 21);
  sim_event_destroy(recorded);
  sim_event_destroy(waited);
  run(exec); /* handles are gone, the nodes are not */
  sim_exec_destroy(exec);
  sim_graph_destroy(graph);
  sim_stream_destroy(other);
}

static void memory_lives_inside_a_graph(void) {
  sim_pool *pool = sim_pool_default(sim_device_get(0));
  sim_graph *graph = new_graph();
  uint64_t address;
  CHECK_EQUAL(sim_pool_allocate_graph(&address, pool, 64, test_context(), "cudaGraphAddMemAllocNode"), 0);
  sim_node *allocate, *release;
  sim_work work = {.kind = SIM_OPERATION_ALLOCATE, .call = "cudaGraphAddMemAllocNode", .allocation = address};
  CHECK_EQUAL(sim_graph_add(&allocate, graph, NULL, 0, &work), 0);
  sim_allocation *inside = sim_memory_find(address);
  sim_node *set = add_set(graph, &allocate, 1, inside, 31), *copy = add_copy(graph, &set, 1, b, inside);
  work = (sim_work){.kind = SIM_OPERATION_FREE, .call = "cudaGraphAddMemFreeNode", .allocation = address};
  CHECK_EQUAL(sim_graph_add(&release, graph, &copy, 1, &work), 0);
  CHECK_EQUAL(sim_node_type(allocate), 10);
  CHECK_EQUAL(sim_node_type(release), 11);
  sim_graph_exec *exec = new_exec(graph);
  for (int i = 0; i < 3; i++) {
    memset(b->host, 0, b->size);
    run(exec);
    CHECK_EQUAL(b->host[0], 31);
    CHECK(inside->state != SIM_STATE_LIVE);
  }
  sim_exec_destroy(exec);
  CHECK(inside->state == SIM_STATE_PENDING);
  sim_graph_destroy(graph);
  CHECK(inside->state == SIM_STATE_FREED); /* nobody names it any more */
}

/* cudaGraphInstantiate: without cudaGraphInstantiateFlagAutoFreeOnLaunch a graph whose memory is not free cannot be launched again. */
static void memory_that_is_left_must_go_before_the_next_launch(void) {
  sim_pool *pool = sim_pool_default(sim_device_get(0));
  uint64_t live = sim_memory_live(SIM_MEMORY_DEVICE), address;
  CHECK_EQUAL(sim_capture_begin(stream, SIM_CAPTURE_GLOBAL), 0);
  CHECK_EQUAL(sim_pool_allocate(&address, pool, 64, stream, "cudaMallocAsync"), 0);
  sim_allocation *inside = sim_memory_find(address);
  submit_set(stream, inside, 41);
  sim_graph *graph;
  CHECK_EQUAL(sim_capture_end(stream, &graph), 0);
  sim_graph_exec *exec = new_exec(graph), *freeing;
  CHECK_EQUAL(sim_exec_create(&freeing, graph, 1), 0);
  CHECK_EQUAL(sim_exec_launch(exec, stream), 0);
  CHECK_EQUAL(sim_exec_launch(exec, stream), 1); /* known at the call, before anything ran */
  CHECK_EQUAL(sim_exec_launch(freeing, stream), 0);
  CHECK_EQUAL(sim_exec_launch(freeing, stream), 0);
  submit_copy(stream, b, inside);
  CHECK_EQUAL(sim_pool_free(address, stream, "cudaFreeAsync"), 0);
  CHECK_EQUAL(sim_exec_launch(exec, stream), 0);
  CHECK_EQUAL(sim_stream_synchronize(stream), 0);
  CHECK_EQUAL(b->host[0], 41);
  CHECK(inside->state == SIM_STATE_LIVE);
  sim_exec_destroy(exec);
  sim_exec_destroy(freeing);
  sim_graph_destroy(graph);
  CHECK(inside->state == SIM_STATE_LIVE); /* the program's, until it frees it */
  CHECK_EQUAL(sim_pool_free(address, stream, "cudaFreeAsync"), 0);
  CHECK_EQUAL(sim_stream_synchronize(stream), 0);
  CHECK_EQUAL(sim_memory_live(SIM_MEMORY_DEVICE), live);
}

/* Captured across two devices: each node belongs to its own one, and its failure is that one's. */
static void nodes_run_on_their_devices(void) {
  sim_context *second;
  CHECK_EQUAL(sim_primary_retain(&second, 1), 0);
  sim_stream *theirs;
  CHECK_EQUAL(sim_stream_create(&theirs, second, 0, 0), 0);
  sim_allocation *far;
  CHECK_EQUAL(sim_memory_allocate(&far, second, 64, SIM_MEMORY_DEVICE, "cudaMalloc"), 0);
  sim_event *fork = test_event(), *join;
  CHECK_EQUAL(sim_event_create(&join, second, 0), 0);
  CHECK_EQUAL(sim_capture_begin(stream, SIM_CAPTURE_GLOBAL), 0);
  submit_set(stream, a, 51);
  CHECK_EQUAL(sim_event_record(fork, stream, 0), 0);
  CHECK_EQUAL(sim_stream_wait_event(theirs, fork, 0), 0);
  submit_set(theirs, far, 52);
  CHECK_EQUAL(sim_event_record(join, theirs, 0), 0);
  CHECK_EQUAL(sim_stream_wait_event(stream, join, 0), 0);
  submit_copy(stream, b, a);
  sim_graph *graph;
  CHECK_EQUAL(sim_capture_end(stream, &graph), 0);
  sim_graph_exec *exec = new_exec(graph);
  run(exec);
  CHECK_EQUAL(b->host[0], 51);
  CHECK_EQUAL(far->host[0], 52);
  sim_exec_destroy(exec);
  sim_graph_destroy(graph);
  sim_event_destroy(fork);
  sim_event_destroy(join);
  CHECK_EQUAL(sim_primary_release(1), 0);
  CHECK_EQUAL(sim_stream_check(theirs), 400);
}

/* ---- user objects ---- */

static int may_call;
static void destroy_object(void *data) {
  ++*(int *)data;
  static sim_counter counter = {.name = "in a destructor"};
  may_call = sim_call_enter(&counter, SIM_CALL_PLAIN);
  if (!may_call)
    sim_call_leave(0);
}

static void user_objects_go_with_the_last_reference(void) {
  int destroyed = 0;
  sim_user_object *object, *refused;
  CHECK_EQUAL(sim_user_object_create(&refused, &destroyed, NULL, 1, 1), 1);
  CHECK_EQUAL(sim_user_object_create(&refused, &destroyed, destroy_object, 0, 1), 1);
  CHECK_EQUAL(sim_user_object_create(&refused, &destroyed, destroy_object, 1, 0), 1);
  CHECK_EQUAL(sim_user_object_create(&object, &destroyed, destroy_object, 2, 1), 0);
  CHECK_EQUAL(sim_user_object_release(object, 3), 1);
  CHECK_EQUAL(sim_user_object_retain(object, 0), 1);
  CHECK_EQUAL(sim_user_object_retain(object, 1), 0);
  CHECK_EQUAL(sim_user_object_release(object, 1), 0);
  sim_graph *graph = new_graph();
  add_set(graph, NULL, 0, a, 1);
  CHECK_EQUAL(sim_graph_retain_object(graph, object, 3, true), 1); /* more than there are */
  CHECK_EQUAL(sim_graph_retain_object(graph, object, 1, true), 0);
  CHECK_EQUAL(sim_graph_retain_object(graph, object, 2, false), 0);
  CHECK_EQUAL(sim_graph_release_object(graph, object, 4), 1);
  CHECK_EQUAL(sim_graph_release_object(graph, object, 2), 0);
  CHECK_EQUAL(sim_user_object_release(object, 1), 0); /* the caller's last */
  sim_graph *clone;
  CHECK_EQUAL(sim_graph_clone(&clone, graph), 0);
  sim_graph_destroy(graph);
  CHECK_EQUAL(destroyed, 0);
  sim_graph_exec *exec = new_exec(clone);
  sim_graph_destroy(clone);
  CHECK_EQUAL(destroyed, 0);
  CHECK_EQUAL(sim_exec_launch(exec, stream), 0);
  sim_exec_destroy(exec);
  CHECK_EQUAL(destroyed, 0); /* the launch may still use it */
  CHECK_EQUAL(sim_stream_synchronize(stream), 0);
  CHECK_EQUAL(destroyed, 1);
  CHECK_EQUAL(may_call, 0); /* CUDA calls are allowed in destructors */
  CHECK_EQUAL(sim_user_object_check(object), 1);
  CHECK_EQUAL(sim_user_object_release(object, 1), 1);
}

/* ---- drawing ---- */

static void a_graph_is_drawn(void) {
  sim_graph *inner = new_graph(), *graph = new_graph();
  add_set(inner, NULL, 0, a, 1);
  sim_node *first = add_set(graph, NULL, 0, a, 1), *child = add_child(graph, &first, 1, inner);
  add_copy(graph, &child, 1, b, a);
  char path[64], text[8192] = {0}, edge[80];
  snprintf(path, sizeof path, "/tmp/xchg-graph-%d.dot", (int)getpid());
  CHECK_EQUAL(sim_graph_dot(graph, "/nonexistent/x.dot", 0), 304);
  CHECK_EQUAL(sim_graph_dot(graph, path, 1u << 31), 1);
  CHECK_EQUAL(sim_graph_dot(graph, path, 1), 0);
  FILE *file = fopen(path, "r");
  CHECK(file && fread(text, 1, sizeof text - 1, file) > 0);
  if (file)
    fclose(file);
  CHECK(!strncmp(text, "digraph", 7));
  CHECK(strstr(text, "MEMSET\\ncudaMemsetAsync of 64 bytes") != NULL);
  CHECK(strstr(text, "MEMCPY\\ncudaMemcpyAsync of 64 bytes") != NULL);
  snprintf(edge, sizeof edge, "\"node_%d\" -> \"node_%d\"", (int)first->id, (int)child->id);
  CHECK(strstr(text, edge) != NULL);
  if (!system("command -v dot > /dev/null 2>&1")) {
    char command[128];
    snprintf(command, sizeof command, "dot -Tsvg -o /dev/null %s", path);
    CHECK_EQUAL(system(command), 0);
  }
  unlink(path);
  sim_graph_destroy(inner);
  sim_graph_destroy(graph);
}

int main(void) {
  setenv("XCHG_SIM_LOG", "none", 1);
  setenv("XCHG_SIM_DEVICES", "2", 1);
  test_enter();
  stream = test_stream(0);
  a = test_memory(64);
  b = test_memory(64);
  c = test_memory(64);
  nodes_run_in_the_order_of_edges();
  wrong_edges_are_refused();
  launches_of_one_exec_follow_each_other();
  launches_keep_what_they_were_given();
  an_update_wants_the_same_topology();
  children_run_between_their_neighbours();
  nesting_has_an_end();
  long_chains_need_no_stack();
  branches_run_in_any_order();
  random_graphs_run_in_the_order_of_edges();
  events_in_graphs();
  memory_lives_inside_a_graph();
  memory_that_is_left_must_go_before_the_next_launch();
  nodes_run_on_their_devices();
  user_objects_go_with_the_last_reference();
  a_graph_is_drawn();
  sim_stream_destroy(stream);
  CHECK_EQUAL(sim_graph_live(), 0);
  CHECK_EQUAL(sim_exec_live(), 0);
  CHECK_EQUAL(sim_schedule_waiting(), 0);
  test_leave();
  return test_end();
}
