/* The rule about Python's GIL: who waits for it, and who has it then. */
#include <stdlib.h>

#include "base/alloc.h"
#include "summary/heaviest_paths.h"
#include "summary/rule_classes.h"
#include "summary/rule_words.h"

static const double most_share = 0.95;                        /* that is as good as all */
static const double explained_share = 0.9, named_share = 0.1; /* of the samples without the GIL */

/* For how long each group held the GIL when GROUP's threads waited for it; the caller frees it.
 * *RET_ALL: the time of those waits. */
static int64_t *gil_holders(const struct judgement *s, const struct thread_group *group,
                            int64_t *ret_all)
{
    int64_t *by_group = xcalloc(s->g->n, sizeof *by_group);
    *ret_all = 0;
    for (size_t i = 0; i < group->n; i++) {
        const struct profile_thread *t = group->threads[i]->thread;
        for (size_t k = 0; k < t->n_runs; k++) {
            const struct run *run = &t->runs[k];
            if (class_of_run(s->g->tree, run) != CLASS_GIL)
                continue;
            const struct profile_thread *holder = holders_thread(s->holders, run);
            const struct thread_group *of = holder && holder != t ? groups_of(s->g, holder) : NULL;
            *ret_all += run->weights.wall_ns;
            if (of)
                by_group[of - s->g->items] += run->weights.wall_ns;
        }
    }
    return by_group;
}

/* When GROUP's threads waited for the GIL, where the order of events is known. */
static struct intervals gil_waits(const struct judgement *s, const struct thread_group *group)
{
    struct intervals ret = {0};
    for (size_t i = 0; i < group->n; i++) {
        struct intervals one = intervals_of(s, group->threads[i]->thread, 1U << CLASS_GIL);
        for (size_t k = 0; k < one.n; k++)
            intervals_add(&ret, one.items[k]);
        intervals_release(&one);
    }
    intervals_unite(&ret);
    return ret;
}

/* The group with most of HELD; NULL: none has any. */
static const struct thread_group *most_of(const struct judgement *s, const int64_t *held)
{
    size_t most = 0;
    for (size_t i = 1; i < s->g->n; i++)
        most = held[i] > held[most] ? i : most;
    return held[most] > 0 ? &s->g->items[most] : NULL;
}

/* Are A's and B's threads of one process called the same but for numbers?  To readers they are one
 * kind, though their times differ. */
static bool are_called_alike(const struct thread_group *a, const struct thread_group *b)
{
    const struct thread_summary *x = a->threads[0];
    const struct thread_summary *y = b->threads[0];
    return x->thread->process.ix == y->thread->process.ix && !x->thread->main && !y->thread->main &&
           !a->mixed && !b->mixed && str_eq(x->group, y->group);
}

/* Takes what GROUP and those that are called alike have of HELD, adds what their threads do in
 * WAITS, or ever if there are none, to T, and what they are called to NOUN.  Returns the time. */
static int64_t take_alike(const struct judgement *s, const struct thread_group *group,
                          int64_t *held, const struct intervals *waits, struct tally *t,
                          struct text *noun)
{
    int64_t ns = 0;
    size_t threads = 0;
    for (size_t i = 0; i < s->g->n; i++) {
        const struct thread_group *g = &s->g->items[i];
        if (held[i] <= 0 || (g != group && !are_called_alike(g, group)))
            continue;
        for (size_t k = 0; k < g->n && waits->n; k++)
            tally_add(t, g->threads[k]->thread, waits->items, waits->n);
        for (size_t k = 0; k < g->n && !waits->n; k++)
            tally_add_thread(t, g->threads[k]->thread);
        threads += g->n_threads;
        ns += held[i];
        held[i] = 0;
    }
    const char *stem = group->threads[0]->group;
    if (threads == group->n_threads) {
        text_add(noun, group->noun);
    } else {
        text_addf(noun, "%zu ", threads);
        text_add_tame(noun, stem, thread_stem_len(stem));
        text_add(noun, " threads");
    }
    return ns;
}

/* Does NODE's time go to native code of the user's own?  What that calls of Python's is not in the
 * tree, so that the words have to say the rest. */
static bool is_own_native(const struct call_tree *t, uint32_t node)
{
    while (node && call_tree_node(t, node).role < ROLE_LIBRARY)
        node = call_tree_node(t, node).parent;
    return node && call_tree_node(t, node).role == ROLE_OWN &&
           call_tree_node(t, node).frame->kind == SHOWN_NATIVE;
}

static bool is_python(const struct call_tree *t, uint32_t node)
{
    return node && call_tree_node(t, node).frame->kind == SHOWN_PYTHON;
}

/* Tells of those with most of HELD, as many as it takes to explain most of the wait. */
static void add_holders(const struct judgement *s, const struct thread_group *waiting,
                        int64_t *held, int64_t all, struct text *words, struct finding *f)
{
    enum { MOST_NAMED = 3 };
    const struct thread_group *group;
    int64_t named = 0;
    bool alone = false; /* one thread has it */
    struct tally t;
    struct call_path path;
    struct intervals waits = gil_waits(s, waiting);
    tally_init(&t, s->g->tree, TALLY_ALL);
    t.skipped_waits = 1 << WAIT_GIL;
    for (size_t i = 0; i < MOST_NAMED && (group = most_of(s, held)); i++) {
        if (i && ((double)named >= explained_share * (double)all ||
                  share_of(held[group - s->g->items], all) < named_share))
            break;
        struct text noun = {0};
        alone = i == 0 && group->n_threads == 1;
        int64_t ns = take_alike(s, group, held, &waits, &t, &noun);
        text_addf(words, i ? ", %s " : " %s held it ", noun.s);
        add_percent(words, share_of(ns, all));
        text_add(words, i ? "" : " of that time");
        named += ns;
        text_release(&noun);
    }
    add_figure(f, "holder_share", share_of(named, all));
    if (call_paths_heaviest(&t, &path, 1)) {
        text_add(words, ", ");
        add_place(words, &path);
        if (waits.n && is_own_native(s->g->tree, path.node) && 2 * path.ns >= t.all_ns)
            text_add(words,
                     ". Native code that uses no object of Python's can release it: "
                     "Py_BEGIN_ALLOW_THREADS, Cython's nogil, ctypes.CDLL in place of PyDLL");
        else if (alone && 2 * path.ns >= t.all_ns && is_python(s->g->tree, path.node))
            text_add(words, ". Python code keeps it for 5 ms at a time, unless "
                            "sys.setswitchinterval() set less; in another process it has a GIL of "
                            "its own");
        call_path_release(&path);
    }
    text_add(words, ".");
    tally_release(&t);
    intervals_release(&waits);
}

/* How long GROUP waits for the GIL.  Where that is most of its waiting, what it is woken in is on
 * the way there: a thread asks for the GIL again every 5 ms. */
static int64_t gil_waits_ns(const struct judgement *s, struct thread_group *group)
{
    int64_t gil_ns = group->class_ns[CLASS_GIL];
    return gil_ns +
           (gil_ns > group->class_ns[CLASS_ORDINARY] ? rule_ways_to_waits_ns(s, group) : 0);
}

struct gil_facts {
    int64_t *held; /* by group: for how long it held the GIL in those waits; owned */
    int64_t all;   /* of them */
};

void rule_gil(const struct judgement *s, struct thread_group *group, struct finding *f)
{
    struct gil_facts facts = {.all = 0};
    f->share = share_of(gil_waits_ns(s, group), group->wall_ns);
    add_figure(f, "share", f->share);
    if (share_of(group->class_ns[CLASS_GIL], group->wall_ns) < worth_telling)
        return;
    facts.held = gil_holders(s, group, &facts.all);
    const struct thread_group *holder = most_of(s, facts.held);
    if (holder && holder != group && (group == s->lead || group->leads))
        f->blames = holder->noun; /* nobody else's waits keep the user */
    finding_applies(f, &facts, sizeof facts);
}

void tell_gil(const struct judgement *s, struct finding *f, struct text *words)
{
    struct thread_group *group = f->group;
    const struct gil_facts *facts = f->facts;
    const struct thread_group *holder = most_of(s, facts->held);
    struct call_path path;
    add_opening(group, "wait", f->share, words);
    text_add(words, " for the GIL");
    if (heaviest_in_class(&group->tally, CLASS_GIL, &path)) {
        bool all_of_it = (double)path.ns >= most_share * (double)group->class_ns[CLASS_GIL];
        text_add(words, all_of_it ? " " : ", mainly ");
        add_place(words, &path);
        call_path_release(&path);
    }
    text_add(words, ".");
    if (holder && holder != group)
        add_holders(s, group, facts->held, facts->all, words, f);
    else if (holder)
        text_add(words, " They take it from each other: only one runs Python at a time. "
                        "Processes have a GIL each.");
}

void release_gil(void *facts)
{
    free(((struct gil_facts *)facts)->held);
}
