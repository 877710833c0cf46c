#include "worker/naming_schedule.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"

/* A job takes 0.1 to 0.3 s of CPU: no more than some hundredth of the time, and short recordings
 * have none. */
static const int64_t FIRST_NS = (int64_t)15 * NS_PER_S;
enum { NEXT_AFTER = 2 }; /* times as long */

static struct symbolizer **symbolizers_of(struct target_process *const *processes, size_t count)
{
    struct symbolizer **all = xmalloc((count + 1) * sizeof(struct symbolizer *));
    for (size_t i = 0; i < count; i++)
        all[i] = processes[i]->symbolizer;
    return all;
}

static bool pause_sampler(void *sampler)
{
    return sampler_fork_begin(sampler);
}

static void resume_sampler(void *sampler)
{
    sampler_fork_end(sampler);
}

static struct naming_quiet quiet_of(const struct naming_schedule *n)
{
    return (struct naming_quiet){pause_sampler, resume_sampler, n->sampler};
}

static void end_job(struct naming_schedule *n)
{
    n->frames += naming_job_end(n->job);
    n->job = NULL;
}

void naming_schedule_release(struct naming_schedule *n)
{
    end_job(n);
    name_faults_release(&n->faults);
}

void naming_schedule_ahead(struct naming_schedule *n, struct target_process *const *processes,
                           size_t count, int64_t running_ns)
{
    if (n->job && naming_job_is_done(n->job))
        end_job(n);
    if (n->job || running_ns < (n->next_ns ? n->next_ns : FIRST_NS))
        return;
    struct symbolizer **all = symbolizers_of(processes, count);
    n->job = symbolizers_start(all, count, quiet_of(n), &n->faults);
    n->next_ns = NEXT_AFTER * running_ns;
    free(all);
}

/* Is NAME the library WANTED, of any version? */
static bool is_library(const char *name, const char *wanted)
{
    const char *rest = name + strlen(wanted);
    return str_starts(name, wanted) && (*rest == '\0' || *rest == '.');
}

/* How to get names of code that is made at run time, by the library that makes it. */
static const char *way_to_names(struct modules *modules)
{
    static const struct {
        const char *library, *way;
    } ways[] = {
        {"libjvm.so", "start java with -XX:+PreserveFramePointer, and load a perf map agent or "
                      "(JDK 17) run jcmd PID Compiler.perfmap while wallspy records"},
        {"node", "start node with --perf-basic-prof"},
        {"libnode.so", "start node with --perf-basic-prof"},
        {"libcoreclr.so", "start it with DOTNET_PerfMapEnabled=1"},
    };
    for (uint32_t id = 0; id < modules_count(modules); id++)
        for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
            if (is_library(modules_get(modules, id)->name, ways[i].library))
                return ways[i].way;
    return "have its compiler write /tmp/perf-PID.map";
}

/* One stray address is no program. */
static void hint_at_names(const struct target_process *s)
{
    size_t n = symbolizer_nameless(s->symbolizer, modules_maps(s->modules));
    if (n > 1)
        log_warn("jit names", "code that %d made at run time has no names (%zu places): %s.",
                 s->pid, n, way_to_names(s->modules));
}

/* Frames of code made at run time, of all processes, that no name was looked for again. */
static double unqueued(struct target_process *const *processes, size_t count)
{
    uint64_t n = 0;
    for (size_t i = 0; i < count; i++)
        n += symbolizer_unqueued(processes[i]->symbolizer);
    return (double)n;
}

static void report(const struct naming_schedule *n, struct profile *p)
{
    profile_set_number(p, METRIC_FRAMES_NAMED_AHEAD, (double)n->frames);
    profile_set_number(p, METRIC_FRAMES_UNNAMED, (double)n->faults.frames);
    if (!n->faults.frames)
        return;
    struct text which = {0};
    text_add_tame(&which, n->faults.which.s, n->faults.which.len);
    if (n->faults.n > 1)
        text_addf(&which, " and %zu more", n->faults.n - 1);
    profile_set_text(p, "naming_failed", which.s);
    text_release(&which);
}

void naming_schedule_finish(struct naming_schedule *n, struct profile *profile,
                            struct target_process *const *processes, size_t count,
                            bool (*on_progress)(void *ctx, double share), void *ctx)
{
    end_job(n);
    struct symbolizer **all = symbolizers_of(processes, count);
    symbolizers_run(all, count, quiet_of(n), &n->faults, on_progress, ctx);
    free(all);
    for (size_t i = 0; i < count; i++)
        hint_at_names(processes[i]);
    report(n, profile);
    profile_set_number(profile, METRIC_JIT_FRAMES_UNQUEUED, unqueued(processes, count));
}
