/* Measures the unwinder on a running process: takes COUNT snapshots of its main thread, 1 ms apart,
 * then unwinds them all, once cold and then warm.  With COUNT 1 it prints the pcs instead, to be
 * compared with a debugger's while the process is stopped.
 * Usage: unwind_pid PID [COUNT] */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/text.h"
#include "tests/support/freeze.h"
#include "unwinder/unwinder.h"

enum { WARM_ROUNDS = 50 };

struct run {
    struct unwinder *unwinder;
    struct native_stack out;
    struct frozen *frozen;
    size_t n;
};

static int64_t unwind_all(struct run *r)
{
    int64_t start = clock_now_ns();
    for (size_t i = 0; i < r->n; i++)
        unwinder_run(r->unwinder, &r->frozen[i].snapshot, &r->out);
    return clock_now_ns() - start;
}

static void report(struct run *r)
{
    int64_t cold = unwind_all(r), warm = INT64_MAX;
    const struct unwind_counters first = *unwinder_counters(r->unwinder);
    for (int i = 0; i < WARM_ROUNDS; i++) {
        int64_t ns = unwind_all(r);
        warm = ns < warm ? ns : warm;
    }
    double frames = (double)first.frames, misses = (double)first.rule_misses;
    printf("stacks %zu, frames a stack %.1f\n", r->n, frames / (double)r->n);
    printf("cold: %.1f us a new pc (%.0f of them)\n", (double)(cold - warm) / 1000 / misses,
           misses);
    printf("warm: %.0f ns a frame, %.2f us a stack\n", (double)warm / frames,
           (double)warm / 1000 / (double)r->n);
    printf("ends: done %" PRIu64 ", no CFI %" PRIu64 ", other %" PRIu64 "; guessed frames %" PRIu64
           "\n",
           first.ends[UNWIND_DONE], first.ends[UNWIND_NO_CFI],
           first.stacks - first.ends[UNWIND_DONE] - first.ends[UNWIND_NO_CFI], first.guessed);
}

int main(int argc, char **argv)
{
    int64_t pid, count = 1;
    if (argc < 2 || parse_whole_i64(argv[1], 1, INT32_MAX, &pid) < 0 ||
        (argc > 2 && parse_whole_i64(argv[2], 1, 10000, &count) < 0))
        return 2;
    struct target t = {.pid = (pid_t)pid};
    if (mem_live_open(&t.live, t.pid, NULL) < 0)
        return 1;
    t.modules = modules_new(t.pid, t.live);
    struct run r = {.unwinder = unwinder_new(t.modules), .n = (size_t)count};
    r.out.capacity = UNWIND_MAX_FRAMES;
    r.out.frames = xcalloc(r.out.capacity, sizeof *r.out.frames);
    r.frozen = xcalloc(r.n, sizeof *r.frozen);
    for (size_t i = 0; i < r.n; i++) {
        const struct timespec ms = {.tv_nsec = 1000000};
        nanosleep(&ms, NULL);
        freeze_stopped(&t, t.pid, &r.frozen[i]);
    }
    if (r.n > 1)
        report(&r);
    else
        unwind_all(&r);
    for (size_t i = 0; r.n == 1 && i < r.out.n; i++)
        printf("%#" PRIx64 "\n", r.out.frames[i].pc);
    for (size_t i = 0; i < r.n; i++)
        frozen_release(&r.frozen[i]);
    unwinder_free(r.unwinder);
    modules_free(t.modules);
    mem_free(t.live);
    free(r.out.frames);
    free(r.frozen);
    return 0;
}
