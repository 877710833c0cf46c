#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The driver's. */
int cuMemcpyHtoDAsync_v2(void *device, const void *host, size_t n, void *stream);
int cuMemcpyDtoHAsync_v2(void *host, const void *device, size_t n, void *stream);
int cuMemHostAlloc(void **ret, size_t n, unsigned flags);
int cuMemAlloc_v2(void **ret, size_t n);
int cuMemFree_v2(void *device);
int cuLaunchKernel(const void *function, unsigned blocks, const void *arguments);
int cuGraphLaunch(void *graph, void *stream);
/* Of an event: the "GPU" comes to it MS after it was recorded.  FLAGS 1: the wait sleeps. */
int cuEventCreate(int *ret, unsigned flags);
int cuEventRecord(int event, long ms);
int cuEventSynchronize(int event, unsigned flags);

#ifdef __cplusplus
}
#endif
