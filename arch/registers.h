/* A thread's registers, of which some are known. */
#pragma once

#include <stdint.h>

/* x86-64 registers by DWARF number (psABI figure 3.36); 16 is the return address column: pc. */
enum {
    X86_RAX = 0,
    X86_RDX,
    X86_RCX,
    X86_RBX,
    X86_RSI,
    X86_RDI,
    X86_RBP,
    X86_RSP,
    X86_R8,
    X86_R12 = 12,
    X86_R13,
    X86_R14,
    X86_R15,
    X86_PC = 16,
    X86_COUNT = 17
};
struct regs {
    uint64_t r[X86_COUNT];
    /* Bit n: r[n] is valid.  Without a stop: X86_RSP and X86_PC; in a call X86_RDI. */
    uint32_t known;
};
