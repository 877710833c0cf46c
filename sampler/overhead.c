/* Keeps --max-overhead: no thread loses a larger share of the last five seconds to holds, nor all
 * of them more to the sampler's CPU time.  Keeps wallspy within half of its CPU quota, too: with
 * the quota used up the kernel would keep it off the CPUs, and a held thread with it.  The rate is
 * lowered while any is too much, and raised again when there is room. */
#include "sampler/overhead.h"

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
    STOPS_WITHIN_NS = 10 * NS_PER_US,   /* on its CPU: 8.5 µs in the median, 13 in nine of ten */
    LEAST_DEMAND_NS = 5 * NS_PER_MS,    /* less says nothing */
    FEW_THREADS = 8,
    ONE_CPU_FACTOR = 10, /* fewer CPUs count as so many */
    LEAST_NS =
        NS_PER_S, /* before so much time has passed nothing is extrapolated to more than that */
};
/* For so long after a stop that was heard of late the next may be, too. */
static const int64_t WATCH_NS = 2 * (int64_t)NS_PER_S;
static const int64_t window_ns = HELD_SLOTS * (int64_t)SLOT_NS;
static const double room = 0.8;     /* of what is allowed: below it the rate is raised */
static const double raise = 0.9;    /* of the interval, each time: what that will cost is known */
static const double most_step = 16; /* largest divisor of the rate at a time */
/* Others may wait for a thread that is held, though they have its CPU. */
static const double delay_counts = 0.2;

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

/* If our stop was T's only voluntary switch since the release before, all time since then in which
 * it neither ran nor waited for a CPU, as the kernel counts, was a hold. */
static int64_t held_between_releases(struct thread *t, const struct schedstat *now, int64_t now_ns,
                                     bool heard_late)
{
    struct release last = t->released;
    struct release r = {.at_ns = now_ns, .sched = *now};
    if (heard_late)
        t->watched_until_ns = r.at_ns + WATCH_NS;
    if (r.at_ns < t->watched_until_ns)
        r.complete = read_voluntary(t, &r.voluntary);
    t->released = r;
    if (!last.complete || !r.complete || r.voluntary != last.voluntary + 1)
        return 0;
    return r.at_ns - last.at_ns - (int64_t)(r.sched.run_ns - last.sched.run_ns) -
           (int64_t)(r.sched.wait_ns - last.sched.wait_ns);
}

/* If T has the run count of the request, it was on its CPU all the time until it stopped.  Outside
 * of a system call it stopped at once; a call may have run on, for as long as the kernel counted at
 * most. */
static int64_t held_since_request(const struct thread *t, const struct schedstat *now,
                                  uint32_t most_ns)
{
    if (now->runs != t->asked.sched.runs)
        return 0;
    int64_t ran_ns = (int64_t)(now->run_ns - t->asked.sched.run_ns);
    return (int64_t)most_ns - (t->stopped_in_call ? ran_ns : STOPS_WITHIN_NS);
}

bool overhead_heard_at_once(struct sampler *s, const struct hold *hold)
{
    struct schedstat own;
    if (s->own_fd < 0 || schedstat_read(s->own_fd, &own) < 0)
        return false;
    uint64_t waited_ns = own.wait_ns - s->own_wait_ns; /* since the last such stop */
    s->own_wait_ns = own.wait_ns;
    return s->can.schedstat && hold->deaf_ns + waited_ns <= HEARD_AT_ONCE_NS;
}

/* Where wallspy has no CPU when the thread stops, the stop is reported late, and wallspy's own
 * clock misses most of the hold.  A hypervisor that takes the CPU away looks the same, and counts
 * as a hold within that time. */
uint32_t overhead_held_ns(struct thread *t, const struct schedstat *now, int64_t now_ns,
                          const struct hold *hold, bool at_once)
{
    bool heard_late =
        !at_once && hold->most_ns > hold->ns && hold->most_ns - hold->ns > HEARD_AT_ONCE_NS;
    int64_t between_ns = held_between_releases(t, now, now_ns, heard_late);
    if (!heard_late)
        return hold->ns;
    int64_t held_ns = max_i64(between_ns, held_since_request(t, now, hold->most_ns));
    return (uint32_t)max_i64(min_i64(held_ns, hold->most_ns), hold->ns);
}

/* ---- what that costs a thread ---- */

/* The part of its time that T had a CPU for, of that in which it wanted one. */
static double part_of_cpu(const struct thread *t)
{
    double wanted_ns = t->demand.run_ns + t->demand.wait_ns;
    return wanted_ns > LEAST_DEMAND_NS ? t->demand.run_ns / wanted_ns : 1;
}

/* Looks at T's counts once a slot.  Returns for how long T waited for a CPU since the last look.
 * The first look has the counts of T's whole life. */
static uint64_t look_at_demand(struct thread *t)
{
    const double kept = 1 - 1.0 / HELD_SLOTS;
    const struct schedstat seen = t->demand.seen;
    if (t->sched.run_ns < seen.run_ns || t->sched.wait_ns < seen.wait_ns)
        return 0;
    uint64_t wait_ns = t->sched.wait_ns - seen.wait_ns;
    double run_ns = (double)(t->sched.run_ns - seen.run_ns);
    double all_ns = run_ns + (double)wait_ns;
    double part = !seen.runs && all_ns > (double)window_ns ? (double)window_ns / all_ns : 1;
    t->demand.seen = t->sched;
    t->demand.run_ns = t->demand.run_ns * kept + run_ns * part;
    t->demand.wait_ns = t->demand.wait_ns * kept + (double)wait_ns * part;
    return seen.runs ? wait_ns : 0;
}

/* A thread that has a CPU for a quarter of the time that it wants one, because others have it for
 * the rest, would have had it for a quarter of the hold: what others of the target ran meanwhile is
 * not lost. */
void overhead_add(struct thread *t, uint32_t held_ns)
{
    if (!t->demand.seen.runs)
        (void)look_at_demand(t);
    double part = part_of_cpu(t);
    uint32_t lost_ns = (uint32_t)(held_ns * part);
    uint32_t usual_ns = lost_ns < USUAL_HOLD_NS ? lost_ns : USUAL_HOLD_NS;
    t->held_ns += held_ns;
    t->lost_ns += lost_ns;
    t->held_slot.held_ns = sum_of(t->held_slot.held_ns, held_ns);
    t->held_slot.ns = sum_of(t->held_slot.ns, lost_ns);
    t->held_slot.usual_ns = sum_of(t->held_slot.usual_ns, usual_ns);
}

static int64_t cpu_now_ns(void)
{
    struct timespec t = {0};
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * (int64_t)NS_PER_S + t.tv_nsec;
}

/* Ends the slot of each thread.  Returns for how long threads waited for CPUs in it, in all;
 * *RET_NEW: how many are not registered yet. */
static uint64_t close_threads(struct sampler *s, size_t *ret_new)
{
    uint64_t wait_ns = 0;
    *ret_new = 0;
    for (uint32_t i = 0; i < s->n_processes; i++)
        for (size_t j = 0; j < s->processes[i]->n_threads; j++) {
            struct thread *t = s->processes[i]->threads[j];
            t->held_slots[s->held_slot] = t->held_slot;
            t->held_slot = (struct held_sum){0};
            wait_ns += look_at_demand(t);
            *ret_new += !t->registered;
        }
    return wait_ns;
}

/* The sampler's CPU time counts as far as threads waited for CPUs as long.  To register threads
 * costs much once, at any rate: it does not count. */
static int64_t taken_ns(struct sampler *s, uint64_t wait_ns, size_t n_new)
{
    int64_t cpu_ns = clock_cpu_ns();
    int64_t own_ns = cpu_ns - s->own_cpu_ns;
    bool registered = s->registering;
    s->own_cpu_ns = cpu_ns;
    s->registering = n_new > FEW_THREADS;
    counters_raise(&s->counters, COUNT_CPU_NS, (uint64_t)cpu_ns);
    return registered || s->registering ? 0 : min_i64(own_ns, (int64_t)min_u64(wait_ns, INT64_MAX));
}

static void close_slot(struct sampler *s, int64_t now_ns)
{
    size_t n_new;
    int64_t cpu_ns = cpu_now_ns();
    uint64_t wait_ns = close_threads(s, &n_new);
    s->held_slots[s->held_slot].taken_ns = taken_ns(s, wait_ns, n_new);
    s->held_slots[s->held_slot].cpu_ns = cpu_ns - s->cpu_ns;
    s->cpu_ns = cpu_ns;
    /* A longer slot: wallspy itself was stopped, which makes no room for more stops. */
    int64_t longest_ns = 2 * max_i64(SLOT_NS, s->interval_ns);
    s->held_slots[s->held_slot].elapsed_ns = min_i64(now_ns - s->overhead_checked_ns, longest_ns);
    s->held_slots[s->held_slot].interval_ns = s->interval_ns;
    s->overhead_checked_ns = now_ns;
    s->held_slot = (s->held_slot + 1) % HELD_SLOTS;
}

/* The shares of its time of one thread. */
struct shares {
    double held, lost;
    double expected; /* to be lost at the present rate, or a part of being held if that is more */
};

/* Before T was sampled it was not held. */
static struct shares shares_of(const struct sampler *s, const struct thread *t)
{
    double held_ns = 0;
    double lost_ns = 0;
    double delay_ns = 0;
    double at_this_rate_ns = 0;
    double usual_ns = 0;
    for (int i = 0; i < HELD_SLOTS; i++) {
        held_ns += t->held_slots[i].held_ns;
        delay_ns += at_this_rate(s, i, t->held_slots[i].held_ns) * delay_counts;
        lost_ns += t->held_slots[i].ns;
        at_this_rate_ns += at_this_rate(s, i, t->held_slots[i].ns);
        usual_ns += at_this_rate(s, i, t->held_slots[i].usual_ns);
    }
    double over_ns = (double)max_i64(elapsed_ns(s), window_ns);
    double all = (at_this_rate_ns > delay_ns ? at_this_rate_ns : delay_ns) / over_ns;
    double usual = usual_ns / (double)max_i64(elapsed_ns(s), LEAST_NS);
    return (struct shares){held_ns / over_ns, lost_ns / over_ns, all > usual ? all : usual};
}

static void raise_to(_Atomic double *worst, double share)
{
    if (share > atomic_load_explicit(worst, memory_order_relaxed))
        atomic_store_explicit(worst, share, memory_order_relaxed);
}

/* Returns the largest share to expect, and notes the largest that were. */
static double worst_share(struct sampler *s)
{
    double worst_expected = 0;
    for (uint32_t i = 0; i < s->n_processes; i++)
        for (size_t j = 0; j < s->processes[i]->n_threads; j++) {
            struct shares shares = shares_of(s, s->processes[i]->threads[j]);
            raise_to(&s->worst_held, shares.held);
            raise_to(&s->worst_lost, shares.lost);
            worst_expected = shares.expected > worst_expected ? shares.expected : worst_expected;
        }
    return worst_expected;
}

/* The CPU time that wallspy takes, as a part of what it may take of its own quota. */
static double quota_ratio(const struct sampler *s)
{
    double ns = 0;
    if (s->config.max_cpus <= 0)
        return 0;
    for (int i = 0; i < HELD_SLOTS; i++)
        ns += at_this_rate(s, i, (double)s->held_slots[i].cpu_ns);
    return ns / (double)max_i64(elapsed_ns(s), LEAST_NS) / s->config.max_cpus;
}

/* The CPU time that the sampler takes from threads that wait for CPUs, as a part of what it may
 * take. */
static double taken_ratio(const struct sampler *s)
{
    double ns = 0;
    double cpus = s->n_cpus > ONE_CPU_FACTOR ? s->n_cpus : ONE_CPU_FACTOR;
    for (int i = 0; i < HELD_SLOTS; i++)
        ns += at_this_rate(s, i, (double)s->held_slots[i].taken_ns);
    return ns / (double)max_i64(elapsed_ns(s), LEAST_NS) / (cpus * s->config.max_held);
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
    double lost = worst_share(s) / s->config.max_held;
    double taken = taken_ratio(s);
    double quota = quota_ratio(s);
    double ratio = lost > taken ? lost : taken;
    ratio = ratio > quota ? ratio : quota;
    if (ratio > 1) {
        counters_add(&s->counters, COUNT_RATE_LOWERED, 1);
        counters_add(&s->counters, COUNT_RATE_LOWERED_FOR_QUOTA, quota >= ratio);
        counters_add(&s->counters, COUNT_RATE_LOWERED_FOR_CPU, taken >= ratio && quota < ratio);
        scale_interval(s, ratio < most_step ? ratio : most_step);
    } else if (ratio < room) {
        scale_interval(s, raise);
    }
}
