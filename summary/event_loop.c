#include "summary/event_loop.h"

#include "summary/idle.h"

const double loop_idle_share = 0.05;
/* Of its time: more of it polls than a loop with work does. */
static const double ready_share = 0.15;

static const char *poll_of(const struct judgement *s, const struct run *run)
{
    size_t n = 0;
    if (run->state != RUN_BLOCKED ||
        class_of_node(s->g->tree, call_tree_of(s->g->tree, run->at)) != CLASS_IDLE)
        return NULL;
    const struct shown_frame *stack = view_stack(s->g->v, run->at, &n);
    const char *loop = idle_event_loop(stack, n);
    bool own = call_tree_node(s->g->tree, call_tree_of(s->g->tree, run->at)).own_loop;
    return loop ? loop : own ? "epoll" : NULL;
}

/* The user's function that polls in T's event loop; 0: a library's does, or there is none. */
static uint32_t function_that_polls(const struct judgement *s, const struct profile_thread *t)
{
    for (size_t i = 0; i < t->n_runs; i++) {
        uint32_t node = call_tree_of(s->g->tree, t->runs[i].at);
        if (call_tree_node(s->g->tree, node).own_loop)
            return call_tree_own(s->g->tree, node);
    }
    return 0;
}

/* Is RUN a wait for the thread's turn to poll: in a pool that polls in turn, or for a lock of the
 * function that polls, POLLING? */
static bool waits_for_turn(const struct judgement *s, const struct run *run, uint32_t polling)
{
    static const char *const locks[] = {"futex", "flock", "fcntl", "semop", "semtimedop", NULL};
    uint32_t node = call_tree_of(s->g->tree, run->at);
    enum wait_class class = class_of_run(s->g->tree, run);
    if (class == CLASS_IDLE)
        return true;
    return polling && class == CLASS_ORDINARY &&
           str_is_one_of(call_tree_node(s->g->tree, node).frame->call, locks) &&
           call_tree_own(s->g->tree, node) == polling;
}

void loop_see(const struct judgement *s, const struct profile_thread *t, struct loop *loop,
              struct stalls *stalls)
{
    uint32_t polling = function_that_polls(s, t);
    *stalls = stalls_begin(t);
    for (size_t i = 0; i < t->n_runs && !t->n_folded; i++) {
        const struct run *run = &t->runs[i];
        const char *kind = poll_of(s, run);
        if (!kind && !waits_for_turn(s, run, polling)) {
            stalls_add_away(stalls, run);
            continue;
        }
        stalls_add_back(stalls, run, kind != NULL);
        loop->idle_ns +=
            kind || class_of_run(s->g->tree, run) == CLASS_IDLE ? run->weights.wall_ns : 0;
        loop->kind = kind ? kind : loop->kind;
        loop->polls += kind != NULL;
    }
}

/* How long T idles in an event loop. */
static int64_t idle_ns_of(const struct judgement *s, const struct profile_thread *t)
{
    struct loop loop = {.kind = NULL};
    struct stalls stalls;
    loop_see(s, t, &loop, &stalls);
    stalls_release(&stalls);
    return loop.idle_ns;
}

/* Does T sleep once a tick or more often, but for the waits that were seen elsewhere, as those of
 * calls that block?  Samples may find its loop awake each time, on busy CPUs. */
static bool polls_often(const struct judgement *s, const struct profile_thread *t)
{
    uint64_t samples = 0;
    uint64_t elsewhere = 0;
    for (size_t i = 0; i < t->n_runs; i++) {
        const struct run *run = &t->runs[i];
        samples += run->samples;
        if (run->state == RUN_BLOCKED && !poll_of(s, run))
            elsewhere += run->weights.events.put_on_cpu;
    }
    uint64_t slept = events_voluntary(t);
    return slept > elsewhere && slept - elsewhere >= samples;
}

bool loop_never_idles(const struct judgement *s, const struct thread_group *group)
{
    int64_t idle_ns = 0;
    bool often = false;
    for (size_t i = 0; i < group->n; i++) {
        idle_ns += idle_ns_of(s, group->threads[i]->thread);
        often |= polls_often(s, group->threads[i]->thread);
    }
    return share_of(idle_ns, group->wall_ns) < loop_idle_share && !often;
}

/* ---- a loop that never waits ---- */

static bool polls_in_library(const struct judgement *s, const struct run *run,
                             struct loop_polls *polls)
{
    size_t n = 0;
    const struct shown_frame *stack = view_stack(s->g->v, run->at, &n);
    const char *kind = idle_polling_loop(stack, n);
    polls->kind = kind ? kind : polls->kind;
    return kind != NULL;
}

/* The node by which the user's function at NODE, or above it, polls; 0: that function polls by
 * none, or a library's function stands between the two. */
static uint32_t own_poll_at(const struct call_tree *t, uint32_t node)
{
    uint32_t polling = 0;
    for (; node && call_tree_node(t, node).role != ROLE_OWN; node = call_tree_node(t, node).parent)
        if (idle_polls(call_tree_node(t, node).frame))
            polling = node;
    return node && polling && call_tree_node(t, polling).parent == node ? polling : 0;
}

static bool polls_itself(const struct judgement *s, const struct run *run, struct loop_polls *polls)
{
    struct call_tree *t = s->g->tree;
    uint32_t node = own_poll_at(t, call_tree_of(t, run->at));
    polls->node = polls->node ? polls->node : node;
    return node && call_tree_own(t, node) == call_tree_own(t, polls->node);
}

static struct loop_polls polls_by(const struct judgement *s, const struct profile_thread *t,
                                  bool (*is_poll)(const struct judgement *s, const struct run *run,
                                                  struct loop_polls *polls))
{
    struct loop_polls ret = {0};
    for (size_t i = 0; i < t->n_runs && !t->n_folded; i++) {
        const struct run *run = &t->runs[i];
        if (run->state == RUN_MISSED || run->state == RUN_STOPPED)
            continue;
        bool poll = is_poll(s, run, &ret);
        if (run->state == RUN_BLOCKED) {
            ret.waits_ns += poll ? run->weights.wall_ns : 0;
        } else if (poll) {
            ret.poll_ns += run->weights.wall_ns;
            ret.polls++;
        } else {
            intervals_add_run(&ret.rest, run);
        }
    }
    return ret;
}

struct loop_polls loop_polls_of(const struct judgement *s, const struct profile_thread *t)
{
    struct loop_polls ret = polls_by(s, t, polls_in_library);
    if (ret.kind)
        return ret;
    intervals_release(&ret.rest);
    return polls_by(s, t, polls_itself);
}

bool loop_is_always_ready(const struct judgement *s, const struct thread_summary *t,
                          const struct loop_polls *polls)
{
    enum { LEAST_TIMES = 10 };
    int64_t idle_ns = polls->kind ? idle_ns_of(s, t->thread) : polls->waits_ns;
    return polls->polls >= LEAST_TIMES && share_of(polls->poll_ns, t->wall_ns) >= ready_share &&
           share_of(idle_ns, t->wall_ns) < loop_idle_share && !polls_often(s, t->thread);
}

bool loop_is_ready_of(const struct judgement *s, const struct thread_group *group)
{
    bool ready = false;
    for (size_t i = 0; i < group->n && !ready; i++) {
        struct loop_polls polls = loop_polls_of(s, group->threads[i]->thread);
        ready = loop_is_always_ready(s, group->threads[i], &polls);
        intervals_release(&polls.rest);
    }
    return ready;
}
