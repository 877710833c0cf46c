#include "summary/survey.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "summary/idle.h"

/* What sitting in a stack means. */
enum sitting { SITTING_UNKNOWN, SITTING_POOL, SITTING_WAITS, SITTING_UNUSUAL };

struct surveying {
    const struct profile *p;
    struct view *v;
    uint8_t *sitting; /* enum sitting by stack − 1 */
};

static enum sitting judge(const struct shown_frame *stack, size_t n)
{
    if (idle_pool_wait(stack, n))
        return SITTING_POOL;
    return idle_is_ordinary_wait(stack, n) ? SITTING_WAITS : SITTING_UNUSUAL;
}

static enum sitting sitting_of(struct surveying *s, stack_id stack)
{
    if (!stack.ix)
        return SITTING_WAITS;
    uint8_t *known = &s->sitting[stack.ix - 1];
    if (*known == SITTING_UNKNOWN) {
        size_t n = 0;
        const struct shown_frame *frames = view_stack(s->v, stack, &n);
        *known = (uint8_t)judge(frames, n);
    }
    return (enum sitting) * known;
}

static int64_t clamp(int64_t value, int64_t max)
{
    if (value < 0)
        return 0;
    return value < max ? value : max;
}

/* Sums up the runs into T.  Returns the time in pools' waits and in others' by way of the
 * pointers. */
static void add_up(struct surveying *s, struct surveyed *t, int64_t *ret_pool_ns,
                   int64_t *ret_sampled_ns)
{
    int64_t unusual_ns = 0;
    int64_t pool_ns = 0;
    int64_t sampled_ns = 0;
    for (size_t i = 0; i < t->thread->n_runs; i++) {
        const struct run *run = &t->thread->runs[i];
        if (run->state == RUN_MISSED)
            continue;
        enum sitting sitting = sitting_of(s, run->stack);
        sampled_ns += run->weights.wall_ns;
        pool_ns += sitting == SITTING_POOL ? run->weights.wall_ns : 0;
        if (sitting == SITTING_UNUSUAL && run->state == RUN_BLOCKED)
            unusual_ns += run->weights.wall_ns;
    }
    int64_t lived_ns =
        t->thread->n_folded ? t->thread->lived_ns : t->thread->end_ns - t->thread->start_ns;
    t->n_threads = t->thread->n_folded ? t->thread->n_folded : 1;
    t->wall_ns = clamp(lived_ns, INT64_MAX);
    t->cpu_ns = clamp(t->thread->counts.ns[COUNTED_CPU], t->wall_ns);
    t->runqueue_ns = clamp(t->thread->counts.ns[COUNTED_RUNQUEUE], t->wall_ns - t->cpu_ns);
    t->active_ns = t->cpu_ns + t->runqueue_ns + unusual_ns;
    *ret_pool_ns = pool_ns;
    *ret_sampled_ns = sampled_ns;
}

static stack_id heaviest_stack(const struct profile_thread *t)
{
    const struct run *best = NULL;
    for (size_t i = 0; i < t->n_runs; i++)
        if (t->runs[i].stack.ix && (!best || t->runs[i].weights.wall_ns > best->weights.wall_ns))
            best = &t->runs[i];
    return best ? best->stack : (stack_id){0};
}

/* libstdc++'s frame that runs what a std::thread was made of. */
static const char invoker[] = "std::thread::_State_impl<std::thread::_Invoker<std::tuple<";

/* An offset says less than the module it is in, and varies.  NULL: an address in no module says nothing. */
static const char *speaking_name(const struct shown_frame *f)
{
    const char *pool = str_starts(f->name, invoker) ? idle_pool_name(f) : NULL;
    if (pool)
        return pool;
    return f->nameless ? f->module : f->name;
}

/* What a std::thread was made of, if the frame NAME says so and it has a name: lambdas have that of the
 * function they are in. */
static char *thread_function(const char *name)
{
    if (!str_starts(name, invoker))
        return NULL;
    const char *function = name + strlen(invoker);
    size_t len = strcspn(function, "(<>,");
    bool named = len && function[len - 1] != ' ' && !str_starts(function, "std::");
    return named ? xasprintf("%.*s", (int)len, function) : NULL;
}

/* What a thread without a name of its own is called: after its pool or its first function; NULL: it has
 * none.  The caller frees it. */
static char *root_name(const struct shown_frame *stack, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char *function = idle_pool_name(&stack[i]) ? NULL : thread_function(stack[i].name);
        if (function)
            return function;
        if (stack[i].guessed || idle_is_way(&stack[i]))
            continue;
        const char *pool = idle_pool_name(&stack[i]);
        const char *name = pool ? pool : speaking_name(&stack[i]);
        return name ? xstrdup(name) : NULL;
    }
    return NULL;
}

/* What threading.py calls a thread that was given no name. */
static bool is_default_name(const char *name)
{
    static const char *const stems[] = {"Thread-", "Dummy-"};
    for (size_t i = 0; i < sizeof stems / sizeof *stems; i++) {
        size_t len = strlen(stems[i]);
        if (str_starts(name, stems[i]) && name[len] &&
            name[len + strspn(name + len, "0123456789")] == '\0')
            return true;
    }
    return false;
}

static void name_thread(struct surveying *s, struct surveyed *t)
{
    const struct profile_process *process = profile_see_process(s->p, t->thread->process);
    const char *name = profile_text(s->p, t->thread->name);
    size_t n = 0;
    if (t->thread->main) {
        name = "main";
    } else if (!*name || t->thread->name.ix == process->comm.ix || is_default_name(name)) {
        const struct shown_frame *stack = view_stack(s->v, heaviest_stack(t->thread), &n);
        t->name = root_name(stack, n);
    }
    if (!t->name)
        t->name = xstrdup(*name ? name : "thread");
    struct text label = {0};
    if (profile_process_count(s->p) > 1)
        text_addf(&label, "%d/", process->pid);
    if (t->thread->n_folded)
        text_addf(&label, "%u ended: %s", t->thread->n_folded, t->name);
    else
        text_addf(&label, "%s %d", t->name, t->thread->tid);
    t->label = label.s;
}

/* Almost always: a worker that woke once to look around is idle all the same. */
enum { IDLE_PERCENT = 99 };

static void survey_thread(struct surveying *s, struct surveyed *t)
{
    int64_t pool_ns = 0;
    int64_t sampled_ns = 0;
    add_up(s, t, &pool_ns, &sampled_ns);
    name_thread(s, t);
    struct text group = {0};
    text_add_group(&group, t->name);
    t->group = group.s;
    bool pooled = pool_ns / IDLE_PERCENT >= sampled_ns / 100 && t->cpu_ns <= t->wall_ns / 100;
    t->idle = !t->thread->main && (t->active_ns == 0 || pooled);
    if (t->idle) {
        size_t n = 0;
        const struct shown_frame *stack = view_stack(s->v, heaviest_stack(t->thread), &n);
        const struct shown_frame *f = idle_pool_wait(stack, n);
        t->pool_wait = f ? speaking_name(f) : NULL;
    }
}

/* First the main thread of the first process, then the active ones, then the idle ones. */
static int rank(const struct surveyed *t)
{
    if (t->leads)
        return 0;
    return t->idle ? 2 : 1;
}

static int by_interest(const void *a, const void *b)
{
    const struct surveyed *x = a;
    const struct surveyed *y = b;
    if (rank(x) != rank(y))
        return rank(x) < rank(y) ? -1 : 1;
    if (x->active_ns != y->active_ns && !x->idle)
        return x->active_ns > y->active_ns ? -1 : 1;
    int group = x->idle ? strcmp(x->group, y->group) : 0;
    if (group)
        return group;
    return x->thread < y->thread ? -1 : x->thread > y->thread;
}

static void choose_leader(struct survey *s)
{
    uint32_t first = UINT32_MAX;
    for (size_t i = 0; i < s->n; i++)
        if (s->threads[i].thread->main && s->threads[i].thread->process.ix < first)
            first = s->threads[i].thread->process.ix;
    for (size_t i = 0; i < s->n; i++)
        s->threads[i].leads =
            s->threads[i].thread->main && s->threads[i].thread->process.ix == first;
}

void survey_init(struct survey *s, const struct profile *p, struct view *v)
{
    struct surveying state = {.p = p, .v = v};
    state.sitting = xcalloc(profile_stack_count(p), sizeof *state.sitting);
    s->n = 0;
    s->threads = xcalloc(profile_thread_count(p), sizeof *s->threads);
    s->only = view_options(v)->process;
    for (uint32_t i = 1; i <= profile_thread_count(p); i++) {
        const struct profile_thread *thread = profile_see_thread(p, (thread_id){i});
        if ((s->only.ix && thread->process.ix != s->only.ix) || !thread->n_runs)
            continue;
        s->threads[s->n].thread = thread;
        survey_thread(&state, &s->threads[s->n++]);
    }
    choose_leader(s);
    qsort(s->threads, s->n, sizeof *s->threads, by_interest);
    free(state.sitting);
}

void survey_release(struct survey *s)
{
    for (size_t i = 0; i < s->n; i++) {
        free(s->threads[i].name);
        free(s->threads[i].label);
        free(s->threads[i].group);
    }
    free(s->threads);
    *s = (struct survey){0};
}
