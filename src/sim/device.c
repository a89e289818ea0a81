/* The devices and what they can do. */
#include "device.h"

#include <stdio.h>
#include <string.h>

#include "memory.h"
#include "result.h"

static sim_device devices[SIM_DEVICES_MAX];
static int device_count;
static bool started;

/* Rows of the table "Technical Specifications per Compute Capability" of the CUDA C++ programming guide. */
typedef struct {
  int capability;
  uint32_t threads_per_sm, blocks_per_sm, shared_per_sm_kib, shared_opt_in_kib;
} capability_row;

static const capability_row capabilities[] = {
    {75, 1024, 16, 64, 64},    {80, 2048, 32, 164, 163},  {86, 1536, 16, 100, 99},  {87, 1536, 16, 164, 163},
    {88, 1536, 16, 100, 99},   {89, 1536, 24, 100, 99},   {90, 2048, 32, 228, 227}, {100, 2048, 32, 228, 227},
    {103, 2048, 32, 228, 227}, {110, 1536, 24, 228, 227}, {120, 1536, 24, 100, 99}, {121, 1536, 24, 100, 99},
};

const sim_limits *sim_device_limits(void) {
  static sim_limits limits;
  if (limits.threads_per_block)
    return &limits;
  int capability = sim_config_get()->capability;
  const capability_row *row = capabilities;
  while (row->capability != capability)
    row++;
  limits = (sim_limits){
      .block = {1024, 1024, 64},
      .grid = {0x7fffffff, 65535, 65535},
      .shared_per_block = 48 << 10,
      .shared_opt_in = row->shared_opt_in_kib << 10,
      .shared_per_sm = row->shared_per_sm_kib << 10,
      .shared_reserved = capability >= 80 ? 1024 : 0,
      .registers_per_block = 65536,
      .registers_per_sm = 65536,
      .threads_per_sm = row->threads_per_sm,
      .blocks_per_sm = row->blocks_per_sm,
      .warps_per_sm = row->threads_per_sm / 32,
      .constant_bytes = 64 << 10,
      .l2_bytes = 4 << 20,
  };
  limits.threads_per_block = 1024;
  return &limits;
}

static void device_init(sim_device *device, int ordinal) {
  const sim_config *config = sim_config_get();
  device->ordinal = ordinal;
  snprintf(device->name, sizeof device->name, "Simulated CUDA device (sm_%d)", config->capability);
  memcpy(device->uuid, "xchg simulated ", 15);
  device->uuid[15] = (uint8_t)ordinal;
  sim_context_init(&device->primary, device);
  device->primary.primary = true;
}

int sim_device_start(void) {
  if (started)
    return SIM_SUCCESS;
  const sim_config *config = sim_config_get();
  for (int i = 0; i < config->devices; i++) {
    device_init(&devices[i], i);
    int result = sim_memory_start(&devices[i], config->memory);
    if (result)
      return result;
  }
  device_count = config->devices;
  started = true;
  return SIM_SUCCESS;
}

bool sim_device_started(void) {
  return started;
}

int sim_device_count(void) {
  return device_count;
}

sim_device *sim_device_get(int ordinal) {
  return ordinal >= 0 && ordinal < device_count ? &devices[ordinal] : NULL;
}

/* Numbers of cudaDeviceAttr and CUdevice_attribute; what is not listed and lies below the last one is 0. */
int sim_device_attribute(const sim_device *device, int attribute, int *value) {
  enum { LAST = 148 };
  const sim_limits *limits = sim_device_limits();
  const sim_config *config = sim_config_get();
  switch (attribute) {
  case 1: *value = (int)limits->threads_per_block; break;
  case 2: *value = (int)limits->block[0]; break;
  case 3: *value = (int)limits->block[1]; break;
  case 4: *value = (int)limits->block[2]; break;
  case 5: *value = (int)limits->grid[0]; break;
  case 6: *value = (int)limits->grid[1]; break;
  case 7: *value = (int)limits->grid[2]; break;
  case 8: *value = (int)limits->shared_per_block; break;
  case 9: *value = (int)limits->constant_bytes; break;
  case 10: *value = 32; break;
  case 11: *value = 0x7fffffff; break; /* pitch */
  case 12: *value = (int)limits->registers_per_block; break;
  case 13: *value = 1000000; break; /* kHz */
  case 14: *value = 512; break;     /* alignment of textures */
  case 16: *value = config->sms; break;
  case 19: *value = 1; break;                   /* maps host memory */
  case 30: *value = 512; break;                 /* alignment of surfaces */
  case 31: *value = 1; break;                   /* concurrent kernels */
  case 33: *value = device->ordinal + 1; break; /* PCI bus */
  case 36: *value = 1000000; break;             /* memory clock, kHz */
  case 37: *value = 64; break;                  /* bus width, bits */
  case 38: *value = (int)limits->l2_bytes; break;
  case 39: *value = (int)limits->threads_per_sm; break;
  case 15:
  case 40: *value = 1; break;  /* copies beside kernels */
  case 41: *value = 1; break;  /* unified addressing */
  case 51: *value = 32; break; /* pitch of textures */
  case 75: *value = config->capability / 10; break;
  case 76: *value = config->capability % 10; break;
  case 78: *value = 1; break; /* stream priorities */
  case 79:
  case 80: *value = 1; break; /* L1 */
  case 81: *value = (int)limits->shared_per_sm; break;
  case 82: *value = (int)limits->registers_per_sm; break;
  case 83: *value = 1; break; /* managed memory */
  case 85: *value = device->ordinal; break;
  case 87: *value = 2; break; /* single to double */
  case 89: *value = 1; break; /* concurrent managed access */
  case 90: *value = 1; break; /* preemption */
  case 91: *value = 1; break; /* registered memory keeps its address */
  case 95: *value = 1; break; /* cooperative launch */
  case 97: *value = (int)limits->shared_opt_in; break;
  case 99: *value = 1; break; /* cudaHostRegister */
  case 106: *value = (int)limits->blocks_per_sm; break;
  case 111: *value = (int)limits->shared_reserved; break;
  case 113: *value = 1; break;                                /* read-only registration */
  case 115: *value = 1; break;                                /* memory pools */
  case 126: *value = config->capability >= 90 ? 4 : 1; break; /* synchronisation domains */
  case 131:
  case 134: *value = -1; break; /* NUMA nodes: none */
  case 139: *value = 0; break;
  case 142:
  case 144: *value = 1; break; /* pools of host memory */
  default:
    if (attribute < 1 || attribute > LAST)
      return SIM_INVALID_VALUE;
    *value = 0;
  }
  return SIM_SUCCESS;
}
