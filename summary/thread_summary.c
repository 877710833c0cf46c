#include "summary/thread_summary.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/share.h"
#include "base/text.h"
#include "summary/frame_name.h"
#include "summary/frame_role.h"
#include "summary/idle.h"
#include "summary/known.h"
#include "summary/process_name.h"
#include "summary/spot_map.h"

/* The state of a thread with a stack. */
enum stack_class { STACK_UNKNOWN, STACK_POOL, STACK_WAITS, STACK_UNUSUAL };

enum { IN_POOL = 1 << 4 }; /* beside that: a pool's loop is on the stack */

struct summarizing {
    const struct profile *p;
    struct view *v;
    struct spot_map classes; /* enum stack_class, IN_POOL */
};

static enum stack_class judge(const struct shown_frame *stack, size_t n)
{
    if (idle_pool_wait(stack, n))
        return STACK_POOL;
    return idle_is_ordinary_wait(stack, n) ? STACK_WAITS : STACK_UNUSUAL;
}

static bool is_in_pool(const struct shown_frame *stack, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (stack[i].pool_loop)
            return true;
    return false;
}

/* enum stack_class, with IN_POOL. */
static unsigned class_of_spot(struct summarizing *s, struct spot at)
{
    if (!spot_is_known(at))
        return STACK_WAITS;
    unsigned class = (unsigned)spot_map_get(&s->classes, at);
    if (class == STACK_UNKNOWN) {
        size_t n = 0;
        const struct shown_frame *frames = view_stack(s->v, at, &n);
        class = judge(frames, n) | (is_in_pool(frames, n) ? IN_POOL : 0);
        spot_map_put(&s->classes, at, class);
    }
    return class;
}

static int64_t clamp(int64_t value, int64_t max)
{
    if (value < 0)
        return 0;
    return value < max ? value : max;
}

/* Sums up the runs into T.  Returns the time in pools' waits and in others' by way of the
 * pointers. */
static void add_up(struct summarizing *s, struct thread_summary *t, int64_t *ret_pool_ns,
                   int64_t *ret_sampled_ns)
{
    static const double nearly_all = 0.9;
    int64_t unusual_ns = 0;
    int64_t pool_ns = 0;
    int64_t in_pool_ns = 0;
    int64_t sampled_ns = 0;
    for (size_t i = 0; i < t->thread->n_runs; i++) {
        const struct run *run = &t->thread->runs[i];
        if (run->state == RUN_MISSED)
            continue;
        unsigned found = class_of_spot(s, run->at);
        unsigned class = found & ~(unsigned)IN_POOL;
        sampled_ns += run->weights.wall_ns;
        in_pool_ns += found & IN_POOL ? run->weights.wall_ns : 0;
        pool_ns += class == STACK_POOL ? run->weights.wall_ns : 0;
        if (class == STACK_UNUSUAL && run->state == RUN_BLOCKED)
            unusual_ns += run->weights.wall_ns;
    }
    int64_t lived_ns =
        t->thread->n_folded ? t->thread->lived_ns : t->thread->end_ns - t->thread->start_ns;
    t->n_threads = t->thread->n_folded ? t->thread->n_folded : 1;
    t->wall_ns = clamp(lived_ns, INT64_MAX);
    t->cpu_ns = clamp(t->thread->counts.ns[COUNTED_CPU], t->wall_ns);
    t->runqueue_ns = clamp(t->thread->counts.ns[COUNTED_RUNQUEUE], t->wall_ns - t->cpu_ns);
    t->active_ns = t->cpu_ns + t->runqueue_ns + unusual_ns;
    t->of_pool = share_of(in_pool_ns, sampled_ns) >= nearly_all;
    *ret_pool_ns = pool_ns;
    *ret_sampled_ns = sampled_ns;
}

static struct spot heaviest_spot(const struct profile_thread *t)
{
    const struct run *best = NULL;
    for (size_t i = 0; i < t->n_runs; i++)
        if (spot_is_known(t->runs[i].at) &&
            (!best || t->runs[i].weights.wall_ns > best->weights.wall_ns))
            best = &t->runs[i];
    return best ? best->at : (struct spot){.stack = {0}};
}

/* An offset says less than the module it is in, and varies.  NULL: an address in no module says
 * nothing. */
static const char *speaking_name(const struct shown_frame *f)
{
    size_t len;
    const char *pool = frame_thread_function(f, &len) ? known_pool_of(f) : NULL;
    if (pool)
        return pool;
    return f->nameless ? f->module : f->name;
}

char *thread_root_name(const struct shown_frame *stack, size_t n)
{
    struct text name = {0};
    size_t i = 0;
    const char *glue = NULL; /* of a Go program, whose threads run any goroutine */
    for (; i < n && (stack[i].guessed || stack[i].glue); i++)
        glue = glue ? glue : known_glue_of(&stack[i]);
    const char *pool = i < n ? known_pool_of(&stack[i]) : NULL;
    if (pool)
        text_add(&name, pool);
    else if (glue)
        text_add(&name, glue);
    else if (i < n && !stack[i].nameless)
        frame_add_thread_name(&name, &stack[i]);
    else if (i < n && stack[i].module)
        text_add(&name, stack[i].module);
    return name.s;
}

/* Names of threading.py for threads that were given none: "Thread-7", "Thread-7 (run)". */
static bool is_default_name(const char *name)
{
    static const char *const stems[] = {"Thread-", "Dummy-"};
    for (size_t i = 0; i < sizeof stems / sizeof *stems; i++) {
        size_t len = strlen(stems[i]);
        size_t digits = str_starts(name, stems[i]) ? strspn(name + len, "0123456789") : 0;
        if (digits && (!name[len + digits] || str_starts(name + len + digits, " (")))
            return true;
    }
    return false;
}

/* The default names of other programs, a JVM's Thread-1, may be all that their users know. */
static bool has_python(const struct profile_process *process, const struct profile_thread *t)
{
    return process->python_version.ix || process->python_note.ix || t->python;
}

static void name_thread(struct summarizing *s, struct thread_summary *t)
{
    const struct profile_process *process = profile_see_process(s->p, t->thread->process);
    const char *name = profile_text(s->p, t->thread->name);
    size_t n = 0;
    if (t->thread->main) {
        name = "main";
    } else if (!*name || t->thread->name.ix == process->comm.ix ||
               (has_python(process, t->thread) && is_default_name(name))) {
        const struct shown_frame *stack = view_stack(s->v, heaviest_spot(t->thread), &n);
        t->name = thread_root_name(stack, n);
    }
    if (t->name)
        name = t->name;
    struct text tame = {0};
    text_add_tame(&tame, name, strlen(name));
    free(t->name);
    t->name = tame.len ? tame.s : xstrdup("thread");
}

/* "rank1 main 17001", "cc1 17002 main", "main 17001" of the only process */
static void label_thread(const struct summarizing *s, struct thread_summary *t)
{
    struct text label = {0};
    char *process = label_of_process(s->p, t->thread->process);
    bool numbered = *process && !process_is_rank(s->p, t->thread->process);
    text_addf(&label, "%s%s", process, *process ? " " : "");
    if (t->thread->n_folded)
        text_addf(&label, "%u ended: ", t->thread->n_folded);
    t->shape.head = label.len;
    text_add(&label, t->name);
    size_t before = label.len;
    if (!t->thread->n_folded && !(numbered && t->thread->main))
        text_addf(&label, " %d", t->thread->tid);
    t->shape.tail = label.len - before;
    free(process);
    t->label = label.s;
}

/* Is TITLE just the name of the program that the process runs? */
static bool is_program(const struct profile *p, process_id id, const char *title)
{
    const char *command = profile_text(p, profile_see_process(p, id)->command);
    size_t len = strcspn(command, " ");
    size_t title_len = strlen(title);
    return len >= title_len && strncmp(command + len - title_len, title, title_len) == 0;
}

/* Main threads are alike if their processes are called alike; ranks are. */
static void group_thread(const struct summarizing *s, struct thread_summary *t)
{
    struct text group = {0};
    char *title = title_of_process(s->p, t->thread->process);
    bool by_title = t->thread->main && *title && profile_process_count(s->p) > 1 &&
                    !process_is_rank(s->p, t->thread->process);
    if (by_title && is_program(s->p, t->thread->process, title))
        text_add(&group, title); /* "python3.11" */
    else
        text_add_group(&group, by_title ? title : t->name);
    free(title);
    t->group = group.s;
}

/* Almost always: a worker that woke once to look around is idle all the same. */
enum { IDLE_PERCENT = 99 };

static void summarize_thread(struct summarizing *s, struct thread_summary *t)
{
    int64_t pool_ns = 0;
    int64_t sampled_ns = 0;
    add_up(s, t, &pool_ns, &sampled_ns);
    name_thread(s, t);
    label_thread(s, t);
    group_thread(s, t);
    bool pooled = pool_ns / IDLE_PERCENT >= sampled_ns / 100 && t->cpu_ns <= t->wall_ns / 100;
    t->idle = !t->thread->main && (t->active_ns == 0 || pooled);
    if (t->idle) {
        size_t n = 0;
        const struct shown_frame *stack = view_stack(s->v, heaviest_spot(t->thread), &n);
        const struct shown_frame *f = idle_pool_wait(stack, n);
        t->pool_wait = f ? speaking_name(f) : NULL;
    }
}

/* First the main thread of the first process, then the active ones, then the idle ones. */
static int rank(const struct thread_summary *t)
{
    if (t->leads)
        return 0;
    return t->idle ? 2 : 1;
}

static int by_interest(const void *a, const void *b)
{
    const struct thread_summary *x = a;
    const struct thread_summary *y = b;
    if (rank(x) != rank(y))
        return rank(x) < rank(y) ? -1 : 1;
    if (x->active_ns != y->active_ns && !x->idle)
        return x->active_ns > y->active_ns ? -1 : 1;
    int group = x->idle ? strcmp(x->group, y->group) : 0;
    if (group)
        return group;
    return x->thread < y->thread ? -1 : x->thread > y->thread;
}

static void choose_leader(struct thread_summaries *s)
{
    uint32_t first = UINT32_MAX;
    for (size_t i = 0; i < s->n; i++)
        if (s->threads[i].thread->main && s->threads[i].thread->process.ix < first)
            first = s->threads[i].thread->process.ix;
    for (size_t i = 0; i < s->n; i++)
        s->threads[i].leads =
            s->threads[i].thread->main && s->threads[i].thread->process.ix == first;
}

size_t thread_stem_len(const char *group)
{
    size_t len = strlen(group);
    while (len && strchr("*-_ #:/.", group[len - 1]))
        len--;
    return len;
}

void thread_summaries_init(struct thread_summaries *s, const struct profile *p, struct view *v)
{
    struct summarizing state = {.p = p, .v = v};
    spot_map_init(&state.classes, p);
    s->n = 0;
    s->threads = xcalloc(profile_thread_count(p), sizeof *s->threads);
    s->only = view_options(v)->processes;
    s->n_processes = profile_process_count(p);
    for (uint32_t i = 1; s->only && i <= profile_process_count(p); i++)
        s->n_processes -= !s->only[i];
    for (uint32_t i = 1; i <= profile_thread_count(p); i++) {
        const struct profile_thread *thread = profile_see_thread(p, (thread_id){i});
        if ((s->only && !s->only[thread->process.ix]) || !thread->n_runs)
            continue;
        s->threads[s->n].thread = thread;
        summarize_thread(&state, &s->threads[s->n++]);
    }
    choose_leader(s);
    qsort(s->threads, s->n, sizeof *s->threads, by_interest);
    spot_map_release(&state.classes);
}

void thread_summary_release(struct thread_summary *t)
{
    free(t->name);
    free(t->label);
    free(t->group);
}

void thread_summaries_release(struct thread_summaries *s)
{
    for (size_t i = 0; i < s->n; i++)
        thread_summary_release(&s->threads[i]);
    free(s->threads);
    *s = (struct thread_summaries){0};
}
