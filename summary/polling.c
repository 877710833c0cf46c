#include "summary/polling.h"

#include "base/clock.h"
#include "summary/frame_name.h"
#include "summary/rule_classes.h"
#include "summary/wait_name.h"

/* What a call asks for.  WORDS follow "polls 97% of its time"; REMEDY: what is woken instead.
 * Source: subprocess.py, pidfd_open(2), flock(2), inotify(7). */
static const struct {
    const char *words, *remedy;
} kinds[] = {
    [ASKED_NOTHING] = {"", ""},
    [ASKED_CHILD] = {" for the end of a child,",
                     "A wait without a time-out, or poll() of a pidfd_open(), is woken at once."},
    [ASKED_FILE] = {" for a file,",
                    "inotify wakes when a file changes; flock() when a lock is free, "
                    "and its lock ends with its holder."},
    [ASKED_LOCK] = {" for a lock,", "A lock() or flock() that blocks is woken at once, and an "
                                    "flock() ends with its holder."},
    [ASKED_RESULT] = {" for another thread or process,",
                      "join(), get(), result() or Event.wait() is woken at once."},
    [ASKED_UNTOLD] = {"", "A wait that is woken ends at once: flock() for a file that is a lock, "
                          "pidfd_open() for a process, a condition for a thread."},
};

/* Functions of Python's libraries that sleep in a loop until something is so.
 * Source: CPython Lib/subprocess.py (_wait with a time-out), psutil/_psposix.py, filelock/_api.py,
 * portalocker/utils.py, torch/utils/file_baton.py, joblib/parallel.py. */
static const struct {
    const char *file, *function;
    enum asked asked;
} pollers[] = {
    {"/subprocess.py", "_wait", ASKED_CHILD},        {"/psutil/_psposix.py", "*", ASKED_CHILD},
    {"/filelock/_api.py", "acquire", ASKED_LOCK},    {"/portalocker/utils.py", "*", ASKED_LOCK},
    {"/torch/utils/file_baton.py", "*", ASKED_FILE}, {"/joblib/parallel.py", "*", ASKED_RESULT},
};

/* Functions that ask, where a thread runs in them: who is blocked there waits for an answer.
 * Source: their manual pages; CPython Lib/genericpath.py, pathlib.py, threading.py, queue.py,
 * subprocess.py, multiprocessing/process.py, concurrent/futures/_base.py. */
static const struct {
    const char *file; /* of Python's library; NULL: a function of the C library */
    const char *function;
    enum asked asked;
} questions[] = {
    {NULL, "waitpid", ASKED_CHILD},
    {NULL, "wait4", ASKED_CHILD},
    {NULL, "waitid", ASKED_CHILD},
    {NULL, "access", ASKED_FILE},
    {NULL, "faccessat", ASKED_FILE},
    {NULL, "stat", ASKED_FILE},
    {NULL, "stat64", ASKED_FILE},
    {NULL, "lstat", ASKED_FILE},
    {NULL, "lstat64", ASKED_FILE},
    {NULL, "fstatat", ASKED_FILE},
    {NULL, "fstatat64", ASKED_FILE},
    {NULL, "newfstatat", ASKED_FILE},
    {NULL, "flock", ASKED_LOCK},
    {NULL, "lockf", ASKED_LOCK},
    {NULL, "pthread_mutex_trylock", ASKED_LOCK},
    {NULL, "pthread_spin_trylock", ASKED_LOCK},
    {NULL, "sem_trywait", ASKED_LOCK},
    {"/genericpath.py", "*", ASKED_FILE},
    {"/pathlib.py", "*", ASKED_FILE},
    {"/subprocess.py", "poll", ASKED_CHILD},
    {"/multiprocessing/process.py", "is_alive", ASKED_RESULT},
    {"/multiprocessing/pool.py", "ready", ASKED_RESULT},
    {"/concurrent/futures/_base.py", "done", ASKED_RESULT},
    {"/threading.py", "is_alive", ASKED_RESULT},
    {"/threading.py", "is_set", ASKED_RESULT},
    {"/queue.py", "empty", ASKED_RESULT},
    {"/queue.py", "get_nowait", ASKED_RESULT},
};

static bool is_function(const struct shown_frame *f, const char *file, const char *function)
{
    if (!file)
        return f->kind == SHOWN_NATIVE && f->libc && str_eq(frame_libc_name(f->name), function);
    return f->kind == SHOWN_PYTHON && f->file && str_ends(f->file, file) &&
           (*function == '*' || frame_name_has(f->name, function));
}

static enum asked asked_by_poller(const struct shown_frame *f)
{
    for (size_t i = 0; i < sizeof pollers / sizeof *pollers; i++)
        if (is_function(f, pollers[i].file, pollers[i].function))
            return pollers[i].asked;
    return ASKED_NOTHING;
}

static enum asked asked_by_frame(const struct shown_frame *f)
{
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++)
        if (is_function(f, questions[i].file, questions[i].function))
            return questions[i].asked;
    return ASKED_NOTHING;
}

/* Does NAME say that it waits until something is so?  A "wait(ms)" may be a mere pause. */
static enum asked asked_by_name(const char *name)
{
    static const char *const parts[] = {"waitfor", "waituntil", "waiton",  "waitall",   "acquire",
                                        "trylock", "takelock",  "getlock", "spinuntil", NULL};
    return wait_name_has(name, parts) ? ASKED_UNTOLD : ASKED_NOTHING;
}

/* Of the time below a function what sleeps, and what asks for what. */
struct between {
    int64_t all_ns, sleep_ns, asked_ns[ASKED_UNTOLD];
};

enum asked polling_asks(const struct shown_frame *stack, size_t n)
{
    enum asked asked = ASKED_NOTHING;
    for (; n && !asked && frame_role(&stack[n - 1], false) != ROLE_OWN; n--)
        asked = asked_by_frame(&stack[n - 1]);
    return asked;
}

static void look_at(const struct scene *s, const struct run *run, uint32_t outer, uint32_t sleep,
                    struct between *b)
{
    size_t n;
    uint32_t node = call_tree_of(s->g->tree, run->at);
    if (run->state == RUN_MISSED || !call_tree_is_within(s->g->tree, node, outer))
        return;
    b->all_ns += run->weights.wall_ns;
    if (node == sleep || run->state == RUN_RUNNABLE) {
        b->sleep_ns += run->weights.wall_ns;
        return;
    }
    const struct shown_frame *stack = view_stack(s->g->v, run->at, &n);
    bool waits = run->state == RUN_BLOCKED;
    b->asked_ns[waits ? ASKED_NOTHING : polling_asks(stack, n)] += run->weights.wall_ns;
}

/* What GROUP does in OUTER but sleep: if it hardly does anything else than ask, what it asks
 * for. */
static enum asked asked_between(const struct scene *s, const struct thread_group *group,
                                uint32_t outer, uint32_t sleep, bool *ret_works)
{
    static const double most_work = 0.1;
    enum asked best = ASKED_NOTHING;
    struct between b = {0};
    for (size_t i = 0; i < group->n; i++)
        for (size_t k = 0; k < group->threads[i]->thread->n_runs; k++)
            look_at(s, &group->threads[i]->thread->runs[k], outer, sleep, &b);
    for (enum asked asked = ASKED_CHILD; asked < ASKED_UNTOLD; asked++)
        if (b.asked_ns[asked] > b.asked_ns[best] || (!best && b.asked_ns[asked] > 0))
            best = asked;
    *ret_works = share_of(b.asked_ns[ASKED_NOTHING], b.all_ns) > most_work;
    return *ret_works ? ASKED_NOTHING : best;
}

/* The function that sleeps may be one that only sleeps, which one that asks calls. */
static enum asked asked_at(const struct scene *s, const struct thread_group *group, uint32_t node)
{
    enum { MOST_CALLERS = 3 };
    enum asked named = ASKED_NOTHING;
    uint32_t outer = call_tree_node(s->g->tree, node).parent;
    enum asked known =
        outer ? asked_by_poller(call_tree_node(s->g->tree, outer).frame) : ASKED_NOTHING;
    for (size_t i = 0; i < MOST_CALLERS && outer && !known; i++) {
        bool works = false;
        const struct call_node at = call_tree_node(s->g->tree, outer);
        known = asked_between(s, group, outer, node, &works);
        if (works)
            break;
        named = named ? named : asked_by_name(at.frame->name);
        outer = at.parent;
    }
    return known ? known : named;
}

struct polling polling_at(const struct scene *s, struct thread_group *group, uint32_t node)
{
    struct tally t;
    struct polling p = {0};
    tally_init(&t, s->g->tree, TALLY_BLOCKED);
    t.weight = WEIGHT_SWITCHES;
    for (size_t i = 0; i < group->n; i++)
        tally_add_thread(&t, group->threads[i]->thread);
    int64_t sleeps = tally_total(&t, node);
    tally_release(&t);
    if (sleeps <= 0)
        return p;
    p.each_ns = tally_total(&group->tally, node) / sleeps;
    p.per_s = rule_per_second((uint64_t)sleeps, s) / (double)group->n;
    p.asked = asked_at(s, group, node);
    return p;
}

const char *polling_words(enum asked asked)
{
    return kinds[asked].words;
}

const char *polling_remedy(enum asked asked)
{
    return kinds[asked].remedy;
}
