#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/dump_groups.h"
#include "cli/dump_heads.h"
#include "cli/dump_tasks.h"

/* ---- the last lines ---- */

/* "24 frames of libc and libstdc++ not shown: --full" */
static void add_hidden(const size_t hidden[BRIEF_KINDS], struct text *out)
{
    size_t kinds = 0;
    size_t total = 0;
    for (unsigned i = 0; i < BRIEF_KINDS; i++) {
        kinds += hidden[i] > 0;
        total += hidden[i];
    }
    if (!total)
        return;
    text_addf(out, "%zu frame%s of ", total, total == 1 ? "" : "s");
    for (unsigned i = 0, n = 0; i < BRIEF_KINDS; i++)
        if (hidden[i]) {
            n++;
            text_addf(out, "%s%s",
                      n == 1       ? ""
                      : n == kinds ? " and "
                                   : ", ",
                      brief_hidden_name((enum brief_hidden)i));
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

static void add_tail(const struct dump *d, const struct dump_groups *groups, struct text *out)
{
    size_t hidden[BRIEF_KINDS] = {0};
    struct text line = {0};
    for (size_t i = 0; i < groups->n; i++)
        for (unsigned k = 0; k < BRIEF_KINDS; k++)
            hidden[k] += groups->items[i].hidden[k];
    text_add(&line, "");
    add_children(d, &line);
    add_hidden(hidden, &line);
    if (groups->sources.newer) {
        const char *base = path_base(groups->sources.newer);
        struct text name = {0};
        text_add_tame(&name, base, strlen(base));
        text_add_cut(&line, name.len ? name.s : "", name.len, 32);
        text_release(&name);
        text_add(&line, " is newer than the process: its lines are not shown\n");
    }
    (void)text_add_wrapped(out, line.s, 0, 0, d->style.width);
    text_release(&line);
}

/* ---- all ---- */

static int write_block(struct text *block, FILE *out)
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
    struct dump_groups groups = {0};
    dump_groups_find(d, &groups);
    dump_heads_add(d, &block);
    int error = write_block(&block, out);
    for (size_t i = 0; i < groups.n && error == 0; i++) {
        const struct dump_group *g = &groups.items[i];
        dump_groups_add_head(d, g, &block);
        text_add(&block, g->stack.s);
        dump_tasks_add(d, g, &block);
        error = write_block(&block, out);
    }
    if (error == 0) {
        dump_tasks_add_rest(d, &block);
        add_tail(d, &groups, &block);
        error = write_block(&block, out);
    }
    dump_groups_release(&groups);
    text_release(&block);
    return error;
}
