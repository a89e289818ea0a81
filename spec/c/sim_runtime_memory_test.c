/* The runtime API of the simulated device: memory, pointers, copies and sets, pools. */
#include "cudart.h"

static void test_memory(void) {
  void *p = BAD, *q = NULL, *alias = NULL;
  size_t pitch = 0;
  unsigned flags;
  WORKS(cudaMalloc(&p, 1000));
  CHECK(p != NULL && (uintptr_t)p % 256 == 0);
  FAILS(cudaMalloc(NULL, 1000), VALUE);
  q = BAD;
  WORKS(cudaMalloc(&q, 0));
  CHECK(q == NULL);
  q = BAD;
  FAILS(cudaMalloc(&q, (size_t)1 << 40), MEMORY);
  FAILS(cudaMalloc(&q, SIZE_MAX), MEMORY);
  CHECK(q == BAD); /* untouched */
  WORKS(cudaFree(NULL));
  FAILS(cudaFree(BAD), VALUE);
  FAILS(cudaFree((char *)p + 4), VALUE);
  FAILS(cudaFreeHost(p), VALUE);
  WORKS(cudaFree(p));
  FAILS(cudaFree(p), VALUE);

  WORKS(cudaMallocPitch(&p, &pitch, 100, 7));
  CHECK_EQUAL(pitch, 512);
  WORKS(cudaFree(p));
  FAILS(cudaMallocPitch(NULL, &pitch, 100, 7), VALUE);
  FAILS(cudaMallocPitch(&p, NULL, 100, 7), VALUE);
  FAILS(cudaMallocPitch(&p, &pitch, SIZE_MAX, 7), MEMORY);
  FAILS(cudaMallocPitch(&p, &pitch, 1 << 20, SIZE_MAX), MEMORY);
  sim_pitched box = {0};
  WORKS(cudaMalloc3D(&box, (sim_extent){100, 3, 2}));
  CHECK(box.pitch == 512 && box.width == 100 && box.height == 3);
  WORKS(cudaFree(box.pointer));
  FAILS(cudaMalloc3D(NULL, (sim_extent){1, 1, 1}), VALUE);
  FAILS(cudaMalloc3D(&box, (sim_extent){1, SIZE_MAX, SIZE_MAX}), MEMORY);

  WORKS(cudaMallocHost(&p, 100));
  memset(p, 1, 100);
  WORKS(cudaHostGetDevicePointer(&alias, p, 0));
  CHECK(alias == p);
  FAILS(cudaHostGetDevicePointer(&alias, p, 1), VALUE);
  FAILS(cudaHostGetDevicePointer(NULL, p, 0), VALUE);
  FAILS(cudaHostGetDevicePointer(&alias, BAD, 0), VALUE);
  FAILS(cudaFree(p), VALUE);
  FAILS(cudaHostUnregister(p), NOT_REGISTERED);
  WORKS(cudaFreeHost(p));
  FAILS(cudaFreeHost(p), VALUE);
  WORKS(cudaFreeHost(NULL));
  FAILS(cudaMallocHost(NULL, 100), VALUE);
  FAILS(cudaHostAlloc(&p, 100, 8), VALUE);
  WORKS(cudaHostAlloc(&p, 100, 2));
  WORKS(cudaHostGetFlags(&flags, p));
  CHECK_EQUAL(flags & 2, 2);
  FAILS(cudaHostGetFlags(NULL, p), VALUE);
  FAILS(cudaHostGetFlags(&flags, BAD), VALUE);
  WORKS(cudaFreeHost(p));

  char *own = malloc(10000);
  WORKS(cudaHostRegister(own, 10000, 0));
  FAILS(cudaHostRegister(own, 10000, 0), REGISTERED_ALREADY);
  FAILS(cudaHostRegister(own + 5000, 10000, 0), REGISTERED_ALREADY);
  FAILS(cudaHostUnregister(own + 1), NOT_REGISTERED);
  WORKS(cudaHostUnregister(own));
  FAILS(cudaHostUnregister(own), NOT_REGISTERED);
  FAILS(cudaHostUnregister(NULL), VALUE);
  FAILS(cudaHostRegister(NULL, 10, 0), VALUE);
  FAILS(cudaHostRegister(own, 0, 0), VALUE);
  FAILS(cudaHostRegister(own, 10, 0x100), VALUE);
  FAILS(cudaHostRegister(own, 10, 4), NOT_SUPPORTED);
  FAILS(cudaHostRegister(own, SIZE_MAX, 0), VALUE);
  FAILS(cudaHostRegister((void *)16, 64, 0), VALUE);
  free(own);

  WORKS(cudaMallocManaged(&p, 64, 1));
  memset(p, 2, 64);
  WORKS(cudaMemPrefetchAsync(p, 64, (sim_location){1, 0}, 0, NULL));
  FAILS(cudaMemPrefetchAsync(p, 65, (sim_location){1, 0}, 0, NULL), VALUE);
  FAILS(cudaMemPrefetchAsync(p, 64, (sim_location){1, 9}, 0, NULL), DEVICE);
  FAILS(cudaMemPrefetchAsync(p, 64, (sim_location){0, 0}, 0, NULL), VALUE);
  FAILS(cudaMemPrefetchAsync(p, 64, (sim_location){1, 0}, 1, NULL), VALUE);
  FAILS(cudaMemPrefetchAsync(p, 64, (sim_location){1, 0}, 0, BAD), HANDLE);
  WORKS(cudaMemAdvise(p, 64, 1, (sim_location){1, 0}));
  WORKS(cudaMemAdvise(p, 64, 3, (sim_location){2, 0}));
  FAILS(cudaMemAdvise(p, 64, 3, (sim_location){1, 5}), DEVICE);
  FAILS(cudaMemAdvise(p, 64, 0, (sim_location){1, 0}), VALUE);
  FAILS(cudaMemAdvise(BAD, 64, 1, (sim_location){1, 0}), VALUE);
  WORKS(cudaStreamAttachMemAsync(NULL, p, 0, 4));
  FAILS(cudaStreamAttachMemAsync(NULL, p, 0, 3), VALUE);
  FAILS(cudaStreamAttachMemAsync(NULL, BAD, 0, 4), VALUE);
  WORKS(cudaFree(p));
  FAILS(cudaMallocManaged(&p, 0, 1), VALUE);
  FAILS(cudaMallocManaged(&p, 64, 3), VALUE);
  FAILS(cudaMallocManaged(NULL, 64, 1), VALUE);
}

static void test_pointer(void) {
  sim_pointer_attributes known;
  void *device, *pinned, *managed;
  int local = 0;
  WORKS(cudaSetDevice(1));
  WORKS(cudaMalloc(&device, 100));
  WORKS(cudaSetDevice(0));
  WORKS(cudaMallocHost(&pinned, 100));
  WORKS(cudaMallocManaged(&managed, 100, 1));
  memset(&known, 0xa5, sizeof known);
  WORKS(cudaPointerGetAttributes(&known, (char *)device + 99));
  CHECK(known.type == 2 && known.device == 1 && known.device_pointer == (char *)device + 99 && !known.host_pointer);
  CHECK_EQUAL(known.reserved[7], 0);
  WORKS(cudaPointerGetAttributes(&known, (char *)device + 100));
  CHECK(known.type == 0 && known.device == -2);
  WORKS(cudaPointerGetAttributes(&known, pinned));
  CHECK(known.type == 1 && known.device == 0 && known.host_pointer == pinned && known.device_pointer == pinned);
  WORKS(cudaPointerGetAttributes(&known, managed));
  CHECK(known.type == 3 && known.host_pointer == managed && known.device_pointer == managed);
  WORKS(cudaPointerGetAttributes(&known, &local));
  CHECK(known.type == 0 && known.device == -2 && known.device_pointer == NULL);
  WORKS(cudaPointerGetAttributes(&known, NULL));
  CHECK_EQUAL(known.type, 0);
  FAILS(cudaPointerGetAttributes(NULL, pinned), VALUE);
  WORKS(cudaFree(device));
  WORKS(cudaFree(managed));
  WORKS(cudaFreeHost(pinned));
}

/* All but the end of a long copy of pageable memory has arrived when the call returns, and the source may be changed. */
static void test_long_copy(void) {
  enum { LONG = 3 << 20 };
  uint8_t *host = malloc(LONG), *back = malloc(LONG);
  void *p = NULL;
  memset(host, 7, LONG);
  WORKS(cudaMalloc(&p, LONG));
  WORKS(cudaMemset(p, 1, LONG));
  WORKS(cudaMemcpy(p, host, LONG, HOST_DEVICE));
  memset(host, 9, LONG);
  WORKS(cudaMemcpy(back, p, LONG, DEVICE_HOST));
  for (int i = 0; i < LONG; i++)
    if (back[i] != 7) {
      CHECK_EQUAL(back[i], 7);
      break;
    }
  WORKS(cudaFree(p));
  free(host);
  free(back);
}

static void test_copy(void) {
  enum { N = 1000 };
  unsigned char in[N], out[N];
  unsigned char *p, *q;
  for (int i = 0; i < N; i++)
    in[i] = (unsigned char)(i * 7);
  WORKS(cudaMalloc((void **)&p, N));
  WORKS(cudaSetDevice(1));
  WORKS(cudaMalloc((void **)&q, N));
  WORKS(cudaSetDevice(0));

  WORKS(cudaMemcpy(p, in, N, HOST_DEVICE));
  memset(out, 0, N);
  WORKS(cudaMemcpy(out, p, N, DEVICE_HOST));
  CHECK_EQUAL(memcmp(in, out, N), 0);
  memset(out, 0, N);
  WORKS(cudaMemcpy_ptds(p, in, N, DEFAULT));
  WORKS(cudaMemcpy_ptds(out, p, N, DEFAULT));
  CHECK_EQUAL(memcmp(in, out, N), 0);
  memset(out, 0, N);
  WORKS(cudaMemcpy(out, in, N, HOST_HOST));
  CHECK_EQUAL(memcmp(in, out, N), 0);
  WORKS(cudaMemcpyPeer(q, 1, p, 0, N));
  memset(out, 0, N);
  WORKS(cudaMemcpy(out, q, N, DEVICE_HOST));
  CHECK_EQUAL(memcmp(in, out, N), 0);
  /* A staged copy may be changed at once; one from pinned memory has what is there when it runs. */
  WORKS(cudaMemcpyAsync(p, in, N, HOST_DEVICE, NULL));
  in[0] ^= 0xff;
  WORKS(cudaMemcpy(out, p, N, DEVICE_HOST));
  CHECK_EQUAL(out[0], in[0] ^ 0xff);

  FAILS(cudaMemcpy(p, in, N, 5), DIRECTION);
  FAILS(cudaMemcpy(p, in, N, -1), DIRECTION);
  FAILS(cudaMemcpy(NULL, in, N, HOST_DEVICE), VALUE);
  FAILS(cudaMemcpy(p, NULL, N, HOST_DEVICE), VALUE);
  FAILS(cudaMemcpy(p, in, N + 1, HOST_DEVICE), VALUE);
  FAILS(cudaMemcpy(p, in, SIZE_MAX, HOST_DEVICE), VALUE);
  FAILS(cudaMemcpy(p, BAD, 8, HOST_DEVICE), VALUE);
  FAILS(cudaMemcpy(BAD, p, 8, DEVICE_HOST), VALUE);
  FAILS(cudaMemcpy(in, p, N, HOST_DEVICE), VALUE);
  FAILS(cudaMemcpyAsync(p, in, N, HOST_DEVICE, BAD), HANDLE);
  WORKS(cudaMemcpy(NULL, NULL, 0, HOST_DEVICE));
  FAILS(cudaMemcpyPeer(q, 0, p, 0, N), VALUE);
  FAILS(cudaMemcpyPeer(q, 1, p, 2, N), DEVICE);

  WORKS(cudaMemset(p, 0x5a, N));
  WORKS(cudaMemcpy(out, p, N, DEVICE_HOST));
  CHECK(out[0] == 0x5a && out[N - 1] == 0x5a);
  FAILS(cudaMemset(NULL, 0, 1), VALUE);
  FAILS(cudaMemset(p, 0, N + 1), VALUE);
  FAILS(cudaMemset(BAD, 0, 1), VALUE);
  WORKS(cudaMemset(BAD, 0, 0));
  FAILS(cudaMemsetAsync(p, 0, 1, BAD), HANDLE);

  /* Rows: 10 of 8 bytes at every 20th. */
  WORKS(cudaMemset(p, 0, N));
  WORKS(cudaMemcpy2D(p, 20, in, 8, 8, 10, HOST_DEVICE));
  WORKS(cudaMemcpy(out, p, N, DEVICE_HOST));
  CHECK_EQUAL(memcmp(out + 180, in + 72, 8), 0);
  CHECK_EQUAL(out[8], 0);
  FAILS(cudaMemcpy2D(p, 7, in, 8, 8, 10, HOST_DEVICE), PITCH);
  FAILS(cudaMemcpy2D(p, 8, in, 7, 8, 10, HOST_DEVICE), PITCH);
  FAILS(cudaMemcpy2D(p, 500, in, 8, 8, 10, HOST_DEVICE), VALUE);
  FAILS(cudaMemcpy2D(p, SIZE_MAX, in, SIZE_MAX, 8, SIZE_MAX, HOST_DEVICE), VALUE);
  WORKS(cudaMemset2D(p, 20, 9, 4, 5));
  FAILS(cudaMemset2D(p, 3, 9, 4, 5), PITCH);
  FAILS(cudaMemset2D(p, 20, 9, 4, 51), VALUE);
  WORKS(cudaMemcpy(out, p, N, DEVICE_HOST));
  CHECK(out[80] == 9 && out[83] == 9 && out[100] == in[40]);

  /* A box of 3 x 2 x 2 inside slices of 5 x 4, from (1, 1, 1). */
  sim_copy_3d box = {.source = {in, 3, 3, 2},
                     .destination = {p, 5, 5, 4},
                     .destination_position = {1, 1, 1},
                     .extent = {3, 2, 2},
                     .kind = HOST_DEVICE};
  WORKS(cudaMemset(p, 0, N));
  WORKS(cudaMemcpy3D(&box));
  WORKS(cudaMemcpy(out, p, N, DEVICE_HOST));
  CHECK(out[26] == in[0] && out[27] == in[1] && out[31] == in[3] && out[46] == in[6] && out[53] == in[11]);
  CHECK(out[25] == 0 && out[29] == 0);
  FAILS(cudaMemcpy3D(NULL), VALUE);
  box.kind = 17;
  FAILS(cudaMemcpy3D(&box), DIRECTION);
  box.kind = HOST_DEVICE;
  box.source_array = BAD;
  FAILS(cudaMemcpy3D(&box), NOT_SUPPORTED);
  box.source_array = NULL;
  box.destination_position.z = SIZE_MAX;
  FAILS(cudaMemcpy3D(&box), VALUE);
  box.destination_position = (sim_position){3, 0, 0};
  FAILS(cudaMemcpy3D(&box), PITCH);
  box.destination_position = (sim_position){0, 3, 0};
  FAILS(cudaMemcpy3D(&box), VALUE);
  FAILS(cudaMemcpy3DPeer(NULL), VALUE);
  FAILS(cudaMemcpy3DPeer(&(sim_copy_3d_peer){.source_device = 5}), DEVICE);
  WORKS(cudaMemset3D((sim_pitched){p, 5, 5, 4}, 3, (sim_extent){2, 2, 3}));
  WORKS(cudaMemcpy(out, p, N, DEVICE_HOST));
  CHECK(out[0] == 3 && out[1] == 3 && out[2] == 0 && out[6] == 3 && out[46] == 3 && out[10] == 0);
  FAILS(cudaMemset3D((sim_pitched){p, 5, 5, 4}, 3, (sim_extent){2, 2, SIZE_MAX}), VALUE);
  FAILS(cudaMemset3D((sim_pitched){p, 5, 5, 4}, 3, (sim_extent){2, 5, 2}), VALUE);
  FAILS(cudaMemset3D((sim_pitched){BAD, 5, 5, 4}, 3, (sim_extent){2, 2, 2}), VALUE);

  FAILS(cudaMemcpyToSymbol(&test_checks, in, 4, 0, HOST_DEVICE), SYMBOL);
  FAILS(cudaGetSymbolAddress((void **)&p, &test_checks), SYMBOL);
  WORKS(cudaDeviceSynchronize());
  WORKS(cudaFree(p));
  WORKS(cudaFree(q));
}

static void test_pool(void) {
  void *pool = NULL, *other = NULL, *p = NULL;
  uint64_t value = 0;
  int flags = -1;
  WORKS(cudaDeviceGetDefaultMemPool(&pool, 0));
  WORKS(cudaDeviceGetMemPool(&other, 0));
  CHECK(pool == other);
  FAILS(cudaDeviceGetDefaultMemPool(NULL, 0), VALUE);
  FAILS(cudaDeviceGetDefaultMemPool(&pool, 2), DEVICE);
  FAILS(cudaDeviceSetMemPool(0, BAD), VALUE);
  FAILS(cudaDeviceSetMemPool(4, pool), DEVICE);
  FAILS(cudaMemPoolDestroy(pool), VALUE);
  FAILS(cudaMemPoolDestroy(BAD), VALUE);
  FAILS(cudaMemPoolTrimTo(BAD, 0), VALUE);
  WORKS(cudaMemPoolTrimTo(pool, 0));
  sim_pool_settings settings = {.type = 1, .location = {1, 1}};
  WORKS(cudaMemPoolCreate(&other, &settings));
  FAILS(cudaDeviceSetMemPool(0, other), VALUE); /* another device's */
  WORKS(cudaMemPoolDestroy(other));
  FAILS(cudaMemPoolDestroy(other), VALUE);
  settings.handle_types = 1;
  FAILS(cudaMemPoolCreate(&other, &settings), NOT_SUPPORTED);
  settings = (sim_pool_settings){.type = 7, .location = {1, 0}};
  FAILS(cudaMemPoolCreate(&other, &settings), VALUE);
  settings = (sim_pool_settings){.type = 1, .location = {1, 9}};
  FAILS(cudaMemPoolCreate(&other, &settings), VALUE);
  settings = (sim_pool_settings){.type = 1, .location = {1, 0}, .reserved = {1}};
  FAILS(cudaMemPoolCreate(&other, &settings), VALUE);
  FAILS(cudaMemPoolCreate(NULL, &settings), VALUE);
  FAILS(cudaMemPoolCreate(&other, NULL), VALUE);
  value = 1 << 20;
  WORKS(cudaMemPoolSetAttribute(pool, 4, &value));
  value = 0;
  WORKS(cudaMemPoolGetAttribute(pool, 4, &value));
  CHECK_EQUAL(value, 1 << 20);
  FAILS(cudaMemPoolGetAttribute(pool, 99, &value), VALUE);
  FAILS(cudaMemPoolGetAttribute(pool, 4, NULL), VALUE);
  FAILS(cudaMemPoolGetAttribute(BAD, 4, &value), VALUE);
  WORKS(cudaMemPoolSetAccess(pool, &(sim_access){{1, 1}, 3}, 1));
  WORKS(cudaMemPoolGetAccess(&flags, pool, &(sim_location){1, 1}));
  CHECK_EQUAL(flags, 3);
  FAILS(cudaMemPoolSetAccess(pool, &(sim_access){{2, 1}, 3}, 1), VALUE);
  FAILS(cudaMemPoolSetAccess(pool, &(sim_access){{1, 8}, 3}, 1), DEVICE);
  FAILS(cudaMemPoolSetAccess(pool, NULL, 1), VALUE);
  FAILS(cudaMemPoolSetAccess(pool, NULL, SIZE_MAX), VALUE);
  FAILS(cudaMemPoolGetAccess(NULL, pool, &(sim_location){1, 1}), VALUE);
  FAILS(cudaMemPoolGetAccess(&flags, pool, NULL), VALUE);

  WORKS(cudaMallocAsync(&p, 100, NULL));
  WORKS(cudaMemsetAsync(p, 1, 100, NULL));
  WORKS(cudaFreeAsync(p, NULL));
  FAILS(cudaFreeAsync(BAD, NULL), VALUE);
  FAILS(cudaFreeAsync(NULL, NULL), VALUE);
  WORKS(cudaDeviceSynchronize());
  FAILS(cudaFreeAsync(p, NULL), VALUE);
  FAILS(cudaMallocAsync(NULL, 100, NULL), VALUE);
  FAILS(cudaMallocAsync(&p, 100, BAD), HANDLE);
  FAILS(cudaMallocAsync(&p, (size_t)1 << 40, NULL), MEMORY);
  FAILS(cudaMallocFromPoolAsync(&p, 100, BAD, NULL), VALUE);
  FAILS(cudaMallocFromPoolAsync(&p, 100, NULL, NULL), VALUE);
  WORKS(cudaMallocFromPoolAsync(&p, 100, pool, NULL));
  WORKS(cudaFree(p));
}

int main(void) {
  cudart_settings();
  test_memory();
  test_pointer();
  test_copy();
  test_long_copy();
  test_pool();
  return test_end();
}
