#include "arch/machine.h"

#include <cpuid.h>
#include <stdint.h>
#include <string.h>

const char *machine_refusal(void)
{
    return NULL;
}

/* Source: qemu target/i386/cpu.c, leaf 0x40000000; Apple's Rosetta, the vendor in leaf 0. */
bool machine_is_emulated(void)
{
    enum { HYPERVISOR = 0x40000000 };
    uint32_t unused, id[4] = {0};
    __cpuid(0, unused, id[0], id[2], id[1]);
    bool rosetta = memcmp(id, "VirtualApple", 12) == 0;
    __cpuid(HYPERVISOR, unused, id[0], id[1], id[2]);
    return rosetta || memcmp(id, "TCGTCGTCGTCG", 12) == 0;
}
