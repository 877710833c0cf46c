#include "worker/process_set.h"

#include <errno.h>

#include "pyframes/py_capture.h"
#include "unwinder/stack_cache.h"
#include "worker/runtimes.h"

int process_set_add(struct process_set *set, pid_t pid, uint64_t start_ticks,
                    const struct target_shared *shared, struct err *err)
{
    if (set->n_alive == MOST_ALIVE)
        return err_set(err, -E2BIG, "%d is left out: more than %d processes at a time", pid,
                       MOST_ALIVE);
    if (set->n == SAMPLER_MAX_PROCESSES)
        return err_set(err, -E2BIG, "%d is left out: more than %d processes in a recording", pid,
                       SAMPLER_MAX_PROCESSES);
    struct target_process *s = NULL;
    struct target_shared with = *shared;
    if (!set->scratch)
        set->scratch = py_scratch_new();
    if (!set->codes)
        set->codes = py_code_store_new();
    if (!set->stacks)
        set->stacks = stack_cache_new();
    with.scratch = set->scratch;
    with.codes = set->codes;
    with.stacks = set->stacks;
    int r = target_process_open(&s, pid, start_ticks, &with, err);
    if (r < 0)
        return r;
    enum sched_apart apart = sched_group_compare(pid);
    if (apart != SCHED_TOGETHER && !set->apart.n++)
        set->apart.first = apart;
    set->all[set->n++] = s;
    set->alive[set->n_alive++] = s;
    return 0;
}

void process_set_refresh(const struct process_set *set, int64_t now_ns)
{
    for (size_t i = 0; i < set->n_alive; i++) {
        struct target_process *s = set->alive[i];
        bool has_run = s->heard_ns > s->maps_read_ns;
        if (has_run || !s->maps_read_ns)
            target_process_refresh(s, now_ns);
    }
}

uint64_t process_set_urgency(const struct process_set *set)
{
    uint64_t n = 0;
    for (size_t i = 0; i < set->n_alive; i++) {
        const struct target_process *s = set->alive[i];
        const struct unwind_counters *c = unwinder_counters(s->unwinder);
        n += c->ends[UNWIND_STACK_CUT] + c->ends[UNWIND_NEEDS_REGS];
        n += modules_generation(s->modules);
        if (s->python)
            n += py_codes_changes(s->python->codes);
    }
    return n;
}

void process_set_end(struct process_set *set, struct target_process *s)
{
    size_t kept = 0;
    for (size_t i = 0; i < set->n_alive; i++)
        if (set->alive[i] != s)
            set->alive[kept++] = set->alive[i];
    set->n_alive = kept;
    target_process_end(s);
}

void process_set_report(const struct process_set *set, struct profile *p)
{
    for (size_t i = 0; i < set->n; i++) {
        metadata_put put = i == 0 ? profile_set_number : profile_add_number;
        metadata_of_unwinder(p, target_process_unwound(set->all[i]), put);
        metadata_of_modules(p, set->all[i]->modules, put);
        runtimes_report(p, set->all[i]->id, modules_maps(set->all[i]->modules));
    }
}

struct target_process *process_set_find(const struct process_set *set, process_id id)
{
    for (size_t i = 0; i < set->n_alive; i++)
        if (set->alive[i]->id.ix == id.ix)
            return set->alive[i];
    return NULL;
}

size_t process_set_alive(const struct process_set *set, process_id *ret, size_t most)
{
    for (size_t i = 0; i < most && i < set->n_alive; i++)
        ret[i] = set->alive[i]->id;
    return set->n_alive;
}

void process_set_release(struct process_set *set)
{
    for (size_t i = 0; i < set->n; i++)
        target_process_free(set->all[i]);
    py_scratch_free(set->scratch);
    py_code_store_free(set->codes);
    stack_cache_free(set->stacks);
}
