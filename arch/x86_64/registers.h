/* For arch/registers.h.  Source: x86-64 psABI, figure 3.36 (DWARF numbers), §3.2.1. */
#pragma once

/* 16 is the column of the return address: pc. */
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
enum {
    REG_SP = X86_RSP,
    REG_FP = X86_RBP,
    REG_PC = X86_PC,
    REG_ARGUMENT = X86_RDI, /* the first one of a system call */
    REG_RESULT = X86_RAX,   /* of a system call */
    REG_COUNT = X86_COUNT
};
/* What a function leaves as it was. */
#define REGS_PRESERVED                                                                             \
    (REG_BIT(X86_RBX) | REG_BIT(X86_RBP) | REG_BIT(X86_R12) | REG_BIT(X86_R13) |                   \
     REG_BIT(X86_R14) | REG_BIT(X86_R15))
