#include "cli/dump_wait_words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/dump_label.h"
#include "dump/circles.h"
#include "dump/thread.h"
#include "dump/waits.h"
#include "summary/process_name.h"
#include "summary/shared_place.h"
#include "summary/spinning.h"
#include "summary/state_words.h"
#include "summary/verdict_words.h"
#include "summary/wait_side.h"
#include "summary/wait_text.h"

enum { MOST_SHOWN = 8 };

static const struct dump_thread *find_thread(const struct dump *d, pid_t tid)
{
    for (size_t i = 0; i < d->n; i++)
        if (d->threads[i].tid == tid)
            return &d->threads[i];
    return NULL;
}

/* For whom T waits: without its process if that is T's. */
static void add_other(const struct dump *d, const struct dump_thread *t, bool numbered,
                      struct text *out)
{
    const struct dump_thread *other = find_thread(d, t->side.blocker.tid);
    if (!other)
        text_addf(out, "%d", t->side.blocker.tid);
    else if (numbered && t->pid == other->pid)
        text_addf(out, "%d %s", other->tid, other->called);
    else
        dump_label_add(d, other, numbered, out);
}

static void add_holder(const struct dump *d, const struct dump_thread *t, bool numbered,
                       struct text *out)
{
    const struct blocker *b = &t->side.blocker;
    struct text holder = {0};
    if (b->kind == BLOCKER_THREAD)
        add_other(d, t, numbered, &holder);
    state_add_holder(out, d->profile, b, b->tid == t->tid, text_str(&holder));
    if (b->kind == BLOCKER_THREAD && b->pid != t->pid && !find_thread(d, b->tid))
        text_addf(out, " of process %d", b->pid);
    text_release(&holder);
}

/* "0x55f2…140": of an address what tells it from others.  The whole is in JSON. */
static void add_address(uint64_t addr, struct text *out)
{
    char whole[24];
    (void)snprintf(whole, sizeof whole, "%llx", (unsigned long long)addr);
    size_t len = strlen(whole);
    if (len <= 8)
        text_addf(out, " (0x%s)", whole);
    else
        text_addf(out, " (0x%.4s…%s)", whole, whole + len - 3);
}

/* That of a thread to end has that thread in its middle. */
static void add_join(const struct dump *d, const struct dump_thread *t, bool numbered,
                     struct text *out)
{
    if (!t->side.blocker.tid)
        return;
    text_addf(out, "waits for %s", numbered ? "thread " : "");
    add_other(d, t, numbered, out);
    text_add(out, " to end");
}

void dump_wait_words_add(const struct dump *d, const struct dump_thread *t, bool numbered,
                         struct text *out)
{
    const bool notified = t->python_threads[0] && t->futex == FUTEX_CONDITION;
    const enum spin_kind asleep = dump_wait_asleep(d, t);
    if (asleep)
        text_addf(out, "waits %s", spinning_words(asleep));
    if (asleep || dump_wait_opens_fifo(t) || !dump_wait_kind(d, t))
        return;
    if (t->side.thing == THING_THREAD) {
        add_join(d, t, numbered, out);
        return;
    }
    state_add_wait(out, d->profile, &t->side, t->pid, t->futex, notified);
    if (wait_side_is_kernels(t->side.thing))
        return;
    if (t->side.addr && numbered)
        add_address(t->side.addr, out);
    else if (t->side.blocker.kind == BLOCKER_SHARED && !t->side.blocker.pid)
        shared_place_add(out, d->profile, &t->side.blocker);
    add_holder(d, t, numbered, out);
}

static void add_line(const struct dump *d, const struct dump_thread *t, const char *title,
                     struct text *out)
{
    text_addf(out, "  %s", title);
    dump_label_add(d, t, true, out);
    text_add(out, " ");
    dump_wait_words_add(d, t, true, out);
    text_add(out, "\n");
}

static void print_cycle(const struct dump *d, int cycle, struct text *out)
{
    bool deadlock = d->deadlocks[cycle];
    const struct waiter *first = wait_graph_first(&d->waits, cycle);
    const struct waiter *w = first;
    do {
        const char *title = deadlock ? "deadlock: " : "circular wait: ";
        const char *next = deadlock ? "          " : "               ";
        add_line(d, &d->threads[w->tag], w == first ? title : next, out);
        w = &d->waits.items[w->next];
    } while (w != first);
}

static void print_behind(const struct dump *d, int cycle, struct text *out)
{
    size_t n = 0;
    for (size_t i = 0; i < d->waits.n; i++)
        if (d->waits.items[i].behind == cycle && n++ < MOST_SHOWN)
            add_line(d, &d->threads[i], n == 1 ? "behind it: " : "           ", out);
    if (n > MOST_SHOWN)
        text_addf(out, "             and %zu more\n", n - MOST_SHOWN);
}

static void print_gone(const struct dump *d, struct text *out)
{
    size_t n = 0;
    for (size_t i = 0; i < d->n; i++)
        if (d->threads[i].side.blocker.kind == BLOCKER_GONE && n++ < MOST_SHOWN)
            add_line(d, &d->threads[i], "owner gone: ", out);
    if (n > MOST_SHOWN)
        text_addf(out, "  and %zu more\n", n - MOST_SHOWN);
}

static void print_stuck(const struct dump *d, size_t first, struct text *out)
{
    const struct dump_thread *t = &d->threads[first];
    char *process = name_of_process(d->profile, dump_thread_process(d, t));
    text_addf(out, *process ? "  stuck: in %s: " : "  stuck: ", process);
    verdict_add_stuck(out, dump_next_process(d, first) - first,
                      t->futex == FUTEX_LOCK || t->futex == FUTEX_RWLOCK, 0);
    text_add(out, "\n");
    free(process);
}

void dump_wait_words_add_faults(const struct dump *d, struct text *out)
{
    for (int deadlocks = 1; deadlocks >= 0; deadlocks--)
        for (int cycle = 1; cycle <= d->waits.n_cycles; cycle++) {
            if (d->deadlocks[cycle] != (deadlocks == 1))
                continue;
            print_cycle(d, cycle, out);
            print_behind(d, cycle, out);
        }
    print_gone(d, out);
    for (size_t i = 0; i < d->n; i = dump_next_process(d, i))
        if (dump_is_stuck(d, i))
            print_stuck(d, i, out);
}
