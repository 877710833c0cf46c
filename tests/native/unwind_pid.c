/* Measures the unwinder on a running process: takes COUNT snapshots of its main thread, 1 ms apart,
 * then unwinds them all, once cold and then warm, and compares what comes of sp and pc alone, as
 * they are known of a thread that was not stopped, with what comes of all registers.  With COUNT 1
 * it prints the pcs instead, to be compared with a debugger's while the process is stopped.
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

static bool same_stack(const struct native_stack *a, const struct native_stack *b)
{
    for (size_t i = 0; i < a->n && i < b->n; i++)
        if (a->frames[i].pc != b->frames[i].pc)
            return false;
    return a->n == b->n;
}

static enum frame_trust least_trust(const struct native_stack *stack)
{
    enum frame_trust least = FRAME_EXACT;
    for (size_t i = 0; i < stack->n; i++)
        least = stack->frames[i].trust > least ? stack->frames[i].trust : least;
    return least;
}

/* Another unwinder, which has seen none of the stacks. */
static void compare_without_registers(struct run *r, struct unwinder *without)
{
    static const char *const trusts[] = {"exact", "recovered", "guessed"};
    size_t same[3] = {0}, wrong[3] = {0}, unfinished = 0;
    struct native_stack out = {.capacity = r->out.capacity};
    out.frames = xcalloc(out.capacity, sizeof *out.frames);
    for (size_t i = 0; i < r->n; i++) {
        struct snapshot bare = r->frozen[i].snapshot;
        bare.regs.known = 1U << X86_RSP | 1U << X86_PC;
        unwinder_run(r->unwinder, &r->frozen[i].snapshot, &r->out);
        unwinder_run(without, &bare, &out);
        if (r->out.end != UNWIND_DONE || out.end != UNWIND_DONE)
            unfinished++;
        else
            (same_stack(&r->out, &out) ? same : wrong)[least_trust(&out)]++;
    }
    for (size_t i = 0; i < 3; i++)
        printf("from sp and pc alone, %s: %zu right, %zu wrong\n", trusts[i], same[i], wrong[i]);
    printf("not to the end: %zu\n", unfinished);
    free(out.frames);
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
    if (r.n > 1) {
        struct unwinder *without = unwinder_new(t.modules);
        report(&r);
        compare_without_registers(&r, without);
        unwinder_free(without);
    } else
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
