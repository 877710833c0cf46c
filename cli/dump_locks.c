#include "cli/dump_locks.h"

#include "base/alloc.h"
#include "waits/lock_names.h"
#include "worker/process_set.h"

enum { MOST_LOCKS = 64 }; /* a pass over all of a file's symbols each */

/* The name of I's lock, if an earlier thread of D waits for it too; NULL: none does. */
static const char *known_name(const struct dump *d, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (d->threads[k].pid == d->threads[i].pid && d->threads[k].lock &&
            d->threads[k].side.addr == d->threads[i].side.addr)
            return d->threads[k].lock;
    return NULL;
}

void dump_locks_name(struct dump *d, const struct process_set *processes)
{
    size_t n = 0;
    for (size_t i = 0; i < d->n; i++) {
        struct dump_thread *t = &d->threads[i];
        bool is_lock = t->side.thing == THING_MUTEX || t->side.thing == THING_RWLOCK;
        if (!is_lock || !t->side.addr)
            continue;
        const char *known = known_name(d, i);
        struct target_process *s =
            process_set_find(processes, profile_see_thread(d->profile, t->thread)->process);
        if (known) {
            t->lock = xstrdup(known);
        } else if (s && n++ < MOST_LOCKS) {
            struct wait_target target = target_process_for_waits(s);
            t->lock = lock_name_at(&target, t->side.addr);
        }
    }
}
