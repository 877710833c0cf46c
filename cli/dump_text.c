#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "cli/dump_forms.h"
#include "cli/dump_heads.h"
#include "cli/dump_label.h"
#include "cli/dump_tasks.h"
#include "cli/dump_words.h"
#include "dump/places.h"
#include "dump/thread.h"
#include "summary/idle.h"
#include "summary/wait_class.h"

/* Threads that wait in a circle or for a lock that nobody holds, those that wait behind a circle,
 * running and main threads (of many processes the rarest first), the others, idle pools. */
enum {
    ORDER_CIRCLE,
    ORDER_GONE,
    ORDER_BEHIND,
    ORDER_MAIN,
    ORDER_OTHER,
    ORDER_IDLE,
    ORDER_LAUNCHER,
};

/* ---- the entries: threads in the same stack that do the same ---- */

static int order_of(struct dump *d, size_t i)
{
    const struct dump_thread *t = &d->threads[i];
    size_t n = 0;
    const struct shown_frame *stack = view_stack(d->view, t->at, &n);
    bool linked = i < d->waits.n;
    if (linked && d->waits.items[i].cycle)
        return ORDER_CIRCLE;
    if (t->side.blocker.kind == BLOCKER_GONE)
        return ORDER_GONE;
    if (linked && d->waits.items[i].behind)
        return ORDER_BEHIND;
    if (dump_thread_launches(d, t))
        return ORDER_LAUNCHER;
    if (t->tid == t->pid || t->state != THREAD_BLOCKED || t->gil.gil == PY_GIL_HOLDING)
        return ORDER_MAIN;
    return idle_pool_wait(stack, n) ? ORDER_IDLE : ORDER_OTHER;
}

static void add_thread(struct dump *d, size_t i, struct source_lines *sources,
                       struct dump_folds *entries)
{
    const struct dump_fold alone = {.members = &i, .n = 1};
    struct text words = {0};
    int order = order_of(d, i);
    text_addf(&words, "%d ", order);
    dump_words_state(d, &d->threads[i], false, &words);
    text_add(&words, d->style.twice && d->threads[i].ran ? " ran\n" : "\n");
    dump_words_stack(d, &alone, sources, NULL, &words);
    struct dump_fold *entry = dump_folds_add(entries, words.s, i);
    entry->order = order;
    entry->by_number = order == ORDER_MAIN;
    text_release(&words);
}

/* ---- their first lines ---- */

static const struct dump_thread *member(const struct dump *d, const struct dump_fold *f, size_t i)
{
    return &d->threads[f->members[i]];
}

/* "worker-3"; not WHOLE: "worker-*" */
static void say_name(const struct dump *d, const struct dump_thread *t, bool whole,
                     struct text *out)
{
    (void)d;
    if (whole)
        text_add(out, t->called);
    else
        text_add_group(out, t->called);
}

static void add_label(const struct dump *d, const struct dump_fold *f, struct text *out)
{
    enum { MOST_COLUMNS = 40 };
    struct text label = {0};
    if (f->n == 1) {
        dump_label_add(d, member(d, f, 0), true, &label);
    } else {
        text_addf(&label, "%zu x ", f->n);
        if (!dump_fold_say(d, f, say_name, &label)) {
            text_clear(&label);
            text_addf(&label, "%zu threads", f->n);
        }
    }
    text_add_cut(out, label.s, label.len, MOST_COLUMNS);
    text_release(&label);
}

struct group_counts {
    size_t ran, blocked, counted;
    int64_t cpu_ns, queue_ns;
};

static struct group_counts count(const struct dump *d, const struct dump_fold *f)
{
    struct group_counts c = {0};
    for (size_t i = 0; i < f->n; i++) {
        const struct dump_thread *t = member(d, f, i);
        c.ran += t->ran;
        c.counted += t->counted && !t->ended;
        c.blocked += t->sampled && t->state == THREAD_BLOCKED;
        c.cpu_ns += t->cpu_ns;
        c.queue_ns += t->queue_ns;
    }
    return c;
}

/* Its share of the time on CPUs; negative: unknown, too little, or the look is too short for the
 * kernel's counts. */
static double cpu_share(const struct dump *d, const struct dump_fold *f,
                        const struct group_counts *c)
{
    enum { LEAST_NS = 200 * NS_PER_MS };
    double share = (double)c->cpu_ns / ((double)d->look_ns * (double)f->n);
    return d->look_ns < LEAST_NS || c->counted < f->n || share < 0.01 ? -1 : fmin(share, 1);
}

/* Of threads that all ran, behind their STATE.  SAID: the dump's first line has that. */
static void add_ran(const struct dump *d, const struct dump_fold *f, const struct group_counts *c,
                    bool said, const char *state, struct text *out)
{
    double share = cpu_share(d, f, c);
    bool blocked = c->blocked == f->n;
    bool queues = member(d, f, 0)->state == THREAD_RUNNABLE; /* they are all in one state */
    if (d->style.twice)
        text_add(out, ", ran between the looks");
    else if ((blocked || queues) && (share >= 0 || !said))
        text_add(out, share >= 0 ? ", ran" : ", ran meanwhile");
    else if (share >= 0 && strchr(state, ',')) /* "runs, holds the GIL" */
        text_add(out, ", on a CPU");
    if (share >= 0)
        text_addf(out, "%s %.0f%% of the time", d->style.twice ? "," : "", 100 * share);
    double waited = (double)c->queue_ns / ((double)d->look_ns * (double)f->n);
    if (share >= 0 && waited >= 0.1 && !queues)
        text_addf(out, ", waited for a CPU %.0f%%", 100 * fmin(waited, 1 - share));
}

/* How long they have done so, and who ran, where the first line of the dump does not say it. */
static void add_time(const struct dump *d, const struct dump_fold *f, const char *state,
                     struct text *out)
{
    struct group_counts c = count(d, f);
    bool said = d->all_ran || (!d->any_ran && !d->style.twice);
    if (c.ran == f->n) {
        add_ran(d, f, &c, said, state, out);
    } else if (said) {
        return;
    } else if (c.blocked == f->n && !c.ran && c.counted == f->n) {
        text_add(out, ", for ");
        dump_words_time(d->look_ns, out);
        text_add(out, " or more");
    } else if (c.ran && (c.blocked == f->n || d->style.twice)) {
        text_addf(out, ", %zu of them ran meanwhile", c.ran);
    } else if (d->style.twice && c.counted == f->n) {
        text_add(out, ", did not run between the looks");
    }
}

static void add_state(const struct dump *d, const struct dump_fold *f, struct text *out)
{
    struct text state = {0};
    (void)dump_fold_say(d, f, dump_words_state, &state);
    dump_words_of_several(f->n, state.s, out);
    add_time(d, f, state.s, out);
    text_release(&state);
}

static void add_names(const struct dump *d, const struct dump_fold *f, struct text *out)
{
    size_t most = d->style.full ? f->n : DUMP_MOST_LISTED;
    for (size_t i = 0; i < f->n && i < most; i++) {
        text_add(out, i ? ", " : "");
        dump_label_add(d, member(d, f, i), true, out);
    }
    if (f->n > most)
        text_addf(out, " and %zu more", f->n - most);
}

/* "  in rank 0-12, 14-63: 2491-2554": which threads they are. */
static void add_list(const struct dump *d, const struct dump_fold *f, struct text *out)
{
    struct text line = {0};
    struct text common = {0};
    if (dump_fold_add_numbers(d, f, DUMP_RANK, "in rank ", &line))
        text_add(&line, ": ");
    if (dump_fold_say(d, f, say_name, &common))
        (void)dump_fold_add_numbers(d, f, DUMP_TID, "", &line);
    else
        add_names(d, f, &line);
    text_add_line(out, line.s, 2, 2, d->style.width);
    text_release(&line);
    text_release(&common);
}

/* "  over the look: 82% in fetch mix.py:6 > clock_nanosleep, 18% in parse mix.py:4" */
static void add_places(const struct dump *d, const struct dump_fold *f, struct text *out)
{
    struct text places = {0};
    struct text line = {0};
    dump_places_add(d->places, d, f->members, f->n, &places);
    text_addf(&line, "over the look: %s", text_str(&places));
    if (places.len)
        text_add_line(out, line.s, 2, 4, d->style.width);
    text_release(&places);
    text_release(&line);
}

/* "  Another session has that lock: …": what their wait means; nothing where that is not known. */
static void add_meaning(const struct dump *d, const struct dump_fold *f, struct text *out)
{
    const struct dump_thread *t = member(d, f, 0);
    size_t n = 0;
    const struct shown_frame *stack = view_stack(d->view, t->at, &n);
    const char *meaning = t->state == THREAD_BLOCKED ? meaning_of_stack(stack, n) : NULL;
    if (meaning)
        text_add_line(out, meaning, 2, 2, d->style.width);
}

static void add_head(const struct dump *d, const struct dump_fold *f, struct text *out)
{
    enum { STATE_COLUMN = 18, INDENT = 6 };
    struct text state = {0};
    size_t start = out->len;
    add_label(d, f, out);
    text_pad(out, start, STATE_COLUMN, 2);
    size_t used = text_columns(out, start);
    add_state(d, f, &state);
    (void)text_add_wrapped(out, state.s, used, used < 30 ? used : INDENT, d->style.width);
    text_add(out, "\n");
    text_release(&state);
    if (f->n > 1)
        add_list(d, f, out);
    if (d->places)
        add_places(d, f, out);
    add_meaning(d, f, out);
}

/* ---- the last lines ---- */

/* "24 frames of libc and libstdc++ not shown: --full" */
static void add_hidden(const size_t hidden[BRIEF_KINDS], struct text *out)
{
    size_t kinds = 0;
    size_t total = 0;
    const char *before = "";
    for (unsigned i = 0; i < BRIEF_KINDS; i++) {
        kinds += hidden[i] > 0;
        total += hidden[i];
    }
    if (!total)
        return;
    text_addf(out, "%zu frame%s of ", total, total == 1 ? "" : "s");
    for (unsigned i = 0; i < BRIEF_KINDS; i++)
        if (hidden[i]) {
            text_addf(out, "%s%s", before, brief_hidden_name((enum brief_hidden)i));
            before = --kinds > 1 ? ", " : " and ";
        }
    text_add(out, " not shown: --full\n");
}

static bool any_ran(const struct dump *d, pid_t pid)
{
    bool ran = false;
    for (size_t i = 0; i < d->n; i++)
        ran |= d->threads[i].pid == pid && d->threads[i].ran;
    return ran;
}

/* "4032 only waits for its children; to see them: wallspy dump -s -p 4032", of the first such
 * process. */
static void add_children(const struct dump *d, struct text *out)
{
    for (size_t i = 0; i < d->n; i++) {
        const struct dump_thread *t = &d->threads[i];
        if (t->tid != t->pid || t->side.thing != THING_CHILD || any_ran(d, t->pid) ||
            d->style.subprocesses || dump_thread_launches(d, t))
            continue;
        text_addf(out, "%d only waits for its children; to see them: wallspy dump -s -p %d\n",
                  t->pid, t->pid);
        return;
    }
}

static void add_tail(const struct dump *d, const size_t hidden[BRIEF_KINDS],
                     const struct source_lines *sources, struct text *out)
{
    struct text line = {0};
    add_children(d, &line);
    add_hidden(hidden, &line);
    if (sources->newer) {
        text_add_tame_cut(&line, path_base(sources->newer), 32);
        text_add(&line, " is newer than the process: its lines are not shown\n");
    }
    (void)text_add_wrapped(out, text_str(&line), 0, 0, d->style.width);
    text_release(&line);
}

/* ---- all ---- */

int dump_write_block(struct text *block, FILE *out)
{
    size_t len = block->len;
    if (len && fwrite(block->s, 1, len, out) != len)
        return errno ? -errno : -EIO;
    text_clear(block);
    return 0;
}

int dump_text(struct dump *d, FILE *out)
{
    struct text block = {0};
    struct dump_folds entries = {0};
    struct source_lines sources = {0};
    size_t hidden[BRIEF_KINDS] = {0};
    for (size_t i = 0; i < d->n; i++)
        add_thread(d, i, &sources, &entries);
    dump_folds_sort(&entries);
    dump_heads_add(d, &block);
    int error = dump_write_block(&block, out);
    for (size_t i = 0; i < entries.n && error == 0; i++) {
        const struct dump_fold *f = &entries.items[i];
        add_head(d, f, &block);
        dump_words_stack(d, f, &sources, hidden, &block);
        dump_tasks_add(d, f, &block);
        error = dump_write_block(&block, out);
    }
    if (error == 0) {
        dump_tasks_add_rest(d, &block);
        add_tail(d, hidden, &sources, &block);
        error = dump_write_block(&block, out);
    }
    dump_folds_release(&entries);
    source_lines_release(&sources);
    text_release(&block);
    return error;
}
