/* Evaluates DWARF expressions of call frame information: all operations that may occur there.  The
 * bytes are hostile.  Source: DWARF 5 §2.5.1, §6.4.2. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/snapshot.h"
#include "unwinder/stack_view.h"

struct expression {
    const uint8_t *bytes;
    size_t n;
    uint64_t bias; /* added to addresses */
    bool on_cfa;   /* the stack begins with the CFA; else it is empty */
};

struct expression_input {
    const struct regs *regs;
    struct stack_view *view;
    uint64_t cfa;
};

/* RET is the top of the stack at the end.  Returns 0, -ENODATA (a register it needs is not known),
 * -EFAULT or -ERANGE (stack_view_u64), or -EPROTO (malformed, an unknown operation, or more than a
 * bounded number of steps). */
int expression_run(const struct expression *e, const struct expression_input *in, uint64_t *ret);
