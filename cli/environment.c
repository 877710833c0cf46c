#include "cli/environment.h"

#include <string.h>

#include "base/clock.h"
#include "summary/openmp.h"

enum { MOST_PROCESSES = 16, INDENT = 2, DEEPER = 4, MOST_COLUMNS = 400 };

/* A line of facts with commas between them. */
struct facts {
    struct text text;
    int width;
    struct text *out;
};

static void next(struct facts *f)
{
    if (f->text.len)
        text_add(&f->text, ", ");
}

static void add_named(struct facts *f, const char *name, const char *value)
{
    if (!*value)
        return;
    next(f);
    text_addf(&f->text, "%s%s", name, *name ? " " : "");
    text_add_tame(&f->text, value, strlen(value));
}

static void end_line(struct facts *f, size_t indent)
{
    struct text cut = {0};
    if (f->text.len) {
        text_add_cut(&cut, f->text.s, f->text.len, MOST_COLUMNS);
        text_add_line(f->out, cut.s, indent, indent + INDENT, (size_t)f->width);
    }
    text_clear(&f->text);
    text_release(&cut);
}

static double percent(int64_t part_ns, int64_t whole_ns)
{
    return whole_ns > 0 ? (double)part_ns * 100 / (double)whole_ns : 0;
}

/* ---- the machine ---- */

static void add_hardware(struct facts *f, const struct profile *p, const struct profile_host *h)
{
    add_named(f, "", profile_metadata_text(p, "host"));
    add_named(f, "Linux", profile_metadata_text(p, "kernel"));
    next(f);
    text_addf(&f->text, "%u CPU%s", h->cpus_online, h->cpus_online == 1 ? "" : "s");
    add_named(f, "governor", profile_text(p, h->machine.governor));
    if (h->machine.load_first >= 0 && h->machine.load_last >= 0)
        text_addf(&f->text, ", load %.1f, at the end %.1f", h->machine.load_first,
                  h->machine.load_last);
    end_line(f, INDENT);
}

static void add_memory(struct facts *f, const struct profile *p, const struct profile_machine *m)
{
    add_named(f, "huge pages", profile_text(p, m->huge_pages));
    add_named(f, "defrag", profile_text(p, m->huge_pages_defrag));
    if (m->numa_nodes) {
        next(f);
        text_addf(&f->text, "%u NUMA node%s", m->numa_nodes, m->numa_nodes == 1 ? "" : "s");
    }
    if (m->numa_balancing >= 0)
        add_named(f, "NUMA balancing", m->numa_balancing ? "on" : "off");
    if (m->numa_known && m->numa_faults)
        text_addf(&f->text, ": %llu faults, %llu pages moved", (unsigned long long)m->numa_faults,
                  (unsigned long long)m->numa_moved);
    end_line(f, INDENT);
}

static void add_pressure(struct facts *f, const char *what, const struct profile_pressure *p,
                         int64_t over_ns)
{
    if (!p->known)
        return;
    next(f);
    text_addf(&f->text, "tasks waited for %s %.1f%% of the time", what,
              percent(p->some_ns, over_ns));
    if (p->full_ns)
        text_addf(&f->text, " (all of them %.1f%%)", percent(p->full_ns, over_ns));
}

static void add_shortage(struct facts *f, const struct profile_host *h)
{
    const struct profile_machine *m = &h->machine;
    add_pressure(f, "a CPU", &m->cpu_pressure, h->over_ns);
    add_pressure(f, "memory", &m->memory_pressure, h->over_ns);
    if (m->swap_known) {
        next(f);
        text_addf(&f->text, "%llu pages swapped in, %llu out", (unsigned long long)m->swap_ins,
                  (unsigned long long)m->swap_outs);
    }
    end_line(f, INDENT);
}

/* ---- the processes ---- */

static void add_limits(struct facts *f, const struct profile_cpu_limits *l)
{
    if (!l->known)
        return;
    if (l->cpus_main)
        text_addf(&f->text, ", may use %u CPU%s", l->cpus_main, l->cpus_main == 1 ? "" : "s");
    if (l->threads_pinned)
        text_addf(&f->text, " (%u threads others)", l->threads_pinned);
    if (l->quota_cpus > 0)
        text_addf(&f->text, ", a quota of %g CPU%s", l->quota_cpus, l->quota_cpus > 1 ? "s" : "");
    if (l->nice)
        text_addf(&f->text, ", nice %d", l->nice);
}

/* ", 60 of 63 MB of its cgroup's memory, a limit reached 310 times" */
static void add_memory_limit(struct facts *f, const struct profile_memory_limit *l)
{
    if (!l->limit_bytes)
        return;
    text_addf(&f->text, ", %.0f of %.0f MB of its cgroup's memory", (double)l->used_bytes / 1e6,
              (double)l->limit_bytes / 1e6);
    if (l->reached)
        text_addf(&f->text, ", a limit reached %llu times", (unsigned long long)l->reached);
}

static void add_libraries(struct facts *f, const struct profile *p,
                          const struct profile_process *process, const struct openmp_pools *pools,
                          process_id id)
{
    add_named(f, "allocator", profile_text(p, process->allocator));
    add_named(f, "OpenMP", profile_text(p, process->openmp));
    for (size_t i = 0; i < pools->n; i++) {
        const struct openmp_pool *pool = &pools->items[i];
        if (pool->process.ix != id.ix)
            continue;
        next(f);
        text_addf(&f->text, "%zu thread%s of ", pool->threads, pool->threads == 1 ? "" : "s");
        text_add_tame(&f->text, pool->library, strlen(pool->library));
    }
    if (process->swapped_known && process->swapped_last > 0)
        text_addf(&f->text, ", %.1f MB swapped out", (double)process->swapped_last / 1e6);
}

static void add_process(struct facts *f, const struct profile *p, process_id id,
                        const struct openmp_pools *pools)
{
    const struct profile_process *process = profile_see_process(p, id);
    const char *comm = profile_text(p, process->comm);
    const char *variables = profile_text(p, process->environment);
    text_addf(&f->text, "%d ", process->pid);
    text_add_tame(&f->text, comm, strlen(comm));
    add_limits(f, &process->cpu_limits);
    add_memory_limit(f, &process->memory_limit);
    add_libraries(f, p, process, pools, id);
    end_line(f, INDENT);
    text_add_tame(&f->text, variables, strlen(variables));
    end_line(f, DEEPER);
}

void environment_write(const struct groups *g, int width, struct text *out)
{
    const struct profile_host *h = profile_see_host(g->p);
    struct facts facts = {.width = width, .out = out};
    struct openmp_pools pools;
    uint32_t n = profile_process_count(g->p);
    if (!h->machine.known)
        return;
    openmp_pools_init(&pools, &g->summaries, g->v);
    text_add(out, "\n  environment\n");
    add_hardware(&facts, g->p, h);
    add_memory(&facts, g->p, &h->machine);
    add_shortage(&facts, h);
    for (uint32_t i = 1; i <= n && i <= MOST_PROCESSES; i++)
        add_process(&facts, g->p, (process_id){i}, &pools);
    if (n > MOST_PROCESSES)
        text_addf(out, "  and %u more processes\n", n - MOST_PROCESSES);
    text_release(&facts.text);
    openmp_pools_release(&pools);
}
