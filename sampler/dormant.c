#include "sampler/dormant.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/minmax.h"
#include "sampler/state.h"
#include "sampler/thread_files.h"

enum {
    DORMANT_AFTER_TICKS = 16, /* a thread that runs now and then is better visited by itself */
    DORMANT_AFTER_MS = 2000,  /* and no less: the clock misses the begin of its next run */
    LOOK_EVERY_TICKS = 64,    /* at each dormant thread: the worker may want more of it, */
    LOOK_AT_MANY_TICKS = 512, /* or if there are MANY */
    LEAST_DORMANT = 4,        /* and no less than are visited: fewer do not pay */
    MEASURE_TRIES = 4,      /* a visited thread may run, or the scheduler's clock tick, meanwhile */
    CLOCK_OF_THREADS = 16,  /* threads' run times cost the clock as much as a schedstat file does */
    FAILURES_AT_ONCE = 4,   /* more than there were successes */
    LEAST_PAUSE_TICKS = 32, /* after so many failures; twice as long each time */
    MOST_PAUSE_TICKS = 256,
};
/* Slices.  A look takes 1 to 3 µs, as 10,000 threads are in no cache. */
enum {
    MANY = 256,            /* threads: a tick can afford to visit so many */
    BLOCK_TICKS = 8,       /* at most, */
    BLOCK_TICKS_MOST = 64, /* but where a slice would take more than its share of an interval */
    LOOK_NS = 2000,        /* until it is measured */
    LOOK_SHARE = 4,        /* of an interval, for all looks of a tick */
    LOOKS_TO_MEASURE = 64,
    SMOOTH = 8,        /* ticks */
    ACTIVE_SHARE = 64, /* a thread that runs for one part in so many is better visited */
    LOOKS_AT_ALL = 8,  /* after its run; then one in so many asks whether the worker wants more */
};

void dormant_open(struct dormant *d, pid_t pid)
{
    d->usable = clock_getcpuclockid(pid, &d->clock) == 0;
    d->slices.random = (uint64_t)clock_now_ns() | 1;
    d->pause_ticks = LEAST_PAUSE_TICKS;
    d->look_ns = LOOK_NS;
}

void dormant_close(struct dormant *d)
{
    free(d->visited);
    d->visited = NULL;
    free(d->sleepers);
    d->sleepers = NULL;
    slices_release(&d->slices);
}

/* ---- what is known of a thread ---- */

static uint32_t ticks_of_block(const struct thread *t)
{
    return t->dormant ? t->process->dormant.slices.ticks : 1;
}

void dormant_note_visit(struct thread *t)
{
    t->look_ticks_before = t->look_ticks;
    t->look_ticks = ticks_of_block(t);
}

uint32_t dormant_look_ticks(const struct thread *t)
{
    return (uint32_t)max_u64(max_u64(t->look_ticks, t->look_ticks_before), ticks_of_block(t));
}

void dormant_note_active(struct thread *t)
{
    t->moved_tick = t->active_tick = t->process->dormant.tick;
}

void dormant_note_run(struct thread *t, int64_t now_ns, const struct schedstat *before)
{
    t->moved_tick = t->process->dormant.tick;
    if (!before->runs) /* its first visit */
        return;
    if ((int64_t)(t->sched.run_ns - before->run_ns) >= (now_ns - t->until_ns) / ACTIVE_SHARE)
        dormant_note_active(t);
}

/* Is T's sample one that its run count alone proves?  A wait for a CPU is looked at anew. */
static bool sleeps(const struct thread *t)
{
    return t->sampled.provable && t->sampled.state != THREAD_RUNNABLE && !t->pending;
}

static struct sleeper *sleeper_of(const struct thread *t)
{
    return &t->process->dormant.sleepers[t->visited_at];
}

void dormant_update(struct thread *t)
{
    const struct dormant *d = &t->process->dormant;
    if (!t->dormant)
        return;
    struct sleeper *sleeper = sleeper_of(t);
    int64_t until_ns = t->proofs == d->proofs ? t->until_ns : max_i64(d->until_ns, t->until_ns);
    uint32_t ticks = d->proofs - t->proofs + sleeper->repeats;
    if (ticks)
        claim_extend(t, max_i64(until_ns, sleeper->until_ns), ticks);
    t->proofs = d->proofs;
    sleeper->repeats = 0;
}

/* ---- looks ---- */

void dormant_note_cost(struct dormant *d, size_t n, int64_t cpu_ns)
{
    if (n >= LOOKS_TO_MEASURE)
        d->look_ns = max_i64((d->look_ns * (SMOOTH - 1) + cpu_ns / (int64_t)n) / SMOOTH, 1);
}

struct slice dormant_slice(struct dormant *d)
{
    return slices_next(&d->slices);
}

bool dormant_look(struct sampler *s, struct dormant *d, uint32_t place)
{
    struct sleeper *sleeper = &d->sleepers[place];
    struct schedstat sched;
    if (!sleeper->thread)
        return true;
    bool asks = d->asks || sleeper->looks < LOOKS_AT_ALL || sleeper->looks % LOOKS_AT_ALL == 0;
    int64_t now_ns = clock_now_ns();
    if (asks || !sleeper->runs || thread_read_schedstat(s, sleeper->thread, &sched) < 0 ||
        sched.runs != sleeper->runs)
        return false;
    sleeper->until_ns = now_ns;
    sleeper->repeats++;
    sleeper->looks++;
    counters_add(&s->counters, COUNT_REPEATS, 1);
    return true;
}

void dormant_note_look(struct dormant *d, uint32_t place)
{
    struct sleeper *sleeper = &d->sleepers[place];
    const struct thread *t = sleeper->thread;
    if (!t)
        return;
    bool moved = t->moved_tick == d->tick;
    bool rests = sleeps(t) && claim_holds(&t->sampled, &t->sched);
    sleeper->runs = rests ? t->sched.runs : 0;
    sleeper->looks = moved ? 0 : sleeper->looks + 1;
    d->block_rests = d->block_rests && rests && !moved;
    d->n_found += moved;
    if (moved && sleeper->waking == ASLEEP && (!d->crowded || t->active_tick == d->tick))
        sleeper->waking = FOUND_AWAKE;
}

/* ---- which threads are dormant ---- */

static void append_visited(struct dormant *d, struct thread *t)
{
    d->visited = array_reserve(d->visited, &d->capacity, d->n_visited + 1, sizeof(struct thread *));
    t->visited_at = d->n_visited;
    d->visited[d->n_visited++] = t;
}

static void remove_visited(struct dormant *d, const struct thread *t)
{
    size_t i = t->visited_at;
    if (i >= d->n_visited || d->visited[i] != t) /* a zombie */
        return;
    d->visited[i] = d->visited[--d->n_visited];
    d->visited[i]->visited_at = i;
}

void dormant_add(struct thread *t)
{
    uint32_t tick = t->process->dormant.tick;
    t->moved_tick = tick;
    t->active_tick = tick - DORMANT_AFTER_TICKS; /* it may sleep where there are many */
    append_visited(&t->process->dormant, t);
}

void dormant_remove(struct thread *t)
{
    struct dormant *d = &t->process->dormant;
    if (!t->dormant) {
        remove_visited(d, t);
        return;
    }
    sleeper_of(t)->thread = NULL;
    d->n_dormant--;
    d->known = false;
}

static uint32_t dormant_after_ticks(const struct sampler *s)
{
    int64_t ticks = (int64_t)DORMANT_AFTER_MS * NS_PER_MS / s->interval_ns;
    return ticks > DORMANT_AFTER_TICKS ? (uint32_t)ticks : DORMANT_AFTER_TICKS;
}

static bool has_slept(const struct thread *t, uint32_t ticks)
{
    const struct dormant *d = &t->process->dormant;
    return sleeps(t) && !t->zombie &&
           (d->tick - t->moved_tick >= ticks ||
            (d->crowded && d->tick - t->active_tick >= DORMANT_AFTER_TICKS));
}

static void note_sleepers(const struct sampler *s, struct process *p)
{
    struct dormant *d = &p->dormant;
    uint32_t after_ticks = dormant_after_ticks(s);
    for (size_t i = 0; i < d->n_visited && d->known; i++)
        d->known = !has_slept(d->visited[i], after_ticks);
}

/* Does it pay to look at the threads of P that have slept otherwise than at each tick? */
static bool pays(const struct sampler *s, const struct process *p, uint32_t after_ticks)
{
    const struct dormant *d = &p->dormant;
    size_t n_others = 0;
    if (!s->can.schedstat || s->config.single_shot || s->config.filter.n)
        return false;
    for (size_t i = 0; i < d->n_visited; i++)
        n_others += !has_slept(d->visited[i], after_ticks) && !d->visited[i]->zombie;
    size_t n_sleepers = d->n_dormant + d->n_visited - n_others;
    return n_sleepers >= MANY ||
           (d->usable && n_sleepers >= LEAST_DORMANT && n_sleepers >= n_others);
}

/* SLEEPER is visited from now on, or has ended.  The time since its last look may be long. */
static void get_up(struct dormant *d, const struct sleeper *sleeper)
{
    struct thread *t = sleeper->thread;
    if (!t)
        return;
    dormant_update(t);
    t->dormant = false;
    t->look_ticks = d->slices.ticks;
    t->moved_tick = t->active_tick = d->tick;
    d->n_dormant--;
    if (!t->zombie)
        append_visited(d, t);
}

/* Those that a block before the last found awake get up, or ALL.  Returns whether none has left. */
static bool wake(struct dormant *d, bool all, bool look_closely)
{
    size_t kept = 0;
    size_t n = d->n_sleepers;
    for (size_t i = 0; i < n; i++) {
        struct sleeper *sleeper = &d->sleepers[i];
        struct thread *t = sleeper->thread;
        if (all || !t || t->zombie || sleeper->waking == WAKES_UP) {
            get_up(d, sleeper);
            continue;
        }
        if (sleeper->waking == FOUND_AWAKE)
            sleeper->waking = WAKES_UP;
        if (look_closely)
            sleeper->looks = 0;
        t->visited_at = kept;
        d->sleepers[kept++] = *sleeper;
    }
    d->n_sleepers = kept;
    return kept == n;
}

static void fall_asleep(struct sampler *s, struct dormant *d, struct thread *t)
{
    d->sleepers =
        array_reserve(d->sleepers, &d->sleepers_capacity, d->n_sleepers + 1, sizeof *d->sleepers);
    t->dormant = true;
    t->proofs = d->proofs;
    t->visited_at = d->n_sleepers;
    d->sleepers[d->n_sleepers++] = (struct sleeper){.thread = t};
    d->n_dormant++;
    if (d->n_dormant >= MANY) /* descriptors, and the memory that the kernel keeps for each */
        thread_files_keep_counts(t, &s->files);
}

/* Returns whether none has. */
static bool lay_down(struct sampler *s, struct process *p, uint32_t after_ticks)
{
    struct dormant *d = &p->dormant;
    size_t before = d->n_dormant;
    for (size_t i = d->n_visited; i-- > 0;) {
        struct thread *t = d->visited[i];
        bool slept = has_slept(t, after_ticks);
        if (slept || t->zombie)
            remove_visited(d, t);
        if (slept)
            fall_asleep(s, d, t);
    }
    return d->n_dormant == before;
}

static uint32_t block_ticks(const struct sampler *s, const struct process *p)
{
    size_t n_sleepers = p->dormant.n_sleepers;
    uint64_t affordable = (uint64_t)(s->interval_ns / LOOK_SHARE / p->dormant.look_ns) + 1;
    uint64_t ticks = min_u64((n_sleepers + MANY - 1) / MANY, BLOCK_TICKS);
    uint64_t least = min_u64((n_sleepers + affordable - 1) / affordable, BLOCK_TICKS_MOST);
    return (uint32_t)max_u64(max_u64(ticks, least), 1);
}

/* The end of a block, in which each dormant thread was looked at. */
static void end_block(struct sampler *s, struct process *p)
{
    struct dormant *d = &p->dormant;
    uint32_t after_ticks = dormant_after_ticks(s);
    d->crowded = d->n_visited + d->n_found > MANY;
    bool any = pays(s, p, after_ticks);
    bool same = wake(d, !any, d->hook != process_hook(p));
    same = (!any || lay_down(s, p, after_ticks)) && same;
    /* None has run from its look to the next measurement, if that has the same result. */
    d->known = same && d->block_rests && (int32_t)(d->block_tick - d->same_since) >= 0;
    d->looked_at = d->tick;
}

static void begin_block(const struct sampler *s, struct process *p)
{
    struct dormant *d = &p->dormant;
    d->block_rests = true;
    d->block_tick = d->tick + 1;
    d->n_found = 0;
    d->hook = process_hook(p);
    slices_begin(&d->slices, d->n_sleepers, block_ticks(s, p));
}

void dormant_end_tick(struct sampler *s, struct process *p, bool dormant_rest)
{
    if (dormant_rest) {
        note_sleepers(s, p);
    } else if (slices_are_over(&p->dormant.slices)) {
        end_block(s, p);
        begin_block(s, p);
    }
}

/* ---- the clock ---- */

static bool read_clock(const struct dormant *d, int64_t *ret_ns)
{
    struct timespec t;
    if (clock_gettime(d->clock, &t) != 0)
        return false;
    *ret_ns = t.tv_sec * NS_PER_S + t.tv_nsec;
    return true;
}

static bool sum_visited(struct sampler *s, const struct dormant *d, int64_t *ret_ns)
{
    *ret_ns = 0;
    for (size_t i = 0; i < d->n_visited; i++) {
        struct schedstat sched;
        if (thread_read_schedstat(s, d->visited[i], &sched) < 0)
            return false;
        *ret_ns += (int64_t)sched.run_ns;
    }
    return true;
}

/* The run times of all but the visited threads.  Run times never fall: if the sum of all, or that
 * of the visited ones, is the same before and after the other was read, it did not change
 * meanwhile.  The cheaper one is read twice. */
static bool measure_once(struct sampler *s, const struct dormant *d, int64_t *ret_ns)
{
    int64_t all_ns;
    int64_t visited_ns;
    int64_t again_ns;
    if (!d->n_visited || d->n_dormant / CLOCK_OF_THREADS > d->n_visited) {
        bool read = sum_visited(s, d, &visited_ns) && read_clock(d, &all_ns);
        *ret_ns = read ? all_ns - visited_ns : 0;
        return read && sum_visited(s, d, &again_ns) && again_ns == visited_ns;
    }
    bool read = read_clock(d, &all_ns) && sum_visited(s, d, &visited_ns);
    *ret_ns = read ? all_ns - visited_ns : 0;
    return read && read_clock(d, &again_ns) && again_ns == all_ns;
}

static bool measure(struct sampler *s, const struct dormant *d, int64_t *ret_ns)
{
    bool measured = false;
    for (int i = 0; i < MEASURE_TRIES && !measured; i++)
        measured = measure_once(s, d, ret_ns);
    return measured;
}

static void note_failure(struct dormant *d)
{
    if (++d->failures < FAILURES_AT_ONCE)
        return;
    d->failures = 0;
    d->tried_not_before = d->tick + d->pause_ticks;
    d->pause_ticks = (uint32_t)min_u64(2 * (uint64_t)d->pause_ticks, MOST_PAUSE_TICKS);
}

/* Have the dormant threads not run since the last time? */
static bool measured_the_same(struct sampler *s, struct dormant *d)
{
    int64_t rest_ns;
    bool measured = measure(s, d, &rest_ns);
    bool same = measured && rest_ns == d->rest_ns;
    if (measured && !same) {
        d->rest_ns = rest_ns;
        d->same_since = d->tick;
        d->known = false;
    }
    if (!same)
        note_failure(d);
    else if (d->failures)
        d->failures--;
    return same;
}

bool dormant_unchanged(struct sampler *s, struct process *p)
{
    struct dormant *d = &p->dormant;
    int64_t now_ns = clock_now_ns();
    d->tick++;
    d->asks =
        d->tick - d->looked_at >= (d->n_dormant < MANY ? LOOK_EVERY_TICKS : LOOK_AT_MANY_TICKS);
    bool pays = d->usable && d->n_dormant && d->n_dormant >= d->n_visited;
    if (!pays || (int32_t)(d->tick - d->tried_not_before) < 0 || !measured_the_same(s, d) ||
        !d->known || d->hook != process_hook(p) || d->asks)
        return false;
    d->pause_ticks = LEAST_PAUSE_TICKS;
    d->until_ns = now_ns;
    d->proofs++;
    counters_add(&s->counters, COUNT_REPEATS, d->n_dormant);
    counters_add(&s->counters, COUNT_DORMANT_PROVEN, 1);
    return true;
}
