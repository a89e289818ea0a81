/* Capture: what becomes a node, and each misuse with its own code. */
#include "sim_streams.h"

#include <pthread.h>

static sim_stream *stream, *other, *free_one;
static sim_event *event, *second;
static sim_allocation *a, *b;

static void setup(void) {
  stream = test_stream(0);
  other = test_stream(0);
  free_one = test_stream(SIM_STREAM_NON_BLOCKING);
  event = test_event();
  second = test_event();
}

static void teardown(void) {
  sim_event_destroy(event);
  sim_event_destroy(second);
  sim_stream_destroy(stream);
  sim_stream_destroy(other);
  sim_stream_destroy(free_one);
  CHECK_EQUAL(sim_context_synchronize(test_context()), 0);
}

static int status_of(const sim_stream *of) {
  int status = -1;
  CHECK_EQUAL(sim_capture_status(of, &status), 0);
  return status;
}

/* Ends what is invalid: 901, no graph, and the stream is as before. */
static void end_invalid(sim_stream *of) {
  sim_graph *graph = (sim_graph *)1;
  CHECK_EQUAL(status_of(of), 2);
  CHECK_EQUAL(submit_set(of, a, 1), 901);
  CHECK_EQUAL(sim_capture_end(of, &graph), 901);
  CHECK(graph == NULL);
  CHECK_EQUAL(status_of(of), 0);
  CHECK_EQUAL(sim_stream_query(of), 0);
}

static void begin(sim_stream *of) {
  CHECK_EQUAL(sim_capture_begin(of, SIM_CAPTURE_GLOBAL), 0);
}

static void nothing_captured_runs(void) {
  setup();
  begin(stream);
  CHECK_EQUAL(status_of(stream), 1);
  CHECK_EQUAL(submit_set(stream, a, 1), 0);
  CHECK_EQUAL(submit_copy(stream, b, a), 0);
  sim_graph *graph;
  CHECK_EQUAL(sim_capture_end(stream, &graph), 0);
  CHECK_EQUAL(sim_schedule_waiting(), 0);
  CHECK_EQUAL(graph->node_count, 2);
  CHECK_EQUAL(sim_node_type(graph->nodes), 2);
  CHECK_EQUAL(sim_node_type(graph->nodes->next), 1);
  CHECK_EQUAL(graph->nodes->dependency_count, 0);
  CHECK_EQUAL(graph->nodes->next->dependency_count, 1);
  CHECK(graph->nodes->next->dependencies[0] == graph->nodes);
  CHECK_EQUAL(status_of(stream), 0);
  sim_graph_destroy(graph);
  teardown();
}

/* stream: 0, fork, 1, join, 3; other: 2 */
static void events_fork_and_join(void) {
  setup();
  begin(stream);
  submit_set(stream, a, 0);
  CHECK_EQUAL(sim_event_record(event, stream, 0), 0);
  CHECK_EQUAL(sim_stream_wait_event(other, event, 0), 0);
  CHECK_EQUAL(status_of(other), 1);
  submit_set(stream, a, 1);
  submit_set(other, b, 2);
  CHECK_EQUAL(sim_event_record(second, other, 0), 0);
  CHECK_EQUAL(sim_stream_wait_event(stream, second, 0), 0);
  sim_capture_info info;
  CHECK_EQUAL(sim_capture_get_info(stream, &info), 0);
  CHECK_EQUAL(info.status, 1);
  CHECK_EQUAL(info.count, 2);
  submit_set(stream, b, 3);
  sim_graph *graph;
  CHECK_EQUAL(sim_capture_end(stream, &graph), 0);
  CHECK(graph == info.graph);
  CHECK_EQUAL(status_of(other), 0);
  CHECK_EQUAL(graph->node_count, 4);
  sim_node *nodes[4], *each = graph->nodes;
  for (int i = 0; i < 4 && each; i++, each = each->next)
    nodes[each->work.set.value] = each;
  CHECK_EQUAL(nodes[1]->dependency_count, 1);
  CHECK(nodes[1]->dependencies[0] == nodes[0]);
  CHECK_EQUAL(nodes[2]->dependency_count, 1);
  CHECK(nodes[2]->dependencies[0] == nodes[0]);
  CHECK_EQUAL(nodes[3]->dependency_count, 2);
  sim_graph_destroy(graph);
  teardown();
}

static void external_events_are_nodes(void) {
  setup();
  submit_set(other, a, 1);
  sim_event_record(event, other, 0);
  begin(stream);
  CHECK_EQUAL(sim_stream_wait_event(stream, event, 1), 0);
  CHECK_EQUAL(sim_event_record(second, stream, 1), 0);
  sim_graph *graph;
  CHECK_EQUAL(sim_capture_end(stream, &graph), 0);
  CHECK_EQUAL(graph->node_count, 2);
  CHECK_EQUAL(sim_node_type(graph->nodes), 6);
  CHECK_EQUAL(sim_node_type(graph->nodes->next), 7);
  CHECK_EQUAL(sim_event_query(second), 0); /* not one of a capture */
  sim_graph_destroy(graph);
  teardown();
}

/* 900: what would wait, or is not seen by captures */
static void what_cannot_be_captured_is_900(void) {
  setup();
  begin(stream);
  CHECK_EQUAL(sim_stream_synchronize(stream), 900);
  end_invalid(stream);
  begin(stream);
  CHECK_EQUAL(sim_stream_query(stream), 900);
  end_invalid(stream);
  begin(stream);
  CHECK_EQUAL(sim_context_synchronize(test_context()), 900);
  end_invalid(stream);
  sim_stream *legacy;
  CHECK_EQUAL(sim_stream_resolve(&legacy, NULL, true), 0);
  CHECK_EQUAL(sim_capture_begin(legacy, SIM_CAPTURE_GLOBAL), 900);
  CHECK_EQUAL(sim_capture_begin(stream, 3), 1);
  CHECK_EQUAL(sim_capture_begin(stream, -1), 1);
  /* Per-thread streams capture. */
  sim_stream *mine;
  CHECK_EQUAL(sim_stream_resolve(&mine, SIM_STREAM_PER_THREAD, true), 0);
  begin(mine);
  sim_graph *graph;
  CHECK_EQUAL(sim_capture_end(mine, &graph), 0);
  CHECK_EQUAL(graph->node_count, 0);
  sim_graph_destroy(graph);
  teardown();
}

static void states_are_401(void) {
  setup();
  sim_graph *graph;
  CHECK_EQUAL(sim_capture_end(stream, &graph), 401);
  begin(stream);
  CHECK_EQUAL(sim_capture_begin(stream, SIM_CAPTURE_GLOBAL), 401);
  CHECK_EQUAL(sim_capture_end(stream, &graph), 0);
  sim_graph_destroy(graph);
  CHECK_EQUAL(sim_capture_update_dependencies(stream, NULL, 0, true), 401);
  teardown();
}

static void two_captures_do_not_merge_902(void) {
  setup();
  begin(stream);
  begin(other);
  submit_set(stream, a, 1);
  sim_event_record(event, stream, 0);
  CHECK_EQUAL(sim_stream_wait_event(other, event, 0), 902);
  end_invalid(stream);
  end_invalid(other);
  teardown();
}

static void it_ends_where_it_began_903(void) {
  setup();
  begin(stream);
  sim_event_record(event, stream, 0);
  sim_stream_wait_event(other, event, 0);
  sim_graph *graph;
  CHECK_EQUAL(sim_capture_end(other, &graph), 903);
  CHECK(graph == NULL);
  end_invalid(stream);
  CHECK_EQUAL(status_of(other), 0);
  teardown();
}

static void work_must_be_joined_904(void) {
  setup();
  begin(stream);
  submit_set(stream, a, 1);
  sim_event_record(event, stream, 0);
  sim_stream_wait_event(other, event, 0);
  sim_graph *graph;
  /* A fork that has done nothing is no work. */
  CHECK_EQUAL(sim_capture_end(stream, &graph), 0);
  sim_graph_destroy(graph);
  begin(stream);
  submit_set(stream, a, 1);
  sim_event_record(event, stream, 0);
  sim_stream_wait_event(other, event, 0);
  submit_set(other, b, 1);
  CHECK_EQUAL(sim_capture_end(stream, &graph), 904);
  CHECK(graph == NULL);
  CHECK_EQUAL(status_of(stream), 0);
  CHECK_EQUAL(status_of(other), 0);
  teardown();
}

static void captures_are_isolated_905(void) {
  setup();
  submit_set(other, a, 1);
  sim_event_record(event, other, 0);
  begin(stream);
  CHECK_EQUAL(sim_stream_wait_event(stream, event, 0), 905);
  end_invalid(stream);
  teardown();
}

static void the_legacy_stream_cannot_wait_for_a_capture_906(void) {
  setup();
  sim_stream *legacy;
  CHECK_EQUAL(sim_stream_resolve(&legacy, SIM_STREAM_LEGACY, true), 0);
  begin(stream);
  CHECK_EQUAL(submit_set(legacy, a, 1), 906);
  end_invalid(stream);
  begin(stream);
  CHECK_EQUAL(sim_stream_synchronize(legacy), 906);
  end_invalid(stream);
  begin(stream);
  sim_event_record(event, stream, 0);
  CHECK_EQUAL(sim_stream_wait_event(legacy, event, 0), 906);
  end_invalid(stream);
  /* Non-blocking streams do not concern it. */
  begin(free_one);
  CHECK_EQUAL(submit_set(legacy, a, 1), 0);
  CHECK_EQUAL(sim_stream_synchronize(legacy), 0);
  CHECK_EQUAL(submit_set(stream, b, 1), 0);
  CHECK_EQUAL(sim_stream_synchronize(stream), 0);
  sim_graph *graph;
  CHECK_EQUAL(sim_capture_end(free_one, &graph), 0);
  sim_graph_destroy(graph);
  teardown();
}

static void events_of_captures_are_no_events_907(void) {
  setup();
  float ms;
  begin(stream);
  submit_set(stream, a, 1);
  sim_event_record(event, stream, 0);
  CHECK_EQUAL(sim_event_query(event), 907);
  end_invalid(stream);
  CHECK_EQUAL(sim_event_query(event), 907); /* until it is recorded anew */
  CHECK_EQUAL(sim_event_synchronize(event), 907);
  CHECK_EQUAL(sim_event_elapsed(&ms, event, second), 907);
  CHECK_EQUAL(sim_stream_wait_event(other, event, 0), 907);
  CHECK_EQUAL(sim_event_record(event, other, 0), 0);
  CHECK_EQUAL(sim_event_synchronize(event), 0);
  begin(stream);
  sim_event_record(event, stream, 0);
  CHECK_EQUAL(sim_event_synchronize(event), 907);
  CHECK_EQUAL(sim_stream_wait_event(other, event, 0), 901);
  end_invalid(stream);
  teardown();
}

/* ---- threads ---- */

static int thread_result, thread_mode;

static void *ends(void *unused) {
  (void)unused;
  sim_graph *graph = NULL;
  test_enter();
  thread_result = sim_capture_end(stream, &graph);
  sim_graph_destroy(graph);
  test_leave();
  return NULL;
}

static void *mallocs(void *unused) {
  (void)unused;
  static sim_counter counter = {.name = "unsafe"};
  sim_thread_get()->capture_mode = thread_mode;
  thread_result = sim_call_enter(&counter, SIM_CALL_CAPTURE_ILLEGAL);
  if (!thread_result)
    sim_call_leave(0);
  return NULL;
}

static int in_thread(void *(*function)(void *)) {
  pthread_t thread;
  test_leave();
  pthread_create(&thread, NULL, function, NULL);
  pthread_join(thread, NULL);
  test_enter();
  return thread_result;
}

static void another_thread_ends_only_relaxed_ones_908(void) {
  setup();
  begin(stream);
  CHECK_EQUAL(in_thread(ends), 908);
  end_invalid(stream);
  CHECK_EQUAL(sim_capture_begin(stream, SIM_CAPTURE_THREAD_LOCAL), 0);
  CHECK_EQUAL(in_thread(ends), 908);
  end_invalid(stream);
  CHECK_EQUAL(sim_capture_begin(stream, SIM_CAPTURE_RELAXED), 0);
  CHECK_EQUAL(in_thread(ends), 0);
  CHECK_EQUAL(status_of(stream), 0);
  teardown();
}

/* Who is kept from calls like cudaMalloc: the table of cudaThreadExchangeStreamCaptureMode. */
static void modes_say_who_is_kept_from_unsafe_calls(void) {
  static const struct {
    int capture, thread;
    bool same_thread;
    int result;
  } rows[] = {
      {SIM_CAPTURE_GLOBAL, SIM_CAPTURE_GLOBAL, true, 900},
      {SIM_CAPTURE_GLOBAL, SIM_CAPTURE_GLOBAL, false, 900},
      {SIM_CAPTURE_GLOBAL, SIM_CAPTURE_THREAD_LOCAL, true, 900},
      {SIM_CAPTURE_GLOBAL, SIM_CAPTURE_THREAD_LOCAL, false, 0},
      {SIM_CAPTURE_GLOBAL, SIM_CAPTURE_RELAXED, true, 0},
      {SIM_CAPTURE_GLOBAL, SIM_CAPTURE_RELAXED, false, 0},
      {SIM_CAPTURE_THREAD_LOCAL, SIM_CAPTURE_GLOBAL, true, 900},
      {SIM_CAPTURE_THREAD_LOCAL, SIM_CAPTURE_GLOBAL, false, 0},
      {SIM_CAPTURE_THREAD_LOCAL, SIM_CAPTURE_THREAD_LOCAL, true, 900},
      {SIM_CAPTURE_THREAD_LOCAL, SIM_CAPTURE_RELAXED, true, 0},
      {SIM_CAPTURE_RELAXED, SIM_CAPTURE_GLOBAL, true, 0},
      {SIM_CAPTURE_RELAXED, SIM_CAPTURE_GLOBAL, false, 0},
  };
  setup();
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    CHECK_EQUAL(sim_capture_begin(stream, rows[i].capture), 0);
    thread_mode = rows[i].thread;
    int result;
    if (rows[i].same_thread) {
      test_leave();
      mallocs(NULL);
      result = thread_result;
      test_enter();
    } else
      result = in_thread(mallocs);
    sim_thread_get()->capture_mode = SIM_CAPTURE_GLOBAL;
    CHECK_EQUAL(result, rows[i].result);
    sim_graph *graph;
    CHECK_EQUAL(sim_capture_end(stream, &graph), rows[i].result ? 901 : 0);
    sim_graph_destroy(graph);
  }
  teardown();
}

static void captures_go_on_in_a_graph(void) {
  setup();
  sim_graph *graph, *ended, *foreign;
  sim_node *first, *stranger;
  CHECK_EQUAL(sim_graph_create(&graph), 0);
  CHECK_EQUAL(sim_graph_create(&foreign), 0);
  sim_work empty = {.kind = SIM_OPERATION_EMPTY}, again = empty;
  CHECK_EQUAL(sim_graph_add(&first, graph, NULL, 0, &empty), 0);
  CHECK_EQUAL(sim_graph_add(&stranger, foreign, NULL, 0, &again), 0);
  CHECK_EQUAL(sim_capture_begin_to_graph(stream, graph, &stranger, 1, 0), 1);
  CHECK_EQUAL(sim_capture_begin_to_graph(stream, graph, &first, 1, 0), 0);
  submit_set(stream, a, 1);
  /* Dependencies may be replaced by hand. */
  CHECK_EQUAL(sim_capture_update_dependencies(stream, &stranger, 1, true), 1);
  CHECK_EQUAL(sim_capture_update_dependencies(stream, &first, 1, false), 0);
  submit_set(stream, a, 2);
  CHECK_EQUAL(graph->last->dependency_count, 2);
  CHECK_EQUAL(sim_capture_end(stream, &ended), 0);
  CHECK(ended == graph);
  CHECK_EQUAL(graph->node_count, 3);
  /* A graph that goes takes the capture with it. */
  CHECK_EQUAL(sim_capture_begin_to_graph(stream, graph, &first, 1, 0), 0);
  sim_graph_destroy(graph);
  end_invalid(stream);
  begin(stream);
  submit_set(stream, a, 1);
  sim_capture_info info;
  CHECK_EQUAL(sim_capture_get_info(stream, &info), 0);
  CHECK_EQUAL(sim_graph_destroy_node(info.graph->nodes), 0);
  end_invalid(stream);
  sim_graph_destroy(foreign);
  teardown();
}

static void streams_and_events_may_go_while_they_capture(void) {
  setup();
  begin(stream);
  submit_set(stream, a, 1);
  sim_event *gone = test_event();
  sim_event_record(gone, stream, 0);
  sim_stream *joined = test_stream(0), *origin = test_stream(0);
  sim_stream_wait_event(joined, gone, 0);
  CHECK_EQUAL(sim_event_destroy(gone), 0);
  CHECK_EQUAL(sim_stream_destroy(joined), 0);
  end_invalid(stream);
  begin(origin);
  sim_event_record(event, origin, 0);
  sim_stream_wait_event(other, event, 0);
  CHECK_EQUAL(sim_stream_destroy(origin), 0);
  CHECK_EQUAL(status_of(other), 0);
  CHECK_EQUAL(sim_event_query(event), 907);
  teardown();
}

static void a_launch_becomes_a_child(void) {
  setup();
  begin(stream);
  submit_set(stream, a, 6);
  sim_graph *inner, *outer;
  CHECK_EQUAL(sim_capture_end(stream, &inner), 0);
  sim_graph_exec *exec;
  CHECK_EQUAL(sim_exec_create(&exec, inner, 0), 0);
  begin(stream);
  CHECK_EQUAL(sim_exec_launch(exec, stream), 0);
  submit_copy(stream, b, a);
  CHECK_EQUAL(sim_capture_end(stream, &outer), 0);
  sim_exec_destroy(exec);
  sim_graph_destroy(inner);
  CHECK_EQUAL(sim_node_type(outer->nodes), 4);
  CHECK_EQUAL(sim_exec_create(&exec, outer, 0), 0);
  CHECK_EQUAL(sim_exec_launch(exec, stream), 0);
  CHECK_EQUAL(sim_stream_synchronize(stream), 0);
  CHECK_EQUAL(b->host[0], 6);
  sim_exec_destroy(exec);
  sim_graph_destroy(outer);
  teardown();
}

int main(void) {
  setenv("XCHG_SIM_LOG", "none", 1);
  test_enter();
  a = test_memory(64);
  b = test_memory(64);
  nothing_captured_runs();
  events_fork_and_join();
  external_events_are_nodes();
  what_cannot_be_captured_is_900();
  states_are_401();
  two_captures_do_not_merge_902();
  it_ends_where_it_began_903();
  work_must_be_joined_904();
  captures_are_isolated_905();
  the_legacy_stream_cannot_wait_for_a_capture_906();
  events_of_captures_are_no_events_907();
  another_thread_ends_only_relaxed_ones_908();
  modes_say_who_is_kept_from_unsafe_calls();
  captures_go_on_in_a_graph();
  streams_and_events_may_go_while_they_capture();
  a_launch_becomes_a_child();
  CHECK_EQUAL(sim_graph_live(), 0);
  CHECK_EQUAL(sim_exec_live(), 0);
  CHECK_EQUAL(sim_event_live(), 0);
  test_leave();
  return test_end();
}
