/* The machine that the observed processes run on. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* CPU time since the machine's start, summed over all its CPUs, in steps of a tick of USER_HZ. */
struct host_cpu {
    int64_t busy_ns;       /* of programs and of the kernel, without interrupts */
    int64_t interrupts_ns; /* as far as the kernel counts them apart */
    int64_t stolen_ns;     /* taken by the hypervisor */
};
/* Zeros: /proc/stat could not be read.  Source: proc_stat(5). */
struct host_cpu host_cpu_read(void);
/* The same from the file's TEXT.  HZ: ticks a second.  Zeros if it is malformed. */
struct host_cpu host_cpu_parse(const char *text, size_t len, int64_t hz);

/* Is the kernel with this RELEASE ("4.18.0-553.el8.x86_64"), as uname(2) has it, older than 4.18,
 * from which on wallspy has all that it needs?  False where RELEASE does not begin so. */
bool host_kernel_is_old(const char *release);
