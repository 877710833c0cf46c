/* usage: merge_reader PID: prints the merged stack of every thread of a process, for
 * merge.py to compare:
 *   T tid merge-result native-end python-end
 *   P name line                innermost first; names as in the profile
 *   N module function          internal functions and unnamed code of the interpreter are left out
 *   - note
 * Each thread is stopped, copied, and let go; everything else works on the copy. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "pyframes/py_capture.h"
#include "pyframes/py_code.h"
#include "pyframes/py_internal.h"
#include "pyframes/py_merge.h"
#include "target/proc.h"
#include "tests/support/freeze.h"
#include "tests/support/naming.h"
#include "unwinder/unwinder.h"

enum { MAX_STATES = 8 };

struct reader {
    struct target target;
    struct py_runtime *rt;
    struct py_capture *capture;
    struct py_codes *codes;
    struct py_merger *merger;
    struct unwinder *unwinder;
    struct profile *profile;
    struct native_stack native;
    struct py_stack py;
    struct merged_stack merged;
};

static void print_native(struct reader *r, const struct native_frame *f)
{
    uint64_t addr = f->pc - f->is_call;
    struct text name = {0};
    const struct module *m = modules_find(r->target.modules, addr);
    naming_add(r->target.modules, addr, NULL, &name);
    bool ours = py_runtime_owns(r->rt, addr);
    if (!(ours && (py_is_internal(name.s) || name.s[0] == '[')))
        printf("N %s %s\n", m ? m->name : "?", name.s);
    text_release(&name);
}

static void print_python(struct reader *r, const struct py_frame *f)
{
    frame_id id;
    bool hidden = false;
    int error = py_code_resolve(r->codes, r->target.live, f, &id, &hidden);
    if (error < 0) {
        printf("X %d\n", error);
        return;
    }
    const struct frame *frame = profile_get_frame(r->profile, id);
    const struct func *func = profile_get_func(r->profile, frame->python.func);
    if (!hidden)
        printf("P %s %u\n", profile_text(r->profile, func->name), frame->python.line);
}

static void print_stack(struct reader *r, pid_t tid)
{
    printf("T %d %d %d %d\n", tid, (int)r->merged.result, (int)r->native.end, (int)r->py.end);
    for (size_t i = 0; i < r->merged.n; i++) {
        const struct merged_frame *f = &r->merged.frames[i];
        if (f->kind == MERGED_NATIVE)
            print_native(r, &r->native.frames[f->index]);
        else if (f->kind == MERGED_PYTHON)
            print_python(r, &r->py.frames[f->index]);
        else
            printf("- %s\n", f->note);
    }
}

static void read_thread(void *ctx, pid_t tid)
{
    struct reader *r = ctx;
    uint64_t states[MAX_STATES];
    bool incomplete = false;
    struct frozen frozen;
    freeze_stopped(&r->target, tid, &frozen);
    uint32_t n = py_capture_thread(r->capture, r->target.live, tid, frozen.snapshot.fs_base, states,
                                   MAX_STATES, &incomplete);
    unwinder_run(r->unwinder, &frozen.snapshot, &r->native);
    (void)py_walk(r->rt, r->target.live, states, n, &r->py);
    py_codes_check(r->codes, r->target.live, clock_now_ns(), &r->py);
    py_merge(r->merger, frozen.snapshot.mem, &r->native, &r->py, -1, &r->merged);
    print_stack(r, tid);
    frozen_release(&frozen);
}

static bool reader_find(struct reader *r, struct err *err)
{
    if (mem_live_open(&r->target.live, r->target.pid, err) < 0)
        return false;
    r->target.modules = modules_new(r->target.pid, r->target.live);
    modules_refresh(r->target.modules);
    return py_runtime_find(&r->rt, r->target.modules, r->target.live, err) == 0;
}

static void reader_open(struct reader *r)
{
    r->profile = profile_new(0);
    r->capture = py_capture_new(r->rt, NULL);
    r->codes = py_codes_new(r->rt, r->target.live, r->profile, NULL);
    r->merger = py_merger_new(r->rt);
    r->unwinder = unwinder_new(r->target.modules);
    r->native.capacity = UNWIND_MAX_FRAMES;
    r->native.frames = xcalloc(r->native.capacity, sizeof *r->native.frames);
    r->py.capacity = PY_MAX_FRAMES;
    r->py.frames = xcalloc(r->py.capacity, sizeof *r->py.frames);
    r->merged.capacity = py_merge_room(r->native.capacity, r->py.capacity);
    r->merged.frames = xcalloc(r->merged.capacity, sizeof *r->merged.frames);
}

static void reader_close(struct reader *r)
{
    free(r->native.frames);
    free(r->py.frames);
    free(r->merged.frames);
    unwinder_free(r->unwinder);
    py_merger_free(r->merger);
    py_codes_free(r->codes);
    py_capture_free(r->capture);
    profile_free(r->profile);
    py_runtime_free(r->rt);
    modules_free(r->target.modules);
    mem_free(r->target.live);
}

int main(int argc, char **argv)
{
    int64_t pid = 0;
    if (argc != 2 || parse_whole_i64(argv[1], 1, INT32_MAX, &pid) < 0)
        return 2;
    struct err err = {0};
    struct reader r = {.target = {.pid = (pid_t)pid}};
    if (!reader_find(&r, &err)) {
        printf("X %s\n", err.text);
        return 1;
    }
    reader_open(&r);
    while (py_capture_tick(r.capture, r.target.live))
        ;
    proc_each_task(r.target.pid, read_thread, &r);
    reader_close(&r);
    return 0;
}
