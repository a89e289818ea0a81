#include "cuda/failure.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cuda/pending.h"
#include "cuda/runtime.h"

/* What the codes that programs meet mean here, and what to do about them. The runtime's own sentence stands for
 * others. */
static const struct {
  int code;
  const char *text;
} MEANINGS[] = {
    {1, "a value that CUDA does not take"},
    {2, "the device's memory is exhausted; release tensors (t:release(), collectgarbage()), or use smaller ones"},
    {3, "CUDA could not be initialised; a process forked from one that uses CUDA cannot use it: start a new program"},
    {4, "CUDA is shutting down with the process"},
    {9,
     "grid or block do not fit the device; a block has at most 1024 threads, a grid at most 2147483647 x 65535 x 65535 "
     "blocks, and none of them may be 0"},
    {35, "the driver is older than the runtime; update it, or install an older CUDA runtime (XCHG_CUDART)"},
    {46, "the device is used by another program alone, or is in prohibited mode (nvidia-smi -q -d COMPUTE)"},
    {98, "the kernel is not of this device's code"},
    {100, "there is no CUDA device; is one visible (CUDA_VISIBLE_DEVICES, nvidia-smi)?"},
    {101, "there is no such device; cuda.device_count() tells how many there are, from cuda:0 on"},
    {200, "the image is no kernel code that the driver knows: PTX text, cubin or fatbin"},
    {201, "no context is current; the device was reset behind our back"},
    {209, "the code was compiled for another device; compile for this one (cuda.device().capability) or to PTX"},
    {214, "the device's memory has an error that could not be corrected (ECC); see nvidia-smi -q"},
    {217, "the two devices cannot reach each other's memory"},
    {218, "the PTX is wrong, or for a newer device than this"},
    {221, "the driver's compiler for PTX is missing (libnvidia-ptxjitcompiler); install it, or compile to a cubin"},
    {222,
     "the PTX is of a newer CUDA than the driver knows; update the driver, compile to a cubin, or use an older NVRTC"},
    {223, "compiling PTX is switched off (CUDA_DISABLE_PTX_JIT); compile to a cubin"},
    {400, "a stream, event, graph or kernel that is not of this device, or no longer there"},
    {401, "the object is in a state in which it cannot do this"},
    {500, "there is nothing of that name in the code; C++ names are mangled: declare it extern \"C\", or ask for it by "
          "names = {...}"},
    {600, "work that was asked about is not done yet; synchronize first"},
    {700,
     "a kernel read or wrote memory that is not its own: past the end of a tensor, a host pointer, freed memory, or "
     "another device's"},
    {701, "the launch needs more registers or shared memory than the device has; make the block smaller"},
    {702, "a kernel ran longer than the system allows: an endless loop, or a wait for what never comes"},
    {704, "access to the other device's memory was enabled already"},
    {705, "access to the other device's memory was not enabled"},
    {709, "the device's context was destroyed behind our back (cudaDeviceReset)"},
    {710, "an assert in a kernel failed"},
    {712, "the host memory was registered already"},
    {713, "the host memory was not registered"},
    {714, "a kernel overflowed its stack, or the hardware failed"},
    {715, "a kernel came to an instruction that the device does not know"},
    {716, "a kernel read or wrote an address that is not a multiple of the value's size"},
    {717, "a kernel used an address outside of the space that its instruction is for"},
    {718, "a kernel jumped to where no code is"},
    {719, "a kernel failed while it ran: a trap, a barrier that not all threads reach, or a fault of the device"},
    {720, "the cooperative launch has more blocks than can run at once; k:occupancy tells how many that are"},
    {801, "this device, driver or CUDA version cannot do that"},
    {802, "the system is not ready for CUDA; on machines with NVSwitch the fabric manager must run"},
    {803, "the driver library is of another version than the kernel's module; restart the machine after an update"},
    {804, "the compatibility driver does not support this device"},
    {900, "this is not allowed while a graph is captured; do it before or after cuda.graph"},
    {901, "the capture was broken by an earlier error in it; capture again"},
    {902, "two captures would be merged by this; wait for a stream of the same capture only"},
    {903, "the stream takes no part in a capture that could be ended"},
    {904, "a stream that joined the capture was not joined back; let the captured stream wait for it before the end"},
    {905, "the capture would depend on work that was queued before it began"},
    {906, "the legacy default stream cannot be used while another stream is captured; give stream= or use "
          "cuda.with_stream"},
    {907, "the event was recorded in a capture; it means nothing outside of it"},
    {908, "the capture was begun by another thread, and must be ended there"},
    {910, "the graph has another shape than the one that was instantiated; instantiate it again"},
    {912, "the cluster does not fit the device; a cluster has at most 8 blocks, and the grid must be a multiple of it"},
    {999, "the driver failed in a way it has no name for; see dmesg. After a suspend of the machine, reload the "
          "nvidia_uvm module"},
};

int xchg__cuda_is_sticky(int result) {
  switch (result) {
  case 214:
  case 700:
  case 702:
  case 710:
  case 714:
  case 715:
  case 716:
  case 717:
  case 718:
  case 719: return 1;
  default: return 0;
  }
}

int xchg__cuda_is_capture(int result) {
  return result >= 900 && result <= 908;
}

void xchg__cuda_destroy(int (*destroy)(void *), void *handle) {
  int result = handle == NULL ? 0 : 1;
  for (int tries = 0; tries < 2 && result != 0 && !xchg__cuda_gone(); tries++)
    if ((result = destroy(handle)) != 0) {
      xchg__rt.cudaGetLastError();
      if (result == XCHG_CUDA_UNLOADING)
        xchg__cuda_note_unloading();
    }
}

const char *xchg__cuda_meaning(int result) {
  for (size_t i = 0; i < sizeof MEANINGS / sizeof *MEANINGS; i++)
    if (MEANINGS[i].code == result)
      return MEANINGS[i].text;
  return xchg__rt.cudaGetErrorString != NULL ? xchg__rt.cudaGetErrorString(result) : "unknown";
}

static int code_of(int result) {
  if (result == XCHG_CUDA_OUT_OF_MEMORY)
    return XCHG_E_MEMORY;
  return xchg__cuda_is_capture(result) ? XCHG_E_CAPTURE : XCHG_E_CUDA;
}

/* Adds to a text as far as there is room. */
__attribute__((format(printf, 3, 4))) static void text_add(char *text, size_t room, const char *format, ...) {
  size_t length = strlen(text);
  va_list args;
  va_start(args, format);
  vsnprintf(text + length, room - length, format, args);
  va_end(args);
}

/* What a lost context costs, and who may have lost it. */
static void loss_describe(char *text, size_t room) {
  char pending[400], report[400];
  xchg__pending_text(pending, sizeof pending);
  xchg__cuda_report(report, sizeof report, "fault");
  /* The longest last: a text that is too long is cut. */
  text_add(text, room, "; nothing on this device works any more until the process ends");
  if (pending[0] != '\0')
    text_add(text, room, "; launches that may not have ended: %s", pending);
  if (report[0] != '\0')
    text_add(text, room, "; the simulated device says: %s", report);
}

int xchg__cuda_fail(xchg_error *err, int result, const char *call, const char *format, ...) {
  char subject[256], loss[sizeof err->message] = "";
  const char *name;
  va_list args;
  int code = code_of(result);
  xchg__rt.cudaGetLastError();
  if (result == XCHG_CUDA_UNLOADING)
    xchg__cuda_note_unloading();
  if (err == NULL || err->code != 0)
    return code;
  va_start(args, format);
  vsnprintf(subject, sizeof subject, format, args);
  va_end(args);
  name = xchg__rt.cudaGetErrorName(result);
  if (xchg__cuda_is_sticky(result))
    loss_describe(loss, sizeof loss);
  xchg__error_set(err, code, "%s: %s answered %d (%s): %s%s", subject, call, result, name, xchg__cuda_meaning(result),
                  loss);
  err->cuda_code = result;
  err->cuda_name = name;
  err->call = call;
  return code;
}
