#include "arch/stop.h"

#include <string.h>

const size_t stop_result_at = offsetof(struct user_regs_struct, rax);

void call_arguments(const struct regs *regs, uint64_t ret[6])
{
    enum { R9 = 9, R10 = 10 };
    const uint64_t *r = regs->r;
    const uint64_t args[6] = {r[X86_RDI], r[X86_RSI], r[X86_RDX], r[R10], r[X86_R8], r[R9]};
    memcpy(ret, args, sizeof args);
}

void stop_describe(const struct user_regs_struct *user, struct stopped *ret)
{
    const uint64_t r[REG_COUNT] = {user->rax, user->rdx, user->rcx, user->rbx, user->rsi, user->rdi,
                                   user->rbp, user->rsp, user->r8,  user->r9,  user->r10, user->r11,
                                   user->r12, user->r13, user->r14, user->r15, user->rip};
    memcpy(ret->regs.r, r, sizeof r);
    ret->regs.known = REG_BIT(REG_COUNT) - 1;
    ret->thread_pointer = user->fs_base;
    ret->call = (int64_t)user->orig_rax;
    ret->result = (int64_t)user->rax;
    call_arguments(&ret->regs, ret->args);
}
