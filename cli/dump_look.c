#include "cli/dump_look.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "target/proc.h"

/* A thread that was let go needs a CPU before it is in its call again. */
enum { SETTLE_NS = 2 * NS_PER_MS, SETTLE_TIMES = 10, FIRST_CHECK_NS = 50 * NS_PER_MS };

static void wait_ns(int64_t ns)
{
    if (ns > 0)
        (void)nanosleep(&(struct timespec){.tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S},
                        NULL);
}

/* Returns 0 or a negative errno. */
static int read_counts(const struct dumped *t, struct schedstat *ret)
{
    char text[256];
    ssize_t len = proc_read_text(t->pid, t->tid, "schedstat", text, sizeof text);
    if (len < 0)
        return (int)len;
    return schedstat_parse(text, (size_t)len, ret);
}

/* 1: in a call, 0: not, or a negative errno. */
static int read_call(const struct dumped *t, struct syscall_state *ret)
{
    char text[256];
    ssize_t len = proc_read_text(t->pid, t->tid, "syscall", text, sizeof text);
    if (len < 0)
        return (int)len;
    int error = syscall_state_parse(text, (size_t)len, ret);
    return error < 0 ? error : ret->view == SYSCALL_BLOCKED;
}

static bool is_same_call(const struct dumped *t, const struct syscall_state *call)
{
    return call->number == t->syscall &&
           (call->number < 0 || memcmp(call->args, t->args, sizeof t->args) == 0);
}

/* Reads the counts of T, which was blocked, once it is in a call again.  False: not yet. */
static bool settle(struct dumped *t)
{
    struct syscall_state call;
    int r = t->state == THREAD_BLOCKED ? read_call(t, &call) : -EPERM;
    if (r == 0)
        return false;
    t->counted = read_counts(t, &t->counts) == 0 && t->counts.runs > 0;
    t->ran = r > 0 && !is_same_call(t, &call) && t->syscall != -2;
    return true;
}

void dump_look_begin(struct dump *d)
{
    size_t left = d->n;
    bool *settled = xcalloc(d->n + 1, sizeof *settled);
    for (int i = 0; i <= SETTLE_TIMES && left; i++) {
        if (i)
            wait_ns(SETTLE_NS);
        for (size_t j = 0; j < d->n; j++)
            if (!settled[j] && (settled[j] = settle(&d->threads[j])))
                left--;
    }
    for (size_t j = 0; j < d->n; j++)
        d->threads[j].ran |= !settled[j]; /* it has moved on */
    free(settled);
    d->look_begin_ns = clock_now_ns();
}

static bool is_zombie(const struct dumped *t)
{
    char text[PROC_TEXT_BYTES];
    struct task_stat stat;
    ssize_t len = proc_read_text(t->pid, t->tid, "stat", text, sizeof text);
    return len > 0 && task_stat_parse(text, (size_t)len, &stat) == 0 && stat.state == 'Z';
}

static bool has_run(const struct dumped *t)
{
    struct schedstat now;
    return t->ran || (t->counted && read_counts(t, &now) == 0 &&
                      (now.runs != t->counts.runs || now.run_ns != t->counts.run_ns));
}

static bool all_live(const struct dump *d)
{
    bool lives = false;
    for (size_t i = 0; i < d->n; i++) {
        lives = lives || has_run(&d->threads[i]);
        bool last = i + 1 == d->n || d->threads[i + 1].pid != d->threads[i].pid;
        if (last && !lives)
            return false;
        lives = lives && !last;
    }
    return true;
}

void dump_look_wait(const struct dump *d, int64_t ns, bool whole)
{
    int64_t over = clock_now_ns() - d->look_begin_ns;
    if (!whole && over < FIRST_CHECK_NS)
        wait_ns((ns < FIRST_CHECK_NS ? ns : FIRST_CHECK_NS) - over);
    if (whole || !all_live(d))
        wait_ns(ns - (clock_now_ns() - d->look_begin_ns));
}

void dump_look_end(struct dump *d)
{
    d->look_ns = clock_now_ns() - d->look_begin_ns;
    d->all_ran = true;
    for (size_t i = 0; i < d->n; i++) {
        struct dumped *t = &d->threads[i];
        struct schedstat now;
        int r = read_counts(t, &now); /* -ENOENT: by the path, of one that is gone */
        t->ended = r == -ESRCH || r == -ENOENT;
        t->ran = has_run(t) || (t->counted && t->ended); /* who ends runs */
        t->ended |= t->ran && is_zombie(t);
        d->all_ran &= t->ran;
        d->any_ran |= t->ran || !t->counted || t->ended;
        if (t->counted && r == 0)
            t->cpu_ns = (int64_t)(now.run_ns - t->counts.run_ns);
    }
}
