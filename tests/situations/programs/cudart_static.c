/* Stands in for CUDA's static runtime, which is linked into programs: the names of its inner
 * functions are hashes. */
#include "cudart_static.h"

#include "cuda_driver.h"

#define INNER     static __attribute__((noinline))
#define COPIES    libcudart_static_41dba5462e92d2cffd1abc474df476c510a3a8c7
#define ALLOCATES libcudart_static_6f1dd0b84aa3d97e21c2b6a0f0c5e7d18b93a42c
#define FREES     libcudart_static_0e54f7a9c1d2b3864759ab01cd23ef456789abcd
#define LAUNCHES  libcudart_static_c5a1f3d2e4b6978801726354a9b8c7d6e5f40312
#define WAITS     libcudart_static_93b8de47f0a1c2d3e4f5061728394a5b6c7d8e9f

INNER int COPIES(void *to, const void *from, size_t n, int kind, void *stream)
{
    if (kind == cudaMemcpyHostToDevice)
        return cuMemcpyHtoDAsync_v2(to, from, n, stream);
    return cuMemcpyDtoHAsync_v2(to, from, n, stream);
}

INNER int ALLOCATES(void **ret, size_t n)
{
    return cuMemAlloc_v2(ret, n);
}

INNER int FREES(void *device)
{
    return cuMemFree_v2(device);
}

INNER int LAUNCHES(const void *function, unsigned blocks, const void *arguments)
{
    return cuLaunchKernel(function, blocks, arguments);
}

INNER int WAITS(int event, unsigned flags)
{
    return cuEventSynchronize(event, flags);
}

int cudaMemcpyAsync(void *to, const void *from, size_t n, int kind, void *stream)
{
    return COPIES(to, from, n, kind, stream);
}

int cudaHostAlloc(void **ret, size_t n, unsigned flags)
{
    return cuMemHostAlloc(ret, n, flags);
}

int cudaMalloc(void **ret, size_t n)
{
    return ALLOCATES(ret, n);
}

int cudaFree(void *device)
{
    return FREES(device);
}

int cudaLaunchKernel(const void *function, unsigned blocks, const void *arguments)
{
    return LAUNCHES(function, blocks, arguments);
}

int cudaGraphLaunch(void *graph, void *stream)
{
    return cuGraphLaunch(graph, stream);
}

int cudaEventSynchronize(int event, unsigned flags)
{
    return WAITS(event, flags);
}
