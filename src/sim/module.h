/* Code that is loaded: libraries (cudaLibrary*, cuLibrary*), modules (cuModule*), their instances on devices,
   kernels. */
#ifndef SIM_MODULE_H
#define SIM_MODULE_H

#include "memory.h"
#include "program.h"

typedef struct sim_library sim_library;
typedef struct sim_kernel sim_kernel;

/* A program on one device: its variables have memory there. */
typedef struct sim_instance {
  sim_library *library;
  sim_context *context;
  sim_allocation **variables; /* by symbol index; NULL for those without memory of their own */
  uint64_t *addresses;        /* generic address of each symbol */
  struct sim_instance *next;
} sim_instance;

/* A kernel of a library: one handle for all devices (cudaKernel_t, CUkernel), and one for each context (CUfunction). */
struct sim_kernel {
  sim_library *library;
  const sim_function *function;
  sim_context *context;                    /* of a CUfunction; NULL: for all devices */
  int32_t dynamic_shared[SIM_DEVICES_MAX]; /* cudaFuncAttributeMaxDynamicSharedMemorySize that was set; -1: not */
  int32_t carveout[SIM_DEVICES_MAX];
  bool non_portable_cluster;
  bool retired; /* its context has ended: kept for launches that wait */
  sim_kernel *next;
};

struct sim_library {
  sim_program *program;
  char *image; /* owned: the text, for cuLink and for those who ask for it */
  size_t image_size;
  sim_context *context; /* of a module (cuModuleLoadData): only there; NULL: a library */
  sim_kernel *kernels;  /* owned; those made at load, in the order of the text, then CUfunctions */
  sim_kernel *last_kernel;
  sim_kernel **by_name; /* those made at load, sorted */
  size_t kernel_count;
  const ptx_symbol **variables; /* those that have a name for the host, sorted */
  size_t variable_count;
  sim_instance *instances;  /* owned */
  sim_allocation **managed; /* by symbol index; one for all instances; NULL: none yet */
  uint32_t references;      /* the handle, and launches that wait */
  sim_library *next;        /* all that live */
};

/* Loads an image: PTX text (NUL-terminated or `length` long; length 0: unknown, then up to the NUL, at most 16 MiB).
   209 for an ELF or fat binary ("the simulator runs PTX: compile for compute_XX"), 200 for anything else, 218, 222
   of the PTX. The log gets the text; it is also reported. */
int sim_library_load(sim_library **out, const void *image, size_t length, sim_context *context, ptx_log *log);
int sim_library_load_texts(sim_library **out, const char *const *texts, const size_t *lengths, size_t count,
                           sim_context *context, ptx_log *log);
int sim_library_check(const sim_library *library);
/* Handles and variables go now; the code when nobody holds it any more. A launch holds it from sim_launch_create to
   sim_launch_free. */
int sim_library_unload(sim_library *library);
void sim_library_retain(sim_library *library);
void sim_library_release(sim_library *library);
void sim_library_end_context(sim_context *context);

/* The instance in a context, made on first use (variables allocated and initialised). */
int sim_library_instance(sim_instance **out, sim_library *library, sim_context *context);

/* Writes the handles of at most `room` kernels in the order of the text; returns how many. */
unsigned sim_library_list_kernels(sim_kernel **kernels, unsigned room, const sim_library *library);

int sim_kernel_check(const sim_kernel *kernel);                                   /* 400 / 98 by the fronts */
int sim_library_kernel(sim_kernel **out, sim_library *library, const char *name); /* 500 */
int sim_kernel_in_context(sim_kernel **out, sim_kernel *kernel,
                          sim_context *context); /* the CUfunction of a CUkernel */
int sim_library_variable(uint64_t *address, uint64_t *size, sim_library *library, sim_context *context,
                         const char *name, bool managed); /* 500 */

uint64_t sim_library_live(void);

#endif
