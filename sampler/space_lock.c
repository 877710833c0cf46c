#include "sampler/space_lock.h"

#include "base/clock.h"
#include "sampler/state.h"
#include "target/mem.h"

enum {
    LOCKED_NS = 200 * NS_PER_US, /* a read of one byte takes 1 µs */
    RECENT_NS = NS_PER_S,
};

/* UINT64_MAX: unknown. */
static uint64_t own_delay_ns(const struct sampler *s)
{
    struct schedstat own;
    bool known = s->can.schedstat && s->own_fd >= 0 && schedstat_read(s->own_fd, &own) == 0;
    return known ? own.wait_ns : UINT64_MAX;
}

struct space_watch space_watch_begin(struct sampler *s)
{
    uint64_t delay_ns = own_delay_ns(s);
    return (struct space_watch){clock_now_ns(), delay_ns};
}

void space_watch_end(struct sampler *s, struct process *p, const struct space_watch *watch)
{
    int64_t took_ns = clock_now_ns() - watch->begun_ns;
    if (took_ns <= LOCKED_NS || watch->delay_ns == UINT64_MAX)
        return;
    took_ns -= (int64_t)(own_delay_ns(s) - watch->delay_ns);
    if (took_ns > LOCKED_NS)
        p->locked_ns = s->tick_ns;
}

static void read_one_byte(struct sampler *s, struct process *p)
{
    char byte;
    struct space_watch watch = space_watch_begin(s);
    (void)mem_read(p->live, p->stack_start, &byte, sizeof byte);
    space_watch_end(s, p, &watch);
}

bool space_is_locked(struct sampler *s, struct process *p)
{
    if (p->locked_ns != s->tick_ns && p->lock_checked_ns != s->tick_ns)
        read_one_byte(s, p);
    p->lock_checked_ns = s->tick_ns;
    return p->locked_ns == s->tick_ns;
}

bool space_was_locked(const struct sampler *s, const struct process *p)
{
    return p->locked_ns && s->tick_ns - p->locked_ns < RECENT_NS;
}
