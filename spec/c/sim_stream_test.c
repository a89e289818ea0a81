/* Streams: what runs when, the rule of the legacy stream, failures, schedules, threads. */
#include "sim_streams.h"

#include <pthread.h>
#include <time.h>

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static sim_stream *legacy(void) {
  sim_stream *stream = NULL;
  CHECK_EQUAL(sim_stream_resolve(&stream, SIM_STREAM_LEGACY, true), 0);
  return stream;
}

static void nothing_runs_before_it_is_waited_for(void) {
  sim_stream *one = test_stream(SIM_STREAM_NON_BLOCKING), *two = test_stream(SIM_STREAM_NON_BLOCKING);
  sim_allocation *a = test_memory(64), *b = test_memory(64);
  CHECK_EQUAL(submit_set(one, a, 1), 0);
  CHECK_EQUAL(submit_set(two, b, 2), 0);
  CHECK_EQUAL(a->host[0], 0xCD);
  CHECK_EQUAL(sim_schedule_waiting(), 2);
  CHECK_EQUAL(a->pending, 1);
  CHECK_EQUAL(sim_stream_synchronize(one), 0);
  CHECK_EQUAL(a->host[63], 1);
  CHECK_EQUAL(b->host[0], 0xCD);
  CHECK_EQUAL(a->pending, 0);
  CHECK_EQUAL(sim_context_synchronize(test_context()), 0);
  CHECK_EQUAL(b->host[0], 2);
  CHECK_EQUAL(sim_schedule_waiting(), 0);
  sim_stream_destroy(one);
  sim_stream_destroy(two);
}

static void a_query_runs_one_operation(void) {
  sim_stream *stream = test_stream(0);
  int ran = 0;
  for (int i = 0; i < 3; i++)
    submit_host(stream, count_up, &ran);
  for (int i = 1; i <= 3; i++) {
    CHECK_EQUAL(sim_stream_query(stream), 600);
    CHECK_EQUAL(ran, i);
  }
  CHECK_EQUAL(sim_stream_query(stream), 0);
  sim_stream_destroy(stream);
}

static void the_legacy_stream_waits_and_is_waited_for(void) {
  sim_stream *blocking = test_stream(0), *other = test_stream(0), *free_one = test_stream(SIM_STREAM_NON_BLOCKING);
  sim_allocation *a = test_memory(16), *b = test_memory(16), *c = test_memory(16), *d = test_memory(16);
  /* blocking -> legacy -> other; free_one sees nothing of it */
  submit_set(blocking, a, 7);
  submit_copy(legacy(), b, a);
  submit_copy(other, c, b);
  submit_copy(free_one, d, b);
  CHECK_EQUAL(sim_stream_synchronize(free_one), 0);
  CHECK_EQUAL(d->host[0], 0xCD);
  CHECK_EQUAL(sim_stream_synchronize(other), 0);
  CHECK_EQUAL(c->host[0], 7);
  CHECK_EQUAL(sim_schedule_waiting(), 0);
  /* Per-thread streams are blocking ones. */
  sim_stream *mine = NULL, *again = NULL;
  CHECK_EQUAL(sim_stream_resolve(&mine, SIM_STREAM_PER_THREAD, true), 0);
  CHECK_EQUAL(sim_stream_resolve(&again, SIM_STREAM_PER_THREAD, true), 0);
  CHECK(mine == again && mine != legacy());
  submit_set(mine, a, 9);
  submit_copy(legacy(), b, a);
  CHECK_EQUAL(sim_stream_synchronize(legacy()), 0);
  CHECK_EQUAL(b->host[0], 9);
  /* A blocking stream that was used after the legacy one still waits for it. */
  submit_set(legacy(), a, 11);
  submit_set(blocking, b, 12);
  submit_copy(blocking, c, a);
  CHECK_EQUAL(sim_stream_synchronize(blocking), 0);
  CHECK_EQUAL(c->host[0], 11);
  sim_stream_destroy(blocking);
  sim_stream_destroy(other);
  sim_stream_destroy(free_one);
}

static void work_of_a_destroyed_stream_still_runs(void) {
  sim_stream *stream = test_stream(0);
  uint64_t live = sim_stream_live();
  int ran = 0;
  submit_host(stream, count_up, &ran);
  CHECK_EQUAL(sim_stream_destroy(stream), 0);
  CHECK_EQUAL(sim_stream_live(), live - 1);
  CHECK_EQUAL(ran, 0);
  CHECK_EQUAL(sim_stream_destroy(stream), 400);
  CHECK_EQUAL(sim_context_synchronize(test_context()), 0);
  CHECK_EQUAL(ran, 1);
}

static void handles_are_checked_without_following_them(void) {
  sim_stream *out;
  CHECK_EQUAL(sim_stream_resolve(&out, (sim_stream *)8, true), 400);
  CHECK_EQUAL(sim_stream_resolve(&out, (sim_stream *)(uintptr_t)0xdeadbeef, true), 400);
  CHECK_EQUAL(sim_stream_resolve(&out, (sim_stream *)&out, true), 400);
  CHECK_EQUAL(sim_stream_destroy(NULL), 400);
  CHECK_EQUAL(sim_stream_destroy(SIM_STREAM_LEGACY), 400);
  CHECK_EQUAL(sim_stream_destroy(legacy()), 400);
  CHECK_EQUAL(sim_stream_create(&out, test_context(), 2, 0), 1);
  sim_context *context;
  CHECK_EQUAL(sim_context_create(&context, 0, 0), 0);
  sim_stream *stream = test_stream(0);
  int ran = 0;
  submit_host(stream, count_up, &ran);
  CHECK_EQUAL(sim_context_destroy(context), 0);
  CHECK_EQUAL(ran, 0);
  CHECK_EQUAL(sim_stream_resolve(&out, stream, true), 709);
  CHECK_EQUAL(sim_stream_destroy(stream), 400);
  CHECK_EQUAL(sim_schedule_waiting(), 0);
  for (int i = 0; i < 1000; i++) {
    sim_stream *each = test_stream(0);
    CHECK_EQUAL(sim_stream_resolve(&out, each, true), 0);
    CHECK_EQUAL(sim_stream_destroy(each), 0);
  }
}

static void a_million_operations_are_cheap(void) {
  enum { MANY = 1000000 };
  sim_stream *stream = test_stream(0);
  int ran = 0;
  double start = seconds();
  for (int i = 0; i < MANY; i++)
    submit_host(stream, count_up, &ran);
  double submitted = seconds();
  CHECK_EQUAL(sim_schedule_waiting(), MANY);
  CHECK_EQUAL(sim_stream_synchronize(stream), 0);
  double done = seconds();
  CHECK_EQUAL(ran, MANY);
  CHECK_EQUAL(sim_schedule_waiting(), 0);
  printf("a submit %.0f ns, a run %.0f ns\n", (submitted - start) * 1e9 / MANY, (done - submitted) * 1e9 / MANY);
  CHECK(done - start < 60); /* 0.3 s, more with sanitizers; a square would take hours */
  /* Two streams that wait for each other in turns. */
  sim_stream *other = test_stream(0);
  sim_event *event = test_event();
  for (int i = 0; i < MANY / 20; i++) {
    sim_stream *to = i % 2 ? stream : other;
    submit_host(to, count_up, &ran);
    CHECK_EQUAL(sim_event_record(event, to, 0), 0);
    CHECK_EQUAL(sim_stream_wait_event(i % 2 ? other : stream, event, 0), 0);
  }
  CHECK_EQUAL(sim_stream_synchronize(other), 0);
  CHECK_EQUAL(ran, MANY + MANY / 20);
  sim_event_destroy(event);
  sim_stream_destroy(stream);
  sim_stream_destroy(other);
}

/* A set of what has been freed in between. */
static int submit_fault(sim_stream *stream) {
  sim_allocation *gone = test_memory(16);
  sim_work work = work_set(gone, 0, 16, 1);
  int result = sim_stream_submit(stream, &work);
  sim_memory_release(gone);
  return result;
}

static void what_depends_on_a_failure_does_not_run(void) {
  sim_context *context;
  CHECK_EQUAL(sim_context_create(&context, 0, 0), 0);
  sim_stream *one = test_stream(0), *two = test_stream(SIM_STREAM_NON_BLOCKING);
  int before = 0, after = 0, beside = 0;
  submit_host(one, count_up, &before);
  CHECK_EQUAL(submit_fault(one), 0);
  submit_host(one, count_up, &after);
  submit_host(two, count_up, &beside);
  CHECK_EQUAL(sim_stream_synchronize(one), 700);
  CHECK_EQUAL(before, 1);
  CHECK_EQUAL(after, 0);
  CHECK_EQUAL(sim_schedule_waiting(), 0);
  CHECK_EQUAL(sim_stream_synchronize(two), 700);
  CHECK_EQUAL(beside, 0);
  CHECK_EQUAL(sim_stream_query(one), 700);
  CHECK_EQUAL(submit_host(one, count_up, &after), 700);
  CHECK_EQUAL(sim_context_synchronize(context), 700);
  sim_stream *out;
  CHECK_EQUAL(sim_stream_resolve(&out, one, true), 700);
  CHECK_EQUAL(sim_context_destroy(context), 0);

  /* A context that is lost from outside. */
  CHECK_EQUAL(sim_context_create(&context, 0, 0), 0);
  one = test_stream(0);
  submit_host(one, count_up, &after);
  sim_context_lose(context, 719);
  CHECK_EQUAL(sim_stream_synchronize(one), 719);
  CHECK_EQUAL(after, 0);
  CHECK_EQUAL(sim_schedule_waiting(), 0);
  CHECK_EQUAL(sim_context_destroy(context), 0);
}

static void a_failure_reaches_contexts_that_wait_for_it(void) {
  sim_context *first, *second;
  CHECK_EQUAL(sim_context_create(&first, 0, 0), 0);
  sim_stream *one = test_stream(0);
  sim_event *event = test_event();
  CHECK_EQUAL(submit_fault(one), 0);
  CHECK_EQUAL(sim_event_record(event, one, 0), 0);
  CHECK_EQUAL(sim_context_create(&second, 0, 0), 0);
  sim_stream *two = test_stream(0);
  CHECK_EQUAL(sim_event_record(event, two, 0), 400);
  CHECK_EQUAL(sim_stream_wait_event(two, event, 0), 0);
  int ran = 0;
  submit_host(two, count_up, &ran);
  CHECK_EQUAL(sim_stream_synchronize(two), 700);
  CHECK_EQUAL(ran, 0);
  CHECK_EQUAL(sim_context_destroy(second), 0);
  CHECK_EQUAL(sim_context_destroy(first), 0);
}

static void the_eager_schedule_runs_at_once(void) {
  test_configure("SCHEDULE", "eager");
  sim_stream *stream = test_stream(0);
  sim_allocation *a = test_memory(16);
  CHECK_EQUAL(submit_set(stream, a, 5), 0);
  CHECK_EQUAL(a->host[0], 5);
  CHECK_EQUAL(sim_stream_query(stream), 0);
  sim_stream_destroy(stream);
  sim_context *context;
  CHECK_EQUAL(sim_context_create(&context, 0, 0), 0);
  stream = test_stream(0);
  sim_allocation *gone = test_memory(16);
  sim_memory_release(gone);
  CHECK_EQUAL(submit_set(stream, gone, 1), 700);
  CHECK_EQUAL(sim_context_destroy(context), 0);
  test_configure("SCHEDULE", "lazy");
}

/* What c holds in the end: a is set to 1, then to 2 by another stream, and copied by a third. */
static int three_streams(uint64_t seed, bool ordered) {
  char schedule[32];
  snprintf(schedule, sizeof schedule, "random:%d", (int)seed);
  test_configure("SCHEDULE", schedule);
  sim_stream *streams[3];
  sim_event *event = test_event();
  sim_allocation *a = test_memory(16), *c = test_memory(16);
  for (int i = 0; i < 3; i++)
    streams[i] = test_stream(SIM_STREAM_NON_BLOCKING);
  for (int i = 0; i < 3; i++) {
    if (ordered && i)
      sim_stream_wait_event(streams[i], event, 0);
    if (i < 2)
      submit_set(streams[i], a, (uint32_t)i + 1);
    else
      submit_copy(streams[i], c, a);
    sim_event_record(event, streams[i], 0);
  }
  CHECK_EQUAL(sim_context_synchronize(test_context()), 0);
  int result = c->host[0];
  sim_event_destroy(event);
  for (int i = 0; i < 3; i++)
    sim_stream_destroy(streams[i]);
  sim_memory_release(a);
  sim_memory_release(c);
  test_configure("SCHEDULE", "lazy");
  return result;
}

static void random_schedules_tell_right_programs_from_wrong_ones(void) {
  enum { SEEDS = 64 };
  int endings[SEEDS];
  bool seen[256] = {false};
  for (uint64_t seed = 0; seed < SEEDS; seed++) {
    endings[seed] = three_streams(seed, false);
    seen[endings[seed]] = true;
  }
  CHECK(seen[1] && seen[2] && seen[0xCD]);
  for (uint64_t seed = 0; seed < SEEDS; seed++)
    CHECK_EQUAL(three_streams(seed, false), endings[seed]); /* a seed repeats itself */
  for (uint64_t seed = 0; seed < SEEDS; seed++)
    CHECK_EQUAL(three_streams(seed, true), 2);
}

/* ---- threads ---- */

static pthread_mutex_t gate_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t gate_moved = PTHREAD_COND_INITIALIZER;
static int gate;
static sim_stream *slow_stream;

static void gate_wait(int wanted) {
  pthread_mutex_lock(&gate_lock);
  while (gate < wanted)
    pthread_cond_wait(&gate_moved, &gate_lock);
  pthread_mutex_unlock(&gate_lock);
}

static void gate_move(int to) {
  pthread_mutex_lock(&gate_lock);
  gate = to;
  pthread_cond_broadcast(&gate_moved);
  pthread_mutex_unlock(&gate_lock);
}

static int refused;
static void slow_host_function(void *data) {
  refused = sim_call_enter(&test_counter, SIM_CALL_PLAIN);
  gate_move(1);
  gate_wait(2);
  ++*(int *)data;
}

static void *runner(void *unused) {
  (void)unused;
  test_enter();
  CHECK_EQUAL(sim_stream_synchronize(slow_stream), 0);
  test_leave();
  return NULL;
}

static void *waiter(void *unused) {
  (void)unused;
  gate_wait(1);
  test_enter();
  /* The lock is free while the host function runs: other streams go on. */
  sim_stream *mine = test_stream(SIM_STREAM_NON_BLOCKING);
  int ran = 0;
  submit_host(mine, count_up, &ran);
  CHECK_EQUAL(sim_stream_synchronize(mine), 0);
  CHECK_EQUAL(ran, 1);
  sim_stream_destroy(mine);
  CHECK_EQUAL(sim_stream_query(slow_stream), 600);
  gate_move(2);
  CHECK_EQUAL(sim_stream_synchronize(slow_stream), 0);
  test_leave();
  return NULL;
}

static void threads_wait_for_what_others_run(void) {
  slow_stream = test_stream(SIM_STREAM_NON_BLOCKING);
  int ran = 0, after = 0;
  submit_host(slow_stream, slow_host_function, &ran);
  submit_host(slow_stream, count_up, &after);
  test_leave();
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, runner, NULL);
  pthread_create(&threads[1], NULL, waiter, NULL);
  pthread_join(threads[0], NULL);
  pthread_join(threads[1], NULL);
  test_enter();
  CHECK_EQUAL(refused, 800);
  CHECK_EQUAL(ran, 1);
  CHECK_EQUAL(after, 1);
  sim_stream_destroy(slow_stream);
}

static void *many_calls(void *data) {
  int *ran = data;
  for (int round = 0; round < 50; round++) {
    test_enter();
    sim_stream *stream = test_stream(0);
    for (int i = 0; i < 20; i++)
      submit_host(stream, count_up, ran);
    sim_stream *mine;
    sim_stream_resolve(&mine, SIM_STREAM_PER_THREAD, true);
    submit_host(mine, count_up, ran);
    CHECK_EQUAL(sim_stream_synchronize(round % 2 ? stream : mine), 0);
    CHECK_EQUAL(sim_stream_destroy(stream), 0);
    CHECK_EQUAL(sim_stream_synchronize(mine), 0);
    test_leave();
  }
  test_enter();
  CHECK_EQUAL(sim_context_synchronize(test_context()), 0);
  test_leave();
  return NULL;
}

static void many_threads_share_a_context(void) {
  enum { THREADS = 4 };
  test_leave();
  pthread_t threads[THREADS];
  int ran[THREADS] = {0};
  for (int i = 0; i < THREADS; i++)
    pthread_create(&threads[i], NULL, many_calls, &ran[i]);
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
  test_enter();
  for (int i = 0; i < THREADS; i++)
    CHECK_EQUAL(ran[i], 50 * 21);
  CHECK_EQUAL(sim_schedule_waiting(), 0);
}

/* ---- values in memory ---- */

static sim_work work_value(const sim_allocation *at, sim_operation_kind kind, uint64_t value, unsigned flags) {
  return (sim_work){.kind = kind,
                    .call = kind == SIM_OPERATION_WAIT_VALUE ? "cuStreamWaitValue32" : "cuStreamWriteValue32",
                    .device = at->device,
                    .value = {.address = at->address, .value = value, .flags = flags, .size = 4}};
}

static void a_wait_for_a_value_lets_others_write_it(void) {
  sim_stream *one = test_stream(SIM_STREAM_NON_BLOCKING), *two = test_stream(SIM_STREAM_NON_BLOCKING);
  sim_allocation *flag = test_memory(8);
  memset(flag->host, 0, 8);
  /* flags of cuStreamWaitValue: 0 greater or equal (cyclic), 1 equal, 2 and, 3 nor */
  static const struct {
    uint32_t memory, wanted;
    unsigned flags;
  } rows[] = {{5, 5, 0}, {6, 5, 0}, {3, 0xfffffff0u, 0}, {5, 5, 1}, {6, 2, 2}, {0xfffffffeu, 0xfffffffeu, 3}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    uint32_t never = rows[i].flags == 0   ? rows[i].wanted - 1
                     : rows[i].flags == 1 ? rows[i].wanted + 1
                     : rows[i].flags == 2 ? ~rows[i].wanted
                                          : UINT32_MAX;
    memcpy(flag->host, &never, sizeof never);
    int ran = 0;
    sim_work wait = work_value(flag, SIM_OPERATION_WAIT_VALUE, rows[i].wanted, rows[i].flags);
    CHECK_EQUAL(sim_stream_submit(one, &wait), 0);
    submit_host(one, count_up, &ran);
    CHECK_EQUAL(sim_stream_query(one), 600);
    CHECK_EQUAL(ran, 0);
    sim_work write = work_value(flag, SIM_OPERATION_WRITE_VALUE, rows[i].memory, 0);
    CHECK_EQUAL(sim_stream_submit(two, &write), 0);
    CHECK_EQUAL(sim_stream_synchronize(one), 0);
    CHECK_EQUAL(ran, 1);
  }
  CHECK_EQUAL(flag->host[4], 0); /* four bytes are four */
  sim_stream_destroy(one);
  sim_stream_destroy(two);
}

static void many_streams_are_cheap(void) {
  enum { MANY = 50000 };
  sim_stream **streams = calloc(MANY, sizeof *streams);
  int ran = 0;
  double start = seconds();
  for (int i = 0; i < MANY; i++)
    streams[i] = test_stream(SIM_STREAM_NON_BLOCKING);
  for (int i = 0; i < MANY; i++) {
    sim_stream *mine;
    CHECK_EQUAL(sim_stream_resolve(&mine, SIM_STREAM_PER_THREAD, true), 0);
    submit_host(streams[i], count_up, &ran);
  }
  CHECK_EQUAL(sim_context_synchronize(test_context()), 0);
  for (int i = 0; i < MANY; i++)
    CHECK_EQUAL(sim_stream_destroy(streams[i]), 0);
  CHECK_EQUAL(ran, MANY);
  double each = (seconds() - start) / MANY;
  printf("a stream %.0f ns\n", each * 1e9);
  CHECK(each < 100e-6);
  free(streams);
}

static void steps_run_one_after_the_other(void) {
  sim_stream *stream = test_stream(0);
  int ran = 0;
  submit_host(stream, count_up, &ran);
  submit_host(stream, count_up, &ran);
  CHECK(sim_stream_step());
  CHECK_EQUAL(ran, 1);
  CHECK(sim_stream_step());
  CHECK(!sim_stream_step());
  CHECK_EQUAL(ran, 2);
  sim_stream_destroy(stream);
}

static void settling_runs_what_may_use_memory(void) {
  sim_stream *stream = test_stream(SIM_STREAM_NON_BLOCKING);
  sim_allocation *a = test_memory(16), *b = test_memory(16);
  submit_set(stream, a, 3);
  submit_copy(stream, b, a);
  CHECK_EQUAL(sim_stream_settle(a), 0);
  CHECK_EQUAL(b->host[0], 3);
  CHECK_EQUAL(a->pending + b->pending, 0);
  sim_stream_destroy(stream);
}

int main(void) {
  setenv("XCHG_SIM_LOG", "none", 1);
  test_enter();
  nothing_runs_before_it_is_waited_for();
  a_query_runs_one_operation();
  the_legacy_stream_waits_and_is_waited_for();
  work_of_a_destroyed_stream_still_runs();
  handles_are_checked_without_following_them();
  a_million_operations_are_cheap();
  what_depends_on_a_failure_does_not_run();
  a_failure_reaches_contexts_that_wait_for_it();
  the_eager_schedule_runs_at_once();
  random_schedules_tell_right_programs_from_wrong_ones();
  threads_wait_for_what_others_run();
  many_threads_share_a_context();
  a_wait_for_a_value_lets_others_write_it();
  many_streams_are_cheap();
  steps_run_one_after_the_other();
  settling_runs_what_may_use_memory();
  CHECK_EQUAL(sim_schedule_waiting(), 0);
  test_leave();
  return test_end();
}
