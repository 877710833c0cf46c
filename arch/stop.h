/* What the registers of a stopped thread say: of its stack, and of the system call that it is in.
 * Pure.  Source: <sys/user.h>, arch/x86/entry/entry_64.S, arch/x86/kernel/signal.c. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/user.h>

#include "arch/registers.h"

struct stopped {
    struct regs regs;        /* all are known */
    uint64_t thread_pointer; /* the C library's structure of the thread */
    int64_t call;            /* its number; negative: it is in none */
    uint64_t args[6];        /* of CALL */
    int64_t result;          /* of CALL, as far as it has come: −EINTR, −ERESTART… */
};
/* USER: as PTRACE_GETREGSET gives NT_PRSTATUS. */
void stop_describe(const struct user_regs_struct *user, struct stopped *ret);
/* Where PTRACE_POKEUSER sets the result of the call, by which the kernel may be told to make the
 * call again when the thread goes on. */
extern const size_t stop_result_at;
/* The arguments of a system call of a thread whose registers, all known, are REGS. */
void call_arguments(const struct regs *regs, uint64_t ret[6]);
