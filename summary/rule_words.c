#include "summary/rule_words.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "summary/heaviest_paths.h"
#include "summary/interrupted.h"
#include "summary/rule_classes.h"

enum { LEAST_SAMPLES = 100 };

void add_figure(struct finding *f, const char *name, double value)
{
    for (size_t i = 0; i < f->n_figures; i++) /* of two that a finding tells of the first counts */
        if (str_eq(f->figures[i].name, name))
            return;
    assert(f->n_figures < MAX_FIGURES);
    f->figures[f->n_figures++] = (struct figure){name, value};
}

void finding_applies(struct finding *f, const void *facts, size_t bytes)
{
    f->applies = true;
    f->facts = bytes ? memcpy(xmalloc(bytes), facts, bytes) : NULL;
}

void release_path(void *facts)
{
    call_path_release(facts);
}

bool is_judged(const struct thread_group *group)
{
    return group->tally.samples >= LEAST_SAMPLES;
}

void add_opening(const struct thread_group *group, const char *verb, double share,
                 struct text *words)
{
    text_addf(words, "%s %s%s ", group->noun, verb, verb_s(group));
    add_percent(words, share);
    text_addf(words, " of %s time", possessive(group));
}

void add_opening_part(const struct thread_group *group, const char *verb, double share, double here,
                      struct text *words)
{
    static const double most_share = 0.95; /* that is as good as all */
    add_opening(group, verb, share, words);
    if (here < most_share * share) {
        text_add(words, ", ");
        add_percent(words, here);
    }
}

static bool is_join(const struct call_tree *t, uint32_t node, const void *unused)
{
    (void)unused;
    return call_tree_node(t, node).futex == FUTEX_JOIN;
}

/* For how long JOINER waits for threads of GROUP to end. */
static int64_t joins_ns(const struct judgement *s, const struct thread_group *joiner,
                        const struct thread_group *group)
{
    int64_t ns = 0;
    for (size_t i = 0; i < joiner->n; i++) {
        const struct profile_thread *t = joiner->threads[i]->thread;
        for (size_t k = 0; k < t->n_runs; k++) {
            const struct run *run = &t->runs[k];
            if (run->state != RUN_BLOCKED ||
                !is_join(s->g->tree, call_tree_of(s->g->tree, run->at), NULL))
                continue;
            const struct profile_thread *who = holders_thread(s->holders, run);
            ns += who && groups_of(s->g, who) == group ? run->weights.wall_ns : 0;
        }
    }
    return ns;
}

/* " main waits for each to end, in download a.cc:9.": who does so for most of its time. */
static void add_joiner(const struct judgement *s, const struct thread_group *group,
                       struct text *words)
{
    static const double most = 0.5;
    struct call_path path;
    for (size_t i = 0; i < s->g->n; i++) {
        struct thread_group *joiner = &s->g->items[i];
        if (joiner == group || joiner->mixed ||
            share_of(joins_ns(s, joiner, group), joiner->wall_ns) < most ||
            !call_path_of_nodes(&joiner->tally, is_join, NULL, &path))
            continue;
        text_addf(words, " %s wait%s for each to end, ", joiner->noun, verb_s(joiner));
        add_place(words, &path);
        text_add(words, ".");
        add_meaning(s, path.node, words);
        call_path_release(&path);
        return;
    }
}

void add_in_turn(const struct judgement *s, const struct thread_group *group, struct text *words)
{
    enum { LEAST_THREADS = 10 };
    static const double hardly_less = 0.8, hardly_more = 1.3;
    double at_once = share_of(group->wall_ns, rule_life_ns(group));
    if (group->n_threads < LEAST_THREADS || at_once < hardly_less || at_once > hardly_more)
        return;
    text_addf(words, " They run one after the other: %.1f at a time.", at_once);
    add_joiner(s, group, words);
}

void add_meaning(const struct judgement *s, uint32_t node, struct text *out)
{
    const char *meaning = meaning_of(s->g->tree, node);
    if (meaning)
        text_addf(out, " %s", meaning);
}

void add_interrupted(const struct judgement *s, const struct run *run, struct text *out)
{
    size_t n = 0;
    const struct shown_frame *stack = view_stack(s->g->v, run->at, &n);
    const char *words = run->state == RUN_BLOCKED ? interrupted_words(stack, n) : NULL;
    if (words)
        text_addf(out, " %s", words);
}

void add_all_threads(size_t n, struct text *words)
{
    if (n == 2)
        text_add(words, "Both threads");
    else
        text_addf(words, "All %zu threads", n);
}

const char *verb_s(const struct thread_group *group)
{
    return group->plural ? "" : "s";
}

const char *possessive(const struct thread_group *group)
{
    return group->plural ? "their" : "its";
}

bool rule_goes_on(const struct profile *p, pid_t pid)
{
    for (uint32_t i = 1; i <= profile_thread_count(p); i++) {
        const struct profile_thread *t = profile_see_thread(p, (thread_id){i});
        if (t->process.ix && t->tid == pid && !t->ended)
            return true;
    }
    return false;
}
