/* What the tests of streams, events, capture and graphs share: one thread that holds the simulator's lock, memory, and work that
   needs no kernel. */
#ifndef XCHG_SPEC_SIM_STREAMS_H
#define XCHG_SPEC_SIM_STREAMS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "graph.h"
#include "pool.h"
#include "report.h"
#include "result.h"
#include "schedule.h"
#include "test.h"

static sim_counter test_counter = {.name = "test"};

static inline void test_enter(void) {
  CHECK_EQUAL(sim_call_enter(&test_counter, SIM_CALL_PLAIN), 0);
}

static inline void test_leave(void) {
  sim_call_leave(0);
}

static inline sim_context *test_context(void) {
  sim_context *context = NULL;
  CHECK_EQUAL(sim_context_current(&context, true), 0);
  return context;
}

static inline void test_configure(const char *name, const char *value) {
  char text[256];
  CHECK_EQUAL(sim_config_set(name, value, true, text, sizeof text), 0);
}

static inline sim_stream *test_stream(unsigned flags) {
  sim_stream *stream = NULL;
  CHECK_EQUAL(sim_stream_create(&stream, test_context(), flags, 0), 0);
  return stream;
}

static inline sim_event *test_event(void) {
  sim_event *event = NULL;
  CHECK_EQUAL(sim_event_create(&event, test_context(), 0), 0);
  return event;
}

static inline sim_allocation *test_memory(uint64_t bytes) {
  sim_allocation *made = NULL;
  CHECK_EQUAL(sim_memory_allocate(&made, test_context(), bytes, SIM_MEMORY_DEVICE, "cudaMalloc"), 0);
  return made;
}

static inline sim_work work_set(const sim_allocation *to, uint64_t offset, uint64_t bytes, uint32_t value) {
  return (sim_work){
      .kind = SIM_OPERATION_SET,
      .call = "cudaMemsetAsync",
      .device = to->device,
      .set = {
          .destination = to->address + offset, .pitch = bytes, .width = bytes, .height = 1, .value = value, .unit = 1}};
}

static inline sim_work work_copy(const sim_allocation *to, const sim_allocation *from, uint64_t bytes) {
  return (sim_work){.kind = SIM_OPERATION_COPY,
                    .call = "cudaMemcpyAsync",
                    .device = to->device,
                    .copy = {.destination = to->address,
                             .source = from->address,
                             .width = bytes,
                             .height = 1,
                             .depth = 1,
                             .destination_pitch = bytes,
                             .source_pitch = bytes,
                             .destination_slice = bytes,
                             .source_slice = bytes}};
}

static inline sim_work work_host(void (*function)(void *), void *data) {
  return (sim_work){.kind = SIM_OPERATION_HOST, .call = "cudaLaunchHostFunc", .host = {function, data, false}};
}

static inline int submit_set(sim_stream *stream, const sim_allocation *to, uint32_t value) {
  sim_work work = work_set(to, 0, to->size, value);
  return sim_stream_submit(stream, &work);
}

static inline int submit_copy(sim_stream *stream, const sim_allocation *to, const sim_allocation *from) {
  sim_work work = work_copy(to, from, to->size);
  return sim_stream_submit(stream, &work);
}

static inline int submit_host(sim_stream *stream, void (*function)(void *), void *data) {
  sim_work work = work_host(function, data);
  return sim_stream_submit(stream, &work);
}

/* Host functions of two streams may run in two threads at once. */
static inline void count_up(void *data) {
  __atomic_fetch_add((int *)data, 1, __ATOMIC_SEQ_CST);
}

#endif
