#include "worker/recording.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/minmax.h"
#include "profile/ageing.h"
#include "profile/kept.h"
#include "profile/moments.h"
#include "target/elf_store.h"
#include "worker/backlog.h"
#include "worker/batch.h"
#include "worker/follower.h"
#include "worker/naming_schedule.h"
#include "worker/process_counters.h"
#include "worker/process_set.h"
#include "worker/recording_metadata.h"
#include "worker/thread_names.h"

enum {
    MESSAGES_AT_ONCE = 1024,  /* signals and the clock are seen to in between */
    WORK_NS = 50 * NS_PER_MS, /* the same, of messages that take long */
    DRAIN_S = 20,             /* so long after the end the rest is not looked at */
    TELL_MS = 2000,           /* a sampler that has not answered by then does not run */
};

struct recording {
    struct recording_config config;
    struct profile *profile;
    struct sampler *sampler;
    struct elf_store *files;
    struct stack_builder *stacks;
    struct process_set processes;
    struct follower *follower; /* NULL: children are not recorded */
    struct thread_timeline *timelines;
    size_t n_timelines, timelines_capacity;
    struct map timeline_by_number; /* thread number → index into timelines */
    int64_t origin_ns, end_ns;
    int64_t paused_ns, paused_utc_ns; /* since when it is paused; 0: it is not */
    bool flushed;                     /* the flush for recording_snapshot() is complete */
    struct batch batch;
    uint64_t threads_seen;
    uint64_t left_out; /* stacks, for --gil */
    uint64_t cpu_waits_unknown;
    int64_t drain_end_ns;            /* samples handled later are lost; 0: none is yet */
    uint64_t lost;                   /* those */
    struct hold_shares ended_shares; /* the largest of threads that have ended */
    struct backlog backlog;          /* while a snapshot is made */
    struct naming_schedule naming;
    struct process_counters *counters; /* NULL: of a dump */
    struct usage_round usage;
    struct thread_names thread_names;
    struct waits *waits;
    void (*on_sample)(void *ctx, thread_id thread, const struct sample_message *m,
                      const struct built_stack *s);
    void *on_sample_ctx;
};

static int add(void *ctx, pid_t pid, uint64_t start_ticks, struct err *err)
{
    struct recording *r = ctx;
    const struct target_shared shared = {
        .sampler = r->sampler, .profile = r->profile, .files = r->files};
    int error = process_set_add(&r->processes, pid, start_ticks, &shared, err);
    if (error < 0)
        return error;
    struct target_process *process = r->processes.all[r->processes.n - 1];
    stack_builder_prepare(r->stacks, process);
    if (r->counters)
        process_counters_add(r->counters, process);
    if (r->origin_ns)
        target_process_refresh(process, clock_now_ns());
    return 0;
}

/* ---- what waits/ asks for ---- */

static struct wait_target wait_target_of(void *ctx, uint32_t process)
{
    const struct recording *r = ctx;
    return process < r->processes.n ? target_process_for_waits(r->processes.all[process])
                                    : (struct wait_target){0};
}

static struct thread_timeline *timeline_of(const struct recording *r, uint32_t thread_no)
{
    uint64_t index;
    return map_get(&r->timeline_by_number, thread_no, &index) ? &r->timelines[index] : NULL;
}

static bool open_sample_of(void *ctx, uint32_t thread_no, struct open_sample *ret)
{
    const struct thread_timeline *t = timeline_of(ctx, thread_no);
    return t && thread_timeline_open_sample(t, ret);
}

static void complete_wait(void *ctx, uint32_t thread_no, wait_id wait)
{
    struct thread_timeline *t = timeline_of(ctx, thread_no);
    if (t)
        t->at.wait = wait;
}

static void change_side(void *ctx, uint32_t thread_no, const struct wait_side *side, int64_t at_ns)
{
    struct recording *r = ctx;
    struct thread_timeline *t = timeline_of(r, thread_no);
    if (t)
        thread_timeline_change_side(t, r->profile, side, at_ns);
}

struct recording *recording_new(const struct recording_config *config)
{
    struct recording *r = xcalloc(1, sizeof *r);
    r->config = *config;
    r->profile = profile_new(config->max_bytes);
    if (config->keep_ns)
        profile_keep_last(r->profile, config->keep_ns);
    metadata_of_host(r->profile);
    r->sampler = sampler_new(&config->sampler);
    r->naming.sampler = r->sampler;
    r->files = elf_store_new();
    const struct wait_host host = {.ctx = r,
                                   .target = wait_target_of,
                                   .sample = open_sample_of,
                                   .complete = complete_wait,
                                   .change = change_side};
    r->waits = waits_new(r->profile, &host, config->sampler.single_shot);
    r->stacks =
        stack_builder_new(r->profile, sampler_feedback(r->sampler), r->waits, &config->stacks);
    if (config->follow)
        r->follower = follower_new(r->profile, add, r);
    return r;
}

int recording_add(struct recording *r, pid_t pid, struct err *err)
{
    int error = add(r, pid, 0, err);
    if (error == 0 && r->follower)
        follower_add(r->follower, pid);
    return error;
}

bool recording_follow(struct recording *r)
{
    return follower_look(r->follower, false);
}

int recording_start(struct recording *r, struct err *err)
{
    (void)follower_look(r->follower, true);
    process_set_refresh(&r->processes, clock_now_ns());
    if (!r->config.sampler.single_shot)
        r->counters = process_counters_new(r->profile, r->processes.all, r->processes.n);
    r->origin_ns = clock_now_ns();
    profile_set_origin(r->profile, &(struct profile_origin){clock_utc_ns(), r->origin_ns});
    return sampler_start(r->sampler, err);
}

/* ---- messages ---- */

/* After execve the main thread goes on, whichever thread called it. */
static thread_id thread_for(struct recording *r, struct target_process *s, const struct message *m)
{
    if (m->tid == s->pid && s->main.ix) {
        profile_get_thread(r->profile, s->main)->ended = false;
        profile_get_thread(r->profile, s->main)->closed = false;
        return s->main;
    }
    string_id name = thread_names_read(&r->thread_names, r->profile, s->pid, m->tid);
    thread_id thread = profile_thread(r->profile, s->id, m->tid, name, m->time_ns - r->origin_ns);
    bool main = m->tid == s->pid;
    profile_get_thread(r->profile, thread)->main = main;
    if (main)
        s->main = thread;
    return thread;
}

/* Its timeline, made if it is new: the ring may have had no room for its birth. */
static struct thread_timeline *open_timeline(struct recording *r, struct target_process *s,
                                             const struct message *m)
{
    struct thread_timeline *timeline = timeline_of(r, m->thread);
    if (timeline)
        return timeline;
    r->timelines = array_reserve(r->timelines, &r->timelines_capacity, r->n_timelines + 1,
                                 sizeof *r->timelines);
    timeline = &r->timelines[r->n_timelines];
    *timeline = (struct thread_timeline){.thread = thread_for(r, s, m),
                                         .thread_no = m->thread,
                                         .by_state = r->config.stacks.gil_only};
    r->threads_seen++;
    usage_begin(&timeline->usage, s->pid, m->tid,
                &profile_see_thread(r->profile, timeline->thread)->usage);
    map_put(&r->timeline_by_number, m->thread, r->n_timelines++);
    return timeline;
}

/* The last timeline takes the place of the one that ended. */
static void drop_timeline(struct recording *r, struct thread_timeline *timeline)
{
    map_remove(&r->timeline_by_number, timeline->thread_no);
    thread_timeline_release(timeline);
    *timeline = r->timelines[--r->n_timelines];
    if (timeline != &r->timelines[r->n_timelines])
        map_put(&r->timeline_by_number, timeline->thread_no, (uint64_t)(timeline - r->timelines));
}

/* A thread's name is often set right after its birth, and sometimes later: it is read with its
 * first stacks, then ever more seldom. */
static void describe_thread(struct recording *r, struct target_process *s,
                            const struct thread_timeline *timeline, const struct sample_message *m,
                            const struct built_stack *built)
{
    profile_get_thread(r->profile, timeline->thread)->python |= built->python;
    bool seldom = (timeline->samples & (timeline->samples - 1)) != 0; /* no power of two */
    struct text *python = &r->thread_names.python;
    if (seldom && !s->execed_ns)
        return;
    string_id name = thread_names_set(&r->thread_names, r->profile, timeline->thread, m->head.tid,
                                      stack_builder_thread_name(s, m, python) ? python : NULL);
    if (name.ix && m->head.tid == s->pid)
        target_process_call(s, name);
}

/* BUILT is of a thread that waits for a CPU, and may not have been asked where. */
static void settle_cpu_wait(struct recording *r, struct cpu_waits *w,
                            const struct sample_message *m, struct built_stack *built)
{
    if (m->snapshot.state != THREAD_RUNNABLE || m->head.flags & SAMPLE_NO_STACK || built->left_out)
        cpu_waits_none(w);
    else if (m->head.flags & SAMPLE_WAITS_UNASKED)
        r->cpu_waits_unknown += !cpu_waits_complete(w, r->profile, built);
    else
        cpu_waits_add(w, built, m->head.wait_share);
}

static void on_sample(struct recording *r, struct target_process *s, const struct sample_message *m)
{
    struct built_stack built = {0};
    struct thread_timeline *timeline = open_timeline(r, s, &m->head);
    waits_hear(r->waits, &m->head);
    thread_timeline_close(timeline, r->profile, &m->head, r->origin_ns);
    if (r->drain_end_ns && clock_now_ns() > r->drain_end_ns)
        r->lost++;
    else if (!(m->head.flags & SAMPLE_NO_STACK))
        built = stack_builder_build(r->stacks, s, m);
    else
        built = stack_builder_mark(r->stacks, s, m);
    settle_cpu_wait(r, &timeline->cpu_waits, m, &built);
    describe_thread(r, s, timeline, m, &built);
    if (s->execed_ns && m->head.tid == s->pid) {
        thread_timeline_exec(timeline, r->profile, &m->head, s->execed_ns, r->origin_ns);
        s->execed_ns = 0;
    }
    waits_see_states(r->waits, m->head.process, timeline->thread, built.python_threads);
    r->left_out += built.left_out;
    if (!built.left_out)
        thread_timeline_open(timeline, &m->head, built.at, built.settled,
                             run_state_of(m->snapshot.state), built.was_woken);
    timeline->times_out_ns = built.times_out_ns;
    timeline->held_ns = m->head.held_ns;
    timeline->lost_ns = m->head.lost_ns;
    if (r->on_sample)
        r->on_sample(r->on_sample_ctx, timeline->thread, m, &built);
}

/* Brings MOST up to the shares of one thread, of the time that it was watched; short lives say
 * little. */
static void raise_shares(const struct recording *r, const struct thread_timeline *timeline,
                         struct hold_shares *most)
{
    int64_t start_ns = profile_see_thread(r->profile, timeline->thread)->start_ns + r->origin_ns;
    int64_t lived_ns = r->end_ns - start_ns;
    if (lived_ns < NS_PER_S / 10)
        return;
    double held = (double)timeline->held_ns / (double)lived_ns;
    double lost = (double)timeline->lost_ns / (double)lived_ns;
    most->held = held > most->held ? held : most->held;
    most->lost = lost > most->lost ? lost : most->lost;
}

static void on_end(struct recording *r, const struct message *m)
{
    struct thread_timeline *timeline = timeline_of(r, m->thread);
    if (!timeline)
        return;
    waits_hear(r->waits, m);
    thread_timeline_close(timeline, r->profile, m, r->origin_ns);
    timeline->held_ns = m->held_ns;
    timeline->lost_ns = m->lost_ns;
    usage_look_at(timeline, r->profile);
    if (!(m->flags & THREAD_STILL_ALIVE))
        usage_raise_faults(&timeline->usage, m->faults);
    profile_get_thread(r->profile, timeline->thread)->usage = usage_so_far(&timeline->usage);
    if (m->flags & THREAD_STILL_ALIVE)
        thread_names_set(&r->thread_names, r->profile, timeline->thread, m->tid, NULL);
    raise_shares(r, timeline, &r->ended_shares);
    thread_timeline_end(timeline, r->profile, m, r->origin_ns);
    drop_timeline(r, timeline);
}

static void on_still(struct recording *r, const struct message *m)
{
    struct thread_timeline *timeline = timeline_of(r, m->thread);
    if (timeline)
        thread_timeline_hold(timeline, r->profile, m, r->origin_ns);
}

static void handle(struct recording *r, const struct message *m)
{
    assert(m->process < r->processes.n);
    struct target_process *s = r->processes.all[m->process];
    if (m->time_ns > r->end_ns && !r->paused_ns) /* the profile's time stands still in a pause */
        r->end_ns = m->time_ns;
    switch (m->kind) {
    case MESSAGE_THREAD_NEW:
        (void)open_timeline(r, s, m);
        waits_hear(r->waits, m);
        break;
    case MESSAGE_SAMPLE:
        on_sample(r, s, (const struct sample_message *)m);
        break;
    case MESSAGE_THREAD_END:
        on_end(r, m);
        break;
    case MESSAGE_EXTENDED:
        on_still(r, m);
        break;
    case MESSAGE_FLUSHED:
        r->flushed = true;
        break;
    case MESSAGE_EXEC:
        profile_add_number(r->profile, METRIC_EXECS, 1);
        target_process_exec(s, m->time_ns);
        break;
    case MESSAGE_LOCK:
        waits_see_lock(r->waits, (const struct lock_message *)m);
        break;
    case MESSAGE_PROCESS_END:
        process_counters_end(r->counters, m->process);
        process_set_end(&r->processes, s);
        break;
    }
}

/* ---- duties ---- */

static int64_t waits_are_due_ns(const struct recording *r)
{
    return waits_due_ns(r->waits);
}

static void look_at_waits(struct recording *r)
{
    waits_look(r->waits);
}

static void age(struct recording *r)
{
    profile_age(r->profile, recording_running_ns(r));
}

static void refresh_processes(struct recording *r)
{
    process_set_refresh(&r->processes, clock_now_ns());
}

static void look_at_counters(struct recording *r)
{
    process_counters_look(r->counters);
}

static void look_at_usage(struct recording *r)
{
    usage_look_around(&r->usage, r->profile, r->timelines, r->n_timelines);
}

static void name_ahead(struct recording *r)
{
    if (!r->config.sampler.max_cpus) /* under a quota the CPU is better spent on samples */
        naming_schedule_ahead(&r->naming, r->processes.all, r->processes.n,
                              recording_running_ns(r));
}

/* What the worker does beside messages, in this order.  RUN is called often and returns at once
 * where nothing is due.  Its share of a CPU stands in its own struct duty_cycle, beside what it
 * found the last time: for most that says how soon to look again. */
static const struct duty {
    void (*run)(struct recording *r);
    int64_t (*due_ns)(const struct recording *r); /* wakes the worker; NULL: any message will do */
    bool idle_only;                               /* messages do the same for their process */
} duties[] = {
    {.run = look_at_waits, .due_ns = waits_are_due_ns},
    {.run = refresh_processes, .idle_only = true},
    {.run = age},
    {.run = look_at_counters},
    {.run = look_at_usage},
    {.run = name_ahead},
};
enum { N_DUTIES = sizeof duties / sizeof *duties };

static void run_duties(struct recording *r, bool idle)
{
    for (size_t i = 0; i < N_DUTIES; i++)
        if (idle || !duties[i].idle_only)
            duties[i].run(r);
}

int64_t recording_due_ns(const struct recording *r)
{
    int64_t due_ns = INT64_MAX;
    for (size_t i = 0; i < N_DUTIES && !r->paused_ns; i++)
        if (duties[i].due_ns)
            due_ns = min_i64(due_ns, duties[i].due_ns(r));
    return due_ns;
}

int64_t recording_batch_ns(const struct recording *r)
{
    return batch_ns(&r->batch);
}

/* In a process of its own, which has this thread and no other. */
static void go_on_alone(struct recording *r)
{
    sampler_abandon(r->sampler);
}

bool recording_work(struct recording *r)
{
    uint32_t n = 0;
    size_t total = 0;
    size_t bytes;
    const struct message *m;
    int64_t now_ns = clock_now_ns();
    int64_t end_ns = now_ns + WORK_NS;
    sampler_interrupt_seize(r->sampler);
    if (r->config.has_left && r->config.has_left())
        go_on_alone(r);
    while (n < MESSAGES_AT_ONCE && now_ns < end_ns &&
           (m = backlog_peek(&r->backlog, sampler_ring(r->sampler), &bytes)) != NULL) {
        target_process_refresh(r->processes.all[m->process], now_ns);
        handle(r, m);
        backlog_release(&r->backlog, sampler_ring(r->sampler));
        total += bytes;
        n++;
        now_ns = clock_now_ns();
    }
    if (r->paused_ns) /* the target is left alone */
        return n > 0;
    if (n)
        batch_choose(&r->batch,
                     r->threads_seen + process_set_urgency(&r->processes) + waits_urgency(r->waits),
                     n == MESSAGES_AT_ONCE || now_ns >= end_ns, total, now_ns);
    run_duties(r, n == 0);
    return n > 0;
}

/* ---- the end ---- */

void recording_tell(struct recording *r)
{
    for (size_t i = 0; i < r->n_timelines; i++)
        profile_get_thread(r->profile, r->timelines[i].thread)->usage =
            usage_so_far(&r->timelines[i].usage);
    process_counters_report(r->counters);
    profile_count_threads(r->profile);
    metadata_of_rate(r->profile, &r->config.sampler, r->sampler,
                     (double)recording_elapsed_ns(r) / NS_PER_S);
    struct hold_shares shares = recording_shares(r);
    profile_set_number(r->profile, METRIC_HELD_SHARE, shares.held);
    profile_set_number(r->profile, METRIC_OVERHEAD, shares.lost);
    metadata_of_sampler(r->profile, sampler_counters(r->sampler));
    metadata_of_priority(r->profile, r->sampler, &r->processes.apart);
    profile_add_number(r->profile, METRIC_RING_FULL, (double)r->lost);
    profile_set_number(r->profile, METRIC_STACKS_LEFT_OUT, (double)r->left_out);
    profile_set_number(r->profile, METRIC_WAITS_UNKNOWN, (double)r->cpu_waits_unknown);
    stack_builder_report(r->stacks, r->profile);
    process_set_report(&r->processes, r->profile);
}

/* Brings the profile's facts and names up to now. */
static void report(struct recording *r, bool (*on_progress)(void *ctx, double share), void *ctx)
{
    recording_tell(r);
    profile_end(r->profile, r->end_ns - r->origin_ns);
    waits_report(r->waits);
    naming_schedule_finish(&r->naming, r->profile, r->processes.all, r->processes.n, on_progress,
                           ctx);
    metadata_of_files(r->profile, r->files);
}

void recording_work_or_wait(struct recording *r, int most_ms)
{
    struct pollfd messages = {.fd = sampler_fd(r->sampler), .events = POLLIN};
    if (!recording_work(r) && poll(&messages, 1, most_ms) > 0)
        sampler_drain(r->sampler);
}

/* What the sampler knows of the open samples is in the profile then. */
static void take_open_samples(struct recording *r)
{
    int64_t end_ns = clock_now_ns() + (int64_t)TELL_MS * NS_PER_MS;
    r->flushed = false;
    sampler_flush(r->sampler);
    while (!r->flushed && !sampler_done(r->sampler) && clock_now_ns() < end_ns)
        recording_work_or_wait(r, 1);
}

bool recording_pause(struct recording *r)
{
    if (r->paused_ns)
        return true;
    if (!sampler_pause(r->sampler))
        return false;
    sampler_stay_paused(r->sampler);
    take_open_samples(r);
    while (recording_work(r))
        ;
    for (size_t i = 0; i < r->n_timelines; i++)
        usage_look_at(&r->timelines[i], r->profile);
    process_counters_pause(r->counters);
    r->paused_ns = clock_now_ns();
    r->paused_utc_ns = clock_utc_ns();
    return true;
}

/* All that is in the profile is from before the pause, all messages that come are from after it: so
 * the origin moves, and with it what is open. */
void recording_resume(struct recording *r)
{
    if (!r->paused_ns)
        return;
    int64_t ns = clock_now_ns() - r->paused_ns;
    const struct user_pause pause = {r->paused_ns - r->origin_ns, (uint64_t)r->paused_utc_ns, ns};
    profile_add_pause(r->profile, &pause);
    process_counters_resume(r->counters);
    for (size_t i = 0; i < r->n_timelines; i++) {
        struct thread_timeline *timeline = &r->timelines[i];
        const struct profile_thread *t = profile_see_thread(r->profile, timeline->thread);
        thread_timeline_skip(timeline, ns);
        usage_skip(&timeline->usage, profile_see_process(r->profile, t->process)->pid, t->tid);
    }
    r->origin_ns += ns;
    r->end_ns += r->end_ns ? ns : 0;
    r->paused_ns = 0;
    sampler_end_pause(r->sampler);
}

int64_t recording_paused_ns(const struct recording *r)
{
    return r->paused_ns ? clock_now_ns() - r->paused_ns : -1;
}

void recording_finish(struct recording *r, bool (*on_progress)(void *ctx, double share), void *ctx)
{
    recording_resume(r);
    waits_look_last(r->waits);
    sampler_stop(r->sampler);
    r->drain_end_ns = clock_now_ns() + (int64_t)DRAIN_S * NS_PER_S;
    while (!sampler_done(r->sampler))
        recording_work_or_wait(r, 1);
    while (recording_work(r))
        ;
    for (size_t i = 0; i < r->processes.n_alive; i++)
        target_process_conclude(r->processes.alive[i]);
    report(r, on_progress, ctx);
}

void recording_snapshot(struct recording *r)
{
    waits_look_last(r->waits);
    take_open_samples(r);
    backlog_begin(&r->backlog, sampler_ring(r->sampler));
    report(r, NULL, NULL);
}

void recording_snapshot_over(struct recording *r)
{
    backlog_end(&r->backlog);
}

struct sampler *recording_sampler(struct recording *r)
{
    return r->sampler;
}

struct profile *recording_profile(struct recording *r)
{
    return r->profile;
}

int64_t recording_running_ns(const struct recording *r)
{
    return (r->paused_ns ? r->paused_ns : clock_now_ns()) - r->origin_ns;
}

int64_t recording_elapsed_ns(const struct recording *r)
{
    return r->end_ns > r->origin_ns ? r->end_ns - r->origin_ns : 0;
}

struct waits *recording_waits(struct recording *r)
{
    return r->waits;
}

struct hold_shares recording_shares(const struct recording *r)
{
    struct hold_shares most = r->ended_shares;
    for (size_t i = 0; i < r->n_timelines; i++)
        if (r->timelines[i].open)
            raise_shares(r, &r->timelines[i], &most);
    return most;
}

const struct process_set *recording_processes(const struct recording *r)
{
    return &r->processes;
}

void recording_on_sample(struct recording *r,
                         void (*each)(void *ctx, thread_id thread, const struct sample_message *m,
                                      const struct built_stack *s),
                         void *ctx)
{
    r->on_sample = each;
    r->on_sample_ctx = ctx;
}

struct recording *recording_free(struct recording *r)
{
    if (!r)
        return NULL;
    backlog_release_all(&r->backlog);
    r->sampler = sampler_free(r->sampler);
    stack_builder_free(r->stacks);
    naming_schedule_release(&r->naming);
    process_counters_free(r->counters);
    follower_free(r->follower);
    process_set_release(&r->processes);
    elf_store_free(r->files);
    map_release(&r->timeline_by_number);
    thread_names_release(&r->thread_names);
    waits_free(r->waits);
    for (size_t i = 0; i < r->n_timelines; i++)
        thread_timeline_release(&r->timelines[i]);
    free(r->timelines);
    profile_free(r->profile);
    free(r);
    return NULL;
}
