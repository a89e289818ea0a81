/* The runtime API of the simulated device: libraries, kernels, launches. */
#include "cudart.h"

static const char add_one[] = ".version 7.8\n.target sm_75\n.address_size 64\n"
                              ".visible .global .align 4 .u32 counter = 7;\n"
                              ".visible .entry add_one(.param .u64 p, .param .u32 n) {\n"
                              "  .reg .pred %p<2>; .reg .b32 %r<6>; .reg .b64 %rd<4>;\n"
                              "  ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [n];\n"
                              "  mov.u32 %r2, %tid.x; setp.ge.u32 %p1, %r2, %r1; @%p1 bra done;\n"
                              "  cvta.to.global.u64 %rd1, %rd1; mul.wide.u32 %rd2, %r2, 4; add.s64 %rd3, %rd1, %rd2;\n"
                              "  ld.global.u32 %r3, [%rd3]; add.s32 %r4, %r3, 1; st.global.u32 [%rd3], %r4;\n"
                              "done: ret;\n}\n";

static void test_kernel(void) {
  void *library = NULL, *kernel = NULL, *p, *stream, *graph, *node, *exec, *global, *list[3];
  size_t bytes, offset;
  unsigned count;
  int blocks;
  const char *name;
  char log[256] = "";
  FAILS(cudaLibraryLoadData(NULL, add_one, NULL, NULL, 0, NULL, NULL, 0), VALUE);
  FAILS(cudaLibraryLoadData(&library, NULL, NULL, NULL, 0, NULL, NULL, 0), VALUE);
  FAILS(cudaLibraryLoadData(&library, add_one, NULL, NULL, 1, NULL, NULL, 0), VALUE);
  FAILS(cudaLibraryLoadData(&library, "rubbish", NULL, NULL, 0, NULL, NULL, 0), IMAGE);
  int options[] = {5, 6};
  void *values[] = {log, (void *)(uintptr_t)sizeof log};
  FAILS(cudaLibraryLoadData(&library, ".version 7.8\n.target sm_75\n.address_size 64\nnonsense;\n", options, values, 2,
                            NULL, NULL, 0),
        PTX);
  CHECK(strstr(log, "line 4") != NULL);
  CHECK_EQUAL((uintptr_t)values[1], strlen(log));
  FAILS(cudaLibraryLoadFromFile(&library, "/nowhere/at/all.ptx", NULL, NULL, 0, NULL, NULL, 0), NOT_FOUND_FILE);
  FAILS(cudaLibraryLoadFromFile(&library, "/", NULL, NULL, 0, NULL, NULL, 0), NOT_FOUND_FILE);
  FAILS(cudaLibraryLoadFromFile(&library, NULL, NULL, NULL, 0, NULL, NULL, 0), VALUE);
  FAILS(cudaLibraryUnload(BAD), HANDLE);
  WORKS(cudaLibraryLoadData(&library, add_one, NULL, NULL, 0, NULL, NULL, 0));
  WORKS(cudaLibraryGetKernelCount(&count, library));
  CHECK_EQUAL(count, 1);
  FAILS(cudaLibraryGetKernel(&kernel, library, "other"), NOT_FOUND);
  FAILS(cudaLibraryGetKernel(NULL, library, "add_one"), VALUE);
  FAILS(cudaLibraryGetKernel(&kernel, library, NULL), VALUE);
  FAILS(cudaLibraryGetKernel(&kernel, BAD, "add_one"), HANDLE);
  WORKS(cudaLibraryGetKernel(&kernel, library, "add_one"));
  WORKS(cudaLibraryEnumerateKernels(list, 3, library));
  CHECK(list[0] == kernel && list[1] == NULL);
  /* The function of this context is another handle, and no kernel of the library. */
  WORKS(cudaGetFuncBySymbol(&list[2], kernel));
  CHECK(list[2] != kernel);
  WORKS(cudaLibraryEnumerateKernels(list, 3, library));
  CHECK(list[0] == kernel && list[1] == NULL && list[2] == NULL);
  WORKS(cudaLibraryGetGlobal(&global, &bytes, library, "counter"));
  CHECK_EQUAL(bytes, 4);
  unsigned value = 0;
  WORKS(cudaMemcpy(&value, global, 4, DEVICE_HOST));
  CHECK_EQUAL(value, 7);
  FAILS(cudaLibraryGetGlobal(&global, &bytes, library, "nothing"), NOT_FOUND);
  FAILS(cudaLibraryGetGlobal(&global, &bytes, library, NULL), VALUE);

  WORKS(cudaFuncGetName(&name, kernel));
  CHECK_TEXT(name, "add_one");
  FAILS(cudaFuncGetName(NULL, kernel), VALUE);
  FAILS(cudaFuncGetName(&name, BAD), DEVICE_FUNCTION);
  FAILS(cudaFuncGetName(&name, NULL), DEVICE_FUNCTION);
  WORKS(cudaFuncGetParamInfo(kernel, 1, &offset, &bytes));
  CHECK(offset == 8 && bytes == 4);
  WORKS(cudaFuncGetParamInfo(kernel, 0, &offset, NULL));
  FAILS(cudaFuncGetParamInfo(kernel, 2, &offset, &bytes), VALUE);
  FAILS(cudaFuncGetParamInfo(kernel, SIZE_MAX, &offset, &bytes), VALUE);
  sim_function_attributes attributes;
  WORKS(cudaFuncGetAttributes(&attributes, kernel));
  CHECK(attributes.max_threads == 1024 && attributes.shared == 0 && attributes.registers > 0);
  FAILS(cudaFuncGetAttributes(NULL, kernel), VALUE);
  FAILS(cudaFuncGetAttributes(&attributes, BAD), DEVICE_FUNCTION);
  WORKS(cudaFuncSetAttribute(kernel, 8, 100000));
  FAILS(cudaFuncSetAttribute(kernel, 8, 1 << 30), VALUE);
  FAILS(cudaFuncSetAttribute(kernel, 8, -1), VALUE);
  WORKS(cudaFuncSetAttribute(kernel, 9, 50));
  FAILS(cudaFuncSetAttribute(kernel, 9, 101), VALUE);
  FAILS(cudaFuncSetAttribute(kernel, 99, 0), VALUE);
  FAILS(cudaFuncSetAttribute(kernel, 11, 2), NOT_SUPPORTED);
  WORKS(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 256, 0));
  CHECK(blocks >= 1 && blocks <= 8);
  FAILS(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 0, 0), VALUE);
  FAILS(cudaOccupancyMaxActiveBlocksPerMultiprocessor(NULL, kernel, 256, 0), VALUE);

  unsigned data[4] = {1, 2, 3, 4}, n = 3;
  WORKS(cudaMalloc(&p, sizeof data));
  WORKS(cudaStreamCreate(&stream));
  WORKS(cudaMemcpy(p, data, sizeof data, HOST_DEVICE));
  void *arguments[] = {&p, &n};
  sim_dim3 one = {1, 1, 1}, four = {4, 1, 1};
  WORKS(cudaLaunchKernel(kernel, one, four, arguments, 0, stream));
  WORKS(cudaMemcpy(data, p, sizeof data, DEVICE_HOST));
  CHECK(data[0] == 2 && data[2] == 4 && data[3] == 4);
  FAILS(cudaLaunchKernel(BAD, one, four, arguments, 0, stream), DEVICE_FUNCTION);
  FAILS(cudaLaunchKernel(kernel, one, four, arguments, 0, BAD), HANDLE);
  FAILS(cudaLaunchKernel(kernel, (sim_dim3){0, 1, 1}, four, arguments, 0, stream), 9);
  FAILS(cudaLaunchKernel(kernel, one, (sim_dim3){1025, 1, 1}, arguments, 0, stream), 9);
  FAILS(cudaLaunchKernel(kernel, one, four, NULL, 0, stream), VALUE);
  FAILS(cudaLaunchKernel(kernel, one, four, arguments, 1 << 30, stream), VALUE);
  sim_launch_attribute extra[2] = {{.id = 8, .integer = -1}, {.id = 2, .integer = 1}};
  sim_launch_settings settings = {one, four, 0, stream, extra, 2};
  WORKS(cudaLaunchKernelExC(&settings, kernel, arguments));
  WORKS(cudaLaunchCooperativeKernel(kernel, one, four, arguments, 0, stream));
  WORKS(cudaMemcpy(data, p, sizeof data, DEVICE_HOST));
  CHECK_EQUAL(data[0], 4);
  FAILS(cudaLaunchCooperativeKernel(kernel, (sim_dim3){1 << 20, 1, 1}, four, arguments, 0, stream), 720);
  FAILS(cudaLaunchKernelExC(NULL, kernel, arguments), VALUE);
  extra[0] = (sim_launch_attribute){.id = 4, .cluster = {2, 1, 1}};
  FAILS(cudaLaunchKernelExC(&settings, kernel, arguments), NOT_SUPPORTED);
  extra[0].id = 77;
  FAILS(cudaLaunchKernelExC(&settings, kernel, arguments), VALUE);
  settings.attributes = NULL;
  FAILS(cudaLaunchKernelExC(&settings, kernel, arguments), VALUE);
  settings.attribute_count = 100000;
  FAILS(cudaLaunchKernelExC(&settings, kernel, arguments), VALUE);

  WORKS(cudaGraphCreate(&graph, 0));
  sim_kernel_node what = {kernel, one, four, 0, arguments, NULL};
  WORKS(cudaGraphAddKernelNode(&node, graph, NULL, 0, &what));
  sim_kernel_node told = {0};
  WORKS(cudaGraphKernelNodeGetParams(node, &told));
  CHECK(told.function == kernel && told.block.x == 4 && *(unsigned *)told.arguments[1] == 3);
  FAILS(cudaGraphKernelNodeGetParams(node, NULL), VALUE);
  size_t size = 12;
  unsigned char packed[12];
  memcpy(packed, &p, 8);
  memcpy(packed + 8, &n, 4);
  void *list_form[] = {(void *)1, packed, (void *)2, &size, (void *)0};
  what = (sim_kernel_node){kernel, one, four, 0, NULL, list_form};
  WORKS(cudaGraphAddKernelNode(&node, graph, NULL, 0, &what));
  list_form[0] = (void *)9;
  FAILS(cudaGraphAddKernelNode(&node, graph, NULL, 0, &what), VALUE);
  what.function = BAD;
  FAILS(cudaGraphAddKernelNode(&node, graph, NULL, 0, &what), DEVICE_FUNCTION);
  WORKS(cudaGraphInstantiate(&exec, graph, 0));
  WORKS(cudaGraphLaunch(exec, stream));
  WORKS(cudaMemcpy(data, p, sizeof data, DEVICE_HOST));
  CHECK_EQUAL(data[0], 6);
  WORKS(cudaGraphExecDestroy(exec));
  WORKS(cudaGraphDestroy(graph));

  void **handle = __cudaRegisterFatBinary(data);
  __cudaRegisterFunction(handle, (const char *)&test_checks, NULL, "compiled", -1, NULL, NULL, NULL, NULL, NULL);
  uint64_t notes = xsim_reports("note");
  FAILS(cudaLaunchKernel(&test_checks, one, four, arguments, 0, stream), DEVICE_FUNCTION);
  CHECK_EQUAL(xsim_reports("note"), notes + 1);
  __cudaUnregisterFatBinary(handle);
  WORKS(cudaStreamDestroy(stream));
  WORKS(cudaFree(p));
  WORKS(cudaLibraryUnload(library));
  FAILS(cudaLibraryUnload(library), HANDLE);
  FAILS(cudaFuncGetName(&name, kernel), DEVICE_FUNCTION);
}

int main(void) {
  cudart_settings();
  test_kernel();
  return test_end();
}
