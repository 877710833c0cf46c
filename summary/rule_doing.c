#include "summary/rule_doing.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "summary/event_loop.h"
#include "summary/heaviest_paths.h"
#include "summary/known.h"
#include "summary/rule_words.h"
#include "summary/where.h"

/* Of the time between waits: what is less is not worth a word, or seen too seldom to tell. */
static const double least_rest = 0.03, least_part = 0.5;
enum { LEAST_SAMPLES = 12 };

const char collector_remedy[] =
    " gc.freeze() makes a collection shorter. A higher gc.set_threshold() makes it rarer, unless "
    "the code calls gc.collect().";

/* ---- the collector ---- */

/* It is a frame of its own (pyframes/py_gc.h). */
bool node_collects(struct call_tree *t, uint32_t node)
{
    const struct call_node at = call_tree_node(t, node);
    return at.frame->kind == SHOWN_MARK && str_eq(at.frame->name, "[gc]");
}

/* By node, what T's collector does there.  What a __del__ waits for is none of its work. */
static int64_t *collected_ns(struct tally *t)
{
    int64_t *ret = xcalloc(call_tree_count(t->tree) + (size_t)1, sizeof *ret);
    for (uint32_t node = 1; node <= call_tree_count(t->tree); node++) {
        uint32_t above = node;
        if (node_collects(t->tree, node))
            ret[node] += tally_total(t, node);
        if (call_tree_node(t->tree, node).frame->kind != SHOWN_WAIT)
            continue;
        while (above && !node_collects(t->tree, above))
            above = call_tree_node(t->tree, above).parent;
        ret[above] -= tally_self(t, node);
    }
    return ret;
}

bool doing_collects(struct tally *t, struct call_path *ret, int64_t *ret_ns)
{
    int64_t *here_ns = collected_ns(t);
    int64_t ns = 0;
    uint32_t best = 0;
    here_ns[0] = 0; /* waits outside of it */
    for (uint32_t node = 1; node <= call_tree_count(t->tree); node++) {
        ns += here_ns[node];
        best = here_ns[node] > here_ns[best] ? node : best;
    }
    free(here_ns);
    if (!best)
        return false;
    *ret = call_path_to(t, best);
    *ret_ns = ns;
    return true;
}

/* ---- whom it waits for ---- */

bool add_thing_of(const struct judgement *s, const struct run *run, uint32_t node,
                  struct text *words)
{
    const struct profile_thread *holder = holders_thread(s->holders, run);
    const struct thread_group *group = holder ? groups_of(s->g, holder) : NULL;
    const struct wait_side *side = holders_side(s->holders, run->at);
    if (!group)
        text_add(words, futex_kind_words(call_tree_node(s->g->tree, node).futex));
    else if (side->thing == THING_THREAD)
        text_addf(words, " for %s to end", group->noun);
    if (!group || side->thing == THING_THREAD)
        return group != NULL;
    text_add(words, " for ");
    wait_side_add_thing(words, s->p, side);
    text_addf(words, " held by %s", group->noun);
    return true;
}

/* The longest of T's runs that wait in the path of NODE, and when it did within T's time. */
struct found_wait {
    const struct run *run;
    struct interval when;
};

static void see_part(const struct tally *t, const struct run_parts *part,
                     const struct call_path_keys *keys, struct found_wait *longest)
{
    const struct run *run = part->run;
    if (run->state != RUN_BLOCKED ||
        part->when.end_ns - part->when.start_ns <= longest->when.end_ns - longest->when.start_ns)
        return;
    uint32_t at = call_tree_of(t->tree, run->at);
    if (!at)
        return;
    const struct call_path_keys here = call_path_keys(t->tree, at);
    if (call_path_same(&here, keys))
        *longest = (struct found_wait){run, part->when};
}

static struct found_wait longest_wait(const struct tally *t, uint32_t node)
{
    struct found_wait longest = {.run = NULL};
    const struct call_path_keys keys = call_path_keys(t->tree, node);
    for (size_t i = 0; i < t->n_spans; i++)
        for (struct run_parts p = time_span_parts(&t->spans[i]); run_parts_next(&p);)
            see_part(t, &p, &keys, &longest);
    return longest;
}

/* ", which is then in rebuild a.py:9": what HOLDER did. */
static void add_holder(const struct judgement *s, const struct profile_thread *holder,
                       const struct interval *when, struct text *words)
{
    struct tally t;
    struct call_path path;
    tally_init(&t, s->g->tree, TALLY_ALL);
    tally_add(&t, holder, when, 1);
    if (call_paths_heaviest(&t, &path, 1)) {
        text_add(words, ", which is then in ");
        add_way(words, &path);
        call_path_release(&path);
    }
    tally_release(&t);
}

/* ---- doing ---- */

/* Is NODE an event loop itself, and not what that calls? */
static bool is_loop(const struct call_tree *t, uint32_t node)
{
    const struct call_node at = call_tree_node(t, node);
    const struct shown_frame *f =
        at.frame && at.frame->kind == SHOWN_WAIT ? call_tree_node(t, at.parent).frame : at.frame;
    return f && f->loop;
}

/* Does a thread in NODE wait for something that nobody who serves requests should? */
static bool is_odd(const struct call_tree *t, uint32_t node)
{
    static const unsigned odd = 1U << CLASS_GIL | 1U << CLASS_FILE | 1U << CLASS_PAGE |
                                1U << CLASS_UNUSUAL | 1U << CLASS_STOPPED;
    static const unsigned locks = 1U << FUTEX_LOCK | 1U << FUTEX_RWLOCK;
    return odd >> class_of_node(t, node) & 1 || locks >> call_tree_node(t, node).futex & 1;
}

/* Sets of D, in whose path T is, the wait for what a thread has that is known. */
static void find_whom(const struct judgement *s, const struct tally *t, struct doing *d)
{
    const uint32_t node = d->path.node;
    enum wait_class class = class_of_node(t->tree, node);
    bool locks = class == CLASS_GIL || call_tree_node(t->tree, node).futex;
    if (!locks || class == CLASS_NONE || class == CLASS_SPIN)
        return;
    const struct found_wait wait = longest_wait(t, node);
    const struct profile_thread *holder = wait.run ? holders_thread(s->holders, wait.run) : NULL;
    if (!holder || !groups_of(s->g, holder))
        return;
    d->wait = wait.run;
    d->when = wait.when;
}

struct doing doing_of(const struct judgement *s, struct tally *t)
{
    struct doing ret = {.told = false};
    if (doing_collects(t, &ret.path, &ret.ns)) {
        ret.collects = ret.told = 2 * ret.ns >= t->all_ns;
        if (ret.collects)
            return ret;
        call_path_release(&ret.path);
    }
    if (call_paths_heaviest(t, &ret.path, 1)) {
        const uint32_t node = ret.path.node;
        ret.ns = ret.path.ns;
        ret.odd = is_odd(t->tree, node);
        ret.meaning = meaning_of(t->tree, node);
        ret.told = ret.meaning || !is_loop(t->tree, node);
        if (ret.told)
            find_whom(s, t, &ret);
    }
    return ret;
}

void doing_add(const struct judgement *s, const struct doing *d, struct text *words)
{
    enum wait_class class = class_of_node(s->g->tree, d->path.node);
    if (d->collects) {
        text_addf(words, "collecting garbage%s%s", d->path.caller ? " in " : "",
                  d->path.caller ? d->path.caller : "");
    } else if (d->wait) {
        add_place(words, &d->path);
        text_add(words, ",");
        (void)add_thing_of(s, d->wait, d->path.node, words);
        add_holder(s, holders_thread(s->holders, d->wait), &d->when, words);
    } else if (class == CLASS_NONE || class == CLASS_SPIN) {
        add_place(words, &d->path);
    } else {
        text_add(words, "in ");
        add_way(words, &d->path);
    }
}

void doing_release(struct doing *d)
{
    call_path_release(&d->path);
    *d = (struct doing){.told = false};
}

double add_meanwhile(const struct judgement *s, const struct thread_group *group,
                     const struct intervals *waits, struct text *words, struct finding *f)
{
    struct tally t;
    struct where where;
    double share = 0;
    tally_init(&t, s->g->tree, TALLY_ALL);
    for (size_t i = 0; i < group->n; i++)
        tally_add(&t, group->threads[i]->thread, waits->items, waits->n);
    if (where_of(&t, &where)) {
        share = where_share(&where);
        text_addf(words, " Meanwhile %s %s ", group->noun, group->plural ? "are" : "is");
        where_add(s->g->tree, &where, words);
        text_add(words, ".");
        add_figure(f, "meanwhile_share", share);
        where_release(&where);
    }
    tally_release(&t);
    return share;
}

/* ---- between two waits ---- */

/* " Longest stall: 326 ms in report a.py:6, 293 ms of it waiting for a CPU." */
static void add_stall(const struct judgement *s, const struct thread_group *group,
                      const struct stall *stall, const struct doing *doing, struct text *words)
{
    int64_t took_ns = stall_ns(stall);
    text_addf(words, " Longest stall%s: %.0f ms ", group->n > 1 ? " of one of them" : "",
              (double)took_ns / NS_PER_MS);
    doing_add(s, doing, words);
    if (stall->runqueue_ns >= took_ns / 5)
        text_addf(words, ", %.0f ms of it waiting for a CPU",
                  (double)stall->runqueue_ns / NS_PER_MS);
    text_add(words, ".");
}

/* What helps against DOING, or why it waits. */
static void add_reason(const struct doing *doing, struct text *words)
{
    if (doing->collects)
        text_add(words, collector_remedy);
    else if (doing->meaning)
        text_addf(words, " %s", doing->meaning);
}

/* Do A and B read the same? */
static bool is_same(const struct judgement *s, const struct doing *a, const struct doing *b)
{
    struct text one = {0};
    struct text other = {0};
    doing_add(s, a, &one);
    doing_add(s, b, &other);
    bool same = str_eq(one.s, other.s);
    text_release(&one);
    text_release(&other);
    return same;
}

static void add_rest(const struct judgement *s, const struct thread_group *group,
                     const struct away *a, struct text *words)
{
    bool same = a->stall.told && is_same(s, &a->stall, &a->rest);
    if (same)
        text_add(words, " That takes ");
    else
        text_addf(words, " %s spend%s ", group->plural ? "They" : "It", verb_s(group));
    add_percent(words, a->rest_part);
    text_addf(words, " of %s other time", possessive(group));
    if (!same) {
        text_add(words, " ");
        doing_add(s, &a->rest, words);
    }
    text_add(words, ".");
}

/* T: of GROUP's longest of STALLS; it borrows WHEN, which is set, too. */
static void tally_stall(const struct judgement *s, const struct thread_group *group,
                        const struct stalls *stalls, struct tally *ret, struct interval *ret_when)
{
    size_t worst = stalls_worst(stalls, group->n);
    *ret_when = (struct interval){stalls[worst].longest.start_ns, stalls[worst].longest.end_ns};
    tally_init(ret, s->g->tree, TALLY_ALL);
    tally_add(ret, group->threads[worst]->thread, ret_when, 1);
}

struct doing doing_in_stall(const struct judgement *s, const struct thread_group *group,
                            const struct stalls *stalls)
{
    struct interval when;
    struct tally t;
    tally_stall(s, group, stalls, &t, &when);
    struct doing doing = doing_of(s, &t);
    tally_release(&t);
    return doing;
}

bool is_pause(const struct judgement *s, const struct thread_group *group,
              const struct stalls *stalls)
{
    const struct stall *longest = &stalls[stalls_worst(stalls, group->n)].longest;
    if (stall_ns(longest) < PAUSE_NS || longest->samples < STALL_SAMPLES)
        return false;
    struct interval when;
    struct tally t;
    struct call_path path;
    int64_t ns;
    tally_stall(s, group, stalls, &t, &when);
    bool collects = doing_collects(&t, &path, &ns);
    bool pause = collects && 2 * ns >= t.all_ns;
    if (collects)
        call_path_release(&path);
    tally_release(&t);
    return pause;
}

struct away away_of(const struct judgement *s, const struct thread_group *group,
                    const struct stalls *stalls, bool stalled)
{
    struct away ret = {.longest = stalls[stalls_worst(stalls, group->n)].longest};
    struct tally t;
    uint64_t samples = 0;
    if (stalled)
        ret.stall = doing_in_stall(s, group, stalls);
    tally_init(&t, s->g->tree, TALLY_ALL);
    for (size_t i = 0; i < group->n; i++) {
        samples += stalls[i].samples;
        if (stalls[i].n)
            tally_add(&t, group->threads[i]->thread, stalls[i].away.items, stalls[i].n);
    }
    if (samples >= LEAST_SAMPLES && share_of(t.all_ns, group->wall_ns) >= least_rest) {
        ret.rest = doing_of(s, &t);
        ret.rest_part = share_of(ret.rest.ns, t.all_ns);
        ret.rest.told &= ret.rest_part >= least_part;
    }
    tally_release(&t);
    return ret;
}

bool away_is_told(const struct away *a)
{
    return a->stall.told || a->rest.told;
}

void away_add(const struct judgement *s, const struct thread_group *group, const struct away *a,
              struct text *words)
{
    if (a->stall.told)
        add_stall(s, group, &a->longest, &a->stall, words);
    if (a->rest.told)
        add_rest(s, group, a, words);
    add_reason(a->rest.told ? &a->rest : &a->stall, words);
}

void away_release(struct away *a)
{
    doing_release(&a->stall);
    doing_release(&a->rest);
}

void add_away(const struct judgement *s, const struct thread_group *group,
              const struct stalls *stalls, bool stalled, struct text *words)
{
    struct away away = away_of(s, group, stalls, stalled);
    away_add(s, group, &away, words);
    away_release(&away);
}

/* ---- a loop that is kept ---- */

/* Loops whose callbacks must not block: others serve one request after the other, or run what their
 * user typed, who waits for just that. */
static const char *callback_of(const struct judgement *s, uint32_t node)
{
    for (; node; node = call_tree_node(s->g->tree, node).parent) {
        const struct shown_frame *f = call_tree_node(s->g->tree, node).frame;
        if (known_does(f, DOES_RUN_CELL))
            return NULL;
        if (f->loop && known_does(f, DOES_CALL_BACK))
            return f->loop;
    }
    return NULL;
}

void add_kept_loop(const struct judgement *s, const struct thread_group *group, uint32_t node,
                   struct text *out)
{
    const char *kind = callback_of(s, node);
    if (!kind || loop_is_ready_of(s, group) || !loop_never_idles(s, group))
        return;
    text_addf(out, " That keeps %s event loop%s (%s) from polling", possessive(group),
              group->plural ? "s" : "", kind);
    if (class_of_node(s->g->tree, node) != CLASS_NONE)
        text_add(out, ": all else that it serves waits, too. A call that the loop can wait for "
                      "avoids that, or a helper thread");
    text_add(out, ".");
    if (is_for_known_result(s->g->tree, node))
        text_add(out, " A result that only this loop can bring never comes.");
}
