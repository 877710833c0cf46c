#include "profile/events.h"

#include <math.h>

#include "profile/thread.h"

/* Around stops: with fewer the time says more.  The same in 0.1 ms each. */
enum { LEAST_FAULTS = 5, LEAST_A_MILLISECOND = 50 };
/* Waits from one sample to the next, on average: with more the sample is one of many, and was found
 * because it was long. */
enum { MOST_WAITS = 2 };

/* ---- what a run weighs among its like ---- */

typedef double weigh_run(const struct run *run);

static bool is_off_cpu(const struct run *run)
{
    return run_counted(run) == COUNTED_OFF_CPU;
}

static double by_near_faults(const struct run *run)
{
    return run->weights.events.near_faults;
}

static double by_around_faults(const struct run *run)
{
    return run->weights.events.around_faults;
}

static double by_running(const struct run *run)
{
    return run_counted(run) == COUNTED_CPU ? (double)run->weights.wall_ns : 0;
}

static double by_waits(const struct run *run)
{
    return is_off_cpu(run) ? run->weights.events.put_on_cpu : 0;
}

static double by_off_cpu(const struct run *run)
{
    return is_off_cpu(run) ? (double)run->weights.wall_ns : 0;
}

static double by_turns(const struct run *run)
{
    return spot_is_known(run->at) && !is_off_cpu(run) ? run->weights.events.put_on_cpu : 0;
}

static double by_wall(const struct run *run)
{
    return spot_is_known(run->at) ? (double)run->weights.wall_ns : 0;
}

static double sum_runs(const struct profile_thread *t, weigh_run *weigh)
{
    double sum = 0;
    for (size_t i = 0; i < t->n_runs; i++)
        sum += weigh(&t->runs[i]);
    return sum;
}

static double least_of(weigh_run *weigh)
{
    if (weigh == by_near_faults)
        return LEAST_FAULTS;
    return weigh == by_around_faults ? LEAST_A_MILLISECOND : 1;
}

/* The first of WEIGHS, which end with NULL, that has enough of something. */
static weigh_run *choose(const struct profile_thread *t, weigh_run *const *weighs)
{
    for (size_t i = 0; weighs[i]; i++)
        if (sum_runs(t, weighs[i]) >= least_of(weighs[i]))
            return weighs[i];
    return NULL;
}

/* ---- sharing ---- */

typedef uint32_t *event_of(struct run *run);

static uint32_t *faults_of(struct run *run)
{
    return &run->weights.events.faults;
}

static uint32_t *switches_of(struct run *run)
{
    return &run->weights.events.switches;
}

/* Ends are rounded, not parts, so that the sum is exact.  Returns what no run took. */
static uint64_t share(struct profile_thread *t, uint64_t total, weigh_run *weigh, event_of *of)
{
    double all = weigh ? sum_runs(t, weigh) : 0;
    double so_far = 0;
    uint64_t given = 0;
    if (!weigh || all <= 0)
        return total;
    for (size_t i = 0; i < t->n_runs; i++) {
        so_far += weigh(&t->runs[i]);
        uint64_t end = (uint64_t)floor((double)total * (so_far / all) + 0.5);
        end = end < total ? end : total;
        uint64_t part = end > given ? end - given : 0;
        uint32_t *event = of(&t->runs[i]);
        part = part < UINT32_MAX - *event ? part : UINT32_MAX - *event;
        *event += (uint32_t)part;
        given += part;
    }
    return total - given;
}

static double count_samples(const struct run *run)
{
    return is_off_cpu(run) ? (double)run->samples : 0;
}

uint64_t events_voluntary(const struct profile_thread *t)
{
    return t->usage.voluntary > t->own_switches ? t->usage.voluntary - t->own_switches : 0;
}

uint64_t events_faults(const struct profile_thread *t)
{
    return t->usage.minor_faults + t->usage.major_faults;
}

uint64_t events_switches(const struct profile_thread *t)
{
    return events_voluntary(t) + t->usage.involuntary;
}

void events_scale(struct profile_thread *t)
{
    static weigh_run *const fault_weighs[] = {by_near_faults, by_around_faults, by_running, by_wall,
                                              NULL};
    static weigh_run *const voluntary_weighs[] = {by_waits, by_off_cpu, by_wall, NULL};
    static weigh_run *const involuntary_weighs[] = {by_turns, by_running, by_wall, NULL};
    for (size_t i = 0; i < t->n_runs; i++)
        t->runs[i].weights.events.faults = t->runs[i].weights.events.switches = 0;
    weigh_run *by = choose(t, fault_weighs);
    t->faults_by_time = by != by_near_faults && by != by_around_faults;
    t->faults_not_sampled = share(t, events_faults(t), by, faults_of);
    by = choose(t, voluntary_weighs);
    t->switches_not_sampled = share(t, events_voluntary(t), by, switches_of);
    t->switches_by_time =
        events_voluntary(t) &&
        (by != by_waits || sum_runs(t, by_waits) > MOST_WAITS * sum_runs(t, count_samples));
    by = choose(t, involuntary_weighs);
    t->switches_not_sampled += share(t, t->usage.involuntary, by, switches_of);
}
