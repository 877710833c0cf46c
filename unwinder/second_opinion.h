/* One step by libunwind over a snapshot, where there is no CFI.  libdw's rules cover all that
 * libunwind's CFI would; what it knows besides are signal trampolines by their machine code (musl's
 * has no CFI), PLT stubs by theirs, and frame records at rbp.
 * Source: libunwind src/x86_64/Gstep.c, Gis_signal_frame.c; libunwind-dynamic(3). */
#pragma once

#include <stdbool.h>

#include "sampler/snapshot.h"
#include "target/modules.h"
#include "unwinder/stack_view.h"

struct second_opinion;
struct second_opinion *second_opinion_new(struct modules *modules); /* borrows */
/* The caller of FRAME.  Unless RET_IS_SIGNAL (FRAME is a trampoline, CALLER was interrupted) it is
 * a guess.  Returns 0 or -ENOENT. */
int second_opinion_step(struct second_opinion *o, struct stack_view *view, const struct regs *frame,
                        struct regs *caller, bool *ret_is_signal);
struct second_opinion *second_opinion_free(struct second_opinion *o);
