/* The one call of the CUDA runtime that the demo needs, with its real name and shape. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

struct cudaDeviceProp {
    char name[256];
    int multiProcessorCount;
};

/* Asks the "driver" about DEVICE, which takes about 50 ms, and fills PROP.  Returns 0 or an errno:
 * ENOSYS, EPERM, EACCES, EINVAL or EBUSY if this kernel or container has no seccomp notifications.
 */
int cudaGetDeviceProperties(struct cudaDeviceProp *prop, int number);

/* What the calls so far took inside of ioctl, and how often a signal or a stop broke one off. */
struct cudart_truth {
    long long ioctl_ns;
    long calls;
    long eintr;
};
struct cudart_truth cudart_truth(void);

#ifdef __cplusplus
}
#endif
