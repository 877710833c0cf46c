/* A made-up program whose loop is in step with the interval, sampled at random moments as
 * sampler/sampler.c does it: over many recordings the share of its first half scatters as chance
 * makes it, and no more. */
#include "base/clock.h"
#include "base/random.h"
#include "tests/support/check_main.h"
#include "worker/timeline.h"

enum { TICKS = 400, RECORDINGS = 400, SEED = 1 };

static uint64_t random_state;

/* The loop runs in its first half.  In its second half it runs elsewhere, or it sleeps. */
struct plan {
    int64_t period_ns, offset_ns, interval_ns;
    bool sleeps;
};

static int64_t loops_at(const struct plan *plan, int64_t at_ns)
{
    return (at_ns + plan->offset_ns) / plan->period_ns;
}

static bool in_first_half(const struct plan *plan, int64_t at_ns)
{
    return 2 * ((at_ns + plan->offset_ns) % plan->period_ns) < plan->period_ns;
}

static int64_t ran_until(const struct plan *plan, int64_t at_ns)
{
    int64_t in_loop_ns = (at_ns + plan->offset_ns) % plan->period_ns;
    int64_t half_ns = plan->period_ns / 2;
    if (!plan->sleeps)
        return at_ns;
    return loops_at(plan, at_ns) * half_ns + (in_loop_ns < half_ns ? in_loop_ns : half_ns);
}

static struct message message_at(const struct plan *plan, int64_t at_ns)
{
    uint64_t runs = plan->sleeps ? (uint64_t)loops_at(plan, at_ns) : 0;
    return (struct message){.kind = MESSAGE_SAMPLE,
                            .time_ns = NS_PER_S + at_ns,
                            .until_ns = NS_PER_S + at_ns,
                            .interval_ns = plan->interval_ns,
                            .sched = {(uint64_t)ran_until(plan, at_ns), 0, 1 + runs}};
}

/* The sampler's part: a sleeper that has not run since its sample is repeated. */
static void record(const struct plan *plan, struct profile *p, struct thread_timeline *timeline,
                   stack_id first, stack_id second)
{
    int64_t proven_ns = 0;
    uint32_t repeats = 0;
    for (int64_t i = 0; i <= TICKS; i++) {
        int64_t jitter_ns = (int64_t)(random_share(&random_state) * (double)plan->interval_ns);
        struct message m = message_at(plan, i * plan->interval_ns + (i ? jitter_ns : 0));
        bool runs = in_first_half(plan, m.time_ns - NS_PER_S) || !plan->sleeps;
        bool repeated = timeline->open && timeline->state == RUN_BLOCKED && !runs &&
                        timeline->sched.runs == m.sched.runs;
        if (repeated) {
            proven_ns = m.time_ns;
            repeats++;
            continue;
        }
        bool in_first = in_first_half(plan, m.time_ns - NS_PER_S);
        m.repeats = repeats;
        m.until_ns = proven_ns;
        thread_timeline_close(timeline, p, &m, NS_PER_S);
        thread_timeline_open(timeline, &m, spot_of_stack(in_first ? first : second),
                             spot_of_stack(first), runs ? RUN_RUNNING : RUN_BLOCKED, false);
        proven_ns = m.time_ns;
        repeats = 0;
    }
    struct message end = message_at(plan, (TICKS + 1) * plan->interval_ns);
    end.kind = MESSAGE_THREAD_END;
    end.flags = THREAD_STILL_ALIVE;
    end.until_ns = proven_ns;
    end.repeats = repeats;
    thread_timeline_close(timeline, p, &end, NS_PER_S);
    profile_end(p, end.time_ns - NS_PER_S);
}

static double first_share(const struct plan *plan, enum weight weight)
{
    struct profile *p = profile_new(0);
    process_id process = profile_process(p, &(struct profile_process){.pid = 1});
    struct thread_timeline timeline = {
        .thread = profile_thread(p, process, 1, profile_string(p, "t"), 0)};
    stack_id first = profile_push(p, (stack_id){0}, profile_mark(p, "first", NULL));
    stack_id second = profile_push(p, (stack_id){0}, profile_mark(p, "second", NULL));
    int64_t ns = 0;
    int64_t all_ns = 0;
    record(plan, p, &timeline, first, second);
    const struct profile_thread *t = profile_see_thread(p, timeline.thread);
    for (size_t i = 0; i < t->n_runs; i++) {
        all_ns += run_weight(&t->runs[i], weight);
        ns += t->runs[i].at.stack.ix == first.ix ? run_weight(&t->runs[i], weight) : 0;
    }
    profile_free(p);
    return (double)ns / (double)all_ns;
}

/* The variance of the share over all recordings, in parts of that of as many throws of a coin. */
static double scatter(struct plan *plan, enum weight weight)
{
    double sum = 0;
    for (int i = 0; i < RECORDINGS; i++) {
        plan->offset_ns = (int64_t)(random_share(&random_state) * (double)plan->period_ns);
        double off = first_share(plan, weight) - 0.5;
        sum += off * off;
    }
    return sum / RECORDINGS / (0.25 / TICKS);
}

/* Chance moves the variance of so many recordings by 7 %, and the gaps are not all the same. */
static void check_scatter(bool sleeps, enum weight weight)
{
    static const int rates_hz[] = {50, 100, 1000};
    for (size_t rate = 0; rate < sizeof rates_hz / sizeof *rates_hz; rate++)
        for (int twice = 1; twice <= 4; twice *= 2) {
            struct plan plan = {.interval_ns = NS_PER_S / rates_hz[rate], .sleeps = sleeps};
            plan.period_ns = plan.interval_ns * twice / 2;
            random_state = SEED + (uint64_t)(rates_hz[rate] + twice);
            double times = scatter(&plan, weight);
            ck_assert_msg(times < 1.3, "%d Hz, %d half intervals: the variance is %.2f of chance's",
                          rates_hz[rate], twice, times);
        }
}

START_TEST(loop_that_runs)
{
    check_scatter(false, WEIGHT_WALL);
    check_scatter(false, WEIGHT_CPU);
}
END_TEST

START_TEST(loop_that_runs_and_sleeps)
{
    check_scatter(true, WEIGHT_WALL);
}
END_TEST

CHECK_MAIN("lockstep", 60, loop_that_runs, loop_that_runs_and_sleeps)
