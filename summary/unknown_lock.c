#include "summary/unknown_lock.h"

#include "summary/frame_name.h"
#include "summary/rule_classes.h"
#include "summary/waits_at.h"

enum { LEAST_READERS = 2, WAKES_A_WAIT = 4 };

/* Source: pthread_rwlock_wrlock(3p), glibc's pthread_rwlock_clockwrlock(3). */
static bool writes(const struct shown_frame *f)
{
    return f->libc && f->kind == SHOWN_NATIVE &&
           str_starts_any(frame_libc_name(f->name),
                          (const char *const[]){"pthread_rwlock_wrlock",
                                                "pthread_rwlock_timedwrlock",
                                                "pthread_rwlock_clockwrlock", NULL});
}

/* How many threads of GROUP's process, idle ones and those of GROUP apart, wake more than LEAST
 * times. */
static size_t count_busy(const struct judgement *s, const struct thread_group *group,
                         uint64_t least)
{
    const process_id process = group->threads[0]->thread->process;
    size_t n = 0;
    for (size_t i = 0; i < s->g->n; i++) {
        const struct thread_group *other = &s->g->items[i];
        if (other == group || other->idle)
            continue;
        for (size_t k = 0; k < other->n; k++) {
            const struct profile_thread *t = other->threads[k]->thread;
            n += t->process.ix == process.ix && t->usage.voluntary > least;
        }
    }
    return n;
}

/* Does GROUP wait to write at NODE while two threads of its process or more go on, which wake far
 * more often than it gets in?  glibc lets a reader in while others are in.  One that keeps the lock
 * is no such case. */
static bool readers_come_first(const struct judgement *s, const struct thread_group *group,
                               uint32_t node)
{
    uint64_t waits = 0;
    bool write = false;
    for (struct waits_at w = waits_at(s, group, node); waits_at_next(&w);) {
        waits += w.run->waits ? w.run->waits : 1;
        write |= rule_stack_has(s, w.run->at, writes);
    }
    return write && count_busy(s, group, WAKES_A_WAIT * waits) >= LEAST_READERS;
}

void add_unknown_lock(const struct judgement *s, const struct thread_group *group, uint32_t node,
                      struct text *words)
{
    text_add(words, " The lock's holder is unknown");
    if (call_tree_node(s->g->tree, node).futex == FUTEX_RWLOCK)
        text_add(words, ": readers leave no name in an rwlock");
    text_add(words, ".");
    if (readers_come_first(s, group, node))
        text_add(words, " New readers come in before a writer that waits, unless the lock has "
                        "PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP.");
}
