#include "summary/rule_words.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
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

void add_in_turn(const struct thread_group *group, struct text *words)
{
    enum { LEAST_THREADS = 10 };
    static const double hardly_less = 0.8, hardly_more = 1.3;
    double at_once = share_of(group->wall_ns, rule_life_ns(group));
    if (group->n_threads >= LEAST_THREADS && at_once >= hardly_less && at_once <= hardly_more)
        text_addf(words, " They run one after the other: %.1f at a time.", at_once);
}

void add_meaning(const struct judgement *s, uint32_t node, struct text *out)
{
    const char *meaning = meaning_of(s->g->tree, node);
    if (meaning)
        text_addf(out, " %s", meaning);
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
