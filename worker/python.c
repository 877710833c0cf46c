/* The readers of one Python runtime of a process, and the hook by which the sampler reads its
 * frames. */
#include <stdlib.h>

#include "base/alloc.h"
#include "pyframes/py_capture.h"
#include "worker/target_process.h"

static bool hook_tick(void *ctx, struct mem *live)
{
    return py_capture_tick(((struct python *)ctx)->capture, live);
}

static uint32_t hook_capture(void *ctx, struct mem *recording, pid_t ns_tid, uint64_t fs_base,
                             uint64_t *hook_words, bool *ret_incomplete)
{
    struct python *python = ctx;
    return py_capture_thread(python->capture, recording, ns_tid, fs_base, hook_words,
                             SNAPSHOT_HOOK_WORDS, ret_incomplete);
}

static void hook_undo(void *ctx)
{
    py_capture_undo(((struct python *)ctx)->capture);
}

static bool hook_is_python(void *ctx, pid_t ns_tid)
{
    uint64_t pthread;
    return py_capture_knows(((struct python *)ctx)->capture, ns_tid, &pthread);
}

static bool hook_name(void *ctx, pid_t ns_tid, struct text *ret)
{
    struct python *python = ctx;
    uint64_t pthread;
    return py_capture_knows(python->capture, ns_tid, &pthread) &&
           py_thread_names_find(python->filter_names, pthread, ret) == 0;
}

struct python *python_new(const struct target_process *s, struct py_runtime *runtime)
{
    struct python *python = xcalloc(1, sizeof *python);
    python->runtime = runtime;
    python->capture = py_capture_new(runtime, s->scratch);
    if (s->want_locals)
        py_capture_locals(python->capture, s->want_all_locals);
    python->codes = py_codes_new(runtime, s->live, s->profile, s->codes);
    python->merger = py_merger_new(runtime);
    python->gc = py_gc_new(runtime, s->live);
    python->names = py_thread_names_new(runtime, s->live);
    python->filter_names = py_thread_names_new(runtime, s->live);
    python->hook = (struct capture_hook){python,    hook_tick,      hook_capture,
                                         hook_undo, hook_is_python, hook_name};
    return python;
}

struct python *python_free(struct python *python)
{
    if (!python)
        return NULL;
    python_free(python->older);
    py_gc_free(python->gc);
    py_thread_names_free(python->names);
    py_thread_names_free(python->filter_names);
    py_merger_free(python->merger);
    py_codes_free(python->codes);
    py_capture_free(python->capture);
    py_tasks_free(python->tasks);
    py_runtime_free(python->runtime);
    free(python);
    return NULL;
}
