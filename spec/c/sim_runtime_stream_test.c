/* The runtime API of the simulated device: streams, events, host functions, order, capture. */
#include "cudart.h"

static int called;
static void call_me(void *data) {
  called += *(int *)data;
  /* The API is refused here. */
  CHECK_EQUAL(cudaSetDevice(0), NOT_PERMITTED);
}
static void call_back(void *stream, int result, void *data) {
  (void)stream;
  called += result ? 1000 : *(int *)data;
}

static void test_stream(void) {
  void *stream = NULL, *other = NULL, *event = NULL, *late = NULL;
  unsigned flags = 9;
  int priority = 9, least = 9, greatest = 9, device = 9, ten = 10;
  unsigned long long id = 0, id2 = 0;
  float time = -1;
  WORKS(cudaStreamCreate(&stream));
  WORKS(cudaStreamCreateWithFlags(&other, 1));
  FAILS(cudaStreamCreate(NULL), VALUE);
  FAILS(cudaStreamCreateWithFlags(&event, 2), VALUE);
  WORKS(cudaStreamGetFlags(other, &flags));
  CHECK_EQUAL(flags, 1);
  WORKS(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  CHECK(least == 0 && greatest < 0);
  WORKS(cudaDeviceGetStreamPriorityRange(NULL, NULL));
  WORKS(cudaStreamDestroy(other));
  WORKS(cudaStreamCreateWithPriority(&other, 1, -1000));
  WORKS(cudaStreamGetPriority(other, &priority));
  CHECK_EQUAL(priority, greatest);
  FAILS(cudaStreamGetPriority(other, NULL), VALUE);
  FAILS(cudaStreamGetFlags(stream, NULL), VALUE);
  FAILS(cudaStreamGetFlags(BAD, &flags), HANDLE);
  WORKS(cudaStreamGetId(stream, &id));
  WORKS(cudaStreamGetId(other, &id2));
  CHECK(id != id2);
  FAILS(cudaStreamGetId(stream, NULL), VALUE);
  WORKS(cudaStreamGetDevice(stream, &device));
  CHECK_EQUAL(device, 0);
  FAILS(cudaStreamGetDevice(stream, NULL), VALUE);
  FAILS(cudaStreamDestroy(NULL), HANDLE);
  FAILS(cudaStreamDestroy((void *)1), HANDLE);
  FAILS(cudaStreamDestroy((void *)2), HANDLE);
  FAILS(cudaStreamDestroy(BAD), HANDLE);
  FAILS(cudaStreamSynchronize(BAD), HANDLE);
  FAILS(cudaStreamQuery(BAD), HANDLE);
  WORKS(cudaStreamSynchronize(NULL));
  WORKS(cudaStreamSynchronize((void *)2));
  WORKS(cudaStreamQuery(stream));

  WORKS(cudaEventCreate(&event));
  WORKS(cudaEventCreateWithFlags(&late, 2));
  FAILS(cudaEventCreate(NULL), VALUE);
  FAILS(cudaEventCreateWithFlags(&other, 8), VALUE);
  FAILS(cudaEventCreateWithFlags(&other, 4), VALUE); /* between processes only without timing */
  FAILS(cudaEventRecord(BAD, stream), HANDLE);
  FAILS(cudaEventRecord(NULL, stream), HANDLE);
  FAILS(cudaEventRecord(event, BAD), HANDLE);
  FAILS(cudaEventQuery(BAD), HANDLE);
  FAILS(cudaEventSynchronize(NULL), HANDLE);
  WORKS(cudaEventQuery(event)); /* never recorded */
  FAILS(cudaEventElapsedTime(NULL, event, event), VALUE);
  FAILS(cudaEventElapsedTime(&time, event, event), HANDLE); /* not recorded */
  called = 0;
  WORKS(cudaLaunchHostFunc(stream, call_me, &ten));
  CHECK_EQUAL(called, 0); /* nothing runs before somebody waits */
  WORKS(cudaEventRecord(event, stream));
  CHECK_EQUAL(cudaEventElapsedTime(&time, event, event), NOT_READY);
  CHECK_EQUAL(cudaGetLastError(), 0); /* 600 is no error */
  FAILS(cudaEventElapsedTime(&time, event, late), HANDLE);
  WORKS(cudaStreamWaitEvent(NULL, event, 0));
  FAILS(cudaStreamWaitEvent(NULL, BAD, 0), HANDLE);
  FAILS(cudaStreamWaitEvent(BAD, event, 0), HANDLE);
  FAILS(cudaStreamWaitEvent(NULL, event, 9), VALUE);
  WORKS(cudaEventSynchronize(event));
  CHECK_EQUAL(called, 10);
  WORKS(cudaEventElapsedTime(&time, event, event));
  CHECK(time == 0);
  WORKS(cudaEventDestroy(event));
  FAILS(cudaEventDestroy(event), HANDLE);
  FAILS(cudaEventDestroy(NULL), HANDLE);
  WORKS(cudaEventDestroy(late));

  called = 0;
  WORKS(cudaStreamAddCallback(stream, call_back, &ten, 0));
  FAILS(cudaStreamAddCallback(stream, NULL, &ten, 0), VALUE);
  FAILS(cudaStreamAddCallback(stream, call_back, &ten, 1), VALUE);
  FAILS(cudaStreamAddCallback(BAD, call_back, &ten, 0), HANDLE);
  FAILS(cudaLaunchHostFunc(stream, NULL, NULL), VALUE);
  WORKS(cudaStreamSynchronize(stream));
  CHECK_EQUAL(called, 10);
  WORKS(cudaStreamDestroy(stream));
  FAILS(cudaStreamSynchronize(stream), HANDLE);
  FAILS(cudaStreamDestroy(stream), HANDLE);
}

/* What runs later sees what is there later. */
static void test_order(void) {
  void *stream, *p;
  unsigned char *pinned, out[4] = {0};
  WORKS(cudaStreamCreateWithFlags(&stream, 1));
  WORKS(cudaMalloc(&p, 4));
  WORKS(cudaMallocHost((void **)&pinned, 4));
  memset(pinned, 1, 4);
  WORKS(cudaMemcpyAsync(p, pinned, 4, HOST_DEVICE, stream));
  memset(pinned, 2, 4); /* a bug: nobody waited */
  WORKS(cudaStreamSynchronize(stream));
  WORKS(cudaMemcpy(out, p, 4, DEVICE_HOST));
  CHECK_EQUAL(out[0], 2);
  memset(pinned, 3, 4);
  WORKS(cudaMemcpyAsync(pinned, p, 4, DEVICE_HOST, stream));
  CHECK_EQUAL(pinned[0], 3);
  CHECK_EQUAL(cudaStreamQuery(stream), NOT_READY);
  WORKS(cudaStreamSynchronize(stream));
  CHECK_EQUAL(pinned[0], 2);
  WORKS(cudaMemcpyAsync_ptsz(out, p, 4, DEFAULT, NULL)); /* pageable: done when it returns */
  CHECK_EQUAL(out[3], 2);
  WORKS(cudaFree(p));
  WORKS(cudaFreeHost(pinned));
  WORKS(cudaStreamDestroy(stream));
}

static void test_capture(void) {
  void *stream, *graph = BAD, *exec, *p, *captured;
  void *const *dependencies;
  const sim_edge_data *edges;
  int status = 9, mode = 0;
  unsigned long long id;
  size_t count;
  unsigned char out[8];
  WORKS(cudaMalloc(&p, 8));
  WORKS(cudaStreamCreateWithFlags(&stream, 1));
  FAILS(cudaStreamBeginCapture(stream, 3), VALUE);
  FAILS(cudaStreamBeginCapture(BAD, 0), HANDLE);
  FAILS(cudaStreamBeginCapture(NULL, 0), CAPTURE_UNSUPPORTED); /* the legacy stream cannot */
  WORKS(cudaStreamBeginCapture(stream, 0));
  WORKS(cudaStreamIsCapturing(stream, &status));
  CHECK_EQUAL(status, 1);
  FAILS(cudaStreamIsCapturing(stream, NULL), VALUE);
  WORKS(cudaMemsetAsync(p, 5, 8, stream));
  WORKS(cudaStreamGetCaptureInfo(stream, &status, &id, &captured, &dependencies, &edges, &count));
  CHECK(status == 1 && count == 1 && captured != NULL);
  FAILS(cudaStreamGetCaptureInfo(stream, NULL, &id, &captured, &dependencies, &edges, &count), VALUE);
  FAILS(cudaStreamEndCapture(stream, NULL), VALUE);
  WORKS(cudaStreamEndCapture(stream, &graph));
  WORKS(cudaMemset(p, 1, 8));
  WORKS(cudaGraphInstantiate(&exec, graph, 0));
  WORKS(cudaMemcpy(out, p, 8, DEVICE_HOST));
  CHECK_EQUAL(out[0], 1); /* a capture runs nothing */
  WORKS(cudaGraphLaunch(exec, stream));
  WORKS(cudaStreamSynchronize(stream));
  WORKS(cudaMemcpy(out, p, 8, DEVICE_HOST));
  CHECK_EQUAL(out[7], 5);
  WORKS(cudaGraphExecDestroy(exec));
  WORKS(cudaGraphDestroy(graph));

  /* What a capture in global mode forbids, and that it spoils the capture. */
  WORKS(cudaStreamBeginCapture(stream, 0));
  FAILS(cudaMalloc(&captured, 8), CAPTURE_UNSUPPORTED);
  FAILS(cudaMemsetAsync(p, 5, 8, stream), CAPTURE_INVALIDATED);
  FAILS(cudaStreamEndCapture(stream, &graph), CAPTURE_INVALIDATED);
  CHECK(graph == NULL);
  WORKS(cudaStreamBeginCapture(stream, 2));
  WORKS(cudaMalloc(&captured, 8));
  FAILS(cudaStreamSynchronize(stream), CAPTURE_UNSUPPORTED);
  CHECK_EQUAL(cudaStreamEndCapture(stream, &graph), CAPTURE_INVALIDATED);
  cudaGetLastError();
  WORKS(cudaFree(captured));
  mode = 2;
  WORKS(cudaThreadExchangeStreamCaptureMode(&mode));
  CHECK_EQUAL(mode, 0);
  WORKS(cudaThreadExchangeStreamCaptureMode(&mode));
  CHECK_EQUAL(mode, 2);
  mode = 5;
  FAILS(cudaThreadExchangeStreamCaptureMode(&mode), VALUE);
  FAILS(cudaThreadExchangeStreamCaptureMode(NULL), VALUE);
  WORKS(cudaStreamDestroy(stream));
  WORKS(cudaFree(p));
}

int main(void) {
  cudart_settings();
  setenv("XCHG_SIM_SCHEDULE", "lazy", 1); /* what runs when is part of what is checked */
  test_stream();
  test_order();
  test_capture();
  return test_end();
}
