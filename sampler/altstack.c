#include "sampler/altstack.h"

#include "arch/signal_frame.h"

enum { SCAN_BYTES = 64 * 1024 }; /* alternate stacks have 8 to 32 KiB */

/* The kernel puts the first signal's frame at the stack's end: what looks like one further in is
 * from before. */
bool altstack_interrupted(const uint8_t *stack, size_t len, uint64_t sp, uint64_t *ret_sp)
{
    bool found = false;
    if (len > SCAN_BYTES)
        len = SCAN_BYTES;
    for (size_t at = -sp % SIGNAL_CONTEXT_ALIGN; at + SIGNAL_CONTEXT_BYTES <= len;
         at += SIGNAL_CONTEXT_ALIGN) {
        uint64_t left;
        if (!signal_context_left(stack + at, sp + at, &left))
            continue;
        found = true;
        *ret_sp = left;
    }
    return found;
}
