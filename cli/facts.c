#include "cli/facts.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "base/alloc.h"
#include "base/text.h"
#include "target/proc.h"

enum { ENVIRON_BYTES = 256 * 1024 };

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
    char text[32] = "";
    time_t now = time(NULL);
    struct tm utc;
    if (gmtime_r(&now, &utc))
        (void)strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
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

void facts_of_environment(struct profile *p, pid_t pid, const char *key)
{
    char *variables = xmalloc(ENVIRON_BYTES);
    struct text all = {0};
    ssize_t len = proc_read_text(pid, 0, "environ", variables, ENVIRON_BYTES);
    for (const char *s = variables; len > 0 && s < variables + len; s += strlen(s) + 1)
        if (is_kept(s))
            text_addf(&all, "%s%s", all.len ? " " : "", s);
    if (all.len)
        profile_set_text(p, key, all.s);
    text_release(&all);
    free(variables);
}
