/* A made-up program of 10,000 threads that take turns at short bursts, looked at in slices as
 * sampler/dormant.c chooses them, and recorded as worker/timeline.c does it: how much CPU time each
 * function has is right but for chance, and each thread's wall time is whole. */
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/random.h"
#include "sampler/state.h"
#include "target/mem.h"
#include "tests/support/check_main.h"
#include "worker/timeline.h"

enum { THREADS = 10000, TICKS = 1500, SEED = 34 };
static const int64_t MS = NS_PER_MS, INTERVAL_NS = 10 * NS_PER_MS, ORIGIN_NS = NS_PER_S;

/* A thread has a burst in each CYCLE_MS, and another one AGAIN_MS after it: those that were found
 * in the first are visited at each tick when the second comes. */
enum { CYCLE_MS = 10000, BURST_MS = 5, AGAIN_MS = 300, FIRST_PART_MS = 3, BUSY = 4 };
enum function { PARSE, STORE, AGAIN, SPIN, WAITS, FUNCTIONS };
static const char *const names[] = {"parse", "store", "again", "spin", "wait"};

/* Thread I at AT_NS since the origin. */
struct moment {
    enum function function;
    struct schedstat sched;
};

static int64_t clamp_ns(int64_t ns, int64_t most_ns)
{
    if (ns < 0)
        return 0;
    return ns < most_ns ? ns : most_ns;
}

static struct moment moment_of(size_t i, int64_t at_ns)
{
    if (i < BUSY)
        return (struct moment){SPIN, {(uint64_t)(at_ns + CYCLE_MS * MS), 0, 1}};
    int64_t ns = at_ns + (CYCLE_MS - (int64_t)i * CYCLE_MS / THREADS) * MS;
    int64_t cycles = ns / (CYCLE_MS * MS);
    ns %= CYCLE_MS * MS;
    int64_t again_ns = ns - AGAIN_MS * MS;
    int64_t ran_ns = clamp_ns(ns, BURST_MS * MS) + clamp_ns(again_ns, BURST_MS * MS);
    uint64_t runs = 1 + (again_ns >= 0);
    struct moment m = {WAITS, {0}};
    if (ns < BURST_MS * MS)
        m.function = ns < FIRST_PART_MS * MS ? PARSE : STORE;
    else if (again_ns >= 0 && again_ns < BURST_MS * MS)
        m.function = AGAIN;
    m.sched.run_ns = (uint64_t)(cycles * 2 * BURST_MS * MS + ran_ns);
    m.sched.runs = (uint64_t)cycles * 2 + runs;
    return m;
}

struct recording {
    struct sampler *sampler;
    struct mem *live;
    struct process *process;
    struct profile *profile;
    struct spot spots[FUNCTIONS];
    struct thread_timeline *timelines;
    uint64_t random;
    uint64_t looks, found;
};

static struct message message_of(struct thread *t, enum message_kind kind, int64_t now_ns)
{
    dormant_update(t);
    return (struct message){.kind = kind,
                            .time_ns = now_ns,
                            .until_ns = t->until_ns,
                            .interval_ns = INTERVAL_NS,
                            .look_ns = INTERVAL_NS * dormant_look_ticks(t),
                            .repeats = t->repeats,
                            .sched = t->sched};
}

static void sample(struct recording *r, struct thread *t, enum function function, int64_t now_ns)
{
    struct thread_timeline *timeline = &r->timelines[t->id];
    struct message m = message_of(t, MESSAGE_SAMPLE, now_ns);
    thread_timeline_close(timeline, r->profile, &m, ORIGIN_NS);
    thread_timeline_open(timeline, &m, r->spots[function], r->spots[function],
                         function == WAITS ? RUN_BLOCKED : RUN_RUNNING, false);
    claim_emitted(t, now_ns);
    if (function == WAITS)
        claim_sampled(t, THREAD_BLOCKED, (struct wait_place){0}, true);
    else
        claim_sampled_once(t, THREAD_RUNNING);
    r->found += function != WAITS && t->dormant;
}

/* As sampler/tick.c does it. */
static void visit(struct recording *r, struct thread *t, int64_t now_ns)
{
    struct moment moment = moment_of(t->id, now_ns - ORIGIN_NS);
    struct schedstat before = t->sched;
    r->looks++;
    dormant_update(t);
    dormant_note_visit(t);
    t->sched = moment.sched;
    if (claim_holds(&t->sampled, &t->sched)) {
        claim_extend(t, now_ns, 1);
        return;
    }
    dormant_note_run(t, now_ns, &before);
    claim_drop(t);
    if (moment.function != WAITS)
        dormant_note_active(t);
    sample(r, t, moment.function, now_ns);
}

static void tick(struct recording *r, int64_t now_ns)
{
    struct dormant *d = &r->process->dormant;
    (void)dormant_unchanged(r->sampler, r->process);
    for (size_t i = 0; i < d->n_visited; i++)
        visit(r, d->visited[i], now_ns);
    struct slice slice = dormant_slice(d);
    for (size_t i = 0; i < slice.n; i++) {
        visit(r, d->sleepers[slice.places[i]].thread, now_ns);
        dormant_note_look(d, slice.places[i]);
    }
    dormant_end_tick(r->sampler, r->process, false);
}

static void begin(struct recording *r)
{
    static const struct sampler_config config = {.rate_hz = 100, .max_held = 1};
    struct err err = {0};
    ck_assert_int_eq(mem_live_open(&r->live, getpid(), &err), 0);
    r->sampler = sampler_new(&config);
    r->sampler->can.schedstat = true;
    ck_assert_int_eq(sampler_add(r->sampler, getpid(), 0, r->live, &err), 0);
    r->process = r->sampler->added[0];
    r->process->dormant.usable = false; /* these threads are not the kernel's */
    r->process->dormant.slices.random = r->random;
    r->profile = profile_new(0);
    r->timelines = xcalloc(THREADS, sizeof *r->timelines);
    process_id process = profile_process(r->profile, &(struct profile_process){.pid = 1});
    for (int i = 0; i < FUNCTIONS; i++)
        r->spots[i] = spot_of_stack(
            profile_push(r->profile, (stack_id){0}, profile_mark(r->profile, names[i], NULL)));
    for (uint32_t i = 0; i < THREADS; i++) {
        string_id name = profile_string(r->profile, "t");
        r->timelines[i].thread = profile_thread(r->profile, process, (pid_t)i + 1, name, 0);
        process_add(r->process, thread_new(r->process, i, (pid_t)i + 1));
    }
}

static void end(struct recording *r, int64_t now_ns)
{
    for (size_t i = 0; i < r->process->n_threads; i++) {
        struct thread *t = r->process->threads[i];
        dormant_update(t);
        t->sched = moment_of(t->id, now_ns - ORIGIN_NS).sched;
        if (claim_holds(&t->sampled, &t->sched))
            claim_extend(t, now_ns, 0);
        struct message m = message_of(t, MESSAGE_THREAD_END, now_ns);
        m.flags = THREAD_STILL_ALIVE;
        thread_timeline_close(&r->timelines[t->id], r->profile, &m, ORIGIN_NS);
    }
    profile_end(r->profile, now_ns - ORIGIN_NS);
}

static void release(struct recording *r)
{
    sampler_free(r->sampler);
    mem_free(r->live);
    profile_free(r->profile);
    free(r->timelines);
}

/* Records and returns how long it took. */
static int64_t record(struct recording *r)
{
    printf("# seed %llu\n", (unsigned long long)r->random);
    begin(r);
    for (int64_t i = 0; i < TICKS; i++) {
        double jitter = i ? random_share(&r->random) : 0;
        tick(r, ORIGIN_NS + i * INTERVAL_NS + (int64_t)(jitter * (double)INTERVAL_NS));
    }
    end(r, ORIGIN_NS + TICKS * INTERVAL_NS);
    return TICKS * INTERVAL_NS;
}

/* What the recording says of the N threads from FIRST on. */
static void sum_up(const struct recording *r, size_t first, size_t n, enum weight weight,
                   int64_t ret_ns[FUNCTIONS])
{
    for (size_t i = first; i < first + n; i++) {
        const struct profile_thread *t = profile_see_thread(r->profile, r->timelines[i].thread);
        for (size_t j = 0; j < t->n_runs; j++)
            for (int k = 0; k < FUNCTIONS; k++)
                if (spots_are_same(t->runs[j].at, r->spots[k]))
                    ret_ns[k] += run_weight(&t->runs[j], weight);
    }
}

static void check_share(const struct recording *r, const char *what, int64_t ns, int64_t all_ns,
                        double truth)
{
    double share = (double)ns / (double)all_ns;
    double sigma = sqrt(truth * (1 - truth) / (double)r->found);
    ck_assert_msg(fabs(share - truth) < 3 * sigma, "%s has %.4f instead of %.4f ± %.4f", what,
                  share, truth, sigma);
}

START_TEST(cpu_time_by_function_is_right)
{
    for (uint64_t seed = SEED; seed < SEED + 3; seed++) {
        struct recording r = {.random = seed};
        int64_t cpu_ns[FUNCTIONS] = {0};
        int64_t all_ns = record(&r);
        int64_t sleepers_ns = 0;
        sum_up(&r, BUSY, THREADS - BUSY, WEIGHT_CPU, cpu_ns);
        sum_up(&r, 0, BUSY, WEIGHT_CPU, cpu_ns);
        for (int i = 0; i <= AGAIN; i++)
            sleepers_ns += cpu_ns[i];
        ck_assert_int_le(llabs(cpu_ns[SPIN] - BUSY * all_ns), NS_PER_MS);
        ck_assert_int_le(llabs(sleepers_ns - all_ns * THREADS / CYCLE_MS * 2 * BURST_MS),
                         all_ns / 10);
        check_share(&r, "parse", cpu_ns[PARSE], sleepers_ns, .3);
        check_share(&r, "store", cpu_ns[STORE], sleepers_ns, .2);
        check_share(&r, "again", cpu_ns[AGAIN], sleepers_ns, .5);
        /* All threads at each tick would be eight times as many. */
        ck_assert_uint_lt(r.looks, (uint64_t)THREADS * TICKS / 5);
        release(&r);
    }
}
END_TEST

/* No time is missed, and as much of it runs as the kernel counted, but for chance. */
START_TEST(wall_time_is_whole)
{
    struct recording r = {.random = SEED};
    int64_t wall_ns[FUNCTIONS] = {0};
    int64_t all_ns = record(&r);
    for (size_t i = 0; i < THREADS; i++) {
        int64_t one_ns[FUNCTIONS] = {0};
        int64_t sum_ns = 0;
        sum_up(&r, i, 1, WEIGHT_WALL, one_ns);
        for (int k = 0; k < FUNCTIONS; k++) {
            sum_ns += one_ns[k];
            wall_ns[k] += one_ns[k];
        }
        ck_assert_int_eq(sum_ns, all_ns);
    }
    int64_t ran_ns = wall_ns[PARSE] + wall_ns[STORE] + wall_ns[AGAIN];
    double truth_ns = (double)(all_ns * THREADS / CYCLE_MS * 2 * BURST_MS);
    double sigma = 1 / sqrt((double)r.found);
    ck_assert_msg(fabs((double)ran_ns / truth_ns - 1) < 3 * sigma, "%.3f of the time runs, ± %.3f",
                  (double)ran_ns / truth_ns, sigma);
    check_share(&r, "again", wall_ns[AGAIN], ran_ns, .5);
    release(&r);
}
END_TEST

CHECK_MAIN("sleepers", 120, cpu_time_by_function_is_right, wall_time_is_whole)
