/* Copies and sets of the driver API: rows and slices, pitches that are wrong, places that do not fit, twins. */
#include "test.h"

#include "driver/front.h"
#include "xsim.h"

/* CUDA_MEMCPY2D and CUDA_MEMCPY3D as callers have them. */
typedef struct {
  size_t source_x, source_y;
  int source_kind;
  const void *source_host;
  uint64_t source_device;
  void *source_array;
  size_t source_pitch;
  size_t destination_x, destination_y;
  int destination_kind;
  void *destination_host;
  uint64_t destination_device;
  void *destination_array;
  size_t destination_pitch;
  size_t width, height;
} rows;

typedef struct {
  size_t source_x, source_y, source_z, source_lod;
  int source_kind;
  const void *source_host;
  uint64_t source_device;
  void *source_array, *source_context;
  size_t source_pitch, source_height;
  size_t destination_x, destination_y, destination_z, destination_lod;
  int destination_kind;
  void *destination_host;
  uint64_t destination_device;
  void *destination_array, *destination_context;
  size_t destination_pitch, destination_height;
  size_t width, height, depth;
} slices;

enum { HOST = 1, DEVICE, ARRAY, UNIFIED };

extern int cuInit(unsigned), cuDevicePrimaryCtxRetain(sim_context **, int), cuCtxSetCurrent(sim_context *),
    cuCtxSynchronize(void), cuMemAlloc_v2(uint64_t *, size_t), cuMemFree_v2(uint64_t),
    cuMemAllocPitch_v2(uint64_t *, size_t *, size_t, size_t, unsigned), cuMemcpy2D_v2(const rows *),
    cuMemcpy2DUnaligned_v2_ptds(const rows *), cuMemcpy2DAsync_v2(const rows *, sim_stream *),
    cuMemcpy3D_v2(const slices *), cuMemcpy3DAsync_v2_ptsz(const slices *, sim_stream *),
    cuMemcpyDtoH_v2(void *, uint64_t, size_t), cuMemcpyHtoD_v2(uint64_t, const void *, size_t),
    cuMemcpyDtoD_v2(uint64_t, uint64_t, size_t), cuMemcpy(uint64_t, uint64_t, size_t),
    cuMemcpyPeer(uint64_t, sim_context *, uint64_t, sim_context *, size_t),
    cuMemsetD2D16_v2(uint64_t, size_t, unsigned short, size_t, size_t),
    cuMemsetD8Async_ptsz(uint64_t, unsigned char, size_t, sim_stream *),
    cuMemsetD32Async(uint64_t, unsigned, size_t, sim_stream *);

static sim_context *contexts[2];

static void test_rows(void) {
  uint8_t from[4][8], back[4][8] = {{0}};
  uint64_t device = 0;
  size_t pitch = 0;
  for (int i = 0; i < 32; i++)
    from[i / 8][i % 8] = (uint8_t)(i + 1);
  CHECK_EQUAL(cuMemAllocPitch_v2(&device, &pitch, 6, 3, 4), 0);
  CHECK_EQUAL(pitch, 512);
  CHECK_EQUAL(cuMemAllocPitch_v2(&device, &pitch, 6, 3, 5), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuMemAllocPitch_v2(&device, &pitch, SIZE_MAX, 3, 4), SIM_OUT_OF_MEMORY);
  CHECK_EQUAL(cuMemAllocPitch_v2(&device, &pitch, SIZE_MAX / 4, 8, 4), SIM_OUT_OF_MEMORY);
  /* Columns 1 to 5 of rows 1 to 3 go there and back, one column and one row further. */
  rows there = {.source_x = 1,
                .source_y = 1,
                .source_kind = HOST,
                .source_host = from,
                .source_pitch = 8,
                .destination_kind = DEVICE,
                .destination_device = device,
                .destination_pitch = pitch,
                .width = 5,
                .height = 3};
  rows home = {.source_kind = DEVICE,
               .source_device = device,
               .source_pitch = pitch,
               .destination_x = 2,
               .destination_y = 1,
               .destination_kind = HOST,
               .destination_host = back,
               .destination_pitch = 8,
               .width = 5,
               .height = 3};
  CHECK_EQUAL(cuMemcpy2D_v2(&there), 0);
  CHECK_EQUAL(cuMemcpy2DUnaligned_v2_ptds(&home), 0);
  for (int y = 0; y < 4; y++)
    for (int x = 0; x < 8; x++)
      CHECK_EQUAL(back[y][x], y >= 1 && x >= 2 && x < 7 ? from[y][x - 1] : 0);
  rows wrong = there;
  wrong.source_kind = 0;
  CHECK_EQUAL(cuMemcpy2D_v2(&wrong), SIM_INVALID_VALUE);
  wrong.source_kind = 5;
  CHECK_EQUAL(cuMemcpy2D_v2(&wrong), SIM_INVALID_VALUE);
  wrong.source_kind = ARRAY;
  CHECK_EQUAL(cuMemcpy2D_v2(&wrong), SIM_NOT_SUPPORTED);
  wrong = there;
  wrong.source_pitch = 4; /* below the width */
  CHECK_EQUAL(cuMemcpy2D_v2(&wrong), SIM_INVALID_VALUE);
  wrong = there;
  wrong.height = 5;
  wrong.source_pitch = 5;
  CHECK_EQUAL(cuMemcpy2D_v2(&wrong), SIM_INVALID_VALUE); /* past the end of the device's rows */
  wrong = there;
  wrong.destination_y = SIZE_MAX / 2;
  CHECK_EQUAL(cuMemcpy2D_v2(&wrong), SIM_INVALID_VALUE);
  wrong = there;
  wrong.destination_x = SIZE_MAX;
  CHECK_EQUAL(cuMemcpy2DAsync_v2(&wrong, NULL), SIM_INVALID_VALUE);
  wrong = there;
  wrong.source_host = NULL;
  CHECK_EQUAL(cuMemcpy2D_v2(&wrong), SIM_INVALID_VALUE);
  wrong = there;
  wrong.source_kind = DEVICE;
  wrong.source_device = (uintptr_t)from;
  CHECK_EQUAL(cuMemcpy2D_v2(&wrong), SIM_INVALID_VALUE);
  wrong.source_kind = UNIFIED;
  CHECK_EQUAL(cuMemcpy2D_v2(&wrong), 0);
  wrong.width = 0;
  CHECK_EQUAL(cuMemcpy2D_v2(&wrong), 0);
  CHECK_EQUAL(cuMemcpy2D_v2(NULL), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuMemcpy2DAsync_v2(&there, (sim_stream *)&there), SIM_INVALID_HANDLE);
  CHECK_EQUAL(cuMemFree_v2(device), 0);
}

static void test_slices(void) {
  uint8_t from[2][3][4], back[2][3][4] = {{{0}}};
  uint64_t device = 0;
  for (int i = 0; i < 24; i++)
    from[i / 12][i / 4 % 3][i % 4] = (uint8_t)(i + 1);
  CHECK_EQUAL(cuMemAlloc_v2(&device, 2 * 3 * 16), 0);
  slices there = {.source_kind = HOST,
                  .source_host = from,
                  .source_pitch = 4,
                  .source_height = 3,
                  .destination_kind = DEVICE,
                  .destination_device = device,
                  .destination_pitch = 16,
                  .destination_height = 3,
                  .width = 4,
                  .height = 3,
                  .depth = 2};
  slices home = {.source_kind = DEVICE,
                 .source_device = device,
                 .source_pitch = 16,
                 .source_height = 3,
                 .source_z = 1,
                 .source_y = 1,
                 .destination_kind = HOST,
                 .destination_host = back,
                 .destination_pitch = 4,
                 .destination_height = 3,
                 .width = 4,
                 .height = 2,
                 .depth = 1};
  CHECK_EQUAL(cuMemcpy3D_v2(&there), 0);
  CHECK_EQUAL(cuMemcpy3DAsync_v2_ptsz(&home, NULL), 0);
  CHECK_EQUAL(cuCtxSynchronize(), 0);
  CHECK(!memcmp(back[0], from[1][1], 8));
  CHECK_EQUAL(back[0][2][0], 0);
  slices wrong = there;
  wrong.destination_height = 2; /* slices that overlap */
  CHECK_EQUAL(cuMemcpy3D_v2(&wrong), SIM_INVALID_VALUE);
  wrong = there;
  wrong.depth = 3;
  CHECK_EQUAL(cuMemcpy3D_v2(&wrong), SIM_INVALID_VALUE);
  wrong = there;
  wrong.source_lod = 1;
  CHECK_EQUAL(cuMemcpy3D_v2(&wrong), SIM_INVALID_VALUE);
  wrong = there;
  wrong.depth = SIZE_MAX;
  CHECK_EQUAL(cuMemcpy3D_v2(&wrong), SIM_INVALID_VALUE);
  wrong = there;
  wrong.destination_z = SIZE_MAX / 8;
  CHECK_EQUAL(cuMemcpy3D_v2(&wrong), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuMemFree_v2(device), 0);
}

static void test_sets(void) {
  uint16_t back[2][8] = {{0}};
  uint64_t device = 0;
  CHECK_EQUAL(cuMemAlloc_v2(&device, 32), 0);
  CHECK_EQUAL(cuMemsetD8Async_ptsz(device, 0, 32, NULL), 0);
  CHECK_EQUAL(cuMemsetD2D16_v2(device + 2, 16, 0xabcd, 3, 2), 0);
  CHECK_EQUAL(cuMemcpyDtoH_v2(back, device, 32), 0);
  for (int y = 0; y < 2; y++)
    for (int x = 0; x < 8; x++)
      CHECK_EQUAL(back[y][x], x >= 1 && x < 4 ? 0xabcd : 0);
  CHECK_EQUAL(cuMemsetD2D16_v2(device, 15, 1, 3, 2), SIM_INVALID_VALUE); /* rows that are not aligned */
  CHECK_EQUAL(cuMemsetD2D16_v2(device, 4, 1, 3, 2), SIM_INVALID_VALUE);  /* rows that overlap */
  CHECK_EQUAL(cuMemsetD2D16_v2(device, 16, 1, 8, 3), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuMemsetD2D16_v2(device, SIZE_MAX & ~(size_t)1, 1, 3, 3), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuMemsetD32Async(device, 1, SIZE_MAX / 4 + 2, NULL), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuMemsetD32Async(UINT64_MAX - 3, 1, 1, NULL), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuMemsetD32Async(0, 1, 1, NULL), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuMemsetD32Async(device, 1, 0, NULL), 0);
  CHECK_EQUAL(cuMemFree_v2(device), 0);
}

static void test_places(void) {
  uint32_t host = 7;
  uint64_t here = 0, there = 0;
  CHECK_EQUAL(cuMemAlloc_v2(&here, 4), 0);
  CHECK_EQUAL(cuCtxSetCurrent(contexts[1]), 0);
  CHECK_EQUAL(cuMemAlloc_v2(&there, 4), 0);
  CHECK_EQUAL(cuCtxSetCurrent(contexts[0]), 0);
  CHECK_EQUAL(cuMemcpyHtoD_v2(here, &host, 4), 0);
  CHECK_EQUAL(cuMemcpyPeer(there, contexts[1], here, contexts[0], 4), 0);
  CHECK_EQUAL(cuMemcpyPeer(there, contexts[0], here, contexts[0], 4), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuMemcpyPeer(there, contexts[1], here, contexts[1], 4), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuMemcpyPeer(there, NULL, here, contexts[0], 4), SIM_INVALID_CONTEXT);
  CHECK_EQUAL(cuMemcpyPeer(there, contexts[1], here, (sim_context *)&host, 4), SIM_INVALID_CONTEXT);
  host = 0;
  CHECK_EQUAL(cuMemcpyDtoH_v2(&host, there, 4), 0);
  CHECK_EQUAL(host, 7);
  CHECK_EQUAL(cuMemcpyDtoD_v2(here, (uintptr_t)&host, 4), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuMemcpyHtoD_v2(here, (void *)(uintptr_t)here, 4), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuMemcpyHtoD_v2(here, (void *)16, 4), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuMemcpyHtoD_v2(here, (void *)UINTPTR_MAX, 4), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuMemcpyHtoD_v2(UINT64_MAX - 1, &host, 4), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuMemcpyHtoD_v2(here, &host, SIZE_MAX), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuMemcpy(here, (uintptr_t)&host, 4), 0);
  CHECK_EQUAL(cuMemcpy(here, 0, 4), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuMemcpy(here, 0, 0), 0);
  CHECK_EQUAL(cuMemFree_v2(here), 0);
  CHECK_EQUAL(cuMemFree_v2(there), 0);
}

int main(void) {
  xsim_configure("LOG", "none");
  xsim_configure("DEVICES", "2");
  CHECK_EQUAL(cuInit(0), 0);
  CHECK_EQUAL(cuDevicePrimaryCtxRetain(&contexts[0], 0), 0);
  CHECK_EQUAL(cuDevicePrimaryCtxRetain(&contexts[1], 1), 0);
  CHECK_EQUAL(cuCtxSetCurrent(contexts[0]), 0);
  test_rows();
  test_slices();
  test_sets();
  test_places();
  return test_end();
}
