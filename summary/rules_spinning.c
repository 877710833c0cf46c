/* Threads that wait by asking again and again: their CPU time is no work. */
#include "summary/rules.h"
#include "summary/spinning.h"

static const double spin_share = 0.2;

void rule_spinning(const struct scene *s, struct thread_group *group, struct finding *f)
{
    struct call_path path;
    double share = share_of(class_ns(s, group, CLASS_SPIN), group->wall_ns);
    add_figure(f, "share", share);
    f->weight = share * (group->leads ? 1 : 0.7);
    if (share < spin_share || !heaviest_in_class(s, &group->tally, CLASS_SPIN, &path))
        return;
    enum spin_kind kind = call_tree_node(s->g->tree, path.node).frame->spins;
    double cpus = share_of(class_ns(s, group, CLASS_SPIN), s->wall_ns);
    struct text words = {0};
    add_figure(f, "cpus", cpus);
    text_addf(&words, "%s spin%s ", group->noun, verb_s(group));
    add_percent(&words, share);
    text_addf(&words, " of %s time %s, ", possessive(group), spinning_words(kind));
    add_place(&words, &path);
    text_addf(&words, ": %.1f CPU%s without work.", cpus, cpus < 1.05 ? "" : "s");
    if (*spinning_remedy(kind))
        text_addf(&words, " %s", spinning_remedy(kind));
    f->words = words.s;
    call_path_release(&path);
}
