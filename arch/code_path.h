/* What a stretch of x86-64 machine code does to the stack, instruction by instruction: where rsp
 * and rbp are relative to what they were at its start, and which registers it saves and restores.
 * insn_unwind.c follows such paths.  Pure but for the reader.  Source:  Intel SDM volume 2; x86-64
 * psABI §3.2. */
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
    uint8_t reg; /* X86_RSP or X86_RBP */
    int64_t offset;
};

struct path {
    uint64_t at;
    unsigned calls; /* passed: one that never returns would lead astray, so the fewer the better */
    struct place rsp, rbp;
    bool rsp_known, rbp_known;
    /* By DWARF number. */
    uint32_t restored; /* from SLOTS */
    uint32_t saved;    /* at SAVED_AT, as it was at the start */
    uint32_t changed;  /* is no longer what it was at the start */
    struct place slots[X86_COUNT];
    struct place pushed[X86_COUNT]; /* where the path itself put a register last */
    struct place saved_at[X86_COUNT];
};
struct path path_begin(uint64_t at);

enum path_effect { PATH_GOES_ON, PATH_RETURNS, PATH_ENDS, PATH_CALLS, PATH_JUMPS, PATH_BRANCHES };
/* Follows P over one instruction, but for P->at. */
enum path_effect path_apply(struct path *p, const struct insn *i);
/* Where I, for which path_apply() said PATH_JUMPS or PATH_BRANCHES, leads. */
uint64_t insn_jump_target(const struct insn *i);
