/* How to get from one frame to its caller: the rule that CFI gives for one pc, in a form that is
 * cheap to keep and to apply.  Pure.
 * Source: DWARF 5 §6.4.1, x86-64 psABI §3.7. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "capture/snapshot.h"
#include "unwinder/stack_view.h"

/* Where a value of the caller comes from. */
enum value_kind {
    VALUE_UNDEFINED,
    VALUE_SAME,    /* this frame has not changed the register */
    VALUE_AT_CFA,  /* saved at CFA + offset */
    VALUE_AT_REG,  /* saved at reg + offset: DRAP, signal frames */
    VALUE_CFA,     /* is CFA + offset */
    VALUE_REG,     /* is reg + offset */
    VALUE_PLT,     /* is rsp + offset, + 8 from the stub's Nth byte on: x86-64 PLT */
    VALUE_AT_EXPR, /* saved at, or is, what an expression says: N bytes from OFFSET in rule.bytes */
    VALUE_EXPR,
};

struct value_rule {
    uint8_t kind; /* enum value_kind */
    uint8_t reg;
    uint16_t n;
    int32_t offset;
};

struct rule {
    struct value_rule cfa;
    struct value_rule values[REG_COUNT];
    reg_set preserved; /* bit n is set if values[n] is VALUE_SAME */
    reg_set saved;     /* bit n is set if values[n] is neither that nor VALUE_UNDEFINED */
    bool is_signal;    /* a signal trampoline: its caller was interrupted, it did not call */
    bool is_root;      /* the return address is undefined: the thread starts here */
    bool is_clone;     /* behind the system call of clone: the same if the thread is the new one */
    bool has_expressions;
    const uint8_t *bytes; /* that hold the expressions; borrowed */
    uint64_t bias;        /* what is added to addresses in expressions: where the code is mapped */
};

/* Fills what follows from the cfa and the values. */
void rule_complete(struct rule *rule);
/* The rule of a signal trampoline (arch/signal_frame.h). */
struct rule rule_sigreturn(void);
/* The rule behind clone's system call, for the caller of clone. */
struct rule rule_clone_return(void);

/* Computes the CFA and the caller's registers.  A callee-saved register whose slot cannot be read
 * is unknown in CALLER.  Returns 0; -ENODATA (the CFA or return address needs a register that is
 * not known), -ERANGE or -EFAULT (stack_view_u64), -EPROTO (malformed expression).  RET_CFA is
 * written as soon as it is known.  Not for roots. */
int rule_apply(const struct rule *rule, const struct regs *frame, struct stack_view *view,
               uint64_t *ret_cfa, struct regs *caller);
/* The CFA alone. */
int rule_cfa(const struct rule *rule, const struct regs *frame, struct stack_view *view,
             uint64_t *ret);
