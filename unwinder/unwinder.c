#include "unwinder/unwinder.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "unwinder/rule_cache.h"
#include "unwinder/walk.h"

struct unwinder {
    struct modules *modules;
    struct rule_cache *rules;
    struct map call_targets, calls;
    struct stack_cache *stack_cache;
    struct stack_cache *own_stack_cache; /* the same, unless it is borrowed; else NULL */
    struct unwind_counters counters, counters_before; /* the last run */
};

struct unwinder *unwinder_new(struct modules *modules)
{
    struct unwinder *u = xcalloc(1, sizeof *u);
    u->modules = modules;
    u->rules = rule_cache_new(modules);
    u->stack_cache = u->own_stack_cache = stack_cache_new();
    return u;
}

void unwinder_share(struct unwinder *u, struct stack_cache *stacks)
{
    u->own_stack_cache = stack_cache_free(u->own_stack_cache);
    u->stack_cache = stacks;
}

void unwinder_maps_changed(struct unwinder *u)
{
    rule_cache_maps_changed(u->rules);
    map_clear(&u->call_targets);
    map_clear(&u->calls);
    stack_cache_forget(u->stack_cache, u);
}

void unwinder_maps_same(struct unwinder *u)
{
    rule_cache_maps_same(u->rules);
    map_clear(&u->calls);
    stack_cache_forget(u->stack_cache, u);
}

bool unwinder_wants_maps(const struct unwinder *u)
{
    const uint64_t *ignored;
    return rule_cache_unmapped(u->rules, &ignored) > 0;
}

bool unwinder_settle_unmapped(struct unwinder *u, pid_t pid)
{
    const uint64_t *addrs;
    size_t n = rule_cache_unmapped(u->rules, &addrs);
    for (size_t i = 0; i < n; i++)
        if (i == RULE_CACHE_UNMAPPED || !maps_no_code_at(pid, addrs[i]))
            return false;
    rule_cache_unmapped_known(u->rules);
    return true;
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

static struct walk new_walk(struct unwinder *u, const struct snapshot *s, struct native_stack *out)
{
    struct walk w = {
        .modules = u->modules,
        .rules = u->rules,
        .call_targets = &u->call_targets,
        .calls = &u->calls,
        .stack_cache = u->stack_cache,
        .counters = &u->counters,
        .out = out,
    };
    stack_view_init(&w.view, s);
    return w;
}

void unwinder_run(struct unwinder *u, const struct snapshot *s, struct native_stack *out)
{
    struct walk w = new_walk(u, s, out);
    u->counters_before = u->counters;
    rule_cache_trim(u->rules);
    stack_cache_begin(u->stack_cache, u, s);
    out->n = 0;
    out->lacked_registers = false;
    out->end = walk_from(&w, &s->regs, false, FRAME_EXACT);
    out->stack_needed = w.view.used;
    if (out->end == UNWIND_STACK_CUT)
        out->stack_needed = w.view.wanted > s->stack_bytes ? w.view.wanted : s->stack_bytes + 1;
    u->counters.joined += stack_cache_end(u->stack_cache, out, &w.view,
                                          w.at_root && !w.trial_failed && !w.stack_switches);
    count(&u->counters, out);
}

void unwinder_run_again(struct unwinder *u, const struct snapshot *s, struct native_stack *out)
{
    u->counters = u->counters_before;
    unwinder_run(u, s, out);
}

/* The frame's registers as far as RULE, which is for its pc, needs them. */
static bool known_regs(const struct known_frame *k, const struct cached_rule *rule,
                       struct regs *ret)
{
    const struct value_rule *cfa = &rule->rule->cfa;
    if (!rule->found || cfa->kind != VALUE_REG || (cfa->reg != REG_SP && cfa->reg != REG_FP))
        return false;
    *ret = (struct regs){.known = REG_BIT(REG_PC) | REG_BIT(REG_SP) | REG_BIT(cfa->reg)};
    ret->r[REG_PC] = k->pc;
    ret->r[REG_SP] = k->sp;
    ret->r[cfa->reg] = k->cfa - (uint64_t)(int64_t)cfa->offset;
    return true;
}

bool unwinder_resume(struct unwinder *u, const struct snapshot *s, const struct known_frame *k,
                     struct native_stack *out)
{
    struct walk w = new_walk(u, s, out);
    const size_t n = out->n;
    struct regs regs;
    if (n == 0 || k->sp <= out->frames[n - 1].sp ||
        !known_regs(k, walk_rule(&w, k->pc, true), &regs) ||
        walk_try(&w, &regs, true, FRAME_RECOVERED) != UNWIND_DONE)
        return false;
    out->frames[n].after_gap = true;
    out->end = UNWIND_DONE;
    u->counters.resumed++;
    u->counters.frames += out->n - n;
    return true;
}

struct unwinder *unwinder_free(struct unwinder *u)
{
    if (!u)
        return NULL;
    rule_cache_free(u->rules);
    map_release(&u->call_targets);
    map_release(&u->calls);
    stack_cache_forget(u->stack_cache, u);
    stack_cache_free(u->own_stack_cache);
    free(u);
    return NULL;
}
