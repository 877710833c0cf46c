#include "unwinder/unwinder.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "unwinder/rule_cache.h"
#include "unwinder/second_opinion.h"
#include "unwinder/walk.h"

struct unwinder {
    struct modules *modules;
    struct rule_cache *rules;
    struct second_opinion *second_opinion;
    struct map verdicts;
    struct trails *trails;
    struct unwind_counters counters, counters_before; /* the last run */
};

struct unwinder *unwinder_new(struct modules *modules)
{
    struct unwinder *u = xcalloc(1, sizeof *u);
    u->modules = modules;
    u->rules = rule_cache_new(modules);
    u->second_opinion = second_opinion_new(modules);
    u->trails = trails_new();
    return u;
}

void unwinder_maps_changed(struct unwinder *u)
{
    rule_cache_maps_changed(u->rules);
    map_clear(&u->verdicts);
    trails_forget(u->trails);
}

void unwinder_maps_same(struct unwinder *u)
{
    rule_cache_maps_same(u->rules);
    trails_forget(u->trails);
}

bool unwinder_wants_maps(const struct unwinder *u)
{
    return rule_cache_saw_unmapped(u->rules);
}

const struct unwind_counters *unwinder_counters(const struct unwinder *u)
{
    return &u->counters;
}

static void count(struct unwind_counters *c, const struct native_stack *out)
{
    c->stacks++;
    c->frames += out->n;
    c->ends[out->end]++;
    c->other_stack +=
        out->end == UNWIND_BAD_MEMORY && out->n > 1 && out->frames[out->n - 2].is_signal;
    for (size_t i = 0; i < out->n; i++) {
        c->recovered += out->frames[i].trust == FRAME_RECOVERED;
        c->guessed += out->frames[i].trust == FRAME_GUESSED;
    }
}

void unwinder_run(struct unwinder *u, const struct snapshot *s, struct native_stack *out)
{
    struct walk w = {
        .modules = u->modules,
        .rules = u->rules,
        .second_opinion = u->second_opinion,
        .verdicts = &u->verdicts,
        .trails = u->trails,
        .counters = &u->counters,
        .out = out,
    };
    u->counters_before = u->counters;
    stack_view_init(&w.view, s);
    trails_begin(u->trails, s);
    out->n = 0;
    out->end = walk_from(&w, &s->regs, false, FRAME_EXACT);
    out->stack_needed = w.view.used;
    if (out->end == UNWIND_STACK_CUT)
        out->stack_needed = w.view.wanted > s->stack_bytes ? w.view.wanted : s->stack_bytes + 1;
    u->counters.joined += trails_end(u->trails, out, &w.view, w.at_root);
    count(&u->counters, out);
}

void unwinder_run_again(struct unwinder *u, const struct snapshot *s, struct native_stack *out)
{
    u->counters = u->counters_before;
    unwinder_run(u, s, out);
}

struct unwinder *unwinder_free(struct unwinder *u)
{
    if (!u)
        return NULL;
    rule_cache_free(u->rules);
    second_opinion_free(u->second_opinion);
    map_release(&u->verdicts);
    trails_free(u->trails);
    free(u);
    return NULL;
}
