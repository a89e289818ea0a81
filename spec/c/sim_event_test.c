/* Events: order between streams, states, times. */
#include "sim_streams.h"

#include <math.h>
#include <time.h>

static void sleep_20_ms(void *data) {
  (void)data;
  struct timespec rest = {0, 20000000};
  nanosleep(&rest, NULL);
}

static void a_wait_orders_streams(void) {
  sim_stream *one = test_stream(SIM_STREAM_NON_BLOCKING), *two = test_stream(SIM_STREAM_NON_BLOCKING);
  sim_allocation *a = test_memory(32), *b = test_memory(32);
  sim_event *event = test_event();
  /* without: stale, every time */
  submit_set(one, a, 1);
  CHECK_EQUAL(sim_event_record(event, one, 0), 0);
  submit_copy(two, b, a);
  CHECK_EQUAL(sim_stream_synchronize(two), 0);
  CHECK_EQUAL(b->host[0], 0xCD);
  /* with */
  CHECK_EQUAL(sim_stream_wait_event(two, event, 0), 0);
  submit_copy(two, b, a);
  CHECK_EQUAL(sim_stream_synchronize(two), 0);
  CHECK_EQUAL(b->host[0], 1);
  sim_event_destroy(event);
  sim_stream_destroy(one);
  sim_stream_destroy(two);
}

static void a_wait_is_for_the_record_of_its_time(void) {
  sim_stream *one = test_stream(SIM_STREAM_NON_BLOCKING), *two = test_stream(SIM_STREAM_NON_BLOCKING);
  sim_allocation *a = test_memory(32), *b = test_memory(32);
  sim_event *event = test_event();
  submit_set(one, a, 1);
  sim_event_record(event, one, 0);
  sim_stream_wait_event(two, event, 0);
  submit_copy(two, b, a);
  submit_set(one, a, 2);
  sim_event_record(event, one, 0);
  CHECK_EQUAL(sim_stream_synchronize(two), 0);
  CHECK_EQUAL(b->host[0], 1);
  CHECK_EQUAL(a->host[0], 1);
  CHECK_EQUAL(sim_event_query(event), 600); /* the newer record */
  CHECK_EQUAL(sim_event_synchronize(event), 0);
  CHECK_EQUAL(a->host[0], 2);
  CHECK_EQUAL(sim_event_query(event), 0);
  sim_event_destroy(event);
  sim_stream_destroy(one);
  sim_stream_destroy(two);
}

static void synchronizing_runs_what_came_before_the_record(void) {
  sim_stream *stream = test_stream(0);
  sim_event *event = test_event();
  int before = 0, after = 0;
  submit_host(stream, count_up, &before);
  sim_event_record(event, stream, 0);
  submit_host(stream, count_up, &after);
  CHECK_EQUAL(sim_event_synchronize(event), 0);
  CHECK_EQUAL(before, 1);
  CHECK_EQUAL(after, 0);
  /* Polling ends. */
  sim_event_record(event, stream, 0);
  int polls = 0;
  while (sim_event_query(event) == 600 && polls < 100)
    polls++;
  CHECK_EQUAL(polls, 2);
  CHECK_EQUAL(after, 1);
  sim_event_destroy(event);
  sim_stream_destroy(stream);
}

static void an_event_may_go_while_it_is_pending(void) {
  sim_stream *one = test_stream(SIM_STREAM_NON_BLOCKING), *two = test_stream(SIM_STREAM_NON_BLOCKING);
  sim_allocation *a = test_memory(32), *b = test_memory(32);
  sim_event *event = test_event();
  uint64_t live = sim_event_live();
  submit_set(one, a, 4);
  sim_event_record(event, one, 0);
  sim_stream_wait_event(two, event, 0);
  CHECK_EQUAL(sim_event_destroy(event), 0);
  CHECK_EQUAL(sim_event_live(), live - 1);
  CHECK_EQUAL(sim_event_destroy(event), 400);
  submit_copy(two, b, a);
  CHECK_EQUAL(sim_stream_synchronize(two), 0);
  CHECK_EQUAL(b->host[0], 4);
  sim_stream_destroy(one);
  sim_stream_destroy(two);
}

static void times_are_those_of_the_records(void) {
  sim_stream *stream = test_stream(0);
  sim_event *start = test_event(), *end = test_event(), *none = test_event();
  float ms = -1;
  CHECK_EQUAL(sim_event_elapsed(&ms, none, none), 400);
  sim_event_record(start, stream, 0);
  submit_host(stream, sleep_20_ms, NULL);
  sim_event_record(end, stream, 0);
  CHECK_EQUAL(sim_event_elapsed(&ms, start, end), 600);
  CHECK_EQUAL(sim_event_synchronize(start), 0);
  CHECK_EQUAL(sim_event_elapsed(&ms, start, end), 600);
  CHECK_EQUAL(sim_event_synchronize(end), 0);
  CHECK_EQUAL(sim_event_elapsed(&ms, start, end), 0);
  CHECK(ms >= 19.999f && ms < 2000);
  /* half microseconds */
  double ticks = (double)ms / 0.0005;
  CHECK(fabs(ticks - round(ticks)) < 0.02);
  float back;
  CHECK_EQUAL(sim_event_elapsed(&back, end, start), 0);
  CHECK(back == -ms);
  sim_event *untimed;
  CHECK_EQUAL(sim_event_create(&untimed, test_context(), SIM_EVENT_NO_TIMING), 0);
  sim_event_record(untimed, stream, 0);
  sim_event_synchronize(untimed);
  CHECK_EQUAL(sim_event_elapsed(&ms, start, untimed), 400);
  CHECK_EQUAL(sim_event_elapsed(&ms, untimed, end), 400);
  sim_event_destroy(untimed);
  sim_event_destroy(start);
  sim_event_destroy(end);
  sim_event_destroy(none);
  sim_stream_destroy(stream);
}

static void misuse_has_its_codes(void) {
  sim_event *event = test_event(), *bad = (sim_event *)(uintptr_t)0x1234560, *made;
  sim_stream *stream = test_stream(0);
  float ms;
  CHECK_EQUAL(sim_event_query(event), 0); /* never recorded */
  CHECK_EQUAL(sim_event_synchronize(event), 0);
  CHECK_EQUAL(sim_stream_wait_event(stream, event, 0), 0);
  CHECK_EQUAL(sim_event_query(bad), 400);
  CHECK_EQUAL(sim_event_query(NULL), 400);
  CHECK_EQUAL(sim_event_synchronize(bad), 400);
  CHECK_EQUAL(sim_event_record(bad, stream, 0), 400);
  CHECK_EQUAL(sim_event_destroy(bad), 400);
  CHECK_EQUAL(sim_event_elapsed(&ms, event, bad), 400);
  CHECK_EQUAL(sim_stream_wait_event(stream, bad, 0), 400);
  CHECK_EQUAL(sim_event_record(event, stream, 1), 1); /* external: only while capturing */
  CHECK_EQUAL(sim_event_record(event, stream, 2), 1);
  CHECK_EQUAL(sim_stream_wait_event(stream, event, 1), 1);
  CHECK_EQUAL(sim_stream_wait_event(stream, event, 2), 1);
  CHECK_EQUAL(sim_event_create(&made, test_context(), 8), 1);
  CHECK_EQUAL(sim_event_create(&made, test_context(), SIM_EVENT_INTERPROCESS), 1);
  sim_context *other;
  CHECK_EQUAL(sim_context_create(&other, 0, 1), 0);
  sim_stream *theirs = test_stream(0);
  sim_event *of_other = test_event();
  CHECK_EQUAL(sim_event_record(event, theirs, 0), 400);
  CHECK_EQUAL(sim_event_record(of_other, theirs, 0), 0);
  CHECK_EQUAL(sim_stream_wait_event(stream, of_other, 0), 0); /* across devices */
  CHECK_EQUAL(sim_stream_synchronize(stream), 0);
  CHECK_EQUAL(sim_event_query(of_other), 0);
  CHECK_EQUAL(sim_context_destroy(other), 0);
  CHECK_EQUAL(sim_event_query(of_other), 400);
  sim_event_destroy(event);
  sim_stream_destroy(stream);
}

int main(void) {
  setenv("XCHG_SIM_LOG", "none", 1);
  setenv("XCHG_SIM_DEVICES", "2", 1);
  test_enter();
  a_wait_orders_streams();
  a_wait_is_for_the_record_of_its_time();
  synchronizing_runs_what_came_before_the_record();
  an_event_may_go_while_it_is_pending();
  times_are_those_of_the_records();
  misuse_has_its_codes();
  CHECK_EQUAL(sim_context_synchronize(test_context()), 0);
  CHECK_EQUAL(sim_event_live(), 0);
  test_leave();
  return test_end();
}
