/* Rules about what the kernel does for threads: page faults and context switches. */
#include "base/clock.h"
#include "base/minmax.h"
#include "summary/frame_name.h"
#include "summary/herd.h"
#include "summary/kernel_work.h"
#include "summary/known.h"
#include "summary/rule_classes.h"
#include "summary/rule_words.h"
#include "summary/slow_code.h"

static const double faults_share = 0.05;       /* of the time, for the kernel's work for them */
static const double fault_system_share = 0.25; /* of CPU time */
static const double switches_cpus = 0.05;      /* CPUs, for the kernel's work for them */
enum { SWITCH_NS = 5 * NS_PER_US };            /* to sleep and to be woken take it about so long */
static const double least_returning = 0.002;   /* of the time, in calls that return memory */

/* ---- page faults ---- */

/* The allocator that GROUP's calls at NODE are made by, by whole stacks: a stripped one has no
 * function in the tree.  NULL: the program makes them itself. */
static const struct known_row *allocator_above(const struct judgement *s,
                                               const struct thread_group *group, uint32_t node)
{
    for (size_t i = 0; i < group->n; i++) {
        const struct profile_thread *t = group->threads[i]->thread;
        for (size_t k = 0; k < t->n_runs; k++) {
            size_t n = 0;
            uint32_t at = call_tree_of(s->g->tree, t->runs[k].at);
            if (!at || !call_tree_is_within(s->g->tree, at, node))
                continue;
            const struct shown_frame *stack = view_stack(s->g->v, t->runs[k].at, &n);
            for (const struct known_row *found; n; n--)
                if ((found = frame_allocator(&stack[n - 1])))
                    return found;
        }
    }
    return NULL;
}

/* Is NODE within a function that frees memory? */
static bool is_freeing(const struct call_tree *tree, uint32_t node)
{
    static const char *const names[] = {"free", "malloc_trim", NULL};
    for (; node; node = call_tree_node(tree, node).parent)
        if (str_is_one_of(frame_libc_name(call_tree_node(tree, node).frame->name), names))
            return true;
    return false;
}

/* Who allocates moves the break, too, and gets memory by that. */
static bool returns_memory(const struct call_tree *tree, uint32_t node)
{
    static const char *const names[] = {"madvise", "munmap", NULL};
    static const char *const breaks[] = {"brk", "sbrk", NULL};
    const struct shown_frame *f = call_tree_node(tree, node).frame;
    const char *name = f->libc ? frame_libc_name(f->name) : "";
    return str_is_one_of(name, names) || (str_is_one_of(name, breaks) && is_freeing(tree, node));
}

/* The call by which GROUP gives most memory back to the kernel, by time; 0: none. */
static uint32_t returning_node(const struct judgement *s, struct thread_group *group)
{
    uint32_t best = 0;
    for (uint32_t node = 1; node <= call_tree_count(s->g->tree); node++)
        if (returns_memory(s->g->tree, node) &&
            (!best || tally_total(&group->tally, node) > tally_total(&group->tally, best)))
            best = node;
    double share = best ? share_of(tally_total(&group->tally, best), group->wall_ns) : 0;
    return share >= least_returning ? best : 0;
}

/* What lets ALLOCATOR keep its memory; "": that is not known. */
static const char *keeping(const struct judgement *s, const char *allocator)
{
    const struct known_table *t = view_known(s->g->v);
    for (size_t i = 0; i < t->n; i++)
        if (t->rows[i].allocator && t->rows[i].remedy && str_eq(t->rows[i].allocator, allocator))
            return t->rows[i].remedy;
    return "";
}

/* Why the same memory is fetched again and again, if that was seen. */
static void add_returning(const struct judgement *s, struct thread_group *group, struct text *words)
{
    uint32_t node = returning_node(s, group);
    if (!node)
        return;
    const struct known_row *allocator = allocator_above(s, group, node);
    struct call_path path = call_path_to(&group->tally, node);
    if (allocator) {
        const char *keeps = keeping(s, allocator->allocator);
        text_addf(words, " Its allocator, %s, gives memory back to the kernel.%s%s",
                  allocator->allocator, *keeps ? " " : "", keeps);
    } else if (path.inner || path.caller) {
        text_addf(words, " %s gives memory back to the kernel by %s().",
                  path.inner ? path.inner : path.caller,
                  frame_libc_name(call_tree_node(s->g->tree, node).frame->name));
    }
    call_path_release(&path);
}

/* ---- fork ---- */

/* Does a thread AT fork?  A child that multiprocessing has forked has its parent's frames below its
 * own, also that which forked. */
static bool forks(const struct judgement *s, struct spot at)
{
    size_t n = 0;
    const struct shown_frame *stack = view_stack(s->g->v, at, &n);
    while (n > 0 && stack[n - 1].kind != SHOWN_PYTHON)
        if (known_does(&stack[--n], DOES_FORK))
            return true;
    return n > 0 && known_does(&stack[n - 1], DOES_FORK);
}

static int64_t forks_of(const struct judgement *s, const struct profile_thread *thread)
{
    int64_t ns = 0;
    for (size_t k = 0; k < thread->n_runs; k++)
        if (thread->runs[k].state != RUN_MISSED && forks(s, thread->runs[k].at))
            ns += thread->runs[k].weights.wall_ns;
    return ns;
}

/* Did PROCESS fork children that ran its own program, as those of fork() without exec(), and ended?
 * Those that were there from the beginning prove no fork, and their pages are copied by now. */
static bool had_copies(const struct profile_process *process)
{
    bool had = false;
    for (size_t i = 0; i < process->n_children; i++)
        had |=
            process->children[i].came_and_went && process->children[i].comm.ix == process->comm.ix;
    return had;
}

/* Does F start a program by fork() and exec(), which copies no page?  It may be the same one. */
static bool starts_program(const struct shown_frame *f)
{
    return known_does(f, DOES_RUN_PROGRAM) ||
           (f->kind == SHOWN_PYTHON && path_ends(f->file, "multiprocessing/popen_spawn_posix.py"));
}

/* May it have, as far as its children were seen?  They are looked for once a second. */
static bool may_have_copies(const struct profile_process *process)
{
    bool has = false;
    for (size_t i = 0; i < process->n_children; i++)
        has |= process->children[i].comm.ix == process->comm.ix;
    return has || !process->n_children;
}

/* How long GROUP's threads fork.  RET_COPIES: they have or had children that share their pages. */
static int64_t forks_ns(const struct judgement *s, const struct thread_group *group,
                        bool *ret_copies)
{
    int64_t ns = 0;
    *ret_copies = false;
    for (size_t i = 0; i < group->n; i++) {
        const struct profile_thread *thread = group->threads[i]->thread;
        const struct profile_process *process = profile_see_process(s->p, thread->process);
        if (!may_have_copies(process))
            continue;
        int64_t thread_ns = forks_of(s, thread);
        ns += thread_ns;
        *ret_copies |=
            thread_ns > 0 || (had_copies(process) && !rule_thread_has(s, thread, starts_program));
    }
    return ns;
}

/* What GROUP writes to after fork() is copied, while the child has it, too. */
static void add_forks(const struct judgement *s, const struct thread_group *group,
                      struct text *words, struct finding *f)
{
    static const double much = 0.1; /* of the time */
    bool copies;
    double share = share_of(forks_ns(s, group, &copies), group->wall_ns);
    if (!copies)
        return;
    add_figure(f, "fork_share", share);
    text_add(words, group->plural ? " They fork" : " It forks");
    if (share >= much) {
        text_add(words, ", which takes ");
        add_percent(words, share);
        text_addf(words, " of %s time", possessive(group));
    }
    text_addf(words,
              ": each page that %s to while a child lives is copied first. Fewer forks"
              " make fewer copies.",
              group->plural ? "they write" : "it writes");
}

/* "in memcpy, called from decode_frame a.c:9": the C library's function is who takes them. */
static void add_where(struct text *words, const struct call_path *path)
{
    struct call_path place = *path;
    if (path->libc && !path->caller) {
        place.caller = path->inner;
        place.inner = NULL;
    }
    add_place(words, &place);
}

/* Were most of GROUP's faults put where they came, and not where its threads ran? */
static bool where_is_known(const struct thread_group *group)
{
    uint64_t known = 0;
    uint64_t guessed = 0;
    for (size_t i = 0; i < group->n; i++) {
        const struct profile_thread *t = group->threads[i]->thread;
        *(t->faults_by_time ? &guessed : &known) += events_faults(t);
    }
    return known > guessed;
}

/* Of page faults and of switches. */
struct kernel_facts {
    struct call_path path; /* with most of them */
    double rate;           /* a second */
    double part;           /* of them in PATH */
    double system;         /* of the CPU time */
};

/* "83% of its CPU time is in the kernel." */
static void add_system(const struct thread_group *group, double system, struct text *words)
{
    add_percent(words, system);
    text_addf(words, " of %s CPU time is in the kernel.", possessive(group));
}

/* Are the faults at NODE those of known slow code that takes most of what GROUP computes?
 * rule_computes() tells of it then. */
static bool is_slow_codes(const struct judgement *s, const struct thread_group *group,
                          uint32_t node)
{
    static const double mostly = 0.5;
    const struct slow_part known = slow_code_of(s, group);
    return known.row && known.share >= mostly &&
           share_of(group->cpu_ns, group->wall_ns) >= mostly && slow_code_has(s, known.row, node);
}

void rule_page_faults(const struct judgement *s, struct thread_group *group, struct finding *f)
{
    struct profile_usage u = rule_usage_of(group);
    struct kernel_facts facts = {.rate = rule_per_second_of_life(u.minor_faults, group),
                                 .system = rule_system_share(&u)};
    add_figure(f, "minor_faults_per_s", facts.rate);
    add_figure(f, "system_share", facts.system);
    f->share = share_of(kernel_faults_ns(s->g, group), group->wall_ns);
    add_figure(f, "faults_share", f->share);
    if (f->share < faults_share || facts.system < fault_system_share ||
        numa_explains(s->p, u.minor_faults) ||
        !rule_path_of(s, group, WEIGHT_FAULTS, TALLY_ALL, &facts.path, &facts.part))
        return;
    if (is_slow_codes(s, group, facts.path.node))
        call_path_release(&facts.path);
    else
        finding_applies(f, &facts, sizeof facts);
}

void tell_page_faults(const struct judgement *s, struct finding *f, struct text *words)
{
    struct thread_group *group = f->group;
    const struct kernel_facts *facts = f->facts;
    text_addf(words, "%s take%s ", group->noun, verb_s(group));
    text_add_thousands(words, facts->rate);
    text_add(words, " minor page faults a second");
    if (where_is_known(group)) {
        add_figure(f, "path_share", facts->part);
        text_add(words, ", ");
        add_percent(words, facts->part);
        text_add(words, " of them ");
        add_where(words, &facts->path);
    }
    text_add(words, ". ");
    add_system(group, facts->system, words);
    const struct slow_part known = slow_code_of(s, group);
    add_slow_code(s, &known, group, group->plural ? "their CPU time" : "its CPU time", words, f);
    add_returning(s, group, words);
    add_forks(s, group, words, f);
}

/* ---- switches ---- */

/* Without those that were for wallspy's stops. */
static uint64_t voluntary_of(const struct thread_group *group)
{
    uint64_t own = 0;
    uint64_t all = rule_usage_of(group).voluntary;
    for (size_t i = 0; i < group->n; i++)
        own += group->threads[i]->thread->own_switches;
    return all > own ? all - own : 0;
}

/* How many CPUs the kernel needs to let N threads sleep and to wake them, of all its time, U's. */
static double cpus_of_switches(const struct judgement *s, const struct profile_usage *u, uint64_t n)
{
    return share_of(min_i64((int64_t)n * SWITCH_NS, u->system_ns), s->wall_ns);
}

/* Does GROUP, which goes to sleep N times, sleep so briefly at NODE that most of a sleep is the way
 * into it and out of it? */
static bool sleeps_briefly(const struct judgement *s, const struct thread_group *group,
                           uint32_t node, uint64_t n)
{
    enum { SHORT_NS = 50 * NS_PER_US };
    int64_t asleep_ns = group->wall_ns - group->cpu_ns - group->runqueue_ns;
    return class_of_node(s->g->tree, node) == CLASS_ORDINARY && asleep_ns < (int64_t)n * SHORT_NS;
}

/* What part of GROUP's time goes into switches: the kernel's SYSTEM_NS, and BRIEF sleeps, too. */
static double price_of_switches(const struct thread_group *group, int64_t system_ns, bool brief)
{
    int64_t asleep_ns = max_i64(group->wall_ns - group->cpu_ns - group->runqueue_ns, 0);
    return share_of(system_ns + (brief ? asleep_ns : 0), group->wall_ns);
}

void rule_switches(const struct judgement *s, struct thread_group *group, struct finding *f)
{
    struct profile_usage u = rule_usage_of(group);
    uint64_t n = voluntary_of(group);
    double cpus = cpus_of_switches(s, &u, n);
    struct kernel_facts facts = {.rate = rule_per_second_of_life(n, group),
                                 .system = rule_system_share(&u)};
    add_figure(f, "switches_per_s", facts.rate);
    add_figure(f, "switches_per_s_a_thread", facts.rate / (double)group->n);
    add_figure(f, "system_share", facts.system);
    add_figure(f, "switches_cpus", cpus);
    if (cpus < switches_cpus ||
        !rule_path_of(s, group, WEIGHT_SWITCHES, TALLY_BLOCKED, &facts.path, &facts.part))
        return;
    const uint32_t node = facts.path.node;
    if (class_of_node(s->g->tree, node) == CLASS_PAGE) { /* rule_major_faults() has them */
        call_path_release(&facts.path);
        return;
    }
    add_figure(f, "path_share", facts.part);
    bool brief = sleeps_briefly(s, group, node, n);
    f->kind = brief ? FINDING_EXPLAINS : f->kind;
    f->share = facts.part * price_of_switches(group, u.system_ns, brief);
    finding_applies(f, &facts, sizeof facts);
}

void tell_switches(const struct judgement *s, struct finding *f, struct text *words)
{
    const struct kernel_facts *facts = f->facts;
    text_addf(words, "%s go%s to sleep ", f->group->noun, f->group->plural ? "" : "es");
    text_add_thousands(words, facts->rate);
    text_add(words, " times a second, ");
    add_percent(words, facts->part);
    text_add(words, " of that in ");
    add_way(words, &facts->path);
    text_add(words, "; ");
    add_system(f->group, facts->system, words);
    add_herd(s, f->group, facts->path.node, words);
}
