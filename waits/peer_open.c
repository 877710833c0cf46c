/* open(2) of a FIFO, which waits until somebody opens its other end: nobody has it.  The kernel's
 * function says so; to look at the path could hang, as the program does, where a server of files
 * does not answer.  Source: fifo(7); fs/pipe.c, fifo_open(), wait_for_partner(). */
#include "base/text.h"
#include "target/proc.h"
#include "waits/peer_find.h"

void peer_find_open(struct peer_looks *l, const struct peer_wait *w, struct peer_answer *ret)
{
    char wchan[PROC_TEXT_BYTES];
    (void)l;
    if (!w->over && proc_read_text(w->pid, w->tid, "wchan", wchan, sizeof wchan) > 0 &&
        str_starts(wchan, "wait_for_partner"))
        ret->side.thing = THING_PIPE;
}
