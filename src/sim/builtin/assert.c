/* assert in kernels. */
#include "builtin.h"

#include <string.h>

static void copy_text(const sim_warp *warp, int lane, uint64_t address, char *out, size_t room) {
  char error[256];
  const char *text;
  int64_t length = address ? sim_builtin_text(warp, lane, address, &text, error, sizeof error) : -1;
  if (length < 0) {
    text = "?";
    length = 1;
  }
  if ((size_t)length >= room)
    length = (int64_t)room - 1;
  memcpy(out, text, (size_t)length);
  out[length] = '\0';
}

int sim_builtin_assertfail(sim_warp *warp, const sim_op *op, uint32_t mask, const sim_call *call) {
  int lane = __builtin_ctz(mask);
  char condition[256], file[256], function[256];
  const uint32_t *block = warp->block->index, *size = warp->grid->launch->block;
  uint32_t thread = warp->index * SIM_WARP_SIZE + (uint32_t)lane;
  copy_text(warp, lane, sim_builtin_get(warp, call, 0, lane), condition, sizeof condition);
  copy_text(warp, lane, sim_builtin_get(warp, call, 1, lane), file, sizeof file);
  copy_text(warp, lane, sim_builtin_get(warp, call, 3, lane), function, sizeof function);
  return sim_warp_fault(warp, op, lane, 710, "%s:%u: %s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%s` failed.",
                        file, (uint32_t)sim_builtin_get(warp, call, 2, lane), function, block[0], block[1], block[2],
                        thread % size[0], thread / size[0] % size[1], thread / size[0] / size[1], condition);
}
