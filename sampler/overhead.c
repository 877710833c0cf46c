/* Keeps --max-overhead: no thread is held for a larger share of the last five seconds.  Keeps
 * wallspy within half of its CPU quota, too: with the quota used up the kernel would keep it off
 * the CPUs, and a held thread with it.  The rate is lowered while either is too much, and raised
 * again when there is room. */
#include <time.h>

#include "base/clock.h"
#include "base/minmax.h"
#include "sampler/state.h"

enum {
    SLOT_NS = 250 * NS_PER_MS, /* HELD_SLOTS of them are five seconds */
    /* A longer hold is an accident of scheduling on a busy machine: it counts, but no other like it
     * is expected. */
    USUAL_HOLD_NS = NS_PER_MS,
    HEARD_AT_ONCE_NS = 100 * NS_PER_US, /* from the request, with what the hold takes */
    LEAST_NS =
        NS_PER_S, /* before so much time has passed nothing is extrapolated to more than that */
};
/* For so long after a stop that was heard of late the next may be, too. */
static const int64_t WATCH_NS = 2 * (int64_t)NS_PER_S;
static const int64_t window_ns = HELD_SLOTS * (int64_t)SLOT_NS;
static const double room = 0.8;     /* of what is allowed: below it the rate is raised */
static const double raise = 0.9;    /* of the interval, each time: what that will cost is known */
static const double most_step = 16; /* largest divisor of the rate at a time */

static int64_t elapsed_ns(const struct sampler *s)
{
    int64_t sum_ns = 0;
    for (int i = 0; i < HELD_SLOTS; i++)
        sum_ns += s->held_slots[i].elapsed_ns;
    return sum_ns;
}

/* NS of slot I as they would be at the present rate. */
static double at_this_rate(const struct sampler *s, int i, double ns)
{
    return ns * (double)s->held_slots[i].interval_ns / (double)s->interval_ns;
}

static uint32_t sum_of(uint32_t a, uint32_t b)
{
    return a < UINT32_MAX - b ? a + b : UINT32_MAX;
}

static bool read_voluntary(const struct thread *t, uint64_t *ret)
{
    struct task_status status;
    int fd = t->fds[FILE_STATUS];
    if (fd < 0 || task_status_read(fd, &status) < 0)
        return false;
    *ret = status.voluntary;
    return true;
}

/* Where wallspy has no CPU when the thread stops, the stop is reported late, and wallspy's own
 * clock misses most of the hold.  If our stop was the thread's only voluntary switch since the
 * release before, all time since then in which it neither ran nor waited for a CPU, as the kernel
 * counts, was a hold.  The loss cannot be longer than the time since the request.  A hypervisor
 * that takes the CPU away looks the same, and counts as a loss within that time. */
uint32_t overhead_lost_ns(struct thread *t, const struct schedstat *now, uint32_t held_ns)
{
    struct release last = t->released;
    struct release r = {.at_ns = clock_now_ns(), .sched = *now};
    int64_t most_ns = r.at_ns - t->asked_ns;
    bool heard_late = most_ns - held_ns > HEARD_AT_ONCE_NS;
    if (heard_late)
        t->watched_until_ns = r.at_ns + WATCH_NS;
    if (r.at_ns < t->watched_until_ns)
        r.complete = read_voluntary(t, &r.voluntary);
    t->released = r;
    if (!heard_late || !last.complete || !r.complete || r.voluntary != last.voluntary + 1)
        return held_ns;
    int64_t lost_ns = r.at_ns - last.at_ns - (int64_t)(r.sched.run_ns - last.sched.run_ns) -
                      (int64_t)(r.sched.wait_ns - last.sched.wait_ns);
    return (uint32_t)min_i64(max_i64(min_i64(lost_ns, most_ns), held_ns), UINT32_MAX);
}

void overhead_add(struct thread *t, uint32_t ns)
{
    uint32_t usual_ns = ns < USUAL_HOLD_NS ? ns : USUAL_HOLD_NS;
    t->held_ns += ns;
    t->held_slot.ns = sum_of(t->held_slot.ns, ns);
    t->held_slot.usual_ns = sum_of(t->held_slot.usual_ns, usual_ns);
}

static int64_t cpu_now_ns(void)
{
    struct timespec t = {0};
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * (int64_t)NS_PER_S + t.tv_nsec;
}

static void close_slot(struct sampler *s, int64_t now_ns)
{
    int64_t cpu_ns = cpu_now_ns();
    s->held_slots[s->held_slot].cpu_ns = cpu_ns - s->cpu_ns;
    s->cpu_ns = cpu_ns;
    /* A longer slot: wallspy itself was stopped, which makes no room for more stops. */
    int64_t longest_ns = 2 * max_i64(SLOT_NS, s->interval_ns);
    s->held_slots[s->held_slot].elapsed_ns = min_i64(now_ns - s->overhead_checked_ns, longest_ns);
    s->held_slots[s->held_slot].interval_ns = s->interval_ns;
    s->overhead_checked_ns = now_ns;
    for (uint32_t i = 0; i < s->n_processes; i++)
        for (size_t j = 0; j < s->processes[i]->n_threads; j++) {
            struct thread *t = s->processes[i]->threads[j];
            t->held_slots[s->held_slot] = t->held_slot;
            t->held_slot = (struct held_sum){0};
        }
    s->held_slot = (s->held_slot + 1) % HELD_SLOTS;
}

/* The share of its time for which T was held; *RET_EXPECTED: the share at the present rate.  Before
 * T was sampled it was not held. */
static double share_of(const struct sampler *s, const struct thread *t, double *ret_expected)
{
    double ns = 0;
    double at_this_rate_ns = 0;
    double usual_ns = 0;
    for (int i = 0; i < HELD_SLOTS; i++) {
        ns += t->held_slots[i].ns;
        at_this_rate_ns += at_this_rate(s, i, t->held_slots[i].ns);
        usual_ns += at_this_rate(s, i, t->held_slots[i].usual_ns);
    }
    double all = at_this_rate_ns / (double)max_i64(elapsed_ns(s), window_ns);
    double usual = usual_ns / (double)max_i64(elapsed_ns(s), LEAST_NS);
    *ret_expected = all > usual ? all : usual;
    return ns / (double)max_i64(elapsed_ns(s), window_ns);
}

/* Returns the largest share to expect, and notes the largest that was. */
static double worst_share(struct sampler *s)
{
    double worst = atomic_load_explicit(&s->worst_share, memory_order_relaxed);
    double worst_expected = 0;
    for (uint32_t i = 0; i < s->n_processes; i++)
        for (size_t j = 0; j < s->processes[i]->n_threads; j++) {
            double expected;
            double share = share_of(s, s->processes[i]->threads[j], &expected);
            worst = share > worst ? share : worst;
            worst_expected = expected > worst_expected ? expected : worst_expected;
        }
    atomic_store_explicit(&s->worst_share, worst, memory_order_relaxed);
    return worst_expected;
}

/* The CPU time that wallspy takes, as a part of what it may take. */
static double cpu_ratio(const struct sampler *s)
{
    double ns = 0;
    if (s->config.max_cpus <= 0)
        return 0;
    for (int i = 0; i < HELD_SLOTS; i++)
        ns += at_this_rate(s, i, (double)s->held_slots[i].cpu_ns);
    return ns / (double)max_i64(elapsed_ns(s), LEAST_NS) / s->config.max_cpus;
}

static void scale_interval(struct sampler *s, double factor)
{
    double asked_ns = (double)NS_PER_S / s->config.rate_hz;
    double wanted_ns = (double)s->interval_ns * factor;
    s->interval_ns = (int64_t)(wanted_ns > asked_ns ? wanted_ns : asked_ns);
    atomic_store_explicit(&s->rate_hz, (double)NS_PER_S / (double)s->interval_ns,
                          memory_order_relaxed);
}

void overhead_keep_priority(struct sampler *s)
{
    bool given_up = priority_keep(&s->priority, clock_now_ns(), clock_cpu_ns());
    counters_add(&s->counters, COUNT_PRIORITY_GIVEN_UP, given_up);
}

void overhead_keep(struct sampler *s)
{
    int64_t now_ns = clock_now_ns();
    if (now_ns - s->overhead_checked_ns < SLOT_NS)
        return;
    close_slot(s, now_ns);
    double held = worst_share(s) / s->config.max_held;
    double cpu = cpu_ratio(s);
    double ratio = held > cpu ? held : cpu;
    if (ratio > 1) {
        counters_add(&s->counters, COUNT_RATE_LOWERED, 1);
        counters_add(&s->counters, COUNT_RATE_LOWERED_FOR_QUOTA, cpu > held);
        scale_interval(s, ratio < most_step ? ratio : most_step);
    } else if (ratio < room) {
        scale_interval(s, raise);
    }
}
