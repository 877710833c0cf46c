/* Source: Linux arch/x86/include/uapi/asm/sigcontext.h, ucontext.h; include/asm/sigframe.h (struct
 * rt_sigframe). */
#include "arch/signal_frame.h"

#include "base/bytes.h"

size_t signal_registers(struct signal_register ret[REG_COUNT])
{
    /* struct ucontext lies at rsp; these are its registers in order. */
    enum { UC_GREGS = 40 };
    static const uint8_t order[] = {8,       9,       10,      11,      12,      13,
                                    14,      15,      X86_RDI, X86_RSI, X86_RBP, X86_RBX,
                                    X86_RDX, X86_RAX, X86_RCX, X86_RSP, X86_PC};
    for (size_t i = 0; i < sizeof order; i++)
        ret[i] = (struct signal_register){order[i], (int32_t)(UC_GREGS + i * 8)};
    return sizeof order;
}

enum {
    KNOWN_FLAGS = 7,       /* UC_FP_XSTATE, UC_SIGCONTEXT_SS, UC_STRICT_RESTORE_SS */
    STRICT_RESTORE_SS = 4, /* since Linux 4.6 always there */
};
/* The words of struct ucontext that matter. */
enum { UC_FLAGS = 0, UC_LINK = 1, UC_STACK_SP = 2, UC_STACK_SIZE = 4, UC_RSP = 20 };

static uint64_t word_at(const uint8_t *bytes, size_t word)
{
    return get_u64(bytes + word * sizeof(uint64_t));
}

bool signal_context_left(const uint8_t *context, uint64_t addr, uint64_t *ret_sp)
{
    uint64_t flags = word_at(context, UC_FLAGS);
    if (flags & ~(uint64_t)KNOWN_FLAGS || !(flags & STRICT_RESTORE_SS) || word_at(context, UC_LINK))
        return false;
    uint64_t start = word_at(context, UC_STACK_SP);
    uint64_t size = word_at(context, UC_STACK_SIZE);
    *ret_sp = word_at(context, UC_RSP);
    return addr - start < size && *ret_sp - start >= size;
}
