#include "worker/facts.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/clock.h"
#include "base/text.h"
#include "target/proc.h"

/* Names, or their beginnings where a '*' ends them.  None may hold a secret. */
static const char *const kept[] = {
    "OMP_*",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "PYTHON_GIL",
    "PYTHON_JIT",
    "PYTHONMALLOC",
    "PYTHONOPTIMIZE",
    "PYTHONDEVMODE",
    "PYTHONASYNCIODEBUG",
    "MALLOC_ARENA_MAX",
    "LD_PRELOAD",
    "CUDA_VISIBLE_DEVICES",
    "CUDA_LAUNCH_BLOCKING",
    "POLARS_MAX_THREADS",
    "RANK",
    "LOCAL_RANK",
    "WORLD_SIZE",
};

void facts_of_host(struct profile *p)
{
    struct utsname name;
    char text[CLOCK_UTC_BYTES];
    clock_utc_text(text);
    profile_set_text(p, "started", text);
    if (uname(&name) != 0)
        return;
    profile_set_text(p, "host", name.nodename);
    profile_set_text(p, "kernel", name.release);
}

static bool is_kept(const char *variable)
{
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        size_t len = strlen(kept[i]);
        if (kept[i][len - 1] == '*' ? strncmp(variable, kept[i], len - 1) == 0
                                    : strncmp(variable, kept[i], len) == 0 && variable[len] == '=')
            return true;
    }
    return false;
}

bool facts_environment(struct profile *p, pid_t pid, string_id *ret)
{
    size_t len;
    char *variables = proc_read_environment(pid, &len);
    if (!variables)
        return false;
    struct text all = {0};
    for (const char *s = variables; s < variables + len; s += strlen(s) + 1)
        if (is_kept(s))
            text_addf(&all, "%s%s", all.len ? " " : "", s);
    *ret = all.len ? profile_string(p, all.s) : (string_id){0};
    text_release(&all);
    free(variables);
    return true;
}

void facts_of_unwinder(struct profile *p, const struct unwind_counters *c, facts_put put)
{
    static const char *const ends[UNWIND_END_COUNT] = {
        [UNWIND_DONE] = "unwind_done",
        [UNWIND_STACK_CUT] = "unwind_stack_cut",
        [UNWIND_NEEDS_REGS] = "unwind_needs_registers",
        [UNWIND_NO_CFI] = "unwind_no_cfi",
        [UNWIND_BAD_MEMORY] = "unwind_bad_memory",
        [UNWIND_NO_PROGRESS] = "unwind_no_progress",
        [UNWIND_TOO_DEEP] = "unwind_too_deep",
    };
    put(p, "native_frames", (double)c->frames);
    put(p, "native_frames_kept", (double)c->joined);
    put(p, "rule_hits", (double)c->rule_hits);
    put(p, "rule_misses", (double)c->rule_misses);
    put(p, "unwind_fallbacks", (double)c->fallbacks);
    put(p, "unwind_guessed", (double)c->guessed);
    put(p, "unwind_recovered", (double)c->recovered);
    put(p, "unwind_resumed", (double)c->resumed);
    put(p, "unwind_other_stack", (double)c->other_stack);
    for (int i = 0; i < UNWIND_END_COUNT; i++)
        put(p, ends[i], (double)c->ends[i]);
}

/* "<32 us: 12, <64 us: 890" */
static void set_holds(struct profile *p, const struct sampler_counters *c)
{
    struct text text = {0};
    for (int i = 0; i < HOLD_OCTAVES; i++)
        if (counters_holds_in(c, i))
            text_addf(&text, "%s<%llu us: %llu", text.len ? ", " : "", 1ULL << i,
                      (unsigned long long)counters_holds_in(c, i));
    profile_set_text(p, "holds", text.len ? text.s : "none");
    text_release(&text);
}

void facts_of_sampler(struct profile *p, const struct sampler_counters *c)
{
    set_holds(p, c);
    for (int i = 0; i < SAMPLER_COUNTER_COUNT; i++)
        profile_set_number(p, sampler_counter_name((enum sampler_counter)i),
                           (double)counters_get(c, (enum sampler_counter)i));
}

void facts_of_modules(struct profile *p, const struct modules *modules, facts_put put)
{
    const struct module_counters *c = modules_counters(modules);
    for (int i = 0; i < MODULE_ORIGIN_COUNT; i++)
        put(p, module_origin_name((enum module_origin)i), (double)c->origins[i]);
    put(p, "images_cut", (double)c->images.cut);
    put(p, "mappings_cut", modules_maps(modules)->cut);
}
