/* The walk from frame to frame, shared by its parts: walk.c (rules), recover_fp.c (rbp of a capture
 * without a stop), no_cfi.c (the instructions of code without CFI), stack_scan.c (where these say
 * nothing).  They call each other: a caller that may be wrong is tried by walking on from it
 * (walk_try()). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "unwinder/code.h"
#include "unwinder/rule_cache.h"
#include "unwinder/stack_cache.h"
#include "unwinder/stack_view.h"
#include "unwinder/unwinder.h"

struct walk {
    struct modules *modules;
    struct rule_cache *rules;
    struct map *call_targets; /* recover_fp.c's: return address → what its call leads to */
    struct map *calls;        /* walk_call()'s */
    struct stack_cache *stack_cache;
    struct unwind_counters *counters;
    struct stack_view view;
    struct native_stack *out;
    unsigned stack_switches;
    unsigned nesting;       /* how many trials this is in, one within the other */
    unsigned trials;        /* how many this stack has had */
    size_t trial_frames;    /* frames that trials of this stack have made */
    size_t work;            /* the cost of this stack so far, in words that guesses looked at */
    unsigned by_expression; /* frames whose rule has expressions */
    bool trial_failed;      /* so that words were read that no frame of OUT needs */
    bool at_root;           /* the end was a frame whose return address is undefined */
};

/* Adds a frame with REGS and goes on from caller to caller. */
enum unwind_end walk_from(struct walk *w, const struct regs *regs, bool is_call,
                          enum frame_trust trust);
/* The same for a caller that may be wrong.  Unless the chain reaches a root whose return address
 * is undefined, its frames are taken back.  Returns UNWIND_DONE, or why it failed. */
enum unwind_end walk_try(struct walk *w, const struct regs *regs, bool is_call,
                         enum frame_trust trust);

/* The rule for PC. */
struct cached_rule *walk_rule(struct walk *w, uint64_t pc, bool is_call);
/* code_call().  Of code that no file holds it reads the target once, until the maps are read
 * again. */
enum call_kind walk_call(struct walk *w, uint64_t return_addr, uint64_t *ret);
/* Has the stack cost so much that no more guesses are to be made? */
bool walk_is_costly(const struct walk *w);
/* Can the walk go on from PC without a guess, or end there? */
bool walk_has_rule(struct walk *w, uint64_t pc, bool is_call);
/* May the call before RETURN_ADDR lead to code without CFI at PC, of the function at ENTRY (0:
 * unknown)?  CALL_UNKNOWN: the call is indirect, or it leads to code before PC that may go on
 * until there, or to a function that jumps on. */
enum call_target_check walk_may_enter(struct walk *w, uint64_t return_addr, uint64_t pc,
                                      uint64_t entry);
/* Goes from the last frame, which has no CFI and which CACHED is for, to its caller, by a path
 * into or out of its code.  False: no path leads to where a call returns to. */
bool walk_by_code(struct walk *w, struct cached_rule *cached, struct regs *caller);
/* Is the last frame, which CACHED is for, the first of a stack, though no CFI says so? */
bool walk_is_root(struct walk *w, struct cached_rule *cached);
/* Is F's pc in no known mapping of code? */
bool walk_is_unmapped(struct walk *w, const struct native_frame *f);
static inline struct native_frame *walk_last(struct walk *w)
{
    return &w->out->frames[w->out->n - 1];
}

/* Goes on from the last frame, whose RULE needs a register that is not known.  rbp is derived
 * from sp by the function's own prologue.  It is believed only if the call before the return
 * address leads to the function and the chain reaches the root.  Else returns UNWIND_NEEDS_REGS. */
enum unwind_end walk_recover_fp(struct walk *w, struct cached_rule *rule);
/* Goes on from the last frame, whose code has no CFI, by the first word on the stack that could
 * be a return address and whose chain reaches the root. */
enum unwind_end walk_stack_scan(struct walk *w);
