#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2 };

int cudaMemcpyAsync(void *to, const void *from, size_t n, int kind, void *stream);
int cudaHostAlloc(void **ret, size_t n, unsigned flags);
int cudaMalloc(void **ret, size_t n);
int cudaFree(void *device);
int cudaLaunchKernel(const void *function, unsigned blocks, const void *arguments);
int cudaGraphLaunch(void *graph, void *stream);
int cudaEventSynchronize(int event, unsigned flags);

#ifdef __cplusplus
}
#endif
