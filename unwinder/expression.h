/* Evaluates DWARF expressions of call frame information: all operations that may occur there.
 * DW_OP_addr must have been relocated.  Source: DWARF 5 §2.5.1, §6.4.2. */
#pragma once

#include <elfutils/libdw.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/snapshot.h"
#include "unwinder/stack_view.h"

struct expression_input {
    const struct regs *regs;
    struct stack_view *view;
    uint64_t cfa; /* for DW_OP_call_frame_cfa */
};

/* Runs OPS (as libdw decodes them) on an empty stack; RET is the top of the stack at the end.
 * Returns 0, -ENODATA (a register it needs is not known), -EFAULT or -ERANGE (stack_view_u64), or
 * -EPROTO (malformed, an unknown operation, or more than a bounded number of steps). */
int expression_run(const Dwarf_Op *ops, size_t n, const struct expression_input *in, uint64_t *ret);
