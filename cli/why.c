#include "cli/why.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/share.h"
#include "cli/report_waits.h"
#include "summary/path_words.h"
#include "summary/wait_text.h"

enum { WORDS = 17, STEP = 2 }; /* columns: where a row's words begin, and each further hop */
static const double least_share = 0.01;

struct why {
    const struct groups *g;
    const struct ledger *l;
    const struct thread_summary *t;
    const struct thread_group *of; /* of T and its like */
    size_t width;
};

const struct thread_summary *why_find(const struct thread_summaries *s, const char *name)
{
    char tid[sizeof "-2147483648"];
    for (size_t i = 0; i < s->n; i++) {
        (void)snprintf(tid, sizeof tid, "%d", s->threads[i].thread->tid);
        if (!s->threads[i].thread->n_folded && str_eq(tid, name))
            return &s->threads[i];
    }
    for (size_t i = 0; i < s->n; i++)
        if (str_eq(s->threads[i].name, name) || str_eq(s->threads[i].label, name))
            return &s->threads[i];
    return NULL;
}

static double seconds(int64_t ns)
{
    return (double)ns / NS_PER_S;
}

/* ---- lines ---- */

static void add_row(const struct why *w, int64_t ns, const char *words, struct text *out)
{
    text_addf(out, "%9.3f  %3d%%  ", seconds(ns), percent_of(ns, w->l->wall_ns));
    (void)text_add_wrapped(out, words, WORDS, WORDS + STEP, w->width);
    text_add(out, "\n");
}

/* A line below a row, DEPTH hops away. */
static void add_below(const struct why *w, size_t depth, const char *words, struct text *out)
{
    size_t indent = WORDS + STEP * depth;
    text_add_line(out, words, indent, indent + STEP, w->width);
}

/* ---- rows ---- */

/* What time in CAUSE is, for people; the ledger's own words are keys. */
static const char *words_of(enum cause cause)
{
    static const char *const words[CAUSE_KINDS] = {
        [CAUSE_CPU] = "waits for a CPU",
        [CAUSE_GC] = "collects garbage",
        [CAUSE_STARTS] = "starts threads",
        [CAUSE_FAULTS] = "has page faults",
        [CAUSE_NUMA] = "has its pages moved",
        [CAUSE_PAGE] = "waits for a page",
        [CAUSE_GIL] = "waits for the GIL",
        [CAUSE_LOCK] = "waits for a lock",
        [CAUSE_JOIN] = "waits for a thread's end",
        [CAUSE_CONDITION] = "waits to be woken",
        [CAUSE_CHILD] = "waits for a child",
        [CAUSE_PEER] = "waits for another process",
        [CAUSE_FILE] = "waits for a file",
        [CAUSE_DEVICE] = "waits for a device",
        [CAUSE_TIMER] = "sleeps",
    };
    return words[cause] ? words[cause] : cause_name(cause);
}

/* "-> lock table, held by refresh 4203", "-> for the end of load 17"; false: nothing of it was
 * read. */
static bool add_side(const struct why *w, const struct wait_side *side, pid_t waiter, size_t depth,
                     struct text *out)
{
    struct text words = {0};
    bool held = side->blocker.kind == BLOCKER_THREAD && side->thing != THING_THREAD;
    text_add(&words, held ? "-> " : "-> for ");
    size_t before = words.len;
    if (wait_side_is_told(side))
        report_add_side(&words, w->g->p, &w->g->summaries, side, waiter);
    bool told = words.len > before;
    if (told)
        add_below(w, depth, words.s, out);
    text_release(&words);
    return told;
}

/* "-> mge-worker, who alone is busy meanwhile: waits for a device: TopK::exec > ioctl /dev/x" */
static void add_end(const struct why *w, const struct ledger_row *row, size_t depth,
                    struct text *out)
{
    struct text words = {0};
    text_addf(&words, "-> %s%s: %s: ", row->group->noun,
              row->way == LEDGER_READ ? ""
              : row->group->plural    ? ", who alone are busy meanwhile"
                                      : ", who alone is busy meanwhile",
              words_of(row->cause));
    add_way(&words, &row->place);
    add_below(w, depth, words.s, out);
    text_release(&words);
}

static void add_bound(const struct why *w, const struct ledger_row *row, size_t depth,
                      struct text *out)
{
    struct text words = {0};
    if (!row->bound_ns || row->group == w->of)
        return;
    text_addf(&words, "if that took no time, %s would save at most ", w->t->name);
    add_percent(&words, share_of(row->bound_ns, w->l->wall_ns));
    text_add(&words, " of its time");
    add_below(w, depth, words.s, out);
    text_release(&words);
}

static void add_ledger_row(const struct why *w, const struct ledger_row *row, struct text *out)
{
    struct text words = {0};
    bool waits = row->way != LEDGER_OWN && row->waits.node;
    size_t depth = 1;
    text_addf(&words, "%s: ", words_of(waits ? row->waits_cause : row->cause));
    add_way(&words, waits ? &row->waits : &row->place);
    add_row(w, row->ns, words.s, out);
    text_release(&words);
    if (waits) {
        depth += add_side(w, &row->via, row->via_waiter, depth, out);
        add_end(w, row, depth++, out);
    }
    if (row->other_ns)
        (void)add_side(w, &row->other, row->waiter, depth, out);
    add_bound(w, row, depth, out);
}

/* ---- the whole ---- */

static void add_head(const struct why *w, struct text *out)
{
    struct text words = {0};
    const struct thread_summary *t = w->t;
    text_addf(&words,
              "%s lived for %.3f s: run %.3f, wait-cpu %.3f, blocked %.3f by the kernel's counts. "
              "By %llu samples its time ends so:",
              t->label, seconds(w->l->wall_ns), seconds(t->cpu_ns), seconds(t->runqueue_ns),
              seconds(t->wall_ns - t->cpu_ns - t->runqueue_ns),
              (unsigned long long)w->l->leader->tally.samples);
    (void)text_add_wrapped(out, words.s, 0, STEP, w->width);
    text_add(out, "\n");
    text_release(&words);
}

static void add_rests(const struct why *w, int64_t rest_ns, struct text *out)
{
    const struct {
        int64_t ns;
        const char *words;
    } rests[] = {{w->l->idle_ns, "idle: it has no work"},
                 {rest_ns, "in smaller places"},
                 {w->l->unseen_ns, "not seen"}};
    for (size_t i = 0; i < sizeof rests / sizeof *rests; i++)
        if (rests[i].ns > 0)
            add_row(w, rests[i].ns, rests[i].words, out);
}

static void add_all(const struct why *w, struct text *out)
{
    int64_t rest_ns = w->l->rest_ns;
    int64_t step_ns = profile_time_step_ns(w->g->p);
    add_head(w, out);
    for (size_t i = 0; i < w->l->n; i++) {
        const struct ledger_row *row = &w->l->rows[i];
        if (share_of(row->ns, w->l->wall_ns) >= least_share)
            add_ledger_row(w, row, out);
        else
            rest_ns += row->ns;
    }
    add_rests(w, rest_ns, out);
    if (step_ns)
        text_addf(out, "The recording is coarse, in steps of %.0f s: exact parts stand for all.\n",
                  seconds(step_ns));
}

static size_t index_in(const struct thread_group *group, const struct thread_summary *t)
{
    size_t i = 0;
    while (i < group->n && group->threads[i]->thread != t->thread)
        i++;
    return i;
}

void why_add(struct text *out, const struct groups *g, const struct thread_summary *t, size_t width)
{
    struct holders holders;
    struct ledger ledger;
    struct thread_group *of = groups_of(g, t->thread);
    struct thread_group one = groups_one_of(g, of, index_in(of, t));
    holders_init(&holders, g->p, g->v);
    ledger_init_of(&ledger, g, &holders, &one);
    add_all(&(struct why){.g = g, .l = &ledger, .t = t, .of = of, .width = width}, out);
    ledger_release(&ledger);
    holders_release(&holders);
    groups_release_one(&one);
}
