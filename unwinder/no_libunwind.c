/* In the place of libunwind_step.c where libunwind is left out: the static program, because
 * Debian's archive of libunwind is not position-independent.  No step is ever found. */
#include <errno.h>
#include <stddef.h>

#include "unwinder/libunwind_step.h"

struct libunwind *libunwind_new(struct modules *modules)
{
    (void)modules;
    return NULL;
}

int libunwind_step(struct libunwind *o, struct stack_view *view, const struct regs *frame,
                   struct regs *caller)
{
    (void)o, (void)view, (void)frame, (void)caller;
    return -ENOENT;
}

struct libunwind *libunwind_free(struct libunwind *o)
{
    (void)o;
    return NULL;
}
