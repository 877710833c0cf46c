/* How to get from one frame to its caller: the rule that CFI gives for one pc, in a form that is
 * cheap to keep and to apply.  Pure but for libdw's decoding.
 * Source: DWARF 5 §6.4.1, x86-64 psABI §3.7; elfutils libdw.h. */
#pragma once

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/snapshot.h"
#include "unwinder/stack_view.h"

/* Where a value of the caller comes from. */
enum value_kind {
    VALUE_UNDEFINED,
    VALUE_SAME,    /* this frame has not changed the register */
    VALUE_AT_CFA,  /* saved at CFA + offset */
    VALUE_AT_REG,  /* saved at reg + offset: DRAP, signal frames */
    VALUE_CFA,     /* is CFA + offset */
    VALUE_REG,     /* is reg + offset */
    VALUE_PLT,     /* is rsp + offset, + 8 from the stub's instruction N_OPS on: x86-64 PLT */
    VALUE_AT_EXPR, /* saved at, or is, what an expression says: N_OPS from OFFSET in rule.ops */
    VALUE_EXPR,
};

struct value_rule {
    uint8_t kind; /* enum value_kind */
    uint8_t reg;
    uint16_t n_ops;
    int32_t offset;
};

struct rule {
    struct value_rule cfa;
    struct value_rule values[X86_COUNT];
    uint32_t preserved; /* mask: bit n is set if values[n] is VALUE_SAME */
    uint32_t saved;     /* bit n is set if values[n] is neither that nor VALUE_UNDEFINED */
    bool is_signal;     /* a signal trampoline: its caller was interrupted, it did not call */
    bool is_root;       /* the return address is undefined: the thread starts here */
    bool is_clone;      /* behind the system call of clone: the same if the thread is the new one */
    bool has_address;   /* an expression has an address in it */
    Dwarf_Op *ops;      /* of all expressions; NULL: none */
    size_t n_ops;
};

/* Takes over what FRAME says, for code mapped where its file says.  The rule owns copies of the
 * expressions.  Returns 0, or -ENOENT if FRAME defines no CFA (RET needs no release then). */
int rule_compile(struct rule *ret, Dwarf_Frame *frame);
/* RULE for code mapped BIAS further, for the caller to release.  Most rules are the same wherever
 * their code is: only those that has_address marks need this. */
struct rule rule_moved(const struct rule *rule, uint64_t bias);
/* The rule of a signal trampoline, whose frame is the kernel's struct rt_sigframe.
 * Source: Linux arch/x86/include/uapi/asm/sigcontext.h, ucontext.h. */
struct rule rule_sigreturn(void);
/* The rule behind clone's system call, for the caller of clone. */
struct rule rule_clone_return(void);
void rule_release(struct rule *rule);

/* Computes the CFA and the caller's registers.  A callee-saved register whose slot cannot be read
 * is unknown in CALLER.  Returns 0; -ENODATA (the CFA or return address needs a register that is
 * not known), -ERANGE or -EFAULT (stack_view_u64), -EPROTO (malformed expression).  RET_CFA is
 * written as soon as it is known.  Not for roots. */
int rule_apply(const struct rule *rule, const struct regs *frame, struct stack_view *view,
               uint64_t *ret_cfa, struct regs *caller);
/* The CFA alone. */
int rule_cfa(const struct rule *rule, const struct regs *frame, struct stack_view *view,
             uint64_t *ret);
