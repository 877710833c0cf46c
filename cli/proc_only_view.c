#include "cli/proc_only_view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/share.h"
#include "cli/signals.h"
#include "cli/terminal.h"
#include "target/proc.h"

enum {
    LOOK_MS = 2000,
    INTERVAL_MS = 50,
    MAX_WATCHED = 4096, /* a round over so many takes some 20 ms */
    MAX_ROWS = 16,
    WCHAN_BYTES = 40,
};

struct watched_thread {
    pid_t tid;
    char comm[TASK_COMM_BYTES];
    struct schedstat first, last;
    int64_t seen_ns; /* when LAST was read */
    bool ended;
    char wchan[WCHAN_BYTES]; /* the majority's, by Boyer and Moore's vote */
    unsigned votes;
};

struct watch {
    pid_t pid;
    struct watched_thread *threads;
    size_t n, capacity;
};

static void add_thread(void *ctx, pid_t tid)
{
    struct watch *w = ctx;
    struct watched_thread thread = {.tid = tid};
    struct task_stat stat;
    if (w->n == MAX_WATCHED || proc_schedstat(w->pid, tid, &thread.first) < 0 ||
        proc_stat(w->pid, tid, &stat) < 0)
        return;
    memcpy(thread.comm, stat.comm, sizeof thread.comm);
    thread.last = thread.first;
    w->threads = array_reserve(w->threads, &w->capacity, w->n + 1, sizeof *w->threads);
    w->threads[w->n++] = thread;
}

static void read_again(const struct watch *w, struct watched_thread *thread)
{
    struct task_stat stat;
    char wchan[WCHAN_BYTES];
    thread->ended = proc_schedstat(w->pid, thread->tid, &thread->last) < 0;
    if (thread->ended)
        return;
    thread->seen_ns = clock_now_ns();
    if (proc_stat(w->pid, thread->tid, &stat) < 0 || stat.state == 'R')
        return;
    ssize_t n = proc_read_text(w->pid, thread->tid, "wchan", wchan, sizeof wchan);
    if (n <= 0)
        return;
    if (thread->votes == 0)
        memcpy(thread->wchan, wchan, sizeof wchan);
    thread->votes += str_eq(thread->wchan, wchan) ? 1U : -1U;
}

static int by_activity(const void *a, const void *b)
{
    const struct watched_thread *x = a;
    const struct watched_thread *y = b;
    uint64_t active_x = x->last.run_ns + x->last.wait_ns - x->first.run_ns - x->first.wait_ns;
    uint64_t active_y = y->last.run_ns + y->last.wait_ns - y->first.run_ns - y->first.wait_ns;
    return active_x != active_y ? (active_x < active_y ? 1 : -1) : x->tid - y->tid;
}

/* The kernel's clock and ours may differ by a little. */
static int percent_at_most_all(uint64_t part_ns, int64_t whole_ns)
{
    int percent = percent_of((int64_t)part_ns, whole_ns);
    return percent < 100 ? percent : 100;
}

static void add_row(const struct watched_thread *t, int64_t whole_ns, struct text *out)
{
    struct text name = {0};
    text_add_tame(&name, t->comm, strlen(t->comm)); /* a line's end, too */
    text_addf(&name, " %d", t->tid);
    int run = percent_at_most_all(t->last.run_ns - t->first.run_ns, whole_ns);
    int wait = percent_at_most_all(t->last.wait_ns - t->first.wait_ns, whole_ns);
    int blocked = run + wait < 100 ? 100 - run - wait : 0;
    bool hidden = str_eq(t->wchan, "0");
    text_addf(out, "  %-23s %4d%% %8d%% %7d%%  %s%s\n", name.s, run, wait, blocked,
              hidden ? "(hidden)" : t->wchan, t->ended ? " (ended)" : "");
    text_release(&name);
}

static void print(struct watch *w, int64_t start_ns)
{
    struct text out = {0};
    text_addf(&out,
              "What /proc shows without attaching, in %.1f seconds:\n"
              "  thread                   run  wait-cpu  blocked  waits in (kernel)\n",
              (double)(clock_now_ns() - start_ns) / NS_PER_S);
    if (w->n) /* qsort(3) takes no NULL */
        qsort(w->threads, w->n, sizeof *w->threads, by_activity);
    for (size_t i = 0; i < w->n && i < MAX_ROWS; i++)
        add_row(&w->threads[i], w->threads[i].seen_ns - start_ns, &out);
    if (w->n > MAX_ROWS)
        text_addf(&out, "  and %zu less active threads\n", w->n - MAX_ROWS);
    terminal_block(out.s);
    text_release(&out);
}

/* Drops threads that ended before they were read a second time: nothing is known of them. */
static void forget_unseen(struct watch *w)
{
    size_t n = 0;
    for (size_t i = 0; i < w->n; i++)
        if (w->threads[i].seen_ns)
            w->threads[n++] = w->threads[i];
    w->n = n;
}

void proc_only_view(pid_t pid)
{
    struct watch w = {.pid = pid};
    int64_t start_ns = clock_now_ns();
    int64_t end_ns = start_ns + (int64_t)LOOK_MS * NS_PER_MS;
    if (proc_each_task(pid, add_thread, &w) < 0 || w.n == 0)
        return;
    while (clock_now_ns() < end_ns && !signals_stop_wanted()) {
        signals_wait((int64_t)INTERVAL_MS * NS_PER_MS);
        for (size_t i = 0; i < w.n; i++)
            read_again(&w, &w.threads[i]);
    }
    forget_unseen(&w);
    print(&w, start_ns);
    free(w.threads);
}
