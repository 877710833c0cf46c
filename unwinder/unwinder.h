/* Registers and recorded stack bytes → return addresses.  Pure: reads only the snapshot's memory
 * and ELF files (for a module without a file: an image made of the live target's memory, once).
 * Rules come from CFI, one for each pc on first use, and are cached.  Where there is none,
 * the code's own instructions and guesses serve.
 * Source: DWARF 5 §6.4, x86-64 psABI §3.7, docs/unwinding.md. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/snapshot.h"
#include "target/modules.h"

enum { UNWIND_MAX_FRAMES = 16384 };

/* How a frame was found.  The frames outside a guessed one follow from it by exact rules. */
enum frame_trust {
    FRAME_EXACT,
    /* By an rbp that the prologue gives and the call's target confirms; or, without CFI, by the
     * code's own instructions, if they lead to behind a call.  Counted apart. */
    FRAME_RECOVERED,
    /* By a scan of the stack, or through a candidate that nothing confirms.  Users see it. */
    FRAME_GUESSED,
};

struct native_frame {
    uint64_t pc;
    uint64_t sp,
        cfa; /* the frame's bytes are [sp, cfa); cfa 0: unknown (outermost reached by failure) */
    struct regs regs;  /* the frame's registers: callee-saved ones that are known, sp, pc */
    uint64_t function; /* start of its FDE; 0: no CFI */
    uint64_t entry;    /* without CFI: its start, by symbols or the call; 0: unknown */
    uint64_t begin;    /* if FUNCTION is unknown: where it seems to begin, to name it by; or 0 */
    bool is_call;      /* pc is a return address: look up pc − 1 */
    bool is_signal;    /* a signal trampoline */
    bool after_gap;    /* the frames between this one and the one before are unknown */
    enum frame_trust trust;
};

enum unwind_end {
    UNWIND_DONE,       /* reached a frame with undefined return address, or the thread's root */
    UNWIND_STACK_CUT,  /* needs stack above what the snapshot holds */
    UNWIND_NEEDS_REGS, /* a rule needs a register that a capture without a stop does not know */
    UNWIND_NO_CFI,     /* and no guess reached the root; or a return address of 0 that is none */
    UNWIND_BAD_MEMORY, /* a rule pointed at unreadable memory */
    UNWIND_NO_PROGRESS,
    UNWIND_TOO_DEEP,
    UNWIND_END_COUNT,
};

struct native_stack {
    struct native_frame *frames; /* [0] innermost; the caller's, capacity items */
    size_t n, capacity;
    enum unwind_end end;
    /* Bytes from stack_start that were used; of UNWIND_STACK_CUT those that are needed. */
    uint64_t stack_needed;
    bool lacked_registers; /* with those that only a stop gives, a guess might have been spared */
};

struct unwind_counters {
    uint64_t stacks, frames, rule_hits, rule_misses, rules_shared, fallbacks, guessed, recovered;
    uint64_t joined;      /* frames that were as in the thread's last stack, and not walked again */
    uint64_t resumed;     /* stacks that went on from a known frame */
    uint64_t other_stack; /* ended at a signal on a stack that was not copied */
    uint64_t ends[UNWIND_END_COUNT];
};

struct unwinder;
struct unwinder *unwinder_new(struct modules *modules); /* borrows */
/* Keeps the last stacks in STACKS, borrowed, with those of other processes.  Call it before the
 * first run. */
struct stack_cache;
void unwinder_share(struct unwinder *u, struct stack_cache *stacks);
/* Call it after each modules_refresh() that changed the maps.  Drops the rules of code that went
 * away. */
void unwinder_maps_changed(struct unwinder *u);
/* Call it when the maps were read again and had not changed.  Addresses in no mapping still are in
 * none. */
void unwinder_maps_same(struct unwinder *u);
/* Unwinds S into OUT.  Never fails: OUT->end says how far it came.  The target may be running or
 * dead. */
void unwinder_run(struct unwinder *u, const struct snapshot *s, struct native_stack *out);
/* The same once more, after the maps were read again.  Counts in place of the last run. */
void unwinder_run_again(struct unwinder *u, const struct snapshot *s, struct native_stack *out);
/* A C frame, an activation of an interpreter, that its own bytes prove to be on the stack,
 * whatever unwinding says. */
struct known_frame {
    uint64_t sp, cfa; /* its bytes */
    uint64_t pc;      /* of a return to its function, where the frame is as large */
};
/* Goes on from K, outside of OUT's last frame, after a run of S that ended early.  True: exact
 * rules led from there to the root; OUT ends as UNWIND_DONE and says where the gap is.  False:
 * OUT is as it was. */
bool unwinder_resume(struct unwinder *u, const struct snapshot *s, const struct known_frame *k,
                     struct native_stack *out);
/* True if a pc that was first seen since the maps were last read lies in no known mapping of
 * code: the maps may be stale. */
bool unwinder_wants_maps(const struct unwinder *u);
/* Asks the kernel, where it can be asked, whether any of these addresses is code in process PID
 * now.  True: none is, so the maps need not be read for them. */
bool unwinder_settle_unmapped(struct unwinder *u, pid_t pid);
const struct unwind_counters *unwinder_counters(const struct unwinder *u);
struct unwinder *unwinder_free(struct unwinder *u);
