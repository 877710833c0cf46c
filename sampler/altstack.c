#include "sampler/altstack.h"

#include "base/bytes.h"

enum {
    SCAN_BYTES = 64 * 1024, /* alternate stacks have 8 to 32 KiB */
    ALIGNMENT = 16,         /* of struct ucontext */
    KNOWN_FLAGS = 7,        /* UC_FP_XSTATE, UC_SIGCONTEXT_SS, UC_STRICT_RESTORE_SS */
    STRICT_RESTORE_SS = 4,  /* since Linux 4.6 always there */
};

/* The words of struct ucontext that matter. */
enum { UC_FLAGS = 0, UC_LINK = 1, UC_STACK_SP = 2, UC_STACK_SIZE = 4, UC_RSP = 20, UC_WORDS = 23 };

static uint64_t word_at(const uint8_t *bytes, size_t word)
{
    return get_u64(bytes + word * sizeof(uint64_t));
}

/* Is this, on an alternate stack, the context of a signal that came while another was in use? */
static bool is_switch(const uint8_t *context, uint64_t addr)
{
    uint64_t flags = word_at(context, UC_FLAGS);
    if (flags & ~(uint64_t)KNOWN_FLAGS || !(flags & STRICT_RESTORE_SS) || word_at(context, UC_LINK))
        return false;
    uint64_t start = word_at(context, UC_STACK_SP);
    uint64_t size = word_at(context, UC_STACK_SIZE);
    return addr - start < size && word_at(context, UC_RSP) - start >= size;
}

/* The kernel puts the first signal's frame at the stack's end: what looks like one further in is
 * from before. */
bool altstack_interrupted(const uint8_t *stack, size_t len, uint64_t sp, uint64_t *ret_sp)
{
    bool found = false;
    if (len > SCAN_BYTES)
        len = SCAN_BYTES;
    for (size_t at = -sp % ALIGNMENT; at + UC_WORDS * sizeof sp <= len; at += ALIGNMENT) {
        if (!is_switch(stack + at, sp + at))
            continue;
        found = true;
        *ret_sp = word_at(stack + at, UC_RSP);
    }
    return found;
}
