/* Rules about locks, as far as frames tell them: malloc's arenas. */
#include "base/minmax.h"
#include "summary/process_name.h"
#include "summary/rule_classes.h"
#include "summary/rule_words.h"

static const double arena_share = 0.1;

/* A wait below a function of malloc's is one for its arena. */
static bool is_arena_wait(const struct call_tree *t, uint32_t node)
{
    const struct call_node at = call_tree_node(t, node);
    return class_of_node(t, node) == CLASS_ORDINARY && at.parent &&
           call_tree_node(t, at.parent).role == ROLE_LIBC &&
           frame_is_malloc(call_tree_node(t, at.parent).frame);
}

void rule_malloc_arena(const struct scene *s, struct thread_group *group, struct finding *f)
{
    int64_t ns = 0;
    int64_t inside_ns =
        0; /* in malloc's functions that wait for it: also on the way to it and back */
    uint32_t best = 0;
    size_t len = 0;
    for (uint32_t node = 1; node <= call_tree_count(s->g->tree); node++) {
        if (!is_arena_wait(s->g->tree, node))
            continue;
        int64_t self_ns = tally_self(&group->tally, node);
        ns += self_ns;
        inside_ns +=
            self_ns > 0 ? tally_total(&group->tally, call_tree_node(s->g->tree, node).parent) : 0;
        best = self_ns > 0 && (!best || self_ns > tally_self(&group->tally, best)) ? node : best;
    }
    double share = share_of(ns, group->wall_ns);
    add_figure(f, "share", share);
    /* The threads that wait hold each other up, and a woken one waits for a CPU, too. */
    f->weight = share_of(max_i64(ns + ns / 2, inside_ns), group->wall_ns);
    if (share < arena_share)
        return;
    struct text words = {0};
    struct call_path path = call_path_to(&group->tally, best);
    text_addf(&words, "%s wait%s ", group->noun, verb_s(group));
    add_percent(&words, share);
    text_addf(&words, " of %s time for a malloc arena's lock, ", possessive(group));
    add_place(&words, &path);
    text_add(&words, ".");
    const char *most =
        process_number(s->p, group->threads[0]->thread->process, "MALLOC_ARENA_MAX", &len);
    if (most)
        text_addf(&words, " MALLOC_ARENA_MAX is %.*s; unset it for more arenas.",
                  (int)(len < 8 ? len : 8), most);
    f->words = words.s;
    call_path_release(&path);
}
