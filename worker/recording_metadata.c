#include "worker/recording_metadata.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/clock.h"
#include "base/text.h"
#include "target/elf_guard.h"
#include "target/proc.h"

/* Names, or their beginnings where a '*' ends them.  None may hold a secret. */
static const char *const kept[] = {
    "OMP_*",
    "GOMP_CPU_AFFINITY",
    "GOMP_SPINCOUNT",
    "KMP_AFFINITY",
    "KMP_BLOCKTIME",
    "KMP_HW_SUBSET",
    "MKL_DYNAMIC",
    "MKL_NUM_THREADS",
    "MKL_THREADING_LAYER",
    "OPENBLAS_NUM_THREADS",
    "OPENBLAS_THREAD_TIMEOUT",
    "NUMBA_NUM_THREADS",
    "NUMBA_THREADING_LAYER",
    "NUMEXPR_NUM_THREADS",
    "NUMEXPR_MAX_THREADS",
    "BLIS_NUM_THREADS",
    "RAYON_NUM_THREADS",
    "TOKIO_WORKER_THREADS",
    "TOKENIZERS_PARALLELISM",
    "GOMAXPROCS",
    "PYTHON_GIL",
    "PYTHON_JIT",
    "PYTHONMALLOC",
    "PYTHONOPTIMIZE",
    "PYTHONDEVMODE",
    "PYTHONASYNCIODEBUG",
    "MALLOC_ARENA_MAX",
    "MALLOC_TOP_PAD_",
    "MALLOC_TRIM_THRESHOLD_",
    "MALLOC_MMAP_MAX_",
    "MALLOC_MMAP_THRESHOLD_",
    "MALLOC_CONF",
    "GLIBC_TUNABLES",
    "MIMALLOC_PURGE_DELAY",
    "TCMALLOC_RELEASE_RATE",
    "LD_PRELOAD",
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_MAX_CONNECTIONS",
    "CUDA_DEVICE_ORDER",
    "CUDA_LAUNCH_BLOCKING",
    "CUDA_MODULE_LOADING",
    "PYTORCH_CUDA_ALLOC_CONF",
    "NCCL_ALGO",
    "NCCL_DEBUG",
    "NCCL_IB_DISABLE",
    "NCCL_P2P_DISABLE",
    "NCCL_PROTO",
    "NCCL_SHM_DISABLE",
    "POLARS_MAX_THREADS",
};
static const char *const ranks[] = {
    "RANK",          "LOCAL_RANK", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK",
    "PMIX_RANK",     "PMI_RANK",   "MPI_LOCALRANKID",      "SLURM_PROCID",
    "SLURM_LOCALID", "WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
    "SLURM_NTASKS"};

void metadata_of_host(struct profile *p)
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

bool metadata_is_rank(const char *string)
{
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++)
        if (strncmp(string, ranks[i], strlen(ranks[i])) == 0 && string[strlen(ranks[i])] == '=')
            return true;
    return false;
}

static bool is_kept(const char *variable)
{
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        size_t len = strlen(kept[i]);
        if (kept[i][len - 1] == '*' ? strncmp(variable, kept[i], len - 1) == 0
                                    : strncmp(variable, kept[i], len) == 0 && variable[len] == '=')
            return true;
    }
    return metadata_is_rank(variable);
}

void metadata_add_variable(struct text *environment, const char *variable)
{
    text_add(environment, environment->len ? " " : "");
    for (const char *s = variable; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c <= ' ' || c == 0x7f || c == '\\')
            text_addf(environment, "\\x%02x", c);
        else
            text_add_bytes(environment, s, 1);
    }
}

bool metadata_environment(struct profile *p, pid_t pid, string_id *ret)
{
    size_t len;
    char *variables = proc_read_environment(pid, &len);
    if (!variables)
        return false;
    struct text all = {0};
    for (const char *s = variables; s < variables + len; s += strlen(s) + 1)
        if (is_kept(s))
            metadata_add_variable(&all, s);
    *ret = all.len ? profile_string(p, all.s) : (string_id){0};
    text_release(&all);
    free(variables);
    return true;
}

void metadata_of_unwinder(struct profile *p, const struct unwind_counters *c, metadata_put put)
{
    static const enum metric ends[UNWIND_END_COUNT] = {
        [UNWIND_DONE] = METRIC_UNWIND_DONE,
        [UNWIND_STACK_CUT] = METRIC_UNWIND_STACK_CUT,
        [UNWIND_NEEDS_REGS] = METRIC_UNWIND_NEEDS_REGISTERS,
        [UNWIND_NO_CFI] = METRIC_UNWIND_NO_CFI,
        [UNWIND_BAD_MEMORY] = METRIC_UNWIND_BAD_MEMORY,
        [UNWIND_NO_PROGRESS] = METRIC_UNWIND_NO_PROGRESS,
        [UNWIND_TOO_DEEP] = METRIC_UNWIND_TOO_DEEP,
    };
    put(p, METRIC_NATIVE_FRAMES, (double)c->frames);
    put(p, METRIC_NATIVE_FRAMES_KEPT, (double)c->joined);
    put(p, METRIC_RULE_HITS, (double)c->rule_hits);
    put(p, METRIC_RULE_MISSES, (double)c->rule_misses);
    put(p, METRIC_RULES_SHARED, (double)c->rules_shared);
    put(p, METRIC_UNWIND_FALLBACKS, (double)c->fallbacks);
    put(p, METRIC_UNWIND_GUESSED, (double)c->guessed);
    put(p, METRIC_UNWIND_RECOVERED, (double)c->recovered);
    put(p, METRIC_UNWIND_RESUMED, (double)c->resumed);
    put(p, METRIC_UNWIND_OTHER_STACK, (double)c->other_stack);
    for (int i = 0; i < UNWIND_END_COUNT; i++)
        put(p, ends[i], (double)c->ends[i]);
}

/* The sampler knows no profile, so its counters become metrics here. */
static const enum metric metric_of_counter[SAMPLER_COUNTER_COUNT] = {
    [COUNT_TICKS] = METRIC_TICKS,
    [COUNT_LATE_TICKS] = METRIC_LATE_TICKS,
    [COUNT_TICK_DELAY_NS] = METRIC_TICK_DELAY_NS,
    [COUNT_REPEATS] = METRIC_REPEATS,
    [COUNT_DORMANT_PROVEN] = METRIC_SLEEPERS_PROVEN,
    [COUNT_NO_STOP_CAPTURES] = METRIC_NO_STOP_CAPTURES,
    [COUNT_NO_STOP_REJECTS] = METRIC_NO_STOP_REJECTS,
    [COUNT_LONG_WRITES] = METRIC_LONG_WRITES,
    [COUNT_NO_STOP_GIVEN_UP] = METRIC_NO_STOP_GIVEN_UP,
    [COUNT_STOP_REQUESTS] = METRIC_STOP_REQUESTS,
    [COUNT_STOPS] = METRIC_STOPS,
    [COUNT_PENDING_TICKS] = METRIC_PENDING_TICKS,
    [COUNT_WAITS_ASKED] = METRIC_WAITS_ASKED,
    [COUNT_WAITS_UNASKED] = METRIC_WAITS_UNASKED,
    [COUNT_REPAIRED_CALLS] = METRIC_REPAIRED_CALLS,
    [COUNT_PERTURBED_CALLS] = METRIC_PERTURBED_CALLS,
    [COUNT_CUT_CALLS] = METRIC_CUT_CALLS,
    [COUNT_SIGNALS_IN_HOLDS] = METRIC_SIGNALS_IN_HOLDS,
    [COUNT_SIGNALS_AVOIDED] = METRIC_SIGNALS_AVOIDED,
    [COUNT_RENEWED_CALLS] = METRIC_RENEWED_CALLS,
    [COUNT_UNDONE_CALLS] = METRIC_UNDONE_CALLS,
    [COUNT_SUPERVISED_CALLS] = METRIC_SUPERVISED_CALLS,
    [COUNT_SUPERVISED] = METRIC_SUPERVISED,
    [COUNT_BACKED_OFF] = METRIC_BACKED_OFF,
    [COUNT_EXECVE_WAITS] = METRIC_EXECVE_WAITS,
    [COUNT_MEMORY_LOCKED] = METRIC_MEMORY_LOCKED,
    [COUNT_LOCKS_UNWATCHED] = METRIC_LOCKS_UNWATCHED,
    [COUNT_LOCKS_PUT_OFF] = METRIC_LOCKS_PUT_OFF,
    [COUNT_LEFT_ALONE] = METRIC_LEFT_ALONE,
    [COUNT_LEFT_ALONE_NS] = METRIC_LEFT_ALONE_NS,
    [COUNT_RING_FULL] = METRIC_RING_FULL,
    [COUNT_REFUSED] = METRIC_REFUSED,
    [COUNT_STUCK] = METRIC_STUCK,
    [COUNT_SLOW_SYSCALL_READS] = METRIC_SLOW_SYSCALL_READS,
    [COUNT_SYSCALL_READS_SKIPPED] = METRIC_SYSCALL_READS_SKIPPED,
    [COUNT_REGISTERS_WANTED] = METRIC_REGISTERS_WANTED,
    [COUNT_RATE_LOWERED] = METRIC_RATE_LOWERED,
    [COUNT_RATE_LOWERED_FOR_QUOTA] = METRIC_RATE_LOWERED_FOR_QUOTA,
    [COUNT_RATE_LOWERED_FOR_CPU] = METRIC_RATE_LOWERED_FOR_CPU,
    [COUNT_CPU_NS] = METRIC_SAMPLER_CPU_NS,
    [COUNT_PRIORITY_GIVEN_UP] = METRIC_PRIORITY_GIVEN_UP,
    [COUNT_FDS_EVICTED] = METRIC_FDS_EVICTED,
    [COUNT_READS] = METRIC_MEMORY_READS,
    [COUNT_HELD_NS] = METRIC_HELD_NS,
    [COUNT_HELD_MAX_NS] = METRIC_HELD_MAX_NS,
    [COUNT_REPAIR_MAX_NS] = METRIC_REPAIR_MAX_NS,
    [COUNT_NEVER_SAMPLED] = METRIC_THREADS_NOT_MET,
    [COUNT_STACKS_UNKNOWN] = METRIC_STACK_ENDS_UNKNOWN,
    [COUNT_UNREADABLE] = METRIC_UNREADABLE,
};

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

static void note_threads_asked(struct profile *p, const struct thread_filter *filter)
{
    struct text words = {0};
    for (size_t i = 0; i < filter->n; i++)
        text_addf(&words, "%s%s", i ? "," : "", filter->words[i]);
    if (words.s)
        profile_set_text(p, "threads_asked", words.s);
    text_release(&words);
}

void metadata_of_priority(struct profile *p, const struct sampler *s, const struct apart *apart)
{
    static const char *const kinds[] = {
        [PRIORITY_USUAL] = "usual",
        [PRIORITY_RAISED] = "raised",
        [PRIORITY_GIVEN_UP] = "given up",
        [PRIORITY_USERS] = "as given",
    };
    static const char *const groups[] = {
        [SCHED_OTHER_CGROUP] = "another cgroup",
        [SCHED_OTHER_SESSION] = "another session",
    };
    int nice;
    profile_set_text(p, "priority", kinds[sampler_priority(s, &nice)]);
    profile_set_number(p, METRIC_SAMPLER_NICE, nice);
    profile_set_number(p, METRIC_PROCESSES_APART, (double)apart->n);
    if (apart->n)
        profile_set_text(p, "priority_apart", groups[apart->first]);
}

void metadata_of_rate(struct profile *p, const struct sampler_config *config,
                      const struct sampler *s, double seconds)
{
    const struct sampler_counters *c = sampler_counters(s);
    note_threads_asked(p, &config->filter);
    profile_set_number(p, METRIC_RATE_ASKED_HZ, config->rate_hz);
    profile_set_number(p, METRIC_RATE_HZ,
                       seconds > 0 ? (double)counters_get(c, COUNT_TICKS) / seconds : 0);
    profile_set_number(p, METRIC_MAX_OVERHEAD, config->max_held);
    profile_set_number(p, METRIC_OVERHEAD_5S, sampler_worst_lost(s));
    profile_set_number(p, METRIC_HELD_SHARE_5S, sampler_worst_held(s));
    profile_set_number(p, METRIC_HELD_P50_NS, (double)counters_hold_quantile_ns(c, 0.5));
    profile_set_number(p, METRIC_HELD_P99_NS, (double)counters_hold_quantile_ns(c, 0.99));
}

void metadata_of_sampler(struct profile *p, const struct sampler_counters *c)
{
    set_holds(p, c);
    for (int i = 0; i < SAMPLER_COUNTER_COUNT; i++)
        profile_set_number(p, metric_of_counter[i],
                           (double)counters_get(c, (enum sampler_counter)i));
}

void metadata_of_files(struct profile *p, const struct elf_store *files)
{
    const struct elf_store_counters *c = elf_store_counters(files);
    profile_set_number(p, METRIC_ELF_FILES, (double)c->files);
    profile_set_number(p, METRIC_ELF_FILES_SHARED, (double)c->shared);
    profile_set_number(p, METRIC_ELF_PAGES_REPLACED, (double)elf_guard_pages());
}

void metadata_of_modules(struct profile *p, const struct modules *modules, metadata_put put)
{
    static const enum metric origins[MODULE_ORIGIN_COUNT] = {
        [MODULE_PATH] = METRIC_MODULES_BY_PATH,
        [MODULE_EXE] = METRIC_MODULES_BY_EXE,
        [MODULE_MAP_FILES] = METRIC_MODULES_BY_MAP_FILES,
        [MODULE_MEMORY] = METRIC_MODULES_FROM_MEMORY,
        [MODULE_JIT] = METRIC_MODULES_BY_JIT,
        [MODULE_NONE] = METRIC_MODULES_WITHOUT_FILE,
    };
    const struct module_counters *c = modules_counters(modules);
    for (int i = 0; i < MODULE_ORIGIN_COUNT; i++)
        put(p, origins[i], (double)c->origins[i]);
    put(p, METRIC_IMAGES_CUT, (double)c->images.cut);
    put(p, METRIC_MAPPINGS_CUT, modules_maps(modules)->cut);
}
