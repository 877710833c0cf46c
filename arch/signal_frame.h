/* The frame that the kernel puts on the stack for a signal's handler.  Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/registers.h"

/* REG of the code that the signal interrupted lies OFFSET bytes above sp at the trampoline. */
struct signal_register {
    uint8_t reg;
    int32_t offset;
};
/* Writes those of all registers that the frame has; returns how many. */
size_t signal_registers(struct signal_register ret[REG_COUNT]);

/* Where contexts may lie, and how much of one signal_context_left() reads. */
enum { SIGNAL_CONTEXT_ALIGN = 16, SIGNAL_CONTEXT_BYTES = 23 * 8 };
/* Is CONTEXT, which lies at ADDR on an alternate stack (sigaltstack(2)), that of a signal which
 * came while another stack was in use?  Writes the sp of that. */
bool signal_context_left(const uint8_t *context, uint64_t addr, uint64_t *ret_sp);
