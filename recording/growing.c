#include "recording/growing.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/minmax.h"
#include "profile/ageing.h"

/* Of a thing that changes, what was sent last, as its hash; 0: nothing. */
struct sent_frame {
    uint64_t row, locations;
};
struct sent_process {
    uint64_t row, children;
};
struct sent_thread {
    uint64_t row;
    uint64_t born, remade; /* struct profile_thread's */
    size_t n_runs;
    uint64_t last_number, last_row; /* of the last run, which may grow */
    size_t n_marks;
    int64_t first_mark_ns, last_mark_ns;
};

struct growing {
    const struct profile *p;
    struct sink *sink;
    bool (*has_room)(void *ctx);
    void *ctx;
    uint32_t modules, functions, frames, stacks, mounts, waits, locks, listeners, processes,
        threads;
    uint32_t marks, pauses;
    uint64_t marks_aged;
    uint64_t last_pause;
    uint64_t runs;          /* the last number that was given */
    int64_t exact_since_ns; /* the profile's, when it last joined runs */
    int64_t whole_until_ns; /* the file has all runs until then; 0: some are on their way again */
    uint64_t texts, tasks, host;
    uint64_t metrics[METRIC_COUNT];
    uint64_t origin, exact;
    struct sent_frame *sent_frames;
    size_t frames_capacity;
    struct sent_process *sent_processes;
    size_t processes_capacity;
    struct sent_thread *sent_threads;
    size_t threads_capacity;
};

struct growing *growing_new(const struct profile *p, struct sink_to to)
{
    struct growing *g = xcalloc(1, sizeof *g);
    g->p = p;
    g->sink = sink_new(p, to);
    return g;
}

struct growing *growing_free(struct growing *g)
{
    if (!g)
        return NULL;
    sink_free(g->sink);
    free(g->sent_frames);
    free(g->sent_processes);
    free(g->sent_threads);
    free(g);
    return NULL;
}

static bool has_room(const struct growing *g)
{
    return !g->has_room || g->has_room(g->ctx);
}

/* Room for N items of what was sent, where HAD are; new ones are zeros. */
static void *reserve(void *items, size_t *capacity, size_t had, size_t n, size_t bytes)
{
    items = array_reserve(items, capacity, n + 1, bytes);
    if (n > had)
        memset((char *)items + had * bytes, 0, (n - had) * bytes);
    return items;
}

/* 0: nothing. */
static uint64_t hash_of(const void *bytes, size_t n)
{
    return n ? hash_bytes(bytes, n) | 1 : 0;
}

/* Has the content of SEEN changed, which are the N BYTES?  Notes that it has. */
static bool changes(uint64_t *seen, const void *bytes, size_t n)
{
    uint64_t hash = hash_of(bytes, n);
    bool changed = *seen != hash;
    *seen = hash;
    return changed;
}

/* ---- facts ---- */

/* One that is forgotten, or whose place is another, is seldom. */
static void send_texts(struct growing *g)
{
    size_t n;
    const struct profile_metadatum *texts = profile_metadata(g->p, &n);
    if (!changes(&g->texts, texts, n * sizeof *texts))
        return;
    sink_no_texts(g->sink);
    for (size_t i = 0; i < n; i++)
        sink_text(g->sink, texts[i].key, profile_text(g->p, texts[i].text));
}

static void send_tasks(struct growing *g)
{
    size_t n;
    const struct profile_task_wait *tasks = profile_task_waits(g->p, &n);
    if (!changes(&g->tasks, tasks, n * sizeof *tasks))
        return;
    sink_no_tasks(g->sink);
    for (size_t i = 0; i < n; i++)
        sink_tasks(g->sink, (uint32_t)i + 1, &tasks[i]);
}

static void send_facts(struct growing *g)
{
    size_t n;
    const struct profile_origin *origin = profile_origin(g->p);
    const struct exact_time *exact = profile_exact_time(g->p);
    send_texts(g);
    for (enum metric m = METRIC_NONE + 1; m < METRIC_COUNT; m++) {
        sink_unless(g->sink, &g->metrics[m]);
        sink_metric(g->sink, m, profile_number(g->p, m));
    }
    const struct lock_name *locks = profile_lock_names(g->p, &n);
    for (; g->locks < n; g->locks++)
        sink_lock(g->sink, g->locks + 1, &locks[g->locks]);
    const struct listener *listeners = profile_listeners(g->p, &n);
    for (; g->listeners < n; g->listeners++)
        sink_listener(g->sink, g->listeners + 1, &listeners[g->listeners]);
    if (changes(&g->origin, origin, sizeof *origin))
        sink_origin(g->sink, origin);
    if (changes(&g->exact, exact, sizeof *exact))
        sink_exact_time(g->sink, exact);
    sink_unless(g->sink, &g->host);
    sink_host(g->sink, profile_see_host(g->p));
}

/* ---- stacks and waits ---- */

/* A frame gets flags and names later. */
static void send_frame(struct growing *g, frame_id id)
{
    struct sent_frame *sent = &g->sent_frames[id.ix - 1];
    size_t n;
    const struct location *locations = profile_locations(g->p, id, &n);
    bool had = sent->locations != 0;
    sink_unless(g->sink, &sent->row);
    sink_frame(g->sink, id, profile_get_frame(g->p, id));
    if (!changes(&sent->locations, locations, n * sizeof *locations))
        return;
    if (had) {
        sink_doom(g->sink, TABLE_LOCATION, id.ix);
        sink_purge(g->sink);
    }
    sink_locations(g->sink, id, locations, n);
}

static bool send_frames(struct growing *g)
{
    uint32_t n = profile_frame_count(g->p);
    g->sent_frames =
        reserve(g->sent_frames, &g->frames_capacity, g->frames, n, sizeof *g->sent_frames);
    g->frames = n;
    for (uint32_t i = 1; i <= n; i++) {
        if (!has_room(g))
            return false;
        send_frame(g, (frame_id){i});
    }
    return true;
}

static bool send_stacks(struct growing *g)
{
    const struct profile *p = g->p;
    for (; g->modules < profile_module_count(p) && has_room(g); g->modules++) {
        module_id id = {g->modules + 1};
        sink_module(g->sink, id, profile_get_module(p, id));
    }
    for (; g->functions < profile_func_count(p) && has_room(g); g->functions++) {
        func_id id = {g->functions + 1};
        sink_function(g->sink, id, profile_get_func(p, id));
    }
    if (!send_frames(g))
        return false;
    for (; g->stacks < profile_stack_count(p) && has_room(g); g->stacks++) {
        stack_id id = {g->stacks + 1};
        sink_stack(g->sink, id, profile_stack_parent(p, id), profile_stack_frame(p, id));
    }
    return has_room(g);
}

static bool send_waits(struct growing *g)
{
    const struct profile *p = g->p;
    for (; g->mounts < profile_mount_count(p) && has_room(g); g->mounts++) {
        mount_id id = {g->mounts + 1};
        sink_mount(g->sink, id, profile_see_mount(p, id));
    }
    for (; g->waits < profile_wait_count(p) && has_room(g); g->waits++) {
        wait_id id = {g->waits + 1};
        sink_wait(g->sink, id, profile_see_wait(p, id));
    }
    return has_room(g);
}

/* Of a ring the first ones go, and the others get their numbers. */
static void send_user_marks(struct growing *g)
{
    size_t n;
    const struct user_mark *marks = profile_marks(g->p, &n);
    if (g->marks && g->marks_aged != profile_marks_aged(g->p)) {
        sink_no_marks(g->sink);
        g->marks = 0;
    }
    g->marks_aged = profile_marks_aged(g->p);
    for (; g->marks < n && has_room(g); g->marks++)
        sink_mark(g->sink, g->marks + 1, &marks[g->marks]);
}

/* Pauses come one by one; of many the last one gets longer. */
static bool send_moments(struct growing *g)
{
    size_t n;
    send_user_marks(g);
    const struct user_pause *pauses = profile_pauses(g->p, &n);
    if (g->pauses) {
        sink_unless(g->sink, &g->last_pause);
        sink_pause(g->sink, g->pauses, &pauses[g->pauses - 1]);
    }
    for (; g->pauses < n && has_room(g); g->pauses++) {
        g->last_pause = 0;
        sink_unless(g->sink, &g->last_pause);
        sink_pause(g->sink, g->pauses + 1, &pauses[g->pauses]);
    }
    return has_room(g);
}

/* ---- processes ---- */

static size_t children_bytes(const struct profile_process *process)
{
    return process->n_children * sizeof *process->children;
}

/* Of each process whose children are others now those that were sent go. */
static void doom_children(struct growing *g)
{
    bool some = false;
    for (uint32_t i = 1; i <= g->processes; i++) {
        const struct profile_process *process = profile_see_process(g->p, (process_id){i});
        uint64_t *seen = &g->sent_processes[i - 1].children;
        if (!*seen || *seen == hash_of(process->children, children_bytes(process)))
            continue;
        sink_doom(g->sink, TABLE_CHILD, i);
        *seen = 0;
        some = true;
    }
    if (some)
        sink_purge(g->sink);
}

static void send_process(struct growing *g, process_id id)
{
    const struct profile_process *process = profile_see_process(g->p, id);
    struct sent_process *sent = &g->sent_processes[id.ix - 1];
    sink_unless(g->sink, &sent->row);
    sink_process(g->sink, id, process);
    if (changes(&sent->children, process->children, children_bytes(process)))
        sink_children(g->sink, id, process);
}

static bool send_processes(struct growing *g)
{
    uint32_t n = profile_process_count(g->p);
    g->sent_processes = reserve(g->sent_processes, &g->processes_capacity, g->processes, n,
                                sizeof *g->sent_processes);
    g->processes = n;
    doom_children(g);
    for (uint32_t i = 1; i <= n; i++) {
        if (!has_room(g))
            return false;
        send_process(g, (process_id){i});
    }
    return true;
}

/* ---- threads ---- */

/* Were marks of those that were sent left out since? */
static bool are_thinned(const struct sent_thread *sent, const struct profile_thread *t)
{
    return sent->n_marks &&
           (t->n_marks < sent->n_marks || t->marks[0].at_ns != sent->first_mark_ns ||
            t->marks[sent->n_marks - 1].at_ns != sent->last_mark_ns);
}

/* What is no longer so of thread IX goes.  Returns whether there is something. */
static bool doom(struct growing *g, uint32_t ix)
{
    struct sent_thread *sent = &g->sent_threads[ix - 1];
    const struct profile_thread *t = profile_see_thread(g->p, (thread_id){ix});
    bool other = sent->row && (sent->born != t->born || !t->process.ix);
    bool remade = sent->row && (sent->remade != t->remade || other);
    bool thinned = sent->row && are_thinned(sent, t);
    if (sent->n_marks && (remade || thinned))
        sink_doom(g->sink, TABLE_COUNT, ix);
    if (sent->n_runs && remade)
        sink_doom(g->sink, TABLE_RUN, ix);
    if (remade)
        sink_doom(g->sink, TABLE_THREAD, ix);
    if (other) {
        sink_doom(g->sink, TABLE_RECENT, ix);
        sink_doom(g->sink, TABLE_RECENT_COUNT, ix);
    }
    if (remade)
        *sent = (struct sent_thread){0};
    else if (thinned)
        sent->n_marks = 0;
    return remade || thinned;
}

static void doom_all(struct growing *g, uint32_t n)
{
    bool some = false;
    for (uint32_t i = 1; i <= n; i++)
        some |= doom(g, i);
    if (!some)
        return;
    sink_purge(g->sink);
    g->whole_until_ns = 0;
}

static void send_marks(struct growing *g, thread_id id, struct sent_thread *sent)
{
    const struct profile_thread *t = profile_see_thread(g->p, id);
    for (; sent->n_marks < t->n_marks; sent->n_marks++)
        sink_count(g->sink, id, sent->n_marks, &t->marks[sent->n_marks]);
    if (sent->n_marks) {
        sent->first_mark_ns = t->marks[0].at_ns;
        sent->last_mark_ns = t->marks[sent->n_marks - 1].at_ns;
    }
}

/* The last one that was sent may have grown: it takes its own place. */
static bool send_runs(struct growing *g, thread_id id, struct sent_thread *sent)
{
    const struct profile_thread *t = profile_see_thread(g->p, id);
    if (sent->n_runs) {
        sink_unless(g->sink, &sent->last_row);
        sink_run(g->sink, sent->last_number, id, &t->runs[sent->n_runs - 1]);
    }
    for (; sent->n_runs < t->n_runs; sent->n_runs++) {
        if (!has_room(g))
            return false;
        sent->last_number = ++g->runs;
        sent->last_row = 0;
        sink_unless(g->sink, &sent->last_row);
        sink_run(g->sink, sent->last_number, id, &t->runs[sent->n_runs]);
    }
    return true;
}

static bool send_thread(struct growing *g, thread_id id)
{
    struct sent_thread *sent = &g->sent_threads[id.ix - 1];
    const struct profile_thread *t = profile_see_thread(g->p, id);
    if (!t->process.ix) /* an id that stands for no thread */
        return true;
    sent->born = t->born;
    sent->remade = t->remade;
    sink_unless(g->sink, &sent->row);
    sink_thread(g->sink, id, t);
    send_marks(g, id, sent);
    return send_runs(g, id, sent);
}

/* ---- the newest time ---- */

static const int64_t recent_ns = (int64_t)600 * NS_PER_S;
enum { BYTES_OF_ROW = 32 }; /* in table recent, which may take half of the limit */

static void trim_recent(struct growing *g, int64_t end_ns)
{
    sink_trim_recent(g->sink, max_i64(end_ns - recent_ns, 0),
                     profile_limit(g->p) / 2 / BYTES_OF_ROW);
}

/* A ring's user does not want older time. */
static bool has_recent(const struct growing *g)
{
    return profile_exact_time(g->p)->step_ns && !profile_kept_ns(g->p);
}

/* Once the profile has joined more runs, the file keeps those that it has of them.  Where runs were
 * joined before the file got them, it keeps none. */
static void keep_recent(struct growing *g, int64_t end_ns)
{
    int64_t since_ns = profile_exact_time(g->p)->since_ns;
    if (!has_recent(g) || since_ns == g->exact_since_ns)
        return;
    if (since_ns <= g->whole_until_ns) {
        sink_add_recent(g->sink, g->exact_since_ns, since_ns);
        trim_recent(g, end_ns);
    } else {
        sink_trim_recent(g->sink, since_ns, 0);
    }
    g->exact_since_ns = since_ns;
}

static bool send_threads(struct growing *g, int64_t end_ns)
{
    uint32_t n = profile_thread_count(g->p);
    g->sent_threads =
        reserve(g->sent_threads, &g->threads_capacity, g->threads, n, sizeof *g->sent_threads);
    g->threads = n;
    keep_recent(g, end_ns);
    doom_all(g, n);
    for (uint32_t i = 1; i <= n; i++)
        if (!has_room(g) || !send_thread(g, (thread_id){i}))
            return false;
    return true;
}

/* ---- all ---- */

bool growing_send(struct growing *g, int64_t end_ns, bool (*has_room_left)(void *ctx), void *ctx)
{
    g->has_room = has_room_left;
    g->ctx = ctx;
    send_facts(g);
    if (!send_moments(g) || !send_stacks(g) || !send_waits(g) || !send_processes(g) ||
        !send_threads(g, end_ns))
        return false;
    send_tasks(g); /* of stacks and processes */
    sink_commit(g->sink, end_ns);
    g->whole_until_ns = end_ns;
    return true;
}

void growing_end(struct growing *g, int64_t end_ns)
{
    if (has_recent(g))
        trim_recent(g, end_ns);
    sink_end(g->sink, end_ns);
}
