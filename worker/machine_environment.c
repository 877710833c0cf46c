#include "worker/machine_environment.h"

#include "base/minmax.h"

static string_id known_text(struct profile *p, const char *s)
{
    return *s ? profile_string(p, s) : (string_id){0};
}

static uint64_t since(uint64_t first, uint64_t last)
{
    return last > first ? last - first : 0;
}

static struct profile_pressure pressure(const struct host_pressure *first,
                                        const struct host_pressure *last)
{
    if (!first->known || !last->known)
        return (struct profile_pressure){0};
    return (struct profile_pressure){.known = true,
                                     .some_ns = max_i64(last->some_ns - first->some_ns, 0),
                                     .full_ns = max_i64(last->full_ns - first->full_ns, 0)};
}

struct profile_machine machine_environment_of(struct profile *p, const struct host_setup *setup,
                                              const struct host_state *first,
                                              const struct host_state *last)
{
    const struct host_paging *before = &first->paging;
    const struct host_paging *after = &last->paging;
    return (struct profile_machine){
        .known = true,
        .governor = known_text(p, setup->governor),
        .huge_pages = known_text(p, setup->huge_pages),
        .huge_pages_defrag = known_text(p, setup->huge_pages_defrag),
        .numa_nodes = setup->numa_nodes,
        .numa_balancing = setup->numa_balancing,
        .load_first = first->load,
        .load_last = last->load,
        .cpu_pressure = pressure(&first->cpu_pressure, &last->cpu_pressure),
        .memory_pressure = pressure(&first->memory_pressure, &last->memory_pressure),
        .starts_known = first->starts_known && last->starts_known,
        .starts = since(first->starts, last->starts),
        .swap_known = before->swap_known && after->swap_known,
        .numa_known = before->numa_known && after->numa_known,
        .swap_ins = since(before->swap_ins, after->swap_ins),
        .swap_outs = since(before->swap_outs, after->swap_outs),
        .numa_marked = since(before->numa_marked, after->numa_marked),
        .numa_faults = since(before->numa_faults, after->numa_faults),
        .numa_faults_local = since(before->numa_faults_local, after->numa_faults_local),
        .numa_moved = since(before->numa_moved, after->numa_moved),
    };
}

struct profile_machine machine_environment(struct profile *p, const struct host_state *first,
                                           const struct host_state *last)
{
    struct host_setup setup;
    host_setup_read(&setup);
    return machine_environment_of(p, &setup, first, last);
}
