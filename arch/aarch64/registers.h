/* For arch/registers.h.  Source: DWARF for the Arm 64-bit architecture, §4.1; AAPCS64 §6.1.1. */
#pragma once

/* 0 to 30 are x0 to x30.  The column of the return address is x30; pc has a number of our own. */
enum {
    REG_SP = 31,
    REG_FP = 29,
    REG_PC = 32,
    REG_ARGUMENT = 0, /* the first one of a system call */
    REG_RESULT = 0,   /* of a system call */
    REG_COUNT = 33
};
/* What a function leaves as it was: x19 to x29. */
#define REGS_PRESERVED (REG_BIT(30) - REG_BIT(19))
