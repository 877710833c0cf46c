#include "summary/work_beside.h"

#include "summary/rule_classes.h"
#include "summary/rule_words.h"
#include "summary/slow_code.h"

static void add_main_place(const struct judgement *s, const struct thread_group *group,
                           struct text *words)
{
    struct call_path path;
    double part;
    if (!rule_path_of(s, group, WEIGHT_WALL, TALLY_RUNNING | TALLY_RUNNABLE, &path, &part))
        return;
    text_add(words, ", mainly in ");
    add_way(words, &path);
    call_path_release(&path);
}

void add_work_beside(const struct judgement *s, struct thread_group *group, uint32_t waits_at,
                     struct text *words, struct finding *f)
{
    int64_t ran_ns = group->cpu_ns - spinning_cpu_ns(s, group);
    double ran = share_of(ran_ns, group->wall_ns);
    double waited = share_of(group->runqueue_ns, group->wall_ns);
    bool spins = 2 * ran_ns < group->cpu_ns;
    if (ran < worth_telling || spins)
        return;
    text_addf(words, " %s run%s ", group->noun, verb_s(group));
    add_percent(words, ran);
    text_addf(words, " of %s time", possessive(group));
    if (waited >= worth_telling) {
        text_addf(words, " and wait%s ", verb_s(group));
        add_percent(words, waited);
        text_add(words, " for a CPU");
    }
    add_main_place(s, group, words);
    text_add(words, ".");
    add_figure(f, "ran_share", ran);
    if (meaning_of(s->g->tree, waits_at))
        return;
    const struct slow_part known = slow_code_of(s, group);
    add_slow_code(s, &known, group, group->plural ? "their CPU time" : "its CPU time", words, f);
}
