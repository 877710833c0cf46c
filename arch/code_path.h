/* What a stretch of machine code does to the stack, instruction by instruction: where the stack and
 * the frame pointer are relative to what they were at its start, and which registers it saves and
 * restores.  insn_unwind.c follows such paths.  Where it is not sure it leaves a register unknown,
 * and another path is tried; prologue_decode() refuses the whole function then, for no second fact
 * refutes a wrong distance between aligned stacks.  Pure but for the reader. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/registers.h"

/* Copies LEN bytes of code at ADDR; 0 or a negative errno. */
typedef int (*code_reader)(void *ctx, uint64_t addr, void *buf, size_t len);

enum { CODE_WINDOW_BYTES = 512 };
struct code_window {
    code_reader read;
    void *ctx;
    uint64_t start;
    size_t len;
    uint8_t bytes[CODE_WINDOW_BYTES];
};

struct insn {
    const uint8_t *op; /* the opcode, behind prefixes; in the window */
    size_t len;        /* from there to the end */
    uint8_t rex;
    bool short_operands;
    uint64_t next;
};
/* Decodes the instruction at AT.  False: there is no code, or it is unknown. */
bool code_window_decode(struct code_window *w, uint64_t at, struct insn *ret);

/* A place relative to a register as it was at the path's start. */
struct place {
    uint8_t reg; /* REG_SP or REG_FP */
    int64_t offset;
};

struct path {
    uint64_t at;
    unsigned calls; /* passed: one that never returns would lead astray, so the fewer the better */
    struct place sp, fp;
    bool sp_known, fp_known;
    /* By DWARF number. */
    reg_set restored; /* from SLOTS */
    reg_set saved;    /* at SAVED_AT, as it was at the start */
    reg_set changed;  /* is no longer what it was at the start */
    struct place slots[REG_COUNT];
    struct place pushed[REG_COUNT]; /* where the path itself put a register last */
    struct place saved_at[REG_COUNT];
};
struct path path_begin(uint64_t at);

enum path_effect { PATH_GOES_ON, PATH_RETURNS, PATH_ENDS, PATH_CALLS, PATH_JUMPS, PATH_BRANCHES };
/* Follows P over one instruction, but for P->at. */
enum path_effect path_apply(struct path *p, const struct insn *i);
/* Where I, for which path_apply() said PATH_JUMPS or PATH_BRANCHES, leads. */
uint64_t insn_jump_target(const struct insn *i);

/* The bytes that I, for which path_apply() said PATH_RETURNS, takes off the stack besides the
 * return address. */
uint16_t insn_return_pops(const struct insn *i);
/* The system call's number that I loads, but for what does not fit into a byte; −1: it loads
 * none. */
int insn_loads_call_number(const struct insn *i);
bool insn_calls_kernel(const struct insn *i);
/* Is I one that stands where nobody may come: behind a call that never returns? */
bool insn_halts(const struct insn *i);
/* Does I begin another function, as behind such a call: padding, a landing pad, a push? */
bool insn_begins_function(const struct insn *i);
