/* A thread's registers by DWARF number, of which some are known.  What all machines have is called
 * REG_…: the machine's own file says which register it is. */
#pragma once

#include <stdint.h>

#if defined __x86_64__
#include "arch/x86_64/registers.h"
#elif defined __aarch64__
#include "arch/aarch64/registers.h"
#else
#error "wallspy does not know this machine: docs/porting.md"
#endif

typedef uint64_t reg_set; /* bit n: register n */
#define REG_BIT(reg) ((reg_set)1 << (reg))

struct regs {
    uint64_t r[REG_COUNT];
    reg_set known; /* without a stop: REG_SP and REG_PC; in a call REG_ARGUMENT */
};
