#include "worker/names.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"

/* A go takes 0.1 to 0.3 s of CPU: no more than some hundredth of the time, and short recordings have none. */
static const int64_t FIRST_NS = (int64_t)15 * NS_PER_S;
enum { NEXT_AFTER = 2 }; /* times as long */

static struct symbolizer **symbolizers_of(struct subject *const *subjects, size_t count)
{
    struct symbolizer **all = xmalloc((count + 1) * sizeof(struct symbolizer *));
    for (size_t i = 0; i < count; i++)
        all[i] = subjects[i]->symbolizer;
    return all;
}

void names_end(struct names *n)
{
    n->frames += naming_go_end(n->go);
    n->go = NULL;
}

void names_abandon(struct names *n)
{
    n->go = NULL;
}

void names_ahead(struct names *n, struct subject *const *subjects, size_t count, int64_t running_ns)
{
    if (n->go && naming_go_is_done(n->go))
        names_end(n);
    if (n->go || running_ns < (n->next_ns ? n->next_ns : FIRST_NS))
        return;
    struct symbolizer **all = symbolizers_of(subjects, count);
    n->go = symbolizers_start(all, count);
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
static void hint_at_names(const struct subject *s)
{
    size_t n = symbolizer_nameless(s->symbolizer, modules_maps(s->modules));
    if (n > 1)
        log_warn("jit names", "code that %d made at run time has no names (%zu places): %s.",
                 s->pid, n, way_to_names(s->modules));
}

void names_finish(struct names *n, struct subject *const *subjects, size_t count,
                  bool (*on_progress)(void *ctx, double share), void *ctx)
{
    names_end(n);
    struct symbolizer **all = symbolizers_of(subjects, count);
    symbolizers_run(all, count, on_progress, ctx);
    free(all);
    for (size_t i = 0; i < count; i++)
        hint_at_names(subjects[i]);
}
