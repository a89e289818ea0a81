/* A C program that uses the CUDA runtime API, on a machine without a GPU.

       eval "$(make -s env)"
       cc -o build/sums examples/simulator/sums.c -ldl
       XCHG_SIM_CHECK=all bin/xchg sim run build/sums examples/simulator/sums.ptx

   It opens the runtime as programs do that also run without CUDA; one that is linked with -lcudart runs the same way. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

enum { BLOCKS = 4, THREADS = 256, FLOATS = BLOCKS * THREADS, TO_DEVICE = 1, TO_HOST = 2 };

typedef struct {
  unsigned grid[3], block[3];
  size_t shared;
  void *stream, *attributes;
  unsigned count;
} launch_config; /* cudaLaunchConfig_t */

static void *runtime;

static void check(int result, const char *what) {
  if (!result)
    return;
  const char *(*text)(int) = (const char *(*)(int))dlsym(runtime, "cudaGetErrorString");
  fprintf(stderr, "%s: %s\n", what, text(result));
  exit(1);
}

#define CALL(name, types, ...) check(((int(*) types)dlsym(runtime, #name))(__VA_ARGS__), #name)

static char *read_file(const char *path) {
  static char text[1 << 20];
  FILE *file = fopen(path, "rb");
  if (!file) {
    perror(path);
    exit(1);
  }
  text[fread(text, 1, sizeof text - 1, file)] = 0;
  fclose(file);
  return text;
}

int main(int count, char **words) {
  if (count != 2 || !(runtime = dlopen("libcudart.so.13", RTLD_NOW))) {
    fprintf(stderr, "usage: xchg sim run %s sums.ptx\n", words[0]);
    return 2;
  }
  void *library, *kernel, *in, *out;
  CALL(cudaLibraryLoadData, (void **, const void *, int *, void **, unsigned, int *, void **, unsigned), &library,
       read_file(words[1]), NULL, NULL, 0, NULL, NULL, 0);
  CALL(cudaLibraryGetKernel, (void **, void *, const char *), &kernel, library, "sums");

  static float input[FLOATS], output[BLOCKS];
  for (int i = 0; i < FLOATS; i++)
    input[i] = (float)(i % 7);
  CALL(cudaMalloc, (void **, size_t), &in, sizeof input);
  CALL(cudaMalloc, (void **, size_t), &out, sizeof output);
  CALL(cudaMemcpy, (void *, const void *, size_t, int), in, input, sizeof input, TO_DEVICE);

  launch_config config = {{BLOCKS, 1, 1}, {THREADS, 1, 1}, 0, NULL, NULL, 0};
  void *arguments[] = {&out, &in};
  CALL(cudaLaunchKernelExC, (const launch_config *, const void *, void **), &config, kernel, arguments);
  CALL(cudaMemcpy, (void *, const void *, size_t, int), output, out, sizeof output, TO_HOST); /* waits for the kernel */

  for (int block = 0; block < BLOCKS; block++) {
    float sum = 0;
    for (int i = 0; i < THREADS; i++)
      sum += input[block * THREADS + i];
    printf("block %d: %g, on the host %g\n", block, (double)output[block], (double)sum);
    if (sum != output[block])
      return 1;
  }
  CALL(cudaFree, (void *), in);
  CALL(cudaFree, (void *), out);
  CALL(cudaLibraryUnload, (void *), library);
  return 0;
}
