/* Accesses of kernels that are not right: which allocation, which code, which words. */
#include "launch.h"
#include "../host.h"

#include <stdio.h>
#include <string.h>

static const char *what_name(int what) {
  return what == SIM_READ ? "reads" : what == SIM_WRITE ? "writes" : "updates";
}

static const char *bytes_name(uint32_t bytes, char text[24]) {
  snprintf(text, 24, bytes == 1 ? "%u byte" : "%u bytes", bytes);
  return text;
}

bool sim_bounds_find(sim_warp *warp, const sim_op *op, int lane, uint64_t address, uint32_t bytes, int what,
                     struct sim_lookup *lookup) {
  sim_allocation *allocation = NULL;
  char text[600], size[24];
  int result =
      sim_memory_access(&allocation, address, bytes, warp->grid->device, (what & SIM_WRITE) != 0, text, sizeof text);
  if (result != 0 || !allocation) {
    bool nowhere = !allocation && strcmp(text, "in no allocation") == 0;
    if (nowhere && sim_host_usable(address, bytes, false))
      snprintf(text, sizeof text, "in host memory that no CUDA function made or registered");
    else if (nowhere && address < 4096)
      snprintf(text, sizeof text, "which is a null pointer");
    sim_warp_fault(warp, op, lane, result ? result : 700, "%s %s at 0x%llx, %s", what_name(what),
                   bytes_name(bytes, size), (unsigned long long)address, text);
    return false;
  }
  lookup->begin = allocation->address;
  lookup->readable = allocation->size;
  lookup->writable = allocation->read_only ? 0 : allocation->size;
  lookup->delta = (uint64_t)(uintptr_t)allocation->host - allocation->address;
  lookup->memory = warp->grid->checks ? sim_check_memory_get(warp->grid, allocation) : NULL;
  return true;
}

void sim_bounds_misaligned(sim_warp *warp, const sim_op *op, int lane, uint64_t address, uint32_t bytes, int what) {
  char size[24];
  sim_warp_fault(warp, op, lane, 716, "%s %s at 0x%llx, which is not a multiple of %u", what_name(what),
                 bytes_name(bytes, size), (unsigned long long)address, bytes);
}

void sim_bounds_space(sim_warp *warp, const sim_op *op, int lane, uint64_t address, uint32_t bytes, int what,
                      const char *space, uint64_t size) {
  char text[24], where[48] = "just";
  uint64_t past = address < size ? address + bytes - size : address - size;
  if (past)
    snprintf(where, sizeof where, past == 1 ? "%llu byte" : "%llu bytes", (unsigned long long)past);
  sim_warp_fault(warp, op, lane, 700, "%s %s at offset %llu of %s memory, %s past the end of its %llu bytes",
                 what_name(what), bytes_name(bytes, text), (unsigned long long)address, space, where,
                 (unsigned long long)size);
}
