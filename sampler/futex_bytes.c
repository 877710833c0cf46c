#include "sampler/futex_bytes.h"

#include <sys/syscall.h>

void futex_bytes_read(struct recorder *r, const struct snapshot *s)
{
    uint64_t word = s->syscall_args[0];
    size_t all = FUTEX_BYTES_BEFORE + FUTEX_BYTES_FROM;
    if (s->syscall != SYS_futex || word < FUTEX_BYTES_BEFORE)
        return;
    /* The page before the word may not be the lock's, nor mapped. */
    if (recorder_read_more(r, word - FUTEX_BYTES_BEFORE, all) <= FUTEX_BYTES_BEFORE)
        (void)recorder_read_more(r, word, FUTEX_BYTES_FROM);
}
