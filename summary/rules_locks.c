/* Rules about locks, as far as frames tell them: malloc's arenas, those inside other functions of
 * the C library. */
#include "base/hash.h"
#include "base/minmax.h"
#include "summary/process_name.h"
#include "summary/rule_words.h"

/* Below a function of malloc's it is one for its arena. */
static bool is_arena_wait(const struct call_tree *t, uint32_t node)
{
    return waits_for_libc(t, node) &&
           frame_is_malloc(call_tree_node(t, call_tree_node(t, node).parent).frame);
}

/* Says so where GROUP's thread waits in code that interrupted other code of that thread. */
static void add_last_handler(const struct judgement *s, const struct thread_group *group,
                             struct text *words)
{
    const struct run *last = groups_last_run(group);
    if (last)
        add_interrupted(s, last, words);
}

struct arena_facts {
    uint32_t node; /* the heaviest wait */
    int64_t ns;    /* in all such waits */
    double share;  /* of the time */
};

void rule_malloc_arena(const struct judgement *s, struct thread_group *group, struct finding *f)
{
    int64_t ns = 0;
    int64_t inside_ns = 0; /* in functions of malloc's that wait for it, whatever they do there */
    uint32_t best = 0;
    for (uint32_t node = 1; node <= call_tree_count(s->g->tree); node++) {
        if (!is_arena_wait(s->g->tree, node))
            continue;
        int64_t self_ns = tally_self(&group->tally, node);
        ns += self_ns;
        inside_ns +=
            self_ns > 0 ? tally_total(&group->tally, call_tree_node(s->g->tree, node).parent) : 0;
        best = self_ns > 0 && (!best || self_ns > tally_self(&group->tally, best)) ? node : best;
    }
    struct arena_facts facts = {best, ns, share_of(ns, group->wall_ns)};
    add_figure(f, "share", facts.share);
    /* The threads that wait hold each other up, and a woken one waits for a CPU, too. */
    f->share = share_of(max_i64(ns, inside_ns), group->wall_ns);
    if (facts.share >= worth_telling)
        finding_applies(f, &facts, sizeof facts);
}

void tell_malloc_arena(const struct judgement *s, struct finding *f, struct text *words)
{
    struct thread_group *group = f->group;
    const struct arena_facts *facts = f->facts;
    size_t len = 0;
    struct call_path path = call_path_to(&group->tally, facts->node);
    add_opening(group, "wait", facts->share, words);
    text_add(words, " for a malloc arena's lock");
    add_heaviest_place(words, &path, facts->ns);
    text_add(words, ".");
    const char *most =
        process_number(s->p, group->threads[0]->thread->process, "MALLOC_ARENA_MAX", &len);
    if (most)
        text_addf(words, " MALLOC_ARENA_MAX is %.*s; unset it for more arenas.",
                  (int)(len < 8 ? len : 8), most);
    add_last_handler(s, group, words);
    call_path_release(&path);
}

/* Of GROUP's waits for locks of the C library's those for one function's; INSIDE_NS: with what else
 * goes on in it. */
struct libc_lock {
    int64_t ns, inside_ns, best_ns;
    uint32_t best; /* the heaviest wait */
};

static struct libc_lock sum_of_function(const struct judgement *s, struct thread_group *group,
                                        uint32_t key)
{
    const struct call_tree *t = s->g->tree;
    struct libc_lock sum = {0};
    for (uint32_t node = 1; node <= call_tree_count(t); node++) {
        const struct call_node at = call_tree_node(t, node);
        sum.inside_ns += at.key == key ? tally_total(&group->tally, node) : 0;
        if (call_tree_node(t, at.parent).key != key || !waits_for_libc(t, node))
            continue;
        int64_t ns = tally_self(&group->tally, node);
        sum.ns += ns;
        if (ns > sum.best_ns) {
            sum.best_ns = ns;
            sum.best = node;
        }
    }
    return sum;
}

/* Those of the function with most of them. */
static struct libc_lock find_libc_lock(const struct judgement *s, struct thread_group *group)
{
    const struct call_tree *t = s->g->tree;
    struct map sums = {0}; /* time by the function's key */
    uint32_t best = 0;
    uint64_t best_ns = 0;
    for (uint32_t node = 1; node <= call_tree_count(t); node++) {
        int64_t self_ns = tally_self(&group->tally, node);
        if (self_ns == 0 || !waits_for_libc(t, node) || is_arena_wait(t, node))
            continue;
        uint32_t key = call_tree_node(t, call_tree_node(t, node).parent).key;
        uint64_t ns = 0;
        (void)map_get(&sums, key, &ns);
        ns += (uint64_t)self_ns;
        map_put(&sums, key, ns);
        best = ns > best_ns ? key : best;
        best_ns = ns > best_ns ? ns : best_ns;
    }
    map_release(&sums);
    return best ? sum_of_function(s, group, best) : (struct libc_lock){0};
}

/* The next group but GROUP, from *I on, that is in the same function as its wait BEST; its share of
 * that.  NULL: no more.  How often they sleep for its lock is chance. */
static struct thread_group *next_inside(const struct judgement *s, const struct thread_group *group,
                                        uint32_t best, size_t *i, double *ret_share)
{
    const uint32_t function = call_tree_node(s->g->tree, best).parent;
    const uint32_t key = call_tree_node(s->g->tree, function).key;
    while (*i < s->g->n) {
        struct thread_group *other = &s->g->items[(*i)++];
        if (other == group || !is_judged(other))
            continue;
        *ret_share = share_of(sum_of_function(s, other, key).inside_ns, other->wall_ns);
        if (*ret_share >= worth_telling)
            return other;
    }
    return NULL;
}

/* " player-1 is in it for 94% of its time." */
static void add_others_inside(const struct judgement *s, const struct thread_group *group,
                              uint32_t best, struct text *words)
{
    const struct thread_group *other;
    double share;
    for (size_t i = 0; (other = next_inside(s, group, best, &i, &share));) {
        text_addf(words, " %s %s in it for ", other->noun, other->n_threads == 1 ? "is" : "are");
        add_percent(words, share);
        text_addf(words, " of %s time.", possessive(other));
    }
}

void rule_libc_lock(const struct judgement *s, struct thread_group *group, struct finding *f)
{
    struct libc_lock lock = find_libc_lock(s, group);
    double share = share_of(lock.ns, group->wall_ns);
    add_figure(f, "share", share);
    /* The threads that wait hold each other up: they spin there, too, and wait for a CPU. */
    f->share = share_of(max_i64(lock.ns, lock.inside_ns), group->wall_ns);
    if (share < worth_telling)
        return;
    size_t i = 0;
    const struct thread_group *other = next_inside(s, group, lock.best, &i, &share);
    f->also = other ? other->noun : NULL;
    finding_applies(f, &lock, sizeof lock);
}

void tell_libc_lock(const struct judgement *s, struct finding *f, struct text *words)
{
    struct thread_group *group = f->group;
    const struct libc_lock *lock = f->facts;
    struct call_path path = call_path_to(&group->tally, lock->best);
    add_opening(group, "spend", share_of(lock->inside_ns, group->wall_ns), words);
    text_addf(words, " in %s()", path.libc);
    if (path.inner || path.caller)
        text_addf(words, ", called from %s", path.inner ? path.inner : path.caller);
    text_add(words, ", ");
    add_percent(words, share_of(lock->ns, lock->inside_ns));
    text_add(words, " of that waiting for its lock, which all threads share.");
    add_others_inside(s, group, lock->best, words);
    add_last_handler(s, group, words);
    call_path_release(&path);
}
