/* The ledger in words, for -v. */
#include "base/share.h"
#include "summary/ledger.h"
#include "summary/path_words.h"
#include "summary/wait_text.h"

static const double least_share = 0.01;

static void add_line(const struct ledger *l, int64_t ns, int width, const char *words,
                     struct text *out)
{
    text_addf(out, "  ledger %4.1f%%  ", 100 * share_of(ns, l->wall_ns));
    enum { INDENT = 17 };
    (void)text_add_wrapped(out, words, INDENT, INDENT, (size_t)width);
    text_add(out, "\n");
}

void ledger_add_end(struct text *out, const struct ledger *l, const struct ledger_row *row)
{
    struct text other = {0};
    if (row->group != l->leader)
        text_addf(out, "%s, in ", row->group->noun);
    add_way(out, &row->place);
    if (row->other_ns && wait_side_is_told(&row->other))
        wait_side_add_text(&other, l->p, &row->other, row->waiter, false);
    if (other.len)
        text_addf(out, ", for %s", other.s);
    text_release(&other);
}

/* "device (read): worker, in run > ask > ioctl /dev/x; main then, condition: f a.py:3 > wait" */
static void add_row(const struct ledger *l, const struct ledger_row *row, int width,
                    struct text *out)
{
    static const char *const ways[LEDGER_WAYS] = {
        [LEDGER_OWN] = "", [LEDGER_READ] = " (read)", [LEDGER_MEANWHILE] = " (meanwhile)"};
    struct text words = {0};
    text_addf(&words, "%s%s: ", cause_name(row->cause), ways[row->way]);
    ledger_add_end(&words, l, row);
    if (row->waits.node) {
        text_addf(&words, "; %s then, %s: ", l->leader->noun, cause_name(row->waits_cause));
        add_way(&words, &row->waits);
    }
    if (row->bound_ns) {
        text_add(&words, "; without it at most ");
        add_percent(&words, share_of(row->bound_ns, l->wall_ns));
        text_add(&words, " is saved");
    }
    add_line(l, row->ns, width, words.s, out);
    text_release(&words);
}

void ledger_write(const struct ledger *l, int width, struct text *out)
{
    if (!l->leader)
        return;
    struct text words = {0};
    add_time(&words, l->wall_ns);
    text_addf(&words, " of %s end so:", l->leader->noun);
    add_line(l, l->wall_ns, width, words.s, out);
    text_release(&words);
    for (size_t i = 0; i < l->n && share_of(l->rows[i].ns, l->wall_ns) >= least_share; i++)
        add_row(l, &l->rows[i], width, out);
    add_line(l, l->idle_ns, width, "idle", out);
    add_line(l, l->rest_ns, width, "in smaller places", out);
    add_line(l, l->unseen_ns, width, "not seen", out);
}
