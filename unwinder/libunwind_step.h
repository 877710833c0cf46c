/* One step by libunwind over a snapshot, where there is no CFI.  The rules cover all that
 * libunwind's CFI would.  Besides, libunwind knows PLT stubs by their machine code (lld writes no
 * CFI for them) and frame records at rbp.
 * Source: libunwind src/x86_64/Gstep.c; libunwind-dynamic(3). */
#pragma once

#include <stdbool.h>

#include "capture/snapshot.h"
#include "target/modules.h"
#include "unwinder/stack_view.h"

struct libunwind;
struct libunwind *libunwind_new(struct modules *modules); /* borrows */
/* A guess at the caller of FRAME.  Returns 0 or -ENOENT. */
int libunwind_step(struct libunwind *o, struct stack_view *view, const struct regs *frame,
                   struct regs *caller);
struct libunwind *libunwind_free(struct libunwind *o);
