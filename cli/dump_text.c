#include "cli/dumped.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "target/syscalls.h"

static const char *name_of(const struct dump *d, const struct dumped *t)
{
    const struct profile_thread *thread = profile_see_thread(d->profile, t->thread);
    return thread->name.ix ? profile_text(d->profile, thread->name) : "?";
}

/* Names are the target's, and may hold anything. */
static void print(struct text *out, const char *before, const char *name, const char *after)
{
    struct text tame = {0};
    text_add_tame(&tame, name, strlen(name));
    text_addf(out, "%s%s%s", before, tame.len ? tame.s : "", after);
    text_release(&tame);
}

static void print_process(const struct dump *d, const struct dumped *t, struct text *out)
{
    const struct profile_thread *thread = profile_see_thread(d->profile, t->thread);
    const struct profile_process *p = profile_see_process(d->profile, thread->process);
    text_addf(out, "process %d", p->pid);
    print(out, ": ", profile_text(d->profile, p->command), "\n");
    if (p->python_version.ix)
        print(out, "CPython ", profile_text(d->profile, p->python_version), "\n");
}

static void print_gil(const struct dump *d, const struct dumped *t, struct text *out)
{
    const struct dumped *holder = dumped_gil_holder(d, t);
    if (t->gil.gil == PY_GIL_HOLDING)
        text_add(out, ", holds the GIL");
    else if (t->gil.gil == PY_GIL_WAITING)
        text_addf(out, ", waits for the GIL%s", holder ? "," : "");
    if (!holder)
        return;
    text_addf(out, " which %d", holder->tid);
    print(out, " (", name_of(d, holder), ") holds");
}

static void print_state(const struct dump *d, const struct dumped *t, struct text *out)
{
    const char *call = syscall_name(t->syscall);
    text_addf(out, "%s", t->sampled ? dumped_state(t) : "not captured in time");
    if (t->state == THREAD_BLOCKED && call)
        text_addf(out, " in %s", call);
    if (t->object[0])
        print(out, " of ", t->object, "");
    if (t->wchan[0])
        print(out, " (kernel: ", t->wchan, ")");
    print_gil(d, t, out);
    if (t->sampled && !t->complete)
        text_add(out, ", stack not complete");
}

static void print_frame(const struct shown_frame *f, struct text *out)
{
    bool has_place = f->file && f->kind != SHOWN_MARK;
    print(out, "    ", f->name, "");
    if (has_place)
        print(out, " (", f->file, "");
    if (has_place && f->current_line)
        text_addf(out, ":%u", f->current_line);
    text_addf(out, "%s%s\n", has_place ? ")" : "", f->inlined ? " [inlined]" : "");
}

static void print_frames(struct dump *d, const struct dumped *t, struct text *out)
{
    size_t n;
    const struct shown_frame *frames = view_stack(d->view, t->stack, &n);
    for (size_t i = n; i-- > 0;)
        print_frame(&frames[i], out);
}

static bool same(const struct dumped *a, const struct dumped *b)
{
    return a->pid == b->pid && a->stack.ix == b->stack.ix && a->sampled == b->sampled &&
           a->state == b->state && a->syscall == b->syscall && a->gil.gil == b->gil.gil &&
           a->gil.holder == b->gil.holder;
}

static bool shown_before(const struct dump *d, size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (same(&d->threads[j], &d->threads[i]))
            return true;
    return false;
}

/* The thread at FIRST and those that do the same; of hundreds the first, since a line must be read. */
static void print_threads(const struct dump *d, size_t first, struct text *out)
{
    enum { MOST_SHOWN = 8 };
    size_t n = 0;
    for (size_t i = first; i < d->n; i++)
        if (same(&d->threads[first], &d->threads[i]) && n++ < MOST_SHOWN) {
            text_addf(out, "%s%d", i == first ? "thread " : ", ", d->threads[i].tid);
            print(out, " (", name_of(d, &d->threads[i]), ")");
        }
    if (n > MOST_SHOWN)
        text_addf(out, " and %zu more", n - MOST_SHOWN);
    text_add(out, ": ");
}

static int write_block(const struct text *block, FILE *out)
{
    if (fwrite(block->s, 1, block->len, out) == block->len)
        return 0;
    return errno ? -errno : -EIO;
}

int dump_text(struct dump *d, FILE *out)
{
    struct text block = {0};
    int error = 0;
    for (size_t i = 0; i < d->n && error == 0; i++) {
        const struct dumped *t = &d->threads[i];
        text_clear(&block);
        text_add(&block, "");
        if (i == 0 || d->threads[i - 1].pid != t->pid)
            print_process(d, t, &block);
        if (!shown_before(d, i)) {
            text_add(&block, "\n");
            print_threads(d, i, &block);
            print_state(d, t, &block);
            text_add(&block, "\n");
            print_frames(d, t, &block);
        }
        error = write_block(&block, out);
    }
    text_release(&block);
    return error;
}
