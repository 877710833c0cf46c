#include "worker/recording.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/text.h"
#include "target/elf_guard.h"
#include "target/host.h"
#include "target/proc.h"
#include "target/syscalls.h"
#include "worker/backlog.h"
#include "worker/facts.h"
#include "worker/names.h"
#include "worker/thread_names.h"

enum {
    MAX_SUBJECTS = 256,
    MESSAGES_AT_ONCE =
        1024, /* so that signals and the clock are seen to even if there is no end of them */
    WORK_NS = 50 * NS_PER_MS, /* the same, of messages that take long */
    DRAIN_S = 20,   /* what is left after the end, when that has taken so long, is not looked at */
    TELL_MS = 2000, /* a sampler that has not answered by then does not run */
    PATIENCE_NS = 32 * NS_PER_MS, /* three ticks; a wake costs as much as a stack */
    CALM_AFTER_NS = 250 * NS_PER_MS,
    CALM_BYTES = 4 << 20, /* of messages at a time, a sixteenth of the ring */
};

struct recording {
    struct recording_config config;
    struct profile *profile;
    struct sampler *sampler;
    struct stacker *stacker;
    struct subject *subjects[MAX_SUBJECTS];
    size_t n_subjects;
    struct lane *lanes;
    size_t n_lanes, lanes_capacity;
    struct map lane_of_task; /* task number → index into lanes */
    int64_t origin_ns, end_ns;
    int64_t stolen_ns; /* by the hypervisor before the start */
    bool told;         /* what recording_snapshot() asked for has come */
    int64_t patience_ns, calm_since_ns;
    uint64_t unrest, threads_seen;
    uint64_t left_out;    /* stacks, for --gil */
    int64_t drain_end_ns; /* samples handled later are lost; 0: none is yet */
    uint64_t lost;        /* those */
    double held_share;
    struct backlog backlog; /* while a snapshot is made */
    struct names names;
    struct thread_names thread_names;
    void (*on_sample)(void *ctx, thread_id thread, const struct sample_message *m,
                      const struct stacked *s);
    void *on_sample_ctx;
};

struct recording *recording_new(const struct recording_config *config)
{
    struct recording *r = xcalloc(1, sizeof *r);
    r->config = *config;
    r->profile = profile_new(config->max_bytes);
    facts_of_host(r->profile);
    r->sampler = sampler_new(&config->sampler);
    r->stacker = stacker_new(r->profile, sampler_feedback(r->sampler), &config->stacker);
    return r;
}

int recording_add(struct recording *r, pid_t pid, struct err *err)
{
    struct subject *subject = NULL;
    if (r->n_subjects == MAX_SUBJECTS)
        return err_set(err, -E2BIG, "%d is left out: more than %d processes", pid, MAX_SUBJECTS);
    int error = subject_open(&subject, pid, r->sampler, r->profile, err);
    if (error < 0)
        return error;
    stacker_prepare(r->stacker, subject);
    r->subjects[r->n_subjects++] = subject;
    return 0;
}

int recording_start(struct recording *r, struct err *err)
{
    for (size_t i = 0; i < r->n_subjects; i++)
        subject_refresh(r->subjects[i], clock_now_ns());
    r->origin_ns = clock_now_ns();
    r->stolen_ns = host_stolen_ns();
    return sampler_start(r->sampler, err);
}

/* ---- messages ---- */

static void read_switches(const struct subject *s, pid_t tid, uint64_t *ret_voluntary,
                          uint64_t *ret_involuntary)
{
    struct task_status status;
    *ret_voluntary = *ret_involuntary = 0;
    if (proc_status(s->pid, tid, &status) < 0)
        return;
    *ret_voluntary = status.voluntary;
    *ret_involuntary = status.involuntary;
}

/* After execve the main thread goes on, whichever thread called it. */
static thread_id thread_for(struct recording *r, struct subject *s, const struct message *m)
{
    if (m->tid == s->pid && s->main.ix) {
        profile_get_thread(r->profile, s->main)->ended = false;
        profile_get_thread(r->profile, s->main)->closed = false;
        return s->main;
    }
    thread_id thread = profile_thread(
        r->profile, s->id, m->tid, thread_names_read(&r->thread_names, r->profile, s->pid, m->tid),
        m->time_ns - r->origin_ns);
    bool main = m->tid == s->pid;
    profile_get_thread(r->profile, thread)->main = main;
    if (main)
        s->main = thread;
    return thread;
}

static struct lane *lane_of(struct recording *r, const struct message *m)
{
    uint64_t index;
    return map_get(&r->lane_of_task, m->task, &index) ? &r->lanes[index] : NULL;
}

/* Its lane, made if it is new: the ring may have had no room for its birth. */
static struct lane *meet(struct recording *r, struct subject *s, const struct message *m)
{
    struct lane *lane = lane_of(r, m);
    if (lane)
        return lane;
    r->lanes = array_reserve(r->lanes, &r->lanes_capacity, r->n_lanes + 1, sizeof *r->lanes);
    lane = &r->lanes[r->n_lanes];
    *lane = (struct lane){
        .thread = thread_for(r, s, m), .task = m->task, .by_state = r->config.stacker.gil_only};
    r->threads_seen++;
    read_switches(s, m->tid, &lane->voluntary, &lane->involuntary);
    map_put(&r->lane_of_task, m->task, r->n_lanes++);
    return lane;
}

/* The last lane takes the place of the one that ended. */
static void drop_lane(struct recording *r, struct lane *lane)
{
    map_remove(&r->lane_of_task, lane->task);
    *lane = r->lanes[--r->n_lanes];
    if (lane != &r->lanes[r->n_lanes])
        map_put(&r->lane_of_task, lane->task, (uint64_t)(lane - r->lanes));
}

/* PYTHON: what Python calls it, read just before; NULL: not known.  That counts if the kernel's name is only the
 * program's, and if the thread still lives: another may have taken over its pthread_t. */
static void name_thread(struct recording *r, const struct subject *s, const struct lane *lane,
                        pid_t tid, struct text *python)
{
    struct profile_thread *t = profile_get_thread(r->profile, lane->thread);
    string_id name = thread_names_read(&r->thread_names, r->profile, s->pid, tid);
    if (!name.ix)
        return;
    if (t->main || name.ix != profile_see_process(r->profile, s->id)->comm.ix)
        t->name = name;
    else if (python)
        t->name = thread_names_intern(&r->thread_names, r->profile, python);
}

/* A thread's name is often set right after its birth, and sometimes later: it is read with its first
 * stacks, then ever more seldom. */
static void describe_thread(struct recording *r, struct subject *s, const struct lane *lane,
                            const struct sample_message *m, const struct stacked *stacked)
{
    profile_get_thread(r->profile, lane->thread)->python |= stacked->python;
    bool seldom = (lane->samples & (lane->samples - 1)) != 0; /* no power of two */
    struct text *name = &r->thread_names.python;
    if (!seldom || s->execed_ns)
        name_thread(r, s, lane, m->head.tid, stacker_thread_name(s, m, name) ? name : NULL);
}

/* The time between the end of the old program and the first sample of the new one.  Its main thread may have ended long
 * before, and another have called execve. */
static void mark_exec(struct recording *r, struct subject *s, const struct lane *lane,
                      const struct message *m)
{
    struct profile_thread *t = profile_get_thread(r->profile, lane->thread);
    int64_t end_ns = s->execed_ns - r->origin_ns;
    s->execed_ns = 0;
    if (!t->n_runs)
        return;
    const struct run *last = &t->runs[t->n_runs - 1];
    if (end_ns < last->start_ns + last->weights.wall_ns)
        end_ns = last->start_ns + last->weights.wall_ns;
    frame_id mark = profile_mark(r->profile, "[execve]", NULL);
    struct run run = {.stack = profile_push(r->profile, (stack_id){0}, mark),
                      .state = RUN_RUNNING,
                      .start_ns = end_ns,
                      .weights.wall_ns = m->time_ns - r->origin_ns - end_ns};
    if (run.weights.wall_ns > 0)
        profile_add_run(r->profile, lane->thread, &run);
}

static void on_sample(struct recording *r, struct subject *s, const struct sample_message *m)
{
    struct stacked stacked = {0};
    struct lane *lane = meet(r, s, &m->head);
    lane_close(lane, r->profile, &m->head, r->origin_ns);
    if (r->drain_end_ns && clock_now_ns() > r->drain_end_ns)
        r->lost++;
    else if (!(m->head.flags & SAMPLE_NO_STACK))
        stacked = stacker_stack(r->stacker, s, m);
    else
        stacked = stacker_mark(r->stacker, s, m);
    describe_thread(r, s, lane, m, &stacked);
    if (s->execed_ns && m->head.tid == s->pid)
        mark_exec(r, s, lane, &m->head);
    r->left_out += stacked.left_out;
    if (!stacked.left_out)
        lane_open(lane, &m->head, stacked.stack,
                  stacked.asleep.ix ? stacked.asleep : stacked.frames,
                  run_state_of(m->snapshot.state), stacked.asleep.ix != 0);
    lane->held_ns = m->head.held_ns;
    if (r->on_sample)
        r->on_sample(r->on_sample_ctx, lane->thread, m, &stacked);
}

/* Of the time that the thread was watched; short lives say little. */
static double held_share(const struct recording *r, const struct lane *lane)
{
    int64_t start_ns = profile_see_thread(r->profile, lane->thread)->start_ns + r->origin_ns;
    int64_t lived_ns = r->end_ns - start_ns;
    return lived_ns >= NS_PER_S / 10 ? (double)lane->held_ns / (double)lived_ns : 0;
}

static void on_end(struct recording *r, struct subject *s, const struct message *m)
{
    struct lane *lane = lane_of(r, m);
    if (!lane)
        return;
    lane_close(lane, r->profile, m, r->origin_ns);
    lane->held_ns = m->held_ns;
    struct profile_thread *t = profile_get_thread(r->profile, lane->thread);
    uint64_t voluntary;
    uint64_t involuntary;
    read_switches(s, m->tid, &voluntary, &involuntary);
    if (voluntary >= lane->voluntary && involuntary >= lane->involuntary) {
        t->voluntary += voluntary - lane->voluntary;
        t->involuntary += involuntary - lane->involuntary;
    }
    if (m->flags & TASK_STILL_ALIVE)
        name_thread(r, s, lane, m->tid, NULL);
    double share = held_share(r, lane);
    r->held_share = share > r->held_share ? share : r->held_share;
    lane_end(lane, r->profile, m, r->origin_ns);
    drop_lane(r, lane);
}

static void on_still(struct recording *r, const struct message *m)
{
    struct lane *lane = lane_of(r, m);
    if (lane)
        lane_hold(lane, r->profile, m, r->origin_ns);
}

static void handle(struct recording *r, const struct message *m)
{
    assert(m->process < r->n_subjects);
    struct subject *s = r->subjects[m->process];
    if (m->time_ns > r->end_ns)
        r->end_ns = m->time_ns;
    switch (m->kind) {
    case MESSAGE_TASK_NEW:
        (void)meet(r, s, m);
        break;
    case MESSAGE_SAMPLE:
        on_sample(r, s, (const struct sample_message *)m);
        break;
    case MESSAGE_TASK_END:
        on_end(r, s, m);
        break;
    case MESSAGE_STILL:
        on_still(r, m);
        break;
    case MESSAGE_TOLD:
        r->told = true;
        break;
    case MESSAGE_EXEC:
        profile_add_number(r->profile, METRIC_EXECS, 1);
        subject_exec(s, m->time_ns);
        break;
    case MESSAGE_PROCESS_END:
        break;
    }
}

/* Grows with what must not wait: what the sampler is to be told soon (how much to read of a new thread's or
 * a deeper stack, that registers are wanted), and code objects and libraries that may be gone soon. */
static uint64_t unrest(const struct recording *r)
{
    uint64_t n = r->threads_seen;
    for (size_t i = 0; i < r->n_subjects; i++) {
        const struct unwind_counters *c = unwinder_counters(r->subjects[i]->unwinder);
        n += c->ends[UNWIND_STACK_CUT] + c->ends[UNWIND_NEEDS_REGS];
        n += modules_generation(r->subjects[i]->modules);
        if (r->subjects[i]->python)
            n += py_codes_changes(r->subjects[i]->python->codes);
    }
    return n;
}

/* MORE: the ring was not emptied. */
static void choose_patience(struct recording *r, bool more, size_t bytes, int64_t now_ns)
{
    uint64_t now = unrest(r);
    if (now != r->unrest || more || bytes >= CALM_BYTES)
        r->calm_since_ns = now_ns;
    r->unrest = now;
    r->patience_ns = now_ns - r->calm_since_ns >= CALM_AFTER_NS ? PATIENCE_NS : 0;
}

int64_t recording_patience_ns(const struct recording *r)
{
    return r->patience_ns;
}

/* In a process of its own, which has this thread and no other. */
static void go_on_alone(struct recording *r)
{
    names_abandon(&r->names);
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
    sampler_hurry(r->sampler);
    if (r->config.has_left && r->config.has_left())
        go_on_alone(r);
    while (n < MESSAGES_AT_ONCE && now_ns < end_ns &&
           (m = backlog_peek(&r->backlog, sampler_ring(r->sampler), &bytes)) != NULL) {
        subject_refresh(r->subjects[m->process], now_ns);
        handle(r, m);
        backlog_release(&r->backlog, sampler_ring(r->sampler));
        total += bytes;
        n++;
        now_ns = clock_now_ns();
    }
    if (n)
        choose_patience(r, n == MESSAGES_AT_ONCE || now_ns >= end_ns, total, now_ns);
    for (size_t i = 0; i < r->n_subjects && n == 0; i++)
        subject_refresh(r->subjects[i], now_ns);
    if (!r->config.sampler.max_cpus) /* under a quota the CPU is better spent on samples */
        names_ahead(&r->names, r->subjects, r->n_subjects, recording_running_ns(r));
    return n > 0;
}

/* ---- the end ---- */

static void report_sampler(struct recording *r)
{
    const struct sampler_counters *c = sampler_counters(r->sampler);
    double seconds = (double)recording_elapsed_ns(r) / NS_PER_S;
    profile_set_number(r->profile, METRIC_RATE_ASKED_HZ, r->config.sampler.rate_hz);
    profile_set_number(r->profile, METRIC_RATE_HZ,
                       seconds > 0 ? (double)counters_get(c, COUNT_TICKS) / seconds : 0);
    profile_set_number(r->profile, METRIC_MAX_OVERHEAD, r->config.sampler.max_held);
    profile_set_number(r->profile, METRIC_HELD_SHARE, recording_held_share(r));
    profile_set_number(r->profile, METRIC_STOLEN_S,
                       (double)(host_stolen_ns() - r->stolen_ns) / NS_PER_S);
    profile_set_number(r->profile, METRIC_HELD_SHARE_5S, sampler_worst_share(r->sampler));
    profile_set_number(r->profile, METRIC_HELD_P50_NS, (double)counters_hold_quantile_ns(c, 0.5));
    profile_set_number(r->profile, METRIC_HELD_P99_NS, (double)counters_hold_quantile_ns(c, 0.99));
    facts_of_sampler(r->profile, c);
}

/* Brings the profile's facts and names up to now. */
static void report(struct recording *r, bool (*on_progress)(void *ctx, double share), void *ctx)
{
    profile_end(r->profile, r->end_ns - r->origin_ns);
    report_sampler(r);
    profile_add_number(r->profile, METRIC_RING_FULL, (double)r->lost);
    profile_set_number(r->profile, METRIC_STACKS_LEFT_OUT, (double)r->left_out);
    stacker_report(r->stacker, r->profile);
    for (size_t i = 0; i < r->n_subjects; i++) {
        facts_put put = i == 0 ? profile_set_number : profile_add_number;
        facts_of_unwinder(r->profile, unwinder_counters(r->subjects[i]->unwinder), put);
        facts_of_modules(r->profile, r->subjects[i]->modules, put);
    }
    names_finish(&r->names, r->subjects, r->n_subjects, on_progress, ctx);
    profile_set_number(r->profile, METRIC_FRAMES_NAMED_AHEAD, (double)r->names.frames);
    profile_set_number(r->profile, METRIC_ELF_PAGES_REPLACED, (double)elf_guard_pages());
}

/* Handles what is in the ring, or waits a little for it. */
static void work_or_wait(struct recording *r)
{
    struct pollfd messages = {.fd = sampler_fd(r->sampler), .events = POLLIN};
    if (!recording_work(r) && poll(&messages, 1, 1) > 0)
        sampler_drain(r->sampler);
}

void recording_finish(struct recording *r, bool (*on_progress)(void *ctx, double share), void *ctx)
{
    sampler_stop(r->sampler);
    r->drain_end_ns = clock_now_ns() + (int64_t)DRAIN_S * NS_PER_S;
    while (!sampler_done(r->sampler))
        work_or_wait(r);
    while (recording_work(r))
        ;
    for (size_t i = 0; i < r->n_subjects; i++)
        subject_conclude(r->subjects[i]);
    report(r, on_progress, ctx);
}

void recording_snapshot(struct recording *r)
{
    int64_t end_ns = clock_now_ns() + (int64_t)TELL_MS * NS_PER_MS;
    r->told = false;
    sampler_tell(r->sampler);
    while (!r->told && !sampler_done(r->sampler) && clock_now_ns() < end_ns)
        work_or_wait(r);
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
    return clock_now_ns() - r->origin_ns;
}

int64_t recording_elapsed_ns(const struct recording *r)
{
    return r->end_ns > r->origin_ns ? r->end_ns - r->origin_ns : 0;
}

double recording_held_share(const struct recording *r)
{
    double worst = r->held_share;
    for (size_t i = 0; i < r->n_lanes; i++) {
        double share = r->lanes[i].open ? held_share(r, &r->lanes[i]) : 0;
        worst = share > worst ? share : worst;
    }
    return worst;
}

void recording_on_sample(struct recording *r,
                         void (*each)(void *ctx, thread_id thread, const struct sample_message *m,
                                      const struct stacked *s),
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
    stacker_free(r->stacker);
    names_end(&r->names);
    for (size_t i = 0; i < r->n_subjects; i++)
        subject_free(r->subjects[i]);
    map_release(&r->lane_of_task);
    thread_names_release(&r->thread_names);
    free(r->lanes);
    profile_free(r->profile);
    free(r);
    return NULL;
}
