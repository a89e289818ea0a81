/* Devices in the runtime API: which there are, which is current, their flags, limits and names. */
#include <stdio.h>
#include <string.h>

#include "front.h"

enum { DEVICE_FLAGS = 0x9f }; /* of cudaSetDeviceFlags: how to wait (1, 2, 4), map host 8, keep local memory 16, 0x80 */

static int device_select(int ordinal) {
  sim_device *device = sim_device_get(ordinal);
  if (!device)
    return SIM_INVALID_DEVICE;
  sim_thread_get()->device = ordinal;
  sim_primary_activate(device);
  int result = sim_context_set_current(&device->primary);
  return result ? result : device->primary.lost;
}

static int device_current(int *ordinal) {
  if (!ordinal)
    return SIM_INVALID_VALUE;
  const sim_context *context = sim_context_peek();
  *ordinal = context && !sim_context_check(context) ? context->device->ordinal : sim_thread_get()->device;
  return SIM_SUCCESS;
}

static int device_count(int *count) {
  if (!count)
    return SIM_INVALID_VALUE;
  *count = sim_device_count();
  return SIM_SUCCESS;
}

/* How to wait is one of three, or none. */
static bool device_flags_valid(unsigned flags) {
  unsigned how = flags & 7;
  return !(flags & ~(unsigned)DEVICE_FLAGS) && !(how & (how - 1));
}

static int device_init(int ordinal, unsigned device_flags, unsigned flags) {
  sim_device *device = sim_device_get(ordinal);
  if (!device)
    return SIM_INVALID_DEVICE;
  if (flags > 1 || (flags && !device_flags_valid(device_flags)))
    return SIM_INVALID_VALUE;
  if (flags)
    device->primary.flags = device_flags;
  sim_primary_activate(device);
  return device->primary.lost;
}

/* The primary context of the thread's device, without making it active. */
static sim_context *device_primary(void) {
  int ordinal = 0;
  device_current(&ordinal);
  sim_device *device = sim_device_get(ordinal);
  return device ? &device->primary : NULL;
}

static int device_set_flags(unsigned flags) {
  if (!device_flags_valid(flags))
    return SIM_INVALID_VALUE;
  sim_context *primary = device_primary();
  if (!primary)
    return SIM_INVALID_DEVICE;
  primary->flags = flags;
  return SIM_SUCCESS;
}

static int device_get_flags(unsigned *flags) {
  if (!flags)
    return SIM_INVALID_VALUE;
  const sim_context *primary = device_primary();
  if (!primary)
    return SIM_INVALID_DEVICE;
  *flags = primary->flags;
  return SIM_SUCCESS;
}

static int device_attribute(int *value, int attribute, int ordinal) {
  if (!value)
    return SIM_INVALID_VALUE;
  const sim_device *device = sim_device_get(ordinal);
  return device ? sim_device_attribute(device, attribute, value) : SIM_INVALID_DEVICE;
}

enum { PROPERTIES_11 = 712, PROPERTIES_12 = 1032, PROPERTIES_13 = 1008 };

/* The plain name has the layout of CUDA 13 there, and in a runtime of CUDA 12 that of 11, with which 12's begins. */
static int device_properties(void *properties, int ordinal, int version) {
  if (!properties)
    return SIM_INVALID_VALUE;
  const sim_device *device = sim_device_get(ordinal);
  if (!device)
    return SIM_INVALID_DEVICE;
  if (version != 11) {
    sim_device_properties(device, version, properties);
    return SIM_SUCCESS;
  }
  uint64_t newer[PROPERTIES_12 / sizeof(uint64_t)];
  sim_device_properties(device, 12, newer);
  memcpy(properties, newer, PROPERTIES_11);
  return SIM_SUCCESS;
}

static int device_choose(int *ordinal, const void *properties) {
  if (!ordinal || !properties)
    return SIM_INVALID_VALUE;
  *ordinal = 0; /* all are alike */
  return SIM_SUCCESS;
}

static int device_bus(const sim_device *device, int place[3]) {
  static const int attributes[3] = {50, 33, 34}; /* domain, bus, device */
  for (int i = 0; i < 3; i++) {
    int result = sim_device_attribute(device, attributes[i], &place[i]);
    if (result)
      return result;
  }
  return SIM_SUCCESS;
}

static int device_bus_id(char *text, int room, int ordinal) {
  if (!text || room < (int)sizeof "0000:00:00.0")
    return SIM_INVALID_VALUE;
  const sim_device *device = sim_device_get(ordinal);
  if (!device)
    return SIM_INVALID_DEVICE;
  int place[3];
  int result = device_bus(device, place);
  if (!result)
    snprintf(text, (size_t)room, "%04x:%02x:%02x.0", (unsigned)place[0] & 0xffff, (unsigned)place[1] & 0xff,
             (unsigned)place[2] & 0xff);
  return result;
}

/* "domain:bus:device.function", "domain:bus:device" or "bus:device.function", in hexadecimal. */
static int device_by_bus_id(int *ordinal, const char *text) {
  if (!ordinal || !text)
    return SIM_INVALID_VALUE;
  unsigned domain = 0, bus, slot, function = 0;
  char rest;
  int long_form = sscanf(text, "%x:%x:%x.%x%c", &domain, &bus, &slot, &function, &rest);
  if (long_form != 4 && (long_form != 3 || strchr(text, '.'))) {
    domain = 0;
    if (sscanf(text, "%x:%x.%x%c", &bus, &slot, &function, &rest) != 3)
      return SIM_INVALID_VALUE;
  }
  for (int i = 0; i < sim_device_count(); i++) {
    int place[3];
    int result = device_bus(sim_device_get(i), place);
    if (result)
      return result;
    if ((unsigned)place[0] == domain && (unsigned)place[1] == bus && (unsigned)place[2] == slot && !function) {
      *ordinal = i;
      return SIM_SUCCESS;
    }
  }
  return SIM_INVALID_DEVICE;
}

enum { LIMITS = 7 }; /* cudaLimitStackSize to cudaLimitPersistingL2CacheSize */

static int device_set_limit(int limit, size_t value) {
  sim_context *context;
  int result = sim_runtime_context(&context);
  if (result)
    return result;
  if (limit < 0 || limit >= LIMITS)
    return SIM_UNSUPPORTED_LIMIT;
  context->limits[limit] = value;
  return SIM_SUCCESS;
}

static int device_get_limit(size_t *value, int limit) {
  sim_context *context;
  int result = sim_runtime_context(&context);
  if (result)
    return result;
  if (!value)
    return SIM_INVALID_VALUE;
  if (limit < 0 || limit >= LIMITS)
    return SIM_UNSUPPORTED_LIMIT;
  *value = context->limits[limit];
  return SIM_SUCCESS;
}

/* A preference of the context: remembered, without effect. */
static int device_set_preference(bool shared, int value, int last) {
  sim_context *context;
  int result = sim_runtime_context(&context);
  if (result)
    return result;
  if (value < 0 || value > last)
    return SIM_INVALID_VALUE;
  *(shared ? &context->shared_config : &context->cache_config) = value;
  return SIM_SUCCESS;
}

static int device_get_preference(int *value, bool shared) {
  sim_context *context;
  int result = sim_runtime_context(&context);
  if (result)
    return result;
  if (!value)
    return SIM_INVALID_VALUE;
  *value = shared ? context->shared_config : context->cache_config;
  return SIM_SUCCESS;
}

static int device_synchronize(void) {
  sim_context *context;
  int result = sim_runtime_context(&context);
  return result ? result : sim_context_synchronize(context);
}

/* Works on a lost context too: that is its use. */
static int device_reset(void) {
  int ordinal = 0;
  device_current(&ordinal);
  int result = sim_primary_reset(ordinal);
  if (!result)
    sim_thread_get()->last_error = SIM_SUCCESS;
  return result;
}

static int device_memory(size_t *available, size_t *total) {
  sim_context *context;
  int result = sim_runtime_context(&context);
  if (result)
    return result;
  if (!available || !total)
    return SIM_INVALID_VALUE;
  uint64_t all = sim_config_get()->memory, used = sim_memory_used(context->device);
  *total = all;
  *available = used < all ? all - used : 0;
  return SIM_SUCCESS;
}

SIM_RUNTIME(cudaGetDeviceCount, SIM_CALL_PLAIN, (int *count), device_count(count));
SIM_RUNTIME(cudaGetDevice, SIM_CALL_PLAIN, (int *device), device_current(device));
SIM_RUNTIME(cudaSetDevice, SIM_CALL_PLAIN, (int device), device_select(device));
SIM_RUNTIME(cudaInitDevice, SIM_CALL_PLAIN, (int device, unsigned device_flags, unsigned flags),
            device_init(device, device_flags, flags));
SIM_RUNTIME(cudaSetDeviceFlags, SIM_CALL_PLAIN, (unsigned flags), device_set_flags(flags));
SIM_RUNTIME(cudaGetDeviceFlags, SIM_CALL_PLAIN, (unsigned *flags), device_get_flags(flags));
SIM_RUNTIME(cudaDeviceGetAttribute, SIM_CALL_PLAIN, (int *value, int attribute, int device),
            device_attribute(value, attribute, device));
SIM_RUNTIME(cudaGetDeviceProperties, SIM_CALL_PLAIN, (void *properties, int device),
            device_properties(properties, device, sim_runtime_major() >= 13 ? 13 : 11));
SIM_RUNTIME(cudaGetDeviceProperties_v2, SIM_CALL_PLAIN, (void *properties, int device),
            device_properties(properties, device, 12));
SIM_RUNTIME(cudaChooseDevice, SIM_CALL_PLAIN, (int *device, const void *properties), device_choose(device, properties));
SIM_RUNTIME(cudaDeviceGetPCIBusId, SIM_CALL_PLAIN, (char *text, int room, int device),
            device_bus_id(text, room, device));
SIM_RUNTIME(cudaDeviceGetByPCIBusId, SIM_CALL_PLAIN, (int *device, const char *text), device_by_bus_id(device, text));
SIM_RUNTIME(cudaDeviceSetLimit, SIM_CALL_PLAIN, (int limit, size_t value), device_set_limit(limit, value));
SIM_RUNTIME(cudaDeviceGetLimit, SIM_CALL_PLAIN, (size_t *value, int limit), device_get_limit(value, limit));
SIM_RUNTIME(cudaDeviceSetCacheConfig, SIM_CALL_PLAIN, (int config), device_set_preference(false, config, 3));
SIM_RUNTIME(cudaDeviceGetCacheConfig, SIM_CALL_PLAIN, (int *config), device_get_preference(config, false));
SIM_RUNTIME(cudaDeviceSetSharedMemConfig, SIM_CALL_PLAIN, (int config), device_set_preference(true, config, 2));
SIM_RUNTIME(cudaDeviceGetSharedMemConfig, SIM_CALL_PLAIN, (int *config), device_get_preference(config, true));
SIM_RUNTIME(cudaDeviceSynchronize, SIM_CALL_CAPTURE_ILLEGAL, (void), device_synchronize());
SIM_RUNTIME(cudaDeviceReset, SIM_CALL_CAPTURE_ILLEGAL, (void), device_reset());
SIM_RUNTIME(cudaMemGetInfo, SIM_CALL_PLAIN, (size_t *available, size_t *total), device_memory(available, total));
SIM_RUNTIME(cudaDeviceGraphMemTrim, SIM_CALL_PLAIN, (int device),
            sim_device_get(device) ? SIM_SUCCESS : SIM_INVALID_DEVICE); /* memory of graphs is never kept back */
SIM_RUNTIME(cudaCtxResetPersistingL2Cache, SIM_CALL_PLAIN, (void), SIM_SUCCESS);
