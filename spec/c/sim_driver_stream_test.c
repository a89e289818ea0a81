/* Streams of the driver API: callbacks, events, capture, value operations, and what handles that are none are answered. */
#include "test.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "driver/front.h"
#include "xsim.h"

typedef struct sim_event sim_event;
typedef struct sim_graph sim_graph;
typedef struct sim_node sim_node;
typedef struct sim_graph_exec sim_graph_exec;

extern int cuInit(unsigned), cuDevicePrimaryCtxRetain(sim_context **, int), cuDevicePrimaryCtxReset_v2(int),
    cuCtxSetCurrent(sim_context *), cuCtxSynchronize(void), cuCtxCreate_v2(sim_context **, unsigned, int),
    cuCtxDestroy_v2(sim_context *), cuMemAlloc_v2(uint64_t *, size_t), cuMemFree_v2(uint64_t),
    cuMemcpyDtoH_v2(void *, uint64_t, size_t), cuMemHostRegister_v2(void *, size_t, unsigned),
    cuMemcpyDtoHAsync_v2(void *, uint64_t, size_t, sim_stream *);
extern int cuStreamCreate(sim_stream **, unsigned), cuStreamDestroy_v2(sim_stream *), cuStreamSynchronize(sim_stream *),
    cuStreamQuery(sim_stream *), cuStreamQuery_ptsz(sim_stream *), cuStreamGetId(sim_stream *, unsigned long long *),
    cuStreamGetFlags(sim_stream *, unsigned *), cuStreamWaitEvent(sim_stream *, sim_event *, unsigned),
    cuStreamAddCallback(sim_stream *, void (*)(sim_stream *, int, void *), void *, unsigned),
    cuLaunchHostFunc(sim_stream *, void (*)(void *), void *), cuStreamBeginCapture_v2(sim_stream *, int),
    cuStreamEndCapture(sim_stream *, sim_graph **), cuStreamIsCapturing(sim_stream *, int *),
    cuStreamWriteValue32_v2(sim_stream *, uint64_t, uint32_t, unsigned),
    cuStreamWaitValue32_v2(sim_stream *, uint64_t, uint32_t, unsigned),
    cuStreamWriteValue64_v2(sim_stream *, uint64_t, uint64_t, unsigned);
extern int cuEventCreate(sim_event **, unsigned), cuEventDestroy_v2(sim_event *),
    cuEventRecord(sim_event *, sim_stream *), cuEventQuery(sim_event *), cuEventSynchronize(sim_event *),
    cuEventElapsedTime(float *, sim_event *, sim_event *);
extern int cuGraphInstantiateWithFlags(sim_graph_exec **, sim_graph *, unsigned long long),
    cuGraphLaunch(sim_graph_exec *, sim_stream *), cuGraphExecDestroy(sim_graph_exec *), cuGraphDestroy(sim_graph *),
    cuGraphGetNodes(sim_graph *, sim_node **, size_t *);

static int called, inside;
static sim_stream *told;

static void callback(sim_stream *stream, int result, void *data) {
  CHECK_EQUAL(result, 0);
  CHECK(data == &called);
  called++;
  told = stream;
  inside = cuCtxSynchronize();
}

static void host(void *data) {
  ++*(int *)data;
}

static void test_callbacks(void) {
  sim_stream *stream = NULL;
  CHECK_EQUAL(cuStreamCreate(&stream, 0), 0);
  CHECK_EQUAL(cuStreamAddCallback(stream, callback, &called, 0), 0);
  CHECK_EQUAL(cuStreamAddCallback(stream, NULL, NULL, 0), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuStreamAddCallback(stream, callback, NULL, 1), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuStreamAddCallback((sim_stream *)&stream, callback, NULL, 0), SIM_INVALID_HANDLE);
  CHECK_EQUAL(called, 0);
  CHECK_EQUAL(cuStreamSynchronize(stream), 0);
  CHECK_EQUAL(called, 1);
  CHECK_EQUAL(inside, SIM_NOT_PERMITTED);
  CHECK(told == stream);
  /* The stream goes, the callback still comes. */
  CHECK_EQUAL(cuStreamAddCallback(stream, callback, &called, 0), 0);
  CHECK_EQUAL(cuStreamDestroy_v2(stream), 0);
  CHECK_EQUAL(cuCtxSynchronize(), 0);
  CHECK_EQUAL(called, 2);
  CHECK_EQUAL(cuStreamAddCallback(stream, callback, &called, 0), SIM_INVALID_HANDLE);
}

/* A callback cannot be captured: it would be run, and freed, as often as the graph. */
static void test_callback_in_capture(void) {
  sim_stream *stream = NULL;
  sim_graph *graph = NULL;
  int status = -1;
  CHECK_EQUAL(cuStreamCreate(&stream, 0), 0);
  CHECK_EQUAL(cuStreamBeginCapture_v2(stream, 7), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuStreamBeginCapture_v2(stream, 0), 0);
  CHECK_EQUAL(cuStreamAddCallback(stream, callback, &called, 0), SIM_STREAM_CAPTURE_UNSUPPORTED);
  CHECK_EQUAL(cuStreamIsCapturing(stream, &status), 0);
  CHECK_EQUAL(status, 2);
  CHECK_EQUAL(cuStreamEndCapture(stream, &graph), SIM_STREAM_CAPTURE_INVALIDATED);
  CHECK(graph == NULL);
  CHECK_EQUAL(cuStreamDestroy_v2(stream), 0);
}

static void test_capture(void) {
  sim_stream *stream = NULL;
  sim_graph *graph = NULL;
  sim_graph_exec *exec = NULL;
  int ran = 0;
  CHECK_EQUAL(cuStreamCreate(&stream, 1), 0);
  CHECK_EQUAL(cuStreamEndCapture(stream, &graph), SIM_ILLEGAL_STATE);
  CHECK_EQUAL(cuStreamBeginCapture_v2(stream, 2), 0);
  CHECK_EQUAL(cuStreamBeginCapture_v2(stream, 2), SIM_ILLEGAL_STATE);
  CHECK_EQUAL(cuLaunchHostFunc(stream, host, &ran), 0);
  CHECK_EQUAL(cuLaunchHostFunc(stream, host, &ran), 0);
  CHECK_EQUAL(cuStreamEndCapture(stream, NULL), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuStreamEndCapture(stream, &graph), 0);
  CHECK_EQUAL(ran, 0);
  sim_node *nodes[4] = {(sim_node *)1, (sim_node *)1, (sim_node *)1, (sim_node *)1};
  size_t count = 4;
  CHECK_EQUAL(cuGraphGetNodes(graph, nodes, &count), 0);
  CHECK(count == 2 && nodes[0] && nodes[1] && !nodes[2] && !nodes[3]);
  CHECK_EQUAL(cuGraphInstantiateWithFlags(&exec, graph, 0), 0);
  CHECK_EQUAL(cuGraphLaunch(exec, stream), 0);
  CHECK_EQUAL(cuGraphLaunch(exec, stream), 0);
  CHECK_EQUAL(cuGraphDestroy(graph), 0);
  CHECK_EQUAL(cuGraphExecDestroy(exec), 0);
  CHECK_EQUAL(cuGraphLaunch(exec, stream), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuGraphDestroy(graph), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuStreamSynchronize(stream), 0);
  CHECK_EQUAL(ran, 4);
  CHECK_EQUAL(cuStreamDestroy_v2(stream), 0);
}

static void test_handles(void) {
  sim_stream *stream = NULL, *freed = NULL;
  sim_event *event = NULL, *late = NULL;
  unsigned long long id = 0;
  unsigned flags = 9;
  float elapsed;
  CHECK_EQUAL(cuStreamCreate(NULL, 0), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuStreamCreate(&stream, 2), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuStreamCreate(&freed, 1), 0);
  CHECK_EQUAL(cuStreamGetFlags(freed, &flags), 0);
  CHECK_EQUAL(flags, 1);
  CHECK_EQUAL(cuStreamGetFlags(freed, NULL), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuStreamDestroy_v2(freed), 0);
  sim_stream *const wrong[] = {freed, (sim_stream *)3, (sim_stream *)-1, (sim_stream *)&id};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    CHECK_EQUAL(cuStreamQuery(wrong[i]), SIM_INVALID_HANDLE);
    CHECK_EQUAL(cuStreamSynchronize(wrong[i]), SIM_INVALID_HANDLE);
    CHECK_EQUAL(cuStreamGetId(wrong[i], &id), SIM_INVALID_HANDLE);
    CHECK_EQUAL(cuStreamDestroy_v2(wrong[i]), SIM_INVALID_HANDLE);
    CHECK_EQUAL(cuEventRecord((sim_event *)wrong[i], NULL), SIM_INVALID_HANDLE);
  }
  CHECK_EQUAL(cuStreamDestroy_v2(NULL), SIM_INVALID_HANDLE);
  CHECK_EQUAL(cuStreamDestroy_v2(SIM_STREAM_LEGACY), SIM_INVALID_HANDLE);
  CHECK_EQUAL(cuStreamQuery_ptsz(NULL), 0);
  CHECK_EQUAL(cuEventCreate(&event, 8), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuEventCreate(&event, 4), SIM_INVALID_VALUE); /* between processes, but with timing */
  CHECK_EQUAL(cuEventCreate(&event, 0), 0);
  CHECK_EQUAL(cuEventCreate(&late, 0), 0);
  CHECK_EQUAL(cuEventElapsedTime(&elapsed, event, late), SIM_INVALID_HANDLE); /* never recorded */
  CHECK_EQUAL(cuEventRecord(event, NULL), 0);
  CHECK_EQUAL(cuEventRecord(late, NULL), 0);
  CHECK_EQUAL(cuEventElapsedTime(&elapsed, event, late), SIM_NOT_READY);
  CHECK_EQUAL(cuStreamWaitEvent(NULL, late, 2), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuStreamWaitEvent(NULL, (sim_event *)&id, 0), SIM_INVALID_HANDLE);
  /* An event that is waited for may go. */
  CHECK_EQUAL(cuStreamCreate(&stream, 1), 0);
  CHECK_EQUAL(cuStreamWaitEvent(stream, late, 0), 0);
  CHECK_EQUAL(cuEventSynchronize(late), 0);
  CHECK_EQUAL(cuEventElapsedTime(&elapsed, event, late), 0);
  CHECK(elapsed >= 0);
  CHECK_EQUAL(cuEventElapsedTime(NULL, event, late), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuEventDestroy_v2(late), 0);
  CHECK_EQUAL(cuEventDestroy_v2(late), SIM_INVALID_HANDLE);
  CHECK_EQUAL(cuEventQuery(late), SIM_INVALID_HANDLE);
  CHECK_EQUAL(cuStreamSynchronize(stream), 0);
  CHECK_EQUAL(cuStreamDestroy_v2(stream), 0);
  CHECK_EQUAL(cuEventDestroy_v2(event), 0);
}

static void test_values(void) {
  uint64_t at = 0;
  uint32_t value = 0;
  CHECK_EQUAL(cuMemAlloc_v2(&at, 8), 0);
  CHECK_EQUAL(cuStreamWriteValue32_v2(NULL, at + 4, 7, 0), 0);
  CHECK_EQUAL(cuStreamWaitValue32_v2(NULL, at + 4, 7, 1), 0);
  CHECK_EQUAL(cuMemcpyDtoH_v2(&value, at + 4, 4), 0);
  CHECK_EQUAL(value, 7);
  CHECK_EQUAL(cuStreamWriteValue64_v2(NULL, at + 4, 7, 0), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuStreamWriteValue32_v2(NULL, at + 2, 7, 0), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuStreamWriteValue32_v2(NULL, at + 8, 7, 0), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuStreamWriteValue32_v2(NULL, at, 7, 2), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuStreamWriteValue64_v2(NULL, UINT64_MAX - 7, 7, 0), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuStreamWaitValue32_v2(NULL, 0, 7, 0), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuMemFree_v2(at), 0);
}

/* A context that goes takes with it what waits in it, and what its streams and events were stays known as wrong. */
static void test_context_end(void) {
  sim_context *context = NULL;
  sim_stream *stream = NULL;
  sim_event *event = NULL;
  int ran = 0;
  CHECK_EQUAL(cuCtxCreate_v2(&context, 0, 0), 0);
  CHECK_EQUAL(cuStreamCreate(&stream, 0), 0);
  CHECK_EQUAL(cuEventCreate(&event, 0), 0);
  CHECK_EQUAL(cuLaunchHostFunc(stream, host, &ran), 0);
  CHECK_EQUAL(cuStreamAddCallback(stream, callback, &called, 0), 0);
  CHECK_EQUAL(cuEventRecord(event, stream), 0);
  CHECK_EQUAL(cuCtxDestroy_v2(context), 0);
  CHECK_EQUAL(ran, 0);
  CHECK_EQUAL(cuStreamQuery(stream), SIM_CONTEXT_IS_DESTROYED);
  CHECK(cuEventQuery(event) != 0);
  CHECK_EQUAL(cuCtxSynchronize(), 0);
}

/* Callbacks that wait in a context that is lost are given up. Memory that the owner unmaps while a copy into it waits loses it. */
static void test_loss(void) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  uint64_t at = 0;
  sim_stream *stream = NULL;
  called = 0;
  char *mapped = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK_EQUAL(cuStreamCreate(&stream, 0), 0);
  CHECK_EQUAL(cuMemAlloc_v2(&at, 64), 0);
  CHECK_EQUAL(cuMemHostRegister_v2(mapped, page, 0), 0);
  CHECK_EQUAL(cuMemcpyDtoHAsync_v2(mapped, at, 64, stream), 0);
  CHECK_EQUAL(cuStreamAddCallback(stream, callback, &called, 0), 0);
  munmap(mapped, page);
  CHECK_EQUAL(cuStreamSynchronize(stream), SIM_ILLEGAL_ADDRESS);
  CHECK_EQUAL(cuStreamQuery(stream), SIM_ILLEGAL_ADDRESS);
  CHECK_EQUAL(called, 0);
  CHECK_EQUAL(cuDevicePrimaryCtxReset_v2(0), 0);
}

int main(void) {
  sim_context *context = NULL;
  xsim_configure("LOG", "none");
  CHECK_EQUAL(cuInit(0), 0);
  CHECK_EQUAL(cuDevicePrimaryCtxRetain(&context, 0), 0);
  CHECK_EQUAL(cuCtxSetCurrent(context), 0);
  test_callbacks();
  test_callback_in_capture();
  test_capture();
  test_handles();
  test_values();
  test_context_end();
  test_loss();
  return test_end();
}
